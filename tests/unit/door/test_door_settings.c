/* What a model's text may hold, and each way in which it is refused. */
#include "support.h"

#include "door_fixture.h"
#include "online/model.h"

#include "door/door_settings.h"

static cop_model_settings read_well(const char *text)
{
	cop_model_settings set;
	cop_diag diag = { .message = "" };
	cop_model_settings_init(&set);
	if (cop_door_settings_read(text, false, &set, &diag) != COP_OK)
		fail_msg("%s: %s", text, diag.message);
	return set;
}

static void test_door_settings_every_option_reaches_its_place(void **state)
{
	(void)state;
	cop_model_settings s = read_well(
	        "# a comment = \"x\"\n learner=dgt features = 7 arms = 4\tbits = 9\n max_nonzeros = 11 max_candidates "
	        "= 12 "
	        "candidate_features = 13 policy = \"squarecb\" epsilon = 0.25 epsilon_decay = 0.5 epsilon_floor = "
	        "0.125 "
	        "gamma = 3 optimism = 0.75 least_propensity = 0.01 share_min = { 0=0.1, 2=0.2 } share_max = {1=0.5} "
	        "experts = { forest, linear } height = 5 trees = 6 learning_rate = 0.5 seed = 18446744073709551615 "
	        "reward_window = 10min default_loss = 0.5 reward = sum loss_range = { -1, 2 } value_range = {3,4} "
	        "delta = 0.3 delta_decay = 0.2 delta_floor = 0.1 feedback = two shared_bias = false pending_max = 77 "
	        "pending_bytes = 2MiB explain_keep = 8 # end");
	const cop_learner_settings *l = &s.learner;
	assert_string_equal(l->learner, "dgt");
	assert_string_equal(l->policy, "squarecb");
	const size_t sizes[] = { l->features, l->arms, l->bits, l->max_nonzeros, l->max_candidates,
		l->candidate_features, l->height, l->trees, s.pending_max, s.pending_bytes, s.explain_keep };
	const size_t expected[] = { 7, 4, 9, 11, 12, 13, 5, 6, 77, 2 << 20, 8 };
	assert_memory_equal(sizes, expected, sizeof sizes);
	const double numbers[] = { l->exploration.epsilon, l->exploration.epsilon_decay, l->exploration.epsilon_floor,
		l->exploration.gamma, l->exploration.optimism, l->exploration.shares.least_propensity, l->learning_rate,
		s.reward_window, s.default_loss, s.loss_low, s.loss_high, s.value_low, s.value_high, l->delta,
		l->delta_decay, l->delta_floor };
	const double wanted[] = { 0.25, 0.5, 0.125, 3, 0.75, 0.01, 0.5, 600, 0.5, -1, 2, 3, 4, 0.3, 0.2, 0.1 };
	assert_memory_equal(numbers, wanted, sizeof numbers);
	assert_int_equal(l->exploration.shares.min.count, 2);
	assert_int_equal(l->exploration.shares.min.arm[1], 2);
	assert_true(l->exploration.shares.max.share[0] == 0.5);
	assert_int_equal(l->experts, COP_EXPERT_LINEAR | COP_EXPERT_FOREST);
	assert_true(l->seed == UINT64_MAX && s.has_default_loss && l->literal);
	assert_int_equal(s.reward, COP_REWARD_SUM);
	assert_int_equal(l->feedback, COP_VALUE_TWO);
}

static void test_door_settings_units_and_words(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double seconds;
	} times[] = { { "1ms", 0.001 }, { "2s", 2 }, { "3min", 180 }, { "\"4 h\"", 14400 }, { "5d", 432000 } };
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		char text[64];
		(void)snprintf(text, sizeof text, "features=2 arms=2 reward_window=%s", times[i].text);
		assert_true(read_well(text).reward_window == times[i].seconds);
	}
	assert_int_equal(read_well("features=0 experts={linear,trees,quadratic,forest}").learner.experts, 0);
	assert_false(read_well("features=0 shared_bias=true default_loss=none").learner.literal);
	assert_int_equal(read_well("features=0 pending_bytes=65536B").pending_bytes, 65536);
	assert_int_equal(read_well("features=0 share_min={}").learner.exploration.shares.min.count, 0);
}

