/* Each estimator has two running bounds: of terms with mean at most g, and of terms with mean at most -g. Which form a
 * term takes depends on weight_most alone, never on the action or its loss. */
#include "evaluate/promotion_test.h"

#include <math.h>

#define SAVED_VERSION 1
#define SLACK         (1.0 + 1e-6) /* probabilities that were summed, or stored as float */
#define LARGEST       1e12
#define LARGEST_CLIP  1e6
#define MIXABLE       2.0  /* of squared errors in [0, 1] */
#define TOLERATED     0.04 /* bias of the champion's predictions */
#define TOLERANCE     0.2  /* as a multiple of m (1 - m), where the mean loss m is near 0 or 1 */
#define LARGEST_LOSS  0.9  /* of a bet, as a share of its wealth */
#define MOST_WON      64.0 /* the logarithm of an event's factor is within this */
#define BETS          COP_PROMOTION_TEST_BETS
#define BIAS_PRIOR    100.0 /* events without bias that mean errors begin with */
#define MEAN_PRIOR    10.0  /* events of mean 1/2 that the mean loss begins with */
#define POLICY_SLACK  0.01
#define PREDICTED     0.8 /* share of the risk that predictions have, where they are judged */

static const double boldness[BETS] = { 0.75, 1.5, 3.0 }; /* k */

enum {
	IPS = COP_PROMOTION_TEST_IPS,
	DR = COP_PROMOTION_TEST_DR,
	ERROR = COP_PROMOTION_TEST_ERROR,
	KINDS = COP_PROMOTION_TEST_ESTIMATORS
};

void cop_promotion_test_defaults(cop_promotion_test_settings *settings)
{
	*settings = (cop_promotion_test_settings){ .estimator = COP_PROMOTION_TEST_DR,
		.risk = 0.05,
		.difference_most = 6.0,
		.clip = 100.0,
		.least_events = 100,
		.share = 1.0 };
}

static bool is_share(double x) { return x >= 0.0 && x <= 1.0; }

static cop_err check_settings(const cop_promotion_test_settings *s)
{
	if (!isfinite(s->margin) || !isfinite(s->worse_margin) || !isfinite(s->risk) || !isfinite(s->difference_most) ||
	        !isfinite(s->clip) || !isfinite(s->share) || !isfinite(s->stake) || !isfinite(s->carried))
		return COP_ENONFINITE;
	bool valid = (unsigned)s->estimator <= ERROR && is_share(s->margin) && is_share(s->worse_margin) &&
	             s->risk >= 1e-12 && s->risk < 1.0 && s->difference_most >= 1.0 && s->clip >= s->difference_most &&
	             s->clip <= LARGEST_CLIP && s->share > 0.0 && s->share <= 1.0 && is_share(s->stake) &&
	             s->carried >= 0.0 && s->carried <= COP_PROMOTION_TEST_WEALTH;
	return valid ? COP_OK : COP_EINVAL;
}

static void begin(cop_promotion_test *promotion, const cop_promotion_test_settings *settings)
{
	*promotion = (cop_promotion_test){ .settings = *settings };
	for (size_t i = 0; i < KINDS; i++) {
		cop_running_bound_init(&promotion->below[i], -1.0, 1.0);
		cop_running_bound_init(&promotion->above[i], -1.0, 1.0);
	}
}

cop_err cop_promotion_test_init(cop_promotion_test *promotion, const cop_promotion_test_settings *settings)
{
	cop_err err = check_settings(settings);
	if (err == COP_OK)
		begin(promotion, settings);
	return err;
}

