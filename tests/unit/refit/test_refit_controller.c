/* The controller against a naive account of a model's refits, over random lives, and its transitions one by one. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "refit/refit_controller.h"

static const cop_refit_controller_settings rule = { .window = 1000, .least_feedback = 100, .every = 60.0 };

static cop_refit_due due_at(const cop_refit_controller *c, uint64_t learned, double event, double monotonic)
{
	const cop_promotion_test_roles roles = { .learned = learned };
	const cop_refit_controller_times times = { .event = event, .monotonic = monotonic };
	return cop_refit_controller_due(c, &rule, &roles, &times);
}

static void test_refit_begins_by_itself_after_feedback_and_time(void **state)
{
	(void)state;
	cop_refit_controller c = { 0 };
	assert_int_equal(due_at(&c, 0, 1e9, 0.0), COP_REFIT_FEW);
	assert_int_equal(due_at(&c, 99, 1e9, 0.0), COP_REFIT_FEW);
	assert_int_equal(due_at(&c, 100, 1e9, 0.0), COP_REFIT_SCHEDULE);
	cop_refit_controller_begin(&c, 100, 1e9);
	cop_refit_controller_end(&c, true, 7, 5.0);
	assert_int_equal(cop_refit_controller_fresh(&c, 130), 30);
	assert_int_equal(cop_refit_controller_fresh(&c, 90), 0);
	assert_int_equal(due_at(&c, 199, 1e9 + 61.0, 6.0), COP_REFIT_FEW);
	assert_int_equal(due_at(&c, 200, 1e9 + 59.0, 6.0), COP_REFIT_EARLY);
	assert_int_equal(due_at(&c, 200, 1e9 + 60.0, 6.0), COP_REFIT_SCHEDULE);
	assert_int_equal(c.after, 7);
	cop_refit_controller_begin(&c, 200, 1e9 + 60.0);
	cop_refit_controller_end(&c, true, 3, 7.0); /* it did not get so far */
	assert_int_equal(c.after, 7);
	c.asked = true;
	assert_int_equal(due_at(&c, 201, 1e9 + 60.0, 7.0), COP_REFIT_ASKED);
	assert_int_equal(due_at(&c, 200, 1e9 + 60.0, 7.0), COP_REFIT_FEW); /* nothing new */
	cop_refit_controller_begin(&c, 201, 1e9 + 61.0);
	assert_false(c.asked);
}

/* What was learned stays new, and the pause doubles up to six hours. */
static void test_failures_are_followed_by_pauses(void **state)
{
	(void)state;
	cop_refit_controller c = { 0 };
	double pause = 60.0;
	for (unsigned i = 0; i < 12; i++) {
		cop_refit_controller_begin(&c, 500, 1.0);
		cop_refit_controller_end(&c, false, 9, 100.0);
		assert_true(c.not_before == 100.0 + pause);
		assert_int_equal(c.failures, i + 1);
		assert_int_equal(due_at(&c, 500, 1e9, 100.0 + pause - 1.0), COP_REFIT_PAUSED);
		assert_int_equal(due_at(&c, 500, 1e9, 100.0 + pause), COP_REFIT_SCHEDULE);
		pause = fmin(2.0 * pause, 21600.0);
	}
	assert_true(c.learned == 0 && c.after == 0);
	cop_refit_controller_begin(&c, 500, 1.0);
	cop_refit_controller_end(&c, true, 9, 100.0);
	assert_true(c.failures == 0 && c.learned == 500 && c.after == 9);
}

/* A rise that a failed refit was to answer is still there; one that came meanwhile too. */
static void test_drift_is_forgotten_by_refits_that_end_well(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		bool before = i & 1, meanwhile = i & 2, well = i & 4;
		cop_refit_controller c = { .drifted = before };
		cop_refit_controller_begin(&c, 500, 1.0);
		assert_false(c.drifted);
		c.drifted = meanwhile;
		cop_refit_controller_end(&c, well, 0, 0.0);
		assert_int_equal(c.drifted, meanwhile || (before && !well));
	}
	cop_refit_controller c = { .drifted = true, .began = 1e9 };
	assert_int_equal(due_at(&c, 100, 1e9, 0.0), COP_REFIT_DRIFT); /* early or not */
}

static void test_detector_is_the_one_named(void **state)
{
	(void)state;
	static const char *const names[] = { "adwin", "adwin", "page-hinkley", "none" };
	cop_refit_controller c = { 0 };
	for (size_t i = 0; i < 4; i++) {
		const cop_change *before = c.detector;
		c.drifted = true;
		assert_int_equal(cop_refit_controller_detect(&c, names[i]), COP_OK);
		assert_int_equal(c.drifted, i == 1); /* another detector knows nothing of it */
		assert_true(i != 1 || c.detector == before);
		assert_int_equal(c.detector != NULL, i < 3);
		if (c.detector != NULL)
			assert_string_equal(cop_change_settings_of(c.detector)->detector, names[i]);
	}
	assert_int_equal(cop_refit_controller_detect(&c, "nothing of the kind"), COP_ENOTFOUND);
	assert_null(c.detector);
	cop_refit_controller_fini(&c);
}

