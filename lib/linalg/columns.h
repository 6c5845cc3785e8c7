/* linalg/columns.h: a subset of a matrix's rows, column by column, for coordinate descent.
 *
 * n rows of d features as floats. Stored dense (column j is n contiguous values, 64-byte aligned, padded with zeros to
 * whole COP_KERNEL_LANES) or sparse (column j has the entries start[j] to start[j + 1] of row, ascending, and value),
 * whichever is smaller to go through: dense rows with many zeros become sparse columns. Reading is fine from many
 * threads. */
#ifndef COP_LINALG_COLUMNS_H
#define COP_LINALG_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "linalg/kernel.h"

typedef struct cop_columns {
	size_t n, d;
	size_t stride;  /* dense: floats from one column to the next */
	float *dense;   /* d x stride, or NULL */
	size_t *start;  /* sparse: d + 1 */
	uint32_t *row;  /* start[d] */
	float *value;   /* start[d] */
	double *square; /* d: sum of squares of each column */
	const cop_kernel *kernel;
} cop_columns;

/* Rows row[0..n) (NULL: 0 to n - 1; they may repeat) of the dense row-major matrix x with d columns. The caller ends it
 * with cop_columns_fini in every case. COP_ENOMEM. */
COP_CHECK cop_err cop_columns_from_dense(cop_columns *out, size_t n, const uint32_t *row, size_t d, const float *x);
/* The same of sparse rows: row i has the entries start[i] to start[i + 1] of index (ascending, below d) and value. */
COP_CHECK cop_err cop_columns_from_sparse(cop_columns *out, size_t n, const uint32_t *row, size_t d,
        const size_t *start, const uint32_t *index, const float *value);
void cop_columns_fini(cop_columns *columns);

/* The vectors over rows (v, h) below have cop_kernel_pad(n) floats, 64-byte aligned, the padding finite. Same bits on
 * the same kind of processor. */

/* sum_i x_ij v_i. */
float cop_columns_dot(const cop_columns *columns, size_t j, const float *v);
/* v_i += step x_ij. */
void cop_columns_add(const cop_columns *columns, size_t j, float step, float *v);
/* v_i += step h_i x_ij. */
void cop_columns_add_weighted(const cop_columns *columns, size_t j, float step, const float *h, float *v);
/* *first = sum_i h_i x_ij, *second = sum_i h_i x_ij^2. */
void cop_columns_moments(const cop_columns *columns, size_t j, const float *h, double *first, double *second);
/* out[g] = sum over i with group[i] = g of v_i x_ij; out has as many entries as there are groups. */
void cop_columns_group(
        const cop_columns *columns, size_t j, const float *v, const uint32_t *group, size_t groups, double *out);

#endif
