/* Cutting a link only strengthens those above it, so a heap of strengths as they once were gives the weakest link: its
 * top, if its strength is still the same, else it is put back with the new one. */
#include "train/cart_prune.h"

#include <math.h>

#include "base/mem.h"

#define NOTHING 1e-12 /* share of the root's impurity that is rounding */
#define UNCUT   (-1.0)

typedef struct link {
	double strength;
	uint32_t node;
} link;

typedef struct pruning {
	const cop_cart_node *node;
	double *branch;   /* R(T_t) */
	uint32_t *leaves; /* under each node */
	double *cut;      /* strength at which it was cut, or UNCUT */
	link *heap;
	size_t count;
} pruning;

static double strength(const pruning *p, size_t t)
{
	double root = p->node[0].impurity;
	double gain = (p->node[t].impurity - p->branch[t]) / root;
	return gain > NOTHING ? gain / (p->leaves[t] - 1) : 0;
}

static bool weaker(const link *a, const link *b)
{
	return a->strength < b->strength || (a->strength == b->strength && a->node > b->node);
}

static void sift_down(pruning *p, size_t at)
{
	link moved = p->heap[at];
	for (size_t child = 2 * at + 1; child < p->count; child = 2 * at + 1) {
		if (child + 1 < p->count && weaker(&p->heap[child + 1], &p->heap[child]))
			child++;
		if (!weaker(&p->heap[child], &moved))
			break;
		p->heap[at] = p->heap[child];
		at = child;
	}
	p->heap[at] = moved;
}

/* Nodes stand behind their parents, so sums come up from the end. */
static void start(pruning *p, size_t nodes)
{
	for (size_t t = nodes; t-- > 0;) {
		const cop_cart_node *node = &p->node[t];
		p->cut[t] = node->left < 0 ? 0 : UNCUT;
		p->leaves[t] = node->left < 0 ? 1 : p->leaves[node->left] + p->leaves[node->right];
		p->branch[t] = node->left < 0 ? node->impurity : p->branch[node->left] + p->branch[node->right];
		if (node->left >= 0)
			p->heap[p->count++] = (link){ .strength = strength(p, t), .node = (uint32_t)t };
	}
	for (size_t at = p->count; at-- > 0;)
		sift_down(p, at);
}

static bool gone(const pruning *p, size_t t)
{
	for (int32_t above = p->node[t].parent; above >= 0; above = p->node[above].parent) {
		if (p->cut[above] >= 0)
			return true;
	}
	return false;
}

static void cut(pruning *p, size_t t, double at)
{
	double more = p->node[t].impurity - p->branch[t];
	uint32_t fewer = p->leaves[t] - 1;
	p->cut[t] = at;
	for (int32_t above = (int32_t)t; above >= 0; above = p->node[above].parent) {
		p->branch[above] += more;
		p->leaves[above] -= fewer;
	}
}

static void cut_all(pruning *p)
{
	double at = 0;
	while (p->count > 0) {
		link *top = &p->heap[0];
		size_t t = top->node;
		bool out = gone(p, t);
		double now = out ? top->strength : strength(p, t);
		if (now > top->strength) {
			top->strength = now;
		} else {
			at = now > at ? now : at;
			if (!out)
				cut(p, t, at);
			*top = p->heap[--p->count];
		}
		if (p->count > 0)
			sift_down(p, 0);
	}
}

cop_err cop_cart_prune_weakest_links(const cop_cart_grown *grown, double *complexity)
{
	size_t nodes = grown->count;
	pruning p = { .node = grown->node, .cut = complexity };
	p.branch = cop_mem_alloc(nodes, sizeof *p.branch);
	p.leaves = cop_mem_alloc(nodes, sizeof *p.leaves);
	p.heap = cop_mem_alloc(nodes, sizeof *p.heap);
	cop_err err = p.branch == NULL || p.leaves == NULL || p.heap == NULL ? COP_ENOMEM : COP_OK;
	if (err == COP_OK) {
		start(&p, nodes);
		cut_all(&p);
		for (size_t t = 1; t < nodes; t++) {
			double above = complexity[p.node[t].parent];
			complexity[t] = complexity[t] < 0 ? above : fmin(complexity[t], above);
		}
	}
	cop_mem_free(p.branch);
	cop_mem_free(p.leaves);
	cop_mem_free(p.heap);
	return err;
}
