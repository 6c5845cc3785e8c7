/* Whether the first line is a header follows from what can be looked at before anything is taken: that text is read as
 * a csv file of its own, without a header, up to its second row. */
#include "table/table_reader_private.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define SMALL    ((size_t)1 << 18) /* values; below, room just doubles */
#define SHOWN    60
#define NO_NAMES ((cop_name_prefix){ NULL, 0 })

static bool is_missing(const char *text, size_t length)
{
	static const char *const words[] = { "?", "NA", "nan", "NaN", "NAN" };
	if (length == 0)
		return true;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (length == strlen(words[i]) && memcmp(text, words[i], length) == 0)
			return true;
	return false;
}

/* *value: a number's, else NaN. */
static cop_field_kind kind_of_text(const cop_csv *csv, const char *text, size_t length, double *value)
{
	*value = (double)NAN;
	if (is_missing(text, length))
		return COP_FIELD_MISSING;
	double number;
	cop_err err = cop_csv_number(csv, text, length, &number);
	if (err != COP_OK)
		return err == COP_ENONFINITE ? COP_FIELD_BEYOND : COP_FIELD_TEXT;
	if (!(fabs(number) <= (double)FLT_MAX))
		return COP_FIELD_BEYOND;
	*value = number;
	return COP_FIELD_NUMBER;
}

cop_field_kind cop_table_field_kind(const cop_table_reader *r, size_t field, double *value)
{
	size_t length;
	*value = r->values[field];
	if (fabs(*value) <= (double)FLT_MAX)
		return COP_FIELD_NUMBER;
	const char *text = cop_csv_field(r->csv, field, &length);
	return kind_of_text(r->csv, text, length, value);
}

/* ---- header ---- */

/* The first two rows of what can be looked at. */
typedef struct look {
	cop_name_table texts;           /* of the first row; not numbers and not missing ones */
	bool text, value, twice, above; /* value: a number or a word for a missing one; above: text above a number */
} look;

static cop_err look_at_first(look *l, const cop_csv *csv, size_t count, uint8_t *is_text)
{
	for (size_t c = 0; c < count; c++) {
		size_t length;
		uint32_t number;
		double value;
		const char *text = cop_csv_field(csv, c, &length);
		cop_field_kind kind = kind_of_text(csv, text, length, &value);
		l->value |= length > 0 && kind != COP_FIELD_TEXT;
		is_text[c] = kind == COP_FIELD_TEXT;
		l->text |= is_text[c] != 0;
		if (length == 0)
			continue;
		if (cop_name_table_find(&l->texts, 0, text, length) != COP_NAME_NONE) {
			l->twice = true;
			continue;
		}
		cop_err err = cop_name_table_add(&l->texts, 0, NO_NAMES, text, length, &number);
		if (err != COP_OK)
			return err;
	}
	return COP_OK;
}

static cop_err look_at_rows(look *l, cop_csv *csv)
{
	const double *values;
	size_t count;
	cop_err err = cop_csv_next(csv, &values, &count, NULL);
	if (err != COP_OK)
		return err == COP_ENOMEM ? err : COP_OK;
	uint8_t *is_text = cop_mem_alloc(count, 1);
	if (is_text == NULL)
		return COP_ENOMEM;
	err = look_at_first(l, csv, count, is_text);
	cop_err second = err == COP_OK ? cop_csv_next(csv, &values, &count, NULL) : COP_EEND;
	for (size_t c = 0; second == COP_OK && c < count; c++)
		l->above |= is_text[c] && isfinite(values[c]);
	cop_mem_free(is_text);
	return second == COP_ENOMEM ? second : err;
}

/* Are all names of training's columns there, its target aside? */
static bool holds_names(const look *l, const cop_encoder *p)
{
	for (size_t c = 0; c < p->columns; c++) {
		const char *name = p->column[c].name;
		if (name != NULL && c != p->target && p->column[c].kind != COP_COLUMN_IGNORED &&
		        cop_name_table_find(&l->texts, 0, name, strlen(name)) == COP_NAME_NONE)
			return false;
	}
	return p->named;
}

/* The rule of table/table.h over text[0, length), whole lines. */
static cop_err judge_header(const cop_encoder *p, const char *text, size_t length, bool *header)
{
	look l = { .text = false };
	cop_stream *stream;
	cop_csv *csv = NULL;
	*header = false;
	if (cop_stream_open_memory("", text, length, &stream, NULL) != COP_OK)
		return COP_ENOMEM;
	cop_err err = cop_csv_new(stream, &csv);
	if (err == COP_OK) {
		cop_csv_allow_text(csv);
		cop_csv_set_header(csv, false);
		err = look_at_rows(&l, csv);
	}
	*header = l.text && ((!l.value && !l.twice) || l.above || holds_names(&l, p));
	cop_csv_free(csv);
	cop_stream_free(stream);
	cop_name_table_fini(&l.texts);
	return err;
}

