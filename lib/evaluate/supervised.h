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

/* Area under the ROC curve: the chance that a row of label 1 has a greater score than one of label 0, ties half. NaN
 * when one of the two labels does not occur, and on error. COP_ENOMEM. */
COP_CHECK cop_err cop_supervised_auc(size_t n, const double *score, const uint32_t *label, double *out);

#endif
