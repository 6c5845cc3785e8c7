#include "support.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table/dataset.h"

static cop_dataset *dense(size_t d, size_t n, double first)
{
	cop_dataset *ds;
	assert_int_equal(cop_dataset_new_dense(d, &ds), COP_OK);
	float x[8] = { 0 };
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < d; k++)
			x[k] = (float)(first + (double)(i * d + k));
		assert_int_equal(cop_dataset_push_dense(ds, x, first + (double)i), COP_OK);
	}
	return ds;
}

static cop_dataset *sparse(uint32_t base, uint32_t index)
{
	cop_dataset *ds;
	assert_int_equal(cop_dataset_new_sparse(&ds), COP_OK);
	ds->index_base = base;
	const uint32_t indices[] = { index, index + 2 };
	const float values[] = { 1, 2 };
	assert_int_equal(cop_dataset_push_sparse(ds, 2, indices, values, 5), COP_OK);
	assert_int_equal(cop_dataset_push_sparse(ds, 0, NULL, NULL, 6), COP_OK);
	return ds;
}

static void test_dataset_of_many_dense_rows_keeps_them(void **state)
{
	(void)state;
	cop_dataset *ds = dense(3, 5000, 0);
	assert_int_equal(ds->n, 5000);
	for (size_t i = 0; i < ds->n; i++) {
		cop_row row;
		cop_dataset_row(ds, i, &row);
		assert_int_equal(row.d, 3);
		assert_ptr_equal(row.dense, ds->x + 3 * i);
		assert_true(row.dense[2] == (float)(3 * i + 2));
		assert_true(ds->target[i] == (double)i);
	}
	cop_dataset_free(ds);
	assert_int_equal(cop_dataset_new_dense(0, &ds), COP_EINVAL);
	assert_null(ds);
	cop_dataset_free(NULL);
}

static void test_dataset_of_many_sparse_rows_keeps_them(void **state)
{
	(void)state;
	cop_dataset *ds;
	assert_int_equal(cop_dataset_new_sparse(&ds), COP_OK);
	uint32_t index[7];
	float value[7];
	for (uint32_t i = 0; i < 5000; i++) {
		for (uint32_t k = 0; k < i % 8; k++) {
			index[k] = i + 3 * k;
			value[k] = (float)(i * k);
		}
		assert_int_equal(cop_dataset_push_sparse(ds, i % 8, index, value, i), COP_OK);
	}
	assert_int_equal(ds->d, 4999 + 18 + 1);
	for (uint32_t i = 0; i < 5000; i++) {
		cop_row row;
		cop_dataset_row(ds, i, &row);
		assert_null(row.dense);
		assert_int_equal(row.nnz, i % 8);
		for (uint32_t k = 0; k < row.nnz; k++) {
			assert_int_equal(row.index[k], i + 3 * k);
			assert_true(row.value[k] == (float)(i * k));
		}
	}
	cop_dataset_free(ds);
}

static void test_dataset_append_of_same_shape_joins(void **state)
{
	(void)state;
	cop_dataset *a = dense(2, 3, 0);
	cop_dataset *b = dense(2, 2, 100);
	assert_int_equal(cop_dataset_append(a, b), COP_OK);
	assert_int_equal(a->n, 5);
	assert_true(a->x[6] == 100 && a->x[9] == 103 && a->target[4] == 101);
	cop_dataset *c = dense(3, 1, 0);
	cop_dataset *s = sparse(0, 0);
	assert_int_equal(cop_dataset_append(a, c), COP_ESHAPE);
	assert_int_equal(cop_dataset_append(a, s), COP_ESHAPE);
	assert_int_equal(a->n, 5);
	cop_dataset_free(a);
	cop_dataset_free(b);
	cop_dataset_free(c);
	cop_dataset_free(s);
}

static void test_dataset_append_of_sparse_brings_indices_together(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		cop_dataset *a = sparse(swap ? 1 : 0, 4);
		cop_dataset *b = sparse(swap ? 0 : 1, 10);
		assert_int_equal(cop_dataset_append(a, b), COP_OK);
		assert_int_equal(a->n, 4);
		assert_int_equal(a->index_base, 0);
		assert_int_equal(a->start[4], 4);
		assert_int_equal(a->index[0], swap ? 5 : 4);
		assert_int_equal(a->index[2], swap ? 10 : 11);
		assert_int_equal(a->d, swap ? 13 : 14);
		cop_row row;
		cop_dataset_row(a, 2, &row);
		assert_int_equal(row.nnz, 2);
		cop_dataset_free(a);
		cop_dataset_free(b);
	}
}

