/* Recursive least squares against the normal equations of ridge regression, solved naively in double. */
#include "rows.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "learn/second_order.h"

#define SEED  11U
#define D     8
#define ARMS  3
#define RIDGE 1.5

static cop_second_order *model_of(size_t inputs, size_t arms, bool full)
{
	cop_second_order *model;
	assert_int_equal(
	        cop_second_order_new(cop_kernel_best(), inputs, arms, full ? cop_kernel_pad(inputs) : 0, RIDGE, &model),
	        COP_OK);
	return model;
}

static void learn(cop_second_order *model, const cop_row *x, size_t arm, double loss)
{
	assert_int_equal(cop_second_order_learn(model, x, arm, loss), COP_OK);
}

/* Gauss-Jordan; a (n x n) and b are destroyed, the solution is in b. */
static void solve(size_t n, double a[D][D], double *b)
{
	for (size_t c = 0; c < n; c++) {
		size_t pivot = c;
		for (size_t r = c + 1; r < n; r++)
			if (fabs(a[r][c]) > fabs(a[pivot][c]))
				pivot = r;
		for (size_t j = 0; j < n; j++) {
			double swap = a[c][j];
			a[c][j] = a[pivot][j];
			a[pivot][j] = swap;
		}
		double swap = b[c];
		b[c] = b[pivot];
		b[pivot] = swap;
		for (size_t r = 0; r < n; r++) {
			double factor = r == c ? 0.0 : a[r][c] / a[c][c];
			for (size_t j = 0; j < n; j++)
				a[r][j] -= factor * a[c][j];
			b[r] -= factor * b[c];
		}
	}
	for (size_t c = 0; c < n; c++)
		b[c] /= a[c][c];
}

static void check_weights(const cop_second_order *model, size_t inputs, size_t arm, const double *w, double tolerance)
{
	_Alignas(64) float loss[16];
	float unit[ROW_MAX] = { 0 };
	double norm = 0.0;
	for (size_t j = 0; j < inputs; j++)
		norm = fmax(norm, fabs(w[j]));
	for (size_t j = 0; j < inputs; j++) {
		unit[j] = 1.0f;
		cop_row row = { .d = inputs, .dense = unit };
		cop_second_order_predict(model, &row, loss);
		unit[j] = 0.0f;
		double got = (double)loss[arm] - 0.5;
		if (!(fabs(got - w[j]) <= tolerance * norm))
			fail_msg("weight %zu of arm %zu: %.9g, expected %.9g", j, arm, got, w[j]);
	}
}

static void test_full_after_many_updates_equals_ridge_regression(void **state)
{
	(void)state;
	cop_second_order *model = model_of(D, ARMS, true);
	static double a[ARMS][D][D], b[ARMS][D];
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (size_t k = 0; k < ARMS; k++)
		for (size_t j = 0; j < D; j++)
			a[k][j][j] = RIDGE;
	for (size_t n = 0; n < 3000; n++) {
		test_row r;
		row_random(&r, &rng, D, 0.9, 1);
		r.dense[1] = 0.9f * r.dense[0] + 0.1f * r.dense[1]; /* correlated */
		size_t arm = (size_t)cop_rng_below(&rng, ARMS);
		double loss = cop_rng_unit(&rng) < 1.0 / (1.0 + exp(-(double)r.dense[arm + 1])) ? 1.0 : 0.0;
		cop_row row = row_dense(&r);
		learn(model, &row, arm, loss);
		for (size_t i = 0; i < D; i++) {
			for (size_t j = 0; j < D; j++)
				a[arm][i][j] += (double)r.dense[i] * (double)r.dense[j];
			b[arm][i] += (double)r.dense[i] * (loss - 0.5);
		}
	}
	for (size_t k = 0; k < ARMS; k++) {
		solve(D, a[k], b[k]);
		check_weights(model, D, k, b[k], 1e-3);
	}
	cop_second_order_free(model);
}

static void test_diagonal_on_single_entries_equals_each_inputs_solution(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_second_order *model = model_of(D, ARMS, false);
		double squares[ARMS][D] = { { 0 } }, w[ARMS][D] = { { 0 } };
		cop_rng rng;
		cop_rng_init(&rng, SEED, 1);
		for (size_t n = 0; n < 3000; n++) {
			test_row r = { .d = D };
			size_t j = (size_t)cop_rng_below(&rng, D), arm = (size_t)cop_rng_below(&rng, ARMS);
			double x = 0.5 + cop_rng_unit(&rng), loss = cop_rng_unit(&rng);
			r.dense[j] = (float)x;
			x = (double)r.dense[j];
			row_index(&r);
			cop_row row = sparse ? row_sparse(&r) : row_dense(&r);
			learn(model, &row, arm, loss);
			squares[arm][j] += x * x;
			w[arm][j] += x * (loss - 0.5);
		}
		for (size_t k = 0; k < ARMS; k++) {
			for (size_t j = 0; j < D; j++)
				w[k][j] /= RIDGE + squares[k][j];
			check_weights(model, D, k, w[k], 1e-3);
		}
		cop_second_order_free(model);
	}
}

