/* Every kernel table that this processor runs against naive sums in double; absent tables are skipped. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "linalg/kernel.h"

#define SEED 20240611U

static const char *const names[] = { "plain", "avx2", "avx512", "neon" };
static const size_t dims[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 54, 785 };
static const size_t widths[] = { 16, 32, 48, 64, 80, 112, 128, 144, 256, 512 };
static const size_t wide[] = { 1024, 1040, 2064, 4096, 4112, 8240 }; /* around the pieces that wide blocks come in */
static const size_t dims_of_wide[] = { 1, 3, 4, 7, 8, 15, 20 };

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define MAX_D    785
#define MAX_N    8240

/* One problem: x (dense), a sparse view of it over a larger block, weights, sums of squares, a column vector g. */
typedef struct problem {
	cop_rng rng;
	float *x, *g, *w, *s, *a, *w_before, *s_before, *a_before;
	uint32_t *index;
} problem;

static void fill(problem *p, float *v, size_t n, double scale)
{
	for (size_t i = 0; i < n; i++)
		v[i] = (float)(scale * cop_rng_normal(&p->rng));
}

static int problem_new(void **state)
{
	static problem p;
	const size_t block = (size_t)2 * MAX_D * 512; /* more than 2 x 20 x MAX_N */
	printf("seed %u\n", SEED);
	cop_rng_init(&p.rng, SEED, 0);
	p.x = cop_mem_alloc(MAX_D, sizeof *p.x);
	p.index = cop_mem_alloc(MAX_D, sizeof *p.index);
	p.g = cop_mem_alloc(MAX_N, sizeof *p.g);
	p.a = cop_mem_alloc(MAX_N, sizeof *p.a);
	p.a_before = cop_mem_alloc(MAX_N, sizeof *p.a);
	p.w = cop_mem_alloc(block, sizeof *p.w);
	p.s = cop_mem_alloc(block, sizeof *p.s);
	p.w_before = cop_mem_alloc(block, sizeof *p.w);
	p.s_before = cop_mem_alloc(block, sizeof *p.s);
	*state = &p;
	return p.x && p.index && p.g && p.a && p.a_before && p.w && p.s && p.w_before && p.s_before ? 0 : -1;
}

static int problem_free(void **state)
{
	problem *p = *state;
	cop_mem_free(p->x);
	cop_mem_free(p->index);
	cop_mem_free(p->g);
	cop_mem_free(p->a);
	cop_mem_free(p->a_before);
	cop_mem_free(p->w);
	cop_mem_free(p->s);
	cop_mem_free(p->w_before);
	cop_mem_free(p->s_before);
	return 0;
}

/* d entries scattered over 2 d rows (sparse), or the first d rows. Some inputs and gradients are zero. */
static void set_up(problem *p, size_t d, size_t n)
{
	fill(p, p->x, d, 1.0);
	fill(p, p->g, n, 1.0);
	fill(p, p->a, n, 1.0);
	fill(p, p->w, 2 * d * n, 0.5);
	for (size_t j = 0; j < d; j++) {
		p->index[j] = (uint32_t)(2 * j + cop_rng_below(&p->rng, 2));
		if (cop_rng_below(&p->rng, 5) == 0)
			p->x[j] = 0.0f;
	}
	for (size_t i = 0; i < n; i++)
		if (cop_rng_below(&p->rng, 3) == 0)
			p->g[i] = 0.0f;
	for (size_t i = 0; i < 2 * d * n; i++)
		p->s[i] = (float)(1e-8 + cop_rng_unit(&p->rng) * (double)(i % 3));
	memcpy(p->a_before, p->a, n * sizeof *p->a);
	memcpy(p->w_before, p->w, 2 * d * n * sizeof *p->w);
	memcpy(p->s_before, p->s, 2 * d * n * sizeof *p->s);
}

static cop_row row_of(const problem *p, size_t d, int sparse)
{
	if (sparse)
		return (cop_row){ .d = 2 * d, .nnz = d, .index = p->index, .value = p->x };
	return (cop_row){ .d = d, .dense = p->x };
}

/* Place in x of block row r, or -1. */
static long entry_of(const problem *p, size_t d, int sparse, size_t r)
{
	if (!sparse)
		return r < d ? (long)r : -1;
	return r / 2 < d && p->index[r / 2] == r ? (long)(r / 2) : -1;
}

