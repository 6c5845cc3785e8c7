#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/rng.h"
#include "events/json_scan.h"

/* A text in memory of exactly its size, so that sanitizers see every byte too far. */
typedef struct exact {
	char *text;
	cop_json_scan scan;
} exact;

static void exact_open(exact *e, const char *text, size_t length)
{
	e->text = malloc(length + 1);
	assert_non_null(e->text);
	memcpy(e->text, text, length);
	e->text[length] = '\0';
	cop_json_scan_init(&e->scan, e->text, length);
}

/* Reads a value of any kind, all of it. Values read are counted. */
static size_t read_any(cop_json_scan *scan)
{
	cop_json_scan_span text;
	double number;
	bool truth;
	size_t count = 1;
	char out[256];
	size_t length;
	switch (cop_json_scan_kind(scan)) {
	case COP_JSON_SCAN_NULL:
		(void)cop_json_scan_null(scan);
		break;
	case COP_JSON_SCAN_BOOL:
		(void)cop_json_scan_bool(scan, &truth);
		break;
	case COP_JSON_SCAN_NUMBER:
		(void)cop_json_scan_number(scan, &number);
		break;
	case COP_JSON_SCAN_STRING:
		if (cop_json_scan_string(scan, &text) && text.length <= sizeof out)
			(void)cop_json_scan_decode(scan, &text, out, &length);
		break;
	case COP_JSON_SCAN_ARRAY:
		for ((void)cop_json_scan_open(scan); cop_json_scan_element(scan);)
			count += read_any(scan);
		break;
	case COP_JSON_SCAN_OBJECT:
		for ((void)cop_json_scan_open(scan); cop_json_scan_member(scan, &text);)
			count += read_any(scan);
		break;
	default:
		break;
	}
	return count;
}

static cop_err read_whole(const char *text, bool skip)
{
	exact e;
	exact_open(&e, text, strlen(text));
	if (skip)
		(void)cop_json_scan_skip(&e.scan);
	else
		(void)read_any(&e.scan);
	(void)cop_json_scan_finish(&e.scan);
	free(e.text);
	return e.scan.err;
}

static const char sample[] = "{\"a\": [1, -2.5e-3, {\"b\\n\": \"x\\u00e9\\\"\"}, [], {}], \"long enough name\": true,"
                             " \"c\":null ,\"d\" : false, \"\\ud83d\\ude00\": \"\"}";

static void test_scan_of_all_kinds_gives_their_values(void **state)
{
	(void)state;
	exact e;
	cop_json_scan_span name, text;
	double number;
	bool truth;
	char out[64];
	size_t length;
	exact_open(&e, sample, sizeof sample - 1);
	assert_int_equal(cop_json_scan_kind(&e.scan), COP_JSON_SCAN_OBJECT);
	assert_true(cop_json_scan_open(&e.scan));
	assert_true(cop_json_scan_member(&e.scan, &name));
	assert_true(cop_json_scan_is(&name, "a") && !cop_json_scan_is(&name, "ab") && !cop_json_scan_is(&name, ""));
	assert_int_equal(cop_json_scan_kind(&e.scan), COP_JSON_SCAN_ARRAY);
	assert_true(cop_json_scan_open(&e.scan));
	assert_true(cop_json_scan_element(&e.scan) && cop_json_scan_number(&e.scan, &number) && number == 1);
	assert_true(cop_json_scan_element(&e.scan) && cop_json_scan_number(&e.scan, &number) && number == -2.5e-3);
	assert_true(cop_json_scan_element(&e.scan) && cop_json_scan_open(&e.scan));
	assert_true(cop_json_scan_member(&e.scan, &name) && name.escaped && !cop_json_scan_is(&name, "b\\n"));
	assert_true(cop_json_scan_string(&e.scan, &text) && text.escaped);
	assert_true(cop_json_scan_decode(&e.scan, &text, out, &length));
	assert_int_equal(length, 4);
	assert_memory_equal(out, "x\xc3\xa9\"", 4);
	assert_false(cop_json_scan_member(&e.scan, &name));
	assert_true(cop_json_scan_element(&e.scan) && cop_json_scan_skip(&e.scan));
	assert_true(cop_json_scan_element(&e.scan) && cop_json_scan_skip(&e.scan));
	assert_false(cop_json_scan_element(&e.scan));
	assert_true(cop_json_scan_member(&e.scan, &name) && cop_json_scan_is(&name, "long enough name"));
	assert_true(cop_json_scan_bool(&e.scan, &truth) && truth);
	assert_true(cop_json_scan_member(&e.scan, &name) && cop_json_scan_kind(&e.scan) == COP_JSON_SCAN_NULL);
	assert_true(cop_json_scan_null(&e.scan));
	assert_true(cop_json_scan_member(&e.scan, &name) && cop_json_scan_bool(&e.scan, &truth) && !truth);
	assert_true(cop_json_scan_member(&e.scan, &name) && cop_json_scan_decode(&e.scan, &name, out, &length));
	assert_int_equal(length, 4);
	assert_memory_equal(out, "\xf0\x9f\x98\x80", 4);
	assert_true(cop_json_scan_string(&e.scan, &text) && text.length == 0);
	assert_false(cop_json_scan_member(&e.scan, &name));
	assert_true(cop_json_scan_finish(&e.scan));
	assert_int_equal(e.scan.depth, 0);
	free(e.text);
}

