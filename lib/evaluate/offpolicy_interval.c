/* Values and intervals from an accumulator's pairs of moments.
 *
 * Every bound is written once, for a side: -1 bounds from below, +1 from above. A "phantom" is one event that was not
 * seen: it keeps bounds honest where few events match, and counts like one of many where many do. Its weight
 * (cop_interval_unseen_weight) follows from the weights that the log would have allowed, and from mean(w) = 1. */
#include "evaluate/offpolicy.h"

#include <math.h>
#include <string.h>

#include "evaluate/special.h"

#define UNBOUNDED ((double)INFINITY)
#define RESERVE   0.4 /* share of the risk that robust intervals spend; the rest is for what the approximation errs */

typedef struct problem {
	const cop_offpolicy *o;
	const cop_offpolicy_estimator *estimator;
	const cop_moments *m;
	double low, high;                   /* cost range */
	double residual_low, residual_high; /* that c - q could be; the cost range where no model takes part */
	double base;                        /* mean(m), 0 without a model */
	double weight_bound;                /* largest w there could be */
	double value, error;
	double level, risk;
} problem;

typedef struct method {
	const char *name;
	/* False: does not apply. Bounds may lie outside the cost range. */
	bool (*interval)(const problem *p, double *low, double *high);
} method;

/* An event that was not seen. */
typedef struct phantom {
	double a, w, y;
} phantom;

static double sum_of_weights(const cop_moments *m) { return cop_sum_value(&m->a); }

/* Size-biased mean of the event weights. */
static double typical_event(const cop_moments *m) { return m->a2 / sum_of_weights(m); }

static double extreme_cost(const problem *p, int side) { return side < 0 ? p->low : p->high; }

/* Student's quantile for one side at the effective sample size of weights with this sum and sum of squares; infinite
 * when there is too little. */
static double quantile(double sum, double squares, double risk)
{
	double df = squares > 0.0 ? sum * sum / squares - 1.0 : 0.0;
	return df >= 1.0 ? cop_special_student_quantile(df, 0.5 * risk) : UNBOUNDED;
}

/* mean(y - gamma w) with the phantom, and t standard errors beside it. */
static double mean_bound(const cop_moments *m, double gamma, const phantom *extra, double t, int side)
{
	double sum = sum_of_weights(m), all = sum + extra->a;
	double term = extra->y - gamma * extra->w;
	double mean = (sum * (cop_moments_mean_y(m) - gamma * cop_moments_mean_w(m)) + extra->a * term) / all;
	double gap = extra->a * (term - mean);
	double width = sqrt(cop_moments_square(m, gamma, mean) + gap * gap) / all;
	return isinf(t) ? side * UNBOUNDED : mean + side * t * width;
}

/* The better bound where weights are heavy: from below by the mean of w (c - q - r), r the least residual, which is
 * never negative: a heavy weight that was not seen can only raise it. E[w] = 1 gives r back. */
static double nonnegative_bound(const problem *p, double risk, int side)
{
	const cop_moments *m = p->m;
	double r = side < 0 ? p->residual_low : p->residual_high;
	double t = quantile(cop_sum_value(&m->aw), cop_moments_weight_square(m), risk);
	phantom extra = { typical_event(m), 0.0, p->base };
	return mean_bound(m, r, &extra, t, side) + r;
}

static double phantom_weight(const problem *p, double risk)
{
	const cop_moments *m = p->m, *possible = &p->o->term[COP_OFFPOLICY_DM];
	double t = quantile(cop_sum_value(&m->aw), cop_moments_weight_square(m), risk);
	return cop_interval_unseen_weight(m, 1.0, cop_moments_typical_weight(possible), p->weight_bound, t);
}

/* Fieller's bound for sum(e w c) / sum(e w): the v furthest out for which mean(w (c - v)) is not t standard errors away
 * from 0. */
static double ratio_bound(const problem *p, double risk, int side)
{
	const cop_moments *m = p->m;
	double a = typical_event(m), cost = extreme_cost(p, side), aw = a * phantom_weight(p, risk);
	double b = cop_sum_value(&m->aw) + aw;
	double v = (cop_sum_value(&m->ay) + aw * cost) / b;
	double gap = cost - v;
	double rr = cop_moments_weight_square(m) + aw * aw;
	double qq = cop_moments_product(m, v) + aw * aw * gap;
	double pp = cop_moments_square(m, v, 0.0) + aw * aw * gap * gap;
	double t = quantile(b, rr, risk), t2 = t * t;
	double open = b * b - t2 * rr;
	if (isinf(t) || !(open > 0.0))
		return side * UNBOUNDED;
	return v + (-t2 * qq + side * sqrt(t2 * qq * t2 * qq + open * t2 * pp)) / open;
}

