/* unit/tree/oblique_walk.h: the walk of a row through an oblique tree, by its definition. */
#ifndef COP_TESTS_UNIT_TREE_OBLIQUE_WALK_H
#define COP_TESTS_UNIT_TREE_OBLIQUE_WALK_H

#include "linalg/kernel.h"
#include "linalg/row.h"
#include "tree/oblique_tree.h"
#include "tree/tree.h"

static inline float walk_margin(const cop_oblique_tree *tree, size_t node, const cop_row *row)
{
	const float *w = cop_oblique_tree_weights_view(tree, node);
	float sum = 0.0f;
	if (row->dense != NULL)
		sum = cop_kernel_best()->dot(row->d, w, row->dense);
	for (size_t i = 0; row->dense == NULL && i < row->nnz; i++)
		sum += w[row->index[i]] * row->value[i];
	return sum + *cop_oblique_tree_bias_view(tree, node);
}

/* The visited nodes from the root down, depth of them; returns the leaf. */
static inline size_t walk_path(const cop_oblique_tree *tree, const cop_row *row, cop_tree_step *steps)
{
	int32_t at = 0;
	for (cop_tree_step *step = steps; at >= 0; step++) {
		step->node = (uint32_t)at;
		step->margin = walk_margin(tree, step->node, row);
		step->right = step->margin >= 0.0f;
		at = cop_oblique_tree_child(tree, step->node, step->right);
	}
	return (size_t)~at;
}

static inline size_t walk_leaf(const cop_oblique_tree *tree, const cop_row *row)
{
	cop_tree_step steps[COP_TREE_MAX_HEIGHT];
	return walk_path(tree, row, steps);
}

/* The K values of the leaf that row reaches. */
static inline const float *walk_predict(const cop_oblique_tree *tree, const cop_row *row)
{
	return cop_oblique_tree_values_view(tree, walk_leaf(tree, row));
}

#endif
