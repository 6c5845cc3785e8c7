/* linalg/welford.h: running mean and sum of squared deviations of many columns at once (Welford).
 *
 * The same comes out on every processor: products are never fused with sums. Any thread, distinct arrays. */
#ifndef COP_LINALG_WELFORD_H
#define COP_LINALG_WELFORD_H

#include <stddef.h>

#define COP_WELFORD_ROOM 16 /* rows, mean and m2 have room for a multiple of so many columns; x need not */

/* Takes one row x[d] in, each column's next: rows += 1, mean += (x - mean) / rows, m2 += (x - mean before) (x - mean
 * after). */
typedef void cop_welford_add(size_t d, const float *x, double *rows, double *mean, double *m2);

/* What stores as widely as the widest kernel of linalg/kernel.h reads, so that a read right afterwards need not wait
 * for narrower stores to reach the cache; and what every processor runs. */
cop_welford_add *cop_welford_best(void);
cop_welford_add *cop_welford_plain(void);

#endif
