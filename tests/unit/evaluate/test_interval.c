/* Intervals from counts and streaming statistics: closed forms, and sequences that must hold at every time. */
#include "support.h"

#include <math.h>
#include <stdbool.h>

#include "base/rng.h"
#include "evaluate/interval.h"

static void assert_close(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance * (1.0 + fabs(want))))
		fail_msg("got %.17g, want %.17g", got, want);
}

static void test_clopper_pearson_without_hits_or_misses_has_closed_form(void **state)
{
	(void)state;
	double low, high;
	cop_interval_clopper_pearson(0.0, 10.0, 0.05, &low, &high);
	assert_true(low == 0.0);
	assert_close(high, 1.0 - pow(0.025, 0.1), 1e-12);
	cop_interval_clopper_pearson(10.0, 10.0, 0.05, &low, &high);
	assert_close(low, pow(0.025, 0.1), 1e-12);
	assert_true(high == 1.0);
	cop_interval_clopper_pearson(0.0, 0.0, 0.05, &low, &high);
	assert_true(low == 0.0 && high == 1.0);
}

/* P(X >= k) for X binomial, by adding up. */
static double binomial_tail(unsigned n, unsigned k, double p)
{
	double sum = 0.0;
	for (unsigned i = k; i <= n; i++)
		sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) + (n - i) * log1p(-p));
	return sum;
}

static void test_clopper_pearson_bounds_leave_half_the_risk_in_each_tail(void **state)
{
	(void)state;
	for (unsigned n = 2; n < 60; n += 7)
		for (unsigned k = 1; k < n; k++) {
			double low, high;
			cop_interval_clopper_pearson(k, n, 0.1, &low, &high);
			assert_close(binomial_tail(n, k, low), 0.05, 1e-10);
			assert_close(1.0 - binomial_tail(n, k + 1, high), 0.05, 1e-10);
		}
}

static void test_bernstein_is_the_formula_of_its_theorem(void **state)
{
	(void)state;
	double log_term = log(2.0 / 0.025);
	assert_close(cop_interval_bernstein(100.0, 0.2, 3.0, 0.05),
	        sqrt(2.0 * 0.2 * log_term / 100.0) + 7.0 * 3.0 * log_term / (3.0 * 99.0), 1e-14);
	assert_true(isinf(cop_interval_bernstein(1.0, 0.0, 1.0, 0.05)));
}

/* Heavy-tailed X with mean 0.3: 0 but for one in `weight`. */
static double heavy(cop_rng *rng, double weight)
{
	double u = cop_rng_unit(rng) * weight;
	return u < 0.3 ? weight : 0.0;
}

static void test_sequence_holds_at_all_times_under_heavy_weights(void **state)
{
	(void)state;
	const double weights[] = { 1.0, 7.0, 260.0 };
	for (size_t w = 0; w < 3; w++) {
		unsigned missed = 0;
		double last = 0.0;
		for (uint64_t seed = 1; seed <= 500; seed++) {
			cop_interval_sequence s = { 0 };
			cop_rng rng;
			bool out = false;
			cop_rng_init(&rng, seed, w);
			for (int i = 0; i < 4000; i++) {
				cop_interval_sequence_add(&s, 1.0, heavy(&rng, weights[w]), weights[w], 0.05);
				out = out || cop_interval_sequence_low(&s, 0.05) > 0.3;
			}
			missed += out ? 1 : 0;
			last += cop_interval_sequence_low(&s, 0.05) / 500.0;
		}
		print_message("seeds 1..500, weight %g: missed %u, mean bound %.3f\n", weights[w], missed, last);
		assert_true(missed <= 30); /* 5 % and its own noise */
		assert_true(last > (w == 0 ? 0.25 : w == 1 ? 0.2 : -0.1));
	}
}

