/* One pass. Every column but the target is a feature at first; a category's holds its codes as numbers, a missing field
 * is NaN, and a column that turns out to be a category has the numbers it holds so far renamed to codes. At the end NaN
 * is filled, and codes are spread to one feature each. */
#include "table/table_reader_private.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

typedef struct training {
	cop_table_reader r;
	const cop_table_settings *settings;
	cop_encoder *p;
	float *row;         /* one for each column but the target */
	uint32_t *missing;  /* of each column: fields */
	uint32_t *category; /* columns that are one */
	size_t categories;  /* how many */
	bool named_classes; /* a target was no number */
	bool any_missing;
	bool any_target;
} training;

/* The feature of a column before categories are spread. */
static size_t place_of(const training *t, size_t column) { return column - (column > t->p->target); }

/* ---- columns ---- */

static bool parse_place(const char *text, size_t length, size_t columns, size_t *place)
{
	*place = 0;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || *place > columns)
			return false;
		*place = *place * 10 + (size_t)(text[i] - '0');
	}
	return length > 0 && *place < columns;
}

/* The first column from `from` on that has this name; count: none. */
static size_t find_name(const training *t, const char *text, size_t length, size_t from)
{
	for (size_t c = from; c < t->r.count; c++) {
		const char *name = cop_csv_column(t->r.csv, c);
		if (name != NULL && strlen(name) == length && memcmp(name, text, length) == 0)
			return c;
	}
	return t->r.count;
}

static cop_err find_column(const training *t, const char *text, size_t length, const char *meaning, size_t *column)
{
	*column = find_name(t, text, length, 0);
	const size_t again = find_name(t, text, length, *column + 1);
	if (again < t->r.count) {
		cop_diag_of(t->r.diag, cop_stream_name(t->r.stream),
		        "columns %zu and %zu are both named \"%.*s\", which is to be %s; expected one of the numbers",
		        *column, again, (int)(length < 60 ? length : 60), text, meaning);
		return COP_EFORMAT;
	}
	if (*column < t->r.count)
		return COP_OK;
	if (parse_place(text, length, t->r.count, column))
		return COP_OK;
	bool header = cop_csv_column(t->r.csv, 0) != NULL;
	cop_diag_of(t->r.diag, cop_stream_name(t->r.stream),
	        "there is no column \"%.*s\", which is to be %s; expected %sa number from 0 to %zu",
	        (int)(length < 60 ? length : 60), text, meaning, header ? "a name in the first line or " : "",
	        t->r.count - 1);
	return COP_EFORMAT;
}

static cop_err name_columns(training *t)
{
	t->p->named = cop_csv_column(t->r.csv, 0) != NULL;
	for (size_t c = 0; c < t->r.count && t->p->named; c++) {
		const char *name = cop_csv_column(t->r.csv, c);
		size_t length = strlen(name);
		if (length > COP_ENCODER_MAX_TEXT)
			return cop_table_fault(&t->r, COP_EFORMAT, c, "has a name of %zu bytes; expected at most %d",
			        length, COP_ENCODER_MAX_TEXT);
		if (length > 0 && (t->p->column[c].name = cop_mem_strdup(name)) == NULL)
			return cop_table_out_of_memory(&t->r);
	}
	return COP_OK;
}

static void make_category(training *t, size_t column)
{
	t->p->column[column].kind = COP_COLUMN_CATEGORY;
	t->category[t->categories++] = (uint32_t)column;
}

/* The columns of a list, names or numbers, are of that kind. */
static cop_err choose(training *t, const char *list, cop_column_kind kind)
{
	const bool ignored = kind == COP_COLUMN_IGNORED;
	for (const char *at = list; at != NULL && *at != '\0';) {
		size_t column, length = strcspn(at, ",");
		cop_err err = find_column(t, at, length, ignored ? "ignored" : "a category", &column);
		if (err != COP_OK)
			return err;
		if (column == t->p->target)
			return cop_table_fault(&t->r, COP_EFORMAT, column, "is the target; expected another column %s",
			        ignored ? "to be ignored" : "as a category");
		if (t->p->column[column].kind == COP_COLUMN_IGNORED && !ignored)
			return cop_table_fault(
			        &t->r, COP_EFORMAT, column, "is to be ignored and a category; expected one of both");
		if (ignored)
			t->p->column[column].kind = COP_COLUMN_IGNORED;
		else if (t->p->column[column].kind != COP_COLUMN_CATEGORY)
			make_category(t, column);
		at += length + (at[length] == ',');
	}
	return COP_OK;
}

