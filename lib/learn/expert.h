/* learn/expert.h: one member of the mixture that the ensemble learner is: it predicts every arm's loss from an input
 * row and learns from the loss of the played arm.
 *
 * An expert is a row of a const table. Inputs are standardised rows of D = features + 1 entries. One thread per
 * expert; predict, learn and explain allocate nothing. */
#ifndef COP_LEARN_EXPERT_H
#define COP_LEARN_EXPERT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/rng.h"
#include "learn/explanation.h"
#include "learn/mixture.h"
#include "linalg/kernel.h"
#include "linalg/row.h"

typedef struct cop_expert_settings {
	const cop_kernel *kernel;
	size_t inputs;  /* D */
	size_t typical; /* entries of a usual row */
	bool sparse;
	size_t entries; /* of a sparse row, at most, the constant included; 0: dense */
	size_t arms;
	size_t trees;
	unsigned height;
	float rate; /* factor on the expert's own rates; 1 is its default */
} cop_expert_settings;

typedef struct cop_expert_class {
	cop_member_class member;
	bool raw; /* rows of predict, learn and explain are raw ones instead of standardised */
	/* Whether it has anything to add for such inputs and arms; NULL: always. */
	bool (*can_help)(const cop_expert_settings *settings);
	/* Bytes that it takes, about. */
	double (*footprint)(const cop_expert_settings *settings);
	/* Multiplications of an event, about, by which the costliest is first tried for a rest (learn/dormancy.h);
	 * NULL: it never rests. */
	double (*cost)(const cop_expert_settings *settings);
	/* *out is NULL on error: COP_EINVAL, COP_ENOMEM. May draw from rng. */
	cop_err (*create)(const cop_expert_settings *settings, cop_rng *rng, void **out);
	/* Predicted loss of every arm; room for cop_kernel_pad(arms), 64-byte aligned. */
	void (*predict)(void *expert, const cop_row *x, float *loss);
	/* How little it knows of every arm where the row of the last predict was, in (0, 1]; NULL: it cannot tell. */
	void (*doubt)(const void *expert, float *out);
	/* loss in [0, 1]. again: x is the row of the last predict, and nothing was learned since, nor
	 * another row explained.
	 * COP_EDIVERGED: nothing changed. */
	cop_err (*learn)(void *expert, const cop_row *x, size_t arm, double loss, bool again);
	void (*explain)(void *expert, const cop_row *x, size_t arm, cop_explanation *e, cop_explained_expert *out);
	/* Whether an explained feature's index beyond D stands for a product of two inputs, and of which. NULL: none.
	 */
	bool (*product)(const void *expert, size_t index, size_t *i, size_t *j);
} cop_expert_class;

extern const cop_expert_class cop_expert_average;   /* of arms whatever the context, learn/averages.h */
extern const cop_expert_class cop_expert_linear;    /* second-order linear, learn/second_order.h */
extern const cop_expert_class cop_expert_quadratic; /* the same on products of inputs */
extern const cop_expert_class cop_expert_trees;     /* linear term and M oblique trees, learn/additive.h */
extern const cop_expert_class cop_expert_forest;    /* axis-aligned trees that grow, learn/forest.h */
extern const cop_expert_class cop_expert_refit;     /* what a batch fit made, learn/refit.h; has no create */

#endif
