/* bandit/offpolicy_cost.h: costs of every arm, estimated from logged feedback: rows for refitting a tree.
 *
 * An event: arm a was played with propensity p and, if answered, lost l in [0, 1]. w = min(1 / p, M).
 * Costs, one row of K for a learner on cost vectors (Dudik, Langford and Li 2011), f the model's loss of each arm:
 *
 *     ips  c_k = w l [k = a]
 *     dr   c_k = f_k + w (l - f_a) [k = a]
 *
 * Their mean over the draw of a is the loss of each arm as long as no 1 / p is beyond M (the clip shrinks towards 0, or
 * towards the model). Without an answer nothing is known beyond the model: 0 or f_k. An arm that was not eligible costs
 * as much as the dearest eligible one of its row: it could not have been played, so a tree must not gain by choosing
 * it; but nothing is known of its loss either, so it must not cost more than what the row itself holds, or a few masked
 * rows would outweigh the feedback. (As l, f and w are bounded, dr's costs may be negative, and are at least 1 - M.)
 *
 * Weights and targets, for a learner with a mask of each output: target_k = l and weight_k = w where k = a and there is
 * an answer, else both 0: not labelled. A weighted mean over the rows with a label is self-normalised.
 *
 * Costs are float as the learners take them; sums are made in double. Pure functions; any thread. */
#ifndef COP_BANDIT_OFFPOLICY_COST_H
#define COP_BANDIT_OFFPOLICY_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct cop_offpolicy_cost_event {
	size_t arm; /* a, below K */
	double p;   /* (0, 1] */
	bool answered;
	double loss;         /* [0, 1]; read when answered */
	const float *model;  /* f, K finite numbers in [0, 1], for dr; borrowed */
	const uint8_t *mask; /* K: eligible where not 0; NULL: all; borrowed */
} cop_offpolicy_cost_event;

typedef struct cop_offpolicy_cost {
	const char *name;
	bool needs_model; /* reads model; the others never do */
} cop_offpolicy_cost;

/* "ips" or "dr"; NULL when there is none of that name. */
const cop_offpolicy_cost *cop_offpolicy_cost_find(const char *name);

/* K costs (row of a rows x arms matrix) for one event; clip M >= 1, INFINITY: none (but costs stay finite: COP_EINVAL
 * when 1 / p is above 1e12). On error the row is left alone. COP_ENONFINITE: NaN or infinity in p, loss or model.
 * COP_EINVAL: outside the ranges of the struct, no model, or arm a was not eligible. */
COP_CHECK cop_err cop_offpolicy_cost_row(
        const cop_offpolicy_cost *cost, double clip, size_t arms, const cop_offpolicy_cost_event *event, float *row);

/* K targets and K weights of one event; the model is not read. Errors likewise. */
COP_CHECK cop_err cop_offpolicy_cost_labels(
        double clip, size_t arms, const cop_offpolicy_cost_event *event, float *target, float *weight);

#endif
