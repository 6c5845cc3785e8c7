/* axis_split against all features and thresholds tried one by one; weights are small integers, so sums are exact. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "train/axis_split.h"

#define MOST 40
#define D    5

typedef struct problem {
	cop_dataset *rows;
	size_t n;
	uint32_t row[MOST];
	int8_t side[MOST];
	float weight[MOST];
} problem;

static float value(const cop_dataset *rows, size_t i, size_t j)
{
	cop_row row;
	cop_dataset_row(rows, i, &row);
	for (size_t e = 0; e < cop_row_entries(&row); e++)
		if (cop_row_index(&row, e) == j)
			return cop_row_value(&row, e);
	return 0.0F;
}

/* n rows of D features of few values, negative ones, zeros (also -0) and stored zeros among them. */
static void make(problem *p, cop_rng *rng, size_t n, bool sparse)
{
	assert_int_equal(sparse ? cop_dataset_new_sparse(&p->rows) : cop_dataset_new_dense(D, &p->rows), COP_OK);
	uint64_t values = 2 + cop_rng_below(rng, 6);
	for (size_t i = 0; i < n; i++) {
		float x[D], v[D];
		uint32_t index[D];
		size_t nnz = 0;
		for (uint32_t j = 0; j < D; j++) {
			x[j] = ((float)cop_rng_below(rng, values) - (float)(values / 2)) / 2;
			if (x[j] == 0.0F && cop_rng_below(rng, 2) == 0)
				x[j] = -0.0F;
			if (j == 0 && values > 4) /* one feature without zeros */
				x[j] += 10.0F;
			if (x[j] != 0.0F || cop_rng_below(rng, 4) == 0 || (j == D - 1 && i == 0)) {
				index[nnz] = j;
				v[nnz++] = x[j];
			}
		}
		assert_int_equal(sparse ? cop_dataset_push_sparse(p->rows, nnz, index, v, 0.0)
		                        : cop_dataset_push_dense(p->rows, x, 0.0),
		        COP_OK);
	}
	p->n = 1 + cop_rng_below(rng, MOST);
	for (size_t i = 0; i < p->n; i++) {
		p->row[i] = (uint32_t)cop_rng_below(rng, n);
		p->side[i] = (int8_t)cop_rng_sign(rng);
		p->weight[i] = (float)cop_rng_below(rng, 4);
	}
}

static double loss_of(const problem *p, const float *weight, size_t feature, float threshold)
{
	double loss = 0;
	for (size_t i = 0; i < p->n; i++) {
		bool right = value(p->rows, p->row[i], feature) >= threshold;
		if (right != (p->side[i] > 0))
			loss += weight != NULL ? (double)weight[i] : 1.0;
	}
	return loss;
}

/* In the order that ties are told to follow: the first one that is strictly best stays. */
static cop_axis_split brute_force(const problem *p, const float *weight)
{
	cop_axis_split best = { .feature = 0, .threshold = -INFINITY, .loss = loss_of(p, weight, 0, -INFINITY) };
	double left = loss_of(p, weight, 0, INFINITY);
	if (left < best.loss)
		best = (cop_axis_split){ .feature = 0, .threshold = INFINITY, .loss = left };
	for (size_t j = 0; j < D; j++) {
		for (float lo = -20.0F; lo < 20.0F; lo += 0.5F) { /* all values are halves */
			bool here = false;
			float hi = INFINITY;
			for (size_t i = 0; i < p->n; i++) {
				float x = value(p->rows, p->row[i], j);
				here = here || x == lo;
				hi = x > lo && x < hi ? x : hi;
			}
			if (!here || hi == INFINITY)
				continue;
			float threshold = (lo + hi) / 2;
			double loss = loss_of(p, weight, j, threshold);
			if (loss < best.loss)
				best = (cop_axis_split){ .feature = j, .threshold = threshold, .loss = loss };
		}
	}
	return best;
}

static void compare(bool sparse, uint64_t seed)
{
	cop_rng rng;
	cop_rng_init(&rng, seed, sparse);
	for (int round = 0; round < 400; round++) {
		problem p;
		make(&p, &rng, 1 + cop_rng_below(&rng, MOST), sparse);
		const float *weight = round % 3 == 0 ? NULL : p.weight;
		cop_axis_split found, expected = brute_force(&p, weight);
		assert_int_equal(cop_axis_split_find(p.rows, p.n, p.row, p.side, weight, &found), COP_OK);
		if (found.feature != expected.feature || found.threshold != expected.threshold ||
		        found.loss != expected.loss)
			fail_msg("seed %llu round %d: x%zu at %g loses %g, expected x%zu at %g, %g",
			        (unsigned long long)seed, round, found.feature, (double)found.threshold, found.loss,
			        expected.feature, (double)expected.threshold, expected.loss);
		cop_dataset_free(p.rows);
	}
}

