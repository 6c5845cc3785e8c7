/* Random takes and gives against a plain array of what each record should hold. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "learn/slab.h"

#define SEED    23U
#define RECORDS 512
#define LARGEST 5000

typedef struct record {
	uint32_t handle;
	size_t size; /* 0: free */
	uint8_t mark;
} record;

static cop_slab *slab_of(size_t largest)
{
	cop_slab *slab;
	assert_int_equal(cop_slab_new(largest, &slab), COP_OK);
	return slab;
}

static void take(cop_slab *slab, record *r, size_t size, uint8_t mark)
{
	assert_int_equal(cop_slab_take(slab, size, &r->handle), COP_OK);
	assert_int_not_equal(r->handle, 0);
	r->size = size;
	r->mark = mark;
	void *at = cop_slab_at(slab, r->handle);
	assert_int_equal((uintptr_t)at % 8, 0);
	memset(at, mark, size);
}

static void check(const cop_slab *slab, const record *r)
{
	const uint8_t *at = cop_slab_at(slab, r->handle);
	for (size_t i = 0; i < r->size; i++)
		assert_int_equal(at[i], r->mark);
}

static void test_random_records_keep_their_content(void **state)
{
	(void)state;
	static record records[RECORDS];
	memset(records, 0, sizeof records);
	cop_slab *slab = slab_of(LARGEST);
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (size_t n = 0; n < 100000; n++) {
		record *r = &records[cop_rng_below(&rng, RECORDS)];
		if (r->size == 0) {
			size_t size = 1 + (size_t)cop_rng_below(&rng, n % 3 == 0 ? LARGEST : 100);
			take(slab, r, n % 97 == 0 ? LARGEST : size, (uint8_t)cop_rng_u64(&rng));
		} else {
			check(slab, r);
			cop_slab_give(slab, r->handle, r->size);
			r->size = 0;
		}
	}
	for (size_t i = 0; i < RECORDS; i++)
		if (records[i].size != 0)
			check(slab, &records[i]);
	cop_slab_free(slab);
}

static void test_every_size_is_wholly_usable(void **state)
{
	(void)state;
	static record records[LARGEST];
	cop_slab *slab = slab_of(LARGEST);
	for (size_t size = 1; size <= LARGEST; size++)
		take(slab, &records[size - 1], size, (uint8_t)size);
	for (size_t size = 1; size <= LARGEST; size++)
		check(slab, &records[size - 1]);
	cop_slab_free(slab);
	for (size_t largest = 1; largest < 300; largest++) {
		record r;
		slab = slab_of(largest);
		take(slab, &r, largest, 7);
		check(slab, &r);
		cop_slab_free(slab);
	}
}

static void test_steady_load_allocates_nothing(void **state)
{
	(void)state;
	static record records[RECORDS];
	cop_slab *slab = slab_of(1000);
	for (size_t i = 0; i < RECORDS; i++)
		take(slab, &records[i], 1 + i, 1);
	size_t bytes = cop_slab_bytes(slab);
	cop_test_alloc_fail(0, 0);
	for (size_t round = 0; round < 20; round++) {
		for (size_t i = 0; i < RECORDS; i++)
			cop_slab_give(slab, records[i].handle, records[i].size);
		for (size_t i = 0; i < RECORDS; i++)
			take(slab, &records[i], 1 + i, (uint8_t)round);
	}
	assert_int_equal(cop_test_alloc_count(), 0);
	assert_int_equal(cop_slab_bytes(slab), bytes);
	cop_slab_free(slab);
}

static void test_take_after_reserve_allocates_nothing(void **state)
{
	(void)state;
	cop_slab *slab = slab_of(LARGEST);
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	size_t refused = 0;
	for (size_t i = 0; i < 2000; i++) {
		record r;
		size_t size = 1 + (size_t)cop_rng_below(&rng, LARGEST);
		size_t other =
		        1 + (size_t)cop_rng_below(&rng, size); /* one of two was asked for, the smaller is taken */
		cop_err err = COP_ENOMEM;
		for (unsigned long n = 1; err != COP_OK; n++) {
			cop_test_alloc_fail(n, 0);
			err = cop_slab_reserve(slab, size);
			if (err == COP_OK)
				err = cop_slab_reserve(slab, other);
			assert_true(err == COP_OK || err == COP_ENOMEM);
			refused += err != COP_OK;
		}
		cop_test_alloc_fail(1, 1);
		take(slab, &r, i % 2 ? size : other, (uint8_t)i);
		assert_int_equal(cop_test_alloc_count(), 0);
		cop_test_alloc_fail(0, 0);
		if (i % 3 == 0)
			cop_slab_give(slab, r.handle, r.size);
	}
	assert_true(refused >= 3);
	cop_slab_free(slab);
}

static void test_new_wrong_size_is_refused(void **state)
{
	(void)state;
	cop_slab *slab;
	assert_int_equal(cop_slab_new(0, &slab), COP_EINVAL);
	assert_null(slab);
	assert_int_equal(cop_slab_new(((size_t)1 << 30) + 1, &slab), COP_EINVAL);
	assert_null(slab);
	assert_int_equal(cop_slab_new(SIZE_MAX, &slab), COP_EINVAL);
	assert_null(slab);
	assert_int_equal(cop_slab_new((size_t)1 << 30, &slab), COP_OK);
	cop_slab_free(slab);
	cop_slab_free(NULL);
}

static void test_failed_allocation_leaves_slab_usable(void **state)
{
	(void)state;
	cop_slab *slab = NULL;
	for (unsigned long n = 1; slab == NULL; n++) {
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_slab_new(LARGEST, &slab);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || (err == COP_ENOMEM && slab == NULL));
	}
	static record records[20000];
	size_t taken = 0, refused = 0;
	for (unsigned long n = 0; taken < 20000; n++) {
		uint32_t handle;
		cop_test_alloc_fail(n % 2 + 1, 1);
		cop_err err = cop_slab_take(slab, 300, &handle);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		refused += err != COP_OK;
		assert_true(err == COP_OK || err == COP_ENOMEM);
		if (err == COP_OK)
			cop_slab_give(slab, handle, 300);
		take(slab, &records[taken], 300, (uint8_t)taken);
		taken++;
	}
	assert_true(refused > 0);
	for (size_t i = 0; i < taken; i++)
		check(slab, &records[i]);
	cop_slab_free(slab);
}

static void test_widened_slab_keeps_records_and_has_larger_ones(void **state)
{
	(void)state;
	cop_slab *slab = slab_of(100);
	record old = { 0 }, larger = { 0 };
	take(slab, &old, 100, 1);
	cop_slab_widen(slab, (size_t)800 << 10);
	take(slab, &larger, (size_t)800 << 10, 2);
	check(slab, &old);
	check(slab, &larger);
	cop_slab_free(slab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_records_keep_their_content),
		cmocka_unit_test(test_every_size_is_wholly_usable),
		cmocka_unit_test(test_steady_load_allocates_nothing),
		cmocka_unit_test(test_take_after_reserve_allocates_nothing),
		cmocka_unit_test(test_new_wrong_size_is_refused),
		cmocka_unit_test(test_failed_allocation_leaves_slab_usable),
		cmocka_unit_test(test_widened_slab_keeps_records_and_has_larger_ones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
