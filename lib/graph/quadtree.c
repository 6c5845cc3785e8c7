/* Nodes stand in preorder, each with the number of the node behind its subtree, so that a walk needs no stack: down is
 * the next node, past is `behind`. A node's points are one range of `order`. Boxes are tight and divided in the middle:
 * so each division parts at least two points, and there are at most 2 n - 1 nodes. */
#include "graph/quadtree.h"

#include <math.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/mem.h"

#define FEW 6 /* points that are not divided */

typedef struct node {
	double mean[2], side2; /* the longer side, squared */
	double low[2], high[2];
	uint32_t begin, end; /* of order */
	uint32_t behind;
	uint32_t inner; /* 1: children follow */
} node;

struct cop_quadtree {
	size_t n;
	const double *z;
	node *node;
	uint32_t nodes;
	uint32_t *order, *place; /* n each, inverse to each other */
	uint8_t *quarter;        /* n: of the points of the node at hand */
	uint32_t *spare;         /* n */
};

cop_err cop_quadtree_new(size_t n, cop_quadtree **out)
{
	*out = NULL;
	if (n == 0 || n > UINT32_MAX / 2)
		return COP_EINVAL;
	cop_quadtree *tree = cop_mem_alloc(1, sizeof *tree);
	if (tree == NULL)
		return COP_ENOMEM;
	tree->n = n;
	tree->node = cop_mem_reserve(2 * n, sizeof *tree->node);
	tree->order = cop_mem_alloc(n, sizeof *tree->order);
	tree->place = cop_mem_alloc(n, sizeof *tree->place);
	tree->quarter = cop_mem_alloc(n, sizeof *tree->quarter);
	tree->spare = cop_mem_alloc(n, sizeof *tree->spare);
	if (tree->node == NULL || tree->order == NULL || tree->place == NULL || tree->quarter == NULL ||
	        tree->spare == NULL) {
		cop_quadtree_free(tree);
		return COP_ENOMEM;
	}
	*out = tree;
	return COP_OK;
}

void cop_quadtree_free(cop_quadtree *tree)
{
	if (tree == NULL)
		return;
	cop_mem_free(tree->node);
	cop_mem_free(tree->order);
	cop_mem_free(tree->place);
	cop_mem_free(tree->quarter);
	cop_mem_free(tree->spare);
	cop_mem_free(tree);
}

/* ---- building ---- */

static void measure(const cop_quadtree *tree, node *at)
{
	double sum[2] = { 0, 0 };
	for (int c = 0; c < 2; c++)
		at->low[c] = at->high[c] = tree->z[2 * (size_t)tree->order[at->begin] + (size_t)c];
	for (uint32_t i = at->begin; i < at->end; i++)
		for (int c = 0; c < 2; c++) {
			double v = tree->z[2 * (size_t)tree->order[i] + (size_t)c];
			sum[c] += v;
			at->low[c] = fmin(at->low[c], v);
			at->high[c] = fmax(at->high[c], v);
		}
	for (int c = 0; c < 2; c++)
		at->mean[c] = sum[c] / (double)(at->end - at->begin);
	double side = fmax(at->high[0] - at->low[0], at->high[1] - at->low[1]);
	at->side2 = side * side;
}

/* Sorts the node's points by quarter of its box; end[q] is where quarter q ends. False: all lie in one. */
static bool divide(cop_quadtree *tree, const node *at, uint32_t end[4])
{
	double middle[2] = { 0.5 * at->low[0] + 0.5 * at->high[0], 0.5 * at->low[1] + 0.5 * at->high[1] };
	uint32_t count[4] = { 0 }, next[4];
	for (uint32_t i = at->begin; i < at->end; i++) {
		const double *z = tree->z + 2 * (size_t)tree->order[i];
		tree->quarter[i] = (uint8_t)((z[0] > middle[0]) + 2 * (z[1] > middle[1]));
		count[tree->quarter[i]]++;
	}
	uint32_t begin = at->begin;
	for (int q = 0; q < 4; q++) {
		next[q] = begin;
		begin += count[q];
		end[q] = begin;
		if (count[q] == at->end - at->begin)
			return false;
	}
	for (uint32_t i = at->begin; i < at->end; i++)
		tree->spare[next[tree->quarter[i]]++] = tree->order[i];
	for (uint32_t i = at->begin; i < at->end; i++)
		tree->order[i] = tree->spare[i];
	return true;
}

/* Sides halve on the way down: some two thousand levels at most. */
static void grow(cop_quadtree *tree, uint32_t begin, uint32_t end)
{
	node *at = &tree->node[tree->nodes++];
	uint32_t stop[4];
	at->begin = begin;
	at->end = end;
	measure(tree, at);
	at->inner = end - begin > FEW && divide(tree, at, stop);
	for (int q = 0; q < 4 && at->inner; q++) {
		if (stop[q] > begin)
			grow(tree, begin, stop[q]);
		begin = stop[q];
	}
	at->behind = tree->nodes;
}

void cop_quadtree_build(cop_quadtree *tree, const double *z)
{
	tree->z = z;
	tree->nodes = 0;
	for (size_t i = 0; i < tree->n; i++)
		tree->order[i] = (uint32_t)i;
	grow(tree, 0, (uint32_t)tree->n);
	COP_ASSERT(tree->nodes < 2 * tree->n);
	for (size_t i = 0; i < tree->n; i++)
		tree->place[tree->order[i]] = (uint32_t)i;
}

/* ---- sums ---- */

static void add(cop_quadtree_kernel kernel, double count, double dx, double dy, cop_quadtree_sums *sums)
{
	double d2 = dx * dx + dy * dy;
	double k = kernel == COP_QUADTREE_STUDENT ? 1.0 / (1.0 + d2) : exp(-d2);
	double slope = count * (kernel == COP_QUADTREE_STUDENT ? k * k : k);
	sums->value += count * k;
	sums->push[0] += slope * dx;
	sums->push[1] += slope * dy;
}

static double outside(double v, double low, double high) { return fmax(fmax(low - v, v - high), 0.0); }

static bool is_far(const node *at, const double *z)
{
	double dx = outside(z[0], at->low[0], at->high[0]), dy = outside(z[1], at->low[1], at->high[1]);
	return dx * dx + dy * dy > COP_QUADTREE_FAR;
}

cop_quadtree_sums cop_quadtree_sum(const cop_quadtree *tree, cop_quadtree_kernel kernel, double theta, size_t i)
{
	cop_quadtree_sums sums = { 0 };
	const double *z = tree->z + 2 * i, theta2 = theta * theta;
	const uint32_t place = tree->place[i];
	for (uint32_t t = 0; t < tree->nodes;) {
		const node *at = &tree->node[t];
		double dx = z[0] - at->mean[0], dy = z[1] - at->mean[1];
		bool own = place >= at->begin && place < at->end;
		if (!own && kernel == COP_QUADTREE_GAUSS && is_far(at, z)) {
			t = at->behind;
		} else if (!own && at->side2 < theta2 * (dx * dx + dy * dy)) {
			add(kernel, (double)(at->end - at->begin), dx, dy, &sums);
			t = at->behind;
		} else if (at->inner) {
			t++;
		} else {
			for (uint32_t p = at->begin; p < at->end; p++) {
				const double *other = tree->z + 2 * (size_t)tree->order[p];
				if (p != place)
					add(kernel, 1.0, z[0] - other[0], z[1] - other[1], &sums);
			}
			t = at->behind;
		}
	}
	return sums;
}
