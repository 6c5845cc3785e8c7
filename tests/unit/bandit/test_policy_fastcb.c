/* FastCB against its formula, written once more from the header: masks, losses that are no numbers, its bounds. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bandit/policy.h"

#define SEED 77U
#define MAX  40

static bool eligible_at(const uint8_t *mask, size_t k) { return mask == NULL || mask[k] != 0; }

/* The header's formula; gaps of losses that are not finite are 1. */
static void oracle(double gamma, uint64_t t, size_t arms, const float *loss, const uint8_t *mask, double *p)
{
	size_t best = arms, count = 0;
	for (size_t k = 0; k < arms; k++) {
		p[k] = 0.0;
		if (!eligible_at(mask, k))
			continue;
		count++;
		if (best == arms || (isfinite(loss[k]) && (!isfinite(loss[best]) || loss[k] < loss[best])))
			best = k;
	}
	double lowest = (double)loss[best];
	double f = !(lowest >= 0.02) ? 0.02 : lowest > 1.0 ? 1.0 : lowest;
	double gamma_t = gamma * sqrt((double)t + 1.0), rest = 1.0;
	for (size_t k = 0; k < arms; k++) {
		if (!eligible_at(mask, k) || k == best)
			continue;
		double gap = isfinite(loss[k]) ? (double)loss[k] - lowest : 1.0;
		p[k] = f / ((double)count * f + gamma_t * gap);
		rest -= p[k];
	}
	p[best] = rest;
}

static void ask(const cop_policy_settings *set, uint64_t t, size_t arms, const float *loss, const uint8_t *mask,
        size_t *best, double *p)
{
	size_t eligible;
	const cop_policy *policy = cop_policy_find("fastcb");
	assert_non_null(policy);
	assert_int_equal(cop_policy_best(arms, loss, mask, best, &eligible), COP_OK);
	policy->probabilities(set, t, arms, loss, mask, *best, eligible, NULL, p);
}

static void check(double gamma, uint64_t t, size_t arms, const float *loss, const uint8_t *mask)
{
	cop_policy_settings set = { .gamma = gamma };
	double p[MAX], want[MAX], sum = 0.0;
	size_t best;
	ask(&set, t, arms, loss, mask, &best, p);
	oracle(gamma, t, arms, loss, mask, want);
	for (size_t k = 0; k < arms; k++) {
		if (!(fabs(p[k] - want[k]) < 1e-12))
			fail_msg("gamma %g, t %llu, arm %zu of %zu: %.17g, formula %.17g", gamma, (unsigned long long)t,
			        k, arms, p[k], want[k]);
		assert_true(eligible_at(mask, k) ? p[k] > 0.0 || gamma > 1e12 : p[k] == 0.0);
		assert_true(p[best] >= p[k]);
		sum += p[k];
	}
	assert_true(fabs(sum - 1.0) < 1e-12);
	for (size_t i = 0; i < arms; i++) /* less likely the worse */
		for (size_t k = 0; k < arms; k++)
			if (eligible_at(mask, i) && eligible_at(mask, k) && isfinite(loss[i]) && loss[i] < loss[k])
				assert_true(p[i] >= p[k]);
}

static void test_fastcb_random_losses_and_masks_equals_formula(void **state)
{
	(void)state;
	static const double gammas[] = { 1e-6, 1.0, 20.0, 400.0, 1e9 };
	static const float widths[] = { 1.0f, 0.05f, 3.0f };
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (int round = 0; round < 5000; round++) {
		size_t arms = 1 + (size_t)cop_rng_below(&rng, MAX);
		float loss[MAX], width = widths[round % 3];
		uint8_t mask[MAX];
		for (size_t k = 0; k < arms; k++) {
			loss[k] = (float)(cop_rng_unit(&rng) * (double)width) - (round % 2 == 0 ? 0.0f : width / 3.0f);
			mask[k] = cop_rng_below(&rng, 3) != 0 ? 1 : 0;
			if (cop_rng_below(&rng, 5) == 0 && k > 0)
				loss[k] = loss[k - 1]; /* ties */
		}
		mask[cop_rng_below(&rng, arms)] = 255;
		uint64_t t = round % 5 == 0 ? 0 : cop_rng_below(&rng, (uint64_t)1 << (round % 40));
		check(gammas[round % 5], t, arms, loss, round % 4 == 0 ? NULL : mask);
	}
}

static void test_fastcb_first_decision_by_hand(void **state)
{
	(void)state;
	const float loss[4] = { 0.5f, 0.25f, 0.25f, 1.0f };
	const uint8_t mask[4] = { 1, 1, 0, 1 };
	cop_policy_settings set = { .gamma = 3.0 };
	double p[4];
	size_t best;
	ask(&set, 0, 4, loss, mask, &best, p);
	assert_int_equal(best, 1);
	assert_true(fabs(p[0] - 0.25 / (0.75 + 3.0 * 0.25)) < 1e-15);
	assert_true(p[2] == 0.0);
	assert_true(fabs(p[3] - 0.25 / (0.75 + 3.0 * 0.75)) < 1e-15);
	assert_true(fabs(p[1] - (1.0 - p[0] - p[3])) < 1e-15);
	ask(&set, 3, 4, loss, mask, &best, p); /* gamma twice */
	assert_true(fabs(p[0] - 0.25 / (0.75 + 6.0 * 0.25)) < 1e-15);
}

