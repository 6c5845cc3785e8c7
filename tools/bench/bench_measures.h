/* tools/bench/bench_measures.h: what is measured of a daemon: the rates of four kinds of requests, and quantiles of the
 * latency of decisions. */
#ifndef COP_TOOLS_BENCH_BENCH_MEASURES_H
#define COP_TOOLS_BENCH_BENCH_MEASURES_H

#include <stddef.h>

#include "bench_drive.h"

/* Sorts the samples; the value below which `share` of them lie. count > 0. */
double cop_bench_measures_quantile(double *samples, size_t count, double share);

enum {
	COP_BENCH_DECIDE_ALONE,     /* one request at a time */
	COP_BENCH_DECIDE_PIPELINED, /* `inflight` under way */
	COP_BENCH_LEARN_PIPELINED,  /* each decision is followed by its feedback */
	COP_BENCH_LEARN_BATCHED,    /* the same in batches */
	COP_BENCH_RATES
};

#define COP_BENCH_BATCHES         4    /* under way */
#define COP_BENCH_LOAD_OF_LATENCY 0.5  /* of the rate at which a daemon decides and learns */
#define COP_BENCH_MOST_ROUNDS     1000 /* that each rate and latency is measured in */

typedef struct cop_bench_requests {
	size_t inflight; /* under way in the pipelined parts */
	size_t batch;    /* events in a batch */
	size_t rounds;
	double seconds; /* of each measurement */
} cop_bench_requests;

cop_bench_part cop_bench_measures_part(const cop_bench_requests *requests, int rate);
/* In words, for people; its JSON key. */
void cop_bench_measures_text(const cop_bench_requests *requests, int rate, char *out, size_t size);
const char *cop_bench_measures_key(int rate);

typedef struct cop_bench_latency_quantile {
	double share;
	const char *name, *key; /* for people, in JSON */
} cop_bench_latency_quantile;

#define COP_BENCH_QUANTILES 3
extern const cop_bench_latency_quantile cop_bench_quantiles[COP_BENCH_QUANTILES];

#endif
