/* Options by a table: values in their places, wrong ones refused, and who takes all that were given. */
#include "tools/bench/bench_options.h"

#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "support.h"

typedef struct settings {
	bool flag;
	const char *text;
	uint64_t whole, word;
	double number;
} settings;

static const char *const words[] = { "one", "two", NULL };

static const cop_bench_option table[] = {
	{ "flag", COP_BENCH_OPTION_FLAG, offsetof(settings, flag), 0, 0, NULL, 1 },
	{ "text", COP_BENCH_OPTION_TEXT, offsetof(settings, text), 0, 0, NULL, 3 },
	{ "whole", COP_BENCH_OPTION_WHOLE, offsetof(settings, whole), 2, 9, NULL, 2 },
	{ "number", COP_BENCH_OPTION_NUMBER, offsetof(settings, number), 0.5, 1.5, NULL, 3 },
	{ "word", COP_BENCH_OPTION_WORD, offsetof(settings, word), 0, 0, words, 3 },
	{ NULL, COP_BENCH_OPTION_FLAG, 0, 0, 0, NULL, 0 },
};

#define MOST 8

/* What reading the words returns; they are split at spaces. */
static int read_line(const char *line, settings *out, unsigned *takers)
{
	static char text[128];
	char *argv[MOST + 1] = { NULL };
	int argc = 0;
	assert_true(strlen(line) < sizeof text);
	strcpy(text, line);
	for (char *at = strtok(text, " "); at != NULL && argc < MOST; at = strtok(NULL, " "))
		argv[argc++] = at;
	return cop_bench_options_read("test", "the usage\n", table, argc, argv, out, takers);
}

static void test_values_go_to_their_settings(void **state)
{
	settings s = { .whole = 1 };
	unsigned takers = 7;
	(void)state;
	assert_int_equal(read_line("bench --text some --number 1.25 --word two", &s, &takers), COP_BENCH_OPTIONS_READ);
	assert_string_equal(s.text, "some");
	assert_true(s.number == 1.25);
	assert_int_equal(s.word, 2);
	assert_int_equal(s.whole, 1);
	assert_false(s.flag);
	assert_int_equal(takers, 3);
	assert_int_equal(read_line("bench --whole 9 --flag", &s, NULL), COP_BENCH_OPTIONS_READ);
	assert_int_equal(s.whole, 9);
	assert_true(s.flag);
}

static void test_takers_are_those_of_all_given_options(void **state)
{
	settings s = { 0 };
	unsigned takers = 3;
	(void)state;
	assert_int_equal(read_line("bench --whole 2 --text x", &s, &takers), COP_BENCH_OPTIONS_READ);
	assert_int_equal(takers, 2);
	assert_int_equal(read_line("bench --flag", &s, &takers), COP_BENCH_OPTIONS_READ);
	assert_int_equal(takers, 0);
}

static void test_words_stand_behind_the_options(void **state)
{
	settings s = { 0 };
	(void)state;
	assert_int_equal(read_line("bench load --flag more", &s, NULL), COP_BENCH_OPTIONS_READ);
	assert_int_equal(optind, 2);
}

static void test_wrong_options_end_with_a_status(void **state)
{
	static const char *const wrong[] = { "bench --whole 1", "bench --whole 10", "bench --whole x",
		"bench --number 2", "bench --word three", "bench --nothing", "bench --text", "bench --flag=x" };
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		settings s = { 0 };
		assert_int_equal(read_line(wrong[i], &s, NULL), 2);
	}
}

static void test_help_ends_with_success(void **state)
{
	settings s = { 0 };
	(void)state;
	assert_int_equal(read_line("bench --help --whole 1", &s, NULL), 0);
	assert_int_equal(read_line("bench -h", &s, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_go_to_their_settings),
		cmocka_unit_test(test_takers_are_those_of_all_given_options),
		cmocka_unit_test(test_words_stand_behind_the_options),
		cmocka_unit_test(test_wrong_options_end_with_a_status),
		cmocka_unit_test(test_help_ends_with_success),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
