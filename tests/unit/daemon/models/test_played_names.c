/* The ring of played candidates' names: the newest of an id, bounded, the oldest gives way. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "daemon/models/played_names.h"

static cop_played_names names;

static cop_event_id number(uint64_t n)
{
	cop_event_id id;
	cop_event_id_from_unsigned(&id, n);
	return id;
}

static void put(uint64_t n, const char *name)
{
	const cop_event_id id = number(n);
	cop_played_names_put(&names, &id, name, strlen(name));
}

static void expect(uint64_t n, const char *name)
{
	const cop_event_id id = number(n);
	const cop_played_name *found = cop_played_names_find(&names, &id);
	if (name == NULL) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found->name, name);
	assert_int_equal(found->length, strlen(name));
}

static void test_names_are_found_until_newer_ones_take_their_place(void **state)
{
	(void)state;
	char text[32];
	names = (cop_played_names){ 0 };
	expect(0, NULL);
	for (uint64_t n = 0; n < 1000; n++) {
		(void)snprintf(text, sizeof text, "name %d", (int)n);
		put(n, text);
		expect(n, text);
		expect(n + 1, NULL);
		if (n >= COP_PLAYED_NAMES) {
			expect(n - COP_PLAYED_NAMES, NULL);
			(void)snprintf(text, sizeof text, "name %d", (int)(n - COP_PLAYED_NAMES + 1));
			expect(n - COP_PLAYED_NAMES + 1, text);
		}
	}
}

static void test_newest_of_an_id_counts_and_long_names_are_left_out(void **state)
{
	(void)state;
	char text[COP_PLAYED_NAMES_ROOM + 1];
	names = (cop_played_names){ 0 };
	put(7, "before");
	put(7, "");
	expect(7, "");
	put(7, "after");
	expect(7, "after");
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	put(8, text);
	expect(8, NULL);
	text[COP_PLAYED_NAMES_ROOM - 1] = '\0';
	put(8, text);
	expect(8, text);
	cop_event_id word;
	assert_true(cop_event_id_from_bytes(&word, COP_EVENT_ID_STRING, "7", 1));
	assert_null(cop_played_names_find(&names, &word)); /* another type */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_found_until_newer_ones_take_their_place),
		cmocka_unit_test(test_newest_of_an_id_counts_and_long_names_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
