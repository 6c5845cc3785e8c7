/* Approximate neighbours: how many of the true ones they are, and that a seed repeats them for any number of threads.
 */
#include "graph_fixture.h"

#include "base/crc32c.h"
#include "graph/nearest.h"

#define SEED 12U

enum { N = 4000, D = 20, K = 10 };

/* Exact ones of every STEP-th point. */
#define STEP 20
static cop_neighbours exact_of_some(const cop_points *points, size_t k)
{
	cop_neighbours out;
	uint32_t row[N / STEP];
	for (uint32_t i = 0; i < N / STEP; i++)
		row[i] = points->row != NULL ? points->row[i * STEP] : i * STEP;
	const cop_points asked = { .n = N / STEP, .d = points->d, .row = row, .x = points->x };
	cop_neighbours all;
	assert_int_equal(cop_neighbours_exact(points, &asked, k + 1, NULL, &all), COP_OK);
	out = (cop_neighbours){ .n = N / STEP, .k = k };
	out.index = cop_mem_alloc(out.n * k, sizeof *out.index);
	out.distance2 = cop_mem_alloc(out.n * k, sizeof *out.distance2);
	assert_true(out.index != NULL && out.distance2 != NULL);
	for (size_t i = 0; i < out.n; i++)
		for (size_t a = 0, b = 0; a <= k && b < k; a++)
			if (all.index[i * (k + 1) + a] != i * STEP) {
				out.index[i * k + b] = all.index[i * (k + 1) + a];
				out.distance2[i * k + b++] = all.distance2[i * (k + 1) + a];
			}
	cop_neighbours_fini(&all);
	return out;
}

/* Share of the true neighbours that were found. */
static double recall(const cop_neighbours *got, const cop_neighbours *want)
{
	size_t found = 0, k = want->k;
	for (size_t i = 0; i < want->n; i++)
		for (size_t a = 0; a < k; a++)
			for (size_t b = 0; b < k; b++)
				found += got->index[i * STEP * k + a] == want->index[i * k + b];
	return (double)found / (double)(want->n * k);
}

/* Each neighbour once, none itself, ascending, equal ones by number, and as far as the points are apart. */
static void assert_well_formed(const cop_neighbours *got, const cop_points *points)
{
	for (size_t i = 0; i < got->n; i++)
		for (size_t a = 0; a < got->k; a++) {
			const size_t at = i * got->k + a;
			uint32_t index = got->index[at];
			assert_true(index < points->n && index != i);
			assert_true(got->distance2[at] == cop_nearest_distance2(points, i, points, index));
			if (a == 0)
				continue;
			assert_true(got->distance2[at - 1] <= got->distance2[at]);
			assert_true(got->distance2[at - 1] < got->distance2[at] || got->index[at - 1] < index);
		}
}

static bool same(const cop_neighbours *a, const cop_neighbours *b)
{
	return memcmp(a->index, b->index, a->n * a->k * sizeof *a->index) == 0;
}

/* Recall of at least `least`; a seed's result is the same for 1 and 4 threads; another seed's recall is as good, and
 * its result another one, unless there is nothing left to differ in. */
static void check(const cop_points *points, size_t k, double least, bool differs)
{
	cop_neighbours want = exact_of_some(points, k), first, again;
	cop_pool *pool;
	assert_int_equal(cop_pool_new(4, &pool), COP_OK);
	assert_int_equal(cop_neighbours_approximate(points, k, 1, NULL, &first), COP_OK);
	printf("k %zu: recall %.4f\n", k, recall(&first, &want));
	assert_true(recall(&first, &want) >= least);
	assert_well_formed(&first, points);
	assert_int_equal(cop_neighbours_approximate(points, k, 1, pool, &again), COP_OK);
	assert_same(&again, &first);
	cop_neighbours_fini(&again);
	assert_int_equal(cop_neighbours_approximate(points, k, UINT32_MAX, NULL, &again), COP_OK);
	printf("another seed: recall %.4f\n", recall(&again, &want));
	assert_true(recall(&again, &want) >= least);
	assert_true(!differs || !same(&again, &first));
	cop_neighbours_fini(&again);
	cop_neighbours_fini(&first);
	cop_neighbours_fini(&want);
	cop_pool_free(pool);
}

