/* Moments are of differences wherever a difference is wanted, so that nearly equal policies do not cancel digits away.
 *
 * With z = (w_A - w_B, (w_A - w_B) c, w_B, w_B c) every estimate's term is linear in z: ips is z_1, and snips, to first
 * order, w_A (c - v_A) / mean(w_A) - w_B (c - v_B) / mean(w_B). */
#include "evaluate/offpolicy_pair.h"

#include <math.h>
#include <string.h>

#include "evaluate/special.h"

#define TERMS     COP_OFFPOLICY_PAIR_TERMS
#define RESERVE   0.4    /* as for one policy: share of the risk that robust intervals spend */
#define SETTLED   1000.0 /* events from which an asymptotic sequence is to be trusted */
#define SLACK     1e-6
#define UNBOUNDED ((double)INFINITY)

enum { GAP, GAP_COST, WEIGHT_B, COST_B };

cop_err cop_offpolicy_pair_init(cop_offpolicy_pair *pair, const cop_offpolicy_settings *settings)
{
	cop_offpolicy single;
	cop_err err = cop_offpolicy_init(&single, settings);
	if (err == COP_OK)
		*pair = (cop_offpolicy_pair){ .settings = *settings };
	return err;
}

/* What b shares with a, taken from a. */
static cop_offpolicy_event other_view(const cop_offpolicy_event *a, const cop_offpolicy_event *b)
{
	cop_offpolicy_event view = *a;
	view.target = b->target;
	view.target_max = b->target_max;
	view.model_target = b->model_target;
	return view;
}

static cop_err check(
        const cop_offpolicy_pair *pair, const cop_offpolicy_event *a, const cop_offpolicy_event *b, double distance)
{
	cop_err err = cop_offpolicy_check(&pair->settings, a);
	if (err == COP_OK)
		err = cop_offpolicy_check(&pair->settings, b);
	if (err != COP_OK)
		return err;
	if (!isfinite(distance))
		return COP_ENONFINITE;
	if (distance < 0.0 || distance > 1.0 + SLACK || fabs(a->target - b->target) > distance + SLACK)
		return COP_EINVAL;
	return COP_OK;
}

static void add_joint(cop_offpolicy_pair *pair, double a, const double z[TERMS])
{
	double a2 = a * a, share = a2 / (pair->a2 + a2), rest = pair->a2 * share, d[TERMS];
	for (size_t i = 0; i < TERMS; i++) {
		d[i] = z[i] - pair->mean[i];
		cop_sum_add(&pair->sum[i], a * z[i]);
		pair->mean[i] += share * d[i];
		for (size_t j = 0; j <= i; j++)
			pair->moment[i][j] += rest * d[i] * d[j];
	}
	cop_sum_add(&pair->a, a);
	pair->a2 += a2;
}

/* Largest |w_A - w_B| that there might be in a context like this one: on the logged action, or on another, of which the
 * policies differ in one at least and which has at most 1 - p. */
static double possible_gap(double p, double distance)
{
	return distance == 0.0 ? 0.0 : fmax(distance / p, distance / fmax(1.0 - p, distance / COP_OFFPOLICY_MAX));
}

cop_err cop_offpolicy_pair_add(
        cop_offpolicy_pair *pair, const cop_offpolicy_event *a, const cop_offpolicy_event *b, double distance)
{
	const cop_offpolicy_event view = other_view(a, b);
	cop_err err = check(pair, a, &view, distance);
	if (err != COP_OK)
		return err;
	double gap = (a->target - b->target) / a->p, weight = b->target / a->p;
	double q = a->has_model ? a->model_logged : 0.0;
	double models = a->has_model ? a->model_target - b->model_target : 0.0;
	double possible = fmax(fabs(gap), possible_gap(a->p, distance));
	const double z[TERMS] = { gap, gap * a->cost, weight, weight * a->cost };
	add_joint(pair, a->weight, z);
	cop_moments_add(&pair->dr, a->weight, fabs(gap), models + gap * (a->cost - q));
	cop_moments_add(&pair->dm, a->weight, possible, models);
	cop_sum_add(&pair->distance, a->weight * distance);
	pair->weight_bound = fmax(pair->weight_bound, possible);
	pair->cost_min = pair->n == 0 ? a->cost : fmin(pair->cost_min, a->cost);
	pair->cost_max = pair->n == 0 ? a->cost : fmax(pair->cost_max, a->cost);
	pair->model_min = pair->n == 0 ? q : fmin(pair->model_min, q);
	pair->model_max = pair->n == 0 ? q : fmax(pair->model_max, q);
	pair->n++;
	pair->models += a->has_model;
	return COP_OK;
}

