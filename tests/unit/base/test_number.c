#include "support.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/rng.h"

static uint64_t bits(double value)
{
	uint64_t word;
	memcpy(&word, &value, sizeof word);
	return word;
}

static void check_same_as_strtod(const char *text)
{
	double value;
	double expected = strtod(text, NULL);
	cop_err err = cop_number_parse(text, strlen(text), &value);
	if (isinf(expected)) {
		assert_int_equal(err, COP_ENONFINITE);
		return;
	}
	if (err != COP_OK || bits(value) != bits(expected))
		fail_msg("%s: %d, %.17g instead of %.17g", text, (int)err, value, expected);
}

static void test_number_of_random_digits_equals_strtod(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 7, 0);
	for (int i = 0; i < 200000; i++) {
		char text[128];
		size_t at = 0;
		if (cop_rng_below(&rng, 3) == 0)
			text[at++] = "+-"[cop_rng_below(&rng, 2)];
		uint64_t whole = cop_rng_below(&rng, cop_rng_below(&rng, 2) ? 4 : 24);
		uint64_t part = cop_rng_below(&rng, cop_rng_below(&rng, 2) ? 6 : 24) + (whole == 0);
		for (uint64_t k = 0; k < whole; k++)
			text[at++] = (char)('0' + cop_rng_below(&rng, 10) * cop_rng_below(&rng, 2));
		if (part > 0)
			text[at++] = '.';
		for (uint64_t k = 0; k < part; k++)
			text[at++] = (char)('0' + cop_rng_below(&rng, 10));
		text[at] = '\0';
		if (cop_rng_below(&rng, 2) == 0)
			(void)snprintf(text + at, sizeof text - at, "e%d", (int)cop_rng_below(&rng, 700) - 350);
		check_same_as_strtod(text);
	}
}

static void test_number_of_random_bits_survives_text(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 8, 0);
	for (int i = 0; i < 100000; i++) {
		uint64_t word = cop_rng_u64(&rng);
		double value;
		memcpy(&value, &word, sizeof value);
		if (!isfinite(value))
			continue;
		char text[COP_NUMBER_ROOM];
		double back;
		size_t length = cop_number_format(value, text);
		assert_int_equal(length, strlen(text));
		assert_int_equal(cop_number_parse(text, strlen(text), &back), COP_OK);
		assert_int_equal(bits(back), word);
		check_same_as_strtod(text);

		float narrow;
		memcpy(&narrow, &word, sizeof narrow);
		if (!isfinite(narrow))
			continue;
		size_t narrow_length = cop_number_format_float(narrow, text);
		assert_int_equal(narrow_length, strlen(text));
		assert_int_equal(cop_number_parse(text, strlen(text), &back), COP_OK);
		assert_true((float)back == narrow);
	}
}

static void test_number_of_hard_cases_equals_strtod(void **state)
{
	(void)state;
	static const char *const texts[] = { "0", "-0", "+0.0", "1", "1.", ".5", "-.5e1", "9007199254740993",
		"9007199254740992", "9007199254740991e22", "1e22", "1e23", "1e-22", "1e-23", "18446744073709551615",
		"18446744073709551616", "2.2250738585072011e-308", "2.2250738585072014e-308", "5e-324", "2e-324",
		"1.7976931348623157e308", "1.7976931348623159e308", "1e309", "1e-400", "0e999999999999",
		"1e-99999999999", "0.000000000000000000000000000000000000001", "100000000000000000000000000000000",
		"1.00000000000000011102230", "1.000000000000000111022302462515654042363166809082031251",
		"00000000000000000000000000000.1e1" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		check_same_as_strtod(texts[i]);
}

static void test_number_of_other_text_is_refused(void **state)
{
	(void)state;
	static const char *const malformed[] = { "", "+", "-", ".", "e5", "1e", "1e+", "1e5x", "0x10", "1,5", " 1",
		"1 ", "--1", "1.2.3", "1d5", "in", "nano", "abc", "1_000" };
	static const char *const nonfinite[] = { "nan", "NaN", "-nan", "inf", "-Inf", "+INFINITY", "1e999", "-1e999" };
	double value = 1;
	for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
		assert_int_equal(cop_number_parse(malformed[i], strlen(malformed[i]), &value), COP_EFORMAT);
		assert_true(value == 0);
	}
	for (size_t i = 0; i < sizeof nonfinite / sizeof *nonfinite; i++)
		assert_int_equal(cop_number_parse(nonfinite[i], strlen(nonfinite[i]), &value), COP_ENONFINITE);
	char text[COP_NUMBER_MAX + 1];
	memset(text, '1', sizeof text);
	assert_int_equal(cop_number_parse(text, sizeof text, &value), COP_EFORMAT);
	text[1] = '.';
	assert_int_equal(cop_number_parse(text, COP_NUMBER_MAX, &value), COP_OK);
}

