/* Shares against a projection found by bisection, their contradictions, and texts. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bandit/policy.h"
#include "bandit/shares.h"
#include "base/rng.h"

#define SEED 2026U
#define MAX  24

typedef struct problem {
	size_t arms, eligible;
	uint8_t mask[MAX];
	double p[MAX], least[MAX], most[MAX];
	cop_shares shares;
} problem;

static void set(cop_arm_shares *shares, uint32_t arm, double share)
{
	char text[64];
	(void)snprintf(text, sizeof text, "%u=%.17g", arm, share);
	assert_null(cop_shares_add(shares, text));
}

/* The share of an arm, or `otherwise`: a search, where the code goes along. */
static double share_of(const cop_arm_shares *shares, size_t arm, double otherwise)
{
	for (size_t i = 0; i < shares->count; i++)
		if (shares->arm[i] == arm)
			return shares->share[i];
	return otherwise;
}

/* The header's limits. */
static void limit(problem *t)
{
	for (size_t k = 0; k < t->arms; k++) {
		t->most[k] = share_of(&t->shares.max, k, 1.0);
		t->least[k] = fmax(share_of(&t->shares.min, k, 0.0),
		        fmin(t->shares.least_propensity / (double)t->eligible, t->most[k]));
	}
}

/* A distribution, sometimes with zeros, and shares that do not contradict each other. */
static void draw(problem *t, cop_rng *rng)
{
	double sum = 0.0, left = 1.0;
	memset(t, 0, sizeof *t);
	t->arms = 2 + (size_t)cop_rng_below(rng, MAX - 1);
	double steep = 8.0 * cop_rng_unit(rng);
	for (size_t k = 0; k < t->arms; k++) {
		t->mask[k] = k == 0 || cop_rng_unit(rng) < 0.7;
		t->eligible += t->mask[k];
		t->p[k] = t->mask[k] == 0 || (k > 0 && cop_rng_unit(rng) < 0.1) ? 0.0 : exp(-steep * cop_rng_unit(rng));
		sum += t->p[k];
	}
	for (size_t k = 0; k < t->arms; k++)
		t->p[k] /= sum;
	t->shares.least_propensity = cop_rng_unit(rng) < 0.2 ? 0.0 : 0.5 * cop_rng_unit(rng);
	for (size_t i = 0; i < t->arms; i++) { /* falling, so that they are put in their places */
		uint32_t k = (uint32_t)(t->arms - 1 - i);
		double share = 0.3 * left * cop_rng_unit(rng);
		if (cop_rng_unit(rng) < 0.3) {
			set(&t->shares.min, k, share);
			left -= share;
		}
		if (cop_rng_unit(rng) < 0.3)
			set(&t->shares.max, k, fmin(1.0, share + (cop_rng_unit(rng) < 0.5 ? 0.05 : 0.6)));
	}
	limit(t);
}

static double at(const problem *t, double c, bool even, size_t k)
{
	if (!t->mask[k])
		return 0.0;
	double w = even ? 1.0 : fmax(t->p[k] - t->least[k], 0.0);
	return fmin(t->most[k], t->least[k] + c * w);
}

static double sum_at(const problem *t, double c, bool even)
{
	double sum = 0.0;
	for (size_t k = 0; k < t->arms; k++)
		sum += at(t, c, even, k);
	return sum;
}

/* The header's formula, c by bisection. False: no c gives 1 with these weights. */
static bool bisect(const problem *t, double *q)
{
	double low = 0.0, high = 1e9;
	if (sum_at(t, high, false) < 1.0)
		return false;
	for (int i = 0; i < 200; i++) {
		double c = 0.5 * (low + high);
		if (sum_at(t, c, false) < 1.0)
			low = c;
		else
			high = c;
	}
	for (size_t k = 0; k < t->arms; k++)
		q[k] = at(t, high, false, k);
	return true;
}

static bool within(const problem *t, const double *q, double slack)
{
	double sum = 0.0;
	for (size_t k = 0; k < t->arms; k++) {
		sum += q[k];
		if (t->mask[k] == 0 ? q[k] != 0.0 : q[k] < t->least[k] - slack || q[k] > t->most[k] + slack)
			return false;
	}
	return fabs(sum - 1.0) < 1e-9;
}

