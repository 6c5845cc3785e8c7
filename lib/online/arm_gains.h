/* online/arm_gains.h: what the policy gains over always playing one arm, at a constant cost for each decision.
 *
 * The figures and intervals are those of online/constant_arms.h. There every decision moves the bounds of every arm;
 * here it adds what it tells to sums of the block in hand: to those of all arms its loss l, to those of its own arm
 * alone w l and w, w = 1 / p. Both ends of an arm's interval follow from these,
 *     sum of w l - l = (sum of w l of its plays) - (sum of l),
 *     sum of (w l - l)^2 = (sum of l^2) + (sum of w (w - 2) l^2 of its plays),    and so of 1 - l,
 * with every COP_ARM_GAINS_BLOCK decisions, or earlier for whoever looks. What comes later in a block is foreseen by
 * what came before the block (cop_running_bound_add_block), and nothing else is given up: the interval holds at all
 * times. An arm that was not eligible takes the decision's loss out of its sums, so a mask costs a step for each such
 * arm.
 *
 * No propensity is assumed to be large. An arm that the policy may not play (p is 0) has w = 0, which is at most what
 * its losses are: the interval is as wide as the range of losses then, and true; there is no estimate before its first
 * play.
 *
 * That is the gain over the very decisions that came, whatever units they were for, since each draw is one of its own.
 * Where decisions have units that come again, it also matters how other units would fare: from the first one with a
 * unit on (which begins the figures anew) sums are kept for clusters of units (evaluate/cluster_mean.h), one without a
 * unit being one by itself, and the interval is the wider one of that and of
 *     sum s_c / sum n_c -+ the boundary of cluster_mean.h,    s_c = sum of w l - l in cluster c,
 * with k the least effective number of clusters by n, the losses, the rests, and these three of the arm's plays,
 * weighed by w; below 10 of them it is the whole range.
 *
 * Memory is taken once. Plain struct; distinct objects on distinct threads. */
#ifndef COP_ONLINE_ARM_GAINS_H
#define COP_ONLINE_ARM_GAINS_H

#include "evaluate/cluster_mean.h"
#include "online/constant_arms.h"

/* So that at its end the bounds of 32 arms take, for each decision, not much more than the sums do. */
#define COP_ARM_GAINS_BLOCK 128
#define COP_ARM_GAINS_ALONE UINT8_MAX /* as a cluster: the decision had no unit */

/* Of the block in hand. */
typedef struct cop_arm_gains_sums {
	double n, loss, squares; /* decisions, sum of l, sum of l^2 */
} cop_arm_gains_sums;

typedef struct cop_arm_gains_plays {
	double weight, square;      /* sums of w, w^2 */
	double loss;                /* of w l */
	double over, under;         /* of w (w - 2) l^2, w (w - 2) (1 - l)^2 */
	cop_arm_gains_sums without; /* decisions in which it was not eligible */
} cop_arm_gains_plays;

/* Of all decisions, or of those in which an arm was not eligible. */
typedef struct cop_arm_gains_clusters {
	double n[COP_CLUSTERS], loss[COP_CLUSTERS];
} cop_arm_gains_clusters;

typedef struct cop_arm_gains_visits {
	double weight[COP_CLUSTERS], loss[COP_CLUSTERS]; /* sums of w, w l of its plays */
	cop_arm_gains_clusters without;
} cop_arm_gains_visits;

typedef struct cop_arm_gains {
	cop_constant_arms whole; /* of blocks that are over; its count is that of the arms */
	double since;            /* seconds: decisions from before are none of these */
	uint64_t losses;
	cop_arm_gains_sums block;
	cop_arm_gains_plays *plays; /* owned, of each arm */
	bool units;                 /* some decision had one */
	cop_arm_gains_clusters visits;
	cop_arm_gains_visits *arm_visits; /* owned, of each arm */
} cop_arm_gains;

/* A loss in [0, 1] of a decision of the policy's. */
typedef struct cop_arm_gains_loss {
	uint32_t arm;
	double p;            /* in (0, 1] */
	const uint8_t *mask; /* which arms were eligible; NULL: all */
	uint8_t cluster;     /* of its unit, below COP_CLUSTERS, or COP_ARM_GAINS_ALONE */
	double loss;
} cop_arm_gains_loss;

/* count 0, or more than COP_CONSTANT_ARMS_MOST: there are no figures. COP_ENOMEM. Caller finishes with fini. */
COP_CHECK cop_err cop_arm_gains_init(cop_arm_gains *gains, size_t count);
void cop_arm_gains_fini(cop_arm_gains *gains);
/* Begins anew, with decisions from that time on. */
void cop_arm_gains_clear(cop_arm_gains *gains, double since);
void cop_arm_gains_add(cop_arm_gains *gains, const cop_arm_gains_loss *told);
/* All that was added counts; gain is NaN where the arm was never played. */
void cop_arm_gains_get(const cop_arm_gains *gains, size_t k, cop_constant_gain *out);
/* Whether there is anything to save. */
bool cop_arm_gains_is_used(const cop_arm_gains *gains);

void cop_arm_gains_save(const cop_arm_gains *gains, cop_bytes *out);
/* Into ones of as many arms, or of more, which begin then. Errors stay in the cursor's err; COP_EFORMAT: fewer arms, or
 * nothing gives such sums. */
void cop_arm_gains_load(cop_arm_gains *gains, cop_cursor *in);
/* As saving and loading would. */
void cop_arm_gains_inherit(cop_arm_gains *gains, const cop_arm_gains *from);

#endif
