/* learn/candidate_expert.h: one member of the mixture that ranks candidates: it predicts the loss of a candidate in a
 * context from their joint row and learns from the loss of the played one. What learn/expert.h is to numbered arms.
 *
 * A scorer is a row of a const table. One thread per scorer; nothing is allocated after create. */
#ifndef COP_LEARN_CANDIDATE_EXPERT_H
#define COP_LEARN_CANDIDATE_EXPERT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/rng.h"
#include "learn/cross_features.h"
#include "learn/explanation.h"
#include "learn/mixture.h"

typedef struct cop_candidate_expert_settings {
	cop_cross_features_settings joint;
	size_t typical;           /* entries of a usual near row */
	size_t candidate_entries; /* of a usual candidate with its constant */
	size_t trees;
	unsigned height;
	float rate; /* factor on the scorer's own rates; 1 is its default */
} cop_candidate_expert_settings;

typedef struct cop_candidate_expert_class {
	cop_member_class member;
	/* *out is NULL on error: COP_EINVAL, COP_ENOMEM. May draw from rng. */
	cop_err (*create)(const cop_candidate_expert_settings *settings, cop_rng *rng, void **out);
	double (*footprint)(const cop_candidate_expert_settings *settings);
	/* joint holds a context: what all of its candidates share. */
	void (*begin)(void *scorer, const cop_cross_features *joint);
	/* joint holds one of its candidates: its predicted loss. */
	float (*score)(void *scorer, const cop_cross_features *joint);
	/* x'Px of the candidate's whole row: how little is known of it, in the variances of one loss, 0 where rounding
	 * has spoiled it. NULL: it cannot tell. */
	float (*spread)(void *scorer, const cop_cross_features_rows *rows);
	/* Rows of the played candidate; loss in [0, 1]. COP_EDIVERGED: nothing changed. */
	cop_err (*learn)(void *scorer, const cop_cross_features_rows *rows, double loss);
	void (*explain)(
	        void *scorer, const cop_cross_features_rows *rows, cop_explanation *e, cop_explained_expert *out);
} cop_candidate_expert_class;

extern const cop_candidate_expert_class
        cop_candidate_expert_linear; /* second-order linear on whole rows, learn/second_order.h */
extern const cop_candidate_expert_class
        cop_candidate_expert_trees; /* linear on whole rows and M trees on near ones, learn/additive.h */
extern const cop_candidate_expert_class
        cop_candidate_expert_leaves; /* the same, but trees of contexts with leaves linear in the candidate */

#endif
