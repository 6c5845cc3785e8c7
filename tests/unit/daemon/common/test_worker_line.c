#include "daemon/common/worker_line.h"

#include <string.h>

#include "base/rng.h"
#include "support.h"

static void test_line_comes_back_as_it_was(void **state)
{
	(void)state;
	const cop_worker_line lines[] = {
		{ .share = 0.25, .text = "iteration 3 of 20, objective 0.5" },
		{ .share = 0.0, .text = "" },
		{ .result = true,
		        .share = 1.0,
		        .outcome = COP_WORKER_MADE,
		        .number = 7,
		        .learned = UINT64_MAX,
		        .leaves = 12,
		        .gain = -0.125,
		        .text = "12 leaves" },
		{ .result = true, .share = 1.0, .outcome = COP_WORKER_NOTHING, .text = "nothing was answered" },
		{ .result = true, .share = 1.0, .outcome = COP_WORKER_FAILED, .text = "" },
	};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		char text[COP_WORKER_LINE];
		cop_worker_line back;
		size_t length = cop_worker_line_put(&lines[i], text);
		assert_true(length < sizeof text && text[length - 1] == '\n');
		text[length - 1] = '\0';
		assert_true(cop_worker_line_parse(text, &back));
		assert_true(back.result == lines[i].result && back.outcome == lines[i].outcome);
		assert_true(back.number == lines[i].number && back.learned == lines[i].learned);
		assert_true(
		        back.leaves == lines[i].leaves && back.gain == lines[i].gain && back.share == lines[i].share);
		assert_string_equal(back.text, lines[i].text);
	}
}

static void test_line_of_long_or_odd_text_stays_one_line(void **state)
{
	(void)state;
	char text[COP_WORKER_LINE];
	cop_worker_line line = { .result = true,
		.outcome = COP_WORKER_DATA,
		.number = UINT64_MAX,
		.learned = UINT64_MAX,
		.leaves = UINT64_MAX,
		.gain = -1.23456789e-300 };
	memset(line.text, 'x', sizeof line.text - 1);
	memcpy(line.text, "a\nb\"c\x7f", 6);
	size_t length = cop_worker_line_put(&line, text);
	assert_true(length <= sizeof text && memchr(text, '\n', length) == text + length - 1);
	text[length - 1] = '\0';
	assert_non_null(strstr(text, "a?b'c?xxx"));
	assert_true(cop_worker_line_parse(text, &line));
}

static void test_line_that_makes_no_sense_is_none(void **state)
{
	(void)state;
	static const char *const wrong[] = { "", "progress", "progress x y", "progress 2 y", "progress nan y",
		"progress -0.1 y", "result", "result good 1 1 1 0 x", "result made 0 1 1 0 x", "result made 1 1 1",
		"result made -1 1 1 0 x", "result made 1 99999999999999999999 1 0 x", "result made 1 1 1 inf x",
		"result timeout 0 0 0 0 x", "Result nothing 0 0 0 0 x" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_worker_line line = { .number = 77 };
		if (cop_worker_line_parse(wrong[i], &line))
			fail_msg("%s was taken", wrong[i]);
		assert_int_equal(line.number, 77);
	}
}

static void test_line_of_any_bytes_is_printable_or_none(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 11, 0);
	print_message("seed 11\n");
	for (int n = 0; n < 20000; n++) {
		char text[64] = "result made 1 2 3 0.5 some text that follows";
		cop_worker_line line;
		for (uint64_t k = cop_rng_below(&rng, 4); k > 0; k--)
			text[cop_rng_below(&rng, 44)] = (char)cop_rng_u64(&rng);
		if (!cop_worker_line_parse(text, &line))
			continue;
		for (const char *c = line.text; *c != '\0'; c++)
			assert_true((unsigned char)*c >= 0x20 && *c != 0x7f && *c != '"');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line_comes_back_as_it_was),
		cmocka_unit_test(test_line_of_long_or_odd_text_stays_one_line),
		cmocka_unit_test(test_line_that_makes_no_sense_is_none),
		cmocka_unit_test(test_line_of_any_bytes_is_printable_or_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
