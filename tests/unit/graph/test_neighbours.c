/* Exact neighbours against measuring everything: both kinds of points, ties, duplicates, and data whose products
 * cancel, overflow or vanish. */
#include "graph_fixture.h"

#define SEED 11U

static void expect_exact(const cop_points *points, const cop_points *queries, size_t k)
{
	cop_pool *pool;
	cop_neighbours got, again, want = measure_all(points, queries, k);
	assert_int_equal(cop_neighbours_exact(points, queries, k, NULL, &got), COP_OK);
	assert_neighbours(&got, &want);
	assert_int_equal(cop_pool_new(3, &pool), COP_OK);
	assert_int_equal(cop_neighbours_exact(points, queries, k, pool, &again), COP_OK);
	assert_same(&again, &got);
	cop_pool_free(pool);
	cop_neighbours_fini(&got);
	cop_neighbours_fini(&again);
	cop_neighbours_fini(&want);
	assert_null(got.index);
}

static void test_exact_dense_of_every_size_equals_all_pairs(void **state)
{
	(void)state;
	static const size_t sizes[][3] = { { 2, 1, 1 }, { 5, 3, 4 }, { 17, 16, 16 }, { 40, 7, 39 }, { 700, 5, 3 },
		{ 1100, 33, 15 } };
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		size_t n = sizes[i][0], d = sizes[i][1];
		float *x = clouds(&rng, n, d, 3);
		cop_points points = { .n = n, .d = d, .x = x };
		expect_exact(&points, NULL, sizes[i][2]);
		cop_mem_free(x);
	}
}

static void test_exact_of_chosen_rows_and_other_queries_equals_all_pairs(void **state)
{
	(void)state;
	cop_rng rng;
	uint32_t row[150], asked[40];
	cop_rng_init(&rng, SEED, 1);
	float *x = clouds(&rng, 300, 9, 4);
	for (uint32_t i = 0; i < 150; i++)
		row[i] = (i * 7) % 300;
	for (uint32_t i = 0; i < 40; i++)
		asked[i] = (i * 11) % 300; /* some of them points: they are found */
	cop_points points = { .n = 150, .d = 9, .row = row, .x = x };
	cop_points queries = { .n = 40, .d = 9, .row = asked, .x = x };
	expect_exact(&points, NULL, 6);
	expect_exact(&points, &queries, 6);
	expect_exact(&points, &queries, 150);
	queries.n = 0;
	expect_exact(&points, &queries, 6);
	cop_mem_free(x);
}

/* Values of few kinds: distances tie by the hundred, and equal ones must come by number. */
static void test_exact_with_ties_and_duplicates_orders_by_number(void **state)
{
	(void)state;
	enum { N = 900, D = 6, K = 5 };
	static float x[N * D];
	cop_rng rng;
	cop_rng_init(&rng, SEED, 2);
	for (int kinds = 1; kinds <= 3; kinds++) {
		for (size_t i = 0; i < N * D; i++)
			x[i] = (float)cop_rng_below(&rng, (uint64_t)kinds);
		cop_points points = { .n = N, .d = D, .x = x };
		cop_neighbours got, want = measure_all(&points, NULL, K);
		assert_int_equal(cop_neighbours_exact(&points, NULL, K, NULL, &got), COP_OK);
		assert_same(&got, &want);
		cop_neighbours_fini(&got);
		cop_neighbours_fini(&want);
	}
}

/* Two clouds far from each other: of lengths of 1e4, rounding is as large as the distances within one. */
static void test_exact_where_products_cancel_equals_all_pairs(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 3);
	float *x = clouds(&rng, 600, 8, 1);
	for (size_t i = 0; i < (size_t)600 * 8; i++)
		x[i] += i < (size_t)300 * 8 ? 1e4f : -3e4f;
	cop_points points = { .n = 600, .d = 8, .x = x };
	expect_exact(&points, NULL, 7);
	cop_mem_free(x);
}

static void test_exact_of_huge_and_tiny_values_equals_all_pairs(void **state)
{
	(void)state;
	static const float scales[] = { 3e18f, 1e25f, 1e37f, 1e-18f, 1e-25f, 1e-40f };
	cop_rng rng;
	cop_rng_init(&rng, SEED, 4);
	for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++) {
		float *x = clouds(&rng, 200, 4, 2);
		for (size_t i = 0; i < (size_t)200 * 4; i++)
			x[i] *= scales[s];
		cop_points points = { .n = 200, .d = 4, .x = x };
		expect_exact(&points, NULL, 3);
		cop_mem_free(x);
	}
}

/* ---- sparse ---- */

typedef struct sparse {
	size_t start[251];
	uint32_t index[250 * 40];
	float value[250 * 40];
	cop_points points;
} sparse;

