/* online/worth.h: what the context is worth to a predictor of losses, in [0, 1]: how much of its errors it takes away
 * beyond knowing the arm.
 *
 * d_k is what the predictor has said of arm k when that was played, on average (over some 1,000 of its events). With E
 * and F the mean squared errors of d and of the predictor (over some 2,000 events),
 *     worth = 10 (E - F) / E, cut to [0, 1]
 * so one that explains a tenth of what d leaves open has the full worth. It begins there, as if 50 events had spoken
 * for it. A plain value but for d; one thread; nothing is allocated after init. */
#ifndef COP_ONLINE_WORTH_H
#define COP_ONLINE_WORTH_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"

typedef struct cop_worth {
	size_t arms;
	double *n, *said;    /* of each arm: events, at most some 1,000, and d */
	double events;       /* at most some 2,000 */
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
