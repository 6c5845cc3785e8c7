/* linalg/cholesky.h: A x = b for a small symmetric, positive definite A, in double.
 *
 * A = Uᵀ U, row by row from the diagonal on, so that the same binary gives the same bits on every call: for models
 * whose weights follow from sums while they serve. Any thread. */
#ifndef COP_LINALG_CHOLESKY_H
#define COP_LINALG_CHOLESKY_H

#include <stddef.h>

/* a: n x n, of which entries on and above the diagonal are read; they become U. x: b, which becomes the solution. A
 * pivot that rounding has brought below `least`, above 0, counts as that much. About n^3 / 6 multiplications. */
void cop_cholesky_solve(size_t n, double *a, double least, double *x);

#endif