static double phantom_bound(const problem *p, double risk, int side)
{
	const cop_moments *m = p->m;
	if (p->estimator->self_normalised)
		return ratio_bound(p, risk, side);
	double residual = extreme_cost(p, side) - p->base;
	if (p->estimator->term == COP_OFFPOLICY_DR)
		residual = side < 0 ? fmin(0.0, fmax(residual, p->residual_low))
		                    : fmax(0.0, fmin(residual, p->residual_high));
	phantom extra = { typical_event(m), phantom_weight(p, risk), 0.0 };
	extra.y = p->base + extra.w * residual;
	double aw = extra.a * extra.w;
	double t = quantile(cop_sum_value(&m->aw) + aw, cop_moments_weight_square(m) + aw * aw, risk);
	return mean_bound(m, 0.0, &extra, t, side);
}

static bool delta_interval(const problem *p, double *low, double *high)
{
	double half = p->o->n >= 2 ? cop_special_normal_quantile(1.0 - 0.5 * p->risk) * p->error : UNBOUNDED;
	*low = p->value - half;
	*high = p->value + half;
	return !p->estimator->truncated;
}

static bool robust_interval(const problem *p, double *low, double *high)
{
	if (p->estimator->term == COP_OFFPOLICY_DM)
		return delta_interval(p, low, high);
	double risk = RESERVE * p->risk;
	*low = nonnegative_bound(p, risk, -1);
	*high = nonnegative_bound(p, risk, 1);
	if (p->estimator->truncated)
		return true;
	*low = fmax(*low, phantom_bound(p, risk, -1));
	*high = fmin(*high, phantom_bound(p, risk, 1));
	return true;
}

/* The least (most) that mean(y) can be under weights on the events, phantom included, that sum to 1, make mean(w) 1,
 * and are no further from equal in chi-squared distance than t^2 allows. */
static double likelihood_bound(const problem *p, double weight, int side)
{
	const cop_moments *m = p->m;
	phantom extra = { typical_event(m), weight, p->base + weight * (extreme_cost(p, side) - p->base) };
	double sum = sum_of_weights(m), all = sum + extra.a;
	double w = (cop_sum_value(&m->aw) + extra.a * extra.w) / all,
	       y = (cop_sum_value(&m->ay) + extra.a * extra.y) / all;
	double off_w = m->mean_w - w, off_y = m->mean_y - y;
	double gap_w = extra.a * (extra.w - w), gap_y = extra.a * (extra.y - y);
	double ww = (m->ww + m->a2 * off_w * off_w + gap_w * gap_w) / (all * all);
	double wy = (m->wy + m->a2 * off_w * off_y + gap_w * gap_y) / (all * all);
	double yy = (m->yy + m->a2 * off_y * off_y + gap_y * gap_y) / (all * all);
	double t = p->o->n >= 2 ? cop_special_student_quantile((double)p->o->n - 1.0, 0.5 * p->risk) : UNBOUNDED;
	double beta = ww > 0.0 ? wy / ww : 0.0;
	return isinf(t) ? side * UNBOUNDED : y + beta * (1.0 - w) + side * t * sqrt(fmax(yy - beta * wy, 0.0));
}

static bool likelihood_interval(const problem *p, double *low, double *high)
{
	unsigned term = p->estimator->term;
	if (term != COP_OFFPOLICY_IPS && term != COP_OFFPOLICY_DR)
		return false;
	*low = fmin(likelihood_bound(p, 0.0, -1), likelihood_bound(p, p->weight_bound, -1));
	*high = fmax(likelihood_bound(p, 0.0, 1), likelihood_bound(p, p->weight_bound, 1));
	return true;
}

/* Width of the interval in which y - r w lies, r as in nonnegative_bound. */
static double term_range(const problem *p)
{
	double width = p->high - p->low, residuals = p->residual_high - p->residual_low;
	switch (p->estimator->term) {
	case COP_OFFPOLICY_LOGGED:
		return width;
	case COP_OFFPOLICY_CLIPPED:
		return width * fmin(p->o->settings.clip, p->weight_bound);
	case COP_OFFPOLICY_SWITCH:
		return width + residuals * fmin(p->o->settings.threshold, p->weight_bound);
	case COP_OFFPOLICY_DR:
		return width + residuals * p->weight_bound;
	default:
		return width * p->weight_bound;
	}
}

static double bernstein_bound(const problem *p, int side)
{
	const cop_moments *m = p->m;
	double sum = sum_of_weights(m), n = sum * sum / m->a2, r = side < 0 ? p->residual_low : p->residual_high;
	double mean = cop_moments_mean_y(m) - r * cop_moments_mean_w(m);
	double variance = cop_moments_square(m, r, mean) / m->a2 * n / (n - 1.0);
	return mean + r + side * (n >= 2.0 ? cop_interval_bernstein(n, variance, term_range(p), p->risk) : UNBOUNDED);
}

