/* The bare server runs on a thread that is left to the process's end, as it has no other. */
#include "tests/bench/costs/client_echo.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "support.h"
#include "tests/bench/costs/wire_bare.h"

#define PATIENCE 30000 /* milliseconds */

static char folder[] = "/tmp/test_echo_XXXXXX", endpoint[64];
static void *context, *client;

static void *serve(void *argument)
{
	cop_diag diag;
	(void)argument;
	(void)!cop_client_echo(endpoint, &diag);
	return NULL;
}

static int start(void **state)
{
	static const int patience = PATIENCE, none;
	pthread_t thread;
	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(endpoint, sizeof endpoint, "ipc://%s/r", folder);
	context = zmq_ctx_new();
	client = zmq_socket(context, ZMQ_DEALER);
	assert_int_equal(zmq_setsockopt(client, ZMQ_RCVTIMEO, &patience, sizeof patience), 0);
	assert_int_equal(zmq_setsockopt(client, ZMQ_LINGER, &none, sizeof none), 0);
	assert_int_equal(zmq_connect(client, endpoint), 0);
	return pthread_create(&thread, NULL, serve, NULL) != 0 || pthread_detach(thread) != 0;
}

static int stop(void **state)
{
	char path[64];
	(void)state;
	(void)zmq_close(client);
	(void)zmq_ctx_term(context);
	(void)snprintf(path, sizeof path, "%s/r", folder);
	(void)unlink(path);
	return rmdir(folder);
}

/* So many frames before the last, which is a map {"id": id} or, not whole, its first byte. */
static void ask(size_t before, unsigned char id, bool whole)
{
	const unsigned char body[] = { 0x81, 0xa2, 'i', 'd', id };
	for (size_t i = 0; i < before; i++)
		assert_int_equal(zmq_send(client, "decide", 6, ZMQ_SNDMORE), 6);
	size_t length = whole ? sizeof body : 1;
	assert_int_equal(zmq_send(client, body, length, 0), length);
}

/* The next answer is that to {"id": id}: "ok" and what wire_bare makes. */
static void expect_answer(unsigned char id)
{
	const unsigned char body[] = { 0x81, 0xa2, 'i', 'd', id };
	char frame[256];
	int more;
	size_t size = sizeof more, length;
	const char *expected;
	cop_wire_bare *bare;
	assert_int_equal(cop_wire_bare_new(&bare), COP_OK);
	assert_int_equal(cop_wire_bare_answer(bare, body, sizeof body, &expected, &length), COP_OK);
	assert_int_equal(zmq_recv(client, frame, sizeof frame, 0), 2);
	assert_memory_equal(frame, "ok", 2);
	assert_int_equal(zmq_getsockopt(client, ZMQ_RCVMORE, &more, &size), 0);
	assert_true(more);
	assert_int_equal(zmq_recv(client, frame, sizeof frame, 0), length);
	assert_memory_equal(frame, expected, length);
	assert_int_equal(zmq_getsockopt(client, ZMQ_RCVMORE, &more, &size), 0);
	assert_false(more);
	cop_wire_bare_free(bare);
}

static void test_echo_answers_requests_in_their_order(void **state)
{
	(void)state;
	for (unsigned char id = 1; id < 100; id++)
		ask(2, id, true);
	for (unsigned char id = 1; id < 100; id++)
		expect_answer(id);
}

static void test_echo_drops_what_is_no_request(void **state)
{
	(void)state;
	for (size_t before = 0; before < 8; before++)
		if (before != 2)
			ask(before, 1, true);
	ask(2, 1, false);
	ask(2, 2, true);
	expect_answer(2);
	ask(2, 3, true);
	expect_answer(3);
}

static void test_echo_at_a_wrong_endpoint_is_refused(void **state)
{
	(void)state;
	cop_diag diag = { .message = "" };
	assert_int_equal(cop_client_echo("nowhere", &diag), COP_EINVAL);
	assert_string_equal(diag.source, "nowhere");
	assert_true(diag.message[0] != '\0');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_echo_answers_requests_in_their_order),
		cmocka_unit_test(test_echo_drops_what_is_no_request),
		cmocka_unit_test(test_echo_at_a_wrong_endpoint_is_refused),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
