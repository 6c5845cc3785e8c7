/* tree/latent.h: a trained latent tree: splits, what is kept of each node, and the predictor of a row with its reach
 * (Zantedeschi, Kusner, Niculae).
 *
 * A complete tree of depth D has B = 2^D - 1 splits and T = 2^(D+1) - 1 nodes in heap order, leaves included; a row
 * goes left where s_t < 0. It reaches node t as far as
 *
 *     z_t = clip(q_t + 1/2, 0, a_t),  q_root = 1, q_left = min(q_t, -s_t), q_right = min(q_t, s_t)     (eq. 1, 3)
 *
 * with s_t = <w_t, [x; 1]>, or elu of it. f = predictor([x; z]): linear layers with ELU between them. a is fixed after
 * training, so that a row's prediction does not depend on its neighbours. Immutable; any thread. */
#ifndef COP_TREE_LATENT_H
#define COP_TREE_LATENT_H

#include "base/bytes.h"
#include "tree/tree.h"

#define COP_LATENT_MAX_DEPTH  10
#define COP_LATENT_MAX_LAYERS 8
#define COP_LATENT_MOST_WIDTH 1024 /* of a hidden layer */

typedef struct cop_latent_shape {
	size_t d, outputs;
	cop_tree_link link; /* values, or logits of classes */
	unsigned depth;     /* 1..COP_LATENT_MAX_DEPTH */
	bool elu;           /* of the splits' values */
	unsigned layers;    /* of the predictor, 1..COP_LATENT_MAX_LAYERS; 1: linear */
	size_t width;       /* outputs of the first hidden layer; each next one has twice as many, up to the most */
} cop_latent_shape;

/* Inputs of the predictor's layer l, from 0; at l = layers its outputs. */
size_t cop_latent_layer_inputs(const cop_latent_shape *shape, unsigned l);
/* Numbers of a shape in its order: W of the splits, B x (d + 1), then of each layer W (out x in, row-major) and b
 * (out). COP_EINVAL: a number outside its range. COP_ENOMEM: too many to be had. */
COP_CHECK cop_err cop_latent_weights(const cop_latent_shape *shape, size_t *weights);

typedef struct cop_latent cop_latent;

/* Copies w (as many as above) and a (T, not rising from parent to child, in [0, 1]). COP_EINVAL, COP_ENONFINITE,
 * COP_ENOMEM. Caller frees; on error *out is NULL. */
COP_CHECK cop_err cop_latent_new(const cop_latent_shape *shape, const float *w, const double *a, cop_latent **out);
void cop_latent_free(cop_latent *latent);

const cop_latent_shape *cop_latent_get_shape(const cop_latent *latent);
size_t cop_latent_nodes(const cop_latent *latent);      /* T */
const float *cop_latent_kept(const cop_latent *latent); /* a */

/* z (T) of a row (row->d is d). */
void cop_latent_reach(const cop_latent *latent, const cop_row *row, float *z);
/* K outputs: values, or probabilities. */
void cop_latent_predict(const cop_latent *latent, const cop_row *row, float *out);

/* Weights that are not 0, and nodes that are kept. */
size_t cop_latent_parameters(const cop_latent *latent);
/* Weights that a row meets: of the splits that it reaches, and the predictor's. */
size_t cop_latent_flops(const cop_latent *latent, const cop_row *row);

/* The hard tree of the nodes that are kept: a row goes where its splits send it, as far as nodes are kept. With a
 * linear predictor a leaf predicts as f does of a row that reaches each node of its way as far as a lets it, and no
 * other: what the latent tree predicts wherever every margin is at least 1/2. With hidden layers leaves are constants
 * of 0. Caller frees *out. COP_ENOMEM. */
COP_CHECK cop_err cop_latent_tree(const cop_latent *latent, cop_tree **out);

/* As section "latent" version 1 of a model file. Errors stay in bytes->err. */
#define COP_LATENT_SECTION "latent"
#define COP_LATENT_VERSION 1
void cop_latent_save(const cop_latent *latent, cop_bytes *bytes);
/* From such a section's payload, which must be consumed exactly; hostile bytes give an error. Caller frees *out.
 * COP_EFORMAT, COP_ENONFINITE, COP_ENOMEM. */
COP_CHECK cop_err cop_latent_load(const void *payload, size_t length, cop_latent **out);

#endif