static bool bernstein_interval(const problem *p, double *low, double *high)
{
	if (p->estimator->self_normalised || p->estimator->term == COP_OFFPOLICY_DM)
		return false;
	*low = bernstein_bound(p, -1);
	*high = bernstein_bound(p, 1);
	return true;
}

static bool binomial_interval(const problem *p, double *low, double *high)
{
	bool known = p->o->settings.cost_low < p->o->settings.cost_high;
	bool two = p->o->extreme == p->o->n && (known || (p->low == 0.0 && p->high == 1.0));
	if (!two || !(p->estimator->self_normalised || p->estimator->term == COP_OFFPOLICY_LOGGED))
		return false;
	double weights = cop_sum_value(&p->m->aw), width = p->high - p->low;
	double trials = weights > 0.0 ? weights * weights / cop_moments_weight_square(p->m) : 0.0;
	double share = fmin(fmax((p->value - p->low) / width, 0.0), 1.0);
	cop_interval_clopper_pearson(share * trials, trials, p->risk, low, high);
	*low = p->low + width * *low;
	*high = p->low + width * *high;
	return true;
}

static bool sequence_interval(const problem *p, double *low, double *high)
{
	const cop_offpolicy *o = p->o;
	if (p->estimator->term != COP_OFFPOLICY_IPS || o->below.n == 0 || p->level != o->settings.level)
		return false;
	*low = p->low + (p->high - p->low) * cop_interval_sequence_low(&o->below, 0.5 * p->risk);
	*high = p->high - (p->high - p->low) * cop_interval_sequence_low(&o->above, 0.5 * p->risk);
	return true;
}

static const method methods[] = {
	{ "robust", robust_interval },
	{ "delta", delta_interval },
	{ "cressie-read", likelihood_interval },
	{ "bernstein", bernstein_interval },
	{ "clopper-pearson", binomial_interval },
	{ "sequence", sequence_interval },
};
#define METHODS (sizeof methods / sizeof *methods)

const char *cop_offpolicy_method_at(size_t i) { return i < METHODS ? methods[i].name : NULL; }

static const method *find_method(const char *name)
{
	for (size_t i = 0; name != NULL && i < METHODS; i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	return name == NULL ? &methods[0] : NULL;
}

static void pose(const cop_offpolicy *o, const cop_offpolicy_estimator *estimator, double level, problem *p)
{
	*p = (problem){ .o = o, .estimator = estimator, .m = &o->term[estimator->term], .level = level };
	p->risk = 1.0 - level;
	cop_offpolicy_range(o, &p->low, &p->high);
	p->residual_low = p->low;
	p->residual_high = p->high;
	p->weight_bound = estimator->term == COP_OFFPOLICY_LOGGED ? 1.0 : o->weight_bound;
	if (estimator->term == COP_OFFPOLICY_DR || estimator->term == COP_OFFPOLICY_SWITCH) {
		p->base = cop_moments_mean_y(&o->term[COP_OFFPOLICY_DM]);
		p->residual_low = p->low - o->model_max;
		p->residual_high = p->high - o->model_min;
	}
}

/* False: there is nothing to estimate from. */
static bool find_value(problem *p)
{
	const cop_offpolicy *o = p->o;
	double weights = cop_sum_value(&p->m->aw), factor = o->n >= 2 ? (double)o->n / ((double)o->n - 1.0) : 1.0;
	bool known = o->n > 0 && (!p->estimator->needs_model || o->models == o->n);
	if (!known || (p->estimator->self_normalised && !(weights > 0.0))) {
		p->value = p->error = (double)NAN;
		return false;
	}
	if (p->estimator->self_normalised) {
		p->value = cop_sum_value(&p->m->ay) / weights;
		p->error = sqrt(factor * cop_moments_square(p->m, p->value, 0.0)) / weights;
	} else {
		p->value = cop_moments_mean_y(p->m);
		p->error = sqrt(factor * cop_moments_square(p->m, 0.0, p->value)) / sum_of_weights(p->m);
	}
	return true;
}

static double within(double value, double low, double high) { return fmin(fmax(value, low), high); }

cop_err cop_offpolicy_estimate(const cop_offpolicy *o, const cop_offpolicy_estimator *estimator, const char *name,
        double level, cop_estimate *out)
{
	const method *by = find_method(name);
	problem p;
	double low, high;
	pose(o, estimator, level, &p);
	bool known = find_value(&p);
	*out = (cop_estimate){ p.value, p.error, p.low, p.high, by == NULL ? "none" : by->name };
	if (!known || by == NULL || !(level > 0.0 && level < 1.0) || !by->interval(&p, &low, &high))
		return COP_ENOTFOUND;
	/* Without its heavy weights the value need not lie between the bounds; they cross when mean(w) is far above 1.
	 */
	double least = estimator->truncated ? high : p.value, most = estimator->truncated ? low : p.value;
	out->low = within(fmin(low, least), p.low, p.high);
	out->high = within(fmax(high, most), p.low, p.high);
	return COP_OK;
}
