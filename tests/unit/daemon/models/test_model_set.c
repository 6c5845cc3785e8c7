/* What a record of the configuration notes of each model, as whoever learns them again reads it. */
#include "daemon/models/model_set.h"

#include <string.h>

#include "daemon/models/model_table_private.h"
#include "support.h"

static const char text[] = "state_dir = \"/nowhere\"\nsockets { requests = { \"ipc:///nowhere\" } }\n"
                           "model \"a\" { learner = dgt features = 2 arms = 2 }\n"
                           "model \"b\" { learner = dgt features = 3 arms = 2 }\n";

/* The models in the order of the file, of a configuration in which `reset` (NULL: none) were begun anew. */
static void note(const char *const *reset, bool apart, cop_wire_model out[2], cop_bytes *bytes)
{
	cop_config *config;
	cop_config_report report;
	cop_model_table table;
	cop_wire_models models;
	cop_config_report_init(&report);
	assert_int_equal(cop_config_parse(text, strlen(text), "text", NULL, &config, &report), COP_OK);
	assert_int_equal(cop_model_table_init(&table, config, NULL), COP_OK);
	table.items[0]->has_began = true;
	table.items[0]->began = 7;
	const cop_model_set_notes notes = { .models = &table, .apart = apart, .reset = reset };
	cop_bytes_clear(bytes);
	assert_int_equal(cop_model_set_put(config, &notes, bytes), 0);
	assert_int_equal(cop_wire_models_open(&models, bytes->data, bytes->length, NULL), COP_OK);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(cop_wire_models_next(&models, &out[i], NULL), COP_OK);
	cop_model_table_fini(&table);
	cop_config_report_fini(&report);
	cop_config_free(config);
}

static void test_notes_name_what_was_begun_anew_and_what_stands_apart(void **state)
{
	(void)state;
	static const char *const of_b[] = { "b", NULL };
	for (int i = 0; i < 4; i++) {
		const bool reset = (i & 1) != 0, apart = (i & 2) != 0;
		cop_wire_model model[2];
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		note(reset ? of_b : NULL, apart, model, &bytes);
		assert_true(model[0].anew == false && model[1].anew == reset);
		assert_true(model[0].apart == apart && model[1].apart == (apart || reset));
		assert_true(model[0].has_began && model[0].began == 7 && !model[1].has_began);
		assert_true(model[0].features == 2 && model[1].features == 3);
		cop_bytes_fini(&bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_notes_name_what_was_begun_anew_and_what_stands_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
