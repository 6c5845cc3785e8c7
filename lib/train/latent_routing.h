/* train/latent_routing.h: how far each row of a batch reaches each node of a complete tree, from the values of the
 * splits, and the gradient (Zantedeschi, Kusner, Niculae; eq. 1 and 3).
 *
 * Depth D, B = 2^D - 1 splits, T = 2^(D+1) - 1 nodes in heap order, leaves included. A row goes left where s_t < 0.
 *
 *     q_root = 1, q_left = min(q_t, -s_t), q_right = min(q_t, s_t),   z_ti = clip(q_ti + 1/2, 0, a_t)
 *
 * with s = elu(split) when asked for, and a of optim/tree_isotonic.h over the batch, or given. Shapes: splits B x n and
 * their gradient likewise, node-major; z and its gradient n rows of T values at a stride. One thread per object. */
#ifndef COP_TRAIN_LATENT_ROUTING_H
#define COP_TRAIN_LATENT_ROUTING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/pool.h"
#include "tree/latent.h"

typedef struct cop_latent_routing cop_latent_routing;

/* For batches of at most `rows`. COP_EINVAL: depth outside [1, COP_LATENT_MAX_DEPTH], rows 0. COP_ENOMEM. Caller frees;
 * on error *out is NULL. */
COP_CHECK cop_err cop_latent_routing_new(unsigned depth, size_t rows, bool elu, cop_latent_routing **out);
void cop_latent_routing_free(cop_latent_routing *routing);

/* z of n rows and a (T) for these splits. pool may be NULL. */
void cop_latent_routing_solve(cop_latent_routing *routing, size_t n, const float *split, double lambda, cop_pool *pool,
        double *a, float *z, size_t stride);
/* z for an a that is given. */
void cop_latent_routing_apply(
        cop_latent_routing *routing, size_t n, const float *split, const double *a, float *z, size_t stride);

/* Right after solve of the same splits, with its a: from dz (n x T at the stride) into dsplit (B x n, overwritten). */
void cop_latent_routing_gradient(cop_latent_routing *routing, const float *split, const double *a, const float *dz,
        size_t stride, float *dsplit);

#endif
