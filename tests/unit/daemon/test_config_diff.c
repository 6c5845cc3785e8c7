#include "daemon/config.h"

#include <string.h>

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
		{ SMALL "state_dir = x", false, "state_dir: \"/var/lib/coppice\" -> \"x\"" },
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
		{ TAIL "model m { arms = 3 features = 3 }", false, "model m: arms: 2 -> 3" },
		{ SMALL "model n { arms = 3 features = 3 }", false, "model n: added" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_config *old = good(SMALL), *next = good(cases[i].next);
		cop_config_changes changes;
		assert_int_equal(cop_config_diff(old, next, &changes), COP_OK);
		assert_int_equal(changes.count, 1);
		if (strstr(changes.items[0].text, cases[i].text) == NULL)
			print_message("%s\n", changes.items[0].text);
		assert_non_null(strstr(changes.items[0].text, cases[i].text));
		assert_int_equal(changes.items[0].kind == COP_CHANGE_APPLIED, cases[i].applied);
		cop_config_changes_free(&changes);
		/* What is called applied is exactly what apply takes over. */
		cop_config_apply(old, next);
		cop_config_free(next);
		next = good(cases[i].next);
		assert_int_equal(cop_config_diff(old, next, &changes), COP_OK);
		assert_int_equal(changes.count, cases[i].applied ? 0 : 1);
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
		assert_int_equal(changes.items[i].kind, COP_CHANGE_RESTART);
	assert_string_equal(changes.items[2].text, "model gone: removed");
	cop_config_apply(old, next);
	assert_false(old->models[0].default_loss.given);
	cop_config_changes_free(&changes);
	cop_config_free(next);
	cop_config_free(old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config_diff_tells_applied_from_restart),
		cmocka_unit_test(test_config_diff_of_other_shape_applies_nothing_of_the_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
