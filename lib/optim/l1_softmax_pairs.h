/* optim/l1_softmax_pairs.h: sparse rows with classes, and the weights that a softmax regression of them needs.
 *
 * Weights are kept only of pairs of a feature j and a class k that can be expected to need one under an L1 penalty
 * lambda (c: the rows' weights):
 *
 *     sum over rows of class k of c_i |x_ij| > lambda        else W_kj > 0 (x >= 0) is never worth its penalty,
 *     or share of class k times sum_i c_i |x_ij| > lambda    else W_kj = 0 is best where W = 0
 *
 * so memory follows from what is in the rows. The second rule is one for W = 0 that is taken to hold elsewhere too (as
 * strong rules do: Tibshirani et al., 2012). Distinct objects on distinct threads. */
#ifndef COP_OPTIM_L1_SOFTMAX_PAIRS_H
#define COP_OPTIM_L1_SOFTMAX_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* n sparse rows of d features: row i has the entries start[i] to start[i + 1] of index (ascending, below d) and value,
 * a class below `classes`, and a weight. Borrowed. */
typedef struct cop_l1_softmax_rows {
	size_t n, d, classes;
	const size_t *start;   /* n + 1 */
	const uint32_t *index; /* start[n] */
	const float *value;    /* start[n] */
	const uint32_t *label; /* n */
	const float *weight;   /* n, >= 0 */
} cop_l1_softmax_rows;

/* Feature j has weights for the classes start[j] to start[j + 1] of class, ascending. */
typedef struct cop_l1_softmax_pairs {
	size_t *start;   /* d + 1 */
	uint32_t *class; /* start[d] */
	float *w;        /* start[d] */
} cop_l1_softmax_pairs;

/* The pairs, whose weights are 0. Fini in every case. COP_EINVAL: lambda below 0 or not finite, classes below 2, or a
 * label out of range. COP_ENOMEM. */
COP_CHECK cop_err cop_l1_softmax_pairs_init(
        cop_l1_softmax_pairs *pairs, const cop_l1_softmax_rows *rows, double lambda);
void cop_l1_softmax_pairs_fini(cop_l1_softmax_pairs *pairs);

#endif
