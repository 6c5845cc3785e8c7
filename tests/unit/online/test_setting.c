/* Each kind of option: texts that are taken and printed again, texts that are refused and what is expected then. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "events/named_losses.h"
#include "bandit/shares.h"
#include "online/setting.h"

typedef struct fields {
	char name[COP_SETTING_NAME_ROOM];
	unsigned word, words;
	uint32_t count;
	uint64_t whole, micros, bytes, free;
	double number, seconds;
	bool flag, unless;
	double range[2];
	cop_setting_maybe maybe;
	cop_arm_shares shares;
	cop_named_losses losses;
} fields;

static const char *const colours[] = { "", "red", "green", "blue", NULL };
static const char *const parts[] = { "a", "b", "c", NULL };
static const char *const automatic[] = { "auto", NULL };

#define AT(member) .offset = offsetof(fields, member)
static const cop_setting rows[] = {
	{ "name", COP_SETTING_NAME, AT(name), .words = colours },
	{ "word", COP_SETTING_WORD, AT(word), .words = colours },
	{ "words", COP_SETTING_WORDS, AT(words), .words = parts },
	{ "count", COP_SETTING_COUNT, AT(count), .low = 1, .high = 1e9 },
	{ "whole", COP_SETTING_WHOLE, AT(whole), .high = 0x1p64 },
	{ "micros", COP_SETTING_MICROS, AT(micros), .low = 1e3, .high = 86400e6 },
	{ "seconds", COP_SETTING_SECONDS, AT(seconds), .low = 1e3, .high = 86400e6 },
	{ "bytes", COP_SETTING_SIZE, AT(bytes), .low = 1024, .high = 0x1p40 },
	{ "free", COP_SETTING_SIZE, AT(free), .low = 1024, .high = 0x1p40, .words = automatic },
	{ "number", COP_SETTING_NUMBER, AT(number), .low = -1, .high = 1e30 },
	{ "flag", COP_SETTING_FLAG, AT(flag) },
	{ "unless", COP_SETTING_UNLESS, AT(unless) },
	{ "range", COP_SETTING_RANGE, AT(range), .low = -1e100, .high = 1e100 },
	{ "maybe", COP_SETTING_MAYBE, AT(maybe), .high = 9, .words = automatic },
	{ "several", COP_SETTING_MAYBE, AT(maybe), .high = 9, .words = colours, .flags = COP_SETTING_IS_QUIET },
	{ "shares", COP_SETTING_SHARES, AT(shares) },
	{ "weights", COP_SETTING_WEIGHTS, AT(losses.weights) },
	{ "ranges", COP_SETTING_RANGES, AT(losses.ranges) },
};

static const cop_setting *row(const char *name)
{
	size_t i = 0;
	while (strcmp(rows[i].name, name) != 0)
		i++;
	return &rows[i];
}

/* Values divided by blanks. */
static bool reads(const cop_setting *o, const char *text, fields *f, size_t *wrong)
{
	char copy[128], *at = NULL;
	const char *texts[8];
	size_t count = 0;
	(void)snprintf(copy, sizeof copy, "%s", text);
	for (char *word = strtok_r(copy, " ", &at); word != NULL; word = strtok_r(NULL, " ", &at))
		texts[count++] = word;
	return cop_setting_read(o, texts, count, f, wrong);
}

static void expect_print(const cop_setting *o, const cop_setting_style *style, const fields *f, const char *expected)
{
	cop_bytes out;
	cop_bytes_init(&out);
	cop_setting_print(o, style, f, &out);
	cop_bytes_put_u8(&out, 0);
	assert_int_equal(out.err, COP_OK);
	assert_string_equal((const char *)out.data, expected);
	cop_bytes_fini(&out);
}

