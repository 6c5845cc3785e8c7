/* The engine against a made-up daemon in the same program: a ROUTER that the test answers by hand, so that what a
 * message holds, and when it comes again, is seen. No time is asserted: what must come is waited for. */
#include "clients/c/client_engine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "support.h"
#include "wire/wire_items.h"
#include "wire/wire_put.h"
#include "wire/wire_reply.h"

#define CALLS       200
#define PATIENCE_MS 60000

typedef struct world {
	void *context, *router;
	char endpoint[64];
	cop_client_engine *engine;
	uint64_t last; /* number of the newest message that was seen */
} world;

/* A request as it came. */
typedef struct seen {
	zmq_msg_t peer, verb, model, body;
	cop_wire_items items;
	cop_wire_seq seq;
} seen;

static void open_world(world *w, double timeout, double retry, size_t batch, size_t messages)
{
	static unsigned number;
	(void)snprintf(w->endpoint, sizeof w->endpoint, "ipc:///tmp/coppice-engine-%d-%u", (int)getpid(), number++);
	w->last = 0;
	w->context = zmq_ctx_new();
	w->router = zmq_socket(w->context, ZMQ_ROUTER);
	int patience = PATIENCE_MS, none = 0;
	(void)zmq_setsockopt(w->router, ZMQ_RCVTIMEO, &patience, sizeof patience);
	(void)zmq_setsockopt(w->router, ZMQ_LINGER, &none, sizeof none);
	assert_int_equal(zmq_bind(w->router, w->endpoint), 0);
	const cop_client_engine_settings set = {
		.endpoint = w->endpoint, .timeout = timeout, .retry = retry, .batch = batch, .messages = messages
	};
	cop_diag diag;
	assert_int_equal(cop_client_engine_open(&set, &w->engine, &diag), COP_OK);
}

static void close_world(world *w)
{
	cop_client_engine_close(w->engine);
	(void)zmq_close(w->router);
	(void)zmq_ctx_term(w->context);
	(void)unlink(w->endpoint + strlen("ipc://"));
}

static cop_client_call *begin(world *w, const char *verb, bool batched, unsigned number)
{
	cop_bytes body;
	cop_client_call *call;
	cop_bytes_init(&body);
	cop_wire_put_map(&body, 1);
	cop_wire_put_key_unsigned(&body, "id", number);
	cop_client_asked asked = { .verb = verb, .model = "m", .batched = batched, .body = &body };
	assert_int_equal(cop_client_engine_begin(w->engine, &asked, &call), COP_OK);
	return call;
}

static void next_of_all(world *w, seen *s)
{
	zmq_msg_t *frames[] = { &s->peer, &s->verb, &s->model, &s->body };
	for (size_t i = 0; i < 4; i++) {
		(void)zmq_msg_init(frames[i]);
		assert_true(zmq_msg_recv(frames[i], w->router, 0) >= 0);
		assert_int_equal(zmq_msg_more(frames[i]) != 0, i < 3);
	}
	assert_int_equal(
	        cop_wire_items_batch(&s->items, zmq_msg_data(&s->body), zmq_msg_size(&s->body), &s->seq, NULL), COP_OK);
}

static uint64_t number_of(const seen *s)
{
	uint64_t number;
	cop_wire_cursor cursor;
	cop_wire_cursor_init(&cursor, s->seq.bytes, s->seq.length);
	assert_int_equal(cop_wire_cursor_unsigned(&cursor, &number), COP_OK);
	return number;
}

static void drop(seen *s)
{
	zmq_msg_t *frames[] = { &s->peer, &s->verb, &s->model, &s->body };
	for (size_t i = 0; i < 4; i++)
		(void)zmq_msg_close(frames[i]);
}

/* The next new one: those that come again, since the test was slow, are left out. */
static void next(world *w, seen *s)
{
	next_of_all(w, s);
	while (number_of(s) <= w->last) {
		drop(s);
		next_of_all(w, s);
	}
	w->last = number_of(s);
}

