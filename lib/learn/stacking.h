/* learn/stacking.h: stacking (Wolpert, Stacked generalization, 1992): a weighted sum of a few predictors of the same
 * number, with weights from recursive least squares.
 *
 * z_i is what predictor i says away from a common origin, y the truth likewise; the sum is w z. Weights begin equal,
 * sum 1; later they may be negative or sum to something else. Events count in units of v, the variance of what the sum
 * misses (a running mean of its squared errors), so that weights move as surely where truths are nearly all alike
 * (click rates) as where they are not. Old events count less by 1 - f, and what is forgotten is made up for by as much
 * of the beginning's certainty, 1 / START in every direction:
 *     R <- f R + (1 - f) / START I + z zᵀ / v,   w += R^-1 z (y - w z) / v
 * f is FORGET once a predictor's events weigh FULL on average (the trace of R less 1 / START over the predictors), and
 * the nearer to 1 the less they do: where there is little to learn from, the memory is long. One that joins later
 * begins with weight 0 and little certainty in its own direction: the sum stays what it was until losses speak for the
 * newcomer, and then moves fast. (An equal share from the start loses more where the newcomer is the worse one: on
 * pendigits twice as much over the next 500 events.) One that leaves has weight 0 while it is away, whatever it says;
 * the others' weights become the best ones without it, min (v - w)ᵀ R (v - w) over v with v_i = 0. When it comes back
 * it does so as one that joins. A plain value; one thread. */
#ifndef COP_LEARN_STACKING_H
#define COP_LEARN_STACKING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"

#define COP_STACKING_MOST     6
#define COP_STACKING_FARTHEST 2.0 /* z is cut to +-this in settle */

typedef struct cop_stacking {
	size_t count; /* predictors, 1 .. COP_STACKING_MOST */
	bool away[COP_STACKING_MOST];
	double weight[COP_STACKING_MOST];
	double r[COP_STACKING_MOST][COP_STACKING_MOST];
	double variance; /* v */
	double events;   /* behind it, at most so many as it remembers */
} cop_stacking;

void cop_stacking_begin(cop_stacking *stack, size_t count);
/* One predictor more, the last; there is room for it. */
void cop_stacking_join(cop_stacking *stack);
/* Predictor i, not the last one there, leaves; one that is away comes back. */
void cop_stacking_leave(cop_stacking *stack, size_t i);
void cop_stacking_return(cop_stacking *stack, size_t i);
/* y came where z had been said: y - w z, before it was taken in. Unless all of them are finite that is NaN, and nothing
 * changes; what would spoil the weights makes them begin again, equal for all that are there. */
double cop_stacking_settle(cop_stacking *stack, const double *z, double y);

/* The standard deviation of weight i, by R. */
double cop_stacking_deviation(const cop_stacking *stack, size_t i);

/* Predictors of the stack that the cursor stands at; 0: none does. */
size_t cop_stacking_saved(const cop_cursor *cursor);
void cop_stacking_save(const cop_stacking *stack, cop_bytes *bytes);
/* Nobody is away then. COP_ESHAPE: another count. COP_EFORMAT, COP_ENONFINITE; then its state is undefined. */
COP_CHECK cop_err cop_stacking_load(cop_stacking *stack, cop_cursor *cursor);
/* Predictor i was away when the stack was saved. false: it cannot have been, or nobody would be left. */
bool cop_stacking_stay_away(cop_stacking *stack, size_t i);

#endif
