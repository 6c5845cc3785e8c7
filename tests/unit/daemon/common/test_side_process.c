/* Children that are a shell: what they are given to read, what they write, how they end. */
#include "daemon/common/side_process.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "daemon/common/clock.h"
#include "support.h"

#define DEADLINE 60.0

static void start(cop_side_process *p, const char *script, const cop_side_process_input *input, double seconds)
{
	char text[256], name[] = "sh", option[] = "-c";
	char *argv[] = { name, option, text, NULL };
	(void)snprintf(text, sizeof text, "%s", script);
	assert_int_equal(
	        cop_side_process_start(p, "/bin/sh", argv, input, cop_clock_monotonic(), seconds, NULL), COP_OK);
}

/* All that it writes, until its end; wait's status. */
static int finish(cop_side_process *p, char *out, size_t room)
{
	size_t used = 0;
	int status = 0;
	struct rusage spent;
	double last = cop_clock_monotonic() + DEADLINE;
	do {
		struct pollfd item = { .fd = p->fd, .events = POLLIN };
		assert_true(cop_clock_monotonic() < last);
		(void)poll(&item, 1, 5);
		used += cop_side_process_read(p, out + used, room - 1 - used);
	} while (!cop_side_process_ended(p, cop_clock_monotonic(), &status, &spent));
	for (size_t n; (n = cop_side_process_read(p, out + used, room - 1 - used)) > 0;)
		used += n;
	out[used] = '\0';
	cop_side_process_close(p);
	assert_true(p->pid == 0 && p->fd == -1);
	return status;
}

static void test_input_is_read_and_output_comes_back(void **state)
{
	static char bytes[COP_SIDE_PROCESS_INPUT], out[COP_SIDE_PROCESS_INPUT + 16];
	cop_side_process p;
	(void)state;
	memset(bytes, 'x', sizeof bytes);
	for (size_t length = 0; length <= sizeof bytes; length += sizeof bytes / 2) {
		const cop_side_process_input input = { bytes, length };
		start(&p, "cat; exit 3", &input, DEADLINE);
		int status = finish(&p, out, sizeof out);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
		assert_int_equal(strlen(out), length);
		assert_memory_equal(out, bytes, length);
	}
	start(&p, "cat; echo none", NULL, DEADLINE);
	assert_int_equal(finish(&p, out, sizeof out), 0);
	assert_string_equal(out, "none\n");
}

static void test_late_process_is_asked_to_end_and_stop_kills(void **state)
{
	char out[16];
	cop_side_process p;
	(void)state;
	start(&p, "exec sleep 1000", NULL, 0.0);
	int status = finish(&p, out, sizeof out);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	start(&p, "exec sleep 1000", NULL, DEADLINE);
	assert_true(cop_side_process_stop(&p) >= 0.0);
	assert_int_equal(p.pid, 0);
	assert_true(cop_side_process_stop(&p) == 0.0);
	cop_diag diag = { 0 };
	char name[] = "none";
	char *argv[] = { name, NULL };
	assert_int_equal(cop_side_process_start(&p, "/nowhere/none", argv, NULL, 0.0, 1.0, &diag), COP_EIO);
	assert_true(strstr(diag.message, "cannot be started") != NULL && p.pid == 0 && p.fd == -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_input_is_read_and_output_comes_back),
		cmocka_unit_test(test_late_process_is_asked_to_end_and_stop_kills),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