static void answer(world *w, seen *s, const char *status, cop_bytes *body)
{
	assert_int_equal(body->err, COP_OK);
	(void)zmq_msg_send(&s->peer, w->router, ZMQ_SNDMORE);
	(void)zmq_send(w->router, status, strlen(status), ZMQ_SNDMORE);
	(void)zmq_send(w->router, body->data, body->length, 0);
	cop_bytes_fini(body);
	(void)zmq_msg_close(&s->verb);
	(void)zmq_msg_close(&s->model);
	(void)zmq_msg_close(&s->body);
}

/* Every item gets its own map back. */
static void echo(world *w, seen *s)
{
	cop_bytes body;
	const void *item;
	size_t length;
	cop_bytes_init(&body);
	cop_wire_items_put(&body, s->items.count, &s->seq);
	while (cop_wire_items_next(&s->items, &item, &length))
		cop_wire_put_raw(&body, item, length);
	answer(w, s, "ok", &body);
}

static void refuse(world *w, seen *s, cop_wire_code code)
{
	cop_bytes body;
	cop_bytes_init(&body);
	cop_wire_reply_error_put(&body, code, "no", NULL, &s->seq);
	answer(w, s, "error", &body);
}

/* The call's answer is the map that it sent. */
static void expect_own(world *w, cop_client_call *call, unsigned number)
{
	cop_client_answer got;
	cop_bytes own;
	cop_bytes_init(&own);
	cop_wire_put_map(&own, 1);
	cop_wire_put_key_unsigned(&own, "id", number);
	assert_int_equal(cop_client_engine_wait(w->engine, call, &got), COP_OK);
	assert_true(got.ok);
	assert_int_equal(got.body.length, own.length);
	assert_memory_equal(got.body.data, own.data, own.length);
	cop_bytes_fini(&own);
	cop_bytes_fini(&got.body);
}

static void expect_error(world *w, cop_client_call *call, cop_wire_code code)
{
	cop_client_answer got;
	cop_wire_fault fault;
	cop_event_id id;
	cop_wire_seq seq;
	assert_int_equal(cop_client_engine_wait(w->engine, call, &got), COP_OK);
	assert_false(got.ok);
	assert_int_equal(cop_wire_reply_error_decode(got.body.data, got.body.length, &fault, &id, &seq, NULL), COP_OK);
	assert_int_equal(fault.code, code);
	cop_bytes_fini(&got.body);
}

/* While the first messages are under way all others wait, and then leave together. */
static void test_calls_that_wait_together_are_one_message(void **state)
{
	(void)state;
	world w;
	seen s[2];
	cop_client_call *calls[CALLS];
	open_world(&w, 60.0, 60.0, 64, 1);
	for (unsigned i = 0; i < CALLS; i++)
		calls[i] = begin(&w, "decide_batch", true, i);
	size_t messages = 0, items = 0;
	for (; items < CALLS; messages++) {
		next(&w, &s[0]);
		assert_memory_equal(zmq_msg_data(&s[0].verb), "decide_batch", 12);
		assert_memory_equal(zmq_msg_data(&s[0].model), "m", 1);
		assert_in_range(s[0].items.count, 1, 64);
		items += s[0].items.count;
		echo(&w, &s[0]);
	}
	assert_in_range(messages, 4, 4 + 64); /* each of the first may have left before the next call was begun */
	for (unsigned i = 0; i < CALLS; i++)
		expect_own(&w, calls[i], i);
	cop_client_engine_counts counts;
	cop_client_engine_look(w.engine, &counts);
	assert_int_equal(counts.messages, messages);
	assert_int_equal(counts.calls, CALLS);
	assert_int_equal(counts.again, 0);
	close_world(&w);
}

