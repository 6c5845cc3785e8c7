/* Policies against their closed forms, and draws against the distribution they are drawn from. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bandit/policy.h"

#define SEED 31U
#define MAX  30

static void fill(cop_rng *rng, size_t arms, float *loss, uint8_t *mask)
{
	for (size_t k = 0; k < arms; k++) {
		loss[k] = (float)cop_rng_unit(rng);
		mask[k] = cop_rng_below(rng, 3) != 0;
	}
	mask[cop_rng_below(rng, arms)] = 1;
}

/* Lowest predicted loss among the eligible by the plainest loop. */
static size_t best_of(size_t arms, const float *loss, const uint8_t *mask, size_t *eligible)
{
	size_t best = arms;
	*eligible = 0;
	for (size_t k = 0; k < arms; k++) {
		if (!mask[k])
			continue;
		++*eligible;
		if (best == arms || loss[k] < loss[best])
			best = k;
	}
	return best;
}

static double epsilon_at(const cop_policy_settings *set, uint64_t t)
{
	double e = set->epsilon / sqrt(1.0 + set->epsilon_decay * (double)t);
	return e < set->epsilon_floor ? set->epsilon_floor : e;
}

typedef double (*closed_form)(
        const cop_policy_settings *set, uint64_t t, const float *loss, size_t k, size_t best, size_t eligible);

static double epsilon_form(
        const cop_policy_settings *set, uint64_t t, const float *loss, size_t k, size_t best, size_t eligible)
{
	(void)loss;
	double e = epsilon_at(set, t);
	return (1.0 - e) * (k == best) + e / (double)eligible;
}

static double squarecb_form(
        const cop_policy_settings *set, uint64_t t, const float *loss, size_t k, size_t best, size_t eligible)
{
	double gamma = set->gamma * sqrt((double)t + 1.0);
	return 1.0 / ((double)eligible + gamma * ((double)loss[k] - (double)loss[best]));
}

static void check_policy(const char *name, const cop_policy_settings *set, closed_form form, int best_takes_rest)
{
	const cop_policy *policy = cop_policy_find(name);
	assert_non_null(policy);
	assert_string_equal(policy->name, name);
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (int round = 0; round < 2000; round++) {
		size_t arms = 1 + (size_t)cop_rng_below(&rng, MAX), best, eligible, want_eligible;
		float loss[MAX];
		uint8_t mask[MAX];
		double p[MAX], sum = 0.0;
		fill(&rng, arms, loss, mask);
		if (round % 4 == 0)
			memset(mask, 1, arms);
		uint64_t t = round % 7 == 0 ? 0 : cop_rng_below(&rng, 1000000);
		assert_int_equal(cop_policy_best(arms, loss, round % 4 == 0 ? NULL : mask, &best, &eligible), COP_OK);
		assert_int_equal(best, best_of(arms, loss, mask, &want_eligible));
		assert_int_equal(eligible, want_eligible);
		policy->probabilities(set, t, arms, loss, round % 4 == 0 ? NULL : mask, best, eligible, NULL, p);
		double others = 0.0;
		for (size_t k = 0; k < arms; k++) {
			sum += p[k];
			assert_true(p[k] >= 0.0 && p[k] <= 1.0 + 1e-12);
			double want = mask[k] ? form(set, t, loss, k, best, eligible) : 0.0;
			if (k != best)
				others += want;
			if (k != best || !best_takes_rest)
				assert_true(fabs(p[k] - want) < 1e-12);
			if (!mask[k])
				assert_true(p[k] == 0.0);
		}
		assert_true(fabs(sum - 1.0) < 1e-12);
		assert_true(fabs(p[best] - (1.0 - others)) < 1e-12);
		for (size_t k = 0; k < arms; k++) /* the best arm is never less likely than another */
			assert_true(p[best] >= p[k] - 1e-12);
	}
}

static void test_epsilon_constant_equals_eq_7(void **state)
{
	(void)state;
	check_policy("epsilon", &(cop_policy_settings){ .epsilon = 0.3 }, epsilon_form, 0);
	check_policy("epsilon", &(cop_policy_settings){ .epsilon = 0.0 }, epsilon_form, 0);
	check_policy("epsilon", &(cop_policy_settings){ .epsilon = 1.0 }, epsilon_form, 0);
}

static void test_epsilon_decaying_follows_root_down_to_floor(void **state)
{
	(void)state;
	cop_policy_settings set = { .epsilon = 0.4, .epsilon_decay = 0.01, .epsilon_floor = 0.02 };
	check_policy("epsilon", &set, epsilon_form, 0);
	const cop_policy *policy = cop_policy_find("epsilon");
	const float loss[2] = { 0.0f, 1.0f };
	double p[2];
	policy->probabilities(&set, 300, 2, loss, NULL, 0, 2, NULL, p);
	assert_true(fabs(p[1] - 0.1) < 1e-12); /* 0.4 / sqrt(1 + 3) / 2 */
	policy->probabilities(&set, 1000000000, 2, loss, NULL, 0, 2, NULL, p);
	assert_true(fabs(p[1] - 0.01) < 1e-12);
}

