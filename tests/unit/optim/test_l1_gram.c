/* l1_gram: products of all rows and of a sample against plain sums. */
#include "support.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "optim/l1_gram.h"

#define N     1500
#define D     90
#define COUNT 70

static float rows[N * D];
static float *h;
static uint32_t feature[COUNT];

static void draw(cop_columns *x, double share, uint64_t seed)
{
	cop_rng rng;
	cop_rng_init(&rng, seed, 1);
	for (size_t i = 0; i < (size_t)N * D; i++)
		rows[i] = cop_rng_unit(&rng) < share ? (float)(cop_rng_normal(&rng) + 0.5) : 0.0F;
	h = cop_mem_alloc(cop_kernel_pad(N), sizeof *h);
	assert_non_null(h);
	for (size_t i = 0; i < N; i++)
		h[i] = (float)pow(10.0, -3.0 * cop_rng_unit(&rng));
	for (size_t k = 0; k < COUNT; k++)
		feature[k] = (uint32_t)(k + k / 4 + 1);
	assert_int_equal(cop_columns_from_dense(x, N, NULL, D, rows), COP_OK);
}

/* Centred products in double, and the mean of b. */
static double product(size_t a, size_t b, double *mean)
{
	double total = 0.0;
	double sum[3] = { 0 };
	for (size_t i = 0; i < N; i++) {
		double u = (double)h[i];
		double x = (double)rows[i * D + a];
		double y = (double)rows[i * D + b];
		total += u;
		sum[0] += u * x;
		sum[1] += u * y;
		sum[2] += u * x * y;
	}
	*mean = sum[1] / total;
	return sum[2] - sum[0] * sum[1] / total;
}

/* Largest distance from the products of all rows, over the root of the diagonals'. */
static double distance(const cop_l1_gram *gram)
{
	double worst = 0.0;
	double size[COUNT];
	double mean = 0.0;
	for (size_t k = 0; k < COUNT; k++) {
		size[k] = sqrt(product(feature[k], feature[k], &mean));
		assert_true(fabs((double)gram->mean[k] - mean) < 1e-4);
		assert_true((double)gram->matrix[k * gram->stride + k] >= size[k] * size[k] * 0.9999);
	}
	for (size_t k = 0; k < COUNT; k++)
		for (size_t l = 0; l < COUNT; l++) {
			double got = (double)gram->matrix[k * gram->stride + l];
			assert_true(gram->matrix[k * gram->stride + l] == gram->matrix[l * gram->stride + k]);
			worst = fmax(worst, fabs(got - product(feature[k], feature[l], &mean)) / (size[k] * size[l]));
		}
	return worst;
}

static void test_gram_of_all_rows_is_exact(void **state)
{
	(void)state;
	for (unsigned sparse = 0; sparse < 2; sparse++) {
		cop_columns x;
		cop_l1_gram gram = { 0 };
		draw(&x, sparse != 0 ? 0.2 : 1.0, sparse);
		assert_int_equal(cop_l1_gram_build(&gram, &x, h, N, COUNT, feature), COP_OK);
		assert_true(gram.exact);
		assert_true(distance(&gram) < 1e-4);
		cop_l1_gram_fini(&gram);
		cop_columns_fini(&x);
		cop_mem_free(h);
	}
}

static void test_gram_of_sample_is_near(void **state)
{
	(void)state;
	for (unsigned sparse = 0; sparse < 2; sparse++) {
		cop_columns x;
		cop_l1_gram gram = { 0 };
		draw(&x, sparse != 0 ? 0.2 : 1.0, sparse);
		assert_int_equal(cop_l1_gram_build(&gram, &x, h, 1000, COUNT, feature), COP_OK);
		assert_false(gram.exact);
		assert_in_range(gram.rows, 200, 1000);
		assert_true(distance(&gram) < 0.5);
		cop_l1_gram_fini(&gram);
		cop_columns_fini(&x);
		cop_mem_free(h);
	}
}

/* Far from 0 the products without their centring are many times as large. */
static void test_gram_of_sample_far_from_zero_has_the_diagonal_of_all_rows(void **state)
{
	(void)state;
	cop_columns x;
	cop_l1_gram gram = { 0 };
	double mean;
	draw(&x, 1.0, 4);
	cop_columns_fini(&x);
	for (size_t i = 0; i < (size_t)N * D; i++)
		rows[i] += 10.0F;
	assert_int_equal(cop_columns_from_dense(&x, N, NULL, D, rows), COP_OK);
	assert_int_equal(cop_l1_gram_build(&gram, &x, h, 1000, COUNT, feature), COP_OK);
	for (size_t k = 0; k < COUNT; k++) {
		double all = product(feature[k], feature[k], &mean);
		double own = (double)gram.matrix[k * gram.stride + k];
		assert_true(own >= all * 0.999 && own < all * 1.5);
		assert_true(fabs((double)gram.mean[k] - mean) < 1e-4);
	}
	cop_l1_gram_fini(&gram);
	cop_columns_fini(&x);
	cop_mem_free(h);
}