static void test_message_without_answer_comes_again_the_same(void **state)
{
	(void)state;
	world w;
	seen first, second;
	open_world(&w, 60.0, 0.02, 64, 4);
	cop_client_call *call = begin(&w, "feedback_batch", true, 7);
	next(&w, &first);
	next_of_all(&w, &second);
	assert_int_equal(zmq_msg_size(&first.body), zmq_msg_size(&second.body));
	assert_memory_equal(zmq_msg_data(&first.body), zmq_msg_data(&second.body), zmq_msg_size(&first.body));
	echo(&w, &first);
	expect_own(&w, call, 7);
	echo(&w, &second); /* nobody waits for it any more */
	call = begin(&w, "feedback_batch", true, 8);
	next(&w, &first);
	echo(&w, &first);
	expect_own(&w, call, 8);
	close_world(&w);
}

static void test_busy_is_waited_out_and_other_errors_are_not(void **state)
{
	(void)state;
	static const cop_wire_code waited[] = { COP_WIRE_BUSY, COP_WIRE_NOT_DURABLE };
	world w;
	seen s;
	open_world(&w, 60.0, 0.001, 64, 1);
	for (size_t i = 0; i < 2; i++) {
		cop_client_call *call = begin(&w, "decide_batch", true, 1);
		for (int times = 0; times < 3; times++) {
			next(&w, &s);
			refuse(&w, &s, waited[i]);
		}
		cop_client_call *wrong = begin(&w, "feedback_batch", true, 2);
		for (int left = 2; left > 0; left--) { /* in either order */
			next(&w, &s);
			if (memcmp(zmq_msg_data(&s.verb), "f", 1) == 0)
				refuse(&w, &s, COP_WIRE_FORBIDDEN);
			else
				echo(&w, &s);
		}
		expect_error(&w, wrong, COP_WIRE_FORBIDDEN);
		expect_own(&w, call, 1);
	}
	close_world(&w);
}

/* Some items are done, one is wrong, one is busy and comes again alone. */
static void test_items_have_answers_of_their_own(void **state)
{
	(void)state;
	world w;
	seen s;
	cop_client_call *calls[3];
	open_world(&w, 60.0, 0.001, 64, 1);
	cop_client_call *first = begin(&w, "decide_batch", true, 99); /* the others wait behind it */
	next(&w, &s);
	for (unsigned i = 0; i < 3; i++)
		calls[i] = begin(&w, "decide_batch", true, i);
	echo(&w, &s);
	expect_own(&w, first, 99);
	next(&w, &s);
	assert_int_equal(s.items.count, 3);
	cop_bytes body;
	const void *item;
	size_t length;
	cop_bytes_init(&body);
	cop_wire_items_put(&body, 3, &s.seq);
	(void)cop_wire_items_next(&s.items, &item, &length);
	cop_wire_put_raw(&body, item, length);
	cop_wire_reply_error_put(&body, COP_WIRE_BAD_FEATURES, "no", NULL, NULL);
	cop_wire_reply_error_put(&body, COP_WIRE_BUSY, "no", NULL, NULL);
	answer(&w, &s, "ok", &body);
	expect_own(&w, calls[0], 0);
	expect_error(&w, calls[1], COP_WIRE_BAD_FEATURES);
	next(&w, &s);
	assert_int_equal(s.items.count, 1);
	echo(&w, &s);
	expect_own(&w, calls[2], 2);
	close_world(&w);
}

