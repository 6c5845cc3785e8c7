/* `row` is divided in place: what a node has is a stretch of it, what goes left comes first. A node's rows are gathered
 * for its split alone. Splits wait on a stack, so that parents stand before their children. */
#include "train/polytope_tree.h"

#include <stdbool.h>
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
	waiting *stack;
	size_t waiting, room; /* of the tree's splits */
} growing;

void cop_polytope_tree_defaults(cop_polytope_tree_settings *settings)
{
	*settings = (cop_polytope_tree_settings){ .height = 6, .least_rows = 20, .least_gain = 1e-4 };
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
	g->stack = cop_mem_alloc(g->set->height + 2, sizeof *g->stack);
	tree->split = cop_mem_alloc(g->room, sizeof *tree->split);
	tree->left = cop_mem_alloc(g->room, sizeof *tree->left);
	tree->right = cop_mem_alloc(g->room, sizeof *tree->right);
	tree->share = cop_mem_alloc(g->room + 1, g->rows->classes * sizeof *tree->share);
	for (size_t i = 0; g->row != NULL && i < n; i++)
		g->row[i] = (uint32_t)i;
	return g->row != NULL && g->spare != NULL && g->x != NULL && g->label != NULL && g->stack != NULL &&
	                       tree->split != NULL && tree->left != NULL && tree->right != NULL && tree->share != NULL
	               ? COP_OK
	               : COP_ENOMEM;
}

static void end(growing *g)
{
	cop_mem_free(g->row);
	cop_mem_free(g->spare);
	cop_mem_free(g->x);
	cop_mem_free(g->label);
	cop_mem_free(g->stack);
}

static void link_to(cop_polytope_tree *tree, const waiting *w, int32_t child)
{
	if (w->parent > 0)
		(w->right ? tree->right : tree->left)[w->parent - 1] = child;
}

static void make_leaf(const growing *g, cop_polytope_tree *tree, const waiting *w)
{
	double *share = tree->share + tree->leaves * tree->classes;
	memset(share, 0, tree->classes * sizeof *share);
	for (size_t i = 0; i < w->count; i++)
		share[g->rows->label[g->row[w->first + i]]] += 1.0;
	for (size_t c = 0; c < tree->classes; c++)
		share[c] /= (double)w->count;
	link_to(tree, w, ~(int32_t)tree->leaves);
	tree->leaves++;
}

static bool is_pure(const growing *g, const waiting *w)
{
	for (size_t i = 1; i < w->count; i++)
		if (g->rows->label[g->row[w->first + i]] != g->rows->label[g->row[w->first]])
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
	const cop_polytope_rows here = { w->count, g->rows->d, g->rows->classes, g->x, g->label };
	for (size_t i = 0; i < w->count; i++) {
		const uint32_t row = g->row[w->first + i];
		memcpy(g->x + i * width, g->rows->x + row * width, width * sizeof *g->x);
		g->label[i] = g->rows->label[row];
	}
	return cop_polytope_split_fit(&g->set->split, &here, &g->rng, out);
}

static cop_err grow_one(growing *g, cop_polytope_tree *tree, const waiting *w)
{
	cop_polytope_split split = { 0 };
	cop_err err = COP_OK;
	if (w->depth < g->set->height && w->count >= g->set->least_rows && w->count >= 2 && !is_pure(g, w))
		err = fit(g, w, &split);
	const double gain = split.gain * (double)w->count / (double)g->rows->n;
	const size_t left = err == COP_OK && split.gain > 0.0 && gain >= g->set->least_gain ? divide(g, &split, w) : 0;
	if (err != COP_OK || left == 0 || left == w->count) {
		cop_polytope_split_fini(&split);
		if (err == COP_OK)
			make_leaf(g, tree, w);
		return err;
	}
	const size_t number = tree->splits++;
	tree->split[number] = split;
	link_to(tree, w, (int32_t)number);
	g->stack[g->waiting++] = (waiting){ w->first + left, w->count - left, w->depth + 1, number + 1, true };
	g->stack[g->waiting++] = (waiting){ w->first, left, w->depth + 1, number + 1, false };
	return COP_OK;
}

cop_err cop_polytope_tree_fit(const cop_polytope_tree_settings *settings, const cop_polytope_rows *rows, uint64_t seed,
        cop_polytope_tree *out)
{
	*out = (cop_polytope_tree){ .d = rows->d, .classes = rows->classes };
	if (rows->n < 1 || rows->n > INT32_MAX || rows->d < 1 || rows->classes < 1 || settings->height > MAX_HEIGHT)
		return COP_EINVAL;
	growing g = { .set = settings, .rows = rows };
	cop_rng_init(&g.rng, seed, 0);
	cop_err err = begin(&g, out);
	if (err == COP_OK)
		g.stack[g.waiting++] = (waiting){ .count = rows->n };
	while (err == COP_OK && g.waiting > 0) {
		const waiting next = g.stack[--g.waiting];
		err = grow_one(&g, out, &next);
	}
	end(&g);
	return err;
}

void cop_polytope_tree_fini(cop_polytope_tree *tree)
{
	for (size_t i = 0; i < tree->splits; i++)
		cop_polytope_split_fini(&tree->split[i]);
	cop_mem_free(tree->split);
	cop_mem_free(tree->left);
	cop_mem_free(tree->right);
	cop_mem_free(tree->share);
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
