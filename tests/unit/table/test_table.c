#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table/table.h"

typedef struct table {
	cop_dataset *data;
	cop_encoder *p;
	cop_diag diag;
	char said[900];
} table;

static cop_err train(table *t, const char *text, bool libsvm, cop_table_settings settings)
{
	cop_stream *stream;
	memset(t, 0, sizeof *t);
	cop_err err = cop_stream_open_memory("t", text, strlen(text), &stream, &t->diag);
	if (err != COP_OK)
		return err;
	err = cop_table_training_from(stream, libsvm, &settings, &t->data, &t->p, &t->diag);
	cop_stream_free(stream);
	cop_diag_text(&t->diag, t->said, sizeof t->said);
	return err;
}

static cop_err later(table *t, const char *text, bool libsvm, bool labelled)
{
	cop_stream *stream;
	cop_dataset_free(t->data);
	t->data = NULL;
	memset(&t->diag, 0, sizeof t->diag);
	cop_err err = cop_stream_open_memory("u", text, strlen(text), &stream, &t->diag);
	if (err != COP_OK)
		return err;
	err = cop_table_from(stream, libsvm, t->p, labelled, &t->data, &t->diag);
	cop_stream_free(stream);
	cop_diag_text(&t->diag, t->said, sizeof t->said);
	return err;
}

static void done(table *t)
{
	cop_dataset_free(t->data);
	cop_encoder_free(t->p);
}

#define TRAINED(t, text, ...)                                                                                          \
	do {                                                                                                           \
		if (train(&(t), (text), false, (cop_table_settings){ __VA_ARGS__ }) != COP_OK)                         \
			fail_msg("%s", (t).said);                                                                      \
	} while (0)
#define REFUSED(t, text, error, says, ...)                                                                             \
	do {                                                                                                           \
		assert_int_equal(train(&(t), (text), false, (cop_table_settings){ __VA_ARGS__ }), (error));            \
		assert_null((t).data);                                                                                 \
		assert_null((t).p);                                                                                    \
		assert_string_equal((t).said, (says));                                                                 \
	} while (0)

/* Features and target of each row, as text: "1 2 3:0;4 5 6:1". */
static void assert_rows(const cop_dataset *data, const char *expected)
{
	char text[1000] = "";
	size_t at = 0;
	for (size_t i = 0; i < data->n; i++) {
		for (size_t j = 0; j < data->d; j++)
			at += (size_t)snprintf(text + at, sizeof text - at, "%s%g", j > 0 ? " " : "",
			        (double)data->x[i * data->d + j]);
		at += (size_t)snprintf(
		        text + at, sizeof text - at, ":%g%s", data->target[i], i + 1 < data->n ? ";" : "");
	}
	assert_string_equal(text, expected);
}

static void assert_features(const cop_encoder *p, const char *expected)
{
	char text[1000] = "";
	for (size_t j = 0; j < cop_encoder_features(p); j++) {
		strcat(text, j > 0 ? "|" : "");
		strcat(text, cop_encoder_feature(p, j));
	}
	assert_string_equal(text, expected);
}

static void assert_classes(const cop_encoder *p, const char *expected)
{
	char text[1000] = "";
	for (size_t k = 0; k < cop_encoder_classes(p); k++) {
		strcat(text, k > 0 ? "|" : "");
		strcat(text, cop_encoder_class(p, k));
	}
	assert_string_equal(text, expected);
}

/* ---- numbers ---- */

static void test_table_of_numbers_is_read_as_it_stands(void **state)
{
	(void)state;
	table t;
	TRAINED(t, "1,2,0\n-3.5,\"4e1\",1\n", .regression = false);
	assert_rows(t.data, "1 2:0;-3.5 40:1");
	assert_features(t.p, "x0|x1");
	assert_classes(t.p, "0|1");
	assert_string_equal(cop_encoder_target(t.p), "target");
	assert_int_equal(later(&t, "5,6,1\n", false, true), COP_OK);
	assert_rows(t.data, "5 6:1");
	assert_int_equal(later(&t, "a,b,c\n5,6,1\n", false, true), COP_OK);
	assert_rows(t.data, "5 6:1");
	assert_int_equal(later(&t, "5,6\n7,8\n", false, false), COP_OK);
	assert_rows(t.data, "5 6:nan;7 8:nan");
	assert_int_equal(later(&t, "5,6,0\n7,8,?\n9,9,17\n", false, false), COP_OK);
	assert_rows(t.data, "5 6:0;7 8:nan;9 9:nan");
	done(&t);
	TRAINED(t, "1,2,0.25\n3,4,-7\n", .regression = true);
	assert_rows(t.data, "1 2:0.25;3 4:-7");
	assert_int_equal(cop_encoder_classes(t.p), 0);
	done(&t);
}

