#include "support.h"

#include <stdio.h>
#include <string.h>

#include "table/libsvm.h"

static cop_err read_text(const char *text, cop_dataset **out, cop_diag *diag)
{
	cop_stream *stream;
	*out = NULL;
	cop_err err = cop_stream_open_memory("t.svm", text, strlen(text), &stream, diag);
	if (err != COP_OK)
		return err;
	err = cop_libsvm_read(stream, out, diag);
	cop_stream_free(stream);
	return err;
}

static void test_libsvm_counting_from_one_is_moved(void **state)
{
	(void)state;
	cop_dataset *ds;
	assert_int_equal(
	        read_text("# two rows\n+1 1:0.5 4:-2e0 # a comment\n\n-1\t 2:3 \r\n0.25\n", &ds, NULL), COP_OK);
	assert_int_equal(ds->n, 3);
	assert_int_equal(ds->d, 4);
	assert_int_equal(ds->index_base, 1);
	assert_true(ds->target[0] == 1 && ds->target[1] == -1 && ds->target[2] == 0.25);
	assert_int_equal(ds->odd_line, 4);
	cop_row row;
	cop_dataset_row(ds, 0, &row);
	assert_int_equal(row.d, 4);
	assert_int_equal(row.nnz, 2);
	assert_int_equal(row.index[0], 0);
	assert_int_equal(row.index[1], 3);
	assert_true(row.value[0] == 0.5f && row.value[1] == -2);
	cop_dataset_row(ds, 2, &row);
	assert_int_equal(row.nnz, 0);
	cop_dataset_free(ds);
}

static void test_libsvm_counting_from_zero_is_kept(void **state)
{
	(void)state;
	cop_dataset *ds;
	assert_int_equal(read_text("1 1:1 3:1\n0 0:7\n", &ds, NULL), COP_OK);
	assert_int_equal(ds->d, 4);
	assert_int_equal(ds->index_base, 0);
	assert_int_equal(ds->index[0], 1);
	assert_int_equal(ds->index[2], 0);
	cop_dataset_free(ds);
}

static void test_libsvm_of_long_row_is_read(void **state)
{
	(void)state;
	static char text[20000];
	size_t at = 1;
	text[0] = '1';
	for (int i = 1; i <= 1000; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, " %d:%d", i, i);
	cop_dataset *ds;
	assert_int_equal(read_text(text, &ds, NULL), COP_OK);
	assert_int_equal(ds->start[1], 1000);
	assert_int_equal(ds->index[999], 999);
	assert_true(ds->value[999] == 1000);
	cop_dataset_free(ds);
}

static void test_libsvm_of_wrong_text_says_where_and_what(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		cop_err err;
		const char *says;
	} cases[] = {
		{ "", COP_EFORMAT, "t.svm: it holds no rows" },
		{ "# nothing\n", COP_EFORMAT, "t.svm: it holds no rows" },
		{ "1\n0\n", COP_EFORMAT, "t.svm: it holds no features" },
		{ "x 1:2\n", COP_EFORMAT, "t.svm:1: \"x\": expected a finite number as the target" },
		{ "nan 1:2\n", COP_ENONFINITE, "t.svm:1: \"nan\": expected a finite number as the target" },
		{ "1 1:2\n1 2\n", COP_EFORMAT,
		        "t.svm:2: \"2\": expected index:value with an index from 0 to 2147483647" },
		{ "1 qid:2\n", COP_EFORMAT,
		        "t.svm:1: \"qid:2\": expected index:value with an index from 0 to 2147483647" },
		{ "1 :2\n", COP_EFORMAT, "t.svm:1: \":2\": expected index:value with an index from 0 to 2147483647" },
		{ "1 -1:2\n", COP_EFORMAT,
		        "t.svm:1: \"-1:2\": expected index:value with an index from 0 to 2147483647" },
		{ "1 2147483648:2\n", COP_EFORMAT,
		        "t.svm:1: \"2147483648:2\": expected index:value with an index from 0 to 2147483647" },
		{ "1 3:1 3:2\n", COP_EFORMAT, "t.svm:1: \"3:2\": expected an index above the one before" },
		{ "1 3:1 2:2\n", COP_EFORMAT, "t.svm:1: \"2:2\": expected an index above the one before" },
		{ "1 3:\n", COP_EFORMAT, "t.svm:1: \"3:\": expected a finite number after the colon" },
		{ "1 3:inf\n", COP_ENONFINITE, "t.svm:1: \"3:inf\": expected a finite number after the colon" },
		{ "1 3:1e39\n", COP_ENONFINITE, "t.svm:1: \"3:1e39\": expected a finite number after the colon" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_dataset *ds;
		cop_diag diag;
		char said[800];
		assert_int_equal(read_text(cases[i].text, &ds, &diag), cases[i].err);
		assert_null(ds);
		cop_diag_text(&diag, said, sizeof said);
		assert_string_equal(said, cases[i].says);
	}
}

static void test_libsvm_without_memory_fails_cleanly(void **state)
{
	(void)state;
	unsigned long n = 1;
	for (;; n++) {
		cop_dataset *ds;
		cop_test_alloc_fail(n, 0);
		cop_err err = read_text("1 1:2 3:4\n0 2:2\n", &ds, NULL);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		if (err == COP_OK) {
			cop_dataset_free(ds);
			break;
		}
		assert_int_equal(err, COP_ENOMEM);
		assert_null(ds);
	}
	assert_true(n > 8);
}

static cop_err judge(void *owner, double *target, char says[COP_LIBSVM_SAYS])
{
	if (*target > 5) {
		(void)snprintf(says, COP_LIBSVM_SAYS, "%g is too much", *target);
		return COP_EFULL;
	}
	*target += *(const double *)owner;
	return COP_OK;
}

static void test_libsvm_with_a_judge_takes_what_it_says(void **state)
{
	(void)state;
	static const char *const texts[] = { "1 1:2\n3 1:1\n", "# 9\n1 1:2\n6 1:x\n" };
	double more = 10;
	const cop_libsvm_judge judges = { &more, judge };
	for (size_t i = 0; i < 2; i++) {
		cop_stream *stream;
		cop_dataset *ds;
		cop_diag diag;
		assert_int_equal(cop_stream_open_memory("t", texts[i], strlen(texts[i]), &stream, NULL), COP_OK);
		cop_err err = cop_libsvm_read_judged(stream, &judges, &ds, &diag);
		cop_stream_free(stream);
		assert_int_equal(err, i == 0 ? COP_OK : COP_EFULL);
		if (i == 0) {
			assert_true(ds->target[0] == 11 && ds->target[1] == 13);
		} else {
			assert_null(ds);
			assert_int_equal(diag.line, 3);
			assert_string_equal(diag.message, "6 is too much");
		}
		cop_dataset_free(ds);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libsvm_counting_from_one_is_moved),
		cmocka_unit_test(test_libsvm_counting_from_zero_is_kept),
		cmocka_unit_test(test_libsvm_of_long_row_is_read),
		cmocka_unit_test(test_libsvm_of_wrong_text_says_where_and_what),
		cmocka_unit_test(test_libsvm_without_memory_fails_cleanly),
		cmocka_unit_test(test_libsvm_with_a_judge_takes_what_it_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
