/* optim/l1_softmax_rows.h: the problem of optim/l1_softmax.h for sparse rows and many classes, by passes over the rows.
 *
 *     minimise over W, b:   sum_i c_i (log sum_k exp(<W_k, x_i> + b_k) - (<W_y, x_i> + b_y)) + lambda sum_k ||W_k||_1
 *
 * over the weights of l1_softmax_pairs, so that memory follows from what is in the rows, where l1_softmax takes three
 * times rows x classes. That sum is one over rows alone, when the penalty of feature j is divided among the n_j rows
 * that have it:
 *
 *     sum_i ( c_i loss_i + sum over j in x_i of lambda / n_j sum_k |W_kj| )
 *
 * A step takes one row, and changes the weights of its features. Rows come in an order drawn anew for each pass. Less
 * exact than l1_softmax: by a percent of the objective or so. Deterministic. Distinct calls on distinct threads. */
#ifndef COP_OPTIM_L1_SOFTMAX_ROWS_H
#define COP_OPTIM_L1_SOFTMAX_ROWS_H

#include "base/err.h"
#include "optim/l1_settings.h"
#include "optim/l1_softmax_pairs.h"

/* pairs of these rows; their weights and b (classes) are the start too. settings->max_steps are the passes; the
 * tolerance is not used. What is returned is not worse than the start, nor than W = 0 with the best biases. report may
 * be NULL. COP_EINVAL: a setting outside its range. COP_ENONFINITE: the start; it is then as it was. COP_ENOMEM. */
COP_CHECK cop_err cop_l1_softmax_rows_fit(const cop_l1_settings *settings, const cop_l1_softmax_rows *rows,
        cop_l1_softmax_pairs *pairs, float *b, cop_l1_report *report);

#endif
