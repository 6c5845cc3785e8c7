/* table/table.h: a file of rows read for batch learning, and how its columns become features.
 *
 * A *preparation* (table/encoder.h) is made from the training file and used on every later one.
 *
 *     csv      columns by position, or by the header's names; the last one is the target unless another is named
 *     libsvm   sparse; features are scaled, never shifted
 *
 * csv: a column is a category when training has a field in it that is neither a number nor missing, or when it is
 * named. Each category is a feature that is 1 or 0, in the order of first appearance; one that training did not show
 * has all of its column's at 0. Numbers up to 2^24 in such a column are kept apart by value (as floats), all else by
 * its text. The first line is a header when a field of it is text, and either none of its fields is a number or missing
 * and none is there twice, or the line below has a number where it has text, or it holds the names of the columns of
 * training.
 *
 * Classes: targets that are integers, 0 among them and at least half of those up to the greatest, are the classes
 * themselves; any others are names of classes, numbered in the order of first appearance; of numbers at most 1000.
 *
 * Memory: the rows, up to a quarter more while they are read from a file (as much again from a pipe), and with
 * categories the columns they come from. Any thread, distinct objects. */
#ifndef COP_TABLE_TABLE_H
#define COP_TABLE_TABLE_H

#include "base/err.h"
#include "base/stream.h"
#include "table/dataset.h"
#include "table/encoder.h"

typedef struct cop_table_settings {
	bool regression;        /* the target is a number, else a class */
	const char *target;     /* name or number (from 0) of its column; NULL: the last; csv only */
	const char *categories; /* comma-separated names or numbers of columns to be taken as categories, besides those
	                           that are by the rule; NULL: none; csv only */
	const char *ignored;    /* the same of columns that are no features; NULL: none */
	cop_scaling scaling;
	bool scale_target; /* regression: to [0, 1] */
	cop_missing missing;
	bool unlabelled; /* csv: a target may be missing, and is NaN then; of some row it is there */
} cop_table_settings;

/* Reads a training file: rows unscaled but otherwise as features (data->target is the class, or the number as it stands
 * in the file), and a preparation whose scale is not fitted yet. Caller frees both; on error they are NULL and *diag
 * (NULL allowed) is filled. Errors of cop_dataset_read; COP_EFORMAT: no such target or category column, a target that
 * is missing, or a field that is. COP_EFULL: beyond a bound of table/encoder.h. */
COP_CHECK cop_err cop_table_read_training(const char *path, const cop_table_settings *settings, cop_dataset **data,
        cop_encoder **preparation, cop_diag *diag);
/* Reads another file with it; rows are unscaled. labelled false: the target column may be missing altogether (one
 * column less), and so may be fields of it; such targets, classes that training did not show, and text in place of
 * a number to predict are NaN.
 * COP_ESHAPE: other columns. COP_EFORMAT also: a class that training did not show. */
COP_CHECK cop_err cop_table_read(
        const char *path, const cop_encoder *preparation, bool labelled, cop_dataset **data, cop_diag *diag);

/* The same from a stream (kept), which holds libsvm or csv. */
COP_CHECK cop_err cop_table_training_from(cop_stream *stream, bool libsvm, const cop_table_settings *settings,
        cop_dataset **data, cop_encoder **preparation, cop_diag *diag);
COP_CHECK cop_err cop_table_from(cop_stream *stream, bool libsvm, const cop_encoder *preparation, bool labelled,
        cop_dataset **data, cop_diag *diag);

#endif
