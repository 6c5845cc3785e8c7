/* Conjugate gradients against elimination. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "linalg/conjugate.h"

#define SEED 16U

enum { N = 50, OUTPUTS = 3, ALL = N * OUTPUTS };

/* One dense matrix for each output; counts its products. */
typedef struct matrices {
	double a[OUTPUTS][N][N];
	size_t outputs, calls;
} matrices;

static matrices m;
static double diagonal[ALL], b[ALL], x[ALL], want[ALL];

static void apply(void *context, const double *in, double *out)
{
	matrices *all = context;
	all->calls++;
	for (size_t i = 0; i < N; i++)
		for (size_t o = 0; o < all->outputs; o++) {
			double sum = 0.0;
			for (size_t j = 0; j < N; j++)
				sum += all->a[o][i][j] * in[j * all->outputs + o];
			out[i * all->outputs + o] = sum;
		}
}

/* want, by elimination without exchanges, which positive definite matrices do without. */
static void eliminate(size_t outputs)
{
	static double a[N][N + 1];
	for (size_t o = 0; o < outputs; o++) {
		for (size_t i = 0; i < N; i++) {
			memcpy(a[i], m.a[o][i], sizeof m.a[o][i]);
			a[i][N] = b[i * outputs + o];
		}
		for (size_t p = 0; p < N; p++)
			for (size_t i = 0; i < N; i++) {
				double factor = i == p ? 0.0 : a[i][p] / a[p][p];
				for (size_t j = p; j <= N; j++)
					a[i][j] -= factor * a[p][j];
			}
		for (size_t i = 0; i < N; i++)
			want[i * outputs + o] = a[i][N] / a[i][i];
	}
}

/* A diagonal of very different weights and a graph's Laplacian, as the label step has them. */
static void make(cop_rng *rng, size_t outputs)
{
	memset(&m, 0, sizeof m);
	m.outputs = outputs;
	for (size_t o = 0; o < outputs; o++) {
		for (size_t i = 0; i < N; i++)
			m.a[o][i][i] = cop_rng_below(rng, 4) == 0 ? 100.0 * cop_rng_unit(rng) + 0.1 : 1e-3;
		for (size_t e = 0; e < (size_t)4 * N; e++) {
			size_t i = (size_t)cop_rng_below(rng, N), j = (size_t)cop_rng_below(rng, N);
			double w = cop_rng_unit(rng);
			m.a[o][i][i] += w;
			m.a[o][j][j] += w;
			m.a[o][i][j] -= w;
			m.a[o][j][i] -= w;
		}
	}
	for (size_t i = 0; i < N; i++)
		for (size_t o = 0; o < outputs; o++) {
			diagonal[i * outputs + o] = m.a[o][i][i];
			b[i * outputs + o] = cop_rng_normal(rng);
		}
	eliminate(outputs);
}

static cop_conjugate_system make_system(double tolerance, size_t most)
{
	return (cop_conjugate_system){
		.apply = apply, .context = &m, .diagonal = diagonal, .right = b, .tolerance = tolerance, .most = most
	};
}

static void assert_solved(size_t all, double error)
{
	for (size_t i = 0; i < all; i++)
		if (!(fabs(x[i] - want[i]) <= error * (1.0 + fabs(want[i]))))
			fail_msg("x[%zu] = %.17g, expected %.17g", i, x[i], want[i]);
}

static void test_solve_random_systems_equals_elimination(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (size_t outputs = 1; outputs <= OUTPUTS; outputs++) {
		cop_conjugate *c;
		assert_int_equal(cop_conjugate_new(N, outputs, &c), COP_OK);
		for (int round = 0; round < 20; round++) {
			cop_conjugate_report report;
			cop_conjugate_system s = make_system(1e-11, 1000);
			make(&rng, outputs);
			if (round % 2 == 1)
				s.diagonal = NULL;
			for (size_t i = 0; i < ALL; i++)
				x[i] = round % 4 < 2 ? 0.0 : 1e3 * cop_rng_normal(&rng);
			assert_int_equal(cop_conjugate_solve(c, &s, x, &report), COP_OK);
			assert_true(report.residual <= 1e-11 && report.steps < 1000);
			assert_solved(N * outputs, 1e-7);
		}
		cop_conjugate_free(c);
	}
}

static void test_solve_from_the_solution_takes_no_step(void **state)
{
	(void)state;
	cop_rng rng;
	cop_conjugate *c;
	cop_conjugate_report cold, warm;
	cop_conjugate_system s = make_system(1e-8, 1000);
	cop_rng_init(&rng, SEED, 1);
	make(&rng, 2);
	assert_int_equal(cop_conjugate_new(N, 2, &c), COP_OK);
	memset(x, 0, sizeof x);
	assert_int_equal(cop_conjugate_solve(c, &s, x, &cold), COP_OK);
	m.calls = 0;
	assert_int_equal(cop_conjugate_solve(c, &s, x, &warm), COP_OK);
	assert_int_equal(warm.steps, 0);
	assert_int_equal(m.calls, 1);
	for (size_t i = 0; i < (size_t)2 * N; i++) {
		b[i] *= 1.0 + 1e-4 * cop_rng_normal(&rng);
	}
	assert_int_equal(cop_conjugate_solve(c, &s, x, &warm), COP_OK);
	assert_true(warm.steps > 0 && warm.steps < cold.steps);
	cop_conjugate_free(c);
}

