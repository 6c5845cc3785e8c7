/* An id as it is written on the command line: integers, strings, bytes, and what is none of them. */
#include "tools/ctl/ctl_id.h"

#include <string.h>

#include "support.h"

static void expect(cop_ctl_id_rule rule, const char *text, cop_event_id_kind kind, const void *bytes, size_t length)
{
	cop_event_id id = { 0 };
	cop_diag diag = { 0 };
	assert_int_equal(cop_ctl_id_read(&rule, "UNIT", text, &id, &diag), COP_OK);
	assert_true(id.kind == kind && id.length == length && memcmp(id.bytes, bytes, length) == 0);
}

static void refuse(cop_ctl_id_rule rule, const char *text)
{
	cop_event_id id = { 0 };
	cop_diag diag = { 0 };
	assert_int_equal(cop_ctl_id_read(&rule, "UNIT", text, &id, &diag), COP_EINVAL);
	assert_string_equal(diag.source, "UNIT");
	assert_non_null(strstr(diag.message, rule.binary ? "hexadecimal" : "64 bytes"));
}

static void test_kinds(void **state)
{
	(void)state;
	const cop_ctl_id_rule any = { false, false }, string = { true, false }, binary = { false, true };
	expect(any, "17", COP_EVENT_ID_UNSIGNED, "\x11\0\0\0\0\0\0\0", 8);
	expect(any, "-2", COP_EVENT_ID_NEGATIVE, "\xfe\xff\xff\xff\xff\xff\xff\xff", 8);
	expect(any, "017", COP_EVENT_ID_STRING, "017", 3);
	expect(any, "18446744073709551616", COP_EVENT_ID_STRING, "18446744073709551616", 20);
	expect(any, "tom", COP_EVENT_ID_STRING, "tom", 3);
	expect(string, "17", COP_EVENT_ID_STRING, "17", 2);
	expect(binary, "00fFa1", COP_EVENT_ID_BINARY, "\x00\xff\xa1", 3);
	expect(binary, "17", COP_EVENT_ID_BINARY, "\x17", 1);
}

static void test_what_is_none(void **state)
{
	(void)state;
	const cop_ctl_id_rule any = { false, false }, binary = { false, true };
	char text[131];
	memset(text, 'a', sizeof text);
	text[130] = '\0';
	refuse(any, "");
	refuse(any, text);
	refuse(binary, text);
	refuse(binary, "");
	refuse(binary, "abc");
	refuse(binary, "0x");
	text[128] = '\0';
	cop_event_id id;
	cop_diag diag = { 0 };
	assert_int_equal(cop_ctl_id_read(&binary, "ID", text, &id, &diag), COP_OK);
	assert_int_equal(id.length, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_what_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