static void test_setting_reads_and_prints_each_kind(void **state)
{
	(void)state;
	static const struct {
		const char *option, *text, *file, *line;
	} good[] = {
		{ "name", "green", "\"green\"", "green" },
		{ "word", "blue", "\"blue\"", "blue" },
		{ "words", "c a", "{ \"a\", \"c\" }", "a+c" },
		{ "words", "c a b", "{ \"a\", \"b\", \"c\" }", "a+b+c" },
		{ "count", "007", "7", "7" },
		{ "whole", "18446744073709551615", "18446744073709551615", "18446744073709551615" },
		{ "micros", "90min", "\"90min\"", "90min" },
		{ "micros", "120min", "\"2h\"", "2h" },
		{ "seconds", "1500ms", "\"1500ms\"", "1500ms" },
		{ "seconds", "60s", "\"1min\"", "1min" },
		{ "bytes", "2048KiB", "\"2MiB\"", "2MiB" },
		{ "free", "auto", "\"auto\"", "auto" },
		{ "free", "1025B", "\"1025B\"", "1025B" },
		{ "number", "1e30", "\"1e+30\"", "1e+30" },
		{ "number", "-0.5", "-0.5", "-0.5" },
		{ "flag", "yes", "true", "true" },
		{ "flag", "off", "false", "false" },
		{ "unless", "true", "true", "true" },
		{ "unless", "no", "false", "false" },
		{ "range", "-1 2", "{ -1, 2 }", "-1+2" },
		{ "maybe", "auto", "\"auto\"", "auto" },
		{ "maybe", "9", "9", "9" },
		{ "several", "red", "\"red\"", "red" },
		{ "several", "blue", "\"blue\"", "blue" },
		{ "several", "0", "0", "0" },
		{ "shares", "3=0.25 1=0.5", "{ \"1=0.5\", \"3=0.25\" }", "1=0.5+3=0.25" },
		{ "shares", "", "{ }", "" },
		{ "weights", "b=0.50 a c=-1e30 d=0", "{ \"b=0.5\", \"a\", \"c=-1e+30\", \"d\" }",
		        "b=0.5+a+c=-1e+30+d" },
		{ "weights", "", "{ }", "" },
		{ "ranges", "b=-0.50:2 a=0:1e3", "{ \"b=-0.5:2\", \"a=0:1000\" }", "b=-0.5:2+a=0:1000" },
	};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		const cop_setting *o = row(good[i].option);
		fields f = { .count = 5 }, copy = { .count = 6 };
		size_t wrong;
		if (!reads(o, good[i].text, &f, &wrong))
			fail_msg("%s: %s", good[i].option, good[i].text);
		expect_print(o, &cop_setting_in_file, &f, good[i].file);
		expect_print(o, &cop_setting_on_line, &f, good[i].line);
		cop_setting_copy(o, &copy, &f);
		assert_true(cop_setting_equal(o, &f, &copy));
		assert_int_equal(copy.count, o->kind == COP_SETTING_COUNT ? 7 : 6);
	}
	fields f = { .count = 0 };
	size_t wrong;
	assert_true(reads(row("unless"), "false", &f, &wrong) && f.unless);
	assert_true(reads(row("words"), "a b c", &f, &wrong) && f.words == 0);
	assert_true(reads(row("seconds"), "10ms", &f, &wrong) && f.seconds == 0.01);
	fields one = { .maybe.given = true };
	fields other = { .maybe.given = false };
	assert_false(cop_setting_equal(row("maybe"), &one, &other));
	other.maybe.value = 2.0;
	assert_false(cop_setting_is_silent(row("several"), &other) || cop_setting_is_silent(row("several"), &one));
	other.maybe.value = 1e9; /* there are not so many words */
	expect_print(row("several"), &cop_setting_on_line, &other, "blue");
	other.maybe.value = 0.0;
	assert_true(cop_setting_is_silent(row("several"), &other));
}

