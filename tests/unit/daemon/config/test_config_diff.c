#include "daemon/config/config.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "support.h"

#define TAIL  "sockets { requests = { \"ipc://r.ipc\" } }\n"
#define SMALL TAIL "model m { arms = 2 features = 3 }\n"

/* A configuration that must be right; the caller frees it. */
static cop_config *good(const char *text)
{
	cop_config *config;
	cop_config_report report;
	cop_config_report_init(&report);
	assert_int_equal(cop_config_parse(text, strlen(text), "test.conf", NULL, &config, &report), COP_OK);
	assert_int_equal(report.count, 0);
	cop_config_report_fini(&report);
	return config;
}

static void test_config_diff_tells_applied_from_restart(void **state)
{
	(void)state;
	static const struct {
		const char *next;
		bool applied;
		const char *text;
	} cases[] = {
		{ SMALL "log { level = debug }", true, "log.level: \"info\" -> \"debug\"" },
		{ SMALL "log { facility = user }", false, "log.facility: \"daemon\" -> \"user\"" },
		{ SMALL "checkpoint { every = 10s }", true, "checkpoint.every: \"1min\" -> \"10s\"" },
		{ SMALL "checkpoint { keep = 4 }", true, "checkpoint.keep: 3 -> 4" },
		{ SMALL "state_dir = x", false, "state_dir: \"/var/lib/coppice\" -> \"x\"" }, /* and admin in it */
		{ SMALL "http { listen = \"h:1\" }", false, "http.listen" },
		{ "sockets { requests = { \"ipc://s\" } } model m { arms = 2 features = 3 }", false,
		        "sockets.requests: { \"ipc://r.ipc\" } -> { \"ipc://s\" }" },
		{ TAIL "model m { arms = 2 features = 3 gamma = 5 }", true, "model m: gamma: 60 -> 5" },
		{ TAIL "model m { arms = 2 features = 3 optimism = 0 }", true, "model m: optimism: 0.3 -> 0" },
		{ TAIL "model m { arms = 2 features = 3 least_propensity = 0.1 }", true,
		        "model m: least_propensity: 0.004 -> 0.1" },
		{ TAIL "model m { arms = 2 features = 3 share_min = { \"1=0.2\" } }", true,
		        "model m: share_min: { } -> { \"1=0.2\" }" },
		{ TAIL "model m { arms = 2 features = 3 share_max = { \"1=0.2\", \"0=0.9\" } }", true,
		        "model m: share_max: { } -> { \"0=0.9\", \"1=0.2\" }" },
		{ TAIL "model m { arms = 2 features = 3 experts = { forest, trees } }", false,
		        "model m: experts: { \"linear\", \"trees\", \"quadratic\", \"forest\" } -> { \"trees\", "
		        "\"forest\" }" },
		{ TAIL "model m { arms = 2 features = 3 epsilon = 0.5 }", true, "model m: epsilon: 0.1 -> 0.5" },
		{ TAIL "model m { arms = 2 features = 3 reward_window = 1s }", true, "model m: reward_window" },
		{ TAIL "model m { arms = 2 features = 3 default_loss = 1 }", true, "default_loss: \"none\" -> 1" },
		{ TAIL "model m { arms = 2 features = 3 reward = sum }", true, "model m: reward: " },
		{ TAIL "model m { arms = 2 features = 3 pending_max = 1 }", true, "model m: pending_max" },
		{ TAIL "model m { arms = 2 features = 3 explain_keep = 1 }", true, "model m: explain_keep" },
		{ TAIL "model m { arms = 2 features = 3 unheard = decide }", true,
		        "model m: unheard: \"wait\" -> \"decide\"" },
		{ TAIL "model m { arms = 2 features = 3 unheard_max = 1 }", true, "model m: unheard_max: 10000 -> 1" },
		{ TAIL "model m { arms = 2 features = 3 unheard_bytes = 1KiB }", true, "model m: unheard_bytes" },
		{ TAIL "model m { arms = 2 features = 3 unheard_age = 1s }", true, "model m: unheard_age" },
		{ TAIL "model m { arms = 2 features = 3 apprentice = true }", true,
		        "model m: apprentice: false -> true" },
		{ TAIL "model m { arms = 2 features = 3 arm_names = x }", true, "model m: arm_names: \"\" -> \"x\"" },
		{ TAIL "model m { arms = 2 features = 3 refit { enabled = true } }", true,
		        "model m: refit.enabled: false -> true" },
		{ TAIL "model m { arms = 2 features = 3 refit { alpha = 0.5 } }", true,
		        "model m: refit.alpha: \"auto\" -> 0.5" },
		{ TAIL "model m { arms = 2 features = 3 refit { promote = never } }", true,
		        "model m: refit.promote: \"evidence\" -> \"never\"" },
		{ TAIL "model m { arms = 2 features = 3 seed = 2 }", false, "model m: seed: 1 -> 2" },
		{ TAIL "model m { arms = 3 features = 3 }", true, "model m: arms: 2 -> 3" },
		{ SMALL "model n { arms = 3 features = 3 }", true, "model n: added" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_config *old = good(SMALL), *next = good(cases[i].next);
		cop_config_changes changes;
		assert_int_equal(cop_config_diff(old, next, &changes), COP_OK);
		size_t all = strstr(cases[i].text, "state_dir") != NULL ? 2 : 1;
		assert_int_equal(changes.count, all);
		if (strstr(changes.items[0].text, cases[i].text) == NULL)
			print_message("%s\n", changes.items[0].text);
		assert_non_null(strstr(changes.items[0].text, cases[i].text));
		assert_int_equal(changes.items[0].kind == COP_CHANGE_APPLIED, cases[i].applied);
		/* What is called applied is exactly what apply takes over. */
		assert_int_equal(cop_config_apply(old, next, &changes), COP_OK);
		cop_config_changes_free(&changes);
		cop_config_free(next);
		next = good(cases[i].next);
		assert_int_equal(cop_config_diff(old, next, &changes), COP_OK);
		assert_int_equal(changes.count, cases[i].applied ? 0 : all);
		cop_config_changes_free(&changes);
		cop_config_free(next);
		cop_config_free(old);
	}
}

static void test_config_diff_of_other_shape_applies_nothing_of_the_model(void **state)
{
	(void)state;
	cop_config *old = good(SMALL "model gone { arms = 2 features = 1 }");
	cop_config *next = good(TAIL "model m { arms = 2 features = 3 loss_range = {0, 9} default_loss = 8 }");
	cop_config_changes changes;
	assert_int_equal(cop_config_diff(old, next, &changes), COP_OK);
	assert_int_equal(changes.count, 3);
	for (size_t i = 0; i < changes.count; i++)
		assert_int_equal(changes.items[i].kind, i < 2 ? COP_CHANGE_RESTART : COP_CHANGE_APPLIED);
	assert_string_equal(changes.items[2].text, "model gone: removed");
	assert_int_equal(cop_config_apply(old, next, &changes), COP_OK);
	assert_int_equal(old->model_count, 1);
	assert_false(old->models[0].set.has_default_loss);
	cop_config_changes_free(&changes);
	cop_config_free(next);
	cop_config_free(old);
}

/* What is given as its default's number is not the default: it stays when another default comes. */
static void test_config_diff_tells_given_zero_from_nothing(void **state)
{
	(void)state;
	static const char *const pairs[][3] = {
		{ "default_loss = none", "default_loss = 0", "model m: default_loss: \"none\" -> 0" },
		{ "default_loss = 0", "default_loss = none", "model m: default_loss: 0 -> \"none\"" },
		{ "default_loss = 0", "default_loss = 1", "model m: default_loss: 0 -> 1" },
		{ "refit { alpha = auto }", "refit { alpha = 0 }", "model m: refit.alpha: \"auto\" -> 0" },
		{ "refit { alpha = 0 }", "refit { alpha = auto }", "model m: refit.alpha: 0 -> \"auto\"" },
		{ "refit { alpha = 0 }", "refit { alpha = 1 }", "model m: refit.alpha: 0 -> 1" },
		{ "refit { memory = auto }", "refit { memory = 16MiB }",
		        "model m: refit.memory: \"auto\" -> \"16MiB\"" },
		{ "loss_range = { 0, 1 }", "loss_range = { 0, 2 }", "model m: loss_range: { 0, 1 } -> { 0, 2 }" },
		{ "loss_range = { 0, 1 }", "loss_range = { -1, 1 }", "model m: loss_range: { 0, 1 } -> { -1, 1 }" },
		{ "feature_names = x", "feature_names = y", "model m: feature_names: \"x\" -> \"y\"" },
		{ "feature_names = x", "", "model m: feature_names: \"x\" -> \"\"" },
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		cop_config *config[2];
		for (size_t j = 0; j < 2; j++) {
			char text[256];
			(void)snprintf(text, sizeof text, TAIL "model m { arms = 2 features = 3 %s }\n", pairs[i][j]);
			config[j] = good(text);
		}
		cop_config_changes changes;
		assert_int_equal(cop_config_diff(config[0], config[1], &changes), COP_OK);
		assert_int_equal(changes.count, 1);
		assert_string_equal(changes.items[0].text, pairs[i][2]);
		assert_string_equal(changes.items[0].model, "m");
		cop_config_changes_free(&changes);
		assert_true(changes.count == 0 && changes.items == NULL);
		cop_config_free(config[0]);
		cop_config_free(config[1]);
	}
}

static void test_config_diff_of_endpoints_sees_each(void **state)
{
	(void)state;
	static const char *const lists[] = { "\"ipc://a\"", "\"ipc://b\"", "\"ipc://a\", \"ipc://b\"",
		"\"ipc://b\", \"ipc://a\"", "\"ipc://a\", \"ipc://c\"", "\"ipc://c\", \"ipc://b\"" };
	enum { LISTS = sizeof lists / sizeof *lists };
	for (size_t i = 0; i < LISTS; i++)
		for (size_t j = 0; j < LISTS; j++) {
			cop_config *config[2];
			for (size_t k = 0; k < 2; k++) {
				char text[256];
				(void)snprintf(text, sizeof text,
				        "sockets { requests = { %s } } model m { arms = 2 features = 3 }\n",
				        lists[k == 0 ? i : j]);
				config[k] = good(text);
			}
			cop_config_changes changes;
			assert_int_equal(cop_config_diff(config[0], config[1], &changes), COP_OK);
			assert_int_equal(changes.count, i == j ? 0 : 1);
			cop_config_changes_free(&changes);
			cop_config_free(config[0]);
			cop_config_free(config[1]);
		}
}

/* As if a file of names held this one alone. */
static void name_one(cop_config_list *list, const char *name)
{
	list->items = cop_mem_alloc(1, sizeof *list->items);
	assert_non_null(list->items);
	list->items[0] = cop_mem_strdup(name);
	list->count = 1;
}

/* Of each kind of change alone, so that no later one hides that an earlier one could not be noted. */
static void test_config_diff_nth_allocation_fails_gives_enomem(void **state)
{
	(void)state;
	enum { TEXTS = 7, NAMES = 2 };
	static const char *const texts[TEXTS] = { SMALL "log { level = debug }", "state_dir = x\n" SMALL,
		TAIL "model m { arms = 2 features = 3 gamma = 5 }",
		TAIL "model m { arms = 2 features = 3 refit { margin = 0.1 } }",
		TAIL "model m { arms = 2 features = 3 refit { keep = 9 } }", TAIL "model n { arms = 2 features = 3 }",
		SMALL "model n { arms = 2 features = 3 }" };
	for (size_t i = 0; i < TEXTS + NAMES; i++) {
		cop_config *old = good(SMALL), *next = good(i < TEXTS ? texts[i] : SMALL);
		cop_err err = COP_ENOMEM;
		if (i >= TEXTS) {
			bool arms = i > TEXTS;
			name_one(arms ? &old->models[0].arm_name_list : &old->models[0].feature_name_list, "a");
			name_one(arms ? &next->models[0].arm_name_list : &next->models[0].feature_name_list, "b");
		}
		unsigned long n = 0;
		while (err == COP_ENOMEM) {
			cop_config_changes changes;
			cop_test_alloc_fail(++n, 0);
			err = cop_config_diff(old, next, &changes);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			if (err == COP_OK)
				assert_int_equal(changes.count, i == 1 || i == 5 ? 2 : 1);
			cop_config_changes_free(&changes);
		}
		assert_int_equal(err, COP_OK);
		assert_true(n > 1);
		cop_config_free(old);
		cop_config_free(next);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config_diff_tells_applied_from_restart),
		cmocka_unit_test(test_config_diff_of_other_shape_applies_nothing_of_the_model),
		cmocka_unit_test(test_config_diff_tells_given_zero_from_nothing),
		cmocka_unit_test(test_config_diff_of_endpoints_sees_each),
		cmocka_unit_test(test_config_diff_nth_allocation_fails_gives_enomem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
