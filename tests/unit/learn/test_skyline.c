/* A learner that is told every arm's loss, against the same learner that played each of them. */
#include "learn/skyline.h"

#include <math.h>

#include "learner_fixture.h"
#include "rank_fixture.h"

static const cop_candidates all_arms = { .count = FIXTURE_ARMS };

/* ---- one arm told is one arm played ---- */

static void compare_with_played(const char *name, bool sparse)
{
	cop_learner_settings s;
	cop_rng rng;
	cop_bytes told, played;
	fixture_settings(&s, name, sparse);
	cop_learner *skyline = fixture_learner(&s), *plain = fixture_learner(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 1);
	for (uint32_t i = 0; i < 300; i++) {
		fixture_event e;
		uint8_t mask[FIXTURE_ARMS] = { 0 };
		double loss[FIXTURE_ARMS] = { (double)NAN, (double)NAN, (double)NAN, (double)NAN };
		uint32_t arm;
		size_t learned;
		cop_policy_view view;
		fixture_draw(&e, &rng, sparse);
		cop_decision d = { .arm = (uint32_t)cop_rng_below(&rng, FIXTURE_ARMS), .p = 1.0 };
		mask[d.arm] = 1;
		loss[d.arm] = d.arm == e.best ? 0.0 : 1.0;
		const cop_candidates one = { .count = FIXTURE_ARMS, .mask = mask };
		assert_int_equal(cop_skyline_decide(skyline, &e.row, &all_arms, &arm), COP_OK);
		assert_int_equal(cop_skyline_learn(skyline, &e.row, &one, loss, &learned), COP_OK);
		assert_int_equal(learned, 1);
		assert_int_equal(cop_learner_take(plain, &e.row, NULL, &d, &loss[d.arm], &view), COP_OK);
		assert_int_equal(arm, view.best);
	}
	cop_bytes_init(&told);
	cop_bytes_init(&played);
	fixture_save(skyline, &told);
	fixture_save(plain, &played);
	assert_bytes_equal(&told, &played);
	cop_bytes_fini(&told);
	cop_bytes_fini(&played);
	cop_learner_free(skyline);
	cop_learner_free(plain);
}

static void test_skyline_told_one_arm_learns_as_if_it_was_played(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		compare_with_played("ensemble", sparse != 0);
		compare_with_played("dgt", sparse != 0);
	}
}

static void test_skyline_told_one_candidate_learns_as_if_it_was_played(void **state)
{
	(void)state;
	cop_learner_settings s;
	cop_rng rng;
	cop_bytes told, played;
	rank_settings(&s, false);
	cop_learner *skyline = rank_learner(&s), *plain = rank_learner(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 2);
	for (uint32_t i = 0; i < 200; i++) {
		rank_event e;
		uint8_t mask[RANK_MOST] = { 0 };
		uint32_t best;
		size_t learned;
		cop_policy_view view;
		rank_draw(&e, &rng, false, 0);
		cop_decision d = { .arm = (uint32_t)cop_rng_below(&rng, e.set.count), .p = 1.0 };
		cop_candidates one = e.set;
		one.mask = mask;
		mask[d.arm] = 1;
		assert_int_equal(cop_skyline_decide(skyline, &e.row, &e.set, &best), COP_OK);
		assert_int_equal(cop_skyline_learn(skyline, &e.row, &one, e.loss, &learned), COP_OK);
		assert_int_equal(learned, 1);
		assert_int_equal(cop_learner_follow(plain, &e.row, &e.set, &d, &view), COP_OK);
		assert_int_equal(best, view.best);
		assert_int_equal(rank_learn(plain, &e.row, &e.candidate[d.arm], &d, e.loss[d.arm], true), COP_OK);
	}
	cop_bytes_init(&told);
	cop_bytes_init(&played);
	rank_save(skyline, &told);
	rank_save(plain, &played);
	assert_bytes_equal(&told, &played);
	cop_bytes_fini(&told);
	cop_bytes_fini(&played);
	cop_learner_free(skyline);
	cop_learner_free(plain);
}

/* ---- all of them ---- */

/* Mean loss over n events of the fixture's stream. */
static double run_skyline(cop_learner *learner, cop_rng *rng, size_t n)
{
	double total = 0.0;
	for (size_t i = 0; i < n; i++) {
		fixture_event e;
		double loss[FIXTURE_ARMS];
		uint32_t arm;
		size_t learned;
		fixture_draw(&e, rng, false);
		for (size_t k = 0; k < FIXTURE_ARMS; k++)
			loss[k] = k == e.best ? 0.0 : 1.0;
		assert_int_equal(cop_skyline_decide(learner, &e.row, &all_arms, &arm), COP_OK);
		total += loss[arm];
		assert_int_equal(cop_skyline_learn(learner, &e.row, &all_arms, loss, &learned), COP_OK);
		assert_int_equal(learned, FIXTURE_ARMS);
		assert_int_equal(learner->rev, (i + 1) * FIXTURE_ARMS);
	}
	return total / (double)n;
}

