/* FLANN's tree of clusters (hierarchical k-means), searched best branch first until `checks` points were measured. Not
 * its randomised k-d trees: they draw from the machine's random device, so that no seed repeats them.
 *
 * FLANN keeps our pointer to the points until the index is freed. It seeds and draws from rand() while it builds, and
 * nowhere else. Memory that is refused to it ends the process (a C++ exception): so before it builds, as much as it
 * will need is asked for and given back. */
#include <flann/flann.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "graph/nearest.h"

/* On 200,000 points of 18 features in 200 clouds that overlap, of 15 neighbours: 0.91 of the true ones, 1 ms each; with
 * 4096 checks 0.97 in 2 ms; 16 branches find fewer with as many checks. */
#define BRANCHING    8
#define ITERATIONS   7
#define CHECKS_LEAST 2048
#define CHECKS_EACH  64 /* times k */
#define BLOCK        ((size_t)512)
#define FLANN_NODE   256 /* bytes of a node or a point beside its coordinates, and of the scratch while building */

typedef struct workspace {
	float *query;     /* BLOCK x d */
	int *index;       /* BLOCK x wanted */
	float *distance2; /* BLOCK x wanted */
	cop_near *near;   /* k */
} workspace;

typedef struct search {
	const cop_points *points, *queries;
	bool own;
	size_t k, wanted;
	flann_index_t index;
	struct FLANNParameters parameters;
	workspace *work;
	cop_neighbours *out;
} search;

static void offer(const search *s, size_t q, size_t point, cop_nearest *nearest)
{
	if (s->own && point == q)
		return;
	float distance2 = cop_points_distance2(s->queries, q, s->points, point);
	cop_nearest_offer(nearest, distance2, (uint32_t)point);
}

/* What FLANN found, measured as the exact ones are; when that is fewer than asked for, all points are. */
static void take(const search *s, size_t q, const int *found, cop_near *near)
{
	cop_nearest nearest = { .entry = near, .most = s->k };
	for (size_t i = 0; i < s->wanted; i++)
		if (found[i] >= 0 && (size_t)found[i] < s->points->n)
			offer(s, q, (size_t)found[i], &nearest);
	if (!cop_nearest_full(&nearest)) {
		nearest.count = 0;
		for (size_t i = 0; i < s->points->n; i++)
			offer(s, q, i, &nearest);
	}
	cop_nearest_sort(&nearest);
	cop_neighbours_put(s->out, q, &nearest);
}

static cop_err search_block(void *context, size_t task, unsigned worker)
{
	search *s = context;
	workspace *w = &s->work[worker];
	size_t first = task * BLOCK, d = s->points->d;
	size_t count = s->queries->n - first < BLOCK ? s->queries->n - first : BLOCK;
	for (size_t i = 0; i < count; i++)
		memcpy(w->query + i * d, s->queries->x + cop_points_row(s->queries, first + i) * d,
		        d * sizeof *w->query);
	for (size_t i = 0; i < count * s->wanted; i++)
		w->index[i] = -1;
	struct FLANNParameters parameters = s->parameters;
	if (flann_find_nearest_neighbors_index_float(
	            s->index, w->query, (int)count, w->index, w->distance2, (int)s->wanted, &parameters) < 0)
		return COP_ENOMEM;
	for (size_t i = 0; i < count; i++)
		take(s, first + i, w->index + i * s->wanted, w->near);
	return COP_OK;
}

static cop_err make_workspace(const search *s, workspace *w)
{
	if (s->wanted > SIZE_MAX / BLOCK || s->points->d > SIZE_MAX / BLOCK)
		return COP_ENOMEM;
	w->query = cop_mem_alloc(BLOCK * s->points->d, sizeof *w->query);
	w->index = cop_mem_alloc(BLOCK * s->wanted, sizeof *w->index);
	w->distance2 = cop_mem_alloc(BLOCK * s->wanted, sizeof *w->distance2);
	w->near = cop_mem_alloc(s->k, sizeof *w->near);
	bool all = w->query != NULL && w->index != NULL && w->distance2 != NULL && w->near != NULL;
	return all ? COP_OK : COP_ENOMEM;
}