/* Once the first row is there. */
static cop_err begin(training *t)
{
	const char *target = t->settings->target;
	size_t columns = t->r.count, column = columns - 1;
	if (columns < 2)
		return cop_table_fault(&t->r, COP_EFORMAT, COP_TABLE_NO_FIELD,
		        "one field; expected at least one feature and the target");
	if (columns > COP_ENCODER_MAX_FEATURES)
		return cop_table_fault(&t->r, COP_EFULL, COP_TABLE_NO_FIELD, "%zu fields; expected at most %zu",
		        columns, COP_ENCODER_MAX_FEATURES);
	cop_err err = target == NULL ? COP_OK : find_column(t, target, strlen(target), "the target", &column);
	if (err != COP_OK)
		return err;
	t->row = cop_mem_alloc(columns, sizeof *t->row);
	t->missing = cop_mem_alloc(columns, sizeof *t->missing);
	t->category = cop_mem_alloc(columns, sizeof *t->category);
	if (t->row == NULL || t->missing == NULL || t->category == NULL ||
	        cop_encoder_make_columns(t->p, columns, column) != COP_OK ||
	        cop_dataset_new_dense(columns - 1, &t->r.data) != COP_OK)
		return cop_table_out_of_memory(&t->r);
	err = name_columns(t);
	if (err == COP_OK)
		err = choose(t, t->settings->ignored, COP_COLUMN_IGNORED);
	return err == COP_OK ? choose(t, t->settings->categories, COP_COLUMN_CATEGORY) : err;
}

/* ---- fields ---- */

static cop_err missing_field(training *t, size_t column)
{
	if (t->p->missing == COP_MISSING_REFUSE)
		return cop_table_fault(&t->r, COP_EFORMAT, column,
		        "is missing; expected a value, or a rule for missing ones (mean, median or label)");
	t->row[place_of(t, column)] = NAN;
	t->missing[column]++;
	t->any_missing = true;
	return COP_OK;
}

static cop_err add_category(training *t, size_t column, const cop_table_name *name, float *code)
{
	uint32_t number;
	cop_err err = cop_encoder_category(t->p, column, name->text, name->length, &number);
	*code = (float)number;
	if (err == COP_EFULL)
		return cop_table_fault(&t->r, err, column,
		        "is one category too many; expected at most %d of a column, and 64 MiB of names in all, or "
		        "that the column is ignored",
		        COP_ENCODER_MAX_CATEGORIES);
	return err == COP_OK ? COP_OK : cop_table_out_of_memory(&t->r);
}

static cop_err category_field(training *t, size_t column)
{
	double value;
	cop_table_name name;
	if (cop_table_field_kind(&t->r, column, &value) == COP_FIELD_MISSING)
		return missing_field(t, column);
	cop_err err = cop_table_category_name(&t->r, column, &name);
	return err == COP_OK ? add_category(t, column, &name, &t->row[place_of(t, column)]) : err;
}

/* A column of numbers so far is a category. */
static cop_err turn_into_category(training *t, size_t column)
{
	cop_dataset *data = t->r.data;
	make_category(t, column);
	for (size_t i = 0; i < data->n; i++) {
		cop_table_name name;
		float *x = &data->x[i * data->d + place_of(t, column)];
		if (isnan(*x))
			continue;
		if (fabs((double)*x) > COP_TABLE_WIDE)
			return cop_table_fault(&t->r, COP_EFORMAT, column,
			        "is text, and lines above it have numbers of more than 7 digits; expected numbers, or "
			        "that the column is named as a category");
		cop_table_number_category(*x, &name);
		cop_err err = add_category(t, column, &name, x);
		if (err != COP_OK)
			return err;
	}
	return COP_OK;
}

/* In a column of numbers, something that is none of them. */
static cop_err odd_field(training *t, size_t column)
{
	double value;
	switch (cop_table_field_kind(&t->r, column, &value)) {
	case COP_FIELD_NUMBER:
		t->row[place_of(t, column)] = (float)value;
		return COP_OK;
	case COP_FIELD_MISSING:
		return missing_field(t, column);
	case COP_FIELD_BEYOND:
		return cop_table_fault(
		        &t->r, COP_ENONFINITE, column, "is no number that can be held; expected at most 3.4e38");
	case COP_FIELD_TEXT:
	default:
		break;
	}
	cop_err err = turn_into_category(t, column);
	return err == COP_OK ? category_field(t, column) : err;
}

/* Values to floats; false: some are not finite. */
static bool take_numbers(const double *values, size_t count, float *to)
{
	bool finite = true;
	for (size_t i = 0; i < count; i++) {
		to[i] = (float)values[i];
		finite &= fabsf(to[i]) <= FLT_MAX;
	}
	return finite;
}

