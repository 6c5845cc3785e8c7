/* dgt against Algorithm 2 written literally in double, finite differences of the soft model, and recorded numbers. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "linalg/kernel.h"
#include "tree/dgt.h"

#define H_TEST 8
#define LEAVES (1U << H_TEST)

/* +1, -1 or 0: the side of leaf l at node t (heap order), 0 when t is no ancestor of l. */
static int side(unsigned h, size_t t, size_t l)
{
	size_t node = 0;
	for (unsigned i = 0; i < h; i++) {
		size_t right = (l >> (h - 1 - i)) & 1;
		if (node == t)
			return right ? 1 : -1;
		node = 2 * node + 1 + right;
	}
	return 0;
}

static double sign(double a) { return a >= 0.0 ? 1.0 : -1.0; }

static void softmax(size_t n, double *v)
{
	double top = v[0], sum = 0.0;
	for (size_t i = 1; i < n; i++)
		top = v[i] > top ? v[i] : top;
	for (size_t i = 0; i < n; i++)
		sum += v[i] = exp(v[i] - top);
	for (size_t i = 0; i < n; i++)
		v[i] /= sum;
}

/* Soft leaf weights for node values s (signs, or their straight-through continuation). */
static void soft_leaves(unsigned h, double fac, const double *s, double *q)
{
	size_t n = ((size_t)1 << h) - 1;
	for (size_t l = 0; l <= n; l++) {
		q[l] = 0.0;
		for (size_t t = 0; t < n; t++)
			q[l] += fac * s[t] * side(h, t, l);
	}
	softmax(n + 1, q);
}

/* Algorithm 2, lines 9-13: dq_l = q_l (u_l - sum q u); da_t = 1[|a_t| <= 1] sum_l S(t,l) dq_l. */
static void literal(unsigned h, double fac, const double *a, const double *u, double *da)
{
	size_t n = ((size_t)1 << h) - 1;
	double q[LEAVES], s[LEAVES], mean = 0.0;
	for (size_t t = 0; t < n; t++)
		s[t] = sign(a[t]);
	soft_leaves(h, fac, s, q);
	for (size_t l = 0; l <= n; l++)
		mean += q[l] * u[l];
	for (size_t t = 0; t < n; t++) {
		da[t] = 0.0;
		for (size_t l = 0; l <= n && fabs(a[t]) <= 1.0; l++)
			da[t] += side(h, t, l) * q[l] * (u[l] - mean);
	}
}

static double clip(double a) { return a > 1.0 ? 1.0 : a < -1.0 ? -1.0 : a; }

/* The smooth function whose gradient at a = a0 is Algorithm 2: softmax of sign(a0) + clip(a) - clip(a0). */
static double surrogate(unsigned h, const double *a, const double *a0, const double *u)
{
	size_t n = ((size_t)1 << h) - 1;
	double q[LEAVES], s[LEAVES], value = 0.0;
	for (size_t t = 0; t < n; t++)
		s[t] = sign(a0[t]) + clip(a[t]) - clip(a0[t]);
	soft_leaves(h, 1.0, s, q);
	for (size_t l = 0; l <= n; l++)
		value += q[l] * u[l];
	return value;
}

static float draw_activation(cop_rng *rng)
{
	switch (cop_rng_below(rng, 10)) {
	case 0:
		return 0.0f;
	case 1:
		return 1.0f;
	case 2:
		return -1.0f;
	case 3:
		return -0.0f;
	default:
		return (float)cop_rng_normal(rng);
	}
}

/* The reference of the vector kernels. */
static void plain_backward(unsigned h, size_t m, float p, const float *a, const float *u, float *work, float *da)
{
	cop_kernel_find("plain")->trees_backward(h, m, p, a, u, work, da);
}

