/* Both ends of every connection are here: peers write what ZeroMQ would send, and recv(), which is the inlet's own,
 * reads it as libzmq does. */
#include "daemon/common/reads.h"
#include "daemon/serve/inlet.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "daemon/serve/zmtp.h"
#include "support.h"

#define MIB 1048576u

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

static uint64_t now = 1000000000000; /* nanoseconds; the only clock there is */

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	(void)clock;
	*out = (struct timespec){ .tv_sec = (time_t)(now / 1000000000u), .tv_nsec = (long)(now % 1000000000u) };
	return 0;
}

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
		assert_int_equal(cop_inlet_add(f->inlet, (cop_inlet_kind)kind, false, endpoint), COP_OK);
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

/* Sends what the peer does not read; from 20000 bytes on the connection takes no more. */
static void fill(linked l, size_t length)
{
	static const char zeros[60000];
	int room = 40000; /* which the kernel doubles, and a stream is writable while a quarter is taken */
	assert_int_equal(setsockopt(l.ours, SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
	assert_int_equal(send(l.ours, zeros, length, 0), length);
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

static void *read_as_own(void *descriptor)
{
	char buffer[64];
	cop_reads_are_own();
	assert_int_equal(recv(*(int *)descriptor, buffer, sizeof buffer, MSG_DONTWAIT), 11);
	return NULL;
}

static void test_a_threads_own_reads_are_not_looked_at(void **state)
{
	fixture *f = *state;
	linked l = connect_as(f, COP_INLET_CONTEXTS);
	char buffer[64];
	pthread_t thread;
	assert_int_equal(send(l.peer, "\0\3fb.\0\4ctx.", 11, 0), 11);
	assert_int_equal(pthread_create(&thread, NULL, read_as_own, &l.ours), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(look(f).queued, 0);
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

static void test_connection_that_is_reset_is_forgotten(void **state)
{
	fixture *f = *state;
	linked l = connect_as(f, COP_INLET_REQUESTS);
	char byte;
	assert_true(pass(l, 1, MIB, 70000) > 0);
	assert_int_equal(look(f).connections, 1);
	assert_int_equal(send(l.ours, "unread", 6, 0), 6); /* so that the end of the peer is no orderly one */
	(void)close(l.peer);
	ssize_t got;
	while ((got = recv(l.ours, &byte, 1, MSG_DONTWAIT)) > 0)
		;
	assert_true(got == -1 && errno == ECONNRESET);
	assert_true(look(f).unfinished == 0 && look(f).connections == 0);
	(void)close(l.ours);
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
	char byte;
	for (unsigned i = 0; i < 3; i++) {
		l[i] = connect_as(f, COP_INLET_ACTIONS);
		fill(l[i], i == 1 ? 60000 : i * 15000);
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

/* The subscriber that has most to read gives way, one each 20 ms; who has nothing to read never does, nor one whose
 * connection takes more. */
static void test_slowest_subscribers_are_ended_one_by_one(void **state)
{
	fixture *f = *state;
	linked l[4];
	static const size_t unread[] = { 0, 30000, 60000, 2000 };
	for (unsigned i = 0; i < 4; i++) {
		l[i] = connect_as(f, COP_INLET_ACTIONS);
		fill(l[i], unread[i]);
	}
	int free_before = dup(STDIN_FILENO);
	(void)close(free_before);
	cop_inlet_close_slowest(f->inlet, COP_INLET_ACTIONS);
	int free_behind = dup(STDIN_FILENO);
	(void)close(free_behind);
	assert_int_equal(free_behind, free_before); /* no descriptor is left open */
	now += 19999999;
	cop_inlet_close_slowest(f->inlet, COP_INLET_ACTIONS);
	assert_int_equal(look(f).closed[COP_INLET_SLOW], 1);
	now++;
	cop_inlet_close_slowest(f->inlet, COP_INLET_ACTIONS);
	assert_int_equal(look(f).closed[COP_INLET_SLOW], 2);
	now += 20000000;
	cop_inlet_close_slowest(f->inlet, COP_INLET_ACTIONS);
	assert_int_equal(look(f).closed[COP_INLET_SLOW], 2);
	assert_int_equal(look(f).connections, 2);
	for (unsigned i = 0; i < 4; i++)
		disconnect(l[i]);
}

/* What ZeroMQ let go unseen is forgotten when the loop has nothing to do, and not while it may be on its way. */
static void test_queued_bytes_are_dropped_when_nothing_is_there_to_be_taken(void **state)
{
	fixture *f = *state;
	linked l = connect_as(f, COP_INLET_REQUESTS), other = connect_as(f, COP_INLET_PULL);
	assert_int_equal(pass(l, 0, 500, 500), 500);
	assert_int_equal(pass(other, 0, 700, 700), 700);
	assert_int_equal(look(f).queued, 1200 + 2 * COP_ZMTP_FRAME_COST);
	cop_inlet_idle(f->inlet);
	now += 99999999;
	assert_int_equal(pass(l, 0, 100, 50), 50); /* no message ends with it */
	cop_inlet_idle(f->inlet);
	assert_int_equal(look(f).queued, 1200 + 2 * COP_ZMTP_FRAME_COST);
	now++;
	cop_inlet_idle(f->inlet);
	assert_int_equal(look(f).queued, 0);
	disconnect(l);
	disconnect(other);
}

/* Connections that end with a full queue, among steady traffic: what is lost with them does not add up. */
static void test_lost_bytes_do_not_add_up_under_steady_traffic(void **state)
{
	fixture *f = *state;
	enum { TURNS = 10000, LOST = 4096, TAKEN = 1000 };
	linked l = connect_as(f, COP_INLET_REQUESTS);
	uint64_t most = 0;
	for (unsigned i = 0; i < TURNS; i++) {
		assert_int_equal(pass(l, 0, TAKEN, TAKEN), TAKEN);
		if (i % 10 == 0)
			assert_int_equal(pass(l, 0, LOST, LOST), LOST);
		cop_inlet_taken(f->inlet, COP_INLET_REQUESTS, TAKEN + COP_ZMTP_FRAME_COST);
		now += 1000000;
		cop_inlet_idle(f->inlet);
		assert_false(cop_inlet_full(f->inlet, COP_INLET_REQUESTS));
		most = look(f).queued > most ? look(f).queued : most;
	}
	assert_in_range(most, LOST, 200 * (TAKEN + COP_ZMTP_FRAME_COST) + 21 * (LOST + COP_ZMTP_FRAME_COST));
	disconnect(l);
}

/* Connections whose descriptors were closed unseen go within a second of the next read. */
static void test_closed_descriptors_are_swept_once_a_second(void **state)
{
	fixture *f = *state;
	linked l = connect_as(f, COP_INLET_REQUESTS), gone = connect_as(f, COP_INLET_REQUESTS);
	char byte;
	now += 1000000000;
	assert_int_equal(recv(l.ours, &byte, 1, MSG_DONTWAIT), -1); /* the last look */
	assert_int_equal(pass(gone, 1, 300, 200), 200);
	disconnect(gone);
	now += 999999999;
	assert_int_equal(recv(l.ours, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(look(f).connections, 2);
	assert_int_equal(look(f).unfinished, 200 + COP_ZMTP_FRAME_COST);
	now++;
	assert_int_equal(recv(l.ours, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(look(f).connections, 1);
	assert_int_equal(look(f).unfinished, 0);
	disconnect(l);
}

/* Descriptors on both sides of where there is room for them at first, and of twice that. */
static void test_any_descriptor_finds_its_connection(void **state)
{
	static const int numbers[] = { 63, 64, 65, 127, 128, 256, 511 };
	fixture *f = *state;
	linked l[sizeof numbers / sizeof *numbers];
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		l[i] = connect_as(f, COP_INLET_REQUESTS);
		cop_inlet_state before = look(f);
		assert_int_equal(dup2(l[i].ours, numbers[i]), numbers[i]);
		(void)close(l[i].ours);
		l[i].ours = numbers[i];
		assert_int_equal(send(l[i].peer, greeting, sizeof greeting, 0), sizeof greeting);
		char buffer[64];
		assert_int_equal(recv(numbers[i], buffer, sizeof buffer, MSG_DONTWAIT), sizeof greeting);
		assert_int_equal(pass(l[i], 1, 100 + i, 100 + i), 100 + i);
		assert_int_equal(look(f).unfinished - before.unfinished, 100 + i + COP_ZMTP_FRAME_COST);
	}
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		uint64_t before = look(f).unfinished;
		assert_int_equal(pass(l[i], 0, 0, 0), 9);
		assert_int_equal(before - look(f).unfinished, 100 + i + COP_ZMTP_FRAME_COST);
		disconnect(l[i]);
	}
}

static void test_descriptor_without_room_is_reset(void **state)
{
	fixture *f = *state;
	linked l = connect_as(f, COP_INLET_REQUESTS);
	char byte;
	assert_int_equal(dup2(l.ours, 300), 300);
	errno = 0;
	cop_test_alloc_fail(1, 0);
	assert_int_equal(recv(300, &byte, 1, MSG_DONTWAIT), -1);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(errno, ECONNRESET);
	(void)close(300);
	disconnect(l);
	l = connect_as(f, COP_INLET_REQUESTS);
	struct sockaddr_un where = address(f, COP_INLET_ACTIONS);
	linked subscriber = { .peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	assert_int_equal(connect(subscriber.peer, (struct sockaddr *)&where, sizeof where), 0);
	subscriber.ours = accept(f->listening[COP_INLET_ACTIONS], NULL, NULL);
	errno = 0;
	cop_test_alloc_fail(1, 0);
	assert_int_equal(recv(subscriber.ours, &byte, 1, MSG_DONTWAIT), -1);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(look(f).connections, 1);
	disconnect(subscriber);
	disconnect(l);
}

/* A subscription as a subscriber sends it; whether it is passed on. */
static bool subscribe(linked l, char what, const char *topic)
{
	char frame[64] = { 0, (char)(1 + strlen(topic)), what }, buffer[256];
	size_t length = 3 + strlen(topic);
	(void)snprintf(frame + 3, sizeof frame - 3, "%s", topic);
	assert_int_equal(send(l.peer, frame, length, 0), length);
	errno = 0;
	ssize_t got = recv(l.ours, buffer, sizeof buffer, MSG_DONTWAIT);
	if (got < 0)
		assert_int_equal(errno, EAGAIN);
	else
		assert_int_equal(got, length);
	return got > 0;
}

static void test_subscriptions_that_match_no_action_are_left_out(void **state)
{
	static const struct {
		const char *topic;
		bool passed;
	} cases[] = { { "", true }, { "a", true }, { "act", true }, { "act.", true }, { "act.m", true },
		{ "act.mm", false }, { "act.n", false }, { "b", false }, { "acu", false }, { "ctx.", false },
		{ "acx.m", false } };
	fixture *f = *state;
	linked l = connect_as(f, COP_INLET_ACTIONS);
	uint64_t ignored = 0;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(subscribe(l, 1, cases[i].topic), cases[i].passed);
		ignored += cases[i].passed ? 0 : 1;
		assert_int_equal(look(f).ignored, ignored);
	}
	disconnect(l);
}

static void test_subscriptions_beyond_10000_end_their_connection(void **state)
{
	fixture *f = *state;
	linked l = connect_as(f, COP_INLET_ACTIONS);
	for (unsigned i = 0; i < 10000; i++)
		assert_true(subscribe(l, (char)(i % 2 == 0), "act.m"));
	assert_int_equal(look(f).closed[COP_INLET_SUBSCRIPTIONS], 0);
	char buffer[64];
	assert_int_equal(send(l.peer, "\0\1\1", 3, 0), 3);
	errno = 0;
	assert_int_equal(recv(l.ours, buffer, sizeof buffer, MSG_DONTWAIT), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(look(f).closed[COP_INLET_SUBSCRIPTIONS], 1);
	assert_int_equal(look(f).connections, 0);
	disconnect(l);
}

static void test_subscribers_of_other_protocols_are_ended(void **state)
{
	fixture *f = *state;
	struct sockaddr_un where = address(f, COP_INLET_ACTIONS);
	linked l = { .peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	char buffer[64];
	assert_int_equal(connect(l.peer, (struct sockaddr *)&where, sizeof where), 0);
	l.ours = accept(f->listening[COP_INLET_ACTIONS], NULL, NULL);
	assert_int_equal(send(l.peer, "GET / HTTP/1.1", 14, 0), 14);
	errno = 0;
	assert_int_equal(recv(l.ours, buffer, sizeof buffer, MSG_DONTWAIT), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(look(f).closed[COP_INLET_NOT_ZMTP], 1);
	disconnect(l);
	l = connect_as(f, COP_INLET_ACTIONS);
	assert_int_equal(send(l.peer, "\2\0\0\0\0\0\0\2\1", 9, 0), 9); /* 513 bytes */
	assert_int_equal(recv(l.ours, buffer, sizeof buffer, MSG_DONTWAIT), -1);
	assert_int_equal(look(f).closed[COP_INLET_FRAME], 1);
	disconnect(l);
}

/* Topics of what publishers send, on sockets that ZeroMQ's own thread reads and no endpoint accepted. */
static void test_outgoing_connections_count_by_topic(void **state)
{
	fixture *f = *state;
	int pair[2];
	char buffer[64], thread[16];
	assert_int_equal(prctl(PR_GET_NAME, thread), 0);
	assert_int_equal(prctl(PR_SET_NAME, "ZMQbg/IO/0"), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	linked l = { .peer = pair[0], .ours = pair[1] };
	assert_int_equal(send(l.peer, greeting, sizeof greeting, 0), sizeof greeting);
	assert_int_equal(recv(l.ours, buffer, sizeof buffer, MSG_DONTWAIT), sizeof greeting);
	assert_int_equal(send(l.peer, "\0\3fb.\0\4ctx.\0\2xx", 15, 0), 15);
	assert_int_equal(recv(l.ours, buffer, sizeof buffer, MSG_DONTWAIT), 15);
	assert_int_equal(prctl(PR_SET_NAME, thread), 0);
	assert_int_equal(look(f).connections, 1);
	assert_int_equal(look(f).queued, 7 + 2 * COP_ZMTP_FRAME_COST);
	cop_inlet_taken(f->inlet, COP_INLET_FEEDBACK, 3 + COP_ZMTP_FRAME_COST);
	assert_int_equal(look(f).queued, 4 + COP_ZMTP_FRAME_COST);
	cop_inlet_taken(f->inlet, COP_INLET_CONTEXTS, 4 + COP_ZMTP_FRAME_COST);
	assert_int_equal(look(f).queued, 0);
	disconnect(l);
}

/* Sockets that TCP endpoints accepted, named by their address or by the wildcard. */
static void test_tcp_endpoints_know_their_connections(void **state)
{
	fixture *f = *state;
	for (unsigned any = 0; any < 2; any++) {
		struct sockaddr_in where = { .sin_family = AF_INET };
		socklen_t size = sizeof where;
		char endpoint[64], buffer[64];
		int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		assert_int_equal(bind(listening, (struct sockaddr *)&where, sizeof where), 0);
		assert_int_equal(listen(listening, 4), 0);
		assert_int_equal(getsockname(listening, (struct sockaddr *)&where, &size), 0);
		(void)snprintf(endpoint, sizeof endpoint, "tcp://%s:%u", any ? "0.0.0.0" : "127.0.0.1",
		        (unsigned)ntohs(where.sin_port));
		assert_int_equal(cop_inlet_add(f->inlet, COP_INLET_PULL, false, endpoint), COP_OK);
		linked l = { .peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
		assert_int_equal(connect(l.peer, (struct sockaddr *)&where, sizeof where), 0);
		l.ours = accept(listening, NULL, NULL);
		assert_int_equal(send(l.peer, greeting, sizeof greeting, 0), sizeof greeting);
		assert_int_equal(recv(l.ours, buffer, sizeof buffer, MSG_WAITALL), sizeof greeting);
		assert_int_equal(look(f).connections, 1);
		assert_int_equal(send(l.peer, "\0\1x", 3, 0), 3);
		assert_int_equal(recv(l.ours, buffer, 3, MSG_WAITALL), 3);
		assert_int_equal(look(f).queued, (any + 1) * (1 + COP_ZMTP_FRAME_COST));
		(void)close(l.peer);
		assert_int_equal(recv(l.ours, buffer, 1, 0), 0);
		assert_int_equal(look(f).connections, 0);
		(void)close(l.ours);
		(void)close(listening);
	}
}

static void test_endpoint_without_memory_is_not_added(void **state)
{
	fixture *f = *state;
	cop_test_alloc_fail(1, 0);
	cop_err err = cop_inlet_add(f->inlet, COP_INLET_PULL, false, "tcp://127.0.0.1:1");
	cop_test_alloc_fail(0, 0);
	assert_int_equal(err, COP_ENOMEM);
	linked l = connect_as(f, COP_INLET_REQUESTS); /* the others are there */
	assert_int_equal(look(f).connections, 1);
	disconnect(l);
}

static void test_bytes_that_come_one_by_one_count(void **state)
{
	fixture *f = *state;
	linked l = connect_as(f, COP_INLET_REQUESTS);
	static const char frame[] = "\0\3abc";
	for (size_t i = 0; i < 5; i++) {
		char byte;
		assert_int_equal(send(l.peer, frame + i, 1, 0), 1);
		assert_int_equal(recv(l.ours, &byte, 1, MSG_DONTWAIT), 1);
		assert_int_equal(byte, frame[i]);
	}
	assert_int_equal(look(f).queued, 3 + COP_ZMTP_FRAME_COST);
	disconnect(l);
}

/* Sockets of others, with bytes that their peers have not read, are not looked at. */
static void test_slowest_is_sought_among_connections_alone(void **state)
{
	fixture *f = *state;
	int pair[2];
	char buffer[8];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(send(pair[0], "unread", 6, 0), 6);
	for (unsigned kind = 0; kind <= COP_INLET_FOREIGN; kind++)
		cop_inlet_close_slowest(f->inlet, (cop_inlet_kind)kind);
	assert_int_equal(look(f).closed[COP_INLET_SLOW], 0);
	assert_int_equal(send(pair[1], "back", 4, 0), 4);
	assert_int_equal(recv(pair[0], buffer, sizeof buffer, MSG_DONTWAIT), 4);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

enum { TAKERS = 4, TAKES = 50000 };

static void *take_often(void *inlet)
{
	for (unsigned i = 0; i < TAKES; i++)
		cop_inlet_taken(inlet, COP_INLET_REQUESTS, 1);
	return NULL;
}

static void test_takers_on_several_threads_take_it_all(void **state)
{
	fixture *f = *state;
	pthread_t threads[TAKERS];
	linked l = connect_as(f, COP_INLET_REQUESTS);
	assert_int_equal(pass(l, 0, MIB, MIB), 65536);
	for (unsigned i = 0; i < TAKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_often, f->inlet), 0);
	for (unsigned i = 0; i < TAKERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(look(f).queued, MIB + COP_ZMTP_FRAME_COST - TAKERS * TAKES);
	disconnect(l);
}

typedef struct sealed {
	int listening;
	struct sockaddr_un where;
} sealed;

static sealed listen_sealed(const fixture *f)
{
	char endpoint[128];
	sealed s = { .listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), .where = address(f, 99) };
	assert_int_equal(bind(s.listening, (struct sockaddr *)&s.where, sizeof s.where), 0);
	assert_int_equal(listen(s.listening, 64), 0);
	(void)snprintf(endpoint, sizeof endpoint, "ipc://%s", s.where.sun_path);
	assert_int_equal(cop_inlet_add(f->inlet, COP_INLET_PULL, true, endpoint), COP_OK);
	return s;
}

static void end_sealed(const sealed *s)
{
	(void)close(s->listening);
	(void)unlink(s->where.sun_path);
}

/* A connection behind its handshake. */
static linked connect_sealed(const sealed *s)
{
	static const char curve[64] = { '\xff', [9] = 0x7f, [10] = 3, [12] = 'C', 'U', 'R', 'V', 'E' };
	char buffer[64];
	linked l = { .peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	assert_int_equal(connect(l.peer, (const struct sockaddr *)&s->where, sizeof s->where), 0);
	l.ours = accept(s->listening, NULL, NULL);
	assert_int_equal(send(l.peer, curve, sizeof curve, 0), sizeof curve);
	assert_int_equal(recv(l.ours, buffer, sizeof buffer, MSG_DONTWAIT), sizeof curve);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(send(l.peer, "\4\1x", 3, 0), 3);
		assert_int_equal(recv(l.ours, buffer, sizeof buffer, MSG_DONTWAIT), 3);
	}
	return l;
}

/* A frame of that much content in the clear. */
static ssize_t pass_sealed(linked l, size_t length)
{
	return pass(l, 0, length + COP_ZMTP_SEALED, length + COP_ZMTP_SEALED);
}

static void test_encrypted_message_without_an_end_ends_its_connection(void **state)
{
	fixture *f = *state;
	assert_false(cop_inlet_seals(f->inlet));
	sealed s = listen_sealed(f);
	assert_true(cop_inlet_seals(f->inlet));
	linked endless = connect_sealed(&s), busy = connect_sealed(&s);
	for (unsigned i = 0; i < 3; i++) { /* an eighth of 16 MiB are 2 */
		assert_true(pass_sealed(endless, MIB - 100) > 0);
		assert_true(pass_sealed(busy, MIB / 8) > 0);
	}
	cop_inlet_taken(f->inlet, COP_INLET_PULL, 3 * (MIB / 8 + COP_ZMTP_FRAME_COST));
	cop_inlet_taken_from(f->inlet, busy.ours);
	assert_true(pass_sealed(busy, 1000) > 0);
	cop_inlet_idle(f->inlet);
	assert_int_equal(look(f).closed[COP_INLET_MESSAGE], 0); /* it may be on its way to the loop */
	uint64_t before = look(f).queued;
	now += 500000000u;
	cop_inlet_idle(f->inlet);
	assert_int_equal(look(f).closed[COP_INLET_MESSAGE], 0);
	now += 600000000u;
	assert_true(pass_sealed(busy, 1000) > 0); /* the loop is not idle for as long as counts are forgotten after */
	cop_inlet_idle(f->inlet);
	assert_int_equal(look(f).closed[COP_INLET_MESSAGE], 1);
	assert_int_equal(look(f).queued, before + 1000 + COP_ZMTP_FRAME_COST - 3 * (MIB - 100 + COP_ZMTP_FRAME_COST));
	assert_true(pass_sealed(busy, 1000) > 0);
	char byte;
	assert_int_equal(recv(endless.ours, &byte, 1, MSG_DONTWAIT), -1);
	disconnect(endless);
	disconnect(busy);
	end_sealed(&s);
}

static void test_encrypted_messages_that_are_taken_never_add_up(void **state)
{
	fixture *f = *state;
	sealed s = listen_sealed(f);
	linked l = connect_sealed(&s);
	for (unsigned i = 0; i < 20; i++) {
		assert_true(pass_sealed(l, MIB / 2) > 0);
		cop_inlet_taken(f->inlet, COP_INLET_PULL, MIB / 2 + COP_ZMTP_FRAME_COST);
		cop_inlet_taken_from(f->inlet, l.ours);
		now += 2000000000u;
		cop_inlet_idle(f->inlet);
	}
	assert_int_equal(look(f).closed[COP_INLET_MESSAGE], 0);
	cop_inlet_taken_from(f->inlet, -1); /* unknown */
	cop_inlet_taken_from(f->inlet, 1000000);
	disconnect(l);
	end_sealed(&s);
}

static bool is_lost(const void *context, const char *name) { return strcmp(context, name) == 0; }

static void test_named_subscribers_end_when_they_are_lost(void **state)
{
	const fixture *f = *state;
	linked gone = connect_as(f, COP_INLET_ACTIONS), stays = connect_as(f, COP_INLET_ACTIONS);
	char byte;
	cop_inlet_name(f->inlet, gone.ours, "gone");
	cop_inlet_name(f->inlet, stays.ours, "stays");
	cop_inlet_name(f->inlet, 12345, "nobody");
	cop_inlet_end_lost(f->inlet, is_lost, "gone");
	assert_int_equal(look(f).closed[COP_INLET_KEY], 1);
	assert_int_equal(read(gone.peer, &byte, 1), 0);
	assert_int_equal(look(f).connections, 1);
	disconnect(gone);
	disconnect(stays);
}

static void test_reasons_have_their_texts(void **state)
{
	(void)state;
	static const char *const texts[COP_INLET_REASONS] = { "not_zmtp", "frame", "message", "memory", "subscriptions",
		"clear", "key", "slow", "models" };
	for (unsigned i = 0; i < COP_INLET_REASONS; i++)
		assert_string_equal(cop_inlet_reason_text((cop_inlet_reason)i), texts[i]);
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
		TEST(test_a_threads_own_reads_are_not_looked_at),
		TEST(test_full_queue_stops_reading_until_it_is_taken),
		TEST(test_long_frames_and_messages_end_their_connection),
		TEST(test_largest_unfinished_message_gives_way),
		TEST(test_connection_that_is_reset_is_forgotten),
		TEST(test_descriptor_given_out_again_is_another_connection),
		TEST(test_subscriber_that_reads_least_is_ended),
		TEST(test_slowest_subscribers_are_ended_one_by_one),
		TEST(test_queued_bytes_are_dropped_when_nothing_is_there_to_be_taken),
		TEST(test_lost_bytes_do_not_add_up_under_steady_traffic),
		TEST(test_closed_descriptors_are_swept_once_a_second),
		TEST(test_any_descriptor_finds_its_connection),
		TEST(test_descriptor_without_room_is_reset),
		TEST(test_subscriptions_that_match_no_action_are_left_out),
		TEST(test_subscriptions_beyond_10000_end_their_connection),
		TEST(test_subscribers_of_other_protocols_are_ended),
		TEST(test_outgoing_connections_count_by_topic),
		TEST(test_tcp_endpoints_know_their_connections),
		TEST(test_endpoint_without_memory_is_not_added),
		TEST(test_bytes_that_come_one_by_one_count),
		TEST(test_slowest_is_sought_among_connections_alone),
		TEST(test_takers_on_several_threads_take_it_all),
		TEST(test_encrypted_message_without_an_end_ends_its_connection),
		TEST(test_encrypted_messages_that_are_taken_never_add_up),
		TEST(test_named_subscribers_end_when_they_are_lost),
		TEST(test_reasons_have_their_texts),
		TEST(test_other_sockets_are_left_alone),
		TEST(test_open_one_at_a_time_and_without_memory_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