static void test_detector_sees_means_of_what_was_learned(void **state)
{
	(void)state;
	cop_refit_controller c = { 0 };
	double sum = 0.0;
	uint64_t learned = 0;
	assert_int_equal(cop_refit_controller_detect(&c, "adwin"), COP_OK);
	cop_refit_controller_sync(&c, 1000, 5000.0);
	for (unsigned i = 0; i < 3000; i++) {
		sum += 2.0 * (i < 2500 ? 11.0 : 19.0); /* of 10 to 20, two at once */
		learned += 2;
		cop_refit_controller_watch(&c, 1000 + learned, 5000.0 + sum, 10.0, 20.0);
		assert_true(c.seen == 1000 + learned && c.seen_sum == 5000.0 + sum);
		if (i < 2500)
			assert_false(c.drifted);
	}
	assert_true(c.drifted);
	cop_refit_controller_fini(&c);
	cop_refit_controller_watch(&c, 10, 5.0, 0.0, 1.0); /* without a detector */
	assert_true(c.seen == 10 && !c.drifted);
}

/* ---- lives ---- */

/* A model as its events make it: an account of its own. */
typedef struct account {
	bool shadow, promoted;
	bool open; /* a challenge or a promotion, whose outcome is open */
	uint64_t learned, last, taken;
	unsigned steps[4];
} account;

static cop_promotion_test_verdict draw_verdict(cop_rng *rng, const account *a)
{
	double u = cop_rng_unit(rng);
	return !a->shadow || u < 0.99 ? COP_PROMOTION_TEST_OPEN
	       : u < 0.995            ? COP_PROMOTION_TEST_BETTER
	                              : COP_PROMOTION_TEST_WORSE;
}

/* What evidence and the window's end lead to. */
static cop_refit_step expected_step(const account *a, cop_promotion_test_verdict verdict, bool frozen)
{
	if (frozen || !a->shadow)
		return COP_REFIT_STAY;
	if (verdict == COP_PROMOTION_TEST_BETTER)
		return a->promoted ? COP_REFIT_ROLLBACK : COP_REFIT_PROMOTE;
	bool over = a->learned >= a->taken + rule.window;
	return verdict == COP_PROMOTION_TEST_WORSE || over ? COP_REFIT_RETIRE : COP_REFIT_STAY;
}

static void follow(cop_refit_controller *c, account *a, cop_refit_step step)
{
	a->steps[step]++;
	if (step == COP_REFIT_STAY)
		return;
	a->open = step == COP_REFIT_PROMOTE;
	if (step == COP_REFIT_PROMOTE) {
		a->promoted = true;
		a->taken = a->learned;
		cop_refit_controller_promote(c, a->learned);
		return;
	}
	if (step == COP_REFIT_ROLLBACK)
		a->promoted = false;
	cop_refit_controller_retire(c, a->promoted);
	a->shadow = false;
}

static bool expected_due(const account *a, cop_promotion_test_verdict verdict)
{
	double since = (double)(a->learned - a->taken);
	double patience = fmax(fmin((double)a->taken, (double)rule.window), (double)rule.least_feedback);
	bool trial = a->open && verdict == COP_PROMOTION_TEST_OPEN && since < patience;
	return a->learned - a->last >= rule.least_feedback && !trial;
}

static void refit(cop_refit_controller *c, account *a, cop_rng *rng)
{
	a->last = a->learned;
	c->number++;
	cop_refit_controller_begin(c, a->learned, 0.0);
	cop_refit_controller_end(c, true, 0, 0.0);
	if (cop_rng_unit(rng) < 0.3)
		return; /* nothing better was found */
	a->shadow = a->open = true;
	a->promoted = false;
	a->taken = a->learned;
	cop_refit_controller_challenge(c, c->number, a->learned);
	assert_int_equal(c->current, c->number);
}

static void test_lives_go_as_an_account_of_their_own_has_it(void **state)
{
	(void)state;
	static const cop_refit_controller_settings timeless = { .window = 1000, .least_feedback = 100 };
	static const cop_refit_controller_times never = { 0 };
	account all = { 0 };
	for (uint64_t seed = 1; seed <= 20; seed++) {
		cop_refit_controller c = { 0 };
		account a = { 0 };
		cop_rng rng;
		cop_rng_init(&rng, seed, 0);
		for (unsigned i = 0; i < 5000; i++) {
			a.learned++;
			cop_promotion_test_verdict verdict = draw_verdict(&rng, &a);
			cop_promotion_test_roles roles = { a.shadow, a.promoted, i % 7 == 0, verdict, a.learned };
			cop_refit_step step = cop_refit_controller_step(&c, &timeless, &roles);
			assert_int_equal(step, expected_step(&a, verdict, roles.frozen));
			follow(&c, &a, step);
			verdict = a.shadow ? verdict : COP_PROMOTION_TEST_OPEN;
			roles = (cop_promotion_test_roles){ a.shadow, a.promoted, false, verdict, a.learned };
			bool begins = cop_refit_begins(cop_refit_controller_due(&c, &timeless, &roles, &never));
			assert_int_equal(begins, expected_due(&a, verdict));
			if (begins)
				refit(&c, &a, &rng);
			assert_int_equal(c.current != 0 && a.shadow, a.open);
		}
		for (size_t i = 0; i < 4; i++)
			all.steps[i] += a.steps[i];
	}
	for (size_t i = 0; i < 4; i++)
		assert_true(all.steps[i] > 10); /* each of them happened */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refit_begins_by_itself_after_feedback_and_time),
		cmocka_unit_test(test_failures_are_followed_by_pauses),
		cmocka_unit_test(test_drift_is_forgotten_by_refits_that_end_well),
		cmocka_unit_test(test_detector_is_the_one_named),
		cmocka_unit_test(test_detector_sees_means_of_what_was_learned),
		cmocka_unit_test(test_lives_go_as_an_account_of_their_own_has_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
