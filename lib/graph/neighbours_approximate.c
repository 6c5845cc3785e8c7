/* Neighbours of neighbours (Dong, Moses and Li, "Efficient k-nearest neighbor graph construction", 2011), from a forest
 * of random projection trees, with nothing that depends on the order in which threads come.
 *
 * Invariant: every point has a list of `kept` others, nearest so far, each once; an entry's index is twice the point's
 * number, plus 1 while it is fresh: not yet there when the last round began.
 *
 * A tree parts its points by how much nearer they are to one of two random ones than to the other, near the median,
 * where exactly being random (else trees of points on a line would all be one), down to leaves of at least kept + 1; in
 * a leaf all pairs are measured. So its depth does not depend on the data, the first tree fills every list, and when
 * all points fit into one leaf the result is exact. A round measures, for each point, the neighbours of its neighbours
 * in both directions: those that lists name, and those whose lists name it (a part of them, where they are many); pairs
 * that met in an earlier round, by two entries that are not fresh, are passed over. Lists are read as they were when
 * the round began, and a point's own is the only one that is written. Rounds end when few entries are new.
 *
 * Memory: 16 x kept + 17 bytes a point, and 4 bytes a point for each thread. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "graph/nearest.h"

#define SPARE         10  /* entries of a list beyond k: neighbours are found by way of them */
#define KEPT          20  /* entries of a list, at least */
#define LEAF_MOST     128 /* points */
#define TREES         8
#define ROUNDS        12
#define ENOUGH        0.001         /* of all entries: a round with fewer new ones is the last */
#define BLOCK         ((size_t)256) /* points of a task */
#define PART_MOST_OFF 0.125         /* of the middle: a node's parts are at least 3/8 of it */
#define PAIRS         16            /* tries for two points that differ */
#define POINTS        ((size_t)1 << 31)

typedef struct workspace {
	uint32_t *seen;       /* n: the point that met it last, from 1 */
	cop_nearest *nearest; /* leaf_most */
	uint64_t fresh;
} workspace;

typedef struct search {
	const cop_points *points;
	size_t n, kept, leaf_most;
	uint64_t seed;
	unsigned tree, level, round;
	size_t *begin;  /* of the level's nodes in `order`, and the end: nodes_most + 1 */
	size_t *middle; /* of each, where it is parted; its beginning: a leaf */
	size_t nodes, nodes_most;
	cop_near *order; /* n: the tree's points, of which each node has a run; keys of its split */
	cop_near *entry; /* n x kept: the lists, heaps */
	uint32_t *was;   /* n x kept: their indices when the round began */
	size_t *start;   /* n + 1: of each point in `back` */
	uint32_t *back;  /* n x kept: who named it, twice, plus 1 when that is fresh */
	workspace *work; /* one a thread */
	unsigned threads;
} search;

static cop_nearest list_of(const search *s, size_t point, bool full)
{
	return (cop_nearest){ .entry = s->entry + point * s->kept, .most = s->kept, .count = full ? s->kept : 0 };
}

/* All pairs are measured in one leaf. */
static bool is_exact(const search *s) { return s->n <= s->leaf_most; }

/* Whether it was taken: near enough, and not there. */
static bool offer(cop_nearest *nearest, float key, uint32_t point)
{
	const cop_near offered = { .key = key, .index = 2 * point + 1 };
	if (cop_nearest_full(nearest) && !cop_nearest_before(&offered, &nearest->entry[0]))
		return false;
	for (size_t i = 0; i < nearest->count; i++)
		if (nearest->entry[i].index >> 1 == point)
			return false;
	cop_nearest_offer(nearest, offered.key, offered.index);
	return true;
}

/* ---- trees ---- */

