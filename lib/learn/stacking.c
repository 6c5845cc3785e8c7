#include "learn/stacking.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/assert.h"

#define START          0.02 /* variance of weights before the first event */
#define FORGET         0.9995
#define FULL           1000.0
#define LEAST          1e-3   /* v at least: truths that the sum hits exactly */
#define HORIZON        2000.0 /* events that v remembers */
#define FIRST          0.25   /* v before the first event */
#define NEWCOMER       0.2    /* of that certainty for one that joins: 1 wins its weight later on letter */
#define LARGEST        1e6    /* weight */
#define FARTHEST_ERROR 4.0    /* squared, that v takes in */
#define MARK           0x54000000u

static size_t present(const cop_stacking *stack)
{
	size_t count = 0;
	for (size_t i = 0; i < stack->count; i++)
		count += !stack->away[i];
	return count;
}

/* Equal weights of those that are there. */
static void begin(cop_stacking *stack)
{
	memset(stack->r, 0, sizeof stack->r);
	for (size_t i = 0; i < stack->count; i++) {
		stack->weight[i] = stack->away[i] ? 0.0 : 1.0 / (double)present(stack);
		stack->r[i][i] = 1.0 / START;
	}
}

void cop_stacking_begin(cop_stacking *stack, size_t count)
{
	*stack = (cop_stacking){ .count = count, .variance = FIRST };
	begin(stack);
}

/* Knows nothing of i, and says so with so much certainty. */
static void forget(cop_stacking *stack, size_t i, double certainty)
{
	stack->weight[i] = 0.0;
	for (size_t j = 0; j < stack->count; j++)
		stack->r[i][j] = stack->r[j][i] = 0.0;
	stack->r[i][i] = certainty;
}

void cop_stacking_join(cop_stacking *stack)
{
	size_t last = stack->count++;
	COP_ASSERT(last < COP_STACKING_MOST);
	stack->away[last] = false;
	forget(stack, last, NEWCOMER / START);
}

/* Solves R x = z by Cholesky's factors; false: R is not positive definite. */
static bool solve(const cop_stacking *stack, const double *z, double *x)
{
	double l[COP_STACKING_MOST][COP_STACKING_MOST];
	const size_t n = stack->count;
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j <= i; j++) {
			double sum = stack->r[i][j];
			for (size_t k = 0; k < j; k++)
				sum -= l[i][k] * l[j][k];
			if (i == j && !(sum > 0.0))
				return false;
			l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
		}
	}
	for (size_t i = 0; i < n; i++) {
		x[i] = z[i];
		for (size_t k = 0; k < i; k++)
			x[i] -= l[i][k] * x[k];
		x[i] /= l[i][i];
	}
	for (size_t i = n; i-- > 0;) {
		for (size_t k = i + 1; k < n; k++)
			x[i] -= l[k][i] * x[k];
		x[i] /= l[i][i];
	}
	return true;
}

void cop_stacking_leave(cop_stacking *stack, size_t i)
{
	double shared[COP_STACKING_MOST], more[COP_STACKING_MOST];
	COP_ASSERT(!stack->away[i] && present(stack) > 1);
	for (size_t j = 0; j < stack->count; j++)
		shared[j] = j == i ? 0.0 : stack->r[j][i] * stack->weight[i];
	stack->away[i] = true;
	forget(stack, i, 1.0 / START);
	bool sound = solve(stack, shared, more);
	for (size_t j = 0; j < stack->count && sound; j++) {
		stack->weight[j] += more[j];
		sound = fabs(stack->weight[j]) <= LARGEST;
	}
	if (!sound)
		begin(stack);
}

void cop_stacking_return(cop_stacking *stack, size_t i)
{
	COP_ASSERT(stack->away[i]);
	stack->away[i] = false;
	forget(stack, i, NEWCOMER / START);
}

bool cop_stacking_stay_away(cop_stacking *stack, size_t i)
{
	stack->away[i] = true;
	for (size_t j = 0; j < stack->count; j++)
		if (j != i && stack->r[i][j] != 0.0)
			return false;
	return stack->weight[i] == 0.0 && present(stack) > 0;
}

