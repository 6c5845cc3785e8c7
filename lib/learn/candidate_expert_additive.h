/* learn/candidate_expert_additive.h: what the scorers made of trees and a linear term on products share (private to
 * them).
 *
 * Scores are logits: predicted loss = 1 - sigmoid(score), learned by the logistic loss without importance weights. */
#ifndef COP_LEARN_CANDIDATE_EXPERT_ADDITIVE_H
#define COP_LEARN_CANDIDATE_EXPERT_ADDITIVE_H

#include "bandit/estimator.h"
#include "learn/additive.h"
#include "learn/candidate_expert.h"
#include "learn/cross_linear.h"

typedef struct cop_candidate_expert_additive {
	const cop_kernel *kernel;
	cop_additive *model;
	cop_cross_linear linear;
	const cop_estimator *estimator;
	float *scores; /* room of the scorer's own, or NULL */
} cop_candidate_expert_additive;

/* Linear term, with the constants of both sides or products alone, and trees; scores: so many floats, 0: none.
 * COP_EINVAL, COP_ENOMEM; on error *out is NULL. */
COP_CHECK cop_err cop_candidate_expert_additive_new(const cop_candidate_expert_settings *settings,
        const cop_additive_settings *of_trees, bool products_only, size_t scores, cop_rng *rng, void **out);

/* Rows of the scorers' tables. */
#define COP_CANDIDATE_EXPERT_ADDITIVE_MEMBER(its_name)                                                                 \
	{                                                                                                              \
		.name = its_name, .destroy = cop_candidate_expert_additive_free,                                       \
		.save = cop_candidate_expert_additive_save, .load = cop_candidate_expert_additive_load,                \
		.trees = cop_candidate_expert_additive_trees, .tree = cop_candidate_expert_additive_tree,              \
		.anatomy = cop_candidate_expert_additive_anatomy                                                       \
	}
void cop_candidate_expert_additive_free(void *scorer);
void cop_candidate_expert_additive_save(const void *scorer, cop_bytes *bytes);
COP_CHECK cop_err cop_candidate_expert_additive_load(void *scorer, cop_cursor *cursor);
void cop_candidate_expert_additive_anatomy(const void *scorer, cop_anatomy_part *out);
size_t cop_candidate_expert_additive_trees(const void *scorer);
COP_CHECK cop_err cop_candidate_expert_additive_tree(const void *scorer, size_t m, cop_oblique_tree **out);

#endif
