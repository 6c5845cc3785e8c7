/* What the tests of lib/graph share: made-up points, and neighbours found by measuring everything. */
#ifndef COP_TESTS_GRAPH_FIXTURE_H
#define COP_TESTS_GRAPH_FIXTURE_H

#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "graph/neighbours.h"

/* n x d: `clusters` Gaussian clouds of deviation 1 around centres of deviation 3. Caller frees with cop_mem_free. */
static inline float *clouds(cop_rng *rng, size_t n, size_t d, size_t clusters)
{
	float *centre = cop_mem_alloc(clusters * d, sizeof *centre);
	float *x = cop_mem_alloc(n * d, sizeof *x);
	assert_non_null(centre);
	assert_non_null(x);
	for (size_t i = 0; i < clusters * d; i++)
		centre[i] = (float)(3.0 * cop_rng_normal(rng));
	for (size_t i = 0; i < n; i++) {
		size_t c = (size_t)cop_rng_below(rng, clusters);
		for (size_t j = 0; j < d; j++)
			x[i * d + j] = centre[c * d + j] + (float)cop_rng_normal(rng);
	}
	cop_mem_free(centre);
	return x;
}

typedef struct pair {
	float distance2;
	uint32_t index;
} pair;

static inline int by_distance(const void *a, const void *b)
{
	const pair *p = a, *q = b;
	if (p->distance2 < q->distance2 || p->distance2 > q->distance2)
		return p->distance2 < q->distance2 ? -1 : 1;
	return p->index < q->index ? -1 : p->index > q->index;
}

/* Value j of point i, from either kind. */
static inline float value_of(const cop_points *points, size_t i, size_t j)
{
	size_t row = points->row != NULL ? points->row[i] : i;
	if (points->x != NULL)
		return points->x[row * points->d + j];
	for (size_t e = points->start[row]; e < points->start[row + 1]; e++)
		if (points->index[e] == j)
			return points->value[e];
	return 0.0f;
}

/* All pairs, measured in double. Ends with cop_neighbours_fini. */
static inline cop_neighbours measure_all(const cop_points *points, const cop_points *queries, size_t k)
{
	const cop_points *q = queries != NULL ? queries : points;
	cop_neighbours out = { .n = q->n, .k = k };
	out.index = cop_mem_alloc(q->n * k, sizeof *out.index);
	out.distance2 = cop_mem_alloc(q->n * k, sizeof *out.distance2);
	pair *all = cop_mem_alloc(points->n, sizeof *all);
	assert_true(out.index != NULL && out.distance2 != NULL && all != NULL);
	for (size_t i = 0; i < q->n; i++) {
		size_t count = 0;
		for (size_t p = 0; p < points->n; p++) {
			double sum = 0.0;
			if (queries == NULL && p == i)
				continue;
			for (size_t j = 0; j < points->d; j++) {
				double difference = (double)(value_of(q, i, j) - value_of(points, p, j));
				sum += difference * difference;
			}
			all[count++] = (pair){ .distance2 = (float)sum, .index = (uint32_t)p };
		}
		qsort(all, count, sizeof *all, by_distance);
		for (size_t r = 0; r < k; r++) {
			out.index[i * k + r] = all[r].index;
			out.distance2[i * k + r] = all[r].distance2;
		}
	}
	cop_mem_free(all);
	return out;
}

/* Distances to a unit in the last place or two (sums in another order); the same points, unless they tie by that. */
static inline void assert_neighbours(const cop_neighbours *got, const cop_neighbours *want)
{
	assert_int_equal(got->n, want->n);
	assert_int_equal(got->k, want->k);
	for (size_t i = 0; i < got->n * got->k; i++) {
		float a = got->distance2[i], b = want->distance2[i];
		if (!(a == b || fabsf(a - b) <= 3e-7f * b))
			fail_msg("point %zu, neighbour %zu: distance2 %.9g, expected %.9g", i / got->k, i % got->k,
			        (double)a, (double)b);
		if (got->index[i] == want->index[i])
			continue;
		bool tie = false;
		for (size_t r = i % got->k > 1 ? i - 2 : i - i % got->k; r < got->n * got->k && r <= i + 2; r++)
			tie = tie || (r != i && fabsf(want->distance2[r] - b) <= 3e-7f * b);
		if (!tie && i % got->k != got->k - 1)
			fail_msg("point %zu, neighbour %zu: %u, expected %u", i / got->k, i % got->k, got->index[i],
			        want->index[i]);
	}
}

/* Bit for bit. */
static inline void assert_same(const cop_neighbours *got, const cop_neighbours *want)
{
	assert_int_equal(got->n, want->n);
	assert_int_equal(got->k, want->k);
	assert_memory_equal(got->index, want->index, got->n * got->k * sizeof *got->index);
	assert_memory_equal(got->distance2, want->distance2, got->n * got->k * sizeof *got->distance2);
}

#endif
