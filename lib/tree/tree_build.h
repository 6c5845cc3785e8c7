/* tree/tree_build.h: a tree that is being made: nodes and leaves are put in, in any order, then it is finished; and
 * trees made of others by cutting.
 *
 * One thread per object; errors are sticky and come back from finish. */
#ifndef COP_TREE_TREE_BUILD_H
#define COP_TREE_TREE_BUILD_H

#include "tree/tree.h"

typedef struct cop_tree_build cop_tree_build;

/* Caller frees with cop_tree_build_free. COP_EINVAL: d or outputs 0. COP_ENOMEM. */
COP_CHECK cop_err cop_tree_build_new(size_t d, size_t outputs, cop_tree_link link, cop_tree_build **out);
void cop_tree_build_free(cop_tree_build *build);

/* A decision node of d weights (zeros are not stored) or of one feature at a threshold (right iff x_j >= threshold);
 * its number in the build, to be used as a child. Children may be set later. */
int32_t cop_tree_build_node(cop_tree_build *build, const float *w, float bias);
int32_t cop_tree_build_axis(cop_tree_build *build, size_t feature, float threshold);
/* One of `facets` facets, beta facets x (d + 1) with each one's c last (zeros of the others are not stored), r facets:
 * right iff sum_k r_k ln(1 + exp(<beta_k, x> + c_k)) >= threshold. */
int32_t cop_tree_build_polytope(
        cop_tree_build *build, size_t facets, const float *beta, const float *r, float threshold);
void cop_tree_build_children(cop_tree_build *build, int32_t node, int32_t left, int32_t right);
/* A leaf, as a child (negative). Constant: `outputs` values. Linear: `rows` rows for output[0..rows) ascending, v is
 * rows x d (zeros are not stored), c has `rows`. */
int32_t cop_tree_build_constant(cop_tree_build *build, const float *values);
int32_t cop_tree_build_linear(
        cop_tree_build *build, size_t rows, const uint32_t *output, const float *v, const float *c);
/* The same of sparse rows (zeros are not stored): rows->count of them, as tree/tree.h has them, from start[0] = 0 on.
 */
int32_t cop_tree_build_sparse(cop_tree_build *build, const uint32_t *output, const cop_tree_vectors *rows);

/* The tree under `root` (a node or leaf of the build); what is not reached from it is left out, nodes are renumbered
 * parents first, leaves from left to right. Caller frees *out. COP_ENOMEM, or what cop_tree_new refuses. */
COP_CHECK cop_err cop_tree_build_finish(cop_tree_build *build, int32_t root, cop_tree **out);

/* `rows[leaf]` rows of the training data reach each leaf: nodes with nothing on one side are replaced by their other
 * child, and nodes whose leaves are all constant and predict the same (equal values; with classes the same largest
 * output) by one leaf, the more used one. No row of the training data gets another class, or value. Caller frees *out.
 * COP_ENOMEM. */
COP_CHECK cop_err cop_tree_prune(const cop_tree *tree, const uint64_t *rows, cop_tree **out);

#endif