static void test_fastcb_one_eligible_arm_is_certain(void **state)
{
	(void)state;
	static const float losses[] = { 0.0f, 0.5f, 1.0f, -7.0f, NAN, INFINITY };
	cop_policy_settings set = { .gamma = 20.0 };
	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
		const float loss[3] = { 0.1f, losses[i], 0.0f };
		const uint8_t mask[3] = { 0, 1, 0 };
		double p[3];
		size_t best;
		ask(&set, 5, 3, loss, mask, &best, p);
		assert_true(best == 1 && p[0] == 0.0 && p[1] == 1.0 && p[2] == 0.0);
		ask(&set, 5, 1, &losses[i], NULL, &best, p);
		assert_true(best == 0 && p[0] == 1.0);
	}
}

/* Below 0.02 the lowest loss counts as 0.02: shifting all losses down changes nothing. Above 1 likewise. */
static void test_fastcb_lowest_loss_out_of_bounds_is_kept_within(void **state)
{
	(void)state;
	cop_policy_settings set = { .gamma = 20.0 };
	const float low[5] = { 0.015625f, 0.0f, -0.25f, -64.0f, -1024.0f };
	double want[2] = { 0.0, 0.02 / (0.04 + 20.0 * 0.5) };
	for (size_t i = 0; i < 5; i++) {
		const float loss[2] = { low[i], low[i] + 0.5f };
		double p[2];
		size_t best;
		ask(&set, 0, 2, loss, NULL, &best, p);
		assert_true(best == 0 && fabs(p[1] - want[1]) < 1e-15);
	}
	for (float high = 1.0f; high < 100.0f; high *= 2.0f) {
		const float loss[2] = { high + 0.5f, high };
		double p[2];
		size_t best;
		ask(&set, 0, 2, loss, NULL, &best, p);
		assert_true(best == 1 && fabs(p[0] - 1.0 / (2.0 + 20.0 * 0.5)) < 1e-15);
	}
}

/* What the policy is for: equal gaps, but the smaller the losses to be had the less it explores. */
static void test_fastcb_smaller_losses_explore_less(void **state)
{
	(void)state;
	cop_policy_settings set = { .gamma = 20.0 };
	double before = 0.0;
	for (float lowest = 0.0f; lowest <= 1.0f; lowest += 0.03125f) {
		const float loss[3] = { lowest + 0.25f, lowest, lowest + 0.125f };
		double p[3];
		size_t best;
		ask(&set, 100, 3, loss, NULL, &best, p);
		assert_true(lowest < 0.02f || 1.0 - p[1] > before);
		before = 1.0 - p[1];
	}
}

static void test_fastcb_explores_less_as_time_goes(void **state)
{
	(void)state;
	static const uint64_t times[] = { 0, 1, 2, 10, 1000, 1000000, (uint64_t)1 << 40, UINT64_MAX };
	cop_policy_settings set = { .gamma = 20.0 };
	const float loss[3] = { 0.5f, 0.25f, 0.75f };
	double before = 1.0;
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		double p[3];
		size_t best;
		ask(&set, times[i], 3, loss, NULL, &best, p);
		assert_true(p[0] > 0.0 && p[2] > 0.0 && 1.0 - p[1] < before);
		before = 1.0 - p[1];
	}
}

static void test_fastcb_losses_not_finite_are_a_whole_width_worse(void **state)
{
	(void)state;
	static const float strange[] = { NAN, INFINITY, -INFINITY };
	for (size_t i = 0; i < 3; i++)
		for (uint64_t t = 0; t < 100; t += 33) {
			const float loss[4] = { strange[i], 0.25f, 0.5f, strange[(i + 1) % 3] };
			check(20.0, t, 4, loss, NULL);
		}
}

static void test_fastcb_extremes_stay_finite_and_sum_to_one(void **state)
{
	(void)state;
	static const float cases[][3] = { { NAN, NAN, NAN }, { INFINITY, -INFINITY, NAN }, { FLT_MAX, -FLT_MAX, 0.0f },
		{ -FLT_MAX, -FLT_MAX, FLT_MAX }, { NAN, FLT_MAX, 0.5f }, { 1e-45f, 0.0f, -1e-45f } };
	static const double gammas[] = { DBL_MIN, 1.0, 1e9, 1e300 };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t g = 0; g < 4; g++)
			for (int late = 0; late < 2; late++) {
				cop_policy_settings set = { .gamma = gammas[g] };
				double p[3], sum = 0.0;
				size_t best;
				ask(&set, late ? UINT64_MAX : 0, 3, cases[i], NULL, &best, p);
				for (size_t k = 0; k < 3; k++) {
					if (!(p[k] >= 0.0 && p[k] <= 1.0))
						fail_msg("case %zu, gamma %g, t %d: arm %zu: %g", i, gammas[g], late, k,
						        p[k]);
					assert_true(p[best] >= p[k]);
					sum += p[k];
				}
				assert_true(fabs(sum - 1.0) < 1e-12);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fastcb_random_losses_and_masks_equals_formula),
		cmocka_unit_test(test_fastcb_first_decision_by_hand),
		cmocka_unit_test(test_fastcb_one_eligible_arm_is_certain),
		cmocka_unit_test(test_fastcb_lowest_loss_out_of_bounds_is_kept_within),
		cmocka_unit_test(test_fastcb_smaller_losses_explore_less),
		cmocka_unit_test(test_fastcb_explores_less_as_time_goes),
		cmocka_unit_test(test_fastcb_losses_not_finite_are_a_whole_width_worse),
		cmocka_unit_test(test_fastcb_extremes_stay_finite_and_sum_to_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
