/* Each column of training is found in the file once, as a field; then every row goes straight to its features. */
#include "table/table_reader_private.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

#define NO_FIELD COP_TABLE_NO_FIELD

typedef struct later {
	cop_table_reader r;
	const cop_encoder *p;
	bool labelled;
	size_t *field;  /* of each column; NO_FIELD: the target or an ignored one, which is not there */
	size_t *number; /* columns of numbers */
	size_t numbers;
	float *row; /* d */
} later;

/* ---- columns ---- */

static bool same_name(const later *l, size_t field, size_t column)
{
	const char *name = l->p->column[column].name;
	return strcmp(cop_csv_column(l->r.csv, field), name == NULL ? "" : name) == 0;
}

/* The field of a column by the header, not used yet; looked for from where it would be in the same order. */
static size_t find_field(const later *l, const uint8_t *used, size_t column, size_t from)
{
	for (size_t i = 0; i < l->r.count; i++) {
		size_t field = (from + i) % l->r.count;
		if (!used[field] && same_name(l, field, column))
			return field;
	}
	return NO_FIELD;
}

static cop_err columns_by_name(later *l, uint8_t *used)
{
	size_t from = 0;
	for (size_t c = 0; c < l->p->columns; c++) {
		l->field[c] = find_field(l, used, c, from);
		if (l->field[c] != NO_FIELD) {
			used[l->field[c]] = 1;
			from = l->field[c] + 1;
			continue;
		}
		if (l->p->column[c].kind == COP_COLUMN_IGNORED || (c == l->p->target && !l->labelled))
			continue;
		const char *name = l->p->column[c].name;
		cop_diag_of(l->r.diag, cop_stream_name(l->r.stream),
		        "there is no column \"%.60s\"; expected the columns of training", name == NULL ? "" : name);
		return COP_ESHAPE;
	}
	for (size_t f = 0; f < l->r.count; f++)
		if (!used[f]) {
			cop_diag_of(l->r.diag, cop_stream_name(l->r.stream),
			        "column \"%.60s\" was not in training; expected the columns of training",
			        cop_csv_column(l->r.csv, f));
			return COP_ESHAPE;
		}
	return COP_OK;
}

static cop_err columns_by_place(later *l)
{
	size_t columns = l->p->columns;
	bool without = l->r.count + 1 == columns && !l->labelled;
	if (l->r.count != columns && !without) {
		cop_diag_at_line(l->r.diag, cop_stream_name(l->r.stream), cop_stream_line_number(l->r.stream),
		        "%zu fields; expected %zu as in training%s", l->r.count, columns,
		        l->labelled ? "" : ", or one less without the target");
		return COP_ESHAPE;
	}
	for (size_t c = 0; c < columns; c++)
		l->field[c] = without && c == l->p->target ? NO_FIELD : c - (without && c > l->p->target);
	return COP_OK;
}

static cop_err begin(later *l)
{
	const cop_encoder *p = l->p;
	uint8_t *used = cop_mem_alloc(l->r.count, 1);
	l->field = cop_mem_alloc(p->columns, sizeof *l->field);
	l->number = cop_mem_alloc(p->columns, sizeof *l->number);
	l->row = cop_mem_alloc(p->d, sizeof *l->row);
	cop_err err = COP_OK;
	if (used == NULL || l->field == NULL || l->number == NULL || l->row == NULL ||
	        cop_dataset_new_dense(p->d, &l->r.data) != COP_OK)
		err = cop_table_out_of_memory(&l->r);
	else if (p->named && cop_csv_column(l->r.csv, 0) != NULL)
		err = columns_by_name(l, used);
	else
		err = columns_by_place(l);
	cop_mem_free(used);
	for (size_t c = 0; c < p->columns && err == COP_OK; c++)
		if (p->column[c].kind == COP_COLUMN_NUMBER)
			l->number[l->numbers++] = c;
	return err;
}

/* ---- fields ---- */

static cop_err refuse_missing(const later *l, size_t field)
{
	return cop_table_fault(
	        &l->r, COP_EFORMAT, field, "is missing; expected a value, or a model that was trained to fill it in");
}

/* No number. */
static cop_err odd_number(later *l, size_t c)
{
	const cop_column *column = &l->p->column[c];
	double value;
	switch (cop_table_field_kind(&l->r, l->field[c], &value)) {
	case COP_FIELD_NUMBER:
		break;
	case COP_FIELD_MISSING:
		if (l->p->missing == COP_MISSING_REFUSE)
			return refuse_missing(l, l->field[c]);
		value = column->fill;
		if (column->indicator)
			l->row[column->first + 1] = 1;
		break;
	case COP_FIELD_BEYOND:
	case COP_FIELD_TEXT:
	default:
		if (isfinite(l->r.values[l->field[c]]))
			return cop_table_fault(&l->r, COP_ENONFINITE, l->field[c],
			        "is no number that can be held; expected at most 3.4e38");
		return cop_csv_wrong_field(l->r.csv, l->field[c], l->r.diag);
	}
	l->row[column->first] = (float)value;
	return COP_OK;
}

