/* train/cart_split.h: the best split of a node's rows by one feature.
 *
 * Moments of a row: classes, its weight for its class; values, weight x (target - centre); costs, weight x cost. With
 * the sums of moments S and of weights W on either side, a split is the better the greater
 *
 *     classes, values   sum_k SL_k^2 / WL + sum_k SR_k^2 / WR     (Gini, summed squared error)
 *     costs             -(min_k SL_k + min_k SR_k), among equals by the above
 *
 * Everything is borrowed. One searcher per thread. */
#ifndef COP_TRAIN_CART_SPLIT_H
#define COP_TRAIN_CART_SPLIT_H

#include "train/cart_data.h"

/* The rows of a node, by their number in it. */
typedef struct cop_cart_members {
	cop_task task;
	size_t n, outputs;
	double min_leaf;
	const double *weight;  /* n */
	const uint32_t *label; /* classes: n */
	const double *moment;  /* values, costs: n x outputs */
	const double *total;   /* outputs: sums of moments */
	double total_weight;
} cop_cart_members;

typedef struct cop_cart_split {
	double score, second; /* second: costs */
	size_t feature;       /* SIZE_MAX: none was found */
	uint32_t first;       /* the least rank (dense) or key (sparse, drawn) that goes right */
} cop_cart_split;

typedef struct cop_cart_searcher {
	cop_cart_split best;
	uint32_t *rank;         /* n */
	uint64_t *pair, *spare; /* n */
	double *bins;           /* COP_CART_BINS */
	double *near, *far;     /* outputs */
	float *value;           /* n; drawn thresholds */
} cop_cart_searcher;

#define COP_CART_BINS 32768

/* Room for nodes of n rows, of dense or sparse data; both have room for drawn thresholds. The caller ends it with fini
 * in every case. COP_ENOMEM. */
COP_CHECK cop_err cop_cart_split_searcher_init(cop_cart_searcher *searcher, size_t n, size_t outputs, bool sparse);
void cop_cart_split_searcher_fini(cop_cart_searcher *searcher);

/* Is a better than b: by score, then lower feature? */
bool cop_cart_split_better(const cop_cart_split *a, const cop_cart_split *b);

/* Puts the feature's best split into searcher->best if it is better than that: dense, the places of the node's rows;
 * sparse, sorted pairs of those rows whose value is not 0. Ties within a feature: the lower threshold. */
void cop_cart_split_dense(cop_cart_searcher *searcher, const cop_cart_members *members, const cop_cart_column *column,
        const uint32_t *place, size_t feature);
void cop_cart_split_sparse(cop_cart_searcher *searcher, const cop_cart_members *members, size_t count,
        const uint64_t *sorted, size_t feature);
/* The split at one threshold of the feature, at share [0, 1) of the way from the least of the rows' values to the
 * greatest: row[place[i]] of the data for each of the node's rows. */
void cop_cart_split_drawn(cop_cart_searcher *searcher, const cop_cart_members *members, const cop_cart_data *data,
        const uint32_t *place, size_t feature, double share);

#endif
