/* tools/bench/bench.h: the benches behind `coppice bench`, and their arithmetic. */
#ifndef COP_TOOLS_BENCH_BENCH_H
#define COP_TOOLS_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "tools/common/reader_options.h"

/* Sorts the samples; the value below which `share` of them lie. count > 0. */
double cop_bench_quantile(double *samples, size_t count, double share);

/* Medians of learners, kernels and OpenBLAS, in this process. json: NULL for text on standard output. */
COP_CHECK cop_err cop_bench_kernels(cop_json_writer *json, cop_diag *diag);

typedef struct cop_bench_load {
	const char *endpoint;
	const char *model;
	size_t features;
	uint64_t inflight; /* requests under way in the pipelined part */
	uint64_t events;   /* of each part */
	uint64_t batch;    /* events in one request */
	double timeout;    /* seconds */
} cop_bench_load;

/* A daemon under load: one at a time, then pipelined. */
COP_CHECK cop_err cop_bench_load_run(const cop_bench_load *settings, cop_json_writer *json, cop_diag *diag);

typedef struct cop_bench_parse {
	const char *path;
	const char *format;           /* one of cop_reader_formats */
	cop_reader_features features; /* AUTO: as replay chooses */
} cop_bench_parse;

/* Reading a bandit log into events, in this thread. */
COP_CHECK cop_err cop_bench_parse_run(const cop_bench_parse *settings, cop_json_writer *json, cop_diag *diag);

typedef struct cop_bench_daemon {
	const char *endpoint; /* NULL: a daemon of its own */
	const char *model;
	size_t features;
	size_t arms;     /* of its own daemon's model */
	size_t inflight; /* requests under way in the pipelined parts */
	size_t batch;    /* events in a batch */
	size_t rounds;
	double seconds;  /* of each measurement */
	double timeout;  /* seconds */
	bool floats;     /* contexts are arrays of float64, not packed float32 */
	bool tcp;        /* of its own daemon: loopback TCP instead of ipc */
	bool refit;      /* of its own daemon: cop_bench_refit_run */
	uint64_t events; /* refit: that are fitted, at least */
} cop_bench_daemon;

/* A daemon beside a bare echo of the same messages, in turns. */
COP_CHECK cop_err cop_bench_daemon_run(const cop_bench_daemon *settings, cop_json_writer *json, cop_diag *diag);
/* Latency of decisions, at a quarter of what a daemon of its own sustains, with a refit under way and without, in
 * turns. */
COP_CHECK cop_err cop_bench_refit_run(const cop_bench_daemon *settings, cop_json_writer *json, cop_diag *diag);

#endif
