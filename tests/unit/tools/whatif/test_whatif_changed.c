#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/whatif/whatif_changed.h"

static char path[] = "/tmp/test_whatif_changed_XXXXXX";

static void expect(const char *text)
{
	char got[1024] = "";
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	got[fread(got, 1, sizeof got - 1, file)] = '\0';
	(void)fclose(file);
	assert_string_equal(got, text);
}

static void put(cop_whatif_changed *c, const cop_event_id *id)
{
	const cop_whatif_seen seen = {
		.record = 7, .time = 1.5, .p = 0.25, .best = { 2, 1 }, .action = 3, .best_value = { 0.5, 0.75 }
	};
	assert_int_equal(cop_whatif_changed_put(c, id, &seen, -1.0), COP_OK);
}

static void test_ids_are_written_as_the_journal_has_them(void **state)
{
	(void)state;
	const cop_model_settings set = { .learner = { .learner = "dgt", .arms = 4 }, .value_high = 9.0 };
	cop_whatif_changed c;
	cop_event_id id;
	assert_int_equal(cop_whatif_changed_open(&c, path, &set, NULL), COP_OK);
	assert_true(cop_event_id_from_bytes(&id, COP_EVENT_ID_STRING, "a\"b", 3));
	put(&c, &id);
	assert_true(cop_event_id_from_bytes(&id, COP_EVENT_ID_BINARY, "\x01\xff", 2));
	put(&c, &id);
	cop_event_id_from_unsigned(&id, UINT64_MAX);
	put(&c, &id);
	cop_event_id_from_signed(&id, -5);
	put(&c, &id);
	assert_int_equal(cop_whatif_changed_close(&c, true, NULL), COP_OK);
#define REST "\"t\":1.5,\"record\":7,\"was\":2,\"would\":1,\"played\":3,\"p\":0.25,\"loss\":-1}\n"
	expect("{\"id\":\"a\\\"b\"," REST "{\"id\":\"01ff\",\"binary\":true," REST "{\"id\":18446744073709551615," REST
	       "{\"id\":-5," REST);
}

static void test_values_are_in_their_range_and_an_error_leaves_the_file(void **state)
{
	(void)state;
	const cop_model_settings set = { .learner = { .learner = "value" }, .value_low = 2.0, .value_high = 6.0 };
	cop_whatif_changed c;
	cop_event_id id;
	cop_diag diag = { .message = "" };
	cop_event_id_from_unsigned(&id, 1);
	assert_int_equal(cop_whatif_changed_open(&c, path, &set, NULL), COP_OK);
	put(&c, &id);
	assert_int_equal(cop_whatif_changed_close(&c, true, NULL), COP_OK);
	static const char line[] = "{\"id\":1,\"t\":1.5,\"record\":7,\"was\":4,\"would\":5,\"loss\":-1}\n";
	expect(line);
	assert_int_equal(cop_whatif_changed_open(&c, path, &set, NULL), COP_OK);
	put(&c, &id);
	put(&c, &id);
	assert_int_equal(cop_whatif_changed_close(&c, false, NULL), COP_OK);
	expect(line);
	assert_int_not_equal(cop_whatif_changed_open(&c, "/nowhere/x", &set, &diag), COP_OK);
	assert_true(diag.message[0] != '\0');
}

static int make(void **state)
{
	(void)state;
	int file = mkstemp(path);
	return file < 0 ? 1 : close(file);
}

static int drop(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_are_written_as_the_journal_has_them),
		cmocka_unit_test(test_values_are_in_their_range_and_an_error_leaves_the_file),
	};
	return cmocka_run_group_tests(tests, make, drop);
}
