/* optim/schedule.h: learning rates that fall along half a cosine and start again.
 *
 *     rate(t) = minimum + (lr - minimum) (1 + cos(pi u / period)) / 2,  u = t mod period
 *
 * The caller decides what counts as a step: a mini-batch, ten of them, an epoch. Any thread. */
#ifndef COP_OPTIM_SCHEDULE_H
#define COP_OPTIM_SCHEDULE_H

#include <stdint.h>

typedef struct cop_schedule {
	double lr;       /* the first rate, >= 0 */
	double minimum;  /* in [0, lr] */
	uint64_t period; /* T0, >= 1 */
} cop_schedule;

/* The rate of step t, from 0. */
double cop_schedule_rate(const cop_schedule *schedule, uint64_t t);

#endif
