/* optim/l1_loss.h: the logistic loss of many rows at once, with its derivatives by the prediction.
 *
 * loss = sum_i c_i log(1 + exp(-s_i a_i)). Logarithm and exponential are float polynomials good to about 1e-7. */
#ifndef COP_OPTIM_L1_LOSS_H
#define COP_OPTIM_L1_LOSS_H

#include <stddef.h>

/* n predictions a, signs s (+-1), weights c. r_i = first derivative; h_i = second one, kept above a small share of c_i,
 * so that a row far on its side does not make a model without any curvature. NaN predictions give NaN. Outputs may not
 * overlap inputs. */
double cop_l1_loss(size_t n, const float *a, const float *s, const float *c, float *r, float *h);

/* e_i = exp(a_i - most_i), the exponent cut to [-87, 87]; sum_i += e_i. */
void cop_l1_loss_exp(size_t n, const float *a, const float *most, float *e, double *sum);
/* The same of one row's n scores: e_k = exp(a_k - most). Returns their sum. */
double cop_l1_loss_exps(size_t n, const float *a, float most, float *e);
/* margin_i = a_i - most_i - log(sum_i - e_i): the log-odds of one class against all others. */
void cop_l1_loss_odds(size_t n, const float *a, const float *most, const float *e, const double *sum, float *margin);

#endif