static void test_table_of_semicolons_has_decimal_commas(void **state)
{
	(void)state;
	table t;
	TRAINED(t, "1,5;a;0\n-2;b, c;1\n\"0,25\";a;1\n", .regression = false);
	assert_rows(t.data, "1.5 1 0:0;-2 0 1:1;0.25 1 0:1");
	assert_features(t.p, "x0|x1=a|x1=b, c");
	assert_int_equal(later(&t, "3,75,a,0\n", false, true), COP_ESHAPE);
	assert_int_equal(later(&t, "3.75,a,0\n", false, true), COP_OK); /* each file has its own */
	assert_rows(t.data, "3.75 1 0:0");
	done(&t);
	TRAINED(t, "\tage\ty\n0\t31\tno\n1\t5,5\tyes\n", .regression = false);
	assert_rows(t.data, "0 31:0;1 5.5:1");
	assert_features(t.p, "x0|age");
	assert_classes(t.p, "no|yes");
	done(&t);
	REFUSED(t, "a;b\n1;2\n1,2\n", COP_EFORMAT,
	        "t:3: 1 fields; expected 2 as in the first line, whose fields end at semicolons", .target = NULL);
}

static void test_table_of_wrong_text_says_where_and_what(void **state)
{
	(void)state;
	table t;
	REFUSED(t, "", COP_EFORMAT, "t: it holds no rows", .regression = false);
	REFUSED(t, "a,b\n", COP_EFORMAT,
	        "t: its only line is not of numbers and was taken for the columns' names; expected rows",
	        .regression = false);
	REFUSED(t, "1\n", COP_EFORMAT, "t:1: one field; expected at least one feature and the target", .target = NULL);
	REFUSED(t, "1,2\n1,2,3\n", COP_EFORMAT,
	        "t:2: 3 fields; expected 2 as in the first line, whose fields end at commas", .target = NULL);
	REFUSED(t, "a,b\n1,2\n1e39,2\n", COP_ENONFINITE,
	        "t:3: field 1 (a) is no number that can be held; expected at most 3.4e38", .regression = true);
	REFUSED(t, "1,2\ninf,2\n", COP_ENONFINITE,
	        "t:2: field 1 is no number that can be held; expected at most 3.4e38", .regression = true);
	REFUSED(t, "1,2\n1,-1e39\n", COP_ENONFINITE,
	        "t:2: field 2 is no number that can be held; expected at most 3.4e38", .regression = true);
	REFUSED(t, "1,2\n1,x\n", COP_EFORMAT,
	        "t:2: field 2 is the target and not a number; expected a number to predict", .regression = true);
	REFUSED(t, "1,2\n1,\n", COP_EFORMAT, "t:2: field 2 is the target and missing; expected a value in every row",
	        .regression = true);
	REFUSED(t, "age,y\n1,2\n,2\n", COP_EFORMAT,
	        "t:3: field 1 (age) is missing; expected a value, or a rule for missing ones (mean, median or "
	        "label)",
	        .regression = true);
}

static void test_table_finds_target_by_name_or_number(void **state)
{
	(void)state;
	table t;
	TRAINED(t, "age,y,pay\n1,0,10\n2,1,20\n", .target = "y");
	assert_rows(t.data, "1 10:0;2 20:1");
	assert_features(t.p, "age|pay");
	assert_string_equal(cop_encoder_target(t.p), "y");
	assert_int_equal(later(&t, "pay,age,y\n30,3,1\n", false, true), COP_OK);
	assert_rows(t.data, "3 30:1");
	assert_int_equal(later(&t, "pay,age\n30,3\n", false, false), COP_OK);
	assert_rows(t.data, "3 30:nan");
	assert_int_equal(later(&t, "3,1,30\n", false, true), COP_OK);
	assert_rows(t.data, "3 30:1");
	assert_int_equal(later(&t, "3,30\n", false, false), COP_OK);
	assert_rows(t.data, "3 30:nan");
	done(&t);
	TRAINED(t, "0,1,10\n1,2,20\n", .target = "0");
	assert_rows(t.data, "1 10:0;2 20:1");
	assert_features(t.p, "x1|x2");
	done(&t);
	REFUSED(t, "a,b\n1,2\n", COP_EFORMAT,
	        "t: there is no column \"z\", which is to be the target; expected a name in the first line or a number "
	        "from 0 to 1",
	        .target = "z");
	REFUSED(t, "1,2\n1,2\n", COP_EFORMAT,
	        "t: there is no column \"2\", which is to be the target; expected a number from 0 to 1", .target = "2");
	REFUSED(t, "0,1,2,3,4,5,6,7,8,9,10,11\n", COP_EFORMAT,
	        "t: there is no column \":\", which is to be the target; expected a number from 0 to 11",
	        .target = ":");
	REFUSED(t, "a,b,a\n1,2,0\n", COP_EFORMAT,
	        "t: columns 0 and 2 are both named \"a\", which is to be the target; expected one of the numbers",
	        .target = "a");
	TRAINED(t, "a,b,a\n1,2,0\n2,3,1\n", .target = "2", .ignored = "0");
	assert_features(t.p, "b");
	assert_rows(t.data, "2:0;3:1");
	done(&t);
}

static void test_table_text_with_doubled_quotes_has_them_once(void **state)
{
	(void)state;
	table t;
	TRAINED(t, "k,y\n\"a \"\"b\"\"\",\"no, \"\"way\"\"\"\nc,yes\n", .target = NULL);
	assert_features(t.p, "k=a \"b\"|k=c");
	assert_string_equal(cop_encoder_class(t.p, 0), "no, \"way\"");
	done(&t);
}