static cop_err check_event(const cop_promotion_test_event *e)
{
	if (!isfinite(e->p) || !isfinite(e->loss) || !isfinite(e->champion) || !isfinite(e->challenger) ||
	        !isfinite(e->weight_most))
		return COP_ENONFINITE;
	if (e->has_model &&
	        (!isfinite(e->model_logged) || !isfinite(e->model_champion) || !isfinite(e->model_challenger)))
		return COP_ENONFINITE;
	if (e->has_said && (!isfinite(e->said_champion) || !isfinite(e->said_challenger)))
		return COP_ENONFINITE;
	if (e->has_difference && !isfinite(e->difference))
		return COP_ENONFINITE;
	if (e->has_difference && !is_share(e->difference))
		return COP_EINVAL;
	if (e->has_said && (!is_share(e->said_champion) || !is_share(e->said_challenger)))
		return COP_EINVAL;
	double most = fmax(e->champion, e->challenger);
	if (!(e->p > 0.0) || e->p > SLACK || !is_share(e->loss) || e->champion < 0.0 || e->challenger < 0.0 ||
	        most > SLACK || most > LARGEST * e->p || e->weight_most < 0.0)
		return COP_EINVAL;
	if (e->weight_most > 0.0 && most > e->weight_most * e->p * SLACK)
		return COP_EINVAL;
	if (e->has_model && (!is_share(e->model_logged) || e->model_champion < 0.0 || e->model_champion > SLACK ||
	                            e->model_challenger < 0.0 || e->model_challenger > SLACK))
		return COP_EINVAL;
	return COP_OK;
}

/* w_c, w_n and the model's part. */
typedef struct view {
	double c, n, l, q, models;
} view;

static void add_bounds(cop_promotion_test *promotion, const view *v, double most)
{
	const cop_promotion_test_settings *s = &promotion->settings;
	double c = fmin(v->c, s->clip), n = fmin(v->n, s->clip);
	double below = n * (1.0 - v->l) + c * v->l - 1.0, above = n * v->l + c * (1.0 - v->l) - 1.0;
	if (most > 0.0 && most <= s->difference_most) {
		cop_running_bound_add(&promotion->below[IPS], (v->n - v->c) * (1.0 - v->l), -most * SLACK);
		cop_running_bound_add(&promotion->above[IPS], (v->n - v->c) * v->l, -most * SLACK);
		double dr = v->models + (v->c - v->n) * (v->l - v->q);
		cop_running_bound_add(&promotion->below[DR], dr, -(most + 1.0) * SLACK);
		cop_running_bound_add(&promotion->above[DR], -dr, -(most + 1.0) * SLACK);
	} else {
		for (size_t i = 0; i < KINDS; i++) {
			cop_running_bound_add(&promotion->below[i], below, -1.0);
			cop_running_bound_add(&promotion->above[i], above, -1.0);
		}
	}
}

static double variance_of_mean(const cop_promotion_test *o)
{
	double mean = (cop_sum_value(&o->loss) + 0.5 * MEAN_PRIOR) / ((double)o->n + MEAN_PRIOR);
	return mean * (1.0 - mean);
}

/* What the challenger's policy may lose here if the champion's predictions are off by no more than is tolerated. */
static double worst_of(const cop_promotion_test *o, const cop_promotion_test_event *e)
{
	if (!e->has_difference)
		return 1.0;
	double tolerance = fmin(TOLERANCE * variance_of_mean(o), TOLERATED);
	double predicted = e->has_model ? e->model_challenger - e->model_champion : 1.0;
	return fmin(e->difference, predicted + 2.0 * tolerance * e->difference);
}

/* Only with what was known before this loss: bets that the champion's prediction is off by more than is tolerated. */
static void bet(cop_promotion_test *o, const cop_promotion_test_event *e)
{
	double n = (double)o->n + BIAS_PRIOR;
	double c = e->said_champion + cop_sum_value(&o->champion_gap) / n;
	double d = e->said_challenger + cop_sum_value(&o->challenger_gap) / n;
	double variance = variance_of_mean(o), tolerance = fmin(TOLERANCE * variance, TOLERATED);
	c = fmin(fmax(c, 0.0), 1.0);
	d = fmin(fmax(d, 0.0), 1.0);
	double b = d > c ? c + tolerance : c - tolerance;
	if (d > c ? d <= b : d >= b)
		return;
	double most = d > b ? LARGEST_LOSS / b : -LARGEST_LOSS / (1.0 - b); /* 0 < b < 1, as d is beyond it */
	for (size_t i = 0; i < BETS; i++) {
		double stake = boldness[i] * (d - b) / variance;
		cop_sum_add(&o->wealth[i], log1p((fabs(stake) < fabs(most) ? stake : most) * (e->loss - b)));
	}
}

