/* Running statistics against two passes in double; saved and loaded states against never having stopped. */
#include "rows.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "learn/standardiser.h"

#define SEED 5U
#define D    7
#define ROWS 1000

static float rows[ROWS][D];

/* Features of very different place and width; the last never varies. */
static void make_rows(void)
{
	static const double centre[D] = { 0.0, 100.0, -3.0, 1e6, 0.0, 1e-6, 0.1 };
	static const double width[D] = { 1.0, 0.5, 20.0, 3.0, 1e-5, 1e-7, 0.0 };
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (size_t i = 0; i < ROWS; i++)
		for (size_t j = 0; j < D; j++)
			rows[i][j] = (float)(centre[j] + width[j] * cop_rng_normal(&rng));
}

static cop_standardiser *standardiser(size_t d, bool sparse, size_t nonzeros)
{
	cop_standardiser *s;
	assert_int_equal(cop_standardiser_new(d, sparse, nonzeros, &s), COP_OK);
	assert_non_null(s);
	return s;
}

static cop_row raw(size_t i) { return (cop_row){ .d = D, .dense = rows[i] }; }

static void two_pass(size_t n, size_t j, double *mean, double *sd)
{
	double sum = 0.0, squares = 0.0;
	for (size_t i = 0; i < n; i++)
		sum += (double)rows[i][j];
	*mean = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += ((double)rows[i][j] - *mean) * ((double)rows[i][j] - *mean);
	*sd = sqrt(squares / (double)n);
}

static void test_dense_after_many_rows_equals_two_passes(void **state)
{
	(void)state;
	cop_standardiser *s = standardiser(D, false, 0);
	make_rows();
	for (size_t i = 0; i < ROWS; i++) {
		cop_row row = raw(i);
		cop_standardiser_observe(s, &row);
	}
	for (size_t i = 0; i < ROWS; i++) {
		cop_row row = raw(i), out;
		cop_standardiser_apply(s, &row, &out);
		assert_int_equal(out.d, D + 1);
		assert_non_null(out.dense);
		assert_true(out.dense[D] == 1.0f);
		assert_true(out.dense[D - 1] == 0.0f); /* never varied */
		for (size_t j = 0; j < D - 1; j++) {
			double mean, sd;
			two_pass(ROWS, j, &mean, &sd);
			double want = ((double)rows[i][j] - mean) / sd;
			double rounded = fabs(mean) * 1.2e-7 / sd; /* as exact as the feature itself */
			assert_true(fabs((double)out.dense[j] - want) < 2e-3 * (1.0 + fabs(want)) + rounded);
		}
	}
	cop_standardiser_free(s);
}

static void test_dense_outlier_is_clipped(void **state)
{
	(void)state;
	cop_standardiser *s = standardiser(D, false, 0);
	make_rows();
	for (size_t i = 0; i < ROWS; i++) {
		cop_row row = raw(i);
		cop_standardiser_observe(s, &row);
	}
	float far[D] = { 100.0f, 50.0f, 1000.0f, 1e6f - 60.0f, 0.0f, 0.0f, 77.0f };
	cop_row row = { .d = D, .dense = far }, out;
	cop_standardiser_apply(s, &row, &out);
	assert_true(out.dense[0] == COP_STANDARDISER_CLIP);
	assert_true(out.dense[1] == -COP_STANDARDISER_CLIP);
	assert_true(out.dense[2] == COP_STANDARDISER_CLIP);
	assert_true(out.dense[3] == -COP_STANDARDISER_CLIP);
	assert_true(out.dense[6] == 0.0f); /* differs now, but never varied in what was observed */
	float wild[D] = { 1e30f, -1e30f, -9999.0f * 20.0f, 1e9f, 0.0f, 0.0f, 77.0f };
	row.dense = wild;
	cop_standardiser_apply(s, &row, &out);
	for (size_t j = 0; j < 4; j++)
		assert_true(out.dense[j] == 0.0f); /* stands for no value: as the mean */
	cop_standardiser_free(s);
}

