/* learn/joint_linear.h: one linear function of joint rows (learn/joint.h), learned by per-coordinate AdaGrad steps:
 * the linear term of scorers whose scores are logits.
 *
 * w has a weight for each input of whole rows from input `from` on (0: all, the near size: products alone); those
 * before stay 0. One thread per object; nothing is allocated after init. */
#ifndef COP_LEARN_JOINT_LINEAR_H
#define COP_LEARN_JOINT_LINEAR_H

#include "base/bytes.h"
#include "base/err.h"
#include "learn/explanation.h"
#include "learn/joint.h"

typedef struct cop_joint_linear {
	size_t from, inputs;
	float rate;
	bool sparse;
	float *w, *sum; /* inputs */
	cop_joint_fold fold;
} cop_joint_linear;

/* COP_ENOMEM; caller finishes with fini, also then. */
COP_CHECK cop_err cop_joint_linear_init(
        cop_joint_linear *linear, const cop_joint_settings *joint, bool products_only, float rate);
void cop_joint_linear_fini(cop_joint_linear *linear);
double cop_joint_linear_footprint(const cop_joint_settings *joint);

/* Folds the joint's context in; then the value for its candidate. */
void cop_joint_linear_begin(cop_joint_linear *linear, const cop_joint *joint);
float cop_joint_linear_score(const cop_joint_linear *linear, const cop_joint *joint);
/* For a whole row: its value, and a step along g, the loss's gradient by it (finite, at most 1e15 in size). */
float cop_joint_linear_value(const cop_joint_linear *linear, const cop_row *whole);
void cop_joint_linear_update(cop_joint_linear *linear, const cop_row *whole, float g);
/* Adds its value to the expert's linear term, and its heaviest features to the expert's. */
void cop_joint_linear_explain(const cop_joint_linear *linear, const cop_row *whole, cop_explained_expert *expert);

void cop_joint_linear_save(const cop_joint_linear *linear, cop_bytes *bytes);
/* COP_ESHAPE, COP_EFORMAT, COP_ENONFINITE; then its state is undefined. */
COP_CHECK cop_err cop_joint_linear_load(cop_joint_linear *linear, cop_cursor *cursor);

#endif
