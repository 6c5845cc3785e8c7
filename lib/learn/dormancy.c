/* At most one trial runs: `tried` is its member, or COP_STACKING_MOST. `without` is a copy of the stack from which
 * that member left when the trial began, and both settle every loss. A loss is settled in this order: the stacks, the
 * detector of change, the trial, wakes, and only then the next trial begins. A member's `due` means two things:
 * awake, the losses at which it may be tried; asleep, those at which it wakes. */
#include "learn/dormancy.h"

#include <math.h>

#define MARGIN  0.01 /* of the spread: less leaves most trials open */
#define ERRORS  2.0  /* standard errors */
#define START   2000
#define FIRST   1000 /* look of a trial */
#define LAST    8000
#define WAIT    5000
#define NAP     10000
#define LONGEST (UINT64_C(1) << 40) /* wait or nap */
#define WARM    1000                /* from waking to trial */
#define CALM    5000                /* after a rise */
#define MARK    0x52455354u         /* before a stack that is saved with who rests */

static const cop_dormancy_member anew = { .due = START, .wait = WAIT, .nap = NAP };

static void begin(cop_dormancy *rest)
{
	rest->losses = 0;
	for (size_t i = 0; i < COP_STACKING_MOST; i++) {
		double cost = rest->member[i].cost;
		rest->member[i] = anew;
		rest->member[i].cost = cost;
	}
	cop_dormancy_give_up(rest);
}

static cop_err new_change(cop_change **out)
{
	cop_change_settings settings;
	cop_change_defaults(&settings);
	return cop_change_new(&settings, out);
}

cop_err cop_dormancy_init(cop_dormancy *rest)
{
	*rest = (cop_dormancy){ .losses = 0 };
	begin(rest);
	return new_change(&rest->change);
}

void cop_dormancy_fini(cop_dormancy *rest) { cop_change_free(rest->change); }

void cop_dormancy_give_up(cop_dormancy *rest)
{
	rest->tried = COP_STACKING_MOST;
	rest->n = 0;
	rest->sum = rest->square = rest->regret = 0.0;
}

static void lengthen(uint64_t *wait) { *wait = *wait < LONGEST / 2 ? 2 * *wait : LONGEST; }

/* Of members that are due the one that costs most; COP_STACKING_MOST: none is, or only one is awake. */
static size_t next(const cop_dormancy *rest, const cop_stacking *stack)
{
	size_t best = COP_STACKING_MOST, awake = 0;
	for (size_t i = 0; i < stack->count; i++) {
		const cop_dormancy_member *m = &rest->member[i];
		if (stack->away[i])
			continue;
		awake++;
		if (rest->losses >= m->due && m->cost > (best < COP_STACKING_MOST ? rest->member[best].cost : 0.0))
			best = i;
	}
	return awake > 1 ? best : COP_STACKING_MOST;
}

static void begin_trial(cop_dormancy *rest, const cop_stacking *stack)
{
	rest->tried = next(rest, stack);
	if (rest->tried == COP_STACKING_MOST)
		return;
	rest->without = *stack;
	cop_stacking_leave(&rest->without, rest->tried);
}

static void stay(cop_dormancy *rest)
{
	cop_dormancy_member *m = &rest->member[rest->tried];
	m->due = rest->losses + m->wait;
	m->nap = NAP;
	lengthen(&m->wait);
	cop_dormancy_give_up(rest);
}

static void fall_asleep(cop_dormancy *rest, cop_stacking *stack)
{
	cop_dormancy_member *m = &rest->member[rest->tried];
	m->due = rest->losses + m->nap;
	lengthen(&m->nap);
	*stack = rest->without;
	cop_dormancy_give_up(rest);
}

static bool is_look(uint64_t n)
{
	uint64_t times = n / FIRST;
	return n % FIRST == 0 && times > 0 && (times & (times - 1)) == 0;
}

/* One event of the trial; errors of the stack and of that without the tried one. */
static void weigh(cop_dormancy *rest, cop_stacking *stack, const cop_dormancy_event *event, double with, double without)
{
	double v = without * without - with * with - MARGIN * event->choice.spread;
	rest->n++;
	rest->sum += v;
	rest->square += v * v;
	rest->regret += event->choice.regret;
	if (!is_look(rest->n))
		return;
	double n = (double)rest->n;
	double mean = rest->sum / n;
	double error = sqrt(fmax(rest->square / n - mean * mean, 0.0) / n);
	if (mean + ERRORS * error < 0.0 && rest->regret <= 0.0)
		fall_asleep(rest, stack);
	else if (mean - ERRORS * error > 0.0 || rest->n >= LAST)
		stay(rest);
}

static void wake(cop_dormancy *rest, cop_stacking *stack, bool risen, uint64_t since)
{
	for (size_t i = 0; i < stack->count; i++) {
		cop_dormancy_member *m = &rest->member[i];
		if (stack->away[i] && (risen || rest->losses >= m->due)) {
			cop_stacking_return(stack, i);
			cop_dormancy_give_up(rest);
			m->woke = since;
			m->due = rest->losses + WARM;
		}
		if (risen && m->due < rest->losses + CALM)
			m->due = rest->losses + CALM;
	}
	if (risen)
		cop_dormancy_give_up(rest);
}

