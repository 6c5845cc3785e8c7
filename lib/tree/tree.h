/* tree/tree.h: the hard tree that batch learners end in: any split that is linear or a convex polytope, any leaf.
 *
 * d features, K outputs. Decision node t has the margin a_t = sum_j w_tj x_j + b_t over its stored features and sends x
 * right iff a_t >= 0: one stored feature of weight 1 is an axis-aligned split at -b_t, all d an oblique one. c >= 0 as
 * a child is decision node c, c < 0 is leaf ~c. Node 0 is the root; a tree of 0 nodes is a lone leaf. Parents stand
 * before their children.
 *
 * A node may have facets instead of stored features: a_t = sum_k r_k ln(1 + exp(<beta_k, x> + c_k)) + b_t, which is
 * convex in x, so that what goes left is a convex set (Armandpour et al., eq. 2; train/polytope_node.h).
 *
 * A leaf has rows, each for one output: score = sum_j v_j x_j + c. Without stored features in any row the leaf is
 * constant; outputs without a row score 0 (values), or are never predicted (logits: their probability is 0).
 *
 * A tree is immutable: made from parts, it checks them once. Any number of threads may read. */
#ifndef COP_TREE_TREE_H
#define COP_TREE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "linalg/row.h"
#include "tree/oblique_tree.h"

#define COP_TREE_MAX_DEPTH 256
#define COP_TREE_MAX_NODES (1U << 20) /* decision nodes */

typedef enum cop_tree_link {
	COP_TREE_VALUES = 0,    /* scores are the outputs: numbers, or costs of arms */
	COP_TREE_PROBABILITIES, /* scores are the probabilities of K classes */
	COP_TREE_LOGITS,        /* probabilities are the softmax of the leaf's rows */
	COP_TREE_LINKS
} cop_tree_link;

/* Rows of sparse vectors: row r has the entries start[r] to start[r + 1] of index (ascending, below d) and weight, and
 * a bias. */
typedef struct cop_tree_vectors {
	size_t count;
	const size_t *start; /* count + 1 */
	const uint32_t *index;
	const float *weight;
	const float *bias; /* count */
} cop_tree_vectors;

typedef struct cop_tree_parts {
	size_t d, outputs;
	cop_tree_link link;
	cop_tree_vectors nodes;
	const int32_t *left, *right; /* nodes.count each; NULL when there are none */
	cop_tree_vectors facets;     /* of all nodes, node by node: beta and c; count 0: no node has any */
	const size_t *facet; /* nodes.count + 1: node t has facets facet[t] to facet[t + 1]; NULL when there are none */
	const float *r;      /* of each facet, above 0 */
	cop_tree_vectors rows;  /* of all leaves, leaf by leaf */
	const size_t *leaf;     /* nodes.count + 2: leaf l has the rows leaf[l] to leaf[l + 1], at least one */
	const uint32_t *output; /* of each row, ascending within a leaf, below outputs */
} cop_tree_parts;

typedef struct cop_tree cop_tree;

/* Copies the parts. Caller frees with cop_tree_free; on error *out is NULL.
 * COP_EINVAL: something is not as said above, or beyond COP_TREE_MAX_NODES or COP_TREE_MAX_DEPTH. COP_ENONFINITE.
 * COP_ENOMEM. */
COP_CHECK cop_err cop_tree_new(const cop_tree_parts *parts, cop_tree **out);
/* Of an oblique tree: its nodes (weights of 0 left out) and constant leaves, under their own numbers.
 * COP_ENONFINITE, COP_ENOMEM. */
COP_CHECK cop_err cop_tree_from_oblique(const cop_oblique_tree *oblique, cop_tree_link link, cop_tree **out);
void cop_tree_free(cop_tree *tree);

/* What it is made of, valid as long as the tree. */
const cop_tree_parts *cop_tree_view(const cop_tree *tree);
size_t cop_tree_leaves(const cop_tree *tree);
/* Decision nodes on the longest path. */
unsigned cop_tree_depth(const cop_tree *tree);
/* No leaf's row has stored features. */
bool cop_tree_constant_leaves(const cop_tree *tree);
bool cop_tree_leaf_constant(const cop_tree *tree, size_t leaf);

/* Facets of a node; 0: its split is linear. */
static inline size_t cop_tree_parts_facets(const cop_tree_parts *parts, size_t node)
{
	return parts->facets.count == 0 ? 0 : parts->facet[node + 1] - parts->facet[node];
}

/* Facets of all nodes. */
size_t cop_tree_facets(const cop_tree *tree);
/* Of node t's facets the one whose part of a_t is largest at a row; the node has some. */
size_t cop_tree_heaviest_facet(const cop_tree *tree, size_t node, const cop_row *row);
/* a_t of a row (row->d must be d), and the leaf that it reaches, in [0, leaves). */
float cop_tree_margin(const cop_tree *tree, size_t node, const cop_row *row);
size_t cop_tree_leaf(const cop_tree *tree, const cop_row *row);
typedef struct cop_tree_step {
	uint32_t node;
	float margin;
	bool right; /* margin >= 0 */
} cop_tree_step;

/* The walk: steps (room for depth entries) gets the nodes from the root down; their number is returned. */
size_t cop_tree_path(const cop_tree *tree, const cop_row *row, cop_tree_step *steps, size_t *leaf);
/* The K outputs of a leaf at a row: values, or probabilities. row may be NULL when that leaf is constant. */
void cop_tree_leaf_outputs(const cop_tree *tree, size_t leaf, const cop_row *row, float *out);
/* Both: K outputs into out; returns the leaf. */
size_t cop_tree_predict(const cop_tree *tree, const cop_row *row, float *out);
/* Output of greatest value, of least index among equals (for costs, of which the least is wanted, see the outputs);
 * row may be NULL when that leaf is constant. */
size_t cop_tree_leaf_class(const cop_tree *tree, size_t leaf, const cop_row *row);
size_t cop_tree_class(const cop_tree *tree, const cop_row *row);

/* The thesis's appendix A: non-zero weights and biases of all nodes and leaves (K for a constant leaf); a leaf of two
 * logit rows counts as one, a facet's r as one more. */
size_t cop_tree_parameters(const cop_tree *tree);
/* The parameters that row meets on its way. */
size_t cop_tree_flops(const cop_tree *tree, const cop_row *row);

/* As section "tree" version 1 of a model file. Errors stay in bytes->err. */
#define COP_TREE_SECTION "tree"
#define COP_TREE_VERSION 1
void cop_tree_save(const cop_tree *tree, cop_bytes *bytes);
/* From such a section's payload, which must be consumed exactly; hostile bytes give an error. Caller frees *out.
 * COP_EFORMAT, COP_ENONFINITE, COP_ENOMEM. */
COP_CHECK cop_err cop_tree_load(const void *payload, size_t length, cop_tree **out);
/* A tree, or none (NULL), among other bytes: a length and a whole model file. *out NULL on error and where there is
 * none; the caller frees it. Errors as above. */
void cop_tree_put(const cop_tree *tree, cop_bytes *bytes);
COP_CHECK cop_err cop_tree_take(cop_cursor *cursor, cop_tree **out);

#endif