static void check(double got, double want, double scale, const char *what, size_t d, size_t n)
{
	if (!(fabs(got - want) <= 1e-5 * scale + 1e-30))
		fail_msg("%s: d %zu, n %zu: %.9g, expected %.9g", what, d, n, got, want);
}

/* A step's length is estimated to 11 bits by some tables. */
static void check_step(double got, double want, double before, const char *what, size_t d, size_t n)
{
	double step = fabs(want - before);
	if (!(fabs(got - want) <= 1e-3 * step + 1e-6 * fabs(before) + 1e-30))
		fail_msg("%s: d %zu, n %zu: %.9g, expected %.9g", what, d, n, got, want);
}

static void check_forward(const cop_kernel *kernel, problem *p, size_t d, size_t n, int sparse)
{
	set_up(p, d, n);
	cop_row row = row_of(p, d, sparse);
	cop_kernel_forward_row(kernel, &row, n, p->w, p->a);
	for (size_t i = 0; i < n; i++) {
		double sum = (double)p->a_before[i], scale = fabs(sum);
		for (size_t j = 0; j < d; j++) {
			double term = (double)p->x[j] * (double)p->w[(sparse ? p->index[j] : j) * n + i];
			sum += term;
			scale += fabs(term);
		}
		check((double)p->a[i], sum, scale, "forward", d, n);
	}
	assert_memory_equal(p->w, p->w_before, 2 * d * n * sizeof *p->w);
}

static void check_rank1(const cop_kernel *kernel, problem *p, size_t d, size_t n, int sparse)
{
	set_up(p, d, n);
	cop_row row = row_of(p, d, sparse);
	cop_kernel_rank1_row(kernel, &row, n, p->g, p->w);
	for (size_t r = 0; r < 2 * d; r++) {
		long j = entry_of(p, d, sparse, r);
		if (j < 0)
			assert_memory_equal(p->w + r * n, p->w_before + r * n, n * sizeof *p->w);
		for (size_t i = 0; i < n; i++) {
			double before = (double)p->w_before[r * n + i];
			double step = j < 0 ? 0.0 : (double)p->x[j] * (double)p->g[i];
			check((double)p->w[r * n + i], before + step, fabs(before) + fabs(step), "rank1", d, n);
		}
	}
}

static void check_adagrad(const cop_kernel *kernel, problem *p, size_t d, size_t n, int sparse)
{
	const double eta = 0.1;
	set_up(p, d, n);
	cop_row row = row_of(p, d, sparse);
	cop_kernel_adagrad_row(kernel, &row, n, p->g, (float)eta, p->w, p->s);
	for (size_t r = 0; r < 2 * d; r++) {
		long j = entry_of(p, d, sparse, r);
		for (size_t i = 0; i < n; i++) {
			double gradient = j < 0 ? 0.0 : (double)p->x[j] * (double)p->g[i];
			double s = (double)p->s_before[r * n + i] + gradient * gradient;
			double before = (double)p->w_before[r * n + i];
			double w = before - eta * gradient / sqrt(s);
			check((double)p->s[r * n + i], s, s, "adagrad sum", d, n);
			check_step((double)p->w[r * n + i], w, before, "adagrad weight", d, n);
			if (gradient == 0.0) { /* nothing moves, to the bit */
				assert_true(p->w[r * n + i] == p->w_before[r * n + i]);
				assert_true(p->s[r * n + i] == p->s_before[r * n + i]);
			}
		}
	}
}

typedef void (*checker)(const cop_kernel *, problem *, size_t, size_t, int);

static void for_every_table_and_shape(problem *p, checker one)
{
	for (size_t v = 0; v < COUNT(names); v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		if (kernel == NULL) {
			printf("no %s here\n", names[v]);
			continue;
		}
		for (size_t i = 0; i < COUNT(dims); i++)
			for (size_t k = 0; k < COUNT(widths); k++)
				for (int sparse = 0; sparse < 2; sparse++)
					if (dims[i] < 100 || widths[k] == 16 || widths[k] == 64 || widths[k] == 512)
						one(kernel, p, dims[i], widths[k], sparse);
		for (size_t i = 0; i < COUNT(dims_of_wide); i++)
			for (size_t k = 0; k < COUNT(wide); k++)
				for (int sparse = 0; sparse < 2; sparse++)
					one(kernel, p, dims_of_wide[i], wide[k], sparse);
	}
}

static void test_forward_any_shape_equals_double_sum(void **state) { for_every_table_and_shape(*state, check_forward); }

