#include "support.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/pool.h"

/* pthread_create goes through here (CMake): the `create_fails`-th call, counted from 1, fails. */
static unsigned created, create_fails;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument)
{
	if (++created == create_fails)
		return 11; /* EAGAIN */
	return __real_pthread_create(thread, attr, start, argument);
}

#define TASKS   2000
#define THREADS 4

typedef struct record {
	unsigned done[TASKS]; /* times that each task ran */
	unsigned inside[COP_POOL_MAX_THREADS];
	bool crowded;    /* two tasks of a worker at a time */
	size_t fail_mod; /* tasks that are a multiple of it, but 0, fail (0: none) */
	unsigned threads;
} record;

/* `inside` is plain memory: the thread sanitizer would see two tasks of one worker. */
static cop_err note(void *context, size_t task, unsigned worker)
{
	record *r = context;
	if (worker >= r->threads || r->inside[worker]++ != 0)
		r->crowded = true;
	r->done[task]++;
	if (worker < r->threads)
		r->inside[worker]--;
	if (r->fail_mod == 0 || task == 0 || task % r->fail_mod != 0)
		return COP_OK;
	return task == r->fail_mod ? COP_EFULL : COP_EIO;
}

static void expect_each_once(cop_pool *pool, size_t tasks)
{
	static record r;
	memset(&r, 0, sizeof r);
	r.threads = cop_pool_threads(pool);
	assert_int_equal(cop_pool_run(pool, tasks, note, &r), COP_OK);
	for (size_t i = 0; i < TASKS; i++)
		assert_int_equal(r.done[i], i < tasks);
	assert_false(r.crowded);
}

static cop_pool *make(unsigned threads)
{
	cop_pool *pool;
	assert_int_equal(cop_pool_new(threads, &pool), COP_OK);
	assert_int_equal(cop_pool_threads(pool), threads);
	return pool;
}

static void test_run_any_number_of_tasks_each_runs_once(void **state)
{
	(void)state;
	static const size_t tasks[] = { 0, 1, 2, 3, 17, TASKS };
	for (unsigned threads = 1; threads <= THREADS; threads++) {
		cop_pool *pool = make(threads);
		for (unsigned again = 0; again < 50; again++)
			expect_each_once(pool, tasks[again % 6]);
		cop_pool_free(pool);
	}
}

static void test_run_without_pool_goes_in_order(void **state)
{
	(void)state;
	assert_int_equal(cop_pool_threads(NULL), 1);
	expect_each_once(NULL, TASKS);
	cop_pool_free(NULL);
}

static void test_run_tasks_fail_lowest_error_comes_back(void **state)
{
	(void)state;
	static record r;
	for (unsigned threads = 0; threads <= THREADS; threads++) {
		cop_pool *pool = threads == 0 ? NULL : make(threads);
		for (size_t i = 0; i < 200; i++) {
			memset(&r, 0, sizeof r);
			r.threads = threads == 0 ? 1 : threads;
			r.fail_mod = 1 + i % 7;
			assert_int_equal(cop_pool_run(pool, TASKS, note, &r), COP_EFULL);
			size_t begun = 0;
			for (size_t task = 0; task < TASKS; task++)
				begun += r.done[task];
			/* Each thread can take one task that fails before it is known. */
			assert_in_range(begun, r.fail_mod + 1, r.threads * r.fail_mod + 1);
			for (size_t task = 0; task < begun; task++) /* none left out below */
				assert_int_equal(r.done[task], 1);
		}
		if (pool != NULL)
			expect_each_once(pool, TASKS); /* the failure is forgotten */
		cop_pool_free(pool);
	}
}

typedef struct meeting {
	pthread_mutex_t lock;
	pthread_cond_t all;
	unsigned here;
} meeting;

/* Ends only when every thread of the pool is in a task. */
static cop_err meet(void *context, size_t task, unsigned worker)
{
	meeting *m = context;
	(void)task;
	(void)worker;
	(void)pthread_mutex_lock(&m->lock);
	m->here++;
	(void)pthread_cond_broadcast(&m->all);
	while (m->here < THREADS)
		(void)pthread_cond_wait(&m->all, &m->lock);
	(void)pthread_mutex_unlock(&m->lock);
	return COP_OK;
}

static void test_run_all_threads_work_at_a_time(void **state)
{
	(void)state;
	meeting m = { .here = 0 };
	(void)pthread_mutex_init(&m.lock, NULL);
	(void)pthread_cond_init(&m.all, NULL);
	cop_pool *pool = make(THREADS);
	assert_int_equal(cop_pool_run(pool, THREADS, meet, &m), COP_OK);
	assert_int_equal(m.here, THREADS);
	cop_pool_free(pool);
	(void)pthread_cond_destroy(&m.all);
	(void)pthread_mutex_destroy(&m.lock);
}

static cop_err run_inner(void *context, size_t task, unsigned worker)
{
	cop_pool **inner = context;
	static record r[THREADS];
	(void)task;
	memset(&r[worker], 0, sizeof r[worker]);
	r[worker].threads = 2;
	return cop_pool_run(inner[worker], 5, note, &r[worker]);
}

static void test_run_task_runs_another_pool_works(void **state)
{
	(void)state;
	cop_pool *outer = make(THREADS), *inner[THREADS];
	for (unsigned i = 0; i < THREADS; i++)
		inner[i] = make(2);
	assert_int_equal(cop_pool_run(outer, 40, run_inner, inner), COP_OK);
	for (unsigned i = 0; i < THREADS; i++)
		cop_pool_free(inner[i]);
	cop_pool_free(outer);
}

static void test_new_one_thread_starts_none(void **state)
{
	(void)state;
	created = 0;
	cop_pool_free(make(1));
	assert_int_equal(created, 0);
	cop_pool_free(make(3));
	assert_int_equal(created, 2);
}

static void test_new_bad_number_refused(void **state)
{
	(void)state;
	cop_pool *pool = (cop_pool *)&pool;
	assert_int_equal(cop_pool_new(0, &pool), COP_EINVAL);
	assert_null(pool);
	assert_int_equal(cop_pool_new(COP_POOL_MAX_THREADS + 1, &pool), COP_EINVAL);
	cop_pool_free(make(COP_POOL_MAX_THREADS));
}

static void test_new_thread_or_memory_refused_gives_enomem(void **state)
{
	(void)state;
	cop_pool *pool;
	for (unsigned n = 1; n < THREADS; n++) {
		created = 0;
		create_fails = n;
		pool = (cop_pool *)&pool;
		assert_int_equal(cop_pool_new(THREADS, &pool), COP_ENOMEM);
		assert_null(pool);
	}
	create_fails = 0;
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		cop_test_alloc_fail(n, 0);
		err = cop_pool_new(THREADS, &pool);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		assert_int_equal(pool == NULL, err != COP_OK);
		cop_pool_free(pool);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_any_number_of_tasks_each_runs_once),
		cmocka_unit_test(test_run_without_pool_goes_in_order),
		cmocka_unit_test(test_run_tasks_fail_lowest_error_comes_back),
		cmocka_unit_test(test_run_all_threads_work_at_a_time),
		cmocka_unit_test(test_run_task_runs_another_pool_works),
		cmocka_unit_test(test_new_one_thread_starts_none),
		cmocka_unit_test(test_new_bad_number_refused),
		cmocka_unit_test(test_new_thread_or_memory_refused_gives_enomem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
