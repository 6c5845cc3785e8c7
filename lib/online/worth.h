/* online/worth.h: what the context is worth to a predictor of losses, in [0, 1]: how much of its errors it takes away
 * beyond knowing the arm.
 *
 * d_k is what the predictor has said of arm k when that was played, on average (over some 1,000 of its events). With E
 * and F the mean squared errors of d and of the predictor (over some 2,000 events),
 *     worth = 10 (E - F) / E, cut to [0, 1]
 * so one that explains a tenth of what d leaves open has the full worth. It begins there, as if 50 events of worth 1.5
 * had spoken for it; they are never quite forgotten, so that 0 is reached by predictors that are worse than d (E < F).
 * At an arm's first event d is the predictor. A prediction counts as at most 1,000 away from 0. A plain value but for
 * the arrays; one thread; nothing is allocated after init. */
#ifndef COP_ONLINE_WORTH_H
#define COP_ONLINE_WORTH_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"

typedef struct cop_worth {
	size_t arms;
	double *n, *said;    /* of each arm: events, at most 1,000, and d */
	double events;       /* at most 2,000 */
	double plain, other; /* E and F */
} cop_worth;

/* COP_ENOMEM. Caller finishes with fini, also after an error. */
COP_CHECK cop_err cop_worth_init(cop_worth *worth, size_t arms);
void cop_worth_fini(cop_worth *worth);

double cop_worth_of_context(const cop_worth *worth);
/* The predictor had said `predicted` (finite) of the arm, whose loss came. */
void cop_worth_learn(cop_worth *worth, size_t arm, double predicted, double loss);

void cop_worth_save(const cop_worth *worth, cop_bytes *bytes);
/* COP_EFORMAT, COP_ENONFINITE; then its state is undefined. */
COP_CHECK cop_err cop_worth_load(cop_worth *worth, cop_cursor *cursor);

#endif
