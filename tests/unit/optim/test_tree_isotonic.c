/* Isotonic regression on a tree against a quadratic program's solver that knows nothing of trees (Hildreth: one
 * constraint's multiplier after another), and its gradient against central differences. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/rng.h"
#include "optim/tree_isotonic.h"

#define SEED      20210U
#define CASES     3000
#define MOST_N    5
#define MOST_T    15
#define VARIABLES (MOST_N * MOST_T + MOST_T)
#define ROWS      (4 * VARIABLES)

typedef struct problem {
	unsigned depth;
	size_t n, t; /* points, nodes */
	double lambda;
	float q[MOST_T * MOST_N];
} problem;

/* Scores as of random splits, so that those of a path are bound together, or all of their own. */
static void draw(problem *p, cop_rng *rng, unsigned most_depth)
{
	p->depth = (unsigned)cop_rng_below(rng, most_depth + 1);
	p->t = ((size_t)2 << p->depth) - 1;
	p->n = 1 + cop_rng_below(rng, MOST_N);
	p->lambda = pow(10.0, -2.0 + 3.0 * cop_rng_unit(rng));
	const bool paths = cop_rng_below(rng, 2) == 0;
	for (size_t i = 0; i < p->n; i++) {
		for (size_t t = 0; t < p->t; t++)
			p->q[t * p->n + i] = (float)(paths ? 1.0 : 2.0 * cop_rng_normal(rng));
		for (size_t t = 0; paths && t < p->t / 2; t++) {
			const float s = (float)cop_rng_normal(rng), q = p->q[t * p->n + i];
			p->q[(2 * t + 1) * p->n + i] = fminf(q, -s);
			p->q[(2 * t + 2) * p->n + i] = fminf(q, s);
		}
	}
}

/* A row of the constraints: x_plus - x_minus <= bound (minus < 0: none of the second; plus < 0: none of the first). */
typedef struct row {
	int plus, minus;
	double bound, multiplier;
} row;

static size_t constraints(const problem *p, row *rows)
{
	const int a = (int)(p->n * p->t);
	size_t m = 0;
	for (int t = 0; t < (int)p->t; t++) {
		for (int i = 0; i < (int)p->n; i++) {
			const int z = t * (int)p->n + i;
			rows[m++] = (row){ z, a + t, 0.0, 0.0 };
			rows[m++] = (row){ z, -1, 1.0, 0.0 };
			rows[m++] = (row){ -1, z, 0.0, 0.0 };
		}
		rows[m++] = (row){ a + t, -1, 1.0, 0.0 };
		rows[m++] = (row){ -1, a + t, 0.0, 0.0 };
		if (t > 0)
			rows[m++] = (row){ a + t, a + (t - 1) / 2, 0.0, 0.0 };
	}
	return m;
}

/* x: z (t x n), then a. */
static void solve_generic(const problem *p, double *x)
{
	static row rows[ROWS];
	const size_t zs = p->n * p->t, m = constraints(p, rows);
	double inverse[VARIABLES], moved = 1.0;
	for (size_t j = 0; j < zs + p->t; j++) {
		inverse[j] = j < zs ? 1.0 : 1.0 / p->lambda;
		x[j] = j < zs ? (double)p->q[j] + 0.5 : 0.0;
	}
	for (size_t sweep = 0; sweep < 200000 && moved > 1e-11; sweep++) {
		moved = 0.0;
		for (row *r = rows; r < rows + m; r++) {
			const double over =
			        (r->plus < 0 ? 0.0 : x[r->plus]) - (r->minus < 0 ? 0.0 : x[r->minus]) - r->bound;
			const double length =
			        (r->plus < 0 ? 0.0 : inverse[r->plus]) + (r->minus < 0 ? 0.0 : inverse[r->minus]);
			const double step = fmax(over / length, -r->multiplier);
			r->multiplier += step;
			if (r->plus >= 0)
				x[r->plus] -= step * inverse[r->plus];
			if (r->minus >= 0)
				x[r->minus] += step * inverse[r->minus];
			moved = fmax(moved, fabs(step));
		}
	}
	assert_true(moved <= 1e-11);
}