/* Before the sums have seen the event. */
static void add_predictions(cop_promotion_test *o, const cop_promotion_test_event *e)
{
	double l = e->loss;
	bet(o, e);
	cop_sum_add(&o->champion_gap, l - e->said_champion);
	cop_sum_add(&o->challenger_gap, l - e->said_challenger);
	cop_sum_add(
	        &o->error, (e->said_champion - e->said_challenger) * (e->said_champion + e->said_challenger - 2.0 * l));
}

cop_err cop_promotion_test_add(cop_promotion_test *promotion, const cop_promotion_test_event *e)
{
	cop_err err = check_event(e);
	if (err != COP_OK)
		return err;
	double mean = promotion->n > 0 ? cop_sum_value(&promotion->loss) / (double)promotion->n : 0.5;
	const view v = { .c = e->champion / e->p,
		.n = e->challenger / e->p,
		.l = e->loss,
		.q = e->has_model ? e->model_logged : mean,
		.models = e->has_model ? e->model_champion - e->model_challenger : 0.0 };
	add_bounds(promotion, &v, e->weight_most);
	cop_sum_add(&promotion->worst, worst_of(promotion, e));
	if (e->has_said)
		add_predictions(promotion, e);
	cop_sum_add(&promotion->loss, v.l);
	cop_sum_add(&promotion->champion, v.c);
	cop_sum_add(&promotion->challenger, v.n);
	cop_sum_add(&promotion->champion_loss, v.c * v.l);
	cop_sum_add(&promotion->challenger_loss, v.n * v.l);
	cop_sum_add(&promotion->challenger_square, v.n * v.n);
	cop_sum_add(&promotion->difference[IPS], (v.c - v.n) * v.l);
	cop_sum_add(&promotion->difference[DR], v.models + (v.c - v.n) * (v.l - v.q));
	promotion->n++;
	promotion->models += e->has_model;
	promotion->clipped += fmax(v.c, v.n) > promotion->settings.clip;
	return COP_OK;
}

/* What the interval's lower end may miss, and what verdicts on predictions may. */
static double risk_of_low(const cop_promotion_test_settings *s)
{
	return (s->estimator == COP_PROMOTION_TEST_ERROR ? 1.0 - PREDICTED : 0.5) * s->risk * s->share;
}

static double stake_of(const cop_promotion_test_settings *s) { return s->stake > 0.0 ? s->stake : s->share; }

/* 1 / R. */
static double enough(const cop_promotion_test_settings *s) { return 1.0 / (PREDICTED * s->risk); }

static double wealth(const cop_promotion_test *o)
{
	double sum = 0.0;
	for (size_t i = 0; i < BETS; i++)
		sum += fmin(exp(cop_sum_value(&o->wealth[i])), COP_PROMOTION_TEST_WEALTH) / BETS;
	return sum;
}

double cop_promotion_test_winnings(const cop_promotion_test *promotion)
{
	const cop_promotion_test_settings *s = &promotion->settings;
	return fmin(s->carried + stake_of(s) * wealth(promotion), COP_PROMOTION_TEST_WEALTH);
}

bool cop_promotion_test_is_won(const cop_promotion_test *promotion)
{
	const cop_promotion_test_settings *s = &promotion->settings;
	return s->estimator == COP_PROMOTION_TEST_ERROR && wealth(promotion) >= enough(s) &&
	       cop_promotion_test_winnings(promotion) >= enough(s);
}

static cop_promotion_test_verdict judge_by_bounds(
        const cop_promotion_test *promotion, cop_promotion_test_estimator estimator)
{
	const cop_promotion_test_settings *s = &promotion->settings;
	if (cop_running_bound_exceeds(&promotion->below[estimator], s->margin, risk_of_low(s)))
		return COP_PROMOTION_TEST_BETTER;
	if (cop_running_bound_exceeds(&promotion->above[estimator], s->worse_margin, 0.5 * s->risk))
		return COP_PROMOTION_TEST_WORSE;
	return COP_PROMOTION_TEST_OPEN;
}

