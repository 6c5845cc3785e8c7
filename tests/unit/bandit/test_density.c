/* The density against its formula written out again, draws against their distribution, and losses that are no numbers.
 */
#include "bandit/density.h"

#include <math.h>

#include "support.h"

#define BINS 7

static const cop_density_settings settings = { .spread = 1.5, .floor = 0.1, .most = 1000.0 };

/* The header's formula, in another order of operations. */
static double expected(const float *loss, size_t k, double n, double noise)
{
	double least = HUGE_VAL, sum = 0.0;
	for (size_t i = 0; i < BINS; i++)
		least = fmin(least, (double)loss[i]);
	double f = 0.1 / pow(n + 1.0, 0.5);
	for (size_t i = 0; i < BINS; i++)
		sum += 1.5 * noise / (1.5 * noise + (n + 1.0) * pow((double)loss[i] - least, 2.0));
	double q = 1.5 * noise / (1.5 * noise + (n + 1.0) * pow((double)loss[k] - least, 2.0)) / sum;
	return f / BINS + (1.0 - f) * q;
}

static void test_density_equals_its_formula_and_stops_counting(void **state)
{
	(void)state;
	const float loss[BINS] = { 0.9f, 0.4f, 0.35f, 0.31f, 0.3f, 0.5f, 1.2f };
	double p[BINS], late[BINS];
	for (uint64_t n = 0; n <= 1000; n += 125) {
		double sum = 0.0;
		cop_density_fill(&settings, n, 0.02, BINS, loss, p);
		for (size_t k = 0; k < BINS; k++) {
			assert_true(fabs(p[k] - expected(loss, k, (double)n, 0.02)) < 1e-12);
			sum += p[k];
		}
		assert_true(fabs(sum - 1.0) < 1e-12);
	}
	cop_density_fill(&settings, UINT64_MAX, 0.02, BINS, loss, late);
	for (size_t k = 0; k < BINS; k++)
		assert_true(p[k] == late[k]);
}

static void test_density_does_not_hang_on_the_unit_of_losses(void **state)
{
	(void)state;
	const float loss[BINS] = { 3.0f, 1.0f, 2.0f, 4.0f, 0.5f, 1.0f, 6.0f };
	float scaled[BINS];
	double p[BINS], q[BINS];
	for (size_t k = 0; k < BINS; k++)
		scaled[k] = 1024.0f * loss[k];
	cop_density_fill(&settings, 40, 0.5, BINS, loss, p);
	cop_density_fill(&settings, 40, 0.5 * 1024.0 * 1024.0, BINS, scaled, q);
	for (size_t k = 0; k < BINS; k++)
		assert_true(fabs(p[k] - q[k]) < 1e-12);
}

/* As an even share and a spread that are larger by just so much. */
static void test_early_parts_fade_with_what_was_learned(void **state)
{
	(void)state;
	const float loss[BINS] = { 0.5f, 0.2f, 0.21f, 0.4f, 0.9f, 0.3f, 0.25f };
	cop_density_settings early = settings, plain = settings;
	double p[BINS], q[BINS];
	early.early_spread = 200.0;
	early.early_floor = 100.0;
	plain.spread *= 3.0;
	plain.floor *= 2.0;
	cop_density_fill(&early, 99, 0.02, BINS, loss, p);
	cop_density_fill(&plain, 99, 0.02, BINS, loss, q);
	for (size_t k = 0; k < BINS; k++)
		assert_true(fabs(p[k] - q[k]) < 1e-12);
	cop_density_fill(&early, 3, 0.02, BINS, loss, p);
	for (size_t k = 0; k < BINS; k++)
		assert_true(fabs(p[k] - 1.0 / BINS) < 1e-12);
}

