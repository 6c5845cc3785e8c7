/* optim/l1_softmax.h: weighted multinomial logistic regression with an L1 penalty (softmax leaves).
 *
 *     minimise over W, b:   sum_i c_i (log sum_k exp(<W_k, x_i> + b_k) - (<W_y, x_i> + b_y)) + lambda sum_k ||W_k||_1
 *
 * K classes, y = class_i in [0, K), the biases are not penalised. A class that no weight stands for gets w = 0 and a
 * bias 30 below the least of the others. Starts from w and b, or from w = 0 when that is
 * better. Ends when the largest violation of the optimality conditions is at most tolerance times that at W = 0, biases
 * best alone, or after max_steps rounds over the classes. Deterministic. Distinct calls on distinct threads. */
#ifndef COP_OPTIM_L1_SOFTMAX_H
#define COP_OPTIM_L1_SOFTMAX_H

#include <stdint.h>

#include "base/err.h"
#include "linalg/columns.h"
#include "optim/l1_settings.h"

/* label and weight (NULL: all 1) have x->n entries, w is classes x x->d row-major, b has `classes`; both are the start
 * too. Errors as cop_l1_logistic_fit; COP_EINVAL also: classes below 2, or a label out of range. */
COP_CHECK cop_err cop_l1_softmax_fit(const cop_l1_settings *settings, const cop_columns *x, size_t classes,
        const uint32_t *label, const float *weight, float *w, float *b, cop_l1_report *report);

#endif
