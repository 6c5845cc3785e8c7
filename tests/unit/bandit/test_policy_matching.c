/* Policy matching against its formula, coded once more from the header with a normal distribution that is integrated
 * here: shares, masks, beliefs that are no numbers, deviations of nothing. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bandit/policy.h"

#define SEED  83U
#define MAX   20
#define STEPS 2000

static double density(double x) { return exp(-0.5 * x * x) / sqrt(2.0 * acos(-1.0)); }

/* The chance of a standard normal number above z, by Simpson's rule over [z, z + 10]. */
static double above(double z)
{
	if (z < 0.0)
		return 1.0 - above(-z);
	if (z > 40.0)
		return 0.0;
	const double width = 10.0 / STEPS;
	double sum = density(z) + density(z + 10.0);
	for (int i = 1; i < STEPS; i++)
		sum += (i % 2 == 1 ? 4.0 : 2.0) * density(z + width * i);
	return sum * width / 3.0;
}

static bool eligible_at(const uint8_t *mask, size_t k) { return mask == NULL || mask[k] != 0; }

static size_t lowest(size_t arms, const float *value, const uint8_t *mask)
{
	size_t best = arms;
	for (size_t k = 0; k < arms; k++)
		if (eligible_at(mask, k) &&
		        (best == arms || (isfinite(value[k]) && (!isfinite(value[best]) || value[k] < value[best]))))
			best = k;
	return best;
}

static double gap(const float *value, size_t k, size_t best)
{
	if (!isfinite(value[best]))
		return 0.0;
	return isfinite(value[k]) ? (double)value[k] - (double)value[best] : 1.0;
}

/* FastCB's p. */
static void narrow(double gamma, uint64_t t, size_t arms, const float *loss, const uint8_t *mask, double *p)
{
	size_t best = lowest(arms, loss, mask), count = 0;
	double f = isfinite(loss[best]) ? fmin(fmax((double)loss[best], 0.02), 1.0) : 1.0, rest = 1.0;
	for (size_t k = 0; k < arms; k++)
		count += eligible_at(mask, k);
	for (size_t k = 0; k < arms; k++) {
		p[k] = 0.0;
		if (!eligible_at(mask, k) || k == best)
			continue;
		p[k] = f / ((double)count * f + gamma * sqrt((double)t + 1.0) * gap(loss, k, best));
		rest -= p[k];
	}
	p[best] = rest;
}

/* q. */
static void match(size_t arms, const cop_policy_belief *belief, const uint8_t *mask, double *q)
{
	size_t best = lowest(arms, belief->mean, mask);
	double sum = 0.0, others = -1.0;
	for (size_t k = 0; k < arms; k++)
		others += eligible_at(mask, k);
	const double power = others > 0.0 ? 1.0 + (others - 1.0) / others : 1.0;
	for (size_t k = 0; k < arms; k++) {
		double one = (double)belief->deviation[k], other = (double)belief->deviation[best];
		double apart = gap(belief->mean, k, best), d = sqrt(one * one + other * other);
		double chance = apart <= 0.0 ? 0.5 : d > 0.0 ? above(apart / d) : 0.0;
		q[k] = eligible_at(mask, k) ? k == best ? 1.0 : pow(chance / (1.0 - chance), power) : 0.0;
		sum += q[k];
	}
	for (size_t k = 0; k < arms; k++)
		q[k] /= sum;
}

static const cop_policy_settings usual = { .gamma = 60.0 };

static void ask(const char *name, uint64_t t, size_t arms, const float *loss, const uint8_t *mask,
        const cop_policy_belief *belief, double *p)
{
	size_t best, eligible;
	const cop_policy *policy = cop_policy_find(name);
	assert_non_null(policy);
	assert_int_equal(cop_policy_best(arms, loss, mask, &best, &eligible), COP_OK);
	policy->probabilities(&usual, t, arms, loss, mask, best, eligible, belief, p);
}

