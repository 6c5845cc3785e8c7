#include "support.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/rng.h"

static cop_json_writer *writer_of(cop_json_style style)
{
	cop_json_writer *w;
	assert_int_equal(cop_json_writer_new(style, &w), COP_OK);
	return w;
}

static void check_text(cop_json_writer *w, const char *expected)
{
	const char *text;
	size_t length;
	assert_int_equal(cop_json_writer_finish(w, &text, &length), COP_OK);
	assert_string_equal(text, expected);
	assert_int_equal(length, strlen(expected));
	cop_json_writer_free(w);
}

static void write_sample(cop_json_writer *w)
{
	cop_json_begin_object(w);
	cop_json_key(w, "z");
	cop_json_begin_array(w);
	cop_json_number(w, 0.1);
	cop_json_integer(w, -3);
	cop_json_begin_array(w);
	cop_json_end_array(w);
	cop_json_end_array(w);
	cop_json_key(w, "a");
	cop_json_begin_object(w);
	cop_json_end_object(w);
	cop_json_key(w, "t");
	cop_json_boolean(w, true);
	cop_json_key(w, "n");
	cop_json_null(w);
	cop_json_key(w, "s");
	cop_json_text(w, "x\"y");
	cop_json_end_object(w);
}

static void test_json_writer_compact_keeps_key_order(void **state)
{
	(void)state;
	cop_json_writer *w = writer_of(COP_JSON_COMPACT);
	write_sample(w);
	check_text(w, "{\"z\":[0.1,-3,[]],\"a\":{},\"t\":true,\"n\":null,\"s\":\"x\\\"y\"}");
}

static void test_json_writer_indented_puts_members_on_lines(void **state)
{
	(void)state;
	cop_json_writer *w = writer_of(COP_JSON_INDENTED);
	write_sample(w);
	check_text(w, "{\n  \"z\": [\n    0.1,\n    -3,\n    []\n  ],\n  \"a\": {},\n  \"t\": true,\n  \"n\": null,\n"
	              "  \"s\": \"x\\\"y\"\n}");
}

static void test_json_writer_of_single_values_is_plain(void **state)
{
	(void)state;
	static const struct {
		double value;
		const char *text;
	} numbers[] = { { (double)NAN, "null" }, { (double)INFINITY, "null" }, { -(double)INFINITY, "null" },
		{ 0.93, "0.93" }, { -0.0, "-0" }, { 1e300, "1e+300" }, { 100, "100" } };
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		cop_json_writer *w = writer_of(COP_JSON_COMPACT);
		cop_json_number(w, numbers[i].value);
		check_text(w, numbers[i].text);
	}
	cop_json_writer *w = writer_of(COP_JSON_COMPACT);
	cop_json_number_float(w, 0.1f);
	check_text(w, "0.1");
	w = writer_of(COP_JSON_COMPACT);
	cop_json_unsigned(w, UINT64_MAX);
	check_text(w, "18446744073709551615");
	w = writer_of(COP_JSON_COMPACT);
	cop_json_integer(w, INT64_MIN);
	check_text(w, "-9223372036854775808");
	w = writer_of(COP_JSON_COMPACT);
	cop_json_text(w, NULL);
	check_text(w, "null");
}

static void test_json_writer_of_odd_text_escapes_it(void **state)
{
	(void)state;
	cop_json_writer *w = writer_of(COP_JSON_COMPACT);
	cop_json_text(w, "\x01\t\n\\/ \xc3\xa9 \xff \xc0\x80 \xed\xa0\x80 \xf0\x9f\x8c\xb3 \xe2\x82");
	check_text(w, "\"\\u0001\\t\\n\\\\/ \xc3\xa9 \\ufffd \\ufffd\\ufffd \\ufffd\\ufffd\\ufffd \xf0\x9f\x8c\xb3 "
	              "\\ufffd\\ufffd\"");
	w = writer_of(COP_JSON_COMPACT);
	cop_json_text_length(w, "a\0b", 3);
	check_text(w, "\"a\\u0000b\"");
}

