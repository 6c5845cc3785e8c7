/* Joint rows: layout, products, and a folded linear function against the plain sum over the whole row. */
#include "rows.h"

#include <math.h>

#include "base/mem.h"
#include "learn/cross_features.h"

static cop_cross_features_settings settings_of(size_t features, size_t candidate_features, bool sparse)
{
	return (cop_cross_features_settings){
		.kernel = cop_kernel_best(),
		.sparse = sparse,
		.features = features,
		.candidate_features = candidate_features,
		.max_nonzeros = ROW_MAX,
		.seed = 5,
	};
}

/* Every entry of the whole row times its weight is what folding gives. */
static void check_fold(cop_cross_features *joint, const cop_row *x, const cop_row *a, size_t candidate_features)
{
	size_t whole_size = cop_cross_features_whole(joint);
	float *w = cop_mem_alloc(whole_size, sizeof *w);
	cop_cross_features_fold fold = { .v = cop_mem_alloc(candidate_features, sizeof(float)) };
	cop_rng rng;
	cop_cross_features_rows rows;
	assert_non_null(w);
	assert_non_null(fold.v);
	cop_rng_init(&rng, 9, 0);
	for (size_t i = 0; i < whole_size; i++)
		w[i] = (float)cop_rng_normal(&rng);
	cop_cross_features_set_context(joint, x);
	cop_cross_features_fold_context(joint, w, &fold);
	cop_cross_features_set_candidate(joint, a);
	double folded = (double)cop_cross_features_folded(joint, w, &fold);
	cop_cross_features_make_rows(joint, &rows);
	assert_int_equal(rows.near.d, cop_cross_features_near(joint));
	assert_int_equal(rows.whole.d, whole_size);
	double sum = 0.0;
	double size = 0.0;
	for (size_t i = 0; i < cop_row_entries(&rows.whole); i++) {
		double term = (double)w[cop_row_index(&rows.whole, i)] * (double)cop_row_value(&rows.whole, i);
		assert_true(cop_row_index(&rows.whole, i) < whole_size);
		assert_true(i == 0 || cop_row_index(&rows.whole, i) > cop_row_index(&rows.whole, i - 1));
		sum += term;
		size += fabs(term);
	}
	assert_true(fabs(sum - folded) <= 1e-5 * size);
	for (size_t i = 0; i < cop_row_entries(&rows.near); i++) {
		assert_int_equal(cop_row_index(&rows.near, i), cop_row_index(&rows.whole, i));
		assert_true(cop_row_value(&rows.near, i) == cop_row_value(&rows.whole, i));
	}
	cop_mem_free(w);
	cop_mem_free(fold.v);
}

static void test_dense_rows_hold_context_candidate_constant_and_every_product(void **state)
{
	(void)state;
	cop_cross_features_settings s = settings_of(5, 3, false);
	cop_cross_features *joint;
	cop_rng rng;
	test_row x, a;
	cop_cross_features_rows rows;
	cop_rng_init(&rng, 1, 0);
	assert_int_equal(cop_cross_features_new(&s, &joint), COP_OK);
	row_random(&x, &rng, 6, 1.0, 1);
	row_random(&a, &rng, 4, 1.0, 1);
	cop_row rx = row_dense(&x), ra = row_dense(&a);
	cop_cross_features_set_context(joint, &rx);
	cop_cross_features_set_candidate(joint, &ra);
	cop_cross_features_make_rows(joint, &rows);
	assert_int_equal(rows.near.d, 5 + 3 + 1);
	assert_int_equal(rows.whole.d, 9 + 15);
	assert_memory_equal(rows.near.dense, x.dense, 5 * sizeof(float));
	assert_memory_equal(rows.near.dense + 5, a.dense, 3 * sizeof(float));
	assert_true(rows.near.dense[8] == 1.0f);
	for (size_t i = 9; i < 24; i++) {
		size_t j, k;
		assert_true(cop_cross_features_pair(joint, i, &j, &k));
		assert_true(rows.whole.dense[i] == x.dense[j] * a.dense[k]);
	}
	check_fold(joint, &rx, &ra, 3);
	cop_cross_features_free(joint);
}

