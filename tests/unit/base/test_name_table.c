#include "support.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/name_table.h"
#include "base/rng.h"

static const cop_name_prefix none = { NULL, 0 };

static uint32_t add(cop_name_table *table, uint32_t tag, const char *text)
{
	uint32_t number;
	assert_int_equal(cop_name_table_add(table, tag, none, text, strlen(text), &number), COP_OK);
	return number;
}

static uint32_t find(const cop_name_table *table, uint32_t tag, const char *text)
{
	return cop_name_table_find(table, tag, text, strlen(text));
}

static void test_name_table_counts_in_order_of_appearance(void **state)
{
	(void)state;
	cop_name_table table;
	cop_name_table_init(&table);
	assert_int_equal(find(&table, 0, "a"), COP_NAME_NONE);
	for (uint32_t i = 0; i < 5000; i++) {
		char text[32];
		(void)snprintf(text, sizeof text, "name %u", i);
		assert_int_equal(add(&table, i % 3, text), i);
	}
	for (uint32_t i = 0; i < 5000; i++) {
		char text[32];
		(void)snprintf(text, sizeof text, "name %u", i);
		assert_int_equal(find(&table, i % 3, text), i);
		assert_int_equal(find(&table, 3 + i % 3, text), COP_NAME_NONE);
		assert_string_equal(table.name[i].text, text);
	}
	cop_name_table_fini(&table);
}

/* Of so many names about ten pairs share all 32 bits of their hash. */
static void test_name_table_tells_names_of_one_hash_apart(void **state)
{
	(void)state;
	enum { NAMES = 300000 };
	cop_name_table table;
	cop_name_table_init(&table);
	for (uint32_t i = 0; i < NAMES; i++) {
		char text[32];
		(void)snprintf(text, sizeof text, "%u and %u", i * 2654435761u, i);
		assert_int_equal(add(&table, 0, text), i);
	}
	for (uint32_t i = 0; i < NAMES; i++) {
		char text[32];
		(void)snprintf(text, sizeof text, "%u and %u", i * 2654435761u, i);
		assert_int_equal(find(&table, 0, text), i);
	}
	cop_name_table_fini(&table);
}

static void test_name_table_tells_tags_lengths_and_prefixes_apart(void **state)
{
	(void)state;
	cop_name_table table;
	uint32_t number;
	cop_name_table_init(&table);
	assert_int_equal(add(&table, 0, ""), 0);
	assert_int_equal(add(&table, 1, ""), 1);
	assert_int_equal(cop_name_table_add(&table, 0, none, "a\0b", 3, &number), COP_OK);
	assert_int_equal(cop_name_table_add(&table, 0, none, "a\0c", 3, &number), COP_OK);
	assert_int_equal(number, 3);
	assert_int_equal(cop_name_table_add(&table, 2, (cop_name_prefix){ "user^", 5 }, "age", 3, &number), COP_OK);
	assert_int_equal(find(&table, 0, ""), 0);
	assert_int_equal(find(&table, 1, ""), 1);
	assert_int_equal(find(&table, 0, "a"), COP_NAME_NONE);
	assert_int_equal(cop_name_table_find(&table, 0, "a\0c", 3), 3);
	assert_int_equal(find(&table, 2, "age"), 4);
	assert_int_equal(find(&table, 2, "user^age"), COP_NAME_NONE);
	assert_string_equal(table.name[4].text - table.name[4].prefix, "user^age");
	cop_name_table_fini(&table);
}

static void test_name_table_cut_forgets_the_newest(void **state)
{
	(void)state;
	cop_name_table table;
	cop_rng rng;
	static char text[40000];
	cop_rng_init(&rng, 31, 0);
	cop_name_table_init(&table);
	for (int round = 0; round < 200; round++) {
		size_t before = table.count;
		for (size_t i = 0; i < 1 + cop_rng_below(&rng, 40); i++) {
			size_t length = cop_rng_below(&rng, 10) == 0 ? cop_rng_below(&rng, sizeof text) : 8;
			uint32_t number;
			memset(text, 'a' + round % 26, length);
			assert_int_equal(
			        cop_name_table_add(&table, (uint32_t)table.count, none, text, length, &number), COP_OK);
			assert_int_equal(number, table.count - 1);
		}
		cop_name_table_cut(&table, table.count + 1); /* nothing */
		cop_name_table_cut(&table, before + cop_rng_below(&rng, 3));
		size_t bytes = 0;
		for (uint32_t i = 0; i < table.count; i++) {
			const cop_name *name = &table.name[i];
			assert_int_equal(cop_name_table_find(&table, i, name->text, name->length), i);
			bytes += name->length + 1;
		}
		assert_int_equal(bytes, table.bytes);
	}
	cop_name_table_cut(&table, 0);
	assert_true(table.count == 0 && table.bytes == 0);
	assert_int_equal(add(&table, 0, "again"), 0);
	cop_name_table_fini(&table);
}

static void test_name_table_of_too_many_bytes_is_full(void **state)
{
	(void)state;
	cop_name_table table;
	uint32_t number = 0;
	char *text = cop_mem_alloc(COP_NAME_TABLE_MAX, 1);
	cop_name_table_init(&table);
	assert_int_equal(cop_name_table_add(&table, 0, none, text, COP_NAME_TABLE_MAX, &number), COP_EFULL);
	assert_int_equal(number, COP_NAME_NONE);
	assert_int_equal(cop_name_table_add(&table, 0, none, text, COP_NAME_TABLE_MAX - 1, &number), COP_OK);
	assert_int_equal(cop_name_table_add(&table, 1, none, "", 0, &number), COP_EFULL);
	cop_name_table_fini(&table);
	cop_mem_free(text);
}

static void test_name_table_without_memory_fails_cleanly(void **state)
{
	(void)state;
	for (unsigned long n = 1; n < 12; n++) {
		cop_name_table table;
		cop_err err = COP_OK;
		size_t added = 0;
		cop_name_table_init(&table);
		cop_test_alloc_fail(n, 0);
		for (; added < 2000 && err == COP_OK; added += err == COP_OK) {
			uint32_t number;
			err = cop_name_table_add(&table, (uint32_t)added, none, "a name of some length", 21, &number);
		}
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err, COP_ENOMEM);
		assert_int_equal(table.count, added);
		for (uint32_t i = 0; i < added; i++)
			assert_int_equal(find(&table, i, "a name of some length"), i);
		cop_name_table_fini(&table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name_table_counts_in_order_of_appearance),
		cmocka_unit_test(test_name_table_tells_tags_lengths_and_prefixes_apart),
		cmocka_unit_test(test_name_table_cut_forgets_the_newest),
		cmocka_unit_test(test_name_table_of_too_many_bytes_is_full),
		cmocka_unit_test(test_name_table_without_memory_fails_cleanly),
		cmocka_unit_test(test_name_table_tells_names_of_one_hash_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
