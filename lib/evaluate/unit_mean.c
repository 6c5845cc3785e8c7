/* 1 less a value is a value of [0, 1] too, so both bounds have the same least. */
#include "evaluate/unit_mean.h"

#include <math.h>

void cop_unit_mean_init(cop_unit_mean *mean)
{
	cop_running_bound_init(&mean->value, 0.0, 1.0);
	cop_running_bound_init(&mean->rest, 0.0, 1.0);
}

void cop_unit_mean_add(cop_unit_mean *mean, double value)
{
	cop_running_bound_add(&mean->value, value, 0.0);
	cop_running_bound_add(&mean->rest, 1.0 - value, 0.0);
}

double cop_unit_mean_low(const cop_unit_mean *mean, double risk) { return cop_running_bound_low(&mean->value, risk); }
double cop_unit_mean_high(const cop_unit_mean *mean, double risk)
{
	return 1.0 - cop_running_bound_low(&mean->rest, risk);
}

void cop_unit_mean_get(const cop_unit_mean *mean, double risk, cop_unit_mean_figures *out)
{
	uint64_t n = mean->value.n;
	*out = (cop_unit_mean_figures){
		.n = n,
		.mean = n > 0 ? cop_running_bound_mean(&mean->value) : (double)NAN,
		.low = n > 0 ? cop_unit_mean_low(mean, risk) : 0.0,
		.high = n > 0 ? cop_unit_mean_high(mean, risk) : 1.0,
	};
}

void cop_unit_mean_save(const cop_unit_mean *mean, cop_bytes *out)
{
	cop_running_bound_save(&mean->value, out);
	cop_running_bound_save(&mean->rest, out);
}

void cop_unit_mean_load(cop_unit_mean *mean, cop_cursor *in)
{
	cop_unit_mean_init(mean);
	cop_running_bound_load(&mean->value, in);
	cop_running_bound_load(&mean->rest, in);
	if (in->err == COP_OK && mean->value.n != mean->rest.n)
		in->err = COP_EFORMAT;
}
