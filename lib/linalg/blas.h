/* linalg/blas.h: OpenBLAS for batch work, row-major, behind our names.
 *
 * Never on the path that replay must repeat bit for bit: OpenBLAS chooses its own order of sums. It keeps threads of
 * its own; a process that forks or serves sets one thread first (cop_blas_threads). */
#ifndef COP_LINALG_BLAS_H
#define COP_LINALG_BLAS_H

#include <stdbool.h>
#include <stddef.h>

/* Threads of all later calls in this process; n >= 1. */
void cop_blas_threads(int n);
/* C (m x n) = alpha op(A) op(B) + beta C; op is transposition when the flag is set; k is the inner dimension. */
void cop_blas_gemm(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, float alpha, const float *a,
        const float *b, float beta, float *c);
/* y (m) = alpha A x + beta y, A m x n. */
void cop_blas_gemv(size_t m, size_t n, float alpha, const float *a, const float *x, float beta, float *y);
/* A (m x n) += alpha x yᵀ. */
void cop_blas_ger(size_t m, size_t n, float alpha, const float *x, const float *y, float *a);

#endif