/* The product of rows 1, 4, 7 ... alone, each three times. */
static double thirds(size_t a, size_t b)
{
	double sum[3] = { 0 };
	for (size_t i = 1; i < N; i += 3) {
		sum[0] += (double)rows[i * D + a];
		sum[1] += (double)rows[i * D + b];
		sum[2] += (double)rows[i * D + a] * (double)rows[i * D + b];
	}
	return 3.0 * (sum[2] - sum[0] * sum[1] / (N / 3.0));
}

static void test_gram_of_a_third_of_equal_rows_takes_every_third(void **state)
{
	(void)state;
	for (unsigned sparse = 0; sparse < 2; sparse++) {
		cop_columns x;
		cop_l1_gram gram = { 0 };
		draw(&x, sparse != 0 ? 0.2 : 1.0, 7);
		for (size_t i = 0; i < N; i++)
			h[i] = 1.0F;
		assert_int_equal(cop_l1_gram_build(&gram, &x, h, N / 3, COUNT, feature), COP_OK);
		assert_int_equal(gram.rows, N / 3);
		for (size_t k = 0; k < COUNT; k++)
			for (size_t l = 0; l < k; l++) {
				double want = thirds(feature[k], feature[l]);
				assert_true(fabs((double)gram.matrix[k * gram.stride + l] - want) < 0.01);
			}
		cop_l1_gram_fini(&gram);
		cop_columns_fini(&x);
		cop_mem_free(h);
	}
}

static void test_gram_rows_are_eight_for_a_feature_and_all_where_few_are_left(void **state)
{
	(void)state;
	assert_int_equal(cop_l1_gram_rows(100000, 200), 1600);
	assert_int_equal(cop_l1_gram_rows(100000, 128), 1024);
	assert_int_equal(cop_l1_gram_rows(100000, 129), 1032);
	assert_int_equal(cop_l1_gram_rows(1281, 1), 1024);
	assert_int_equal(cop_l1_gram_rows(1280, 1), 1280); /* less than a quarter more than the sample */
	assert_int_equal(cop_l1_gram_rows(900, 1), 900);
}

static void test_gram_costs_are_those_that_were_measured(void **state)
{
	(void)state;
	cop_columns x;
	double entries = 0.0;
	assert_true(fabs(cop_l1_gram_cost(1000, 36) - 144000.0) < 1e-6);
	draw(&x, 1.0, 5);
	assert_true(fabs(cop_l1_gram_columns_cost(&x, COUNT, feature) - 0.2 * COUNT * N) < 1e-6);
	cop_columns_fini(&x);
	cop_mem_free(h);
	draw(&x, 0.2, 6);
	assert_null(x.dense);
	for (size_t k = 0; k < COUNT; k++)
		for (size_t i = 0; i < N; i++)
			entries += rows[i * D + feature[k]] != 0.0F;
	assert_true(fabs(cop_l1_gram_columns_cost(&x, COUNT, feature) - 1.6 * entries) < 1e-6);
	cop_columns_fini(&x);
	cop_mem_free(h);
}

static void test_gram_allocation_failure_is_told(void **state)
{
	(void)state;
	cop_columns x;
	draw(&x, 1.0, 3);
	cop_l1_gram gram = { 0 };
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		cop_test_alloc_fail(n, 0);
		err = cop_l1_gram_build(&gram, &x, h, 100, COUNT, feature);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		assert_true(n < 30);
		cop_l1_gram_fini(&gram);
	}
	cop_test_alloc_fail(0, 0);
	cop_columns_fini(&x);
	cop_mem_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gram_of_all_rows_is_exact),
		cmocka_unit_test(test_gram_of_sample_is_near),
		cmocka_unit_test(test_gram_of_sample_far_from_zero_has_the_diagonal_of_all_rows),
		cmocka_unit_test(test_gram_of_a_third_of_equal_rows_takes_every_third),
		cmocka_unit_test(test_gram_rows_are_eight_for_a_feature_and_all_where_few_are_left),
		cmocka_unit_test(test_gram_costs_are_those_that_were_measured),
		cmocka_unit_test(test_gram_allocation_failure_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