static void test_rank1_any_shape_equals_definition(void **state) { for_every_table_and_shape(*state, check_rank1); }

static void test_adagrad_any_shape_equals_definition(void **state) { for_every_table_and_shape(*state, check_adagrad); }

static void test_dot_every_length_and_alignment_equals_double_sum(void **state)
{
	problem *p = *state;
	for (size_t v = 0; v < COUNT(names); v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		for (size_t n = 0; kernel != NULL && n <= 100; n++)
			for (size_t shift = 0; shift < 17; shift++) {
				float *x = p->w + shift, *y = p->s + (shift * 7) % 16;
				fill(p, x, n + 1, 1.0);
				fill(p, y, n + 1, 1.0);
				x[n] = y[n] = NAN; /* beyond the end */
				double sum = 0.0, scale = 0.0;
				for (size_t i = 0; i < n; i++) {
					sum += (double)x[i] * (double)y[i];
					scale += fabs((double)x[i] * (double)y[i]);
				}
				check((double)kernel->dot(n, x, y), sum, scale, "dot", n, shift);
			}
	}
}

static void test_dot_any_alignment_gives_same_bits(void **state)
{
	problem *p = *state;
	fill(p, p->x, 100, 1.0);
	fill(p, p->g, 100, 1.0);
	for (size_t v = 0; v < COUNT(names); v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		for (size_t n = 0; kernel != NULL && n <= 100; n++) {
			float want = kernel->dot(n, p->x, p->g);
			for (size_t shift = 1; shift < 16; shift++) {
				memcpy(p->w + shift, p->x, n * sizeof *p->x);
				float got = kernel->dot(n, p->w + shift, p->g);
				assert_memory_equal(&got, &want, sizeof got);
			}
		}
	}
}

static void test_kernels_same_calls_give_same_bits(void **state)
{
	problem *p = *state;
	const size_t d = 54, n = 112;
	float *a = cop_mem_alloc(n, sizeof *a), *w = cop_mem_alloc(2 * d * n, sizeof *w);
	float *s = cop_mem_alloc(2 * d * n, sizeof *s);
	assert_true(a != NULL && w != NULL && s != NULL);
	for (size_t v = 0; v < COUNT(names); v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		for (int sparse = 0; kernel != NULL && sparse < 2; sparse++) {
			set_up(p, d, n);
			cop_row row = row_of(p, d, sparse);
			for (int round = 0; round < 2; round++) {
				memcpy(p->a, p->a_before, n * sizeof *a);
				memcpy(p->w, p->w_before, 2 * d * n * sizeof *w);
				memcpy(p->s, p->s_before, 2 * d * n * sizeof *s);
				cop_kernel_forward_row(kernel, &row, n, p->w, p->a);
				cop_kernel_rank1_row(kernel, &row, n, p->g, p->w);
				cop_kernel_adagrad_row(kernel, &row, n, p->g, 0.1f, p->w, p->s);
				if (round == 0) {
					memcpy(a, p->a, n * sizeof *a);
					memcpy(w, p->w, 2 * d * n * sizeof *w);
					memcpy(s, p->s, 2 * d * n * sizeof *s);
				}
			}
			assert_memory_equal(a, p->a, n * sizeof *a);
			assert_memory_equal(w, p->w, 2 * d * n * sizeof *w);
			assert_memory_equal(s, p->s, 2 * d * n * sizeof *s);
		}
	}
	cop_mem_free(a);
	cop_mem_free(w);
	cop_mem_free(s);
}

static void test_adagrad_sum_at_its_largest_stays_and_weights_finite(void **state)
{
	problem *p = *state;
	for (size_t v = 0; v < COUNT(names); v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		if (kernel == NULL)
			continue;
		const float x = 5.0f;
		for (size_t i = 0; i < 16; i++) {
			p->g[i] = i % 2 == 0 ? 1e19f : 1e30f; /* squares of the second overflow */
			p->w[i] = 1.0f;
			p->s[i] = 1.0f;
		}
		for (int n = 0; n < 100; n++)
			kernel->adagrad(1, 16, &x, p->g, 0.1f, p->w, p->s);
		for (size_t i = 0; i < 16; i++)
			assert_true(p->s[i] == FLT_MAX && isfinite(p->w[i]));
		for (size_t i = 0; i < 16; i++)
			p->g[i] = 1.0f;
		memcpy(p->w_before, p->w, 16 * sizeof *p->w);
		kernel->adagrad(1, 16, &x, p->g, 0.1f, p->w, p->s);
		for (size_t i = 0; i < 16; i++) /* as good as frozen */
			assert_true(fabsf(p->w[i] - p->w_before[i]) < 1e-18f);
	}
}

