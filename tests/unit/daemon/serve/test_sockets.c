/* The sockets alone: their options, and what peers of ZeroMQ's own receive and send through them. */
#include "daemon/serve/sockets.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/serve/zmtp.h"
#include "support.h"

#define PATIENCE 30000 /* milliseconds */
#define BODY     100   /* bytes: more than a message holds inside itself */

/* Options and connections go through here (CMake): of those that are set or made the `option_fails`-th or
 * `connection_fails`-th, counted from 1, fails. */
int __real_zmq_setsockopt(void *socket, int option, const void *value, size_t size);
int __wrap_zmq_setsockopt(void *socket, int option, const void *value, size_t size);

int __real_zmq_connect(void *socket, const char *endpoint);
int __wrap_zmq_connect(void *socket, const char *endpoint);

static unsigned options, option_fails, connection_fails;

int __wrap_zmq_connect(void *socket, const char *endpoint)
{
	if (connection_fails == 0 || --connection_fails > 0)
		return __real_zmq_connect(socket, endpoint);
	errno = EINVAL;
	return -1;
}

int __wrap_zmq_setsockopt(void *socket, int option, const void *value, size_t size)
{
	if (++options != option_fails)
		return __real_zmq_setsockopt(socket, option, value, size);
	errno = EINVAL;
	return -1;
}

typedef struct world {
	char folder[64];
	cop_config *config;
	cop_sockets sockets;
	void *context;    /* of the peers */
	unsigned threads; /* before ZeroMQ had any */
} world;

static cop_config *configured(const char *lists)
{
	char text[1024];
	cop_config *config = NULL;
	cop_config_report report;
	(void)snprintf(text, sizeof text,
	        "sockets { admin = { } %s }\njournal { sync = never }\n"
	        "model \"m\" { learner = dgt arms = 2 features = 2 height = 1 }\n",
	        lists);
	cop_config_report_init(&report);
	cop_err err = cop_config_parse(text, strlen(text), "text", NULL, &config, &report);
	if (err != COP_OK)
		fail_msg("%s", report.count > 0 ? report.items[0].message : cop_err_text(err));
	cop_config_report_fini(&report);
	return config;
}

/* Of this process. */
static unsigned threads(void)
{
	unsigned count = 0;
	DIR *tasks = opendir("/proc/self/task");
	assert_non_null(tasks);
	for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;)
		count += entry->d_name[0] != '.';
	(void)closedir(tasks);
	return count;
}

static int set_up(void **state)
{
	static world w;
	char lists[600];
	cop_diag diag = { .message = "" };
	w = (world){ .folder = "/tmp/test_sockets_XXXXXX", .context = zmq_ctx_new(), .threads = threads() };
	if (mkdtemp(w.folder) == NULL || w.context == NULL)
		return 1;
	(void)snprintf(lists, sizeof lists,
	        "requests = { \"ipc://%s/r\" } actions_bind = { \"ipc://%s/a\" } contexts_bind = { \"ipc://%s/c\" } "
	        "feedback_bind = { \"ipc://%s/f\", \"ipc://%s/g\" } feedback_pull_bind = { \"ipc://%s/p\" }",
	        w.folder, w.folder, w.folder, w.folder, w.folder, w.folder);
	w.config = configured(lists);
	*state = &w;
	return cop_sockets_open(&w.sockets, w.config, NULL, &diag) != COP_OK;
}

static int tear_down(void **state)
{
	world *w = *state;
	char command[96];
	(void)zmq_ctx_term(w->context);
	cop_sockets_close(&w->sockets);
	cop_config_free(w->config);
	for (int i = 0; i < PATIENCE && threads() != w->threads; i++)
		(void)usleep(1000);                                /* only the pace of polling */
	if (w->sockets.context != NULL || threads() != w->threads) /* ZeroMQ's are over */
		return 1;
	(void)snprintf(command, sizeof command, "rmdir %s", w->folder); /* the endpoints' files are gone */
	return system(command);
}