static void test_shares_are_the_projection_of_the_header(void **state)
{
	(void)state;
	cop_rng rng;
	size_t moved = 0, spread = 0, capped = 0;
	cop_rng_init(&rng, SEED, 0);
	for (int round = 0; round < 20000; round++) {
		problem t;
		double q[MAX], want[MAX], was[MAX], maxima = 0.0;
		draw(&t, &rng);
		if (cop_shares_refusal(&t.shares, t.arms) != NULL)
			continue;
		for (size_t k = 0; k < t.arms; k++)
			maxima += t.mask[k] ? t.most[k] : 0.0;
		if (maxima < 1.0)
			continue;
		memcpy(q, t.p, sizeof q);
		bool kept = !cop_shares_keep(&t.shares, t.arms, t.mask, t.eligible, q, was);
		if (!within(&t, q, 0.0))
			fail_msg("round %d (seed %u): not within the shares", round, SEED);
		if (within(&t, t.p, 0.0)) {
			assert_memory_equal(q, t.p, t.arms * sizeof *q); /* to the bit */
			assert_true(kept);
			continue;
		}
		moved++;
		assert_true(!kept && memcmp(was, t.p, t.arms * sizeof *was) == 0);
		if (!bisect(&t, want)) {
			spread++;
			continue;
		}
		for (size_t k = 0; k < t.arms; k++) {
			capped += t.mask[k] && t.most[k] < 1.0 && q[k] == t.most[k];
			if (fabs(q[k] - want[k]) > 1e-9)
				fail_msg("round %d (seed %u), arm %zu of %zu: %.15g, formula %.15g", round, SEED, k,
				        t.arms, q[k], want[k]);
		}
	}
	print_message("seed %u: %zu moved, %zu spread over arms without weight, %zu at their most\n", SEED, moved,
	        spread, capped);
	assert_true(moved > 5000 && spread > 20 && capped > 1000);
}

/* The header's words about what decided, from the limits alone. */
static cop_shares_limit decided(const problem *t, const double *q, size_t k)
{
	double maxima = 0.0;
	for (size_t j = 0; j < t->arms; j++)
		maxima += t->mask[j] ? t->most[j] : 0.0;
	if (maxima < 1.0)
		return COP_SHARES_LIMIT_MAX;
	const bool raised = q[k] > t->p[k], own = t->p[k] < t->least[k] && fabs(q[k] - t->least[k]) < 1e-12;
	if (!raised)
		return q[k] < t->p[k] && t->most[k] < 1.0 && fabs(q[k] - t->most[k]) < 1e-12 ? COP_SHARES_LIMIT_MAX
		                                                                             : COP_SHARES_LIMIT_NONE;
	if (!own)
		return COP_SHARES_LIMIT_MAX;
	return share_of(&t->shares.min, k, 0.0) > t->shares.least_propensity / (double)t->eligible
	               ? COP_SHARES_LIMIT_MIN
	               : COP_SHARES_LIMIT_LEAST;
}

static void test_shares_have_the_limit_that_raised_or_lowered_an_arm(void **state)
{
	(void)state;
	cop_rng rng;
	size_t count[COP_SHARES_LIMITS] = { 0 };
	cop_rng_init(&rng, SEED, 2);
	for (int round = 0; round < 20000; round++) {
		problem t;
		double q[MAX], was[MAX];
		draw(&t, &rng);
		memcpy(q, t.p, sizeof q);
		if (cop_shares_refusal(&t.shares, t.arms) != NULL ||
		        !cop_shares_keep(&t.shares, t.arms, t.mask, t.eligible, q, was))
			continue;
		for (size_t k = 0; k < t.arms; k++) {
			if (t.mask[k] == 0 || fabs(q[k] - was[k]) < 1e-7)
				continue;
			cop_shares_limit is = cop_shares_limit_of(&t.shares, t.eligible, k, was[k], q[k]);
			if (is != decided(&t, q, k))
				fail_msg("round %d (seed %u), arm %zu: %d, from %.15g to %.15g within %.15g and %.15g",
				        round, SEED, k, (int)is, was[k], q[k], t.least[k], t.most[k]);
			count[is]++;
		}
	}
	print_message("seed %u: %zu none, %zu min, %zu max, %zu least\n", SEED, count[0], count[1], count[2], count[3]);
	for (size_t i = 0; i < COP_SHARES_LIMITS; i++)
		assert_true(count[i] > 1000);
}

