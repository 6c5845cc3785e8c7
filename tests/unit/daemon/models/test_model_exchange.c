/* A model that grows is made on a thread while it goes on learning; what takes its place is, byte for byte, what saving
 * the old one at that moment and loading it into a greater one gives. */
#include "daemon/models/model_exchange.h"

#include <stdio.h>
#include <string.h>

#include "daemon/common/job.h"
#include "daemon/models/model_table_private.h"
#include "daemon/models/slot_bin.h"
#include "store/section_file.h"
#include "support.h"

#define FEATURES 4

typedef struct scene {
	cop_config *own, *next;
	cop_config_changes changes;
	cop_model_table table;
	cop_model_exchange exchange;
	cop_slot_bin bin;
	cop_job job;
	size_t gone;
} scene;

static cop_config *parse(const char *learner, int features, int arms)
{
	char text[512];
	cop_config *config;
	cop_config_report report;
	(void)snprintf(text, sizeof text,
	        "state_dir = \"/nowhere\"\nsockets { requests = { \"ipc:///nowhere\" } }\nmodel \"m\" { learner = %s "
	        "features = %d arms = %d }\n"
	        "model \"other\" { learner = dgt features = 2 arms = 2 }\n",
	        learner, features, arms);
	cop_config_report_init(&report);
	if (cop_config_parse(text, strlen(text), "text", NULL, &config, &report) != COP_OK)
		fail_msg("%s", report.items[0].message);
	cop_config_report_fini(&report);
	return config;
}

static void begin(scene *s, const char *learner, int features, int arms)
{
	*s = (scene){ .own = parse(learner, FEATURES, 3), .next = parse(learner, features, arms) };
	assert_int_equal(cop_model_table_init(&s->table, s->own, NULL), COP_OK);
	assert_int_equal(cop_config_diff(s->own, s->next, &s->changes), COP_OK);
}

static void end(scene *s)
{
	cop_model_exchange_drop(&s->exchange);
	cop_slot_bin_fini(&s->bin);
	assert_null(s->bin.first);
	assert_null(s->bin.going);
	cop_model_table_fini(&s->table);
	cop_config_changes_free(&s->changes);
	cop_config_free(s->own);
	cop_config_free(s->next);
}

static void learn(cop_model *model, uint64_t from, size_t count)
{
	for (uint64_t i = from; i < from + count; i++) {
		float x[FEATURES];
		cop_policy_view view;
		const cop_row row = { .d = FEATURES, .dense = x };
		const cop_model_logged event = {
			.x = &row, .arm = (uint32_t)(i % 3), .p = 0.5, .loss = (double)(i * 7 % 5) / 4.0, .learn = true
		};
		for (size_t j = 0; j < FEATURES; j++)
			x[j] = (float)(i * (j + 3) * 2654435761U % 1000) / 1000.0f;
		assert_int_equal(cop_model_take_logged(model, &event, &view), COP_OK);
	}
}

static void make(void *context)
{
	scene *s = context;
	cop_model_exchange_make(&s->exchange, s->next, &s->changes, NULL);
}

static void gone(void *context, cop_model_slot *slot)
{
	scene *s = context;
	s->gone++;
	cop_slot_bin_put(&s->bin, slot);
}

static void check_same(const cop_model_slot *slot, const cop_bytes *saved, const cop_config_model *config)
{
	cop_model_slot *loaded;
	cop_bytes one, two;
	cop_bytes_init(&one);
	cop_bytes_init(&two);
	assert_int_equal(cop_model_slot_open(config, &loaded, NULL), COP_OK);
	assert_int_equal(cop_model_slot_load(loaded, saved->data, saved->length, NULL), COP_OK);
	cop_model_slot_save(loaded, &one);
	cop_model_slot_save(slot, &two);
	assert_int_equal(one.length, two.length);
	assert_memory_equal(one.data, two.data, one.length);
	cop_model_slot_close(loaded);
	cop_bytes_fini(&one);
	cop_bytes_fini(&two);
}

static void grow_while_learning(const char *learner, int features, int arms)
{
	scene s;
	cop_bytes saved;
	cop_bytes_init(&saved);
	begin(&s, learner, features, arms);
	cop_model_slot *m = cop_model_table_find(&s.table, "m", 1), *other = cop_model_table_find(&s.table, "other", 5);
	learn(m->model, 0, 400);
	assert_int_equal(cop_model_exchange_begin(&s.exchange, &s.table, s.next, &s.changes), COP_OK);
	assert_int_equal(cop_job_start(&s.job, make, &s), COP_OK);
	learn(m->model, 400, 400);
	cop_job_finish(&s.job);
	learn(m->model, 800, 400);
	cop_model_slot_save(m, &saved);
	assert_int_equal(cop_model_exchange_ready(&s.exchange, s.next, &s.changes), COP_OK);
	assert_ptr_equal(cop_model_table_find(&s.table, "m", 1), m);
	assert_int_equal(cop_config_apply(s.own, s.next, &s.changes), COP_OK);
	cop_model_exchange_take(&s.exchange, s.own, gone, &s);
	cop_slot_bin_turn(&s.bin);
	const cop_model_slot *now = cop_model_table_find(&s.table, "m", 1);
	assert_int_equal(s.gone, 1);
	assert_ptr_not_equal(now, m);
	assert_ptr_equal(now->config, &s.own->models[0]);
	assert_ptr_equal(cop_model_table_find(&s.table, "other", 5), other);
	check_same(now, &saved, &s.own->models[0]);
	cop_bytes_fini(&saved);
	end(&s);
}

