#include "support.h"

#include <stdio.h>
#include <string.h>

#include "daemon/config/config_hint.h"

static const struct {
	const char *text, *whole;
} hints[] = {
	{ "no such option 'arms'", "no such option 'arms', expected it in a section model" },
	{ "no such option 'state_dir'", "no such option 'state_dir', expected it outside of sections" },
	{ "no such option 'epsillon'", "no such option 'epsillon', expected epsilon" },
	{ "no such option 'statedir'", "no such option 'statedir', expected state_dir" },
	{ "no such option 'arms:'", "no such option 'arms:', expected arms = VALUE" },
	{ "no such option 'colour'", "no such option 'colour', expected one of coppice.conf(5)" },
	{ "no such option ''", "no such option ''" },
	{ "no such option 'a23456789a23456789a23456789a23456789a23456789a23456789'",
	        "no such option 'a23456789a23456789a23456789a23456789a23456789a23456789'" },
	{ "no such option '", "no such option '" },
	{ "unexpected token ','", "unexpected token ',', expected options without commas between them" },
	{ "missing title for section 'model'", "missing title for section 'model', expected model \"NAME\" { ... }" },
	{ "something else", "something else" },
};

static void test_messages_say_what_was_expected(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
		char text[256];
		(void)snprintf(text, sizeof text, "%s", hints[i].text);
		cop_config_hint(text, sizeof text);
		assert_string_equal(text, hints[i].whole);
	}
}

static void test_several_sections_may_have_an_option(void **state)
{
	(void)state;
	char text[256] = "no such option 'listen'";
	cop_config_hint(text, sizeof text);
	assert_non_null(strstr(text, "in a section http"));
	assert_non_null(strstr(text, "or in a section api"));
}

static void test_hints_stay_within_the_text(void **state)
{
	(void)state;
	for (size_t size = 24; size < 64; size++) {
		char text[80];
		memset(text, '#', sizeof text);
		(void)strcpy(text, "no such option 'listen'");
		cop_config_hint(text, size);
		assert_true(strlen(text) < size);
		assert_int_equal(text[size], '#');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages_say_what_was_expected),
		cmocka_unit_test(test_several_sections_may_have_an_option),
		cmocka_unit_test(test_hints_stay_within_the_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
