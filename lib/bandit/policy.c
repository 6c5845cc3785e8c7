/* A policy fills p over all arms, 0 where the mask excludes one, so that the sum is 1 up to rounding. Each is a row of
 * a table found by name. A draw walks through p once, spends one number of the generator, and never returns an arm
 * with p = 0. */
#include "bandit/policy.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define LEAST_LOSS 0.02 /* taken to be had, at least */

static void epsilon(const cop_policy_settings *settings, uint64_t t, size_t arms, const float *loss,
        const uint8_t *mask, size_t best, size_t eligible, const cop_policy_belief *belief, double *p)
{
	(void)loss;
	(void)belief;
	double e = settings->epsilon / sqrt(1.0 + settings->epsilon_decay * (double)t);
	if (e < settings->epsilon_floor)
		e = settings->epsilon_floor;
	for (size_t k = 0; k < arms; k++)
		p[k] = mask == NULL || mask[k] ? e / (double)eligible : 0.0;
	p[best] += 1.0 - e;
}

/* How much worse arm k is predicted to be than the best. */
static double gap(const float *loss, size_t k, size_t best)
{
	if (!isfinite(loss[best])) /* then nothing is known of any arm */
		return 0.0;
	return isfinite(loss[k]) ? (double)loss[k] - (double)loss[best] : 1.0;
}

static bool better(float a, float b) { return isfinite(a) && (a < b || !isfinite(b)); }

/* p(k) grows by the share of 1 / (K + gamma gap): each of the K - 1 others has at most 1/K. */
static void add_inverse_gaps(double share, double gamma, size_t arms, const float *loss, const uint8_t *mask,
        size_t best, size_t eligible, double *p)
{
	double others = 0.0;
	gamma = fmin(gamma, DBL_MAX); /* infinity times a gap of 0 is no number */
	for (size_t k = 0; k < arms; k++) {
		if (k == best || (mask != NULL && !mask[k]))
			continue;
		double inverse = 1.0 / ((double)eligible + gamma * gap(loss, k, best));
		p[k] += share * inverse;
		others += inverse;
	}
	p[best] += share * (1.0 - others);
}

static void squarecb(const cop_policy_settings *settings, uint64_t t, size_t arms, const float *loss,
        const uint8_t *mask, size_t best, size_t eligible, const cop_policy_belief *belief, double *p)
{
	(void)belief;
	memset(p, 0, arms * sizeof *p);
	add_inverse_gaps(1.0, settings->gamma * sqrt((double)t + 1.0), arms, loss, mask, best, eligible, p);
}

static double fastcb_gamma(const cop_policy_settings *settings, uint64_t t, const float *loss, size_t best)
{
	double least = isfinite(loss[best]) ? fmin(fmax((double)loss[best], LEAST_LOSS), 1.0) : 1.0;
	return settings->gamma * sqrt((double)t + 1.0) / least;
}

static void fastcb(const cop_policy_settings *settings, uint64_t t, size_t arms, const float *loss, const uint8_t *mask,
        size_t best, size_t eligible, const cop_policy_belief *belief, double *p)
{
	(void)belief;
	memset(p, 0, arms * sizeof *p);
	add_inverse_gaps(1.0, fastcb_gamma(settings, t, loss, best), arms, loss, mask, best, eligible, p);
}

/* Odds that arm k is better than the arm of the lowest mean, to that power. */
static double odds(const cop_policy_belief *belief, size_t k, size_t best, double power)
{
	if (k == best)
		return 1.0;
	double one = (double)belief->deviation[k], other = (double)belief->deviation[best];
	double z = gap(belief->mean, k, best) / fmax(sqrt(one * one + other * other), DBL_MIN);
	double chance = 0.5 * erfc(z * M_SQRT1_2);
	return pow(chance / (1.0 - chance), power);
}

/* Fills p with each arm's share of the odds. */
static void match(const cop_policy_belief *belief, double share, size_t arms, const uint8_t *mask, size_t likely,
        size_t eligible, double *p)
{
	const double power = eligible > 1 ? 2.0 - 1.0 / (double)(eligible - 1) : 1.0;
	double sum = 0.0;
	for (size_t k = 0; k < arms; k++) {
		p[k] = mask == NULL || mask[k] ? odds(belief, k, likely, power) : 0.0;
		sum += p[k];
	}
	for (size_t k = 0; k < arms; k++)
		p[k] *= share / sum;
}

static void matching(const cop_policy_settings *settings, uint64_t t, size_t arms, const float *loss,
        const uint8_t *mask, size_t best, size_t eligible, const cop_policy_belief *belief, double *p)
{
	size_t likely, count;
	double share = belief == NULL ? 0.0 : belief->share;
	if (share > 0.0 && cop_policy_best(arms, belief->mean, mask, &likely, &count) == COP_OK)
		match(belief, share, arms, mask, likely, eligible, p);
	else
		memset(p, 0, arms * sizeof *p);
	if (share < 1.0)
		add_inverse_gaps(
		        1.0 - share, fastcb_gamma(settings, t, loss, best), arms, loss, mask, best, eligible, p);
}

static const cop_policy policies[] = {
	{ "epsilon", false, epsilon },
	{ "squarecb", false, squarecb },
	{ "fastcb", false, fastcb },
	{ "matching", true, matching },
};

const cop_policy *cop_policy_find(const char *name)
{
	for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
		if (strcmp(policies[i].name, name) == 0)
			return &policies[i];
	return NULL;
}

cop_err cop_policy_best(size_t arms, const float *loss, const uint8_t *mask, size_t *best, size_t *eligible)
{
	size_t count = 0;
	size_t lowest = 0;
	for (size_t k = 0; k < arms; k++) {
		if (mask != NULL && !mask[k])
			continue;
		if (count == 0 || better(loss[k], loss[lowest]))
			lowest = k;
		count++;
	}
	if (count == 0)
		return COP_EINVAL;
	*best = lowest;
	*eligible = count;
	return COP_OK;
}

size_t cop_policy_draw(size_t arms, const double *p, cop_rng *rng)
{
	double left = cop_rng_unit(rng);
	size_t last = 0;
	for (size_t k = 0; k < arms; k++) {
		if (p[k] <= 0.0)
			continue;
		last = k;
		if (left < p[k])
			return k;
		left -= p[k];
	}
	return last; /* rounding left a sliver beyond the last arm with p > 0 */
}
