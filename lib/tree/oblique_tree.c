/* Children follow from the heap order, so a tree is nothing but its numbers. */
#include "tree/oblique_tree.h"

#include "base/assert.h"
#include "base/mem.h"

struct cop_oblique_tree {
	size_t d;
	size_t outputs;
	size_t n; /* decision nodes */
	unsigned depth;
	float *w;     /* n x d */
	float *b;     /* n */
	float *theta; /* (n + 1) x outputs */
};

void cop_oblique_tree_free(cop_oblique_tree *tree)
{
	if (tree == NULL)
		return;
	cop_mem_free(tree->w);
	cop_mem_free(tree->b);
	cop_mem_free(tree->theta);
	cop_mem_free(tree);
}

cop_err cop_oblique_tree_new(size_t d, unsigned h, size_t outputs, cop_oblique_tree **out)
{
	*out = NULL;
	if (d == 0 || d > UINT32_MAX || outputs == 0 || outputs > UINT32_MAX || h < 1 || h > COP_TREE_MAX_HEIGHT)
		return COP_EINVAL;
	cop_oblique_tree *tree = cop_mem_alloc(1, sizeof *tree);
	if (tree == NULL)
		return COP_ENOMEM;
	tree->d = d;
	tree->outputs = outputs;
	tree->n = ((size_t)1 << h) - 1;
	tree->depth = h;
	tree->w = cop_mem_alloc(tree->n * d, sizeof *tree->w);
	tree->b = cop_mem_alloc(tree->n, sizeof *tree->b);
	tree->theta = cop_mem_alloc((tree->n + 1) * outputs, sizeof *tree->theta);
	if (tree->w == NULL || tree->b == NULL || tree->theta == NULL) {
		cop_oblique_tree_free(tree);
		return COP_ENOMEM;
	}
	*out = tree;
	return COP_OK;
}

size_t cop_oblique_tree_features(const cop_oblique_tree *tree) { return tree->d; }
size_t cop_oblique_tree_outputs(const cop_oblique_tree *tree) { return tree->outputs; }
size_t cop_oblique_tree_nodes(const cop_oblique_tree *tree) { return tree->n; }
size_t cop_oblique_tree_leaves(const cop_oblique_tree *tree) { return tree->n + 1; }
unsigned cop_oblique_tree_depth(const cop_oblique_tree *tree) { return tree->depth; }

int32_t cop_oblique_tree_child(const cop_oblique_tree *tree, size_t node, bool right)
{
	COP_ASSERT(node < tree->n);
	size_t c = 2 * node + 1 + right;
	return c < tree->n ? (int32_t)c : ~(int32_t)(c - tree->n);
}

float *cop_oblique_tree_weights(cop_oblique_tree *tree, size_t node)
{
	COP_ASSERT(node < tree->n);
	return tree->w + node * tree->d;
}

const float *cop_oblique_tree_weights_view(const cop_oblique_tree *tree, size_t node)
{
	COP_ASSERT(node < tree->n);
	return tree->w + node * tree->d;
}

float *cop_oblique_tree_bias(cop_oblique_tree *tree, size_t node)
{
	COP_ASSERT(node < tree->n);
	return tree->b + node;
}

const float *cop_oblique_tree_bias_view(const cop_oblique_tree *tree, size_t node)
{
	COP_ASSERT(node < tree->n);
	return tree->b + node;
}

float *cop_oblique_tree_values(cop_oblique_tree *tree, size_t leaf)
{
	COP_ASSERT(leaf <= tree->n);
	return tree->theta + leaf * tree->outputs;
}

const float *cop_oblique_tree_values_view(const cop_oblique_tree *tree, size_t leaf)
{
	COP_ASSERT(leaf <= tree->n);
	return tree->theta + leaf * tree->outputs;
}
