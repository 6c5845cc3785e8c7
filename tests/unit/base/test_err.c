#include "support.h"

#include <string.h>

#include "base/err.h"

static void test_err_text_of_every_code_is_known_and_distinct(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COP_ERR_COUNT; i++) {
		assert_true(strlen(cop_err_text((cop_err)i)) > 0);
		assert_string_not_equal(cop_err_text((cop_err)i), "unknown error");
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(cop_err_text((cop_err)i), cop_err_text((cop_err)k));
	}
	assert_string_equal(cop_err_text(COP_ERR_COUNT), "unknown error");
	assert_string_equal(cop_err_text((cop_err)-1), "unknown error");
}

static void test_diag_text_names_what_is_known(void **state)
{
	(void)state;
	cop_diag diag;
	char text[100];
	cop_diag_at_line(&diag, "a.csv", 3, "%d is wrong, expected %s", 5, "six");
	assert_true(diag.line == 3 && diag.offset == 0);
	cop_diag_text(&diag, text, sizeof text);
	assert_string_equal(text, "a.csv:3: 5 is wrong, expected six");
	cop_diag_at_offset(&diag, "a.bin", 17, "%s", "damaged");
	assert_true(diag.line == 0 && diag.offset == 17);
	cop_diag_text(&diag, text, sizeof text);
	assert_string_equal(text, "a.bin: damaged");
	cop_diag_of(&diag, "a.csv", "%s", "empty");
	assert_true(diag.line == 0 && diag.offset == 0);
	cop_diag_text(&diag, text, sizeof text);
	assert_string_equal(text, "a.csv: empty");
	cop_diag_at_line(&diag, NULL, 3, "%s", "empty");
	cop_diag_text(&diag, text, sizeof text);
	assert_string_equal(text, "empty");
	cop_diag_at_line(&diag, "a.csv", 3, "%s", "empty");
	cop_diag_message(&diag, "%d arms", 2);
	assert_true(diag.line == 0 && diag.offset == 0);
	cop_diag_text(&diag, text, sizeof text);
	assert_string_equal(text, "2 arms");
}

static void test_diag_that_is_not_wanted_is_not_filled(void **state)
{
	(void)state;
	cop_diag_message(NULL, "nothing happens");
	cop_diag_of(NULL, "a", "nothing happens");
	cop_diag_at_line(NULL, "a", 1, "nothing happens");
	cop_diag_at_offset(NULL, "a", 1, "nothing happens");
}

static void test_diag_of_long_text_is_cut(void **state)
{
	(void)state;
	cop_diag diag;
	char much[2000];
	char text[8];
	memset(much, 'x', sizeof much);
	much[sizeof much - 1] = '\0';
	cop_diag_at_line(&diag, much, 1, "%s", much);
	assert_int_equal(strlen(diag.source), sizeof diag.source - 1);
	assert_int_equal(strlen(diag.message), sizeof diag.message - 1);
	cop_diag_text(&diag, text, sizeof text);
	assert_string_equal(text, "xxxxxxx");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_err_text_of_every_code_is_known_and_distinct),
		cmocka_unit_test(test_diag_text_names_what_is_known),
		cmocka_unit_test(test_diag_that_is_not_wanted_is_not_filled),
		cmocka_unit_test(test_diag_of_long_text_is_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
