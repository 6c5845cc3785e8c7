/* Sums over the tree are those over all pairs: exactly for theta 0, else within an error that shrinks with theta. */
#include "support.h"

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "graph/quadtree.h"

#define SEED 5U
#define N    700

/* Two clouds, a line, and many points at one place. */
static void draw(double *z)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	printf("seed %u\n", SEED);
	for (size_t i = 0; i < N; i++) {
		double x = cop_rng_normal(&rng), y = cop_rng_normal(&rng);
		z[2 * i] = i % 4 == 0 ? 20.0 + x : i % 4 == 1 ? x : i % 4 == 2 ? 10.0 * x : 3.0;
		z[2 * i + 1] = i % 4 < 2 ? y : i % 4 == 2 ? 5.0 : 4.0;
	}
}

static cop_quadtree_sums naive(const double *z, cop_quadtree_kernel kernel, size_t i)
{
	cop_quadtree_sums sums = { 0 };
	for (size_t m = 0; m < N; m++) {
		double x = z[2 * i] - z[2 * m], y = z[2 * i + 1] - z[2 * m + 1], d2 = x * x + y * y;
		double k = kernel == COP_QUADTREE_STUDENT ? 1.0 / (1.0 + d2) : exp(-d2);
		double slope = kernel == COP_QUADTREE_STUDENT ? k * k : k;
		if (m == i)
			continue;
		sums.value += k;
		sums.push[0] += slope * x;
		sums.push[1] += slope * y;
	}
	return sums;
}

/* Of the total and, relative to all, of the pushes. */
static void errors(const double *z, cop_quadtree_kernel kernel, double theta, double *value, double *push)
{
	cop_quadtree *tree;
	double whole = 0.0, away = 0.0, size = 0.0, apart = 0.0;
	assert_int_equal(cop_quadtree_new(N, &tree), COP_OK);
	cop_quadtree_build(tree, z);
	for (size_t i = 0; i < N; i++) {
		cop_quadtree_sums a = cop_quadtree_sum(tree, kernel, theta, i), b = naive(z, kernel, i);
		away += a.value - b.value;
		whole += b.value;
		for (int c = 0; c < 2; c++) {
			apart += (a.push[c] - b.push[c]) * (a.push[c] - b.push[c]);
			size += b.push[c] * b.push[c];
		}
	}
	*value = fabs(away) / whole;
	*push = sqrt(apart / size);
	cop_quadtree_free(tree);
}

static void test_theta_zero_is_every_pair(void **state)
{
	double z[2 * N], value, push;
	(void)state;
	draw(z);
	for (int kernel = 0; kernel < 2; kernel++) {
		errors(z, (cop_quadtree_kernel)kernel, 0.0, &value, &push);
		assert_true(value < 1e-12 && push < 1e-12);
	}
}

static void test_error_shrinks_with_theta(void **state)
{
	const double theta[] = { 1.0, 0.5, 0.25 }, value_most[] = { 2e-2, 5e-3, 1e-3 },
	             push_most[] = { 6e-2, 2e-2, 5e-3 };
	double z[2 * N];
	(void)state;
	draw(z);
	for (int kernel = 0; kernel < 2; kernel++) {
		double before = HUGE_VAL;
		for (int t = 0; t < 3; t++) {
			double value, push;
			errors(z, (cop_quadtree_kernel)kernel, theta[t], &value, &push);
			printf("kernel %d, theta %.2f: value %.1e, push %.1e\n", kernel, theta[t], value, push);
			assert_true(value < value_most[t] && push < push_most[t] && push < before);
			before = push;
		}
	}
}

/* What lies together, and so what is summed as one, does not hang on where the origin is. */
static void test_moved_points_have_the_same_sums(void **state)
{
	double z[2 * N], moved[2 * N];
	cop_quadtree *tree, *other;
	(void)state;
	draw(z);
	for (size_t i = 0; i < 2 * N; i++) {
		z[i] = ldexp(rint(ldexp(z[i], 20)), -20); /* so that nothing is rounded */
		moved[i] = z[i] + (i % 2 == 0 ? 256.0 : -1024.0);
	}
	assert_int_equal(cop_quadtree_new(N, &tree), COP_OK);
	assert_int_equal(cop_quadtree_new(N, &other), COP_OK);
	cop_quadtree_build(tree, z);
	cop_quadtree_build(other, moved);
	for (size_t i = 0; i < N; i++) {
		cop_quadtree_sums a = cop_quadtree_sum(tree, COP_QUADTREE_STUDENT, 0.9, i);
		cop_quadtree_sums b = cop_quadtree_sum(other, COP_QUADTREE_STUDENT, 0.9, i);
		assert_true(fabs(a.value - b.value) < 1e-9 * a.value);
		assert_true(fabs(a.push[0] - b.push[0]) + fabs(a.push[1] - b.push[1]) < 1e-8);
	}
	cop_quadtree_free(tree);
	cop_quadtree_free(other);
}

static void test_equal_and_nearly_equal_points_are_no_endless_division(void **state)
{
	double same[2 * N], near[2 * N];
	cop_quadtree *tree;
	(void)state;
	for (size_t i = 0; i < N; i++) {
		same[2 * i] = same[2 * i + 1] = 1.5;
		near[2 * i] = ldexp(1.0, -(int)i);
		near[2 * i + 1] = nextafter(1.0, 2.0);
	}
	assert_int_equal(cop_quadtree_new(N, &tree), COP_OK);
	cop_quadtree_build(tree, same);
	assert_true(cop_quadtree_sum(tree, COP_QUADTREE_GAUSS, 0.5, 3).value == N - 1);
	cop_quadtree_build(tree, near);
	assert_true(fabs(cop_quadtree_sum(tree, COP_QUADTREE_STUDENT, 0.0, 9).value -
	                    naive(near, COP_QUADTREE_STUDENT, 9).value) < 1e-9);
	cop_quadtree_free(tree);
}

static void test_wrong_sizes_and_memory_failures_are_reported(void **state)
{
	cop_quadtree *tree;
	(void)state;
	assert_int_equal(cop_quadtree_new(0, &tree), COP_EINVAL);
	for (unsigned long n = 1;; n++) {
		cop_test_alloc_fail(n, 1);
		cop_err err = cop_quadtree_new(10, &tree);
		cop_test_alloc_fail(0, 0);
		cop_quadtree_free(tree);
		if (err == COP_OK)
			break;
		assert_true(err == COP_ENOMEM && tree == NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_theta_zero_is_every_pair),
		cmocka_unit_test(test_error_shrinks_with_theta),
		cmocka_unit_test(test_moved_points_have_the_same_sums),
		cmocka_unit_test(test_equal_and_nearly_equal_points_are_no_endless_division),
		cmocka_unit_test(test_wrong_sizes_and_memory_failures_are_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
