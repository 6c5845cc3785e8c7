/* graph/neighbours.h: the k nearest points of each point, by Euclidean distance.
 *
 * Exact: of blocks of queries to blocks of points by GEMM (||q||^2 - 2 q.p + ||p||^2 picks a few more than k, which are
 * measured again without cancellation). The products only leave out what rounding cannot have hidden, so that exact
 * ones are those of the distances measured directly, as floats, for any data and number of threads; where many more
 * than k tie, or points lie apart by less than the rounding of their lengths, that takes longer. Approximate, for more
 * points than that can serve: random projection trees, refined by neighbours of neighbours; an entry's distance is
 * measured as the exact ones are, but a nearer point may be missing. Neighbours of a point come by ascending distance,
 * equal ones by number.
 *
 * With a pool, GEMM is best left one thread (cop_blas_threads), since each thread of the pool calls it. Nothing here
 * sets it. */
#ifndef COP_GRAPH_NEIGHBOURS_H
#define COP_GRAPH_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"

/* Borrowed. Dense: x is row-major with d values a row, x NULL: sparse, entries start[i] to start[i + 1] of index and
 * value are row i's. Point i is row[i], or i when row is NULL. */
typedef struct cop_points {
	size_t n, d;
	const uint32_t *row;
	const float *x;
	const size_t *start;
	const uint32_t *index;
	const float *value;
} cop_points;

#define COP_NEIGHBOURS_EXACT_MOST ((size_t)100000) /* points: beyond, cop_neighbours_find returns approximate ones */

typedef struct cop_neighbours {
	size_t n, k;
	uint32_t *index;  /* n x k: numbers of points, not of rows */
	float *distance2; /* n x k: squared distances */
} cop_neighbours;

/* Of each query among the points. NULL queries: of the points themselves, none its own neighbour. 1 <= k, at most as
 * many as there are others. Values finite. Finish with fini; on error *out is zeroed. COP_EINVAL: k, or more than
 * UINT32_MAX points; COP_ESHAPE: d is 0, or the queries' is another, or only one of the two is sparse. COP_ENOMEM. */
COP_CHECK cop_err cop_neighbours_exact(
        const cop_points *points, const cop_points *queries, size_t k, cop_pool *pool, cop_neighbours *out);
/* Of the points themselves, none its own neighbour; dense, at most 2^31 of them (COP_EINVAL else). Same seed: same
 * neighbours, for any number of threads. Of 120,000 points, 0.97 of the true 10 are found when they are uniform in 20
 * dimensions, over 0.99 in tables and images; of up to 128 points all. Memory beside *out's: 16 max(k + 10, 20) + 17
 * bytes a point, 4 a point for each thread. */
COP_CHECK cop_err cop_neighbours_approximate(
        const cop_points *points, size_t k, uint32_t seed, cop_pool *pool, cop_neighbours *out);
/* Approximate for more than COP_NEIGHBOURS_EXACT_MOST dense points without queries, else exact. */
COP_CHECK cop_err cop_neighbours_find(const cop_points *points, const cop_points *queries, size_t k, uint32_t seed,
        cop_pool *pool, cop_neighbours *out);
void cop_neighbours_fini(cop_neighbours *neighbours);

#endif
