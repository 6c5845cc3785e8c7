#include "daemon/common/exposition.h"

#include <string.h>

#include "support.h"

static void test_escaped_text_is_a_label(void **state)
{
	static const char *const pairs[][2] = {
		{ "", "" },
		{ "plain name", "plain name" },
		{ "a\"b\\c\nd", "a\\\"b\\\\c\\nd" },
		{ "caf\xc3\xa9 \xf0\x9f\x8c\xb3", "caf\xc3\xa9 \xf0\x9f\x8c\xb3" },
		{ "\xff\xc3", "\\\\xff\\\\xc3" },   /* no UTF-8, and the beginning of a character alone */
		{ "\xc0\xafx", "\\\\xc0\\\\xafx" }, /* overlong */
		{ "\xc3\"", "\\\\xc3\\\"" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		char out[64 * COP_EXPOSITION_ESCAPED + 1];
		memset(out, 'x', sizeof out);
		cop_exposition_escape(pairs[i][0], out);
		assert_string_equal(out, pairs[i][1]);
		assert_true(strlen(out) <= COP_EXPOSITION_ESCAPED * strlen(pairs[i][0]));
	}
}

static void test_samples_and_families_have_their_lines(void **state)
{
	(void)state;
	cop_bytes out;
	cop_bytes_init(&out);
	static const cop_metric counter = { "a_total", COP_METRIC_COUNTER, "x", "Counts." };
	static const cop_metric gauge = { "b", COP_METRIC_GAUGE, "", "A gauge." };
	static const cop_metric histogram = { "c_seconds", COP_METRIC_HISTOGRAM, "", "Times." };
	cop_exposition_family(&out, &counter);
	cop_exposition_whole(&out, &counter, "x=\"y\"", 18446744073709551615u);
	cop_exposition_lone_number(&out, &gauge, 0.5);
	cop_exposition_lone_whole(&out, &gauge, 7);
	cop_exposition_family(&out, &histogram);
	cop_exposition_part_whole(&out, &histogram, "_bucket", "le=\"1\"", 3);
	cop_exposition_part_number(&out, &histogram, "_sum", "", 1.5);
	assert_int_equal(out.err, COP_OK);
	static const char want[] =
	        "# HELP a_total Counts.\n# TYPE a_total counter\na_total{x=\"y\"} 18446744073709551615\n"
	        "# HELP b A gauge.\n# TYPE b gauge\nb 0.5\n# HELP b A gauge.\n# TYPE b gauge\nb 7\n"
	        "# HELP c_seconds Times.\n# TYPE c_seconds histogram\nc_seconds_bucket{le=\"1\"} 3\nc_seconds_sum "
	        "1.5\n";
	assert_int_equal(out.length, sizeof want - 1);
	assert_memory_equal(out.data, want, out.length);
	cop_bytes_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escaped_text_is_a_label),
		cmocka_unit_test(test_samples_and_families_have_their_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
