/* Insertion into a list of COP_EXPLANATION_NODE, sorted by |contribution|. */
#include "learn/explained_tree.h"

#include <math.h>
#include <string.h>

static float value_at(const cop_row *x, uint32_t index)
{
	if (x->dense != NULL)
		return x->dense[index];
	size_t from = 0, to = x->nnz;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (x->index[middle] < index)
			from = middle + 1;
		else
			to = middle;
	}
	return from < x->nnz && x->index[from] == index ? x->value[from] : 0.0f;
}

/* The heaviest stored features of vector t at raw. */
static void fill_node(const cop_tree_vectors *nodes, size_t t, const cop_row *raw, cop_explained_node *out)
{
	for (size_t i = nodes->start[t]; i < nodes->start[t + 1]; i++) {
		float value = value_at(raw, nodes->index[i]);
		cop_explained_feature f = { nodes->index[i], value, nodes->weight[i], nodes->weight[i] * value };
		size_t at = out->count;
		while (at > 0 && fabsf(out->features[at - 1].contribution) < fabsf(f.contribution))
			at--;
		if (at == COP_EXPLANATION_NODE || f.contribution == 0.0f)
			continue;
		size_t kept = out->count < COP_EXPLANATION_NODE ? out->count++ : COP_EXPLANATION_NODE - 1;
		memmove(&out->features[at + 1], &out->features[at], (kept - at) * sizeof f);
		out->features[at] = f;
	}
}

/* Of a polytope, of its heaviest facet there. */
static void fill_split(const cop_tree *tree, size_t t, const cop_row *raw, cop_explained_node *out)
{
	const cop_tree_parts *parts = cop_tree_view(tree);
	if (cop_tree_parts_facets(parts, t) > 0)
		fill_node(&parts->facets, cop_tree_heaviest_facet(tree, t, raw), raw, out);
	else
		fill_node(&parts->nodes, t, raw, out);
}

size_t cop_explained_tree_walk(
        const cop_tree *tree, const cop_row *row, cop_tree_step *steps, cop_explanation *e, cop_explained_tree *out)
{
	size_t leaf;
	size_t count = cop_tree_path(tree, row, steps, &leaf);
	for (size_t i = 0; i < count; i++) {
		cop_explained_node *node = cop_explanation_node(e, out);
		node->node = steps[i].node;
		node->margin = steps[i].margin;
		fill_split(tree, steps[i].node, row, node);
	}
	out->leaf = (uint32_t)leaf;
	return leaf;
}
