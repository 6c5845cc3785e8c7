/* What disturbs the machine for longer than a round disturbs both sides, so ratios are of one round's two values. */
#include "bench_rounds.h"

#include <stdio.h>

#include "base/mem.h"

void cop_bench_figure_conclude(double *const values[COP_BENCH_SIDES], size_t rounds, cop_bench_figure *out)
{
	double ratios[COP_BENCH_MOST_ROUNDS];
	for (size_t i = 0; i < rounds; i++)
		ratios[i] = values[1][i] / values[0][i];
	out->ratio = cop_bench_measures_quantile(ratios, rounds, 0.5);
	out->low = ratios[0]; /* sorted now */
	out->high = ratios[rounds - 1];
	for (int side = 0; side < COP_BENCH_SIDES; side++)
		out->median[side] = cop_bench_measures_quantile(values[side], rounds, 0.5);
}

void cop_bench_figure_show(const char *text, const cop_bench_figure *f)
{
	(void)printf("%-44s %10.0f %10.0f %8.2f  (%.2f to %.2f)\n", text, f->median[0], f->median[1], f->ratio, f->low,
	        f->high);
}

void cop_bench_figure_put(
        cop_json_writer *json, const char *key, const char *const side_keys[COP_BENCH_SIDES], const cop_bench_figure *f)
{
	cop_json_key(json, key);
	cop_json_begin_object(json);
	for (int side = 0; side < COP_BENCH_SIDES; side++)
		cop_json_put_number(json, side_keys[side], f->median[side]);
	cop_json_put_number(json, "ratio", f->ratio);
	cop_json_put_number(json, "ratio_low", f->low);
	cop_json_put_number(json, "ratio_high", f->high);
	cop_json_end_object(json);
}

static cop_err measure(size_t rounds, cop_bench_turn *turn, void *context, double *values, cop_bench_latencies *taken)
{
	cop_err err = COP_OK;
	for (size_t round = 0; round < rounds; round++)
		for (int side = 0; side < COP_BENCH_SIDES; side++) {
			taken->count = 0;
			err = turn(context, side, taken);
			if (err != COP_OK)
				return err;
			for (size_t q = 0; q < COP_BENCH_QUANTILES; q++)
				values[(q * COP_BENCH_SIDES + (size_t)side) * rounds + round] =
				        1e6 * cop_bench_measures_quantile(
				                      taken->of, taken->count, cop_bench_quantiles[q].share);
		}
	return err;
}

cop_err cop_bench_latency_measure(
        size_t rounds, cop_bench_turn *turn, void *context, cop_bench_figure out[COP_BENCH_QUANTILES])
{
	cop_bench_latencies taken = { 0 };
	double *values = cop_mem_alloc(rounds, COP_BENCH_QUANTILES * COP_BENCH_SIDES * sizeof *values);
	if (values == NULL)
		return COP_ENOMEM;
	cop_err err = measure(rounds, turn, context, values, &taken);
	for (size_t q = 0; q < COP_BENCH_QUANTILES && err == COP_OK; q++) {
		double *first = values + q * COP_BENCH_SIDES * rounds;
		double *const sides[COP_BENCH_SIDES] = { first, first + rounds };
		cop_bench_figure_conclude(sides, rounds, &out[q]);
	}
	cop_mem_free(taken.of);
	cop_mem_free(values);
	return err;
}

void cop_bench_latency_show(const cop_bench_figure figures[COP_BENCH_QUANTILES])
{
	for (size_t q = 0; q < COP_BENCH_QUANTILES; q++)
		cop_bench_figure_show(cop_bench_quantiles[q].name, &figures[q]);
}

void cop_bench_latency_put(cop_json_writer *json, const char *const side_keys[COP_BENCH_SIDES], double rate,
        const cop_bench_figure figures[COP_BENCH_QUANTILES])
{
	cop_json_key(json, "latency");
	cop_json_begin_object(json);
	cop_json_put_number(json, "requests_per_second", rate);
	for (size_t q = 0; q < COP_BENCH_QUANTILES; q++)
		cop_bench_figure_put(json, cop_bench_quantiles[q].key, side_keys, &figures[q]);
	cop_json_end_object(json);
}

/* ---- signals ---- */

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
#define ENDING (sizeof ending / sizeof *ending)

void cop_bench_signals_hold(sigset_t *before)
{
	sigset_t held;
	(void)sigemptyset(&held);
	for (size_t i = 0; i < ENDING; i++)
		(void)sigaddset(&held, ending[i]);
	(void)sigprocmask(SIG_BLOCK, &held, before);
}

void cop_bench_signals_release(const sigset_t *before) { (void)sigprocmask(SIG_SETMASK, before, NULL); }

cop_err cop_bench_interrupted(cop_diag *diag)
{
	sigset_t waiting;
	(void)sigpending(&waiting);
	for (size_t i = 0; i < ENDING; i++)
		if (sigismember(&waiting, ending[i]) == 1) {
			cop_diag_message(diag, "interrupted");
			return COP_EEND;
		}
	return COP_OK;
}
