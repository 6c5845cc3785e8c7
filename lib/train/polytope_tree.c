/* `row` is divided in place: what a node has is a stretch of it, what goes left comes first. A node's rows are gathered
 * for its split alone. Splits wait on a stack, so that parents stand before their children. */
#include "train/polytope_tree.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define MAX_HEIGHT 30u

typedef struct waiting {
	size_t first, count;
	unsigned depth;
	size_t parent; /* split + 1; 0: none */
	bool right;
} waiting;

typedef struct growing {
	const cop_polytope_tree_settings *set;
	const cop_polytope_rows *rows;
	cop_rng rng;
	uint32_t *row, *spare; /* n */
	float *x;              /* gathered */
	uint32_t *label;
	float *target;
	waiting *stack;
	size_t waiting, room; /* of the tree's splits */
	bool stopped;
} growing;

void cop_polytope_tree_defaults(cop_polytope_tree_settings *settings)
{
	*settings = (cop_polytope_tree_settings){ .height = 8, .least_rows = 20, .least_gain = 1e-4 };
	cop_polytope_split_defaults(&settings->split);
}

static cop_err begin(growing *g, cop_polytope_tree *tree)
{
	const size_t n = g->rows->n, width = g->rows->d + 1;
	/* Each split divides rows of which there are at least two. */
	g->room = n;
	g->row = cop_mem_alloc(n, sizeof *g->row);
	g->spare = cop_mem_alloc(n, sizeof *g->spare);
	g->x = cop_mem_alloc(n, width * sizeof *g->x);
	g->label = cop_mem_alloc(n, sizeof *g->label);
	g->target = cop_mem_alloc(n, sizeof *g->target);
	g->stack = cop_mem_alloc(g->set->height + 2, sizeof *g->stack);
	tree->split = cop_mem_alloc(g->room, sizeof *tree->split);
	tree->left = cop_mem_alloc(g->room, sizeof *tree->left);
	tree->right = cop_mem_alloc(g->room, sizeof *tree->right);
	tree->share = cop_mem_alloc(g->room + 1, tree->outputs * sizeof *tree->share);
	tree->rows = cop_mem_alloc(g->room + 1, sizeof *tree->rows);
	for (size_t i = 0; g->row != NULL && i < n; i++)
		g->row[i] = (uint32_t)i;
	return g->row != NULL && g->spare != NULL && g->x != NULL && g->label != NULL && g->target != NULL &&
	                       g->stack != NULL && tree->split != NULL && tree->left != NULL && tree->right != NULL &&
	                       tree->share != NULL && tree->rows != NULL
	               ? COP_OK
	               : COP_ENOMEM;
}

static void end(growing *g)
{
	cop_mem_free(g->row);
	cop_mem_free(g->spare);
	cop_mem_free(g->x);
	cop_mem_free(g->label);
	cop_mem_free(g->target);
	cop_mem_free(g->stack);
}

static void link_to(cop_polytope_tree *tree, const waiting *w, int32_t child)
{
	if (w->parent > 0)
		(w->right ? tree->right : tree->left)[w->parent - 1] = child;
}

static bool same(const cop_polytope_rows *rows, uint32_t a, uint32_t b)
{
	return rows->classes > 0 ? rows->label[a] == rows->label[b] : rows->target[a] == rows->target[b];
}

static bool is_pure(const growing *g, const waiting *w)
{
	for (size_t i = 1; i < w->count; i++)
		if (!same(g->rows, g->row[w->first], g->row[w->first + i]))
			return false;
	return true;
}

/* Those that go left come first; how many do. */
static size_t divide(growing *g, const cop_polytope_split *split, const waiting *w)
{
	uint32_t *row = g->row + w->first;
	const size_t width = g->rows->d + 1;
	size_t left = 0, right = 0;
	for (size_t i = 0; i < w->count; i++) {
		if (cop_polytope_split_sum(split, g->rows->x + row[i] * width) > split->threshold)
			g->spare[right++] = row[i];
		else
			row[left++] = row[i];
	}
	memcpy(row + left, g->spare, right * sizeof *row);
	return left;
}