static void test_table_of_other_columns_is_refused(void **state)
{
	(void)state;
	table t;
	TRAINED(t, "age,pay,y\n1,10,0\n2,20,1\n", .target = NULL);
	assert_int_equal(later(&t, "age,size,y\n1,10,0\n", false, true), COP_ESHAPE);
	assert_string_equal(t.said, "u: there is no column \"pay\"; expected the columns of training");
	assert_int_equal(later(&t, "age,pay,size,y\n1,10,3,0\n", false, true), COP_ESHAPE);
	assert_string_equal(t.said, "u: column \"size\" was not in training; expected the columns of training");
	assert_int_equal(later(&t, "age,pay\n1,10\n", false, true), COP_ESHAPE);
	assert_string_equal(t.said, "u: there is no column \"y\"; expected the columns of training");
	assert_int_equal(later(&t, "1,10\n", false, true), COP_ESHAPE);
	assert_string_equal(t.said, "u:1: 2 fields; expected 3 as in training");
	assert_int_equal(later(&t, "1,10,0,0\n", false, false), COP_ESHAPE);
	assert_string_equal(t.said, "u:1: 4 fields; expected 3 as in training, or one less without the target");
	assert_int_equal(later(&t, "0 1:1\n", true, true), COP_ESHAPE);
	assert_string_equal(t.said, "u: it is libsvm; expected csv as in training");
	assert_int_equal(later(&t, "1,x,0\n", false, true), COP_EFORMAT);
	assert_string_equal(t.said, "u:1: field 2: \"x\" is not a number; expected a finite number");
	assert_int_equal(later(&t, "1,1e39,0\n", false, true), COP_ENONFINITE);
	assert_string_equal(t.said, "u:1: field 2 is no number that can be held; expected at most 3.4e38");
	assert_int_equal(later(&t, "1,NA,0\n", false, true), COP_EFORMAT);
	assert_string_equal(
	        t.said, "u:1: field 2 is missing; expected a value, or a model that was trained to fill it in");
	assert_null(t.data);
	done(&t);
}

/* ---- header ---- */