static void test_solution_is_that_of_the_quadratic_program(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	double worst = 0.0;
	size_t inside = 0, at_one = 0, pooled = 0;
	for (size_t c = 0; c < CASES; c++) {
		problem p;
		cop_tree_isotonic *iso;
		double a[MOST_T], x[VARIABLES];
		draw(&p, &rng, 3);
		assert_int_equal(cop_tree_isotonic_new(p.depth, &iso), COP_OK);
		assert_int_equal(cop_tree_isotonic_nodes(iso), p.t);
		cop_tree_isotonic_solve(iso, p.n, p.q, p.lambda, NULL, a);
		solve_generic(&p, x);
		for (size_t t = 0; t < p.t; t++) {
			worst = fmax(worst, fabs(a[t] - x[p.n * p.t + t]));
			inside += a[t] > 0.0 && a[t] < 1.0;
			at_one += a[t] == 1.0;
			pooled += t > 0 && a[t] > 0.0 && a[t] < 1.0 && a[t] == a[(t - 1) / 2];
		}
		for (size_t j = 0; j < p.n * p.t; j++)
			worst = fmax(worst, fabs(fmin(fmax((double)p.q[j] + 0.5, 0.0), a[j / p.n]) - x[j]));
		cop_tree_isotonic_free(iso);
	}
	printf("%d cases: worst difference %.1e; %zu values inside, %zu at one, %zu pooled\n", CASES, worst, inside,
	        at_one, pooled);
	assert_true(worst < 1e-6);
	assert_true(inside > CASES && at_one > CASES / 4 && pooled > CASES / 4);
}

static double value(cop_tree_isotonic *iso, const problem *p, const double *ga)
{
	double a[MOST_T], sum = 0.0;
	cop_tree_isotonic_solve(iso, p->n, p->q, p->lambda, NULL, a);
	for (size_t t = 0; t < p->t; t++)
		sum += ga[t] * a[t];
	return sum;
}

/* Scores of their own, where the solution has a gradient but at points of no measure. */
static void test_gradient_is_that_of_central_differences(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 2);
	const float e = 1.0f / 4096;
	size_t compared = 0, differ = 0;
	for (size_t c = 0; c < 400; c++) {
		problem p;
		cop_tree_isotonic *iso;
		double ga[MOST_T], a[MOST_T];
		float gq[MOST_T * MOST_N] = { 0.0f };
		draw(&p, &rng, 3);
		for (size_t j = 0; j < p.t * p.n; j++) /* multiples of e: differences are exact */
			p.q[j] = roundf((float)cop_rng_normal(&rng) / e) * e;
		for (size_t t = 0; t < p.t; t++)
			ga[t] = cop_rng_normal(&rng);
		assert_int_equal(cop_tree_isotonic_new(p.depth, &iso), COP_OK);
		cop_tree_isotonic_solve(iso, p.n, p.q, p.lambda, NULL, a);
		cop_tree_isotonic_gradient(iso, p.q, ga, gq);
		for (size_t j = 0; j < p.t * p.n; j++) {
			const float q = p.q[j];
			p.q[j] = q + e;
			double up = value(iso, &p, ga);
			p.q[j] = q - e;
			double down = value(iso, &p, ga);
			p.q[j] = q;
			compared++;
			differ += fabs((up - down) / (2.0 * (double)e) - (double)gq[j]) > 1e-4;
		}
		cop_tree_isotonic_free(iso);
	}
	printf("%zu of %zu differ, which lie at a kink\n", differ, compared);
	assert_true(differ * 100 < compared && compared > 5000);
}

static void test_threads_do_not_matter(void **state)
{
	(void)state;
	enum { DEPTH = 6, N = 500 };
	const size_t nodes = ((size_t)2 << DEPTH) - 1;
	float *q = cop_mem_alloc(nodes * N, sizeof *q);
	double alone[127], together[127];
	cop_rng rng;
	cop_pool *pool;
	cop_tree_isotonic *iso;
	cop_rng_init(&rng, SEED, 3);
	for (size_t j = 0; j < nodes * N; j++)
		q[j] = (float)cop_rng_normal(&rng) - 0.5f;
	assert_int_equal(cop_tree_isotonic_new(DEPTH, &iso), COP_OK);
	assert_int_equal(cop_pool_new(3, &pool), COP_OK);
	cop_tree_isotonic_solve(iso, N, q, 20.0, NULL, alone);
	cop_tree_isotonic_solve(iso, N, q, 20.0, pool, together);
	assert_memory_equal(alone, together, sizeof alone);
	for (size_t t = 1; t < nodes; t++)
		assert_true(alone[t] <= alone[(t - 1) / 2] && alone[t] >= 0.0);
	cop_pool_free(pool);
	cop_tree_isotonic_free(iso);
	cop_mem_free(q);
}

static void test_new_refuses_a_depth_and_reports_memory(void **state)
{
	(void)state;
	cop_tree_isotonic *iso;
	assert_int_equal(cop_tree_isotonic_new(COP_TREE_ISOTONIC_MAX_DEPTH + 1, &iso), COP_EINVAL);
	assert_null(iso);
	cop_test_alloc_fail(1, 1);
	assert_int_equal(cop_tree_isotonic_new(3, &iso), COP_ENOMEM);
	cop_test_alloc_fail(0, 0);
	assert_null(iso);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_solution_is_that_of_the_quadratic_program),
		cmocka_unit_test(test_gradient_is_that_of_central_differences),
		cmocka_unit_test(test_threads_do_not_matter),
		cmocka_unit_test(test_new_refuses_a_depth_and_reports_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