static void test_number_format_of_simple_values_is_short(void **state)
{
	(void)state;
	static const struct {
		double value;
		const char *text;
	} cases[] = { { 0, "0" }, { 0.1, "0.1" }, { -2.5, "-2.5" }, { 100000, "100000" }, { 1e15, "1e+15" },
		{ 1.0 / 3.0, "0.3333333333333333" }, { 123456789, "123456789" } };
	char text[COP_NUMBER_ROOM];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		(void)cop_number_format(cases[i].value, text);
		assert_string_equal(text, cases[i].text);
	}
	(void)cop_number_format_float(0.1f, text);
	assert_string_equal(text, "0.1");
	(void)cop_number_format(-1.7976931348623157e308, text);
	assert_string_equal(text, "-1.7976931348623157e+308");
}

/* printf with ever more digits until the text reads back. */
static void check_format(double value, bool narrow)
{
	char text[COP_NUMBER_ROOM];
	char expected[COP_NUMBER_ROOM];
	int digits = narrow ? 6 : 15;
	do
		(void)snprintf(expected, sizeof expected, "%.*g", digits++, value);
	while (narrow ? strtof(expected, NULL) != (float)value : strtod(expected, NULL) != value);
	size_t length = narrow ? cop_number_format_float((float)value, text) : cop_number_format(value, text);
	assert_string_equal(text, expected);
	assert_int_equal(length, strlen(expected));
}

static void test_number_format_is_printf_with_fewest_digits(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 4, 0);
	check_format(-0.0, true);
	check_format(-0.0, false);
	for (int i = 0; i < 300000; i++) {
		double v = cop_rng_normal(&rng);
		double power = pow(10.0, (double)cop_rng_below(&rng, 12));
		double whole = (double)cop_rng_below(&rng, 1000000000);
		check_format((double)(float)v, true);
		check_format((double)(float)(v * power), true);
		check_format((double)(float)(whole / power), true);
		check_format(v, false);
		check_format(whole * v, false);
		check_format(whole / power, false);
		float near = (float)power;
		for (int k = 0; k < 3; k++, near = nextafterf(near, (float)v * 1e30f))
			check_format((double)near, true);
	}
}

static void test_number_in_comma_locale_keeps_point(void **state)
{
	(void)state;
	if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL && setlocale(LC_NUMERIC, "fr_FR.UTF-8") == NULL)
		print_message("no locale with a decimal comma is installed: checked in the C locale only\n");
	char text[COP_NUMBER_ROOM];
	double value;
	(void)cop_number_format(0.30000000000000004, text);
	cop_err err = cop_number_parse("0.123456789012345678901234", 26, &value);
	(void)setlocale(LC_NUMERIC, "C");
	assert_string_equal(text, "0.30000000000000004");
	assert_int_equal(err, COP_OK);
	assert_true(value == 0.123456789012345678901234);
}

/* As strtod: where the longest number of the text ends, and its value. */
static void check_scan_same_as_strtod(const char *text, size_t length)
{
	double value;
	char *stop;
	double expected = strtod(text, &stop);
	const char *end = cop_number_scan(text, text + length, &value);
	if (stop == text) {
		if (end != NULL || bits(value) != 0)
			fail_msg("\"%s\": a number was found", text);
		return;
	}
	if (end != stop || bits(value) != bits(expected))
		fail_msg("\"%s\": %.17g up to %td instead of %.17g up to %td", text, value, end - text, expected,
		        stop - text);
}

