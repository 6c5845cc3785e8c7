/* train/dgt_paths.h: a mini-batch through a complete tree and its loss gradient back (Karthikeyan et al., Algorithm 2),
 * with the variants of their table 7.
 *
 * Height h, n = 2^h - 1 decision nodes and 2^h leaves in heap order as in tree/dgt.h; lanes are the rows of the batch:
 * margins a, gradients da: n x rows. theta is 2^h x K, predictions f and their loss gradients g are rows x K.
 *
 *     sum       the paper's: f is the leaf of the hard walk; backward by leaf weights q_l = softmax(sum_t s_t S(t,l)),
 *               s_t = sign(a_t) with the straight-through window |a_t| <= 1. Scaled, s_t = fac sign(a_t), fac the mean
 *               |a| of the batch, and the gradient is doubled (the authors' program)
 *     product   q_l is the product over its path of (1 + S s_t) / 2 (eq. 2): only nodes of the hard walk get a gradient
 *     annealed  s_t = tanh(steepness a_t / 2), the scaled sigmoid from -1 to 1, without a window. With sum, f is still
 *               the leaf of the hard walk; with product, f = sum_l q_l theta_l: the probabilistic tree
 *
 * One thread per object. */
#ifndef COP_TRAIN_DGT_PATHS_H
#define COP_TRAIN_DGT_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct cop_dgt_paths_shape {
	unsigned height; /* 1..COP_DGT_MAX_HEIGHT */
	size_t outputs;  /* K */
	size_t rows;     /* most of a batch */
	bool product, annealed, scaled;
} cop_dgt_paths_shape;

typedef struct cop_dgt_paths cop_dgt_paths;

/* Caller frees with cop_dgt_paths_free; on error *out is NULL. COP_EINVAL: a number outside its range, or scaled with
 * product or annealed. COP_ENOMEM. */
COP_CHECK cop_err cop_dgt_paths_new(const cop_dgt_paths_shape *shape, cop_dgt_paths **out);
void cop_dgt_paths_free(cop_dgt_paths *paths);

/* Of the annealed sigmoid, for the passes to come; > 0, 1 at first. */
void cop_dgt_paths_set_steepness(cop_dgt_paths *paths, double steepness);

/* Predictions f of `rows` rows (at most the shape's) with the margins a. */
void cop_dgt_paths_forward(cop_dgt_paths *paths, size_t rows, const float *a, const float *theta, float *f);

/* Gradients da by the margins (overwritten) and dtheta by the leaves (added to) from g; the others as in the last
 * forward. */
void cop_dgt_paths_backward(cop_dgt_paths *paths, size_t rows, const float *a, const float *theta, const float *g,
        float *da, float *dtheta);

#endif
