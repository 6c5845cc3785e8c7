/* daemon/refit/worker.h: the refit worker: what coppice-refit does, a program and process of its own.
 *
 * It puts itself behind everything else (scheduling class, nice value, input/output class, first to go when memory is
 * short), bounds its address space, and ends when its parent does. It reads the journal, changes nothing in it, takes
 * the serving model's losses from the newest checkpoint, fits (refit/refit_run.h), and writes a challenger's file
 * (daemon/durable/challenger.h). What it reports are lines (daemon/common/worker_line.h) on standard output. */
#ifndef COP_DAEMON_REFIT_WORKER_H
#define COP_DAEMON_REFIT_WORKER_H

#include "base/ranks.h"

/* The process: argv as of cop_worker_arguments. Its exit status: 0 when it reported a result (which a daemon of another
 * version gets, too: refits fail, and why), 1 when it could not, 2 for wrong arguments. ranks: that are led, all with
 * the same arguments: all but the first help it. NULL: it is alone. */
int cop_worker_main(int argc, char **argv, const cop_ranks *ranks);

#endif