/* Connected to the endpoint of that name; the caller closes it. */
static void *peer(const world *w, int type, const char *name, const char *topic)
{
	char endpoint[128];
	int none = 0;
	void *socket = zmq_socket(w->context, type);
	assert_non_null(socket);
	assert_int_equal(zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof none), 0);
	assert_int_equal(zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none), 0);
	if (topic != NULL)
		assert_int_equal(zmq_setsockopt(socket, ZMQ_SUBSCRIBE, topic, strlen(topic)), 0);
	(void)snprintf(endpoint, sizeof endpoint, "ipc://%s/%s", w->folder, name);
	assert_int_equal(zmq_connect(socket, endpoint), 0);
	return socket;
}

static void wait_for(void *socket, short events)
{
	zmq_pollitem_t item = { .socket = socket, .events = events };
	assert_int_equal(zmq_poll(&item, 1, PATIENCE), 1);
}

/* A socket learns of its new peers while it is polled, too. */
static void wait_beside(void *ours, void *theirs)
{
	zmq_pollitem_t items[] = { { .socket = theirs, .events = ZMQ_POLLIN },
		{ .socket = ours, .events = ZMQ_POLLIN } };
	while ((items[0].revents & ZMQ_POLLIN) == 0)
		assert_true(zmq_poll(items, 2, PATIENCE) > 0);
}

static void receive(void *socket, cop_sockets_message *message)
{
	wait_for(socket, ZMQ_POLLIN);
	assert_true(cop_sockets_receive(socket, message));
}

static int option(void *socket, int name)
{
	int value = -1;
	size_t size = sizeof value;
	assert_int_equal(zmq_getsockopt(socket, name, &value, &size), 0);
	return value;
}

static void test_sockets_have_bounded_queues_and_heartbeats(void **state)
{
	const world *w = *state;
	void *const all[] = { w->sockets.requests, w->sockets.actions, w->sockets.contexts, w->sockets.feedback,
		w->sockets.pull };
	static const int types[] = { ZMQ_ROUTER, ZMQ_XPUB, ZMQ_SUB, ZMQ_SUB, ZMQ_PULL };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		assert_int_equal(option(all[i], ZMQ_TYPE), types[i]);
		assert_int_equal(option(all[i], ZMQ_SNDHWM), 65536);
		assert_int_equal(option(all[i], ZMQ_RCVHWM), i == 0 ? 1000 : 65536);
		assert_int_equal(option(all[i], ZMQ_HEARTBEAT_IVL), 10000);
		assert_int_equal(option(all[i], ZMQ_HEARTBEAT_TIMEOUT), 30000);
		assert_int_equal(option(all[i], ZMQ_LINGER), 1000);
	}
	assert_int_equal(w->sockets.fds, 5);
	static const size_t order[] = { 0, 2, 3, 4, 1 };
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(w->sockets.fd[i], option(all[order[i]], ZMQ_FD));
	assert_int_equal(w->sockets.file_count, 6);
	assert_int_equal(zmq_ctx_get(w->sockets.context, 10), 0); /* ZMQ_ZERO_COPY_RECV */
	assert_int_equal(zmq_ctx_get(w->sockets.actions_context, 10), 1);
}

/* Subscribers who come and go hold up no request. */
static void test_actions_have_a_thread_of_their_own(void **state)
{
	const world *w = *state;
	int events;
	size_t size = sizeof events;
	assert_int_equal(zmq_ctx_shutdown(w->sockets.actions_context), 0);
	assert_int_equal(zmq_getsockopt(w->sockets.requests, ZMQ_EVENTS, &events, &size), 0);
	assert_int_equal(zmq_getsockopt(w->sockets.actions, ZMQ_EVENTS, &events, &size), -1);
	assert_int_equal(errno, ETERM);
}

static void send_frames(void *socket, size_t count, size_t length)
{
	static const char text[BODY];
	for (size_t i = 0; i < count; i++)
		assert_int_equal(zmq_send(socket, text, length, i + 1 < count ? ZMQ_SNDMORE : 0), length);
}