static void test_scan_cut_at_any_byte_is_a_fault(void **state)
{
	(void)state;
	for (size_t length = 0; length < sizeof sample - 1; length++)
		for (int skip = 0; skip < 2; skip++) {
			exact e;
			exact_open(&e, sample, length);
			if (skip)
				assert_false(cop_json_scan_skip(&e.scan));
			else
				(void)read_any(&e.scan);
			assert_int_equal(e.scan.err, COP_EFORMAT);
			assert_true(e.scan.column >= 1 && e.scan.column <= length + 1);
			assert_true(strlen(e.scan.what) > 0);
			assert_int_equal(cop_json_scan_kind(&e.scan), COP_JSON_SCAN_NONE); /* sticky */
			assert_false(cop_json_scan_skip(&e.scan));
			free(e.text);
		}
}

static void test_scan_of_wrong_text_says_where_and_what(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		cop_err err;
		size_t column;
		const char *says;
	} cases[] = {
		{ "", COP_EFORMAT, 1, "the text ends here; expected a value" },
		{ "  ", COP_EFORMAT, 3, "the text ends here; expected a value" },
		{ "[1,]", COP_EFORMAT, 4, "']'; expected a value" },
		{ "[1 2]", COP_EFORMAT, 4, "'2'; expected a comma or ]" },
		{ "[1}", COP_EFORMAT, 3, "'}'; expected a comma or ]" },
		{ "{\"a\":1,}", COP_EFORMAT, 8, "'}'; expected a name in quotes" },
		{ "{\"a\" 1}", COP_EFORMAT, 6, "'1'; expected a colon behind the name" },
		{ "{a:1}", COP_EFORMAT, 2, "'a'; expected a name in quotes" },
		{ "{\"a\":1 \"b\":2}", COP_EFORMAT, 8, "text; expected a comma or }" },
		{ "[01]", COP_EFORMAT, 2, "'01'; expected a number" },
		{ "[1.]", COP_EFORMAT, 2, "'1'; expected a number" },
		{ "[-]", COP_EFORMAT, 2, "'-'; expected a number" },
		{ "[+1]", COP_EFORMAT, 2, "'+'; expected a value" },
		{ "[.5]", COP_EFORMAT, 2, "'.'; expected a value" },
		{ "[1e]", COP_EFORMAT, 2, "'1e'; expected a number" },
		{ "[1x]", COP_EFORMAT, 2, "'1x'; expected a number" },
		{ "[0x10]", COP_EFORMAT, 2, "'0x10'; expected a number" },
		{ "[1.5.5]", COP_EFORMAT, 2, "'1'; expected a number" },
		{ "[NaN]", COP_ENONFINITE, 2, "NaN is not finite; expected a finite number" },
		{ "[nan]", COP_ENONFINITE, 2, "nan is not finite; expected a finite number" },
		{ "[-Infinity]", COP_ENONFINITE, 2, "-Infinity is not finite; expected a finite number" },
		{ "[Infinity]", COP_ENONFINITE, 2, "Infinity is not finite; expected a finite number" },
		{ "[1e400]", COP_ENONFINITE, 2, "1e400 is beyond the largest number; expected a finite one" },
		{ "[truer]", COP_EFORMAT, 2, "'truer'; expected true or false" },
		{ "[nul]", COP_EFORMAT, 2, "'nul'; expected null" },
		{ "[\"a\tb\"]", COP_EFORMAT, 4, "byte 9; expected no control character in a string" },
		{ "[\"abcdefgh\x01\"]", COP_EFORMAT, 11, "byte 1; expected no control character in a string" },
		{ "[\"\\x\"]", COP_EFORMAT, 3,
		        "an unknown escape; expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u and four hex "
		        "digits" },
		{ "[\"\\u12g4\"]", COP_EFORMAT, 3,
		        "an unknown escape; expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u and four hex "
		        "digits" },
		{ "[\"\\ud83d\"]", COP_EFORMAT, 3,
		        "\\ud83d is no character; expected one (of two halves above \\uffff)" },
		{ "[\"\\ude00\\ud83d\"]", COP_EFORMAT, 3,
		        "\\ude00 is no character; expected one (of two halves above \\uffff)" },
		{ "[\"\\u0000\"]", COP_EFORMAT, 3,
		        "\\u0000 is no character; expected one (of two halves above \\uffff)" },
		{ "[1] 2", COP_EFORMAT, 5, "'2'; expected nothing more" },
		{ "\xff", COP_EFORMAT, 1, "byte 255; expected a value" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		exact e;
		exact_open(&e, cases[i].text, strlen(cases[i].text));
		(void)read_any(&e.scan);
		(void)cop_json_scan_finish(&e.scan);
		if (strcmp(e.scan.what, cases[i].says) != 0)
			fail_msg("%s: \"%s\" at %zu", cases[i].text, e.scan.what, e.scan.column);
		assert_int_equal(e.scan.err, cases[i].err);
		assert_int_equal(e.scan.column, cases[i].column);
		free(e.text);
		if (strstr(cases[i].says, "is no character") == NULL && strstr(cases[i].says, "beyond") == NULL)
			assert_int_equal(read_whole(cases[i].text, true), cases[i].err);
	}
}