static const struct {
	const char *text;
	coppice_err err;
	const char *words;
} wrong[] = {
	{ "", COPPICE_EINVAL, "features: is missing" },
	{ "features", COPPICE_EFORMAT, "expected OPTION = VALUE" },
	{ "= 3", COPPICE_EFORMAT, "expected OPTION = VALUE" },
	{ "features 3", COPPICE_EFORMAT, "expected OPTION = VALUE" },
	{ "features =", COPPICE_EFORMAT, "features: expected a value" },
	{ "features = \"3", COPPICE_EFORMAT, "a quote is not closed" },
	{ "features = 1 share_min = { 0=0.1", COPPICE_EFORMAT, "a list is not closed" },
	{ "features = 1 share_min = { 0=0.1 { } }", COPPICE_EFORMAT, "expected a value" },
	{ "features = 1\narms = 2\nfeaturs = 3", COPPICE_EFORMAT, "settings:3: featurs: there is no such option" },
	{ "features = 1 features = 1", COPPICE_EINVAL, "features: stands twice" },
	{ "features = 1 start_from = x", COPPICE_EINVAL, "start_from: expected this in a daemon's" },
	{ "features = 1 refit = x", COPPICE_EINVAL, "daemon" },
	{ "features = -1", COPPICE_EINVAL, "\"-1\" is not allowed, expected a whole number from 0 to 65536" },
	{ "features = 65537", COPPICE_EINVAL, "expected a whole number from 0 to 65536" },
	{ "features = 18446744073709551616", COPPICE_EINVAL, "whole number" },
	{ "features = 1.5", COPPICE_EINVAL, "whole number" },
	{ "features = { 1 2 }", COPPICE_EINVAL, "2 values are not allowed" },
	{ "features = {}", COPPICE_EINVAL, "0 values are not allowed" },
	{ "features = 1 arms = 1", COPPICE_EINVAL, "from 2 to 10000" },
	{ "features = 1 height = 0", COPPICE_EINVAL,
	        "height: \"0\" is not allowed, expected a whole number from 1 to 12" },
	{ "features = 1 epsilon = 1.5", COPPICE_EINVAL,
	        "epsilon: \"1.5\" is not allowed, expected a number from 0 to 1" },
	{ "features = 1 epsilon = nan", COPPICE_EINVAL, "epsilon" },
	{ "features = 1 seed = x", COPPICE_EINVAL, "18446744073709551615" },
	{ "features = 1 reward_window = 5", COPPICE_EINVAL, "a duration like" },
	{ "features = 1 reward_window = 1us", COPPICE_EINVAL, "a duration like" },
	{ "features = 1 pending_bytes = 1KiB", COPPICE_EINVAL, "a size like" },
	{ "features = 1 reward = best", COPPICE_EINVAL, "expected earliest, last, sum or first" },
	{ "features = 1 feedback = three", COPPICE_EINVAL, "bins, one or two" },
	{ "features = 1 experts = { linear linear }", COPPICE_EINVAL, "some of linear, trees, quadratic and forest" },
	{ "features = 1 experts = {}", COPPICE_EINVAL, "some of" },
	{ "features = 1 shared_bias = maybe", COPPICE_EINVAL, "true or false" },
	{ "features = 1 loss_range = { 1, 1 }", COPPICE_EINVAL, "LOW < HIGH" },
	{ "features = 1 loss_range = 1", COPPICE_EINVAL, "LOW < HIGH" },
	{ "features = 1 default_loss = some", COPPICE_EINVAL, "none or a number" },
	{ "features = 1 share_max = { 0=2 }", COPPICE_EINVAL, "ARM=SHARE" },
	{ "features = 1 learner = \"\"", COPPICE_EINVAL,
	        "expected ensemble, dgt, value, rank, trained, trained_value or ridge" },
	{ "features = 1 learner = an-ensemble-of-many", COPPICE_EINVAL,
	        "expected ensemble, dgt, value, rank, trained, trained_value or ridge" },
	{ "features = 1 policy = 0123456789012345678901234567890123456789012345678901234567890123456789",
	        COPPICE_EINVAL, "at most 64 values" },
	/* Of the model. */
	{ "features = 1", COPPICE_EINVAL, "arms: expected 2 to 10000" },
	{ "features = 1 arms = 2 learner = best", COPPICE_EINVAL,
	        "learner: \"best\" is not allowed, expected ensemble, dgt, value, rank, trained, trained_value or "
	        "ridge" },
	{ "features = 1 arms = 2 policy = best", COPPICE_EINVAL, "policy: \"best\" is not allowed, expected" },
	{ "features = 1 arms = 2 default_loss = 2", COPPICE_EINVAL, "default_loss: expected a loss in loss_range" },
	{ "features = 1 arms = 2 share_min = { 0=0.6, 1=0.6 }", COPPICE_EINVAL, "share_min" },
	{ "features = 1 arms = 2 height = 9", COPPICE_EINVAL, "height: expected 1 to 8" },
	{ "learner = rank features = 2", COPPICE_EINVAL, "candidate_features" },
};