static bool is_safe(const cop_promotion_test *o)
{
	return cop_sum_value(&o->worst) < POLICY_SLACK * (double)o->n ||
	       cop_running_bound_exceeds(&o->below[DR], -POLICY_SLACK, risk_of_low(&o->settings));
}

static bool predicts_better(const cop_promotion_test *promotion)
{
	const cop_promotion_test_settings *s = &promotion->settings;
	if (cop_promotion_test_is_won(promotion))
		return true;
	return MIXABLE * cop_sum_value(&promotion->error) >= log(enough(s) / stake_of(s)) && is_safe(promotion);
}

/* What is known of policies comes first. */
static cop_promotion_test_verdict judge_by_error(const cop_promotion_test *promotion)
{
	cop_promotion_test_verdict policies = judge_by_bounds(promotion, COP_PROMOTION_TEST_DR);
	if (policies != COP_PROMOTION_TEST_OPEN)
		return policies;
	if (predicts_better(promotion))
		return COP_PROMOTION_TEST_BETTER;
	return MIXABLE * cop_sum_value(&promotion->error) <= log(promotion->settings.risk) ? COP_PROMOTION_TEST_WORSE
	                                                                                   : COP_PROMOTION_TEST_OPEN;
}

cop_promotion_test_verdict cop_promotion_test_judge(const cop_promotion_test *promotion)
{
	const cop_promotion_test_settings *s = &promotion->settings;
	if (promotion->n < s->least_events)
		return COP_PROMOTION_TEST_OPEN;
	return s->estimator == COP_PROMOTION_TEST_ERROR ? judge_by_error(promotion)
	                                                : judge_by_bounds(promotion, s->estimator);
}

static double ratio(double a, double b) { return b > 0.0 ? a / b : (double)NAN; }

void cop_promotion_test_summarise(const cop_promotion_test *promotion, cop_promotion_test_summary *out)
{
	const cop_promotion_test *o = promotion;
	double n = (double)o->n, c = cop_sum_value(&o->champion), w = cop_sum_value(&o->challenger);
	double square = cop_sum_value(&o->challenger_square);
	*out = (cop_promotion_test_summary){ .events = o->n, .models = o->models, .clipped = o->clipped };
	for (size_t i = 0; i < KINDS; i++) {
		out->value[i] = o->n > 0 ? cop_sum_value(&o->difference[i]) / n : 0.0;
		out->low[i] = cop_running_bound_low(&o->below[i], risk_of_low(&o->settings));
		out->high[i] = -cop_running_bound_low(&o->above[i], 0.5 * o->settings.risk);
	}
	out->champion_snips = ratio(cop_sum_value(&o->champion_loss), c);
	out->challenger_snips = ratio(cop_sum_value(&o->challenger_loss), w);
	out->error = cop_sum_value(&o->error);
	out->mean_loss = ratio(cop_sum_value(&o->loss), n);
	out->effective_sample_size = square > 0.0 ? w * w / square : 0.0;
	out->champion_weight = o->n > 0 ? c / n : 0.0;
	out->challenger_weight = o->n > 0 ? w / n : 0.0;
	out->verdict = cop_promotion_test_judge(promotion);
}

/* The sums in the order of the file. */
#define SUMS (10 + KINDS + BETS)

static void sums_of(cop_promotion_test *promotion, cop_sum *sums[SUMS])
{
	cop_sum *all[SUMS] = { &promotion->loss, &promotion->champion, &promotion->challenger,
		&promotion->champion_loss, &promotion->challenger_loss, &promotion->challenger_square,
		&promotion->difference[IPS], &promotion->difference[DR], &promotion->error, &promotion->champion_gap,
		&promotion->challenger_gap, &promotion->wealth[0], &promotion->wealth[1], &promotion->wealth[2],
		&promotion->worst };
	for (size_t i = 0; i < SUMS; i++)
		sums[i] = all[i];
}