/* A column's result must not depend on which columns stand beside it: trees and arms are padded. */
static void check_column_alone(const cop_kernel *kernel, problem *p, size_t d, size_t n, int sparse)
{
	set_up(p, d, n);
	memset(p->a, 0, n * sizeof *p->a);
	cop_row row = row_of(p, d, sparse);
	cop_kernel_forward_row(kernel, &row, n, p->w, p->a);
	size_t from = cop_rng_below(&p->rng, n / 16) * 16;
	size_t columns = 16 * (1 + cop_rng_below(&p->rng, (n - from) / 16));
	memset(p->a_before, 0, columns * sizeof *p->a);
	for (size_t r = 0; r < 2 * d; r++)
		memcpy(p->s + r * columns, p->w + r * n + from, columns * sizeof *p->w);
	cop_kernel_forward_row(kernel, &row, columns, p->s, p->a_before);
	assert_memory_equal(p->a + from, p->a_before, columns * sizeof *p->a);
}

static void test_forward_column_alone_gives_same_bits(void **state)
{
	for_every_table_and_shape(*state, check_column_alone);
}

/* Present and absent entries: a sparse row of all features is the dense one, to the bit. */
static void test_forward_sparse_row_of_all_gives_bits_of_dense(void **state)
{
	problem *p = *state;
	const size_t d = 54, n = 80;
	for (size_t v = 0; v < COUNT(names); v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		if (kernel == NULL)
			continue;
		set_up(p, d, n);
		for (size_t j = 0; j < d; j++)
			p->index[j] = (uint32_t)j;
		kernel->forward_sparse(d, p->index, p->x, n, p->w, p->a);
		kernel->forward(d, n, p->x, p->w, p->a_before);
		assert_memory_equal(p->a, p->a_before, n * sizeof *p->a);
	}
}

static void test_find_names_and_best_are_consistent(void **state)
{
	(void)state;
	assert_null(cop_kernel_find("sse"));
	assert_null(cop_kernel_find(""));
	assert_non_null(cop_kernel_find("plain"));
	const cop_kernel *best = cop_kernel_best(), *widest = NULL;
	for (size_t v = 0; v < COUNT(names); v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		if (kernel == NULL)
			continue;
		assert_string_equal(kernel->name, names[v]);
		widest = kernel;
	}
	assert_ptr_equal(best, widest);
}

/* Lengths around whole registers, from every place in a line. */
static void check_flat(const cop_kernel *kernel, problem *p, size_t n, size_t from)
{
	const cop_kernel_rmsprop c = {
		.lr = 0.01f, .alpha = 0.99f, .rest = 0.01f, .in = n % 2 == 0 ? 0.0f : 1e-2f, .out = 1e-5f
	};
	set_up(p, 2, 128);
	kernel->rmsprop(n, &c, p->g + from, p->w + from, p->s + from);
	for (size_t i = 0; i < 256; i++) {
		bool moved = i >= from && i < from + n;
		double g = moved ? (double)p->g[i] : 0.0;
		double s = (double)p->s_before[i];
		double w = (double)p->w_before[i];
		if (moved) {
			s = (double)c.alpha * s + (double)c.rest * g * g;
			w -= (double)c.lr * g / (sqrt(s + (double)c.in) + (double)c.out);
		}
		check((double)p->s[i], s, s, "rmsprop state", n, from);
		check_step((double)p->w[i], w, (double)p->w_before[i], "rmsprop weight", n, from);
		if (!moved)
			assert_true(p->w[i] == p->w_before[i] && p->s[i] == p->s_before[i]);
	}
	fill(p, p->w, 256, 1e-3);
	assert_true(kernel->within(n, p->w + from, 1.0f));
	for (size_t i = from; i < from + n; i++) {
		static const float out[] = { 1.5f, -1.5f, INFINITY, -INFINITY, NAN };
		float was = p->w[i];
		for (size_t k = 0; k < COUNT(out); k++) {
			p->w[i] = out[k];
			assert_false(kernel->within(n, p->w + from, 1.0f));
		}
		p->w[i] = -1.0f;
		assert_true(kernel->within(n, p->w + from, 1.0f));
		p->w[i] = was;
	}
}