/* What a difference and its interval are made from. */
typedef struct problem {
	const cop_offpolicy_pair *pair;
	double low, high; /* cost range */
	double value;
	double square;   /* sum of a^2 (term - value)^2 */
	double residual; /* how large the factor of w_A - w_B in the term could be */
} problem;

/* sum of a^2 (g z - centre)^2 */
static double joint_square(const cop_offpolicy_pair *pair, const double g[TERMS], double centre)
{
	double sum = 0.0, mean = 0.0;
	for (size_t i = 0; i < TERMS; i++) {
		mean += g[i] * pair->mean[i];
		for (size_t j = 0; j <= i; j++)
			sum += (i == j ? 1.0 : 2.0) * g[i] * g[j] * pair->moment[i][j];
	}
	return fmax(sum, 0.0) + pair->a2 * (mean - centre) * (mean - centre);
}

static bool pose_snips(problem *p)
{
	const cop_offpolicy_pair *pair = p->pair;
	double all = cop_sum_value(&pair->a), b = cop_sum_value(&pair->sum[WEIGHT_B]);
	double a = b + cop_sum_value(&pair->sum[GAP]);
	if (!(a > 1e-9 * b) || !(b > 0.0))
		return false;
	double value_b = cop_sum_value(&pair->sum[COST_B]) / b;
	double value_a = (cop_sum_value(&pair->sum[COST_B]) + cop_sum_value(&pair->sum[GAP_COST])) / a;
	double ra = all / a;
	/* value_a - value_b without a difference of two sums that are nearly equal */
	p->value = (cop_sum_value(&pair->sum[GAP_COST]) - value_b * cop_sum_value(&pair->sum[GAP])) / a;
	double ra_rb = -ra * cop_sum_value(&pair->sum[GAP]) / b;
	const double g[TERMS] = { -ra * value_a, ra, -ra * p->value - ra_rb * value_b, ra_rb };
	double middle = 0.5 * (value_a + value_b);
	p->square = joint_square(pair, g, 0.0);
	p->residual = fmax(p->high - middle, middle - p->low);
	return true;
}

/* False: there is nothing to estimate from. */
static bool pose(problem *p, const cop_offpolicy_estimator *estimator)
{
	const cop_offpolicy_pair *pair = p->pair;
	const double cost[TERMS] = { [GAP_COST] = 1.0 };
	p->value = p->square = (double)NAN;
	if (pair->n == 0 || (estimator->needs_model && pair->models < pair->n))
		return false;
	if (estimator->self_normalised)
		return pose_snips(p);
	if (estimator->term == COP_OFFPOLICY_IPS) {
		p->value = cop_sum_value(&pair->sum[GAP_COST]) / cop_sum_value(&pair->a);
		p->square = joint_square(pair, cost, p->value);
		p->residual = fmax(fabs(p->low), fabs(p->high));
		return true;
	}
	const cop_moments *m = estimator->term == COP_OFFPOLICY_DR ? &pair->dr : &pair->dm;
	p->value = cop_moments_mean_y(m);
	p->square = cop_moments_square(m, 0.0, p->value);
	p->residual = fmin(fmax(p->high - pair->model_min, pair->model_max - p->low), p->high - p->low);
	return estimator->term == COP_OFFPOLICY_DR || estimator->term == COP_OFFPOLICY_DM;
}

/* Largest share of the distance between the policies that the events allow, Clopper-Pearson. */
static double distance_bound(const cop_offpolicy_pair *pair, double risk)
{
	double sum = cop_sum_value(&pair->a), trials = sum * sum / pair->a2, low, high;
	double hits = fmin(cop_sum_value(&pair->distance) / sum, 1.0) * trials;
	cop_interval_clopper_pearson(hits, trials, risk, &low, &high);
	return high;
}

static double effective(double sum, double squares) { return squares > 0.0 ? sum * sum / squares : 0.0; }

