#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "table/dataset_csv.h"

static cop_err read_text(const char *text, cop_dataset **out, cop_diag *diag)
{
	cop_stream *stream;
	*out = NULL;
	cop_err err = cop_stream_open_memory("t.csv", text, strlen(text), &stream, diag);
	if (err != COP_OK)
		return err;
	err = cop_dataset_csv_read(stream, out, diag);
	cop_stream_free(stream);
	return err;
}

static void test_dataset_csv_of_plain_rows_is_read(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"1,2,0\n-3.5,4e1,1\n",
		"1,2,0\r\n-3.5,4e1,1",
		"\n\n 1 ,\t2, 0 \n\n  \n-3.5,40,1\n\n",
		"a,b,class\n1,2,0\n-3.5,40,1\n",
		"1,b,2\n1,2,0\n-3.5,40,1\n",
		"\xef\xbb\xbf+1,2,0\n-3.5,40,1\n",
		",a,b\n1,2,0\n-3.5,40,1\n",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		cop_dataset *ds;
		cop_diag diag;
		if (read_text(texts[i], &ds, &diag) != COP_OK)
			fail_msg("text %zu: line %d: %s", i, (int)diag.line, diag.message);
		assert_int_equal(ds->n, 2);
		assert_int_equal(ds->d, 2);
		assert_true(ds->x[0] == 1 && ds->x[1] == 2 && ds->x[2] == -3.5f && ds->x[3] == 40);
		assert_true(ds->target[0] == 0 && ds->target[1] == 1);
		cop_dataset_free(ds);
	}
}

static void test_dataset_csv_of_wrong_text_says_where_and_what(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		cop_err err;
		const char *says;
	} cases[] = {
		{ "", COP_EFORMAT, "t.csv: it holds no rows" },
		{ "\n\n", COP_EFORMAT, "t.csv: it holds no rows" },
		{ "a,b\n", COP_EFORMAT,
		        "t.csv: its only line is not of numbers and was taken for the columns' names; expected rows" },
		{ "1 | price:0.23\n", COP_EFORMAT,
		        "t.csv: its only line is not of numbers and was taken for the columns' names; expected rows" },
		{ "1\n", COP_EFORMAT, "t.csv:1: one field; expected at least one feature and the target" },
		{ "1,2\n1,2,3\n", COP_EFORMAT,
		        "t.csv:2: 3 fields; expected 2 as in the first line, whose fields end at commas" },
		{ "1,2\n\n1\n", COP_EFORMAT,
		        "t.csv:3: 1 fields; expected 2 as in the first line, whose fields end at commas" },
		{ "a,b,c\n1,2\n", COP_EFORMAT,
		        "t.csv:2: 2 fields; expected 3 as in the first line, whose fields end at commas" },
		{ "1,2\n1,x\n", COP_EFORMAT, "t.csv:2: field 2: \"x\" is not a number; expected a finite number" },
		{ "1,2\n,2\n", COP_EFORMAT, "t.csv:2: field 1: it is empty; expected a finite number" },
		{ "1,2\n1,2,\n", COP_EFORMAT,
		        "t.csv:2: 3 fields; expected 2 as in the first line, whose fields end at commas" },
		{ "1,nan\n", COP_ENONFINITE, "t.csv:1: field 2: \"nan\" is not finite; expected a finite number" },
		{ "-inf,2\n", COP_ENONFINITE, "t.csv:1: field 1: \"-inf\" is not finite; expected a finite number" },
		{ "1,,2\n", COP_EFORMAT, "t.csv:1: field 2: it is empty; expected a finite number" },
		{ "1,1e999\n", COP_ENONFINITE, "t.csv:1: field 2: \"1e999\" is not finite; expected a finite number" },
		{ "1e39,1\n", COP_ENONFINITE, "t.csv:1: field 1: 1e+39 is too large; expected at most 3.4e38" },
		{ "1,2\n1,\x01\x80z\n", COP_EFORMAT,
		        "t.csv:2: field 2: \"??z\" is not a number; expected a finite number" },
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

static void test_dataset_csv_of_targets_that_are_no_class_keeps_the_first_line(void **state)
{
	(void)state;
	cop_dataset *ds;
	size_t classes;
	cop_diag diag;
	assert_int_equal(read_text("a,b\n1,0\n\n1,0.5\n1,-1\n", &ds, NULL), COP_OK);
	assert_int_equal(ds->odd_line, 4);
	assert_int_equal(cop_dataset_classes(ds, &classes, &diag), COP_EINVAL);
	assert_int_equal(diag.line, 4);
	assert_string_equal(diag.message, "target 0.5 is no class; expected an integer from 0 to 65535");
	cop_dataset_free(ds);
	assert_int_equal(read_text("1,0\n1,3\n", &ds, NULL), COP_OK);
	assert_int_equal(ds->odd_line, 0);
	cop_dataset_free(ds);
}

static void test_dataset_csv_of_random_numbers_equals_strtod(void **state)
{
	(void)state;
	enum { ROWS = 2000, COLUMNS = 10 };
	cop_rng rng;
	cop_rng_init(&rng, 11, 0);
	size_t size = (size_t)ROWS * COLUMNS * 32;
	char *text = malloc(size);
	double *expected = malloc(sizeof *expected * ROWS * COLUMNS);
	assert_true(text != NULL && expected != NULL);
	size_t at = 0;
	for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) {
		char number[32];
		int digits = (int)cop_rng_below(&rng, 20);
		double value = cop_rng_normal(&rng) * (cop_rng_below(&rng, 2) ? 1 : 1e30 * cop_rng_unit(&rng));
		(void)snprintf(number, sizeof number, "%.*g", digits, value);
		expected[i] = strtod(number, NULL);
		at += (size_t)snprintf(text + at, size - at, "%s%s", number, i % COLUMNS == COLUMNS - 1 ? "\n" : ",");
	}
	cop_dataset *ds;
	assert_int_equal(read_text(text, &ds, NULL), COP_OK);
	assert_int_equal(ds->n, ROWS);
	for (size_t i = 0; i < ROWS; i++) {
		for (size_t k = 0; k + 1 < COLUMNS; k++)
			assert_true(ds->x[i * (COLUMNS - 1) + k] == (float)expected[i * COLUMNS + k]);
		assert_true(ds->target[i] == expected[i * COLUMNS + COLUMNS - 1]);
	}
	cop_dataset_free(ds);
	free(text);
	free(expected);
}

static void test_dataset_csv_without_memory_fails_cleanly(void **state)
{
	(void)state;
	unsigned long n = 1;
	for (;; n++) {
		cop_dataset *ds;
		cop_test_alloc_fail(n, 0);
		cop_err err = read_text("a,b\n1,2\n3,4\n", &ds, NULL);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dataset_csv_of_plain_rows_is_read),
		cmocka_unit_test(test_dataset_csv_of_wrong_text_says_where_and_what),
		cmocka_unit_test(test_dataset_csv_of_targets_that_are_no_class_keeps_the_first_line),
		cmocka_unit_test(test_dataset_csv_of_random_numbers_equals_strtod),
		cmocka_unit_test(test_dataset_csv_without_memory_fails_cleanly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