/* The `wanted` least to the front, in any order. */
static void select_least(cop_rng *rng, cop_near *all, size_t count, size_t wanted)
{
	while (count > 1 && wanted > 0 && wanted < count) {
		const cop_near pivot = all[cop_rng_below(rng, count)];
		size_t less = 0, at = count;
		for (size_t i = 0; i < count; i++) {
			if (!cop_nearest_before(&all[i], &pivot))
				continue;
			const cop_near moved = all[i];
			all[i] = all[less];
			all[less++] = moved;
		}
		for (size_t i = less; i < count && at == count; i++)
			at = all[i].index == pivot.index ? i : count;
		all[at] = all[less];
		all[less] = pivot;
		if (wanted <= less) {
			count = less;
		} else {
			all += less + 1;
			count -= less + 1;
			wanted -= less + 1;
		}
	}
}

static cop_err split_node(void *context, size_t node, unsigned worker)
{
	const search *s = context;
	size_t count = s->begin[node + 1] - s->begin[node], left = s->middle[node] - s->begin[node];
	cop_near *all = s->order + s->begin[node];
	cop_rng rng;
	uint32_t a = 0, b = 0;
	(void)worker;
	if (left == 0)
		return COP_OK;
	cop_rng_init(&rng, s->seed, ((uint64_t)(s->tree + 1) << 40) + ((uint64_t)(s->level + 1) << 32) + node);
	for (unsigned i = 0; i < PAIRS; i++) {
		a = all[cop_rng_below(&rng, count)].index;
		b = all[cop_rng_below(&rng, count)].index;
		if (cop_nearest_distance2(s->points, a, s->points, b) > 0.0f)
			break;
	}
	for (size_t i = 0; i < count; i++) {
		float key = cop_nearest_distance2(s->points, all[i].index, s->points, a) -
		            cop_nearest_distance2(s->points, all[i].index, s->points, b);
		all[i].key = isnan(key) ? 0.0f : key;
	}
	select_least(&rng, all, count, left);
	return COP_OK;
}

static cop_err measure_leaf(void *context, size_t node, unsigned worker)
{
	const search *s = context;
	const cop_near *all = s->order + s->begin[node];
	size_t count = s->begin[node + 1] - s->begin[node];
	cop_nearest *nearest = s->work[worker].nearest;
	for (size_t i = 0; i < count; i++)
		nearest[i] = list_of(s, all[i].index, s->tree > 0);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++) {
			float distance2 = cop_nearest_distance2(s->points, all[i].index, s->points, all[j].index);
			(void)offer(&nearest[i], distance2, all[j].index);
			(void)offer(&nearest[j], distance2, all[i].index);
		}
	return COP_OK;
}

/* Where the level's nodes are to be parted, those that are no leaves; how many those are. */
static size_t choose_middles(const search *s, cop_rng *rng)
{
	size_t parted = 0;
	for (size_t node = 0; node < s->nodes; node++) {
		size_t count = s->begin[node + 1] - s->begin[node];
		bool leaf = count <= s->leaf_most;
		size_t left = (size_t)((0.5 + PART_MOST_OFF * (2.0 * cop_rng_unit(rng) - 1.0)) * (double)count);
		s->middle[node] = s->begin[node] + (leaf ? 0 : left);
		parted += !leaf;
	}
	return parted;
}

/* From the back, so that no node is overwritten before it is read. */
static void next_level(search *s, size_t parted)
{
	size_t to = s->nodes + parted;
	s->begin[to] = s->n;
	for (size_t node = s->nodes; node-- > 0;) {
		if (s->middle[node] > s->begin[node])
			s->begin[--to] = s->middle[node];
		s->begin[--to] = s->begin[node];
	}
	s->nodes += parted;
	s->level++;
}

static cop_err grow_tree(search *s, cop_pool *pool)
{
	cop_rng rng;
	cop_err err = COP_OK;
	cop_rng_init(&rng, s->seed, s->tree);
	for (size_t i = 0; i < s->n; i++)
		s->order[i].index = (uint32_t)i;
	s->begin[0] = 0;
	s->begin[1] = s->n;
	s->nodes = 1;
	s->level = 0;
	for (size_t parted; err == COP_OK && (parted = choose_middles(s, &rng)) > 0; next_level(s, parted))
		err = cop_pool_run(pool, s->nodes, split_node, s);
	return err == COP_OK ? cop_pool_run(pool, s->nodes, measure_leaf, s) : err;
}