static void test_shares_limits_of_some_arms(void **state)
{
	(void)state;
	cop_shares shares = { .least_propensity = 0.1 };
	double was[5], p[5] = { 0.9, 0.1, 0.0, 0.0, 0.0 }, even[5] = { 0.2, 0.2, 0.2, 0.2, 0.2 };
	set(&shares.min, 2, 0.25);
	assert_false(cop_shares_keep(&(cop_shares){ .least_propensity = 0.1 }, 5, NULL, 5, even, was));
	assert_true(cop_shares_keep(&shares, 5, NULL, 5, p, was));
	const cop_shares_limit floor[5] = { COP_SHARES_LIMIT_NONE, COP_SHARES_LIMIT_NONE, COP_SHARES_LIMIT_MIN,
		COP_SHARES_LIMIT_LEAST, COP_SHARES_LIMIT_LEAST };
	for (size_t k = 0; k < 5; k++)
		assert_int_equal(cop_shares_limit_of(&shares, 5, k, was[k], p[k]), floor[k]);
	const double again[5] = { 0.9, 0.1, 0.0, 0.0, 0.0 };
	memcpy(p, again, sizeof p);
	set(&shares.max, 0, 0.3); /* what it gives up goes to arm 1 alone, the others have no weight */
	assert_true(cop_shares_keep(&shares, 5, NULL, 5, p, was));
	const cop_shares_limit capped[5] = { COP_SHARES_LIMIT_MAX, COP_SHARES_LIMIT_MAX, COP_SHARES_LIMIT_MIN,
		COP_SHARES_LIMIT_LEAST, COP_SHARES_LIMIT_LEAST };
	for (size_t k = 0; k < 5; k++)
		assert_int_equal(cop_shares_limit_of(&shares, 5, k, was[k], p[k]), capped[k]);
}

/* One arm is below its least by little: the best gives up less than in a mixture with the uniform distribution. */
static void test_shares_cost_the_best_arm_less_than_mixing(void **state)
{
	(void)state;
	const cop_shares shares = { .least_propensity = 0.1 };
	double p[5] = { 0.7, 0.2, 0.06, 0.035, 0.005 };
	cop_shares_keep(&shares, 5, NULL, 5, p, NULL);
	assert_true(p[4] == 0.02 && fabs(p[0] - (0.02 + 0.68 * 0.9 / 0.915)) < 1e-12);
	assert_true(p[0] > 0.9 * 0.7 + 0.02);
}

static void test_shares_spread_evenly_where_nothing_has_a_weight(void **state)
{
	(void)state;
	cop_shares shares = { .least_propensity = 0.0 };
	double p[4] = { 1.0, 0.0, 0.0, 0.0 };
	set(&shares.max, 0, 0.7);
	set(&shares.max, 2, 0.02);
	cop_shares_keep(&shares, 4, NULL, 4, p, NULL);
	assert_true(p[0] == 0.7 && p[2] == 0.02);
	assert_true(fabs(p[1] - 0.14) < 1e-12 && fabs(p[3] - 0.14) < 1e-12);
}

static void test_shares_whose_maxima_leave_too_little_are_scaled(void **state)
{
	(void)state;
	cop_shares shares = { .least_propensity = 0.1 };
	static const uint8_t mask[4] = { 1, 1, 0, 0 };
	double p[4] = { 0.9, 0.1, 0.0, 0.0 };
	set(&shares.max, 0, 0.1);
	set(&shares.max, 1, 0.3);
	assert_null(cop_shares_refusal(&shares, 4));
	cop_shares_keep(&shares, 4, mask, 2, p, NULL);
	assert_true(fabs(p[0] - 0.25) < 1e-12 && fabs(p[1] - 0.75) < 1e-12 && p[2] == 0.0 && p[3] == 0.0);
	shares.max = (cop_arm_shares){ .count = 0 };
	set(&shares.max, 0, 0.0);
	set(&shares.max, 1, 0.0);
	cop_shares_keep(&shares, 4, mask, 2, p, NULL);
	assert_true(p[0] == 0.5 && p[1] == 0.5);
	double alone[4] = { 0.0, 1.0, 0.0, 0.0 };
	static const uint8_t one[4] = { 0, 1, 0, 0 };
	cop_shares_keep(&shares, 4, one, 1, alone, NULL);
	assert_true(alone[1] == 1.0);
}

