/* train/cart_ranks.h: each value of dense columns replaced by its rank among the column's distinct values, in 1, 2 or 4
 * bytes.
 *
 * Columns stand one after the other; places are numbers of rows, or positions in a list of rows. Reading is fine from
 * many threads. */
#ifndef COP_TRAIN_CART_RANKS_H
#define COP_TRAIN_CART_RANKS_H

#include "base/pool.h"
#include "table/dataset.h"

typedef struct cop_cart_column {
	void *rank;      /* of each place, of `width` bytes; NULL when the column is constant */
	unsigned width;  /* 1, 2 or 4 */
	uint32_t values; /* distinct ones */
} cop_cart_column;

typedef struct cop_cart_ranks {
	size_t d;
	cop_cart_column *column; /* d */
} cop_cart_ranks;

/* Of the rows row[0..n), or of the first n where row is NULL; both are borrowed, pool may be NULL. Caller ends it with
 * fini in every case. COP_ENOMEM. */
COP_CHECK cop_err cop_cart_ranks_init(
        cop_cart_ranks *ranks, const cop_dataset *rows, size_t n, const uint32_t *row, cop_pool *pool);
/* The ranks of the places row[0..n) of `all`, where other places may leave gaps. Caller ends *out with fini in every
 * case. COP_ENOMEM. */
COP_CHECK cop_err cop_cart_ranks_copy(const cop_cart_ranks *all, size_t n, const uint32_t *row, cop_cart_ranks *out);
void cop_cart_ranks_fini(cop_cart_ranks *ranks);

#endif
