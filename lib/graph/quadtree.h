/* graph/quadtree.h: points of the plane in a tree of boxes, for sums over all others (Barnes & Hut 1986; van der Maaten
 * 2014).
 *
 * A node has the bounding box of its points, their number and their mean. In the sum of point i a node without i whose
 * longer side is below theta times the distance of i from its mean counts as so many points at the mean. theta 0: every
 * pair by itself. Of the kernel exp(-d2) nodes with d2 above COP_QUADTREE_FAR are left out (each pair below 2e-22).
 *
 * One thread builds; then any number may sum. */
#ifndef COP_GRAPH_QUADTREE_H
#define COP_GRAPH_QUADTREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define COP_QUADTREE_FAR 50.0

typedef enum cop_quadtree_kernel {
	COP_QUADTREE_STUDENT = 0, /* k(d2) = 1 / (1 + d2) */
	COP_QUADTREE_GAUSS        /* k(d2) = exp(-d2) */
} cop_quadtree_kernel;

typedef struct cop_quadtree cop_quadtree;

typedef struct cop_quadtree_sums {
	double value;   /* sum over m != i of k(|z_i - z_m|^2) */
	double push[2]; /* sum over m != i of -k'(|z_i - z_m|^2) (z_i - z_m) */
} cop_quadtree_sums;

/* Room for n points, 1 <= n <= UINT32_MAX / 2. Caller frees with cop_quadtree_free; on error *out is NULL. COP_EINVAL,
 * COP_ENOMEM. */
COP_CHECK cop_err cop_quadtree_new(size_t n, cop_quadtree **out);
void cop_quadtree_free(cop_quadtree *tree);

/* z: n x 2, finite, kept until the next call. O(n log n) for points that are no fractal. */
void cop_quadtree_build(cop_quadtree *tree, const double *z);
/* theta >= 0. */
cop_quadtree_sums cop_quadtree_sum(const cop_quadtree *tree, cop_quadtree_kernel kernel, double theta, size_t i);

#endif