/* Whatever refusal lets pass, minima hold under every mask. */
static void test_shares_minima_hold_under_every_mask(void **state)
{
	(void)state;
	cop_rng rng;
	size_t let = 0, refused = 0;
	cop_rng_init(&rng, SEED, 1);
	for (int round = 0; round < 2000; round++) {
		problem t;
		memset(&t, 0, sizeof t);
		t.arms = 2 + (size_t)cop_rng_below(&rng, 5);
		t.shares.least_propensity = 0.4 * pow(cop_rng_unit(&rng), 3.0);
		for (uint32_t k = 0; k < t.arms; k++)
			if (cop_rng_unit(&rng) < 0.6)
				set(&t.shares.min, k, fmin(1.0, 2.4 * cop_rng_unit(&rng) / (double)t.arms));
		bool refusal = cop_shares_refusal(&t.shares, t.arms) != NULL, over = false;
		for (unsigned bits = 1; bits < 1u << t.arms; bits++) {
			double sum = 0.0;
			t.eligible = 0;
			for (size_t k = 0; k < t.arms; k++)
				t.eligible += t.mask[k] = bits >> k & 1u;
			limit(&t);
			for (size_t k = 0; k < t.arms; k++) {
				t.p[k] = t.mask[k] ? 1.0 / (double)t.eligible : 0.0;
				sum += t.mask[k] ? t.least[k] : 0.0;
			}
			over = over || sum > 1.0 + 1e-9;
			cop_shares_keep(&t.shares, t.arms, t.mask, t.eligible, t.p, NULL);
			if (!refusal)
				assert_true(within(&t, t.p, 0.0));
		}
		assert_true(refusal == over);
		*(refusal ? &refused : &let) += 1;
	}
	print_message("seed %u: %zu let, %zu refused\n", SEED, let, refused);
	assert_true(let > 50 && refused > 50);
}

