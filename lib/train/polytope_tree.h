/* train/polytope_tree.h: convex polytope trees for classes or values, grown greedily (Armandpour et al., section 3.4):
 * each split is fitted to the rows that reach it, which are then divided, until too few are left or the tree is as high
 * as it may be.
 *
 * What goes left at a node is a convex set, so a leaf's region is what a logical formula of convex sets says. */
#ifndef COP_TRAIN_POLYTOPE_TREE_H
#define COP_TRAIN_POLYTOPE_TREE_H

#include "train/polytope_split.h"
#include "train/sample.h"
#include "tree/tree.h"

typedef struct cop_polytope_tree_settings {
	cop_polytope_split_settings split;
	unsigned height;   /* [0, 30] */
	size_t least_rows; /* of a node that is split */
	double least_gain; /* of a split, nats or variance, as a share of all rows */
} cop_polytope_tree_settings;

void cop_polytope_tree_defaults(cop_polytope_tree_settings *settings);

/* c >= 0 as a child is split c, c < 0 is leaf ~c; split 0 is the root, parents stand before their children. Without
 * splits leaf 0 is all there is. */
typedef struct cop_polytope_tree {
	size_t d, classes, outputs, splits, leaves; /* outputs: the classes; of values (classes 0) 1 */
	cop_polytope_split *split;
	int32_t *left, *right;
	uint64_t *rows;  /* leaves: training rows there */
	double *share;   /* leaves x outputs, of the training rows there: shares of classes, or the mean value */
	double impurity; /* of the training rows in the leaves: mean entropy of the class in nats, or variance */
} cop_polytope_tree;

/* progress may be NULL; stopped, nodes that were not split yet are leaves. Caller finishes with fini, also after an
 * error. COP_EINVAL, COP_EDIVERGED, COP_ENOMEM. */
COP_CHECK cop_err cop_polytope_tree_fit(const cop_polytope_tree_settings *settings, const cop_polytope_rows *rows,
        uint64_t seed, const cop_progress *progress, cop_polytope_tree *out);
void cop_polytope_tree_fini(cop_polytope_tree *tree);
COP_CHECK cop_err cop_polytope_tree_copy(const cop_polytope_tree *tree, cop_polytope_tree *out);

/* Routes the rows: unless spare ones are kept, each node loses the facets without which its rows stay on their sides;
 * its threshold is put half way between the sides, and shares, rows and impurity become those of these rows.
 * COP_ENOMEM. */
COP_CHECK cop_err cop_polytope_tree_settle(const cop_polytope_rows *rows, bool keep_spare, cop_polytope_tree *tree);

/* The common hard tree (tree/tree.h): probabilities of classes, or values, without what no training row reaches and
 * without splits of equal leaves (cop_tree_prune). Caller frees *out. COP_EINVAL, COP_ENONFINITE, COP_ENOMEM. */
COP_CHECK cop_err cop_polytope_tree_hard(const cop_polytope_tree *tree, cop_tree **out);

/* Of one row x of d + 1 numbers, the last 1. */
size_t cop_polytope_tree_leaf(const cop_polytope_tree *tree, const float *x);
/* Facets of all splits. */
size_t cop_polytope_tree_facets(const cop_polytope_tree *tree);

#endif
