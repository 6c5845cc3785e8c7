/* learn/worth.h: what the context is worth to a predictor of losses, in [0, 1]: how much of its errors it takes away
 * beyond knowing the arm and what is linear; and how surely a mixture sees more than the linear predictor.
 *
 * d_k is what the predictor has said of arm k when that was played, on average (over some 1,000 of its events). With E
 * and F the mean squared errors of d and of the predictor (over some 2,000 events), L those of a linear one,
 *
 *     worth = 10 (min(E, L) - F) / E, cut to [0, 1]
 *
 * so one that explains a tenth of what d leaves open, and the linear one does not, has the full worth. It begins there,
 * as if 50 events of worth 1.5 had spoken for it; they are never quite forgotten, so that 0 is reached by predictors
 * that are worse than d (E < F). How surely a mixture sees more than the linear predictor: with G and S the means of
 * g and g^2, g by how much the mixture's squared error was the lower one, over those n events,
 *
 *     beyond = (z n + 300) / (n + 200), cut to [0, 1],   z = G sqrt(n / (S - G^2))
 *
 * At an arm's first event d is the predictor. A prediction counts as at most 1,000 away from 0. A plain value but for
 * the arrays; one thread; nothing is allocated after init. */
#ifndef COP_LEARN_WORTH_H
#define COP_LEARN_WORTH_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"

typedef struct cop_worth {
	size_t arms;
	double *n, *said;            /* of each arm: events, at most 1,000, and d */
	double events;               /* at most 2,000 */
	double plain, linear, other; /* E, L and F */
	double gain, gain_square;    /* G and S */
} cop_worth;

/* COP_ENOMEM. Caller finishes with fini, also after an error. */
COP_CHECK cop_err cop_worth_init(cop_worth *worth, size_t arms);
void cop_worth_fini(cop_worth *worth);

double cop_worth_of_context(const cop_worth *worth);
double cop_worth_beyond_line(const cop_worth *worth); /* how surely, in [0, 1] */

/* What was said of an arm before its loss came. */
typedef struct cop_worth_said {
	double predicted; /* by the predictor; finite */
	double linear;    /* not finite: there is no linear one, and d stands for it */
	double mixed;     /* by the mixture; finite */
} cop_worth_said;

void cop_worth_learn(cop_worth *worth, size_t arm, const cop_worth_said *said, double loss);

void cop_worth_save(const cop_worth *worth, cop_bytes *bytes);
/* COP_EFORMAT, COP_ENONFINITE; then its state is undefined. */
/* arms: of the saved one, at most as many as this one has. */
COP_CHECK cop_err cop_worth_load(cop_worth *worth, size_t arms, cop_cursor *cursor);
/* As learn/learner.h's; from has at most as many arms. */
void cop_worth_inherit(cop_worth *worth, const cop_worth *from);

#endif
