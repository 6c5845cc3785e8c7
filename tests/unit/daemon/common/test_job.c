/* A job works beside its starter, once, and can be started again. */
#include "daemon/common/job.h"

#include <semaphore.h>

#include "support.h"

typedef struct work {
	sem_t go;
	int times;
} work;

static void wait_and_count(void *context)
{
	work *w = context;
	while (sem_wait(&w->go) != 0)
		;
	w->times++;
}

static void test_job_is_busy_until_its_work_ends(void **state)
{
	(void)state;
	static work w;
	cop_job job = { 0 };
	assert_int_equal(sem_init(&w.go, 0, 0), 0);
	assert_false(cop_job_is_busy(&job));
	cop_job_finish(&job); /* none */
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(cop_job_start(&job, wait_and_count, &w), COP_OK);
		assert_true(cop_job_is_busy(&job));
		assert_int_equal(sem_post(&w.go), 0);
		while (cop_job_is_busy(&job))
			;
		assert_int_equal(w.times, i);
		assert_true(job.started);
		cop_job_finish(&job);
		assert_false(job.started || cop_job_is_busy(&job));
	}
	assert_int_equal(sem_destroy(&w.go), 0);
}

static void test_finish_waits_for_the_work(void **state)
{
	(void)state;
	static work w;
	cop_job job = { 0 };
	assert_int_equal(sem_init(&w.go, 0, 1), 0);
	assert_int_equal(cop_job_start(&job, wait_and_count, &w), COP_OK);
	cop_job_finish(&job);
	assert_int_equal(w.times, 1);
	assert_int_equal(sem_destroy(&w.go), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_job_is_busy_until_its_work_ends),
		cmocka_unit_test(test_finish_waits_for_the_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
