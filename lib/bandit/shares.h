/* bandit/shares.h: least and largest probabilities of arms, and the distribution within them.
 *
 * p(k), k in [0, arms): a policy's probabilities over n eligible arms (mask[k] != 0; NULL: all). Of arm k is kept
 *   least(k) = max(share_min(k), min(f / n, share_max(k)))      f = least_propensity, in [0, 1]
 *   most(k)  = share_max(k)                                     share_min 0, share_max 1 where none is given
 * A distribution that is within is left as it is, to the bit. Else
 *   q(k) = min(most(k), least(k) + c w(k)),   w(k) = max(p(k) - least(k), 0),   c such that q sums to 1:
 * arms below their least are raised to it, and what that takes comes from the others in proportion to what they have
 * above theirs; what arms give up at their most goes to the others by the same proportion. Where every arm with w > 0
 * is at its most, the rest is spread over the others with w = 1. Mixing all of p with the uniform distribution would
 * keep f / n as well, but takes f of what the policy prefers even where it explores more than that. Where the eligible
 * arms' share_max add to less than 1, q is proportional to them (uniform if they are all 0). Of an arm,
 * the limit that decided is the one that raised p(k) to q(k) or lowered it: its own share_min or least_propensity, or
 * share_max, its own or, of an arm that is raised beyond its least, that of others. An arm that is lowered because
 * others are raised has none: it is played in spite of them. For a density that is constant on n equal pieces of a
 * range, the pieces are the arms: it stays at least f times uniform. Pure functions; any thread. */
#ifndef COP_BANDIT_SHARES_H
#define COP_BANDIT_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define COP_SHARES_ARMS 64 /* with a share of their own, at most */

/* Rising by arm; zero beyond count. No padding. */
typedef struct cop_arm_shares {
	uint64_t count;
	uint32_t arm[COP_SHARES_ARMS];
	double share[COP_SHARES_ARMS]; /* [0, 1] */
} cop_arm_shares;

typedef struct cop_shares {
	double least_propensity; /* f in [0, 1] */
	cop_arm_shares min, max;
} cop_shares;

typedef enum cop_shares_limit {
	COP_SHARES_LIMIT_NONE = 0, /* the policy decided */
	COP_SHARES_LIMIT_MIN,      /* share_min */
	COP_SHARES_LIMIT_MAX,      /* share_max */
	COP_SHARES_LIMIT_LEAST,    /* least_propensity */
	COP_SHARES_LIMITS
} cop_shares_limit;

/* "ARM=SHARE", ARM a whole number from 0, SHARE a number in [0, 1], into its place. NULL, or what was expected. */
const char *cop_shares_add(cop_arm_shares *shares, const char *text);

/* Whether an arm is retired: its share_max is 0. */
bool cop_shares_retired(const cop_shares *shares, size_t arm);
/* out (arms flags): the eligible arms that are not retired. False: there is none, or none is retired, so the mask is as
 * good; out is not set then. */
bool cop_shares_without_retired(const cop_shares *shares, size_t arms, const uint8_t *mask, uint8_t *out);

/* What contradicts itself in a model of that many arms (0: candidates, which have no shares of their own),
 * "option: expectation"; NULL: nothing does. Then least(k) add to at most 1 under every mask. */
const char *cop_shares_refusal(const cop_shares *shares, size_t arms);

/* p becomes q. eligible: n, at least 1; p is 0 where an arm is not eligible and stays so. In at most
 * share_max.count + 3 passes over p. True: q is not p, which is in was (arms; NULL: not wanted) then. */
bool cop_shares_keep(
        const cop_shares *shares, size_t arms, const uint8_t *mask, size_t eligible, double *p, double *was);
/* What decided about an eligible arm whose p was that, and is q now. */
cop_shares_limit cop_shares_limit_of(const cop_shares *shares, size_t eligible, size_t arm, double was, double q);

#endif
