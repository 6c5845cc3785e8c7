/* State is n, mean, v and its events; centre, pull and every average follow from them after each loss, in O(K), so
 * that a prediction is a copy. v moves by the error of the average as it was before the loss. The mean of all losses
 * enters the spread only; the centre weighs arms, not losses, so that an arm played often does not pull the others to
 * itself. */
#include "learn/averages.h"

#include <math.h>
#include <string.h>
#include <stdbool.h>

#include "base/mem.h"

#define PRIOR    0.5  /* c before the first loss */
#define SPREAD   0.1  /* t then */
#define FIRST    0.25 /* v then */
#define LEAST    1e-4 /* v at least */
#define HORIZON  5000.0
#define MOST     1e5
#define OF_PRIOR 0.01 /* weight of PRIOR in c */

struct cop_averages {
	size_t arms;
	double *n, *mean;        /* of each arm */
	double variance, events; /* v, and losses behind it, at most HORIZON */
	double centre, pull;     /* c and 1 / t */
	double *average;         /* of each arm, by all that */
};

double cop_averages_footprint(size_t arms) { return 3.0 * sizeof(double) * (double)arms; }

cop_err cop_averages_new(size_t arms, cop_averages **out)
{
	*out = NULL;
	cop_averages *a = cop_mem_alloc(1, sizeof *a);
	if (a == NULL)
		return COP_ENOMEM;
	*a = (cop_averages){ .arms = arms, .variance = FIRST, .centre = PRIOR, .pull = 1.0 / SPREAD };
	a->n = cop_mem_alloc(arms, sizeof *a->n);
	a->mean = cop_mem_alloc(arms, sizeof *a->mean);
	a->average = cop_mem_alloc(arms, sizeof *a->average);
	if (a->n == NULL || a->mean == NULL || a->average == NULL) {
		cop_averages_free(a);
		return COP_ENOMEM;
	}
	for (size_t k = 0; k < arms; k++)
		a->average[k] = PRIOR;
	*out = a;
	return COP_OK;
}

void cop_averages_free(cop_averages *a)
{
	if (a == NULL)
		return;
	cop_mem_free(a->n);
	cop_mem_free(a->mean);
	cop_mem_free(a->average);
	cop_mem_free(a);
}

/* t. */
static double spread(const cop_averages *a)
{
	double all = 0.0, squares = 0.0, losses = 0.0, played = 0.0, q = 0.0;
	for (size_t k = 0; k < a->arms; k++) {
		all += a->n[k];
		squares += a->n[k] * a->n[k];
		losses += a->n[k] * a->mean[k];
		played += a->n[k] > 0.0 ? 1.0 : 0.0;
	}
	if (all == 0.0)
		return SPREAD;
	for (size_t k = 0; k < a->arms; k++)
		q += a->n[k] * (a->mean[k] - losses / all) * (a->mean[k] - losses / all);
	double beyond = fmax(q / fmax(a->variance, LEAST) - (played - 1.0), 0.0);
	return (beyond + 1.0) / (all - squares / all + 1.0 / SPREAD);
}

/* c and t of what was learned so far. */
static void centre(cop_averages *a)
{
	const double t = spread(a);
	double weights = OF_PRIOR, sum = OF_PRIOR * PRIOR;
	for (size_t k = 0; k < a->arms; k++) {
		double weight = a->n[k] / (t * a->n[k] + 1.0);
		weights += weight;
		sum += weight * a->mean[k];
	}
	a->pull = 1.0 / t;
	a->centre = sum / weights;
}

static void draw_together(cop_averages *a)
{
	for (size_t k = 0; k < a->arms; k++)
		a->average[k] = (a->n[k] * a->mean[k] + a->pull * a->centre) / (a->n[k] + a->pull);
}

void cop_averages_predict(const cop_averages *a, float *loss)
{
	for (size_t k = 0; k < a->arms; k++)
		loss[k] = (float)a->average[k];
}

void cop_averages_deviations(const cop_averages *a, float *out)
{
	for (size_t k = 0; k < a->arms; k++)
		out[k] = (float)(1.0 / sqrt(a->n[k] + a->pull));
}

double cop_averages_plays(const cop_averages *a, size_t arm) { return a->n[arm]; }

void cop_averages_learn(cop_averages *a, size_t arm, double loss)
{
	double error = loss - a->average[arm];
	a->events = fmin(a->events + 1.0, HORIZON);
	a->variance += (error * error - a->variance) / (a->events + 1.0);
	a->n[arm] = fmin(a->n[arm] + 1.0, MOST);
	a->mean[arm] += (loss - a->mean[arm]) / a->n[arm];
	centre(a);
	draw_together(a);
}

void cop_averages_save(const cop_averages *a, cop_bytes *bytes)
{
	cop_bytes_put_u64(bytes, a->arms);
	cop_bytes_put_f64s(bytes, a->n, a->arms);
	cop_bytes_put_f64s(bytes, a->mean, a->arms);
	cop_bytes_put_f64(bytes, a->variance);
	cop_bytes_put_f64(bytes, a->events);
	cop_bytes_put_f64(bytes, a->centre);
	cop_bytes_put_f64(bytes, a->pull);
}

static bool within(double value, double least, double most) { return value >= least && value <= most; }

cop_err cop_averages_load(cop_averages *a, cop_cursor *cursor)
{
	uint64_t arms = cop_cursor_u64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (arms > a->arms)
		return COP_ESHAPE;
	memset(a->n, 0, a->arms * sizeof *a->n);
	memset(a->mean, 0, a->arms * sizeof *a->mean);
	cop_cursor_f64s(cursor, a->n, (size_t)arms);
	cop_cursor_f64s(cursor, a->mean, (size_t)arms);
	a->variance = cop_cursor_f64(cursor);
	a->events = cop_cursor_f64(cursor);
	a->centre = cop_cursor_f64(cursor);
	a->pull = cop_cursor_f64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	bool sound = within(a->variance, 0.0, 1.0) && within(a->events, 0.0, HORIZON) && within(a->centre, 0.0, 1.0) &&
	             a->pull > 0.0;
	for (size_t k = 0; k < a->arms; k++)
		sound = sound && within(a->n[k], 0.0, MOST) && within(a->mean[k], 0.0, 1.0);
	if (!sound)
		return COP_EFORMAT;
	draw_together(a);
	return COP_OK;
}

void cop_averages_inherit(cop_averages *a, const cop_averages *from)
{
	memset(a->n, 0, a->arms * sizeof *a->n);
	memset(a->mean, 0, a->arms * sizeof *a->mean);
	memcpy(a->n, from->n, from->arms * sizeof *a->n);
	memcpy(a->mean, from->mean, from->arms * sizeof *a->mean);
	a->variance = from->variance;
	a->events = from->events;
	a->centre = from->centre;
	a->pull = from->pull;
	draw_together(a);
}