/* The diagonal recursion of the header, in double, on any rows. */
static void test_diagonal_on_any_rows_equals_recursion(void **state)
{
	(void)state;
	cop_second_order *dense = model_of(D, 1, false), *sparse = model_of(D, 1, false);
	double p[D], w[D] = { 0 };
	for (size_t j = 0; j < D; j++)
		p[j] = 1.0 / RIDGE;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 2);
	for (size_t n = 0; n < 300; n++) {
		test_row r;
		row_random(&r, &rng, D, 0.5, 1);
		double loss = cop_rng_unit(&rng), variance = 1.0, error = loss - 0.5;
		for (size_t j = 0; j < D; j++) {
			variance += p[j] * (double)r.dense[j] * (double)r.dense[j];
			error -= w[j] * (double)r.dense[j];
		}
		for (size_t j = 0; j < D; j++) {
			double gain = p[j] * (double)r.dense[j] / variance;
			w[j] += gain * error;
		}
		cop_row row = row_dense(&r);
		learn(dense, &row, 0, loss);
		row = row_sparse(&r);
		learn(sparse, &row, 0, loss);
		for (size_t j = 0; j < D; j++) /* each input's own variance */
			p[j] = 1.0 / (1.0 / p[j] + (double)r.dense[j] * (double)r.dense[j]);
	}
	check_weights(dense, D, 0, w, 1e-3);
	check_weights(sparse, D, 0, w, 1e-3);
	cop_second_order_free(dense);
	cop_second_order_free(sparse);
}

static void test_predict_before_learning_is_one_half(void **state)
{
	(void)state;
	for (int full = 0; full < 2; full++) {
		cop_second_order *model = model_of(D, 20, full);
		_Alignas(64) float loss[32];
		cop_rng rng;
		cop_rng_init(&rng, SEED, 3);
		test_row r;
		row_random(&r, &rng, D, 0.5, 1);
		cop_row row = row_dense(&r);
		cop_second_order_predict(model, &row, loss);
		for (size_t k = 0; k < 20; k++)
			assert_true(loss[k] == 0.5f);
		learn(model, &row, 19, 1.0);
		cop_second_order_predict(model, &row, loss);
		for (size_t k = 0; k < 19; k++)
			assert_true(loss[k] == 0.5f); /* the others do not move */
		assert_true(loss[19] > 0.5f);
		cop_second_order_free(model);
	}
}

static void train(cop_second_order *model, uint64_t stream, size_t n)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, stream);
	for (size_t i = 0; i < n; i++) {
		test_row r;
		row_random(&r, &rng, D, 0.7, 1);
		cop_row row = row_dense(&r);
		learn(model, &row, (size_t)cop_rng_below(&rng, ARMS), cop_rng_unit(&rng));
	}
}

static void test_explain_sums_to_prediction_heaviest_first(void **state)
{
	(void)state;
	for (int full = 0; full < 2; full++) {
		cop_second_order *model = model_of(D, ARMS, full);
		train(model, 4, 200);
		cop_rng rng;
		cop_rng_init(&rng, SEED, 5);
		for (size_t n = 0; n < 50; n++) {
			_Alignas(64) float loss[16];
			test_row r;
			row_random(&r, &rng, D, 0.7, 1);
			cop_row row = n & 1 && !full ? row_sparse(&r) : row_dense(&r);
			size_t arm = n % ARMS;
			cop_explained_expert expert = { .name = "linear" };
			cop_second_order_predict(model, &row, loss);
			cop_second_order_explain(model, &row, arm, &expert);
			double sum = 0.0;
			assert_in_range(expert.count, 1, COP_EXPLANATION_LINEAR);
			for (size_t i = 0; i < expert.count; i++) {
				const cop_explained_feature *f = &expert.features[i];
				assert_true(f->value == r.dense[f->index]);
				assert_true(
				        fabs((double)f->contribution - (double)f->weight * (double)f->value) < 1e-6);
				if (i > 0)
					assert_true(fabsf(f->contribution) <= fabsf(f[-1].contribution));
				sum += (double)f->contribution;
			}
			assert_true(fabs(sum - expert.linear) < 1e-5); /* D = 8: all inputs are shown */
			assert_true(fabs(0.5 + expert.linear - (double)loss[arm]) < 1e-5);
		}
		cop_second_order_free(model);
	}
}