static void test_many_products_are_a_sample_of_the_pairs(void **state)
{
	(void)state;
	cop_cross_features_settings s = settings_of(600, 400, false);
	cop_cross_features *joint;
	cop_rng rng;
	cop_cross_features_rows rows;
	float *x = cop_mem_alloc(601, sizeof *x), *a = cop_mem_alloc(401, sizeof *a);
	cop_rng_init(&rng, 2, 0);
	for (size_t j = 0; j < 601; j++)
		x[j] = (float)cop_rng_normal(&rng);
	for (size_t j = 0; j < 401; j++)
		a[j] = (float)cop_rng_normal(&rng);
	assert_int_equal(cop_cross_features_new(&s, &joint), COP_OK);
	assert_int_equal(cop_cross_features_whole(joint), 1001 + COP_CROSS_FEATURES_PRODUCTS);
	cop_row rx = { .d = 601, .dense = x }, ra = { .d = 401, .dense = a };
	check_fold(joint, &rx, &ra, 400);
	cop_cross_features_make_rows(joint, &rows);
	for (size_t i = 1001; i < rows.whole.d; i += 77) {
		size_t j, k;
		assert_true(cop_cross_features_pair(joint, i, &j, &k));
		assert_true(j < 600 && k < 400 && rows.whole.dense[i] == x[j] * a[k]);
	}
	cop_cross_features_free(joint);
	cop_mem_free(x);
	cop_mem_free(a);
}

static void test_sparse_rows_are_ascending_and_fold_alike(void **state)
{
	(void)state;
	for (unsigned bits = 3; bits < 6; bits++) {
		size_t d = (size_t)1 << bits;
		cop_cross_features_settings s = settings_of(d, d, true);
		cop_cross_features *joint;
		cop_rng rng;
		cop_rng_init(&rng, 3, bits);
		assert_int_equal(cop_cross_features_new(&s, &joint), COP_OK);
		for (int i = 0; i < 50; i++) {
			test_row x, a;
			row_random(&x, &rng, d + 1, 0.5, 1);
			row_random(&a, &rng, d + 1, 0.5, 1);
			cop_row rx = row_sparse(&x), ra = row_sparse(&a);
			check_fold(joint, &rx, &ra, d);
		}
		cop_cross_features_free(joint);
	}
}

static void test_new_refuses_empty_sizes_and_fails_cleanly(void **state)
{
	(void)state;
	cop_cross_features *joint;
	cop_cross_features_settings s = settings_of(0, 3, false);
	assert_int_equal(cop_cross_features_new(&s, &joint), COP_EINVAL);
	s = settings_of(3, 0, false);
	assert_int_equal(cop_cross_features_new(&s, &joint), COP_EINVAL);
	s = settings_of(8, 16, true);
	assert_int_equal(cop_cross_features_new(&s, &joint), COP_EINVAL);
	const cop_cross_features_settings good[] = { settings_of(8, 8, true), settings_of(600, 400, false) };
	for (size_t i = 0; i < 2; i++) {
		cop_err err = COP_ENOMEM;
		for (unsigned long n = 1; err != COP_OK; n++) {
			cop_test_alloc_fail(n, 0);
			err = cop_cross_features_new(&good[i], &joint);
			assert_true(err == COP_OK || (err == COP_ENOMEM && joint == NULL));
		}
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		cop_cross_features_free(joint);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dense_rows_hold_context_candidate_constant_and_every_product),
		cmocka_unit_test(test_many_products_are_a_sample_of_the_pairs),
		cmocka_unit_test(test_sparse_rows_are_ascending_and_fold_alike),
		cmocka_unit_test(test_new_refuses_empty_sizes_and_fails_cleanly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
