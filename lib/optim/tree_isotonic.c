/* A group is a subtree's top with some of what is below it; it is named by its top. A group's nodes are a list in
 * `next` that begins at the top and ends at NONE; `last` is the end of a top's list. value and support are those of a
 * top's group. Only a top can exceed its parent, since all nodes of a group have one value. */
#include "optim/tree_isotonic.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/mem.h"

#define NONE UINT32_MAX

typedef struct node {
	double value;   /* a of the group, in [0, 1] */
	size_t support; /* scores above it; 0 where the value is at a bound, and so has no gradient */
	uint32_t top, next, last, size;
} node;

struct cop_tree_isotonic {
	size_t nodes, n;
	double lambda;
	const float *q; /* of the solve under way */
	node node[];
};

cop_err cop_tree_isotonic_new(unsigned depth, cop_tree_isotonic **out)
{
	*out = NULL;
	if (depth > COP_TREE_ISOTONIC_MAX_DEPTH)
		return COP_EINVAL;
	size_t nodes = ((size_t)2 << depth) - 1;
	cop_tree_isotonic *iso = cop_mem_alloc(1, sizeof *iso + nodes * sizeof iso->node[0]);
	if (iso == NULL)
		return COP_ENOMEM;
	iso->nodes = nodes;
	*out = iso;
	return COP_OK;
}

void cop_tree_isotonic_free(cop_tree_isotonic *iso) { cop_mem_free(iso); }

size_t cop_tree_isotonic_nodes(const cop_tree_isotonic *iso) { return iso->nodes; }

/* Adds up the scores (with their half) above `value`, and their number. */
static void add_above(size_t n, const float *q, double value, double *sum, size_t *count)
{
	const float least = (float)(value - 0.5);
	double s = 0.0;
	size_t k = 0;
#pragma omp simd reduction(+ : s, k)
	for (size_t i = 0; i < n; i++) {
		s += q[i] > least ? (double)q[i] + 0.5 : 0.0;
		k += q[i] > least;
	}
	*sum += s;
	*count += k;
}

static void group_above(const cop_tree_isotonic *iso, uint32_t top, double value, double *sum, size_t *count)
{
	*sum = 0.0;
	*count = 0;
	for (uint32_t t = top; t != NONE; t = iso->node[t].next)
		add_above(iso->n, iso->q + t * iso->n, value, sum, count);
}

/* Proposition 2: the least a of at least 0 with lambda |G| a = sum of (q + 1/2 - a) over the scores above a. The
 * function is concave and rises: Newton's steps but the first come from below, and end when they rise no more. */
static void solve_group(cop_tree_isotonic *iso, uint32_t top, double start)
{
	node *g = &iso->node[top];
	const double weight = iso->lambda * (double)g->size;
	double sum, next, value = 1.0;
	size_t count;
	group_above(iso, top, value, &sum, &count);
	g->support = 0;
	g->value = 1.0;
	if (sum >= weight + (double)count)
		return;
	value = start;
	for (bool first = true;; first = false) {
		group_above(iso, top, value, &sum, &count);
		next = sum / (weight + (double)count);
		if (!first && next <= value)
			break;
		value = next;
	}
	g->value = value;
	g->support = value > 0.0 ? count : 0;
}

static cop_err solve_node(void *context, size_t t, unsigned worker)
{
	(void)worker;
	cop_tree_isotonic *iso = context;
	iso->node[t] = (node){ .top = (uint32_t)t, .next = NONE, .last = (uint32_t)t, .size = 1 };
	solve_group(iso, (uint32_t)t, 0.5);
	return COP_OK;
}

/* The top of the group above that of a top but the root's. */
static uint32_t above(const cop_tree_isotonic *iso, size_t top) { return iso->node[(top - 1) / 2].top; }

/* The top of the greatest value among those that exceed the group above; 0: none does. */
static uint32_t worst(const cop_tree_isotonic *iso)
{
	uint32_t found = 0;
	for (size_t t = 1; t < iso->nodes; t++) {
		const node *g = &iso->node[t];
		if (g->top == t && g->value > iso->node[above(iso, t)].value &&
		        (found == 0 || g->value > iso->node[found].value))
			found = (uint32_t)t;
	}
	return found;
}

/* The group of `top` joins the one above. */
static void join(cop_tree_isotonic *iso, uint32_t top)
{
	const uint32_t into = above(iso, top);
	node *g = &iso->node[into], *child = &iso->node[top];
	const double start = (g->value * g->size + child->value * child->size) / (g->size + child->size);
	for (uint32_t t = top; t != NONE; t = iso->node[t].next)
		iso->node[t].top = into;
	iso->node[g->last].next = top;
	g->last = child->last;
	g->size += child->size;
	solve_group(iso, into, start);
}

void cop_tree_isotonic_solve(cop_tree_isotonic *iso, size_t n, const float *q, double lambda, cop_pool *pool, double *a)
{
	COP_ASSERT(n >= 1 && lambda > 0.0);
	iso->n = n;
	iso->q = q;
	iso->lambda = lambda;
	cop_err err = cop_pool_run(pool, iso->nodes, solve_node, iso);
	COP_ASSERT(err == COP_OK); /* no task fails */
	for (uint32_t top = worst(iso); top != 0; top = worst(iso))
		join(iso, top);
	for (size_t t = 0; t < iso->nodes; t++)
		a[t] = iso->node[iso->node[t].top].value;
}

/* d a / d q = 1 / (lambda |G| + k) for each of the k scores above a group's value within the bounds. */
void cop_tree_isotonic_gradient(const cop_tree_isotonic *iso, const float *q, const double *ga, float *gq)
{
	for (size_t top = 0; top < iso->nodes; top++) {
		const node *g = &iso->node[top];
		double sum = 0.0;
		if (g->top != top || g->support == 0)
			continue;
		for (uint32_t t = (uint32_t)top; t != NONE; t = iso->node[t].next)
			sum += ga[t];
		const float share = (float)(sum / (iso->lambda * (double)g->size + (double)g->support));
		const float least = (float)(g->value - 0.5);
		for (uint32_t t = (uint32_t)top; t != NONE; t = iso->node[t].next)
			for (size_t i = t * iso->n; i < (t + 1) * iso->n; i++)
				gq[i] += q[i] > least ? share : 0.0f;
	}
}