static void test_model_that_goes_on_learning_gets_arms(void **state)
{
	(void)state;
	grow_while_learning("ensemble", FEATURES, 5);
	grow_while_learning("dgt", FEATURES, 12);
}

static void test_model_that_goes_on_learning_gets_features(void **state)
{
	(void)state;
	grow_while_learning("ensemble", FEATURES + 3, 3);
	grow_while_learning("dgt", FEATURES + 3, 4);
}

/* At any stage. */
static void test_exchange_that_comes_to_nothing_leaves_all_as_it_was(void **state)
{
	(void)state;
	for (int stage = 0; stage < 4; stage++) {
		scene s;
		cop_bytes before, after;
		cop_bytes_init(&before);
		cop_bytes_init(&after);
		begin(&s, "ensemble", FEATURES, 5);
		cop_model_slot *m = cop_model_table_find(&s.table, "m", 1);
		learn(m->model, 0, 300);
		cop_model_slot_save(m, &before);
		if (stage > 0)
			assert_int_equal(cop_model_exchange_begin(&s.exchange, &s.table, s.next, &s.changes), COP_OK);
		if (stage > 1)
			make(&s);
		if (stage > 2)
			assert_int_equal(cop_model_exchange_ready(&s.exchange, s.next, &s.changes), COP_OK);
		cop_model_exchange_drop(&s.exchange);
		assert_ptr_equal(cop_model_table_find(&s.table, "m", 1), m);
		cop_model_slot_save(m, &after);
		assert_int_equal(before.length, after.length);
		assert_memory_equal(before.data, after.data, before.length);
		cop_bytes_fini(&before);
		cop_bytes_fini(&after);
		end(&s);
	}
}

static void save(const cop_model_table *table, cop_bytes *bytes)
{
	cop_bytes_init(bytes);
	size_t file = cop_section_file_begin(bytes);
	cop_model_table_save(table, bytes);
	cop_section_file_end(bytes, file);
}

/* They are found by nobody who serves, and are in what is saved as ever. */
static void test_models_that_leave_are_saved_and_come_back_to_their_places(void **state)
{
	(void)state;
	static const char *const sets[][3] = { { "m" }, { "other" }, { "other", "m", "nobody" } };
	static const size_t counts[] = { 1, 1, 3 };
	scene s;
	begin(&s, "dgt", FEATURES, 3);
	cop_model_slot *m = cop_model_table_find(&s.table, "m", 1), *other = cop_model_table_find(&s.table, "other", 5);
	learn(m->model, 0, 50);
	for (size_t i = 0; i < 3; i++) {
		cop_bytes before, after;
		const bool both = counts[i] > 1, leaves = both || strcmp(sets[i][0], "m") == 0;
		save(&s.table, &before);
		assert_int_equal(cop_model_table_let_leave(&s.table, sets[i], counts[i]), COP_OK);
		assert_int_equal(s.table.count, both ? 0 : 1);
		assert_ptr_equal(cop_model_table_find(&s.table, "m", 1), leaves ? NULL : m);
		assert_true(cop_model_table_is_leaving(&s.table, "m", 1) == leaves);
		assert_true(cop_model_table_is_leaving(&s.table, "", 0) == both);
		assert_null(cop_model_table_find(&s.table, "", 0));
		assert_ptr_equal(cop_model_table_find_stored(&s.table, "m", 1), m);
		save(&s.table, &after);
		assert_int_equal(after.length, before.length);
		cop_model_table_put_back(&s.table);
		assert_ptr_equal(s.table.items[0], m);
		assert_ptr_equal(s.table.items[1], other);
		assert_int_equal(s.table.count, 2);
		assert_int_equal(s.table.leaving_count, 0);
		cop_bytes_fini(&before);
		cop_bytes_fini(&after);
	}
	assert_int_equal(cop_model_table_let_leave(&s.table, sets[0], 1), COP_OK); /* freed with the table */
	end(&s);
}

/* Whether a thread is at it or not, none is forgotten and none is closed twice. */
static void test_bin_closes_all_that_was_put(void **state)
{
	(void)state;
	cop_config *config = parse("dgt", FEATURES, 3);
	cop_slot_bin bin = { 0 };
	cop_slot_bin_turn(&bin);
	for (int i = 0; i < 20; i++) {
		cop_model_slot *slot;
		assert_int_equal(cop_model_slot_open(&config->models[0], &slot, NULL), COP_OK);
		cop_slot_bin_put(&bin, slot);
		if (i % 3 == 0)
			cop_slot_bin_turn(&bin);
	}
	cop_slot_bin_fini(&bin);
	assert_null(bin.first);
	assert_null(bin.going);
	assert_false(bin.job.started);
	cop_config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model_that_goes_on_learning_gets_arms),
		cmocka_unit_test(test_model_that_goes_on_learning_gets_features),
		cmocka_unit_test(test_exchange_that_comes_to_nothing_leaves_all_as_it_was),
		cmocka_unit_test(test_models_that_leave_are_saved_and_come_back_to_their_places),
		cmocka_unit_test(test_bin_closes_all_that_was_put),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
