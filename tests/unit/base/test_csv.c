#include "support.h"

#include <math.h>
#include <string.h>

#include "base/csv.h"

static void open_csv(const char *text, cop_stream **stream, cop_csv **csv)
{
	assert_int_equal(cop_stream_open_memory("t.csv", text, strlen(text), stream, NULL), COP_OK);
	assert_int_equal(cop_csv_new(*stream, csv), COP_OK);
}

static void test_csv_row_by_row_gives_names_and_values(void **state)
{
	(void)state;
	const char *text = "age, \"pay\" ,\n1,2,3\n4,5,6\n";
	cop_stream *stream;
	cop_csv *csv;
	const double *values;
	size_t count;
	open_csv(text, &stream, &csv);
	assert_null(cop_csv_column(csv, 0));
	assert_int_equal(cop_csv_next(csv, &values, &count, NULL), COP_OK);
	assert_int_equal(count, 3);
	assert_true(values[0] == 1 && values[2] == 3);
	assert_string_equal(cop_csv_column(csv, 0), "age");
	assert_string_equal(cop_csv_column(csv, 1), "pay");
	assert_string_equal(cop_csv_column(csv, 2), "");
	assert_null(cop_csv_column(csv, 3));
	assert_int_equal(cop_csv_next(csv, &values, &count, NULL), COP_OK);
	assert_true(values[1] == 5);
	assert_int_equal(cop_csv_next(csv, &values, &count, NULL), COP_EEND);
	cop_csv_free(csv);
	cop_stream_free(stream);
}

static void test_csv_where_text_is_allowed_gives_it(void **state)
{
	(void)state;
	static const char text[] = "a,\"b, c\",d\n1,\"x, y\", \"\"\"z\"\" \n 1e999 ,2,\n\"1,2\n";
	cop_stream *stream;
	cop_csv *csv;
	const double *values;
	size_t count, length;
	cop_diag diag;
	open_csv(text, &stream, &csv);
	cop_csv_allow_text(csv);
	assert_int_equal(cop_csv_columns(csv), 0);
	assert_int_equal(cop_csv_next(csv, &values, &count, NULL), COP_OK);
	assert_int_equal(cop_csv_columns(csv), 3);
	assert_string_equal(cop_csv_column(csv, 1), "b, c");
	assert_true(values[0] == 1 && isnan(values[1]) && isnan(values[2]));
	assert_int_equal(cop_csv_row_length(csv), 16);
	const char *field = cop_csv_field(csv, 1, &length);
	assert_int_equal(length, 4);
	assert_memory_equal(field, "x, y", 4);
	assert_int_equal(cop_csv_wrong_field(csv, 1, &diag), COP_EFORMAT);
	assert_int_equal(cop_csv_next(csv, &values, &count, NULL), COP_OK);
	assert_true(isnan(values[0]) && values[1] == 2 && isnan(values[2]));
	assert_int_equal(cop_csv_wrong_field(csv, 0, &diag), COP_ENONFINITE);
	(void)cop_csv_field(csv, 2, &length);
	assert_int_equal(length, 0);
	assert_int_equal(cop_csv_next(csv, &values, &count, &diag), COP_EFORMAT);
	assert_string_equal(diag.message, "a text in quotes does not end in this line; expected texts of one line");
	cop_csv_free(csv);
	cop_stream_free(stream);
}

static void assert_field(const cop_csv *csv, size_t i, const char *expected)
{
	size_t length;
	const char *field = cop_csv_field(csv, i, &length);
	assert_int_equal(length, strlen(expected));
	assert_memory_equal(field, expected, length);
}

static void test_csv_doubled_quotes_within_quotes_are_one(void **state)
{
	(void)state;
	static const char text[] =
	        "\"a \"\"b\"\"\",c,d\n1,\"no, \"\"way\"\"\",\"\"\"\"\n2,x\"\"y, \"\"\"longer than the first row's "
	        "texts, \"\"\"\" here\" \n";
	cop_stream *stream;
	cop_csv *csv;
	const double *values;
	size_t count;
	open_csv(text, &stream, &csv);
	cop_csv_allow_text(csv);
	assert_int_equal(cop_csv_next(csv, &values, &count, NULL), COP_OK);
	assert_string_equal(cop_csv_column(csv, 0), "a \"b\"");
	assert_string_equal(cop_csv_column(csv, 1), "c");
	for (int again = 0; again < 2; again++) {
		assert_field(csv, 2, "\"");
		assert_field(csv, 1, "no, \"way\"");
		assert_field(csv, 0, "1");
	}
	assert_int_equal(cop_csv_next(csv, &values, &count, NULL), COP_OK);
	assert_field(csv, 1, "x\"\"y");
	assert_field(csv, 2, "\"longer than the first row's texts, \"\" here");
	cop_csv_free(csv);
	cop_stream_free(stream);
}

