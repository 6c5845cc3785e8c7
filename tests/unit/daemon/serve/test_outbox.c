/* Answers alone: when they leave, in which order, and what they say once the journal cannot be written. What would go
 * to sockets is kept here instead. */
#include "support.h"

#include <stdbool.h>
#include <string.h>

#include "daemon/serve/outbox.h"
#include "wire/wire_items.h"
#include "wire/wire_put.h"
#include "wire/wire_reply.h"

#define MOST    600
#define ADDRESS 40 /* bytes: more than a message holds inside itself */

typedef struct kept {
	uint8_t body[1024];
	size_t length;
	bool ok, published, delimiter;
	char requester;
} kept;

static kept left[MOST];
static size_t left_count, unheard_count;
static bool somebody_hears = true, no_messages;
static char requester = 'a'; /* of what is put */

void __wrap_cop_sockets_reply(
        cop_sockets *sockets, void *socket, zmq_msg_t *to, bool delimiter, const char *status, zmq_msg_t *body);
bool __wrap_cop_sockets_publish(cop_sockets *sockets, const char *topic, zmq_msg_t *body);
int __real_zmq_msg_init_size(zmq_msg_t *message, size_t size);
int __wrap_zmq_msg_init_size(zmq_msg_t *message, size_t size);

int __wrap_zmq_msg_init_size(zmq_msg_t *message, size_t size)
{
	return no_messages ? -1 : __real_zmq_msg_init_size(message, size);
}

static void keep(zmq_msg_t *body, kept form)
{
	assert_true(left_count < MOST && zmq_msg_size(body) <= sizeof form.body);
	form.length = zmq_msg_size(body);
	memcpy(form.body, zmq_msg_data(body), form.length);
	left[left_count++] = form;
}

void __wrap_cop_sockets_reply(
        cop_sockets *sockets, void *socket, zmq_msg_t *to, bool delimiter, const char *status, zmq_msg_t *body)
{
	(void)sockets, (void)socket;
	assert_int_equal(zmq_msg_size(to), ADDRESS);
	for (size_t i = 0; i < ADDRESS; i++)
		assert_int_equal(((const char *)zmq_msg_data(to))[i], ((const char *)zmq_msg_data(to))[0]);
	keep(body, (kept){ .ok = strcmp(status, "ok") == 0,
	                   .delimiter = delimiter,
	                   .requester = ((const char *)zmq_msg_data(to))[0] });
}

bool __wrap_cop_sockets_publish(cop_sockets *sockets, const char *topic, zmq_msg_t *body)
{
	(void)sockets;
	assert_string_equal(topic, "act.m");
	if (somebody_hears)
		keep(body, (kept){ .ok = true, .published = true });
	return somebody_hears;
}

static void nobody(void *context, cop_outbox_item *item)
{
	assert_ptr_equal(context, &unheard_count);
	assert_string_equal(item->topic, "act.m");
	unheard_count++;
}

static void begin(cop_outbox *outbox)
{
	left_count = unheard_count = 0;
	somebody_hears = true;
	cop_outbox_init(outbox, nobody, &unheard_count);
}

/* An answer to a request, or an action of a stream. */
static void put(
        cop_outbox *outbox, cop_outbox_kind kind, uint64_t sequence, bool ok, bool stream, const cop_bytes *body)
{
	zmq_msg_t to;
	assert_int_equal(body->err, COP_OK);
	assert_int_equal(zmq_msg_init_size(&to, ADDRESS), 0);
	memset(zmq_msg_data(&to), requester, ADDRESS);
	char topic[] = "act.m";
	cop_outbox_item item = { .topic = stream ? topic : NULL,
		.ok = ok,
		.kind = kind,
		.sequence = sequence,
		.unordered = requester == 'u' };
	assert_int_equal(cop_outbox_put(outbox, item, stream ? NULL : &to, body), COP_OK);
	memset(topic, 'x', sizeof topic); /* whose model may be gone by the time it leaves */
	assert_int_equal(zmq_msg_size(&to), stream ? ADDRESS : 0);
	(void)zmq_msg_close(&to);
}

