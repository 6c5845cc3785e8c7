/* One that leads tells all others, at once and then once a second; peers that hear it are ROUTER sockets of the test's
 * own. */
#include "daemon/replica/replica_herald.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.h"

#define PATIENCE 10000 /* milliseconds, for what must come */
#define OTHERS   2

typedef struct world {
	char folder[64];
	cop_config *config;
	cop_sockets sockets;
	void *context, *peer[OTHERS];
	char endpoint[OTHERS + 1][96];
	char *items[OTHERS + 1];
	cop_config_list of;
	cop_replica_herald herald;
} world;

static cop_config *configured(const char *folder)
{
	char text[256];
	cop_config *config = NULL;
	cop_config_report report;
	(void)snprintf(text, sizeof text,
	        "sockets { admin = { } requests = { \"ipc://%s/r\" } }\nmodel \"m\" { arms = 2 features = 2 }\n",
	        folder);
	cop_config_report_init(&report);
	assert_int_equal(cop_config_parse(text, strlen(text), "text", NULL, &config, &report), COP_OK);
	cop_config_report_fini(&report);
	return config;
}

static void bind_peer(world *w, size_t i)
{
	w->peer[i] = zmq_socket(w->context, ZMQ_ROUTER);
	assert_non_null(w->peer[i]);
	assert_int_equal(zmq_bind(w->peer[i], w->endpoint[i]), 0);
}

static int set_up(void **state)
{
	static world w;
	cop_diag diag = { .message = "" };
	w = (world){ .folder = "/tmp/test_herald_XXXXXX", .context = zmq_ctx_new() };
	if (mkdtemp(w.folder) == NULL || w.context == NULL)
		return 1;
	w.config = configured(w.folder);
	if (cop_sockets_open(&w.sockets, w.config, NULL, &diag) != COP_OK)
		return 1;
	for (size_t i = 0; i < OTHERS; i++) {
		(void)snprintf(w.endpoint[i], sizeof w.endpoint[i], "ipc://%s/peer%zu", w.folder, i);
		w.items[i] = w.endpoint[i];
		bind_peer(&w, i);
	}
	w.of = (cop_config_list){ .items = w.items, .count = OTHERS };
	cop_replica_herald_init(&w.herald, &w.sockets, &w.of);
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	world *w = *state;
	char command[96];
	cop_replica_herald_end(&w->herald);
	cop_bytes_fini(&w->herald.head);
	for (size_t i = 0; i < OTHERS; i++)
		if (w->peer[i] != NULL)
			(void)zmq_close(w->peer[i]);
	(void)zmq_ctx_term(w->context);
	cop_sockets_close(&w->sockets);
	cop_config_free(w->config);
	(void)snprintf(command, sizeof command, "rm -rf %s", w->folder);
	return system(command); /* NOLINT: a test's own folder */
}

/* What the peer is told next: `leads` of that epoch; its teller's identity is in *who. */
static void expect(world *w, size_t i, uint64_t epoch, zmq_msg_t *who)
{
	cop_sockets_message got;
	cop_replica_message m;
	cop_wire_fault fault = { .message = "" };
	char text[64];
	zmq_pollitem_t item = { .socket = w->peer[i], .events = ZMQ_POLLIN };
	assert_int_equal(zmq_poll(&item, 1, PATIENCE), 1);
	assert_true(cop_sockets_receive(w->peer[i], &got));
	assert_int_equal(got.count, 2);
	assert_int_equal(
	        cop_replica_message_read(zmq_msg_data(&got.frame[1]), zmq_msg_size(&got.frame[1]), &m, &fault), COP_OK);
	assert_int_equal(m.kind, COP_REPLICA_LEADS);
	assert_int_equal(m.epoch, epoch);
	cop_replica_message_copy(m.leader, text, sizeof text);
	assert_string_equal(text, "ipc://link tcp://h:1");
	cop_replica_message_copy(m.requests, text, sizeof text);
	assert_string_equal(text, "tcp://h:2");
	if (who != NULL)
		assert_int_equal(zmq_msg_move(who, &got.frame[0]), 0);
	cop_sockets_release(&got);
}

static void turn(world *w, uint64_t epoch, double now)
{
	cop_replica_herald_turn(&w->herald, epoch, "ipc://link tcp://h:1", "tcp://h:2", now);
}