static void test_density_of_losses_that_are_no_numbers_stays_positive(void **state)
{
	(void)state;
	const float some[BINS] = { NAN, 0.5f, INFINITY, 0.2f, -INFINITY, NAN, 0.2f };
	const float none[BINS] = { NAN, NAN, INFINITY, NAN, NAN, NAN, -INFINITY };
	double p[BINS];
	cop_density_fill(&settings, 100, 0.0, BINS, some, p);
	for (size_t k = 0; k < BINS; k++)
		assert_true(p[k] > 0.0 && p[k] < 0.5);
	assert_true(p[3] > 0.4 && p[6] > 0.4 && p[0] < 0.01 && p[4] < 0.01);
	cop_density_fill(&settings, 100, 0.1, BINS, none, p);
	for (size_t k = 0; k < BINS; k++)
		assert_true(fabs(p[k] - 1.0 / BINS) < 1e-12);
	assert_true(cop_density_best(BINS, none) == 0.5);
}

static void test_draws_follow_the_density_that_they_report(void **state)
{
	(void)state;
	const double p[BINS] = { 0.05, 0.3, 0.05, 0.2, 0.15, 0.05, 0.2 };
	size_t count[BINS][2] = { { 0 } };
	cop_rng rng;
	cop_rng_init(&rng, 5, 1);
	for (size_t i = 0; i < 100000; i++) {
		double density, y = cop_density_draw(BINS, p, &rng, &density);
		assert_true(y >= 0.0 && y < 1.0);
		size_t k = cop_density_bin(BINS, y);
		assert_true(fabs(density - p[k] * BINS) < 1e-12);
		count[k][y * BINS - (double)k >= 0.5]++;
	}
	for (size_t k = 0; k < BINS; k++)
		for (size_t half = 0; half < 2; half++) {
			double mean = 100000.0 * p[k] / 2.0;
			assert_true(fabs((double)count[k][half] - mean) < 5.0 * sqrt(mean));
		}
}

static void test_bins_of_the_ends_and_beyond(void **state)
{
	(void)state;
	assert_int_equal(cop_density_bin(BINS, 0.0), 0);
	assert_int_equal(cop_density_bin(BINS, 1.0), BINS - 1);
	assert_int_equal(cop_density_bin(BINS, -3.0), 0);
	assert_int_equal(cop_density_bin(BINS, 0.5), BINS / 2);
}

static void test_best_is_a_parabolas_own_minimum(void **state)
{
	(void)state;
	for (double at = 1.6 / BINS; at < 5.4 / BINS; at += 0.01) {
		float loss[BINS];
		for (size_t k = 0; k < BINS; k++)
			loss[k] = (float)(3.0 * pow(((double)k + 0.5) / BINS - at, 2.0) - 1.0);
		assert_true(fabs(cop_density_best(BINS, loss) - at) < 1e-5);
	}
	const float down[BINS] = { 7, 6, 5, 4, 3, 2, 1 };
	assert_true(fabs(cop_density_best(BINS, down) - 6.5 / BINS) < 1e-12);
	const float up[BINS] = { 1, 2, 3, 4, 5, 6, 7 }, next_to_last[BINS] = { 7, 6, 5, 4, 3, 1, 2 };
	assert_true(fabs(cop_density_best(BINS, up) - 0.5 / BINS) < 1e-12);
	/* gaps of 2 below and 1 above: a sixth of a bin upwards */
	assert_true(fabs(cop_density_best(BINS, next_to_last) - (5.5 + 1.0 / 6.0) / BINS) < 1e-12);
	const float second[BINS] = { 2, 1, 3, 4, 5, 6, 7 }, hole[BINS] = { HUGE_VALF, 1, 3, 4, 5, 6, 7 };
	assert_true(fabs(cop_density_best(BINS, second) - (1.5 - 1.0 / 6.0) / BINS) < 1e-12);
	assert_true(fabs(cop_density_best(BINS, hole) - 1.5 / BINS) < 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_density_equals_its_formula_and_stops_counting),
		cmocka_unit_test(test_density_does_not_hang_on_the_unit_of_losses),
		cmocka_unit_test(test_early_parts_fade_with_what_was_learned),
		cmocka_unit_test(test_density_of_losses_that_are_no_numbers_stays_positive),
		cmocka_unit_test(test_draws_follow_the_density_that_they_report),
		cmocka_unit_test(test_bins_of_the_ends_and_beyond),
		cmocka_unit_test(test_best_is_a_parabolas_own_minimum),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
