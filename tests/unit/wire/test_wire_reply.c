/* wire_reply: what the daemon writes is what its clients read, bit for bit. */
#include "support.h"

#include <string.h>

#include "wire/wire_reply.h"
#include "wire_fixture.h"

static cop_wire_fault fault;

static void test_action_arm_written_is_read_back(void **state)
{
	(void)state;
	cop_wire_action in = { .a = 4, .p = 0.93333333333333335, .greedy = true, .rev = 12, .durable = true }, out;
	assert_true(cop_event_id_from_bytes(&in.id, COP_EVENT_ID_STRING, "u1-17", 5));
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	for (int round = 0; round < COP_WIRE_LIMITS; round++) {
		in.limit = (cop_wire_limit)round;
		cop_bytes_clear(&bytes);
		cop_wire_reply_action_put(&bytes, &in);
		assert_int_equal(cop_wire_reply_action_decode(bytes.data, bytes.length, &out, &fault), COP_OK);
		assert_true(cop_event_id_equal(&in.id, &out.id));
		assert_int_equal(out.limit, round);
		assert_int_equal(cop_wire_keys_has(bytes.data, bytes.length, "limit"), round > 0);
		assert_true(!out.value && out.a == 4 && out.p == in.p && out.greedy && out.rev == 12);
		assert_int_equal(out.durable, in.durable);
		assert_int_equal(out.repeated, in.repeated);
		assert_int_equal(cop_wire_keys_has(bytes.data, bytes.length, "repeated"), in.repeated);
		assert_int_equal(out.seq.length, in.seq.length);
		assert_false(cop_wire_reply_is_error(bytes.data, bytes.length));
		in.durable = false;
		in.repeated = true;
		cop_wire_seq_from_unsigned(&in.seq, 5);
	}
	cop_bytes_fini(&bytes);
}

static void test_action_value_written_is_read_back(void **state)
{
	(void)state;
	cop_wire_action in = { .value = true, .y = 0.5, .probes = 2, .probe = { 0.6, 0.4 }, .rev = 1, .durable = true };
	cop_wire_action out;
	cop_event_id_from_signed(&in.id, -9);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	for (in.probes = 1; in.probes <= 2; in.probes++) {
		cop_bytes_clear(&bytes);
		cop_wire_reply_action_put(&bytes, &in);
		assert_int_equal(cop_wire_reply_action_decode(bytes.data, bytes.length, &out, &fault), COP_OK);
		assert_true(out.value && out.y == 0.5 && out.probes == in.probes && out.probe[0] == 0.6);
		assert_true(in.probes == 1 || out.probe[1] == 0.4);
	}
	cop_bytes_fini(&bytes);
}

static void test_result_written_is_read_back(void **state)
{
	(void)state;
	cop_event_id in, out;
	cop_wire_seq seq = { .length = 1, .bytes = { 0xc3 } }, seq_out;
	cop_wire_result result;
	cop_event_id_from_unsigned(&in, 17);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	for (unsigned i = 0; i < COP_WIRE_RESULT_COUNT; i++) {
		cop_bytes_clear(&bytes);
		cop_wire_reply_result_put(&bytes, &in, (cop_wire_result)i, i % 2 ? &seq : NULL);
		assert_int_equal(
		        cop_wire_reply_result_decode(bytes.data, bytes.length, &out, &result, &seq_out, &fault),
		        COP_OK);
		assert_int_equal(result, i);
		assert_true(cop_event_id_equal(&in, &out));
		assert_int_equal(seq_out.length, i % 2);
	}
	cop_bytes_fini(&bytes);
}

static void test_error_written_is_read_back(void **state)
{
	(void)state;
	cop_event_id in, out;
	cop_wire_seq seq = { .length = 1, .bytes = { 7 } }, seq_out;
	cop_wire_fault error;
	assert_true(cop_event_id_from_bytes(&in, COP_EVENT_ID_BINARY, "\xff", 1));
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_reply_error_put(&bytes, COP_WIRE_BUSY, "come\xff back later", &in, &seq);
	assert_true(cop_wire_reply_is_error(bytes.data, bytes.length));
	assert_int_equal(cop_wire_reply_error_decode(bytes.data, bytes.length, &error, &out, &seq_out, &fault), COP_OK);
	assert_int_equal(error.code, COP_WIRE_BUSY);
	assert_string_equal(error.message, "come? back later");
	assert_true(cop_event_id_equal(&in, &out));
	assert_int_equal(seq_out.length, 1);
	cop_bytes_clear(&bytes);
	cop_wire_reply_error_put(&bytes, COP_WIRE_INTERNAL, "", NULL, NULL);
	assert_int_equal(cop_wire_reply_error_decode(bytes.data, bytes.length, &error, &out, &seq_out, &fault), COP_OK);
	assert_true(error.code == COP_WIRE_INTERNAL && out.kind == 0 && seq_out.length == 0);
	cop_bytes_clear(&bytes);
	put_message(&bytes, "{'code': 'from_the_future', 'message': 'm'}");
	assert_int_equal(cop_wire_reply_error_decode(bytes.data, bytes.length, &error, &out, &seq_out, &fault), COP_OK);
	assert_int_equal(error.code, COP_WIRE_INTERNAL);
	cop_bytes_fini(&bytes);
}