/* The same by the vector kernels. */
static void check_kernels(unsigned h, size_t m, float p, const float *a, const float *u, const float *want)
{
	static const char *const names[] = { "plain", "avx2", "avx512", "neon" };
	size_t n = ((size_t)1 << h) - 1;
	float *work = cop_mem_alloc(n * m, sizeof *work), *da = cop_mem_alloc(n * m, sizeof *da);
	for (size_t v = 0; v < sizeof names / sizeof *names; v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		for (int alone = 0; kernel != NULL && alone <= (m == 1); alone++) {
			if (alone)
				kernel->tree_backward(h, p, a, u, work, da);
			else
				kernel->trees_backward(h, m, p, a, u, work, da);
			for (size_t t = 0; t < n * m; t++)
				if (fabsf(da[t] - want[t]) > 2e-6f)
					fail_msg("%s h %u m %zu node %zu: %g, want %g", names[v], h, m, t / m,
					        (double)da[t], (double)want[t]);
		}
	}
	cop_mem_free(work);
	cop_mem_free(da);
}

/* One random forest of m trees, each tree compared with the literal sum. */
static void check_literal(cop_rng *rng, unsigned h, size_t m, double fac)
{
	size_t n = ((size_t)1 << h) - 1;
	float *a = cop_mem_alloc(n * m, sizeof *a), *u = cop_mem_alloc((n + 1) * m, sizeof *u);
	float *work = cop_mem_alloc(cop_dgt_work(h, m), sizeof *work), *da = cop_mem_alloc(n * m, sizeof *da);
	for (size_t i = 0; i < n * m; i++)
		a[i] = draw_activation(rng);
	for (size_t i = 0; i < (n + 1) * m; i++)
		u[i] = (float)cop_rng_normal(rng);
	plain_backward(h, m, cop_dgt_agree(fac), a, u, work, da);
	check_kernels(h, m, cop_dgt_agree(fac), a, u, da);
	for (size_t j = 0; j < m; j++) {
		double a1[LEAVES], u1[LEAVES], want[LEAVES];
		for (size_t t = 0; t < n; t++)
			a1[t] = (double)a[t * m + j];
		for (size_t l = 0; l <= n; l++)
			u1[l] = (double)u[l * m + j];
		literal(h, fac, a1, u1, want);
		for (size_t t = 0; t < n; t++)
			if (fabs((double)da[t * m + j] - want[t]) > 2e-6)
				fail_msg("h %u m %zu tree %zu node %zu: %g, want %g", h, m, j, t, (double)da[t * m + j],
				        want[t]);
	}
	cop_mem_free(a);
	cop_mem_free(u);
	cop_mem_free(work);
	cop_mem_free(da);
}

static void test_backward_random_equals_literal_sum(void **state)
{
	(void)state;
	static const size_t trees[] = { 1, 3, 17 };
	cop_rng rng;
	print_message("seed 11\n");
	cop_rng_init(&rng, 11, 0);
	for (unsigned h = 1; h <= H_TEST; h++)
		for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
			check_literal(&rng, h, trees[i], 1.0);
			check_literal(&rng, h, trees[i], 0.37);
		}
}

static void test_backward_random_equals_finite_differences(void **state)
{
	(void)state;
	cop_rng rng;
	print_message("seed 12\n");
	cop_rng_init(&rng, 12, 0);
	for (unsigned h = 1; h <= 5; h++) {
		size_t n = ((size_t)1 << h) - 1;
		double a0[LEAVES], a[LEAVES], u[LEAVES];
		float af[LEAVES], uf[LEAVES], work[LEAVES], da[LEAVES];
		for (size_t t = 0; t < n; t++) {
			af[t] = (float)cop_rng_normal(&rng);
			a[t] = a0[t] = (double)af[t];
		}
		for (size_t l = 0; l <= n; l++) {
			uf[l] = (float)cop_rng_normal(&rng);
			u[l] = (double)uf[l];
		}
		plain_backward(h, 1, cop_dgt_agree(1.0), af, uf, work, da);
		for (size_t t = 0; t < n; t++) {
			a[t] = a0[t] + 1e-6;
			double up = surrogate(h, a, a0, u);
			a[t] = a0[t] - 1e-6;
			double down = surrogate(h, a, a0, u);
			a[t] = a0[t];
			assert_true(fabs((up - down) / 2e-6 - (double)da[t]) < 2e-6);
		}
	}
}

typedef struct recorded {
	unsigned h;
	double fac;
	uint32_t leaf;
	float a[7], u[8];
	double da[7];
} recorded;

