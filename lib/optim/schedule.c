/* A rate is a function of the step alone, so that a resumed fit goes on at the same rate. */
#include "optim/schedule.h"

#include <math.h>

#include "base/assert.h"

double cop_schedule_rate(const cop_schedule *s, uint64_t t)
{
	COP_ASSERT(s->lr >= 0.0 && s->minimum >= 0.0 && s->minimum <= s->lr && s->period >= 1);
	double turn = acos(-1.0) * (double)(t % s->period) / (double)s->period;
	return s->minimum + 0.5 * (s->lr - s->minimum) * (1.0 + cos(turn));
}
