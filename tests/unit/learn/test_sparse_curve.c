/* Steps against a naive reference with whole matrices, what is learned, and states saved and cut. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "learn/sparse_curve.h"

#define N      COP_SPARSE_CURVE_DEGREES
#define INPUTS 12
#define RIDGE  0.5

typedef struct event {
	float value[3];
	uint32_t index[3];
	double a[N], loss;
	cop_row row;
} event;

static void draw(event *e, cop_rng *rng)
{
	double z = 2.0 * cop_rng_unit(rng) - 1.0;
	e->a[0] = 1.0;
	for (size_t n = 1; n < N; n++)
		e->a[n] = e->a[n - 1] * z;
	for (size_t i = 0; i < 3; i++) {
		e->index[i] = (uint32_t)(4 * i + cop_rng_below(rng, 4));
		e->value[i] = i == 2 ? 1.0f : (float)cop_rng_normal(rng);
	}
	e->loss = (double)e->value[0] * (0.3 - 0.8 * z) + (double)e->value[1] * 0.5 * z * z;
	e->row = (cop_row){ .d = INPUTS, .nnz = 3, .index = e->index, .value = e->value };
}

/* As the header has it, P inverted anew from the sums each time is what Sherman and Morrison give; here by steps on
 * whole matrices in double. */
typedef struct naive {
	double w[INPUTS][N], p[INPUTS][N][N], count[INPUTS];
} naive;

static void product(const naive *r, size_t j, const double *a, double *out)
{
	for (size_t n = 0; n < N; n++) {
		out[n] = 0.0;
		for (size_t m = 0; m < N; m++)
			out[n] += r->p[j][n][m] * a[m];
	}
}

static double dot(const double *a, const double *b)
{
	double sum = 0.0;
	for (size_t n = 0; n < N; n++)
		sum += a[n] * b[n];
	return sum;
}

static void naive_learn(naive *r, const event *e)
{
	double rest = e->loss, spread = 1.0, pa[N];
	for (size_t i = 0; i < 3; i++) {
		double x = (double)e->value[i];
		product(r, e->index[i], e->a, pa);
		rest -= x * dot(r->w[e->index[i]], e->a);
		spread += x * x * dot(pa, e->a);
	}
	for (size_t i = 0; i < 3; i++) {
		size_t j = e->index[i];
		double x = (double)e->value[i];
		double weight = x * x / sqrt(r->count[j] + 1.0);
		product(r, j, e->a, pa);
		double under = 1.0 + weight * dot(pa, e->a);
		r->count[j] += 1.0;
		for (size_t n = 0; n < N; n++) {
			r->w[j][n] += rest / spread * x * pa[n];
			for (size_t m = 0; m < N; m++)
				r->p[j][n][m] -= weight * pa[n] * pa[m] / under;
		}
	}
}

static cop_sparse_curve *curve_new(void)
{
	cop_sparse_curve *curve;
	assert_int_equal(cop_sparse_curve_new(INPUTS, RIDGE, &curve), COP_OK);
	return curve;
}

static void test_steps_equal_those_on_whole_matrices(void **state)
{
	(void)state;
	cop_sparse_curve *curve = curve_new();
	static naive r;
	cop_rng rng;
	cop_rng_init(&rng, 3, 1);
	for (size_t j = 0; j < INPUTS; j++)
		for (size_t n = 0; n < N; n++)
			r.p[j][n][n] = 1.0 / RIDGE;
	for (size_t i = 0; i < 2000; i++) {
		event e;
		double got[N], expected[N] = { 0.0 };
		draw(&e, &rng);
		naive_learn(&r, &e);
		assert_int_equal(cop_sparse_curve_learn(curve, &e.row, e.a, e.loss), COP_OK);
		cop_sparse_curve_coefficients(curve, &e.row, got);
		for (size_t k = 0; k < 3; k++)
			for (size_t n = 0; n < N; n++)
				expected[n] += (double)e.value[k] * r.w[e.index[k]][n];
		for (size_t n = 0; n < N; n++)
			assert_true(fabs(got[n] - expected[n]) < 1e-3);
	}
	cop_sparse_curve_free(curve);
}

