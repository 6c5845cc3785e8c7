/* train/cart_prune.h: cost-complexity pruning of grown CART trees (Breiman et al. 1984, chapter 3).
 *
 * With R the impurity of a node and R(T_t) that of the leaves under it, the node's link has the strength
 * (R(t) - R(T_t)) / (leaves - 1); links are cut weakest first. All complexities here are shares of the root's R. */
#ifndef COP_TRAIN_CART_PRUNE_H
#define COP_TRAIN_CART_PRUNE_H

#include "train/cart_grow.h"

/* For each node the complexity from which on it is a leaf, or gone with one above it; 0 for leaves, and for nodes
 * whose splits gain nothing. Never greater than the parent's. COP_ENOMEM. */
COP_CHECK cop_err cop_cart_prune_weakest_links(const cop_cart_grown *grown, double *complexity);

/* By folds of the sample (stratified, when it has classes), the complexity of the smallest tree in the sequence of
 * `grown`, whose weakest links are given, that is within one standard error of the best. Error: of classes, the share
 * that is wrong; squared; cost of the choice. 0 when there are fewer than two rows. COP_ENOMEM. */
COP_CHECK cop_err cop_cart_prune_choose(const cop_cart_settings *settings, const cop_cart_data *data,
        const cop_cart_grown *grown, const double *links, cop_pool *pool, cop_rng *rng, double *complexity);

#endif
