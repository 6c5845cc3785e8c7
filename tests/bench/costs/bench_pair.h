/* tests/bench/costs/bench_pair.h: two child processes for a bench, a daemon with its own configuration and a bare echo,
 * in a temporary folder that goes with them. They end with this process, however it ends. */
#ifndef COP_COSTS_BENCH_PAIR_H
#define COP_COSTS_BENCH_PAIR_H

#include <sys/types.h>

#include "bench_costs.h"

#define COP_BENCH_OWN_MODEL    "bench"
#define COP_BENCH_FITTED_MODEL "fitted" /* with settings->refit: one more, refitted when that is asked for */

typedef struct cop_bench_pair {
	char folder[64];
	pid_t daemon, echo; /* 0: not running */
	char daemon_endpoint[128], admin_endpoint[128], echo_endpoint[128];
} cop_bench_pair;

/* Starts the echo, and the daemon unless the settings name one: their programs are looked for beside this one. What
 * they print goes to files in the folder. COP_EIO, COP_ENOTFOUND with *diag. Caller stops, also after an error. */
COP_CHECK cop_err cop_bench_pair_start(cop_bench_pair *pair, const cop_bench_costs *settings, cop_diag *diag);
/* COP_EIO when one of them has ended: *diag has the last line that it printed. */
COP_CHECK cop_err cop_bench_pair_check(cop_bench_pair *pair, cop_diag *diag);
/* Stops what was started, waits for it, and removes the folder. */
void cop_bench_pair_stop(cop_bench_pair *pair);

#endif
