/* Propensities are bounded from below by what a double can invert, not by the caller. */
#include "online/constant_arms.h"

#include <math.h>

#include "base/mem.h"

#define LEAST (-1.0)
#define LEVEL (COP_CONSTANT_ARMS_RISK / 2.0)

cop_err cop_constant_arms_init(cop_constant_arms *arms, size_t count)
{
	*arms = (cop_constant_arms){ .count = count <= COP_CONSTANT_ARMS_MOST ? count : 0 };
	arms->arm = cop_mem_alloc(arms->count, sizeof *arms->arm);
	if (arms->arm == NULL)
		return COP_ENOMEM;
	cop_constant_arms_clear(arms);
	return COP_OK;
}

void cop_constant_arms_fini(cop_constant_arms *arms)
{
	cop_mem_free(arms->arm);
	*arms = (cop_constant_arms){ .count = 0 };
}

void cop_constant_arms_clear(cop_constant_arms *arms)
{
	for (size_t k = 0; k < arms->count; k++) {
		arms->arm[k] = (cop_constant_arm){ .weight = 0.0 };
		cop_running_bound_init(&arms->arm[k].over, LEAST, 1.0);
		cop_running_bound_init(&arms->arm[k].under, LEAST, 1.0);
	}
}

void cop_constant_arms_add(cop_constant_arms *arms, uint32_t arm, double p, const uint8_t *mask, double loss)
{
	for (size_t k = 0; k < arms->count; k++) {
		if (mask != NULL && mask[k] == 0)
			continue;
		cop_constant_arm *one = &arms->arm[k];
		double w = k == arm ? cop_constant_arms_weight(p) : 0.0;
		cop_running_bound_add(&one->over, (w - 1.0) * loss, LEAST);
		cop_running_bound_add(&one->under, (w - 1.0) * (1.0 - loss), LEAST);
		one->weight += w;
		one->square += w * w;
	}
}

void cop_constant_arms_figures(const cop_constant_arm *one, cop_constant_gain *out)
{
	*out = (cop_constant_gain){
		.losses = one->over.n,
		.effective = one->square > 0.0 ? one->weight * one->weight / one->square : 0.0,
		.gain = (double)NAN,
		.low = (double)NAN,
		.high = (double)NAN,
	};
	if (one->over.n == 0)
		return;
	out->low = cop_running_bound_low(&one->over, LEVEL);
	out->high = -cop_running_bound_low(&one->under, LEVEL);
	out->gain = fmin(fmax(cop_running_bound_mean(&one->over), out->low), out->high);
}

void cop_constant_arms_get(const cop_constant_arms *arms, size_t k, cop_constant_gain *out)
{
	cop_constant_arms_figures(&arms->arm[k], out);
}

void cop_constant_arms_save(const cop_constant_arms *arms, cop_bytes *out)
{
	cop_bytes_put_u64(out, arms->count);
	for (size_t k = 0; k < arms->count; k++) {
		cop_running_bound_save(&arms->arm[k].over, out);
		cop_running_bound_save(&arms->arm[k].under, out);
		cop_bytes_put_f64(out, arms->arm[k].weight);
		cop_bytes_put_f64(out, arms->arm[k].square);
	}
}

size_t cop_constant_arms_load(cop_constant_arms *arms, cop_cursor *in)
{
	cop_constant_arm left = { 0 }; /* arms that have become too many are no longer followed */
	cop_running_bound_init(&left.over, LEAST, 1.0);
	cop_running_bound_init(&left.under, LEAST, 1.0);
	cop_constant_arms_clear(arms);
	uint64_t count = cop_cursor_u64(in);
	if (in->err == COP_OK && (count > COP_CONSTANT_ARMS_MOST || (count > arms->count && arms->count > 0)))
		in->err = COP_EFORMAT;
	for (size_t k = 0; k < count && in->err == COP_OK; k++) {
		cop_constant_arm *one = k < arms->count ? &arms->arm[k] : &left;
		cop_running_bound_load(&one->over, in);
		cop_running_bound_load(&one->under, in);
		one->weight = cop_cursor_f64(in);
		one->square = cop_cursor_f64(in);
		bool sound = one->over.n == one->under.n && one->weight >= 0.0 && one->square >= 0.0 &&
		             isfinite(one->weight) && isfinite(one->square);
		if (in->err == COP_OK && !sound)
			in->err = COP_EFORMAT;
	}
	return in->err == COP_OK ? (size_t)count : 0;
}

void cop_constant_arms_inherit(cop_constant_arms *arms, const cop_constant_arms *from)
{
	cop_constant_arms_clear(arms);
	for (size_t k = 0; k < arms->count && k < from->count; k++)
		arms->arm[k] = from->arm[k];
}
