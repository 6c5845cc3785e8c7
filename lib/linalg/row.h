/* linalg/row.h: one input vector, dense or sparse, as a borrowed view.
 *
 * Dense: `dense` holds d values and index/value are NULL. Sparse: `dense` is NULL and the nnz entries are
 * (index[i], value[i]), indices in [0, d), strictly ascending. All values finite. */
#ifndef COP_LINALG_ROW_H
#define COP_LINALG_ROW_H

#include <stddef.h>
#include <stdint.h>

typedef struct cop_row {
	size_t d;              /* dimension */
	const float *dense;    /* d values, or NULL */
	size_t nnz;            /* entries when sparse */
	const uint32_t *index; /* nnz */
	const float *value;    /* nnz */
} cop_row;

/* Entries stored: all d, or those present. */
static inline size_t cop_row_entries(const cop_row *row) { return row->dense != NULL ? row->d : row->nnz; }
/* Entry i's value and its place in [0, d), i < cop_row_entries. */
static inline float cop_row_value(const cop_row *row, size_t i)
{
	return row->dense != NULL ? row->dense[i] : row->value[i];
}
static inline size_t cop_row_index(const cop_row *row, size_t i) { return row->dense != NULL ? i : row->index[i]; }
/* First place in [from, n) of ascending indices whose index is not below `want`. */
static inline size_t cop_row_find(const uint32_t *index, size_t from, size_t n, uint32_t want)
{
	while (from < n) {
		size_t middle = from + (n - from) / 2;
		if (index[middle] < want)
			from = middle + 1;
		else
			n = middle;
	}
	return from;
}

#endif
