/* learn/explanation.h: why a decision was made: a plain record that learners fill and others render.
 *
 * Feature indices are the raw ones; index == features is the constant, one beyond it a product of two features
 * (cop_learner_describe). `value` is the standardised input, `weight` its weight, contribution = weight * value; a
 * forest credits features without weighing them (learn/forest.h), weight 0. Fixed size after new, so that filling one
 * allocates nothing. */
#ifndef COP_LEARN_EXPLANATION_H
#define COP_LEARN_EXPLANATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "linalg/row.h"
#include "linalg/top_terms.h"

#define COP_EXPLANATION_EXPERTS 6
#define COP_EXPLANATION_LINEAR  8 /* heaviest features of a linear term */
#define COP_EXPLANATION_NODE    3 /* heaviest features of a decision node */

typedef struct cop_explained_feature {
	uint32_t index;
	float value;
	float weight;
	float contribution;
} cop_explained_feature;

typedef struct cop_explained_node {
	uint32_t node; /* heap order */
	float margin;  /* a_t = w x + b; right iff >= 0 */
	uint8_t count;
	cop_explained_feature features[COP_EXPLANATION_NODE]; /* by |contribution|, descending */
} cop_explained_node;

typedef struct cop_explained_expert {
	const char *name;  /* static */
	double weight;     /* in the mixture (learn/mixture.h) */
	bool resting;      /* for now: it predicts and explains nothing, weight 0 */
	double prediction; /* of the explained action: predicted loss for arms, value for values */
	double linear;     /* whole linear term, in the expert's own scale */
	uint8_t count;
	cop_explained_feature features[COP_EXPLANATION_LINEAR];
	size_t trees; /* its trees: entries first_tree .. first_tree + trees of the explanation */
	size_t first_tree;
} cop_explained_expert;

typedef struct cop_explained_tree {
	uint32_t leaf;     /* 0 .. 2^h - 1 from the left */
	float value;       /* the leaf's value for the explained action */
	size_t first_node; /* path: nodes[first_node] .. + depth */
	size_t depth;
} cop_explained_tree;

typedef struct cop_explanation {
	uint64_t rev;      /* model revision explained */
	size_t arm;        /* explained action; 0 for values */
	double prediction; /* the mixture's: predicted loss of the arm, or value */
	size_t expert_count;
	cop_explained_expert experts[COP_EXPLANATION_EXPERTS];
	size_t tree_count, tree_capacity;
	cop_explained_tree *trees;
	size_t node_count, node_capacity;
	cop_explained_node *nodes;
	size_t score_count, score_room;
	float *scores;                /* of all candidates: predicted losses (ranking learners) */
	cop_top_terms_find *heaviest; /* what the processor does best */
} cop_explanation;

/* Room for `trees` paths of `height` nodes. COP_ENOMEM. Caller finishes with fini. */
COP_CHECK cop_err cop_explanation_init(cop_explanation *e, size_t trees, size_t height);
/* The same with so many nodes in all. */
COP_CHECK cop_err cop_explanation_init_paths(cop_explanation *e, size_t trees, size_t nodes);
/* Room for the scores of `count` candidates too. COP_ENOMEM. */
COP_CHECK cop_err cop_explanation_room_for_scores(cop_explanation *e, size_t count);
void cop_explanation_fini(cop_explanation *e);
/* It will be filled soon: asks for its first lines of memory, for of many that take turns none is near. */
void cop_explanation_soon(const cop_explanation *e);
/* Empty, room kept. */
void cop_explanation_clear(cop_explanation *e);
/* Next expert (name static), tree and node, zeroed; never beyond the room asked for at init (asserted). */
cop_explained_expert *cop_explanation_expert(cop_explanation *e, const char *name);
cop_explained_tree *cop_explanation_tree(cop_explanation *e, cop_explained_expert *expert);
cop_explained_node *cop_explanation_node(cop_explanation *e, cop_explained_tree *tree);

/* The `most` heaviest contributions of x's entries by |weight value|, weights read at w[index * stride]; returns how
 * many. Cost: one pass over the entries. */
uint8_t cop_explanation_top(const cop_row *x, const float *w, size_t stride, uint8_t most, cop_explained_feature *out);

/* The hard walk of one tree of the given height whose margins were a[t * stride]; weights of node t at
 * w[index * columns + t * stride]. Fills the tree's path and leaf (value is the caller's). */
void cop_explanation_path(cop_explanation *e, cop_explained_tree *tree, const cop_row *x, const float *a, size_t stride,
        const float *w, size_t columns, unsigned height);

#endif
