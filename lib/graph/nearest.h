/* graph/nearest.h: what the searches of graph/neighbours share: the nearest ones so far, and distances without
 * cancellation.
 *
 * Distinct objects on distinct threads. */
#ifndef COP_GRAPH_NEAREST_H
#define COP_GRAPH_NEAREST_H

#include "graph/neighbours.h"

typedef struct cop_near {
	float key; /* distance, or what stands for it; not NaN */
	uint32_t index;
} cop_near;

/* The `most` smallest of those offered, by key, equal ones by index: a heap with the largest on top. */
typedef struct cop_nearest {
	cop_near *entry; /* most, borrowed */
	size_t most, count;
} cop_nearest;

static inline bool cop_nearest_before(const cop_near *a, const cop_near *b)
{
	return a->key < b->key || (a->key == b->key && a->index < b->index);
}
static inline bool cop_nearest_full(const cop_nearest *nearest) { return nearest->count == nearest->most; }

void cop_nearest_offer(cop_nearest *nearest, float key, uint32_t index);
/* Ascending; no heap any more, count may be set to 0 for the next use. */
void cop_nearest_sort(cop_nearest *nearest);

/* Row of point i. */
static inline size_t cop_nearest_row(const cop_points *points, size_t i)
{
	return points->row != NULL ? points->row[i] : i;
}

/* Squared distance: differences as floats, squared and summed as doubles. Both dense or both sparse. */
float cop_nearest_distance2(const cop_points *a, size_t i, const cop_points *b, size_t j);

/* Makes the checks that are documented at cop_neighbours_* and makes *out's arrays; queries NULL: the points. */
COP_CHECK cop_err cop_nearest_begin(const cop_points *points, const cop_points *queries, size_t k, cop_neighbours *out);
/* The first k of `nearest`, sorted, become query q's neighbours. */
void cop_nearest_put(cop_neighbours *out, size_t q, const cop_nearest *nearest);

#endif
