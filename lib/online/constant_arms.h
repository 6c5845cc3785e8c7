/* online/constant_arms.h: what the policy gains over always playing one arm, for each of a model's arms.
 *
 * Of a decision that the policy drew with propensity p for arm A and that lost l in [0, 1], w = [A = k] / p has mean 1
 * for each eligible arm k, and w l has the mean loss of k. So
 *     w l - l                has the mean  gain = loss of always k - loss of the policy,  and is at least -1,
 *     w (1 - l) - (1 - l)    has the mean -gain, and is at least -1,
 * and the running bound of each (evaluate/running_bound.h, with half of the risk) is an end of an interval that holds
 * at all times at once with probability 1 - COP_CONSTANT_ARMS_RISK: for each arm by itself, over the decisions in which
 * it was eligible, given all that came before, which may drift. Where p is small the interval is wide: `weight`^2 /
 * `square`, Kish's effective sample size, says how many losses of the arm's own it is worth.
 *
 * Memory is taken once. Plain struct; distinct objects on distinct threads. */
#ifndef COP_ONLINE_CONSTANT_ARMS_H
#define COP_ONLINE_CONSTANT_ARMS_H

#include "evaluate/running_bound.h"

#define COP_CONSTANT_ARMS_MOST   32 /* models of more have no such figures */
#define COP_CONSTANT_ARMS_RISK   0.05
#define COP_CONSTANT_ARMS_WEIGHT 1e11 /* the most: a larger one counts as this, which only moves the ends outward */

typedef struct cop_constant_arm {
	cop_running_bound over, under; /* of the gain and of its negative */
	double weight, square;         /* sums of w and w^2 */
} cop_constant_arm;

typedef struct cop_constant_arms {
	cop_constant_arm *arm; /* owned */
	size_t count;
} cop_constant_arms;

/* count 0, or more than COP_CONSTANT_ARMS_MOST: there are no figures. COP_ENOMEM. Caller finishes with fini. */
COP_CHECK cop_err cop_constant_arms_init(cop_constant_arms *arms, size_t count);
void cop_constant_arms_fini(cop_constant_arms *arms);
void cop_constant_arms_clear(cop_constant_arms *arms);
/* A loss in [0, 1] of the policy's; p in (0, 1]; mask: which arms were eligible, NULL: all. */
void cop_constant_arms_add(cop_constant_arms *arms, uint32_t arm, double p, const uint8_t *mask, double loss);

typedef struct cop_constant_gain {
	uint64_t losses;        /* of the policy's, where the arm was eligible */
	double effective;       /* sample size of the arm's own */
	double gain, low, high; /* NaN without losses */
} cop_constant_gain;

void cop_constant_arms_get(const cop_constant_arms *arms, size_t k, cop_constant_gain *out);
void cop_constant_arms_figures(const cop_constant_arm *arm, cop_constant_gain *out);
/* 1 / p, at most COP_CONSTANT_ARMS_WEIGHT. */
static inline double cop_constant_arms_weight(double p)
{
	return p > 1.0 / COP_CONSTANT_ARMS_WEIGHT ? 1.0 / p : COP_CONSTANT_ARMS_WEIGHT;
}

void cop_constant_arms_save(const cop_constant_arms *arms, cop_bytes *out);
/* Into ones of the same count, or of more, which begin then. How many there were. Errors stay in the cursor's err;
 * COP_EFORMAT: fewer, or nothing gives such sums. */
size_t cop_constant_arms_load(cop_constant_arms *arms, cop_cursor *in);
/* What another one has found of the arms that both have; the others begin. */
void cop_constant_arms_inherit(cop_constant_arms *arms, const cop_constant_arms *from);

#endif
