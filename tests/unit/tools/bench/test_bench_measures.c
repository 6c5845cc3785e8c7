/* The parts of a measurement, and quantiles of samples. */
#include "tools/bench/bench_measures.h"

#include <string.h>

#include "support.h"

static const cop_bench_requests requests = { .inflight = 9, .batch = 5, .rounds = 3, .seconds = 0.25 };

static void test_parts_follow_their_names(void **state)
{
	static const struct {
		size_t inflight, batch;
		bool learns;
		const char *text, *key;
	} want[COP_BENCH_RATES] = {
		{ 1, 1, false, "decide, one at a time", "decide_one_at_a_time" },
		{ 9, 1, false, "decide, 9 in flight", "decide_pipelined" },
		{ 9, 1, true, "decide + feedback, 9 in flight", "learn_pipelined" },
		{ 4, 5, true, "the same in batches of 5, 4 in flight", "learn_batched" },
	};
	(void)state;
	for (int rate = 0; rate < COP_BENCH_RATES; rate++) {
		cop_bench_part part = cop_bench_measures_part(&requests, rate);
		char text[64];
		cop_bench_measures_text(&requests, rate, text, sizeof text);
		assert_int_equal(part.inflight, want[rate].inflight);
		assert_int_equal(part.batch, want[rate].batch);
		assert_int_equal(part.learns, want[rate].learns);
		assert_int_equal(part.events, 0);
		assert_true(part.seconds == 0.25);
		assert_string_equal(text, want[rate].text);
		assert_string_equal(cop_bench_measures_key(rate), want[rate].key);
	}
}

static void test_quantile_has_its_share_below(void **state)
{
	double samples[] = { 5, 3, 1, 4, 2, 9, 8, 7, 6, 10 };
	(void)state;
	assert_true(cop_bench_measures_quantile(samples, 10, 0.5) == 6.0);
	for (int i = 0; i < 10; i++)
		assert_true(samples[i] == i + 1);
	assert_true(cop_bench_measures_quantile(samples, 10, 0.0) == 1.0);
	assert_true(cop_bench_measures_quantile(samples, 10, 0.99) == 10.0);
	assert_true(cop_bench_measures_quantile(samples, 10, 1.0) == 10.0);
	assert_true(cop_bench_measures_quantile(samples, 1, 0.5) == 1.0);
}

static void test_latency_quantiles_rise(void **state)
{
	(void)state;
	for (size_t q = 1; q < COP_BENCH_QUANTILES; q++)
		assert_true(cop_bench_quantiles[q].share > cop_bench_quantiles[q - 1].share);
	assert_true(cop_bench_quantiles[0].share == 0.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_follow_their_names),
		cmocka_unit_test(test_quantile_has_its_share_below),
		cmocka_unit_test(test_latency_quantiles_rise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