static cop_err fit(growing *g, const waiting *w, cop_polytope_split *out)
{
	const size_t width = g->rows->d + 1;
	const bool classes = g->rows->classes > 0;
	const cop_polytope_rows here = { w->count, g->rows->d, g->rows->classes, g->x, classes ? g->label : NULL,
		classes ? NULL : g->target };
	for (size_t i = 0; i < w->count; i++) {
		const uint32_t row = g->row[w->first + i];
		memcpy(g->x + i * width, g->rows->x + row * width, width * sizeof *g->x);
		if (classes)
			g->label[i] = g->rows->label[row];
		else
			g->target[i] = g->rows->target[row];
	}
	return cop_polytope_split_fit(&g->set->split, &here, &g->rng, out);
}

static cop_err grow_one(growing *g, cop_polytope_tree *tree, const waiting *w)
{
	cop_polytope_split split = { 0 };
	cop_err err = COP_OK;
	if (!g->stopped && w->depth < g->set->height && w->count >= g->set->least_rows && w->count >= 2 &&
	        !is_pure(g, w))
		err = fit(g, w, &split);
	const double gain = split.gain * (double)w->count / (double)g->rows->n;
	const size_t left = err == COP_OK && split.gain > 0.0 && gain >= g->set->least_gain ? divide(g, &split, w) : 0;
	if (err != COP_OK || left == 0 || left == w->count) {
		cop_polytope_split_fini(&split);
		if (err == COP_OK)
			link_to(tree, w, ~(int32_t)tree->leaves++);
		return err;
	}
	const size_t number = tree->splits++;
	tree->split[number] = split;
	link_to(tree, w, (int32_t)number);
	g->stack[g->waiting++] = (waiting){ w->first + left, w->count - left, w->depth + 1, number + 1, true };
	g->stack[g->waiting++] = (waiting){ w->first, left, w->depth + 1, number + 1, false };
	return COP_OK;
}

/* Rows before the node's are in leaves: the tree is grown from left to right. */
static bool go_on(const waiting *next, size_t n, const cop_progress *progress)
{
	char text[64];
	if (progress == NULL)
		return true;
	(void)snprintf(text, sizeof text, "polytope: a node of %zu rows", next->count);
	return progress->report(progress->context, (double)next->first / (double)n, text);
}

cop_err cop_polytope_tree_fit(const cop_polytope_tree_settings *settings, const cop_polytope_rows *rows, uint64_t seed,
        const cop_progress *progress, cop_polytope_tree *out)
{
	*out = (cop_polytope_tree){ .d = rows->d, .classes = rows->classes };
	out->outputs = rows->classes > 0 ? rows->classes : 1;
	if (rows->n < 1 || rows->n > INT32_MAX || rows->d < 1 || (rows->classes < 1) != (rows->label == NULL) ||
	        (rows->label == NULL) == (rows->target == NULL) || settings->height > MAX_HEIGHT)
		return COP_EINVAL;
	growing g = { .set = settings, .rows = rows };
	cop_rng_init(&g.rng, seed, 0);
	cop_err err = begin(&g, out);
	if (err == COP_OK)
		g.stack[g.waiting++] = (waiting){ .count = rows->n };
	while (err == COP_OK && g.waiting > 0) {
		const waiting next = g.stack[--g.waiting];
		g.stopped = g.stopped || !go_on(&next, rows->n, progress);
		err = grow_one(&g, out, &next);
	}
	end(&g);
	return err == COP_OK ? cop_polytope_tree_settle(rows, settings->split.keep_spare, out) : err;
}

void cop_polytope_tree_fini(cop_polytope_tree *tree)
{
	for (size_t i = 0; i < tree->splits; i++)
		cop_polytope_split_fini(&tree->split[i]);
	cop_mem_free(tree->split);
	cop_mem_free(tree->left);
	cop_mem_free(tree->right);
	cop_mem_free(tree->share);
	cop_mem_free(tree->rows);
	*tree = (cop_polytope_tree){ 0 };
}

size_t cop_polytope_tree_leaf(const cop_polytope_tree *tree, const float *x)
{
	int32_t at = tree->splits > 0 ? 0 : ~0;
	while (at >= 0) {
		const cop_polytope_split *split = &tree->split[at];
		at = (cop_polytope_split_sum(split, x) > split->threshold ? tree->right : tree->left)[at];
	}
	return (size_t)~at;
}

size_t cop_polytope_tree_facets(const cop_polytope_tree *tree)
{
	size_t sum = 0;
	for (size_t i = 0; i < tree->splits; i++)
		sum += tree->split[i].node.experts;
	return sum;
}