static void test_approximate_of_clouds_finds_nearly_all_and_repeats(void **state)
{
	(void)state;
	cop_rng rng;
	uint32_t row[N];
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	float *x = clouds(&rng, (size_t)2 * N, D, 12);
	for (uint32_t i = 0; i < N; i++)
		row[i] = 2 * i + 1;
	const cop_points all = { .n = N, .d = D, .x = x }, odd = { .n = N, .d = D, .row = row, .x = x };
	check(&all, K, 0.99, false);
	check(&odd, K, 0.99, false);
	check(&all, 1, 0.98, false);
	cop_mem_free(x);
}

static void test_approximate_of_uniform_points_finds_nearly_all_and_repeats(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	float *x = cop_mem_alloc((size_t)N * D, sizeof *x);
	assert_non_null(x);
	for (size_t i = 0; i < (size_t)N * D; i++)
		x[i] = (float)cop_rng_unit(&rng);
	const cop_points points = { .n = N, .d = D, .x = x }, line = { .n = N, .d = 1, .x = x };
	check(&points, K, 0.98, true);
	check(&line, K, 1.0, false);
	cop_mem_free(x);
}

/* Distances of whole numbers are exact in any order of summing: a seed's result is this one on every processor. */
static void test_approximate_of_whole_numbers_is_the_recorded_one(void **state)
{
	(void)state;
	cop_rng rng;
	cop_neighbours got;
	cop_rng_init(&rng, SEED, 6);
	float *x = cop_mem_alloc((size_t)N * D, sizeof *x);
	assert_non_null(x);
	for (size_t i = 0; i < (size_t)N * D; i++)
		x[i] = (float)cop_rng_below(&rng, 400);
	const cop_points points = { .n = N, .d = D, .x = x };
	assert_int_equal(cop_neighbours_approximate(&points, K, 1, NULL, &got), COP_OK);
	uint32_t sum = cop_crc32c(0, got.index, got.n * got.k * sizeof *got.index);
	printf("neighbours: %08x\n", sum);
	assert_int_equal(sum, 0x3397aaa8);
	cop_neighbours_fini(&got);
	cop_mem_free(x);
}

/* Far from the origin lengths are 1e6 and distances 1: products of lengths would have lost them. */
static void test_approximate_beside_constant_and_distant_columns_finds_nearly_all(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 2);
	float *x = clouds(&rng, N, D, 3);
	for (size_t i = 0; i < N; i++) {
		x[i * D] = 1e6f;
		x[i * D + 1] = 0.0f;
		x[i * D + 2] += 1e5f;
	}
	const cop_points points = { .n = N, .d = D, .x = x };
	check(&points, K, 0.98, false);
	cop_mem_free(x);
}

/* All points are the same, or of few kinds, or there are hardly more than neighbours: the result is well formed, of few
 * points it is exact, and of duplicates every distance is 0. */
static void test_approximate_of_duplicates_and_few_points_is_complete(void **state)
{
	(void)state;
	static float x[N * 2];
	static const size_t sizes[][2] = { { N, K }, { 700, 350 }, { 700, 699 }, { 300, 290 }, { 127, 30 }, { 40, 39 },
		{ 3, 2 }, { 2, 1 } };
	cop_rng rng;
	cop_rng_init(&rng, SEED, 3);
	for (uint64_t kinds = 1; kinds < 100; kinds += 32)
		for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
			cop_neighbours got, want;
			const size_t n = sizes[i][0], k = sizes[i][1];
			for (size_t j = 0; j < (size_t)N * 2; j++)
				x[j] = (float)cop_rng_below(&rng, kinds);
			cop_points points = { .n = n, .d = 2, .x = x };
			assert_int_equal(cop_neighbours_approximate(&points, k, 5, NULL, &got), COP_OK);
			assert_well_formed(&got, &points);
			for (size_t j = 0; kinds == 1 && j < n * k; j++)
				assert_true(got.distance2[j] == 0.0f);
			if (n < N && (n <= 127 || k > n / 3)) {
				assert_int_equal(cop_neighbours_exact(&points, NULL, k, NULL, &want), COP_OK);
				assert_same(&got, &want);
				cop_neighbours_fini(&want);
			}
			cop_neighbours_fini(&got);
		}
}

