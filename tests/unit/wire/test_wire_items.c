/* wire_items and wire_keys: streams, batches, plain requests, and the envelope of a message that cannot be decoded. */
#include "support.h"

#include "wire/wire_context.h"
#include "wire/wire_items.h"
#include "wire_fixture.h"

static cop_wire_fault fault;

static void assert_items(cop_wire_items *items, const char *const *texts, size_t count)
{
	const void *item;
	size_t length;
	assert_int_equal(items->count, count);
	for (size_t i = 0; i < count; i++) {
		cop_bytes want;
		cop_bytes_init(&want);
		put_message(&want, texts[i]);
		assert_true(cop_wire_items_next(items, &item, &length));
		assert_int_equal(length, want.length);
		assert_memory_equal(item, want.data, length);
		cop_bytes_fini(&want);
	}
	assert_false(cop_wire_items_next(items, &item, &length));
	assert_false(cop_wire_items_next(items, &item, &length));
}

static void test_stream_map_is_one_item(void **state)
{
	(void)state;
	static const char *const texts[] = { "{'id': 1, 'x': [1, 2]}" };
	cop_bytes bytes;
	cop_wire_items items;
	cop_bytes_init(&bytes);
	put_message(&bytes, texts[0]);
	assert_int_equal(cop_wire_items_stream(&items, bytes.data, bytes.length, &fault), COP_OK);
	assert_items(&items, texts, 1);
	cop_bytes_fini(&bytes);
}

static void test_stream_array_gives_each_item(void **state)
{
	(void)state;
	static const char *const texts[] = { "{'id': 1, 'x': [1, 2]}", "{}", "7" };
	cop_bytes bytes;
	cop_wire_items items;
	cop_bytes_init(&bytes);
	put_message(&bytes, "[{'id': 1, 'x': [1, 2]}, {}, 7]");
	assert_int_equal(cop_wire_items_stream(&items, bytes.data, bytes.length, &fault), COP_OK);
	assert_items(&items, texts, 3);
	cop_bytes_clear(&bytes);
	put_message(&bytes, "[]");
	assert_int_equal(cop_wire_items_stream(&items, bytes.data, bytes.length, &fault), COP_OK);
	assert_items(&items, NULL, 0);
	cop_bytes_fini(&bytes);
}

static void test_batch_gives_each_item_and_seq(void **state)
{
	(void)state;
	static const char *const texts[] = { "{'id': 1}", "[2]" };
	cop_bytes bytes;
	cop_wire_items items;
	cop_wire_seq seq;
	cop_bytes_init(&bytes);
	put_message(&bytes, "{'more': [1], 'items': [{'id': 1}, [2]], 'seq': 'ab'}");
	assert_int_equal(cop_wire_items_batch(&items, bytes.data, bytes.length, &seq, &fault), COP_OK);
	assert_items(&items, texts, 2);
	assert_int_equal(seq.length, 3);
	cop_wire_seq other;
	cop_wire_seq_from_unsigned(&other, 8);
	for (int round = 0; round < 2; round++) {
		cop_bytes_clear(&bytes);
		cop_wire_items_put(&bytes, 2, round == 0 ? &other : NULL);
		put_message(&bytes, texts[0]);
		put_message(&bytes, texts[1]);
		assert_int_equal(cop_wire_items_batch(&items, bytes.data, bytes.length, &seq, &fault), COP_OK);
		assert_items(&items, texts, 2);
		assert_int_equal(seq.length, round == 0 ? 9 : 0);
	}
	cop_bytes_fini(&bytes);
}

