/* optim/schedule.h: learning rates as a function of the step, found by name.
 *
 *     constant      lr
 *     cosine        minimum + (lr - minimum) (1 + cos(pi u / period)) / 2, u = t mod period: restarts every `period`
 *     inverse_sqrt  max(minimum, lr / sqrt(1 + t / period))
 *
 * The caller decides what counts as a step: a mini-batch, ten of them, an epoch. Any thread. */
#ifndef COP_OPTIM_SCHEDULE_H
#define COP_OPTIM_SCHEDULE_H

#include <stdint.h>

#include "base/err.h"

typedef enum cop_schedule_kind {
	COP_SCHEDULE_CONSTANT = 0,
	COP_SCHEDULE_COSINE,
	COP_SCHEDULE_INVERSE_SQRT,
	COP_SCHEDULE_COUNT
} cop_schedule_kind;

typedef struct cop_schedule {
	cop_schedule_kind kind;
	double lr;       /* the first rate, >= 0 */
	double minimum;  /* in [0, lr] */
	uint64_t period; /* T0, >= 1 */
} cop_schedule;

/* COP_ENOTFOUND: no such schedule. */
COP_CHECK cop_err cop_schedule_find(const char *name, cop_schedule_kind *kind);
const char *cop_schedule_name(cop_schedule_kind kind);

/* COP_EINVAL: a field is outside its range. */
COP_CHECK cop_err cop_schedule_check(const cop_schedule *schedule);

/* The rate of step t, from 0. */
double cop_schedule_rate(const cop_schedule *schedule, uint64_t t);

#endif
