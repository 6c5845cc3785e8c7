/* optim/l1_softmax_rows.h: the problem of optim/l1_softmax.h for sparse rows and many classes, by passes over the rows.
 *
 *     minimise over W, b:   sum_i c_i (log sum_k exp(<W_k, x_i> + b_k) - (<W_y, x_i> + b_y)) + lambda sum_k ||W_k||_1
 *
 * Weights are kept only of pairs of a feature j and a class k that can be expected to need one:
 *
 *     sum over rows of class k of c_i |x_ij| > lambda           without which W_kj is never above 0 in size for their sake,
 *     or share of class k times sum_i c_i |x_ij| > lambda       without which W_kj = 0 is best where W = 0
 *
 * so memory follows from what is in the rows, where l1_softmax takes three times rows x classes. Then the sum above is
 * one over rows alone, when the penalty of feature j is divided among the n_j rows that have it:
 *
 *     sum_i ( c_i loss_i + sum over j in x_i of lambda / n_j sum_k |W_kj| )
 *
 * A step takes one row, and changes the weights of its features. Rows come in an order drawn anew for each pass. Less
 * exact than l1_softmax: by a percent of the objective or so. Deterministic. Distinct calls on distinct threads. */
#ifndef COP_OPTIM_L1_SOFTMAX_ROWS_H
#define COP_OPTIM_L1_SOFTMAX_ROWS_H

#include <stdint.h>

#include "base/err.h"
#include "optim/l1_settings.h"

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

/* pairs of these rows; their weights and b (classes) are the start too. settings->max_steps are the passes; the tolerance
 * is not used. What is returned is not worse than the start, nor than W = 0 with the best biases. report may be NULL.
 * COP_EINVAL: a setting outside its range. COP_ENONFINITE: the start; it is then as it was. COP_ENOMEM. */
COP_CHECK cop_err cop_l1_softmax_rows_fit(const cop_l1_settings *settings, const cop_l1_softmax_rows *rows,
        cop_l1_softmax_pairs *pairs, float *b, cop_l1_report *report);

#endif
