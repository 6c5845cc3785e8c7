#include "tools/replay/policy_run.h"

#include "support.h"

static cop_replay_seen look(cop_replay_kind kind, const cop_logged_event *event)
{
	cop_policy_run_settings settings = { .kind = kind, .constant = 2 };
	cop_policy_run *player;
	cop_model *none = NULL;
	cop_replay_seen seen;
	settings.model.learner.arms = 4;
	assert_int_equal(cop_policy_run_new(&settings, &none, &player, NULL), COP_OK);
	assert_int_equal(cop_policy_run_take(player, event, false, &seen), COP_OK);
	assert_false(seen.has_model || seen.refused);
	cop_policy_run_free(player);
	return seen;
}

/* As likely as any other that could be played: of the model's arms, of the event's mask or of its candidates. */
static void test_uniform_plays_each_eligible_action_alike(void **state)
{
	(void)state;
	static const uint8_t some[] = { 1, 0, 1, 0, 0 }, one[] = { 0, 1, 0, 0, 0 };
	static const struct {
		size_t candidates;
		const uint8_t *mask;
		double p;
	} cases[] = { { 0, NULL, 0.25 }, { 0, some, 0.5 }, { 0, one, 1.0 }, { 5, NULL, 0.2 }, { 5, some, 0.5 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const cop_logged_event event = { .candidates = cases[i].candidates,
			.mask = cases[i].mask,
			.action = 0,
			.p = 0.75,
			.labelled = true };
		cop_replay_seen seen = look(COP_REPLAY_UNIFORM, &event);
		assert_true(seen.target == cases[i].p && seen.target_max == cases[i].p && seen.best_p == cases[i].p);
	}
}

static void test_constant_plays_its_action_alone(void **state)
{
	(void)state;
	for (uint32_t action = 1; action < 4; action++) {
		const cop_logged_event event = { .action = action, .p = 0.25, .labelled = true };
		cop_replay_seen seen = look(COP_REPLAY_CONSTANT, &event);
		assert_int_equal(seen.best, 2);
		assert_true(seen.best_p == 1.0 && seen.target_max == 1.0 && seen.target == (action == 2 ? 1.0 : 0.0));
	}
}

static void test_logged_plays_what_the_log_did(void **state)
{
	(void)state;
	for (int labelled = 0; labelled < 2; labelled++) {
		const cop_logged_event event = { .action = 3, .p = 0.25, .labelled = labelled != 0 };
		double p = labelled ? 0.25 : 1.0;
		cop_replay_seen seen = look(COP_REPLAY_LOGGED, &event);
		assert_int_equal(seen.best, 3);
		assert_true(seen.best_p == p && seen.target == p && seen.target_max == p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uniform_plays_each_eligible_action_alike),
		cmocka_unit_test(test_constant_plays_its_action_alone),
		cmocka_unit_test(test_logged_plays_what_the_log_did),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
