/* train/cart_grow.h: the unpruned tree over some of a sample's rows.
 *
 * Nodes stand parents first, each with the places of its rows as a range of `place`, so that any of them can become a
 * leaf later. Immutable once grown; one growth at a time per object. */
#ifndef COP_TRAIN_CART_GROW_H
#define COP_TRAIN_CART_GROW_H

#include "base/rng.h"
#include "train/cart.h"
#include "train/cart_data.h"

typedef struct cop_cart_node {
	int32_t left, right; /* -1: it is a leaf */
	int32_t parent;      /* -1: the root */
	uint32_t feature;    /* right iff x_j >= threshold */
	float threshold;
	unsigned depth;
	size_t begin, end; /* in place */
	double impurity;   /* times weight, >= 0 */
} cop_cart_node;

typedef struct cop_cart_grown {
	size_t count;
	cop_cart_node *node;
	uint32_t *place;
} cop_cart_grown;

/* From the n >= 1 places (copied; NULL: all of data, n is theirs). Depth, min_leaf and features of the settings are
 * used. The features of a node go to the pool. The caller ends it with fini in every case. COP_ENOMEM. */
COP_CHECK cop_err cop_cart_grow(const cop_cart_settings *settings, const cop_cart_data *data, size_t n,
        const uint32_t *place, cop_pool *pool, cop_rng *rng, cop_cart_grown *grown);
void cop_cart_grow_fini(cop_cart_grown *grown);

/* What a leaf of these places predicts: class shares, means or mean costs (outputs values). */
void cop_cart_grow_leaf_values(const cop_cart_data *data, size_t n, const uint32_t *place, double *values);

#endif
