/* learn/explorer.h: how a learner of arms explores: policy, its clock and its generator, as one piece of state.
 *
 * The first decisions, as many as the settings say, are drawn evenly from the eligible arms instead of by the policy.
 * Whatever the policy gives, arms keep their least and largest shares (bandit/shares.h) before anything is drawn or
 * viewed: deciding, evaluating and replaying see the same probabilities.
 * One thread per object; choosing allocates nothing. */
#ifndef COP_LEARN_EXPLORER_H
#define COP_LEARN_EXPLORER_H

#include "bandit/policy.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/rng.h"
#include "learn/learner.h"

typedef struct cop_explorer {
	const cop_policy *policy;
	size_t arms;
	uint64_t decisions; /* t of the policy */
	uint64_t viewed;    /* that of the last view or choice */
	cop_rng rng;
	const cop_policy_belief *belief; /* the learner's, for the next choice or view; NULL: none */
	double *p;                       /* arms: of the last choice */
	double *was;                     /* arms: the policy's own, where p is another one */
	bool limited;                    /* p is another one */
	size_t eligible;                 /* arms, of the last choice or view */
} cop_explorer;

/* Policy, arms and seed of complete settings. COP_ENOMEM. Caller finishes with fini. */
COP_CHECK cop_err cop_explorer_init(cop_explorer *explorer, const cop_learner_settings *settings);
void cop_explorer_fini(cop_explorer *explorer);

/* Draws an arm for predicted losses; fills arm, p, limit and greedy of *out. COP_EINVAL: no arm is eligible; nothing
 * changed. */
COP_CHECK cop_err cop_explorer_choose(cop_explorer *explorer, const cop_policy_settings *settings, const float *loss,
        const uint8_t *mask, cop_decision *out);
/* What choose would draw from, without a draw; nothing changes but the buffer of probabilities. Errors as choose. */
COP_CHECK cop_err cop_explorer_view(cop_explorer *explorer, const cop_policy_settings *settings, const float *loss,
        const uint8_t *mask, cop_policy_view *out);
/* The last view or choice again, as another policy would have it; nothing changes but its room, and `was`. */
COP_CHECK cop_err cop_explorer_view_as(const cop_explorer *explorer, const cop_policy_other *other, const float *loss,
        const uint8_t *mask, cop_policy_view *out);
/* Of the last choice or view, by losses that it was made for (as a view's): arms, p and loss; best is not known. */
cop_policy_view cop_explorer_last(const cop_explorer *explorer, const float *loss);
/* Clock and generator move as by a choice that was made before. */
void cop_explorer_advance(cop_explorer *explorer);
/* The best of the eligible arms (mask NULL: all; at least one); nothing changes. */
size_t cop_explorer_best(const cop_explorer *explorer, const float *loss, const uint8_t *mask);

void cop_explorer_save(const cop_explorer *explorer, cop_bytes *bytes);
/* Failure is in cursor->err. */
void cop_explorer_load(cop_explorer *explorer, cop_cursor *cursor);
/* As learn/learner.h's. */
void cop_explorer_inherit(cop_explorer *explorer, const cop_explorer *from);

#endif