static void test_dataset_align_of_sparse_gives_equal_shapes(void **state)
{
	(void)state;
	cop_dataset *a = sparse(1, 4);
	cop_dataset *b = sparse(0, 0);
	assert_int_equal(cop_dataset_align(a, b), COP_OK);
	assert_int_equal(a->d, 8);
	assert_int_equal(b->d, 8);
	assert_int_equal(a->index[0], 5);
	assert_int_equal(b->index[0], 0);
	cop_dataset *c = dense(2, 1, 0);
	cop_dataset *d = dense(3, 1, 0);
	assert_int_equal(cop_dataset_align(a, c), COP_ESHAPE);
	assert_int_equal(cop_dataset_align(c, d), COP_ESHAPE);
	assert_int_equal(cop_dataset_align(c, c), COP_OK);
	cop_dataset_free(a);
	cop_dataset_free(b);
	cop_dataset_free(c);
	cop_dataset_free(d);
}

static void test_dataset_classes_of_integers_counts_them(void **state)
{
	(void)state;
	cop_dataset *ds = dense(2, 4, 0);
	size_t classes;
	cop_diag diag;
	assert_int_equal(cop_dataset_classes(ds, &classes, NULL), COP_OK);
	assert_int_equal(classes, 4);
	static const double wrong[] = { -1, 1.5, 65536, 1e300 };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		ds->target[2] = wrong[i];
		assert_int_equal(cop_dataset_classes(ds, &classes, &diag), COP_EINVAL);
		assert_non_null(strstr(diag.message, "row 3"));
	}
	ds->target[2] = -7;
	double min;
	double max;
	cop_dataset_target_range(ds, &min, &max);
	assert_true(min == -7 && max == 3);
	cop_dataset_free(ds);
}

static cop_err build_all(void)
{
	cop_dataset *a = NULL;
	cop_dataset *b = NULL;
	cop_dataset *c = NULL;
	const uint32_t index[] = { 1, 5 };
	const float value[] = { 1, 5 };
	cop_err err = cop_dataset_new_dense(2, &a);
	if (err == COP_OK)
		err = cop_dataset_new_sparse(&b);
	if (err == COP_OK)
		err = cop_dataset_new_sparse(&c);
	if (err == COP_OK)
		err = cop_dataset_push_dense(a, value, 1);
	if (err == COP_OK)
		err = cop_dataset_push_sparse(b, 2, index, value, 1);
	if (err == COP_OK) {
		err = cop_dataset_append(c, b);
		assert_int_equal(c->n, err == COP_OK);
		assert_int_equal(c->start[0], 0);
	}
	cop_dataset_free(a);
	cop_dataset_free(b);
	cop_dataset_free(c);
	return err;
}

static void test_dataset_without_memory_fails_cleanly(void **state)
{
	(void)state;
	unsigned long n = 1;
	for (;; n++) {
		cop_test_alloc_fail(n, 0);
		cop_err err = build_all();
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
	}
	assert_true(n > 10);
}

static void test_dataset_read_chooses_format_by_name(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		const char *text;
		bool sparse;
	} cases[] = { { "a.csv", "1,2\n", false }, { "a.libsvm", "1 2:3\n", true }, { "a.svm.gz", "1 2:3\n", true },
		{ "a.libsvm.zst", "1 2:3\n", true }, { "a.txt", "1,2\n", false } };
	char folder[] = "/tmp/test_dataset_XXXXXX";
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[64];
		(void)snprintf(path, sizeof path, "%s/%s", folder, cases[i].name);
		FILE *file = fopen(path, "w");
		assert_non_null(file);
		(void)fputs(cases[i].text, file);
		(void)fclose(file);
		cop_dataset *ds;
		assert_int_equal(cop_dataset_read(path, &ds, NULL), COP_OK);
		assert_int_equal(ds->sparse, cases[i].sparse);
		cop_dataset_free(ds);
		(void)unlink(path);
	}
	(void)rmdir(folder);
	cop_dataset *ds;
	cop_diag diag;
	assert_int_equal(cop_dataset_read("/nonexistent.csv", &ds, &diag), COP_ENOTFOUND);
	assert_null(ds);
	assert_string_equal(diag.source, "/nonexistent.csv");
}

