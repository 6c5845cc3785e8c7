/* tree/oblique_tree.h: the hard tree that every learner ends in: one hyperplane per decision node, constant leaves.
 *
 * d features, K outputs (arms, classes or values), n decision nodes and n + 1 leaves. Node t computes its margin
 * <w_t, x> + b_t and sends x right iff that is >= 0 (Karthikeyan et al., eq. 3). A complete tree of height h is in heap
 * order: children of t are 2t+1 (left) and 2t+2 (right), n = 2^h - 1, leaf l = heap place - n. Any other (pruned) tree
 * gives its children explicitly: c >= 0 is decision node c, c < 0 is leaf ~c. Node 0 is the root; n = 0 is a lone leaf.
 *
 * Weights are node-major: node t's d weights are contiguous, so a walk reads one row per level.
 * Reading allocates nothing and is safe on several threads; writing weights is the owner's affair. */
#ifndef COP_TREE_OBLIQUE_TREE_H
#define COP_TREE_OBLIQUE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "linalg/row.h"

#define COP_TREE_MAX_HEIGHT 12         /* of complete trees */
#define COP_TREE_MAX_DEPTH  256        /* of explicit ones */
#define COP_TREE_MAX_NODES  (1U << 20) /* decision nodes */

typedef struct cop_oblique_tree cop_oblique_tree;

/* Complete tree, all weights, biases and leaf values zero. Caller frees with cop_oblique_tree_free; on error *out is
 * NULL. COP_EINVAL: d or outputs is 0 or above UINT32_MAX, or h is outside [1, COP_TREE_MAX_HEIGHT]. COP_ENOMEM. */
COP_CHECK cop_err cop_oblique_tree_new(size_t d, unsigned h, size_t outputs, cop_oblique_tree **out);

/* Tree of given shape: left and right hold n_nodes children each (borrowed; NULL allowed when n_nodes is 0).
 * COP_EINVAL: as above, more than COP_TREE_MAX_NODES nodes, a child out of range, a node or leaf not reached from the
 * root exactly once, or deeper than COP_TREE_MAX_DEPTH. COP_ENOMEM. */
COP_CHECK cop_err cop_oblique_tree_new_explicit(
        size_t d, size_t outputs, size_t n_nodes, const int32_t *left, const int32_t *right, cop_oblique_tree **out);

void cop_oblique_tree_free(cop_oblique_tree *tree);

size_t cop_oblique_tree_features(const cop_oblique_tree *tree); /* d */
size_t cop_oblique_tree_outputs(const cop_oblique_tree *tree);  /* K */
size_t cop_oblique_tree_nodes(const cop_oblique_tree *tree);    /* n */
size_t cop_oblique_tree_leaves(const cop_oblique_tree *tree);   /* n + 1 */
/* Decision nodes on the longest path from the root. */
unsigned cop_oblique_tree_depth(const cop_oblique_tree *tree);
/* Complete and in heap order. */
bool cop_oblique_tree_is_heap(const cop_oblique_tree *tree);

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

/* <w_node, row> + b_node. row->d must be d. */
float cop_oblique_tree_margin(const cop_oblique_tree *tree, size_t node, const cop_row *row);

/* Leaf in [0, n] that row reaches. At most depth dot products. */
size_t cop_oblique_tree_leaf(const cop_oblique_tree *tree, const cop_row *row);

/* The K values of that leaf, a view into the tree. */
const float *cop_oblique_tree_predict(const cop_oblique_tree *tree, const cop_row *row);

typedef struct cop_tree_step {
	uint32_t node;
	float margin;
	bool right; /* margin >= 0 */
} cop_tree_step;

/* The walk itself: steps (room for depth entries) gets the visited nodes from the root down, their number is
 * returned, *leaf is where it ends. */
size_t cop_oblique_tree_path(const cop_oblique_tree *tree, const cop_row *row, cop_tree_step *steps, size_t *leaf);

/* As section "oblique_tree" version 1 of a model file (store/model_file.h). Errors stay in bytes->err. */
void cop_oblique_tree_save(const cop_oblique_tree *tree, cop_bytes *bytes);

#define COP_OBLIQUE_TREE_SECTION "oblique_tree"
#define COP_OBLIQUE_TREE_VERSION 1

/* From such a section's payload, which must be consumed exactly; hostile bytes give an error. Caller frees *out.
 * COP_EFORMAT: malformed, or a shape that cop_oblique_tree_new_explicit refuses. COP_ENONFINITE. COP_ENOMEM. */
COP_CHECK cop_err cop_oblique_tree_load(const void *payload, size_t length, cop_oblique_tree **out);

#endif
