/* learn/additive.h: a linear term plus M additive oblique trees, the first-order model under two learners.
 *
 * score_k(x) = A_k x + sum over m of theta^m[leaf_m(x), k], k in [0, outputs), x with its constant (D = d + 1 inputs).
 * Dense-gradient steps (tree/dgt.h) for the splits, per-coordinate AdaGrad everywhere, Theta and A started at 0, W at
 * random so that margins of standardised inputs have about unit variance. M = 0: the linear term alone.
 * Leaves may also be taken as linear in some row c of `outputs` inputs: score = sum over k of c_k sum over m of
 * theta^m[leaf_m(x), k].
 * W of inputs that no update has touched is not saved but drawn again, from the generator's state at the beginning,
 * which is.
 * Weights are feature-major blocks (linalg/kernel.h): tree m's node t is column t M + m. One thread per object;
 * nothing is allocated after new. */
#ifndef COP_LEARN_ADDITIVE_H
#define COP_LEARN_ADDITIVE_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/rng.h"
#include "learn/anatomy.h"
#include "learn/explanation.h"
#include "linalg/kernel.h"
#include "linalg/row.h"
#include "tree/oblique_tree.h"

typedef struct cop_additive cop_additive;

typedef struct cop_additive_settings {
	const cop_kernel *kernel;
	size_t inputs;  /* D, with the constant */
	size_t typical; /* entries of a usual row: D when dense */
	size_t outputs;
	size_t trees;     /* M */
	unsigned height;  /* 1 .. COP_DGT_MAX_HEIGHT; unused when trees is 0 */
	bool sparse;      /* rows are: only inputs that were learned are saved */
	bool in_parts;    /* room for cop_additive_begin */
	bool along;       /* room for cop_additive_update_along; no linear term (A is not there) */
	size_t behind;    /* dense: the last inputs, before which further ones may come; 0: the constant alone */
	float split_rate; /* AdaGrad rates of W, Theta and A */
	float leaf_rate;
	float linear_rate;
} cop_additive_settings;

/* Draws W from rng. COP_EINVAL: a setting out of range. COP_ENOMEM. On error *out is NULL. */
COP_CHECK cop_err cop_additive_new(const cop_additive_settings *settings, cop_rng *rng, cop_additive **out);
void cop_additive_free(cop_additive *model);

/* Bytes that a model of these settings takes, about; as a double, since settings may ask for more than there is. */
double cop_additive_footprint(const cop_additive_settings *settings);

/* scores: outputs values, padded room of cop_kernel_pad(outputs), 64-byte aligned. */
void cop_additive_scores(cop_additive *model, const cop_row *x, float *scores);
/* Rows that begin alike: the first inputs once (a row of a lower dimension), then for each row the rest, whose input 0
 * is input `at` of the whole, and its score of output 0. */
void cop_additive_begin(cop_additive *model, const cop_row *first);
float cop_additive_finish(cop_additive *model, const cop_row *rest, size_t at);
/* One step along g, the loss's gradient by the score of `output`; x must be the row of the last cop_additive_scores
 * (its margins and leaves are used). COP_EDIVERGED: g is not finite or beyond 1e15; nothing
 * changed. */
COP_CHECK cop_err cop_additive_update(cop_additive *model, const cop_row *x, size_t output, float g);

/* Of models made for it (with trees): margins and leaves of x, then the score for c, dense or sparse, and one step of
 * it along g, the loss's gradient by that score; x must be the row of the last walk. COP_EDIVERGED as above. */
void cop_additive_walk(cop_additive *model, const cop_row *x);
float cop_additive_along(const cop_additive *model, const cop_row *c);
COP_CHECK cop_err cop_additive_update_along(cop_additive *model, const cop_row *x, const cop_row *c, float g);

void cop_additive_explain(
        cop_additive *model, const cop_row *x, size_t output, cop_explanation *e, cop_explained_expert *expert);
/* Paths and leaf values for c; the expert's features and linear are left alone. */
void cop_additive_explain_along(
        cop_additive *model, const cop_row *x, const cop_row *c, cop_explanation *e, cop_explained_expert *expert);
/* A's weights. */
void cop_additive_anatomy(const cop_additive *model, cop_anatomy_linear *out);
/* Tree m as a plain oblique tree over D - 1 features and a bias, its leaves' values for every output. Caller frees. */
COP_CHECK cop_err cop_additive_tree(const cop_additive *model, size_t m, cop_oblique_tree **out);
size_t cop_additive_trees(const cop_additive *model);

void cop_additive_save(const cop_additive *model, cop_bytes *bytes);
/* Into a model of the same shape, or of more outputs or, dense, more inputs: splits of those stay as they were drawn.
 * COP_ESHAPE, COP_EFORMAT, COP_ENONFINITE; then its state is undefined. */
COP_CHECK cop_err cop_additive_load(cop_additive *model, cop_cursor *cursor);
/* As learn/learner.h's of the same names. */
COP_CHECK cop_err cop_additive_make_room(cop_additive *model, const cop_additive *from);
void cop_additive_inherit(cop_additive *model, cop_additive *from);

#endif
