/* learn/sparse_curve.h: a polynomial of an action's value whose coefficients are linear in a sparse context, fitted by
 * recursive least squares.
 *
 *     predicted loss = 1/2 + sum over entries j of x_j (w_j . a),   a: COP_SPARSE_CURVE_DEGREES polynomials at the
 * value Each input j keeps P_j, the inverse of ridge I + sum of x_j^2 a aᵀ / sqrt(n) over the n-th event it was present
 * in; with the spread s = sum over entries of x_j^2 aᵀ P_j a a step is w_j += (loss - predicted) x_j P_j a / (1 + s).
 * Of one input the whole P_j is kept, since polynomials look alike where values were played close to each other; what
 * inputs share is not seen, and left to steps that shrink with the root of n, as AdaGrad's (Duchi et al. 2011), so that
 * they can settle it among themselves. One thread per object; nothing is allocated after new. */
#ifndef COP_LEARN_SPARSE_CURVE_H
#define COP_LEARN_SPARSE_CURVE_H

#include "base/bytes.h"
#include "base/err.h"
#include "linalg/row.h"

#define COP_SPARSE_CURVE_DEGREES 5

typedef struct cop_sparse_curve cop_sparse_curve;

/* COP_EINVAL: no inputs, or ridge is not positive. COP_ENOMEM. On error *out is NULL. */
COP_CHECK cop_err cop_sparse_curve_new(size_t inputs, double ridge, cop_sparse_curve **out);
void cop_sparse_curve_free(cop_sparse_curve *curve);
/* Bytes that one takes. */
double cop_sparse_curve_footprint(size_t inputs);

/* Sum over the row's entries of x_j w_j. */
void cop_sparse_curve_coefficients(const cop_sparse_curve *curve, const cop_row *x, double *out);
/* a: the polynomials at the value; loss: less the 1/2. COP_EDIVERGED: the step is not finite; nothing changed. */
COP_CHECK cop_err cop_sparse_curve_learn(cop_sparse_curve *curve, const cop_row *x, const double *a, double loss);

/* Inputs that were learned. */
void cop_sparse_curve_save(const cop_sparse_curve *curve, cop_bytes *bytes);
/* Into one of the same inputs. COP_ESHAPE, COP_EFORMAT, COP_ENONFINITE; then its state is undefined. */
COP_CHECK cop_err cop_sparse_curve_load(cop_sparse_curve *curve, cop_cursor *cursor);

#endif
