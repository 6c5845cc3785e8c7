/* Events of a log as items of a batch, with their position; what is no map is refused and leaves nothing behind. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "daemon/streams/bridge_event.h"
#include "wire/wire_json.h"
#include "wire/wire_put.h"

static const cop_wire_position from = { "visits", 6, 2, 7, 1 };

static void assert_put(const void *event, size_t length, const char *expected)
{
	cop_bytes out, text;
	cop_wire_fault fault;
	cop_bytes_init(&out);
	cop_bytes_init(&text);
	assert_int_equal(cop_bridge_event_put(&out, event, length, &from, &fault), COP_OK);
	assert_int_equal(cop_wire_json(&text, out.data, out.length, 0), COP_OK);
	assert_int_equal(text.length, strlen(expected));
	assert_memory_equal(text.data, expected, text.length);
	cop_bytes_fini(&out);
	cop_bytes_fini(&text);
}

static void test_json_gets_its_position(void **state)
{
	(void)state;
	static const char text[] = " {\"id\": 1, \"x\": [0.5]}";
	assert_put(text, strlen(text), "{\"id\":1,\"x\":[0.5],\"from\":[\"visits\",2,7,1]}");
	assert_put("{}", 2, "{\"from\":[\"visits\",2,7,1]}");
}

/* Heads of one, three and five bytes, and the ones between which one more pair changes the head's length. */
static void test_maps_of_every_size_get_their_position(void **state)
{
	(void)state;
	static const size_t counts[] = { 0, 1, 14, 15, 16, 65534, 65535, 65536 };
	for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
		size_t pairs = 0;
		cop_wire_cursor cursor;
		cop_bytes event, out;
		cop_bytes_init(&event);
		cop_bytes_init(&out);
		cop_wire_put_map(&event, counts[c]);
		for (size_t i = 0; i < counts[c]; i++)
			cop_wire_put_key_unsigned(&event, "k", i);
		assert_int_equal(cop_bridge_event_put(&out, event.data, event.length, &from, NULL), COP_OK);
		cop_wire_cursor_init(&cursor, out.data, out.length);
		assert_int_equal(cop_wire_cursor_map(&cursor, &pairs), COP_OK);
		assert_int_equal(pairs, counts[c] + 1);
		cop_wire_cursor_init(&cursor, out.data, out.length);
		assert_int_equal(cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH), COP_OK);
		assert_int_equal(cop_wire_cursor_left(&cursor), 0);
		cop_bytes_fini(&event);
		cop_bytes_fini(&out);
	}
}

static void test_others_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *event;
		size_t length;
	} wrong[] = { { "", 0 }, { "\xc1", 1 }, { "{", 1 }, { "{\"a\":}", 6 }, { "[1]", 3 }, { "\x91\x01", 2 },
		{ "\x07", 1 }, { "\x81\xa1", 2 }, { "\x80\x80", 2 }, { "  ", 2 } };
	cop_bytes out;
	cop_bytes_init(&out);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_wire_fault fault = { 0 };
		assert_int_equal(
		        cop_bridge_event_put(&out, wrong[i].event, wrong[i].length, &from, &fault), COP_EFORMAT);
		assert_true(out.length == 0 && fault.code == COP_WIRE_BAD_REQUEST && fault.message[0] != '\0');
	}
	cop_bytes_fini(&out);
}

/* Too deep for a batch. */
static void test_depth_is_bounded(void **state)
{
	(void)state;
	for (size_t depth = 10; depth < 20; depth++) {
		cop_bytes event, out;
		cop_bytes_init(&event);
		cop_bytes_init(&out);
		cop_wire_put_map(&event, 1);
		cop_wire_put_text(&event, "k");
		for (size_t i = 1; i < depth; i++)
			cop_wire_put_array(&event, 1);
		cop_wire_put_nil(&event);
		assert_int_equal(cop_bridge_event_put(&out, event.data, event.length, &from, NULL),
		        depth <= COP_WIRE_DEPTH - 2 ? COP_OK : COP_EFORMAT);
		cop_bytes_fini(&event);
		cop_bytes_fini(&out);
	}
}

static void test_actions_are_told_from_repeats(void **state)
{
	(void)state;
	static const uint8_t action[] = { 0x82, 0xa2, 'i', 'd', 1, 0xa1, 'a', 2 };
	static const uint8_t repeat[] = { 0x82, 0xa2, 'i', 'd', 1, 0xa8, 'r', 'e', 'p', 'e', 'a', 't', 'e', 'd', 0xc3 };
	cop_bytes out;
	cop_bytes_init(&out);
	const cop_bridge_answer one = cop_bridge_event_answer(action, sizeof action);
	assert_true(one.action && !one.repeated);
	const cop_bridge_answer other = cop_bridge_event_answer(repeat, sizeof repeat);
	assert_true(!other.action && other.repeated);
	const cop_bridge_answer none = cop_bridge_event_answer("\x07", 1);
	assert_true(!none.action && !none.repeated);
	assert_int_equal(cop_bridge_event_action(&out, action, sizeof action, true), COP_OK);
	assert_int_equal(out.length, strlen("{\"id\":1,\"a\":2}"));
	assert_memory_equal(out.data, "{\"id\":1,\"a\":2}", out.length);
	cop_bytes_clear(&out);
	assert_int_equal(cop_bridge_event_action(&out, action, sizeof action, false), COP_OK);
	assert_memory_equal(out.data, action, sizeof action);
	cop_bytes_fini(&out);
}

static void test_letters_hold_the_event_and_the_reason(void **state)
{
	(void)state;
	static const char expected[] = "{\"stream\":\"visits\",\"partition\":2,\"offset\":7,\"minor\":1,"
	                               "\"code\":\"bad_request\",\"reason\":\"why\",\"length\":2,\"event\":\"c100\"}";
	const cop_wire_fault why = { .code = COP_WIRE_BAD_REQUEST, .message = "why" };
	cop_bytes out;
	cop_bytes_init(&out);
	assert_int_equal(cop_bridge_event_letter(&out, "\xc1", 2, &from, &why, true), COP_OK);
	assert_int_equal(out.length, strlen(expected));
	assert_memory_equal(out.data, expected, out.length);
	cop_bytes_fini(&out);
}

/* A long event is cut, and its length stays. */
static void test_letters_are_bounded(void **state)
{
	(void)state;
	static const char event[COP_BRIDGE_EVENT_LETTER + 1];
	const cop_wire_fault why = { .code = COP_WIRE_TOO_LARGE, .message = "" };
	cop_bytes out;
	cop_bytes_init(&out);
	assert_int_equal(cop_bridge_event_letter(&out, event, sizeof event, &from, &why, false), COP_OK);
	assert_in_range(out.length, COP_BRIDGE_EVENT_LETTER, COP_BRIDGE_EVENT_LETTER + 200);
	cop_bytes_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_gets_its_position),
		cmocka_unit_test(test_maps_of_every_size_get_their_position),
		cmocka_unit_test(test_others_are_refused),
		cmocka_unit_test(test_depth_is_bounded),
		cmocka_unit_test(test_actions_are_told_from_repeats),
		cmocka_unit_test(test_letters_hold_the_event_and_the_reason),
		cmocka_unit_test(test_letters_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
