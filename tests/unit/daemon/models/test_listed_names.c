/* Names that files give, put into a map and taken back, also cut at every byte and with every allocation failing. */
#include "support.h"

#include <string.h>

#include "base/mem.h"
#include "daemon/config/config_rules.h"
#include "daemon/models/listed_names.h"
#include "support_fail.h"
#include "wire/wire_put.h"

static const char text[] = "sockets { admin = { } requests = { \"ipc:///tmp/r\" } }\n"
                           "model \"m\" { arms = 2 features = 2 experts = linear height = 1 trees = 0 }\n"
                           "model \"d\" { learner = dgt arms = 2 features = 3 height = 1 }\n";

static cop_config *config;
static cop_model_table models;

static void name(cop_config_list *list, const char *const *items, size_t count)
{
	list->items = cop_mem_alloc(count, sizeof *list->items);
	for (list->count = 0; list->count < count; list->count++)
		list->items[list->count] = cop_mem_strdup(items[list->count]);
}

static int make(void **state)
{
	static const char *const arms[] = { "news", "sport" }, *const features[] = { "age", "hour", "" };
	cop_config_report report;
	(void)state;
	cop_config_report_init(&report);
	cop_err err = cop_config_parse(text, sizeof text - 1, "text", NULL, &config, &report);
	for (size_t i = 0; i < report.count; i++)
		print_message("%s\n", report.items[i].message);
	cop_config_report_fini(&report);
	if (err != COP_OK || cop_model_table_init(&models, config, NULL) != COP_OK)
		return 1;
	name(&config->models[1].arm_name_list, arms, 2);
	name(&config->models[1].feature_name_list, features, 3);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	cop_model_table_fini(&models);
	cop_config_free(config);
	return 0;
}

static void free_names(cop_config_model *model)
{
	cop_config_list_free(&model->arm_name_list);
	cop_config_list_free(&model->feature_name_list);
	cop_config_list_free(&model->candidate_name_list);
}

static void test_names_come_back_under_the_stored_name(void **state)
{
	cop_bytes bytes;
	cop_config_model model = { .name = "x" };
	(void)state;
	cop_bytes_init(&bytes);
	cop_listed_names_put(&models, &bytes);
	assert_int_equal(bytes.err, COP_OK);
	assert_int_equal(cop_listed_names_take(bytes.data, bytes.length, "d", &model), COP_OK);
	assert_true(cop_config_list_equal(&model.arm_name_list, &config->models[1].arm_name_list));
	assert_true(cop_config_list_equal(&model.feature_name_list, &config->models[1].feature_name_list));
	assert_int_equal(model.candidate_name_list.count, 0);
	assert_true(cop_listed_names_has(&model));
	for (const char *const *other = (const char *const[]){ "m", "e", NULL }; *other != NULL; other++) {
		assert_int_equal(cop_listed_names_take(bytes.data, bytes.length, *other, &model), COP_OK);
		assert_false(cop_listed_names_has(&model));
	}
	cop_bytes_fini(&bytes);
	free_names(&model);
}

static void test_damage_is_no_names(void **state)
{
	cop_bytes bytes;
	cop_config_model model = { .name = "x" };
	(void)state;
	cop_bytes_init(&bytes);
	cop_listed_names_put(&models, &bytes);
	for (size_t i = 0; i < bytes.length; i++) {
		assert_int_equal(cop_listed_names_take(bytes.data, i, "d", &model), COP_EFORMAT);
		assert_false(cop_listed_names_has(&model));
	}
	cop_bytes_clear(&bytes);
	cop_wire_put_nil(&bytes); /* there were too many */
	assert_int_equal(cop_listed_names_take(bytes.data, bytes.length, "d", &model), COP_EFORMAT);
	assert_int_equal(cop_listed_names_take(NULL, 0, "d", &model), COP_EFORMAT);
	cop_bytes_clear(&bytes);
	size_t all = cop_wire_put_map_open(&bytes); /* an option of a later version */
	cop_wire_put_text(&bytes, "d");
	size_t one = cop_wire_put_map_open(&bytes);
	cop_wire_put_key_bool(&bytes, "leaf_names", true);
	cop_wire_put_text(&bytes, "arm_names");
	cop_wire_put_array(&bytes, 1);
	cop_wire_put_text(&bytes, "a");
	cop_wire_put_map_close(&bytes, one);
	cop_wire_put_map_close(&bytes, all);
	assert_int_equal(cop_listed_names_take(bytes.data, bytes.length, "d", &model), COP_OK);
	assert_int_equal(model.arm_name_list.count, 1);
	cop_bytes_fini(&bytes);
	free_names(&model);
}

static void test_too_many_names_are_nil(void **state)
{
	cop_bytes bytes;
	cop_config_list *list = &config->models[0].feature_name_list;
	const size_t count = COP_LISTED_NAMES_MOST / 8;
	(void)state;
	cop_bytes_init(&bytes);
	list->items = cop_mem_alloc(count, sizeof *list->items);
	assert_non_null(list->items);
	for (list->count = 0; list->count < count; list->count++)
		list->items[list->count] = cop_mem_strdup("12345678");
	cop_listed_names_put(&models, &bytes);
	assert_int_equal(bytes.length, 1);
	assert_int_equal(bytes.data[0], 0xc0);
	cop_config_list_free(list);
	cop_bytes_fini(&bytes);
}

static cop_err put_and_take(void *context, cop_diag *diag)
{
	cop_bytes bytes;
	cop_config_model model = { .name = "x" };
	(void)context;
	(void)diag;
	cop_bytes_init(&bytes);
	cop_listed_names_put(&models, &bytes);
	cop_err err = bytes.err;
	if (err == COP_OK)
		err = cop_listed_names_take(bytes.data, bytes.length, "d", &model);
	assert_int_equal(cop_listed_names_has(&model), err == COP_OK);
	cop_bytes_fini(&bytes);
	free_names(&model);
	return err;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_come_back_under_the_stored_name),
		cmocka_unit_test(test_damage_is_no_names),
		cmocka_unit_test(test_too_many_names_are_nil),
	};
	static cop_test_attempt attempts[] = {
		{ "names", NULL, put_and_take, NULL, .silent = true, .allocations = 4 },
	};
	return cmocka_run_group_tests(tests, make, drop) + cop_test_fail_group(attempts, 1, NULL, NULL, make, drop);
}