static void test_dense_hostile_values_stay_finite(void **state)
{
	(void)state;
	cop_standardiser *s = standardiser(3, false, 0);
	const float extremes[] = { 3.4e38f, -3.4e38f, 1e-45f, 0.0f, -0.0f, 1e20f };
	cop_row out;
	for (size_t i = 0; i < 60; i++) {
		float x[3] = { extremes[i % 6], extremes[(i / 6) % 6], extremes[(i * 5 + 1) % 6] };
		cop_row row = { .d = 3, .dense = x };
		cop_standardiser_apply(s, &row, &out); /* before the first observe, too */
		cop_standardiser_observe(s, &row);
		cop_standardiser_apply(s, &row, &out);
		for (size_t j = 0; j < 4; j++)
			assert_true(fabsf(out.dense[j]) <= COP_STANDARDISER_CLIP);
	}
	cop_standardiser_free(s);
}

/* Standard deviation that a dense feature is divided by. */
static double sd_of(const cop_standardiser *s, size_t j)
{
	double shift, scale;
	cop_standardiser_way(s, j, &shift, &scale);
	assert_true(scale > 0.0);
	return 1.0 / scale;
}

static void observe_normal(cop_standardiser *s, cop_rng *rng, size_t n, double mean, double sd)
{
	for (size_t i = 0; i < n; i++) {
		float x = (float)(mean + sd * cop_rng_normal(rng));
		cop_row row = { .d = 1, .dense = &x };
		cop_standardiser_observe(s, &row);
	}
}

static void observe_one(cop_standardiser *s, float x)
{
	cop_row row = { .d = 1, .dense = &x };
	cop_standardiser_observe(s, &row);
}

static void test_one_huge_value_moves_statistics_little(void **state)
{
	(void)state;
	static const size_t at[] = { 0, 5, 15, 31, 32, 100, 5000 };
	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		cop_standardiser *s = standardiser(1, false, 0);
		cop_outliers outliers;
		cop_rng rng;
		double shift, scale;
		cop_rng_init(&rng, SEED, 50 + at[i]);
		observe_normal(s, &rng, at[i], 3.0, 2.0);
		observe_one(s, 1e12f);
		cop_standardiser_outliers(s, &outliers);
		assert_int_equal(outliers.values, at[i] >= 8);
		assert_true(at[i] < 8 || outliers.value == 1e12f);
		observe_normal(s, &rng, 40, 3.0, 2.0);
		cop_standardiser_way(s, 0, &shift, &scale);
		assert_true(sd_of(s, 0) > 1.0 && sd_of(s, 0) < 6.0);
		assert_true(fabs(shift - 3.0) < 2.0);
		cop_standardiser_free(s);
	}
}

static void test_sentinels_move_statistics_little(void **state)
{
	(void)state;
	cop_standardiser *s = standardiser(1, false, 0);
	cop_outliers outliers;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 51);
	for (size_t i = 0; i < 100; i++) {
		observe_one(s, -9999.0f);
		observe_normal(s, &rng, 99, 3.0, 2.0);
	}
	assert_true(sd_of(s, 0) > 1.9 && sd_of(s, 0) < 2.6);
	cop_standardiser_outliers(s, &outliers);
	assert_true(outliers.values >= 95 && outliers.values <= 105);
	cop_standardiser_free(s);
}