static void test_rmsprop_and_within_every_length_equal_definition(void **state)
{
	for (size_t v = 0; v < COUNT(names); v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		for (size_t n = 0; kernel != NULL && n <= 70; n++)
			for (size_t from = 0; from < 17; from += 4)
				check_flat(kernel, *state, n, from);
	}
}

/* No gradient yet, the smallest ones, and the largest. */
static void test_rmsprop_without_a_past_stays_finite(void **state)
{
	static const float gradients[] = { 0.0f, -0.0f, 1e-45f, 1e-30f, -1e-20f, 1e-10f, 1e15f, -1e15f };
	problem *p = *state;
	for (size_t v = 0; v < COUNT(names); v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		for (int inside = 0; kernel != NULL && inside < 2; inside++) {
			const cop_kernel_rmsprop c = { 1e-2f, 0.99f, 0.01f, inside ? 1e-12f : 0.0f,
				inside ? 0.0f : 1e-12f };
			memset(p->w, 0, 64 * sizeof *p->w);
			memset(p->s, 0, 64 * sizeof *p->s);
			for (size_t i = 0; i < 64; i++)
				p->g[i] = gradients[i % COUNT(gradients)];
			kernel->rmsprop(64, &c, p->g, p->w, p->s);
			for (size_t i = 0; i < 64; i++) {
				assert_true(isfinite(p->w[i]) && isfinite(p->s[i]) && fabsf(p->w[i]) <= 0.11f);
				assert_true(p->g[i] != 0.0f || p->w[i] == 0.0f);
			}
		}
	}
}

/* The gradients stop after the first one, and the state decays by itself: 0.9^830 is below the normal floats. */
static void test_rmsprop_state_that_only_decays_stays_normal(void **state)
{
	static const cop_kernel_rmsprop c = { .lr = 1e-2f, .alpha = 0.9f, .rest = 0.1f, .in = 0.0f, .out = 1e-5f };
	problem *p = *state;
	for (size_t v = 0; v < COUNT(names); v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		for (size_t i = 0; i < 64; i++) {
			p->w[i] = 0.0f;
			p->s[i] = 0.0f;
			p->g[i] = (float)i;
		}
		for (int n = 0; kernel != NULL && n < 1200; n++) {
			kernel->rmsprop(64, &c, p->g, p->w, p->s);
			memset(p->g, 0, 64 * sizeof *p->g);
			for (size_t i = 0; i < 64; i++)
				assert_true(isnormal(p->s[i]));
		}
		for (size_t i = 0; kernel != NULL && i < 64; i++)
			assert_true(p->s[i] < 100.0f * FLT_MIN);
	}
}

#define SIDE COP_KERNEL_LANES

/* P starts as `start` I and takes in events; beside it the inverse of I / start + sum of x xT by its own formula in
 * double. x lies `from` floats off alignment. */
static void check_shrink(const cop_kernel *kernel, problem *p, size_t from, double start)
{
	double inverse[SIDE][SIDE] = { { 0.0 } };
	float *k = p->a;
	memset(p->w, 0, SIDE * SIDE * sizeof *p->w);
	for (size_t j = 0; j < SIDE; j++) {
		inverse[j][j] = start;
		p->w[j * SIDE + j] = (float)start;
	}
	for (size_t n = 0; n < 40; n++) {
		double product[SIDE] = { 0.0 };
		double spread = 0.0;
		fill(p, p->x + from, SIDE, 1.0);
		for (size_t i = 0; i < SIDE; i++)
			for (size_t j = 0; j < SIDE; j++)
				product[i] += inverse[i][j] * (double)p->x[from + j];
		for (size_t i = 0; i < SIDE; i++)
			spread += product[i] * (double)p->x[from + i];
		float got = -1.0f;
		kernel->shrink(1, p->x + from, p->w, k, &got);
		double told = (double)got;
		assert_true(fabs(told - spread) <= 1e-3 * (start + spread));
		for (size_t i = 0; i < SIDE; i++) {
			assert_true(fabs((double)k[i] - product[i]) <= 1e-3 * start);
			for (size_t j = 0; j < SIDE; j++) {
				inverse[i][j] -= product[i] * product[j] / (1.0 + spread);
				assert_true(fabs((double)p->w[i * SIDE + j] - inverse[i][j]) <= 1e-4 * start);
				assert_true(p->w[i * SIDE + j] == p->w[j * SIDE + i]);
			}
		}
	}
}

