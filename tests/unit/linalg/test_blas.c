/* The wrappers against three loops in double: shapes, transpositions, scalars. */
#include "support.h"

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "linalg/blas.h"

#define SEED 7U
#define MAX  40

static float a[MAX * MAX], b[MAX * MAX], c[MAX * MAX], before[MAX * MAX];

static void fill(cop_rng *rng, float *v)
{
	for (size_t i = 0; i < (size_t)MAX * MAX; i++)
		v[i] = (float)cop_rng_normal(rng);
}

static size_t dimension(cop_rng *rng) { return 1 + (size_t)cop_rng_below(rng, MAX); }

static void near(double got, double want)
{
	if (!(fabs(got - want) < 1e-4))
		fail_msg("%.9g, expected %.9g", got, want);
}

static void test_gemm_every_transposition_equals_three_loops(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (int round = 0; round < 80; round++) {
		bool ta = round & 1, tb = round & 2;
		size_t m = dimension(&rng), n = dimension(&rng), k = dimension(&rng);
		double alpha = cop_rng_normal(&rng), beta = round % 5 == 0 ? 0.0 : cop_rng_normal(&rng);
		alpha = (double)(float)alpha;
		beta = (double)(float)beta;
		fill(&rng, a);
		fill(&rng, b);
		fill(&rng, c);
		for (size_t i = 0; i < m * n; i++)
			before[i] = c[i] = beta == 0.0 ? NAN : c[i]; /* beta 0: what was there is not read */
		cop_blas_gemm(ta, tb, m, n, k, (float)alpha, a, b, (float)beta, c);
		for (size_t i = 0; i < m; i++)
			for (size_t j = 0; j < n; j++) {
				double sum = 0.0;
				for (size_t l = 0; l < k; l++)
					sum += (double)a[ta ? l * m + i : i * k + l] *
					       (double)b[tb ? j * k + l : l * n + j];
				double old = beta == 0.0 ? 0.0 : beta * (double)before[i * n + j];
				near((double)c[i * n + j], alpha * sum + old);
			}
	}
}

static void test_gemv_any_shape_equals_two_loops(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	for (int round = 0; round < 50; round++) {
		size_t m = dimension(&rng), n = dimension(&rng);
		fill(&rng, a);
		fill(&rng, b);
		fill(&rng, c);
		for (size_t i = 0; i < m; i++)
			before[i] = c[i];
		cop_blas_gemv(m, n, 0.5f, a, b, 2.0f, c);
		for (size_t i = 0; i < m; i++) {
			double sum = 0.0;
			for (size_t j = 0; j < n; j++)
				sum += (double)a[i * n + j] * (double)b[j];
			near((double)c[i], 0.5 * sum + 2.0 * (double)before[i]);
		}
	}
}

static void test_ger_any_shape_equals_outer_product(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 2);
	for (int round = 0; round < 50; round++) {
		size_t m = dimension(&rng), n = dimension(&rng);
		fill(&rng, a);
		fill(&rng, b);
		fill(&rng, c);
		for (size_t i = 0; i < m * n; i++)
			before[i] = c[i];
		cop_blas_ger(m, n, -0.5f, a, b, c);
		for (size_t i = 0; i < m; i++)
			for (size_t j = 0; j < n; j++)
				near((double)c[i * n + j],
				        (double)before[i * n + j] - 0.5 * (double)a[i] * (double)b[j]);
	}
}

int main(void)
{
	cop_blas_threads(1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gemm_every_transposition_equals_three_loops),
		cmocka_unit_test(test_gemv_any_shape_equals_two_loops),
		cmocka_unit_test(test_ger_any_shape_equals_outer_product),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