static void put_action(cop_bytes *bytes, uint64_t id, uint64_t seq)
{
	cop_wire_action action = { .a = 1, .p = 0.5, .rev = 7, .durable = true };
	cop_event_id_from_unsigned(&action.id, id);
	if (seq > 0)
		cop_wire_seq_from_unsigned(&action.seq, seq);
	cop_wire_reply_action_put(bytes, &action);
}

static void check_action(const void *body, size_t length, uint64_t id, bool durable)
{
	cop_wire_action action;
	cop_event_id want;
	cop_event_id_from_unsigned(&want, id);
	assert_int_equal(cop_wire_reply_action_decode(body, length, &action, NULL), COP_OK);
	assert_true(action.a == 1 && action.p == 0.5 && action.rev == 7 && action.durable == durable);
	assert_true(cop_event_id_equal(&action.id, &want));
}

static void test_answers_leave_in_order_once_their_records_are_committed(void **state)
{
	(void)state;
	cop_outbox outbox;
	cop_bytes body;
	size_t each = 0;
	begin(&outbox);
	cop_bytes_init(&body);
	size_t next = 0;
	for (uint64_t n = 0; n < MOST; n++) { /* the ring turns over while it grows */
		cop_bytes_clear(&body);
		for (int i = 0; i < 10; i++) /* more than a message holds inside itself */
			cop_bytes_put_u64(&body, n);
		put(&outbox, COP_OUTBOX_DECISION, n, true, n % 3 == 0, &body);
		each = each == 0 ? cop_outbox_bytes(&outbox) : each;
		if (n % 4 == 3)
			cop_outbox_send(&outbox, NULL, n / 2, false);
		for (; next < left_count; next++) {
			uint64_t number;
			memcpy(&number, left[next].body, sizeof number);
			assert_true(left[next].length == 80 && number == next);
			assert_int_equal(left[next].published, next % 3 == 0);
		}
		assert_int_equal(cop_outbox_count(&outbox), n + 1 - next);
		assert_int_equal(cop_outbox_bytes(&outbox), each * (n + 1 - next));
	}
	assert_int_equal(next, (MOST - 1) / 2 + 1);
	assert_true(each >= 80 + sizeof(cop_outbox_item));
	cop_outbox_send(&outbox, NULL, MOST - 2, false);
	assert_true(left_count == MOST - 1 && cop_outbox_count(&outbox) == 1);
	cop_outbox_fini(&outbox);
	cop_bytes_fini(&body);
}

static void test_one_that_waits_holds_up_those_behind_it(void **state)
{
	(void)state;
	cop_outbox outbox;
	cop_bytes body;
	begin(&outbox);
	cop_bytes_init(&body);
	cop_bytes_put_u8(&body, 1);
	put(&outbox, COP_OUTBOX_FEEDBACK, 5, true, false, &body);
	put(&outbox, COP_OUTBOX_PLAIN, 0, true, false, &body);
	cop_outbox_send(&outbox, NULL, 4, false);
	assert_int_equal(left_count, 0);
	cop_outbox_send(&outbox, NULL, 5, false);
	assert_int_equal(left_count, 2);
	cop_outbox_fini(&outbox);
	cop_bytes_fini(&body);
}

/* Whose they are and what they hold. */
static void assert_left(const char *requesters, const char *bodies)
{
	assert_int_equal(left_count, strlen(requesters));
	for (size_t i = 0; i < left_count; i++) {
		assert_int_equal(left[i].requester, requesters[i]);
		assert_int_equal(left[i].body[0], bodies[i]);
	}
}

