/* learn/second_order.h: one linear least-squares model per arm, updated recursively.
 *
 * Arm k predicts its loss as 1/2 + w_k x, x with its constant (D inputs). Each arm keeps P_k, the inverse of ridge I +
 * sum of x xᵀ over the events it was played in, and moves by recursive least squares:
 *     k = P x / (1 + xᵀ P x),   w += k (loss - 1/2 - w x),   P -= k (P x)ᵀ
 * P may be cut to blocks on its diagonal, of so many consecutive inputs each (all of them: the full P), which are kept
 * as if each block's inputs were alone; xᵀ P x is then the sum over blocks. Or to the diagonal itself (each input's own
 * variance; the only form for sparse rows). Once rounding has made a block indefinite (xᵀ P x below 0), it begins again
 * from its own diagonal (of which what is not positive becomes 1 / ridge).
 * Starting at 1/2, neither the best nor the worst arm, matters: untried arms stay worth a look. One thread per object;
 * nothing is allocated after new. */
#ifndef COP_LEARN_SECOND_ORDER_H
#define COP_LEARN_SECOND_ORDER_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "learn/anatomy.h"
#include "learn/explanation.h"
#include "linalg/kernel.h"
#include "linalg/row.h"

#define COP_SECOND_ORDER_BLOCK 64   /* where the full P costs too much */
#define COP_SECOND_ORDER_PRIOR 0.5f /* what an arm predicts before it has learned */

typedef struct cop_second_order cop_second_order;

/* Whether full terms for dense rows of this many inputs are affordable: P over all arms within 64 MiB. */
bool cop_second_order_affordable(size_t inputs, size_t arms);
/* The block that dense rows of this many inputs are best given: all of them when that is cheap (up to 384), else 64. */
size_t cop_second_order_block(size_t inputs, size_t arms);
/* Bytes that such a model takes, about; as a double, since settings may ask for more than there is. */
double cop_second_order_footprint(size_t inputs, size_t arms, size_t block);

/* block: inputs in a block of P, a multiple of COP_KERNEL_LANES; at least as many as there are: the full P; 0: its
 * diagonal. COP_EINVAL: a size is 0, block is no multiple, or ridge is not positive. COP_ENOMEM. On error *out is NULL.
 */
COP_CHECK cop_err cop_second_order_new(
        const cop_kernel *kernel, size_t inputs, size_t arms, size_t block, double ridge, cop_second_order **out);
void cop_second_order_free(cop_second_order *model);

/* loss: room for cop_kernel_pad(arms), 64-byte aligned. */
void cop_second_order_predict(const cop_second_order *model, const cop_row *x, float *loss);
/* Each arm's xᵀ P x; 0 where rounding has spoiled P or it is not finite. out: arms. About D times the cost of predict
 * for the full P; uses the workspace of learn. */
void cop_second_order_spreads(cop_second_order *model, const cop_row *x, float *out);
/* Of a model of one arm: predicted loss = COP_SECOND_ORDER_PRIOR + sum of weights[j] x[j]. */
const float *cop_second_order_weights(const cop_second_order *model);
/* Weights of all arms, products none. */
void cop_second_order_anatomy(const cop_second_order *model, cop_anatomy_linear *out);
/* One step for one arm. COP_EDIVERGED: the step is not finite, or the prediction is off by more than 1e15; nothing
 * changed. */
COP_CHECK cop_err cop_second_order_learn(cop_second_order *model, const cop_row *x, size_t arm, double loss);
void cop_second_order_explain(
        const cop_second_order *model, const cop_row *x, size_t arm, cop_explained_expert *expert);

void cop_second_order_save(const cop_second_order *model, cop_bytes *bytes);
/* Into a model of the same shape, or of more arms or, dense, more inputs, the constant the last one still: what P has
 * of two inputs stays where one block has both; other entries are as they begin. COP_ESHAPE, COP_EFORMAT,
 * COP_ENONFINITE; then its state is undefined. */
COP_CHECK cop_err cop_second_order_load(cop_second_order *model, cop_cursor *cursor);
/* The same where input j of `saved` ones is place[j] of the model's. COP_ESHAPE too: that many are not there. */
COP_CHECK cop_err cop_second_order_load_placed(
        cop_second_order *model, const uint32_t *place, size_t saved, cop_cursor *cursor);
/* As learn/learner.h's of the same names. */
COP_CHECK cop_err cop_second_order_make_room(cop_second_order *model, const cop_second_order *from);
void cop_second_order_inherit(cop_second_order *model, cop_second_order *from);

#endif
