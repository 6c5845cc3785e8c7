/* tools/bench/bench_drive.h: random events driven through a request socket: a number of requests under way at all times
 * (closed), or requests that leave at fixed times whatever comes back (open). One thread per driver. */
#ifndef COP_TOOLS_BENCH_BENCH_DRIVE_H
#define COP_TOOLS_BENCH_BENCH_DRIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "clients/c/client_keys.h"

typedef struct cop_bench_driver cop_bench_driver;

typedef struct cop_bench_target {
	const char *endpoint; /* kept, as the model's name */
	cop_client_keys keys; /* the files' names are kept */
	const char *model;
	size_t features;
	bool floats;    /* contexts are arrays of float64, not packed float32 */
	bool untried;   /* no first event is driven, so that the model may have values */
	double timeout; /* seconds */
} cop_bench_target;

/* Seconds that answers took, counted as the function says that appends them. */
typedef struct cop_bench_latencies {
	double *of; /* owned: cop_mem_free */
	size_t count, room;
} cop_bench_latencies;

typedef struct cop_bench_part {
	size_t inflight; /* requests under way */
	size_t batch;    /* events in one; 1: the plain verbs */
	bool learns;     /* each decision is followed by its feedback */
	bool judges;     /* losses follow from the actions, and every item of a batch is read */
	uint64_t events; /* no more begin when there are so many, or so many seconds are over; 0: any number */
	double seconds;
	cop_bench_latencies
	        *latency; /* of feedback, of decisions: from sending on, with room for all; NULL: not wanted */
} cop_bench_part;

/* Connects; a first event, decided and learned, shows that the server works (waits up to the timeout for a server).
 * COP_EINVAL: the endpoint, or an error reply; COP_EEND: no answer; COP_EFORMAT, COP_ENOMEM. Caller closes; on error
 * *out is NULL. */
COP_CHECK cop_err cop_bench_drive_open(const cop_bench_target *target, cop_bench_driver **out, cop_diag *diag);
void cop_bench_drive_close(cop_bench_driver *driver);

/* Events a second: decided, or decided and learned. Errors as open. */
COP_CHECK cop_err cop_bench_drive(
        cop_bench_driver *driver, const cop_bench_part *part, double *per_second, cop_diag *diag);

/* Single decisions, `rate` of them a second; appends to *out the seconds from when each was to leave to its answer: so
 * what the server kept from leaving in time counts as well. Errors as open. */
COP_CHECK cop_err cop_bench_drive_at(
        cop_bench_driver *driver, double rate, double seconds, cop_bench_latencies *out, cop_diag *diag);

#endif