static void test_skyline_loses_no_more_than_what_has_to_explore(void **state)
{
	(void)state;
	static const char *const names[] = { "ensemble", "dgt" };
	for (size_t i = 0; i < 2; i++) {
		cop_learner_settings s;
		cop_rng rng;
		fixture_settings(&s, names[i], false);
		cop_learner *plain = fixture_learner(&s), *skyline = fixture_learner(&s);
		cop_rng_init(&rng, FIXTURE_SEED, 3);
		double of_plain = fixture_run(plain, &rng, false, 1000);
		cop_rng_init(&rng, FIXTURE_SEED, 3);
		double of_skyline = run_skyline(skyline, &rng, 1000);
		print_message("%s: %.3f, skyline %.3f\n", names[i], of_plain, of_skyline);
		assert_true(of_skyline < of_plain);
		cop_learner_free(plain);
		cop_learner_free(skyline);
	}
}

/* Without a context to go by, what is predicted of every arm comes to its mean, the worst one's too, which a policy
 * would leave alone. */
static void test_skyline_knows_every_arm(void **state)
{
	(void)state;
	static const double mean[FIXTURE_ARMS] = { 0.2, 0.4, 0.6, 0.8 };
	cop_learner_settings s;
	cop_rng rng;
	uint32_t arm = 0;
	fixture_settings(&s, "ensemble", false);
	cop_learner *learner = fixture_learner(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 4);
	fixture_event e;
	for (size_t i = 0; i < 2000; i++) {
		double loss[FIXTURE_ARMS];
		size_t learned;
		fixture_draw(&e, &rng, false);
		for (size_t k = 0; k < FIXTURE_ARMS; k++)
			loss[k] = cop_rng_unit(&rng) < mean[k] ? 1.0 : 0.0;
		assert_int_equal(cop_skyline_decide(learner, &e.row, &all_arms, &arm), COP_OK);
		assert_int_equal(cop_skyline_learn(learner, &e.row, &all_arms, loss, &learned), COP_OK);
	}
	cop_decision any = { .p = 1.0 };
	cop_policy_view view;
	assert_int_equal(cop_learner_view(learner, &e.row, NULL, &any, &view), COP_OK);
	for (size_t k = 0; k < FIXTURE_ARMS; k++)
		assert_true(fabs((double)view.loss[k] - mean[k]) < 0.1);
	assert_int_equal(arm, 0);
	cop_learner_free(learner);
}

/* ---- what is refused ---- */

static void test_skyline_refuses_without_a_change(void **state)
{
	(void)state;
	cop_learner_settings s;
	cop_rng rng;
	cop_bytes before, after;
	fixture_event e;
	uint32_t arm;
	size_t learned;
	fixture_settings(&s, "ensemble", false);
	cop_learner *learner = fixture_learner(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 5);
	(void)run_skyline(learner, &rng, 20);
	cop_bytes_init(&before);
	cop_bytes_init(&after);
	fixture_save(learner, &before);
	fixture_draw(&e, &rng, false);
	static const uint8_t none[FIXTURE_ARMS] = { 0 };
	const cop_candidates masked = { .count = FIXTURE_ARMS, .mask = none }, fewer = { .count = FIXTURE_ARMS - 1 };
	assert_int_equal(cop_skyline_decide(learner, &e.row, &masked, &arm), COP_EINVAL);
	assert_int_equal(cop_skyline_decide(learner, &e.row, &fewer, &arm), COP_EINVAL);
	assert_int_equal(cop_skyline_learn(learner, &e.row, &fewer, (double[]){ 0, 0, 0 }, &learned), COP_EINVAL);
	assert_int_equal(
	        cop_skyline_learn(learner, &e.row, &all_arms, (double[]){ 0, 1, 0, 1.5 }, &learned), COP_EINVAL);
	assert_int_equal(cop_skyline_learn(learner, &e.row, &all_arms, (double[]){ 0, 1, (double)NAN, 0 }, &learned),
	        COP_ENONFINITE);
	assert_int_equal(learned, 0);
	cop_learner_freeze(learner, true);
	assert_int_equal(cop_skyline_learn(learner, &e.row, &all_arms, (double[]){ 0, 1, 1, 1 }, &learned), COP_OK);
	assert_true(learned == 0 && learner->unlearnt == FIXTURE_ARMS);
	fixture_save(learner, &after);
	assert_bytes_equal(&before, &after);
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
	cop_learner_free(learner);
	fixture_settings(&s, "value", false);
	learner = fixture_learner(&s);
	assert_int_equal(cop_skyline_decide(learner, &e.row, &all_arms, &arm), COP_EINVAL);
	cop_learner_free(learner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_skyline_told_one_arm_learns_as_if_it_was_played),
		cmocka_unit_test(test_skyline_told_one_candidate_learns_as_if_it_was_played),
		cmocka_unit_test(test_skyline_loses_no_more_than_what_has_to_explore),
		cmocka_unit_test(test_skyline_knows_every_arm),
		cmocka_unit_test(test_skyline_refuses_without_a_change),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
