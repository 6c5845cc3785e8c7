/* learn/skyline.h: a learner that is told the loss of every arm, not only of the one played: full information.
 *
 * The distance between what it earns and what the same learner earns is what partial feedback costs. It need not
 * explore: it plays the arm (or candidate) of least predicted loss. Each loss that it is told is learned as if that arm
 * had been played with propensity 1; experts are weighed by what they predicted for every arm before any of the event's
 * losses was learned. For learners of arms and of candidates, which are told here in one way: of arms `count` is
 * settings.arms and `row` is NULL. Threads and memory as in learn/learner.h. */
#ifndef COP_LEARN_SKYLINE_H
#define COP_LEARN_SKYLINE_H

#include "learn/learner.h"

/* *arm: the best eligible one. Statistics of x (and of the candidates) move as by a decide. COP_EINVAL: the learner
 * cannot decide among them; nothing changed. */
COP_CHECK cop_err cop_skyline_decide(
        cop_learner *learner, const cop_row *x, const cop_candidates *choice, uint32_t *arm);
/* loss: choice->count values; those that choice->mask leaves out are not told. *learned: how many were, as a step that
 * would diverge is refused without keeping the others from theirs. COP_EINVAL, COP_ENONFINITE: a loss that is told is
 * not in [0, 1], or count is not what the learner takes; nothing changed. Cost: about that of as many learns. */
COP_CHECK cop_err cop_skyline_learn(
        cop_learner *learner, const cop_row *x, const cop_candidates *choice, const double *loss, size_t *learned);

#endif
