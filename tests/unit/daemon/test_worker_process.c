/* Children that are no worker: a shell says the lines. */
#include "daemon/worker_process.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/worker_job.h"
#include "support.h"

#define DEADLINE 60.0

static void start(cop_worker_process *p, const char *script, double seconds)
{
	char text[1024], name[] = "sh", option[] = "-c";
	char *argv[] = { name, option, text, NULL };
	(void)snprintf(text, sizeof text, "%s", script);
	assert_int_equal(cop_worker_process_start(p, "/bin/sh", argv, cop_clock_monotonic(), seconds, NULL), COP_OK);
	assert_true(p->pid > 0 && p->fd >= 0);
}

static cop_worker_line end_of(cop_worker_process *p)
{
	cop_worker_line end;
	double last = cop_clock_monotonic() + DEADLINE;
	while (cop_worker_process_take(p, cop_clock_monotonic(), &end) != COP_OK) {
		struct pollfd item = { .fd = p->fd, .events = POLLIN };
		assert_true(cop_clock_monotonic() < last);
		(void)poll(&item, 1, 5);
	}
	assert_true(p->pid == 0 && p->fd == -1);
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
	pid_t pid = p.pid;
	(void)cop_worker_process_stop(&p);
	assert_true(kill(pid, 0) != 0 && p.pid == 0 && p.fd == -1);
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
	assert_int_equal(p.told, 1);
	while (cop_worker_process_take(&p, now + 3000.0, &end) != COP_OK)
		assert_true(cop_clock_monotonic() < last);
	assert_int_equal(end.outcome, COP_WORKER_TIMEOUT);
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
	(void)setenv("NOTIFY_SOCKET", "/nowhere", 1);
	int held = dup2(1, 77);
	cop_worker_process p;
	start(&p,
	        "[ -z \"$NOTIFY_SOCKET\" ] && [ \"$OPENBLAS_NUM_THREADS\" = 1 ] && [ ! -e /proc/$$/fd/77 ] && ! read "
	        "line "
	        "&& echo result nothing 0 0 0 0 clean",
	        DEADLINE);
	cop_worker_line end = end_of(&p);
	assert_string_equal(end.text, "clean");
	(void)close(held);
	(void)unsetenv("NOTIFY_SOCKET");
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
	assert_true(p.pid == 0 && p.fd == -1);
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
		cmocka_unit_test(test_process_much_noise_is_passed_over),
		cmocka_unit_test(test_process_sees_nothing_of_ours),
		cmocka_unit_test(test_process_of_no_program_is_an_error),
		cmocka_unit_test(test_worker_arguments_are_read_as_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
