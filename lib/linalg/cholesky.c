/* Right-looking: each row, divided by its pivot, is taken off the rows below it, so inner loops run along rows and are
 * no reductions. */
#include "linalg/cholesky.h"

#include <math.h>

static void take_off(size_t count, double factor, const double *restrict from, double *restrict row)
{
	for (size_t j = 0; j < count; j++)
		row[j] -= factor * from[j];
}

static void factorise(size_t n, double *a, double least)
{
	for (size_t k = 0; k < n; k++) {
		double *row = a + k * n;
		const double root = sqrt(row[k] > least ? row[k] : least);
		row[k] = root;
		for (size_t j = k + 1; j < n; j++)
			row[j] /= root;
		for (size_t i = k + 1; i < n; i++)
			take_off(n - i, row[i], row + i, a + i * n + i);
	}
}

void cop_cholesky_solve(size_t n, double *a, double least, double *x)
{
	factorise(n, a, least);
	for (size_t k = 0; k < n; k++) { /* Uᵀ y = b */
		x[k] /= a[k * n + k];
		take_off(n - k - 1, x[k], a + k * n + k + 1, x + k + 1);
	}
	for (size_t k = n; k-- > 0;) {
		double sum = x[k];
		for (size_t j = k + 1; j < n; j++)
			sum -= a[k * n + j] * x[j];
		x[k] = sum / a[k * n + k];
	}
}