static void test_axis_split_dense_as_brute_force(void **state)
{
	(void)state;
	compare(false, 11);
}

static void test_axis_split_sparse_as_brute_force(void **state)
{
	(void)state;
	compare(true, 12);
}

/* Enough rows that they are sorted digit by digit; the threshold must part what it was found to part. */
static void test_axis_split_many_values_parts_what_it_says(void **state)
{
	(void)state;
	enum { N = 3000 };
	cop_rng rng;
	cop_rng_init(&rng, 13, 0);
	cop_dataset *rows;
	assert_int_equal(cop_dataset_new_dense(3, &rows), COP_OK);
	uint32_t *row = cop_mem_alloc(N, sizeof *row);
	int8_t *side = cop_mem_alloc(N, sizeof *side);
	for (uint32_t i = 0; i < N; i++) {
		float x[3] = { (float)cop_rng_normal(&rng), 1e30F * (float)cop_rng_normal(&rng), (float)i };
		assert_int_equal(cop_dataset_push_dense(rows, x, 0.0), COP_OK);
		row[i] = i;
		side[i] = x[1] >= 3e29F ? 1 : -1;
	}
	for (int flip = 0; flip < 300; flip++)
		side[cop_rng_below(&rng, N)] *= -1;
	cop_axis_split found;
	assert_int_equal(cop_axis_split_find(rows, N, row, side, NULL, &found), COP_OK);
	double loss = 0;
	for (size_t i = 0; i < N; i++)
		loss += (value(rows, i, found.feature) >= found.threshold) != (side[i] > 0);
	assert_int_equal(found.feature, 1);
	assert_true(found.loss == loss && loss <= 300);
	cop_mem_free(row);
	cop_mem_free(side);
	cop_dataset_free(rows);
}

static void test_axis_split_neighbouring_floats_are_parted(void **state)
{
	(void)state;
	cop_dataset *rows;
	assert_int_equal(cop_dataset_new_dense(1, &rows), COP_OK);
	float x[4] = { 1.0F, nextafterf(1.0F, 2.0F), -3e38F, 3e38F };
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(cop_dataset_push_dense(rows, &x[i], 0.0), COP_OK);
	cop_axis_split found;
	assert_int_equal(cop_axis_split_find(rows, 2, (uint32_t[]){ 0, 1 }, (int8_t[]){ -1, 1 }, NULL, &found), COP_OK);
	assert_true(found.loss == 0.0 && found.threshold > x[0] && found.threshold <= x[1]);
	assert_int_equal(cop_axis_split_find(rows, 2, (uint32_t[]){ 2, 3 }, (int8_t[]){ -1, 1 }, NULL, &found), COP_OK);
	assert_true(found.loss == 0.0 && found.threshold == 0.0F);
	cop_dataset_free(rows);
}

static void test_axis_split_without_rows_loses_nothing(void **state)
{
	(void)state;
	cop_dataset *rows;
	assert_int_equal(cop_dataset_new_dense(2, &rows), COP_OK);
	cop_axis_split found;
	assert_int_equal(cop_axis_split_find(rows, 0, NULL, NULL, NULL, &found), COP_OK);
	assert_true(found.loss == 0.0 && found.threshold == -INFINITY);
	cop_dataset_free(rows);
}

static void test_axis_split_without_memory_fails(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 14, 0);
	for (int sparse = 0; sparse < 2; sparse++) {
		problem p;
		make(&p, &rng, MOST, sparse != 0);
		cop_axis_split found;
		cop_err err = COP_ENOMEM;
		unsigned long n = 1;
		for (; err != COP_OK && n < 100; n++) {
			cop_test_alloc_fail(n, 0);
			err = cop_axis_split_find(p.rows, p.n, p.row, p.side, p.weight, &found);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || err == COP_ENOMEM);
		}
		assert_int_equal(err, COP_OK);
		assert_true(n > 4);
		cop_dataset_free(p.rows);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_axis_split_dense_as_brute_force),
		cmocka_unit_test(test_axis_split_sparse_as_brute_force),
		cmocka_unit_test(test_axis_split_many_values_parts_what_it_says),
		cmocka_unit_test(test_axis_split_neighbouring_floats_are_parted),
		cmocka_unit_test(test_axis_split_without_rows_loses_nothing),
		cmocka_unit_test(test_axis_split_without_memory_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