static void test_herald_tells_all_at_once_and_then_once_a_second(void **state)
{
	world *w = *state;
	turn(w, 7, 100.0);
	turn(w, 8, 100.0); /* not due: so the epochs that are heard count what was told */
	turn(w, 8, 100.9);
	turn(w, 9, 101.0);
	turn(w, 10, 101.5);
	turn(w, 11, 102.25); /* late: the next one is due a second behind it */
	turn(w, 12, 103.0);
	turn(w, 13, 103.25);
	static const uint64_t told[] = { 7, 9, 11, 13 };
	for (size_t i = 0; i < OTHERS; i++)
		for (size_t k = 0; k < sizeof told / sizeof *told; k++)
			expect(w, i, told[k], NULL);
}

static void test_herald_tells_the_others_where_one_cannot_be_reached(void **state)
{
	world *w = *state;
	static char nowhere[] = "nothing://of/the/kind";
	w->items[0] = nowhere;
	turn(w, 1, 1.0);
	turn(w, 2, 2.0);
	expect(w, 1, 1, NULL);
	expect(w, 1, 2, NULL);
	assert_null(w->herald.socket[0]);
	w->items[0] = w->endpoint[0]; /* it is tried again each time */
	turn(w, 3, 3.0);
	expect(w, 0, 3, NULL);
}

static void test_herald_passes_answers_over(void **state)
{
	world *w = *state;
	zmq_msg_t who;
	assert_int_equal(zmq_msg_init(&who), 0);
	turn(w, 1, 1.0);
	expect(w, 0, 1, &who);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(zmq_send(w->peer[0], zmq_msg_data(&who), zmq_msg_size(&who), ZMQ_SNDMORE) >= 0);
		assert_int_equal(zmq_send(w->peer[0], "\xc1", 1, 0), 1);
	}
	zmq_pollitem_t item = { .socket = w->herald.socket[0], .events = ZMQ_POLLIN };
	assert_int_equal(zmq_poll(&item, 1, PATIENCE), 1);
	for (double now = 2.0; zmq_poll(&item, 1, 0) > 0 || now < 4.0; now += 1.0)
		turn(w, 2, now);
	expect(w, 0, 2, NULL);
	(void)zmq_msg_close(&who);
}

static void test_herald_that_ended_lets_connections_go_and_begins_anew(void **state)
{
	world *w = *state;
	zmq_msg_t first, second;
	assert_int_equal(zmq_msg_init(&first), 0);
	assert_int_equal(zmq_msg_init(&second), 0);
	turn(w, 1, 50.0);
	expect(w, 0, 1, &first);
	expect(w, 1, 1, NULL);
	cop_replica_herald_end(&w->herald);
	for (size_t i = 0; i < COP_CONFIG_FOLLOWERS; i++)
		assert_null(w->herald.socket[i]);
	turn(w, 2, 50.1); /* at once, by another connection */
	expect(w, 0, 2, &second);
	expect(w, 1, 2, NULL);
	assert_true(zmq_msg_size(&first) != zmq_msg_size(&second) ||
	            memcmp(zmq_msg_data(&first), zmq_msg_data(&second), zmq_msg_size(&first)) != 0);
	(void)zmq_msg_close(&first);
	(void)zmq_msg_close(&second);
}

static void test_herald_reaches_one_that_comes_later(void **state)
{
	world *w = *state;
	/* not the place of the peer that is there: a closed socket is let go of at some time later */
	(void)snprintf(w->endpoint[1], sizeof w->endpoint[1], "ipc://%s/later", w->folder);
	assert_int_equal(zmq_close(w->peer[1]), 0);
	w->peer[1] = NULL;
	turn(w, 1, 1.0);
	expect(w, 0, 1, NULL);
	bind_peer(w, 1);
	turn(w, 2, 2.0);
	expect(w, 0, 2, NULL);
	expect(w, 1, 1, NULL); /* what waited for it, first */
	expect(w, 1, 2, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		        test_herald_tells_all_at_once_and_then_once_a_second, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		        test_herald_tells_the_others_where_one_cannot_be_reached, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_herald_passes_answers_over, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		        test_herald_that_ended_lets_connections_go_and_begins_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_herald_reaches_one_that_comes_later, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
