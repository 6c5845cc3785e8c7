/* learn/convex.h: convex stacking (Breiman, Stacked regressions, 1996): weights of a few predictors of the same
 * number, none negative, sum 1, with which the squared error of their mean is least.
 *
 * With E the discounted sum of e eᵀ, e_i by what predictor i missed the truth, the weights are those of least
 * wᵀ (E + more I) w. The least over every set of predictors that are heeded is E^-1 1 / (1ᵀ E^-1 1), with all of them
 * above 0 for one set at least; the best of these is the answer. Where errors are few, `more` keeps the weights near to
 * equal ones. The unit of the errors does not matter. A plain value; one thread. */
#ifndef COP_LEARN_CONVEX_H
#define COP_LEARN_CONVEX_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"

#define COP_CONVEX_MOST 5

typedef struct cop_convex {
	size_t count;                                      /* predictors, 1 .. COP_CONVEX_MOST */
	double together[COP_CONVEX_MOST][COP_CONVEX_MOST]; /* E */
} cop_convex;

/* One event's errors; those of before count `kept` times what they did. */
void cop_convex_settle(cop_convex *convex, double kept, const double *error);
/* Room for `count`. more: at least 0, in the unit of squared errors. */
void cop_convex_weights(const cop_convex *convex, double more, double *weight);

void cop_convex_save(const cop_convex *convex, cop_bytes *bytes);
/* COP_EFORMAT, COP_ENONFINITE; then its state is undefined. */
COP_CHECK cop_err cop_convex_load(cop_convex *convex, cop_cursor *cursor);

#endif
