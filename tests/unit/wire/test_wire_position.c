/* Positions of event logs: what is read, what is refused, their order. */
#include "support.h"

#include <stdio.h>

#include "wire/wire_position.h"
#include "wire/wire_record.h"
#include "wire_fixture.h"

static void test_position_round_trips(void **state)
{
	(void)state;
	static const cop_wire_position all[] = {
		{ "orders", 6, 0, 0, 0 },
		{ "o", 1, 3, 17, 0 },
		{ "orders", 6, UINT64_MAX, UINT64_MAX, UINT64_MAX },
		{ "redis", 5, 0, UINT64_C(1718000000123), 4 },
	};
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		cop_wire_cursor cursor;
		cop_wire_position out;
		cop_bytes_clear(&bytes);
		cop_wire_position_put(&bytes, &all[i]);
		cop_wire_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_wire_position_read(&cursor, "from", &out, NULL), COP_OK);
		assert_int_equal(cop_wire_cursor_left(&cursor), 0);
		assert_int_equal(out.length, all[i].length);
		assert_memory_equal(out.source, all[i].source, out.length);
		assert_true(out.partition == all[i].partition && cop_wire_position_compare(&out, &all[i]) == 0);
	}
	cop_bytes_fini(&bytes);
}

static void test_position_refuses_other_forms(void **state)
{
	(void)state;
	static const char *const wrong[] = { "7", "'a'", "[]", "['a', 1]", "['', 1, 2]", "[1, 1, 2]", "['a', -1, 2]",
		"['a', 1, 2.5]", "['a', 1, 2, 'x']", "['a', 1, 2, 3, 4]", "{'a': 1}", "null" };
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_wire_cursor cursor;
		cop_wire_position out;
		cop_wire_fault fault;
		cop_bytes_clear(&bytes);
		put_message(&bytes, wrong[i]);
		cop_wire_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_wire_position_read(&cursor, "from", &out, &fault), COP_EFORMAT);
		assert_int_equal(fault.code, COP_WIRE_BAD_REQUEST);
		assert_non_null(strstr(fault.message, "from: expected [source, partition, offset]"));
		assert_int_equal(cop_wire_cursor_left(&cursor), bytes.length);
	}
	cop_bytes_fini(&bytes);
}

static void test_position_source_has_a_length(void **state)
{
	(void)state;
	char name[70];
	memset(name, 'n', sizeof name);
	for (size_t length = 63; length < 67; length++) {
		cop_bytes bytes;
		cop_wire_cursor cursor;
		cop_wire_position out, in = { name, length, 0, 1, 0 };
		cop_bytes_init(&bytes);
		cop_wire_position_put(&bytes, &in);
		cop_wire_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_wire_position_read(&cursor, "from", &out, NULL),
		        length <= COP_WIRE_POSITION_SOURCE ? COP_OK : COP_EFORMAT);
		cop_bytes_fini(&bytes);
	}
}

static void test_position_compares_offset_then_minor(void **state)
{
	(void)state;
	static const uint64_t order[][2] = { { 0, 0 }, { 0, 9 }, { 1, 0 }, { 1, 1 }, { UINT64_MAX, 0 },
		{ UINT64_MAX, UINT64_MAX } };
	for (size_t i = 0; i < 6; i++)
		for (size_t k = 0; k < 6; k++) {
			const cop_wire_position a = { "s", 1, 0, order[i][0], order[i][1] };
			const cop_wire_position b = { "s", 1, 0, order[k][0], order[k][1] };
			int is = cop_wire_position_compare(&a, &b);
			assert_int_equal((is > 0) - (is < 0), (i > k) - (i < k));
		}
}

static void test_position_record_needs_it(void **state)
{
	(void)state;
	fixture f;
	cop_bytes bytes;
	cop_wire_record out, in = { .model = "m", .model_length = 1, .time = 5.0, .from = { "log", 3, 2, 7, 1 } };
	fixture_init(&f);
	cop_bytes_init(&bytes);
	cop_wire_record_put(&bytes, COP_WIRE_RECORD_POSITION, &in);
	assert_int_equal(cop_wire_record_decode(COP_WIRE_RECORD_POSITION, bytes.data, bytes.length, &f.dense,
	                         &f.workspace, &out, NULL),
	        COP_OK);
	assert_int_equal(out.from.length, 3);
	assert_true(out.from.partition == 2 && cop_wire_position_compare(&out.from, &in.from) == 0);
	cop_bytes_clear(&bytes);
	in.from.source = NULL;
	cop_wire_record_put(&bytes, COP_WIRE_RECORD_POSITION, &in);
	assert_int_equal(cop_wire_record_decode(COP_WIRE_RECORD_POSITION, bytes.data, bytes.length, &f.dense,
	                         &f.workspace, &out, NULL),
	        COP_EFORMAT);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_position_round_trips),
		cmocka_unit_test(test_position_refuses_other_forms),
		cmocka_unit_test(test_position_source_has_a_length),
		cmocka_unit_test(test_position_compares_offset_then_minor),
		cmocka_unit_test(test_position_record_needs_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
