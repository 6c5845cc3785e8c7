/* Children that are no worker: a shell says the lines. */
#include "daemon/refit/worker_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "daemon/refit/worker_job.h"
#include "support.h"

#define DEADLINE 60.0

pid_t __real_wait4(pid_t pid, int *status, int options, struct rusage *used);
pid_t __wrap_wait4(pid_t pid, int *status, int options, struct rusage *used);

static int wait_error;       /* with which calls fail: */
static unsigned wait_errors; /* so many */

pid_t __wrap_wait4(pid_t pid, int *status, int options, struct rusage *used)
{
	if (wait_errors == 0)
		return __real_wait4(pid, status, options, used);
	wait_errors--;
	errno = wait_error;
	return -1;
}

/* The lowest descriptor that is free. */
static int free_descriptor(void)
{
	int spare = dup(STDIN_FILENO);
	assert_true(spare >= 0);
	(void)close(spare);
	return spare;
}

static void start(cop_worker_process *p, const char *script, double seconds)
{
	char text[1024], name[] = "sh", option[] = "-c";
	char *argv[] = { name, option, text, NULL };
	(void)snprintf(text, sizeof text, "%s", script);
	assert_int_equal(cop_worker_process_start(p, "/bin/sh", argv, cop_clock_monotonic(), seconds, NULL), COP_OK);
	assert_true(p->side.pid > 0 && p->side.fd >= 0);
}

static cop_worker_line end_of(cop_worker_process *p)
{
	cop_worker_line end;
	double last = cop_clock_monotonic() + DEADLINE;
	while (cop_worker_process_take(p, cop_clock_monotonic(), &end) != COP_OK) {
		struct pollfd item = { .fd = p->side.fd, .events = POLLIN };
		assert_true(cop_clock_monotonic() < last);
		(void)poll(&item, 1, 5);
	}
	assert_true(p->side.pid == 0 && p->side.fd == -1);
	assert_int_equal(cop_worker_process_take(p, 0.0, &end), COP_EEND); /* none runs */
	return end;
}

static cop_worker_line run(const char *script, double seconds)
{
	cop_worker_process p;
	start(&p, script, seconds);
	return end_of(&p);
}

static void test_process_result_is_its_end(void **state)
{
	(void)state;
	cop_worker_line end = run("echo progress 0.5 half; echo noise; echo result made 3 9 4 0.25 a tree", DEADLINE);
	assert_true(end.outcome == COP_WORKER_MADE && end.number == 3 && end.learned == 9 && end.leaves == 4);
	assert_string_equal(end.text, "a tree");
}

static void test_process_progress_is_known_while_it_runs(void **state)
{
	(void)state;
	cop_worker_process p;
	cop_worker_line end;
	start(&p, "echo progress 0.5 half; exec sleep 1000", DEADLINE);
	while (p.last.text[0] == '\0')
		assert_int_equal(cop_worker_process_take(&p, cop_clock_monotonic(), &end), COP_EEND);
	assert_true(p.last.share == 0.5);
	assert_string_equal(p.last.text, "half");
	pid_t pid = p.side.pid;
	(void)cop_worker_process_stop(&p);
	assert_true(kill(pid, 0) != 0 && p.side.pid == 0 && p.side.fd == -1);
	(void)cop_worker_process_stop(&p); /* none */
}