static void test_door_settings_refused_with_what_was_expected(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		coppice_model *model = (coppice_model *)&model;
		coppice_message message = { "" };
		coppice_err err = coppice_model_new(wrong[i].text, &model, &message);
		if (err != wrong[i].err || strstr(message.text, wrong[i].words) == NULL || model != NULL)
			fail_msg("'%s': error %d (%s), expected %d (%s)", wrong[i].text, (int)err, message.text,
			        (int)wrong[i].err, wrong[i].words);
		assert_int_equal(coppice_model_new(wrong[i].text, &model, NULL), wrong[i].err);
	}
}

static void test_door_settings_lists_are_bounded(void **state)
{
	(void)state;
	char text[1024] = "features = 1 arms = 100 share_min = {";
	for (int i = 0; i < 65; i++)
		(void)snprintf(text + strlen(text), sizeof text - strlen(text), " %d=0.001", i);
	(void)snprintf(text + strlen(text), sizeof text - strlen(text), " }");
	coppice_model *model;
	coppice_message message = { "" };
	assert_int_equal(coppice_model_new(text, &model, &message), COPPICE_EINVAL);
	assert_non_null(strstr(message.text, "at most 64 values"));
}

static void test_door_settings_adjust_changes_what_may_change(void **state)
{
	(void)state;
	coppice_model *model = door_model(ARMS_TEXT);
	door_expect(model, coppice_model_adjust(model, "arms = 4"), COPPICE_EINVAL, "arms: cannot change");
	door_expect(model, coppice_model_adjust(model, "arm = 4"), COPPICE_EFORMAT, "no such option");
	door_expect(model, coppice_model_adjust(model, "share_min = { 0=0.6, 1=0.6 }"), COPPICE_EINVAL, "share_min");
	door_expect(model, coppice_model_adjust(model, "default_loss = 2"), COPPICE_EINVAL, "default_loss");
	assert_int_equal(coppice_model_adjust(model, "reward_window = 1s  default_loss = 1"), COPPICE_OK);
	cop_rng rng;
	cop_rng_init(&rng, 3, 0);
	(void)door_step(model, &rng, 1, 0.0, true);
	assert_int_equal(coppice_model_expire(model, 0.5), 0);
	assert_int_equal(coppice_model_expire(model, 1.5), 1);
	coppice_counters counters;
	coppice_model_counters(model, &counters);
	assert_int_equal(counters.defaulted, 1);
	assert_true(counters.loss_sum == 1.0);
	coppice_model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_door_settings_every_option_reaches_its_place),
		cmocka_unit_test(test_door_settings_units_and_words),
		cmocka_unit_test(test_door_settings_refused_with_what_was_expected),
		cmocka_unit_test(test_door_settings_lists_are_bounded),
		cmocka_unit_test(test_door_settings_adjust_changes_what_may_change),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
