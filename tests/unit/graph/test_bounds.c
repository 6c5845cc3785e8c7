/* Lower bounds of distances: never above what is measured, above the limit for all that is left out, and near it. */
#include "graph_fixture.h"

#include "graph/bounds.h"

#define SEED 31U

enum { N = 300, QUERIES = 70, D = 7 };

typedef struct seen {
	cop_bounds *bounds;
	const cop_points *points;
	const float *limit; /* QUERIES: what was asked for */
	float bound[QUERIES][N];
	bool shown[QUERIES][N];
	uint32_t last[QUERIES];
} seen;

static double distance2(const cop_points *points, size_t i, size_t j)
{
	double sum = 0.0;
	for (size_t k = 0; k < points->d; k++) {
		double gap = (double)value_of(points, i, k) - (double)value_of(points, j, k);
		sum += gap * gap;
	}
	return sum;
}

static void note(void *context, size_t column, uint32_t point, float bound)
{
	seen *s = context;
	assert_true(column < QUERIES && point < N && !s->shown[column][point]);
	assert_true(point >= s->last[column]); /* ascending */
	s->last[column] = point;
	s->shown[column][point] = true;
	s->bound[column][point] = bound;
}

/* Bound plus the query's squared length: at most the squared distance, and less than that by rounding alone. */
static void check_sweep(const cop_points *points, float share)
{
	static seen s;
	cop_bounds_shared shared;
	cop_bounds bounds;
	uint32_t query[QUERIES];
	float limit[QUERIES];
	size_t left_out = 0, shown = 0;
	assert_int_equal(cop_bounds_shared_init(&shared, points, points, 1), COP_OK);
	assert_int_equal(cop_bounds_init(&bounds, &shared), COP_OK);
	assert_true(shared.columns >= QUERIES);
	for (uint32_t i = 0; i < QUERIES; i++)
		query[i] = 3 * i;
	cop_bounds_load(&bounds, QUERIES, query);
	for (size_t i = 0; i < QUERIES; i++) {
		limit[i] = cop_bounds_beyond(&bounds, i, (double)share * distance2(points, query[i], query[i] + 1));
		bounds.limit[i] = limit[i];
	}
	s = (seen){ .bounds = &bounds, .points = points, .limit = limit };
	cop_bounds_sweep(&bounds, note, &s);
	for (size_t i = 0; i < QUERIES; i++)
		for (size_t j = 0; j < N; j++) {
			double exact = distance2(points, query[i], j), square = bounds.square[i];
			double near = 1e-4 * (square + exact + 1.0);
			if (s.shown[i][j]) {
				assert_true(s.bound[i][j] < limit[i]);
				assert_true((double)s.bound[i][j] + square <= exact + 1e-9 * square);
				assert_true((double)s.bound[i][j] + square >= exact - near);
			} else {
				assert_true(exact - square >= (double)limit[i]);
			}
			shown += s.shown[i][j];
			left_out += !s.shown[i][j];
		}
	assert_true(share == 0.0F || shown > QUERIES);
	assert_true(left_out > QUERIES);
	cop_bounds_fini(&bounds);
	cop_bounds_shared_fini(&shared);
}

static void test_bounds_of_dense_points_are_near_and_never_above_distances(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	float *x = clouds(&rng, N, D, 5);
	const cop_points points = { .n = N, .d = D, .x = x };
	check_sweep(&points, 1.0F);
	check_sweep(&points, 0.25F);
	cop_mem_free(x);
}

static void test_bounds_of_sparse_points_are_near_and_never_above_distances(void **state)
{
	(void)state;
	static size_t start[N + 1];
	static uint32_t index[N * 3];
	static float value[N * 3];
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	for (size_t i = 0; i < N; i++) {
		start[i + 1] = start[i];
		for (uint32_t j = (uint32_t)(i % 3); j < D; j += 3) {
			index[start[i + 1]] = j;
			value[start[i + 1]++] = (float)cop_rng_normal(&rng);
		}
	}
	const cop_points points = { .n = N, .d = D, .start = start, .index = index, .value = value };
	check_sweep(&points, 1.0F);
	check_sweep(&points, 0.25F);
}

