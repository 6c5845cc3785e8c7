/* train/dgt_network.h: the linear layers below a dense gradient tree, for mini-batches (Karthikeyan et al.,
 * section 3.2).
 *
 * a = W^(L)( ... (W^(1) [x; 1]) + b^(2) ... ) + b^(L), L layers; the last gives the margins of `nodes` decision nodes,
 * the others `width` numbers. All weights lie in one array: W^(1) as width x (d + 1) with its bias last, then for each
 * layer W (out x in, row-major) and b (out).
 *
 * What lies below the margins is one affine map C = W^(L) ... W^(1), nodes x (d + 1). *Layered*, the rows of a batch go
 * through all layers, and their gradients back. *Collapsed*, the d + 1 columns of the products do instead, and only C
 * meets the rows: the same gradients for less work when d + 1 is below the rows of a batch.
 *
 * Shapes: x is rows x (d + 1), the last entry of each row 1; margins and their gradients are nodes x rows (a node's
 * margins side by side). BLAS does the work. One thread per object. */
#ifndef COP_TRAIN_DGT_NETWORK_H
#define COP_TRAIN_DGT_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/rng.h"

#define COP_DGT_NETWORK_MAX_LAYERS 8

typedef struct cop_dgt_network_shape {
	size_t d, width, nodes;
	unsigned layers; /* L, 1..COP_DGT_NETWORK_MAX_LAYERS */
	size_t rows;     /* most of a batch */
	bool collapsed;  /* means nothing when L = 1 */
} cop_dgt_network_shape;

typedef struct cop_dgt_network cop_dgt_network;

/* Whether the collapsed form takes fewer multiplications for a full batch of this shape. */
bool cop_dgt_network_collapsed_is_cheaper(const cop_dgt_network_shape *shape);

/* Workspace only; the weights are the caller's. Caller frees with cop_dgt_network_free; on error *out is NULL.
 * COP_EINVAL: a number is 0 or there are too many layers. COP_ENOMEM. */
COP_CHECK cop_err cop_dgt_network_new(const cop_dgt_network_shape *shape, cop_dgt_network **out);
void cop_dgt_network_free(cop_dgt_network *network);

/* Numbers in w. */
size_t cop_dgt_network_weights(const cop_dgt_network *network);

/* Weights uniform within 1 / sqrt(in) of 0, biases 0. */
void cop_dgt_network_start(const cop_dgt_network *network, cop_rng *rng, float *w);

/* Margins a (nodes x rows) of x (rows x (d + 1)), rows at most the shape's. */
void cop_dgt_network_forward(cop_dgt_network *network, const float *w, size_t rows, const float *x, float *a);

/* Gradient g by all weights (overwritten, as many as w) from da, that by the margins; w, rows, x as in the last
 * forward. */
void cop_dgt_network_backward(
        cop_dgt_network *network, const float *w, size_t rows, const float *x, const float *da, float *g);

/* C into product, nodes x (d + 1). A backward must not follow before the next forward. */
void cop_dgt_network_collapse(cop_dgt_network *network, const float *w, float *product);

#endif