static double error_of(const cop_sparse_curve *curve)
{
	double sum = 0.0, c[N];
	cop_rng rng;
	cop_rng_init(&rng, 4, 1);
	for (size_t i = 0; i < 500; i++) {
		event e;
		draw(&e, &rng);
		cop_sparse_curve_coefficients(curve, &e.row, c);
		sum += pow(dot(c, e.a) - e.loss, 2.0);
	}
	return sum / 500.0;
}

static void test_coefficients_that_hang_on_the_context_are_learned(void **state)
{
	(void)state;
	cop_sparse_curve *curve = curve_new();
	cop_rng rng;
	cop_rng_init(&rng, 5, 1);
	double before = error_of(curve);
	for (size_t i = 0; i < 5000; i++) {
		event e;
		draw(&e, &rng);
		assert_int_equal(cop_sparse_curve_learn(curve, &e.row, e.a, e.loss), COP_OK);
	}
	assert_true(before > 0.1 && error_of(curve) < 1e-3 * before);
	cop_sparse_curve_free(curve);
}

static void test_saved_curve_goes_on_and_cut_ones_are_refused(void **state)
{
	(void)state;
	cop_sparse_curve *curve = curve_new(), *again = curve_new(), *other;
	cop_bytes bytes = { 0 }, later = { 0 };
	cop_cursor cursor;
	cop_rng rng;
	event e;
	cop_rng_init(&rng, 6, 1);
	for (size_t i = 0; i < 5; i++) {
		draw(&e, &rng);
		assert_int_equal(cop_sparse_curve_learn(curve, &e.row, e.a, e.loss), COP_OK);
	}
	cop_sparse_curve_save(curve, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_sparse_curve_load(again, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	assert_int_equal(cop_sparse_curve_learn(curve, &e.row, e.a, 1.0), COP_OK);
	assert_int_equal(cop_sparse_curve_learn(again, &e.row, e.a, 1.0), COP_OK);
	cop_bytes_clear(&bytes);
	cop_sparse_curve_save(curve, &bytes);
	cop_sparse_curve_save(again, &later);
	assert_int_equal(bytes.length, later.length);
	assert_memory_equal(bytes.data, later.data, bytes.length);
	for (size_t cut = 0; cut < bytes.length; cut++) {
		cop_cursor_init(&cursor, bytes.data, cut);
		assert_int_not_equal(cop_sparse_curve_load(again, &cursor), COP_OK);
	}
	assert_int_equal(cop_sparse_curve_new(INPUTS + 1, RIDGE, &other), COP_OK);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_sparse_curve_load(other, &cursor), COP_ESHAPE);
	bytes.data[16] = INPUTS; /* the first input's number */
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_sparse_curve_load(again, &cursor), COP_EFORMAT);
	cop_sparse_curve_free(curve);
	cop_sparse_curve_free(again);
	cop_sparse_curve_free(other);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&later);
}

static void test_what_cannot_be_is_refused(void **state)
{
	(void)state;
	cop_sparse_curve *curve;
	double c[N];
	event e;
	cop_rng rng;
	cop_rng_init(&rng, 7, 1);
	draw(&e, &rng);
	assert_int_equal(cop_sparse_curve_new(0, RIDGE, &curve), COP_EINVAL);
	assert_int_equal(cop_sparse_curve_new(INPUTS, 0.0, &curve), COP_EINVAL);
	curve = curve_new();
	assert_int_equal(cop_sparse_curve_learn(curve, &e.row, e.a, 1e16), COP_EDIVERGED);
	assert_int_equal(cop_sparse_curve_learn(curve, &e.row, e.a, (double)NAN), COP_EDIVERGED);
	cop_sparse_curve_coefficients(curve, &e.row, c);
	for (size_t n = 0; n < N; n++)
		assert_true(c[n] == 0.0);
	cop_sparse_curve_free(curve);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_equal_those_on_whole_matrices),
		cmocka_unit_test(test_coefficients_that_hang_on_the_context_are_learned),
		cmocka_unit_test(test_saved_curve_goes_on_and_cut_ones_are_refused),
		cmocka_unit_test(test_what_cannot_be_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
