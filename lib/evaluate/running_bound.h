/* evaluate/running_bound.h: a lower bound for a running mean that holds at all times at once.
 *
 * Values x_1, x_2, ... come one by one; of each a number is known beforehand that it cannot be below, its `least`.
 * Nothing else is bounded, and their means g_t (given all that came before) may drift. With probability 1 - risk, at
 * every time t together, (g_1 + ... + g_t) / t  >=  cop_running_bound_low at time t, so the bound may be looked at
 * after every value, and sampling may end at any time. Predictions x^ (the mean so far, kept within [low, top]) leave
 * gaps x - x^ >= -b with b = top - least. By the inequality of Fan, Grama and Liu (2015), as Howard, Ramdas, McAuliffe
 * and Sekhon use it (2021, theorem 4), for each l > 0 that stays below 1 / b
 *
 *     exp(sum(l (x - g) - psi(l b) (x - x^)^2 / b^2)),  psi(u) = -log(1 - u) - u
 *
 * is a non-negative supermartingale that starts at 1; an l for which some b is too large is given up for good, which
 * only loses wealth. The mean over a fixed grid of l (a discrete mixture) is such a supermartingale too, and by Ville's
 * inequality it ever reaches 1 / risk with probability at most risk. An upper bound: the same for -x.
 *
 * cop_interval_sequence (interval.h) bounds a mean too, but one in which early values weigh more, and of values >= 0
 * alone. Constant memory. Plain struct; distinct objects on distinct threads. */
#ifndef COP_EVALUATE_RUNNING_BOUND_H
#define COP_EVALUATE_RUNNING_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "evaluate/moments.h"

#define COP_RUNNING_BOUND_GRID 16

typedef struct cop_running_bound {
	double low, top;
	uint64_t n;
	cop_sum x;
	double price[COP_RUNNING_BOUND_GRID];   /* sum of psi(l b) gap^2 / b^2 for each l; DBL_MAX: given up */
	double b, rate[COP_RUNNING_BOUND_GRID]; /* the last b and its psi(l b) / b^2 */
} cop_running_bound;

/* low <= all g are known (the bound is never below it), top about how large they can be; low < top, both at most 1e6 in
 * size. */
void cop_running_bound_init(cop_running_bound *bound, double low, double top);
/* least <= x <= 1e12 (what rounding lacks of least is added), least in [-1e7, top - 1e-6]. It may depend on all that
 * came before x, not on x. */
void cop_running_bound_add(cop_running_bound *bound, double x, double least);
/* The same of n > 0 values of one least that came one after the other: their sum, and that of their squares. All are
 * predicted by what came before the first, so the bound is a little wider, and holds at each of them. */
void cop_running_bound_add_block(cop_running_bound *bound, uint64_t n, double sum, double squares, double least);
/* Mean of the values; 0 when there are none. */
double cop_running_bound_mean(const cop_running_bound *bound);
/* The bound at this time, at least low; risk in (0, 1), of this side alone and the same all along. */
double cop_running_bound_low(const cop_running_bound *bound, double risk);
/* Whether that bound is above `mean`; cheaper. */
bool cop_running_bound_exceeds(const cop_running_bound *bound, double mean, double risk);

void cop_running_bound_save(const cop_running_bound *bound, cop_bytes *out);
/* Into one that was begun with the same low and top. Errors stay in the cursor's err; COP_EFORMAT: other bounds, or no
 * values give such sums. */
void cop_running_bound_load(cop_running_bound *bound, cop_cursor *in);

#endif