static void test_shrink_equals_inverse_and_stays_symmetric(void **state)
{
	for (size_t v = 0; v < COUNT(names); v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		for (size_t from = 0; kernel != NULL && from < 5; from++) {
			check_shrink(kernel, *state, from, 1.0);
			check_shrink(kernel, *state, from, 0.0625);
		}
	}
}

/* Blocks that no x can have made, and an x too large for its square. */
static void test_shrink_without_sense_leaves_the_block_alone(void **state)
{
	static const float corner[] = { -1.0f, NAN, INFINITY, 1.0f };
	problem *p = *state;
	for (size_t v = 0; v < COUNT(names); v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		for (size_t c = 0; kernel != NULL && c < COUNT(corner); c++) {
			memset(p->w, 0, SIDE * SIDE * sizeof *p->w);
			for (size_t i = 0; i < SIDE; i++)
				p->x[i] = c == 3 ? 1e30f : 1.0f;
			p->w[0] = corner[c];
			memcpy(p->w_before, p->w, SIDE * SIDE * sizeof *p->w);
			float spread = 0.0f;
			kernel->shrink(1, p->x, p->w, p->a, &spread);
			assert_false(spread >= 0.0f && spread <= FLT_MAX);
			assert_memory_equal(p->w, p->w_before, SIDE * SIDE * sizeof *p->w);
		}
	}
}

#define MOST_BLOCKS 27

/* Many blocks, one of them without sense, against each alone. */
static void check_many_blocks(const cop_kernel *kernel, problem *p, size_t blocks)
{
	const size_t floats = MOST_BLOCKS * SIDE * SIDE;
	float spread[MOST_BLOCKS], alone;
	memset(p->w, 0, floats * sizeof *p->w);
	for (size_t i = 0; i < MOST_BLOCKS * SIDE; i++)
		p->w[i * SIDE + i % SIDE] = i == 5 * SIDE ? -100.0f : 1.0f;
	for (int step = 0; step < 3; step++) {
		fill(p, p->x, MOST_BLOCKS * SIDE, 1.0);
		memcpy(p->w_before, p->w, floats * sizeof *p->w);
		kernel->shrink(blocks, p->x, p->w, p->s, spread);
		for (size_t b = 0; b < blocks; b++) {
			kernel->shrink(1, p->x + b * SIDE, p->w_before + b * SIDE * SIDE, p->a, &alone);
			assert_true(alone == spread[b]);
			assert_memory_equal(p->a, p->s + b * SIDE, SIDE * sizeof *p->a);
		}
		assert_memory_equal(p->w, p->w_before, floats * sizeof *p->w);
	}
}

static void test_shrink_of_many_blocks_equals_each_alone(void **state)
{
	for (size_t v = 0; v < COUNT(names); v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		for (size_t blocks = 0; kernel != NULL && blocks <= MOST_BLOCKS; blocks++)
			check_many_blocks(kernel, *state, blocks);
	}
}

#define HIGHEST 12

/* Gradients of one tree by their definition, in double: node t's U, then what P it is reached with. */
static void tree_by_definition(unsigned h, double p, const float *a, const float *u, double *da)
{
	static double value[2 << HIGHEST], reached[2 << HIGHEST];
	size_t n = ((size_t)1 << h) - 1;
	for (size_t l = 0; l <= n; l++)
		value[n + l] = (double)u[l];
	for (size_t t = n; t-- > 0;) {
		double right = a[t] >= 0.0f ? p : 1.0 - p;
		value[t] = (1.0 - right) * value[2 * t + 1] + right * value[2 * t + 2];
	}
	reached[0] = 1.0;
	for (size_t t = 0; t < n; t++) {
		double right = a[t] >= 0.0f ? p : 1.0 - p;
		reached[2 * t + 1] = reached[t] * (1.0 - right);
		reached[2 * t + 2] = reached[t] * right;
		da[t] = reached[2 * t + 2] * (value[2 * t + 2] - value[0]) -
		        reached[2 * t + 1] * (value[2 * t + 1] - value[0]);
		da[t] = fabsf(a[t]) <= 1.0f ? da[t] : 0.0;
	}
}