static void test_bodies_wrong_are_refused_before_any_item(void **state)
{
	(void)state;
	static const struct {
		bool batch;
		refusal refusal;
	} cases[] = {
		{ false, { "", COP_WIRE_BAD_REQUEST, "message: malformed" } },
		{ false,
		        { "07", COP_WIRE_BAD_REQUEST, "message: got an integer, expected a map or an array of maps" } },
		{ false, { "92 80", COP_WIRE_BAD_REQUEST, "message: malformed" } },
		{ false, { "91 80 00", COP_WIRE_BAD_REQUEST, "message: 1 bytes behind its end" } },
		{ false, { "92 80 81 01 dd ff ff ff ff", COP_WIRE_BAD_REQUEST, "message: malformed" } },
		{ true, { "80", COP_WIRE_BAD_REQUEST, "items: the key is missing" } },
		{ true, { "91 80", COP_WIRE_BAD_REQUEST, "message: got an array, expected a map" } },
		{ true, { "81 a5 69 74 65 6d 73 80", COP_WIRE_BAD_REQUEST,
		                "items: got a map, expected an array of maps" } },
		{ true, { "81 a5 69 74 65 6d 73 92 80", COP_WIRE_BAD_REQUEST, "items: malformed" } },
		{ true, { "81 a5 69 74 65 6d 73 92 80 c1", COP_WIRE_BAD_REQUEST, "items: malformed" } },
		{ true, { "81 a5 69 74 65 6d 73 91 80 80", COP_WIRE_BAD_REQUEST, "message: 1 bytes behind" } },
		{ true, { "82 a5 69 74 65 6d 73 90 a5 69 74 65 6d 73 90", COP_WIRE_BAD_REQUEST,
		                "items: the key comes twic" } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_bytes bytes;
		cop_wire_items items;
		cop_wire_seq seq;
		cop_bytes_init(&bytes);
		put_hex(&bytes, cases[i].refusal.message);
		cop_err err = cases[i].batch ? cop_wire_items_batch(&items, bytes.data, bytes.length, &seq, &fault)
		                             : cop_wire_items_stream(&items, bytes.data, bytes.length, &fault);
		assert_refused(&fault, err, &cases[i].refusal);
		cop_bytes_fini(&bytes);
	}
}

static void test_plain_body_may_be_empty(void **state)
{
	(void)state;
	cop_wire_seq seq;
	assert_int_equal(cop_wire_plain_decode(NULL, 0, &seq, &fault), COP_OK);
	assert_int_equal(cop_wire_plain_decode("\x80", 1, &seq, &fault), COP_OK);
	assert_int_equal(seq.length, 0);
	assert_int_equal(cop_wire_plain_decode("\x82\x01\x02\xa3seq\xc3", 8, &seq, &fault), COP_OK);
	assert_int_equal(seq.length, 1);
	assert_int_equal(cop_wire_plain_decode("\xc0", 1, &seq, &fault), COP_EFORMAT);
	assert_int_equal(cop_wire_plain_decode("\x80\x80", 2, &seq, &fault), COP_EFORMAT);
	assert_int_equal(cop_wire_plain_decode("\x81\xa3seq\x90", 6, &seq, &fault), COP_EFORMAT);
}

static void test_source_of_a_wrong_message_is_found(void **state)
{
	(void)state;
	cop_wire_source source;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	put_message(&bytes, "{'x': [true], 'n': 5, 'id': [], 'src': 'abc', 'mask': 0}");
	cop_wire_read_source(bytes.data, bytes.length, &source);
	assert_true(source.has_n && source.n == 5 && source.length == 3 && memcmp(source.name, "abc", 3) == 0);
	cop_wire_read_source(bytes.data, bytes.length - 1, &source); /* cut off behind both */
	assert_true(source.has_n && source.name != NULL);
	cop_bytes_clear(&bytes);
	put_message(&bytes, "{'src': '', 'n': -1}");
	cop_wire_read_source(bytes.data, bytes.length, &source);
	assert_true(!source.has_n && source.name == NULL);
	cop_wire_read_source(NULL, 0, &source);
	assert_true(!source.has_n && source.name == NULL);
	cop_wire_read_source("\xdf\xff\xff\xff\xff", 5, &source);
	assert_true(!source.has_n && source.name == NULL);
	cop_bytes_fini(&bytes);
}

static void test_envelope_of_a_wrong_message_is_found(void **state)
{
	(void)state;
	cop_event_id id;
	cop_wire_seq seq;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	put_message(&bytes, "{'x': [true], 'seq': 5, 'id': 'u', 'mask': 0}");
	cop_wire_envelope(bytes.data, bytes.length, &id, &seq);
	assert_true(id.kind == COP_EVENT_ID_STRING && id.length == 1 && seq.length == 1);
	cop_wire_envelope(bytes.data, bytes.length - 1, &id, &seq); /* cut off behind both */
	assert_true(id.kind == COP_EVENT_ID_STRING && seq.length == 1);
	cop_bytes_clear(&bytes);
	put_message(&bytes, "{'id': [1], 'seq': {'a': 1}}");
	cop_wire_envelope(bytes.data, bytes.length, &id, &seq);
	assert_true(id.kind == 0 && seq.length == 0);
	cop_bytes_clear(&bytes);
	put_message(&bytes, "{'id': 1.5, 'seq': 6}");
	cop_wire_envelope(bytes.data, bytes.length, &id, &seq);
	assert_true(id.kind == 0 && seq.length == 1);
	/* {id: "a", id: "bc", x: 1, seq: 7, seq: 300} */
	static const char twice[] = "\x85\xa2id\xa1"
	                            "a\xa2id\xa2"
	                            "bc\xa1x\x01\xa3seq\x07\xa3seq\xcd\x01\x2c";
	cop_wire_envelope(twice, sizeof twice - 1, &id, &seq);
	assert_true(id.length == 1 && seq.length == 1);
	cop_wire_envelope(NULL, 0, &id, &seq);
	cop_wire_envelope("\xdf\xff\xff\xff\xff", 5, &id, &seq);
	assert_true(id.kind == 0 && seq.length == 0);
	cop_bytes_fini(&bytes);
}

static cop_err walk(cop_wire_items *items)
{
	const void *item;
	size_t length, sum = 0;
	cop_event_id id;
	cop_wire_seq seq;
	while (cop_wire_items_next(items, &item, &length)) {
		sum += length;
		cop_wire_envelope(item, length, &id, &seq);
	}
	return sum == SIZE_MAX ? COP_EFORMAT : COP_OK;
}

static cop_err walk_stream(fixture *f, const void *body, size_t length)
{
	(void)f;
	cop_wire_items items;
	cop_err err = cop_wire_items_stream(&items, body, length, &fault);
	return err != COP_OK ? err : walk(&items);
}

static cop_err walk_batch(fixture *f, const void *body, size_t length)
{
	(void)f;
	cop_wire_items items;
	cop_wire_seq seq;
	cop_err err = cop_wire_items_batch(&items, body, length, &seq, &fault);
	return err != COP_OK ? err : walk(&items);
}

static void test_bodies_cut_or_changed_are_never_read_out_of_bounds(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	put_message(&bytes, "[{'id': 1, 'x': [1.5, 2, {'a': []}]}, {'id': 'abc', 'seq': 4}, {}]");
	sweep_truncations(NULL, walk_stream, &bytes);
	sweep_mutations(NULL, walk_stream, &bytes);
	cop_bytes_clear(&bytes);
	put_message(&bytes, "{'z': null, 'items': [{'id': 1, 'x': [1.5, 2]}, {'id': 'abc', 'seq': 4}], 'seq': 7}");
	sweep_truncations(NULL, walk_batch, &bytes);
	sweep_mutations(NULL, walk_batch, &bytes);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(walk_batch(NULL, bytes.data, bytes.length), COP_OK);
	assert_int_equal(cop_test_alloc_count(), 0);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stream_map_is_one_item),
		cmocka_unit_test(test_stream_array_gives_each_item),
		cmocka_unit_test(test_batch_gives_each_item_and_seq),
		cmocka_unit_test(test_bodies_wrong_are_refused_before_any_item),
		cmocka_unit_test(test_plain_body_may_be_empty),
		cmocka_unit_test(test_source_of_a_wrong_message_is_found),
		cmocka_unit_test(test_envelope_of_a_wrong_message_is_found),
		cmocka_unit_test(test_bodies_cut_or_changed_are_never_read_out_of_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
