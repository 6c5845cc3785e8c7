/* train/cart.h: classification and regression trees (Breiman et al. 1984): greedy axis-aligned splits, pruned by
 * cost-complexity.
 *
 * Classes: Gini impurity, leaves hold class shares (link probabilities). Values: summed squared error over all K
 * outputs, leaves hold means (link values). Costs: summed cost of the best choice, and among equals the squared error;
 * leaves hold mean costs. Of a feature, every threshold is tried, or one drawn evenly between the node's least and
 * greatest value (extremely randomised trees, Geurts et al. 2006). Tried thresholds stand midway between neighbouring
 * values. Exact, dense and sparse rows alike (what a sparse row does not store is 0). Ties by lower feature, then lower
 * threshold; so the tree does not depend on the number of threads.
 *
 * A node is split as long as its rows differ and depth and min_leaf allow it, even by a split that gains nothing by
 * itself; subtrees that gain nothing as a whole are cut at any complexity. Memory: at most the matrix again, besides a
 * few numbers for each row. */
#ifndef COP_TRAIN_CART_H
#define COP_TRAIN_CART_H

#include "base/pool.h"
#include "base/rng.h"
#include "train/cart_ranks.h"
#include "train/sample.h"
#include "tree/tree.h"

typedef struct cop_cart_settings {
	unsigned max_depth;          /* 1..COP_TREE_MAX_DEPTH */
	double min_leaf;             /* least weight of a leaf, >= 0 */
	size_t features;             /* tried at each node, drawn by rng, and then more until one splits; 0: all */
	bool drawn_thresholds;       /* one for each feature tried, by rng, instead of all */
	double complexity;           /* cost-complexity parameter (share of the root's impurity), >= 0; < 0: chosen by
	                       folds, as the largest within one standard error of the best */
	unsigned folds;              /* of that choice, >= 2 */
	const cop_cart_ranks *ranks; /* borrowed: of all rows of the dataset, for forests; NULL: made here */
} cop_cart_settings;

/* An unlimited tree; 10 folds. */
void cop_cart_defaults(cop_cart_settings *settings);

/* pool may be NULL; rng (kept state moves on) is used for folds and for drawing features. Rows of weight 0 are left
 * out. Caller frees *out. COP_EINVAL: a setting outside its range, n 0, no row of positive weight. COP_ENOMEM. */
COP_CHECK cop_err cop_cart_fit(
        const cop_cart_settings *settings, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out);

#endif
