/* linalg/heaviest.h: of up to COP_HEAVIEST_COLUMNS columns of a matrix at once, the entries of a row that contribute
 * most to each: |w x|, the matrix having a row of weights for each feature.
 *
 * The same comes out on every processor. Distinct objects on distinct threads. */
#ifndef COP_LINALG_HEAVIEST_H
#define COP_LINALG_HEAVIEST_H

#include "linalg/row.h"

#define COP_HEAVIEST_COLUMNS 8
#define COP_HEAVIEST_MOST    3 /* of each column */

typedef struct cop_heaviest {
	const float *w;                                         /* weight of feature j in column c: w[j * stride + c] */
	size_t stride;                                          /* floats */
	int32_t column[COP_HEAVIEST_COLUMNS];                   /* unused places repeat another */
	int32_t entry[COP_HEAVIEST_MOST][COP_HEAVIEST_COLUMNS]; /* found: the row's, heaviest first; -1: none */
} cop_heaviest;

/* Each column's heaviest entries, of equal ones the earlier; entries that contribute nothing are none. */
typedef void cop_heaviest_find(cop_heaviest *h, const cop_row *x);

/* The fastest that this processor runs; the one that every processor runs. */
cop_heaviest_find *cop_heaviest_best(void);
cop_heaviest_find *cop_heaviest_plain(void);

#endif