static void test_csv_numbers_in_quotes_are_numbers(void **state)
{
	(void)state;
	static const char text[] = "\"a\",\"b\"\n\"1.5\",\"-2\"\n3,\"x\"\n";
	for (int allowed = 0; allowed < 2; allowed++) {
		cop_stream *stream;
		cop_csv *csv;
		const double *values;
		size_t count;
		cop_diag diag;
		assert_int_equal(cop_stream_open_memory("t.csv", text, strlen(text), &stream, NULL), COP_OK);
		assert_int_equal(cop_csv_new(stream, &csv), COP_OK);
		if (allowed)
			cop_csv_allow_text(csv);
		assert_int_equal(cop_csv_next(csv, &values, &count, NULL), COP_OK);
		assert_true(values[0] == 1.5 && values[1] == -2);
		cop_err err = cop_csv_next(csv, &values, &count, &diag);
		if (allowed) {
			assert_int_equal(err, COP_OK);
			err = cop_csv_wrong_field(csv, 1, &diag);
		}
		assert_int_equal(err, COP_EFORMAT);
		assert_string_equal(diag.message, "field 2: \"x\" is not a number; expected a finite number");
		cop_csv_free(csv);
		cop_stream_free(stream);
	}
}

/* Of each text: the header's first name (NULL: none), and the rows' values; 0/0 is text or nothing. */
static const struct {
	const char *text, *name;
	size_t rows, columns;
	double values[6];
} separated[] = {
	{ "\xef\xbb\xbfSize;Price\r\n1,5;-2e3\r\n;1.5\r\n", "Size", 2, 2, { 1.5, -2000, NAN, 1.5 } },
	{ "1,25;3;\n1,2,3;1.000,5;,5\n", NULL, 2, 3, { 1.25, 3, NAN, NAN, NAN, 0.5 } },
	{ "1,5;2,5;3,5\n4;5;6\n", NULL, 2, 3, { 1.5, 2.5, 3.5, 4, 5, 6 } },
	{ "a;b,c\n1,2\n", "a;b", 1, 2, { 1, 2 } },
	{ "\tA\n\t2\n", "", 1, 2, { NAN, 2 } },
	{ "a, b\tc\t\n 1\t2,5\t\n", "a, b", 1, 3, { 1, 2.5, NAN } },
	{ "a,\tb\t,c\n1,\t2\t,\t3\n\t\n", "a", 1, 3, { 1, 2, 3 } }, /* tabs as blanks: no more fields than commas */
	{ "\"a;b;c\",\"d\"\n1,2\n", "a;b;c", 1, 2, { 1, 2 } },
	{ "\n  \n4\t5\n\n6\t7\n", NULL, 2, 2, { 4, 5, 6, 7 } },
};

static void test_what_makes_most_fields_of_the_first_line_separates(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof separated / sizeof *separated; i++) {
		cop_stream *stream;
		cop_csv *csv;
		const double *values;
		size_t count;
		const char *text = separated[i].text;
		assert_int_equal(cop_stream_open_memory("t.csv", text, strlen(text), &stream, NULL), COP_OK);
		assert_int_equal(cop_csv_new(stream, &csv), COP_OK);
		cop_csv_allow_text(csv);
		for (size_t row = 0; row < separated[i].rows; row++) {
			assert_int_equal(cop_csv_next(csv, &values, &count, NULL), COP_OK);
			assert_int_equal(count, separated[i].columns);
			for (size_t c = 0; c < count; c++) {
				const double wanted = separated[i].values[row * count + c];
				assert_true(values[c] == wanted || (isnan(values[c]) && isnan(wanted)));
			}
		}
		assert_int_equal(cop_csv_next(csv, &values, &count, NULL), COP_EEND);
		if (separated[i].name == NULL)
			assert_null(cop_csv_column(csv, 0));
		else
			assert_string_equal(cop_csv_column(csv, 0), separated[i].name);
		cop_csv_free(csv);
		cop_stream_free(stream);
	}
}

static void test_csv_that_is_told_of_its_header_obeys(void **state)
{
	(void)state;
	for (int header = 0; header < 2; header++)
		for (int text = 0; text < 2; text++) {
			const char *content = text ? "a,b\n1,2\n" : "5,6\n1,2\n";
			cop_stream *stream;
			cop_csv *csv;
			const double *values;
			size_t count;
			assert_int_equal(
			        cop_stream_open_memory("t.csv", content, strlen(content), &stream, NULL), COP_OK);
			assert_int_equal(cop_csv_new(stream, &csv), COP_OK);
			cop_csv_allow_text(csv);
			cop_csv_set_header(csv, header != 0);
			assert_int_equal(cop_csv_next(csv, &values, &count, NULL), COP_OK);
			if (header) {
				assert_true(values[0] == 1);
				assert_string_equal(cop_csv_column(csv, 1), text ? "b" : "6");
			} else {
				assert_true(text ? isnan(values[0]) : values[0] == 5);
				assert_null(cop_csv_column(csv, 1));
			}
			cop_csv_free(csv);
			cop_stream_free(stream);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csv_row_by_row_gives_names_and_values),
		cmocka_unit_test(test_csv_where_text_is_allowed_gives_it),
		cmocka_unit_test(test_csv_doubled_quotes_within_quotes_are_one),
		cmocka_unit_test(test_csv_numbers_in_quotes_are_numbers),
		cmocka_unit_test(test_what_makes_most_fields_of_the_first_line_separates),
		cmocka_unit_test(test_csv_that_is_told_of_its_header_obeys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