static void test_table_tells_header_from_rows(void **state)
{
	(void)state;
	static const struct {
		const char *text, *features;
		size_t rows;
	} cases[] = {
		{ "1,b,0\n1,c,0\n", "x0|x1=b|x1=c", 2 },                 /* numbers and text over text */
		{ "p,x,x,0\nq,x,y,0\n", "x0=p|x0=q|x1=x|x2=x|x2=y", 2 }, /* text, and twice the same */
		{ "p,x,z,0\nq,x,y,0\n", "x0=p|x0=q|x1=x|x2=z|x2=y", 2 }, /* a number in it */
		{ "p,x,z,y\nq,x,y,0\n", "p=q|x=x|z=y", 1 },              /* text alone, distinct */
		{ "0,1,y\n5,6,0\n", "0|1", 1 },                          /* text over a number */
		{ "a,?,z\nb,6,y\n", "x0=a|x0=b|x1|x1=?", 2 },            /* something is missing */
		{ "\"a\",\"b\"\n1,2\n", "a", 1 },
		{ "\"1\",\"2\"\n1,2\n", "x0", 2 },
		{ ",,y\n1,2,0\n", "x0|x1", 1 },
		{ "a,b,y\n\n1,2,0", "a|b", 1 },
		{ "\xef\xbb\xbf"
		  "a,b,y\n1,2,0",
		        "a|b", 1 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		table t;
		TRAINED(t, cases[i].text, .missing = COP_MISSING_LABEL);
		assert_features(t.p, cases[i].features);
		assert_int_equal(t.data->n, cases[i].rows);
		done(&t);
	}
}

static void test_table_knows_the_header_of_training_again(void **state)
{
	(void)state;
	table t;
	TRAINED(t, "0,1,y\n5,a,0\n6,b,1\n", .target = NULL);
	assert_features(t.p, "0|1=a|1=b");
	assert_int_equal(later(&t, "1,0,y\na,6,1\n", false, true), COP_OK);
	assert_rows(t.data, "6 1 0:1");
	done(&t);
}

static void test_table_of_long_lines_is_read(void **state)
{
	(void)state;
	enum { COLUMNS = 60000 };
	char *text = malloc((size_t)COLUMNS * 16 + 16);
	assert_non_null(text);
	for (int header = 0; header < 2; header++) {
		size_t at = 0;
		for (size_t c = 0; c < COLUMNS; c++)
			at += (size_t)sprintf(text + at, header ? "n%zu%s" : "%zu%s", c, c + 1 < COLUMNS ? "," : "\n");
		for (size_t c = 0; c < COLUMNS; c++)
			at += (size_t)sprintf(text + at, "1%s", c + 1 < COLUMNS ? "," : "\n");
		table t;
		TRAINED(t, text, .regression = true);
		assert_int_equal(t.data->n, header ? 1 : 2);
		assert_string_equal(cop_encoder_feature(t.p, 7), header ? "n7" : "x7");
		done(&t);
	}
	free(text);
}

/* ---- categories ---- */

static void test_table_of_text_makes_categories_in_order(void **state)
{
	(void)state;
	table t;
	TRAINED(t, "age,colour,y\n3,red,0\n4,\"sea, blue\",1\n5,red,1\n", .target = NULL);
	assert_features(t.p, "age|colour=red|colour=sea, blue");
	assert_rows(t.data, "3 1 0:0;4 0 1:1;5 1 0:1");
	assert_int_equal(later(&t, "age,colour,y\n6,green,0\n7,\"red\",1\n", false, true), COP_OK);
	assert_rows(t.data, "6 0 0:0;7 1 0:1");
	done(&t);
}

/* The column's name in front of "=", of features of categories alone. */
static void test_table_features_of_categories_have_a_stem(void **state)
{
	(void)state;
	table t;
	TRAINED(t, "shape,age,colour,same,size,y\nflat,3,red,1,1,0\nround,4,blue,1,2,1\nsquare,5,=green,1,3,1\n",
	        .target = NULL);
	size_t categories = 0;
	for (size_t j = 0; j < cop_encoder_features(t.p); j++) {
		const char *name = cop_encoder_feature(t.p, j), *end = strchr(name, '=');
		assert_int_equal(cop_encoder_stem(t.p, j), end == NULL ? 0 : (size_t)(end - name));
		categories += end != NULL;
	}
	assert_int_equal(cop_encoder_features(t.p), categories + 3);
	assert_true(categories >= 4);
	done(&t);
}

static void test_table_column_that_turns_to_text_names_numbers_by_value(void **state)
{
	(void)state;
	table t;
	TRAINED(t, "1.0,9,0\n2,9,1\n0.1,9,0\n-0,9,0\nx,9,1\n1,9,0\n2.50,9,0\n0,9,1\n26847104,9,1\n1e999,9,1\n",
	        .target = NULL);
	assert_features(t.p, "x0=1|x0=2|x0=0.1|x0=0|x0=x|x0=2.5|x0=26847104|x0=1e999|x1");
	assert_int_equal(later(&t, "0.10,9,0\n26847104.0,9,0\n26847104,9,0\n", false, true), COP_OK);
	assert_rows(t.data, "0 0 1 0 0 0 0 0 9:0;0 0 0 0 0 0 0 0 9:0;0 0 0 0 0 0 1 0 9:0");
	done(&t);
	REFUSED(t, "26847104,0\nx,1\n", COP_EFORMAT,
	        "t:2: field 1 is text, and lines above it have numbers of more than 7 digits; expected numbers, or "
	        "that the column is named as a category",
	        .target = NULL);
	TRAINED(t, "26847104,0\nx,1\n", .categories = "0");
	assert_features(t.p, "x0=26847104|x0=x");
	done(&t);
}

static void test_table_takes_named_columns_as_categories(void **state)
{
	(void)state;
	table t;
	TRAINED(t, "zip,kind,y,w\n8,1,0,a\n9,2,1,b\n8,1,1,a\n", .categories = "kind,0,kind", .target = "y");
	assert_features(t.p, "zip=8|zip=9|kind=1|kind=2|w=a|w=b");
	assert_rows(t.data, "1 0 1 0 1 0:0;0 1 0 1 0 1:1;1 0 1 0 1 0:1");
	done(&t);
	REFUSED(t, "a,y\n1,2\n", COP_EFORMAT,
	        "t: there is no column \"b\", which is to be a category; expected a name in the first line or a number "
	        "from 0 to 1",
	        .categories = "a,b");
	REFUSED(t, "a,y\n1,2\n", COP_EFORMAT, "t:2: field 2 (y) is the target; expected another column as a category",
	        .categories = "y");
}

static void test_table_ignores_columns(void **state)
{
	(void)state;
	table t;
	TRAINED(t, "id,age,note,y\nu1,31,?,0\nu2,,1e999,1\nu3,33,7,1\n", .ignored = "id,2",
	        .missing = COP_MISSING_MEAN);
	assert_features(t.p, "age");
	assert_rows(t.data, "31:0;32:1;33:1");
	assert_int_equal(later(&t, "id,age,note,y\n,40,x,1\n", false, true), COP_OK);
	assert_rows(t.data, "40:1");
	assert_int_equal(later(&t, "y,age\n1,40\n", false, true), COP_OK); /* by name they may be away */
	assert_rows(t.data, "40:1");
	assert_int_equal(later(&t, "1,40,2,0\n", false, true), COP_OK);
	assert_rows(t.data, "40:0");
	assert_int_equal(later(&t, "40,0\n", false, true), COP_ESHAPE);
	done(&t);
	TRAINED(t, "a,7,r,1,0\nb,8,s,2,1\n", .ignored = "0", .categories = "3");
	assert_features(t.p, "x1|x2=r|x2=s|x3=1|x3=2");
	assert_rows(t.data, "7 1 0 1 0:0;8 0 1 0 1:1");
	assert_int_equal(cop_encoder_stem(t.p, 0), 0);
	assert_int_equal(cop_encoder_stem(t.p, 4), 2);
	size_t place, categories;
	assert_string_equal(cop_encoder_widest(t.p, &place, &categories), "");
	assert_true(place == 2 && categories == 2);
	done(&t);
	REFUSED(t, "a,y\n1,2\n", COP_EFULL, "t: it has no features", .ignored = "a");
	REFUSED(t, "a,b,y\n1,2,3\n", COP_EFORMAT,
	        "t:2: field 3 (y) is the target; expected another column to be ignored", .ignored = "y");
	REFUSED(t, "a,b,y\n1,2,3\n", COP_EFORMAT,
	        "t:2: field 1 (a) is to be ignored and a category; expected one of both", .ignored = "a",
	        .categories = "a");
	REFUSED(t, "a,b,y\n1,2,3\n", COP_EFORMAT,
	        "t: there is no column \"c\", which is to be ignored; expected a name in the first line or a number "
	        "from 0 "
	        "to 2",
	        .ignored = "c");
}

static void test_table_of_too_many_categories_is_refused(void **state)
{
	(void)state;
	enum { ROWS = COP_ENCODER_MAX_CATEGORIES + 1 };
	char *text = malloc((size_t)ROWS * 16);
	table t;
	assert_non_null(text);
	size_t at = 0;
	for (size_t i = 0; i < ROWS; i++)
		at += (size_t)sprintf(text + at, "c%zu,%zu\n", i, i % 2);
	REFUSED(t, text, COP_EFULL,
	        "t:4097: field 1 is one category too many; expected at most 4096 of a column, and 64 MiB of names in "
	        "all, or that the column is ignored",
	        .target = NULL);
	free(text);
}

static void test_table_of_long_text_is_refused(void **state)
{
	(void)state;
	char text[3000];
	table t;
	memset(text, 'a', sizeof text);
	memcpy(text, "1,2\n", 4);
	memcpy(text + 2000, ",2\n", 4);
	REFUSED(t, text, COP_EFORMAT, "t:2: field 1 is a text of 1996 bytes; expected at most 1023", .target = NULL);
	memcpy(text, "k,y,", 4);
	memcpy(text + 2000, "\n1,2,3\n", 8);
	assert_int_equal(train(&t, text, false, (cop_table_settings){ .target = NULL }), COP_EFORMAT);
	assert_string_equal(strstr(t.said, "has a name"), "has a name of 1996 bytes; expected at most 1023");
	cop_stream *stream;
	cop_table_settings settings = { .regression = false };
	assert_int_equal(cop_stream_open_memory("t", "1,2\na\0b,2\n", 10, &stream, NULL), COP_OK);
	assert_int_equal(cop_table_training_from(stream, false, &settings, &t.data, &t.p, &t.diag), COP_EFORMAT);
	assert_string_equal(t.diag.message, "field 1 holds a zero byte; expected text");
	cop_stream_free(stream);
}

/* ---- missing ---- */

static const char some_missing[] = "age,colour,w,y\n1,red,5,0\n?,blue,6,1\n4,,7,1\nNA,blue,8,0\n10,nan,9,1\n";

static void test_table_fills_missing_by_mean(void **state)
{
	(void)state;
	table t;
	TRAINED(t, some_missing, .missing = COP_MISSING_MEAN);
	assert_features(t.p, "age|colour=red|colour=blue|w");
	assert_rows(t.data, "1 1 0 5:0;5 0 1 6:1;4 0 1 7:1;5 0 1 8:0;10 0 1 9:1");
	assert_int_equal(later(&t, "age,colour,w,y\n,,,1\n", false, true), COP_OK);
	assert_rows(t.data, "5 0 1 7:1");
	done(&t);
}

static void test_table_fills_missing_by_median(void **state)
{
	(void)state;
	table t;
	TRAINED(t, some_missing, .missing = COP_MISSING_MEDIAN);
	assert_rows(t.data, "1 1 0 5:0;4 0 1 6:1;4 0 1 7:1;4 0 1 8:0;10 0 1 9:1");
	assert_int_equal(later(&t, "age,colour,w,y\n,,,1\n", false, true), COP_OK);
	assert_rows(t.data, "4 0 1 7:1");
	done(&t);
	TRAINED(t, "1,0\n4,0\n8,0\n2,0\n,0\n", .missing = COP_MISSING_MEDIAN);
	assert_rows(t.data, "1:0;4:0;8:0;2:0;3:0");
	done(&t);
}

static void test_table_median_of_random_columns_equals_sorting(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 60; seed++) {
		cop_rng rng;
		char text[4000] = ",0\n";
		int sorted[60];
		size_t at = 3, n = 1 + (size_t)(seed % 60);
		cop_rng_init(&rng, seed, 0);
		for (size_t i = 0; i < n; i++) {
			int value = (int)cop_rng_below(&rng, seed % 3 == 0 ? 5 : 1000);
			size_t k = i;
			for (; k > 0 && sorted[k - 1] > value; k--)
				sorted[k] = sorted[k - 1];
			sorted[k] = value;
			at += (size_t)sprintf(text + at, "%d,0\n", value);
		}
		table t;
		TRAINED(t, text, .missing = COP_MISSING_MEDIAN);
		double expected = (sorted[n / 2] + sorted[(n - 1) / 2]) / 2.0;
		assert_true((double)t.data->x[0] == expected);
		done(&t);
	}
}