/* From an independent float64 implementation that shares no code with this one. */
static const recorded records[] = {
	{ 1, 1.0, 1, { 0.0f }, { 0.3f, -0.27f }, { -0.11969268736 } },
	{ 2, 1.0, 0, { -0.71f, -0.36f, 0.0f }, { 0.06f, 1.34f, -0.49f, -0.62f },
	        { -0.171577023148, 0.171407761605, -0.0685900700281 } },
	{ 3, 1.0, 6, { 0.39f, 0.0f, 0.08f, -0.74f, 1.0f, -1.0f, -1.08f },
	        { -0.46f, -1.9f, -1.29f, -1.84f, -0.24f, -1.27f, 0.27f, 0.16f },
	        { 0.3824363082, -0.174235806067, 0.260241754245, 0.00217018761841, -0.151289818441, 0.00357526011649,
	                0.0 } },
	{ 3, 0.37, 0, { -0.15f, -2.01f, -0.43f, -0.04f, 0.09f, -1.22f, -0.38f },
	        { -0.98f, -0.81f, 1.06f, -0.81f, -0.03f, 0.88f, -0.58f, -0.11f },
	        { 0.320657060702, 0.0, -0.154527024577, 0.110183446965, -0.159485246809, 0.0, 0.0204187547665 } },
};

static void test_backward_fixed_inputs_give_recorded_numbers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
		const recorded *r = &records[i];
		float work[7], da[7];
		uint32_t leaf;
		assert_int_equal(cop_dgt_work(r->h, 1), (1U << r->h) - 1);
		cop_dgt_leaves(r->h, 1, r->a, &leaf);
		assert_int_equal(leaf, r->leaf);
		plain_backward(r->h, 1, cop_dgt_agree(r->fac), r->a, r->u, work, da);
		for (size_t t = 0; t < (1U << r->h) - 1; t++)
			assert_true(fabs((double)da[t] - r->da[t]) < 5e-7);
	}
}

/* Lanes must not mix, and a tree's result must not depend on how many stand beside it, at least one. */
static void test_backward_many_trees_equals_each_alone(void **state)
{
	(void)state;
	enum { H = 4, N = 15, M = 32 };
	cop_rng rng;
	print_message("seed 13\n");
	cop_rng_init(&rng, 13, 0);
	float a[N * M], u[(N + 1) * M], work[N * M], da[N * M], a1[2 * N], u1[2 * N + 2], work1[2 * N], da1[2 * N];
	uint32_t leaf[M], leaf1[2];
	for (size_t i = 0; i < N * M; i++)
		a[i] = draw_activation(&rng);
	for (size_t i = 0; i < (N + 1) * M; i++)
		u[i] = (float)cop_rng_normal(&rng);
	cop_dgt_leaves(H, M, a, leaf);
	plain_backward(H, M, cop_dgt_agree(1.0), a, u, work, da);
	for (size_t j = 0; j < M; j++) {
		for (size_t t = 0; t < N; t++)
			a1[2 * t] = a1[2 * t + 1] = a[t * M + j];
		for (size_t l = 0; l <= N; l++)
			u1[2 * l] = u1[2 * l + 1] = u[l * M + j];
		cop_dgt_leaves(H, 2, a1, leaf1);
		plain_backward(H, 2, cop_dgt_agree(1.0), a1, u1, work1, da1);
		assert_true(leaf[j] == leaf1[0] && leaf[j] == leaf1[1]);
		for (size_t t = 0; t < N; t++)
			assert_memory_equal(&da[t * M + j], &da1[2 * t], sizeof(float));
	}
}