static cop_err decode_action(fixture *f, const void *body, size_t length)
{
	(void)f;
	cop_wire_action out;
	return cop_wire_reply_action_decode(body, length, &out, &fault);
}

static cop_err decode_result(fixture *f, const void *body, size_t length)
{
	(void)f;
	cop_event_id id;
	cop_wire_result result;
	cop_wire_seq seq;
	return cop_wire_reply_result_decode(body, length, &id, &result, &seq, &fault);
}

static cop_err decode_error(fixture *f, const void *body, size_t length)
{
	(void)f;
	cop_event_id id;
	cop_wire_seq seq;
	cop_wire_fault error;
	(void)cop_wire_reply_is_error(body, length);
	return cop_wire_reply_error_decode(body, length, &error, &id, &seq, &fault);
}

static void test_replies_wrong_are_refused_in_words(void **state)
{
	(void)state;
	static const struct {
		decoder decode;
		refusal refusal;
	} cases[] = {
		{ decode_action, { "{'id': 1, 'a': 1, 'p': 1}", COP_WIRE_BAD_REQUEST, "rev: the key is missing" } },
		{ decode_action, { "{'id': 1, 'rev': 1, 'p': 1}", COP_WIRE_BAD_REQUEST, "a: the key is missing" } },
		{ decode_action, { "{'id': 1, 'rev': 1, 'y': 1}", COP_WIRE_BAD_REQUEST, "probe: the key is missing" } },
		{ decode_action, { "{'probe': [1, 2, 3]}", COP_WIRE_BAD_REQUEST, "probe: got an array" } },
		{ decode_action, { "{'greedy': 1}", COP_WIRE_BAD_REQUEST, "greedy: got an integer" } },
		{ decode_result,
		        { "{'id': 1, 'result': 'eaten'}", COP_WIRE_BAD_REQUEST, "result: 'eaten' is not known" } },
		{ decode_result, { "{'id': 1, 'result': 1}", COP_WIRE_BAD_REQUEST, "result: got an integer" } },
		{ decode_result, { "{'result': 'applied'}", COP_WIRE_BAD_REQUEST, "id: the key is missing" } },
		{ decode_error, { "{'code': 'busy'}", COP_WIRE_BAD_REQUEST, "message: the key is missing" } },
		{ decode_error, { "{'code': 5, 'message': ''}", COP_WIRE_BAD_REQUEST, "code: got an integer" } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		put_message(&bytes, cases[i].refusal.message);
		assert_refused(&fault, cases[i].decode(NULL, bytes.data, bytes.length), &cases[i].refusal);
		cop_bytes_fini(&bytes);
	}
}

/* Every key of an action with a value of no type that it could have. */
static void test_action_whose_value_is_of_the_wrong_type_is_refused_by_its_key(void **state)
{
	(void)state;
	static const char *const keys[] = { "a", "p", "rev", "greedy", "by", "limit", "y", "probe", "repeated",
		"durable" };
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		char text[64], want[64];
		cop_bytes bytes;
		(void)snprintf(text, sizeof text, "{'%s': {}}", keys[i]);
		(void)snprintf(want, sizeof want, "%s: got a map", keys[i]);
		const refusal refused = { text, COP_WIRE_BAD_REQUEST, want };
		cop_bytes_init(&bytes);
		put_message(&bytes, text);
		assert_refused(&fault, decode_action(NULL, bytes.data, bytes.length), &refused);
		cop_bytes_fini(&bytes);
	}
}

static void test_replies_cut_or_changed_are_never_read_out_of_bounds(void **state)
{
	(void)state;
	static const struct {
		decoder decode;
		const char *text;
	} cases[] = { { decode_action, "{'id': 'u', 'a': 3, 'p': 0.5, 'rev': 2, 'greedy': true, 'seq': 4}" },
		{ decode_action, "{'id': 'u', 'y': 3, 'probe': [0.5, 1], 'rev': 2, 'durable': false}" },
		{ decode_result, "{'id': 'u', 'result': 'applied', 'seq': 'abc'}" },
		{ decode_error, "{'code': 'bad_loss', 'message': 'loss: 7', 'id': 5}" } };
	for (size_t i = 0; i < 4; i++) {
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		put_message(&bytes, cases[i].text);
		assert_int_equal(cases[i].decode(NULL, bytes.data, bytes.length), COP_OK);
		sweep_truncations(NULL, cases[i].decode, &bytes);
		sweep_mutations(NULL, cases[i].decode, &bytes);
		cop_bytes_fini(&bytes);
	}
}

