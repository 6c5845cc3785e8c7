/* train/mlp.h: a multi-layer perceptron on mini-batches: linear layers with ELU and dropout between them.
 *
 *     y = W^(L)( ... drop(elu(W^(1) x + b^(1))) ... ) + b^(L)
 *
 * L = 1 is a linear map. All weights lie in one array of the caller's: for each layer W (out x in, row-major), then b.
 * Rows are row-major. BLAS does the work. One thread per object. */
#ifndef COP_TRAIN_MLP_H
#define COP_TRAIN_MLP_H

#include <stddef.h>

#include "base/err.h"
#include "base/rng.h"

#define COP_MLP_MAX_LAYERS 8

typedef struct cop_mlp_shape {
	unsigned layers;                     /* L, 1..COP_MLP_MAX_LAYERS */
	size_t size[COP_MLP_MAX_LAYERS + 1]; /* inputs of each layer, then the outputs; >= 1 */
	double dropout;                      /* share of hidden numbers set to 0 in training, in [0, 1) */
	size_t rows;                         /* most of a batch */
} cop_mlp_shape;

typedef struct cop_mlp cop_mlp;

/* Workspace only. COP_EINVAL: a number outside its range. COP_ENOMEM. Caller frees; on error *out is NULL. */
COP_CHECK cop_err cop_mlp_new(const cop_mlp_shape *shape, cop_mlp **out);
void cop_mlp_free(cop_mlp *mlp);

/* Numbers in w. */
size_t cop_mlp_weights(const cop_mlp *mlp);
/* Weights and biases uniform within 1 / sqrt(in) of 0. */
void cop_mlp_start(const cop_mlp *mlp, cop_rng *rng, float *w);

/* y (rows x outputs) of x (rows x inputs). rng: dropout is drawn from it; NULL: there is none. */
void cop_mlp_forward(cop_mlp *mlp, const float *w, size_t rows, const float *x, cop_rng *rng, float *y);
/* Right after forward, with the same w, rows and x: gradients by the weights into g (overwritten, as many as w) and by
 * x into dx (rows x inputs), from dy. */
void cop_mlp_backward(cop_mlp *mlp, const float *w, size_t rows, const float *x, const float *dy, float *g, float *dx);

#endif