static void test_load_then_continue_equals_never_stopped(void **state)
{
	(void)state;
	for (int full = 0; full < 2; full++) {
		cop_second_order *a = model_of(D, ARMS, full), *b = model_of(D, ARMS, full);
		cop_second_order *other = model_of(D, ARMS, !full), *narrow = model_of(D - 1, ARMS, full);
		cop_second_order *fewer = model_of(D, ARMS - 1, full);
		cop_bytes first, second;
		cop_cursor cursor;
		cop_bytes_init(&first);
		cop_bytes_init(&second);
		train(a, 6, 300);
		cop_second_order_save(a, &first);
		cop_second_order *const wrong[] = { other, narrow, fewer };
		for (size_t i = 0; i < 3; i++) {
			cop_cursor_init(&cursor, first.data, first.length);
			assert_int_equal(cop_second_order_load(wrong[i], &cursor), COP_ESHAPE);
		}
		for (size_t length = 0; length < first.length; length++) {
			cop_cursor_init(&cursor, first.data, length);
			assert_int_not_equal(cop_second_order_load(b, &cursor), COP_OK);
		}
		cop_cursor_init(&cursor, first.data, first.length);
		assert_int_equal(cop_second_order_load(b, &cursor), COP_OK);
		assert_int_equal(cop_cursor_left(&cursor), 0);
		train(a, 7, 300);
		train(b, 7, 300);
		cop_bytes_clear(&first);
		cop_second_order_save(a, &first);
		cop_second_order_save(b, &second);
		assert_bytes_equal(&first, &second);
		cop_bytes_fini(&first);
		cop_bytes_fini(&second);
		cop_second_order_free(a);
		cop_second_order_free(b);
		for (size_t i = 0; i < 3; i++)
			cop_second_order_free(wrong[i]);
	}
}

static void test_learn_not_finite_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	for (int full = 0; full < 2; full++) {
		cop_second_order *model = model_of(D, ARMS, full);
		cop_bytes before, after;
		cop_bytes_init(&before);
		cop_bytes_init(&after);
		train(model, 8, 50);
		cop_second_order_save(model, &before);
		test_row r = { .d = D };
		for (size_t j = 0; j < D; j++)
			r.dense[j] = 1.0f;
		cop_row row = row_dense(&r);
		assert_int_equal(cop_second_order_learn(model, &row, 0, (double)NAN), COP_EDIVERGED);
		assert_int_equal(cop_second_order_learn(model, &row, 0, (double)INFINITY), COP_EDIVERGED);
		cop_second_order_save(model, &after);
		assert_bytes_equal(&before, &after);
		for (size_t j = 0; j < D; j++)
			r.dense[j] = 3e38f;
		assert_int_equal(cop_second_order_learn(model, &row, 0, 1.0), COP_EDIVERGED);
		cop_bytes_clear(&after);
		cop_second_order_save(model, &after);
		assert_bytes_equal(&before, &after);
		cop_bytes_fini(&before);
		cop_bytes_fini(&after);
		cop_second_order_free(model);
	}
}

static void test_learn_very_many_repeats_stays_finite(void **state)
{
	(void)state;
	for (int full = 0; full < 2; full++) {
		cop_second_order *model = model_of(D, 1, full);
		cop_rng rng;
		cop_rng_init(&rng, SEED, 9);
		test_row base;
		row_random(&base, &rng, D, 1.0, 1);
		for (size_t n = 0; n < 200000; n++) { /* nearly one direction: P becomes badly conditioned */
			test_row r = base;
			r.dense[n % D] += (float)(1e-3 * cop_rng_normal(&rng));
			cop_row row = row_dense(&r);
			learn(model, &row, 0, 0.75);
		}
		_Alignas(64) float loss[16];
		cop_row row = row_dense(&base);
		cop_second_order_predict(model, &row, loss);
		assert_true(fabs((double)loss[0] - 0.75) < 0.02);
		cop_second_order_free(model);
	}
}

/* A P that rounding has made indefinite begins again from its diagonal, and the arm goes on learning. */
static void test_learn_indefinite_matrix_begins_again(void **state)
{
	(void)state;
	cop_second_order *model = model_of(D, 1, true);
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	cop_second_order_save(model, &bytes);
	const size_t side = cop_kernel_pad(D);
	float p[2][2] = { { 0.5f, 3.0f }, { 3.0f, -1.0f } }; /* of inputs 0 and 1 */
	for (size_t i = 0; i < 2; i++)
		memcpy(bytes.data + bytes.length - (D - i) * side * sizeof(float), p[i], sizeof p[i]);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_second_order_load(model, &cursor), COP_OK);
	float x[D] = { 1.0f, -1.0f };
	cop_row row = { .d = D, .dense = x };
	learn(model, &row, 0, 1.0); /* P is now diag(1/2, 1/RIDGE, ...) */
	double spread = 1.0 + 0.5 + 1.0 / RIDGE, w[D] = { 0.5 * 0.5 / spread, -0.5 / RIDGE / spread };
	check_weights(model, D, 0, w, 1e-5);
	for (size_t n = 0; n < 500; n++)
		learn(model, &row, 0, 1.0);
	_Alignas(64) float loss[16];
	cop_second_order_predict(model, &row, loss);
	assert_true(fabs((double)loss[0] - 1.0) < 0.01);
	cop_bytes_fini(&bytes);
	cop_second_order_free(model);
}