/* The first and the last of each kind; want NULL: it is no character. */
static void test_scan_of_halves_at_their_ends(void **state)
{
	(void)state;
	static const struct {
		const char *text, *want;
	} cases[] = { { "\\u0001", "\x01" }, { "\\u007f", "\x7f" }, { "\\u0080", "\xc2\x80" },
		{ "\\u07ff", "\xdf\xbf" }, { "\\u0800", "\xe0\xa0\x80" }, { "\\ud7ff", "\xed\x9f\xbf" },
		{ "\\ue000", "\xee\x80\x80" }, { "\\uffff", "\xef\xbf\xbf" }, { "\\ud800\\udc00", "\xf0\x90\x80\x80" },
		{ "\\ud800\\udfff", "\xf0\x90\x8f\xbf" }, { "\\udbff\\udc00", "\xf4\x8f\xb0\x80" },
		{ "\\udbff\\udfff", "\xf4\x8f\xbf\xbf" }, { "\\ud800", NULL }, { "\\ud800\\udbff", NULL },
		{ "\\ud800\\ue000", NULL }, { "\\udc00\\udc00", NULL }, { "\\udbffx", NULL },
		{ "\\ud800\\n12345", NULL }, { "\\ud800xu0000", NULL } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char whole[64], out[64];
		exact e;
		cop_json_scan_span text;
		size_t length;
		(void)snprintf(whole, sizeof whole, "\"%s\"", cases[i].text);
		exact_open(&e, whole, strlen(whole));
		bool right = cop_json_scan_string(&e.scan, &text) && cop_json_scan_decode(&e.scan, &text, out, &length);
		if (right != (cases[i].want != NULL))
			fail_msg("%s", cases[i].text);
		if (right) {
			assert_int_equal(length, strlen(cases[i].want));
			assert_memory_equal(out, cases[i].want, length);
		}
		free(e.text);
	}
}

