/* online/apprentice.h: what a model that only watches is worth, from decisions of an existing system.
 *
 * The system played an arm with propensity p; the model, which did not decide, would have played it with probability q
 * (own_p), and its best arm may be the same one (agrees). With its loss l the decision is evidence
 * (evaluate/promotion_test.h) whose champion is the system (w_c = 1) and whose challenger the model (w_n = q / p): the
 * gain is by how much the model's loss is lower, averaged over all decisions so far, each with the model as it then
 * was.
 *
 * Support. If in every context the system plays every arm that the model might, and p is right, weights have mean 1.
 * What it never plays is missing from them: their mean, `support`, is then the share of the model's choices that the
 * log can tell of, and the estimate of the gain is biased by up to the rest. It is not given unless
 *     there are COP_APPRENTICE_LEAST losses, of which one at least had p < 1;
 *     support + 3 standard errors >= 0.95: else the system explores too little;
 *     support - 3 standard errors <= 1.05: else p is not the propensity; and
 *     0.9 <= support <= 1.1: else weights vary too much for so few losses.
 * Its interval (cop_promotion_test_defaults, but nothing is clipped below a weight of 1e6) needs no support: the
 * event's weight_most is not told, so the terms of both bounds are those that only lose what is missing (w_n (1 - l) +
 * l - 1 has mean <= gain, w_n l - l has mean <= -gain, whatever part of the model's choices w_n sees). Where p = 1
 * throughout no lower bound is above 0: w_n <= 1. It is kept back all the same with the estimate, since a wrong p
 * spoils both.
 *
 * Constant memory. Plain structs; distinct objects on distinct threads. */
#ifndef COP_ONLINE_APPRENTICE_H
#define COP_ONLINE_APPRENTICE_H

#include "evaluate/promotion_test.h"

#define COP_APPRENTICE_LEAST 100 /* losses */

typedef struct cop_apprentice {
	uint64_t observed; /* decisions of the system */
	uint64_t agreed;   /* of them, where the model's best arm was the one played */
	uint64_t explored; /* of those with a loss, where p was below 1 */
	cop_sum own;       /* of q */
	cop_promotion_test evidence;
} cop_apprentice;

/* Why there is no estimate of the gain. */
typedef enum cop_apprentice_doubt {
	COP_APPRENTICE_SURE = 0, /* there is one */
	COP_APPRENTICE_FEW,      /* losses so far */
	COP_APPRENTICE_NARROW,   /* no support: the system explores too little */
	COP_APPRENTICE_WRONG,    /* weights are above 1 on average: p is not the system's propensity */
	COP_APPRENTICE_DOUBTS
} cop_apprentice_doubt;

typedef struct cop_apprentice_summary {
	uint64_t observed, agreed, losses;
	double agreement; /* agreed / observed; NaN without any */
	double own_p;     /* mean of q; NaN without any */
	double support;   /* mean weight; NaN without losses */
	cop_apprentice_doubt doubt;
	double gain, low,
	        high; /* losses as shares of loss_range; NaN where there is a doubt. 95 %, at all times at once */
} cop_apprentice_summary;

void cop_apprentice_init(cop_apprentice *apprentice);
bool cop_apprentice_is_used(const cop_apprentice *apprentice);
/* A decision of the system, of which the model would have played the arm with probability own_p in [0, 1]. */
void cop_apprentice_note(cop_apprentice *apprentice, double own_p, bool agrees);
/* Its loss in [0, 1]; p in (0, 1]. A weight above 1e12 is no evidence. */
void cop_apprentice_weigh(cop_apprentice *apprentice, double p, double own_p, double loss);
void cop_apprentice_summarise(const cop_apprentice *apprentice, cop_apprentice_summary *out);
/* A few words, as "too few losses so far"; "" where there is none. */
const char *cop_apprentice_doubt_text(cop_apprentice_doubt doubt);

void cop_apprentice_save(const cop_apprentice *apprentice, cop_bytes *out);
/* Leaves *apprentice alone on error: COP_EFORMAT, COP_ENONFINITE, COP_EVERSION. */
COP_CHECK cop_err cop_apprentice_load(cop_apprentice *apprentice, cop_cursor *in);

#endif
