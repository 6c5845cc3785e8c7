/* evaluate/offpolicy.h: the value (mean cost) of a policy, estimated from a log of another policy's decisions.
 *
 * Event i: action a drawn with propensity p, cost c, event weight e (1 unless the log was thinned); the target policy
 * would take a with probability pi. Importance weight w = pi / p. With a model of the costs: q = its cost of a, m = its
 * expected cost under the target, sum over arms of pi(k) q(k); without one q = m = 0. Means are weighted by e:
 *   logged   mean(c)                                value of the policy that wrote the log
 *   ips      mean(w c)                              Horvitz and Thompson 1952
 *   snips    sum(e w c) / sum(e w)                  Swaminathan and Joachims 2015
 *   dm       mean(m)                                the model alone; as good as the model
 *   dr       mean(m + w (c - q))                    Dudik, Langford and Li 2011
 *   switch   mean(m + w (c - q) [w <= tau])         Wang, Agarwal and Dudik 2017
 *   clipped  mean(min(w, M) c)                      Ionides 2008; Bottou et al. 2013
 * Effective sample size: sum(e w)^2 / sum((e w)^2). mean(w) is 1 when propensities are true and the log supports the
 * target; mean_weight_z is by how many of its standard errors it is off.
 *
 * Intervals (offpolicy_interval.c; docs/evidence/intervals.md has their measured coverage), always within the
 * range of costs:
 *   robust     the default; what estimates are reported with. Lower bound (upper alike, with costs turned round): the
 *              better of two, each with Student's quantile at the effective sample size, and 0.4 of the risk:
 *              (a) mean of w (c - L), which is never negative, so heavy weights that were not seen can only raise it;
 *              (b) the delta method's (ips, dr) or Fieller's (snips) with one more event, of the weight that may
 *              have gone unseen (cop_interval_unseen_weight) and the least favourable cost.
 *              clipped and switch count what they leave out at the least favourable cost, so they cover the value too.
 *   delta      value +- quantile * standard error; too narrow where few events match
 *   cressie-read  empirical likelihood with mean(w) = 1 known (Karampatziakis, Langford and Mineiro 2020)
 *   bernstein  empirical Bernstein with the largest weight as bound; needs no normal approximation; wide
 *   clopper-pearson  logged and snips with costs that are all L or H; exact when all weights are equal, else at the
 *              effective sample size (Korn and Graubard 1998)
 *   sequence   ips and snips: at all times at once, see interval.h; needs the cost range
 * dm's interval holds the model for true. If the target changes while it learns, the value is the mean over the stream.
 *
 * Constant memory. Plain struct, all owned by itself; distinct objects on distinct threads. */
#ifndef COP_EVALUATE_OFFPOLICY_H
#define COP_EVALUATE_OFFPOLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "evaluate/interval.h"
#include "evaluate/moments.h"

/* Larger values could overflow in squares. */
#define COP_OFFPOLICY_MAX 1e12

typedef struct cop_offpolicy_settings {
	double cost_low, cost_high; /* all costs lie here; equal: not known, and the costs seen stand for it */
	double level;               /* of the sequence intervals, which must be known from the start; in (0, 1) */
	double threshold;           /* tau of switch, > 0 */
	double clip;                /* M of clipped, > 0 */
} cop_offpolicy_settings;

typedef struct cop_offpolicy_event {
	double p;      /* (0, 1] */
	double cost;   /* within the cost range */
	double weight; /* > 0 */
	double target; /* pi, [0, 1] */
	/* Most that the target gives to any arm here, [target, 1]; 0: not known, 1 is assumed. Tells the intervals what
	 * weights there could be. */
	double target_max;
	bool has_model;
	double model_logged; /* q */
	double model_target; /* m */
} cop_offpolicy_event;

enum {
	COP_OFFPOLICY_LOGGED,
	COP_OFFPOLICY_IPS,
	COP_OFFPOLICY_DM,
	COP_OFFPOLICY_DR,
	COP_OFFPOLICY_SWITCH,
	COP_OFFPOLICY_CLIPPED,
	COP_OFFPOLICY_TERMS
};

