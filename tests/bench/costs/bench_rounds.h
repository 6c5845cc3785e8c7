/* tests/bench/costs/bench_rounds.h: two sides of a bench, measured in turns, round by round: medians and the ratios of
 * rounds; and signals that are heeded between two measurements. */
#ifndef COP_COSTS_BENCH_ROUNDS_H
#define COP_COSTS_BENCH_ROUNDS_H

#include <signal.h>

#include "base/json.h"
#include "tools/bench/bench_measures.h"

#define COP_BENCH_SIDES 2

typedef struct cop_bench_figure {
	double median[COP_BENCH_SIDES]; /* over the rounds */
	double ratio, low, high;        /* second side / first: median, least and greatest of the rounds' */
} cop_bench_figure;

/* From values[side][round], which are put in another order. */
void cop_bench_figure_conclude(double *const values[COP_BENCH_SIDES], size_t rounds, cop_bench_figure *out);
void cop_bench_figure_show(const char *text, const cop_bench_figure *figure);
void cop_bench_figure_put(cop_json_writer *json, const char *key, const char *const side_keys[COP_BENCH_SIDES],
        const cop_bench_figure *figure);

/* One side's turn: appends latencies in seconds, at least one, to *out, which is empty. */
typedef cop_err cop_bench_turn(void *context, int side, cop_bench_latencies *out);
/* All rounds, and the quantiles of each in microseconds. The turn's errors; COP_ENOMEM. */
COP_CHECK cop_err cop_bench_latency_measure(
        size_t rounds, cop_bench_turn *turn, void *context, cop_bench_figure out[COP_BENCH_QUANTILES]);
void cop_bench_latency_show(const cop_bench_figure figures[COP_BENCH_QUANTILES]);
/* Key "latency", at that many requests a second. */
void cop_bench_latency_put(cop_json_writer *json, const char *const side_keys[COP_BENCH_SIDES], double rate,
        const cop_bench_figure figures[COP_BENCH_QUANTILES]);

/* The signals that would end the process are held back until release. */
void cop_bench_signals_hold(sigset_t *before);
void cop_bench_signals_release(const sigset_t *before);
/* COP_EEND with *diag: one of them has come. */
COP_CHECK cop_err cop_bench_interrupted(cop_diag *diag);

#endif
