/* Payloads of preparations written value by value, as encoder_file.c says: one that is right, and each of its
 * values at and beyond what it may be. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "table/dataset.h"
#include "table/encoder_private.h"

enum { SPARSE = 1, REGRESSION = 2, SCALE_TARGET = 4, NAMED = 8 };

#define COLUMNS 100
#define WIDE    20

typedef struct column {
	const char *name;
	uint8_t kind, indicator;
	uint32_t fill_category;
	double fill;
} column;

typedef struct category {
	uint32_t column;
	const char *text;
} category;

typedef struct payload {
	uint8_t flags, scaling, missing;
	uint32_t index_base, d;
	uint32_t columns, target, categories, classes; /* as they are told */
	column column[COLUMNS];
	category category[3];
	const char *class[3];
	size_t columns_there, categories_there, classes_there;
	double shift[WIDE], scale[WIDE];
	double target_shift, target_range;
	bool trailing;
} payload;

/* A number, a category of red and blue, and the classes no and yes. */
static payload dense(void)
{
	return (payload){ .flags = NAMED,
		.d = 3,
		.columns = 3,
		.target = 2,
		.categories = 2,
		.classes = 2,
		.column = { { "age", COP_COLUMN_NUMBER, 0, COP_NAME_NONE, 0.5 },
		        { "colour", COP_COLUMN_CATEGORY, 0, 1, 0.0 },
		        { "y", COP_COLUMN_TARGET, 0, COP_NAME_NONE, 0.0 } },
		.category = { { 1, "red" }, { 1, "blue" } },
		.class = { "no", "yes" },
		.columns_there = 3,
		.categories_there = 2,
		.classes_there = 2,
		.scale = { 1.0, 1.0, 1.0 },
		.target_range = 1.0 };
}

static payload sparse(void)
{
	return (payload){ .flags = SPARSE | REGRESSION, .d = 3, .scale = { 1.0, 2.0, 3.0 }, .target_range = 1.0 };
}

static void put(const payload *p, cop_bytes *out)
{
	cop_bytes_init(out);
	cop_bytes_put_u8(out, p->flags);
	cop_bytes_put_u8(out, p->scaling);
	cop_bytes_put_u8(out, p->missing);
	cop_bytes_put_u32(out, p->index_base);
	cop_bytes_put_u32(out, p->d);
	cop_bytes_put_u32(out, p->columns);
	cop_bytes_put_u32(out, p->target);
	for (size_t c = 0; c < p->columns_there; c++) {
		cop_bytes_put_text(out, p->column[c].name);
		cop_bytes_put_u8(out, p->column[c].kind);
		cop_bytes_put_u8(out, p->column[c].indicator);
		cop_bytes_put_u32(out, p->column[c].fill_category);
		cop_bytes_put_f64s(out, &p->column[c].fill, 1);
	}
	cop_bytes_put_u32(out, p->categories);
	for (size_t i = 0; i < p->categories_there; i++) {
		cop_bytes_put_u32(out, p->category[i].column);
		cop_bytes_put_text(out, p->category[i].text);
	}
	cop_bytes_put_u32(out, p->classes);
	for (size_t k = 0; k < p->classes_there; k++)
		cop_bytes_put_text(out, p->class[k]);
	cop_bytes_put_f64s(out, p->shift, p->d < WIDE ? p->d : WIDE);
	cop_bytes_put_f64s(out, p->scale, p->d < WIDE ? p->d : WIDE);
	cop_bytes_put_f64s(out, &p->target_shift, 1);
	cop_bytes_put_f64s(out, &p->target_range, 1);
	if (p->trailing)
		cop_bytes_put_u8(out, 0);
}

static cop_err load(const payload *p, cop_encoder **out)
{
	cop_bytes bytes;
	put(p, &bytes);
	assert_int_equal(bytes.err, COP_OK);
	cop_err err = cop_encoder_load(bytes.data, bytes.length, out);
	cop_bytes_fini(&bytes);
	return err;
}

static cop_encoder *loaded(const payload *p)
{
	cop_encoder *preparation;
	assert_int_equal(load(p, &preparation), COP_OK);
	return preparation;
}

static void accept(payload p) { cop_encoder_free(loaded(&p)); }

static void refuse_with(payload p, cop_err err)
{
	cop_encoder *preparation;
	assert_int_equal(load(&p, &preparation), err);
	assert_null(preparation);
}

static void refuse(payload p) { refuse_with(p, COP_EFORMAT); }