void cop_promotion_test_save(const cop_promotion_test *promotion, cop_bytes *out)
{
	const cop_promotion_test_settings *s = &promotion->settings;
	const double settings[] = { s->margin, s->worse_margin, s->risk, s->difference_most, s->clip, s->share,
		s->stake, s->carried };
	cop_promotion_test copy = *promotion;
	cop_sum *sums[SUMS];
	sums_of(&copy, sums);
	cop_bytes_put_u32(out, SAVED_VERSION);
	cop_bytes_put_u8(out, (uint8_t)s->estimator);
	cop_bytes_put_f64s(out, settings, sizeof settings / sizeof *settings);
	cop_bytes_put_u64(out, s->least_events);
	cop_bytes_put_u64(out, promotion->n);
	cop_bytes_put_u64(out, promotion->models);
	cop_bytes_put_u64(out, promotion->clipped);
	for (size_t i = 0; i < SUMS; i++) {
		cop_bytes_put_f64(out, sums[i]->total);
		cop_bytes_put_f64(out, sums[i]->rest);
	}
	for (size_t i = 0; i < KINDS; i++) {
		cop_running_bound_save(&promotion->below[i], out);
		cop_running_bound_save(&promotion->above[i], out);
	}
}

static cop_err load_settings(cop_promotion_test_settings *s, cop_cursor *in)
{
	double v[8];
	if (cop_cursor_u32(in) > SAVED_VERSION && in->err == COP_OK)
		return COP_EVERSION;
	uint8_t estimator = cop_cursor_u8(in);
	if (in->err != COP_OK)
		return in->err;
	cop_cursor_f64s(in, v, 8);
	*s = (cop_promotion_test_settings){ (cop_promotion_test_estimator)estimator, v[0], v[1], v[2], v[3], v[4],
		cop_cursor_u64(in), v[5], v[6], v[7] };
	if (in->err != COP_OK)
		return in->err;
	return estimator <= ERROR && check_settings(s) == COP_OK ? COP_OK : COP_EFORMAT;
}

static bool is_consistent(const cop_promotion_test *o)
{
	double n = (double)o->n, least = -1e-6 * n;
	for (size_t i = 0; i < BETS; i++)
		if (fabs(cop_sum_value(&o->wealth[i])) > MOST_WON * n)
			return false;
	if (fabs(cop_sum_value(&o->error)) > n * SLACK || fabs(cop_sum_value(&o->champion_gap)) > n * SLACK ||
	        fabs(cop_sum_value(&o->challenger_gap)) > n * SLACK || fabs(cop_sum_value(&o->worst)) > n * SLACK)
		return false;
	for (size_t i = 0; i < KINDS; i++)
		if (o->below[i].n != o->n || o->above[i].n != o->n)
			return false;
	return o->models <= o->n && o->clipped <= o->n && cop_sum_value(&o->loss) >= least &&
	       cop_sum_value(&o->loss) <= n * SLACK && cop_sum_value(&o->champion) >= least &&
	       cop_sum_value(&o->challenger) >= least && cop_sum_value(&o->champion_loss) >= least &&
	       cop_sum_value(&o->challenger_loss) >= least && cop_sum_value(&o->challenger_square) >= least;
}

cop_err cop_promotion_test_load(cop_promotion_test *promotion, cop_cursor *in)
{
	cop_promotion_test_settings settings;
	cop_promotion_test new;
	cop_sum *sums[SUMS];
	cop_err err = load_settings(&settings, in);
	if (err != COP_OK)
		return err;
	begin(&new, &settings);
	sums_of(&new, sums);
	new.n = cop_cursor_u64(in);
	new.models = cop_cursor_u64(in);
	new.clipped = cop_cursor_u64(in);
	for (size_t i = 0; i < SUMS; i++) {
		double v[2];
		cop_cursor_f64s(in, v, 2);
		*sums[i] = (cop_sum){ v[0], v[1] };
	}
	for (size_t i = 0; i < KINDS; i++) {
		cop_running_bound_load(&new.below[i], in);
		cop_running_bound_load(&new.above[i], in);
	}
	if (in->err != COP_OK)
		return in->err;
	if (!is_consistent(&new))
		return COP_EFORMAT;
	*promotion = new;
	return COP_OK;
}
