/* The rules that daemon and simulations share, case by case. */
#include "support.h"

#include "refit/refit_rule.h"

static void test_steps_follow_verdict_and_roles(void **state)
{
	(void)state;
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_OPEN, false, false), COP_REFIT_STAY);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_OPEN, true, false), COP_REFIT_STAY);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_BETTER, false, false), COP_REFIT_PROMOTE);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_BETTER, true, false), COP_REFIT_ROLLBACK);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_WORSE, false, false), COP_REFIT_RETIRE);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_WORSE, true, false), COP_REFIT_RETIRE);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_BETTER, false, true), COP_REFIT_STAY);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_WORSE, true, true), COP_REFIT_STAY);
}

static void test_due_in_order_of_urgency(void **state)
{
	(void)state;
	cop_refit_standing s = { .fresh = 0, .least_feedback = 10, .asked = true, .drifted = true };
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_NOT_DUE); /* nothing new */
	s.fresh = 1;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_ASKED);
	s.asked = false;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_NOT_DUE);
	s.fresh = 10;
	s.early = s.trial = true;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_DRIFT); /* which waits for neither */
	s.paused = true;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_NOT_DUE);
	s.paused = s.drifted = false;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_NOT_DUE);
	s.early = false;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_NOT_DUE);
	s.trial = false;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_SCHEDULE);
	s.early = true;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_NOT_DUE);
}

static void test_trial_ends_with_evidence_or_patience(void **state)
{
	(void)state;
	assert_true(cop_refit_on_trial(COP_PROMOTION_OPEN, 499, 500, 1000, 100));
	assert_false(cop_refit_on_trial(COP_PROMOTION_OPEN, 500, 500, 1000, 100));
	assert_true(
	        cop_refit_on_trial(COP_PROMOTION_OPEN, 999, 5000, 1000, 100)); /* the window is what it was fitted to */
	assert_false(cop_refit_on_trial(COP_PROMOTION_OPEN, 1000, 5000, 1000, 100));
	assert_true(cop_refit_on_trial(COP_PROMOTION_OPEN, 299, 50, 1000, 300));
	assert_false(cop_refit_on_trial(COP_PROMOTION_BETTER, 0, 5000, 1000, 100));
	assert_false(cop_refit_on_trial(COP_PROMOTION_WORSE, 0, 5000, 1000, 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_follow_verdict_and_roles),
		cmocka_unit_test(test_due_in_order_of_urgency),
		cmocka_unit_test(test_trial_ends_with_evidence_or_patience),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
