/* evaluate/unit_mean.h: the running mean of values in [0, 1], with an interval that holds at all times at once.
 *
 * A running lower bound of the values and one of 1 less the values (running_bound.h): whatever the values' means, given
 * all that came before, their mean is within [low, high] at all times with probability 1 - 2 risk. Constant memory.
 * Plain struct; distinct objects on distinct threads. */
#ifndef COP_EVALUATE_UNIT_MEAN_H
#define COP_EVALUATE_UNIT_MEAN_H

#include "evaluate/running_bound.h"

typedef struct cop_unit_mean {
	cop_running_bound value, rest;
} cop_unit_mean;

typedef struct cop_unit_mean_figures {
	uint64_t n;
	double mean, low, high; /* mean: NaN without values */
} cop_unit_mean_figures;

void cop_unit_mean_init(cop_unit_mean *mean);
void cop_unit_mean_add(cop_unit_mean *mean, double value);
/* risk: of each side. */
double cop_unit_mean_low(const cop_unit_mean *mean, double risk);
double cop_unit_mean_high(const cop_unit_mean *mean, double risk);
void cop_unit_mean_get(const cop_unit_mean *mean, double risk, cop_unit_mean_figures *out);

void cop_unit_mean_save(const cop_unit_mean *mean, cop_bytes *out);
/* Errors stay in the cursor's err; COP_EFORMAT: no values give such sums. */
void cop_unit_mean_load(cop_unit_mean *mean, cop_cursor *in);

#endif