static void test_json_writer_too_deep_is_refused(void **state)
{
	(void)state;
	cop_json_writer *w = writer_of(COP_JSON_COMPACT);
	for (int i = 0; i <= COP_JSON_MAX_DEPTH; i++)
		cop_json_begin_array(w);
	for (int i = 0; i <= COP_JSON_MAX_DEPTH; i++)
		cop_json_end_array(w);
	const char *text;
	assert_int_equal(cop_json_writer_finish(w, &text, NULL), COP_EFULL);
	assert_null(text);
	cop_json_writer_free(w);
	cop_json_writer_free(NULL);
}

static void test_json_writer_without_memory_fails_at_finish(void **state)
{
	(void)state;
	unsigned long n = 1;
	for (;; n++) {
		cop_json_writer *w;
		const char *text = NULL;
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_json_writer_new(COP_JSON_INDENTED, &w);
		if (err == COP_OK) {
			cop_json_begin_array(w);
			for (int i = 0; i < 10; i++)
				write_sample(w);
			cop_json_end_array(w);
			err = cop_json_writer_finish(w, &text, NULL);
		}
		cop_test_alloc_fail(0, 0);
		assert_int_equal(text != NULL, err == COP_OK);
		cop_json_writer_free(w);
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
	}
	assert_true(n > 3);
}

static cop_json *parse(const char *text)
{
	cop_json *root;
	assert_int_equal(cop_json_parse(text, strlen(text), &root, NULL), COP_OK);
	return root;
}

static void test_json_written_numbers_read_back_exactly(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 5, 0);
	double values[500];
	cop_json_writer *w = writer_of(COP_JSON_INDENTED);
	cop_json_begin_array(w);
	for (size_t i = 0; i < 500; i++) {
		values[i] = cop_rng_normal(&rng) * pow(10, (double)cop_rng_below(&rng, 40) - 20);
		cop_json_number(w, values[i]);
	}
	cop_json_end_array(w);
	const char *text;
	assert_int_equal(cop_json_writer_finish(w, &text, NULL), COP_OK);
	cop_json *root = parse(text);
	assert_int_equal(cop_json_size(root), 500);
	for (size_t i = 0; i < 500; i++) {
		double back;
		assert_int_equal(cop_json_get_number(cop_json_element(root, i), &back), COP_OK);
		assert_true(back == values[i]);
	}
	cop_json_free(root);
	cop_json_writer_free(w);
}

