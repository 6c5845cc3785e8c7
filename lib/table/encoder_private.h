/* table/encoder_private.h: what a preparation holds, for its own sources and table/table's only. */
#ifndef COP_TABLE_ENCODER_PRIVATE_H
#define COP_TABLE_ENCODER_PRIVATE_H

#include "base/name_table.h"
#include "table/encoder.h"

typedef enum cop_column_kind {
	COP_COLUMN_NUMBER = 0,
	COP_COLUMN_CATEGORY,
	COP_COLUMN_TARGET,
	COP_COLUMN_IGNORED, /* no feature; a later file need not have it, by name */
	COP_COLUMN_KINDS
} cop_column_kind;

/* A column of the training file. */
typedef struct cop_column {
	char *name; /* in the header; NULL: there was none, or it is empty */
	uint8_t kind;
	bool indicator;         /* a number with a feature behind it that is 1 where it was missing */
	uint32_t categories;    /* how many */
	uint32_t fill_category; /* what a missing one becomes; COP_NAME_NONE: none of them */
	double fill;            /* what a missing number becomes */
	size_t first;           /* its first feature; the target and ignored ones have none */
} cop_column;

struct cop_encoder {
	bool sparse;
	bool regression, scale_target;
	uint8_t scaling, missing;
	size_t d;
	uint32_t index_base; /* sparse: the training file's index of feature 0 */

	cop_column *column; /* NULL when sparse */
	size_t columns;
	size_t target; /* its column */
	bool named;    /* the training file had a header */

	cop_name_table categories; /* of all columns; tag: the column */
	uint32_t *code;            /* of each of them: its number in the column */
	size_t code_room;
	cop_name_table classes; /* K */
	bool numbered;          /* class k is called k, for all of them */

	char *names;     /* of the features, each terminated */
	size_t *name_at; /* d */

	double *shift, *scale; /* d */
	double target_shift, target_range;
};

/* A preparation with nothing in it. COP_ENOMEM. */
COP_CHECK cop_err cop_encoder_empty(cop_encoder **out);
/* Columns without names, all of them numbers but the target. COP_ENOMEM. */
COP_CHECK cop_err cop_encoder_make_columns(cop_encoder *preparation, size_t columns, size_t target);
/* Once the columns (sparse: d) are known: places and names of features, a scale that changes nothing, and whether
 * classes are numbered. COP_EFULL: a bound is passed, named by *what. COP_ENOMEM. */
COP_CHECK cop_err cop_encoder_finish(cop_encoder *preparation, const char **what);

/* Code of a category, which is added when it is not there. COP_EFULL: the column has
 * COP_ENCODER_MAX_CATEGORIES, or all names together are too long. COP_ENOMEM. */
COP_CHECK cop_err cop_encoder_category(
        cop_encoder *preparation, size_t column, const char *text, size_t length, uint32_t *code);
/* COP_NAME_NONE: it is not there. */
uint32_t cop_encoder_find_category(const cop_encoder *preparation, size_t column, const char *text, size_t length);

/* Adds classes "0" to "K - 1". */
COP_CHECK cop_err cop_encoder_number_classes(cop_encoder *preparation, size_t classes);

#endif
