/* wire_json: known texts, refusals, and memory that runs out. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "wire/wire_json.h"
#include "wire/wire_put.h"
#include "wire_fixture.h"

static void assert_json(const char *hex, unsigned indent, const char *want)
{
	cop_bytes in, out;
	cop_bytes_init(&in);
	cop_bytes_init(&out);
	put_hex(&in, hex);
	assert_int_equal(cop_wire_json(&out, in.data, in.length, indent), COP_OK);
	cop_bytes_put_u8(&out, 0);
	assert_string_equal((const char *)out.data, want);
	cop_bytes_fini(&in);
	cop_bytes_fini(&out);
}

static void test_json_scalars_give_known_text(void **state)
{
	(void)state;
	assert_json("c0", 0, "null");
	assert_json("c3", 0, "true");
	assert_json("cf ff ff ff ff ff ff ff ff", 0, "18446744073709551615");
	assert_json("d3 80 00 00 00 00 00 00 00", 0, "-9223372036854775808");
	assert_json("cb 3f b9 99 99 99 99 99 9a", 0, "0.1");
	assert_json("ca 3d cc cc cd", 0, "0.1");
	assert_json("cb 3f d5 55 55 55 55 55 55", 0, "0.3333333333333333");
	assert_json("cb 3f f0 00 00 00 00 00 00", 0, "1.0");
	assert_json("cb 7e 37 e4 3c 88 00 75 9c", 0, "1e+300");
	assert_json("cb 7f f8 00 00 00 00 00 00", 0, "null");
	assert_json("ca ff 80 00 00", 0, "null");
	assert_json("c4 03 00 ab ff", 0, "\"00abff\"");
	assert_json("d5 07 01 02", 0, "{\"extension\":7,\"data\":\"0102\"}");
	assert_json("a0", 0, "\"\"");
}

static void test_json_strings_are_escaped(void **state)
{
	(void)state;
	assert_json("a6 22 5c 0a 00 7f 2f", 0, "\"\\\"\\\\\\u000a\\u0000\\u007f/\"");
	assert_json("a6 1f 20 21 7e 7f 30", 0, "\"\\u001f !~\\u007f0\"");
	assert_json("a2 c3 bc", 0, "\"\xc3\xbc\"");
	assert_json("a3 61 c3 62", 0, "\"a\xef\xbf\xbd\x62\"");
}

static void test_json_containers_are_nested(void **state)
{
	(void)state;
	assert_json("82 a1 61 92 01 02 11 80", 0, "{\"a\":[1,2],\"17\":{}}");
	assert_json("82 a1 61 92 01 02 c3 90", 2, "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"true\": []\n}");
	assert_json("81 c4 01 ff cb 40 00 00 00 00 00 00 00", 0, "{\"ff\":2.0}");
}

static void test_json_malformed_is_refused(void **state)
{
	(void)state;
	static const char *const hex[] = { "", "c1", "92 01", "01 02", "dd ff ff ff ff", "81 90 01",
		"91 91 91 91 91 91 91 91 91 91 91 91 91 91 91 91 91 00" };
	for (size_t i = 0; i < sizeof hex / sizeof *hex; i++) {
		cop_bytes in, out;
		cop_bytes_init(&in);
		cop_bytes_init(&out);
		put_hex(&in, hex[i]);
		assert_int_equal(cop_wire_json(&out, in.data, in.length, 0), COP_EFORMAT);
		cop_bytes_fini(&in);
		cop_bytes_fini(&out);
	}
	assert_json("91 91 91 91 91 91 91 91 91 91 91 91 91 91 91 91 00", 0, "[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]");
}

static void assert_json_without(const char *hex, const char *without, const char *want)
{
	cop_bytes in, out;
	cop_bytes_init(&in);
	cop_bytes_init(&out);
	put_hex(&in, hex);
	assert_int_equal(cop_wire_json_without(&out, in.data, in.length, without), COP_OK);
	cop_bytes_put_u8(&out, 0);
	assert_string_equal((const char *)out.data, want);
	cop_bytes_fini(&in);
	cop_bytes_fini(&out);
}

static void test_json_without_a_key_leaves_it_out_at_the_top_alone(void **state)
{
	(void)state;
	assert_json_without("83 a1 61 01 a1 62 02 a1 63 03", "b", "{\"a\":1,\"c\":3}");
	assert_json_without("82 a1 62 92 01 02 a1 61 81 a1 62 05", "b", "{\"a\":{\"b\":5}}");
	assert_json_without("81 a1 62 01", "b", "{}");
	assert_json_without("82 01 02 a2 62 62 03", "b", "{\"1\":2,\"bb\":3}");
	assert_json_without("92 a1 62 01", "b", "[\"b\",1]");
}

static void test_json_without_memory_fails_each_time(void **state)
{
	(void)state;
	cop_bytes in;
	cop_bytes_init(&in);
	cop_wire_put_array(&in, 60);
	for (unsigned i = 0; i < 60; i++)
		cop_wire_put_double(&in, (double)i / 7.0);
	unsigned long n = 1;
	for (;; n++) {
		cop_bytes out;
		cop_bytes_init(&out);
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_wire_json(&out, in.data, in.length, 2);
		bool reached = cop_test_alloc_count() >= n;
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		cop_bytes_fini(&out);
		assert_int_equal(err, reached ? COP_ENOMEM : COP_OK);
		if (!reached)
			break;
	}
	assert_true(n > 2);
	cop_bytes_fini(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_scalars_give_known_text),
		cmocka_unit_test(test_json_strings_are_escaped),
		cmocka_unit_test(test_json_containers_are_nested),
		cmocka_unit_test(test_json_malformed_is_refused),
		cmocka_unit_test(test_json_without_a_key_leaves_it_out_at_the_top_alone),
		cmocka_unit_test(test_json_without_memory_fails_each_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