static void put_of(cop_outbox *outbox, char whose, char content, cop_outbox_kind kind, uint64_t sequence, bool stream)
{
	cop_bytes body;
	cop_bytes_init(&body);
	cop_bytes_put_u8(&body, (uint8_t)content);
	requester = whose;
	put(outbox, kind, sequence, true, stream, &body);
	requester = 'a';
	cop_bytes_fini(&body);
}

static void test_what_says_nothing_about_the_journal_passes_others_answers(void **state)
{
	(void)state;
	cop_outbox outbox;
	begin(&outbox);
	put_of(&outbox, 'a', '1', COP_OUTBOX_FEEDBACK, 5, false);
	const size_t each = cop_outbox_bytes(&outbox);
	put_of(&outbox, 'b', '2', COP_OUTBOX_PLAIN, 0, false);
	put_of(&outbox, 'b', '3', COP_OUTBOX_DECISION, 6, false);
	put_of(&outbox, 'c', '4', COP_OUTBOX_DECISION, 0, false); /* a repeat, whose place is behind those before it */
	put_of(&outbox, 'b', '5', COP_OUTBOX_PLAIN, 0, false);
	put_of(&outbox, 'x', '6', COP_OUTBOX_PLAIN, 0, true);
	put_of(&outbox, 'a', '7', COP_OUTBOX_PLAIN, 0, false);
	cop_outbox_send(&outbox, NULL, 4, false);
	assert_left("b", "2");
	assert_int_equal(cop_outbox_count(&outbox), 6);
	assert_int_equal(cop_outbox_bytes(&outbox), 6 * each);
	put_of(&outbox, 'd', '8', COP_OUTBOX_PLAIN, 0, false);
	put_of(&outbox, 'd', '9', COP_OUTBOX_PLAIN, 0, false);
	put_of(&outbox, 'c', '0', COP_OUTBOX_PLAIN, 0, false);
	cop_outbox_send(&outbox, NULL, 4, false);
	assert_left("bdd", "289");
	left_count = 0;
	cop_outbox_send(&outbox, NULL, 5, false);
	assert_left("a", "1");
	put_of(&outbox, 'a', '+', COP_OUTBOX_PLAIN, 0, false); /* 7 waits still */
	put_of(&outbox, 'e', '-', COP_OUTBOX_PLAIN, 0, false);
	cop_outbox_send(&outbox, NULL, 5, false);
	assert_left("ae", "1-");
	left_count = 0;
	cop_outbox_send(&outbox, NULL, 6, false);
	assert_int_equal(left_count, 7);
	assert_int_equal(left[3].published, true);
	left[3].requester = 'x';
	assert_left("bcbxaca", "345670+");
	assert_int_equal(cop_outbox_bytes(&outbox), 0);
	put_of(&outbox, 'u', '1', COP_OUTBOX_FEEDBACK, 7, false);
	put_of(&outbox, 'u', '2', COP_OUTBOX_PLAIN, 0, false);
	left_count = 0;
	cop_outbox_send(&outbox, NULL, 6, false);
	assert_left("u", "2");
	cop_outbox_fini(&outbox);
}

static void test_actions_that_nobody_is_given_are_reported(void **state)
{
	(void)state;
	cop_outbox outbox;
	cop_bytes body;
	begin(&outbox);
	somebody_hears = false;
	cop_bytes_init(&body);
	put_action(&body, 1, 0);
	put(&outbox, COP_OUTBOX_DECISION, 1, true, true, &body);
	put(&outbox, COP_OUTBOX_DECISION, 1, true, false, &body);
	cop_outbox_send(&outbox, NULL, 1, false);
	assert_true(unheard_count == 1 && left_count == 1);
	cop_outbox_fini(&outbox);
	cop_bytes_fini(&body);
}

/* The i-th item of a batch or array. */
static const void *item_of(cop_wire_items items, size_t i, size_t *length)
{
	const void *item = NULL;
	for (size_t k = 0; k <= i; k++)
		assert_true(cop_wire_items_next(&items, &item, length));
	return item;
}

