/* columns: dense and sparse ones against plain loops over the rows. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "linalg/columns.h"

#define ROWS   70
#define N      90
#define D      37
#define GROUPS 5

typedef struct matrix {
	float x[ROWS * D];
	size_t start[ROWS + 1];
	uint32_t index[ROWS * D];
	float value[ROWS * D];
	uint32_t row[N];
} matrix;

static void draw(matrix *m, double share, uint64_t seed)
{
	cop_rng rng;
	cop_rng_init(&rng, seed, 1);
	size_t count = 0;
	memset(m, 0, sizeof *m);
	for (size_t i = 0; i < ROWS; i++) {
		for (size_t j = 0; j < D; j++)
			if (cop_rng_unit(&rng) < share) {
				m->x[i * D + j] = (float)cop_rng_normal(&rng);
				m->index[count] = (uint32_t)j;
				m->value[count++] = m->x[i * D + j];
			}
		m->start[i + 1] = count;
	}
	for (size_t i = 0; i < N; i++)
		m->row[i] = (uint32_t)cop_rng_below(&rng, ROWS);
}

typedef struct vectors {
	float *h, *v, *out;
	uint32_t group[N];
} vectors;

static void vectors_init(vectors *v, uint64_t seed)
{
	cop_rng rng;
	cop_rng_init(&rng, seed, 2);
	v->h = cop_mem_alloc(cop_kernel_pad(N), sizeof *v->h);
	v->v = cop_mem_alloc(cop_kernel_pad(N), sizeof *v->v);
	v->out = cop_mem_alloc(cop_kernel_pad(N), sizeof *v->out);
	assert_true(v->h != NULL && v->v != NULL && v->out != NULL);
	for (size_t i = 0; i < cop_kernel_pad(N); i++) {
		v->h[i] = (float)cop_rng_unit(&rng);
		v->v[i] = (float)cop_rng_normal(&rng);
	}
	for (size_t i = 0; i < N; i++)
		v->group[i] = (uint32_t)cop_rng_below(&rng, GROUPS);
}

static void vectors_fini(vectors *v)
{
	cop_mem_free(v->h);
	cop_mem_free(v->v);
	cop_mem_free(v->out);
}

static void near(double got, double want) { assert_true(fabs(got - want) <= 1e-4 * (1.0 + fabs(want))); }

static void check_sums(const cop_columns *c, const matrix *m, const uint32_t *row, const vectors *v, size_t j)
{
	double want[4] = { 0 };
	double grouped[GROUPS] = { 0 };
	double got[GROUPS];
	for (size_t i = 0; i < c->n; i++) {
		double x = (double)m->x[(row != NULL ? row[i] : i) * D + j];
		want[0] += x * (double)v->v[i];
		want[1] += x * (double)v->h[i];
		want[2] += x * x * (double)v->h[i];
		want[3] += x * x;
		grouped[v->group[i]] += x * (double)v->v[i];
	}
	double first;
	double second;
	cop_columns_moments(c, j, v->h, &first, &second);
	cop_columns_group(c, j, v->v, v->group, GROUPS, got);
	near((double)cop_columns_dot(c, j, v->v), want[0]);
	near(first, want[1]);
	near(second, want[2]);
	near(c->square[j], want[3]);
	for (size_t g = 0; g < GROUPS; g++)
		near(got[g], grouped[g]);
}

static void check_additions(const cop_columns *c, const matrix *m, const uint32_t *row, const vectors *v, size_t j)
{
	for (unsigned weighted = 0; weighted < 2; weighted++) {
		memset(v->out, 0, cop_kernel_pad(N) * sizeof *v->out);
		if (weighted != 0)
			cop_columns_add_weighted(c, j, -2.5F, v->h, v->out);
		else
			cop_columns_add(c, j, -2.5F, v->out);
		for (size_t i = 0; i < c->n; i++) {
			double x = (double)m->x[(row != NULL ? row[i] : i) * D + j];
			near((double)v->out[i], -2.5 * x * (weighted != 0 ? (double)v->h[i] : 1.0));
		}
		for (size_t i = c->n; i < cop_kernel_pad(c->n); i++)
			assert_true(v->out[i] == 0.0F);
	}
}

static void check(const cop_columns *c, const matrix *m, const uint32_t *row, bool sparse)
{
	vectors v;
	vectors_init(&v, 5);
	assert_int_equal(c->d, D);
	assert_true((c->dense == NULL) == sparse);
	for (size_t j = 0; j < D; j++) {
		check_sums(c, m, row, &v, j);
		check_additions(c, m, row, &v, j);
	}
	vectors_fini(&v);
}

static void of_share(double share, bool sparse)
{
	static matrix m;
	cop_columns c;
	for (uint64_t seed = 0; seed < 4; seed++) {
		draw(&m, share, seed);
		assert_int_equal(cop_columns_from_dense(&c, N, m.row, D, m.x), COP_OK);
		check(&c, &m, m.row, sparse);
		cop_columns_fini(&c);
		assert_int_equal(cop_columns_from_dense(&c, ROWS, NULL, D, m.x), COP_OK);
		check(&c, &m, NULL, sparse);
		cop_columns_fini(&c);
		assert_int_equal(cop_columns_from_sparse(&c, N, m.row, D, m.start, m.index, m.value), COP_OK);
		check(&c, &m, m.row, sparse);
		cop_columns_fini(&c);
		assert_int_equal(cop_columns_from_sparse(&c, ROWS, NULL, D, m.start, m.index, m.value), COP_OK);
		check(&c, &m, NULL, sparse);
		cop_columns_fini(&c);
	}
}

static void test_columns_of_full_rows_are_dense(void **state)
{
	(void)state;
	of_share(1.0, false);
	of_share(0.7, false);
}

static void test_columns_of_rows_with_zeros_are_sparse(void **state)
{
	(void)state;
	of_share(0.1, true);
	of_share(0.0, true);
}

static void test_columns_of_nothing_are_empty(void **state)
{
	(void)state;
	cop_columns c;
	const size_t start[1] = { 0 };
	const float x[1] = { 0 };
	const uint32_t index[1] = { 0 };
	assert_int_equal(cop_columns_from_dense(&c, 0, NULL, D, x), COP_OK);
	assert_true(cop_columns_dot(&c, D - 1, x) == 0.0F);
	cop_columns_fini(&c);
	assert_int_equal(cop_columns_from_dense(&c, 1, NULL, 0, x), COP_OK);
	cop_columns_fini(&c);
	assert_int_equal(cop_columns_from_sparse(&c, 0, NULL, D, start, index, x), COP_OK);
	assert_true(cop_columns_dot(&c, D - 1, x) == 0.0F);
	cop_columns_fini(&c);
}

static void test_columns_allocation_failure_leaves_nothing(void **state)
{
	(void)state;
	static matrix m;
	cop_columns c;
	for (unsigned kind = 0; kind < 4; kind++) {
		draw(&m, kind % 2 == 0 ? 1.0 : 0.1, kind);
		cop_err err = COP_ENOMEM;
		for (unsigned long n = 1; err != COP_OK; n++) {
			cop_test_alloc_fail(n, 0);
			err = kind < 2 ? cop_columns_from_dense(&c, N, m.row, D, m.x)
			               : cop_columns_from_sparse(&c, N, m.row, D, m.start, m.index, m.value);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || err == COP_ENOMEM);
			assert_true(n < 20);
			cop_columns_fini(&c);
		}
	}
	cop_test_alloc_fail(0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_of_full_rows_are_dense),
		cmocka_unit_test(test_columns_of_rows_with_zeros_are_sparse),
		cmocka_unit_test(test_columns_of_nothing_are_empty),
		cmocka_unit_test(test_columns_allocation_failure_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
