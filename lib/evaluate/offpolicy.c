/* One pair (w, y) of moments for each estimator; y is its term of the mean, w the importance weight as the estimator
 * uses it. snips shares the pair of ips. offpolicy_interval.c makes values and intervals from the pairs. */
#include "evaluate/offpolicy.h"

#include <math.h>
#include <string.h>

#define SAVED_VERSION 1
#define SLACK         (1.0 + 1e-6) /* probabilities that were summed, or stored as float */
#define LARGEST_Z     1e6

static const cop_offpolicy_estimator estimators[] = {
	{ "logged", COP_OFFPOLICY_LOGGED, false, false, false },
	{ "ips", COP_OFFPOLICY_IPS, false, false, false },
	{ "snips", COP_OFFPOLICY_IPS, true, false, false },
	{ "dm", COP_OFFPOLICY_DM, false, true, false },
	{ "dr", COP_OFFPOLICY_DR, false, false, false },
	{ "switch", COP_OFFPOLICY_SWITCH, false, true, true },
	{ "clipped", COP_OFFPOLICY_CLIPPED, false, false, true },
};
#define ESTIMATORS (sizeof estimators / sizeof *estimators)

const cop_offpolicy_estimator *cop_offpolicy_estimator_at(size_t i) { return i < ESTIMATORS ? &estimators[i] : NULL; }

const cop_offpolicy_estimator *cop_offpolicy_find(const char *name)
{
	for (size_t i = 0; i < ESTIMATORS; i++)
		if (strcmp(estimators[i].name, name) == 0)
			return &estimators[i];
	return NULL;
}

void cop_offpolicy_defaults(cop_offpolicy_settings *settings)
{
	*settings = (cop_offpolicy_settings){ .level = 0.95, .threshold = 10.0, .clip = 10.0 };
}

static cop_err check_settings(const cop_offpolicy_settings *s)
{
	if (!isfinite(s->cost_low) || !isfinite(s->cost_high) || !isfinite(s->level) || !isfinite(s->threshold) ||
	        !isfinite(s->clip))
		return COP_ENONFINITE;
	bool valid = s->cost_low <= s->cost_high && fabs(s->cost_low) <= COP_OFFPOLICY_MAX &&
	             fabs(s->cost_high) <= COP_OFFPOLICY_MAX && s->level > 0.0 && s->level < 1.0 &&
	             s->threshold > 0.0 && s->clip > 0.0;
	return valid ? COP_OK : COP_EINVAL;
}

cop_err cop_offpolicy_init(cop_offpolicy *o, const cop_offpolicy_settings *settings)
{
	cop_err err = check_settings(settings);
	if (err != COP_OK)
		return err;
	*o = (cop_offpolicy){ .settings = *settings };
	return COP_OK;
}

static bool range_is_known(const cop_offpolicy *o) { return o->settings.cost_low < o->settings.cost_high; }

void cop_offpolicy_range(const cop_offpolicy *o, double *low, double *high)
{
	cop_offpolicy_range_of(
	        &o->settings, o->cost_min, o->cost_max, low, high); /* costs are 0 before the first event */
}

void cop_offpolicy_range_of(
        const cop_offpolicy_settings *settings, double least, double most, double *low, double *high)
{
	if (settings->cost_low < settings->cost_high) {
		*low = settings->cost_low;
		*high = settings->cost_high;
		return;
	}
	*low = least >= 0.0 && most <= 1.0 ? 0.0 : least >= -1.0 && most <= 0.0 ? -1.0 : least;
	*high = least >= 0.0 && most <= 1.0 ? 1.0 : least >= -1.0 && most <= 0.0 ? 0.0 : most;
}

