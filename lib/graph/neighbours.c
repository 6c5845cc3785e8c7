/* Two sweeps over lower bounds of the squared distances (graph/bounds). The first keeps, of each query, the SPARE + k
 * points of the lowest bounds, and measures them. Whatever it left out has a bound at least the highest one kept: when
 * that is beyond the k-th measured distance, no neighbour was left out, and so it nearly always is. For the other
 * queries (rounding as large as the differences of the distances, or more ties than were kept) a second sweep measures
 * every point whose bound is not beyond the k-th distance that is known. So the result is exact, whatever the rounding
 * of the products, and does not depend on blocks or threads. */
#include "graph/neighbours.h"

#include <math.h>

#include "base/mem.h"
#include "graph/bounds.h"
#include "graph/nearest.h"

#define SPARE 16

typedef struct workspace {
	cop_bounds bounds;
	cop_near *entry;      /* columns x kept */
	cop_nearest *nearest; /* columns */
	cop_near *measured;   /* k */
	uint32_t *query;      /* columns: numbers of the queries that are loaded */
	uint32_t *open;       /* columns: those that need the second sweep */
	float *known;         /* columns: of those, the k-th distance so far */
} workspace;

typedef struct search {
	const cop_points *points, *queries;
	bool own; /* the queries are the points: none its own neighbour */
	size_t k, kept, others;
	cop_bounds_shared shared;
	workspace *work; /* one a thread */
	unsigned threads;
	cop_neighbours *out;
} search;

typedef struct sweep {
	const search *search;
	workspace *work;
} sweep;

/* ---- the first sweep ---- */

static void keep_lowest(void *context, size_t column, uint32_t point, float bound)
{
	const sweep *s = context;
	workspace *w = s->work;
	cop_nearest *nearest = &w->nearest[column];
	if (s->search->own && w->query[column] == point)
		return;
	cop_nearest_offer(nearest, isnan(bound) ? -INFINITY : bound, point);
	if (cop_nearest_full(nearest))
		w->bounds.limit[column] = nearest->entry[0].key;
}

/* Measures what was kept for a column. Whether that must hold its neighbours. */
static bool measure_kept(const search *s, workspace *w, size_t column)
{
	const cop_nearest *kept = &w->nearest[column];
	cop_nearest measured = { .entry = w->measured, .most = s->k };
	for (size_t i = 0; i < kept->count; i++)
		cop_nearest_offer(&measured,
		        cop_nearest_distance2(s->queries, w->query[column], s->points, kept->entry[i].index),
		        kept->entry[i].index);
	float farthest = measured.entry[0].key;
	bool sure = kept->count == s->others ||
	            cop_bounds_beyond(&w->bounds, column, (double)farthest) <= kept->entry[0].key;
	cop_nearest_sort(&measured);
	cop_nearest_put(s->out, w->query[column], &measured);
	return sure;
}

/* ---- the second sweep ---- */

static void measure_inside(void *context, size_t column, uint32_t point, float bound)
{
	const sweep *s = context;
	workspace *w = s->work;
	cop_nearest *nearest = &w->nearest[column];
	(void)bound;
	if (s->search->own && w->query[column] == point)
		return;
	bool full = cop_nearest_full(nearest);
	if (full && !(nearest->entry[0].key > 0.0f)) { /* k points at distance 0, with lower numbers */
		w->bounds.limit[column] = -INFINITY;
		return;
	}
	float distance2 = cop_nearest_distance2(s->search->queries, w->query[column], s->search->points, point);
	cop_nearest_offer(nearest, distance2, point);
	if (cop_nearest_full(nearest) && nearest->entry[0].key < w->known[column]) {
		w->known[column] = nearest->entry[0].key;
		w->bounds.limit[column] = cop_bounds_beyond(&w->bounds, column, (double)w->known[column]);
	}
}

static void search_again(const search *s, workspace *w, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		w->query[i] = w->open[i];
		w->known[i] = s->out->distance2[(size_t)w->open[i] * s->k + s->k - 1];
		w->nearest[i] = (cop_nearest){ .entry = w->entry + i * s->kept, .most = s->k };
	}
	cop_bounds_load(&w->bounds, count, w->query);
	for (size_t i = 0; i < count; i++)
		w->bounds.limit[i] = cop_bounds_beyond(&w->bounds, i, (double)w->known[i]);
	sweep again = { .search = s, .work = w };
	cop_bounds_sweep(&w->bounds, measure_inside, &again);
	for (size_t i = 0; i < count; i++) {
		cop_nearest_sort(&w->nearest[i]);
		cop_nearest_put(s->out, w->query[i], &w->nearest[i]);
	}
}

