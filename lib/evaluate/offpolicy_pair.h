/* evaluate/offpolicy_pair.h: how much two policies' values differ, from the same log (A - B; below 0: A is better).
 *
 * Both policies are estimated from the same events, so most of the noise is common to them and cancels: the interval
 * of the difference is far narrower than two intervals beside each other. Symbols as in offpolicy.h, with w, m, y for
 * each policy:
 *   ips     mean((w_A - w_B) c)
 *   snips   difference of the two snips; variance of w_A (c - v_A) / mean(w_A) - w_B (c - v_B) / mean(w_B)
 *   dm      mean(m_A - m_B)
 *   dr      mean(y_A - y_B), y = m + w (c - q)
 * Intervals, always within +-(H - L):
 *   robust    the default: delta with Student's quantile at the effective number of events in which the policies
 *             differ, 0.4 of the risk, and one more event, as heavy as there may be, on the side of the bound; but
 *             never beyond (H - L) times the Clopper-Pearson bound of mean(distance). [0, 0] for equal policies.
 *   delta     difference +- quantile * standard error
 *   sequence  asymptotic confidence sequence: good at all times at once, from about 1,000 events on
 *             (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024)
 * Constant memory. Plain struct, all zero but its settings when empty; distinct objects on distinct threads. */
#ifndef COP_EVALUATE_OFFPOLICY_PAIR_H
#define COP_EVALUATE_OFFPOLICY_PAIR_H

#include "evaluate/offpolicy.h"

/* What the joint moments are of: w_A - w_B, (w_A - w_B) c, w_B, w_B c. */
#define COP_OFFPOLICY_PAIR_TERMS 4

typedef struct cop_offpolicy_pair {
	cop_offpolicy_settings settings;
	uint64_t n, models;
	double weight_bound;                             /* largest |w_A - w_B| that could have been */
	double cost_min, cost_max, model_min, model_max; /* model: of q, 0 for events without a model */
	double a2;
	cop_sum a, sum[COP_OFFPOLICY_PAIR_TERMS];
	double mean[COP_OFFPOLICY_PAIR_TERMS];                             /* weighted by a^2, as the moments are */
	double moment[COP_OFFPOLICY_PAIR_TERMS][COP_OFFPOLICY_PAIR_TERMS]; /* row >= column */
	cop_moments dr;                                                    /* of (|w_A - w_B|, y_A - y_B) */
	cop_moments dm;   /* of (largest |w_A - w_B| that could have been, m_A - m_B) */
	cop_sum distance; /* sum(e distance) */
} cop_offpolicy_pair;

/* COP_ENONFINITE, COP_EINVAL: settings outside what is allowed. */
COP_CHECK cop_err cop_offpolicy_pair_init(cop_offpolicy_pair *pair, const cop_offpolicy_settings *settings);

/* One event, as either policy sees it: p, cost, weight, has_model and model_logged are a's, and b's are not looked at;
 * `distance` in [0, 1] is the policies' total variation distance here, half the sum over arms of |pi_A - pi_B| (for
 * two fixed choices: 0 if they are the same arm, else 1).
 * Errors of cop_offpolicy_add; COP_EINVAL also when |pi_A - pi_B| of the logged action is beyond distance. On error
 * nothing has changed. */
COP_CHECK cop_err cop_offpolicy_pair_add(
        cop_offpolicy_pair *pair, const cop_offpolicy_event *a, const cop_offpolicy_event *b, double distance);

/* Difference by "ips", "snips", "dm" or "dr" and its interval; method NULL: robust. COP_ENOTFOUND as for
 * cop_offpolicy_estimate; the interval is +-(H - L) then. */
COP_CHECK cop_err cop_offpolicy_pair_estimate(const cop_offpolicy_pair *pair, const cop_offpolicy_estimator *estimator,
        const char *method, double level, cop_estimate *out);

#endif
