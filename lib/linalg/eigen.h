/* linalg/eigen.h: eigenvalues and eigenvectors of a symmetric dense matrix, by LAPACK (divide and conquer).
 *
 * On the threads of linalg/blas.h, and like it never on the path that replay must repeat bit for bit. */
#ifndef COP_LINALG_EIGEN_H
#define COP_LINALG_EIGEN_H

#include <stddef.h>

#include "base/err.h"

#define COP_EIGEN_MOST ((size_t)32766) /* LAPACK counts its workspace of 2 n^2 in an int */

/* a (n x n, row-major) in: the matrix, of which a[i][j] with j <= i is read. Out: row j is the eigenvector, of length
 * 1, of value[j]; value (n) ascends. Cost: about 4 n^3 to 9 n^3, and a workspace of 2 n^2 doubles.
 * COP_EINVAL: n above COP_EIGEN_MOST. COP_ENONFINITE: a is not finite (and left as it is). COP_ENOMEM. COP_EDIVERGED:
 * LAPACK found no answer; a is spoilt. */
COP_CHECK cop_err cop_eigen_symmetric(size_t n, double *a, double *value);

#endif
