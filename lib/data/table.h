/* data/table.h: a file of rows read for batch learning, and how its columns become features.
 *
 * A *preparation* is made from the training file and used on every later one: which column is the target, which columns
 * are categories (those with a field that is no number, or named) and their one-hot features in the order of first
 * appearance, what missing fields become, the scale of each feature and, for regression, of the target, and the names
 * of classes. It is saved in the model file.
 *
 *     csv      columns by position, or by the header's names; the last one is the target unless another is named
 *     libsvm   sparse; features are scaled, never shifted
 *
 * A category that training did not show has all its one-hot features 0. Any thread, distinct objects. */
#ifndef COP_DATA_TABLE_H
#define COP_DATA_TABLE_H

#include "base/bytes.h"
#include "base/err.h"
#include "data/dataset.h"

typedef enum cop_scaling {
	COP_SCALE_NONE = 0,
	COP_SCALE_STANDARD, /* mean 0, sd 1 (sparse: sd only) */
	COP_SCALE_RANGE,    /* [0, 1] */
	COP_SCALE_MAXIMUM,  /* by the greatest magnitude of all features together: keeps zeros and proportions (images)
	                     */
	COP_SCALINGS
} cop_scaling;

typedef enum cop_missing {
	COP_MISSING_REFUSE = 0, /* an empty field, ?, NA or nan is an error that names line and column */
	COP_MISSING_MEAN,       /* of training; the most frequent category */
	COP_MISSING_MEDIAN,
	COP_MISSING_LABEL /* categories: a category of its own; numbers: the mean, and a feature that says so */
} cop_missing;

typedef struct cop_table_settings {
	bool regression;        /* the target is a number, else a class */
	const char *target;     /* name or number (from 0) of its column; NULL: the last */
	const char *categories; /* comma-separated names or numbers of columns to be taken as categories; NULL: by the
	                           rule */
	cop_scaling scaling;
	bool scale_target; /* regression: to [0, 1] */
	cop_missing missing;
} cop_table_settings;

typedef struct cop_preparation cop_preparation;

/* Reads a training file: rows unscaled but otherwise as features (data->target is the class, or the number as it stands
 * in the file), and a preparation whose scale is not fitted yet. Caller frees both; on error they are NULL.
 * Errors of cop_dataset_read; COP_EFORMAT: no such target or category column, or a target that is missing. */
COP_CHECK cop_err cop_table_read_training(const char *path, const cop_table_settings *settings, cop_dataset **data,
        cop_preparation **preparation, cop_diag *diag);
/* Reads another file with it. labelled false: the target column may be missing altogether (one column less); targets
 * are then NaN. COP_ESHAPE: other columns. */
COP_CHECK cop_err cop_table_read(
        const char *path, const cop_preparation *preparation, bool labelled, cop_dataset **data, cop_diag *diag);
void cop_preparation_free(cop_preparation *preparation);

/* For rows that come from elsewhere: d features, K classes (0: regression). COP_ENOMEM. */
COP_CHECK cop_err cop_preparation_new(size_t d, size_t classes, cop_preparation **out);

/* Scale of features and target, from these rows (row NULL: all). */
COP_CHECK cop_err cop_preparation_fit(
        cop_preparation *preparation, const cop_dataset *data, size_t n, const uint32_t *row);
/* Scales the features of all rows in place (targets stay as they are). */
void cop_preparation_apply(const cop_preparation *preparation, cop_dataset *data);
/* A target to the scale of training and a prediction back. */
double cop_preparation_to_scale(const cop_preparation *preparation, double target);
double cop_preparation_from_scale(const cop_preparation *preparation, double value);

size_t cop_preparation_features(const cop_preparation *preparation); /* d */
size_t cop_preparation_classes(const cop_preparation *preparation);  /* K; 0: regression */
/* "age", "colour=red", or "x3"; borrowed. */
const char *cop_preparation_feature(const cop_preparation *preparation, size_t j);
const char *cop_preparation_class(const cop_preparation *preparation, size_t k);
const char *cop_preparation_target(const cop_preparation *preparation);
/* scaled = (x - shift) scale. */
void cop_preparation_scale(const cop_preparation *preparation, size_t j, double *shift, double *scale);

/* As a section's payload. Errors stay in bytes->err; load: COP_EFORMAT, COP_ENONFINITE, COP_ENOMEM. */
#define COP_PREPARATION_SECTION "preparation"
#define COP_PREPARATION_VERSION 1
void cop_preparation_save(const cop_preparation *preparation, cop_bytes *bytes);
COP_CHECK cop_err cop_preparation_load(const void *payload, size_t length, cop_preparation **out);

#endif