static void test_payload_is_what_was_saved(void **state)
{
	(void)state;
	payload of[] = { dense(), sparse() };
	of[0].shift[0] = 3.0;
	of[0].flags |= REGRESSION | SCALE_TARGET;
	of[0].classes = 0;
	of[0].classes_there = 0;
	of[0].scaling = COP_SCALE_RANGE;
	of[0].missing = COP_MISSING_LABEL;
	of[0].column[0].indicator = 1;
	of[0].d = 4;
	of[1].index_base = 1;
	for (size_t i = 0; i < 2; i++) {
		cop_bytes bytes, saved;
		cop_encoder *p = loaded(&of[i]);
		put(&of[i], &bytes);
		cop_bytes_init(&saved);
		cop_encoder_save(p, &saved);
		assert_int_equal(saved.length, bytes.length);
		assert_memory_equal(saved.data, bytes.data, bytes.length);
		cop_bytes_fini(&saved);
		cop_bytes_fini(&bytes);
		cop_encoder_free(p);
	}
}

static void test_flags_and_settings_are_known_ones(void **state)
{
	(void)state;
	payload p = dense();
	p.scaling = COP_SCALE_MAXIMUM;
	p.missing = COP_MISSING_LABEL;
	accept(p);
	p.scaling = COP_SCALE_AUTO;
	refuse(p);
	p = dense();
	p.missing = COP_MISSINGS;
	refuse(p);
	p = dense();
	p.flags = 16;
	refuse(p);
	p = dense();
	p.index_base = 1;
	refuse(p);
	p = sparse();
	p.index_base = 1;
	accept(p);
	p.index_base = 2;
	refuse(p);
}

static void test_columns_are_of_known_kinds_and_one_is_the_target(void **state)
{
	(void)state;
	payload p = dense();
	p.column[0].kind = COP_COLUMN_KINDS;
	refuse(p);
	p.d = 2; /* were it no feature */
	refuse(p);
	p = dense();
	p.column[0].kind = COP_COLUMN_TARGET;
	refuse(p);
	p = dense();
	p.column[2].kind = COP_COLUMN_NUMBER;
	refuse(p);
	p = dense();
	p.target = 3;
	refuse(p);
	p = dense();
	p.column[0].indicator = 1;
	p.d = 4;
	accept(p);
	p.column[0].indicator = 2;
	refuse(p);
	p = dense();
	p.column[1].indicator = 1;
	refuse(p);
	p = dense();
	p.column[0].fill = (double)NAN;
	refuse_with(p, COP_ENONFINITE);
	p.column[0].fill = 1e39; /* no float */
	refuse(p);
}

static void test_sparse_rows_have_no_columns(void **state)
{
	(void)state;
	payload p = sparse();
	p.target = 1;
	refuse(p);
	p = sparse();
	p.columns = UINT32_MAX;
	refuse(p);
	p = dense();
	p.flags = SPARSE;
	refuse(p);
	for (size_t j = 0; j < 3; j++) {
		p = sparse();
		p.shift[j] = 0.5;
		refuse(p);
	}
}

static void test_categories_are_of_their_columns_each_once(void **state)
{
	(void)state;
	payload p = dense();
	p.category[1].column = 0;
	refuse(p);
	p = dense();
	p.category[1].column = 3;
	refuse(p);
	p = dense();
	p.category[1].text = "red";
	refuse(p);
	p = dense();
	p.column[1].fill_category = 2;
	refuse(p);
	p.column[1].fill_category = COP_NAME_NONE;
	accept(p);
	p = dense(); /* the first column is looked at as well */
	p.column[0] = p.column[1];
	p.column[0].fill_category = 5;
	p.category[0].column = 0;
	p.column[1].fill_category = 0;
	p.d = 2;
	refuse(p);
	p.column[0].fill_category = 0;
	accept(p);
}

static void test_classes_are_of_classification_each_once(void **state)
{
	(void)state;
	payload p = dense();
	p.class[1] = "no";
	refuse(p);
	p = dense();
	p.flags |= REGRESSION;
	refuse(p);
	p = dense();
	p.classes = 0;
	p.classes_there = 0;
	refuse(p);
	p.flags |= REGRESSION;
	accept(p);
}

/* How many classes there can be: with "0" to "K - 1" of a sparse payload. */
static cop_err load_classes(uint32_t classes)
{
	payload p = sparse();
	cop_bytes start, bytes;
	cop_encoder *preparation;
	const size_t before = 1 + 1 + 1 + 4 + 4 + 4 + 4 + 4;
	p.flags = SPARSE;
	put(&p, &start);
	cop_bytes_init(&bytes);
	cop_bytes_put(&bytes, start.data, before);
	cop_bytes_put_u32(&bytes, classes);
	for (uint32_t k = 0; k < classes; k++) {
		char text[16];
		(void)snprintf(text, sizeof text, "%u", (unsigned)k);
		cop_bytes_put_text(&bytes, text);
	}
	cop_bytes_put(&bytes, start.data + before + 4, start.length - before - 4);
	cop_err err = cop_encoder_load(bytes.data, bytes.length, &preparation);
	cop_encoder_free(preparation);
	cop_bytes_fini(&start);
	cop_bytes_fini(&bytes);
	return err;
}

