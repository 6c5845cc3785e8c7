/* learn/bins.h: predicted loss over a range of actions, [0, 1] cut into COP_BINS bins, from losses of single values.
 *
 * Five members predict the loss of every bin for a context, and the mixture weighs them:
 *     curve    a polynomial in the value whose coefficients are linear in the context (few features: and in its
 *              products): least squares over the tensor product, learn/second_order.h with one output
 *     stiff    the same with a hundred times the ridge (dense contexts)
 *     bins     the same model of the context for each bin of its own (dense contexts)
 *     average  each bin's mean loss whatever the context
 *     surface  learn/surface.h over context and value (dense contexts)
 * A loss at value y teaches every bin k near it, with weight exp(-((c_k - y) / width)^2 / 2), c_k its centre: the
 * smoothed losses of Majzoub et al. 2020 (CATS), with a Gaussian in place of their window. The members'
 * weights are those of least squared error that are not negative and sum to 1 (learn/convex.h), older errors counting
 * for less. Losses may have any unit. One thread per object; nothing is allocated after new. */
#ifndef COP_LEARN_BINS_H
#define COP_LEARN_BINS_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "learn/anatomy.h"
#include "learn/explanation.h"
#include "linalg/kernel.h"
#include "linalg/row.h"

#define COP_BINS 48 /* a multiple of COP_KERNEL_LANES */

typedef struct cop_bins cop_bins;

typedef struct cop_bins_settings {
	const cop_kernel *kernel;
	size_t inputs; /* of standardised rows, their constant, the last, included */
	bool sparse;
	size_t entries; /* of a sparse row, at most, the constant included */
} cop_bins_settings;

/* COP_EINVAL: no inputs. COP_ENOMEM. On error *out is NULL. */
COP_CHECK cop_err cop_bins_new(const cop_bins_settings *settings, cop_bins **out);
void cop_bins_free(cop_bins *bins);
/* Bytes that one takes, about; as a double, since settings may ask for more than there is. */
double cop_bins_footprint(const cop_bins_settings *settings);

/* Whether one of so many dense inputs has the members and the products of one of the others: only then can it load what
 * that saved. */
bool cop_bins_same_form(size_t inputs, size_t others);
/* The numbers of features between which the form changes, in words. */
extern const char *const cop_bins_forms;

/* Predicted loss of every bin, COP_BINS of them; borrowed until the next call. */
const float *cop_bins_predict(cop_bins *bins, const cop_row *x);
/* Losses learned, and the mean squared error of what was predicted for them. */
uint64_t cop_bins_learned(const cop_bins *bins);
double cop_bins_noise(const cop_bins *bins);
/* y in [0, 1]. COP_EDIVERGED: the loss is beyond 1e15 (or no number), or the step would not be finite; nothing changed.
 */
COP_CHECK cop_err cop_bins_learn(cop_bins *bins, const cop_row *x, double y, double loss);

/* The members' predicted losses of value y, and what the bin of y makes of the context. */
void cop_bins_explain(cop_bins *bins, const cop_row *x, double y, cop_explanation *e);
/* Whether an explained feature's index stands for a product of two inputs, and of which. */
bool cop_bins_product(const cop_bins *bins, size_t index, size_t *i, size_t *j);
/* The members; how many. */
size_t cop_bins_anatomy(const cop_bins *bins, cop_anatomy_part *parts);

void cop_bins_save(const cop_bins *bins, cop_bytes *bytes);
/* What one of so many inputs saved, into one of as many, or of more dense ones of the same form: those are the further
 * ones before the constant, and were 0 so far. COP_ESHAPE, COP_EFORMAT, COP_ENONFINITE, COP_ENOMEM; then its state is
 * undefined. */
COP_CHECK cop_err cop_bins_load(cop_bins *bins, size_t inputs, cop_cursor *cursor);

#endif