static void check_items(cop_wire_items items)
{
	size_t length;
	assert_int_equal(items.count, 3);
	const void *item = item_of(items, 0, &length);
	check_action(item, length, 11, false);
	item = item_of(items, 1, &length);
	assert_true(cop_wire_reply_is_error(item, length));
	item = item_of(items, 2, &length);
	check_action(item, length, 12, false);
}

static void put_items(cop_bytes *bytes)
{
	put_action(bytes, 11, 0);
	cop_wire_reply_error_put(bytes, COP_WIRE_BAD_FEATURES, "wrong", NULL, NULL);
	put_action(bytes, 12, 0);
}

static void test_decisions_that_a_broken_journal_lacks_say_so(void **state)
{
	(void)state;
	cop_outbox outbox;
	cop_bytes body;
	cop_wire_seq seq;
	cop_wire_items items;
	begin(&outbox);
	cop_bytes_init(&body);
	put_action(&body, 1, 0);
	put(&outbox, COP_OUTBOX_DECISION, 3, true, false, &body); /* is committed */
	put(&outbox, COP_OUTBOX_DECISION, 4, true, true, &body);
	cop_bytes_clear(&body);
	cop_wire_seq_from_unsigned(&seq, 9);
	cop_wire_items_put(&body, 3, &seq);
	put_items(&body);
	put(&outbox, COP_OUTBOX_DECISION, 4, true, false, &body);
	cop_bytes_clear(&body);
	cop_wire_put_array(&body, 3);
	put_items(&body);
	put(&outbox, COP_OUTBOX_DECISION, 5, true, true, &body);
	cop_bytes_clear(&body);
	cop_wire_put_array(&body, 20); /* of two bytes' length */
	for (uint64_t id = 0; id < 20; id++)
		put_action(&body, id, 0);
	put(&outbox, COP_OUTBOX_DECISION, 5, true, true, &body);
	cop_outbox_send(&outbox, NULL, 3, true);
	assert_true(left_count == 5 && cop_outbox_count(&outbox) == 0 && cop_outbox_bytes(&outbox) == 0);
	check_action(left[0].body, left[0].length, 1, true);
	check_action(left[1].body, left[1].length, 1, false);
	cop_wire_seq got;
	assert_int_equal(cop_wire_items_batch(&items, left[2].body, left[2].length, &got, NULL), COP_OK);
	assert_true(got.length == seq.length && memcmp(got.bytes, seq.bytes, seq.length) == 0);
	check_items(items);
	assert_int_equal(cop_wire_items_stream(&items, left[3].body, left[3].length, NULL), COP_OK);
	check_items(items);
	assert_int_equal(cop_wire_items_stream(&items, left[4].body, left[4].length, NULL), COP_OK);
	assert_int_equal(items.count, 20);
	size_t length;
	const void *last = item_of(items, 19, &length);
	check_action(last, length, 19, false);
	for (size_t i = 0; i < left_count; i++)
		assert_true(left[i].ok);
	cop_outbox_fini(&outbox);
	cop_bytes_fini(&body);
}

/* A map is an action, whichever of its three forms it has, and no array of them. */
static void test_maps_of_any_form_are_no_arrays(void **state)
{
	(void)state;
	static const char *const heads[] = { "", "\xde\0", "\xdf\0\0\0" };
	static const size_t lengths[] = { 0, 2, 4 };
	for (size_t form = 0; form < 3; form++) {
		cop_outbox outbox;
		cop_bytes action, body;
		begin(&outbox);
		cop_bytes_init(&action);
		cop_bytes_init(&body);
		put_action(&action, 7, 0);
		assert_int_equal(action.data[0] & 0xf0, 0x80);
		if (form > 0)
			action.data[0] &= 0x0f; /* the number of pairs */
		cop_bytes_put(&body, heads[form], lengths[form]);
		cop_bytes_put(&body, action.data, action.length);
		put(&outbox, COP_OUTBOX_DECISION, 2, true, true, &body);
		cop_outbox_send(&outbox, NULL, 1, true);
		assert_int_equal(left_count, 1);
		check_action(left[0].body, left[0].length, 7, false);
		cop_outbox_fini(&outbox);
		cop_bytes_fini(&action);
		cop_bytes_fini(&body);
	}
}