static void test_new_wrong_or_short_of_memory_is_refused(void **state)
{
	(void)state;
	const cop_kernel *kernel = cop_kernel_best();
	cop_second_order *model;
	assert_int_equal(cop_second_order_new(kernel, 0, 2, 16, 1.0, &model), COP_EINVAL);
	assert_int_equal(cop_second_order_new(kernel, 2, 0, 16, 1.0, &model), COP_EINVAL);
	assert_int_equal(cop_second_order_new(kernel, 2, 2, 16, 0.0, &model), COP_EINVAL);
	assert_int_equal(cop_second_order_new(kernel, 2, 2, 16, -1.0, &model), COP_EINVAL);
	assert_int_equal(cop_second_order_new(kernel, 2, 2, 16, (double)NAN, &model), COP_EINVAL);
	assert_null(model);
	for (int full = 0; full < 2; full++) {
		cop_err err = COP_ENOMEM;
		for (unsigned long n = 1; err != COP_OK; n++) {
			cop_test_alloc_fail(n, 0);
			err = cop_second_order_new(kernel, D, ARMS, full ? 16 : 0, 1.0, &model);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || (err == COP_ENOMEM && model == NULL));
		}
		cop_test_alloc_fail(0, 0);
		train(model, 10, 10);
		assert_int_equal(cop_test_alloc_count(), 0);
		cop_second_order_free(model);
	}
	cop_second_order_free(NULL);
}

/* A saved model of one arm, its P full of `value` (full: its side is that of a vector; else rows that were learned,
 * each its number, a weight and P). */
static cop_err load_spoiled(cop_second_order *model, bool full, float value)
{
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	cop_second_order_save(model, &bytes);
	const size_t first = full ? 17 + D * sizeof(float) : 17 + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(float);
	const size_t step = full ? sizeof(float) : sizeof(uint32_t) + 2 * sizeof(float);
	for (size_t at = first; at < bytes.length; at += step)
		memcpy(bytes.data + at, &value, sizeof value);
	assert_true(bytes.length > first + (full ? D * sizeof value : 0));
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_err err = cop_second_order_load(model, &cursor);
	cop_bytes_fini(&bytes);
	return err;
}

static void test_spoiled_covariance_never_spoils_weights(void **state)
{
	(void)state;
	static const float spoiled[] = { FLT_MAX, -FLT_MAX, 1e20f, -1e20f, -1.0f, 1e10f };
	float x[D];
	for (size_t j = 0; j < D; j++)
		x[j] = j % 2 == 0 ? 10.0f : -9.0f;
	const cop_row row = { .d = D, .dense = x };
	for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled; i++) {
		cop_second_order *model = model_of(D, 1, true);
		assert_int_equal(load_spoiled(model, true, spoiled[i]), COP_OK);
		for (size_t n = 0; n < 20; n++)
			assert_int_equal(cop_second_order_learn(model, &row, 0, 1.0), COP_OK);
		for (size_t j = 0; j < D; j++)
			assert_true(isfinite(cop_second_order_weights(model)[j]));
		cop_bytes bytes;
		cop_cursor cursor;
		cop_bytes_init(&bytes);
		cop_second_order_save(model, &bytes);
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_second_order_load(model, &cursor), COP_OK);
		cop_bytes_fini(&bytes);
		cop_second_order_free(model);
		model = model_of(D, 1, false); /* a diagonal only ever falls */
		assert_int_equal(cop_second_order_learn(model, &row, 0, 1.0), COP_OK);
		assert_int_equal(load_spoiled(model, false, spoiled[i]), COP_EFORMAT);
		cop_second_order_free(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_after_many_updates_equals_ridge_regression),
		cmocka_unit_test(test_diagonal_on_single_entries_equals_each_inputs_solution),
		cmocka_unit_test(test_diagonal_on_any_rows_equals_recursion),
		cmocka_unit_test(test_predict_before_learning_is_one_half),
		cmocka_unit_test(test_explain_sums_to_prediction_heaviest_first),
		cmocka_unit_test(test_load_then_continue_equals_never_stopped),
		cmocka_unit_test(test_learn_not_finite_is_refused_and_changes_nothing),
		cmocka_unit_test(test_learn_very_many_repeats_stays_finite),
		cmocka_unit_test(test_learn_indefinite_matrix_begins_again),
		cmocka_unit_test(test_new_wrong_or_short_of_memory_is_refused),
		cmocka_unit_test(test_spoiled_covariance_never_spoils_weights),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
