/* bandit/policy.h: from predicted losses to a distribution over arms, and a draw from it.
 *
 * loss[k], k in [0, arms): predicted loss, lower is better; mask[k] != 0: eligible (NULL: all). Policies:
 *   epsilon   p(k) = (1 - e_t) 1[k = best] + e_t / K over K eligible arms (Karthikeyan et al., eq. 7), with
 *             e_t = max(floor, e / (1 + decay t)^(1/2)); decay 0 keeps e constant
 *   squarecb  p(k) = 1 / (K + gamma_t (loss_k - loss_best)) for k != best, the best takes the rest, with
 *             gamma_t = gamma sqrt(t + 1) (Foster and Rakhlin 2020)
 *   fastcb    p(k) = f / (K f + gamma_t (loss_k - loss_best)) for k != best, f = loss_best kept within [0.02, 1]: the
 *             smaller the losses to be had, the less it explores (Foster and Krishnamurthy 2021)
 *   matching  s q(k) + (1 - s) p(k) of fastcb, with a share s and beliefs b_k of standard deviations d_k that the
 *             learner has of each arm: q(k) is proportional to (P / (1 - P))^(2 - 1 / (K - 1)), P the chance that k
 *             is better than the arm of the lowest b, both normally distributed (Thompson 1933, with the chance in
 *             place of a draw; of two arms q is the chance itself, of many nearly its odds squared, since matching
 *             the chance spends too much on many arms that are each unlikely to be better); of the arm of the lowest
 *             b it is 1. Without beliefs, or with s = 0, it is fastcb
 *
 * The best arm is the first of the lowest. A predicted loss or belief that is not finite counts as worse than any that
 * is, by the whole width of the loss scale, 1, from the best; so probabilities are always finite. p(k) may be 0 of an
 * eligible arm where q is. t counts decisions from 0. Pure functions; any thread. */
#ifndef COP_BANDIT_POLICY_H
#define COP_BANDIT_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bandit/shares.h"
#include "base/err.h"
#include "base/rng.h"

typedef struct cop_policy_settings {
	double epsilon;       /* [0, 1] */
	double epsilon_decay; /* >= 0 */
	double epsilon_floor; /* [0, epsilon] */
	double gamma;         /* > 0 */
	uint64_t first;       /* so many first decisions are drawn evenly, see learn/explorer.h */
	double optimism;      /* >= 0: what a learner takes off predicted losses for its standard errors */
	cop_shares shares;    /* kept of whatever a policy gives, by who draws from it (learn/explorer.h) */
} cop_policy_settings;

/* What a learner estimates of every arm beside its predictions (policy matching). */
typedef struct cop_policy_belief {
	double share;      /* s, in [0, 1] */
	const float *mean; /* arms: b; not finite: nothing is known */
	const float *deviation;
} cop_policy_belief;

typedef struct cop_policy {
	const char *name;
	bool believes; /* reads beliefs */
	/* Fills p (zero for arms not eligible, sum 1 up to rounding). `best` and `eligible` count are given; belief may
	 * be NULL. */
	void (*probabilities)(const cop_policy_settings *settings, uint64_t t, size_t arms, const float *loss,
	        const uint8_t *mask, size_t best, size_t eligible, const cop_policy_belief *belief, double *p);
} cop_policy;

/* By name; NULL when there is none. */
const cop_policy *cop_policy_find(const char *name);

/* The arm of lowest predicted loss among the eligible, and their number.
 * COP_EINVAL: no arm is eligible. */
COP_CHECK cop_err cop_policy_best(size_t arms, const float *loss, const uint8_t *mask, size_t *best, size_t *eligible);

/* What a policy would do, for whoever evaluates it. */
typedef struct cop_policy_view {
	size_t arms;
	size_t best;       /* the greedy arm: of the lowest predicted loss, without any bonus for exploration */
	const double *p;   /* arms: probabilities; borrowed until the next call of whoever gave it */
	const float *loss; /* arms: predicted losses in [0, 1], without optimism; borrowed likewise */
} cop_policy_view;

/* Another way to explore than a learner's own. */
typedef struct cop_policy_other {
	const cop_policy *policy;
	const cop_policy_settings *settings; /* complete */
	double *p;                           /* room for the probabilities of as many actions as the view has */
} cop_policy_other;

/* One draw: an arm with p > 0. Takes one number from the generator whatever p is. */
size_t cop_policy_draw(size_t arms, const double *p, cop_rng *rng);

#endif