static void test_replies_reuse_their_buffer(void **state)
{
	(void)state;
	cop_wire_action action = { .a = 1, .p = 0.5, .rev = 1, .durable = true };
	cop_event_id_from_unsigned(&action.id, 1);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_reply_action_put(&bytes, &action);
	cop_test_alloc_fail(0, 0);
	for (int i = 0; i < 100; i++) {
		cop_bytes_clear(&bytes);
		cop_wire_reply_action_put(&bytes, &action);
		cop_bytes_clear(&bytes);
		cop_wire_reply_result_put(&bytes, &action.id, COP_WIRE_APPLIED, NULL);
	}
	assert_int_equal(cop_test_alloc_count(), 0);
	cop_bytes_fini(&bytes);
}

/* Lists that only the encoder knows stay, and a second mark adds nothing. */
static void test_action_marked_as_not_durable_keeps_the_rest(void **state)
{
	(void)state;
	static const uint32_t order[] = { 2, 0, 1 };
	static const double probability[] = { 0.25, 0.25, 0.5 };
	cop_wire_action action = { .a = 2,
		.arm = "blue",
		.arm_length = 4,
		.p = 0.5,
		.rev = 3,
		.durable = true,
		.order = order,
		.order_count = 3,
		.probability = probability,
		.probability_count = 3 };
	cop_bytes whole, marked, again;
	cop_bytes_init(&whole);
	cop_bytes_init(&marked);
	cop_bytes_init(&again);
	cop_event_id_from_unsigned(&action.id, 7);
	cop_wire_seq_from_unsigned(&action.seq, 9);
	cop_wire_reply_action_put(&whole, &action);
	cop_wire_reply_action_mark(&marked, whole.data, whole.length);
	assert_int_equal(marked.length, whole.length + 1 + strlen("durable") + 1);
	assert_int_equal(marked.data[0], whole.data[0] + 1); /* pairs of a small map */
	assert_memory_equal(marked.data + 1, whole.data + 1, whole.length - 1);
	cop_wire_action read;
	assert_int_equal(cop_wire_reply_action_decode(marked.data, marked.length, &read, NULL), COP_OK);
	assert_true(!read.durable && read.a == 2 && read.rev == 3);
	cop_wire_reply_action_mark(&again, marked.data, marked.length);
	assert_int_equal(again.length, marked.length);
	assert_memory_equal(again.data, marked.data, marked.length);
	cop_bytes_clear(&again);
	cop_wire_reply_action_mark(&again, "\xa1x", 2); /* no action */
	assert_int_equal(again.length, 2);
	cop_bytes_fini(&whole);
	cop_bytes_fini(&marked);
	cop_bytes_fini(&again);
}

/* By the map's old and new count: the header grows at 16 and at 65,536 pairs. */
static void test_reply_gets_the_version_as_its_last_key(void **state)
{
	(void)state;
	static const size_t counts[] = { 0, 1, 14, 15, 16, 17, 65534, 65535, 65536 };
	cop_bytes bytes, wanted;
	cop_bytes_init(&bytes);
	cop_bytes_init(&wanted);
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		cop_bytes_clear(&bytes);
		cop_bytes_clear(&wanted);
		cop_wire_put_map(&bytes, counts[i]);
		cop_wire_put_map(&wanted, counts[i] + 1);
		for (size_t k = 0; k < counts[i]; k++) {
			cop_wire_put_key_unsigned(&bytes, "k", k);
			cop_wire_put_key_unsigned(&wanted, "k", k);
		}
		cop_wire_put_key_text(&wanted, "version", "12.34.56");
		cop_wire_reply_version_put(&bytes, "12.34.56");
		assert_int_equal(bytes.err, COP_OK);
		assert_int_equal(bytes.length, wanted.length);
		assert_memory_equal(bytes.data, wanted.data, wanted.length);
	}
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&wanted);
}

static void test_version_without_memory_leaves_the_reply(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_put_map(&bytes, 15);
	while (bytes.length < bytes.capacity) /* of these or more pairs */
		cop_bytes_put_u8(&bytes, 0xc0);
	size_t length = bytes.length;
	cop_test_alloc_fail(1, 0);
	cop_wire_reply_version_put(&bytes, "12.34.56");
	cop_test_alloc_fail(0, 0);
	assert_int_equal(bytes.err, COP_ENOMEM);
	assert_int_equal(bytes.length, length);
	assert_int_equal(bytes.data[0], 0x8f);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_action_arm_written_is_read_back),
		cmocka_unit_test(test_action_marked_as_not_durable_keeps_the_rest),
		cmocka_unit_test(test_action_value_written_is_read_back),
		cmocka_unit_test(test_result_written_is_read_back),
		cmocka_unit_test(test_error_written_is_read_back),
		cmocka_unit_test(test_replies_wrong_are_refused_in_words),
		cmocka_unit_test(test_replies_cut_or_changed_are_never_read_out_of_bounds),
		cmocka_unit_test(test_replies_reuse_their_buffer),
		cmocka_unit_test(test_reply_gets_the_version_as_its_last_key),
		cmocka_unit_test(test_version_without_memory_leaves_the_reply),
		cmocka_unit_test(test_action_whose_value_is_of_the_wrong_type_is_refused_by_its_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