static void test_number_scan_of_random_text_ends_where_strtod_does(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 9, 0);
	for (int i = 0; i < 1000000; i++) {
		static const char letters[] = "0123456789012345678901234567890123456789....--+eE :|a";
		char text[64];
		size_t length = cop_rng_below(&rng, 40);
		for (size_t k = 0; k < length; k++)
			text[k] = letters[cop_rng_below(&rng, sizeof letters - 1)];
		text[length] = '\0';
		if (text[0] != ' ') /* which strtod would skip */
			check_scan_same_as_strtod(text, length);
	}
}

static void test_number_scan_of_usual_numbers_equals_strtod(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 10, 0);
	for (int i = 0; i < 1000000; i++) {
		char text[96];
		double value = ldexp((double)cop_rng_u64(&rng), (int)cop_rng_below(&rng, 60) - 84);
		if (cop_rng_below(&rng, 2) == 0)
			value = -value;
		int digits = (int)cop_rng_below(&rng, 19) + 1;
		int n = snprintf(
		        text, sizeof text, cop_rng_below(&rng, 2) ? "%.*g" : "%.*f", digits > 17 ? 6 : digits, value);
		int more = snprintf(text + n, sizeof text - (size_t)n, " f%d:0.125|next", i);
		size_t length = (size_t)(n + more);
		check_scan_same_as_strtod(text, length - cop_rng_below(&rng, 2) * (size_t)more);
	}
}

static void test_number_scan_of_hard_text_equals_strtod(void **state)
{
	(void)state;
	static const char *const texts[] = { "", "+", "-", ".", "-.", "e5", ".e5", "1e", "1e+", "1e-", "1e+x", "1.e1",
		"1..2", ".5.5", "1.5e3.2", "0x10", "12345678", "1234567.1234567 abc def gh",
		"1234567.12345678 abc def gh", "12345678.1 abc def gh i", "-0", "-0.0 abc def gh ijk lmno",
		"+1.5|abc def gh ijk lmno", "9223372036854775807 abc def gh", "18446744073709551615",
		"18446744073709551616", "0.14285714498588012", "9007199254740993", "9007199254740993e5",
		"9007199254740992.5e0", "4611686018427388928e1", "36893488147419107329", "1e-400 abc def gh ijk lmno",
		"1e400", "-1e400", "1.7976931348623157e308", "2.2250738585072011e-308", "4.9e-324",
		"100000000000000000000000000e-27" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (strcmp(texts[i], "0x10") != 0)
			check_scan_same_as_strtod(texts[i], strlen(texts[i]));
	double value;
	static const char *const words[] = { "nan", "infinity and beyond, far away", "-inf" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		assert_null(cop_number_scan(words[i], words[i] + strlen(words[i]), &value));
	const char *hex = "0x10 which strtod would take whole";
	assert_ptr_equal(cop_number_scan(hex, hex + strlen(hex), &value), hex + 1);
}

static void test_number_scan_of_endless_digits_finds_none(void **state)
{
	(void)state;
	static char text[COP_NUMBER_MAX + 100];
	double value;
	memset(text, '7', sizeof text);
	assert_null(cop_number_scan(text, text + sizeof text, &value));
	assert_null(cop_number_scan(text, text + COP_NUMBER_MAX + 1, &value));
	assert_ptr_equal(cop_number_scan(text, text + COP_NUMBER_MAX, &value), text + COP_NUMBER_MAX);
	assert_true(isinf(value));
	text[5] = 'x';
	assert_ptr_equal(cop_number_scan(text, text + sizeof text, &value), text + 5);
	assert_true(value == 77777);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_number_of_random_digits_equals_strtod),
		cmocka_unit_test(test_number_of_random_bits_survives_text),
		cmocka_unit_test(test_number_of_hard_cases_equals_strtod),
		cmocka_unit_test(test_number_of_other_text_is_refused),
		cmocka_unit_test(test_number_format_of_simple_values_is_short),
		cmocka_unit_test(test_number_format_is_printf_with_fewest_digits),
		cmocka_unit_test(test_number_in_comma_locale_keeps_point),
		cmocka_unit_test(test_number_scan_of_random_text_ends_where_strtod_does),
		cmocka_unit_test(test_number_scan_of_usual_numbers_equals_strtod),
		cmocka_unit_test(test_number_scan_of_hard_text_equals_strtod),
		cmocka_unit_test(test_number_scan_of_endless_digits_finds_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
