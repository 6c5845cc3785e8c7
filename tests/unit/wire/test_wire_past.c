/* Questions about decisions: what they mean, how ids are written, and that their bytes are one form. */
#include "wire/wire_past.h"

#include <stdio.h>

#include "support.h"
#include "wire/wire_put.h"

static void check_fault(cop_err err, const cop_wire_fault *fault, const char *begins)
{
	assert_int_not_equal(err, COP_OK);
	assert_int_equal(fault->code, COP_WIRE_BAD_REQUEST);
	if (strncmp(fault->message, begins, strlen(begins)) != 0)
		fail_msg("'%s' does not begin with '%s'", fault->message, begins);
}

static void test_decision_needs_an_id_or_a_record(void **state)
{
	static const struct {
		const char *body;
		size_t length;
		const char *begins;
	} bad[] = {
		{ "\x80", 1, "id: missing" },
		{ "\x81\xa6record\x00", 9, "id: missing" },
		{ "\x81\xa6record\xff", 9, "record: " },
		{ "\x81\xa2id\x90", 5, "id: " },
		{ "\x90", 1, "" },
	};
	cop_wire_past past;
	cop_wire_fault fault;
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		check_fault(cop_wire_past_decision(bad[i].body, bad[i].length, &past, &fault), &fault, bad[i].begins);
	static const char good[] = "\x83\xa2id\x11\xa6record\x07\xa3seq\x05";
	assert_int_equal(cop_wire_past_decision(good, sizeof good - 1, &past, &fault), COP_OK);
	assert_int_equal(past.id.kind, COP_EVENT_ID_UNSIGNED);
	assert_int_equal(past.id.bytes[0], 0x11);
	assert_int_equal(past.record, 7);
	assert_int_equal(past.seq.length, 1);
	assert_int_equal(past.limit, 0);
}

static void test_decisions_have_bounds(void **state)
{
	static const struct {
		const char *body;
		size_t length;
		const char *begins;
	} bad[] = {
		{ "\x81\xa6prefix\x01", 9, "prefix: " },
		{ "\x81\xa6prefix\xa2"
		  "a\0",
		        11, "prefix: 2 bytes; expected at most 128" },
		{ "\x81\xa5limit\x00", 8, "limit: 0; expected 1 to 100" },
		{ "\x81\xa5limit\x65", 8, "limit: 101; expected 1 to 100" },
		{ "\x81\xa5limit\xa0", 8, "limit: " },
		{ "\x81\xa6"
		  "before\xa0",
		        9, "before: " },
		{ "\x81\xa7waiting\x01", 10, "waiting: " },
	};
	cop_wire_past past;
	cop_wire_fault fault;
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		check_fault(cop_wire_past_decisions(bad[i].body, bad[i].length, &past, &fault), &fault, bad[i].begins);
	assert_int_equal(cop_wire_past_decisions("\x80", 1, &past, &fault), COP_OK);
	assert_string_equal(past.prefix, "");
	assert_int_equal(past.limit, COP_WIRE_PAST_USUAL);
	assert_false(past.waiting);
	assert_int_equal(past.before, 0);
}

static void test_prefix_may_be_as_long_as_an_id_is_written(void **state)
{
	cop_bytes body;
	cop_wire_past past;
	cop_wire_fault fault;
	char text[COP_WIRE_PAST_PREFIX + 1];
	(void)state;
	memset(text, 'x', sizeof text);
	for (size_t length = COP_WIRE_PAST_PREFIX; length <= COP_WIRE_PAST_PREFIX + 1; length++) {
		cop_bytes_init(&body);
		cop_wire_put_map(&body, 1);
		cop_wire_put_key_string(&body, "prefix", text, length);
		cop_err err = cop_wire_past_decisions(body.data, body.length, &past, &fault);
		assert_int_equal(err == COP_OK, length == COP_WIRE_PAST_PREFIX);
		cop_bytes_fini(&body);
	}
}

static void test_what_is_put_is_read_again(void **state)
{
	cop_bytes body;
	cop_wire_past past = { .record = 12 }, again;
	(void)state;
	assert_true(cop_event_id_from_bytes(&past.id, COP_EVENT_ID_BINARY, "\x00\xff", 2));
	cop_bytes_init(&body);
	cop_wire_past_put(&past, &body);
	assert_int_equal(cop_wire_past_decision(body.data, body.length, &again, NULL), COP_OK);
	assert_true(cop_event_id_equal(&again.id, &past.id));
	assert_int_equal(again.record, 12);
	cop_bytes_clear(&body);
	past = (cop_wire_past){ .prefix = "u1-", .before = 900, .limit = 7, .waiting = true };
	cop_wire_past_put(&past, &body);
	assert_int_equal(cop_wire_past_decisions(body.data, body.length, &again, NULL), COP_OK);
	assert_string_equal(again.prefix, "u1-");
	assert_int_equal(again.before, 900);
	assert_int_equal(again.limit, 7);
	assert_true(again.waiting);
	cop_bytes_fini(&body);
}

static void check_spelled(const cop_event_id *id, const char *expected)
{
	char text[COP_WIRE_PAST_PREFIX];
	size_t length = cop_wire_past_spell(id, text);
	assert_int_equal(length, strlen(expected));
	assert_memory_equal(text, expected, length);
	for (size_t cut = 0; cut <= length; cut++) { /* every beginning of it, and no other text */
		char prefix[COP_WIRE_PAST_PREFIX + 2];
		(void)snprintf(prefix, sizeof prefix, "%.*s", (int)cut, expected);
		assert_true(cop_wire_past_begins(id, prefix));
		strcat(prefix, "~");
		assert_false(cop_wire_past_begins(id, prefix));
	}
}

static void test_ids_are_written_by_their_kind(void **state)
{
	cop_event_id id;
	char hex[COP_WIRE_PAST_PREFIX + 1], bytes[COP_EVENT_ID_MAX];
	(void)state;
	assert_true(cop_event_id_from_bytes(&id, COP_EVENT_ID_STRING, "17", 2));
	check_spelled(&id, "17");
	cop_event_id_from_unsigned(&id, UINT64_MAX);
	check_spelled(&id, "18446744073709551615");
	cop_event_id_from_signed(&id, INT64_MIN);
	check_spelled(&id, "-9223372036854775808");
	memset(bytes, 0xa9, sizeof bytes);
	for (size_t i = 0; i < sizeof bytes; i++)
		memcpy(hex + 2 * i, "a9", 3);
	assert_true(cop_event_id_from_bytes(&id, COP_EVENT_ID_BINARY, bytes, sizeof bytes));
	check_spelled(&id, hex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decision_needs_an_id_or_a_record),
		cmocka_unit_test(test_decisions_have_bounds),
		cmocka_unit_test(test_prefix_may_be_as_long_as_an_id_is_written),
		cmocka_unit_test(test_what_is_put_is_read_again),
		cmocka_unit_test(test_ids_are_written_by_their_kind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