static void test_shares_that_contradict_each_other_are_refused(void **state)
{
	(void)state;
	static const struct {
		double least;
		const char *min, *max; /* of arms 0, 1, ... */
		size_t arms;
		const char *holds;
	} cases[] = {
		{ -0.1, "", "", 2, "least_propensity: expected 0 to 1" },
		{ 1.1, "", "", 2, "least_propensity: expected 0 to 1" },
		{ (double)NAN, "", "", 2, "least_propensity: expected 0 to 1" },
		{ 0.0, "0.6 0.6", "", 2, "share_min: the arms' shares add to more than 1" },
		{ 0.0, "", "0.4 0.5", 2, "share_max: all arms' shares add to less than 1" },
		{ 0.0, "0.4", "0.3", 2, "share_min: above the same arm's share_max" },
		{ 0.0, "0.1 0.1 0.1", "", 2, "share_min: expected arms that there are" },
		{ 0.0, "", "1 1 1", 2, "share_max: expected arms that there are" },
		{ 0.2, "0.5 0.5", "", 3, "share_min: with least_propensity" },
		{ 0.0, "0.5", "", 0, "share_min, share_max: candidates and values have none" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_shares shares = { .least_propensity = cases[i].least };
		const char *at = cases[i].min;
		double share;
		int used;
		for (uint32_t k = 0; sscanf(at, "%lf%n", &share, &used) == 1; k++, at += used)
			set(&shares.min, k, share);
		at = cases[i].max;
		for (uint32_t k = 0; sscanf(at, "%lf%n", &share, &used) == 1; k++, at += used)
			set(&shares.max, k, share);
		const char *wrong = cop_shares_refusal(&shares, cases[i].arms);
		if (wrong == NULL || strstr(wrong, cases[i].holds) != wrong)
			fail_msg("case %zu: %s", i, wrong == NULL ? "allowed" : wrong);
	}
	cop_shares good = { .least_propensity = 0.02 };
	set(&good.min, 0, 0.7);
	set(&good.min, 1, 0.2);
	set(&good.max, 1, 0.2);
	set(&good.max, 2, 0.0); /* goes before least_propensity */
	assert_null(cop_shares_refusal(&good, 3));
	double p[3] = { 0.0, 1.0, 0.0 };
	cop_shares_keep(&good, 3, NULL, 3, p, NULL);
	assert_true(fabs(p[0] - 0.8) < 1e-12 && p[1] == 0.2 && p[2] == 0.0);
}

static void test_shares_texts_are_taken_in_order_and_else_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = { "", "=0.1", "1", "1=", "1=x", "1=1.5", "1=-0.1", "a=0.1", "1=0.1 ",
		" 1=0.1", "9999999999=0.1", "-1=0.1", "1=nan", "3=0.5" };
	cop_arm_shares shares = { .count = 0 };
	set(&shares, 3, 0.25);
	set(&shares, 0, 0.5);
	set(&shares, 12, 1.0);
	cop_arm_shares before = shares;
	assert_true(shares.count == 3 && shares.arm[0] == 0 && shares.arm[1] == 3 && shares.arm[2] == 12);
	assert_true(shares.share[0] == 0.5 && shares.share[1] == 0.25 && shares.share[2] == 1.0);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_non_null(cop_shares_add(&shares, wrong[i]));
	assert_memory_equal(&shares, &before, sizeof shares);
	for (uint32_t k = 100; shares.count < COP_SHARES_ARMS; k++)
		set(&shares, k, 0.0);
	assert_string_equal(cop_shares_add(&shares, "5=0"), "expected at most 64 arms");
}

static void test_retired_arms_are_left_out_where_others_are_eligible(void **state)
{
	static const uint8_t masks[][4] = { { 1, 1, 1, 1 }, { 0, 1, 1, 0 }, { 0, 1, 0, 0 } };
	static const uint8_t left[][4] = { { 1, 0, 1, 0 }, { 0, 0, 1, 0 } };
	cop_shares shares = { 0 };
	uint8_t out[4] = { 9, 9, 9, 9 };
	(void)state;
	set(&shares.max, 2, 0.5);
	assert_false(cop_shares_without_retired(&shares, 4, NULL, out)); /* none is retired */
	assert_int_equal(out[0], 9);
	set(&shares.max, 1, 0.0);
	set(&shares.max, 3, 0.0);
	set(&shares.max, 7, 0.0); /* no arm of four */
	for (size_t k = 0; k < 4; k++)
		assert_int_equal(cop_shares_retired(&shares, k), k % 2);
	assert_true(cop_shares_without_retired(&shares, 4, NULL, out));
	assert_memory_equal(out, left[0], 4);
	for (size_t i = 0; i < 2; i++) {
		assert_true(cop_shares_without_retired(&shares, 4, masks[i], out));
		assert_memory_equal(out, left[i], 4);
	}
	assert_false(cop_shares_without_retired(&shares, 4, masks[2], out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares_are_the_projection_of_the_header),
		cmocka_unit_test(test_shares_have_the_limit_that_raised_or_lowered_an_arm),
		cmocka_unit_test(test_shares_limits_of_some_arms),
		cmocka_unit_test(test_shares_cost_the_best_arm_less_than_mixing),
		cmocka_unit_test(test_shares_spread_evenly_where_nothing_has_a_weight),
		cmocka_unit_test(test_shares_whose_maxima_leave_too_little_are_scaled),
		cmocka_unit_test(test_shares_minima_hold_under_every_mask),
		cmocka_unit_test(test_shares_that_contradict_each_other_are_refused),
		cmocka_unit_test(test_shares_texts_are_taken_in_order_and_else_refused),
		cmocka_unit_test(test_retired_arms_are_left_out_where_others_are_eligible),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