static cop_err grow_forest(search *s, cop_pool *pool)
{
	cop_err err = COP_OK;
	for (s->tree = 0; err == COP_OK && s->tree < (is_exact(s) ? 1 : TREES); s->tree++)
		err = grow_tree(s, pool);
	return err;
}

/* ---- rounds ---- */

/* Keeps the lists as they are, and whom they name; from here on nothing in them is fresh. */
static void begin_round(search *s)
{
	size_t all = s->n * s->kept;
	memset(s->start, 0, (s->n + 1) * sizeof *s->start);
	for (size_t i = 0; i < all; i++) {
		s->was[i] = s->entry[i].index;
		s->entry[i].index &= ~UINT32_C(1);
		s->start[s->was[i] >> 1]++;
	}
	for (size_t i = 0, sum = 0; i <= s->n; i++) {
		sum += s->start[i];
		s->start[i] = sum; /* the end, which filling from behind makes the beginning */
	}
	for (size_t i = all; i-- > 0;)
		s->back[--s->start[s->was[i] >> 1]] = 2 * (uint32_t)(i / s->kept) + (s->was[i] & 1);
	for (unsigned i = 0; i < s->threads; i++) {
		memset(s->work[i].seen, 0, s->n * sizeof *s->work[i].seen);
		s->work[i].fresh = 0;
	}
}

/* Neighbour i of a point in either direction, i < neighbours_of(point). */
static size_t neighbours_of(const search *s, size_t point)
{
	size_t back = s->start[point + 1] - s->start[point];
	return s->kept + (back < s->kept ? back : s->kept);
}

static uint32_t neighbour(const search *s, size_t point, size_t i)
{
	if (i < s->kept)
		return s->was[point * s->kept + i];
	size_t back = s->start[point + 1] - s->start[point];
	size_t from = back > s->kept ? (point + s->round * s->kept) % back : 0;
	return s->back[s->start[point] + (from + i - s->kept) % back];
}

typedef struct meeting {
	const search *search;
	workspace *work;
	cop_nearest nearest;
	uint32_t point;
} meeting;

static void meet(meeting *m, uint32_t other)
{
	if (m->work->seen[other] == m->point + 1)
		return;
	m->work->seen[other] = m->point + 1;
	float distance2 = cop_nearest_distance2(m->search->points, m->point, m->search->points, other);
	m->work->fresh += offer(&m->nearest, distance2, other);
}

static void meet_neighbours(meeting *m)
{
	const search *s = m->search;
	m->work->seen[m->point] = m->point + 1;
	for (size_t i = 0; i < s->kept; i++)
		m->work->seen[s->was[m->point * s->kept + i] >> 1] = m->point + 1;
	for (size_t i = 0, count = neighbours_of(s, m->point); i < count; i++) {
		uint32_t by = neighbour(s, m->point, i), q = by >> 1;
		if (by & 1)
			meet(m, q);
		for (size_t j = 0, more = neighbours_of(s, q); j < more; j++) {
			uint32_t other = neighbour(s, q, j);
			if ((by | other) & 1)
				meet(m, other >> 1);
		}
	}
}

static cop_err some_points(void *context, size_t task, unsigned worker)
{
	const search *s = context;
	for (size_t i = task * BLOCK; i < s->n && i < (task + 1) * BLOCK; i++) {
		meeting m = {
			.search = s, .work = &s->work[worker], .nearest = list_of(s, i, true), .point = (uint32_t)i
		};
		meet_neighbours(&m);
	}
	return COP_OK;
}

