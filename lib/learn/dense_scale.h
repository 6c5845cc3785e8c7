/* learn/dense_scale.h: running mean and deviation of dense columns, which a few wild values cannot move far.
 *
 * A value enters at most COP_DENSE_SCALE_FAR deviations away from the mean, once COP_DENSE_SCALE_FIRST rows have been
 * seen; an outlier is one that was cut so. A column whose values stay outside for a block of rows, or within a small
 * part of its deviation for a stretch that is long beside its history, begins anew from those rows. Columns that are
 * constant but for rare values have no outliers. Rows before the last COP_DENSE_SCALE_MEMORY count ever less.
 * Columns that were added to a saved state may be NaN, unknown: those take nothing in, and give 0, as the mean does.
 * Statistics move only in add. One thread per object. */
#ifndef COP_LEARN_DENSE_SCALE_H
#define COP_LEARN_DENSE_SCALE_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "learn/outliers.h"

#define COP_DENSE_SCALE_FAR    6.0
#define COP_DENSE_SCALE_WILD   900.0
#define COP_DENSE_SCALE_FIRST  8
#define COP_DENSE_SCALE_BLOCK  32
#define COP_DENSE_SCALE_MEMORY 65536.0

typedef struct cop_dense_scale cop_dense_scale;

/* d columns, at least 1. Caller frees; NULL on error. COP_ENOMEM. */
COP_CHECK cop_err cop_dense_scale_new(size_t d, cop_dense_scale **out);
double cop_dense_scale_footprint(size_t d);
void cop_dense_scale_free(cop_dense_scale *s);

/* Columns that are always known: the first ones, all of a state that never had fewer. */
size_t cop_dense_scale_known(const cop_dense_scale *s);
/* From here on these are the first `known`, at most d. COP_ENOMEM: as it was. */
COP_CHECK cop_err cop_dense_scale_know(cop_dense_scale *s, size_t known);

/* Takes rows of d values in, one after the other. */
void cop_dense_scale_add(cop_dense_scale *s, const float *x);
/* After the last add, before what follows. */
void cop_dense_scale_refresh(cop_dense_scale *s);
/* out[j] = (x[j] - mean) / deviation, cut to +-most; 0 where the column never varied, or x[j] is so far from the mean,
 * about COP_DENSE_SCALE_WILD deviations, that it is an error or stands for no value, or unknown. */
void cop_dense_scale_apply(const cop_dense_scale *s, const float *x, float most, float *out);
/* out[j] = x[j], cut to the limits as when it was added; the mean where x[j] is unknown, or cop_dense_scale_apply takes
 * it for an error; as it is in a column that is constant but for rare values. */
void cop_dense_scale_bound(const cop_dense_scale *s, const float *x, float *out);
/* Whether column j began anew and has not taken in a known value since, as after the row with which it did. Its mean.
 * And the rows that its statistics stand for: its known values, at first. */
bool cop_dense_scale_is_anew(const cop_dense_scale *s, size_t j);
double cop_dense_scale_mean(const cop_dense_scale *s, size_t j);
double cop_dense_scale_rows(const cop_dense_scale *s, size_t j);
/* Mean and 1 / deviation of column j; *scale 0: it never varied. */
void cop_dense_scale_way(const cop_dense_scale *s, size_t j, double *shift, double *scale);
const cop_outliers *cop_dense_scale_outliers(const cop_dense_scale *s);

void cop_dense_scale_save(const cop_dense_scale *s, cop_bytes *bytes);
/* What was saved of `saved` columns, at most d, of which the first `known` are always known. COP_EFORMAT,
 * COP_ENONFINITE, COP_ENOMEM; then the state is undefined. */
COP_CHECK cop_err cop_dense_scale_load(cop_dense_scale *s, size_t saved, size_t known, cop_cursor *cursor);
/* What versions before wrote, who had no limits: rows, means, sums of squared deviations. */
COP_CHECK cop_err cop_dense_scale_load_plain(cop_dense_scale *s, cop_cursor *cursor);

#endif
