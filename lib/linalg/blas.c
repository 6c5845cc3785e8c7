/* Matrices are row-major and dense, so a leading dimension is the number of columns of the matrix as stored. */
#include "linalg/blas.h"

#include <cblas.h>

void cop_blas_threads(int n) { openblas_set_num_threads(n); }

void cop_blas_gemm(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, float alpha, const float *a,
        const float *b, float beta, float *c)
{
	cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans,
	        (blasint)m, (blasint)n, (blasint)k, alpha, a, (blasint)(transpose_a ? m : k), b,
	        (blasint)(transpose_b ? k : n), beta, c, (blasint)n);
}

void cop_blas_gemv(size_t m, size_t n, float alpha, const float *a, const float *x, float beta, float *y)
{
	cblas_sgemv(CblasRowMajor, CblasNoTrans, (blasint)m, (blasint)n, alpha, a, (blasint)n, x, 1, beta, y, 1);
}

void cop_blas_ger(size_t m, size_t n, float alpha, const float *x, const float *y, float *a)
{
	cblas_sger(CblasRowMajor, (blasint)m, (blasint)n, alpha, x, 1, y, 1, a, (blasint)n);
}
