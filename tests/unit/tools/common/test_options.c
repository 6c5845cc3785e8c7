/* Options by a table: values in their places, wrong ones refused, and which groups were given. */
#include "tools/common/options.h"

#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "support.h"

typedef struct settings {
	bool flag, switched;
	const char *text;
	uint64_t whole, word;
	unsigned small;
	double number;
	int calls;
} settings;

static const char *const words[] = { "one", "two", NULL };

static bool read_call(void *at, const cop_option *row, char *text)
{
	(void)row;
	((settings *)at)->calls++;
	return text == NULL || strcmp(text, "no") != 0;
}

#define OF(member) COP_OPTION_OF(settings, member)

static const cop_option table[] = {
	{ "flag", COP_OPTION_FLAG, OF(flag), .groups = 1 },
	{ "text", COP_OPTION_TEXT, OF(text), .groups = 3 },
	{ "whole", COP_OPTION_WHOLE, OF(whole), 2, 9, .groups = 2 },
	{ "small", COP_OPTION_WHOLE, OF(small), 0, 100 },
	{ "number", COP_OPTION_NUMBER, OF(number), .low = 0.5, .high = 1.5, .groups = 3 },
	{ "word", COP_OPTION_WORD, OF(word), 1, .words = words, .groups = 3 },
	{ "switch", COP_OPTION_WORD, OF(switched), .words = words },
	{ "call", COP_OPTION_CALL, .read = read_call },
	{ "bare", COP_OPTION_CALL_BARE, .read = read_call },
	{ "perhaps", COP_OPTION_CALL_OPTIONAL, .read = read_call },
	{ "l", COP_OPTION_CALL, .read = read_call, .letter = 'l' },
	{ .name = NULL },
};

static bool given[sizeof table / sizeof *table];

#define MOST 12

/* What reading the words returns; they are split at spaces. */
static int read_line(const char *line, settings *out)
{
	static char text[128];
	char *argv[MOST + 1] = { NULL };
	int argc = 0;
	assert_true(strlen(line) < sizeof text);
	strcpy(text, line);
	for (char *at = strtok(text, " "); at != NULL && argc < MOST; at = strtok(NULL, " "))
		argv[argc++] = at;
	memset(given, 0, sizeof given);
	const cop_options options = { "test", "the usage\n", .sets = { { table, out, given } } };
	return cop_options_read(&options, argc, argv);
}

static void test_values_go_to_their_settings(void **state)
{
	settings s = { .whole = 1 };
	(void)state;
	assert_int_equal(read_line("bench --text some --number 1.25 --word two", &s), COP_OPTIONS_READ);
	assert_string_equal(s.text, "some");
	assert_true(s.number == 1.25);
	assert_int_equal(s.word, 2);
	assert_int_equal(s.whole, 1);
	assert_false(s.flag);
	assert_int_equal(read_line("bench --whole 9 --flag --small 7 --switch two", &s), COP_OPTIONS_READ);
	assert_int_equal(s.whole, 9);
	assert_int_equal(s.small, 7);
	assert_true(s.flag && s.switched);
	assert_int_equal(
	        read_line("bench --switch one --call x --bare --perhaps --perhaps=x -l x", &s), COP_OPTIONS_READ);
	assert_false(s.switched);
	assert_int_equal(s.calls, 5);
}

static void test_given_groups_are_those_of_the_first_given_row(void **state)
{
	settings s = { 0 };
	(void)state;
	const cop_option_set set = { table, &s, given };
	assert_int_equal(read_line("bench --whole 2 --text x", &s), COP_OPTIONS_READ);
	assert_ptr_equal(cop_options_given(&set, 2), &table[1]);
	assert_ptr_equal(cop_options_given(&set, 1), &table[1]);
	assert_null(cop_options_given(&set, 4));
	assert_int_equal(read_line("bench --flag", &s), COP_OPTIONS_READ);
	assert_null(cop_options_given(&set, 2));
}

static void test_words_stand_behind_the_options(void **state)
{
	settings s = { 0 };
	(void)state;
	assert_int_equal(read_line("bench load --flag more", &s), COP_OPTIONS_READ);
	assert_int_equal(optind, 2);
}

static void test_wrong_options_end_with_a_status(void **state)
{
	static const char *const wrong[] = { "bench --whole 1", "bench --whole 10", "bench --whole x",
		"bench --number 2", "bench --word three", "bench --nothing", "bench --text", "bench --flag=x",
		"bench --call no", "bench --bare=x", "bench --l x" };
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		settings s = { 0 };
		assert_int_equal(read_line(wrong[i], &s), 2);
	}
}

static void test_help_ends_with_success(void **state)
{
	settings s = { 0 };
	(void)state;
	assert_int_equal(read_line("bench --help --whole 1", &s), 0);
	assert_int_equal(read_line("bench -h", &s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_go_to_their_settings),
		cmocka_unit_test(test_given_groups_are_those_of_the_first_given_row),
		cmocka_unit_test(test_words_stand_behind_the_options),
		cmocka_unit_test(test_wrong_options_end_with_a_status),
		cmocka_unit_test(test_help_ends_with_success),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
