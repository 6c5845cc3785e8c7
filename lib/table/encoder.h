/* table/encoder.h: how the columns of a file become features, as training decided it.
 *
 * Which column is the target, which columns are categories and their one-hot features, what missing fields become, the
 * scale of each feature and, for regression, of the target, and the names of classes. d features; K classes, or 0 for
 * regression. Made by table/table from a training file, or here for rows that come from elsewhere; saved in the model
 * file. One thread while it is made or fitted, any number afterwards. */
#ifndef COP_TABLE_ENCODER_H
#define COP_TABLE_ENCODER_H

#include "base/bytes.h"
#include "base/err.h"
#include "table/dataset.h"

/* Bounds of one preparation. */
#define COP_ENCODER_MAX_FEATURES   ((size_t)1 << 22)
#define COP_ENCODER_MAX_CATEGORIES 4096 /* of one column */
#define COP_ENCODER_MAX_TEXT       1023 /* bytes of a name of a column, a category or a class */

/* Of the features that are constant in the rows fitted on, the scale is 0, except with COP_SCALE_NONE. Sparse features
 * are never shifted. */
typedef enum cop_scaling {
	COP_SCALE_NONE = 0,
	COP_SCALE_STANDARD, /* mean 0, sd 1 (sparse: sd only) */
	COP_SCALE_RANGE,    /* [0, 1] (sparse: [-1, 1], by the greatest magnitude of the feature) */
	COP_SCALE_MAXIMUM,  /* by the greatest magnitude of all features together: keeps zeros and proportions (images)
	                     */
	/* The first cop_encoder_fit decides: COP_SCALE_MAXIMUM if the features look like amounts of one unit, most
	 * often pixels: at least 16 of them vary, none is ever negative, a third of their values is 0, and three in
	 * four reach half of the greatest value there is; else COP_SCALE_STANDARD. */
	COP_SCALE_AUTO,
	COP_SCALINGS
} cop_scaling;

/* What users call them: "none", "standard", "range", "maximum", "auto"; NULL behind the last. */
extern const char *const cop_scaling_names[COP_SCALINGS + 1];

typedef enum cop_missing {
	COP_MISSING_REFUSE = 0, /* an empty field, ?, NA or nan is an error that names line and column */
	COP_MISSING_MEAN,       /* of training; the most frequent category */
	COP_MISSING_MEDIAN,     /* of training; the most frequent category */
	COP_MISSING_LABEL,      /* categories: a category of its own; numbers: the mean, and a feature of its own (both
	                      only where training had missing fields) */
	COP_MISSINGS
} cop_missing;

typedef struct cop_encoder cop_encoder;

/* For rows that come from elsewhere: dense, d features, K classes (0: regression), scale not fitted. Caller frees with
 * cop_encoder_free; on error *out is NULL. COP_EINVAL: d is 0 or above COP_ENCODER_MAX_FEATURES, or K above
 * COP_DATASET_MAX_CLASSES. COP_ENOMEM. */
COP_CHECK cop_err cop_encoder_new(size_t d, size_t classes, cop_encoder **out);
void cop_encoder_free(cop_encoder *preparation);

/* How cop_encoder_fit is to scale; without a call: COP_SCALE_NONE, no target. */
void cop_encoder_set_scaling(cop_encoder *preparation, cop_scaling scaling, bool scale_target);
/* Scale of features and target, from these rows (row NULL: the first n; they may repeat), which are not scaled yet.
 * COP_ESHAPE: another number of features. COP_EINVAL: n is 0. COP_ENOMEM; on error unchanged. */
COP_CHECK cop_err cop_encoder_fit(cop_encoder *preparation, const cop_dataset *data, size_t n, const uint32_t *row);
/* How it scales; COP_SCALE_AUTO: that is not decided yet. */
cop_scaling cop_encoder_scaling(const cop_encoder *preparation);
/* Scales the features of all rows in place (targets stay as they are); what would pass the largest float stays there.
 * data->d is that of the preparation. */
void cop_encoder_apply(const cop_encoder *preparation, cop_dataset *data);
/* The same of one row of d values, those that are not stored being 0 where rows are sparse. */
void cop_encoder_apply_row(const cop_encoder *preparation, float *x);
/* A target to the scale of training and a prediction back. */
double cop_encoder_to_scale(const cop_encoder *preparation, double target);
double cop_encoder_from_scale(const cop_encoder *preparation, double value);

/* The target is a number from now on, unscaled, whatever its classes were: of models that predict other values than the
 * file holds. */
void cop_encoder_forget_classes(cop_encoder *preparation);

size_t cop_encoder_features(const cop_encoder *preparation); /* d */
size_t cop_encoder_classes(const cop_encoder *preparation);  /* K; 0: regression */
/* The column with the most categories, and how many; NULL: none has any. *place: its number from 0. Borrowed; a column
 * without a name is called "". */
const char *cop_encoder_widest(const cop_encoder *preparation, size_t *place, size_t *categories);
/* "age", "colour=red", "age=?" (says that it is missing), or "x3" by the place of the column from 0 (libsvm: by the
 * file's index); borrowed. j < d. */
const char *cop_encoder_feature(const cop_encoder *preparation, size_t j);
/* Of a feature that is 1 where its column has a category, or is missing, and else 0: the length of the column's name,
 * behind which "=" and the category (or "?") stand; 0: any other feature. */
size_t cop_encoder_stem(const cop_encoder *preparation, size_t j);
/* Name of class k < K; borrowed. */
const char *cop_encoder_class(const cop_encoder *preparation, size_t k);
/* Name of the target, or "target"; borrowed. */
const char *cop_encoder_target(const cop_encoder *preparation);
/* scaled = (x - shift) scale. */
void cop_encoder_scale(const cop_encoder *preparation, size_t j, double *shift, double *scale);

/* As a section's payload. Errors stay in bytes->err; load: COP_EFORMAT, COP_ENONFINITE, COP_ENOMEM. */
#define COP_ENCODER_SECTION "preparation"
#define COP_ENCODER_VERSION 1
void cop_encoder_save(const cop_encoder *preparation, cop_bytes *bytes);
COP_CHECK cop_err cop_encoder_load(const void *payload, size_t length, cop_encoder **out);

#endif