static void test_decision_without_content_stays_so(void **state)
{
	(void)state;
	cop_outbox outbox;
	cop_bytes body;
	begin(&outbox);
	cop_bytes_init(&body);
	put(&outbox, COP_OUTBOX_DECISION, 2, true, true, &body);
	assert_int_equal(cop_outbox_bytes(&outbox), sizeof(cop_outbox_item));
	cop_outbox_send(&outbox, NULL, 1, true);
	assert_true(left_count == 1 && left[0].length == 0);
	cop_outbox_fini(&outbox);
}

/* A decision, a batch of two and a feedback that had the version, and one of each that had not. */
static void test_what_is_told_as_not_durable_keeps_the_version(void **state)
{
	(void)state;
	cop_outbox outbox;
	cop_bytes body;
	cop_event_id id;
	begin(&outbox);
	cop_bytes_init(&body);
	cop_event_id_from_unsigned(&id, 5);
	for (int n = 0; n < 6; n++) {
		cop_bytes_clear(&body);
		if (n % 3 == 0) {
			put_action(&body, 1, 9);
		} else if (n % 3 == 1) {
			cop_wire_items_put(&body, 2, NULL);
			put_action(&body, 1, 0);
			put_action(&body, 2, 0);
		} else {
			cop_wire_reply_result_put(&body, &id, COP_WIRE_APPLIED, NULL);
		}
		if (n < 3)
			cop_wire_reply_version_put(&body, COP_VERSION);
		put(&outbox, n % 3 == 2 ? COP_OUTBOX_FEEDBACK : COP_OUTBOX_DECISION, 2, true, false, &body);
	}
	cop_outbox_send(&outbox, NULL, 1, true);
	assert_int_equal(left_count, 6);
	for (size_t n = 0; n < 6; n++)
		assert_int_equal(cop_wire_keys_has(left[n].body, left[n].length, "version"), n < 3);
	check_action(left[0].body, left[0].length, 1, false);
	cop_outbox_fini(&outbox);
	cop_bytes_fini(&body);
}

static void test_feedback_that_a_broken_journal_lacks_is_refused(void **state)
{
	(void)state;
	cop_outbox outbox;
	cop_bytes body, plain;
	cop_wire_seq seq, seq_back;
	cop_event_id id, id_back;
	cop_wire_fault error;
	begin(&outbox);
	cop_bytes_init(&body);
	cop_bytes_init(&plain);
	cop_event_id_from_unsigned(&id, 5);
	cop_wire_seq_from_unsigned(&seq, 9);
	cop_wire_reply_result_put(&body, &id, COP_WIRE_APPLIED, &seq);
	cop_bytes_put(&plain, "\x80", 1);
	put(&outbox, COP_OUTBOX_FEEDBACK, 2, true, false, &body);
	put(&outbox, COP_OUTBOX_PLAIN, 2, true, false, &plain);
	put(&outbox, COP_OUTBOX_FEEDBACK, 2, false, false, &plain); /* an error as it is */
	cop_outbox_send(&outbox, NULL, 1, true);
	assert_int_equal(left_count, 3);
	assert_int_equal(
	        cop_wire_reply_error_decode(left[0].body, left[0].length, &error, &id_back, &seq_back, NULL), COP_OK);
	assert_true(!left[0].ok && error.code == COP_WIRE_NOT_DURABLE);
	assert_true(cop_event_id_equal(&id_back, &id) && seq_back.length == seq.length);
	assert_memory_equal(seq_back.bytes, seq.bytes, seq.length);
	assert_true(left[1].ok && left[1].length == 1 && !left[2].ok && left[2].length == 1);
	assert_true(left[1].body[0] == 0x80 && left[2].body[0] == 0x80);
	cop_outbox_fini(&outbox);
	cop_bytes_fini(&body);
	cop_bytes_fini(&plain);
}