/* n rows of d columns with up to 39 entries, some rows empty. */
static void make_sparse(sparse *s, cop_rng *rng, size_t n, size_t d, bool counts)
{
	size_t at = 0;
	for (size_t i = 0; i < n; i++) {
		s->start[i] = at;
		size_t column = (size_t)cop_rng_below(rng, d / 8);
		for (size_t e = cop_rng_below(rng, 40); e > 0 && column < d; e--) {
			s->index[at] = (uint32_t)column;
			s->value[at++] = counts ? (float)(1 + cop_rng_below(rng, 2)) : (float)cop_rng_normal(rng);
			column += 1 + (size_t)cop_rng_below(rng, d / 20);
		}
	}
	s->start[n] = at;
	s->points = (cop_points){ .n = n, .d = d, .start = s->start, .index = s->index, .value = s->value };
}

static void test_exact_sparse_equals_all_pairs(void **state)
{
	(void)state;
	static sparse a, b;
	cop_rng rng;
	uint32_t row[100];
	cop_rng_init(&rng, SEED, 5);
	for (int counts = 0; counts < 2; counts++) {
		make_sparse(&a, &rng, 250, 200, counts);
		make_sparse(&b, &rng, 60, 200, counts);
		for (uint32_t i = 0; i < 100; i++)
			row[i] = 249 - 2 * i;
		expect_exact(&a.points, NULL, 8);
		expect_exact(&a.points, &b.points, 8);
		a.points.n = 100;
		a.points.row = row;
		expect_exact(&a.points, NULL, 8);
		expect_exact(&a.points, &b.points, 100);
	}
}

/* ---- errors ---- */

static void test_exact_of_impossible_requests_is_refused(void **state)
{
	(void)state;
	static const float x[6] = { 1, 2, 3, 4, 5, 6 };
	static sparse s;
	cop_rng rng;
	cop_neighbours out;
	cop_rng_init(&rng, SEED, 6);
	make_sparse(&s, &rng, 10, 40, false);
	cop_points points = { .n = 3, .d = 2, .x = x }, other = { .n = 2, .d = 3, .x = x };
	cop_points none = { .n = 0, .d = 2, .x = x }, flat = { .n = 3, .d = 0, .x = x };
	s.points.d = 2;
	assert_int_equal(cop_neighbours_exact(&points, NULL, 0, NULL, &out), COP_EINVAL);
	assert_int_equal(cop_neighbours_exact(&points, NULL, 3, NULL, &out), COP_EINVAL);
	assert_int_equal(cop_neighbours_exact(&points, &points, 4, NULL, &out), COP_EINVAL);
	assert_int_equal(cop_neighbours_exact(&none, NULL, 1, NULL, &out), COP_EINVAL);
	assert_int_equal(cop_neighbours_exact(&none, &points, 1, NULL, &out), COP_EINVAL);
	assert_int_equal(cop_neighbours_exact(&points, &other, 1, NULL, &out), COP_ESHAPE);
	assert_int_equal(cop_neighbours_exact(&points, &s.points, 1, NULL, &out), COP_ESHAPE);
	assert_int_equal(cop_neighbours_exact(&flat, NULL, 1, NULL, &out), COP_ESHAPE);
	assert_null(out.index);
	assert_int_equal(out.n, 0);
}

static void test_exact_without_memory_says_so_and_leaves_nothing(void **state)
{
	(void)state;
	static sparse s;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 7);
	make_sparse(&s, &rng, 30, 40, false);
	float *x = clouds(&rng, 30, 3, 2);
	cop_points dense = { .n = 30, .d = 3, .x = x };
	for (int kind = 0; kind < 2; kind++) {
		cop_err err = COP_ENOMEM;
		unsigned long n = 1;
		for (; err != COP_OK && n < 100; n++) {
			cop_neighbours out;
			cop_test_alloc_fail(n, 0);
			err = cop_neighbours_exact(kind == 0 ? &dense : &s.points, NULL, 4, NULL, &out);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || err == COP_ENOMEM);
			assert_true((err == COP_OK) == (out.index != NULL));
			cop_neighbours_fini(&out);
		}
		assert_true(n > 10 && n < 100);
	}
	cop_mem_free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_dense_of_every_size_equals_all_pairs),
		cmocka_unit_test(test_exact_of_chosen_rows_and_other_queries_equals_all_pairs),
		cmocka_unit_test(test_exact_with_ties_and_duplicates_orders_by_number),
		cmocka_unit_test(test_exact_where_products_cancel_equals_all_pairs),
		cmocka_unit_test(test_exact_of_huge_and_tiny_values_equals_all_pairs),
		cmocka_unit_test(test_exact_sparse_equals_all_pairs),
		cmocka_unit_test(test_exact_of_impossible_requests_is_refused),
		cmocka_unit_test(test_exact_without_memory_says_so_and_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
