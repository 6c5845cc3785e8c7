/* How often the measurements of bench call what they measure, and with what; the figures are a clock's. */
#include "tests/bench/costs/bench_peak.h"

#include <string.h>

#include "support.h"

#define TRIES 40

static struct {
	size_t multiplied, loaded, updated, n;
} calls;

static double multiply_add(size_t rounds, float *sink)
{
	calls.multiplied++;
	assert_int_equal(rounds, 20000);
	assert_true(sink[0] == 0.5F && sink[1] == 1.0F && sink[2] == 0.0F);
	return 1e9;
}

static void load(size_t n, const float *x)
{
	assert_non_null(x);
	calls.loaded++;
	calls.n = n;
}

static void update(size_t n, float *x)
{
	assert_non_null(x);
	calls.updated++;
	calls.n = n;
}

static const cop_bench_peak counting = {
	.name = "counting", .multiply_add = multiply_add, .load = load, .update = update
};

static void test_measurements_are_the_best_of_so_many_tries(void **state)
{
	(void)state;
	float x[16] = { 0 };
	memset(&calls, 0, sizeof calls);
	assert_true(cop_bench_peak_gflops(&counting) > 0.0);
	assert_int_equal(calls.multiplied, TRIES);
	assert_true(cop_bench_peak_read_gbytes(&counting, 16, x) > 0.0);
	assert_int_equal(calls.loaded, TRIES * ((1 << 20) / 16)); /* small arrays: a million floats a try */
	assert_int_equal(calls.updated, 0);
	assert_true(cop_bench_peak_rewrite_gbytes(&counting, (size_t)1 << 19, x) > 0.0);
	assert_int_equal(calls.updated, TRIES * 2);
	assert_int_equal(calls.n, 1 << 19);
	calls.loaded = 0;
	for (size_t more = 0; more < 2; more++) /* large ones: once */
		assert_true(cop_bench_peak_read_gbytes(&counting, ((size_t)1 << 20) + 16 * more, x) > 0.0);
	assert_int_equal(calls.loaded, 2 * TRIES);
}

static void test_find_returns_the_row_of_that_name(void **state)
{
	(void)state;
	const cop_bench_peak *plain = cop_bench_peak_find("plain");
	assert_ptr_equal(plain, &cop_bench_peak_plain);
	assert_null(cop_bench_peak_find("none"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_measurements_are_the_best_of_so_many_tries),
		cmocka_unit_test(test_find_returns_the_row_of_that_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
