/* optim/l1_linear.h: weighted least squares with an L1 penalty (lasso; the linear leaves of regression trees).
 *
 *     minimise over w, b:   1/2 sum_i c_i (y_i - <w, x_i> - b)^2 + lambda ||w||_1
 *
 * c_i >= 0, the bias is not penalised (data are centred inside). Cyclic coordinate descent over the features that can
 * still move, from where w stands (or 0, when that is better), until the duality gap is at most tolerance times the
 * objective at w = 0, or max_steps passes. Deterministic. Distinct calls on distinct threads. */
#ifndef COP_OPTIM_L1_LINEAR_H
#define COP_OPTIM_L1_LINEAR_H

#include "base/err.h"
#include "linalg/columns.h"
#include "optim/l1_settings.h"

/* y has x->n entries, weight too (NULL: all 1); w has x->d. Errors as cop_l1_logistic_fit. */
COP_CHECK cop_err cop_l1_linear_fit(const cop_l1_settings *settings, const cop_columns *x, const float *y,
        const float *weight, float *w, float *b, cop_l1_report *report);

#endif