void cop_dormancy_settle(cop_dormancy *rest, cop_stacking *stack, const cop_dormancy_event *event)
{
	double with = cop_stacking_settle(stack, event->z, event->y);
	bool risen = false;
	rest->losses++;
	if (isfinite(with)) {
		risen = cop_change_add(rest->change, with * with) == COP_CHANGE_RISE;
		if (rest->tried < COP_STACKING_MOST)
			weigh(rest, stack, event, with, cop_stacking_settle(&rest->without, event->z, event->y));
	}
	wake(rest, stack, risen, event->since);
	if (rest->tried == COP_STACKING_MOST)
		begin_trial(rest, stack);
}

void cop_dormancy_save(const cop_dormancy *rest, const cop_stacking *stack, cop_bytes *bytes)
{
	cop_bytes_put_u32(bytes, MARK);
	cop_stacking_save(stack, bytes);
	cop_bytes_put_u64(bytes, rest->losses);
	for (size_t i = 0; i < stack->count; i++) {
		const cop_dormancy_member *m = &rest->member[i];
		cop_bytes_put_u8(bytes, stack->away[i]);
		cop_bytes_put_u64(bytes, m->due);
		cop_bytes_put_u64(bytes, m->wait);
		cop_bytes_put_u64(bytes, m->nap);
		cop_bytes_put_u64(bytes, m->woke);
	}
	cop_change_save(rest->change, bytes);
	cop_bytes_put_u8(bytes, (uint8_t)rest->tried);
	if (rest->tried == COP_STACKING_MOST)
		return;
	cop_bytes_put_u64(bytes, rest->n);
	cop_bytes_put_f64(bytes, rest->sum);
	cop_bytes_put_f64(bytes, rest->square);
	cop_bytes_put_f64(bytes, rest->regret);
	cop_stacking_save(&rest->without, bytes);
}

/* Whether the cursor stood at the mark; then it is behind it. */
static bool is_marked(cop_cursor *cursor)
{
	cop_cursor ahead = *cursor;
	bool marked = cop_cursor_u32(&ahead) == MARK && ahead.err == COP_OK;
	if (marked)
		*cursor = ahead;
	return marked;
}

size_t cop_dormancy_saved(const cop_cursor *cursor)
{
	cop_cursor ahead = *cursor;
	(void)is_marked(&ahead);
	return cop_stacking_saved(&ahead);
}

static cop_err load_member(cop_dormancy *rest, cop_stacking *stack, size_t i, cop_cursor *cursor)
{
	cop_dormancy_member *m = &rest->member[i];
	uint8_t away = cop_cursor_u8(cursor);
	m->due = cop_cursor_u64(cursor);
	m->wait = cop_cursor_u64(cursor);
	m->nap = cop_cursor_u64(cursor);
	m->woke = cop_cursor_u64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	bool valid = away <= 1 && m->wait >= 1 && m->wait <= LONGEST && m->nap >= 1 && m->nap <= LONGEST;
	if (away)
		valid = valid && m->cost > 0.0 && cop_stacking_stay_away(stack, i);
	return valid ? COP_OK : COP_EFORMAT;
}

static cop_err load_trial(cop_dormancy *rest, const cop_stacking *stack, cop_cursor *cursor)
{
	const size_t tried = rest->tried;
	if (tried >= stack->count || stack->away[tried] || !(rest->member[tried].cost > 0.0))
		return COP_EFORMAT;
	rest->n = cop_cursor_u64(cursor);
	rest->sum = cop_cursor_f64(cursor);
	rest->square = cop_cursor_f64(cursor);
	rest->regret = cop_cursor_f64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	bool valid = rest->n < LAST && rest->square >= 0.0;
	rest->without.count = stack->count;
	cop_err err = cop_stacking_load(&rest->without, cursor);
	for (size_t i = 0; i < stack->count && err == COP_OK; i++)
		valid = valid && (!(i == tried || stack->away[i]) || cop_stacking_stay_away(&rest->without, i));
	return err == COP_OK && !valid ? COP_EFORMAT : err;
}

static cop_err new_change_for(cop_dormancy *rest)
{
	cop_change_free(rest->change);
	return new_change(&rest->change);
}

cop_err cop_dormancy_load(cop_dormancy *rest, cop_stacking *stack, cop_cursor *cursor)
{
	bool marked = is_marked(cursor);
	begin(rest);
	cop_err err = cop_stacking_load(stack, cursor);
	if (err != COP_OK || !marked)
		return err == COP_OK ? new_change_for(rest) : err;
	rest->losses = cop_cursor_u64(cursor);
	for (size_t i = 0; i < stack->count && err == COP_OK; i++)
		err = load_member(rest, stack, i, cursor);
	if (err == COP_OK)
		err = cop_change_load_into(rest->change, cursor);
	if (err != COP_OK)
		return err;
	rest->tried = cop_cursor_u8(cursor);
	if (cursor->err != COP_OK || rest->tried == COP_STACKING_MOST)
		return cursor->err;
	return load_trial(rest, stack, cursor);
}

void cop_dormancy_inherit(cop_dormancy *rest, cop_dormancy *from)
{
	cop_dormancy own = *rest;
	*rest = *from;
	for (size_t i = 0; i < COP_STACKING_MOST; i++)
		rest->member[i].cost = own.member[i].cost;
	from->change = own.change;
}
