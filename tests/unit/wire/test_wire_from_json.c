/* wire_from_json: known bytes, what comes back as JSON, refusals with their columns, and memory that runs out. */
#include "support.h"

#include <string.h>

#include "wire/wire_from_json.h"
#include "wire/wire_json.h"
#include "wire_fixture.h"

static void assert_bytes(const char *json, const char *hex)
{
	cop_bytes out, want;
	uint32_t pairs;
	cop_bytes_init(&out);
	cop_bytes_init(&want);
	put_hex(&want, hex);
	assert_int_equal(cop_wire_from_json(&out, json, strlen(json), NULL, &pairs, NULL), COP_OK);
	assert_int_equal(out.length, want.length);
	assert_memory_equal(out.data, want.data, want.length);
	cop_bytes_fini(&out);
	cop_bytes_fini(&want);
}

/* As JSON again. */
static void assert_text(const char *json, const char *without, uint32_t pairs, const char *want)
{
	cop_bytes out, text;
	uint32_t count;
	cop_bytes_init(&out);
	cop_bytes_init(&text);
	assert_int_equal(cop_wire_from_json(&out, json, strlen(json), without, &count, NULL), COP_OK);
	assert_int_equal(count, pairs);
	assert_int_equal(cop_wire_json(&text, out.data, out.length, 0), COP_OK);
	cop_bytes_put_u8(&text, 0);
	assert_string_equal((const char *)text.data, want);
	cop_bytes_fini(&out);
	cop_bytes_fini(&text);
}

static void test_from_json_gives_known_bytes(void **state)
{
	(void)state;
	assert_bytes("{}", "df 00 00 00 00");
	assert_bytes(" { \"a\" : [ 1 , -1 , true , null ] } ", "df 00 00 00 01 a1 61 dd 00 00 00 04 01 ff c3 c0");
	assert_bytes("{\"a\":0.5}", "df 00 00 00 01 a1 61 cb 3f e0 00 00 00 00 00 00");
	assert_bytes("{\"a\":1e0}", "df 00 00 00 01 a1 61 cb 3f f0 00 00 00 00 00 00");
	assert_bytes("{\"a\":-0}", "df 00 00 00 01 a1 61 cb 80 00 00 00 00 00 00 00");
	assert_bytes("{\"\\u00fc\":\"x\\n\"}", "df 00 00 00 01 db 00 00 00 02 c3 bc db 00 00 00 02 78 0a");
}

static void test_from_json_keeps_integers_of_64_bits(void **state)
{
	(void)state;
	assert_text("{\"a\":18446744073709551615,\"b\":-9223372036854775808}", NULL, 2,
	        "{\"a\":18446744073709551615,\"b\":-9223372036854775808}");
	assert_text("{\"a\":18446744073709551616,\"b\":-9223372036854775809}", NULL, 2,
	        "{\"a\":1.8446744073709552e+19,\"b\":-9.223372036854776e+18}");
	assert_text("{\"a\":100000000000000000000000000000}", NULL, 1, "{\"a\":1e+29}");
	assert_text("{\"a\":9007199254740993}", NULL, 1, "{\"a\":9007199254740993}");
}

static void test_from_json_leaves_one_member_out_at_the_top(void **state)
{
	(void)state;
	assert_text("{\"seq\":[1,{\"b\":2}],\"x\":{\"seq\":3},\"seq\":4}", "seq", 1, "{\"x\":{\"seq\":3}}");
	assert_text("{\"a\":1,\"a\":2}", "seq", 2, "{\"a\":1,\"a\":2}");
}

static void test_from_json_takes_a_further_pair(void **state)
{
	(void)state;
	cop_bytes out, text;
	uint32_t pairs;
	cop_bytes_init(&out);
	cop_bytes_init(&text);
	cop_bytes_put_u8(&out, 0x55); /* what stands before is kept */
	assert_int_equal(cop_wire_from_json(&out, "{\"id\":\"u\"}", 10, NULL, &pairs, NULL), COP_OK);
	cop_wire_from_json_add(&out, 1, "seq", 70000, &pairs);
	assert_int_equal(pairs, 2);
	assert_int_equal(out.data[0], 0x55);
	assert_int_equal(cop_wire_json(&text, out.data + 1, out.length - 1, 0), COP_OK);
	cop_bytes_put_u8(&text, 0);
	assert_string_equal((const char *)text.data, "{\"id\":\"u\",\"seq\":70000}");
	cop_bytes_fini(&out);
	cop_bytes_fini(&text);
}

static void assert_no_json(const char *json, const char *message)
{
	cop_bytes out;
	uint32_t pairs;
	cop_wire_fault fault = { 0 };
	cop_bytes_init(&out);
	cop_bytes_put_u8(&out, 1);
	assert_int_equal(cop_wire_from_json(&out, json, strlen(json), NULL, &pairs, &fault), COP_EFORMAT);
	assert_int_equal(fault.code, COP_WIRE_BAD_REQUEST);
	if (strstr(fault.message, message) == NULL)
		fail_msg("%s: '%s' has no '%s'", json, fault.message, message);
	assert_int_equal(out.length, 1);
	cop_bytes_fini(&out);
}

static void test_from_json_refuses_what_is_no_object_in_utf8(void **state)
{
	(void)state;
	assert_no_json("", "body, column 1: ");
	assert_no_json("[1]", "body, column 1: no object");
	assert_no_json("{\"a\":}", "body, column 6: ");
	assert_no_json("{\"a\":1} 2", "body, column 9: ");
	assert_no_json("{\"a\":NaN}", "NaN");
	assert_no_json("{\"a\":1e999}", "beyond the largest number");
	assert_no_json("{\"a\":\"\xff\"}", "column 7: a text that is not UTF-8");
	assert_no_json("{\"\xc3\":1}", "not UTF-8");
	assert_no_json("{\"a\":\"\\ud800\"}", "body, column");
	assert_no_json("{\"a\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}", "nested too deeply");
}

static void test_from_json_nests_as_deep_as_the_wire(void **state)
{
	(void)state;
	assert_text("{\"a\":[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]}", NULL, 1, "{\"a\":[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]}");
}

static void test_from_json_without_memory_fails_each_time(void **state)
{
	(void)state;
	static const char json[] =
	        "{\"a\":[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9],\"b\":\"\\u00fc\",\"c\":{\"d\":1},\"e\":"
	        "[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9]}";
	unsigned long n = 1;
	for (;; n++) {
		cop_bytes out;
		uint32_t pairs;
		cop_bytes_init(&out);
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_wire_from_json(&out, json, sizeof json - 1, NULL, &pairs, NULL);
		bool reached = cop_test_alloc_count() >= n;
		cop_test_alloc_fail(0, 0);
		cop_bytes_fini(&out);
		assert_int_equal(err, reached ? COP_ENOMEM : COP_OK);
		if (!reached)
			break;
	}
	assert_true(n > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_from_json_gives_known_bytes),
		cmocka_unit_test(test_from_json_keeps_integers_of_64_bits),
		cmocka_unit_test(test_from_json_leaves_one_member_out_at_the_top),
		cmocka_unit_test(test_from_json_takes_a_further_pair),
		cmocka_unit_test(test_from_json_refuses_what_is_no_object_in_utf8),
		cmocka_unit_test(test_from_json_nests_as_deep_as_the_wire),
		cmocka_unit_test(test_from_json_without_memory_fails_each_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