static void test_message_that_is_too_long_is_divided(void **state)
{
	(void)state;
	world w;
	seen s;
	cop_client_call *calls[8];
	open_world(&w, 60.0, 60.0, 64, 1);
	cop_client_call *first = begin(&w, "decide_batch", true, 99);
	next(&w, &s);
	for (unsigned i = 0; i < 8; i++)
		calls[i] = begin(&w, "decide_batch", true, i);
	echo(&w, &s);
	expect_own(&w, first, 99);
	size_t done = 0, largest = 0;
	while (done < 8) {
		next(&w, &s);
		if (s.items.count > 2) {
			refuse(&w, &s, COP_WIRE_TOO_LARGE);
			continue;
		}
		largest = s.items.count > largest ? s.items.count : largest;
		done += s.items.count;
		echo(&w, &s);
	}
	assert_int_equal(largest, 2);
	for (unsigned i = 0; i < 8; i++)
		expect_own(&w, calls[i], i);
	first = begin(&w, "decide_batch", true, 5); /* one alone cannot be divided */
	next(&w, &s);
	refuse(&w, &s, COP_WIRE_TOO_LARGE);
	expect_error(&w, first, COP_WIRE_TOO_LARGE);
	close_world(&w);
}

static void test_calls_end_when_their_time_is_over(void **state)
{
	(void)state;
	world w;
	seen s;
	cop_client_answer got;
	open_world(&w, 0.2, -1.0, 2, 1);
	cop_client_call *calls[5];
	for (unsigned i = 0; i < 5; i++)
		calls[i] = begin(&w, "decide_batch", true, i);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(cop_client_engine_wait(w.engine, calls[i], &got), COP_EEND);
	next(&w, &s); /* what had left; an answer now finds nobody */
	echo(&w, &s);
	close_world(&w);
}

/* Bodies that are no answers; a single verb has its body with a seq, and the answer whole. */
static void test_single_calls_and_answers_of_others(void **state)
{
	(void)state;
	world w;
	cop_client_answer got;
	open_world(&w, 60.0, 60.0, 64, 4);
	cop_client_call *call = begin(&w, "activate", false, 3);
	zmq_msg_t frames[4];
	for (size_t i = 0; i < 4; i++) {
		(void)zmq_msg_init(&frames[i]);
		assert_true(zmq_msg_recv(&frames[i], w.router, 0) >= 0);
	}
	cop_event_id id;
	cop_wire_seq seq;
	cop_wire_envelope(zmq_msg_data(&frames[3]), zmq_msg_size(&frames[3]), &id, &seq);
	assert_int_equal(id.kind, COP_EVENT_ID_UNSIGNED);
	assert_true(seq.length > 0);
	static const char *const wrong[] = { "\xc1", "\x80", "\x81\xa3seq\x7f" };
	for (size_t i = 0; i < 3; i++) { /* none of them is this call's */
		zmq_msg_t peer;
		(void)zmq_msg_init(&peer);
		(void)zmq_msg_copy(&peer, &frames[0]);
		(void)zmq_msg_send(&peer, w.router, ZMQ_SNDMORE);
		(void)zmq_send(w.router, "ok", 2, ZMQ_SNDMORE);
		(void)zmq_send(w.router, wrong[i], strlen(wrong[i]), 0);
	}
	cop_bytes body;
	cop_bytes_init(&body);
	cop_wire_reply_result_put(&body, &id, COP_WIRE_APPLIED, &seq);
	(void)zmq_msg_send(&frames[0], w.router, ZMQ_SNDMORE);
	(void)zmq_send(w.router, "ok", 2, ZMQ_SNDMORE);
	(void)zmq_send(w.router, body.data, body.length, 0);
	assert_int_equal(cop_client_engine_wait(w.engine, call, &got), COP_OK);
	assert_true(got.ok && got.body.length == body.length);
	cop_bytes_fini(&got.body);
	cop_bytes_fini(&body);
	for (size_t i = 1; i < 4; i++)
		(void)zmq_msg_close(&frames[i]);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_that_wait_together_are_one_message),
		cmocka_unit_test(test_message_without_answer_comes_again_the_same),
		cmocka_unit_test(test_busy_is_waited_out_and_other_errors_are_not),
		cmocka_unit_test(test_items_have_answers_of_their_own),
		cmocka_unit_test(test_message_that_is_too_long_is_divided),
		cmocka_unit_test(test_calls_end_when_their_time_is_over),
		cmocka_unit_test(test_single_calls_and_answers_of_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
