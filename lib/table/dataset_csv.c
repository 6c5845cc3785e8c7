/* Rows are gathered as floats in one buffer of a row's width, which the first row fixes. */
#include "table/dataset_csv.h"

#include <math.h>

#include "base/csv.h"
#include "base/mem.h"

typedef struct reading {
	cop_stream *stream;
	cop_csv *csv;
	float *features;   /* one row's, without the target; NULL before the first row */
	cop_dataset *rows; /* NULL before the first row */
	cop_diag *diag;
} reading;

static void at_row(const reading *r, const char *message)
{
	cop_diag_at_line(r->diag, cop_stream_name(r->stream), cop_stream_line_number(r->stream), "%s", message);
}

static cop_err make(reading *r, size_t columns)
{
	if (columns < 2) {
		at_row(r, "one field; expected at least one feature and the target");
		return COP_EFORMAT;
	}
	r->features = cop_mem_alloc(columns - 1, sizeof *r->features);
	if (r->features != NULL && cop_dataset_new_dense(columns - 1, &r->rows) == COP_OK)
		return COP_OK;
	at_row(r, "out of memory");
	return COP_ENOMEM;
}

static cop_err add_row(reading *r, const double *values, size_t count)
{
	for (size_t i = 0; i + 1 < count; i++) {
		r->features[i] = (float)values[i];
		if (!isfinite(r->features[i])) {
			cop_diag_at_line(r->diag, cop_stream_name(r->stream), cop_stream_line_number(r->stream),
			        "field %zu: %g is too large; expected at most 3.4e38", i + 1, values[i]);
			return COP_ENONFINITE;
		}
	}
	cop_err err = cop_dataset_push_dense(r->rows, r->features, values[count - 1]);
	if (r->rows->odd_line == 0 && !cop_dataset_is_class(values[count - 1]))
		r->rows->odd_line = cop_stream_line_number(r->stream);
	if (err != COP_OK)
		at_row(r, cop_err_text(err));
	return err;
}

static cop_err add_rows(reading *r)
{
	for (;;) {
		const double *values;
		size_t count;
		cop_err err = cop_csv_next(r->csv, &values, &count, r->diag);
		if (err == COP_OK && r->rows == NULL)
			err = make(r, count);
		if (err == COP_OK)
			err = add_row(r, values, count);
		if (err == COP_EEND && r->rows != NULL)
			return COP_OK;
		if (err == COP_EEND) {
			bool header = cop_csv_column(r->csv, 0) != NULL;
			cop_diag_of(r->diag, cop_stream_name(r->stream),
			        header ? "its only line is not of numbers and was taken for the columns' names; "
			                 "expected rows"
			               : "it holds no rows");
			return COP_EFORMAT;
		}
		if (err != COP_OK)
			return err;
	}
}

cop_err cop_dataset_csv_read(cop_stream *stream, cop_dataset **out, cop_diag *diag)
{
	reading r = { .stream = stream, .diag = diag };
	*out = NULL;
	if (cop_csv_new(stream, &r.csv) != COP_OK) {
		cop_diag_of(diag, cop_stream_name(stream), "out of memory");
		return COP_ENOMEM;
	}
	cop_err err = add_rows(&r);
	cop_csv_free(r.csv);
	cop_mem_free(r.features);
	if (err == COP_OK)
		*out = r.rows;
	else
		cop_dataset_free(r.rows);
	return err;
}
