/* daemon/refit/worker_process.h: a refit worker as the daemon sees it: a child process, its lines, its end.
 *
 * Nothing here waits: the pipe is polled with the loop's descriptors, and take is called now and then. The loop's
 * thread. */
#ifndef COP_DAEMON_REFIT_WORKER_PROCESS_H
#define COP_DAEMON_REFIT_WORKER_PROCESS_H

#include "daemon/common/side_process.h"
#include "daemon/common/worker_line.h"

typedef struct cop_worker_process {
	cop_side_process side;
	bool has_result;
	cop_worker_line last; /* said */
	char part[COP_WORKER_LINE];
	size_t used;
} cop_worker_process;

void cop_worker_process_init(cop_worker_process *process);
/* Starts a program with no descriptor but 0 to 2: nothing to read, lines to us, errors to where ours go. None runs.
 * seconds: its time. COP_EIO, with *diag. */
COP_CHECK cop_err cop_worker_process_start(cop_worker_process *process, const char *program, char *const argv[],
        double now, double seconds, cop_diag *diag);
/* Takes in what it said. COP_OK: it has ended, and *end (a result) says how and what it spent. COP_EEND: it runs on, or
 * none runs. */
COP_CHECK cop_err cop_worker_process_take(cop_worker_process *process, double now, cop_worker_line *end);
/* Kills it, if one runs, and waits for its end; the seconds of a processor that it spent. */
double cop_worker_process_stop(cop_worker_process *process);

#endif