static cop_err take_numbers(later *l)
{
	const cop_column *column = l->p->column;
	const double *values = l->r.values;
	bool finite = true;
	for (size_t i = 0; i < l->numbers; i++) {
		size_t c = l->number[i];
		float x = (float)values[l->field[c]];
		l->row[column[c].first] = x;
		finite &= fabsf(x) <= FLT_MAX;
	}
	cop_err err = COP_OK;
	for (size_t i = 0; !finite && i < l->numbers && err == COP_OK; i++)
		if (!isfinite(l->row[column[l->number[i]].first]))
			err = odd_number(l, l->number[i]);
	return err;
}

static cop_err take_category(later *l, size_t c)
{
	const cop_column *column = &l->p->column[c];
	cop_table_name name;
	double value;
	uint32_t code = column->fill_category;
	if (cop_table_field_kind(&l->r, l->field[c], &value) != COP_FIELD_MISSING) {
		cop_err err = cop_table_category_name(&l->r, l->field[c], &name);
		if (err != COP_OK)
			return err;
		code = cop_encoder_find_category(l->p, c, name.text, name.length);
	} else if (l->p->missing == COP_MISSING_REFUSE) {
		return refuse_missing(l, l->field[c]);
	}
	if (code != COP_NAME_NONE)
		l->row[column->first + code] = 1;
	return COP_OK;
}

static cop_err take_features(later *l)
{
	const cop_encoder *p = l->p;
	if (l->numbers < p->d)
		memset(l->row, 0, p->d * sizeof *l->row);
	cop_err err = take_numbers(l);
	if (l->numbers + 1 == p->columns)
		return err;
	for (size_t c = 0; c < p->columns && err == COP_OK; c++)
		if (p->column[c].kind == COP_COLUMN_CATEGORY)
			err = take_category(l, c);
	return err;
}

/* ---- target ---- */

static cop_err take_class(const later *l, size_t field, cop_field_kind kind, double *target)
{
	cop_table_name name;
	if (kind == COP_FIELD_NUMBER) {
		*target = cop_table_number_to_class(l->p, *target);
	} else {
		cop_err err = cop_table_class_name(&l->r, field, &name);
		if (err != COP_OK)
			return err;
		uint32_t k = cop_name_table_find(&l->p->classes, 0, name.text, name.length);
		*target = k == COP_NAME_NONE ? (double)NAN : k;
	}
	if (!isnan(*target) || !l->labelled)
		return COP_OK;
	size_t length;
	const char *text = cop_csv_field(l->r.csv, field, &length);
	return cop_table_fault(&l->r, COP_EFORMAT, field,
	        "is class \"%.*s\"; expected one of the %zu classes of training", (int)(length < 60 ? length : 60),
	        text, l->p->classes.count);
}

static cop_err take_target(const later *l, double *target)
{
	size_t field = l->field[l->p->target];
	*target = (double)NAN;
	if (field == NO_FIELD)
		return COP_OK;
	cop_field_kind kind = cop_table_field_kind(&l->r, field, target);
	if (kind == COP_FIELD_MISSING)
		return l->labelled ? cop_table_fault(&l->r, COP_EFORMAT, field,
		                             "is the target and missing; expected a value in every row")
		                   : COP_OK;
	if (kind == COP_FIELD_BEYOND)
		return cop_table_fault(
		        &l->r, COP_ENONFINITE, field, "is no number that can be held; expected at most 3.4e38");
	if (!l->p->regression)
		return take_class(l, field, kind, target);
	if (kind == COP_FIELD_NUMBER)
		return COP_OK;
	*target = (double)NAN;
	return l->labelled ? cop_csv_wrong_field(l->r.csv, field, l->r.diag) : COP_OK;
}

static cop_err read_rows(later *l)
{
	cop_err err = begin(l);
	while (err == COP_OK) {
		double target;
		err = take_features(l);
		if (err == COP_OK)
			err = take_target(l, &target);
		if (err == COP_OK)
			err = cop_table_reader_push(&l->r, l->row, target);
		if (err == COP_OK)
			err = cop_table_reader_next(&l->r);
	}
	return err == COP_EEND ? COP_OK : err;
}

cop_err cop_table_csv_later(cop_stream *stream, const cop_encoder *p, bool labelled, cop_dataset **data, cop_diag *diag)
{
	later l = { .r = { .stream = stream, .diag = diag, .p = p }, .p = p, .labelled = labelled };
	cop_err err = cop_table_reader_begin(&l.r);
	if (err == COP_OK)
		err = read_rows(&l);
	cop_table_reader_fini(&l.r);
	cop_mem_free(l.field);
	cop_mem_free(l.number);
	cop_mem_free(l.row);
	if (err != COP_OK)
		cop_dataset_free(l.r.data);
	*data = err == COP_OK ? l.r.data : NULL;
	return err;
}
