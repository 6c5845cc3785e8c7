#include "support.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "table/table.h"

static void read_training(
        const char *text, bool libsvm, cop_table_settings settings, cop_dataset **data, cop_encoder **p)
{
	cop_stream *stream;
	cop_diag diag;
	assert_int_equal(cop_stream_open_memory("t", text, strlen(text), &stream, NULL), COP_OK);
	if (cop_table_training_from(stream, libsvm, &settings, data, p, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	cop_stream_free(stream);
}

static cop_dataset *rows(size_t n, size_t d, const float *x)
{
	cop_dataset *data;
	assert_int_equal(cop_dataset_new_dense(d, &data), COP_OK);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(cop_dataset_push_dense(data, x + i * d, (double)i), COP_OK);
	return data;
}

static cop_encoder *made(size_t d, size_t classes, cop_scaling scaling, bool scale_target)
{
	cop_encoder *p;
	assert_int_equal(cop_encoder_new(d, classes, &p), COP_OK);
	cop_encoder_set_scaling(p, scaling, scale_target);
	return p;
}

/* ---- scale ---- */

static void test_preparation_standardises_to_mean_0_and_sd_1(void **state)
{
	(void)state;
	enum { ROWS = 500, D = 4 };
	cop_rng rng;
	float x[ROWS * D];
	cop_rng_init(&rng, 4, 0);
	for (size_t i = 0; i < ROWS; i++) {
		x[i * D] = (float)(1000 + 3 * cop_rng_normal(&rng));
		x[i * D + 1] = (float)(1e-6 * cop_rng_unit(&rng));
		x[i * D + 2] = 0.1f; /* constant */
		x[i * D + 3] = (float)(1e30 * cop_rng_normal(&rng));
	}
	cop_dataset *data = rows(ROWS, D, x);
	cop_encoder *p = made(D, 2, COP_SCALE_STANDARD, false);
	assert_int_equal(cop_encoder_fit(p, data, data->n, NULL), COP_OK);
	cop_encoder_apply(p, data);
	for (size_t j = 0; j < D; j++) {
		double mean = 0, square = 0, shift, scale;
		for (size_t i = 0; i < ROWS; i++) {
			mean += (double)data->x[i * D + j] / ROWS;
			square += (double)data->x[i * D + j] * (double)data->x[i * D + j] / ROWS;
		}
		assert_true(fabs(mean) < 1e-5 && fabs(square - (j == 2 ? 0 : 1)) < 1e-5);
		cop_encoder_scale(p, j, &shift, &scale);
		assert_true(data->x[j] == (float)(((double)x[j] - shift) * scale));
		assert_true((scale == 0) == (j == 2));
	}
	cop_dataset_free(data);
	cop_encoder_free(p);
}

static void test_preparation_scales_by_range_and_maximum(void **state)
{
	(void)state;
	static const float x[] = { 1, -4, 5, 3, 0, 5, 2, 4, 5 };
	static const float range[] = { 0, 0, 0, 1, 0.5f, 0, 0.5f, 1, 0 };
	static const float maximum[] = { 0.2f, -0.8f, 0, 0.6f, 0, 0, 0.4f, 0.8f, 0 };
	for (int k = 0; k < 2; k++) {
		cop_dataset *data = rows(3, 3, x);
		cop_encoder *p = made(3, 0, k == 0 ? COP_SCALE_RANGE : COP_SCALE_MAXIMUM, false);
		assert_int_equal(cop_encoder_fit(p, data, 3, NULL), COP_OK);
		cop_encoder_apply(p, data);
		for (size_t i = 0; i < 9; i++)
			assert_true(fabsf(data->x[i] - (k == 0 ? range : maximum)[i]) < 1e-6f);
		cop_dataset_free(data);
		cop_encoder_free(p);
	}
}

static void test_preparation_is_fitted_on_the_rows_given(void **state)
{
	(void)state;
	static const float x[] = { 100, 1, 3, -50 };
	static const uint32_t row[] = { 2, 1, 1, 2 };
	cop_dataset *data = rows(4, 1, x);
	cop_encoder *p = made(1, 0, COP_SCALE_STANDARD, true);
	double shift, scale;
	assert_int_equal(cop_encoder_fit(p, data, 4, row), COP_OK);
	cop_encoder_scale(p, 0, &shift, &scale);
	assert_true(shift == 2 && scale == 1);
	assert_true(cop_encoder_to_scale(p, 1) == 0 && cop_encoder_to_scale(p, 2) == 1);
	assert_true(cop_encoder_to_scale(p, 4) == 3 && cop_encoder_from_scale(p, 3) == 4);
	assert_int_equal(cop_encoder_fit(p, data, 2, NULL), COP_OK);
	cop_encoder_scale(p, 0, &shift, &scale);
	assert_true(shift == 50.5);
	assert_int_equal(cop_encoder_fit(p, data, 0, NULL), COP_EINVAL);
	assert_int_equal(cop_encoder_fit(p, data, 5, NULL), COP_EINVAL);
	cop_dataset_free(data);
	data = rows(2, 2, x);
	assert_int_equal(cop_encoder_fit(p, data, 2, NULL), COP_ESHAPE);
	cop_dataset_free(data);
	cop_encoder_free(p);
}

static void test_preparation_without_scaling_changes_nothing(void **state)
{
	(void)state;
	static const float x[] = { 1, 2, 1, 4 };
	cop_dataset *data = rows(2, 2, x);
	cop_encoder *p = made(2, 3, COP_SCALE_NONE, false);
	double shift, scale;
	assert_int_equal(cop_encoder_fit(p, data, 2, NULL), COP_OK);
	cop_encoder_apply(p, data);
	assert_memory_equal(data->x, x, sizeof x);
	cop_encoder_scale(p, 0, &shift, &scale);
	assert_true(shift == 0 && scale == 1);
	assert_true(cop_encoder_to_scale(p, 7) == 7 && cop_encoder_from_scale(p, 7) == 7);
	assert_int_equal(cop_encoder_features(p), 2);
	assert_int_equal(cop_encoder_classes(p), 3);
	assert_string_equal(cop_encoder_feature(p, 1), "x1");
	assert_string_equal(cop_encoder_class(p, 2), "2");
	assert_string_equal(cop_encoder_target(p), "target");
	cop_dataset_free(data);
	cop_encoder_free(p);
}

static void test_preparation_of_constant_target_gives_it_back(void **state)
{
	(void)state;
	cop_dataset *data;
	cop_encoder *p;
	read_training("1,7\n2,7\n", false, (cop_table_settings){ .regression = true, .scale_target = true }, &data, &p);
	assert_int_equal(cop_encoder_fit(p, data, data->n, NULL), COP_OK);
	assert_true(cop_encoder_to_scale(p, 7) == 0 && cop_encoder_from_scale(p, 0) == 7);
	assert_true(cop_encoder_from_scale(p, 0.5) == 7.5);
	cop_dataset_free(data);
	cop_encoder_free(p);
}

static void test_preparation_never_makes_features_infinite(void **state)
{
	(void)state;
	static const float small[] = { 0, 1e-45f }, large[] = { FLT_MAX, -FLT_MAX };
	for (int scaling = 0; scaling < COP_SCALINGS; scaling++) {
		cop_dataset *data = rows(2, 1, small), *more = rows(2, 1, large);
		cop_encoder *p = made(1, 0, (cop_scaling)scaling, false);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(cop_encoder_fit(p, k ? more : data, 2, NULL), COP_OK);
			cop_encoder_apply(p, more);
			assert_true(isfinite(more->x[0]) && isfinite(more->x[1]) && more->x[0] > more->x[1]);
		}
		cop_dataset_free(data);
		cop_dataset_free(more);
		cop_encoder_free(p);
	}
}

static void test_preparation_scales_sparse_rows_without_shift(void **state)
{
	(void)state;
	static const char text[] = "1 1:3 2:5\n0 1:-1 2:5 3:2\n0 2:5\n1 1:2 2:5\n";
	static const double expected[COP_SCALE_AUTO][3] = { { 1, 1, 1 }, { 0, 0, 0 }, { 1.0 / 3, 0, 0.5 },
		{ 0.2, 0, 0.2 } };
	for (int scaling = 0; scaling < COP_SCALE_AUTO; scaling++) {
		cop_dataset *data;
		cop_encoder *p;
		read_training(text, true, (cop_table_settings){ .scaling = (cop_scaling)scaling }, &data, &p);
		assert_int_equal(cop_encoder_fit(p, data, data->n, NULL), COP_OK);
		cop_encoder_apply(p, data);
		for (size_t j = 0; j < 3; j++) {
			/* 3 -1 0 2: mean 1, sd sqrt(10 / 4); 0 2 0 0: mean 1/2, sd sqrt(3) / 2 */
			static const double standard[] = { 0.63245553203367587, 0, 1.1547005383792515 };
			double shift, scale;
			cop_encoder_scale(p, j, &shift, &scale);
			assert_true(shift == 0);
			assert_true(fabs(scale - (scaling == COP_SCALE_STANDARD ? standard : expected[scaling])[j]) <
			            1e-12);
		}
		double shift, scale;
		cop_encoder_scale(p, 0, &shift, &scale);
		assert_true(data->value[0] == (float)(3 * scale));
		float row[3] = { 3, 5, 0 }; /* the first one again, dense */
		cop_encoder_apply_row(p, row);
		assert_true(row[0] == data->value[0] && row[1] == data->value[1] && row[2] == 0);
		cop_dataset_free(data);
		cop_encoder_free(p);
	}
}

/* What COP_SCALE_AUTO makes of 40 rows of d features, a third of them `low`, each `most` now and then and 0 otherwise;
 * and of one more that is `odd` once. */
static cop_scaling automatic(size_t d, float low, float most, float odd)
{
	enum { ROWS = 40, D = 20 };
	float x[ROWS * (D + 1)];
	for (size_t i = 0; i < ROWS; i++) {
		for (size_t j = 0; j < d; j++)
			x[i * (d + 1) + j] = (i + j) % 3 == 0 ? low : 0;
		x[i * (d + 1) + i % d] = most;
		x[i * (d + 1) + d] = i == 0 ? odd : 0;
	}
	cop_dataset *data = rows(ROWS, d + 1, x);
	cop_encoder *p = made(d + 1, 2, COP_SCALE_AUTO, false);
	assert_int_equal(cop_encoder_scaling(p), COP_SCALE_AUTO);
	assert_int_equal(cop_encoder_fit(p, data, data->n, NULL), COP_OK);
	cop_scaling chosen = cop_encoder_scaling(p);
	double shift, scale;
	cop_encoder_scale(p, 0, &shift, &scale);
	assert_true(chosen != COP_SCALE_MAXIMUM || (shift == 0 && scale == 1 / fmax((double)most, (double)odd)));
	cop_dataset_free(data);
	cop_encoder_free(p);
	return chosen;
}

static void test_preparation_auto_takes_the_maximum_for_amounts_of_one_unit(void **state)
{
	(void)state;
	assert_int_equal(automatic(20, 7, 255, 12), COP_SCALE_MAXIMUM);
	assert_int_equal(automatic(15, 7, 255, 255), COP_SCALE_MAXIMUM);
	assert_int_equal(automatic(15, 7, 255, 0), COP_SCALE_STANDARD);   /* too few that vary */
	assert_int_equal(automatic(20, 7, 255, 511), COP_SCALE_STANDARD); /* one is of another order */
	assert_int_equal(automatic(20, 7, 255, -1), COP_SCALE_STANDARD);
	assert_int_equal(automatic(20, -7, 255, 1), COP_SCALE_STANDARD);
}

static void test_preparation_auto_without_zeros_standardises(void **state)
{
	(void)state;
	enum { ROWS = 30, D = 18 };
	float x[ROWS * D];
	for (size_t i = 0; i < sizeof x / sizeof *x; i++)
		x[i] = (float)(1 + i * 7 % 11);
	cop_dataset *data = rows(ROWS, D, x);
	cop_encoder *p = made(D, 2, COP_SCALE_AUTO, false);
	assert_int_equal(cop_encoder_fit(p, data, data->n, NULL), COP_OK);
	assert_int_equal(cop_encoder_scaling(p), COP_SCALE_STANDARD);
	cop_dataset_free(data);
	cop_encoder_free(p);
}

static void test_preparation_auto_decides_for_sparse_rows(void **state)
{
	(void)state;
	for (int odd = 0; odd < 2; odd++) {
		char text[2000] = "";
		size_t used = 0;
		for (int i = 0; i < 40; i++)
			used += (size_t)snprintf(text + used, sizeof text - used, "%d %d:%d %d:3\n", i % 2, 1 + i % 10,
			        odd == 1 && i == 7 ? 60 : 4, 11 + i % 10);
		cop_dataset *data;
		cop_encoder *p;
		read_training(text, true, (cop_table_settings){ .scaling = COP_SCALE_AUTO }, &data, &p);
		assert_int_equal(cop_encoder_fit(p, data, data->n, NULL), COP_OK);
		assert_int_equal(cop_encoder_scaling(p), odd == 0 ? COP_SCALE_MAXIMUM : COP_SCALE_STANDARD);
		double shift, scale;
		cop_encoder_scale(p, 0, &shift, &scale);
		assert_true(shift == 0 && (scale == 0.25) == (odd == 0));
		cop_dataset_free(data);
		cop_encoder_free(p);
	}
}

static void test_preparation_auto_that_was_not_fitted_is_saved_as_none(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_encoder *p = made(2, 2, COP_SCALE_AUTO, false), *loaded;
	cop_bytes_init(&bytes);
	cop_encoder_save(p, &bytes);
	assert_int_equal(cop_encoder_load(bytes.data, bytes.length, &loaded), COP_OK);
	assert_int_equal(cop_encoder_scaling(loaded), COP_SCALE_NONE);
	cop_encoder_free(loaded);
	bytes.data[1] = COP_SCALE_AUTO;
	assert_int_equal(cop_encoder_load(bytes.data, bytes.length, &loaded), COP_EFORMAT);
	cop_bytes_fini(&bytes);
	cop_encoder_free(p);
}

static void test_preparation_new_of_wrong_shapes_is_refused(void **state)
{
	(void)state;
	cop_encoder *p;
	assert_int_equal(cop_encoder_new(0, 2, &p), COP_EINVAL);
	assert_null(p);
	assert_int_equal(cop_encoder_new(COP_ENCODER_MAX_FEATURES + 1, 2, &p), COP_EINVAL);
	assert_int_equal(cop_encoder_new(1, COP_DATASET_MAX_CLASSES + 1, &p), COP_EINVAL);
	cop_encoder_free(NULL);
}

/* ---- file ---- */

static const struct {
	const char *text;
	bool libsvm;
	cop_table_settings settings;
} some[] = {
	{ "1,2,0\n3,4,1\n", false, { .scaling = COP_SCALE_STANDARD } },
	{ "age,colour,size,y\n1,red,,yes\n?,blue,L,no\n7,,S,yes\n", false,
	        { .scaling = COP_SCALE_RANGE, .missing = COP_MISSING_LABEL } },
	{ "age,colour,size,y\n1,red,,9\n?,blue,L,0.5\n7,,S,-3\n", false,
	        { .regression = true, .scale_target = true, .missing = COP_MISSING_MEDIAN, .target = "y" } },
	{ "2 1:5 3:7\n-1 2:1\n", true, { .scaling = COP_SCALE_MAXIMUM } },
	{ "2 0:5 3:7\n-1 2:1\n", true, { .regression = true, .scale_target = true } },
};
enum { SOME = sizeof some / sizeof *some };

static void save(size_t i, cop_bytes *bytes, cop_encoder **p)
{
	cop_dataset *data;
	read_training(some[i].text, some[i].libsvm, some[i].settings, &data, p);
	assert_int_equal(cop_encoder_fit(*p, data, data->n, NULL), COP_OK);
	cop_dataset_free(data);
	cop_bytes_init(bytes);
	cop_encoder_save(*p, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

static void assert_same(const cop_encoder *a, const cop_encoder *b)
{
	assert_int_equal(cop_encoder_features(a), cop_encoder_features(b));
	assert_int_equal(cop_encoder_classes(a), cop_encoder_classes(b));
	assert_string_equal(cop_encoder_target(a), cop_encoder_target(b));
	for (size_t j = 0; j < cop_encoder_features(a); j++) {
		double shift[2], scale[2];
		cop_encoder_scale(a, j, &shift[0], &scale[0]);
		cop_encoder_scale(b, j, &shift[1], &scale[1]);
		assert_true(shift[0] == shift[1] && scale[0] == scale[1]);
		assert_string_equal(cop_encoder_feature(a, j), cop_encoder_feature(b, j));
	}
	for (size_t k = 0; k < cop_encoder_classes(a); k++)
		assert_string_equal(cop_encoder_class(a, k), cop_encoder_class(b, k));
	assert_true(cop_encoder_to_scale(a, 2.5) == cop_encoder_to_scale(b, 2.5));
}

static void test_preparation_saved_and_loaded_reads_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < SOME; i++) {
		cop_bytes bytes, again;
		cop_encoder *p[2];
		cop_dataset *data[2];
		save(i, &bytes, &p[0]);
		assert_int_equal(cop_encoder_load(bytes.data, bytes.length, &p[1]), COP_OK);
		assert_same(p[0], p[1]);
		for (int k = 0; k < 2; k++) {
			cop_stream *stream;
			assert_int_equal(
			        cop_stream_open_memory("t", some[i].text, strlen(some[i].text), &stream, NULL), COP_OK);
			assert_int_equal(cop_table_from(stream, some[i].libsvm, p[k], true, &data[k], NULL), COP_OK);
			cop_stream_free(stream);
		}
		assert_memory_equal(data[0]->target, data[1]->target, data[0]->n * sizeof(double));
		if (data[0]->sparse)
			assert_memory_equal(data[0]->index, data[1]->index, data[0]->start[data[0]->n] * 4);
		else
			assert_memory_equal(data[0]->x, data[1]->x, data[0]->n * data[0]->d * sizeof(float));
		cop_bytes_init(&again);
		cop_encoder_save(p[1], &again);
		assert_int_equal(again.length, bytes.length);
		assert_memory_equal(again.data, bytes.data, bytes.length);
		for (int k = 0; k < 2; k++) {
			cop_dataset_free(data[k]);
			cop_encoder_free(p[k]);
		}
		cop_bytes_fini(&bytes);
		cop_bytes_fini(&again);
	}
}

static void test_preparation_cut_short_or_lengthened_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < SOME; i++) {
		cop_bytes bytes;
		cop_encoder *p, *loaded;
		save(i, &bytes, &p);
		for (size_t length = 0; length < bytes.length; length++) {
			uint8_t *part = malloc(length + 1);
			assert_non_null(part);
			memcpy(part, bytes.data, length);
			assert_int_equal(cop_encoder_load(part, length, &loaded), COP_EFORMAT);
			assert_null(loaded);
			free(part);
		}
		cop_bytes_put_u8(&bytes, 0);
		assert_int_equal(cop_encoder_load(bytes.data, bytes.length, &loaded), COP_EFORMAT);
		cop_bytes_fini(&bytes);
		cop_encoder_free(p);
	}
}