static void test_messages_are_received_with_all_their_frames(void **state)
{
	const world *w = *state;
	cop_sockets_message message;
	void *from = peer(w, ZMQ_PUSH, "p", NULL);
	assert_false(cop_sockets_receive(w->sockets.pull, &message));
	assert_int_equal(message.count, 0);
	for (size_t frames = 1; frames <= COP_SOCKETS_FRAMES + 2; frames++) {
		send_frames(from, frames, BODY);
		receive(w->sockets.pull, &message);
		assert_int_equal(message.count, frames < COP_SOCKETS_FRAMES ? frames : COP_SOCKETS_FRAMES);
		assert_int_equal(message.too_many, frames > COP_SOCKETS_FRAMES);
		assert_int_equal(message.cost, frames * (BODY + COP_ZMTP_FRAME_COST));
		for (size_t i = 0; i < message.count; i++)
			assert_int_equal(zmq_msg_size(&message.frame[i]), BODY);
		cop_sockets_release(&message);
		assert_int_equal(message.count, 0);
		assert_false(cop_sockets_receive(w->sockets.pull, &message));
	}
	assert_int_equal(zmq_close(from), 0);
}

static void test_streams_hear_their_own_topics(void **state)
{
	const world *w = *state;
	static const char *const names[] = { "c", "f", "g" };
	static const char *const topics[] = { "ctx.m", "fb.m", "fb.m" };
	static const char *const others[] = { "ctx", "fb", "ctx.m" };
	for (size_t i = 0; i < 3; i++) {
		cop_sockets_message message;
		void *socket = i == 0 ? w->sockets.contexts : w->sockets.feedback;
		void *from = peer(w, ZMQ_XPUB, names[i], NULL);
		zmq_msg_t subscription;
		(void)zmq_msg_init(&subscription);
		wait_beside(socket, from);
		assert_true(zmq_msg_recv(&subscription, from, 0) > 0);
		assert_memory_equal(
		        (const char *)zmq_msg_data(&subscription) + 1, topics[i], zmq_msg_size(&subscription) - 1);
		(void)zmq_msg_close(&subscription);
		assert_true(zmq_send(from, others[i], strlen(others[i]), 0) > 0);
		assert_true(zmq_send(from, topics[i], strlen(topics[i]), 0) > 0);
		receive(socket, &message);
		assert_int_equal(zmq_msg_size(&message.frame[0]), strlen(topics[i]));
		assert_memory_equal(zmq_msg_data(&message.frame[0]), topics[i], strlen(topics[i]));
		cop_sockets_release(&message);
		assert_int_equal(zmq_close(from), 0);
	}
}

static void body_of(zmq_msg_t *body, uint8_t content)
{
	assert_int_equal(zmq_msg_init_size(body, BODY), 0);
	memset(zmq_msg_data(body), content, BODY);
}

static void expect_frame(void *socket, const void *content, size_t length, bool last)
{
	zmq_msg_t frame;
	(void)zmq_msg_init(&frame);
	wait_for(socket, ZMQ_POLLIN);
	assert_int_equal(zmq_msg_recv(&frame, socket, 0), length);
	assert_memory_equal(zmq_msg_data(&frame), content, length);
	assert_int_equal(zmq_msg_more(&frame), !last);
	(void)zmq_msg_close(&frame);
}

static void expect_body(void *socket, uint8_t content)
{
	uint8_t all[BODY];
	memset(all, content, sizeof all);
	expect_frame(socket, all, sizeof all, true);
}

static void test_answers_go_to_who_asked(void **state)
{
	world *w = *state;
	cop_sockets *s = &w->sockets;
	cop_sockets_message message;
	zmq_msg_t body;
	void *from = peer(w, ZMQ_DEALER, "r", NULL);
	for (uint8_t delimiter = 0; delimiter < 2; delimiter++) {
		send_frames(from, 1, BODY);
		receive(s->requests, &message);
		assert_int_equal(message.count, 2); /* who asked, and what */
		body_of(&body, 7 + delimiter);
		s->sent = false;
		cop_sockets_reply(s, s->requests, &message.frame[0], delimiter != 0, "ok", &body);
		assert_true(s->sent);
		assert_true(zmq_msg_size(&message.frame[0]) == 0 && zmq_msg_size(&body) == 0);
		if (delimiter != 0)
			expect_frame(from, "", 0, false);
		expect_frame(from, "ok", 2, false);
		expect_body(from, 7 + delimiter);
		cop_sockets_release(&message);
	}
	assert_int_equal(s->replies_dropped, 0);
	assert_int_equal(zmq_close(from), 0);
}