static void test_a_lasting_change_is_followed_in_tens_of_rows(void **state)
{
	(void)state;
	static const struct {
		double mean, sd;
		size_t rows; /* until it is followed */
	} after[] = { { 3000.0, 2000.0, 100 }, { 3e5, 2.0, 100 }, { 3.0, 2e6, 100 }, { 3.0, 0.002, 800 } };
	for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
		cop_standardiser *s = standardiser(1, false, 0);
		cop_outliers outliers;
		cop_rng rng;
		double shift, scale, resolution = after[i].mean * 6e-8;
		cop_rng_init(&rng, SEED, 60 + i);
		observe_normal(s, &rng, 3000, 3.0, 2.0);
		observe_normal(s, &rng, after[i].rows, after[i].mean, after[i].sd);
		cop_standardiser_way(s, 0, &shift, &scale);
		cop_standardiser_outliers(s, &outliers);
		assert_true(outliers.rescaled >= 1);
		assert_true(sd_of(s, 0) > 0.5 * after[i].sd && sd_of(s, 0) < 2.0 * after[i].sd + 2.0 * resolution);
		assert_true(fabs(shift - after[i].mean) < after[i].sd + 2.0 * resolution);
		cop_standardiser_free(s);
	}
}

/* Constant but for a one now and then: that is no outlier, and stays apart from the rest. */
static void test_rare_values_of_a_constant_feature_are_seen(void **state)
{
	(void)state;
	cop_standardiser *s = standardiser(1, false, 0);
	cop_outliers outliers;
	cop_row out;
	for (size_t i = 0; i < 20000; i++) {
		float x = i % 500 == 499 ? 1.0f : 0.0f;
		cop_row row = { .d = 1, .dense = &x };
		cop_standardiser_observe(s, &row);
		cop_standardiser_apply(s, &row, &out);
		if (i > 1000)
			assert_true(x == 1.0f ? out.dense[0] == COP_STANDARDISER_CLIP : fabsf(out.dense[0]) < 0.2f);
	}
	cop_standardiser_outliers(s, &outliers);
	assert_true(outliers.values == 0 && outliers.rescaled == 0);
	cop_standardiser_free(s);
}

static void test_a_mean_of_millions_of_deviations_is_not_constant(void **state)
{
	(void)state;
	static const double means[] = { 1e6, -3e6, 1.7e9 }, sds[] = { 1.0, 1.0, 200.0 };
	for (size_t i = 0; i < 3; i++) {
		cop_standardiser *s = standardiser(1, false, 0);
		cop_rng rng;
		double squares = 0.0;
		cop_rng_init(&rng, SEED, 70 + i);
		observe_normal(s, &rng, 2000, means[i], sds[i]);
		for (size_t n = 0; n < 1000; n++) {
			double normal = cop_rng_normal(&rng);
			float x = (float)(means[i] + sds[i] * normal);
			cop_row row = { .d = 1, .dense = &x }, out;
			cop_standardiser_apply(s, &row, &out);
			squares += ((double)out.dense[0] - normal) * ((double)out.dense[0] - normal) / 1000.0;
		}
		assert_true(sqrt(squares) < 0.5); /* as exact as floats are there */
		cop_standardiser_free(s);
	}
}

/* Sparse: root mean square, from the first value on, and for good. */
static void test_sparse_huge_values_are_forgotten(void **state)
{
	(void)state;
	const uint32_t index[1] = { 0 };
	for (size_t at = 0; at <= 100; at += 50) {
		cop_standardiser *s = standardiser(1, true, 1);
		double shift, scale;
		for (size_t i = 0; i < 200; i++) {
			float x = i == at ? 1e12f : i % 2 == 0 ? 2.0f : -2.0f;
			cop_row row = { .d = 1, .nnz = 1, .index = index, .value = &x };
			cop_standardiser_observe(s, &row);
		}
		cop_standardiser_way(s, 0, &shift, &scale);
		assert_true(1.0 / scale > 1.5 && 1.0 / scale < 2.6);
		for (size_t i = 0; i < 40; i++) { /* the unit changes */
			float x = i % 2 == 0 ? 2000.0f : -2000.0f;
			cop_row row = { .d = 1, .nnz = 1, .index = index, .value = &x };
			cop_standardiser_observe(s, &row);
		}
		cop_standardiser_way(s, 0, &shift, &scale);
		assert_true(1.0 / scale > 1500.0 && 1.0 / scale < 2500.0);
		cop_standardiser_free(s);
	}
}

