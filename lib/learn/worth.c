#include "learn/worth.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define SAID        1000.0 /* events of an arm that d remembers */
#define HORIZON     2000.0 /* events that E and F remember */
#define SCALE       10.0
#define BEFORE      50.0  /* events at the beginning, */
#define BELIEF      1.5   /* each of this worth, */
#define BEFORE_GAIN 200.0 /* and of a gain */
#define LEAST_GAIN  1e-12
#define FARTHEST    1e3 /* a predictor that has run away says no more */
#define LEAST       1e-9

cop_err cop_worth_init(cop_worth *worth, size_t arms)
{
	*worth = (cop_worth){ .arms = arms };
	worth->n = cop_mem_alloc(arms, sizeof *worth->n);
	worth->said = cop_mem_alloc(arms, sizeof *worth->said);
	return worth->n == NULL || worth->said == NULL ? COP_ENOMEM : COP_OK;
}

void cop_worth_fini(cop_worth *worth)
{
	cop_mem_free(worth->n);
	cop_mem_free(worth->said);
}

/* The mean of so many events that showed this much each and of the first, which are only believed. */
static double with_belief(const cop_worth *worth, double shown, double before)
{
	const double sum = shown * worth->events + BELIEF * before;
	return fmin(fmax(sum / (worth->events + before), 0.0), 1.0);
}

double cop_worth_of_context(const cop_worth *worth)
{
	const double simple = fmin(worth->plain, worth->linear);
	return with_belief(worth, SCALE * (simple - worth->other) / fmax(worth->plain, LEAST), BEFORE);
}

double cop_worth_beyond_line(const cop_worth *worth)
{
	const double variance = fmax(worth->gain_square - worth->gain * worth->gain, LEAST_GAIN);
	const double z = worth->gain * sqrt(worth->events / variance);
	return with_belief(worth, z, BEFORE_GAIN);
}

static double bounded(double predicted) { return fmin(fmax(predicted, -FARTHEST), FARTHEST); }

static void average(double *mean, double value, double events) { *mean += (value - *mean) / events; }

void cop_worth_learn(cop_worth *worth, size_t arm, const cop_worth_said *said, double loss)
{
	const double predicted = bounded(said->predicted);
	const double without = loss - (worth->n[arm] > 0.0 ? worth->said[arm] : predicted);
	worth->n[arm] = fmin(worth->n[arm] + 1.0, SAID);
	worth->said[arm] += (predicted - worth->said[arm]) / worth->n[arm];
	worth->events = fmin(worth->events + 1.0, HORIZON);
	const double line = isfinite(said->linear) ? loss - bounded(said->linear) : without;
	const double with = loss - predicted, mixed = loss - bounded(said->mixed);
	const double gain = line * line - mixed * mixed;
	average(&worth->plain, without * without, worth->events);
	average(&worth->linear, line * line, worth->events);
	average(&worth->other, with * with, worth->events);
	average(&worth->gain, gain, worth->events);
	average(&worth->gain_square, gain * gain, worth->events);
}

void cop_worth_save(const cop_worth *worth, cop_bytes *bytes)
{
	cop_bytes_put_f64s(bytes, worth->n, worth->arms);
	cop_bytes_put_f64s(bytes, worth->said, worth->arms);
	cop_bytes_put_f64(bytes, worth->events);
	cop_bytes_put_f64(bytes, worth->plain);
	cop_bytes_put_f64(bytes, worth->linear);
	cop_bytes_put_f64(bytes, worth->other);
	cop_bytes_put_f64(bytes, worth->gain);
	cop_bytes_put_f64(bytes, worth->gain_square);
}

cop_err cop_worth_load(cop_worth *worth, size_t arms, cop_cursor *cursor)
{
	for (size_t k = arms; k < worth->arms; k++)
		worth->n[k] = worth->said[k] = 0.0;
	cop_cursor_f64s(cursor, worth->n, arms);
	cop_cursor_f64s(cursor, worth->said, arms);
	worth->events = cop_cursor_f64(cursor);
	worth->plain = cop_cursor_f64(cursor);
	worth->linear = cop_cursor_f64(cursor);
	worth->other = cop_cursor_f64(cursor);
	worth->gain = cop_cursor_f64(cursor);
	worth->gain_square = cop_cursor_f64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	const double most = 4.0 * FARTHEST * FARTHEST;
	bool sound = worth->events >= 0.0 && worth->events <= HORIZON && worth->plain >= 0.0 && worth->plain <= most &&
	             worth->linear >= 0.0 && worth->linear <= most && worth->other >= 0.0 && worth->other <= most &&
	             fabs(worth->gain) <= most && worth->gain_square >= 0.0 && worth->gain_square <= most * most;
	for (size_t k = 0; k < worth->arms; k++)
		sound = sound && worth->n[k] >= 0.0 && worth->n[k] <= SAID && fabs(worth->said[k]) <= FARTHEST;
	return sound ? COP_OK : COP_EFORMAT;
}

void cop_worth_inherit(cop_worth *worth, const cop_worth *from)
{
	const cop_worth own = *worth;
	*worth = *from;
	worth->arms = own.arms;
	worth->n = own.n;
	worth->said = own.said;
	memcpy(worth->n, from->n, from->arms * sizeof *worth->n);
	memcpy(worth->said, from->said, from->arms * sizeof *worth->said);
}