static void test_answers_to_nobody_are_counted(void **state)
{
	world *w = *state;
	for (unsigned i = 1; i <= 3; i++) {
		zmq_msg_t to, body;
		assert_int_equal(zmq_msg_init_size(&to, 3), 0);
		memcpy(zmq_msg_data(&to), "who", 3);
		body_of(&body, 1);
		cop_sockets_reply(&w->sockets, w->sockets.requests, &to, false, "ok", &body);
		assert_int_equal(w->sockets.replies_dropped, i);
		(void)zmq_msg_close(&to);
		(void)zmq_msg_close(&body);
	}
	assert_int_equal(cop_outflow_answers(w->sockets.outflow), 0);
}

/* Whether it was taken; a body that was not is as it was. */
static bool publish(world *w, uint8_t content)
{
	zmq_msg_t body;
	body_of(&body, content);
	bool taken = cop_sockets_publish(&w->sockets, "act.m", &body);
	assert_int_equal(zmq_msg_size(&body), taken ? 0 : BODY);
	if (!taken)
		for (size_t i = 0; i < BODY; i++)
			assert_int_equal(((const uint8_t *)zmq_msg_data(&body))[i], content);
	(void)zmq_msg_close(&body);
	return taken;
}

/* Until the number of subscriptions is that one. */
static void wait_subscribers(world *w, uint64_t count)
{
	while (w->sockets.subscribers != count) {
		wait_for(w->sockets.actions, ZMQ_POLLIN);
		cop_sockets_subscriptions(&w->sockets);
	}
}

/* Actions are counted until ZeroMQ's thread lets them go. */
static void wait_let_go(const world *w)
{
	for (int waited = 0; cop_outflow_actions(w->sockets.outflow) > 0; waited++) {
		assert_true(waited < PATIENCE);
		(void)zmq_poll(NULL, 0, 1);
	}
}

static void test_actions_go_to_who_hears_them(void **state)
{
	world *w = *state;
	assert_false(cop_sockets_heard(&w->sockets, "act.m"));
	assert_false(publish(w, 1));
	assert_true(w->sockets.sent);
	assert_int_equal(cop_outflow_actions(w->sockets.outflow), 0);
	void *other = peer(w, ZMQ_SUB, "a", "act.else");
	void *to = peer(w, ZMQ_SUB, "a", "act.m");
	wait_subscribers(w, 1); /* the other subscription matches no model */
	assert_true(cop_sockets_heard(&w->sockets, "act.m"));
	for (uint8_t i = 0; i < 3; i++) {
		w->sockets.sent = false;
		assert_true(publish(w, i));
		assert_true(w->sockets.sent);
		expect_frame(to, "act.m", 5, false);
		expect_body(to, i);
	}
	wait_let_go(w);
	assert_int_equal(w->sockets.actions_dropped, 0);
	assert_int_equal(zmq_close(to), 0);
	wait_subscribers(w, 0);
	assert_false(cop_sockets_heard(&w->sockets, "act.m"));
	assert_false(publish(w, 1));
	assert_int_equal(cop_outflow_actions(w->sockets.outflow), 0);
	assert_int_equal(zmq_close(other), 0);
}

static void test_action_without_memory_is_left_and_counted(void **state)
{
	world *w = *state;
	void *to = peer(w, ZMQ_SUB, "a", "act.");
	wait_subscribers(w, 1);
	cop_test_alloc_fail(1, 0);
	bool taken = publish(w, 1);
	cop_test_alloc_fail(0, 0);
	assert_false(taken);
	assert_int_equal(w->sockets.actions_dropped, 1);
	assert_int_equal(cop_outflow_actions(w->sockets.outflow), 0);
	assert_true(publish(w, 2));
	expect_frame(to, "act.m", 5, false);
	expect_body(to, 2);
	wait_let_go(w);
	assert_int_equal(zmq_close(to), 0);
}

