/* Each figure is the median of the rounds, beside the least and the greatest of them. The latency's rate follows from
 * the rates, so they come first. */
#include <stdio.h>

#include "base/mem.h"
#include "bench.h"

typedef struct figure {
	double median, low, high;
} figure;

typedef struct bench {
	const cop_bench_daemon *set;
	cop_bench_driver *driver;
	cop_diag *diag;
	double *values; /* COP_BENCH_QUANTILES x rounds */
	figure rates[COP_BENCH_RATES];
	double rate; /* of the latencies: requests a second */
	figure latency[COP_BENCH_QUANTILES];
} bench;

static figure figure_of(double *values, size_t rounds)
{
	double median = cop_bench_measures_quantile(values, rounds, 0.5); /* sorts them */
	return (figure){ .median = median, .low = values[0], .high = values[rounds - 1] };
}

static cop_err measure_rates(bench *b)
{
	const cop_bench_requests *requests = &b->set->requests;
	for (int rate = 0; rate < COP_BENCH_RATES; rate++) {
		cop_bench_part part = cop_bench_measures_part(requests, rate);
		for (size_t round = 0; round < requests->rounds; round++) {
			cop_err err = cop_bench_drive(b->driver, &part, &b->values[round], b->diag);
			if (err != COP_OK)
				return err;
		}
		b->rates[rate] = figure_of(b->values, requests->rounds);
	}
	return COP_OK;
}

static cop_err measure_latency(bench *b)
{
	const cop_bench_requests *requests = &b->set->requests;
	cop_bench_latencies taken = { 0 };
	cop_err err = COP_OK;
	b->rate = COP_BENCH_LOAD_OF_LATENCY * b->rates[COP_BENCH_LEARN_PIPELINED].median;
	for (size_t round = 0; round < requests->rounds && err == COP_OK; round++) {
		taken.count = 0;
		err = cop_bench_drive_at(b->driver, b->rate, requests->seconds, &taken, b->diag);
		for (size_t q = 0; q < COP_BENCH_QUANTILES && err == COP_OK; q++)
			b->values[q * requests->rounds + round] =
			        1e6 * cop_bench_measures_quantile(taken.of, taken.count, cop_bench_quantiles[q].share);
	}
	for (size_t q = 0; q < COP_BENCH_QUANTILES && err == COP_OK; q++)
		b->latency[q] = figure_of(b->values + q * requests->rounds, requests->rounds);
	cop_mem_free(taken.of);
	return err;
}

static void show_figure(const char *text, const figure *f)
{
	(void)printf("%-44s %10.0f  (%.0f to %.0f)\n", text, f->median, f->low, f->high);
}

static void show_text(const bench *b)
{
	const cop_bench_target *target = &b->set->target;
	const cop_bench_requests *requests = &b->set->requests;
	char text[64];
	(void)printf("%s, model %s; %zu features as %s; medians of %zu rounds of %g s\n\nevents per second\n",
	        target->endpoint, target->model, target->features,
	        target->floats ? "an array of float64" : "packed float32", requests->rounds, requests->seconds);
	for (int rate = 0; rate < COP_BENCH_RATES; rate++) {
		cop_bench_measures_text(requests, rate, text, sizeof text);
		show_figure(text, &b->rates[rate]);
	}
	(void)printf("\nlatency in us of %.0f decisions a second, from when each was to leave\n", b->rate);
	for (size_t q = 0; q < COP_BENCH_QUANTILES; q++)
		show_figure(cop_bench_quantiles[q].name, &b->latency[q]);
}

static void put_figure(cop_json_writer *json, const char *key, const figure *f)
{
	cop_json_put_object(json, key);
	cop_json_put_number(json, "daemon", f->median);
	cop_json_put_number(json, "low", f->low);
	cop_json_put_number(json, "high", f->high);
	cop_json_end_object(json);
}

static void put_json(const bench *b, cop_json_writer *json)
{
	const cop_bench_requests *requests = &b->set->requests;
	cop_json_put_unsigned(json, "features", b->set->target.features);
	cop_json_put_unsigned(json, "inflight", requests->inflight);
	cop_json_put_unsigned(json, "batch", requests->batch);
	cop_json_put_unsigned(json, "rounds", requests->rounds);
	cop_json_put_number(json, "seconds", requests->seconds);
	cop_json_put_object(json, "events_per_second");
	for (int rate = 0; rate < COP_BENCH_RATES; rate++)
		put_figure(json, cop_bench_measures_key(rate), &b->rates[rate]);
	cop_json_end_object(json);
	cop_json_put_object(json, "latency");
	cop_json_put_number(json, "requests_per_second", b->rate);
	for (size_t q = 0; q < COP_BENCH_QUANTILES; q++)
		put_figure(json, cop_bench_quantiles[q].key, &b->latency[q]);
	cop_json_end_object(json);
}

cop_err cop_bench_daemon_run(const cop_bench_daemon *settings, cop_json_writer *json, cop_diag *diag)
{
	bench b = { .set = settings, .diag = diag };
	b.values = cop_mem_alloc(settings->requests.rounds, COP_BENCH_QUANTILES * sizeof *b.values);
	cop_err err = b.values == NULL ? COP_ENOMEM : cop_bench_drive_open(&settings->target, &b.driver, diag);
	if (err == COP_OK)
		err = measure_rates(&b);
	if (err == COP_OK)
		err = measure_latency(&b);
	cop_bench_drive_close(b.driver);
	cop_mem_free(b.values);
	if (err == COP_OK && json == NULL)
		show_text(&b);
	else if (err == COP_OK)
		put_json(&b, json);
	return err;
}
