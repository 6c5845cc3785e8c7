#include "online/worth.h"

#include <math.h>
#include <stdbool.h>

#include "base/mem.h"

#define SAID     1000.0 /* events of an arm that d remembers */
#define HORIZON  2000.0 /* events that E and F remember */
#define SCALE    10.0
#define BEFORE   50.0 /* events at the beginning, */
#define BELIEF   1.5  /* each of this worth */
#define FARTHEST 1e3  /* a predictor that has run away says no more */
#define LEAST    1e-9

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

double cop_worth_of_context(const cop_worth *worth)
{
	double simple = fmin(worth->plain, worth->linear);
	double shown = SCALE * (simple - worth->other) / fmax(worth->plain, LEAST);
	double sum = shown * worth->events + BELIEF * BEFORE;
	return fmin(fmax(sum / (worth->events + BEFORE), 0.0), 1.0);
}

void cop_worth_learn(cop_worth *worth, size_t arm, double predicted, double linear, double loss)
{
	const double said = fmin(fmax(predicted, -FARTHEST), FARTHEST);
	const double without = loss - (worth->n[arm] > 0.0 ? worth->said[arm] : said);
	const double with = loss - said;
	const double line = isfinite(linear) ? loss - fmin(fmax(linear, -FARTHEST), FARTHEST) : without;
	worth->n[arm] = fmin(worth->n[arm] + 1.0, SAID);
	worth->said[arm] += (said - worth->said[arm]) / worth->n[arm];
	worth->events = fmin(worth->events + 1.0, HORIZON);
	worth->plain += (without * without - worth->plain) / worth->events;
	worth->linear += (line * line - worth->linear) / worth->events;
	worth->other += (with * with - worth->other) / worth->events;
}

void cop_worth_save(const cop_worth *worth, cop_bytes *bytes)
{
	cop_bytes_put_f64s(bytes, worth->n, worth->arms);
	cop_bytes_put_f64s(bytes, worth->said, worth->arms);
	cop_bytes_put_f64(bytes, worth->events);
	cop_bytes_put_f64(bytes, worth->plain);
	cop_bytes_put_f64(bytes, worth->linear);
	cop_bytes_put_f64(bytes, worth->other);
}

cop_err cop_worth_load(cop_worth *worth, cop_cursor *cursor)
{
	cop_cursor_f64s(cursor, worth->n, worth->arms);
	cop_cursor_f64s(cursor, worth->said, worth->arms);
	worth->events = cop_cursor_f64(cursor);
	worth->plain = cop_cursor_f64(cursor);
	worth->linear = cop_cursor_f64(cursor);
	worth->other = cop_cursor_f64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	const double most = 4.0 * FARTHEST * FARTHEST;
	bool sound = worth->events >= 0.0 && worth->events <= HORIZON && worth->plain >= 0.0 && worth->plain <= most &&
	             worth->linear >= 0.0 && worth->linear <= most && worth->other >= 0.0 && worth->other <= most;
	for (size_t k = 0; k < worth->arms; k++)
		sound = sound && worth->n[k] >= 0.0 && worth->n[k] <= SAID && fabs(worth->said[k]) <= FARTHEST;
	return sound ? COP_OK : COP_EFORMAT;
}
