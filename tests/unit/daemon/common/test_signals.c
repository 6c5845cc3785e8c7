/* Signals as a descriptor: those to the process, to the first thread, and to a thread that blocks none. */
#include "support.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "daemon/common/signals.h"

static bool readable(int fd, int milliseconds)
{
	struct pollfd item = { .fd = fd, .events = POLLIN };
	return poll(&item, 1, milliseconds) == 1 && item.revents == POLLIN;
}

static void expect(int fd, int number)
{
	int came = 0;
	do /* one that another thread is taking shows here before that thread has written it */
		assert_true(readable(fd, 10000));
	while (!cop_signals_take(&came));
	assert_int_equal(came, number);
	assert_false(cop_signals_take(&came));
	assert_false(readable(fd, 0));
}

static bool blocks(int number)
{
	sigset_t mask;
	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
	return sigismember(&mask, number) == 1;
}

static void test_signals_to_the_process_and_the_thread_are_read(void **state)
{
	(void)state;
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
	int fd = -1;
	for (int round = 0; round < 3; round++) {
		assert_int_equal(cop_signals_open(&fd), COP_OK);
		assert_false(readable(fd, 0));
		for (size_t i = 0; i < 3; i++) {
			assert_true(blocks(numbers[i]));
			assert_int_equal(kill(getpid(), numbers[i]), 0);
			expect(fd, numbers[i]);
			assert_int_equal(pthread_kill(pthread_self(), numbers[i]), 0);
			expect(fd, numbers[i]);
		}
		cop_signals_close();
		for (size_t i = 0; i < 3; i++)
			assert_false(blocks(numbers[i]));
	}
}

static void test_several_that_wait_are_all_read(void **state)
{
	(void)state;
	int fd = -1, number, seen = 0;
	assert_int_equal(cop_signals_open(&fd), COP_OK);
	assert_int_equal(kill(getpid(), SIGHUP), 0);
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	while (seen != 3) { /* another thread that took one may not have written it yet */
		assert_true(readable(fd, 10000));
		while (cop_signals_take(&number))
			seen |= number == SIGHUP ? 1 : number == SIGTERM ? 2 : 4;
		assert_int_equal(seen & 4, 0);
	}
	cop_signals_close();
}

static void *take_none(void *stop)
{
	sigset_t none;
	char byte;
	(void)sigemptyset(&none);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &none, NULL), 0);
	assert_int_equal(read(*(int *)stop, &byte, 1), 1);
	return NULL;
}

/* As those of OpenBLAS, which is loaded before main. */
static void test_signal_to_a_thread_that_blocks_none_is_read(void **state)
{
	(void)state;
	pthread_t other;
	int fd = -1, stop[2];
	assert_int_equal(pipe(stop), 0);
	assert_int_equal(cop_signals_open(&fd), COP_OK);
	assert_int_equal(pthread_create(&other, NULL, take_none, &stop[0]), 0);
	assert_int_equal(pthread_kill(other, SIGTERM), 0);
	expect(fd, SIGTERM);
	assert_int_equal(kill(getpid(), SIGINT), 0); /* may be taken by either */
	expect(fd, SIGINT);
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(pthread_join(other, NULL), 0);
	cop_signals_close();
	(void)close(stop[0]);
	(void)close(stop[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals_to_the_process_and_the_thread_are_read),
		cmocka_unit_test(test_several_that_wait_are_all_read),
		cmocka_unit_test(test_signal_to_a_thread_that_blocks_none_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