static void test_preparation_of_changed_bytes_is_refused_or_safe(void **state)
{
	(void)state;
	for (size_t i = 0; i < SOME; i++) {
		cop_bytes bytes;
		cop_encoder *p, *loaded;
		save(i, &bytes, &p);
		for (size_t at = 0; at < bytes.length; at++)
			for (unsigned change = 1; change < 256; change += change < 3 ? 1 : 63) {
				bytes.data[at] ^= (uint8_t)change;
				if (cop_encoder_load(bytes.data, bytes.length, &loaded) == COP_OK) {
					cop_stream *stream;
					cop_dataset *data;
					assert_int_equal(cop_stream_open_memory("t", some[i].text, strlen(some[i].text),
					                         &stream, NULL),
					        COP_OK);
					if (cop_table_from(stream, some[i].libsvm, loaded, false, &data, NULL) ==
					        COP_OK) {
						cop_encoder_apply(loaded, data);
						cop_dataset_free(data);
					}
					cop_stream_free(stream);
					cop_encoder_free(loaded);
				} else {
					assert_null(loaded);
				}
				bytes.data[at] ^= (uint8_t)change;
			}
		cop_bytes_fini(&bytes);
		cop_encoder_free(p);
	}
}

static void test_preparation_without_memory_fails_cleanly(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_encoder *p, *loaded;
	unsigned long n = 1;
	for (;; n++) {
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_encoder_new(3, 2, &p);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
		assert_null(p);
	}
	assert_true(n > 5);
	cop_encoder_free(p);
	save(1, &bytes, &p);
	for (n = 1;; n++) {
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_encoder_load(bytes.data, bytes.length, &loaded);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
		assert_null(loaded);
	}
	assert_true(n > 10);
	static const float x[16] = { 1, 2, 3 };
	cop_dataset *data = rows(2, cop_encoder_features(p), x);
	for (n = 1;; n++) {
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_encoder_fit(p, data, 2, NULL);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
		assert_same(p, loaded); /* unchanged */
	}
	assert_true(n > 5);
	cop_dataset_free(data);
	cop_encoder_free(loaded);
	cop_encoder_free(p);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_preparation_standardises_to_mean_0_and_sd_1),
		cmocka_unit_test(test_preparation_scales_by_range_and_maximum),
		cmocka_unit_test(test_preparation_is_fitted_on_the_rows_given),
		cmocka_unit_test(test_preparation_auto_takes_the_maximum_for_amounts_of_one_unit),
		cmocka_unit_test(test_preparation_auto_without_zeros_standardises),
		cmocka_unit_test(test_preparation_auto_decides_for_sparse_rows),
		cmocka_unit_test(test_preparation_auto_that_was_not_fitted_is_saved_as_none),
		cmocka_unit_test(test_preparation_without_scaling_changes_nothing),
		cmocka_unit_test(test_preparation_of_constant_target_gives_it_back),
		cmocka_unit_test(test_preparation_never_makes_features_infinite),
		cmocka_unit_test(test_preparation_scales_sparse_rows_without_shift),
		cmocka_unit_test(test_preparation_new_of_wrong_shapes_is_refused),
		cmocka_unit_test(test_preparation_saved_and_loaded_reads_the_same),
		cmocka_unit_test(test_preparation_cut_short_or_lengthened_is_refused),
		cmocka_unit_test(test_preparation_of_changed_bytes_is_refused_or_safe),
		cmocka_unit_test(test_preparation_without_memory_fails_cleanly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