static void check(uint64_t t, size_t arms, const float *loss, const uint8_t *mask, const cop_policy_belief *belief)
{
	double p[MAX], wide[MAX], sure[MAX], sum = 0.0;
	ask("matching", t, arms, loss, mask, belief, p);
	narrow(usual.gamma, t, arms, loss, mask, wide);
	match(arms, belief, mask, sure);
	for (size_t k = 0; k < arms; k++) {
		double want = belief->share * sure[k] + (1.0 - belief->share) * wide[k];
		if (!(fabs(p[k] - want) < 1e-9))
			fail_msg("share %g, arm %zu of %zu: %.12g, formula %.12g", belief->share, k, arms, p[k], want);
		assert_true(p[k] >= 0.0 && p[k] <= 1.0 + 1e-12);
		assert_true(eligible_at(mask, k) || p[k] == 0.0);
		sum += p[k];
	}
	assert_true(fabs(sum - 1.0) < 1e-12);
}

/* Random losses and beliefs; of three arms out of four deviations are about as large as what lies between means. */
static void fill(cop_rng *rng, size_t arms, float *loss, float *mean, float *deviation, uint8_t *mask)
{
	for (size_t k = 0; k < arms; k++) {
		loss[k] = (float)cop_rng_unit(rng);
		mean[k] = (float)(0.5 + 0.05 * cop_rng_normal(rng));
		deviation[k] = (float)(0.05 * cop_rng_unit(rng) * (cop_rng_below(rng, 4) == 0 ? 0.01 : 1.0));
		mask[k] = cop_rng_below(rng, 3) != 0;
		if (k > 0 && cop_rng_below(rng, 6) == 0)
			mean[k] = mean[k - 1];
	}
	mask[cop_rng_below(rng, arms)] = 255;
}

static void test_matching_random_beliefs_equal_formula(void **state)
{
	(void)state;
	static const double shares[] = { 0.0, 1e-6, 0.25, 0.5, 0.9, 1.0 };
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (int round = 0; round < 1200; round++) {
		size_t arms = 1 + (size_t)cop_rng_below(&rng, MAX);
		float loss[MAX], mean[MAX], deviation[MAX];
		uint8_t mask[MAX];
		fill(&rng, arms, loss, mean, deviation, mask);
		cop_policy_belief belief = { shares[round % 6], mean, deviation };
		check(cop_rng_below(&rng, 100000), arms, loss, round % 4 == 0 ? NULL : mask, &belief);
	}
}

/* To the bit. */
static void test_matching_share_none_or_no_belief_is_fastcb(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	for (int round = 0; round < 500; round++) {
		size_t arms = 1 + (size_t)cop_rng_below(&rng, MAX);
		float loss[MAX], mean[MAX], deviation[MAX];
		uint8_t mask[MAX];
		double p[MAX], fast[MAX];
		fill(&rng, arms, loss, mean, deviation, mask);
		cop_policy_belief belief = { 0.0, mean, deviation };
		uint64_t t = cop_rng_below(&rng, 100000);
		ask("fastcb", t, arms, loss, mask, &belief, fast);
		ask("matching", t, arms, loss, mask, &belief, p);
		assert_memory_equal(p, fast, arms * sizeof *p);
		ask("matching", t, arms, loss, mask, NULL, p);
		assert_memory_equal(p, fast, arms * sizeof *p);
	}
}

/* The chance that two independent normal numbers come in that order, by a sum over both. */
static double in_order(double mean, double deviation, double other, double other_deviation)
{
	const double width = 0.02;
	double sum = 0.0;
	for (int i = -400; i <= 400; i++) {
		double x = mean + deviation * width * i;
		sum += width * density(width * i) * above((x - other) / other_deviation);
	}
	return sum;
}