cop_err cop_offpolicy_check(const cop_offpolicy_settings *settings, const cop_offpolicy_event *e)
{
	if (!isfinite(e->p) || !isfinite(e->cost) || !isfinite(e->weight) || !isfinite(e->target) ||
	        !isfinite(e->target_max))
		return COP_ENONFINITE;
	if (e->has_model && (!isfinite(e->model_logged) || !isfinite(e->model_target)))
		return COP_ENONFINITE;
	double most = e->target_max > 0.0 ? e->target_max : 1.0;
	if (!(e->p > 0.0) || e->p > SLACK || e->target < 0.0 || e->target > most * SLACK || e->target_max < 0.0 ||
	        most > SLACK || !(e->weight >= 1.0 / COP_OFFPOLICY_MAX) || e->weight > COP_OFFPOLICY_MAX ||
	        most > COP_OFFPOLICY_MAX * e->p || fabs(e->cost) > COP_OFFPOLICY_MAX)
		return COP_EINVAL;
	if (e->has_model && (fabs(e->model_logged) > COP_OFFPOLICY_MAX || fabs(e->model_target) > COP_OFFPOLICY_MAX))
		return COP_EINVAL;
	bool known = settings->cost_low < settings->cost_high;
	if (known && (e->cost < settings->cost_low || e->cost > settings->cost_high))
		return COP_EINVAL;
	return COP_OK;
}

static void widen(double *least, double *most, double value, bool first)
{
	if (first || value < *least)
		*least = value;
	if (first || value > *most)
		*most = value;
}

/* Before the moments have seen the event. */
static void add_sequences(cop_offpolicy *o, double weight, double w, double cost)
{
	double low = o->settings.cost_low, width = o->settings.cost_high - low;
	double risk = 0.5 * (1.0 - o->settings.level);
	double scaled = (cost - low) / width, scale = cop_moments_typical_weight(&o->term[COP_OFFPOLICY_DM]);
	cop_interval_sequence_add(&o->below, weight, w * scaled, scale, risk);
	cop_interval_sequence_add(&o->above, weight, w * (1.0 - scaled), scale, risk);
}

/* A weight that the target's favourite arm could have, or has at least, in a context like this one: had it been the one
 * that was logged; and as another arm, which has at most 1 - p. */
static double possible_weight(const cop_offpolicy_event *e)
{
	double most = fmax(e->target_max > 0.0 ? e->target_max : 1.0, e->target);
	double other = e->target < most ? most / fmax(1.0 - e->p, most / COP_OFFPOLICY_MAX) : 0.0;
	return fmax(most / e->p, other);
}

cop_err cop_offpolicy_add(cop_offpolicy *o, const cop_offpolicy_event *e)
{
	cop_err err = cop_offpolicy_check(&o->settings, e);
	if (err != COP_OK)
		return err;
	double a = e->weight, w = e->target / e->p;
	double q = e->has_model ? e->model_logged : 0.0, m = e->has_model ? e->model_target : 0.0;
	double residual = e->cost - q;
	double kept = w <= o->settings.threshold ? w : 0.0, cut = fmin(w, o->settings.clip);
	double possible = fmax(possible_weight(e), w);
	bool first = o->n == 0;
	if (range_is_known(o))
		add_sequences(o, a, w, e->cost);
	cop_moments_add(&o->term[COP_OFFPOLICY_LOGGED], a, 1.0, e->cost);
	cop_moments_add(&o->term[COP_OFFPOLICY_IPS], a, w, w * e->cost);
	cop_moments_add(&o->term[COP_OFFPOLICY_DM], a, possible, m);
	cop_moments_add(&o->term[COP_OFFPOLICY_DR], a, w, m + w * residual);
	cop_moments_add(&o->term[COP_OFFPOLICY_SWITCH], a, kept, m + kept * residual);
	cop_moments_add(&o->term[COP_OFFPOLICY_CLIPPED], a, cut, cut * e->cost);
	cop_sum_add(&o->target, a * e->target);
	widen(&o->cost_min, &o->cost_max, e->cost, first);
	widen(&o->model_min, &o->model_max, q, first);
	o->weight_max = fmax(o->weight_max, w);
	o->weight_bound = fmax(o->weight_bound, possible);
	o->n++;
	o->matched += e->target > 0.0;
	o->models += e->has_model;
	o->extreme += range_is_known(o) ? e->cost == o->settings.cost_low || e->cost == o->settings.cost_high
	                                : e->cost == 0.0 || e->cost == 1.0;
	return COP_OK;
}