/* One who does not read: the first action that finds the queue full is counted, those behind it are passed over. */
static void test_full_subscriber_is_passed_over(void **state)
{
	world *w = *state;
	int none = 1;
	void *slow = zmq_socket(w->context, ZMQ_SUB);
	char endpoint[128];
	assert_non_null(slow);
	assert_int_equal(zmq_setsockopt(slow, ZMQ_RCVHWM, &none, sizeof none), 0);
	assert_int_equal(zmq_setsockopt(slow, ZMQ_SUBSCRIBE, "act.", 4), 0);
	(void)snprintf(endpoint, sizeof endpoint, "ipc://%s/a", w->folder);
	assert_int_equal(zmq_connect(slow, endpoint), 0);
	wait_subscribers(w, 1);
	unsigned sent = 0;
	while (publish(w, (uint8_t)sent))
		assert_true(++sent < 1000000);
	assert_true(sent >= 65536);
	assert_int_equal(w->sockets.actions_dropped, 1);
	size_t waiting = cop_outflow_actions(w->sockets.outflow);
	assert_true(waiting > 0 && waiting % (BODY + COP_OUTFLOW_COST) == 0);
	assert_false(publish(w, 1));
	assert_int_equal(w->sockets.actions_dropped, 1);
	void *reader = peer(w, ZMQ_SUB, "a", "act.m");
	wait_subscribers(w, 2);
	for (uint8_t i = 0; i < 3; i++) { /* others are served on */
		assert_true(publish(w, i));
		expect_frame(reader, "act.m", 5, false);
		expect_body(reader, i);
	}
	assert_int_equal(zmq_close(reader), 0);
	wait_subscribers(w, 1);
	assert_int_equal(zmq_close(slow), 0);
	wait_subscribers(w, 0);
	wait_let_go(w);
}

static void test_subscriptions_are_counted(void **state)
{
	world *w = *state;
	void *one = peer(w, ZMQ_SUB, "a", "act.m");
	wait_subscribers(w, 1);
	void *all = peer(w, ZMQ_SUB, "a", "");
	wait_subscribers(w, 2);
	assert_int_equal(zmq_setsockopt(one, ZMQ_UNSUBSCRIBE, "act.m", 5), 0);
	wait_subscribers(w, 1);
	assert_true(cop_sockets_heard(&w->sockets, "act.m")); /* by who hears all */
	assert_int_equal(zmq_setsockopt(all, ZMQ_UNSUBSCRIBE, "", 0), 0);
	wait_subscribers(w, 0);
	assert_false(cop_sockets_heard(&w->sockets, "act.m"));
	cop_sockets_subscriptions(&w->sockets); /* nothing came */
	assert_int_equal(w->sockets.subscribers, 0);
	assert_int_equal(zmq_close(one), 0);
	assert_int_equal(zmq_close(all), 0);
}

/* What a socket is for is in the message when it cannot be opened; none is left behind. */
static void test_endpoint_that_cannot_be_opened_is_named(void **state)
{
	(void)state;
	cop_sockets sockets;
	cop_diag diag = { .message = "" };
	cop_config *config = configured("requests = { \"ipc:///nowhere/at/all\" }");
	assert_int_equal(cop_sockets_open(&sockets, config, NULL, &diag), COP_EIO);
	assert_string_equal(
	        diag.message, "sockets: requests: cannot bind ipc:///nowhere/at/all: No such file or directory");
	cop_sockets_close(&sockets);
	assert_null(sockets.requests);
	cop_config_free(config);
}

static void test_file_in_an_endpoints_place_is_left_alone(void **state)
{
	(void)state;
	char place[] = "/tmp/test_sockets_XXXXXX", lists[128];
	cop_sockets sockets;
	cop_diag diag = { .message = "" };
	int file = mkstemp(place);
	assert_true(file >= 0);
	(void)close(file);
	(void)snprintf(lists, sizeof lists, "requests = { \"ipc://%s\" }", place);
	cop_config *config = configured(lists);
	assert_int_equal(cop_sockets_open(&sockets, config, NULL, &diag), COP_EEXIST);
	assert_true(diag.message[0] != '\0');
	assert_int_equal(sockets.file_count, 0);
	cop_sockets_close(&sockets);
	assert_int_equal(unlink(place), 0);
	cop_config_free(config);
}

