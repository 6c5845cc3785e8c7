/* daemon/refit/refit_memory.h: how much memory a refit may take where the configuration leaves that open (memory =
 * "auto").
 *
 * A quarter of what is free when it begins, at most 1 GiB: free is what the machine has (MemAvailable), or the tightest
 * control group that holds the daemon (memory.max and memory.high, less memory.current, of which files that can be read
 * again do not count). Below 64 MiB no refit begins. No state: any thread. */
#ifndef COP_DAEMON_REFIT_REFIT_MEMORY_H
#define COP_DAEMON_REFIT_REFIT_MEMORY_H

#include <stdint.h>

#define COP_REFIT_MEMORY_MOST  (UINT64_C(1) << 30)
#define COP_REFIT_MEMORY_LEAST (UINT64_C(64) << 20)

/* Free bytes; UINT64_MAX: not known, or without bound. root: "", or a folder that stands for the machine's root, with
 * proc/meminfo, proc/self/cgroup and sys/fs/cgroup in it. */
uint64_t cop_refit_memory_free(const char *root);

/* What a refit may take of so many free bytes; 0: too little for one. */
uint64_t cop_refit_memory_of(uint64_t free_bytes);

#endif