void cop_offpolicy_summarise(const cop_offpolicy *o, cop_offpolicy_summary *out)
{
	const cop_moments *m = &o->term[COP_OFFPOLICY_IPS];
	double sum = cop_sum_value(&m->a), weights = cop_sum_value(&m->aw), squares = cop_moments_weight_square(m);
	*out = (cop_offpolicy_summary){ .events = o->n, .weight = sum, .largest_weight = o->weight_max };
	if (o->n == 0)
		return;
	out->effective_sample_size = weights > 0.0 ? weights * weights / squares : 0.0;
	out->matched_share = (double)o->matched / (double)o->n;
	out->mean_target = cop_sum_value(&o->target) / sum;
	out->mean_weight = weights / sum;
	double off = out->mean_weight - m->mean_w, gap = out->mean_weight - 1.0;
	double error = sqrt(m->ww + m->a2 * off * off) / sum;
	if (fabs(gap) >= LARGEST_Z * error)
		out->mean_weight_z = gap == 0.0 ? 0.0 : copysign(LARGEST_Z, gap);
	else
		out->mean_weight_z = gap / error;
}

void cop_offpolicy_save(const cop_offpolicy *o, cop_bytes *out)
{
	const cop_offpolicy_settings *s = &o->settings;
	const double settings[] = { s->cost_low, s->cost_high, s->level, s->threshold, s->clip };
	const double values[] = { o->target.total, o->target.rest, o->weight_max, o->weight_bound, o->cost_min,
		o->cost_max, o->model_min, o->model_max };
	cop_bytes_put_u32(out, SAVED_VERSION);
	cop_bytes_put_f64s(out, settings, sizeof settings / sizeof *settings);
	cop_bytes_put_u64(out, o->n);
	cop_bytes_put_u64(out, o->matched);
	cop_bytes_put_u64(out, o->models);
	cop_bytes_put_u64(out, o->extreme);
	cop_bytes_put_f64s(out, values, sizeof values / sizeof *values);
	for (size_t i = 0; i < COP_OFFPOLICY_TERMS; i++)
		cop_moments_save(&o->term[i], out);
	cop_interval_sequence_save(&o->below, out);
	cop_interval_sequence_save(&o->above, out);
}

static bool is_consistent(const cop_offpolicy *o)
{
	for (size_t i = 0; i < COP_OFFPOLICY_TERMS; i++)
		if (o->term[i].n != o->n)
			return false;
	uint64_t bets = range_is_known(o) ? o->n : 0;
	return check_settings(&o->settings) == COP_OK && o->matched <= o->n && o->models <= o->n &&
	       o->extreme <= o->n && o->weight_max >= 0.0 && o->weight_bound >= o->weight_max &&
	       o->cost_min <= o->cost_max && o->model_min <= o->model_max && o->below.n == bets && o->above.n == bets;
}

cop_err cop_offpolicy_load(cop_offpolicy *o, cop_cursor *in)
{
	cop_offpolicy new = { 0 };
	double s[5], v[8];
	if (cop_cursor_u32(in) > SAVED_VERSION && in->err == COP_OK)
		return COP_EVERSION;
	cop_cursor_f64s(in, s, 5);
	new.settings = (cop_offpolicy_settings){ s[0], s[1], s[2], s[3], s[4] };
	new.n = cop_cursor_u64(in);
	new.matched = cop_cursor_u64(in);
	new.models = cop_cursor_u64(in);
	new.extreme = cop_cursor_u64(in);
	cop_cursor_f64s(in, v, 8);
	new.target = (cop_sum){ v[0], v[1] };
	new.weight_max = v[2];
	new.weight_bound = v[3];
	new.cost_min = v[4];
	new.cost_max = v[5];
	new.model_min = v[6];
	new.model_max = v[7];
	for (size_t i = 0; i < COP_OFFPOLICY_TERMS; i++)
		cop_moments_load(&new.term[i], in);
	cop_interval_sequence_load(&new.below, in);
	cop_interval_sequence_load(&new.above, in);
	if (in->err != COP_OK)
		return in->err;
	if (!is_consistent(&new))
		return COP_EFORMAT;
	*o = new;
	return COP_OK;
}