static void test_solve_with_few_steps_reports_what_is_left(void **state)
{
	(void)state;
	cop_rng rng;
	cop_conjugate *c;
	cop_conjugate_report report;
	double first[ALL], before = (double)INFINITY;
	cop_rng_init(&rng, SEED, 2);
	make(&rng, 1);
	assert_int_equal(cop_conjugate_new(N, 1, &c), COP_OK);
	for (size_t most = 0; most <= 40; most += 10) {
		cop_conjugate_system s = make_system(1e-14, most);
		memset(x, 0, sizeof x);
		assert_int_equal(cop_conjugate_solve(c, &s, x, &report), COP_OK);
		assert_true(report.steps <= most && report.residual <= before);
		double square = 0.0, right = 0.0, ax[N];
		apply(&m, x, ax);
		for (size_t i = 0; i < N; i++) {
			square += (b[i] - ax[i]) * (b[i] - ax[i]);
			right += b[i] * b[i];
		}
		assert_true(fabs(report.residual - sqrt(square / right)) < 1e-14);
		before = report.residual;
		memcpy(first, x, sizeof x);
		memset(x, 0, sizeof x);
		assert_int_equal(cop_conjugate_solve(c, &s, x, NULL), COP_OK);
		assert_memory_equal(first, x, sizeof x); /* the same bits again */
	}
	assert_true(before < 1e-3);
	cop_conjugate_free(c);
}

/* An output's answer does not hang on its neighbours, even on one that is 0 or done at once. */
static void test_solve_with_a_right_side_of_zero_gives_zero(void **state)
{
	(void)state;
	cop_rng rng;
	cop_conjugate *c;
	cop_conjugate_report report;
	cop_conjugate_system s = make_system(1e-11, 1000);
	cop_rng_init(&rng, SEED, 3);
	make(&rng, 2);
	for (size_t i = 0; i < N; i++) {
		b[2 * i] = 0.0;
		x[2 * i] = x[2 * i + 1] = 5.0;
	}
	eliminate(2);
	assert_int_equal(cop_conjugate_new(N, 2, &c), COP_OK);
	assert_int_equal(cop_conjugate_solve(c, &s, x, &report), COP_OK);
	for (size_t i = 0; i < N; i++)
		assert_true(x[2 * i] == 0.0);
	assert_solved((size_t)2 * N, 1e-7);
	cop_conjugate_free(c);
}

static void test_solve_of_what_is_not_positive_says_so(void **state)
{
	(void)state;
	cop_rng rng;
	cop_conjugate *c;
	cop_conjugate_system s = make_system(1e-11, 1000);
	cop_rng_init(&rng, SEED, 4);
	make(&rng, 1);
	s.diagonal = NULL;
	assert_int_equal(cop_conjugate_new(N, 1, &c), COP_OK);
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			m.a[0][i][j] = -m.a[0][i][j];
	memset(x, 0, sizeof x);
	assert_int_equal(cop_conjugate_solve(c, &s, x, NULL), COP_EDIVERGED);
	assert_true(x[0] == 0.0);
	make(&rng, 1);
	b[7] = (double)NAN;
	assert_int_equal(cop_conjugate_solve(c, &s, x, NULL), COP_EDIVERGED);
	b[7] = (double)INFINITY;
	assert_int_equal(cop_conjugate_solve(c, &s, x, NULL), COP_EDIVERGED);
	b[7] = 1.0;
	m.a[0][3][4] = m.a[0][4][3] = (double)NAN;
	assert_int_equal(cop_conjugate_solve(c, &s, x, NULL), COP_EDIVERGED);
	for (size_t i = 0; i < N; i++)
		assert_true(isfinite(x[i]));
	cop_conjugate_free(c);
}

static void test_new_without_memory_says_so(void **state)
{
	(void)state;
	cop_conjugate *c;
	for (unsigned long n = 1; n <= 6; n++) {
		cop_test_alloc_fail(n, 0);
		assert_int_equal(cop_conjugate_new(N, 2, &c), COP_ENOMEM);
		assert_null(c);
	}
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_conjugate_new(SIZE_MAX / 2, 4, &c), COP_ENOMEM);
	assert_int_equal(cop_conjugate_new(N, 2, &c), COP_OK);
	cop_conjugate_free(c);
	cop_conjugate_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_solve_random_systems_equals_elimination),
		cmocka_unit_test(test_solve_from_the_solution_takes_no_step),
		cmocka_unit_test(test_solve_with_few_steps_reports_what_is_left),
		cmocka_unit_test(test_solve_with_a_right_side_of_zero_gives_zero),
		cmocka_unit_test(test_solve_of_what_is_not_positive_says_so),
		cmocka_unit_test(test_new_without_memory_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