static void test_classes_are_not_too_many(void **state)
{
	(void)state;
	assert_int_equal(load_classes(1), COP_OK);
	assert_int_equal(load_classes((uint32_t)COP_DATASET_MAX_CLASSES), COP_OK);
	assert_int_equal(load_classes((uint32_t)COP_DATASET_MAX_CLASSES + 1), COP_EFORMAT);
}

static void test_names_are_as_long_as_they_may_be(void **state)
{
	(void)state;
	char text[COP_ENCODER_MAX_TEXT + 2];
	for (size_t longer = 0; longer < 2; longer++) {
		memset(text, 'n', sizeof text);
		payload p[] = { dense(), dense(), dense() };
		text[COP_ENCODER_MAX_TEXT + longer] = '\0';
		p[0].column[0].name = p[1].category[1].text = p[2].class[1] = text;
		for (size_t i = 0; i < 3; i++)
			if (longer)
				refuse(p[i]);
			else
				accept(p[i]);
	}
}

/* Of none of the categories a value was seen: they take no more than themselves. */
static void test_columns_without_features_are_read(void **state)
{
	(void)state;
	payload p = dense();
	p.columns_there = p.columns = COLUMNS;
	p.target = COLUMNS - 1;
	for (size_t c = 1; c < COLUMNS - 1; c++)
		p.column[c] = (column){ "", COP_COLUMN_CATEGORY, 0, COP_NAME_NONE, 0.0 };
	p.column[0].name = "";
	p.column[COLUMNS - 1] = (column){ "", COP_COLUMN_TARGET, 0, COP_NAME_NONE, 0.0 };
	p.categories = 0;
	p.categories_there = 0;
	p.d = 1;
	accept(p);
}

static void test_column_without_a_name_is_numbered(void **state)
{
	(void)state;
	payload p = dense();
	p.column[0].name = "";
	cop_encoder *preparation = loaded(&p);
	assert_null(preparation->column[0].name);
	assert_string_equal(cop_encoder_feature(preparation, 0), "x0");
	assert_string_equal(cop_encoder_feature(preparation, 2), "colour=blue");
	cop_encoder_free(preparation);
}

static void test_features_are_as_many_as_are_told(void **state)
{
	(void)state;
	payload p = dense();
	p.d = 2;
	refuse(p);
	p.d = 4;
	refuse(p);
	p = sparse();
	p.d = WIDE; /* their scale is nearly all of the payload */
	for (size_t j = 0; j < WIDE; j++)
		p.scale[j] = 1.0;
	accept(p);
	p.d = 0;
	refuse(p);
	p = sparse();
	p.trailing = true;
	refuse(p);
}

static void test_target_has_a_range(void **state)
{
	(void)state;
	payload p = sparse();
	p.target_range = 0.5;
	accept(p);
	p.target_range = 0.0;
	refuse(p);
	p.target_range = -1.0;
	refuse(p);
}

/* Before memory is taken for them. */
static void test_counts_of_what_is_not_there_are_refused_at_once(void **state)
{
	(void)state;
	payload p = dense();
	cop_bytes bytes;
	cop_encoder *preparation;
	p.columns = 1000;
	put(&p, &bytes);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_encoder_load(bytes.data, bytes.length, &preparation), COP_EFORMAT);
	assert_true(cop_test_alloc_bytes() < 1000 * sizeof(cop_column));
	cop_bytes_fini(&bytes);
	p = sparse();
	p.d = 5000;
	put(&p, &bytes);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_encoder_load(bytes.data, bytes.length, &preparation), COP_EFORMAT);
	assert_true(cop_test_alloc_bytes() < 5000 * sizeof(double));
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_payload_is_what_was_saved),
		cmocka_unit_test(test_flags_and_settings_are_known_ones),
		cmocka_unit_test(test_columns_are_of_known_kinds_and_one_is_the_target),
		cmocka_unit_test(test_sparse_rows_have_no_columns),
		cmocka_unit_test(test_categories_are_of_their_columns_each_once),
		cmocka_unit_test(test_classes_are_of_classification_each_once),
		cmocka_unit_test(test_classes_are_not_too_many),
		cmocka_unit_test(test_names_are_as_long_as_they_may_be),
		cmocka_unit_test(test_columns_without_features_are_read),
		cmocka_unit_test(test_column_without_a_name_is_numbered),
		cmocka_unit_test(test_features_are_as_many_as_are_told),
		cmocka_unit_test(test_target_has_a_range),
		cmocka_unit_test(test_counts_of_what_is_not_there_are_refused_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
