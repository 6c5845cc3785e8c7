/* daemon/refit/worker_job.h: what a refit worker is started with: one model's refit, as the arguments of coppice-refit.
 *
 * No state: any thread. */
#ifndef COP_DAEMON_REFIT_WORKER_JOB_H
#define COP_DAEMON_REFIT_WORKER_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/config/config.h"

typedef struct cop_worker_job {
	const char *version; /* of the daemon; kept, as are the next two */
	const char *state_dir, *model;
	int parent;       /* process id; 0: it does not matter */
	uint64_t number;  /* of the challenger */
	uint64_t durable; /* newest journal record to be read; 0: all */
	uint64_t after;   /* evidence is what was answered after this record */
	uint64_t seed;
	bool idle;
	uint32_t nice, window, height;
	uint64_t memory;
	double holdout, margin, risk;
	double alpha; /* negative: chosen */
	cop_config_method method;
} cop_worker_job;

#define COP_WORKER_ARGUMENTS 24   /* at most, with the NULL behind them */
#define COP_WORKER_ROOM      1024 /* for their texts, but for the state folder's */

/* The arguments of a worker for the job, argv[0] `program`: texts in `room`, COP_WORKER_ROOM and the state folder's
 * length of it. */
void cop_worker_arguments(
        const cop_worker_job *job, const char *program, char *room, size_t size, char *argv[COP_WORKER_ARGUMENTS]);
/* From arguments, argv[0] passed over; false: they make no sense, and *wrong (borrowed) is the one. */
bool cop_worker_read_arguments(int argc, char **argv, cop_worker_job *job, const char **wrong);
/* The version among arguments of whatever version; NULL: none. */
const char *cop_worker_read_version(int argc, char **argv);

#endif
