/* linalg/heaviest.h: of up to COP_HEAVIEST_COLUMNS columns of a matrix at once, the entries of a row that contribute
 * most to each: |w x|, the matrix having a row of weights for each feature.
 *
 * A row is gone through in blocks. Sizes come out the same on every processor. Distinct objects on distinct threads. */
#ifndef COP_LINALG_HEAVIEST_H
#define COP_LINALG_HEAVIEST_H

#include "linalg/row.h"

#define COP_HEAVIEST_COLUMNS 8
#define COP_HEAVIEST_MOST    3  /* of each column */
#define COP_HEAVIEST_BLOCK   64 /* most entries of a block */

typedef struct cop_heaviest {
	const float *w;                                      /* weight of feature j in column c: w[j * stride + c] */
	size_t stride;                                       /* floats */
	int32_t column[COP_HEAVIEST_COLUMNS];                /* unused places repeat another */
	float size[COP_HEAVIEST_MOST][COP_HEAVIEST_COLUMNS]; /* of the blocks so far, descending; at first 0 */
} cop_heaviest;

/* Takes the row's entries first .. first + count, count <= COP_HEAVIEST_BLOCK, into h->size; then bit c of hits[i] says
 * whether entry first + i weighs at least as much in column c as the last of the heaviest so far. So all of a column's
 * heaviest are among its hits, in order of the row. */
typedef void cop_heaviest_block(cop_heaviest *h, const cop_row *x, size_t first, size_t count, uint8_t *hits);

/* The fastest that this processor runs; the one that every processor runs. */
cop_heaviest_block *cop_heaviest_best(void);
cop_heaviest_block *cop_heaviest_plain(void);

#endif