/* Nor by the vector kernels: lanes of many trees, however many there are. */
static void test_trees_backward_lanes_do_not_depend_on_their_number(void **state)
{
	(void)state;
	enum { H = 5, N = 31, M = 64 };
	static const size_t fewer[] = { 2, 3, 7, 8, 16, 17, 24, 32, 63 };
	static const char *const names[] = { "plain", "avx2", "avx512", "neon" };
	cop_rng rng;
	print_message("seed 15\n");
	cop_rng_init(&rng, 15, 0);
	float a[N * M], u[(N + 1) * M], work[N * M], da[N * M], a1[N * M], u1[(N + 1) * M], da1[N * M];
	for (size_t i = 0; i < N * M; i++)
		a[i] = draw_activation(&rng);
	for (size_t i = 0; i < (N + 1) * M; i++)
		u[i] = (float)cop_rng_normal(&rng);
	for (size_t v = 0; v < sizeof names / sizeof *names; v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		if (kernel == NULL)
			continue;
		kernel->trees_backward(H, M, 0.88f, a, u, work, da);
		for (size_t i = 0; i < sizeof fewer / sizeof *fewer; i++) {
			size_t m = fewer[i];
			for (size_t t = 0; t < N; t++)
				memcpy(a1 + t * m, a + t * M, m * sizeof *a);
			for (size_t l = 0; l <= N; l++)
				memcpy(u1 + l * m, u + l * M, m * sizeof *u);
			kernel->trees_backward(H, m, 0.88f, a1, u1, work, da1);
			for (size_t t = 0; t < N; t++)
				assert_memory_equal(da1 + t * m, da + t * M, m * sizeof *da);
		}
	}
}

/* The hard walk ends in the one leaf whose score sum_t sign(a_t) S(t,l) is h. */
static void test_leaves_random_is_the_highest_score(void **state)
{
	(void)state;
	cop_rng rng;
	print_message("seed 14\n");
	cop_rng_init(&rng, 14, 0);
	for (unsigned h = 1; h <= H_TEST; h++) {
		size_t n = ((size_t)1 << h) - 1;
		float a[LEAVES];
		uint32_t leaf;
		for (size_t t = 0; t < n; t++)
			a[t] = draw_activation(&rng);
		cop_dgt_leaves(h, 1, a, &leaf);
		int score = 0;
		for (size_t t = 0; t < n; t++)
			score += side(h, t, leaf) * (a[t] >= 0.0f ? 1 : -1);
		assert_int_equal(score, (int)h);
	}
}

static void test_largest_height_works(void **state)
{
	(void)state;
	size_t n = (1U << COP_DGT_MAX_HEIGHT) - 1;
	float *a = cop_mem_alloc(n, sizeof *a), *u = cop_mem_alloc(n + 1, sizeof *u);
	float *work = cop_mem_alloc(cop_dgt_work(COP_DGT_MAX_HEIGHT, 1), sizeof *work);
	float *da = cop_mem_alloc(n, sizeof *da);
	uint32_t leaf;
	u[n] = 1.0f;
	for (size_t t = 0; t < n; t++)
		a[t] = 0.5f;
	cop_dgt_leaves(COP_DGT_MAX_HEIGHT, 1, a, &leaf);
	assert_int_equal(leaf, n);
	plain_backward(COP_DGT_MAX_HEIGHT, 1, cop_dgt_agree(1.0), a, u, work, da);
	double p = 1.0 / (1.0 + exp(-2.0));
	double reach =
	        pow(p, COP_DGT_MAX_HEIGHT); /* U(root): only the right-most leaf has a value, and it weighs this */
	double want = p * (reach / p - reach) - (1.0 - p) * (0.0 - reach);
	assert_true(fabs((double)da[0] - want) < 1e-6);
	cop_mem_free(a);
	cop_mem_free(u);
	cop_mem_free(work);
	cop_mem_free(da);
}

static void test_agree_is_sigma_of_twice_fac(void **state)
{
	(void)state;
	assert_true(fabs((double)cop_dgt_agree(1.0) - 0.8807970779778823) < 1e-7);
	assert_true(cop_dgt_agree(0.0) == 0.5f);
	assert_true(fabs((double)cop_dgt_agree(0.37) - 0.6769958562) < 1e-7);
	assert_true(cop_dgt_agree(1000.0) == 1.0f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backward_random_equals_literal_sum),
		cmocka_unit_test(test_backward_random_equals_finite_differences),
		cmocka_unit_test(test_backward_fixed_inputs_give_recorded_numbers),
		cmocka_unit_test(test_backward_many_trees_equals_each_alone),
		cmocka_unit_test(test_trees_backward_lanes_do_not_depend_on_their_number),
		cmocka_unit_test(test_leaves_random_is_the_highest_score),
		cmocka_unit_test(test_largest_height_works),
		cmocka_unit_test(test_agree_is_sigma_of_twice_fac),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