static void test_table_labels_missing(void **state)
{
	(void)state;
	table t;
	TRAINED(t, some_missing, .missing = COP_MISSING_LABEL);
	assert_features(t.p, "age|age=?|colour=red|colour=blue|colour=?|w");
	assert_rows(t.data, "1 0 1 0 0 5:0;5 1 0 1 0 6:1;4 0 0 0 1 7:1;5 1 0 1 0 8:0;10 0 0 0 1 9:1");
	assert_int_equal(later(&t, "age,colour,w,y\n,,,1\n2,red,3,0\n", false, true), COP_OK);
	assert_rows(t.data, "5 1 0 0 1 7:1;2 0 1 0 0 3:0");
	done(&t);
	TRAINED(t, "1,a,0\n2,b,0\n", .missing = COP_MISSING_LABEL);
	assert_int_equal(later(&t, "5,,0\n", false, true), COP_OK); /* not seen in training: none of them */
	assert_rows(t.data, "5 0 0:0");
	done(&t);
}

static void test_table_of_columns_that_are_all_missing_has_zeros(void **state)
{
	(void)state;
	static const cop_missing ways[] = { COP_MISSING_MEAN, COP_MISSING_MEDIAN };
	table t;
	for (size_t i = 0; i < 2; i++) {
		TRAINED(t, ",?,1,0\n,?,2,1\n", .missing = ways[i], .categories = "1");
		assert_features(t.p, "x0|x2");
		assert_rows(t.data, "0 1:0;0 2:1");
		assert_int_equal(later(&t, "7,a,3,1\n", false, true), COP_OK);
		assert_rows(t.data, "7 3:1");
		done(&t);
	}
	TRAINED(t, ",?,1,0\n,?,2,1\n", .missing = COP_MISSING_LABEL, .categories = "1");
	assert_features(t.p, "x0|x0=?|x1=?|x2");
	assert_rows(t.data, "0 1 1 1:0;0 1 1 2:1");
	done(&t);
	assert_int_equal(
	        train(&t, "?,0\n?,1\n", false, (cop_table_settings){ .missing = COP_MISSING_MEAN, .categories = "0" }),
	        COP_EFULL);
	assert_string_equal(t.said, "t: it has no features");
}

