/* learn/cross_linear.h: one linear function of joint rows (learn/cross_features.h), learned by per-coordinate AdaGrad
 * steps: the linear term of scorers whose scores are logits.
 *
 * w has a weight for each input of whole rows from input `from` on (0: all, the near size: products alone); those
 * before stay 0. One thread per object; nothing is allocated after init. */
#ifndef COP_LEARN_CROSS_LINEAR_H
#define COP_LEARN_CROSS_LINEAR_H

#include "base/bytes.h"
#include "base/err.h"
#include "learn/cross_features.h"
#include "learn/explanation.h"

typedef struct cop_cross_linear {
	cop_cross_features_settings joint;
	size_t from, inputs;
	float rate;
	bool sparse;
	float *w, *sum; /* inputs */
	cop_cross_features_fold fold;
} cop_cross_linear;

/* COP_ENOMEM; caller finishes with fini, also then. */
COP_CHECK cop_err cop_cross_linear_init(
        cop_cross_linear *linear, const cop_cross_features_settings *joint, bool products_only, float rate);
void cop_cross_linear_fini(cop_cross_linear *linear);
double cop_cross_linear_footprint(const cop_cross_features_settings *joint);

/* Folds the joint's context in; then the value for its candidate. */
void cop_cross_linear_begin(cop_cross_linear *linear, const cop_cross_features *joint);
float cop_cross_linear_score(const cop_cross_linear *linear, const cop_cross_features *joint);
/* For a whole row: its value, and a step along g, the loss's gradient by it (finite, at most 1e15 in size). */
float cop_cross_linear_value(const cop_cross_linear *linear, const cop_row *whole);
void cop_cross_linear_update(cop_cross_linear *linear, const cop_row *whole, float g);
/* Adds its value to the expert's linear term, and its heaviest features to the expert's. */
void cop_cross_linear_explain(const cop_cross_linear *linear, const cop_row *whole, cop_explained_expert *expert);

void cop_cross_linear_save(const cop_cross_linear *linear, cop_bytes *bytes);
/* Dense, every pair a product: also of fewer context features; further ones' weights are as they begin. COP_ESHAPE,
 * COP_EFORMAT, COP_ENONFINITE; then its state is undefined. */
COP_CHECK cop_err cop_cross_linear_load(cop_cross_linear *linear, cop_cursor *cursor);

#endif
