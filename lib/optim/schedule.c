/* Kinds are rows of a table, by number and by name; each is a function of the step alone, so that a resumed fit goes
 * on at the same rate. */
#include "optim/schedule.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/assert.h"

static double constant(const cop_schedule *s, uint64_t t)
{
	(void)t;
	return s->lr;
}

static double cosine(const cop_schedule *s, uint64_t t)
{
	double turn = acos(-1.0) * (double)(t % s->period) / (double)s->period;
	return s->minimum + 0.5 * (s->lr - s->minimum) * (1.0 + cos(turn));
}

static double inverse_sqrt(const cop_schedule *s, uint64_t t)
{
	double rate = s->lr / sqrt(1.0 + (double)t / (double)s->period);
	return rate > s->minimum ? rate : s->minimum;
}

static const struct {
	const char *name;
	double (*rate)(const cop_schedule *s, uint64_t t);
} kinds[COP_SCHEDULE_COUNT] = {
	[COP_SCHEDULE_CONSTANT] = { "constant", constant },
	[COP_SCHEDULE_COSINE] = { "cosine", cosine },
	[COP_SCHEDULE_INVERSE_SQRT] = { "inverse_sqrt", inverse_sqrt },
};

cop_err cop_schedule_find(const char *name, cop_schedule_kind *kind)
{
	for (unsigned i = 0; i < COP_SCHEDULE_COUNT; i++)
		if (strcmp(kinds[i].name, name) == 0) {
			*kind = (cop_schedule_kind)i;
			return COP_OK;
		}
	return COP_ENOTFOUND;
}

const char *cop_schedule_name(cop_schedule_kind kind)
{
	return (unsigned)kind < COP_SCHEDULE_COUNT ? kinds[kind].name : NULL;
}

cop_err cop_schedule_check(const cop_schedule *s)
{
	bool ok = (unsigned)s->kind < COP_SCHEDULE_COUNT && isfinite(s->lr) && s->lr >= 0.0 && s->minimum >= 0.0 &&
	          s->minimum <= s->lr && s->period >= 1;
	return ok ? COP_OK : COP_EINVAL;
}

double cop_schedule_rate(const cop_schedule *s, uint64_t t)
{
	COP_ASSERT(cop_schedule_check(s) == COP_OK);
	return kinds[s->kind].rate(s, t);
}
