/* daemon/worker.h: the refit worker: what `coppiced --refit-worker` does, a process of its own.
 *
 * It puts itself behind everything else (scheduling class, nice value, input/output class, first to go when memory is
 * short), bounds its address space, and ends when its parent does. It reads the journal, changes nothing in it, takes
 * the serving model's losses from the newest checkpoint, fits (refit/refit_run.h), and writes a challenger's file
 * (daemon/challenger_file.h). What it has to say are lines (daemon/worker_line.h) on standard output. */
#ifndef COP_DAEMON_WORKER_H
#define COP_DAEMON_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/config.h"

#define COP_WORKER_OPTION "--refit-worker" /* argv[1] of such a process */

typedef struct cop_worker_job {
	const char *state_dir, *model; /* kept */
	int parent;                    /* process id; 0: it does not matter */
	uint64_t number;               /* of the challenger */
	uint64_t durable;              /* newest journal record to be read; 0: all */
	uint64_t after;                /* evidence is what was answered after this record */
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
/* From arguments; false: they make no sense, and *wrong (borrowed) is the one. */
bool cop_worker_read_arguments(int argc, char **argv, cop_worker_job *job, const char **wrong);

/* The process: argv as of cop_worker_arguments. Its exit status: 0 when it told a result, 1 when it could not, 2 for
 * wrong arguments. */
int cop_worker_main(int argc, char **argv);

#endif