static void test_matching_of_two_arms_is_by_their_chances(void **state)
{
	(void)state;
	static const float cases[][4] = { { 0.5f, 0.51f, 0.01f, 0.02f }, { 0.98f, 0.99f, 0.01f, 0.001f },
		{ 0.2f, 0.1f, 0.05f, 0.05f }, { 0.3f, 0.3f, 0.1f, 0.4f } };
	const float loss[2] = { 0.1f, 0.9f }; /* of no matter here */
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const float *c = cases[i];
		cop_policy_belief belief = { 1.0, c, c + 2 };
		double p[2];
		ask("matching", 1000, 2, loss, NULL, &belief, p);
		double chance = in_order((double)c[0], (double)c[2], (double)c[1], (double)c[3]);
		if (!(fabs(p[0] - chance) < 1e-6))
			fail_msg("case %zu: %.9g, chance %.9g", i, p[0], chance);
	}
}

static void test_matching_equal_means_are_equally_likely(void **state)
{
	(void)state;
	const float loss[4] = { 0.1f, 0.5f, 0.5f, 0.5f }, mean[4] = { 0.5f, 0.5f, 0.5f, 0.5f };
	const float deviation[4] = { 0.0f, 0.1f, 1e-30f, 5.0f };
	const uint8_t mask[4] = { 1, 0, 1, 1 };
	cop_policy_belief belief = { 1.0, mean, deviation };
	double p[4];
	ask("matching", 5, 4, loss, NULL, &belief, p);
	for (size_t k = 0; k < 4; k++)
		assert_true(fabs(p[k] - 0.25) < 1e-15);
	ask("matching", 5, 4, loss, mask, &belief, p);
	for (size_t k = 0; k < 4; k++)
		assert_true(fabs(p[k] - (mask[k] ? 1.0 / 3.0 : 0.0)) < 1e-15);
}

/* Arms that are not eligible neither share nor set what others are compared with. */
static void test_matching_mask_leaves_the_best_mean_out(void **state)
{
	(void)state;
	const float loss[4] = { 0.5f, 0.4f, 0.3f, 0.2f }, mean[4] = { 0.0f, 0.5f, 0.52f, 0.51f };
	const float deviation[4] = { 9.0f, 0.01f, 0.02f, 0.03f };
	const uint8_t mask[4] = { 0, 1, 1, 1 };
	cop_policy_belief belief = { 1.0, mean, deviation };
	double p[4], alone[3];
	ask("matching", 7, 4, loss, mask, &belief, p);
	belief = (cop_policy_belief){ 1.0, mean + 1, deviation + 1 };
	ask("matching", 7, 3, loss + 1, NULL, &belief, alone);
	assert_true(p[0] == 0.0);
	assert_memory_equal(p + 1, alone, sizeof alone);
	check(7, 4, loss, mask, &(cop_policy_belief){ 0.6, mean, deviation });
}

/* The lowest loss that exploration goes by and the lowest mean may be of two arms. */
static void test_matching_goes_by_means_not_by_losses(void **state)
{
	(void)state;
	const float loss[3] = { 0.9f, 0.1f, 0.5f }, mean[3] = { 0.5f, 0.6f, 0.55f };
	const float deviation[3] = { 0.02f, 0.02f, 0.02f };
	cop_policy_belief belief = { 1.0, mean, deviation };
	double p[3];
	ask("matching", 1000000, 3, loss, NULL, &belief, p);
	assert_true(p[0] > p[2] && p[2] > p[1]);
	belief.share = 0.5;
	check(1000000, 3, loss, NULL, &belief);
}

static void test_matching_tiny_deviations_are_sure(void **state)
{
	(void)state;
	static const float tiny[] = { 0.0f, 1e-45f, 1e-38f, 1e-12f };
	const float loss[3] = { 0.5f, 0.5f, 0.5f }, mean[3] = { 0.25f, 0.5f, 0.125f };
	for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++) {
		const float deviation[3] = { tiny[i], tiny[i], tiny[(i + 1) % 4] };
		double p[3];
		ask("matching", 3, 3, loss, NULL, &(cop_policy_belief){ 1.0, mean, deviation }, p);
		assert_true(p[0] == 0.0 && p[1] == 0.0 && p[2] == 1.0);
	}
	const float huge[3] = { FLT_MAX, FLT_MAX, FLT_MAX };
	double p[3];
	ask("matching", 3, 3, loss, NULL, &(cop_policy_belief){ 1.0, mean, huge }, p);
	for (size_t k = 0; k < 3; k++)
		assert_true(fabs(p[k] - 1.0 / 3.0) < 1e-12);
}

