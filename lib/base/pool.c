/* One mutex guards everything that the threads share. A task is taken (next moves on) under it, and only while none has
 * failed: so whatever is below a task that failed was taken before it and is run to its end, and the lowest failure is
 * the same for any number of threads. Helpers sleep on `wake` while there is nothing to take; the caller, once there is
 * nothing left, sleeps on `done` until none is running. */
#include "base/pool.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/thread.h"

typedef struct helper {
	cop_pool *pool;
	unsigned worker;
	pthread_t thread;
} helper;

struct cop_pool {
	unsigned threads;
	const cop_ranks *ranks;
	unsigned started; /* helpers that run, at most threads - 1 */
	helper *helpers;  /* threads - 1 */
	pthread_mutex_t lock;
	pthread_cond_t wake, done;
	/* under the lock: */
	bool quit;
	bool working; /* between the start and the end of a run */
	cop_pool_task *task;
	void *context;
	size_t tasks, next; /* next == tasks: nothing to take */
	size_t running;
	size_t failed; /* lowest task that failed, while err is not COP_OK */
	cop_err err;
};

/* Takes tasks and runs them until there are none; enters and leaves with the lock held. */
static void work(cop_pool *pool, unsigned worker)
{
	while (pool->next < pool->tasks && pool->err == COP_OK) {
		size_t i = pool->next++;
		pool->running++;
		(void)pthread_mutex_unlock(&pool->lock);
		cop_err err = pool->task(pool->context, i, worker);
		(void)pthread_mutex_lock(&pool->lock);
		pool->running--;
		if (err != COP_OK && (pool->err == COP_OK || i < pool->failed)) {
			pool->err = err;
			pool->failed = i;
		}
	}
}

static void *help(void *argument)
{
	const helper *self = argument;
	cop_pool *pool = self->pool;
	(void)pthread_mutex_lock(&pool->lock);
	while (!pool->quit) {
		work(pool, self->worker);
		if (pool->running == 0)
			(void)pthread_cond_signal(&pool->done);
		(void)pthread_cond_wait(&pool->wake, &pool->lock);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static bool start_helpers(cop_pool *pool)
{
	while (pool->started + 1 < pool->threads) {
		helper *next = &pool->helpers[pool->started];
		next->pool = pool;
		next->worker = pool->started + 1;
		if (cop_thread_start(&next->thread, help, next) != COP_OK)
			break;
		pool->started++;
	}
	return pool->started + 1 == pool->threads;
}

cop_err cop_pool_new(unsigned threads, cop_pool **out)
{
	*out = NULL;
	if (threads < 1 || threads > COP_POOL_MAX_THREADS)
		return COP_EINVAL;
	cop_pool *pool = cop_mem_alloc(1, sizeof *pool);
	if (pool == NULL)
		return COP_ENOMEM;
	pool->threads = threads;
	/* With default attributes these cannot fail here. */
	(void)pthread_mutex_init(&pool->lock, NULL);
	(void)pthread_cond_init(&pool->wake, NULL);
	(void)pthread_cond_init(&pool->done, NULL);
	pool->helpers = cop_mem_alloc(threads - 1, sizeof *pool->helpers);
	if (pool->helpers == NULL || !start_helpers(pool)) {
		cop_pool_free(pool);
		return COP_ENOMEM;
	}
	*out = pool;
	return COP_OK;
}

void cop_pool_free(cop_pool *pool)
{
	if (pool == NULL)
		return;
	(void)pthread_mutex_lock(&pool->lock);
	COP_ASSERT(!pool->working);
	pool->quit = true;
	(void)pthread_cond_broadcast(&pool->wake);
	(void)pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->started; i++)
		(void)pthread_join(pool->helpers[i].thread, NULL);
	(void)pthread_cond_destroy(&pool->done);
	(void)pthread_cond_destroy(&pool->wake);
	(void)pthread_mutex_destroy(&pool->lock);
	cop_mem_free(pool->helpers);
	cop_mem_free(pool);
}

unsigned cop_pool_threads(const cop_pool *pool) { return pool == NULL ? 1 : pool->threads; }

void cop_pool_set_ranks(cop_pool *pool, const cop_ranks *ranks) { pool->ranks = ranks; }

const cop_ranks *cop_pool_ranks(const cop_pool *pool) { return pool == NULL ? NULL : pool->ranks; }

static cop_err run_alone(size_t tasks, cop_pool_task *task, void *context)
{
	cop_err err = COP_OK;
	for (size_t i = 0; i < tasks && err == COP_OK; i++)
		err = task(context, i, 0);
	return err;
}

cop_err cop_pool_run(cop_pool *pool, size_t tasks, cop_pool_task *task, void *context)
{
	if (pool == NULL)
		return run_alone(tasks, task, context);
	(void)pthread_mutex_lock(&pool->lock);
	COP_ASSERT(!pool->working);
	pool->working = true;
	pool->task = task;
	pool->context = context;
	pool->tasks = tasks;
	pool->next = 0;
	pool->err = COP_OK;
	if (tasks > 1)
		(void)pthread_cond_broadcast(&pool->wake);
	work(pool, 0);
	while (pool->running > 0)
		(void)pthread_cond_wait(&pool->done, &pool->lock);
	cop_err err = pool->err;
	pool->tasks = 0;
	pool->next = 0;
	pool->working = false;
	(void)pthread_mutex_unlock(&pool->lock);
	return err;
}