static void test_dataset_read_of_satimage_has_its_shape(void **state)
{
	(void)state;
	const char *folder = cop_test_data_folder();
	if (folder == NULL) {
		print_message("COPPICE_DATA is not set: skipped\n");
		skip();
	}
	char path[1024];
	(void)snprintf(path, sizeof path, "%s/satimage.train.csv.gz", folder);
	cop_dataset *ds;
	size_t classes;
	assert_int_equal(cop_dataset_read(path, &ds, NULL), COP_OK);
	assert_int_equal(ds->n, 4435);
	assert_int_equal(ds->d, 36);
	assert_int_equal(cop_dataset_classes(ds, &classes, NULL), COP_OK);
	assert_int_equal(classes, 6);
	size_t last = 0;
	for (size_t i = 0; i < ds->n; i++)
		last += ds->target[i] == 5;
	assert_int_equal(last, 1038);
	cop_dataset_free(ds);
}

static void test_dataset_with_room_does_not_move(void **state)
{
	(void)state;
	cop_dataset *ds = dense(3, 2, 0);
	assert_int_equal(cop_dataset_reserve(ds, 5000), COP_OK);
	assert_int_equal(ds->row_capacity, 5000);
	const float *before = ds->x;
	const float x[] = { 7, 8, 9 };
	for (size_t i = 2; i < 5000; i++)
		assert_int_equal(cop_dataset_push_dense(ds, x, 1), COP_OK);
	assert_ptr_equal(ds->x, before);
	assert_true(ds->x[5] == 5 && ds->x[6] == 7);
	assert_int_equal(cop_dataset_reserve(ds, 1), COP_OK);
	assert_int_equal(ds->row_capacity, 5000);
	assert_int_equal(cop_dataset_reserve(ds, (size_t)COP_DATASET_MAX_ROWS + 1), COP_EFULL);
	cop_dataset_free(ds);
}

static void test_dataset_conform_of_sparse_keeps_what_indices_mean(void **state)
{
	(void)state;
	for (uint32_t base = 0; base < 2; base++)
		for (uint32_t other = 0; other < 2; other++)
			for (size_t d = 1; d < 6; d++) {
				cop_dataset *ds = sparse(base, 1); /* of the file: base + 1, base + 3 */
				uint32_t first = base + 1 - other, second = base + 3 - other;
				size_t entries = (first < d) + (size_t)(second < d);
				assert_int_equal(cop_dataset_conform(ds, d, other), COP_OK);
				assert_int_equal(ds->d, d);
				assert_int_equal(ds->index_base, other);
				assert_int_equal(ds->start[1], entries);
				assert_int_equal(ds->start[2], entries);
				if (entries > 0)
					assert_true(ds->index[0] == first && ds->value[0] == 1);
				if (entries > 1)
					assert_true(ds->index[1] == second && ds->value[1] == 2);
				cop_dataset_free(ds);
			}
	cop_dataset *ds = sparse(0, 0);
	assert_int_equal(cop_dataset_conform(ds, 2, 1), COP_OK); /* the file's index 0 is none of these */
	assert_true(ds->start[1] == 1 && ds->index[0] == 1 && ds->value[0] == 2);
	cop_dataset_free(ds);
	ds = dense(2, 1, 0);
	assert_int_equal(cop_dataset_conform(ds, 2, 0), COP_ESHAPE);
	cop_dataset_free(ds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dataset_of_many_dense_rows_keeps_them),
		cmocka_unit_test(test_dataset_of_many_sparse_rows_keeps_them),
		cmocka_unit_test(test_dataset_append_of_same_shape_joins),
		cmocka_unit_test(test_dataset_append_of_sparse_brings_indices_together),
		cmocka_unit_test(test_dataset_align_of_sparse_gives_equal_shapes),
		cmocka_unit_test(test_dataset_classes_of_integers_counts_them),
		cmocka_unit_test(test_dataset_with_room_does_not_move),
		cmocka_unit_test(test_dataset_conform_of_sparse_keeps_what_indices_mean),
		cmocka_unit_test(test_dataset_without_memory_fails_cleanly),
		cmocka_unit_test(test_dataset_read_chooses_format_by_name),
		cmocka_unit_test(test_dataset_read_of_satimage_has_its_shape),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