static void test_squarecb_equals_inverse_gap_weights(void **state)
{
	(void)state;
	check_policy("squarecb", &(cop_policy_settings){ .gamma = 30.0 }, squarecb_form, 1);
	check_policy("squarecb", &(cop_policy_settings){ .gamma = 1e-6 }, squarecb_form, 1);
	const float loss[3] = { 0.2f, 0.7f, 0.2f };
	double p[3];
	cop_policy_find("squarecb")
	        ->probabilities(&(cop_policy_settings){ .gamma = 2.0 }, 3, 3, loss, NULL, 0, 3, NULL, p);
	assert_true(fabs(p[1] - 1.0 / (3.0 + 4.0 * 0.5)) < 1e-7);
	assert_true(fabs(p[2] - 1.0 / 3.0) < 1e-12);
}

static void test_losses_not_finite_are_the_worst_and_p_stays_finite(void **state)
{
	(void)state;
	static const float cases[][3] = { { NAN, 0.2f, 0.4f }, { INFINITY, 0.2f, NAN }, { -INFINITY, 3e38f, NAN },
		{ NAN, NAN, INFINITY }, { -3.4e38f, 3.4e38f, NAN } };
	static const size_t best_of_case[] = { 1, 1, 1, 0, 0 };
	static const char *const names[] = { "epsilon", "squarecb" };
	cop_policy_settings set = { .epsilon = 0.1, .gamma = 1e9 };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t n = 0; n < 2; n++) {
			size_t best, eligible;
			double p[3], sum = 0.0;
			assert_int_equal(cop_policy_best(3, cases[i], NULL, &best, &eligible), COP_OK);
			assert_int_equal(best, best_of_case[i]);
			cop_policy_find(names[n])->probabilities(
			        &set, UINT64_MAX, 3, cases[i], NULL, best, eligible, NULL, p);
			for (size_t k = 0; k < 3; k++) {
				assert_true(p[k] > 0.0 && p[k] <= 1.0);
				sum += p[k];
			}
			assert_true(fabs(sum - 1.0) < 1e-12);
		}
}

static void test_find_unknown_name_is_null(void **state)
{
	(void)state;
	assert_null(cop_policy_find("greedy"));
	assert_null(cop_policy_find(""));
}

static void test_best_ties_take_the_first(void **state)
{
	(void)state;
	const float loss[4] = { 0.5f, 0.25f, 0.25f, 0.25f };
	const uint8_t mask[4] = { 1, 0, 1, 1 };
	size_t best, eligible;
	assert_int_equal(cop_policy_best(4, loss, NULL, &best, &eligible), COP_OK);
	assert_int_equal(best, 1);
	assert_int_equal(eligible, 4);
	assert_int_equal(cop_policy_best(4, loss, mask, &best, &eligible), COP_OK);
	assert_int_equal(best, 2);
	assert_int_equal(eligible, 3);
}

static void test_best_without_eligible_arm_is_refused(void **state)
{
	(void)state;
	const float loss[2] = { 0.5f, 0.25f };
	const uint8_t mask[2] = { 0, 0 };
	size_t best, eligible;
	assert_int_equal(cop_policy_best(2, loss, mask, &best, &eligible), COP_EINVAL);
}

static void test_draw_frequencies_pass_chi_square(void **state)
{
	(void)state;
	const double p[6] = { 0.0, 0.05, 0.5, 0.0, 0.15, 0.3 };
	const int draws = 100000;
	double chi = 0.0;
	long seen[6] = { 0 };
	cop_rng rng;
	cop_rng_init(&rng, SEED, 3);
	for (int i = 0; i < draws; i++)
		seen[cop_policy_draw(6, p, &rng)]++;
	for (size_t k = 0; k < 6; k++) {
		if (p[k] == 0.0) {
			assert_int_equal(seen[k], 0);
			continue;
		}
		double expected = p[k] * draws, gap = (double)seen[k] - expected;
		chi += gap * gap / expected;
	}
	assert_true(chi < 16.27); /* 3 degrees of freedom, one in a thousand */
}

static void test_draw_takes_one_number_whatever_p(void **state)
{
	(void)state;
	const double distributions[3][3] = { { 1.0, 0.0, 0.0 }, { 0.0, 0.0, 1.0 }, { 0.2, 0.3, 0.5 } };
	for (size_t i = 0; i < 3; i++) {
		cop_rng drawn, counted;
		cop_rng_init(&drawn, SEED, 4);
		counted = drawn;
		size_t arm = cop_policy_draw(3, distributions[i], &drawn);
		assert_true(distributions[i][arm] > 0.0);
		(void)cop_rng_u64(&counted);
		assert_memory_equal(&drawn, &counted, sizeof drawn);
	}
}

static void test_draw_rounded_sum_below_one_stays_on_possible_arm(void **state)
{
	(void)state;
	const double p[4] = { 0.0, 1e-9, 1e-9, 0.0 };
	cop_rng rng;
	cop_rng_init(&rng, SEED, 5);
	for (int i = 0; i < 1000; i++) {
		size_t arm = cop_policy_draw(4, p, &rng);
		assert_true(arm == 1 || arm == 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_epsilon_constant_equals_eq_7),
		cmocka_unit_test(test_epsilon_decaying_follows_root_down_to_floor),
		cmocka_unit_test(test_squarecb_equals_inverse_gap_weights),
		cmocka_unit_test(test_losses_not_finite_are_the_worst_and_p_stays_finite),
		cmocka_unit_test(test_find_unknown_name_is_null),
		cmocka_unit_test(test_best_ties_take_the_first),
		cmocka_unit_test(test_best_without_eligible_arm_is_refused),
		cmocka_unit_test(test_draw_frequencies_pass_chi_square),
		cmocka_unit_test(test_draw_takes_one_number_whatever_p),
		cmocka_unit_test(test_draw_rounded_sum_below_one_stays_on_possible_arm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