static bool is_sound(const cop_stacking *stack)
{
	double x[COP_STACKING_MOST];
	const double most =
	        COP_STACKING_FARTHEST * COP_STACKING_FARTHEST / (LEAST * (1.0 - FORGET)) + 2.0 / START + FULL;
	if (!(stack->variance >= 0.0 && stack->variance <= FARTHEST_ERROR && stack->events >= 0.0 &&
	            stack->events <= HORIZON))
		return false;
	for (size_t i = 0; i < stack->count; i++) {
		if (!(fabs(stack->weight[i]) <= LARGEST))
			return false;
		for (size_t j = 0; j < stack->count; j++)
			if (!(fabs(stack->r[i][j]) <= most && stack->r[i][j] == stack->r[j][i]))
				return false;
	}
	return solve(stack, stack->weight, x);
}

/* R forgets, and takes z in. */
static void take_in(cop_stacking *stack, const double *z)
{
	const double v = fmax(stack->variance, LEAST);
	double weight = 0.0;
	for (size_t i = 0; i < stack->count; i++)
		weight += stack->away[i] ? 0.0 : stack->r[i][i] - 1.0 / START;
	const double full = fmin(fmax(weight, 0.0) / (FULL * (double)present(stack)), 1.0);
	const double lost = (1.0 - FORGET) * full;
	for (size_t i = 0; i < stack->count; i++) {
		for (size_t j = 0; j < stack->count; j++)
			stack->r[i][j] = (1.0 - lost) * stack->r[i][j] + z[i] * z[j] / v;
		stack->r[i][i] += lost / START;
	}
}

double cop_stacking_settle(cop_stacking *stack, const double *z, double y)
{
	double cut[COP_STACKING_MOST] = { 0.0 };
	double step[COP_STACKING_MOST];
	double error = y;
	for (size_t i = 0; i < stack->count; i++) {
		if (!isfinite(z[i]))
			return (double)NAN;
		cut[i] = stack->away[i] ? 0.0 : fmin(fmax(z[i], -COP_STACKING_FARTHEST), COP_STACKING_FARTHEST);
		error -= stack->weight[i] * cut[i];
	}
	if (!isfinite(error))
		return (double)NAN;
	stack->events = fmin(stack->events + 1.0, HORIZON);
	stack->variance += (fmin(error * error, FARTHEST_ERROR) - stack->variance) / (stack->events + 1.0);
	take_in(stack, cut);
	const double gain = error / fmax(stack->variance, LEAST);
	bool sound = solve(stack, cut, step);
	for (size_t i = 0; i < stack->count && sound; i++) {
		stack->weight[i] += step[i] * gain;
		sound = fabs(stack->weight[i]) <= LARGEST;
	}
	if (!sound)
		begin(stack);
	return error;
}

double cop_stacking_deviation(const cop_stacking *stack, size_t i)
{
	double one[COP_STACKING_MOST] = { 0.0 }, column[COP_STACKING_MOST];
	one[i] = 1.0;
	return solve(stack, one, column) && column[i] > 0.0 ? sqrt(column[i]) : 0.0;
}

size_t cop_stacking_saved(const cop_cursor *cursor)
{
	cop_cursor ahead = *cursor;
	uint32_t count = cop_cursor_u32(&ahead) ^ MARK;
	return ahead.err == COP_OK && count <= COP_STACKING_MOST ? count : 0;
}

void cop_stacking_save(const cop_stacking *stack, cop_bytes *bytes)
{
	cop_bytes_put_u32(bytes, MARK | (uint32_t)stack->count);
	cop_bytes_put_f64s(bytes, stack->weight, stack->count);
	for (size_t i = 0; i < stack->count; i++)
		cop_bytes_put_f64s(bytes, stack->r[i], stack->count);
	cop_bytes_put_f64(bytes, stack->variance);
	cop_bytes_put_f64(bytes, stack->events);
}

cop_err cop_stacking_load(cop_stacking *stack, cop_cursor *cursor)
{
	uint32_t count = cop_cursor_u32(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (count != (MARK | (uint32_t)stack->count))
		return COP_ESHAPE;
	memset(stack->away, 0, sizeof stack->away);
	cop_cursor_f64s(cursor, stack->weight, stack->count);
	for (size_t i = 0; i < stack->count; i++)
		cop_cursor_f64s(cursor, stack->r[i], stack->count);
	stack->variance = cop_cursor_f64(cursor);
	stack->events = cop_cursor_f64(cursor);
	return cursor->err == COP_OK && !is_sound(stack) ? COP_EFORMAT : cursor->err;
}
