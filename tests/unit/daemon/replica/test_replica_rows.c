/* The leader's table of followers: one row of a name, and who had it before. */
#include "daemon/replica/replica_rows.h"

#include <stdio.h>
#include <string.h>

#include "support.h"

static cop_replica_peer stranger_of(const char *identity, const char *name)
{
	cop_replica_peer s = { .identity_length = strlen(identity) };
	memcpy(s.identity, identity, s.identity_length);
	(void)snprintf(s.name, sizeof s.name, "%s", name);
	return s;
}

/* As a leader does with one that may join. NULL: there was no row. */
static cop_replica_peer *join(cop_replica_peer *rows, const char *identity, const char *name)
{
	cop_replica_peer s = stranger_of(identity, name);
	cop_replica_peer *row = cop_replica_rows_make(rows, &s);
	if (row == NULL)
		return NULL;
	*row = s;
	row->there = true;
	cop_replica_source_init(&row->source, "/nowhere");
	return row;
}

static void clear_all(cop_replica_peer *rows)
{
	for (size_t i = 0; i < COP_CONFIG_FOLLOWERS; i++)
		cop_replica_rows_clear(&rows[i]);
}

static void test_rows_are_found_by_connection_and_name(void **state)
{
	cop_replica_peer rows[COP_CONFIG_FOLLOWERS] = { { .there = false } };
	(void)state;
	cop_replica_peer *a = join(rows, "one", "a"), *b = join(rows, "two", "b");
	const cop_replica_peer one = stranger_of("one", ""), on = stranger_of("on", ""), none = stranger_of("", "");
	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_equal(cop_replica_rows_find(rows, &one), a);
	assert_null(cop_replica_rows_find(rows, &on));
	assert_null(cop_replica_rows_find_next(rows, &none)); /* nobody was before these */
	assert_ptr_equal(cop_replica_rows_find_name(rows, "b"), b);
	assert_null(cop_replica_rows_find_name(rows, ""));
	cop_replica_rows_clear(a);
	assert_null(cop_replica_rows_find(rows, &one));
	clear_all(rows);
}

static void test_newer_follower_of_a_name_has_its_row_and_knows_the_one_before(void **state)
{
	cop_replica_peer rows[COP_CONFIG_FOLLOWERS] = { { .there = false } };
	const cop_replica_peer one = stranger_of("one", ""), three = stranger_of("three", "");
	(void)state;
	(void)join(rows, "zero", "other");
	cop_replica_peer *first = join(rows, "one", "a"), *second = join(rows, "three", "a");
	assert_ptr_equal(first, second);
	assert_null(cop_replica_rows_find(rows, &one));
	assert_ptr_equal(cop_replica_rows_find(rows, &three), second);
	assert_ptr_equal(cop_replica_rows_find_next(rows, &one), second);
	assert_null(cop_replica_rows_find_next(rows, &three));
	clear_all(rows);
	assert_null(cop_replica_rows_find_next(rows, &one));
}

static void test_full_table_takes_names_that_it_has_alone(void **state)
{
	cop_replica_peer rows[COP_CONFIG_FOLLOWERS] = { { .there = false } };
	char text[16];
	(void)state;
	for (int i = 0; i < COP_CONFIG_FOLLOWERS; i++) {
		(void)snprintf(text, sizeof text, "n%d", i);
		assert_ptr_equal(join(rows, text, text), &rows[i]);
	}
	assert_null(join(rows, "more", "more"));
	assert_ptr_equal(join(rows, "again", "n1"), &rows[1]);
	cop_replica_rows_clear(&rows[2]);
	assert_ptr_equal(join(rows, "more", "more"), &rows[2]);
	clear_all(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_found_by_connection_and_name),
		cmocka_unit_test(test_newer_follower_of_a_name_has_its_row_and_knows_the_one_before),
		cmocka_unit_test(test_full_table_takes_names_that_it_has_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
