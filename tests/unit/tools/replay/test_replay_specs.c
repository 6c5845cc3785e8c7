#include "tools/replay/replay_options.h"

#include <stdio.h>
#include <string.h>

#include "support.h"

static const char *const learners[] = { "ensemble", "dgt", "rank", NULL };

static bool read_specs(const char *text, cop_replay_options *out)
{
	cop_learner_options base;
	*out = (cop_replay_options){ .path = "" };
	cop_learner_options_init(&base, "replay", learners);
	base.settings.seed = 7;
	return cop_replay_specs_read(text, &base, out);
}

static void test_specs_short_ones_are_divided_by_commas(void **state)
{
	(void)state;
	cop_replay_options o;
	assert_true(read_specs("ensemble,dgt:height=4:literal,uniform,constant:12,logged", &o));
	assert_int_equal(o.settings, 5);
	assert_string_equal(o.setting[0].name, "ensemble");
	assert_string_equal(o.setting[1].name, "dgt:height=4:literal");
	assert_string_equal(o.setting[1].learner.learner, "dgt");
	assert_int_equal(o.setting[1].learner.height, 4);
	assert_true(o.setting[1].learner.literal);
	assert_int_equal(o.setting[1].learner.seed, 7);
	assert_int_equal(o.setting[2].kind, COP_REPLAY_UNIFORM);
	assert_int_equal(o.setting[3].kind, COP_REPLAY_CONSTANT);
	assert_int_equal(o.setting[3].constant, 12);
	assert_int_equal(o.setting[4].kind, COP_REPLAY_LOGGED);
}

static void test_specs_long_one_has_a_name_and_options(void **state)
{
	(void)state;
	cop_replay_options o;
	assert_true(read_specs("my own: --learner dgt --height=3 --epsilon 0.2", &o));
	assert_int_equal(o.settings, 1);
	assert_string_equal(o.setting[0].name, "my own");
	assert_int_equal(o.setting[0].learner.height, 3);
	assert_true(o.setting[0].learner.exploration.epsilon == 0.2);
	assert_true(read_specs("--learner dgt", &o));
	assert_string_equal(o.setting[0].name, "--learner dgt");
}

static void test_specs_exploration_and_experts_are_taken(void **state)
{
	(void)state;
	cop_replay_options o;
	assert_true(read_specs("ensemble:policy=fastcb:gamma=5,ensemble:gamma=6:optimism=0,"
	                       "ensemble:policy=squarecb:gamma=7:experts=forest+linear,"
	                       "dgt:epsilon-decay=1:epsilon-floor=0.3",
	        &o));
	assert_int_equal(o.settings, 4);
	assert_string_equal(o.setting[0].learner.policy, "fastcb");
	assert_true(o.setting[0].learner.exploration.gamma == 5.0);
	assert_true(o.setting[0].learner.exploration.optimism < 0.0);
	assert_true(o.setting[1].learner.exploration.optimism == 0.0);
	assert_int_equal(o.setting[1].learner.experts, 0);
	assert_int_equal(o.setting[2].learner.experts, COP_EXPERT_LINEAR | COP_EXPERT_FOREST);
	assert_true(o.setting[3].learner.exploration.epsilon_decay == 1.0);
	assert_true(o.setting[3].learner.exploration.epsilon_floor == 0.3);
	assert_true(read_specs("some: --experts quadratic,trees --optimism 1.5", &o));
	assert_int_equal(o.setting[0].learner.experts, COP_EXPERT_TREES | COP_EXPERT_QUADRATIC);
	assert_true(o.setting[0].learner.exploration.optimism == 1.5);
}

static void test_specs_wrong_ones_are_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = { "", ",", ":", "forest", "dgt:height", "dgt:height=", "dgt:height=0",
		"dgt:literal=1", "dgt:=3", "constant:-1", "constant:x", "constant:99999999999", "a: --height",
		"a: dgt --x", "a: --learner dgt 3", "dgt,dgt", "ensemble:literal", "ensemble:height=12", "dgt:gamma=3",
		"dgt:policy=bag", "ensemble:policy=epsilon:gamma=3", "dgt:optimism=1", "ensemble:optimism=-1",
		"rank:experts=linear", "dgt:experts=linear", "ensemble:experts=", "ensemble:experts=stumps",
		"ensemble:experts=linear+", "ensemble:experts=linear+linear", "a: --learner ensemble --experts linear,",
		"ensemble:epsilon=0.1", "ensemble:epsilon-decay=0.1", "ensemble:epsilon-floor=0.1",
		"dgt:epsilon-decay=1.1", "dgt:epsilon-floor=0.31", "dgt:epsilon=0.1:epsilon-floor=0.2" };
	cop_replay_options o;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (read_specs(wrong[i], &o))
			fail_msg("'%s' was taken", wrong[i]);
}

static void test_specs_too_many_are_refused(void **state)
{
	(void)state;
	cop_replay_options o;
	char text[400] = "";
	for (int i = 0; i < COP_REPLAY_MOST_SETTINGS; i++)
		(void)snprintf(text + strlen(text), sizeof text - strlen(text), "constant:%d,", i);
	assert_true(read_specs(text, &o));
	assert_int_equal(o.settings, COP_REPLAY_MOST_SETTINGS);
	strcat(text, "uniform");
	assert_false(read_specs(text, &o));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_specs_short_ones_are_divided_by_commas),
		cmocka_unit_test(test_specs_long_one_has_a_name_and_options),
		cmocka_unit_test(test_specs_exploration_and_experts_are_taken),
		cmocka_unit_test(test_specs_wrong_ones_are_refused),
		cmocka_unit_test(test_specs_too_many_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
