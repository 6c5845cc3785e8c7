/* Keys, the float in between, sorting against plain comparisons, and sparse pairs against the rows themselves. */
#include "support.h"

#include <float.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "train/ordered.h"

static void test_keys_are_ordered_as_values_and_give_them_back(void **state)
{
	(void)state;
	static const float ascending[] = { -INFINITY, -FLT_MAX, -2.0F, -1.0F, -FLT_MIN, -1e-45F, 0.0F, 1e-45F, FLT_MIN,
		1.0F, 1.0000001F, FLT_MAX, INFINITY };
	for (size_t i = 0; i < sizeof ascending / sizeof *ascending; i++) {
		uint32_t key = cop_ordered_key(ascending[i]);
		assert_true(cop_ordered_value(key) == ascending[i]);
		assert_true(i == 0 || key > cop_ordered_key(ascending[i - 1]));
		uint64_t pair = cop_ordered_pair(key, 77);
		assert_true(cop_ordered_key_of(pair) == key && cop_ordered_place_of(pair) == 77);
	}
	assert_true(cop_ordered_key(-0.0F) == COP_ORDERED_ZERO && cop_ordered_key(0.0F) == COP_ORDERED_ZERO);
}

static void test_between_is_midway_or_the_greater_one(void **state)
{
	(void)state;
	assert_true(cop_ordered_between(1.0F, 2.0F) == 1.5F);
	assert_true(cop_ordered_between(-3.0F, 5.0F) == 1.0F);
	assert_true(cop_ordered_between(-FLT_MAX, FLT_MAX) == 0.0F);
	assert_true(cop_ordered_between(1.0F, nextafterf(1.0F, 2.0F)) == nextafterf(1.0F, 2.0F));
	assert_true(cop_ordered_between(nextafterf(1.0F, 0.0F), 1.0F) == 1.0F);
	assert_true(cop_ordered_between(0.0F, 1e-45F) == 1e-45F);
	assert_true(cop_ordered_between(-INFINITY, 3.0F) == 3.0F);
}

/* Of few keys or many that are equal, or differ in one of their bytes alone. */
static void check_sort(size_t n, uint32_t mask, cop_rng *rng)
{
	uint64_t *pair = cop_mem_alloc(n + 1, sizeof *pair), *spare = cop_mem_alloc(n + 1, sizeof *spare);
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t key = (uint32_t)cop_rng_below(rng, UINT32_MAX) & mask;
		pair[i] = cop_ordered_pair(key | 0x01020304U, i);
		sum += pair[i];
	}
	uint64_t *sorted = cop_ordered_sort(n, pair, spare);
	assert_true(sorted == pair || sorted == spare);
	for (size_t i = 0; i < n; i++) {
		sum -= sorted[i];
		assert_true(i == 0 || sorted[i] > sorted[i - 1]); /* stable: places of equal keys ascend */
	}
	assert_int_equal(sum, 0);
	cop_mem_free(pair);
	cop_mem_free(spare);
}

static void test_sort_of_any_number_and_keys_is_stable(void **state)
{
	(void)state;
	static const uint32_t masks[] = { 0, 0xff, 0xff00, 0xff0000, 0xff000000, 0x80000001, 0x00ffff00, 0xffffffff };
	cop_rng rng;
	print_message("seed 51\n");
	cop_rng_init(&rng, 51, 0);
	for (size_t m = 0; m < sizeof masks / sizeof *masks; m++)
		for (size_t n = 0; n < 700; n += n < 60 ? 1 : 97)
			check_sort(n, masks[m], &rng);
}

/* One key alone differs from the others, in any place. */
static void test_sort_of_one_key_that_differs_moves_it(void **state)
{
	(void)state;
	enum { MANY = 50 };
	for (size_t odd = 0; odd < MANY; odd++) {
		uint64_t pair[MANY], spare[MANY];
		for (size_t i = 0; i < MANY; i++)
			pair[i] = cop_ordered_pair(i == odd ? 0x00ff0000U : 0x80ff0000U, i);
		assert_int_equal(cop_ordered_place_of(cop_ordered_sort(MANY, pair, spare)[0]), odd);
	}
}

