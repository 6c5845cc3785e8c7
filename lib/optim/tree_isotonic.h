/* optim/tree_isotonic.h: how much of each node of a complete tree is kept, by isotonic regression on the tree, and its
 * gradient (Zantedeschi, Kusner, Niculae; eq. 3 to 7, Algorithm 1, Proposition 2).
 *
 * A complete tree of depth D has T = 2^(D+1) - 1 nodes in heap order, leaves included. n points have a score q_ti of
 * each node: T x n, node-major. With z_ti = clip(q_ti + 1/2, 0, a_t), a is the unique solution of
 *
 *     minimise   lambda / 2 sum_t a_t^2 + 1/2 sum_ti (z_ti - q_ti - 1/2)^2
 *     over       0 <= a_t <= 1,  a_t <= a_parent(t)
 *
 * Nodes are pooled: the node that exceeds its parent by value most is joined with its parent's group, until none does.
 * The value of a group is the root of a piecewise linear function, found by Newton steps, which reach it in finitely
 * many. Cost: a few passes over q, and one more over a group each time that it grows. Distinct objects on distinct
 * threads; with a pool the nodes' first values are found in parallel, and the result is the same. */
#ifndef COP_OPTIM_TREE_ISOTONIC_H
#define COP_OPTIM_TREE_ISOTONIC_H

#include <stddef.h>

#include "base/err.h"
#include "base/pool.h"

#define COP_TREE_ISOTONIC_MAX_DEPTH 12

typedef struct cop_tree_isotonic cop_tree_isotonic;

/* COP_EINVAL: depth above COP_TREE_ISOTONIC_MAX_DEPTH. COP_ENOMEM. Caller frees; on error *out is NULL. */
COP_CHECK cop_err cop_tree_isotonic_new(unsigned depth, cop_tree_isotonic **out);
void cop_tree_isotonic_free(cop_tree_isotonic *iso);

/* T. */
size_t cop_tree_isotonic_nodes(const cop_tree_isotonic *iso);

/* a (T) for q (T x n, finite). lambda > 0, n >= 1. pool may be NULL. */
void cop_tree_isotonic_solve(
        cop_tree_isotonic *iso, size_t n, const float *q, double lambda, cop_pool *pool, double *a);

/* Right after solve, with the same q: adds to gq (T x n) the gradient by q of <ga, a>, ga T values. */
void cop_tree_isotonic_gradient(const cop_tree_isotonic *iso, const float *q, const double *ga, float *gq);

#endif
