/* What a node has is a stretch of `row`, which is divided in place, parents before their children. Sums are formed by
 * blocks of rows, so that a node's rows are never copied together. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "train/polytope_cut.h"
#include "train/polytope_tree.h"
#include "tree/tree_build.h"

#define BLOCK 512

typedef struct stretch {
	size_t first, count;
} stretch;

typedef struct settling {
	const cop_polytope_rows *rows;
	cop_polytope_tree *tree;
	stretch *node;         /* splits */
	uint32_t *row, *spare; /* n */
	float *x, *z;          /* BLOCK x (d + 1); n x most experts */
	double *s;             /* n */
} settling;

static cop_err begin(settling *g)
{
	const size_t n = g->rows->n;
	size_t experts = 1;
	for (size_t t = 0; t < g->tree->splits; t++)
		experts = g->tree->split[t].node.experts > experts ? g->tree->split[t].node.experts : experts;
	g->node = cop_mem_alloc(g->tree->splits, sizeof *g->node);
	g->row = cop_mem_alloc(n, sizeof *g->row);
	g->spare = cop_mem_alloc(n, sizeof *g->spare);
	g->x = cop_mem_alloc(BLOCK, (g->rows->d + 1) * sizeof *g->x);
	g->z = cop_mem_alloc(n, experts * sizeof *g->z);
	g->s = cop_mem_alloc(n, sizeof *g->s);
	for (size_t i = 0; g->row != NULL && i < n; i++)
		g->row[i] = (uint32_t)i;
	return g->node != NULL && g->row != NULL && g->spare != NULL && g->x != NULL && g->z != NULL && g->s != NULL
	               ? COP_OK
	               : COP_ENOMEM;
}

static void end(settling *g)
{
	cop_mem_free(g->node);
	cop_mem_free(g->row);
	cop_mem_free(g->spare);
	cop_mem_free(g->x);
	cop_mem_free(g->z);
	cop_mem_free(g->s);
}

static void sums(settling *g, const cop_polytope_node *node, const stretch *here)
{
	const size_t width = g->rows->d + 1;
	for (size_t from = 0; from < here->count; from += BLOCK) {
		const size_t count = here->count - from < BLOCK ? here->count - from : BLOCK;
		for (size_t i = 0; i < count; i++)
			memcpy(g->x + i * width, g->rows->x + g->row[here->first + from + i] * width,
			        width * sizeof *g->x);
		cop_polytope_node_sums(node, count, g->x, g->z + from * node->experts, g->s + from);
	}
}

/* Half way between the sides; well away from the rows where one side is empty, however sums are rounded. */
static double middle(const settling *g, const stretch *here, double threshold)
{
	double low = (double)-INFINITY, high = (double)INFINITY;
	for (size_t i = 0; i < here->count; i++)
		if (g->s[i] > threshold)
			high = fmin(high, g->s[i]);
		else
			low = fmax(low, g->s[i]);
	if (!isfinite(low) || !isfinite(high))
		return isfinite(low) ? low + 1.0 : isfinite(high) ? high - 1.0 : threshold;
	return 0.5 * (low + high) < high ? 0.5 * (low + high) : threshold;
}

/* Those that go left come first; how many do. */
static size_t divide(settling *g, const stretch *here, double threshold)
{
	uint32_t *row = g->row + here->first;
	size_t left = 0, right = 0;
	for (size_t i = 0; i < here->count; i++) {
		if (g->s[i] > threshold)
			g->spare[right++] = row[i];
		else
			row[left++] = row[i];
	}
	if (right > 0)
		memcpy(row + left, g->spare, right * sizeof *row);
	return left;
}

/* The rows' shares and what they add to the impurity, times n. */
static double fill_leaf(const settling *g, size_t leaf, const stretch *here)
{
	const cop_polytope_tree *tree = g->tree;
	const cop_polytope_rows *rows = g->rows;
	const uint32_t *row = g->row + here->first;
	double *share = tree->share + leaf * tree->outputs, sum = 0.0;
	tree->rows[leaf] = here->count;
	memset(share, 0, tree->outputs * sizeof *share);
	if (here->count == 0)
		return 0.0;
	for (size_t i = 0; i < here->count; i++) {
		if (tree->classes > 0)
			share[rows->label[row[i]]] += 1.0;
		else
			share[0] += (double)rows->target[row[i]];
	}
	for (size_t c = 0; c < tree->outputs; c++)
		share[c] /= (double)here->count;
	for (size_t i = 0; i < here->count; i++) {
		const double away = tree->classes > 0 ? 0.0 : (double)rows->target[row[i]] - share[0];
		sum += tree->classes > 0 ? -log(share[rows->label[row[i]]]) : away * away;
	}
	return sum;
}

static void hand_on(settling *g, int32_t child, const stretch *here)
{
	if (child >= 0)
		g->node[child] = *here;
	else
		g->tree->impurity += fill_leaf(g, (size_t)~child, here) / (double)g->rows->n;
}