/* The first value of all is huge: eight usual ones after it are enough to begin anew. */
static void test_sparse_huge_first_value_is_soon_forgotten(void **state)
{
	(void)state;
	const uint32_t index[1] = { 0 };
	cop_standardiser *s = standardiser(1, true, 1);
	double shift, scale;
	for (size_t i = 0; i <= 8; i++) {
		float x = i == 0 ? 1e12f : 2.0f;
		cop_row row = { .d = 1, .nnz = 1, .index = index, .value = &x };
		cop_standardiser_observe(s, &row);
		cop_standardiser_way(s, 0, &shift, &scale);
		assert_true(i < 8 ? scale < 1e-11 : scale > 0.4 && scale < 0.6);
	}
	cop_standardiser_free(s);
}

/* As 0.1.0's first checkpoints have it: rows, means, sums of squared deviations (sparse: presences, squares). */
static void test_statistics_without_limits_are_read(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_standardiser *s = standardiser(2, sparse, 2);
		cop_bytes bytes;
		cop_cursor cursor;
		double shift, scale;
		cop_bytes_init(&bytes);
		cop_bytes_put_u64(&bytes, 2);
		cop_bytes_put_u8(&bytes, (uint8_t)sparse);
		cop_bytes_put_f64(&bytes, sparse ? 0.0 : 100.0);
		cop_bytes_put_f64s(
		        &bytes, sparse ? (const double[]){ 100.0, 100.0 } : (const double[]){ 5.0, -1.0 }, 2);
		cop_bytes_put_f64s(&bytes, (const double[]){ 400.0, 900.0 }, 2);
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_standardiser_load(s, &cursor), COP_OK);
		assert_int_equal(cop_cursor_left(&cursor), 0);
		cop_standardiser_way(s, 0, &shift, &scale);
		assert_true(shift == (sparse ? 0.0 : 5.0) && scale == 0.5);
		cop_outliers outliers;
		float x[2] = { 1e12f, -1.0f };
		const uint32_t index[2] = { 0, 1 };
		cop_row row = { .d = 2, .dense = sparse ? NULL : x, .nnz = 2, .index = index, .value = x };
		cop_standardiser_observe(s, &row);
		cop_standardiser_outliers(s, &outliers);
		assert_true(outliers.values == 1 && outliers.feature == 0);
		cop_bytes_fini(&bytes);
		cop_standardiser_free(s);
	}
}

/* Once subnormal, then 0: a spread whose inverse is no float. Applied to rows that were not observed, too. */
static void test_subnormal_or_opposite_values_stay_finite(void **state)
{
	(void)state;
	static const float tiny[] = { 1e-45f, 1e-44f, 2e-39f, 3e-39f, 1.2e-38f };
	const uint32_t index[2] = { 0, 1 };
	for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++)
		for (int sparse = 0; sparse < 2; sparse++) {
			cop_standardiser *s = standardiser(2, sparse, 2);
			for (size_t n = 0; n < 20; n++) {
				float x[2] = { n == 0 ? tiny[i] : 0.0f, -3.4e38f }, far[2] = { 0.0f, 3.4e38f };
				cop_row row = {
					.d = 2, .dense = sparse ? NULL : x, .nnz = 2, .index = index, .value = x
				};
				cop_row other = row, out;
				other.dense = sparse ? NULL : far;
				other.value = far;
				cop_standardiser_observe(s, &row);
				for (size_t j = 0; j < 2; j++) {
					cop_standardiser_apply(s, j == 0 ? &row : &other, &out);
					for (size_t k = 0; k < 3; k++)
						assert_true(fabsf(cop_row_value(&out, k)) <= COP_STANDARDISER_CLIP);
				}
			}
			cop_standardiser_free(s);
		}
}

