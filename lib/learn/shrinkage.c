#include "learn/shrinkage.h"

#include <math.h>
#include <stdbool.h>

#define FIRST    0.25 /* v before the first event */
#define LEAST    1e-4 /* v at least */
#define HORIZON  2000.0
#define FARTHEST 4.0  /* squared error that counts */
#define LARGE    0.25 /* r of an effect that matters */
#define DEPTH    8.0  /* below the greatest log likelihood, at most */

/* r. Of the first all is believed. */
static const double sizes[COP_SHRINKAGE_SIZES] = { 1e6, 1.0, 0.25, 1.0 / 16, 1.0 / 64, 1.0 / 256, 1.0 / 1024,
	1.0 / 4096, 0.0 };

static double believed(size_t i, double square) { return sizes[i] == 0.0 ? 0.0 : sizes[i] / (sizes[i] + square); }

static void share(cop_shrinkage *s)
{
	double sum = 0.0;
	for (size_t i = 0; i < COP_SHRINKAGE_SIZES; i++)
		sum += s->share[i] = exp(s->evidence[i]);
	for (size_t i = 0; i < COP_SHRINKAGE_SIZES; i++)
		s->share[i] /= sum;
}

void cop_shrinkage_begin(cop_shrinkage *s)
{
	*s = (cop_shrinkage){ .variance = FIRST };
	share(s);
}

double cop_shrinkage_factor(const cop_shrinkage *s, double square)
{
	double factor = 0.0;
	for (size_t i = 0; i < COP_SHRINKAGE_SIZES; i++)
		factor += s->share[i] * believed(i, square);
	return factor;
}

double cop_shrinkage_reach(const cop_shrinkage *s, double square)
{
	double sum = 0.0;
	for (size_t i = 0; i < COP_SHRINKAGE_SIZES; i++)
		sum += s->share[i] * believed(i, square) * sizes[i] / (sizes[i] + LARGE);
	return sqrt(square * sum);
}

static double squared_error(double y, double guess) { return fmin((y - guess) * (y - guess), FARTHEST); }

void cop_shrinkage_learn(cop_shrinkage *s, double z, double square, double y)
{
	const double v = fmax(s->variance, LEAST);
	if (!isfinite(z) || !isfinite(square) || !isfinite(y))
		return;
	const double error = squared_error(y, z * cop_shrinkage_factor(s, square));
	double greatest = -(double)INFINITY;
	for (size_t i = 0; i < COP_SHRINKAGE_SIZES; i++) {
		s->evidence[i] -= squared_error(y, z * believed(i, square)) / (2.0 * v);
		greatest = fmax(greatest, s->evidence[i]);
	}
	for (size_t i = 0; i < COP_SHRINKAGE_SIZES; i++)
		s->evidence[i] = fmax(s->evidence[i] - greatest, -DEPTH);
	share(s);
	s->events = fmin(s->events + 1.0, HORIZON);
	s->variance += (error - s->variance) / (s->events + 1.0);
}

void cop_shrinkage_save(const cop_shrinkage *s, cop_bytes *bytes)
{
	cop_bytes_put_f64s(bytes, s->evidence, COP_SHRINKAGE_SIZES);
	cop_bytes_put_f64(bytes, s->variance);
	cop_bytes_put_f64(bytes, s->events);
}

cop_err cop_shrinkage_load(cop_shrinkage *s, cop_cursor *cursor)
{
	cop_cursor_f64s(cursor, s->evidence, COP_SHRINKAGE_SIZES);
	s->variance = cop_cursor_f64(cursor);
	s->events = cop_cursor_f64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	double greatest = -DEPTH;
	bool sound = s->variance >= 0.0 && s->variance <= FARTHEST && s->events >= 0.0 && s->events <= HORIZON;
	for (size_t i = 0; i < COP_SHRINKAGE_SIZES; i++) {
		sound = sound && s->evidence[i] >= -DEPTH && s->evidence[i] <= 0.0;
		greatest = fmax(greatest, s->evidence[i]);
	}
	if (!sound || greatest != 0.0)
		return COP_EFORMAT;
	share(s);
	return COP_OK;
}
