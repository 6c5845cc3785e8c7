/* The parts differ in how many requests are under way, in the events of a request, and in whether feedback follows. */
#include "bench_measures.h"

#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;
	return (x > y) - (x < y);
}

double cop_bench_measures_quantile(double *samples, size_t count, double share)
{
	qsort(samples, count, sizeof *samples, ascending);
	size_t at = (size_t)(share * (double)count);
	return samples[at < count ? at : count - 1];
}

cop_bench_part cop_bench_measures_part(const cop_bench_requests *requests, int rate)
{
	cop_bench_part part = {
		.inflight = 1, .batch = 1, .learns = rate >= COP_BENCH_LEARN_PIPELINED, .seconds = requests->seconds
	};
	if (rate == COP_BENCH_DECIDE_PIPELINED || rate == COP_BENCH_LEARN_PIPELINED)
		part.inflight = requests->inflight;
	if (rate == COP_BENCH_LEARN_BATCHED) {
		part.inflight = COP_BENCH_BATCHES;
		part.batch = requests->batch;
	}
	return part;
}

void cop_bench_measures_text(const cop_bench_requests *requests, int rate, char *out, size_t size)
{
	switch (rate) {
	case COP_BENCH_DECIDE_ALONE:
		(void)snprintf(out, size, "decide, one at a time");
		break;
	case COP_BENCH_DECIDE_PIPELINED:
		(void)snprintf(out, size, "decide, %zu in flight", requests->inflight);
		break;
	case COP_BENCH_LEARN_PIPELINED:
		(void)snprintf(out, size, "decide + feedback, %zu in flight", requests->inflight);
		break;
	default:
		(void)snprintf(
		        out, size, "the same in batches of %zu, %d in flight", requests->batch, COP_BENCH_BATCHES);
	}
}

const char *cop_bench_measures_key(int rate)
{
	static const char *const keys[COP_BENCH_RATES] = { "decide_one_at_a_time", "decide_pipelined",
		"learn_pipelined", "learn_batched" };
	return keys[rate];
}

const cop_bench_latency_quantile cop_bench_quantiles[COP_BENCH_QUANTILES] = {
	{ 0.5, "p50", "p50_us" },
	{ 0.99, "p99", "p99_us" },
	{ 0.999, "p99.9", "p999_us" },
};
