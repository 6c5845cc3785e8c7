#include "daemon/common/notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support.h"

/* A service manager: the datagram socket that NOTIFY_SOCKET names. */
typedef struct manager {
	int fd;
	char folder[32];
	char path[64];
} manager;

static int manager_start(void **state)
{
	static manager self;
	(void)snprintf(self.folder, sizeof self.folder, "/tmp/cop_notify_XXXXXX");
	if (mkdtemp(self.folder) == NULL)
		return -1;
	(void)snprintf(self.path, sizeof self.path, "%s/socket", self.folder);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	(void)snprintf(address.sun_path, sizeof address.sun_path, "%s", self.path);
	self.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (self.fd < 0 || bind(self.fd, (const struct sockaddr *)&address, sizeof address) != 0)
		return -1;
	*state = &self;
	return setenv("NOTIFY_SOCKET", self.path, 1);
}

static int manager_stop(void **state)
{
	manager *self = *state;
	(void)close(self->fd);
	(void)unlink(self->path);
	(void)rmdir(self->folder);
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_USEC");
	return unsetenv("WATCHDOG_PID");
}

/* The next message is exactly this; NULL: there is none. */
static void expect_message(const manager *self, const char *expected)
{
	char text[512];
	ssize_t length = recv(self->fd, text, sizeof text - 1, 0);
	if (expected == NULL) {
		assert_int_equal(length, -1);
		return;
	}
	assert_true(length >= 0);
	text[length] = '\0';
	assert_string_equal(text, expected);
}

static void test_notify_states_are_sent(void **state)
{
	cop_notify_ready("serving 1 model\nreally");
	expect_message(*state, "READY=1\nSTATUS=serving 1 model really");
	cop_notify_status("busy");
	expect_message(*state, "STATUS=busy");
	cop_notify_reloading(123456789012345);
	expect_message(*state, "RELOADING=1\nMONOTONIC_USEC=123456789012345");
	cop_notify_stopping("saving");
	expect_message(*state, "STOPPING=1\nSTATUS=saving");
	expect_message(*state, NULL);
}

static void test_notify_watchdog_pings_at_half_its_limit(void **state)
{
	assert_int_equal(setenv("WATCHDOG_USEC", "30000000", 1), 0);
	cop_notify notify;
	cop_notify_init(&notify, 1000);
	assert_int_equal(notify.interval, 15000000);
	assert_int_equal(cop_notify_tick(&notify, 1000), 15000000);
	expect_message(*state, "WATCHDOG=1");
	assert_int_equal(cop_notify_tick(&notify, 15000999), 1);
	expect_message(*state, NULL);
	assert_int_equal(cop_notify_tick(&notify, 15001000), 15000000);
	expect_message(*state, "WATCHDOG=1");
	assert_int_equal(cop_notify_tick(&notify, 99000000), 15000000); /* late: once, not once for each missed */
	expect_message(*state, "WATCHDOG=1");
	expect_message(*state, NULL);
}

static void test_notify_watchdog_of_another_process_is_not_ours(void **state)
{
	assert_int_equal(setenv("WATCHDOG_USEC", "30000000", 1), 0);
	assert_int_equal(setenv("WATCHDOG_PID", "1", 1), 0);
	cop_notify notify;
	cop_notify_init(&notify, 0);
	assert_true(cop_notify_tick(&notify, 1) == UINT64_MAX);
	expect_message(*state, NULL);
}

static void test_notify_without_manager_does_nothing(void **state)
{
	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
	cop_notify notify;
	cop_notify_init(&notify, 0);
	cop_notify_ready("x");
	assert_true(cop_notify_tick(&notify, 1) == UINT64_MAX);
	expect_message(*state, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_notify_states_are_sent, manager_start, manager_stop),
		cmocka_unit_test_setup_teardown(
		        test_notify_watchdog_pings_at_half_its_limit, manager_start, manager_stop),
		cmocka_unit_test_setup_teardown(
		        test_notify_watchdog_of_another_process_is_not_ours, manager_start, manager_stop),
		cmocka_unit_test_setup_teardown(test_notify_without_manager_does_nothing, manager_start, manager_stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