static void test_process_time_on_the_processor_is_known(void **state)
{
	(void)state;
	const char *busy =
	        "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo progress 1 busy; echo result nothing 0 0 0 0 x";
	assert_true(run(busy, DEADLINE).spent > 0.0);
	assert_true(run("kill -9 $$", DEADLINE).spent >= 0.0);
	cop_worker_process p;
	cop_worker_line end;
	start(&p, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo progress 1 busy; exec sleep 1000", DEADLINE);
	while (p.last.text[0] == '\0')
		assert_int_equal(cop_worker_process_take(&p, cop_clock_monotonic(), &end), COP_EEND);
	assert_true(cop_worker_process_stop(&p) > 0.0);
	assert_true(cop_worker_process_stop(&p) == 0.0); /* none */
}

static void test_process_without_result_has_crashed(void **state)
{
	(void)state;
	cop_worker_line end = run("echo progress 0.1 reading; kill -9 $$", DEADLINE);
	assert_int_equal(end.outcome, COP_WORKER_CRASHED);
	assert_true(end.result && end.share == 1.0);
	assert_non_null(strstr(end.text, "signal 9"));
	assert_non_null(strstr(end.text, "at: reading"));
	end = run("exit 3", DEADLINE);
	assert_int_equal(end.outcome, COP_WORKER_CRASHED);
	assert_non_null(strstr(end.text, "exit status 3"));
	end = run("echo result made 3 9 4 0.25 a tree; exit 1", DEADLINE); /* it may not be true */
	assert_int_equal(end.outcome, COP_WORKER_CRASHED);
}

static void test_process_beyond_its_time_is_ended(void **state)
{
	(void)state;
	cop_worker_line end = run("echo progress 0.1 reading; exec sleep 1000", 0.05);
	assert_int_equal(end.outcome, COP_WORKER_TIMEOUT);
	assert_non_null(strstr(end.text, "reading"));
}

static void test_process_that_ignores_being_asked_is_killed(void **state)
{
	(void)state;
	cop_worker_process p;
	cop_worker_line end;
	double now = cop_clock_monotonic(), last = now + DEADLINE;
	start(&p, "trap '' TERM; echo progress 0 deaf; while :; do sleep 1 & wait; done", 1000.0);
	while (p.last.text[0] == '\0')
		assert_int_equal(cop_worker_process_take(&p, now, &end), COP_EEND);
	assert_int_equal(cop_worker_process_take(&p, now + 2000.0, &end), COP_EEND); /* asked */
	assert_int_equal(p.side.told, 1);
	while (cop_worker_process_take(&p, now + 3000.0, &end) != COP_OK)
		assert_true(cop_clock_monotonic() < last);
	assert_int_equal(end.outcome, COP_WORKER_TIMEOUT);
}

/* To the moment: asked when its time is up, killed two seconds later. */
static void test_process_is_pressed_when_its_time_is_up(void **state)
{
	(void)state;
	char name[] = "sh", option[] = "-c",
	     script[] = "trap '' TERM; echo progress 0 deaf; while :; do sleep 1 & wait; done";
	char *argv[] = { name, option, script, NULL };
	static const struct {
		double now;
		unsigned told;
	} looks[] = { { 100.0, 0 }, { 1099.5, 0 }, { 1100.0, 1 }, { 1100.5, 1 }, { 1101.5, 1 }, { 1102.0, 2 } };
	cop_worker_process p;
	cop_worker_line end;
	double last = cop_clock_monotonic() + DEADLINE;
	assert_int_equal(cop_worker_process_start(&p, "/bin/sh", argv, 100.0, 1000.0, NULL), COP_OK);
	while (p.last.text[0] == '\0') {
		assert_int_equal(cop_worker_process_take(&p, 100.0, &end), COP_EEND);
		assert_true(cop_clock_monotonic() < last);
	}
	for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
		assert_int_equal(cop_worker_process_take(&p, looks[i].now, &end), COP_EEND);
		assert_int_equal(p.side.told, looks[i].told);
	}
	while (cop_worker_process_take(&p, 1102.0, &end) != COP_OK)
		assert_true(cop_clock_monotonic() < last);
	assert_int_equal(end.outcome, COP_WORKER_TIMEOUT);
	assert_string_equal(end.text, "beyond its time, at: deaf");
}

