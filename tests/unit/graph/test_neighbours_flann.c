/* Approximate neighbours: how many of the true ones they are, and that a seed repeats them. */
#include "graph_fixture.h"

#define SEED 12U

/* N is fewer than the points that a search looks at, MANY are not. */
enum { N = 2000, D = 20, K = 10, MANY = 30000, ASKED = 400 };

/* Share of the true neighbours found. */
static double recall(const cop_neighbours *got, const cop_neighbours *want)
{
	size_t found = 0, k = want->k;
	for (size_t i = 0; i < want->n; i++)
		for (size_t a = 0; a < k; a++)
			for (size_t b = 0; b < k; b++)
				found += got->index[i * k + a] == want->index[i * k + b];
	return (double)found / (double)(want->n * k);
}

/* Each neighbour once, none itself, ascending, and as far as it says. */
static void assert_well_formed(const cop_neighbours *got, const cop_points *points, bool own)
{
	for (size_t i = 0; i < got->n; i++)
		for (size_t a = 0; a < got->k; a++) {
			uint32_t index = got->index[i * got->k + a];
			assert_true(index < points->n && !(own && index == i));
			for (size_t b = 0; b < a; b++)
				assert_int_not_equal(index, got->index[i * got->k + b]);
			assert_true(a == 0 || got->distance2[i * got->k + a - 1] <= got->distance2[i * got->k + a]);
		}
}

static void test_approximate_clouds_finds_nearly_all(void **state)
{
	(void)state;
	cop_rng rng;
	cop_neighbours got, want;
	uint32_t row[N / 2];
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	float *x = clouds(&rng, N, D, 12);
	for (uint32_t i = 0; i < N / 2; i++)
		row[i] = 2 * i + 1;
	cop_points all = { .n = N, .d = D, .x = x }, some = { .n = N / 2, .d = D, .row = row, .x = x };
	const cop_points *const pairs[][2] = { { &all, NULL }, { &some, NULL }, { &some, &all }, { &all, &some } };
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		assert_int_equal(cop_neighbours_exact(pairs[i][0], pairs[i][1], K, NULL, &want), COP_OK);
		assert_int_equal(cop_neighbours_approximate(pairs[i][0], pairs[i][1], K, 1, NULL, &got), COP_OK);
		double share = recall(&got, &want);
		printf("recall %.4f\n", share);
		assert_true(share >= 0.95);
		assert_well_formed(&got, pairs[i][0], pairs[i][1] == NULL);
		cop_neighbours_fini(&got);
		cop_neighbours_fini(&want);
	}
	cop_mem_free(x);
}

/* Of more points than are looked at: nearly all are found, and a seed repeats them all. */
static void test_approximate_of_many_points_finds_nearly_all_and_repeats(void **state)
{
	(void)state;
	cop_rng rng;
	cop_pool *pool;
	cop_neighbours want;
	cop_rng_init(&rng, SEED, 1);
	float *x = clouds(&rng, MANY, D, 4);
	cop_points points = { .n = MANY, .d = D, .x = x }, asked = { .n = ASKED, .d = D, .x = x + (size_t)D * 77 };
	assert_int_equal(cop_pool_new(3, &pool), COP_OK);
	assert_int_equal(cop_neighbours_exact(&points, &asked, K, NULL, &want), COP_OK);
	for (uint32_t seed = 0; seed < 3; seed++) {
		cop_neighbours first, second;
		uint32_t s = seed == 2 ? UINT32_MAX : seed;
		assert_int_equal(cop_neighbours_approximate(&points, &asked, K, s, NULL, &first), COP_OK);
		assert_int_equal(cop_neighbours_approximate(&points, &asked, K, s, pool, &second), COP_OK);
		assert_same(&second, &first);
		double share = recall(&first, &want);
		printf("recall %.4f\n", share);
		assert_true(share >= 0.95 && share < 1.0); /* 1: then repeating would mean nothing */
		cop_neighbours_fini(&first);
		cop_neighbours_fini(&second);
	}
	cop_neighbours_fini(&want);
	cop_pool_free(pool);
	cop_mem_free(x);
}

