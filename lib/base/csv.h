/* base/csv.h: numbers separated by commas, semicolons or tabs, line by line.
 *
 * What separates is what makes most fields of the first line, commas if others make no more; it is semicolons, too,
 * when all commas of that line stand within numbers. The first line is a header when a field of it is text (not a
 * number, not empty, not nan or inf). Blank lines are skipped, blanks around fields and a byte order mark are allowed.
 * Text, in the header or where it is allowed, may stand in quotes and hold separators then, but no line ends; two
 * quotes are one in it. A number in the rows may stand in quotes too. Every line has as many fields as the first; every
 * field is a finite number, unless text is allowed. Numbers do not depend on the locale; where commas do not separate,
 * one may stand for the decimal point. One thread per reader. */
#ifndef COP_BASE_CSV_H
#define COP_BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/stream.h"

typedef struct cop_csv cop_csv;

/* Reads on from `stream` (kept). Caller frees with cop_csv_free; on error *out is NULL. COP_ENOMEM. */
COP_CHECK cop_err cop_csv_new(cop_stream *stream, cop_csv **out);
void cop_csv_free(cop_csv *csv);

/* The next row; values (count of them) are borrowed until the next call. *diag (NULL allowed) is filled on error.
 * COP_EEND: no more rows. COP_EFORMAT: another number of fields, or a field that is no number. COP_ENONFINITE: nan, inf
 * or beyond the largest double. Errors of cop_stream_line. */
COP_CHECK cop_err cop_csv_next(cop_csv *csv, const double **values, size_t *count, cop_diag *diag);

/* From now on a field that is no finite number is no error; its value is NaN. COP_ENOMEM from cop_csv_next may come of
 * it. Call it before the first row. */
void cop_csv_allow_text(cop_csv *csv);
/* The first line is a header, or is none, whatever it looks like. Call it before the first row. */
void cop_csv_set_header(cop_csv *csv, bool header);
/* Text of field i of the row that was read last, without blanks and quotes around it; not terminated, borrowed until
 * the next row. Only when text is allowed. */
const char *cop_csv_field(const cop_csv *csv, size_t i, size_t *length);
/* Fills *diag (NULL allowed): field i of that row is not what it should be. COP_EFORMAT, COP_ENONFINITE. */
COP_CHECK cop_err cop_csv_wrong_field(const cop_csv *csv, size_t i, cop_diag *diag);

/* The number that a text is in this file, as cop_number_parse says. After the first row. */
COP_CHECK cop_err cop_csv_number(const cop_csv *csv, const char *text, size_t length, double *value);

/* Bytes of that row, blanks around it and its end not counted. */
size_t cop_csv_row_length(const cop_csv *csv);
/* Columns, by the first line that is not blank; 0 before it was read. */
size_t cop_csv_columns(const cop_csv *csv);
/* Name of column i in the header, borrowed; NULL without a header, before the first row, or beyond the last column. */
const char *cop_csv_column(const cop_csv *csv, size_t i);

#endif