/* Room for usual answers was taken at the beginning. Without it feedback is refused all the same, with fewer words, and
 * a decision stands. */
static void test_answers_without_memory_are_no_better_than_they_are(void **state)
{
	(void)state;
	for (int room = 0; room < 2; room++) {
		cop_outbox outbox;
		cop_bytes body, result;
		cop_event_id id;
		cop_wire_seq seq;
		cop_wire_fault error;
		cop_test_alloc_fail(room ? 0 : 1, 0);
		begin(&outbox);
		assert_in_range(cop_test_alloc_bytes(), 65536, 65536 + 1024); /* and what base/mem adds */
		cop_test_alloc_fail(0, 0);
		cop_bytes_init(&body);
		cop_bytes_init(&result);
		cop_event_id_from_unsigned(&id, 5);
		put_action(&body, 1, 0);
		cop_wire_reply_result_put(&result, &id, COP_WIRE_APPLIED, NULL);
		put(&outbox, COP_OUTBOX_DECISION, 2, true, false, &body);
		put(&outbox, COP_OUTBOX_FEEDBACK, 2, true, false, &result);
		cop_test_alloc_fail(1, 1);
		cop_outbox_send(&outbox, NULL, 1, true);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(left_count, 2);
		check_action(left[0].body, left[0].length, 1, !room);
		assert_int_equal(
		        cop_wire_reply_error_decode(left[1].body, left[1].length, &error, &id, &seq, NULL), COP_OK);
		assert_true(!left[1].ok && error.code == COP_WIRE_NOT_DURABLE && (id.kind != 0) == room);
		if (!room)
			assert_string_equal(error.message, "not on disk: send it again soon");
		cop_outbox_fini(&outbox);
		cop_bytes_fini(&body);
		cop_bytes_fini(&result);
	}
}

static void test_answer_that_finds_no_room_is_not_taken(void **state)
{
	(void)state;
	cop_outbox outbox;
	cop_bytes body;
	begin(&outbox);
	cop_bytes_init(&body);
	put_action(&body, 1, 0);
	cop_test_alloc_fail(1, 0);
	assert_int_equal(cop_outbox_put(&outbox, (cop_outbox_item){ .topic = "act.m" }, NULL, &body), COP_ENOMEM);
	cop_test_alloc_fail(0, 0);
	no_messages = true;
	assert_int_equal(cop_outbox_put(&outbox, (cop_outbox_item){ .topic = "act.m" }, NULL, &body), COP_ENOMEM);
	no_messages = false;
	assert_true(cop_outbox_count(&outbox) == 0 && cop_outbox_bytes(&outbox) == 0);
	cop_outbox_fini(&outbox);
	cop_bytes_fini(&body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_leave_in_order_once_their_records_are_committed),
		cmocka_unit_test(test_one_that_waits_holds_up_those_behind_it),
		cmocka_unit_test(test_what_says_nothing_about_the_journal_passes_others_answers),
		cmocka_unit_test(test_actions_that_nobody_is_given_are_reported),
		cmocka_unit_test(test_decisions_that_a_broken_journal_lacks_say_so),
		cmocka_unit_test(test_maps_of_any_form_are_no_arrays),
		cmocka_unit_test(test_decision_without_content_stays_so),
		cmocka_unit_test(test_what_is_told_as_not_durable_keeps_the_version),
		cmocka_unit_test(test_feedback_that_a_broken_journal_lacks_is_refused),
		cmocka_unit_test(test_answers_without_memory_are_no_better_than_they_are),
		cmocka_unit_test(test_answer_that_finds_no_room_is_not_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