/* A wait that a signal ends is asked again; one that fails otherwise is the worker's end, of which nothing is known. */
static void test_process_whose_end_cannot_be_had_has_crashed(void **state)
{
	(void)state;
	cop_worker_process p;
	cop_worker_line end;
	start(&p, "exec sleep 1000", DEADLINE);
	pid_t pid = p.side.pid;
	wait_error = EINTR;
	wait_errors = 3;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(cop_worker_process_take(&p, 0.0, &end), COP_EEND);
	assert_int_equal(p.side.pid, pid);
	wait_error = ECHILD;
	wait_errors = 1;
	assert_int_equal(cop_worker_process_take(&p, 0.0, &end), COP_OK);
	assert_int_equal(end.outcome, COP_WORKER_CRASHED);
	assert_true(end.result && end.share == 1.0 && end.spent == 0.0);
	assert_true(p.side.pid == 0 && p.side.fd == -1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	start(&p, "exec sleep 1000", DEADLINE);
	pid = p.side.pid;
	wait_error = EINTR;
	wait_errors = 3;
	(void)cop_worker_process_stop(&p);
	assert_int_equal(wait_errors, 0);
	assert_true(kill(pid, 0) != 0); /* no trace is left */
	start(&p, "exec sleep 1000", DEADLINE);
	pid = p.side.pid;
	wait_error = ECHILD;
	wait_errors = 1;
	assert_true(cop_worker_process_stop(&p) == 0.0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* What we ignore or block the worker does not. */
static void test_process_has_signals_as_at_first(void **state)
{
	(void)state;
	static const int signals[] = { SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGTERM };
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		for (unsigned blocked = 0; blocked < 2; blocked++) {
			char script[64], expected[32];
			sigset_t set, before;
			(void)sigemptyset(&set);
			(void)sigaddset(&set, signals[i]);
			if (blocked)
				assert_int_equal(sigprocmask(SIG_BLOCK, &set, &before), 0);
			else
				assert_true(signal(signals[i], SIG_IGN) != SIG_ERR);
			(void)snprintf(script, sizeof script, "kill -%d $$; echo result nothing 0 0 0 0 x", signals[i]);
			cop_worker_line end = run(script, DEADLINE);
			if (blocked)
				assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
			else
				assert_true(signal(signals[i], SIG_DFL) != SIG_ERR);
			assert_int_equal(end.outcome, COP_WORKER_CRASHED);
			(void)snprintf(expected, sizeof expected, "ended by signal %d (", signals[i]);
			assert_memory_equal(end.text, expected, strlen(expected));
		}
	}
}

static void test_process_without_a_pipe_is_an_error(void **state)
{
	(void)state;
	struct rlimit before, none;
	cop_worker_process p;
	cop_diag why = { .message = "" };
	char name[] = "sh";
	char *argv[] = { name, NULL };
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)free_descriptor();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	cop_err err = cop_worker_process_start(&p, "/bin/sh", argv, 0.0, 1.0, &why);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(err, COP_EIO);
	assert_string_equal(why.message, "no pipe: Too many open files");
	assert_true(p.side.pid == 0 && p.side.fd == -1);
}

static void test_process_leaves_no_descriptor(void **state)
{
	(void)state;
	int before = free_descriptor();
	(void)run("echo result nothing 0 0 0 0 x", DEADLINE);
	assert_int_equal(free_descriptor(), before);
	cop_worker_process p;
	start(&p, "exec sleep 1000", DEADLINE);
	(void)cop_worker_process_stop(&p);
	assert_int_equal(free_descriptor(), before);
	char name[] = "nothing";
	char *argv[] = { name, NULL };
	assert_int_equal(cop_worker_process_start(&p, "/nonexistent/program", argv, 0.0, 1.0, NULL), COP_EIO);
	assert_int_equal(free_descriptor(), before);
}

static void test_process_much_noise_is_passed_over(void **state)
{
	(void)state;
	cop_worker_line end =
	        run("i=0; while [ $i -lt 300 ]; do printf 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'; "
	            "i=$((i+1)); done; echo; echo result nothing 0 0 0 0 done",
	                DEADLINE);
	assert_int_equal(end.outcome, COP_WORKER_NOTHING);
}

static void test_process_sees_nothing_of_ours(void **state)
{
	(void)state;
	static const char *const dropped[] = { "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID" };
	for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
		(void)setenv(dropped[i], "/nowhere", 1);
	(void)setenv("OPENBLAS_NUM_THREADS", "7", 1);
	(void)setenv("COP_TEST_KEPT", "kept", 1);
	int held = dup2(1, 77);
	cop_worker_process p;
	start(&p,
	        "[ -z \"$NOTIFY_SOCKET$WATCHDOG_USEC$WATCHDOG_PID\" ] && [ \"$COP_TEST_KEPT\" = kept ] && [ "
	        "\"$OPENBLAS_NUM_THREADS\" = 1 ] && [ ! -e /proc/$$/fd/77 ] && ! read "
	        "line "
	        "&& echo result nothing 0 0 0 0 clean",
	        DEADLINE);
	cop_worker_line end = end_of(&p);
	assert_string_equal(end.text, "clean");
	(void)close(held);
	for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
		(void)unsetenv(dropped[i]);
	(void)unsetenv("OPENBLAS_NUM_THREADS");
	(void)unsetenv("COP_TEST_KEPT");
}

static void test_process_of_no_program_is_an_error(void **state)
{
	(void)state;
	cop_worker_process p;
	cop_diag why;
	char name[] = "nothing";
	char *argv[] = { name, NULL };
	assert_int_equal(cop_worker_process_start(&p, "/nonexistent/program", argv, 0.0, 1.0, &why), COP_EIO);
	assert_non_null(strstr(why.message, "cannot be started"));
	assert_true(p.side.pid == 0 && p.side.fd == -1);
}

static void test_worker_arguments_are_read_as_written(void **state)
{
	(void)state;
	const cop_worker_job job = { .version = "0.1.0-rc 2",
		.state_dir = "/var/lib/some where",
		.model = "m.1",
		.parent = 77,
		.number = 5,
		.durable = UINT64_MAX,
		.after = 3,
		.seed = 9,
		.idle = true,
		.nice = 19,
		.window = 200000,
		.height = 6,
		.memory = 1u << 30,
		.holdout = 0.2,
		.margin = 0.01,
		.risk = 1e-9,
		.alpha = -1.0,
		.method = COP_METHOD_LAPTAO };
	char room[COP_WORKER_ROOM], *argv[COP_WORKER_ARGUMENTS];
	cop_worker_job back;
	const char *wrong;
	int argc = 0;
	cop_worker_arguments(&job, "coppice-refit", room, sizeof room, argv);
	while (argv[argc] != NULL)
		argc++;
	assert_string_equal(argv[0], "coppice-refit");
	assert_string_equal(cop_worker_read_version(argc, argv), job.version);
	assert_true(cop_worker_read_arguments(argc, argv, &back, &wrong));
	assert_string_equal(back.version, job.version);
	assert_string_equal(back.state_dir, job.state_dir);
	assert_string_equal(back.model, job.model);
	back.state_dir = job.state_dir;
	back.model = job.model;
	assert_true(back.parent == 77 && back.number == 5 && back.durable == UINT64_MAX && back.after == 3);
	assert_true(back.seed == 9 && back.idle && back.nice == 19 && back.window == 200000 && back.height == 6);
	assert_true(back.memory == job.memory && back.holdout == 0.2 && back.margin == 0.01 && back.risk == 1e-9);
	assert_true(back.alpha == -1.0 && back.method == COP_METHOD_LAPTAO);
	char odd[][32] = { "--speed=1", "--window=-1", "--window=5000000000", "--idle=2", "--alpha=nan", "window=1",
		"--model=", "--method=3" };
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		argv[argc - 1] = odd[i];
		assert_false(cop_worker_read_arguments(argc, argv, &back, &wrong));
	}
	assert_false(cop_worker_read_arguments(1, argv, &back, &wrong)); /* of nothing */
	assert_null(cop_worker_read_version(1, argv));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process_result_is_its_end),
		cmocka_unit_test(test_process_progress_is_known_while_it_runs),
		cmocka_unit_test(test_process_time_on_the_processor_is_known),
		cmocka_unit_test(test_process_without_result_has_crashed),
		cmocka_unit_test(test_process_beyond_its_time_is_ended),
		cmocka_unit_test(test_process_that_ignores_being_asked_is_killed),
		cmocka_unit_test(test_process_is_pressed_when_its_time_is_up),
		cmocka_unit_test(test_process_whose_end_cannot_be_had_has_crashed),
		cmocka_unit_test(test_process_has_signals_as_at_first),
		cmocka_unit_test(test_process_without_a_pipe_is_an_error),
		cmocka_unit_test(test_process_leaves_no_descriptor),
		cmocka_unit_test(test_process_much_noise_is_passed_over),
		cmocka_unit_test(test_process_sees_nothing_of_ours),
		cmocka_unit_test(test_process_of_no_program_is_an_error),
		cmocka_unit_test(test_worker_arguments_are_read_as_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
