/* Eigenvectors: A v = value v, of length 1, at right angles, ascending. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "linalg/eigen.h"

#define SEED 15U
#define MOST 130

static double a[MOST * MOST], v[MOST * MOST], value[MOST];

static double dot(size_t n, const double *x, const double *y)
{
	double sum = 0.0;
	for (size_t i = 0; i < n; i++)
		sum += x[i] * y[i];
	return sum;
}

static void expect_eigen(size_t n)
{
	for (size_t j = 0; j < n; j++) {
		assert_true(j == 0 || value[j - 1] <= value[j]);
		for (size_t i = 0; i < n; i++)
			assert_true(fabs(dot(n, a + i * n, v + j * n) - value[j] * v[j * n + i]) < 1e-10 * (double)n);
		for (size_t i = 0; i <= j; i++)
			assert_true(fabs(dot(n, v + i * n, v + j * n) - (i == j ? 1.0 : 0.0)) < 1e-11);
	}
}

static void test_eigen_of_random_matrices_gives_vectors_by_row(void **state)
{
	(void)state;
	static const size_t sizes[] = { 1, 2, 3, 10, 26, 64, MOST };
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
		size_t n = sizes[s];
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j <= i; j++)
				a[i * n + j] = a[j * n + i] = cop_rng_normal(&rng);
		memcpy(v, a, sizeof a);
		for (size_t i = 0; i < n; i++)
			for (size_t j = i + 1; j < n; j++)
				v[i * n + j] = (double)NAN; /* not read */
		assert_int_equal(cop_eigen_symmetric(n, v, value), COP_OK);
		expect_eigen(n);
	}
}

/* The Laplacian of a ring: 2 - 2 cos(2 pi k / n), nearly all twice. */
static void test_eigen_of_a_ring_equals_cosines(void **state)
{
	(void)state;
	const size_t n = 40;
	memset(a, 0, sizeof a);
	for (size_t i = 0; i < n; i++) {
		a[i * n + i] = 2.0;
		a[i * n + (i + 1) % n] = a[((i + 1) % n) * n + i] = -1.0;
	}
	memcpy(v, a, sizeof a);
	assert_int_equal(cop_eigen_symmetric(n, v, value), COP_OK);
	expect_eigen(n);
	for (size_t j = 0; j < n; j++)
		assert_true(fabs(value[j] - (2.0 - 2.0 * cos(2.0 * acos(-1.0) * (double)((j + 1) / 2) / (double)n))) <
		            1e-12);
}

static void test_eigen_of_impossible_matrices_is_refused(void **state)
{
	(void)state;
	assert_int_equal(cop_eigen_symmetric(COP_EIGEN_MOST + 1, NULL, NULL), COP_EINVAL);
	assert_int_equal(cop_eigen_symmetric(0, NULL, NULL), COP_OK);
	double bad[4] = { 1.0, 0.0, (double)INFINITY, 1.0 };
	assert_int_equal(cop_eigen_symmetric(2, bad, value), COP_ENONFINITE);
	bad[2] = (double)NAN;
	assert_int_equal(cop_eigen_symmetric(2, bad, value), COP_ENONFINITE);
	bad[2] = 0.5;
	for (unsigned long n = 1; n <= 2; n++) {
		cop_test_alloc_fail(n, 0);
		assert_int_equal(cop_eigen_symmetric(2, bad, value), COP_ENOMEM);
	}
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_eigen_symmetric(2, bad, value), COP_OK);
	assert_true(fabs(value[0] - 0.5) < 1e-15 && fabs(value[1] - 1.5) < 1e-15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eigen_of_random_matrices_gives_vectors_by_row),
		cmocka_unit_test(test_eigen_of_a_ring_equals_cosines),
		cmocka_unit_test(test_eigen_of_impossible_matrices_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
