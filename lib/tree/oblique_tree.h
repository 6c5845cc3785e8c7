/* tree/oblique_tree.h: the tree that online learners hand out: complete, one hyperplane per decision node, constant
 * leaves. Rows walk it as a cop_tree (cop_tree_from_oblique).
 *
 * d features, K outputs (arms, classes or values), height h; n = 2^h - 1 decision nodes in heap order: children of t
 * are 2t+1 (left) and 2t+2 (right), leaf l = heap place - n. Node t sends x right iff <w_t, x> + b_t >= 0 (Karthikeyan
 * et al., eq. 3).
 *
 * Weights are node-major: node t's d weights are contiguous. Distinct trees may be used on distinct threads. */
#ifndef COP_TREE_OBLIQUE_TREE_H
#define COP_TREE_OBLIQUE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define COP_TREE_MAX_HEIGHT 12 /* of complete trees */

typedef struct cop_oblique_tree cop_oblique_tree;

/* All weights, biases and leaf values zero. Caller frees with cop_oblique_tree_free; on error *out is NULL.
 * COP_EINVAL: d or outputs is 0 or above UINT32_MAX, or h is outside [1, COP_TREE_MAX_HEIGHT]. COP_ENOMEM. */
COP_CHECK cop_err cop_oblique_tree_new(size_t d, unsigned h, size_t outputs, cop_oblique_tree **out);
void cop_oblique_tree_free(cop_oblique_tree *tree);

size_t cop_oblique_tree_features(const cop_oblique_tree *tree); /* d */
size_t cop_oblique_tree_outputs(const cop_oblique_tree *tree);  /* K */
size_t cop_oblique_tree_nodes(const cop_oblique_tree *tree);    /* n */
size_t cop_oblique_tree_leaves(const cop_oblique_tree *tree);   /* n + 1 */
unsigned cop_oblique_tree_depth(const cop_oblique_tree *tree);  /* h */

/* Child of node on the given side: >= 0 a decision node, else leaf ~c. */
int32_t cop_oblique_tree_child(const cop_oblique_tree *tree, size_t node, bool right);

/* Pointers into the tree, valid until it is freed: d weights and the bias of a node, K values of a leaf; writers keep
 * them finite. The _view forms are for reading. */
const float *cop_oblique_tree_weights_view(const cop_oblique_tree *tree, size_t node);
float *cop_oblique_tree_weights(cop_oblique_tree *tree, size_t node);
const float *cop_oblique_tree_bias_view(const cop_oblique_tree *tree, size_t node);
float *cop_oblique_tree_bias(cop_oblique_tree *tree, size_t node);
const float *cop_oblique_tree_values_view(const cop_oblique_tree *tree, size_t leaf);
float *cop_oblique_tree_values(cop_oblique_tree *tree, size_t leaf);

#endif
