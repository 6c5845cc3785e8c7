/* Solutions against the system itself: A x = b for random positive definite A. */
#include "support.h"

#include <math.h>

#include "base/rng.h"
#include "linalg/cholesky.h"

#define SEED 61U
#define MOST 40

/* A = B Bᵀ + I, all of it; only what lies on and above the diagonal is given away. */
static void make(cop_rng *rng, size_t n, double *a)
{
	double b[MOST * MOST];
	for (size_t i = 0; i < n * n; i++)
		b[i] = cop_rng_normal(rng);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			a[i * n + j] = i == j ? 1.0 : 0.0;
			for (size_t k = 0; k < n; k++)
				a[i * n + j] += b[i * n + k] * b[j * n + k];
		}
}

static void test_solution_solves_the_system(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	for (size_t n = 1; n <= MOST; n++) {
		double whole[MOST * MOST], a[MOST * MOST], b[MOST], x[MOST];
		make(&rng, n, whole);
		for (size_t i = 0; i < n * n; i++)
			a[i] = i / n <= i % n ? whole[i] : (double)NAN;
		for (size_t i = 0; i < n; i++)
			b[i] = x[i] = cop_rng_normal(&rng);
		cop_cholesky_solve(n, a, 1e-12, x);
		for (size_t i = 0; i < n; i++) {
			double sum = 0.0;
			for (size_t j = 0; j < n; j++)
				sum += whole[i * n + j] * x[j];
			assert_true(fabs(sum - b[i]) < 1e-9);
		}
	}
}

static void test_pivot_below_zero_counts_as_the_least(void **state)
{
	(void)state;
	double a[4] = { -1.0, 0.0, 0.0, 4.0 }, x[2] = { 1.0, 8.0 };
	cop_cholesky_solve(2, a, 0.25, x);
	assert_true(x[0] == 4.0 && x[1] == 2.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_solution_solves_the_system),
		cmocka_unit_test(test_pivot_below_zero_counts_as_the_least),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