static void test_sparse_divides_by_rms_where_present(void **state)
{
	(void)state;
	const size_t d = 50;
	cop_standardiser *s = standardiser(d, true, 20);
	double squares[50] = { 0 }, count[50] = { 0 };
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	test_row r;
	for (size_t i = 0; i < 500; i++) {
		do
			row_random(&r, &rng, d, 0.2, 0);
		while (r.nnz > 20);
		for (size_t e = 0; e < r.nnz; e++) {
			r.value[e] *= (float)(1 + r.index[e]);
			squares[r.index[e]] += (double)r.value[e] * (double)r.value[e];
			count[r.index[e]]++;
		}
		cop_row row = row_sparse(&r), out;
		cop_standardiser_observe(s, &row);
		cop_standardiser_apply(s, &row, &out);
		assert_null(out.dense);
		assert_int_equal(out.d, d + 1);
		assert_int_equal(out.nnz, r.nnz + 1);
		assert_int_equal(out.index[r.nnz], d);
		assert_true(out.value[r.nnz] == 1.0f);
		for (size_t e = 0; e < r.nnz; e++) {
			double rms = sqrt(squares[r.index[e]] / count[r.index[e]]);
			double want = (double)r.value[e] / rms;
			want = fmax(-5.0, fmin(5.0, want));
			assert_int_equal(out.index[e], r.index[e]);
			assert_true(fabs((double)out.value[e] - want) < 1e-4);
		}
	}
	cop_standardiser_free(s);
}

static void test_sparse_hostile_values_stay_finite(void **state)
{
	(void)state;
	cop_standardiser *s = standardiser(4, true, 3);
	const float extremes[] = { 3.4e38f, -3.4e38f, 1e-45f, 0.0f, -0.0f, 1e20f };
	for (size_t i = 0; i < 60; i++) {
		const uint32_t index[3] = { 0, 1, 3 };
		float x[3] = { extremes[i % 6], extremes[(i / 6) % 6], extremes[(i * 5 + 1) % 6] };
		cop_row row = { .d = 4, .nnz = 3, .index = index, .value = x }, out;
		cop_standardiser_apply(s, &row, &out);
		for (size_t e = 0; e < out.nnz; e++)
			assert_true(fabsf(out.value[e]) <= COP_STANDARDISER_CLIP);
		cop_standardiser_observe(s, &row);
		cop_standardiser_apply(s, &row, &out);
		for (size_t e = 0; e < out.nnz; e++)
			assert_true(fabsf(out.value[e]) <= COP_STANDARDISER_CLIP);
	}
	cop_row none = { .d = 4, .nnz = 0, .index = NULL, .value = NULL }, out;
	cop_standardiser_observe(s, &none);
	cop_standardiser_apply(s, &none, &out);
	assert_int_equal(out.nnz, 1); /* the constant */
	cop_standardiser_free(s);
}

static void observe_some(cop_standardiser *s, int sparse, uint64_t stream, size_t n)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, stream);
	test_row r;
	for (size_t i = 0; i < n; i++) {
		row_random(&r, &rng, 12, 0.5, 0);
		cop_row row = sparse ? row_sparse(&r) : row_dense(&r);
		cop_standardiser_observe(s, &row);
	}
}

static void test_load_then_continue_equals_never_stopped(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_standardiser *a = standardiser(12, sparse, 12), *b = standardiser(12, sparse, 12);
		cop_bytes first, second;
		cop_cursor cursor;
		cop_bytes_init(&first);
		cop_bytes_init(&second);
		observe_some(a, sparse, 2, 300);
		cop_standardiser_save(a, &first);
		cop_cursor_init(&cursor, first.data, first.length);
		assert_int_equal(cop_standardiser_load(b, &cursor), COP_OK);
		assert_int_equal(cop_cursor_left(&cursor), 0);
		observe_some(a, sparse, 3, 300);
		observe_some(b, sparse, 3, 300);
		cop_bytes_clear(&first);
		cop_standardiser_save(a, &first);
		cop_standardiser_save(b, &second);
		assert_bytes_equal(&first, &second);
		cop_bytes_fini(&first);
		cop_bytes_fini(&second);
		cop_standardiser_free(a);
		cop_standardiser_free(b);
	}
}