static void test_json_parsed_members_are_found(void **state)
{
	(void)state;
	cop_json *root = parse(" {\"a\": [1, 2.5, \"t\", true, null, {}], \"b\": {\"c\": -7}} ");
	const cop_json *a = cop_json_member(root, "a");
	static const cop_json_type types[] = { COP_JSON_NUMBER, COP_JSON_NUMBER, COP_JSON_TEXT, COP_JSON_BOOLEAN,
		COP_JSON_NULL, COP_JSON_OBJECT };
	double number;
	int64_t integer;
	bool boolean;
	const char *text;
	size_t length;
	assert_int_equal(cop_json_type_of(root), COP_JSON_OBJECT);
	assert_int_equal(cop_json_type_of(a), COP_JSON_ARRAY);
	assert_int_equal(cop_json_size(a), 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(cop_json_type_of(cop_json_element(a, i)), types[i]);
	assert_int_equal(cop_json_get_integer(cop_json_element(a, 0), &integer), COP_OK);
	assert_int_equal(integer, 1);
	assert_int_equal(cop_json_get_integer(cop_json_element(a, 1), &integer), COP_EINVAL);
	assert_int_equal(cop_json_get_number(cop_json_element(a, 1), &number), COP_OK);
	assert_true(number == 2.5);
	assert_int_equal(cop_json_get_text(cop_json_element(a, 2), &text, &length), COP_OK);
	assert_string_equal(text, "t");
	assert_int_equal(cop_json_get_boolean(cop_json_element(a, 3), &boolean), COP_OK);
	assert_true(boolean);
	assert_int_equal(cop_json_get_integer(cop_json_member(cop_json_member(root, "b"), "c"), &integer), COP_OK);
	assert_int_equal(integer, -7);
	assert_null(cop_json_element(a, 6));
	assert_null(cop_json_member(root, "x"));
	assert_null(cop_json_member(a, "x"));
	assert_null(cop_json_member(NULL, "x"));
	assert_null(cop_json_element(root, 0));
	assert_int_equal(cop_json_size(cop_json_element(a, 0)), 0);
	assert_int_equal(cop_json_get_number(NULL, &number), COP_EINVAL);
	assert_int_equal(cop_json_get_text(a, &text, NULL), COP_EINVAL);
	assert_int_equal(cop_json_get_boolean(a, &boolean), COP_EINVAL);
	cop_json_free(root);
	cop_json_free(NULL);
}

static void test_json_next_member_walks_in_the_texts_order(void **state)
{
	(void)state;
	static const char *const keys[] = { "z", "a", "m", "" };
	cop_json *root = parse("{\"z\": 0, \"a\": 1, \"m\": 2, \"\": 3}");
	const char *key = NULL;
	const cop_json *value;
	int64_t place = 0;
	for (; (value = cop_json_next_member(root, &key)) != NULL; place++) {
		int64_t integer;
		assert_string_equal(key, keys[place]);
		assert_int_equal(cop_json_get_integer(value, &integer), COP_OK);
		assert_int_equal(integer, place);
	}
	assert_int_equal(place, 4);
	assert_null(key);
	assert_null(cop_json_next_member(cop_json_member(root, "z"), &key));
	assert_null(cop_json_next_member(NULL, &key));
	cop_json_free(root);
}

static void test_json_parse_of_malformed_text_tells_line(void **state)
{
	(void)state;
	static const char *const texts[] = { "", "{", "{\"a\":1,}", "[1] x", "{\"a\":1,\"a\":2}", "nan", "[\"\xff\"]",
		"\"\\ud800\"", "[1e999]" };
	cop_json *root;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		assert_int_equal(cop_json_parse(texts[i], strlen(texts[i]), &root, NULL), COP_EFORMAT);
		assert_null(root);
	}
	cop_diag diag;
	assert_int_equal(cop_json_parse("[1,\n2,\n}", 8, &root, &diag), COP_EFORMAT);
	assert_int_equal(diag.line, 3);
	char deep[2 * COP_JSON_MAX_DEPTH + 4];
	memset(deep, '[', sizeof deep);
	memset(deep + COP_JSON_MAX_DEPTH, ']', COP_JSON_MAX_DEPTH);
	assert_int_equal(cop_json_parse(deep, 2 * COP_JSON_MAX_DEPTH, &root, NULL), COP_OK);
	cop_json_free(root);
	memset(deep, '[', COP_JSON_MAX_DEPTH + 1);
	assert_int_equal(cop_json_parse(deep, sizeof deep, &root, &diag), COP_EFULL);
	assert_int_equal(cop_json_parse("\"[[[[\\\"[\"", 9, &root, &diag), COP_OK);
	cop_json_free(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_writer_compact_keeps_key_order),
		cmocka_unit_test(test_json_writer_indented_puts_members_on_lines),
		cmocka_unit_test(test_json_writer_of_single_values_is_plain),
		cmocka_unit_test(test_json_writer_of_odd_text_escapes_it),
		cmocka_unit_test(test_json_writer_too_deep_is_refused),
		cmocka_unit_test(test_json_writer_without_memory_fails_at_finish),
		cmocka_unit_test(test_json_written_numbers_read_back_exactly),
		cmocka_unit_test(test_json_parsed_members_are_found),
		cmocka_unit_test(test_json_next_member_walks_in_the_texts_order),
		cmocka_unit_test(test_json_parse_of_malformed_text_tells_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
