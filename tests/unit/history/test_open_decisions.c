/* The table of waiting decisions against a plain array that does the same. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "history/open_decisions.h"

#define SEED  41u
#define MOST  300
#define TURNS 20000

static cop_open_decisions_entry *make(uint64_t number)
{
	cop_event_id id;
	cop_event_id_from_unsigned(&id, number);
	cop_open_decisions_entry *entry = cop_open_decisions_entry_new(&id, (const uint8_t *)&number, sizeof number);
	assert_non_null(entry);
	return entry;
}

static cop_open_decisions_entry *find(const cop_open_decisions *table, uint64_t number)
{
	cop_event_id id;
	cop_event_id_from_unsigned(&id, number);
	return cop_open_decisions_find(table, &id);
}

/* numbers, oldest first */
static void check_order(const cop_open_decisions *table, const uint64_t *numbers, size_t count)
{
	const cop_open_decisions_entry *entry = table->oldest;
	assert_int_equal(table->count, count);
	assert_int_equal(table->bytes, count * (sizeof *entry + sizeof *numbers));
	for (size_t i = 0; i < count; i++, entry = entry->younger) {
		assert_non_null(entry);
		assert_memory_equal(entry->body, &numbers[i], sizeof *numbers);
		assert_true(i == 0 ? entry->older == NULL : entry->older->younger == entry);
	}
	assert_null(entry);
}

static size_t take_out(uint64_t *numbers, size_t count, uint64_t number)
{
	size_t at = 0;
	while (numbers[at] != number)
		at++;
	memmove(&numbers[at], &numbers[at + 1], (count - at - 1) * sizeof *numbers);
	return count - 1;
}

static void test_table_does_what_an_array_does(void **state)
{
	(void)state;
	cop_open_decisions table = { 0 };
	cop_rng rng;
	uint64_t numbers[MOST];
	size_t count = 0;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (size_t turn = 0; turn < TURNS; turn++) {
		uint64_t number = cop_rng_below(&rng, MOST);
		cop_open_decisions_entry *entry = find(&table, number);
		uint64_t what = cop_rng_below(&rng, 3);
		if (entry == NULL) {
			assert_int_equal(cop_open_decisions_add(&table, make(number)), COP_OK);
			numbers[count++] = number;
		} else if (what == 0) {
			cop_open_decisions_remove(&table, entry);
			assert_null(entry->older);
			assert_null(entry->younger);
			cop_mem_free(entry);
			count = take_out(numbers, count, number);
		} else if (what == 1) {
			cop_open_decisions_renew(&table, entry);
			count = take_out(numbers, count, number);
			numbers[count++] = number;
		}
		if (turn % 97 == 0)
			check_order(&table, numbers, count);
	}
	check_order(&table, numbers, count);
	cop_open_decisions_fini(&table);
	assert_int_equal(table.count, 0);
}

static void test_empty_table_finds_nothing(void **state)
{
	(void)state;
	cop_open_decisions table = { 0 };
	assert_null(find(&table, 1));
	cop_open_decisions_fini(&table);
}

static void test_short_memory_leaves_the_entry_to_the_caller(void **state)
{
	(void)state;
	cop_open_decisions table = { 0 };
	cop_open_decisions_entry *entry = make(1);
	cop_test_alloc_fail(1, 1);
	assert_int_equal(cop_open_decisions_add(&table, entry), COP_ENOMEM);
	assert_null(cop_open_decisions_entry_new(&entry->id, NULL, 0));
	cop_test_alloc_fail(0, 0);
	assert_null(find(&table, 1));
	assert_int_equal(cop_open_decisions_add(&table, entry), COP_OK);
	assert_ptr_equal(find(&table, 1), entry);
	cop_open_decisions_fini(&table);
}

static void test_id_of_the_same_hash_is_another(void **state)
{
	(void)state;
	cop_open_decisions table = { 0 };
	cop_open_decisions_entry *one = make(1), *two = make(2);
	one->hash = two->hash;
	assert_int_equal(cop_open_decisions_add(&table, one), COP_OK);
	assert_null(find(&table, 2));
	assert_int_equal(cop_open_decisions_add(&table, two), COP_OK);
	assert_ptr_equal(find(&table, 2), two);
	cop_open_decisions_fini(&table);
}

static void test_entries_lie_in_most_of_the_lists(void **state)
{
	(void)state;
	cop_open_decisions table = { 0 };
	size_t used = 0;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(cop_open_decisions_add(&table, make(i)), COP_OK);
	assert_true(table.room >= 1000 && table.room <= 2048);
	for (size_t i = 0; i < table.room; i++)
		used += table.buckets[i] != NULL;
	assert_true(used > 550); /* of 1024 lists 638 on average, were it by chance */
	cop_open_decisions_fini(&table);
	const cop_open_decisions empty = { 0 };
	assert_memory_equal(&table, &empty, sizeof table);
}

static void test_entry_holds_its_body_and_takes_no_more_than_it_needs(void **state)
{
	(void)state;
	uint8_t body[1000];
	cop_event_id id;
	cop_event_id_from_unsigned(&id, 7);
	memset(body, 'b', sizeof body);
	for (size_t length = 0; length <= sizeof body; length += length < 2 ? 1 : 499) {
		cop_test_alloc_fail(0, 0);
		cop_open_decisions_entry *entry = cop_open_decisions_entry_new(&id, length > 0 ? body : NULL, length);
		assert_non_null(entry);
		assert_true(cop_test_alloc_bytes() <= sizeof *entry + length + 64);
		assert_int_equal(entry->length, length);
		if (length > 0)
			assert_memory_equal(entry->body, body, length);
		cop_mem_free(entry);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_does_what_an_array_does),
		cmocka_unit_test(test_empty_table_finds_nothing),
		cmocka_unit_test(test_short_memory_leaves_the_entry_to_the_caller),
		cmocka_unit_test(test_id_of_the_same_hash_is_another),
		cmocka_unit_test(test_entries_lie_in_most_of_the_lists),
		cmocka_unit_test(test_entry_holds_its_body_and_takes_no_more_than_it_needs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