/* A state of one feature that says so. */
static cop_err load_of(bool sparse, double count, double seen_or_mean, double spread)
{
	cop_standardiser *s = standardiser(1, sparse, 1);
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	cop_bytes_put_u64(&bytes, 1);
	cop_bytes_put_u8(&bytes, sparse);
	cop_bytes_put_f64(&bytes, count);
	cop_bytes_put_f64(&bytes, seen_or_mean);
	cop_bytes_put_f64(&bytes, spread);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_err err = cop_standardiser_load(s, &cursor);
	cop_bytes_fini(&bytes);
	cop_standardiser_free(s);
	return err;
}

static void test_load_of_impossible_statistics_is_refused(void **state)
{
	(void)state;
	double largest = (double)FLT_MAX;
	assert_int_equal(load_of(false, 2.0, largest, 2.0 * largest * largest), COP_OK);
	assert_int_equal(load_of(false, 2.0, 1e300, 1.0), COP_EFORMAT);
	assert_int_equal(load_of(false, 2.0, 1.0, 1e300), COP_EFORMAT);
	assert_int_equal(load_of(false, 2.0, 1.0, -1.0), COP_EFORMAT);
	assert_int_equal(load_of(false, -1.0, 1.0, 1.0), COP_EFORMAT);
	assert_int_not_equal(load_of(false, (double)NAN, 1.0, 1.0), COP_OK);
	assert_int_equal(load_of(false, 0.0, 0.0, 1.0), COP_EFORMAT);
	assert_int_equal(load_of(true, 0.0, 3.0, 3.0), COP_OK);
	assert_int_equal(load_of(true, 0.0, -3.0, 3.0), COP_EFORMAT);
	assert_int_equal(load_of(true, 0.0, 1e300, 3.0), COP_EFORMAT);
	assert_int_equal(load_of(true, 0.0, 3.0, 1e300), COP_EFORMAT);
}

static void test_load_wrong_shape_or_cut_is_refused(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_standardiser *a = standardiser(12, sparse, 12);
		cop_standardiser *narrow = standardiser(11, sparse, 12), *other = standardiser(12, !sparse, 12);
		cop_bytes bytes;
		cop_cursor cursor;
		cop_bytes_init(&bytes);
		observe_some(a, sparse, 2, 30);
		cop_standardiser_save(a, &bytes);
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_standardiser_load(narrow, &cursor), COP_ESHAPE);
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_standardiser_load(other, &cursor), COP_ESHAPE);
		for (size_t length = 0; length < bytes.length; length++) {
			cop_cursor_init(&cursor, bytes.data, length);
			assert_int_not_equal(cop_standardiser_load(a, &cursor), COP_OK);
		}
		for (size_t at = 0; at < bytes.length; at++) { /* any answer but a crash; values stay usable */
			uint8_t old = bytes.data[at];
			bytes.data[at] = 0xff;
			cop_cursor_init(&cursor, bytes.data, bytes.length);
			if (cop_standardiser_load(a, &cursor) == COP_OK)
				observe_some(a, sparse, 4, 2);
			bytes.data[at] = old;
		}
		cop_bytes_fini(&bytes);
		cop_standardiser_free(a);
		cop_standardiser_free(narrow);
		cop_standardiser_free(other);
	}
}

static void test_new_wrong_or_short_of_memory_is_refused(void **state)
{
	(void)state;
	cop_standardiser *s;
	assert_int_equal(cop_standardiser_new(0, false, 0, &s), COP_EINVAL);
	assert_null(s);
	assert_int_equal(cop_standardiser_new(4, true, 0, &s), COP_EINVAL);
	assert_null(s);
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_err err = COP_ENOMEM;
		for (unsigned long n = 1; err != COP_OK; n++) {
			cop_test_alloc_fail(n, 0);
			err = cop_standardiser_new(8, sparse, 4, &s);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || (err == COP_ENOMEM && s == NULL));
		}
		cop_standardiser_free(s);
	}
	cop_standardiser_free(NULL);
}