/* Margins at the bounds and not a number among them; values far from 0, as leaves have once losses are. */
static void test_tree_backward_every_height_equals_definition(void **state)
{
	static const float corner[] = { 0.0f, -0.0f, 1.0f, -1.0f, NAN, 1.0000001f, INFINITY };
	static double want[2 << HIGHEST];
	problem *p = *state;
	for (unsigned h = 1; h <= HIGHEST; h++) {
		size_t n = ((size_t)1 << h) - 1;
		fill(p, p->g, n, 1.0);
		fill(p, p->a, n + 1, 1.0);
		for (size_t t = h; t < n; t += 11)
			p->g[t] = corner[t % COUNT(corner)];
		for (size_t l = 0; l <= n; l++)
			p->a[l] += 3.0f;
		tree_by_definition(h, (double)0.88f, p->g, p->a, want);
		for (size_t v = 0; v < COUNT(names); v++) {
			const cop_kernel *kernel = cop_kernel_find(names[v]);
			p->s[n] = p->w[n] = -7.0f;
			if (kernel != NULL)
				kernel->tree_backward(h, 0.88f, p->g, p->a, p->w, p->s);
			for (size_t t = 0; kernel != NULL && t < n; t++)
				if (!(fabs((double)p->s[t] - want[t]) <= 4e-6))
					fail_msg("%s h %u node %zu: %g, want %g", names[v], h, t, (double)p->s[t],
					        want[t]);
			assert_true(p->s[n] == -7.0f && p->w[n] == -7.0f); /* and nothing beyond them */
		}
	}
}

static void test_products_every_length_equal_definition(void **state)
{
	problem *p = *state;
	for (size_t v = 0; v < COUNT(names); v++) {
		const cop_kernel *kernel = cop_kernel_find(names[v]);
		for (size_t n = 0; kernel != NULL && n <= 70; n++) {
			fill(p, p->x, 128, 3.0);
			fill(p, p->w, 128, 1.0);
			memcpy(p->w_before, p->w, 128 * sizeof *p->w);
			kernel->products(n, p->x[100], p->x + 3, 5.0f, 0.25f, p->w + 1);
			for (size_t i = 0; i < n; i++) {
				float product = p->x[100] * p->x[3 + i];
				float cut = product > 5.0f ? 5.0f : product < -5.0f ? -5.0f : product;
				assert_true(p->w[1 + i] == 0.25f * cut);
			}
			assert_true(p->w[0] == p->w_before[0]);
			for (size_t i = 1 + cop_kernel_pad(n); i < 128; i++)
				assert_true(p->w[i] == p->w_before[i]);
		}
	}
}

static void test_pad_rounds_up_to_lanes(void **state)
{
	(void)state;
	assert_int_equal(cop_kernel_pad(0), 0);
	assert_int_equal(cop_kernel_pad(1), 16);
	assert_int_equal(cop_kernel_pad(16), 16);
	assert_int_equal(cop_kernel_pad(17), 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forward_any_shape_equals_double_sum),
		cmocka_unit_test(test_rank1_any_shape_equals_definition),
		cmocka_unit_test(test_adagrad_any_shape_equals_definition),
		cmocka_unit_test(test_dot_every_length_and_alignment_equals_double_sum),
		cmocka_unit_test(test_dot_any_alignment_gives_same_bits),
		cmocka_unit_test(test_kernels_same_calls_give_same_bits),
		cmocka_unit_test(test_adagrad_sum_at_its_largest_stays_and_weights_finite),
		cmocka_unit_test(test_forward_column_alone_gives_same_bits),
		cmocka_unit_test(test_forward_sparse_row_of_all_gives_bits_of_dense),
		cmocka_unit_test(test_rmsprop_without_a_past_stays_finite),
		cmocka_unit_test(test_rmsprop_state_that_only_decays_stays_normal),
		cmocka_unit_test(test_find_names_and_best_are_consistent),
		cmocka_unit_test(test_rmsprop_and_within_every_length_equal_definition),
		cmocka_unit_test(test_shrink_equals_inverse_and_stays_symmetric),
		cmocka_unit_test(test_shrink_without_sense_leaves_the_block_alone),
		cmocka_unit_test(test_shrink_of_many_blocks_equals_each_alone),
		cmocka_unit_test(test_tree_backward_every_height_equals_definition),
		cmocka_unit_test(test_products_every_length_equal_definition),
		cmocka_unit_test(test_pad_rounds_up_to_lanes),
	};
	return cmocka_run_group_tests(tests, problem_new, problem_free);
}