/* ---- classes ---- */

static void test_table_of_class_numbers_keeps_or_names_them(void **state)
{
	(void)state;
	static const struct {
		const char *text, *classes;
	} cases[] = {
		{ "1,0\n1,1\n1,2\n", "0|1|2" },
		{ "1,2\n1,0\n", "0|1|2" }, /* class 1 did not happen to be there */
		{ "1,-0\n1,1.0\n", "0|1" },
		{ "1,2\n1,1\n1,2\n", "2|1" },
		{ "1,0\n1,1000\n", "0|1000" },
		{ "1,1\n1,-1\n", "1|-1" },
		{ "1,0.5\n1,1.50\n1,1.5\n", "0.5|1.5" },
		{ "1,b\n1,a\n1,b\n", "b|a" },
		{ "x,y\n1,7\n1,-0\n1,7.0\n1,b\n1,7\n1,0\n", "7|0|b" },
		{ "1,16777217\n1,16777216\n", "16777217|16777216" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		table t;
		TRAINED(t, cases[i].text, .regression = false);
		assert_classes(t.p, cases[i].classes);
		for (size_t k = 0; k < t.data->n; k++)
			assert_true(cop_dataset_is_class(t.data->target[k]) && !signbit(t.data->target[k]));
		done(&t);
	}
}

static void test_table_rows_without_target_are_kept_when_allowed(void **state)
{
	(void)state;
	static const struct {
		const char *text, *rows, *classes;
	} cases[] = {
		{ "1,0\n2,\n3,1\n4,?\n", "1:0;2:nan;3:1;4:nan", "0|1" },
		{ "1,NA\n2,7\n3,b\n4,nan\n5,7\n", "1:nan;2:0;3:1;4:nan;5:0", "7|b" },
		{ "1,-3\n2,\n3,-4\n", "1:0;2:nan;3:1", "-3|-4" },
	};
	table t;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		TRAINED(t, cases[i].text, .unlabelled = true);
		assert_rows(t.data, cases[i].rows);
		assert_classes(t.p, cases[i].classes);
		done(&t);
	}
	TRAINED(t, "1,\n2,0.5\n3,2.5\n", .unlabelled = true, .regression = true, .scale_target = true);
	assert_rows(t.data, "1:nan;2:0.5;3:2.5");
	assert_int_equal(cop_encoder_fit(t.p, t.data, 3, NULL), COP_OK);
	assert_true(fabs(cop_encoder_to_scale(t.p, 1.5) - 0.5) < 1e-12);
	done(&t);
	REFUSED(t, "1,\n2,?\n", COP_EFORMAT, "t: no row has a target; expected some", .unlabelled = true);
	REFUSED(t, "1,\n2,?\n", COP_EFORMAT, "t: no row has a target; expected some", .unlabelled = true,
	        .regression = true);
}

