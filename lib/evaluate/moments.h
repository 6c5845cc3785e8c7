/* evaluate/moments.h: weighted means and second moments of pairs (w, y) over a stream, in constant memory.
 *
 * Each pair comes with an event weight a > 0. Means are sum(a w) / sum(a) and sum(a y) / sum(a), from compensated sums
 * (Neumaier 1974); second moments are about the mean and weighted by a^2, which is what the variance of those means
 * needs (updated as West 1979). Plain struct, all zero when empty; its owner keeps inputs finite and below 1e12 in
 * size. Distinct objects on distinct threads. */
#ifndef COP_EVALUATE_MOMENTS_H
#define COP_EVALUATE_MOMENTS_H

#include <math.h>
#include <stdint.h>

#include "base/bytes.h"

typedef struct cop_sum {
	double total;
	double rest; /* what total's rounding lost */
} cop_sum;

static inline void cop_sum_add(cop_sum *sum, double value)
{
	double total = sum->total + value;
	sum->rest += fabs(sum->total) >= fabs(value) ? (sum->total - total) + value : (value - total) + sum->total;
	sum->total = total;
}

static inline double cop_sum_value(const cop_sum *sum) { return sum->total + sum->rest; }

typedef struct cop_moments {
	uint64_t n;
	cop_sum a, aw, ay;
	double a2;             /* sum of a^2 */
	double mean_w, mean_y; /* weighted by a^2 */
	double ww, wy, yy;     /* sum of a^2 (w - mean_w)^2, and so on */
} cop_moments;

static inline void cop_moments_add(cop_moments *m, double a, double w, double y)
{
	double a2 = a * a;
	double share = a2 / (m->a2 + a2);
	double dw = w - m->mean_w, dy = y - m->mean_y;
	double rest = m->a2 * share; /* a2 A / (A + a2) */
	m->n++;
	cop_sum_add(&m->a, a);
	cop_sum_add(&m->aw, a * w);
	cop_sum_add(&m->ay, a * y);
	m->a2 += a2;
	m->mean_w += share * dw;
	m->mean_y += share * dy;
	m->ww += rest * dw * dw;
	m->wy += rest * dw * dy;
	m->yy += rest * dy * dy;
}

/* sum(a w) / sum(a) and sum(a y) / sum(a); 0 when empty. */
double cop_moments_mean_w(const cop_moments *m);
double cop_moments_mean_y(const cop_moments *m);
/* sum of a^2 (y - gamma w - centre)^2. */
double cop_moments_square(const cop_moments *m, double gamma, double centre);
/* sum of a^2 (y - gamma w) w. */
double cop_moments_product(const cop_moments *m, double gamma);
/* sum of a^2 w^2. */
double cop_moments_weight_square(const cop_moments *m);
/* Size-biased mean of the weights, per event weight: sum(a^2 w^2) / sum(a w) over sum(a^2) / sum(a); 0 without weight.
 */
double cop_moments_typical_weight(const cop_moments *m);

void cop_moments_save(const cop_moments *m, cop_bytes *out);
/* Errors stay in the cursor's err. COP_EFORMAT: no stream gives such moments. */
void cop_moments_load(cop_moments *m, cop_cursor *in);

#endif
