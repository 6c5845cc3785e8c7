/* A bandit world whose policies' true values are known, and logs drawn from it: what the tests of intervals share.
 *
 * Contexts are equally likely; in context x the logging policy plays arm k with probability p[x][k], the target policy
 * would with pi[x][k], and the cost has mean mu[x][k] and lies in [0, 1]. */
#ifndef COP_TESTS_BANDIT_LOG_H
#define COP_TESTS_BANDIT_LOG_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/rng.h"
#include "evaluate/offpolicy.h"

#define WORLD_CONTEXTS 40
#define WORLD_ARMS     26

typedef enum { LOG_UNIFORM, LOG_EPSILON, LOG_SOFTMAX } world_logging;
typedef enum { TARGET_BEST, TARGET_STOCHASTIC, TARGET_RARE, TARGET_GREEDY, TARGET_AGREES } world_target;
/* RATE: 1 at `rate` on average; GATHERED: the same, nearly all of it in one context of ten. */
typedef enum { COST_BINARY, COST_CONTINUOUS, COST_SELDOM, COST_RATE, COST_GATHERED } world_cost;

typedef struct world_settings {
	size_t arms;
	world_logging logging;
	world_target target;
	world_cost cost;
	bool good_model;
	double rate;  /* of COST_RATE and COST_GATHERED */
	bool rewards; /* costs are 1 at one less that rate: rewards are what is rare */
} world_settings;

typedef struct world {
	world_settings settings;
	double mu[WORLD_CONTEXTS][WORLD_ARMS], p[WORLD_CONTEXTS][WORLD_ARMS], pi[WORLD_CONTEXTS][WORLD_ARMS];
	double q[WORLD_CONTEXTS][WORLD_ARMS], m[WORLD_CONTEXTS], pi_max[WORLD_CONTEXTS];
	double value; /* of the target policy */
} world;

/* Index of the least of `score`. */
static inline size_t world_least(size_t arms, const double *score)
{
	size_t best = 0;
	for (size_t k = 1; k < arms; k++)
		if (score[k] < score[best])
			best = k;
	return best;
}

/* 1 - e on one arm, e over all. */
static inline void world_greedy(size_t arms, size_t best, double e, double *p)
{
	for (size_t k = 0; k < arms; k++)
		p[k] = e / (double)arms + (k == best ? 1.0 - e : 0.0);
}

static inline void world_softmax(size_t arms, const double *score, double *p)
{
	double sum = 0.0;
	for (size_t k = 0; k < arms; k++)
		sum += p[k] = exp(-score[k]);
	for (size_t k = 0; k < arms; k++)
		p[k] /= sum;
}

static inline void world_set_logging(world *w, size_t x, cop_rng *rng)
{
	size_t arms = w->settings.arms;
	double score[WORLD_ARMS];
	for (size_t k = 0; k < arms; k++)
		score[k] = 4.0 * w->mu[x][k] + cop_rng_normal(rng);
	if (w->settings.logging == LOG_UNIFORM)
		world_greedy(arms, 0, 1.0, w->p[x]);
	else if (w->settings.logging == LOG_EPSILON)
		world_greedy(arms, world_least(arms, score), 0.1, w->p[x]);
	else
		world_softmax(arms, score, w->p[x]);
}

static inline void world_set_target(world *w, size_t x, cop_rng *rng)
{
	size_t arms = w->settings.arms;
	double score[WORLD_ARMS];
	for (size_t k = 0; k < arms; k++)
		score[k] = w->mu[x][k] + (w->settings.rate > 0.0 ? w->settings.rate : 0.1) * cop_rng_normal(rng);
	size_t best = world_least(arms, score);
	if (w->settings.target == TARGET_RARE) /* what the log has least of */
		best = world_least(arms, w->p[x]);
	world_greedy(arms, best, w->settings.target == TARGET_GREEDY ? 0.1 : 0.0, w->pi[x]);
	if (w->settings.target == TARGET_AGREES)
		for (size_t k = 0; k < arms; k++)
			w->pi[x][k] = 0.1 * w->pi[x][k] + 0.9 * w->p[x][k];
	if (w->settings.target == TARGET_STOCHASTIC) {
		for (size_t k = 0; k < arms; k++)
			score[k] *= 5.0;
		world_softmax(arms, score, w->pi[x]);
	}
}

/* What follows from pi in one context; adds its share to the value. */
static inline void world_finish_context(world *w, size_t x)
{
	w->m[x] = w->pi_max[x] = 0.0;
	for (size_t k = 0; k < w->settings.arms; k++) {
		w->m[x] += w->pi[x][k] * w->q[x][k];
		w->pi_max[x] = fmax(w->pi_max[x], w->pi[x][k]);
		w->value += w->pi[x][k] * w->mu[x][k] / WORLD_CONTEXTS;
	}
}

static inline double world_mean_cost(const world_settings *s, size_t x, cop_rng *rng)
{
	double mu = 0.02 + 0.96 * cop_rng_unit(rng);
	if (s->cost == COST_SELDOM)
		return 0.05 * mu;
	if (s->cost == COST_RATE || s->cost == COST_GATHERED) {
		mu *= s->rate * (s->cost == COST_RATE ? 2.0 : x % 10 == 0 ? 18.0 : 2.0 / 9.0);
		return s->rewards ? 1.0 - mu : mu;
	}
	return mu;
}

/* A good model is off by a tenth, or where nearly all costs are the same by a third of the rare ones. */
static inline double world_model(const world_settings *s, double mu, cop_rng *rng)
{
	double rare = s->rate > 0.0 ? fmin(mu, 1.0 - mu) / 3.0 : 0.1;
	double q = s->good_model ? mu + rare * cop_rng_normal(rng) : 0.5;
	return fmin(fmax(q, 0.0), 1.0);
}

static inline void world_init(world *w, const world_settings *settings, cop_rng *rng)
{
	*w = (world){ .settings = *settings };
	for (size_t x = 0; x < WORLD_CONTEXTS; x++) {
		for (size_t k = 0; k < settings->arms; k++) {
			w->mu[x][k] = world_mean_cost(settings, x, rng);
			w->q[x][k] = world_model(settings, w->mu[x][k], rng);
		}
		world_set_logging(w, x, rng);
		world_set_target(w, x, rng);
		world_finish_context(w, x);
	}
}

static inline double world_cost_of(const world *w, double mu, cop_rng *rng)
{
	double u = cop_rng_unit(rng);
	if (w->settings.cost == COST_CONTINUOUS)
		return pow(u, (1.0 - mu) / mu); /* mean mu, any shape of distribution */
	return u < mu ? 1.0 : 0.0;
}

/* One event of the log, and the context and arm that it is of. */
static inline cop_offpolicy_event world_draw(const world *w, cop_rng *rng, size_t *context, size_t *arm)
{
	size_t x = (size_t)cop_rng_below(rng, WORLD_CONTEXTS), k = 0;
	double u = cop_rng_unit(rng);
	while (k + 1 < w->settings.arms && u >= w->p[x][k])
		u -= w->p[x][k++];
	*context = x;
	*arm = k;
	return (cop_offpolicy_event){ .p = w->p[x][k],
		.cost = world_cost_of(w, w->mu[x][k], rng),
		.weight = 1.0,
		.target = w->pi[x][k],
		.target_max = w->pi_max[x],
		.has_model = true,
		.model_logged = w->q[x][k],
		.model_target = w->m[x] };
}

#endif
