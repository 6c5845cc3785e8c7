/* tests/bench/costs/bench_costs.h: the measurements behind `costs`, which compare what this tree can do with what the
 * machine, OpenBLAS or a bare server can. json: NULL for text on standard output. */
#ifndef COP_COSTS_BENCH_COSTS_H
#define COP_COSTS_BENCH_COSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "tools/bench/bench_measures.h"

/* Medians of learners, kernels and OpenBLAS, in this process. */
COP_CHECK cop_err cop_bench_kernels(cop_json_writer *json, cop_diag *diag);

typedef struct cop_bench_costs {
	const char *endpoint; /* NULL: a daemon of its own */
	const char *model;
	size_t features;
	size_t arms; /* of its own daemon's model */
	cop_bench_requests requests;
	double timeout;  /* seconds */
	bool floats;     /* contexts are arrays of float64, not packed float32 */
	bool tcp;        /* of its own daemon: loopback TCP instead of ipc */
	bool refit;      /* its own daemon has a second model, which is refitted */
	uint64_t events; /* refit: that are fitted, at least */
} cop_bench_costs;

/* A daemon beside a bare echo of the same messages, in turns. */
COP_CHECK cop_err cop_bench_compare_run(const cop_bench_costs *settings, cop_json_writer *json, cop_diag *diag);
/* Latency of decisions, at a quarter of what a daemon of its own sustains, with a refit under way and without, in
 * turns. */
COP_CHECK cop_err cop_bench_refit_run(const cop_bench_costs *settings, cop_json_writer *json, cop_diag *diag);

#endif
