/* Every kernel on arrays of exactly the size that kernel.h names (support_guard.h): nothing around them is touched. */
#include "support.h"

#include <string.h>

#include "linalg/kernel.h"
#include "support_guard.h"

#define MOST_D 40
#define MOST_N 64

static const char *const names[] = { "plain", "avx2", "avx512", "neon" };

static float *numbers(size_t count)
{
	float *v;
	COP_TEST_GUARD(v, count);
	for (size_t i = 0; i < count; i++)
		v[i] = 0.25f + 0.01f * (float)(i % 7);
	return v;
}

/* As base/mem aligns them. */
static float *block(size_t count)
{
	float *v;
	COP_TEST_GUARD_ALIGNED(v, count);
	for (size_t i = 0; i < count; i++)
		v[i] = 0.5f;
	return v;
}

static double *doubles(size_t count)
{
	double *v;
	COP_TEST_GUARD(v, count);
	for (size_t i = 0; i < count; i++)
		v[i] = 3.0;
	return v;
}

static void free_all(void *const *arrays, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cop_test_guard_free(arrays[i]);
}

#define FREE(...) free_all((void *const[]){ __VA_ARGS__ }, sizeof((void *const[]){ __VA_ARGS__ }) / sizeof(void *))

static void check_products(const cop_kernel *k, size_t d, size_t n)
{
	float *x = numbers(d), *g = block(n), *a = block(n), *w = block(d * n), *s = block(d * n);
	uint32_t *index;
	COP_TEST_GUARD(index, d);
	for (size_t j = 0; j < d; j++)
		index[j] = (uint32_t)(d - 1 - j);
	k->forward(d, n, x, w, a);
	k->forward_sparse(d, index, x, n, w, a);
	k->rank1(d, n, x, g, w);
	k->rank1_sparse(d, index, x, n, g, w);
	k->adagrad(d, n, x, g, 0.1f, w, s);
	k->adagrad_sparse(d, index, x, n, g, 0.1f, w, s);
	FREE(x, g, a, w, s, index);
}

static void check_vectors(const cop_kernel *k, size_t n)
{
	const cop_kernel_rmsprop c = { 0.01f, 0.9f, 0.1f, 1e-8f, 1e-8f };
	float *x = numbers(n), *y = numbers(n), *z = numbers(n), *low = numbers(n), *high = numbers(n),
	      *outside = numbers(n);
	assert_true(k->dot(n, x, y) >= 0.0f);
	k->rmsprop(n, &c, x, y, z);
	k->scaled(n, x, y, z, low, 5.0f, outside);
	assert_true(k->bound(n, low, high, x, y, z, outside) <= n);
	assert_true(k->within(n, high, 100.0f));
	FREE(x, y, z, low, high, outside);
	double *rows = doubles(n), *mean = doubles(n), *m2 = doubles(n);
	float *shift = numbers(n), *scale = numbers(n);
	k->standardise(n, rows, mean, m2, shift, scale);
	FREE(rows, mean, m2, shift, scale);
	float *from = numbers(cop_kernel_pad(n)), *to = numbers(cop_kernel_pad(n));
	k->products(n, 2.0f, from, 1.0f, 3.0f, to);
	FREE(from, to);
}

static void check_trees(const cop_kernel *k, unsigned h, size_t m)
{
	size_t nodes = ((size_t)1 << h) - 1;
	float *a = numbers(nodes * m), *u = numbers((nodes + 1) * m), *work = numbers(nodes * m),
	      *da = numbers(nodes * m);
	if (m == 1)
		k->tree_backward(h, 0.5f, a, u, work, da);
	k->trees_backward(h, m, 0.5f, a, u, work, da);
	FREE(a, u, work, da);
}

static void check_blocks(const cop_kernel *k, size_t blocks)
{
	const size_t lanes = COP_KERNEL_LANES;
	float *x = numbers(blocks * lanes), *p = block(blocks * lanes * lanes), *out = block(blocks * lanes);
	float *spread = numbers(blocks);
	k->shrink(blocks, x, p, out, spread);
	FREE(x, p, out, spread);
}

static void test_kernels_touch_nothing_around_their_arrays(void **state)
{
	(void)state;
	size_t tables = 0;
	for (size_t t = 0; t < sizeof names / sizeof *names; t++) {
		const cop_kernel *k = cop_kernel_find(names[t]);
		if (k == NULL)
			continue;
		tables++;
		for (size_t n = COP_KERNEL_LANES; n <= MOST_N; n += COP_KERNEL_LANES)
			for (size_t d = 1; d <= MOST_D; d++)
				check_products(k, d, n);
		for (size_t n = 1; n <= MOST_N + 3; n++)
			check_vectors(k, n);
		for (unsigned h = 1; h <= 6; h++)
			for (size_t m = 1; m <= 4; m++)
				check_trees(k, h, m);
		for (size_t blocks = 1; blocks <= 5; blocks++)
			check_blocks(k, blocks);
	}
	assert_true(tables > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels_touch_nothing_around_their_arrays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