static void end_workspace(workspace *w)
{
	cop_mem_free(w->query);
	cop_mem_free(w->index);
	cop_mem_free(w->distance2);
	cop_mem_free(w->near);
}

/* A centre for each point is more than there can be. */
static bool memory_for_flann(const cop_points *points)
{
	size_t each, bytes;
	if (__builtin_mul_overflow(points->d, sizeof(float), &each) ||
	        __builtin_add_overflow(each, (size_t)FLANN_NODE, &each) ||
	        __builtin_mul_overflow(points->n, each, &bytes))
		return false;
	void *all = cop_mem_alloc(bytes, 1);
	cop_mem_free(all);
	return all != NULL;
}

static cop_err run(search *s, cop_pool *pool)
{
	unsigned threads = cop_pool_threads(pool);
	cop_err err = COP_OK;
	s->work = cop_mem_alloc(threads, sizeof *s->work);
	if (s->work == NULL)
		err = COP_ENOMEM;
	for (unsigned i = 0; i < threads && err == COP_OK; i++)
		err = make_workspace(s, &s->work[i]);
	if (err == COP_OK)
		err = cop_pool_run(pool, (s->queries->n + BLOCK - 1) / BLOCK, search_block, s);
	for (unsigned i = 0; i < threads && s->work != NULL; i++)
		end_workspace(&s->work[i]);
	cop_mem_free(s->work);
	return err;
}

/* x: the points, row by row. */
static cop_err build_and_run(search *s, float *x, uint32_t seed, cop_pool *pool)
{
	float speedup = 0.0f;
	size_t checks = s->wanted * CHECKS_EACH < CHECKS_LEAST ? CHECKS_LEAST : s->wanted * CHECKS_EACH;
	s->parameters = DEFAULT_FLANN_PARAMETERS;
	s->parameters.algorithm = FLANN_INDEX_KMEANS;
	s->parameters.branching = BRANCHING;
	s->parameters.iterations = ITERATIONS;
	s->parameters.centers_init = FLANN_CENTERS_GONZALES; /* repeats with the seed, and stops at duplicates */
	s->parameters.checks = checks < INT_MAX ? (int)checks : INT_MAX;
	s->parameters.cores = 1;
	s->parameters.log_level = FLANN_LOG_NONE;
	s->parameters.random_seed = (long)seed + 1; /* 0 would mean none */
	if (!memory_for_flann(s->points))
		return COP_ENOMEM;
	s->index = flann_build_index_float(x, (int)s->points->n, (int)s->points->d, &speedup, &s->parameters);
	if (s->index == NULL)
		return COP_ENOMEM;
	s->parameters.random_seed = 0; /* searches draw nothing, and must not seed from several threads */
	cop_err err = run(s, pool);
	(void)flann_free_index_float(s->index, &s->parameters);
	return err;
}

static float *gather(const cop_points *points)
{
	if (points->d > SIZE_MAX / points->n)
		return NULL;
	float *x = cop_mem_alloc(points->n * points->d, sizeof *x);
	for (size_t i = 0; i < points->n && x != NULL; i++)
		memcpy(x + i * points->d, points->x + (size_t)points->row[i] * points->d, points->d * sizeof *x);
	return x;
}

cop_err cop_neighbours_approximate(const cop_points *points, const cop_points *queries, size_t k, uint32_t seed,
        cop_pool *pool, cop_neighbours *out)
{
	*out = (cop_neighbours){ .n = 0 };
	if (points->x == NULL || points->n > INT_MAX || points->d > INT_MAX)
		return COP_EINVAL;
	cop_err err = cop_neighbours_begin(points, queries, k, out);
	if (err != COP_OK)
		return err;
	search s = { .points = points, .queries = queries != NULL ? queries : points, .own = queries == NULL, .k = k };
	s.wanted = k + s.own;
	s.out = out;
	float *gathered = points->row != NULL ? gather(points) : NULL;
	if (points->row != NULL && gathered == NULL)
		err = COP_ENOMEM;
	else /* FLANN only reads, though it does not say const */
		err = build_and_run(&s, gathered != NULL ? gathered : (float *)(uintptr_t)points->x, seed, pool);
	cop_mem_free(gathered);
	if (err != COP_OK)
		cop_neighbours_fini(out);
	return err;
}