static void test_sequence_saved_still_bounds(void **state)
{
	(void)state;
	cop_interval_sequence s = { 0 }, read;
	cop_rng rng;
	cop_rng_init(&rng, 4, 4);
	for (int i = 0; i < 5000; i++)
		cop_interval_sequence_add(&s, i % 3 == 0 ? 2.0 : 1.0, heavy(&rng, 3.0), 3.0, 0.05);
	double low = cop_interval_sequence_low(&s, 0.05);
	assert_true(low > 0.0 && low < 0.3);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_interval_sequence_save(&s, &bytes);
	assert_int_equal(bytes.err, COP_OK);
	cop_cursor in;
	cop_cursor_init(&in, bytes.data, bytes.length);
	cop_interval_sequence_load(&read, &in);
	assert_int_equal(in.err, COP_OK);
	assert_int_equal(cop_cursor_left(&in), 0);
	cop_interval_sequence_add(&read, 1.0, 3.0, 3.0, 0.05);
	cop_interval_sequence_add(&s, 1.0, 3.0, 3.0, 0.05);
	assert_true(cop_interval_sequence_low(&read, 0.05) == cop_interval_sequence_low(&s, 0.05));
	cop_bytes_fini(&bytes);
}

static void test_sequence_that_cannot_be_is_refused(void **state)
{
	(void)state;
	cop_interval_sequence good = { 0 }, bad[4];
	for (size_t i = 0; i < 4; i++)
		bad[i] = good;
	cop_interval_sequence_add(&good, 1.0, 0.5, 1.0, 0.05);
	bad[0].bet.total = 1.0;
	bad[1].weight.total = 1.0;
	bad[2] = bad[3] = good;
	bad[2].bet = (cop_sum){ 0 };
	bad[3].weight = (cop_sum){ 0 };
	for (size_t i = 0; i < 5; i++) {
		cop_bytes bytes;
		cop_cursor in;
		cop_interval_sequence read;
		cop_bytes_init(&bytes);
		cop_interval_sequence_save(i < 4 ? &bad[i] : &good, &bytes);
		cop_cursor_init(&in, bytes.data, bytes.length);
		cop_interval_sequence_load(&read, &in);
		assert_int_equal(in.err, i < 4 ? COP_EFORMAT : COP_OK);
		cop_bytes_fini(&bytes);
	}
}

static void test_asymptotic_sequence_holds_at_all_times(void **state)
{
	(void)state;
	unsigned missed = 0;
	for (uint64_t seed = 1; seed <= 500; seed++) {
		cop_rng rng;
		double sum = 0.0;
		bool out = false;
		cop_rng_init(&rng, seed, 9);
		for (int i = 1; i <= 4000; i++) {
			sum += cop_rng_normal(&rng);
			out = out || fabs(sum / i) > cop_interval_asymptotic_sequence(i, 1.0, 500.0, 0.05);
		}
		missed += out ? 1 : 0;
	}
	print_message("seeds 1..500: missed %u\n", missed);
	assert_true(missed <= 30);
}

static void test_unseen_weight_follows_from_what_is_missing(void **state)
{
	(void)state;
	cop_moments seen = { 0 };
	for (int i = 0; i < 100; i++)
		cop_moments_add(&seen, 1.0, 0.0, 0.0);
	/* nothing matched: all may be missing */
	assert_close(cop_interval_unseen_weight(&seen, 1.0, 10.0, 70.0, (double)INFINITY), 70.0, 1e-12);
	assert_close(cop_interval_unseen_weight(&seen, 1.0, 10.0, 1e9, (double)INFINITY), 100.0, 1e-12);
	seen = (cop_moments){ 0 };
	for (int i = 0; i < 100; i++)
		cop_moments_add(&seen, 1.0, 1.0, 0.0);
	/* all matched, nothing is missing */
	assert_close(cop_interval_unseen_weight(&seen, 1.0, 10.0, 70.0, 2.0), 1.0, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clopper_pearson_without_hits_or_misses_has_closed_form),
		cmocka_unit_test(test_clopper_pearson_bounds_leave_half_the_risk_in_each_tail),
		cmocka_unit_test(test_bernstein_is_the_formula_of_its_theorem),
		cmocka_unit_test(test_sequence_holds_at_all_times_under_heavy_weights),
		cmocka_unit_test(test_sequence_saved_still_bounds),
		cmocka_unit_test(test_asymptotic_sequence_holds_at_all_times),
		cmocka_unit_test(test_unseen_weight_follows_from_what_is_missing),
		cmocka_unit_test(test_sequence_that_cannot_be_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
