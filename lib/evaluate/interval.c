/* A sequence's bet l may depend on the past alone; the event's own weight counts as past, its X does not. */
#include "evaluate/interval.h"

#include <math.h>

#include "evaluate/special.h"

#define SPARED      1.5   /* standard errors: fewer are taken for chance */
#define CAUTION     100.0 /* added to the scale at first, as little is known of it then */
#define LARGEST_BET 0.75
#define RENEWED     64 /* a bet holds for so many events, once there are as many */

void cop_interval_clopper_pearson(double hits, double trials, double risk, double *low, double *high)
{
	*low = 0.0;
	*high = 1.0;
	if (!(trials > 0.0))
		return;
	if (hits > 0.0)
		*low = cop_special_beta_quantile(hits, trials - hits + 1.0, 0.5 * risk);
	if (hits < trials)
		*high = cop_special_beta_quantile(hits + 1.0, trials - hits, 1.0 - 0.5 * risk);
}

double cop_interval_bernstein(double n, double variance, double range, double risk)
{
	if (!(n >= 2.0))
		return (double)INFINITY;
	double log_term = log(4.0 / risk); /* the theorem is for one side and risk / 2: log(2 / (risk / 2)) */
	return sqrt(2.0 * variance * log_term / n) + 7.0 * range * log_term / (3.0 * (n - 1.0));
}

double cop_interval_asymptotic_sequence(double n, double variance, double tuned, double risk)
{
	double log_term = -2.0 * log(risk);
	double rho2 = (log_term + log(log_term + 1.0)) / tuned;
	double grown = n * rho2 + 1.0;
	return sqrt(variance * 2.0 * grown / (n * n * rho2) * log(sqrt(grown) / risk));
}

double cop_interval_unseen_weight(const cop_moments *seen, double expected, double common, double bound, double t)
{
	double sum = cop_sum_value(&seen->a), a = seen->a2 / sum; /* size-biased mean of the event weights */
	double mean = cop_moments_mean_w(seen), off = mean - seen->mean_w;
	double error = sqrt(seen->ww + seen->a2 * off * off) / sum;
	double apparent = (expected - mean - SPARED * error) * sum / a;
	double most = isinf(t) ? expected : fmin(expected, expected - mean + t * error);
	double unseen = fmax(apparent, fmin(common, most * sum / a));
	return fmin(bound, fmax(unseen, cop_moments_typical_weight(seen)));
}

static void renew_bet(cop_interval_sequence *s, double weight, double scale, double risk)
{
	double t = (double)s->n + 1.0;
	double variance = (0.25 + s->square) / t;
	double l = sqrt(-2.0 * log(risk) / (variance * t * log1p(t)));
	l = fmin(l, 1.0 / (scale + CAUTION / t));
	if (s->n > 0)
		l *= weight * (double)s->n / cop_sum_value(&s->weight);
	s->l = fmin(l, LARGEST_BET);
	s->psi = -log1p(-s->l) - s->l;
	s->for_weight = weight;
}

void cop_interval_sequence_add(cop_interval_sequence *s, double weight, double x, double scale, double risk)
{
	double prediction = fmin((0.5 + cop_sum_value(&s->x)) / ((double)s->n + 1.0), 1.0);
	double gap = x - prediction;
	if (s->n < RENEWED || s->n % RENEWED == 0 || weight != s->for_weight)
		renew_bet(s, weight, scale, risk);
	cop_sum_add(&s->bet, s->l);
	cop_sum_add(&s->bet_x, s->l * x);
	cop_sum_add(&s->price, s->psi * gap * gap);
	cop_sum_add(&s->x, x);
	cop_sum_add(&s->weight, weight);
	s->square += gap * gap;
	s->n++;
}

double cop_interval_sequence_low(const cop_interval_sequence *s, double risk)
{
	if (s->n == 0)
		return 0.0;
	double low = (cop_sum_value(&s->bet_x) + log(risk) - cop_sum_value(&s->price)) / cop_sum_value(&s->bet);
	return fmax(low, 0.0);
}

void cop_interval_sequence_save(const cop_interval_sequence *s, cop_bytes *out)
{
	const cop_sum *sums[] = { &s->weight, &s->bet, &s->bet_x, &s->price, &s->x };
	cop_bytes_put_u64(out, s->n);
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
		cop_bytes_put_f64(out, sums[i]->total);
		cop_bytes_put_f64(out, sums[i]->rest);
	}
	const double rest[] = { s->square, s->l, s->psi, s->for_weight };
	cop_bytes_put_f64s(out, rest, 4);
}

void cop_interval_sequence_load(cop_interval_sequence *s, cop_cursor *in)
{
	cop_sum *sums[] = { &s->weight, &s->bet, &s->bet_x, &s->price, &s->x };
	double v[14];
	s->n = cop_cursor_u64(in);
	cop_cursor_f64s(in, v, 14);
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
		*sums[i] = (cop_sum){ v[2 * i], v[2 * i + 1] };
	s->square = v[10];
	s->l = v[11];
	s->psi = v[12];
	s->for_weight = v[13];
	if (in->err == COP_OK &&
	        ((s->n > 0) != (cop_sum_value(&s->bet) > 0.0) || (s->n > 0) != (cop_sum_value(&s->weight) > 0.0)))
		in->err = COP_EFORMAT;
}