static void test_setting_refuses_what_it_describes(void **state)
{
	(void)state;
	static const struct {
		const char *option, *text;
		size_t wrong;
		const char *expected;
	} bad[] = {
		{ "name", "pink", 0, "red, green or blue" },
		{ "word", "", 0, "red, green or blue" },
		{ "words", "a b a", 2, "some of a, b and c, each once" },
		{ "words", "", 0, "some of a, b and c, each once" },
		{ "count", "0", 0, "a whole number from 1 to 1000000000" },
		{ "count", "1.5", 0, "a whole number from 1 to 1000000000" },
		{ "whole", "18446744073709551616", 0, "a whole number from 0 to 18446744073709551615" },
		{ "micros", "5", 0, "a duration like 10ms, 60s, 10min, 1h or 7d, from 1ms to 1d" },
		{ "seconds", "999us", 0, "a duration like 10ms, 60s, 10min, 1h or 7d, from 1ms to 1d" },
		{ "bytes", "auto", 0, "a size like 64KiB, 1MiB or 10GiB, from 1KiB to 1TiB" },
		{ "free", "1B", 0, "auto or a size like 64KiB, 1MiB or 10GiB, from 1KiB to 1TiB" },
		{ "number", "nan", 0, "a number from -1 to 1e+30" },
		{ "number", "-2", 0, "a number from -1 to 1e+30" },
		{ "flag", "maybe", 0, "true or false" },
		{ "weights", "a=1 a=2", 1,
		        "NAME or NAME=WEIGHT, each name once, of at most 31 letters, digits, '.', '_' or '-', at most "
		        "16" },
		{ "ranges", "a=1", 0, "NAME=LOW:HIGH with LOW < HIGH, each name once, at most 16" },
		{ "range", "1", 1, "two numbers {LOW, HIGH} with LOW < HIGH" },
		{ "range", "1 1", 1, "two numbers {LOW, HIGH} with LOW < HIGH" },
		{ "range", "0 1 2", 2, "two numbers {LOW, HIGH} with LOW < HIGH" },
		{ "range", "0 1e101", 1, "two numbers {LOW, HIGH} with LOW < HIGH" },
		{ "maybe", "10", 0, "auto or a number from 0 to 9" },
		{ "several", "pink", 0, "red, green, blue or a number from 0 to 9" },
		{ "shares", "0=0.1 0=0.2", 1,
		        "ARM=SHARE, an arm's number from 0 and a share from 0 to 1, each arm once, at most 64" },
	};
	const fields before = { .count = 5, .number = 0.5, .range = { 0, 1 } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		fields f = before;
		size_t wrong = 99;
		char text[192];
		if (reads(row(bad[i].option), bad[i].text, &f, &wrong))
			fail_msg("%s: %s", bad[i].option, bad[i].text);
		assert_int_equal(wrong, bad[i].wrong);
		assert_true(cop_setting_equal(row(bad[i].option), &f, &before));
		cop_setting_describe(row(bad[i].option), text, sizeof text);
		assert_string_equal(text, bad[i].expected);
	}
}

static void test_setting_quotes_what_a_file_would_take_for_something_else(void **state)
{
	(void)state;
	cop_bytes out;
	cop_bytes_init(&out);
	cop_setting_put_quoted("a\"b\\c$d", &out);
	cop_bytes_put_u8(&out, 0);
	assert_string_equal((const char *)out.data, "\"a\\\"b\\\\c\\$d\"");
	cop_bytes_fini(&out);
}

static void test_setting_names_words_of_a_set(void **state)
{
	(void)state;
	char text[32];
	cop_setting_name_words(parts, 7, ", ", " or ", text, sizeof text);
	assert_string_equal(text, "a, b or c");
	cop_setting_name_words(parts, 3, ", ", " and ", text, sizeof text);
	assert_string_equal(text, "a and b");
	cop_setting_name_words(colours, 9, ", ", " or ", text, sizeof text);
	assert_string_equal(text, "blue");
	cop_setting_name_words(parts, 0, ", ", " or ", text, sizeof text);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setting_reads_and_prints_each_kind),
		cmocka_unit_test(test_setting_refuses_what_it_describes),
		cmocka_unit_test(test_setting_names_words_of_a_set),
		cmocka_unit_test(test_setting_quotes_what_a_file_would_take_for_something_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