static void test_table_numbers_classes_by_first_appearance(void **state)
{
	(void)state;
	table t;
	TRAINED(t, "x,y\n1,7\n1,0\n1,b\n1,7.0\n1,\"b\"\n", .regression = false);
	assert_rows(t.data, "1:0;1:1;1:2;1:0;1:2");
	assert_int_equal(later(&t, "1,b\n1,b\n1,0.0\n", false, true), COP_OK);
	assert_rows(t.data, "1:2;1:2;1:1");
	assert_int_equal(later(&t, "1,b\n1,c\n", false, true), COP_EFORMAT);
	assert_string_equal(t.said, "u:2: field 2 is class \"c\"; expected one of the 3 classes of training");
	assert_int_equal(later(&t, "1,b\n1,\n", false, true), COP_EFORMAT);
	assert_string_equal(t.said, "u:2: field 2 is the target and missing; expected a value in every row");
	assert_int_equal(later(&t, "1,b\n1,c\n1,\n", false, false), COP_OK);
	assert_rows(t.data, "1:2;1:nan;1:nan");
	done(&t);
	TRAINED(t, "1,0\n1,1\n", .regression = false);
	assert_int_equal(later(&t, "1,1\n1,2\n", false, true), COP_EFORMAT);
	assert_string_equal(t.said, "u:2: field 2 is class \"2\"; expected one of the 2 classes of training");
	assert_int_equal(later(&t, "1,1\n1,0.5\n", false, true), COP_EFORMAT);
	assert_int_equal(later(&t, "1,1\n1,a\n", false, true), COP_EFORMAT);
	done(&t);
}

static void test_table_of_numbers_as_too_many_classes_is_refused(void **state)
{
	(void)state;
	char *text = malloc((size_t)2000 * 16);
	table t;
	assert_non_null(text);
	size_t at = 0;
	for (size_t i = 0; i < 2000; i++)
		at += (size_t)sprintf(text + at, "1,%zu.5\n", i);
	REFUSED(t, text, COP_EFULL,
	        "t: the target has more than 1000 different values, which are to be classes; expected fewer, or that "
	        "the target is named as a number to predict",
	        .regression = false);
	free(text);
}

/* ---- libsvm ---- */

static void test_table_of_libsvm_is_sparse(void **state)
{
	(void)state;
	table t;
	cop_table_settings settings = { .scaling = COP_SCALE_STANDARD };
	assert_int_equal(train(&t, "# one\n2 1:1 3:2\n-1 2:4\n\n2 3:1\n", true, settings), COP_OK);
	assert_true(t.data->sparse && t.data->d == 3 && t.data->n == 3);
	assert_features(t.p, "x1|x2|x3");
	assert_classes(t.p, "2|-1");
	assert_true(t.data->target[0] == 0 && t.data->target[1] == 1 && t.data->target[2] == 0);
	assert_int_equal(later(&t, "-1 0:7 1:5 4:9\n", true, true), COP_OK); /* 0 and 4 are not known */
	assert_int_equal(t.data->d, 3);
	assert_int_equal(t.data->start[1], 1);
	assert_true(t.data->index[0] == 0 && t.data->value[0] == 5 && t.data->target[0] == 1);
	assert_int_equal(later(&t, "#\n\n-1 1:5\n3 1:5\n", true, true), COP_EFORMAT);
	assert_string_equal(t.said, "u:4: the target is class \"3\"; expected one of the 2 classes of training");
	assert_int_equal(later(&t, "3 1:5\n", true, false), COP_OK);
	assert_true(isnan(t.data->target[0]));
	assert_int_equal(later(&t, "3,1\n", false, false), COP_ESHAPE);
	done(&t);
	assert_int_equal(train(&t, "1 0:1 2:2\n0 1:4\n", true, settings), COP_OK);
	assert_features(t.p, "x0|x1|x2");
	assert_int_equal(later(&t, "1 2:7\n", true, true), COP_OK); /* says index 2, whatever it counts from */
	assert_true(t.data->index[0] == 2 && t.data->d == 3);
	done(&t);
}

static void test_table_of_libsvm_refuses_what_it_cannot_be(void **state)
{
	(void)state;
	table t;
	assert_int_equal(train(&t, "1 1:1\n", true, (cop_table_settings){ .target = "y" }), COP_EFORMAT);
	assert_int_equal(train(&t, "1 1:1\n", true, (cop_table_settings){ .categories = "y" }), COP_EFORMAT);
	assert_int_equal(
	        train(&t, "1 1:1\n1e39 1:1\n", true, (cop_table_settings){ .regression = true }), COP_ENONFINITE);
	assert_string_equal(t.said, "t:2: target 1e+39 cannot be held; expected at most 3.4e38");
	assert_int_equal(train(&t, "1 4194305:1\n", true, (cop_table_settings){ .regression = true }), COP_EFULL);
	assert_string_equal(t.said, "t: there are more than 4194304 features");
	assert_null(t.data);
	assert_null(t.p);
}

/* ---- files ---- */

static void test_table_of_a_large_file_takes_little_more_than_its_rows(void **state)
{
	(void)state;
	enum { ROWS = 20000, COLUMNS = 101 };
	char path[] = "/tmp/coppice-table-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	FILE *file = fdopen(fd, "w");
	assert_non_null(file);
	for (size_t i = 0; i < ROWS; i++)
		for (size_t c = 0; c < COLUMNS; c++)
			assert_true(fprintf(file, "%zu%c", (i * 7 + c * 3) % 90, c + 1 < COLUMNS ? ',' : '\n') > 0);
	assert_int_equal(fclose(file), 0);
	table t = { 0 };
	cop_table_settings settings = { .regression = true };
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_table_read_training(path, &settings, &t.data, &t.p, NULL), COP_OK);
	assert_int_equal(t.data->n, ROWS);
	assert_true(t.data->row_capacity <= ROWS + ROWS / 10);
	assert_true(cop_test_alloc_bytes() < 2 * sizeof(float) * ROWS * COLUMNS); /* of all that ever were */
	cop_dataset_free(t.data);
	assert_int_equal(cop_table_read(path, t.p, true, &t.data, NULL), COP_OK);
	assert_true(t.data->row_capacity <= ROWS + ROWS / 10);
	done(&t);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(cop_table_read_training(path, &settings, &t.data, &t.p, &t.diag), COP_ENOTFOUND);
	assert_null(t.data);
	assert_null(t.p);
}

