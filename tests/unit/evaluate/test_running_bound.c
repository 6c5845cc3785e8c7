/* The bound that holds at all times: its number against a slow reference, its promise on streams that make it hard. */
#include "support.h"

#include <math.h>
#include <stdbool.h>

#include "base/rng.h"
#include "evaluate/running_bound.h"

#define VALUES 600

/* What the header's formula says, from all values and what they could not be below. */
typedef struct record {
	size_t n;
	double x[VALUES], least[VALUES];
} record;

static double wealth_at(const record *r, double low, double top, double mean)
{
	double wealth = 0.0;
	for (int i = 1; i <= COP_RUNNING_BOUND_GRID; i++) {
		double l = pow(2.0, -i), sum = 0.0, exponent = 0.0;
		for (size_t t = 0; t < r->n; t++) {
			double prediction = fmin(fmax((fmin(fmax(0.0, low), top) + sum) / ((double)t + 1.0), low), top);
			double b = top - r->least[t], u = fmin(l * b, 1.0), gap = (r->x[t] - prediction) / b;
			exponent += l * (r->x[t] - mean) - (-log(1.0 - u) - u) * gap * gap;
			sum += r->x[t];
		}
		wealth += exp(exponent) / COP_RUNNING_BOUND_GRID;
	}
	return wealth;
}

static double reference(const record *r, double low, double top, double risk)
{
	double least = low, most = 100.0;
	for (int step = 0; step < 60; step++) {
		double mean = 0.5 * (least + most);
		if (wealth_at(r, low, top, mean) > 1.0 / risk)
			least = mean;
		else
			most = mean;
	}
	return least;
}

static void test_low_equals_bisection_over_the_formula(void **state)
{
	(void)state;
	const double lows[] = { 0.0, -1.0, -5.0 };
	record r = { 0 };
	for (uint64_t seed = 1; seed <= 18; seed++) {
		cop_running_bound b;
		cop_rng rng;
		double low = lows[seed % 3];
		cop_rng_init(&rng, seed, 0);
		cop_running_bound_init(&b, low, 1.0);
		assert_true(cop_running_bound_low(&b, 0.05) == low);
		r.n = 30 * seed;
		for (size_t i = 0; i < r.n; i++) {
			r.least[i] = i % 7 == 0 && seed % 2 == 0 ? -9.0 : -0.5;
			r.x[i] = cop_rng_unit(&rng) < 0.1 ? 8.0 : -0.3;
			cop_running_bound_add(&b, r.x[i], r.least[i]);
		}
		double want = reference(&r, low, 1.0, 0.05), got = cop_running_bound_low(&b, 0.05);
		if (!(fabs(got - want) < 1e-8))
			fail_msg("seed %d: got %.12g, want %.12g", (int)seed, got, want);
		assert_true(cop_running_bound_exceeds(&b, got - 1e-6, 0.05) || got == low);
		assert_false(cop_running_bound_exceeds(&b, got + 1e-6, 0.05));
	}
}

static void test_block_of_one_is_one_value_and_a_larger_one_is_foreseen_as_a_whole(void **state)
{
	(void)state;
	cop_running_bound one, block, whole;
	cop_rng rng;
	cop_rng_init(&rng, 3, 0);
	cop_running_bound_init(&one, -1.0, 1.0);
	block = whole = one;
	for (size_t i = 0; i < 50; i++) {
		double n = 0.0, sum = 0.0, squares = 0.0, gaps = 0.0, x[8];
		const double foreseen = whole.n == 0 ? 0.0 : cop_sum_value(&whole.x) / (1.0 + (double)whole.n);
		for (size_t k = 0; k < 8; k++, n += 1.0) {
			x[k] = cop_rng_below(&rng, 4) == 0 ? 3.0 * cop_rng_unit(&rng) : -cop_rng_unit(&rng);
			sum += x[k];
			squares += x[k] * x[k];
			gaps += (x[k] - foreseen) * (x[k] - foreseen);
			cop_running_bound_add(&one, x[k], -1.0);
			cop_running_bound_add_block(&block, 1, x[k], x[k] * x[k], -1.0);
		}
		const double before = whole.price[5];
		cop_running_bound_add_block(&whole, 8, sum, squares, -1.0);
		assert_true(fabs(whole.price[5] - before - whole.rate[5] * gaps) < 1e-12);
		assert_true(fabs(foreseen) <= 1.0 && whole.n == one.n && block.n == one.n);
	}
	double low = cop_running_bound_low(&one, 0.05);
	assert_true(fabs(cop_running_bound_low(&block, 0.05) - low) < 1e-9);
	assert_true(fabs(cop_running_bound_low(&whole, 0.05) - low) < 0.05);
	assert_true(fabs(cop_running_bound_mean(&whole) - cop_running_bound_mean(&one)) < 1e-12);
}

