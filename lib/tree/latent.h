/* tree/latent.h: a trained latent tree: splits, what is kept of each node, and the predictor of a row with its reach
 * (Zantedeschi, Kusner, Niculae).
 *
 *     s = W [x; 1],  z = clip(q(s) + 1/2, 0, a),  f = predictor([x; z])
 *
 * a is fixed, so that a row's prediction does not depend on its neighbours. Rows are dense and scaled as in training.
 * One thread per object: predicting uses its workspace. */
#ifndef COP_TREE_LATENT_H
#define COP_TREE_LATENT_H

#include "base/bytes.h"
#include "tree/latent_routing.h"
#include "optim/mlp.h"
#include "tree/tree.h"

typedef struct cop_latent_shape {
	size_t d, outputs;
	cop_tree_link link; /* values, or logits of classes */
	unsigned depth;
	bool elu; /* of the splits' values */
	unsigned layers;
	size_t width;
} cop_latent_shape;

typedef struct cop_latent cop_latent;

/* Numbers of the shape: splits x (d + 1), then the predictor's; COP_EINVAL: a number outside its range. COP_ENOMEM: they
 * do not fit. */
COP_CHECK cop_err cop_latent_weights(const cop_latent_shape *shape, size_t *weights);

/* Copies w (as many as above) and a (T, not rising from parent to child, in [0, 1]). COP_EINVAL, COP_ENONFINITE,
 * COP_ENOMEM. Caller frees; on error *out is NULL. */
COP_CHECK cop_err cop_latent_new(const cop_latent_shape *shape, const float *w, const double *a, cop_latent **out);
void cop_latent_free(cop_latent *latent);

const cop_latent_shape *cop_latent_get_shape(const cop_latent *latent);
size_t cop_latent_nodes(const cop_latent *latent);       /* T */
const double *cop_latent_kept(const cop_latent *latent); /* a */

/* Outputs (n x K: values, or probabilities) of n rows [x; 1] (n x (d + 1)). */
void cop_latent_predict(cop_latent *latent, size_t n, const float *x, float *out);
/* Reach of n such rows: z, n x T. */
void cop_latent_reach(cop_latent *latent, size_t n, const float *x, float *z);

/* With a linear predictor: the hard tree of the nodes that are kept. A row goes where its splits send it, as far as
 * nodes are kept, and its leaf predicts as f does of a row that reaches each node of its way as far as a lets it, and
 * no other. Where every split's margin is at least 1/2 that is what the latent tree predicts. Caller frees *out.
 * COP_EINVAL: the predictor is not linear. COP_ENOMEM. */
COP_CHECK cop_err cop_latent_tree(const cop_latent *latent, cop_tree **out);

/* As section "latent" version 1 of a model file. Errors stay in bytes->err. */
#define COP_LATENT_SECTION "latent"
#define COP_LATENT_VERSION 1
void cop_latent_save(const cop_latent *latent, cop_bytes *bytes);
/* From such a section's payload, which must be consumed exactly; hostile bytes give an error. Caller frees *out.
 * COP_EFORMAT, COP_ENONFINITE, COP_ENOMEM. */
COP_CHECK cop_err cop_latent_load(const void *payload, size_t length, cop_latent **out);

#endif