/* Statistics of each feature are those of its known values alone, whatever else comes by. */
static void test_unknown_values_move_nothing_and_give_0(void **state)
{
	enum { FEATURES = 7, FIRST = 3 };
	(void)state;
	cop_standardiser *all = standardiser(FEATURES, false, 0), *alone = standardiser(1, false, 0);
	cop_rng rng;
	double sum = 0.0;
	size_t n = 0;
	assert_int_equal(cop_standardiser_know(all, FIRST), COP_OK);
	cop_rng_init(&rng, SEED, 77);
	for (int i = 0; i < ROWS; i++) {
		float x[FEATURES];
		for (size_t j = 0; j < FEATURES; j++)
			x[j] = (float)(5.0 + (double)j * cop_rng_normal(&rng));
		for (size_t j = FIRST; j < FEATURES; j++)
			x[j] = cop_rng_unit(&rng) < 0.5 || j == FEATURES - 1 ? NAN : x[j];
		const cop_row row = { .d = FEATURES, .dense = x }, first = { .d = 1, .dense = x };
		cop_row out, filled;
		cop_standardiser_observe(all, &row);
		cop_standardiser_observe(alone, &first);
		cop_standardiser_apply(all, &row, &out);
		for (size_t j = 0; j < FEATURES; j++)
			assert_true(isfinite(out.dense[j]) && (!isnan(x[j]) || out.dense[j] == 0.0f));
		assert_true(cop_standardiser_fill(all, &row, &filled)); /* the last one is never known */
		assert_true(filled.dense[FEATURES - 1] == 0.0f && filled.dense[0] == x[0]);
		n += isnan(x[4]) ? 0 : 1;
		sum += isnan(x[4]) ? 0.0 : (double)x[4];
	}
	double shift, scale, own_shift, own_scale;
	cop_standardiser_way(all, 0, &shift, &scale);
	cop_standardiser_way(alone, 0, &own_shift, &own_scale);
	assert_true(shift == own_shift && scale == own_scale);
	cop_standardiser_way(all, 4, &shift, &scale);
	assert_true(fabs(shift - sum / (double)n) < 0.1 && fabs(scale - 0.25) < 0.05);
	cop_standardiser_way(all, FEATURES - 1, &shift, &scale);
	assert_true(scale == 0.0);
	cop_outliers outliers;
	cop_standardiser_outliers(all, &outliers);
	assert_int_equal(outliers.rescaled, 0);
	cop_standardiser_free(all);
	cop_standardiser_free(alone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_values_move_nothing_and_give_0),
		cmocka_unit_test(test_dense_after_many_rows_equals_two_passes),
		cmocka_unit_test(test_dense_outlier_is_clipped),
		cmocka_unit_test(test_dense_hostile_values_stay_finite),
		cmocka_unit_test(test_one_huge_value_moves_statistics_little),
		cmocka_unit_test(test_sentinels_move_statistics_little),
		cmocka_unit_test(test_a_lasting_change_is_followed_in_tens_of_rows),
		cmocka_unit_test(test_rare_values_of_a_constant_feature_are_seen),
		cmocka_unit_test(test_a_mean_of_millions_of_deviations_is_not_constant),
		cmocka_unit_test(test_sparse_huge_values_are_forgotten),
		cmocka_unit_test(test_sparse_huge_first_value_is_soon_forgotten),
		cmocka_unit_test(test_statistics_without_limits_are_read),
		cmocka_unit_test(test_subnormal_or_opposite_values_stay_finite),
		cmocka_unit_test(test_sparse_divides_by_rms_where_present),
		cmocka_unit_test(test_sparse_hostile_values_stay_finite),
		cmocka_unit_test(test_load_then_continue_equals_never_stopped),
		cmocka_unit_test(test_load_of_impossible_statistics_is_refused),
		cmocka_unit_test(test_load_wrong_shape_or_cut_is_refused),
		cmocka_unit_test(test_new_wrong_or_short_of_memory_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