/* Longer first lines are judged by the csv reader. */
static cop_err find_header(cop_table_reader *r)
{
	const char *text;
	size_t length;
	bool header;
	cop_err err = cop_stream_peek(r->stream, COP_STREAM_PEEK_MAX, &text, &length);
	if (err != COP_OK)
		return COP_OK; /* reading will find it too */
	const char *end = memrchr(text, '\n', length);
	if (end == NULL && length >= COP_STREAM_PEEK_MAX)
		return COP_OK;
	err = judge_header(
	        r->p, text, end == NULL || length < COP_STREAM_PEEK_MAX ? length : (size_t)(end - text), &header);
	if (err == COP_OK)
		cop_csv_set_header(r->csv, header);
	return err;
}

/* ---- rows ---- */

cop_err cop_table_reader_begin(cop_table_reader *r)
{
	if (cop_csv_new(r->stream, &r->csv) != COP_OK)
		return cop_table_out_of_memory(r);
	cop_csv_allow_text(r->csv);
	if (find_header(r) != COP_OK)
		return cop_table_out_of_memory(r);
	cop_err err = cop_csv_next(r->csv, &r->values, &r->count, r->diag);
	if (err != COP_EEND)
		return err;
	cop_diag_of(r->diag, cop_stream_name(r->stream),
	        cop_csv_columns(r->csv) > 0
	                ? "its only line is not of numbers and was taken for the columns' names; expected rows"
	                : "it holds no rows");
	return COP_EFORMAT;
}

cop_err cop_table_reader_next(cop_table_reader *r) { return cop_csv_next(r->csv, &r->values, &r->count, r->diag); }

void cop_table_reader_fini(cop_table_reader *r)
{
	cop_csv_free(r->csv);
	r->csv = NULL;
}

/* Room for about as many rows as the rest of the file holds, once enough of it was seen. */
static cop_err make_room(const cop_table_reader *r)
{
	cop_dataset *data = r->data;
	if (data->n < data->row_capacity || data->n * data->d < SMALL)
		return COP_OK;
	double share = cop_stream_share(r->stream);
	if (!(share > 0))
		return COP_OK;
	double rows = (double)data->n / share;
	rows += rows / 32;
	if (rows > 8 * (double)data->n) /* a better guess will be had */
		return COP_OK;
	rows = fmin(rows, (double)COP_DATASET_MAX_ROWS);
	double least = (double)data->n * (1 + 1.0 / 16) + 1;
	return cop_dataset_reserve(data, (size_t)fmax(rows, least));
}

cop_err cop_table_reader_push(cop_table_reader *r, const float *x, double target)
{
	cop_err err = make_room(r);
	if (err == COP_OK)
		err = cop_dataset_push_dense(r->data, x, target);
	return err == COP_OK ? err : cop_table_fault(r, err, COP_TABLE_NO_FIELD, "%s", cop_err_text(err));
}

/* ---- faults ---- */

cop_err cop_table_fault(const cop_table_reader *r, cop_err err, size_t field, const char *format, ...)
{
	char says[400], where[SHOWN + 40] = "";
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(says, sizeof says, format, arguments);
	va_end(arguments);
	if (field != COP_TABLE_NO_FIELD) {
		const char *name = cop_csv_column(r->csv, field);
		if (name != NULL && name[0] != '\0')
			(void)snprintf(where, sizeof where, "field %zu (%.*s) ", field + 1, SHOWN, name);
		else
			(void)snprintf(where, sizeof where, "field %zu ", field + 1);
	}
	cop_diag_at_line(r->diag, cop_stream_name(r->stream), cop_stream_line_number(r->stream), "%s%s", where, says);
	return err;
}

cop_err cop_table_out_of_memory(const cop_table_reader *r) { return cop_table_no_memory(r->stream, r->diag); }

/* ---- names ---- */

void cop_table_number_category(float value, cop_table_name *name)
{
	name->length = cop_number_format_float(value == 0 ? 0 : value, name->room);
	name->text = name->room;
}

void cop_table_number_class(double value, cop_table_name *name)
{
	name->length = cop_number_format(value == 0 ? 0 : value, name->room);
	name->text = name->room;
}

static cop_err name_by_text(const cop_table_reader *r, size_t field, cop_table_name *name)
{
	name->text = cop_csv_field(r->csv, field, &name->length);
	if (name->length > COP_ENCODER_MAX_TEXT)
		return cop_table_fault(r, COP_EFORMAT, field, "is a text of %zu bytes; expected at most %d",
		        name->length, COP_ENCODER_MAX_TEXT);
	if (memchr(name->text, '\0', name->length) != NULL)
		return cop_table_fault(r, COP_EFORMAT, field, "holds a zero byte; expected text");
	return COP_OK;
}

cop_err cop_table_category_name(const cop_table_reader *r, size_t field, cop_table_name *name)
{
	double value;
	if (cop_table_field_kind(r, field, &value) != COP_FIELD_NUMBER || fabs(value) > COP_TABLE_WIDE)
		return name_by_text(r, field, name);
	cop_table_number_category((float)value, name);
	return COP_OK;
}

cop_err cop_table_class_name(const cop_table_reader *r, size_t field, cop_table_name *name)
{
	double value;
	if (cop_table_field_kind(r, field, &value) != COP_FIELD_NUMBER)
		return name_by_text(r, field, name);
	cop_table_number_class(value, name);
	return COP_OK;
}
