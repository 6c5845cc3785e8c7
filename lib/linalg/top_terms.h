/* linalg/top_terms.h: of up to COP_TOP_TERMS_COLUMNS columns of a matrix at once, the entries of a row that contribute
 * most to each: |w x|, the matrix having a row of weights for each feature.
 *
 * The same comes out on every processor. Distinct objects on distinct threads. */
#ifndef COP_LINALG_TOP_TERMS_H
#define COP_LINALG_TOP_TERMS_H

#include "linalg/row.h"

#define COP_TOP_TERMS_COLUMNS 8
#define COP_TOP_TERMS_MOST    3 /* of each column */

typedef struct cop_top_terms {
	const float *w;                        /* weight of feature j in column c: w[j * stride + c] */
	size_t stride;                         /* floats */
	int32_t column[COP_TOP_TERMS_COLUMNS]; /* unused places repeat another */
	int32_t entry[COP_TOP_TERMS_MOST][COP_TOP_TERMS_COLUMNS]; /* found: the row's, heaviest first; -1: none */
} cop_top_terms;

/* Each column's heaviest entries, of equal ones the earlier; entries that contribute nothing are none. */
typedef void cop_top_terms_find(cop_top_terms *h, const cop_row *x);

/* The fastest that this processor runs; the one that every processor runs. */
cop_top_terms_find *cop_top_terms_best(void);
cop_top_terms_find *cop_top_terms_plain(void);

#endif
