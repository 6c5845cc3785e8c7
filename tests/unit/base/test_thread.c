#include "support.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "base/thread.h"

/* pthread_create goes through here (CMake) and fails on demand. */
static bool none_left;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument)
{
	return none_left ? EAGAIN : __real_pthread_create(thread, attr, start, argument);
}

static void *read_mask(void *mask)
{
	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, mask), 0);
	return NULL;
}

static bool mine_is_open(int number)
{
	sigset_t mask;
	(void)read_mask(&mask);
	return sigismember(&mask, number) == 0;
}

static void signals_pass_by_and_faults_do_not(void **state)
{
	static const int passing[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGALRM, SIGUSR1 };
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	pthread_t thread;
	sigset_t mask;
	(void)state;
	assert_int_equal(cop_thread_start(&thread, read_mask, &mask), COP_OK);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
		assert_int_equal(sigismember(&mask, passing[i]), 1);
		assert_true(mine_is_open(passing[i]));
	}
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		assert_int_equal(sigismember(&mask, own[i]), 0);
}

static void what_was_blocked_before_stays_blocked(void **state)
{
	sigset_t one, before;
	(void)state;
	(void)sigemptyset(&one);
	(void)sigaddset(&one, SIGUSR2);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &one, NULL), 0);
	cop_thread_block_signals(&before);
	assert_false(mine_is_open(SIGTERM));
	cop_thread_restore_signals(&before);
	assert_true(mine_is_open(SIGTERM));
	assert_false(mine_is_open(SIGUSR2));
	assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &one, NULL), 0);
}

static void a_system_without_threads_is_reported(void **state)
{
	pthread_t thread;
	sigset_t mask;
	(void)state;
	none_left = true;
	errno = 0;
	assert_int_equal(cop_thread_start(&thread, read_mask, &mask), COP_ENOMEM);
	assert_int_equal(errno, EAGAIN);
	assert_true(mine_is_open(SIGTERM));
	none_left = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_pass_by_and_faults_do_not),
		cmocka_unit_test(what_was_blocked_before_stays_blocked),
		cmocka_unit_test(a_system_without_threads_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
