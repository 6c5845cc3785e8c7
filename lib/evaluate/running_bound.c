/* With y = sum(x - g), the mixture's logarithm is convex and rises with y, so Newton's steps from the right of the root
 * stay there, and to stop early is to bound more loosely. */
#include "evaluate/running_bound.h"

#include <float.h>

#include "base/assert.h"

#define GRID       COP_RUNNING_BOUND_GRID
#define LARGEST    0.5 /* l of the grid, each the half of the one before */
#define STEPS      12
#define MOST       1e12
#define MOST_LOW   1e6
#define MOST_LEAST 1e7
#define SMALLEST_B 1e-6
#define GIVEN_UP   DBL_MAX /* as a price: this l's wealth is 0 */
#define COUNTED    (UINT64_C(1) << 53)

void cop_running_bound_init(cop_running_bound *bound, double low, double top)
{
	COP_ASSERT(low < top && low >= -MOST_LOW && top <= MOST_LOW);
	*bound = (cop_running_bound){ .low = low, .top = top };
}

double cop_running_bound_mean(const cop_running_bound *bound)
{
	return bound->n == 0 ? 0.0 : cop_sum_value(&bound->x) / (double)bound->n;
}

static void set_b(cop_running_bound *bound, double b)
{
	double l = LARGEST;
	bound->b = b;
	for (int i = 0; i < GRID; i++, l *= 0.5)
		if (l * b >= 1.0) {
			bound->rate[i] = 0.0;
			bound->price[i] = GIVEN_UP;
		} else {
			bound->rate[i] = (-log1p(-l * b) - l * b) / (b * b);
		}
}

/* Of the next value, from those before it; sets the rates for its least. */
static double predict(cop_running_bound *bound, double least)
{
	COP_ASSERT(least >= -MOST_LEAST && least <= bound->top - SMALLEST_B);
	double start = fmin(fmax(0.0, bound->low), bound->top); /* as if one such value had come first */
	double prediction = (start + cop_sum_value(&bound->x)) / ((double)bound->n + 1.0);
	if (bound->b != bound->top - least)
		set_b(bound, bound->top - least);
	return fmin(fmax(prediction, bound->low), bound->top);
}

void cop_running_bound_add(cop_running_bound *bound, double x, double least)
{
	COP_ASSERT(x <= MOST);
	x = fmax(x, least);
	double gap = x - predict(bound, least);
	for (int i = 0; i < GRID; i++)
		bound->price[i] = fmin(bound->price[i] + bound->rate[i] * gap * gap, GIVEN_UP);
	cop_sum_add(&bound->x, x);
	bound->n++;
}

void cop_running_bound_add_block(cop_running_bound *bound, uint64_t n, double sum, double squares, double least)
{
	COP_ASSERT(n > 0 && sum <= MOST * (double)n && squares >= 0.0);
	sum = fmax(sum, least * (double)n);
	const double x = predict(bound, least);
	const double gaps = fmax(squares - x * (2.0 * sum - x * (double)n), 0.0);
	for (int i = 0; i < GRID; i++)
		bound->price[i] = fmin(bound->price[i] + bound->rate[i] * gaps, GIVEN_UP);
	cop_sum_add(&bound->x, sum);
	bound->n += n;
}

/* log of the mixture at y, and how it grows with y. */
static double log_mixture(const cop_running_bound *bound, double y, double *slope)
{
	double term[GRID], largest = -DBL_MAX, sum = 0.0, along = 0.0, l = LARGEST;
	for (int i = 0; i < GRID; i++, l *= 0.5) {
		term[i] = l * y - bound->price[i];
		largest = fmax(largest, term[i]);
	}
	l = LARGEST;
	for (int i = 0; i < GRID; i++, l *= 0.5) {
		double share = exp(term[i] - largest);
		sum += share;
		along += l * share;
	}
	*slope = along / sum;
	return largest + log(sum / GRID);
}

/* What is surely to the right of the root: where a single term alone would reach the level. */
static double begin(const cop_running_bound *bound, double level)
{
	double y = DBL_MAX, l = LARGEST;
	for (int i = 0; i < GRID; i++, l *= 0.5)
		y = fmin(y, (level + log(GRID) + bound->price[i]) / l);
	return y;
}

double cop_running_bound_low(const cop_running_bound *bound, double risk)
{
	if (bound->n == 0)
		return bound->low;
	double slope, level = -log(risk), y = begin(bound, level);
	for (int i = 0; i < STEPS; i++) {
		double over = log_mixture(bound, y, &slope) - level;
		if (!(over > 1e-12 * level))
			break;
		y -= over / slope;
	}
	return fmax((cop_sum_value(&bound->x) - y) / (double)bound->n, bound->low);
}

bool cop_running_bound_exceeds(const cop_running_bound *bound, double mean, double risk)
{
	double y = cop_sum_value(&bound->x) - mean * (double)bound->n, slope;
	return bound->n > 0 && y > 0.0 && log_mixture(bound, y, &slope) > -log(risk);
}

void cop_running_bound_save(const cop_running_bound *bound, cop_bytes *out)
{
	const double values[] = { bound->low, bound->top, bound->x.total, bound->x.rest };
	cop_bytes_put_u64(out, bound->n);
	cop_bytes_put_f64s(out, values, sizeof values / sizeof *values);
	cop_bytes_put_f64s(out, bound->price, GRID);
}

void cop_running_bound_load(cop_running_bound *bound, cop_cursor *in)
{
	double v[4];
	cop_running_bound new = { .n = cop_cursor_u64(in) };
	cop_cursor_f64s(in, v, 4);
	cop_cursor_f64s(in, new.price, GRID);
	if (in->err != COP_OK)
		return;
	new.low = v[0];
	new.top = v[1];
	new.x = (cop_sum){ v[2], v[3] };
	double sum = cop_sum_value(&new.x), count = (double)new.n;
	bool valid = new.n <= COUNTED &&new.low == bound->low &&new.top == bound->top &&fabs(sum) <= MOST *count;
	for (int i = 0; i < GRID; i++)
		valid = valid && new.price[i] >= 0.0 && (new.n > 0 || new.price[i] == 0.0);
	if (valid)
		*bound = new; /* b is 0, so rates are made anew */
	else
		in->err = COP_EFORMAT;
}