static void check_blocks(const cop_points *points, size_t queries, unsigned threads, size_t columns, size_t rows)
{
	cop_bounds_shared shared;
	const cop_points asked = { .n = queries, .d = points->d, .x = points->x, .start = points->start };
	assert_int_equal(cop_bounds_shared_init(&shared, points, &asked, threads), COP_OK);
	assert_int_equal(shared.columns, cop_kernel_pad(columns));
	assert_int_equal(shared.rows, rows);
	cop_bounds_shared_fini(&shared);
}

/* Blocks are as large as the caches hold, and small enough that every thread has two. */
static void test_bounds_shared_blocks_follow_the_features_and_threads(void **state)
{
	(void)state;
	float *x = cop_mem_alloc(2 * 100000, sizeof *x);
	assert_non_null(x);
	cop_points dense = { .n = 2, .d = 7, .x = x };
	check_blocks(&dense, 300, 1, 151, 512);
	check_blocks(&dense, 300, 3, 51, 512);
	check_blocks(&dense, 100000, 2, 1024, 512);
	dense.d = 16384;
	check_blocks(&dense, 100000, 2, 256, 256);
	dense.d = 100000;
	check_blocks(&dense, 100000, 2, 64, 64);
	cop_mem_free(x);
	static const size_t start[] = { 0, 3, 3 };
	cop_points sparse = { .n = 2, .d = 7, .start = start };
	check_blocks(&sparse, 100000, 2, 256, 64);
	check_blocks(&sparse, 300, 3, 51, 64);
	sparse.d = 1 << 16;
	check_blocks(&sparse, 100000, 2, 32, 64);
	sparse.d = 1 << 22;
	check_blocks(&sparse, 100000, 2, 1, 64);
}

static void test_bounds_shared_holds_the_mean_and_the_rounding_of_the_longest_product(void **state)
{
	(void)state;
	const float x[] = { 1, 2, 7, 7, 3, 5, 5, 8 };
	const uint32_t row[] = { 0, 2, 3 };
	const cop_points dense = { .n = 3, .d = 2, .row = row, .x = x };
	const size_t start[] = { 0, 2, 7, 8 };
	cop_points sparse = { .n = 3, .d = 9, .start = start };
	const double u = 0x1p-24;
	cop_bounds_shared shared;
	assert_int_equal(cop_bounds_shared_init(&shared, &dense, &dense, 1), COP_OK);
	assert_true(shared.mean[0] == 3.0F && shared.mean[1] == 5.0F);
	assert_true(shared.rounding == 2.0 * u / (1.0 - 2.0 * u) && shared.underflow == 12.0 * 0x1p-126);
	cop_bounds_shared_fini(&shared);
	assert_int_equal(cop_bounds_shared_init(&shared, &sparse, &sparse, 1), COP_OK);
	assert_null(shared.mean);
	assert_true(shared.rounding == 5.0 * u / (1.0 - 5.0 * u) && shared.underflow == 24.0 * 0x1p-126);
	cop_bounds_shared_fini(&shared);
	/* of so many terms nothing is known */
	const size_t many[] = { 0, ((size_t)1 << 23) - 1, (size_t)1 << 24 };
	sparse = (cop_points){ .n = 2, .d = (size_t)1 << 24, .start = many };
	assert_int_equal(cop_bounds_shared_init(&shared, &sparse, &sparse, 1), COP_OK);
	assert_true(isinf(shared.rounding));
	cop_bounds_shared_fini(&shared);
	sparse.n = 1;
	assert_int_equal(cop_bounds_shared_init(&shared, &sparse, &sparse, 1), COP_OK);
	assert_true(shared.rounding < 1.0);
	cop_bounds_shared_fini(&shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds_of_dense_points_are_near_and_never_above_distances),
		cmocka_unit_test(test_bounds_shared_blocks_follow_the_features_and_threads),
		cmocka_unit_test(test_bounds_shared_holds_the_mean_and_the_rounding_of_the_longest_product),
		cmocka_unit_test(test_bounds_of_sparse_points_are_near_and_never_above_distances),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