cop_err cop_polytope_tree_settle(const cop_polytope_rows *rows, bool keep_spare, cop_polytope_tree *tree)
{
	settling g = { .rows = rows, .tree = tree };
	const stretch all = { 0, rows->n };
	cop_err err = begin(&g);
	if (err == COP_OK) {
		tree->impurity = 0.0;
		hand_on(&g, tree->splits > 0 ? 0 : ~0, &all);
	}
	for (size_t t = 0; err == COP_OK && t < tree->splits; t++) {
		cop_polytope_split *split = &tree->split[t];
		const stretch here = g.node[t];
		sums(&g, &split->node, &here);
		if (!keep_spare)
			split->node.experts =
			        cop_polytope_cut_drop_spare(&split->node, here.count, g.z, g.s, &split->threshold);
		split->threshold = middle(&g, &here, split->threshold);
		const size_t left = divide(&g, &here, split->threshold);
		hand_on(&g, tree->left[t], &(stretch){ here.first, left });
		hand_on(&g, tree->right[t], &(stretch){ here.first + left, here.count - left });
	}
	end(&g);
	return err;
}

/* ---- copies ---- */

static cop_err copy_split(const cop_polytope_split *from, cop_polytope_split *to)
{
	const size_t width = from->node.d + 1, experts = from->node.experts;
	*to = *from;
	to->node.beta = cop_mem_alloc(experts, width * sizeof(float));
	to->node.log_r = cop_mem_alloc(experts, sizeof(float));
	if (to->node.beta == NULL || to->node.log_r == NULL)
		return COP_ENOMEM;
	memcpy(to->node.beta, from->node.beta, experts * width * sizeof(float));
	memcpy(to->node.log_r, from->node.log_r, experts * sizeof(float));
	return COP_OK;
}

cop_err cop_polytope_tree_copy(const cop_polytope_tree *tree, cop_polytope_tree *out)
{
	const size_t splits = tree->splits, numbers = tree->leaves * tree->outputs;
	cop_err err = COP_OK;
	*out = *tree;
	out->splits = 0;
	out->split = cop_mem_alloc(splits, sizeof *out->split);
	out->left = cop_mem_alloc(splits, sizeof *out->left);
	out->right = cop_mem_alloc(splits, sizeof *out->right);
	out->share = cop_mem_alloc(numbers, sizeof *out->share);
	out->rows = cop_mem_alloc(tree->leaves, sizeof *out->rows);
	if (out->split == NULL || out->left == NULL || out->right == NULL || out->share == NULL || out->rows == NULL)
		return COP_ENOMEM;
	for (; err == COP_OK && out->splits < splits; out->splits++) {
		err = copy_split(&tree->split[out->splits], &out->split[out->splits]);
		out->left[out->splits] = tree->left[out->splits];
		out->right[out->splits] = tree->right[out->splits];
	}
	memcpy(out->share, tree->share, numbers * sizeof *out->share);
	memcpy(out->rows, tree->rows, tree->leaves * sizeof *out->rows);
	return err;
}

/* r: of the most experts. */
static void put_all(const cop_polytope_tree *tree, float *r, float *values, cop_tree_build *build)
{
	for (size_t t = 0; t < tree->splits; t++) {
		const cop_polytope_split *split = &tree->split[t];
		for (size_t k = 0; k < split->node.experts; k++)
			r[k] = (float)exp((double)split->node.log_r[k]);
		const int32_t node = cop_tree_build_polytope(
		        build, split->node.experts, split->node.beta, r, (float)split->threshold);
		cop_tree_build_children(build, node, tree->left[t], tree->right[t]);
	}
	for (size_t l = 0; l < tree->leaves; l++) {
		for (size_t c = 0; c < tree->outputs; c++)
			values[c] = (float)tree->share[l * tree->outputs + c];
		(void)cop_tree_build_constant(build, values);
	}
}

cop_err cop_polytope_tree_hard(const cop_polytope_tree *tree, cop_tree **out)
{
	const cop_tree_link link = tree->classes > 0 ? COP_TREE_PROBABILITIES : COP_TREE_VALUES;
	size_t most = 1;
	cop_tree_build *build = NULL;
	cop_tree *whole = NULL;
	*out = NULL;
	for (size_t t = 0; t < tree->splits; t++)
		most = tree->split[t].node.experts > most ? tree->split[t].node.experts : most;
	float *r = cop_mem_alloc(most, sizeof *r), *values = cop_mem_alloc(tree->outputs, sizeof *values);
	cop_err err = r == NULL || values == NULL ? COP_ENOMEM : COP_OK;
	if (err == COP_OK)
		err = cop_tree_build_new(tree->d, tree->outputs, link, &build);
	if (err == COP_OK) {
		put_all(tree, r, values, build);
		err = cop_tree_build_finish(build, tree->splits > 0 ? 0 : ~0, &whole);
	}
	if (err == COP_OK) /* numbers stay: the tree was grown from left to right */
		err = cop_tree_prune(whole, tree->rows, out);
	cop_tree_free(whole);
	cop_tree_build_free(build);
	cop_mem_free(r);
	cop_mem_free(values);
	return err;
}