/* A mean that is no number is a whole width worse than the best; where none is a number, nothing is known. */
static void test_matching_means_not_finite_are_a_whole_width_worse(void **state)
{
	(void)state;
	static const float strange[] = { NAN, INFINITY, -INFINITY };
	const float loss[3] = { 0.4f, 0.6f, 0.5f }, deviation[3] = { 0.5f, 0.25f, 1.0f };
	for (size_t i = 0; i < 3; i++) {
		const float one[3] = { 0.5f, strange[i], 0.75f }, all[3] = { strange[i], strange[(i + 1) % 3], NAN };
		const float instead[3] = { 0.5f, 1.5f, 0.75f };
		double p[3], same[3];
		ask("matching", 9, 3, loss, NULL, &(cop_policy_belief){ 1.0, one, deviation }, p);
		ask("matching", 9, 3, loss, NULL, &(cop_policy_belief){ 1.0, instead, deviation }, same);
		assert_memory_equal(p, same, sizeof p);
		ask("matching", 9, 3, loss, NULL, &(cop_policy_belief){ 1.0, all, deviation }, p);
		for (size_t k = 0; k < 3; k++)
			assert_true(fabs(p[k] - 1.0 / 3.0) < 1e-12);
	}
}

static void test_matching_extremes_sum_to_one(void **state)
{
	(void)state;
	static const float numbers[] = { NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 0.0f, 1e-45f, 0.5f };
	static const double shares[] = { 0.0, 1e-300, 0.3, 1.0 };
	static const float widths[] = { 0.0f, 1e-45f, 1e-3f, FLT_MAX };
	cop_rng rng;
	cop_rng_init(&rng, SEED, 2);
	for (int round = 0; round < 20000; round++) {
		float loss[4], mean[4], deviation[4];
		double p[4], sum = 0.0;
		for (size_t k = 0; k < 4; k++) {
			loss[k] = numbers[cop_rng_below(&rng, 8)];
			mean[k] = numbers[cop_rng_below(&rng, 8)];
			deviation[k] = widths[cop_rng_below(&rng, 4)];
		}
		ask("matching", round % 2 ? UINT64_MAX : 0, 4, loss, NULL,
		        &(cop_policy_belief){ shares[round % 4], mean, deviation }, p);
		for (size_t k = 0; k < 4; k++) {
			if (!(p[k] >= 0.0 && p[k] <= 1.0 + 1e-12))
				fail_msg("round %d, arm %zu: %g", round, k, p[k]);
			sum += p[k];
		}
		assert_true(fabs(sum - 1.0) < 1e-12);
	}
}

static void test_only_matching_reads_beliefs(void **state)
{
	(void)state;
	static const char *const names[] = { "epsilon", "squarecb", "fastcb" };
	assert_true(cop_policy_find("matching")->believes);
	for (size_t i = 0; i < 3; i++)
		assert_false(cop_policy_find(names[i])->believes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matching_random_beliefs_equal_formula),
		cmocka_unit_test(test_matching_share_none_or_no_belief_is_fastcb),
		cmocka_unit_test(test_matching_of_two_arms_is_by_their_chances),
		cmocka_unit_test(test_matching_equal_means_are_equally_likely),
		cmocka_unit_test(test_matching_mask_leaves_the_best_mean_out),
		cmocka_unit_test(test_matching_goes_by_means_not_by_losses),
		cmocka_unit_test(test_matching_tiny_deviations_are_sure),
		cmocka_unit_test(test_matching_means_not_finite_are_a_whole_width_worse),
		cmocka_unit_test(test_matching_extremes_sum_to_one),
		cmocka_unit_test(test_only_matching_reads_beliefs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
