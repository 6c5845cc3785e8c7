/* train/polytope_tree.h: convex polytope trees for classes, grown greedily (Armandpour et al., section 3.4): each split
 * is fitted to the rows that reach it, which are then divided, until too few are left or the tree is as high as it may
 * be.
 *
 * What goes left at a node is a convex set, so a leaf's region is what a logical formula of convex sets says. */
#ifndef COP_TRAIN_POLYTOPE_TREE_H
#define COP_TRAIN_POLYTOPE_TREE_H

#include "train/polytope_split.h"

typedef struct cop_polytope_tree_settings {
	cop_polytope_split_settings split;
	unsigned height;   /* [0, 30] */
	size_t least_rows; /* of a node that is split */
	double least_gain; /* of a split, nats, as a share of all rows */
} cop_polytope_tree_settings;

void cop_polytope_tree_defaults(cop_polytope_tree_settings *settings);

/* c >= 0 as a child is split c, c < 0 is leaf ~c; split 0 is the root, parents stand before their children. Without
 * splits leaf 0 is all there is. */
typedef struct cop_polytope_tree {
	size_t d, classes, splits, leaves;
	cop_polytope_split *split;
	int32_t *left, *right;
	double *share; /* leaves x classes: of the training rows there, sums 1 */
} cop_polytope_tree;

/* Caller finishes with fini, also after an error. COP_EINVAL, COP_EDIVERGED, COP_ENOMEM. */
COP_CHECK cop_err cop_polytope_tree_fit(const cop_polytope_tree_settings *settings, const cop_polytope_rows *rows,
        uint64_t seed, cop_polytope_tree *out);
void cop_polytope_tree_fini(cop_polytope_tree *tree);

/* Of one row x of d + 1 numbers, the last 1. */
size_t cop_polytope_tree_leaf(const cop_polytope_tree *tree, const float *x);
/* Facets of all splits. */
size_t cop_polytope_tree_facets(const cop_polytope_tree *tree);

#endif
