/* wire_bare: the bare server's answers are of the daemon's shape. */
#include "support.h"

#include <stdbool.h>
#include <stdlib.h>

#include <msgpack.h>

#include "tests/bench/costs/wire_bare.h"
#include "wire/wire_context.h"
#include "wire/wire_cursor.h"
#include "wire/wire_feedback.h"
#include "wire/wire_items.h"
#include "wire/wire_put.h"
#include "wire/wire_reply.h"

static const float x[3] = { 1.0F, -2.0F, 0.5F };

static void put_request(cop_bytes *bytes, bool feedback, uint64_t id, const cop_wire_seq *seq)
{
	cop_wire_context context = { .has_x = true, .x = { .d = 3, .dense = x }, .seq = *seq };
	cop_wire_feedback result = { .loss = { 0.5 }, .losses = 1, .seq = *seq };
	cop_event_id_from_unsigned(&context.id, id);
	cop_event_id_from_unsigned(&result.id, id);
	if (feedback)
		cop_wire_feedback_put(bytes, &result, COP_WIRE_FORM_PACKED);
	else
		cop_wire_context_put(bytes, &context, COP_WIRE_FORM_PACKED);
}

/* The same number: a bare server need not keep how it was encoded. */
static void assert_seq(const cop_wire_seq *a, const cop_wire_seq *b)
{
	const cop_wire_seq *const both[] = { a, b };
	uint64_t number[2] = { 0, 0 };
	assert_int_equal(a->length != 0, b->length != 0);
	for (size_t i = 0; i < 2 && b->length != 0; i++) {
		cop_wire_cursor cursor;
		cop_wire_cursor_init(&cursor, both[i]->bytes, both[i]->length);
		assert_int_equal(cop_wire_cursor_unsigned(&cursor, &number[i]), COP_OK);
	}
	assert_true(number[0] == number[1]);
}

static void assert_answer(const void *body, size_t length, bool feedback, uint64_t number, const cop_wire_seq *seq)
{
	cop_event_id id, want;
	cop_wire_seq got;
	cop_event_id_from_unsigned(&want, number);
	if (feedback) {
		cop_wire_result result;
		assert_int_equal(cop_wire_reply_result_decode(body, length, &id, &result, &got, NULL), COP_OK);
		assert_int_equal(result, COP_WIRE_APPLIED);
	} else {
		cop_wire_action action;
		assert_int_equal(cop_wire_reply_action_decode(body, length, &action, NULL), COP_OK);
		assert_false(action.value);
		id = action.id;
		got = action.seq;
	}
	assert_true(cop_event_id_equal(&id, &want));
	assert_seq(&got, seq);
}

static void test_bare_answers_each_kind_of_request(void **state)
{
	(void)state;
	cop_wire_bare *bare;
	cop_bytes request;
	cop_bytes_init(&request);
	assert_int_equal(cop_wire_bare_new(&bare), COP_OK);
	for (unsigned kind = 0; kind < 4; kind++) {
		const char *answer;
		size_t length;
		cop_wire_seq seq = { 0 };
		if (kind & 2)
			cop_wire_seq_from_unsigned(&seq, 77);
		cop_bytes_clear(&request);
		put_request(&request, kind & 1, 5, &seq);
		assert_int_equal(cop_wire_bare_answer(bare, request.data, request.length, &answer, &length), COP_OK);
		assert_answer(answer, length, kind & 1, 5, &seq);
	}
	cop_wire_bare_free(bare);
	cop_bytes_fini(&request);
}

static void test_bare_answers_batches_in_order(void **state)
{
	(void)state;
	const cop_wire_seq none = { 0 };
	cop_wire_bare *bare;
	cop_bytes request;
	cop_wire_seq seq, got;
	cop_wire_items items;
	const char *answer;
	const void *item;
	size_t length;
	cop_bytes_init(&request);
	cop_wire_seq_from_unsigned(&seq, 3);
	cop_wire_items_put(&request, 20, &seq);
	for (uint64_t i = 0; i < 20; i++)
		put_request(&request, i % 2 != 0, i, &none);
	assert_int_equal(cop_wire_bare_new(&bare), COP_OK);
	assert_int_equal(cop_wire_bare_answer(bare, request.data, request.length, &answer, &length), COP_OK);
	assert_int_equal(cop_wire_items_batch(&items, answer, length, &got, NULL), COP_OK);
	assert_int_equal(items.count, 20);
	assert_seq(&got, &seq);
	for (uint64_t i = 0; cop_wire_items_next(&items, &item, &length); i++)
		assert_answer(item, length, i % 2 != 0, i, &none);
	cop_wire_bare_free(bare);
	cop_bytes_fini(&request);
}

static void test_bare_refuses_what_is_no_map(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t length;
	} wrong[] = { { "", 0 }, { "\xc0", 1 }, { "\x92\x01\x02", 3 }, { "\x81\xa2id", 4 } };
	cop_wire_bare *bare;
	const char *answer;
	size_t length;
	assert_int_equal(cop_wire_bare_new(&bare), COP_OK);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_not_equal(
		        cop_wire_bare_answer(bare, wrong[i].bytes, wrong[i].length, &answer, &length), COP_OK);
	cop_wire_bare_free(bare);
	cop_wire_bare_free(NULL);
	cop_test_alloc_fail(1, 0);
	assert_int_equal(cop_wire_bare_new(&bare), COP_ENOMEM);
	cop_test_alloc_fail(0, 0);
	assert_null(bare);
}

