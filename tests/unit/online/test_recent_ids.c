/* The bounded memory against a plain list. */
#include "unit/learn/rows.h"

#include <stdio.h>

#include "online/recent_ids.h"

#define SEED 29U
#define OPS  100000

typedef struct item {
	uint64_t hash;
	uint8_t state;
	double time;
} item;

typedef struct list {
	item items[OPS];
	size_t first, count; /* items[first .. first + count) */
	size_t max;
} list;

static uint8_t list_recall(const list *l, uint64_t hash)
{
	for (size_t i = l->count; i-- > 0;)
		if (l->items[l->first + i].hash == hash)
			return l->items[l->first + i].state;
	return 0;
}

static void list_store(list *l, uint64_t hash, uint8_t state, double time)
{
	l->items[l->first + l->count++] = (item){ hash, state, time };
	if (l->count > l->max) {
		l->first++;
		l->count--;
	}
}

static void list_forget(list *l, double time)
{
	while (l->count > 0 && l->items[l->first].time < time) {
		l->first++;
		l->count--;
	}
}

/* Hashes that crowd the same places of the index in all their low or high bits. */
static uint64_t crowded_hash(cop_rng *rng)
{
	uint64_t k = cop_rng_below(rng, 300);
	switch (cop_rng_below(rng, 3)) {
	case 0:
		return k;
	case 1:
		return k << 56;
	default:
		return k << 32;
	}
}

static void run(size_t max, size_t ops, uint64_t stream)
{
	static list l;
	l.first = l.count = 0;
	l.max = max;
	cop_recent_ids memory;
	cop_recent_ids_init(&memory, max);
	cop_rng rng;
	cop_rng_init(&rng, SEED, stream);
	double now = 0.0;
	for (size_t n = 0; n < ops; n++) {
		uint64_t hash = crowded_hash(&rng);
		now += cop_rng_unit(&rng);
		switch (cop_rng_below(&rng, 16)) {
		case 0:
			list_forget(&l, now - 100.0);
			cop_recent_ids_forget(&memory, now - 100.0);
			break;
		case 1:
		case 2:
		case 3:
		case 4:
		case 5: {
			uint8_t mark = (uint8_t)(1 + cop_rng_below(&rng, 2));
			list_store(&l, hash, mark, now);
			cop_recent_ids_store(&memory, hash, mark, now);
			break;
		}
		default:
			break;
		}
		assert_int_equal(memory.count, l.count);
		assert_int_equal(cop_recent_ids_recall(&memory, hash), list_recall(&l, hash));
	}
	cop_recent_ids_fini(&memory);
}

static void test_random_operations_equal_plain_list(void **state)
{
	(void)state;
	printf("seed %u\n", SEED);
	run(1, 2000, 0);
	run(2, 2000, 1);
	run(37, OPS, 2);
	run(64, OPS, 3);
	run(1000000, OPS / 4, 4);
}

static void fill(cop_recent_ids *memory, cop_rng *rng, size_t n, double from)
{
	for (size_t i = 0; i < n; i++)
		cop_recent_ids_store(memory, cop_rng_below(rng, 500), (uint8_t)(1 + i % 2), from + (double)i);
}

static void test_load_then_continue_equals_never_stopped(void **state)
{
	(void)state;
	cop_recent_ids a, b;
	cop_bytes first, second;
	cop_cursor cursor;
	cop_rng rng, again;
	cop_rng_init(&rng, SEED, 5);
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	cop_recent_ids_init(&a, 100);
	cop_recent_ids_init(&b, 100);
	fill(&a, &rng, 170, 0.0);
	cop_recent_ids_save(&a, &first);
	cop_cursor_init(&cursor, first.data, first.length);
	assert_int_equal(cop_recent_ids_load(&b, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	for (uint64_t hash = 0; hash < 500; hash++)
		assert_int_equal(cop_recent_ids_recall(&a, hash), cop_recent_ids_recall(&b, hash));
	again = rng;
	fill(&a, &rng, 50, 170.0);
	fill(&b, &again, 50, 170.0);
	cop_recent_ids_forget(&a, 150.0);
	cop_recent_ids_forget(&b, 150.0);
	cop_bytes_clear(&first);
	cop_recent_ids_save(&a, &first);
	cop_recent_ids_save(&b, &second);
	assert_bytes_equal(&first, &second);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
	cop_recent_ids_fini(&a);
	cop_recent_ids_fini(&b);
}

static void test_load_damaged_bytes_is_error_or_valid(void **state)
{
	(void)state;
	cop_recent_ids a, b;
	cop_bytes bytes;
	cop_cursor cursor;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 6);
	cop_bytes_init(&bytes);
	cop_recent_ids_init(&a, 20);
	fill(&a, &rng, 20, 0.0);
	cop_recent_ids_save(&a, &bytes);
	for (size_t length = 0; length < bytes.length; length++) {
		cop_recent_ids_init(&b, 20);
		cop_cursor_init(&cursor, bytes.data, length);
		assert_int_not_equal(cop_recent_ids_load(&b, &cursor), COP_OK);
		cop_recent_ids_fini(&b);
	}
	for (size_t at = 0; at < bytes.length; at++)
		for (int bit = 0; bit < 8; bit++) {
			bytes.data[at] ^= (uint8_t)(1 << bit);
			cop_recent_ids_init(&b, 20);
			cop_cursor_init(&cursor, bytes.data, bytes.length);
			if (cop_recent_ids_load(&b, &cursor) == COP_OK) {
				cop_recent_ids_forget(&b, 5.0);
				fill(&b, &rng, 40, 1e9);
				assert_true(b.count <= 20);
			}
			cop_recent_ids_fini(&b);
			bytes.data[at] ^= (uint8_t)(1 << bit);
		}
	cop_bytes_fini(&bytes);
	cop_recent_ids_fini(&a);
}

static void test_short_memory_stores_nothing_and_goes_on(void **state)
{
	(void)state;
	for (unsigned long n = 1; n < 20; n++) {
		cop_recent_ids memory;
		cop_recent_ids_init(&memory, 1000);
		cop_test_alloc_fail(n, 0);
		for (uint64_t hash = 1; hash <= 500; hash++)
			cop_recent_ids_store(&memory, hash, 1, (double)hash);
		cop_test_alloc_fail(0, 0);
		size_t known = 0;
		for (uint64_t hash = 1; hash <= 500; hash++)
			known += cop_recent_ids_recall(&memory, hash) == 1;
		assert_int_equal(known, memory.count);
		cop_recent_ids_store(&memory, 501, 2, 501.0);
		assert_int_equal(cop_recent_ids_recall(&memory, 501), 2);
		cop_recent_ids_fini(&memory);
	}
}

static void test_steady_load_allocates_nothing(void **state)
{
	(void)state;
	cop_recent_ids memory;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 7);
	cop_recent_ids_init(&memory, 100);
	fill(&memory, &rng, 200, 0.0);
	cop_test_alloc_fail(0, 0);
	fill(&memory, &rng, 2000, 200.0);
	assert_int_equal(cop_test_alloc_count(), 0);
	cop_recent_ids_fini(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_operations_equal_plain_list),
		cmocka_unit_test(test_load_then_continue_equals_never_stopped),
		cmocka_unit_test(test_load_damaged_bytes_is_error_or_valid),
		cmocka_unit_test(test_short_memory_stores_nothing_and_goes_on),
		cmocka_unit_test(test_steady_load_allocates_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
