/* tools/train/train_knn.h: k nearest labelled rows: their vote, or their mean.
 *
 * The labelled rows are a job's. The k nearest are exact, but for choosing k among more than
 * COP_NEIGHBOURS_EXACT_MOST rows. One thread at a time,
 * with the job's pool. */
#ifndef COP_TOOLS_TRAIN_TRAIN_KNN_H
#define COP_TOOLS_TRAIN_TRAIN_KNN_H

#include "train_fit.h"

/* k of 1, 2, 3, 5, 8, 13, 21 by leaving one out of the job's rows, of which at most `most` are taken, evenly; and what
 * is lost then: share of wrong classes, or mean squared error (NaN: of one row). x: features of all of the job's data
 * instead of its own (n x d); NULL: its own. COP_ENOMEM. */
COP_CHECK cop_err cop_train_knn_choose(const cop_train_job *job, const float *x, size_t most, size_t *k, double *loss);
/* The same loss of other rows, which have labels or targets. */
COP_CHECK cop_err cop_train_knn_judge(const cop_train_job *job, size_t k, const cop_labelled *rows, double *loss);

#endif