static void test_connection_that_cannot_be_made_is_named(void **state)
{
	(void)state;
	cop_sockets sockets;
	cop_diag diag = { .message = "" };
	cop_config *config = configured("feedback_connect = { \"tcp://127.0.0.1:5591\", \"tcp://127.0.0.1:5592\" }");
	connection_fails = 2;
	cop_err err = cop_sockets_open(&sockets, config, NULL, &diag);
	connection_fails = 0;
	assert_int_equal(err, COP_EIO);
	assert_string_equal(diag.message, "sockets: feedback: cannot connect tcp://127.0.0.1:5592: Invalid argument");
	cop_sockets_close(&sockets);
	cop_config_free(config);
}

static void test_option_that_cannot_be_set_is_an_error(void **state)
{
	(void)state;
	char lists[256];
	(void)snprintf(lists, sizeof lists,
	        "requests = { \"ipc:///tmp/test_sockets.%d.r\" } actions_bind = { \"ipc:///tmp/test_sockets.%d.a\" } "
	        "contexts_connect = { \"tcp://127.0.0.1:5591\" }",
	        (int)getpid(), (int)getpid());
	cop_config *config = configured(lists);
	cop_err err = COP_ENOMEM;
	unsigned n = 0;
	while (err != COP_OK) {
		cop_sockets s;
		cop_diag diag = { .message = "" };
		options = 0;
		option_fails = ++n;
		err = cop_sockets_open(&s, config, NULL, &diag);
		option_fails = 0;
		const char *which = n <= 6 ? "requests" : n <= 12 ? "actions_bind" : "contexts";
		char expected[100];
		(void)snprintf(expected, sizeof expected, "sockets: %s: %s", which, strerror(EINVAL));
		assert_int_equal(err, n <= 18 ? COP_ENOMEM : COP_OK);
		assert_string_equal(diag.message, n <= 18 ? expected : "");
		cop_sockets_close(&s); /* waits for sockets that are open */
	}
	assert_int_equal(n, 19);
	cop_config_free(config);
}

static void test_sockets_that_are_not_configured_are_not_there(void **state)
{
	(void)state;
	cop_sockets s;
	zmq_msg_t body;
	cop_config *config = configured("contexts_connect = { \"tcp://127.0.0.1:5591\" }");
	assert_int_equal(cop_sockets_open(&s, config, NULL, NULL), COP_OK);
	assert_non_null(s.contexts);
	assert_true(s.requests == NULL && s.feedback == NULL && s.pull == NULL && s.actions == NULL);
	assert_int_equal(s.fds, 1);
	assert_int_equal(s.fd[0], option(s.contexts, ZMQ_FD));
	assert_int_equal(s.file_count, 0);
	body_of(&body, 1);
	assert_true(cop_sockets_publish(&s, "act.m", &body)); /* nobody could hear it */
	assert_true(s.sent && s.actions_dropped == 0);
	(void)zmq_msg_close(&body);
	cop_sockets_subscriptions(&s);
	cop_sockets_close(&s);
	cop_config_free(config);
}

int main(void)
{
#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_WORLD(test_sockets_have_bounded_queues_and_heartbeats),
		WITH_WORLD(test_actions_have_a_thread_of_their_own),
		WITH_WORLD(test_messages_are_received_with_all_their_frames),
		WITH_WORLD(test_streams_hear_their_own_topics),
		WITH_WORLD(test_answers_go_to_who_asked),
		WITH_WORLD(test_answers_to_nobody_are_counted),
		WITH_WORLD(test_actions_go_to_who_hears_them),
		WITH_WORLD(test_action_without_memory_is_left_and_counted),
		WITH_WORLD(test_full_subscriber_is_passed_over),
		WITH_WORLD(test_subscriptions_are_counted),
		cmocka_unit_test(test_endpoint_that_cannot_be_opened_is_named),
		cmocka_unit_test(test_file_in_an_endpoints_place_is_left_alone),
		cmocka_unit_test(test_connection_that_cannot_be_made_is_named),
		cmocka_unit_test(test_option_that_cannot_be_set_is_an_error),
		cmocka_unit_test(test_sockets_that_are_not_configured_are_not_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