static void test_scan_of_zero_bytes_is_a_fault(void **state)
{
	(void)state;
	static const char *const texts[] = { "[1,?2]", "[\"a?b\"]", "?[1]", "[1]?", "[t?ue]", "{\"a\"?:1}", "[1?]" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char text[16];
		size_t length = strlen(texts[i]);
		for (size_t k = 0; k < length; k++)
			text[k] = (char)(texts[i][k] == '?' ? 0 : texts[i][k]);
		exact e;
		exact_open(&e, text, length);
		(void)read_any(&e.scan);
		(void)cop_json_scan_finish(&e.scan);
		assert_int_equal(e.scan.err, COP_EFORMAT);
		free(e.text);
	}
}

static void test_scan_too_deep_is_a_fault(void **state)
{
	(void)state;
	enum { MOST = COP_JSON_SCAN_DEPTH };
	char text[8 * MOST];
	for (int deep = MOST; deep <= MOST + 1; deep++)
		for (int kind = 0; kind < 2; kind++) {
			size_t at = 0;
			for (int i = 0; i < deep; i++)
				at += (size_t)sprintf(text + at, "%s", kind == 0 ? "[" : i + 1 < deep ? "{\"\":" : "{");
			for (int i = 0; i < deep; i++)
				text[at++] = kind == 0 ? ']' : '}';
			text[at] = '\0';
			for (int skip = 0; skip < 2; skip++)
				assert_int_equal(read_whole(text, skip), deep <= MOST ? COP_OK : COP_EFORMAT);
		}
}

/* A random value, of which bytes are then changed now and then. */
static size_t put_random(cop_rng *rng, char *to, int depth)
{
	static const char *const plain[] = { "null", "true", "false", "0", "-1", "2.5e3", "1e-7", "123456789.123456789",
		"\"\"", "\"a\"", "\"longer than eight\"", "\"\\u00e9\\n\"", "\"\\ud83d\\ude00\"", " 7 ", "0.1" };
	size_t at = 0;
	size_t kind = cop_rng_below(rng, depth > 4 ? 1 : 3);
	if (kind == 0)
		return (size_t)sprintf(to, "%s", plain[cop_rng_below(rng, sizeof plain / sizeof *plain)]);
	to[at++] = kind == 1 ? '[' : '{';
	size_t count = cop_rng_below(rng, 4);
	for (size_t i = 0; i < count; i++) {
		at += (size_t)sprintf(to + at, "%s", i > 0 ? "," : "");
		if (kind == 2)
			at += (size_t)sprintf(to + at, "\"k%zu\":", i);
		at += put_random(rng, to + at, depth + 1);
	}
	to[at++] = kind == 1 ? ']' : '}';
	return at;
}

static bool tree_reads(const char *text, size_t length)
{
	cop_json *json;
	cop_diag diag;
	if (cop_json_parse(text, length, &json, &diag) != COP_OK)
		return false;
	cop_json_free(json);
	return true;
}

/* Both refuse and accept the same, but for what only one of them looks at. */
static void test_scan_agrees_with_the_tree_on_random_text(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 5, 0);
	char *text = malloc(1 << 20);
	size_t right = 0;
	assert_non_null(text);
	for (int round = 0; round < 20000; round++) {
		size_t length = put_random(&rng, text, 0);
		if (text[0] != '[' && text[0] != '{')
			continue;
		if (cop_rng_below(&rng, 2) == 0)
			text[cop_rng_below(&rng, length)] = " \"\\{}[],:5e-tn"[cop_rng_below(&rng, 14)];
		if (memchr(text, '\0', length) != NULL)
			continue;
		exact e;
		exact_open(&e, text, length);
		(void)read_any(&e.scan);
		(void)cop_json_scan_finish(&e.scan);
		if ((e.scan.err == COP_OK) != tree_reads(text, length))
			fail_msg("%.*s: %s", (int)length, text, e.scan.what);
		right += e.scan.err == COP_OK;
		free(e.text);
	}
	assert_true(right > 5000);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan_of_all_kinds_gives_their_values),
		cmocka_unit_test(test_scan_cut_at_any_byte_is_a_fault),
		cmocka_unit_test(test_scan_of_wrong_text_says_where_and_what),
		cmocka_unit_test(test_scan_of_zero_bytes_is_a_fault),
		cmocka_unit_test(test_scan_too_deep_is_a_fault),
		cmocka_unit_test(test_scan_agrees_with_the_tree_on_random_text),
		cmocka_unit_test(test_scan_of_halves_at_their_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