/* Degrees of freedom: the least effective sample size of the gaps, of A's and of B's weights, less 1. */
static double freedom(const cop_offpolicy_pair *pair, double gaps, double squares)
{
	const double a[TERMS] = { [GAP] = 1.0, [WEIGHT_B] = 1.0 }, b[TERMS] = { [WEIGHT_B] = 1.0 };
	double sum_b = cop_sum_value(&pair->sum[WEIGHT_B]), sum_a = sum_b + cop_sum_value(&pair->sum[GAP]);
	double least = fmin(effective(sum_a, joint_square(pair, a, 0.0)), effective(sum_b, joint_square(pair, b, 0.0)));
	return fmin(effective(gaps, squares), least) - 1.0;
}

static double quantile(double df, double risk)
{
	return df >= 1.0 ? cop_special_student_quantile(df, 0.5 * risk) : UNBOUNDED;
}

static double robust_half(const problem *p, double risk)
{
	const cop_offpolicy_pair *pair = p->pair;
	const cop_moments *m = &pair->dr;
	if (!(pair->weight_bound > 0.0)) /* the policies never differ */
		return 0.0;
	double sum = cop_sum_value(&pair->a), a = pair->a2 / sum, gaps = cop_sum_value(&m->aw);
	double squares = cop_moments_weight_square(m), expected = 2.0 * cop_sum_value(&pair->distance) / sum;
	double common = 2.0 * cop_moments_typical_weight(&pair->dm), t = quantile(freedom(pair, gaps, squares), risk);
	double aw = a * cop_interval_unseen_weight(m, expected, common, pair->weight_bound, t);
	double more = aw * p->residual;
	t = quantile(freedom(pair, gaps + aw, squares + aw * aw), risk);
	return isinf(t) ? t : (more + t * sqrt(p->square + more * more)) / (sum + a);
}

/* Half-width of the interval by its method's name; negative: there is no such method. */
static double half_width(const problem *p, const char *method, double risk, bool model_alone)
{
	double n = (double)p->pair->n, sum = cop_sum_value(&p->pair->a);
	double error = n >= 2.0 ? sqrt(n / (n - 1.0) * p->square) / sum : UNBOUNDED;
	if (strcmp(method, "robust") == 0 && !model_alone)
		return robust_half(p, RESERVE * risk);
	if (strcmp(method, "robust") == 0 || strcmp(method, "delta") == 0)
		return cop_special_normal_quantile(1.0 - 0.5 * risk) * error;
	if (strcmp(method, "sequence") == 0)
		return n >= 2.0 ? cop_interval_asymptotic_sequence(n, n * error * error, SETTLED, risk) : UNBOUNDED;
	return -1.0;
}

static double within(double value, double low, double high) { return fmin(fmax(value, low), high); }

cop_err cop_offpolicy_pair_estimate(const cop_offpolicy_pair *pair, const cop_offpolicy_estimator *estimator,
        const char *method, double level, cop_estimate *out)
{
	static const char *const names[] = { "robust", "delta", "sequence" };
	problem p = { .pair = pair };
	bool model_alone = estimator->term == COP_OFFPOLICY_DM;
	cop_offpolicy_range_of(&pair->settings, pair->cost_min, pair->cost_max, &p.low, &p.high);
	double width = p.high - p.low, n = (double)pair->n;
	*out = (cop_estimate){ (double)NAN, (double)NAN, -width, width, "none" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], method == NULL ? names[0] : method) == 0)
			out->method = names[i];
	if (!pose(&p, estimator))
		return COP_ENOTFOUND;
	out->value = p.value;
	out->error = sqrt((n >= 2.0 ? n / (n - 1.0) : 1.0) * p.square) / cop_sum_value(&pair->a);
	double half = level > 0.0 && level < 1.0 ? half_width(&p, out->method, 1.0 - level, model_alone) : -1.0;
	if (half < 0.0)
		return COP_ENOTFOUND;
	double most = width;
	if (strcmp(out->method, "robust") == 0 && !model_alone)
		most = pair->weight_bound > 0.0 ? width * distance_bound(pair, RESERVE * (1.0 - level)) : 0.0;
	out->low = within(fmin(fmax(p.value - half, -most), p.value), -width, width);
	out->high = within(fmax(fmin(p.value + half, most), p.value), -width, width);
	return COP_OK;
}
