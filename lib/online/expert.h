/* online/expert.h: one member of the mixture that the ensemble learner is: it predicts every arm's loss from an input
 * row and learns from the loss of the played arm.
 *
 * An expert is a row of a const table. Inputs are standardised rows of D = features + 1 entries. One thread per
 * expert; predict, learn and explain allocate nothing. */
#ifndef COP_ONLINE_EXPERT_H
#define COP_ONLINE_EXPERT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/rng.h"
#include "linalg/kernel.h"
#include "linalg/row.h"
#include "online/explanation.h"
#include "online/mixture.h"

typedef struct cop_expert_settings {
	const cop_kernel *kernel;
	size_t inputs;  /* D */
	size_t typical; /* entries of a usual row */
	bool sparse;
	size_t arms;
	size_t trees;
	unsigned height;
	float rate; /* factor on the expert's own rates; 1 is its default */
} cop_expert_settings;

typedef struct cop_expert_class {
	cop_member_class member;
	/* *out is NULL on error: COP_EINVAL, COP_ENOMEM. May draw from rng. */
	cop_err (*create)(const cop_expert_settings *settings, cop_rng *rng, void **out);
	/* Predicted loss of every arm; room for cop_kernel_pad(arms), 64-byte aligned. */
	void (*predict)(void *expert, const cop_row *x, float *loss);
	/* loss in [0, 1]. COP_EDIVERGED: nothing changed. */
	cop_err (*learn)(void *expert, const cop_row *x, size_t arm, double loss);
	void (*explain)(void *expert, const cop_row *x, size_t arm, cop_explanation *e, cop_explained_expert *out);
} cop_expert_class;

extern const cop_expert_class cop_expert_linear; /* second-order linear, online/second_order.h */
extern const cop_expert_class cop_expert_trees;  /* linear term and M trees, online/additive.h */

#endif
