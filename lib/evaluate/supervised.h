/* evaluate/supervised.h: how good predictions of classes and values are.
 *
 * Sums run in double, in the rows' order. Any thread. */
#ifndef COP_EVALUATE_SUPERVISED_H
#define COP_EVALUATE_SUPERVISED_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Share of the n rows whose prediction is not the label; NaN without rows. */
double cop_supervised_error_rate(size_t n, const uint32_t *predicted, const uint32_t *label);
/* sqrt(mean (predicted - target)^2); NaN without rows. */
double cop_supervised_rmse(size_t n, const double *predicted, const double *target);

/* How many of the classes are predicted before `label`: of greater output, or of an equal one and a smaller number. */
size_t cop_supervised_rank(size_t classes, const double *output, size_t label);
/* exp(mean -log p) over the rows whose p, the probability of what the row is, is above 0; *covered is their share. NaN
 * when there are none. */
double cop_supervised_perplexity(size_t n, const double *p, double *covered);

/* Area under the ROC curve: the chance that a row of label 1 has a greater score than one of label 0, ties half. NaN
 * when one of the two labels does not occur, and on error. COP_ENOMEM. */
COP_CHECK cop_err cop_supervised_auc(size_t n, const double *score, const uint32_t *label, double *out);

#endif