typedef struct cop_offpolicy {
	cop_offpolicy_settings settings;
	uint64_t n, matched, models, extreme; /* events; with pi > 0; with a model; with cost L or H (0 or 1) */
	cop_sum target;                       /* sum(e pi) */
	double weight_max, weight_bound;      /* largest w; largest that one could have been */
	double cost_min, cost_max, model_min, model_max; /* model: of q, 0 for events without a model */
	cop_moments term[COP_OFFPOLICY_TERMS]; /* (w, term of the mean), w as the estimator uses it; dm: could be */
	cop_interval_sequence below, above;    /* of w (c - L) and w (H - c), over H - L; not without a range */
} cop_offpolicy;

typedef struct cop_estimate {
	double value;       /* may lie outside the cost range (ips, dr) */
	double error;       /* standard error by the delta method */
	double low, high;   /* within the cost range */
	const char *method; /* of the interval */
} cop_estimate;

typedef struct cop_offpolicy_summary {
	uint64_t events;
	double weight;                /* sum(e) */
	double effective_sample_size; /* 0 without a match */
	double matched_share;         /* events with pi > 0 */
	double mean_target;           /* mean(pi) */
	double largest_weight;
	double mean_weight;   /* about 1 */
	double mean_weight_z; /* (mean_weight - 1) / its standard error, within +-1e6 */
} cop_offpolicy_summary;

typedef struct cop_offpolicy_estimator {
	const char *name;
	unsigned term;        /* which pair it is made from */
	bool self_normalised; /* divided by sum(e w) */
	bool needs_model;     /* on every event */
	bool truncated;       /* leaves heavy weights out */
} cop_offpolicy_estimator;

/* Range not known, level 0.95, threshold 10, clip 10. */
void cop_offpolicy_defaults(cop_offpolicy_settings *settings);
/* COP_ENONFINITE, COP_EINVAL: settings outside what is allowed. */
COP_CHECK cop_err cop_offpolicy_init(cop_offpolicy *o, const cop_offpolicy_settings *settings);

/* One event. On error nothing has changed. COP_ENONFINITE: a value is not finite. COP_EINVAL: outside the ranges of the
 * struct says, or w, cost or weight beyond COP_OFFPOLICY_MAX. */
COP_CHECK cop_err cop_offpolicy_add(cop_offpolicy *o, const cop_offpolicy_event *event);
void cop_offpolicy_summarise(const cop_offpolicy *o, cop_offpolicy_summary *out);

/* i-th of the estimators above, in that order, or by name; NULL when there is none. */
const cop_offpolicy_estimator *cop_offpolicy_estimator_at(size_t i);
const cop_offpolicy_estimator *cop_offpolicy_find(const char *name);
/* i-th of the interval methods' names; NULL when there is none. */
const char *cop_offpolicy_method_at(size_t i);

/* Value and interval of this level in (0, 1); method NULL: robust. COP_ENOTFOUND: no such method, it does not apply to
 * the estimator or the log (sequences have settings.level alone), or nothing to estimate from (no event, no match,
 * models missing); value, error are NaN then unless the method alone is at fault, and the interval is the cost range.
 */
COP_CHECK cop_err cop_offpolicy_estimate(const cop_offpolicy *o, const cop_offpolicy_estimator *estimator,
        const char *method, double level, cop_estimate *out);

/* What cop_offpolicy and cop_offpolicy_pair share: the check of an event, and the cost range from the costs seen. */
COP_CHECK cop_err cop_offpolicy_check(const cop_offpolicy_settings *settings, const cop_offpolicy_event *event);
void cop_offpolicy_range_of(
        const cop_offpolicy_settings *settings, double least, double most, double *low, double *high);
/* The cost range: known, else from the costs seen: [0, 1] or [-1, 0] if they fit, else least and largest. */
void cop_offpolicy_range(const cop_offpolicy *o, double *low, double *high);

void cop_offpolicy_save(const cop_offpolicy *o, cop_bytes *out);
/* Leaves *o alone on error: COP_EFORMAT, COP_ENONFINITE; COP_EVERSION: written by a newer version. */
COP_CHECK cop_err cop_offpolicy_load(cop_offpolicy *o, cop_cursor *in);

#endif
