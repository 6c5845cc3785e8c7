/* tools/bench/bench.h: the benches behind `coppice bench`. json: NULL for text on standard output. */
#ifndef COP_TOOLS_BENCH_BENCH_H
#define COP_TOOLS_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "bench_measures.h"
#include "clients/c/client_keys.h"
#include "tools/common/reader_options.h"

typedef struct cop_bench_load {
	const char *endpoint;
	cop_client_keys keys;
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
	cop_bench_target target;
	cop_bench_requests requests;
} cop_bench_daemon;

/* A daemon's rates, then its latency at half of what it sustains. */
COP_CHECK cop_err cop_bench_daemon_run(const cop_bench_daemon *settings, cop_json_writer *json, cop_diag *diag);

#endif
