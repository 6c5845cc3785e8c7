/* Both ends of every connection are here: peers write what ZeroMQ would send, and recv(), which is the inlet's own,
 * reads it as libzmq does. */
#include "daemon/inlet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/zmtp.h"
#include "support.h"

#define MIB 1048576u

static const char greeting[64] = { '\xff', [9] = 0x7f, [10] = 3 };

typedef struct fixture {
	char folder[64];
	cop_config *config;
	cop_inlet *inlet;
	int listening[COP_INLET_ACTIONS + 1];
} fixture;

typedef struct linked {
	int peer, ours;
} linked;

static struct sockaddr_un address(const fixture *f, unsigned kind)
{
	struct sockaddr_un where = { .sun_family = AF_UNIX };
	(void)snprintf(where.sun_path, sizeof where.sun_path, "%s/%u", f->folder, kind);
	return where;
}

static int set_up(void **state)
{
	static const char text[] = "sockets { requests = {\"ipc://r\"} queue_limit = \"16MiB\" }\n"
	                           "model \"m\" { features = 1 arms = 2 }\n";
	fixture *f = calloc(1, sizeof *f);
	cop_config_report report;
	cop_config_report_init(&report);
	assert_int_equal(cop_config_parse(text, sizeof text - 1, "text", NULL, &f->config, &report), COP_OK);
	(void)snprintf(f->folder, sizeof f->folder, "/tmp/cop-inlet-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	assert_int_equal(cop_inlet_open(f->config, &f->inlet), COP_OK);
	for (unsigned kind = 0; kind <= COP_INLET_ACTIONS; kind++) {
		struct sockaddr_un where = address(f, kind);
		char endpoint[128];
		f->listening[kind] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(bind(f->listening[kind], (struct sockaddr *)&where, sizeof where), 0);
		assert_int_equal(listen(f->listening[kind], 64), 0);
		(void)snprintf(endpoint, sizeof endpoint, "ipc://%s", where.sun_path);
		assert_int_equal(cop_inlet_add(f->inlet, (cop_inlet_kind)kind, endpoint), COP_OK);
	}
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	fixture *f = *state;
	for (unsigned kind = 0; kind <= COP_INLET_ACTIONS; kind++) {
		struct sockaddr_un where = address(f, kind);
		(void)close(f->listening[kind]);
		(void)unlink(where.sun_path);
	}
	(void)rmdir(f->folder);
	cop_inlet_close(f->inlet);
	cop_config_free(f->config);
	free(f);
	return 0;
}

static linked connect_as(const fixture *f, cop_inlet_kind kind)
{
	struct sockaddr_un where = address(f, kind);
	char buffer[64];
	linked l = { .peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	assert_int_equal(connect(l.peer, (struct sockaddr *)&where, sizeof where), 0);
	l.ours = accept(f->listening[kind], NULL, NULL);
	assert_true(l.ours >= 0);
	assert_int_equal(send(l.peer, greeting, sizeof greeting, 0), sizeof greeting);
	assert_int_equal(recv(l.ours, buffer, sizeof buffer, MSG_DONTWAIT), sizeof greeting);
	return l;
}

static void disconnect(linked l)
{
	(void)close(l.peer);
	(void)close(l.ours);
}

/* A frame's header and `length` bytes of content, of which `sent` are sent and received. */
static ssize_t pass(linked l, unsigned more, size_t length, size_t sent)
{
	static char buffer[MIB + 256 * 1024];
	char header[9] = { (char)(2 | more), 0, 0, 0, 0, (char)(length >> 24), (char)(length >> 16),
		(char)(length >> 8), (char)length };
	assert_int_equal(send(l.peer, header, sizeof header, 0), sizeof header);
	ssize_t got = recv(l.ours, buffer, sizeof header, MSG_DONTWAIT);
	for (size_t at = 0; at < sent && got > 0;) {
		size_t piece = sent - at < 65536 ? sent - at : 65536;
		assert_int_equal(send(l.peer, buffer, piece, 0), piece);
		got = recv(l.ours, buffer, piece, MSG_DONTWAIT);
		at += piece;
	}
	return got;
}

static cop_inlet_state look(const fixture *f)
{
	cop_inlet_state state;
	cop_inlet_look(f->inlet, &state);
	return state;
}

static void test_messages_count_until_they_are_taken(void **state)
{
	fixture *f = *state;
	linked l = connect_as(f, COP_INLET_REQUESTS);
	assert_int_equal(pass(l, 1, 1000, 1000), 1000);
	assert_int_equal(look(f).unfinished, 1000 + COP_ZMTP_FRAME_COST);
	assert_int_equal(look(f).queued, 0);
	assert_int_equal(pass(l, 0, 500, 500), 500);
	assert_int_equal(look(f).unfinished, 0);
	assert_int_equal(look(f).queued, 1500 + 2 * COP_ZMTP_FRAME_COST);
	assert_int_equal(look(f).connections, 1);
	cop_inlet_taken(f->inlet, COP_INLET_REQUESTS, 1500);
	assert_int_equal(look(f).queued, 2 * COP_ZMTP_FRAME_COST);
	cop_inlet_taken(f->inlet, COP_INLET_REQUESTS, 1000); /* more than there is */
	assert_int_equal(look(f).queued, 0);
	disconnect(l);
}

static void test_streams_count_what_their_subscription_lets_in(void **state)
{
	fixture *f = *state;
	linked l = connect_as(f, COP_INLET_CONTEXTS);
	char buffer[64];
	assert_int_equal(send(l.peer, "\0\3fb.\0\4ctx.", 11, 0), 11);
	assert_int_equal(recv(l.ours, buffer, sizeof buffer, MSG_DONTWAIT), 11);
	assert_int_equal(look(f).queued, 4 + COP_ZMTP_FRAME_COST);
	disconnect(l);
}

static void test_full_queue_stops_reading_until_it_is_taken(void **state)
{
	fixture *f = *state;
	linked l = connect_as(f, COP_INLET_PULL);
	char byte;
	unsigned whole = 0;
	for (; !cop_inlet_full(f->inlet, COP_INLET_PULL); whole++)
		assert_int_equal(pass(l, 0, MIB, MIB), 65536);
	assert_int_equal(whole, 2); /* half of a fourth of 16 */
	while (look(f).queued <= 4 * MIB)
		assert_int_equal(pass(l, 0, MIB, MIB), 65536);
	assert_int_equal(send(l.peer, "", 1, 0), 1);
	errno = 0;
	assert_int_equal(recv(l.ours, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_false(cop_inlet_full(f->inlet, COP_INLET_REQUESTS));
	cop_inlet_taken(f->inlet, COP_INLET_PULL, MIB);
	assert_int_equal(recv(l.ours, &byte, 1, MSG_DONTWAIT), 1);
	disconnect(l);
}

static void test_long_frames_and_messages_end_their_connection(void **state)
{
	fixture *f = *state;
	linked l = connect_as(f, COP_INLET_REQUESTS);
	assert_int_equal(pass(l, 0, MIB + 65536, MIB + 65536), 65536);
	assert_int_equal(look(f).closed[COP_INLET_FRAME], 0);
	errno = 0;
	assert_int_equal(pass(l, 0, MIB + 65537, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(look(f).closed[COP_INLET_FRAME], 1);
	disconnect(l);
	l = connect_as(f, COP_INLET_FEEDBACK);
	while (pass(l, 1, 65536, 65536) > 0)
		assert_true(look(f).unfinished <= MIB + 2 * 65536);
	assert_int_equal(look(f).closed[COP_INLET_MESSAGE], 1);
	assert_int_equal(look(f).unfinished, 0);
	assert_int_equal(look(f).connections, 0);
	disconnect(l);
}

static void test_largest_unfinished_message_gives_way(void **state)
{
	fixture *f = *state;
	linked large = connect_as(f, COP_INLET_REQUESTS), other[6];
	char byte;
	assert_true(pass(large, 1, MIB, MIB) > 0);
	for (unsigned i = 0; i < 6; i++) {
		other[i] = connect_as(f, COP_INLET_REQUESTS);
		assert_true(pass(other[i], 1, MIB, 600000) > 0);
	}
	assert_true(look(f).unfinished <= 4 * MIB);
	assert_int_equal(look(f).closed[COP_INLET_MEMORY], 1);
	assert_int_equal(recv(large.ours, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(recv(large.peer, &byte, 1, MSG_DONTWAIT), 0); /* shut down */
	for (unsigned i = 0; i < 6; i++) {
		(void)close(other[i].peer);
		while (recv(other[i].ours, &byte, 1, MSG_DONTWAIT) > 0)
			;
		(void)close(other[i].ours);
	}
	assert_int_equal(look(f).unfinished, 0); /* the reads that found the end forgot them */
	disconnect(large);
}

static void test_descriptor_given_out_again_is_another_connection(void **state)
{
	fixture *f = *state;
	linked first = connect_as(f, COP_INLET_REQUESTS);
	int number = first.ours;
	assert_true(pass(first, 1, MIB, 70000) > 0);
	disconnect(first);
	linked second = connect_as(f, COP_INLET_CONTEXTS);
	assert_true(second.ours == number || second.peer == number);
	if (second.ours != number) {
		assert_int_equal(dup2(second.ours, number), number);
		(void)close(second.ours);
		second.ours = number;
		assert_true(pass(second, 1, 100, 100) > 0);
	}
	assert_true(look(f).unfinished < 70000);
	disconnect(second);
}

static void test_subscriber_that_reads_least_is_ended(void **state)
{
	fixture *f = *state;
	linked l[3];
	static const char zeros[20000];
	char byte;
	for (unsigned i = 0; i < 3; i++) {
		l[i] = connect_as(f, COP_INLET_ACTIONS);
		assert_int_equal(send(l[i].ours, zeros, 5000 * (i == 1 ? 4 : i), 0), 5000 * (i == 1 ? 4 : i));
	}
	cop_inlet_close_slowest(f->inlet, COP_INLET_REQUESTS); /* there is none */
	cop_inlet_close_slowest(f->inlet, COP_INLET_ACTIONS);
	cop_inlet_close_slowest(f->inlet, COP_INLET_ACTIONS); /* too soon for another */
	assert_int_equal(look(f).closed[COP_INLET_SLOW], 1);
	errno = 0;
	assert_int_equal(recv(l[1].ours, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(look(f).connections, 2);
	for (unsigned i = 0; i < 3; i++)
		disconnect(l[i]);
}

static void test_other_sockets_are_left_alone(void **state)
{
	fixture *f = *state;
	int pair[2];
	char buffer[32];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(send(pair[0], "GET /", 5, 0), 5);
	assert_int_equal(recv(pair[1], buffer, sizeof buffer, 0), 5);
	assert_int_equal(recv(STDIN_FILENO + 1000, buffer, 1, 0), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(look(f).connections, 0);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void test_open_one_at_a_time_and_without_memory_fails(void **state)
{
	fixture *f = *state;
	cop_inlet *another;
	assert_int_equal(cop_inlet_open(f->config, &another), COP_EEXIST);
	assert_null(another);
	cop_inlet_close(f->inlet);
	for (unsigned long n = 1; n <= 3; n++) {
		cop_test_alloc_fail(n, 0);
		assert_int_equal(cop_inlet_open(f->config, &f->inlet), COP_ENOMEM);
		assert_null(f->inlet);
	}
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_inlet_open(f->config, &f->inlet), COP_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_messages_count_until_they_are_taken),
		TEST(test_streams_count_what_their_subscription_lets_in),
		TEST(test_full_queue_stops_reading_until_it_is_taken),
		TEST(test_long_frames_and_messages_end_their_connection),
		TEST(test_largest_unfinished_message_gives_way),
		TEST(test_descriptor_given_out_again_is_another_connection),
		TEST(test_subscriber_that_reads_least_is_ended),
		TEST(test_other_sockets_are_left_alone),
		TEST(test_open_one_at_a_time_and_without_memory_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