static void test_table_equals_the_dataset_of_the_same_file(void **state)
{
	(void)state;
	static const char *const names[] = { "letter", "abalone" };
	const char *folder = cop_test_data_folder();
	if (folder == NULL) {
		print_message("COPPICE_DATA is not set: skipped\n");
		skip();
	}
	for (size_t i = 0; i < 2; i++) {
		char path[4096];
		table t = { 0 };
		cop_dataset *plain;
		cop_table_settings settings = { .regression = i == 1, .scaling = COP_SCALE_STANDARD };
		(void)snprintf(path, sizeof path, "%s/%s.train.csv.gz", folder, names[i]);
		assert_int_equal(cop_dataset_read(path, &plain, NULL), COP_OK);
		assert_int_equal(cop_table_read_training(path, &settings, &t.data, &t.p, NULL), COP_OK);
		assert_true(t.data->n == plain->n && t.data->d == plain->d);
		assert_memory_equal(t.data->x, plain->x, plain->n * plain->d * sizeof *plain->x);
		assert_memory_equal(t.data->target, plain->target, plain->n * sizeof *plain->target);
		cop_dataset_free(plain);
		done(&t);
	}
}

static void test_table_without_memory_fails_cleanly(void **state)
{
	(void)state;
	static const struct {
		const char *text, *more;
		cop_table_settings settings;
		bool libsvm;
	} cases[] = {
		{ some_missing, some_missing, { .missing = COP_MISSING_LABEL }, false },
		{ some_missing, some_missing, { .missing = COP_MISSING_MEDIAN, .categories = "w", .target = "y" },
		        false },
		{ "1,7\n2,b\n", "1,b\n", { .regression = false }, false },
		{ "3 1:4\n1 2:3\n", "1 0:3\n", { .regression = false }, true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		table t;
		unsigned long n = 1;
		for (;; n++) {
			cop_test_alloc_fail(n, 0);
			cop_err err = train(&t, cases[i].text, cases[i].libsvm, cases[i].settings);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			if (err == COP_OK)
				break;
			assert_int_equal(err, COP_ENOMEM);
			assert_true(t.data == NULL && t.p == NULL);
		}
		assert_true(n > 10);
		for (n = 1;; n++) {
			cop_test_alloc_fail(n, 0);
			cop_err err = later(&t, cases[i].more, cases[i].libsvm, true);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			if (err == COP_OK)
				break;
			assert_int_equal(err, COP_ENOMEM);
			assert_null(t.data);
		}
		assert_true(n > 5);
		done(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_of_numbers_is_read_as_it_stands),
		cmocka_unit_test(test_table_of_semicolons_has_decimal_commas),
		cmocka_unit_test(test_table_of_wrong_text_says_where_and_what),
		cmocka_unit_test(test_table_finds_target_by_name_or_number),
		cmocka_unit_test(test_table_text_with_doubled_quotes_has_them_once),
		cmocka_unit_test(test_table_of_other_columns_is_refused),
		cmocka_unit_test(test_table_tells_header_from_rows),
		cmocka_unit_test(test_table_knows_the_header_of_training_again),
		cmocka_unit_test(test_table_of_long_lines_is_read),
		cmocka_unit_test(test_table_of_text_makes_categories_in_order),
		cmocka_unit_test(test_table_column_that_turns_to_text_names_numbers_by_value),
		cmocka_unit_test(test_table_takes_named_columns_as_categories),
		cmocka_unit_test(test_table_ignores_columns),
		cmocka_unit_test(test_table_of_too_many_categories_is_refused),
		cmocka_unit_test(test_table_of_long_text_is_refused),
		cmocka_unit_test(test_table_fills_missing_by_mean),
		cmocka_unit_test(test_table_fills_missing_by_median),
		cmocka_unit_test(test_table_median_of_random_columns_equals_sorting),
		cmocka_unit_test(test_table_labels_missing),
		cmocka_unit_test(test_table_of_columns_that_are_all_missing_has_zeros),
		cmocka_unit_test(test_table_of_class_numbers_keeps_or_names_them),
		cmocka_unit_test(test_table_rows_without_target_are_kept_when_allowed),
		cmocka_unit_test(test_table_numbers_classes_by_first_appearance),
		cmocka_unit_test(test_table_of_numbers_as_too_many_classes_is_refused),
		cmocka_unit_test(test_table_of_libsvm_is_sparse),
		cmocka_unit_test(test_table_of_libsvm_refuses_what_it_cannot_be),
		cmocka_unit_test(test_table_of_a_large_file_takes_little_more_than_its_rows),
		cmocka_unit_test(test_table_equals_the_dataset_of_the_same_file),
		cmocka_unit_test(test_table_without_memory_fails_cleanly),
		cmocka_unit_test(test_table_features_of_categories_have_a_stem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