static cop_err improve(search *s, cop_pool *pool)
{
	cop_err err = COP_OK;
	double fresh = (double)INFINITY;
	for (s->round = 0; err == COP_OK && s->round < ROUNDS && fresh > ENOUGH * (double)(s->n * s->kept);
	        s->round++) {
		begin_round(s);
		err = cop_pool_run(pool, (s->n + BLOCK - 1) / BLOCK, some_points, s);
		fresh = 0.0;
		for (unsigned i = 0; i < s->threads; i++)
			fresh += (double)s->work[i].fresh;
	}
	return err;
}

/* ---- both ---- */

static cop_err make(search *s)
{
	size_t all = s->n * s->kept; /* both at most POINTS */
	s->order = cop_mem_alloc(s->n, sizeof *s->order);
	s->begin = cop_mem_alloc(s->nodes_most + 1, sizeof *s->begin);
	s->middle = cop_mem_alloc(s->nodes_most, sizeof *s->middle);
	s->entry = cop_mem_alloc(all, sizeof *s->entry);
	s->was = cop_mem_alloc(all, sizeof *s->was);
	s->start = cop_mem_alloc(s->n + 1, sizeof *s->start);
	s->back = cop_mem_alloc(all, sizeof *s->back);
	s->work = cop_mem_alloc(s->threads, sizeof *s->work);
	bool made = s->order != NULL && s->begin != NULL && s->middle != NULL && s->entry != NULL && s->was != NULL &&
	            s->start != NULL && s->back != NULL && s->work != NULL;
	for (unsigned i = 0; made && i < s->threads; i++) {
		s->work[i].seen = cop_mem_alloc(s->n, sizeof *s->work[i].seen);
		s->work[i].nearest = cop_mem_alloc(s->leaf_most, sizeof *s->work[i].nearest);
		made = s->work[i].seen != NULL && s->work[i].nearest != NULL;
	}
	return made ? COP_OK : COP_ENOMEM;
}

static void end(search *s)
{
	for (unsigned i = 0; s->work != NULL && i < s->threads; i++) {
		cop_mem_free(s->work[i].seen);
		cop_mem_free(s->work[i].nearest);
	}
	cop_mem_free(s->work);
	cop_mem_free(s->order);
	cop_mem_free(s->begin);
	cop_mem_free(s->middle);
	cop_mem_free(s->entry);
	cop_mem_free(s->was);
	cop_mem_free(s->start);
	cop_mem_free(s->back);
}

static void put_all(const search *s, cop_neighbours *out)
{
	for (size_t i = 0; i < s->n; i++) {
		cop_nearest nearest = list_of(s, i, true);
		cop_nearest_sort(&nearest);
		for (size_t j = 0; j < s->kept; j++)
			nearest.entry[j].index >>= 1;
		cop_nearest_put(out, i, &nearest);
	}
}

cop_err cop_neighbours_approximate(
        const cop_points *points, size_t k, uint32_t seed, cop_pool *pool, cop_neighbours *out)
{
	*out = (cop_neighbours){ .n = 0 };
	if (points->x == NULL || points->n > POINTS)
		return COP_EINVAL;
	cop_err err = cop_nearest_begin(points, NULL, k, out);
	if (err != COP_OK)
		return err;
	search s = { .points = points, .n = points->n, .seed = seed, .threads = cop_pool_threads(pool) };
	s.kept = k + SPARE > KEPT ? k + SPARE : KEPT;
	s.kept = s.kept < s.n - 1 ? s.kept : s.n - 1;
	s.leaf_most = 3 * (s.kept + 1) > LEAF_MOST ? 3 * (s.kept + 1) : LEAF_MOST;
	s.nodes_most = s.n / (s.kept + 1);
	err = make(&s);
	if (err == COP_OK)
		err = grow_forest(&s, pool);
	if (err == COP_OK && !is_exact(&s))
		err = improve(&s, pool);
	if (err == COP_OK)
		put_all(&s, out);
	end(&s);
	if (err != COP_OK)
		cop_neighbours_fini(out);
	return err;
}
