/* The rules that daemon and simulations share, case by case. */
#include "support.h"

#include "refit/refit_rule.h"

static void test_steps_follow_verdict_and_roles(void **state)
{
	(void)state;
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_TEST_OPEN, false, false, false), COP_REFIT_STAY);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_TEST_OPEN, true, false, false), COP_REFIT_STAY);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_TEST_BETTER, false, false, false), COP_REFIT_PROMOTE);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_TEST_BETTER, true, false, false), COP_REFIT_ROLLBACK);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_TEST_WORSE, false, false, false), COP_REFIT_RETIRE);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_TEST_WORSE, true, false, false), COP_REFIT_RETIRE);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_TEST_BETTER, false, true, false), COP_REFIT_STAY);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_TEST_WORSE, true, true, false), COP_REFIT_STAY);
}

static void test_step_after_the_window_ends_what_is_open(void **state)
{
	(void)state;
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_TEST_OPEN, false, false, true), COP_REFIT_RETIRE);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_TEST_OPEN, true, false, true), COP_REFIT_RETIRE);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_TEST_BETTER, false, false, true), COP_REFIT_PROMOTE);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_TEST_BETTER, true, false, true), COP_REFIT_ROLLBACK);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_TEST_WORSE, false, false, true), COP_REFIT_RETIRE);
	assert_int_equal(cop_refit_step_of(COP_PROMOTION_TEST_OPEN, false, true, true), COP_REFIT_STAY);
}

static void test_due_in_order_of_urgency(void **state)
{
	(void)state;
	cop_refit_standing s = { .fresh = 0, .least_feedback = 10, .asked = true, .drifted = true };
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_FEW); /* nothing new */
	s.fresh = 1;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_ASKED);
	s.paused = s.resting = true;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_ASKED); /* which waits for nothing */
	s.asked = s.paused = s.resting = false;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_FEW);
	s.fresh = 10;
	s.early = s.trial = true;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_DRIFT); /* which waits for neither */
	s.resting = true;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_RESTING); /* drift or not */
	s.paused = true;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_PAUSED);
	s.paused = s.resting = s.drifted = false;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_EARLY);
	s.early = false;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_TRIAL);
	s.trial = false;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_SCHEDULE);
	s.early = true;
	assert_int_equal(cop_refit_is_due(&s), COP_REFIT_EARLY);
}

static void test_begins_only_what_is_due(void **state)
{
	(void)state;
	for (cop_refit_due due = COP_REFIT_FEW; due <= COP_REFIT_TRIAL; due++)
		assert_false(cop_refit_begins(due));
	for (cop_refit_due due = COP_REFIT_ASKED; due <= COP_REFIT_SCHEDULE; due++)
		assert_true(cop_refit_begins(due));
}

/* One second every ten after the other is a tenth of a processor. */
static void test_rest_leaves_refits_their_share(void **state)
{
	(void)state;
	assert_true(cop_refit_rested(100.0, 1.0, 0.1) == 110.0);
	assert_true(cop_refit_rested(100.0, 30.0, 0.5) == 160.0);
	assert_true(cop_refit_rested(100.0, 30.0, 1.0) == 130.0); /* its own time, which is over at its end */
	assert_true(cop_refit_rested(100.0, 0.0, 0.1) == 100.0);
}

static void test_trial_ends_with_evidence_or_patience(void **state)
{
	(void)state;
	assert_true(cop_refit_on_trial(COP_PROMOTION_TEST_OPEN, 499, 500, 1000, 100));
	assert_false(cop_refit_on_trial(COP_PROMOTION_TEST_OPEN, 500, 500, 1000, 100));
	assert_true(cop_refit_on_trial(
	        COP_PROMOTION_TEST_OPEN, 999, 5000, 1000, 100)); /* the window is what it was fitted to */
	assert_false(cop_refit_on_trial(COP_PROMOTION_TEST_OPEN, 1000, 5000, 1000, 100));
	assert_true(cop_refit_on_trial(COP_PROMOTION_TEST_OPEN, 299, 50, 1000, 300));
	assert_false(cop_refit_on_trial(COP_PROMOTION_TEST_BETTER, 0, 5000, 1000, 100));
	assert_false(cop_refit_on_trial(COP_PROMOTION_TEST_WORSE, 0, 5000, 1000, 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_follow_verdict_and_roles),
		cmocka_unit_test(test_step_after_the_window_ends_what_is_open),
		cmocka_unit_test(test_due_in_order_of_urgency),
		cmocka_unit_test(test_begins_only_what_is_due),
		cmocka_unit_test(test_rest_leaves_refits_their_share),
		cmocka_unit_test(test_trial_ends_with_evidence_or_patience),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