static cop_err take_features(training *t)
{
	size_t target = t->p->target, behind = t->p->columns - target - 1;
	cop_err err = COP_OK;
	bool finite = take_numbers(t->r.values, target, t->row);
	finite &= take_numbers(t->r.values + target + 1, behind, t->row + target);
	for (size_t i = 0; i < t->categories && err == COP_OK; i++)
		err = category_field(t, t->category[i]);
	for (size_t c = 0; !finite && c < t->p->columns && err == COP_OK; c++)
		if (t->p->column[c].kind == COP_COLUMN_NUMBER && !isfinite(t->row[place_of(t, c)]))
			err = odd_field(t, c);
	return err;
}

/* ---- target ---- */

static cop_err class_fault(const training *t, cop_err err)
{
	if (err == COP_EFULL)
		return cop_table_fault(&t->r, err, t->p->target,
		        "is one class too many; expected at most %zu, or that it is a number to predict",
		        COP_DATASET_MAX_CLASSES);
	return err == COP_OK ? err : cop_table_out_of_memory(&t->r);
}

/* Classes that were numbers so far are names. */
static cop_err turn_into_names(training *t)
{
	cop_err err = COP_OK;
	t->named_classes = true;
	for (size_t i = 0; i < t->r.data->n && err == COP_OK; i++) {
		cop_table_name name;
		if (isnan(t->r.data->target[i]))
			continue;
		cop_table_number_class(t->r.data->target[i], &name);
		err = cop_table_add_class(t->p, &name, &t->r.data->target[i]);
	}
	return class_fault(t, err);
}

static cop_err take_target(training *t, double *target)
{
	size_t column = t->p->target;
	cop_field_kind kind = cop_table_field_kind(&t->r, column, target);
	if (kind == COP_FIELD_MISSING && t->settings->unlabelled)
		return COP_OK;
	t->any_target = true;
	if (kind == COP_FIELD_NUMBER && !t->named_classes)
		return COP_OK;
	if (kind == COP_FIELD_MISSING)
		return cop_table_fault(
		        &t->r, COP_EFORMAT, column, "is the target and missing; expected a value in every row");
	if (kind == COP_FIELD_BEYOND)
		return cop_table_fault(
		        &t->r, COP_ENONFINITE, column, "is no number that can be held; expected at most 3.4e38");
	if (t->settings->regression)
		return cop_table_fault(
		        &t->r, COP_EFORMAT, column, "is the target and not a number; expected a number to predict");
	cop_table_name name;
	cop_err err = t->named_classes ? COP_OK : turn_into_names(t);
	if (err == COP_OK)
		err = cop_table_class_name(&t->r, column, &name);
	return err == COP_OK ? class_fault(t, cop_table_add_class(t->p, &name, target)) : err;
}

/* ---- all of it ---- */

static cop_err read_rows(training *t)
{
	cop_err err = begin(t);
	while (err == COP_OK) {
		double target;
		err = take_features(t);
		if (err == COP_OK)
			err = take_target(t, &target);
		if (err == COP_OK)
			err = cop_table_reader_push(&t->r, t->row, target);
		if (err == COP_OK)
			err = cop_table_reader_next(&t->r);
	}
	return err == COP_EEND ? COP_OK : err;
}

static cop_err finish(training *t)
{
	const char *what = COP_TABLE_TOO_MANY_NUMBERS;
	cop_err err = COP_OK;
	if (!t->any_target) {
		cop_diag_of(t->r.diag, cop_stream_name(t->r.stream), "no row has a target; expected some");
		return COP_EFORMAT;
	}
	if (!t->settings->regression && !t->named_classes)
		err = cop_table_number_targets(t->p, t->r.data);
	if (err == COP_OK)
		err = cop_table_fill_and_expand(t->p, t->missing, &t->r.data, &what);
	if (err == COP_EFULL)
		cop_diag_of(t->r.diag, cop_stream_name(t->r.stream), "%s", what);
	else if (err != COP_OK)
		cop_diag_of(t->r.diag, cop_stream_name(t->r.stream), "%s", cop_err_text(err));
	return err;
}

cop_err cop_table_csv_training(
        cop_stream *stream, const cop_table_settings *settings, cop_encoder *p, cop_dataset **data, cop_diag *diag)
{
	training t = { .r = { .stream = stream, .diag = diag, .p = p }, .settings = settings, .p = p };
	cop_err err = cop_table_reader_begin(&t.r);
	if (err == COP_OK)
		err = read_rows(&t);
	if (err == COP_OK)
		err = finish(&t);
	cop_table_reader_fini(&t.r);
	cop_mem_free(t.row);
	cop_mem_free(t.missing);
	cop_mem_free(t.category);
	if (err != COP_OK)
		cop_dataset_free(t.r.data);
	*data = err == COP_OK ? t.r.data : NULL;
	return err;
}
