/* online/model_shadow.h: a second learner beside the serving one of a model, until evidence says which is better.
 *
 * A challenge clones the serving learner, gives the clone the trees of a batch fit (cop_learner_refit) and lets it run
 * in the shadow: at every decision it says with what probability it would have played the arm, from every loss that the
 * serving one learns it learns too. A promotion swaps the two; the old one goes on in the shadow, so that a rollback
 * can swap them back. Decisions that wait over all this are learned by both learners with what each one had predicted.
 *
 * Evidence (evaluate/promotion_test.h) is from decisions that both learners saw: the serving one is the champion, the
 * one in the shadow the challenger, the propensity the logged one. It begins anew at a challenge and at every swap,
 * roles turned: after a promotion, "better" is evidence to roll back. Of learners with experts, whose challenger has
 * one more, predictions are judged (COP_PROMOTION_TEST_ERROR), unless a margin or policies are asked for. The n-th
 * challenge may spend 2 / ((n + 1) (n + 2)) of the rule's risk, so that all of them together spend no more than it. By
 * predictions the n-th rival of a champion bets 0.8 / (n (n + 1)) of what is staked, predecessors 0.2 / (n (n + 1)),
 * what they won stays with the next one, and it begins anew when a rival has won by wealth (evaluate/promotion_test.h).
 * Value models have no propensities, and a loss at one value says nothing of another: for them there is no evidence,
 * the verdict stays open, and somebody has to decide. Their learners also learn only from values within delta of their
 * own: a slope elsewhere is not theirs.
 *
 * All calls but the views are events: the same ones in the same order give the same bytes. They are part of what
 * cop_model_save writes. Thread rule as of the model; only challenges allocate. Decisions cost about twice as much with
 * a shadow, and memory of the model is that of two learners. */
#ifndef COP_ONLINE_MODEL_SHADOW_H
#define COP_ONLINE_MODEL_SHADOW_H

#include "evaluate/promotion_test.h"
#include "online/model.h"

/* What the evidence of coming challenges and swaps is judged by; of the configuration, not saved (but the evidence
 * there is keeps its own). Estimator COP_PROMOTION_TEST_ERROR is for learners with experts and margin 0; for all others
 * it is as COP_PROMOTION_TEST_DR. COP_EINVAL, COP_ENONFINITE: nothing changed. */
COP_CHECK cop_err cop_model_judge_by(cop_model *model, const cop_promotion_test_settings *rule);
/* What a new model goes by: cop_promotion_test_defaults, but predictions. */
void cop_model_judge_defaults(cop_promotion_test_settings *rule);

/* A challenger from these trees (borrowed; learn/learner.h says which ones a learner takes in), in place of the one
 * there is. COP_ESHAPE with *diag: the learner cannot take them in. COP_EINVAL, COP_ENONFINITE, COP_ENOMEM. Nothing
 * changed then. Explanations kept may be forgotten, when its own need more room. */
COP_CHECK cop_err cop_model_challenge(cop_model *model, const cop_trees *trees, cop_diag *diag);
/* The same with a spare that was made for the serving learner's settings: in the time in which its state is copied. The
 * spare comes back with the learner whose place was taken, if there was one, or after an error with what it held; it is
 * not for use again. */
COP_CHECK cop_err cop_model_challenge_with(
        cop_model *model, const cop_trees *trees, cop_learner_spare *spare, cop_diag *diag);
/* The challenger serves. cop_model_learner gives another learner from here on. COP_ENOTFOUND: there is none, or it
 * serves already. */
COP_CHECK cop_err cop_model_promote(cop_model *model);
/* Who served before the promotion serves again. COP_ENOTFOUND: he is not there any more, or serves. */
COP_CHECK cop_err cop_model_rollback(cop_model *model);
/* The learner in the shadow goes. COP_ENOTFOUND: there is none. */
COP_CHECK cop_err cop_model_retire(cop_model *model);
/* A frozen model decides, and no learner of it learns, statistics included; losses are counted and weighed. */
void cop_model_freeze(cop_model *model, bool frozen);

typedef struct cop_model_evidence {
	bool shadow;   /* there is one */
	bool promoted; /* a challenger serves (its predecessor is in the shadow, unless retired) */
	bool frozen;
	uint32_t challenges;                /* so far */
	uint64_t rev;                       /* of the learner in the shadow; 0: none */
	uint64_t refused;                   /* its updates that would have diverged, since the challenge */
	uint64_t frozen_losses;             /* of the model: losses that came while it was frozen, */
	double frozen_loss_sum;             /* in loss_range */
	cop_promotion_test_summary summary; /* without a shadow: of no events */
} cop_model_evidence;

void cop_model_get_evidence(const cop_model *model, cop_model_evidence *out);
/* Cheap enough for every event; open without a shadow. */
cop_promotion_test_verdict cop_model_verdict(const cop_model *model);
/* Who serves, and what the verdict is: as cheap. */
void cop_model_shadow_roles(const cop_model *model, cop_promotion_test_roles *out);

/* The serving learner's losses of all arms for a raw context, in [0, 1], into out: what a refit wants to know
 * (refit/refit_run.h). COP_ESHAPE: it has not so many arms. Nothing changes but workspaces. */
COP_CHECK cop_err cop_model_losses(cop_model *model, const cop_row *x, size_t arms, float *out);

#endif