/* Distances beyond what a float holds are infinite, and their differences no numbers. */
static void test_approximate_of_huge_values_is_complete(void **state)
{
	(void)state;
	cop_rng rng;
	cop_neighbours got;
	cop_rng_init(&rng, SEED, 4);
	float *x = clouds(&rng, N, D, 3);
	for (size_t i = 0; i < (size_t)N * D; i++)
		x[i] *= 1e37f;
	cop_points points = { .n = N, .d = D, .x = x };
	assert_int_equal(cop_neighbours_approximate(&points, K, 1, NULL, &got), COP_OK);
	assert_well_formed(&got, &points);
	cop_neighbours_fini(&got);
	cop_mem_free(x);
}

static void test_approximate_of_impossible_requests_is_refused(void **state)
{
	(void)state;
	static const float x[6] = { 1, 2, 3, 4, 5, 6 };
	static const size_t start[4] = { 0 };
	cop_neighbours out;
	const cop_points points = { .n = 3, .d = 2, .x = x }, sparse = { .n = 3, .d = 2, .start = start };
	const cop_points flat = { .n = 3, .d = 0, .x = x }, none = { .n = 0, .d = 2, .x = x };
	const cop_points many = { .n = ((size_t)1 << 31) + 1, .d = 2, .x = x };
	assert_int_equal(cop_neighbours_approximate(&sparse, 1, 0, NULL, &out), COP_EINVAL);
	assert_int_equal(cop_neighbours_approximate(&points, 3, 0, NULL, &out), COP_EINVAL);
	assert_int_equal(cop_neighbours_approximate(&points, 0, 0, NULL, &out), COP_EINVAL);
	assert_int_equal(cop_neighbours_approximate(&none, 1, 0, NULL, &out), COP_EINVAL);
	assert_int_equal(cop_neighbours_approximate(&many, 1, 0, NULL, &out), COP_EINVAL);
	assert_int_equal(cop_neighbours_approximate(&flat, 1, 0, NULL, &out), COP_ESHAPE);
	assert_null(out.index);
}

static void test_approximate_without_memory_returns_that_and_leaves_nothing(void **state)
{
	(void)state;
	cop_rng rng;
	cop_pool *pool;
	uint32_t row[200];
	cop_err err = COP_ENOMEM;
	unsigned long n = 1;
	cop_rng_init(&rng, SEED, 5);
	float *x = clouds(&rng, 200, 3, 2);
	for (uint32_t i = 0; i < 200; i++)
		row[i] = 199 - i;
	cop_points points = { .n = 200, .d = 3, .row = row, .x = x };
	assert_int_equal(cop_pool_new(2, &pool), COP_OK);
	for (; err != COP_OK && n < 100; n++) {
		cop_neighbours out;
		cop_test_alloc_fail(n, 0);
		err = cop_neighbours_approximate(&points, 4, 0, pool, &out);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		assert_true((err == COP_OK) == (out.index != NULL));
		cop_neighbours_fini(&out);
	}
	assert_true(n > 14 && n < 100); /* 2 for the result, 8 of all, 2 for each thread */
	cop_pool_free(pool);
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
	/* The memory that the header states, beside the result's; exact ones take less. */
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_neighbours_find(&line, NULL, 2, 3, NULL, &out), COP_OK);
	size_t bytes = cop_test_alloc_bytes() - 2 * 2 * sizeof(float) * n;
	assert_true(bytes >= n * 16 * 20 && bytes <= n * (16 * 20 + 17 + 4) + 65536);
	for (size_t i = 1; i < n - 1; i++)
		assert_true(out.index[2 * i] == i - 1 && out.index[2 * i + 1] == i + 1);
	cop_neighbours_fini(&out);
	cop_mem_free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_approximate_of_clouds_finds_nearly_all_and_repeats),
		cmocka_unit_test(test_approximate_of_uniform_points_finds_nearly_all_and_repeats),
		cmocka_unit_test(test_approximate_of_whole_numbers_is_the_recorded_one),
		cmocka_unit_test(test_approximate_beside_constant_and_distant_columns_finds_nearly_all),
		cmocka_unit_test(test_approximate_of_duplicates_and_few_points_is_complete),
		cmocka_unit_test(test_approximate_of_huge_values_is_complete),
		cmocka_unit_test(test_approximate_of_impossible_requests_is_refused),
		cmocka_unit_test(test_approximate_without_memory_returns_that_and_leaves_nothing),
		cmocka_unit_test(test_find_chooses_by_number_and_kind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