static void test_sparse_pairs_are_the_rows_entries(void **state)
{
	(void)state;
	enum { ROWS = 60, D = 9 };
	cop_dataset *rows;
	cop_rng rng;
	float dense[ROWS][D] = { { 0 } };
	uint32_t chosen[ROWS];
	print_message("seed 52\n");
	cop_rng_init(&rng, 52, 0);
	assert_int_equal(cop_dataset_new_sparse(&rows), COP_OK);
	for (size_t i = 0; i < ROWS; i++) {
		uint32_t index[D], nnz = 0;
		float value[D];
		for (uint32_t j = 0; j < D - 1; j++) { /* no row has the last feature but the first one */
			if (cop_rng_below(&rng, 3) == 0)
				continue;
			index[nnz] = j;
			value[nnz++] = dense[i][j] = (float)cop_rng_below(&rng, 4) - 1.0F; /* some are 0 */
		}
		if (i == 0) {
			index[nnz] = D - 1;
			value[nnz++] = dense[i][D - 1] = 2.0F;
		}
		assert_int_equal(cop_dataset_push_sparse(rows, nnz, index, value, 0.0), COP_OK);
	}
	size_t n = 0;
	for (uint32_t i = ROWS; i-- > 1;)
		if (i % 4 != 0)
			chosen[n++] = i;
	cop_ordered_sparse sparse;
	size_t entries = cop_ordered_entries(rows, n, chosen), want = 0;
	for (size_t i = 0; i < n; i++)
		want += rows->start[chosen[i] + 1] - rows->start[chosen[i]];
	assert_int_equal(entries, want);
	assert_int_equal(cop_ordered_sparse_init(&sparse, D, entries), COP_OK);
	for (int twice = 0; twice < 2; twice++) {
		cop_ordered_sparse_fill(&sparse, rows, n, chosen);
		assert_int_equal(sparse.features, D - 1);
		size_t at = 0, seen = 0;
		for (size_t f = 0; f < sparse.features; f++) {
			size_t j = sparse.feature[f];
			assert_int_equal(sparse.start[f], at);
			assert_int_equal(seen >> j & 1, 0);
			seen |= (size_t)1 << j;
			for (size_t i = 0; i < n; i++)
				if (dense[chosen[i]][j] != 0.0F)
					assert_true(sparse.pair[at++] ==
					            cop_ordered_pair(cop_ordered_key(dense[chosen[i]][j]), i));
		}
		assert_int_equal(sparse.start[sparse.features], at);
		for (size_t j = 0; j < D; j++)
			assert_int_equal(sparse.cursor[j], 0);
	}
	cop_ordered_sparse_fini(&sparse);
	cop_dataset_free(rows);
}

static void test_sparse_without_memory_fails(void **state)
{
	(void)state;
	cop_err err = COP_ENOMEM;
	unsigned long n = 1;
	for (; err != COP_OK; n++) {
		cop_ordered_sparse sparse;
		cop_test_alloc_fail(n, 0);
		err = cop_ordered_sparse_init(&sparse, 3, 5);
		assert_int_equal(err, cop_test_alloc_failed() ? COP_ENOMEM : COP_OK);
		cop_test_alloc_fail(0, 0);
		cop_ordered_sparse_fini(&sparse);
	}
	assert_int_equal(n, 6); /* four arrays */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_are_ordered_as_values_and_give_them_back),
		cmocka_unit_test(test_between_is_midway_or_the_greater_one),
		cmocka_unit_test(test_sort_of_any_number_and_keys_is_stable),
		cmocka_unit_test(test_sort_of_one_key_that_differs_moves_it),
		cmocka_unit_test(test_sparse_pairs_are_the_rows_entries),
		cmocka_unit_test(test_sparse_without_memory_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