static void assert_bytes(cop_wire_bare *bare, const char *body, size_t length, const char *want, size_t wanted)
{
	const char *answer;
	size_t answered;
	assert_int_equal(cop_wire_bare_answer(bare, body, length, &answer, &answered), COP_OK);
	assert_int_equal(answered, wanted);
	assert_memory_equal(answer, want, wanted);
}

static void test_bare_answers_without_what_was_not_given(void **state)
{
	(void)state;
	static const char loss[] = "\x81\xa4loss\x01", items[] = "\x81\xa5items\x91\x81\xa4loss\x01";
	static const char none[] = "\x81\xa5items\x05";
	static const char applied[] = "\x81\xa6result\xa7"
	                              "applied",
	                  all[] = "\x81\xa5items\x91\x81\xa6result\xa7"
	                          "applied",
	                  empty[] = "\x81\xa5items\x90";
	cop_wire_bare *bare;
	assert_int_equal(cop_wire_bare_new(&bare), COP_OK);
	assert_bytes(bare, loss, sizeof loss - 1, applied, sizeof applied - 1);
	assert_bytes(bare, items, sizeof items - 1, all, sizeof all - 1);
	assert_bytes(bare, none, sizeof none - 1, empty, sizeof empty - 1);
	cop_wire_bare_free(bare);
}

/* A decision, with a propensity that is one, though a map within the request has a loss. */
static void test_bare_looks_at_the_request_alone(void **state)
{
	(void)state;
	static const char request[] = "\x81\xa1x\x81\xa4loss\x01";
	cop_wire_bare *bare;
	cop_bytes with_id;
	const char *answer;
	size_t length;
	cop_wire_action action;
	const cop_wire_seq none = { 0 };
	assert_int_equal(cop_wire_bare_new(&bare), COP_OK);
	assert_int_equal(cop_wire_bare_answer(bare, request, sizeof request - 1, &answer, &length), COP_OK);
	assert_int_equal((uint8_t)answer[0], 0x84);
	cop_bytes_init(&with_id);
	put_request(&with_id, false, 1, &none);
	assert_int_equal(cop_wire_bare_answer(bare, with_id.data, with_id.length, &answer, &length), COP_OK);
	assert_int_equal(cop_wire_reply_action_decode(answer, length, &action, NULL), COP_OK);
	assert_true(action.p > 0.0 && action.p <= 1.0);
	cop_bytes_fini(&with_id);
	cop_wire_bare_free(bare);
}

/* msgpack-c's memory: that of a request is the library's, that of the answer is reallocated here. */
static bool unpack_fails, realloc_fails;
msgpack_unpack_return __real_msgpack_unpack_next(
        msgpack_unpacked *result, const char *data, size_t length, size_t *off);
msgpack_unpack_return __wrap_msgpack_unpack_next(
        msgpack_unpacked *result, const char *data, size_t length, size_t *off);
void *__real_realloc(void *array, size_t bytes);
void *__wrap_realloc(void *array, size_t bytes);

msgpack_unpack_return __wrap_msgpack_unpack_next(msgpack_unpacked *result, const char *data, size_t length, size_t *off)
{
	return unpack_fails ? MSGPACK_UNPACK_NOMEM_ERROR : __real_msgpack_unpack_next(result, data, length, off);
}

void *__wrap_realloc(void *array, size_t bytes) { return realloc_fails ? NULL : __real_realloc(array, bytes); }

static void test_bare_without_memory_is_refused_and_goes_on(void **state)
{
	(void)state;
	static const char request[] = "\x81\xa2id\x05";
	cop_wire_bare *bare;
	const char *answer;
	size_t length;
	assert_int_equal(cop_wire_bare_new(&bare), COP_OK);
	unpack_fails = true;
	assert_int_equal(cop_wire_bare_answer(bare, request, sizeof request - 1, &answer, &length), COP_ENOMEM);
	unpack_fails = false;
	realloc_fails = true;
	assert_int_equal(cop_wire_bare_answer(bare, request, sizeof request - 1, &answer, &length), COP_ENOMEM);
	realloc_fails = false;
	assert_int_equal(cop_wire_bare_answer(bare, request, sizeof request - 1, &answer, &length), COP_OK);
	assert_int_equal((uint8_t)answer[0], 0x85);
	cop_wire_bare_free(bare);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bare_answers_each_kind_of_request),
		cmocka_unit_test(test_bare_answers_batches_in_order),
		cmocka_unit_test(test_bare_refuses_what_is_no_map),
		cmocka_unit_test(test_bare_answers_without_what_was_not_given),
		cmocka_unit_test(test_bare_looks_at_the_request_alone),
		cmocka_unit_test(test_bare_without_memory_is_refused_and_goes_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
