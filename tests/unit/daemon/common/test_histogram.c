#include "daemon/common/histogram.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "support.h"

/* The bucket by the definition: the first whose bound is not exceeded. */
static unsigned naive_bucket(uint64_t nanoseconds)
{
	unsigned i = 0;
	while (i < COP_HISTOGRAM_BOUNDS && nanoseconds > cop_histogram_bound(i))
		i++;
	return i;
}

static void expect_bucket(uint64_t nanoseconds)
{
	cop_histogram histogram = { 0 };
	cop_histogram_observe(&histogram, nanoseconds);
	for (unsigned i = 0; i <= COP_HISTOGRAM_BOUNDS; i++)
		assert_int_equal(histogram.bucket[i], i == naive_bucket(nanoseconds));
	assert_int_equal(histogram.sum, nanoseconds);
}

static void test_bounds_are_one_two_five_from_a_microsecond_to_ten_seconds(void **state)
{
	(void)state;
	assert_int_equal(cop_histogram_bound(0), 1000);
	assert_int_equal(cop_histogram_bound(COP_HISTOGRAM_BOUNDS - 1), 10000000000);
	for (unsigned i = 0; i + 3 < COP_HISTOGRAM_BOUNDS; i += 3) {
		assert_int_equal(cop_histogram_bound(i + 1), 2 * cop_histogram_bound(i));
		assert_int_equal(cop_histogram_bound(i + 2), 5 * cop_histogram_bound(i));
		assert_int_equal(cop_histogram_bound(i + 3), 10 * cop_histogram_bound(i));
	}
}

static void test_observe_edges_fall_into_the_naive_bucket(void **state)
{
	(void)state;
	for (unsigned shift = 0; shift < 64; shift++)
		for (uint64_t by = 0; by < 3; by++)
			expect_bucket(((uint64_t)1 << shift) + by - 1);
	for (unsigned i = 0; i < COP_HISTOGRAM_BOUNDS; i++)
		for (uint64_t by = 0; by < 3; by++)
			expect_bucket(cop_histogram_bound(i) + by - 1);
	expect_bucket(UINT64_MAX);
}

static void test_observe_random_falls_into_the_naive_bucket(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 5, 0);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t value = cop_rng_u64(&rng);
		expect_bucket(value >> (value & 63u));
	}
}

static void test_put_counts_are_cumulative(void **state)
{
	(void)state;
	cop_histogram histogram = { 0 };
	cop_bytes out;
	cop_bytes_init(&out);
	cop_histogram_observe(&histogram, 900);
	cop_histogram_observe(&histogram, 3000);
	cop_histogram_observe(&histogram, 3000);
	cop_histogram_observe(&histogram, 60000000000);
	static const cop_metric metric = { "x_seconds", COP_METRIC_HISTOGRAM, "", "Text." };
	cop_histogram_put(&histogram, &metric, &out);
	cop_bytes_put_u8(&out, 0);
	assert_int_equal(out.err, COP_OK);
	const char *text = (const char *)out.data;
	static const char begin[] =
	        "# HELP x_seconds Text.\n# TYPE x_seconds histogram\nx_seconds_bucket{le=\"1e-06\"} 1\n"
	        "x_seconds_bucket{le=\"2e-06\"} 1\nx_seconds_bucket{le=\"5e-06\"} 3\n";
	static const char end[] = "x_seconds_bucket{le=\"10\"} 3\nx_seconds_bucket{le=\"+Inf\"} 4\n"
	                          "x_seconds_sum 60.0000069\nx_seconds_count 4\n";
	assert_memory_equal(text, begin, sizeof begin - 1);
	assert_string_equal(text + strlen(text) - (sizeof end - 1), end);
	cop_bytes_fini(&out);
}

static void test_quantile_is_within_the_bucket_of_the_sorted_value(void **state)
{
	(void)state;
	cop_histogram histogram = { 0 };
	assert_true(isnan(cop_histogram_quantile(&histogram, 0.5)));
	assert_int_equal(cop_histogram_count(&histogram), 0);
	for (uint64_t i = 1; i <= 1000; i++)
		cop_histogram_observe(&histogram, 4000 * i); /* 4 us to 4 ms, evenly: the i-th is 4 i us */
	assert_int_equal(cop_histogram_count(&histogram), 1000);
	for (unsigned i = 1; i <= 1000; i++) {
		double is = cop_histogram_quantile(&histogram, i / 1000.0), exact = 4e-6 * i;
		unsigned b = 0;
		while ((double)cop_histogram_bound(b) < 1e9 * exact - 0.5)
			b++;
		double low = b == 0 ? 0.0 : 1e-9 * (double)cop_histogram_bound(b - 1);
		assert_true(is >= low - 1e-12 && is <= 1e-9 * (double)cop_histogram_bound(b) + 1e-12);
	}
	assert_true(fabs(cop_histogram_quantile(&histogram, 0.375) - 1.5e-3) < 1e-5); /* even: linear is exact */
	cop_histogram late = { 0 };
	cop_histogram_observe(&late, 60000000000);
	assert_true(cop_histogram_quantile(&late, 0.99) == 10.0);
}

static void test_observe_allocates_nothing(void **state)
{
	(void)state;
	cop_histogram histogram = { 0 };
	cop_test_alloc_fail(0, 0);
	for (uint64_t i = 0; i < 1000; i++)
		cop_histogram_observe(&histogram, i * i);
	assert_int_equal(cop_test_alloc_count(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds_are_one_two_five_from_a_microsecond_to_ten_seconds),
		cmocka_unit_test(test_observe_edges_fall_into_the_naive_bucket),
		cmocka_unit_test(test_observe_random_falls_into_the_naive_bucket),
		cmocka_unit_test(test_put_counts_are_cumulative),
		cmocka_unit_test(test_quantile_is_within_the_bucket_of_the_sorted_value),
		cmocka_unit_test(test_observe_allocates_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