/* All the same, or few, or as many neighbours as there are points: what remains is still well formed. */
static void test_approximate_of_duplicates_and_few_points_is_complete(void **state)
{
	(void)state;
	static float x[N * 2];
	static const size_t sizes[][2] = { { N, K }, { 40, 39 }, { 3, 2 }, { 2, 1 } };
	cop_rng rng;
	cop_rng_init(&rng, SEED, 2);
	for (uint64_t kinds = 1; kinds < 100; kinds += 32)
		for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
			cop_neighbours got;
			for (size_t j = 0; j < (size_t)N * 2; j++)
				x[j] = (float)cop_rng_below(&rng, kinds);
			cop_points points = { .n = sizes[i][0], .d = 2, .x = x };
			assert_int_equal(cop_neighbours_approximate(&points, NULL, sizes[i][1], 5, NULL, &got), COP_OK);
			assert_well_formed(&got, &points, true);
			cop_neighbours_fini(&got);
		}
}

static void test_approximate_of_impossible_requests_is_refused(void **state)
{
	(void)state;
	static const float x[6] = { 1, 2, 3, 4, 5, 6 };
	static const size_t start[4] = { 0 };
	cop_neighbours out;
	cop_points points = { .n = 3, .d = 2, .x = x }, sparse = { .n = 3, .d = 2, .start = start };
	cop_points other = { .n = 2, .d = 3, .x = x };
	assert_int_equal(cop_neighbours_approximate(&sparse, NULL, 1, 0, NULL, &out), COP_EINVAL);
	assert_int_equal(cop_neighbours_approximate(&points, NULL, 3, 0, NULL, &out), COP_EINVAL);
	assert_int_equal(cop_neighbours_approximate(&points, &other, 1, 0, NULL, &out), COP_ESHAPE);
	assert_null(out.index);
}

static void test_approximate_without_memory_says_so_and_leaves_nothing(void **state)
{
	(void)state;
	cop_rng rng;
	uint32_t row[50];
	cop_err err = COP_ENOMEM;
	unsigned long n = 1;
	cop_rng_init(&rng, SEED, 3);
	float *x = clouds(&rng, 50, 3, 2);
	for (uint32_t i = 0; i < 50; i++)
		row[i] = 49 - i;
	cop_points points = { .n = 50, .d = 3, .row = row, .x = x };
	for (; err != COP_OK && n < 100; n++) {
		cop_neighbours out;
		cop_test_alloc_fail(n, 0);
		err = cop_neighbours_approximate(&points, NULL, 4, 0, NULL, &out);
		cop_test_alloc_fail(0, 0);
		assert_true(err == COP_OK || err == COP_ENOMEM);
		assert_true((err == COP_OK) == (out.index != NULL));
		cop_neighbours_fini(&out);
	}
	assert_true(n > 6 && n < 100);
	cop_mem_free(x);
}

static void test_find_chooses_by_number_and_kind(void **state)
{
	(void)state;
	static const size_t start[4] = { 0, 1, 2, 3 };
	static const uint32_t index[3] = { 0, 0, 1 };
	static const float value[3] = { 1, 2, 3 }, x[3] = { 0, 1, 5 };
	cop_neighbours out;
	cop_points sparse = { .n = 3, .d = 2, .start = start, .index = index, .value = value };
	cop_points few = { .n = 3, .d = 1, .x = x };
	assert_int_equal(cop_neighbours_find(&sparse, NULL, 1, 0, NULL, &out), COP_OK);
	assert_int_equal(out.index[0], 1);
	cop_neighbours_fini(&out);
	assert_int_equal(cop_neighbours_find(&few, NULL, 1, 0, NULL, &out), COP_OK);
	assert_int_equal(out.index[2], 1);
	cop_neighbours_fini(&out);
	size_t n = COP_NEIGHBOURS_EXACT_MOST + 1;
	float *many = cop_mem_alloc(n, sizeof *many);
	assert_non_null(many);
	for (size_t i = 0; i < n; i++)
		many[i] = (float)i;
	cop_points line = { .n = n, .d = 1, .x = many }, asked = { .n = 20, .d = 1, .x = many };
	assert_int_equal(cop_neighbours_find(&line, &asked, 2, 0, NULL, &out), COP_OK);
	assert_int_equal(out.index[38], 19);
	cop_neighbours_fini(&out);
	cop_mem_free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_approximate_clouds_finds_nearly_all),
		cmocka_unit_test(test_approximate_of_many_points_finds_nearly_all_and_repeats),
		cmocka_unit_test(test_approximate_of_duplicates_and_few_points_is_complete),
		cmocka_unit_test(test_approximate_of_impossible_requests_is_refused),
		cmocka_unit_test(test_approximate_without_memory_says_so_and_leaves_nothing),
		cmocka_unit_test(test_find_chooses_by_number_and_kind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
