/* base/pool.h: a thread pool for batch work; the one place in the library with threads and locks.
 *
 * A run hands out tasks 0, 1, 2, ... in that order, each to the first thread that is free, and returns when all are
 * done; put the largest first. What a task computes must not depend on which thread runs it: then results do not depend
 * on the number of threads. The calling thread works along. One run at a time per pool; a task must not run its own
 * pool (it may run another one). */
#ifndef COP_BASE_POOL_H
#define COP_BASE_POOL_H

#include <stddef.h>

#include "base/err.h"
#include "base/ranks.h"

#define COP_POOL_MAX_THREADS 256

typedef struct cop_pool cop_pool;

/* threads in [1, COP_POOL_MAX_THREADS], the calling one counted. Caller frees with cop_pool_free; on error *out is
 * NULL. COP_EINVAL, COP_ENOMEM (also when the system gives no more threads). */
COP_CHECK cop_err cop_pool_new(unsigned threads, cop_pool **out);
void cop_pool_free(cop_pool *pool);

/* 1 for NULL. */
unsigned cop_pool_threads(const cop_pool *pool);

/* The ranks that divide what runs on this pool (kept); NULL: there are none, nor are there for a pool that is NULL. A
 * run of the pool itself is this rank's alone. */
void cop_pool_set_ranks(cop_pool *pool, const cop_ranks *ranks);
const cop_ranks *cop_pool_ranks(const cop_pool *pool);

/* worker in [0, threads): no two tasks of one worker run at a time, so it can pick a workspace. */
typedef cop_err cop_pool_task(void *context, size_t task, unsigned worker);

/* Runs task(context, 0..tasks-1, worker). pool NULL: one after the other in the calling thread. After an error no
 * further task is begun; the error of the lowest task that failed comes back. */
COP_CHECK cop_err cop_pool_run(cop_pool *pool, size_t tasks, cop_pool_task *task, void *context);

#endif
