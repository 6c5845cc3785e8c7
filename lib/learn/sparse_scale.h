/* learn/sparse_scale.h: running root mean square of sparse features over the events in which they were present.
 *
 * Once a feature was present COP_SPARSE_SCALE_FIRST times, a value counts at most COP_SPARSE_SCALE_FAR times its root
 * mean square; an outlier is one that was cut so. A feature whose values stay beyond that, or far below, begins anew.
 * Values before the last COP_SPARSE_SCALE_MEMORY count ever less. One thread per object. */
#ifndef COP_LEARN_SPARSE_SCALE_H
#define COP_LEARN_SPARSE_SCALE_H

#include "base/bytes.h"
#include "base/err.h"
#include "learn/outliers.h"
#include "linalg/row.h"

#define COP_SPARSE_SCALE_FAR    6.0
#define COP_SPARSE_SCALE_FIRST  8
#define COP_SPARSE_SCALE_WILD   900.0f /* root mean squares: a value beyond is an error or stands for none */
#define COP_SPARSE_SCALE_MEMORY 65536.0

typedef struct cop_sparse_scale cop_sparse_scale;

/* d features, at least 1. Caller frees; NULL on error. COP_ENOMEM. */
COP_CHECK cop_err cop_sparse_scale_new(size_t d, cop_sparse_scale **out);
double cop_sparse_scale_footprint(size_t d);
void cop_sparse_scale_free(cop_sparse_scale *s);

void cop_sparse_scale_add(cop_sparse_scale *s, const cop_row *row);
/* 1 / root mean square of feature j; 1 where there is none, or a float cannot hold it. */
float cop_sparse_scale_of(const cop_sparse_scale *s, size_t j);
/* Each value of the row, scaled and clipped to +-most, into out (row->nnz); 0 for one beyond COP_SPARSE_SCALE_WILD. */
void cop_sparse_scale_apply(const cop_sparse_scale *s, const cop_row *row, float most, float *out);
const cop_outliers *cop_sparse_scale_outliers(const cop_sparse_scale *s);

void cop_sparse_scale_save(const cop_sparse_scale *s, cop_bytes *bytes);
/* COP_EFORMAT, COP_ENONFINITE; then the state is undefined. */
COP_CHECK cop_err cop_sparse_scale_load(cop_sparse_scale *s, cop_cursor *cursor);
/* What versions before wrote, who had no limits: how often each was present, and sums of squares. */
COP_CHECK cop_err cop_sparse_scale_load_plain(cop_sparse_scale *s, cop_cursor *cursor);

#endif