/* ---- both ---- */

static cop_err search_block(void *context, size_t task, unsigned worker)
{
	const search *s = context;
	workspace *w = &s->work[worker];
	size_t first = task * s->shared.columns;
	size_t left = s->queries->n - first;
	size_t count = left < s->shared.columns ? left : s->shared.columns;
	for (size_t i = 0; i < count; i++) {
		w->query[i] = (uint32_t)(first + i);
		w->nearest[i] = (cop_nearest){ .entry = w->entry + i * s->kept, .most = s->kept };
	}
	cop_bounds_load(&w->bounds, count, w->query);
	for (size_t i = 0; i < count; i++)
		w->bounds.limit[i] = NAN;
	sweep one = { .search = s, .work = w };
	cop_bounds_sweep(&w->bounds, keep_lowest, &one);
	size_t open = 0;
	for (size_t i = 0; i < count; i++)
		if (!measure_kept(s, w, i))
			w->open[open++] = w->query[i];
	if (open > 0)
		search_again(s, w, open);
	return COP_OK;
}

static cop_err make_workspace(const search *s, workspace *w)
{
	size_t columns = s->shared.columns, entries;
	cop_err err = cop_bounds_init(&w->bounds, &s->shared);
	if (err != COP_OK || __builtin_mul_overflow(columns, s->kept, &entries))
		return COP_ENOMEM;
	w->entry = cop_mem_alloc(entries, sizeof *w->entry);
	w->nearest = cop_mem_alloc(columns, sizeof *w->nearest);
	w->measured = cop_mem_alloc(s->k, sizeof *w->measured);
	w->query = cop_mem_alloc(columns, sizeof *w->query);
	w->open = cop_mem_alloc(columns, sizeof *w->open);
	w->known = cop_mem_alloc(columns, sizeof *w->known);
	bool all = w->entry != NULL && w->nearest != NULL && w->measured != NULL && w->query != NULL &&
	           w->open != NULL && w->known != NULL;
	return all ? COP_OK : COP_ENOMEM;
}

static void end_workspace(workspace *w)
{
	cop_bounds_fini(&w->bounds);
	cop_mem_free(w->entry);
	cop_mem_free(w->nearest);
	cop_mem_free(w->measured);
	cop_mem_free(w->query);
	cop_mem_free(w->open);
	cop_mem_free(w->known);
}

static cop_err run(search *s, cop_pool *pool)
{
	cop_err err = cop_bounds_shared_init(&s->shared, s->points, s->queries, s->threads);
	s->work = cop_mem_alloc(s->threads, sizeof *s->work);
	if (s->work == NULL)
		err = COP_ENOMEM;
	for (unsigned i = 0; i < s->threads && err == COP_OK; i++)
		err = make_workspace(s, &s->work[i]);
	if (err == COP_OK)
		err = cop_pool_run(pool, (s->queries->n + s->shared.columns - 1) / s->shared.columns, search_block, s);
	for (unsigned i = 0; i < s->threads && s->work != NULL; i++)
		end_workspace(&s->work[i]);
	cop_mem_free(s->work);
	cop_bounds_shared_fini(&s->shared);
	return err;
}

cop_err cop_neighbours_exact(
        const cop_points *points, const cop_points *queries, size_t k, cop_pool *pool, cop_neighbours *out)
{
	cop_err err = cop_nearest_begin(points, queries, k, out);
	if (err != COP_OK)
		return err;
	search s = { .points = points, .own = queries == NULL, .k = k, .out = out };
	s.queries = queries != NULL ? queries : points;
	s.others = points->n - s.own;
	s.kept = s.others - k < SPARE ? s.others : k + SPARE;
	s.threads = cop_pool_threads(pool);
	err = run(&s, pool);
	if (err != COP_OK)
		cop_neighbours_fini(out);
	return err;
}

cop_err cop_neighbours_find(const cop_points *points, const cop_points *queries, size_t k, uint32_t seed,
        cop_pool *pool, cop_neighbours *out)
{
	if (points->x == NULL || queries != NULL || points->n <= COP_NEIGHBOURS_EXACT_MOST)
		return cop_neighbours_exact(points, queries, k, pool, out);
	return cop_neighbours_approximate(points, k, seed, pool, out);
}
