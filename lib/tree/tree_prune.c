/* From the last node to the root (children stand behind their parents), each node gets what it is replaced by: itself,
 * one of its children's replacements, or a leaf. Then the tree is picked from the root's replacement. */
#include "base/mem.h"
#include "tree/tree_build.h"
#include "tree/tree_private.h"

typedef struct pruning {
	const cop_tree *tree;
	const uint64_t *rows; /* of each leaf */
	uint64_t *reach;      /* rows that reach each node */
	int32_t *stands_for;  /* replacement of each node */
	int32_t *left, *right;
} pruning;

static uint64_t rows_under(const pruning *p, int32_t child) { return child >= 0 ? p->reach[child] : p->rows[~child]; }

static float value_of(const cop_tree_parts *parts, size_t *at, size_t end, uint32_t k)
{
	return *at < end && parts->output[*at] == k ? parts->rows.bias[(*at)++] : 0.0f;
}

/* Of two constant leaves; an output without a row is 0. */
static bool equal_values(const cop_tree_parts *parts, size_t l, size_t m)
{
	size_t a = parts->leaf[l], a_end = parts->leaf[l + 1], b = parts->leaf[m], b_end = parts->leaf[m + 1];
	while (a < a_end || b < b_end) {
		uint32_t k = b == b_end || (a < a_end && parts->output[a] < parts->output[b]) ? parts->output[a]
		                                                                              : parts->output[b];
		float value = value_of(parts, &a, a_end, k);
		if (value != value_of(parts, &b, b_end, k))
			return false;
	}
	return true;
}

static bool predict_the_same(const cop_tree *tree, int32_t one, int32_t other)
{
	if (one >= 0 || other >= 0)
		return false;
	size_t l = (size_t)~one, m = (size_t)~other;
	if (!cop_tree_leaf_constant(tree, l) || !cop_tree_leaf_constant(tree, m))
		return false;
	if (tree->parts.link == COP_TREE_VALUES)
		return equal_values(&tree->parts, l, m);
	return cop_tree_leaf_class(tree, l, NULL) == cop_tree_leaf_class(tree, m, NULL);
}

/* Empty on both sides: left as it is, for its parent to cut. */
static void replace(pruning *p, size_t t)
{
	const cop_tree_parts *parts = &p->tree->parts;
	int32_t left = parts->left[t], right = parts->right[t];
	uint64_t on_left = rows_under(p, left), on_right = rows_under(p, right);
	p->reach[t] = on_left + on_right;
	p->left[t] = left >= 0 ? p->stands_for[left] : left;
	p->right[t] = right >= 0 ? p->stands_for[right] : right;
	p->stands_for[t] = (int32_t)t;
	if (on_left == 0 && on_right > 0)
		p->stands_for[t] = p->right[t];
	else if (on_right == 0 && on_left > 0)
		p->stands_for[t] = p->left[t];
	else if (predict_the_same(p->tree, p->left[t], p->right[t]))
		p->stands_for[t] = p->rows[~p->right[t]] > p->rows[~p->left[t]] ? p->right[t] : p->left[t];
}

cop_err cop_tree_prune(const cop_tree *tree, const uint64_t *rows, cop_tree **out)
{
	size_t n = tree->nodes.count;
	pruning p = { .tree = tree, .rows = rows };
	cop_err err = COP_ENOMEM;
	*out = NULL;
	p.reach = cop_mem_alloc(n, sizeof *p.reach);
	p.stands_for = cop_mem_alloc(n, sizeof *p.stands_for);
	p.left = cop_mem_alloc(n, sizeof *p.left);
	p.right = cop_mem_alloc(n, sizeof *p.right);
	if (p.reach != NULL && p.stands_for != NULL && p.left != NULL && p.right != NULL) {
		for (size_t t = n; t-- > 0;)
			replace(&p, t);
		err = cop_tree_extract(&tree->parts, n + 1, p.left, p.right, n == 0 ? ~0 : p.stands_for[0], out);
	}
	cop_mem_free(p.reach);
	cop_mem_free(p.stands_for);
	cop_mem_free(p.left);
	cop_mem_free(p.right);
	return err;
}
