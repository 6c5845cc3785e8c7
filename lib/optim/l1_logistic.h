/* optim/l1_logistic.h: weighted logistic regression with an L1 penalty (the decision nodes of TAO).
 *
 *     minimise over w, b:   sum_i c_i log(1 + exp(-s_i (<w, x_i> + b))) + lambda ||w||_1
 *
 * c_i >= 0 weights, s_i = +-1, the bias is not penalised. Solved by proximal Newton steps, whose quadratic models are
 * minimised by coordinate descent over the features that can still move (newGLMNET: Yuan, Ho, Lin 2012), from where w
 * and b stand, or from w = 0 when that is better. Ends when the largest violation of the optimality conditions is at
 * most tolerance times that at w = 0, b best alone, or after max_steps Newton steps. Deterministic. Distinct calls on
 * distinct threads. */
#ifndef COP_OPTIM_L1_LOGISTIC_H
#define COP_OPTIM_L1_LOGISTIC_H

#include <stdint.h>

#include "base/err.h"
#include "linalg/columns.h"
#include "optim/l1_settings.h"

/* weight (NULL: all 1) and sign have x->n entries; w has x->d. With signs of one kind only, w becomes 0 and b +-10
 * (or stays, further out). All borrowed. report may be NULL.
 * COP_EINVAL: a setting outside its range. COP_ENONFINITE: the start, a weight, or what came out (w and b are as before
 * then). COP_ENOMEM. */
COP_CHECK cop_err cop_l1_logistic_fit(const cop_l1_settings *settings, const cop_columns *x, const int8_t *sign,
        const float *weight, float *w, float *b, cop_l1_report *report);

#endif
