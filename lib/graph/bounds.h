/* graph/bounds.h: lower bounds of the squared distances of a block of queries to all points, block by block.
 *
 * With p and q less the mean of the points (dense; sparse ones stay as they are),
 *
 *     |q - p|^2 - |q|^2 >= -2 q.p + |p|^2 - slope_q |p| = bound(q, p)
 *
 * where the products are sums of floats in any order, and slope_q |p|, with a few roundings of |p|^2, is more than all
 * rounding can amount to. So what a bound puts outside is outside; overflow gives NaN, which puts nothing outside.
 * One object per thread; the points are shared. */
#ifndef COP_GRAPH_BOUNDS_H
#define COP_GRAPH_BOUNDS_H

#include "graph/neighbours.h"
#include "linalg/kernel.h"

typedef struct cop_bounds_shared {
	const cop_points *points, *queries; /* kept */
	float *mean;                        /* d; NULL when sparse */
	double rounding;                    /* of a product, times |q| |p| */
	double underflow;                   /* of a product, in all */
	size_t columns, rows;               /* queries and points of a block, at most; columns in whole lanes */
	const cop_kernel *kernel;
} cop_bounds_shared;

/* queries may be points. Caller ends it with cop_bounds_shared_fini in every case. COP_ENOMEM. */
COP_CHECK cop_err cop_bounds_shared_init(
        cop_bounds_shared *shared, const cop_points *points, const cop_points *queries, unsigned threads);
void cop_bounds_shared_fini(cop_bounds_shared *shared);

typedef struct cop_bounds {
	const cop_bounds_shared *shared;
	size_t count;     /* queries loaded */
	float *query;     /* dense: columns x d; sparse: d x columns, times -2 */
	float *point;     /* dense: rows x d */
	float *product;   /* rows x columns: -2 q.p */
	float *slope;     /* columns */
	double *square;   /* columns: |q|^2 */
	float *square_of; /* rows: |p|^2, a little less */
	float *length_of; /* rows: |p|, a little more */
	float *limit;     /* columns, the caller's: what a bound must be below (NaN: everything is) to be shown */
} cop_bounds;

/* Caller ends it with cop_bounds_fini in every case. COP_ENOMEM. */
COP_CHECK cop_err cop_bounds_init(cop_bounds *bounds, const cop_bounds_shared *shared);
void cop_bounds_fini(cop_bounds *bounds);

/* count <= columns queries, by their numbers. */
void cop_bounds_load(cop_bounds *bounds, size_t count, const uint32_t *query);
/* Shows each point whose bound to the column-th query is not >= limit[column], points ascending; `show` may change
 * limit. */
typedef void cop_bounds_show(void *context, size_t column, uint32_t point, float bound);
void cop_bounds_sweep(cop_bounds *bounds, cop_bounds_show *show, void *context);
/* What the bound of a point is not below if its squared distance to the column-th query is more than distance2. */
float cop_bounds_beyond(const cop_bounds *bounds, size_t column, double distance2);

#endif
