/* LAPACK counts columns first: its upper triangle is our lower one, and its columns, the eigenvectors, are our rows. */
#include "linalg/eigen.h"

#include <cblas.h>
#include <math.h>

#include "base/mem.h"

/* Fortran's; the last two are the lengths of the two texts. OpenBLAS brings it, but no header for it. */
void dsyevd_(const char *job, const char *triangle, const blasint *n, double *a, const blasint *lda, double *w,
        double *work, const blasint *lwork, blasint *iwork, const blasint *liwork, blasint *info, size_t job_length,
        size_t triangle_length);

cop_err cop_eigen_symmetric(size_t n, double *a, double *value)
{
	if (n > COP_EIGEN_MOST)
		return COP_EINVAL;
	if (n == 0)
		return COP_OK;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++)
			if (!isfinite(a[i * n + j]))
				return COP_ENONFINITE;
	size_t doubles = 1 + 6 * n + 2 * n * n, ints = 3 + 5 * n;
	blasint order = (blasint)n, lwork = (blasint)doubles, liwork = (blasint)ints, info = 0;
	double *work = cop_mem_alloc(doubles, sizeof *work);
	blasint *iwork = cop_mem_alloc(ints, sizeof *iwork);
	cop_err err = COP_ENOMEM;
	if (work != NULL && iwork != NULL) {
		dsyevd_("V", "U", &order, a, &order, value, work, &lwork, iwork, &liwork, &info, 1, 1);
		err = info == 0 ? COP_OK : COP_EDIVERGED;
	}
	cop_mem_free(work);
	cop_mem_free(iwork);
	return err;
}
