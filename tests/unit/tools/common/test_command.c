/* What a command says when something failed. */
#include "tools/common/command.h"

#include <string.h>

#include "support.h"

static void test_reason_is_the_diagnostic_or_want_of_memory(void **state)
{
	(void)state;
	static const struct {
		cop_diag diag;
		const char *expected;
	} cases[] = {
		{ { .message = "no such file" }, "no such file" },
		{ { .source = "a.csv", .message = "no such file" }, "a.csv: no such file" },
		{ { .source = "a.csv", .line = 7, .message = "no number" }, "a.csv:7: no number" },
		{ { .line = 0 }, "out of memory" },
		{ { .source = "a.csv" }, "a.csv: out of memory" },
		{ { .source = "a.csv", .line = 7 }, "a.csv:7: out of memory" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[COP_COMMAND_REASON];
		cop_command_reason(&cases[i].diag, text);
		assert_string_equal(text, cases[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reason_is_the_diagnostic_or_want_of_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
