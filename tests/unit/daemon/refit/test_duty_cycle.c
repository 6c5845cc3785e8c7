#include <errno.h>
#include <sys/resource.h>
#include <time.h>

#include "daemon/refit/duty_cycle.h"
#include "support.h"

static long sleeps(void)
{
	struct rusage used;
	assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
	return used.ru_nvcsw;
}

/* A loop that asks nothing of the system gives the processor up of its own accord all the same, and sees nothing of it.
 */
static void test_process_that_computes_sleeps_now_and_then(void **state)
{
	(void)state;
	volatile unsigned long spins = 0;
	cop_duty_cycle_start();
	errno = ERANGE;
	long before = sleeps();
	for (time_t end = time(NULL) + 60; sleeps() < before + 100 && time(NULL) < end;)
		for (unsigned i = 0; i < 100000; i++)
			spins = spins + 1;
	assert_true(sleeps() >= before + 100);
	assert_int_equal(errno, ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process_that_computes_sleeps_now_and_then),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
