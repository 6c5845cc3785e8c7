/* daemon/common/side_process.h: a child process beside the loop: its start, what it writes, its end.
 *
 * Nothing here waits: the pipe may be polled, and what it wrote is read now and then. A process beyond its time is
 * asked to end (SIGTERM), and two seconds later made to (SIGKILL). Only this child is ever waited for. The loop's
 * thread. */
#ifndef COP_DAEMON_COMMON_SIDE_PROCESS_H
#define COP_DAEMON_COMMON_SIDE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"

#define COP_SIDE_PROCESS_INPUT 4096 /* bytes of a pipe that never wait */

typedef struct cop_side_process {
	pid_t pid;       /* 0: none runs */
	int fd;          /* readable when it wrote something or ended; -1: nothing more will come */
	double deadline; /* monotonic seconds: asked to end, then made to */
	unsigned told;   /* signals sent for that */
} cop_side_process;

/* What a process is given to read; NULL: nothing. */
typedef struct cop_side_process_input {
	const void *data;
	size_t length; /* at most COP_SIDE_PROCESS_INPUT */
} cop_side_process_input;

void cop_side_process_init(cop_side_process *process);
/* Starts a program with no descriptor but 0 to 2: `input` to read, output to us, errors to where ours go. None runs.
 * seconds: its time. COP_EIO, with *diag. */
COP_CHECK cop_err cop_side_process_start(cop_side_process *process, const char *program, char *const argv[],
        const cop_side_process_input *input, double now, double seconds, cop_diag *diag);
/* What it wrote: how many bytes, at most `room`; 0: none now, or none any more (fd is -1 then). */
size_t cop_side_process_read(cop_side_process *process, void *out, size_t room);
/* Whether it has ended; *status is wait's, -1 where that is not known. What it wrote can still be read. One that runs
 * on beyond its time is pressed. */
bool cop_side_process_ended(cop_side_process *process, double now, int *status, struct rusage *used);
/* After its end. */
void cop_side_process_close(cop_side_process *process);
/* Kills it, if one runs, and waits for its end; the seconds of a processor that it spent. */
double cop_side_process_stop(cop_side_process *process);
double cop_side_process_seconds(const struct rusage *used);

#endif