static void test_value_too_heavy_for_the_grid_leaves_no_bound(void **state)
{
	(void)state;
	cop_running_bound b;
	cop_running_bound_init(&b, -1.0, 1.0);
	for (int i = 0; i < 1000; i++)
		cop_running_bound_add(&b, 0.9, 0.0);
	assert_true(cop_running_bound_low(&b, 0.05) > 0.8);
	cop_running_bound_add(&b, 0.9, -1e7);
	assert_true(cop_running_bound_low(&b, 0.05) == -1.0 && !cop_running_bound_exceeds(&b, -0.9, 0.05));
}

/* A mean that drifts, with heavy tails: the bound is for the mean of the means so far. */
static bool misses(uint64_t seed, double weight, double *last)
{
	cop_running_bound b;
	cop_rng rng;
	double sum = 0.0;
	bool out = false;
	cop_rng_init(&rng, seed, (uint64_t)weight);
	cop_running_bound_init(&b, -1.0, 1.0);
	for (int t = 1; t <= 3000; t++) {
		double mean = -0.2 + 0.4 * sin(t / 300.0), hit = (mean + 1.0) / (weight + 1.0);
		sum += mean;
		cop_running_bound_add(&b, cop_rng_unit(&rng) < hit ? weight : -1.0, t % 50 == 0 ? -20.0 : -1.0);
		out = out || cop_running_bound_exceeds(&b, sum / t, 0.05);
	}
	*last += (sum / 3000.0 - cop_running_bound_low(&b, 0.05)) / 1000.0;
	return out;
}

static void test_bound_holds_at_all_times_when_means_drift(void **state)
{
	(void)state;
	const double weights[] = { 1.0, 10.0, 300.0 }, widest[] = { 0.12, 0.3, 0.9 };
	for (size_t w = 0; w < 3; w++) {
		unsigned missed = 0;
		double last = 0.0;
		for (uint64_t seed = 1; seed <= 1000; seed++)
			missed += misses(seed, weights[w], &last);
		print_message("seeds 1..1000, weight %g: missed %u, mean distance %.3f\n", weights[w], missed, last);
		assert_true(missed <= 70); /* 5 % and three standard deviations */
		assert_true(last < widest[w]);
	}
}

static void test_saved_and_loaded_goes_on_as_before(void **state)
{
	(void)state;
	cop_running_bound b, read, other;
	cop_bytes bytes;
	cop_cursor in;
	cop_running_bound_init(&b, -2.0, 1.0);
	cop_running_bound_init(&other, -1.0, 1.0);
	for (int i = 0; i < 50; i++)
		cop_running_bound_add(&b, i % 5 - 2.0, i % 3 - 5.0);
	cop_bytes_init(&bytes);
	cop_running_bound_save(&b, &bytes);
	for (size_t cut = 0; cut < bytes.length; cut++) {
		cop_running_bound_init(&read, -2.0, 1.0);
		cop_cursor_init(&in, bytes.data, cut);
		cop_running_bound_load(&read, &in);
		assert_true(in.err == COP_EFORMAT && read.n == 0);
	}
	cop_cursor_init(&in, bytes.data, bytes.length);
	cop_running_bound_load(&read, &in);
	assert_int_equal(in.err, COP_OK);
	assert_int_equal(cop_cursor_left(&in), 0);
	cop_running_bound_add(&read, 0.5, -3.0);
	cop_running_bound_add(&b, 0.5, -3.0);
	assert_true(cop_running_bound_low(&read, 0.05) == cop_running_bound_low(&b, 0.05));
	assert_memory_equal(read.price, b.price, sizeof b.price);
	cop_cursor_init(&in, bytes.data, bytes.length);
	cop_running_bound_load(&other, &in);
	assert_int_equal(in.err, COP_EFORMAT);
	cop_bytes_fini(&bytes);
}

static void test_wild_sums_from_a_file_give_a_bound_still(void **state)
{
	(void)state;
	cop_running_bound b;
	cop_running_bound_init(&b, -2.0, 1.0);
	b.n = 3;
	for (int i = 0; i < COP_RUNNING_BOUND_GRID; i++)
		b.price[i] = 1.7e308;
	b.x = (cop_sum){ 1e12, -5.0 };
	for (int i = 0; i < 3; i++) {
		double low = cop_running_bound_low(&b, 1e-12);
		assert_true(low >= -2.0 && low <= cop_running_bound_mean(&b));
		cop_running_bound_add(&b, 1e12, -1.0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_low_equals_bisection_over_the_formula),
		cmocka_unit_test(test_block_of_one_is_one_value_and_a_larger_one_is_foreseen_as_a_whole),
		cmocka_unit_test(test_value_too_heavy_for_the_grid_leaves_no_bound),
		cmocka_unit_test(test_bound_holds_at_all_times_when_means_drift),
		cmocka_unit_test(test_saved_and_loaded_goes_on_as_before),
		cmocka_unit_test(test_wild_sums_from_a_file_give_a_bound_still),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
