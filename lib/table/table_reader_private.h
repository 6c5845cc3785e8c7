/* table/table_reader_private.h: what reading a training file and reading a later one share; for table/table's sources
 * only.
 *
 * A reader goes through a csv file row by row, its header found by table/table's rule, and grows the
 * dataset to about what the whole file will need. One thread per reader. */
#ifndef COP_TABLE_TABLE_READER_PRIVATE_H
#define COP_TABLE_TABLE_READER_PRIVATE_H

#include "base/csv.h"
#include "base/number.h"
#include "base/stream.h"
#include "table/encoder_private.h"
#include "table/table.h"

typedef struct cop_table_reader {
	cop_stream *stream;   /* kept */
	cop_diag *diag;       /* kept; NULL allowed */
	const cop_encoder *p; /* kept; its columns' names, when there are, are known from their file */
	cop_csv *csv;
	const double *values; /* the row that was read last; NaN: no number */
	size_t count;
	cop_dataset *data; /* made by the caller */
} cop_table_reader;

/* Reads the first row. Ended with cop_table_reader_fini in every case. Errors of cop_csv_next but COP_EEND;
 * COP_EFORMAT: there are no rows. */
COP_CHECK cop_err cop_table_reader_begin(cop_table_reader *reader);
/* The next row. Errors of cop_csv_next. */
COP_CHECK cop_err cop_table_reader_next(cop_table_reader *reader);
/* Frees what the reader made; not the data. */
void cop_table_reader_fini(cop_table_reader *reader);

/* Adds a row to the data, d values. */
COP_CHECK cop_err cop_table_reader_push(cop_table_reader *reader, const float *x, double target);

/* Fills the diagnostic: line, and for a place in the row the field and its column. Gives err back. */
#define COP_TABLE_NO_FIELD SIZE_MAX
COP_CHECK cop_err cop_table_fault(const cop_table_reader *reader, cop_err err, size_t field, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
COP_CHECK cop_err cop_table_out_of_memory(const cop_table_reader *reader);

typedef enum cop_field_kind {
	COP_FIELD_NUMBER,  /* that a float holds; quotes around it are no matter */
	COP_FIELD_MISSING, /* empty, ?, NA or nan */
	COP_FIELD_BEYOND,  /* a number that no float holds, or infinity */
	COP_FIELD_TEXT
} cop_field_kind;
/* *value: a number's, else NaN. */
cop_field_kind cop_table_field_kind(const cop_table_reader *reader, size_t field, double *value);

/* What a field is called as a category or as a class. */
typedef struct cop_table_name {
	const char *text; /* in room, or borrowed from the row */
	size_t length;
	char room[COP_NUMBER_ROOM];
} cop_table_name;
/* COP_EFORMAT: it cannot be a name; the diagnostic is filled. */
COP_CHECK cop_err cop_table_category_name(const cop_table_reader *reader, size_t field, cop_table_name *name);
COP_CHECK cop_err cop_table_class_name(const cop_table_reader *reader, size_t field, cop_table_name *name);
/* Of numbers. */
void cop_table_number_category(float value, cop_table_name *name);
void cop_table_number_class(double value, cop_table_name *name);

/* Numbers up to this are kept apart by value where they are categories. */
#define COP_TABLE_WIDE 16777216.0

/* The class that a number is to a preparation; NaN: none. */
double cop_table_number_to_class(const cop_encoder *preparation, double value);

/* Says in *diag that there is no memory. */
COP_CHECK cop_err cop_table_no_memory(const cop_stream *stream, cop_diag *diag);

/* The two ways, one source each; the stream is one of csv. */
COP_CHECK cop_err cop_table_csv_training(
        cop_stream *stream, const cop_table_settings *settings, cop_encoder *p, cop_dataset **data, cop_diag *diag);
COP_CHECK cop_err cop_table_csv_later(
        cop_stream *stream, const cop_encoder *p, bool labelled, cop_dataset **data, cop_diag *diag);

#define COP_TABLE_MAX_NUMBER_CLASSES 1000
#define COP_TABLE_TOO_MANY_NUMBERS                                                                                     \
	"the target has more than 1000 different values, which are to be classes; expected fewer, or that the "        \
	"target is named as a number to predict"
/* Makes numbers the classes that they are or name, which p gets. COP_EFULL: more than COP_TABLE_MAX_NUMBER_CLASSES
 * names. COP_ENOMEM. */
COP_CHECK cop_err cop_table_number_targets(cop_encoder *p, cop_dataset *data);
/* Adds a class unless it is there. COP_EFULL: COP_DATASET_MAX_CLASSES are. COP_ENOMEM. */
COP_CHECK cop_err cop_table_add_class(cop_encoder *p, const cop_table_name *name, double *target);

/* Training rows of columns, NaN where a field is missing, become rows of p->d features, and p is finished. missing: of
 * each column, how many fields are; p->missing is what becomes of them. *data is replaced when it cannot stay.
 * COP_EFULL: a bound is passed, named by *what. COP_ENOMEM. */
COP_CHECK cop_err cop_table_fill_and_expand(
        cop_encoder *p, const uint32_t *missing, cop_dataset **data, const char **what);

#endif
