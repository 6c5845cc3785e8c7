/* tree/tree_private.h: what a tree (tree/tree.h) consists of, for the sources that make one: take the room, fill it,
 * settle it. Not for others.
 *
 * Nodes and leaf rows are both "vectors": their entries lie behind one another in one index and one weight array, nodes
 * first. For walking, each vector has a line: how its sum is formed. */
#ifndef COP_TREE_TREE_PRIVATE_H
#define COP_TREE_TREE_PRIVATE_H

#include "linalg/kernel.h"
#include "tree/tree.h"

typedef enum cop_tree_line_kind {
	COP_TREE_LINE_NONE = 0,  /* nothing stored */
	COP_TREE_LINE_AXIS,      /* one feature (`at`) of weight 1 */
	COP_TREE_LINE_SCATTERED, /* `at` entries at w, which is a place in the tree's weight array */
	COP_TREE_LINE_FULL,      /* d weights at w */
	COP_TREE_LINE_FACETS     /* of a node: a sum over its facets; `at` is the node */
} cop_tree_line_kind;

typedef struct cop_tree_line {
	const float *w;
	uint32_t kind;
	uint32_t at;
} cop_tree_line;

/* What one step of a walk needs: 32 bytes, two in a cache line. */
typedef struct cop_tree_node {
	cop_tree_line line;
	float bias;
	int32_t child[2];
} cop_tree_node;

/* cop_tree_vectors, to be filled. */
typedef struct cop_tree_room {
	size_t count;
	size_t *start;
	uint32_t *index;
	float *weight;
	float *bias;
} cop_tree_room;

typedef struct cop_tree_columns cop_tree_columns; /* tree/tree_columns.h */

struct cop_tree {
	cop_tree_parts parts; /* views of what follows */
	cop_tree_room nodes, rows, facets;
	int32_t *left, *right;
	size_t *leaf;     /* nodes + 2 */
	uint32_t *output; /* rows */
	size_t *facet;    /* nodes + 1; NULL without facets, as the next one */
	float *r;
	size_t *start; /* of all rooms, as the next three */
	uint32_t *index;
	float *weight;
	float *bias;

	/* made by settling: */
	unsigned depth;
	bool constant;       /* all leaves are */
	cop_tree_node *node; /* nodes */
	cop_tree_line *line; /* rows; NULL when constant */
	cop_tree_line *facet_line;
	float *full;          /* vectors of many but not all features, written out */
	size_t *node_numbers; /* parameters of each node, and of each leaf */
	size_t *leaf_numbers;
	cop_tree_columns *columns; /* NULL: no leaf has any */
	const cop_kernel *kernel;
};

typedef struct cop_tree_size {
	size_t nodes, rows;
	size_t node_entries, row_entries;
	size_t facets, facet_entries;
} cop_tree_size;

/* First place in [from, n) of ascending indices whose index is not below `want`; n if there is none. No branch depends
 * on what is found. */
static inline size_t cop_tree_find(const uint32_t *index, size_t from, size_t n, uint32_t want)
{
	size_t left = n > from ? n - from : 0;
	while (left > 1) {
		size_t half = left / 2;
		from += (size_t)(index[from + half - 1] < want) * half;
		left -= half;
	}
	return from + (size_t)(left == 1 && index[from] < want);
}

#define COP_TREE_FINDS 8

/* The same, from place 0, for up to COP_TREE_FINDS wanted indices side by side: none of them waits for another. */
static inline void cop_tree_find_each(
        const uint32_t *index, size_t n, size_t count, const uint32_t *want, size_t at[COP_TREE_FINDS])
{
	size_t left = n;
	for (size_t i = 0; i < count; i++)
		at[i] = 0;
	while (left > 1) {
		size_t half = left / 2;
		for (size_t i = 0; i < count; i++)
			at[i] += (size_t)(index[at[i] + half - 1] < want[i]) * half;
		left -= half;
	}
	for (size_t i = 0; i < count && left == 1; i++)
		at[i] += (size_t)(index[at[i]] < want[i]);
}

/* A tree whose arrays are there and empty; free with cop_tree_free. COP_EINVAL: more than COP_TREE_MAX_NODES nodes, or
 * no row. COP_ENOMEM. */
COP_CHECK cop_err cop_tree_alloc(
        size_t d, size_t outputs, cop_tree_link link, const cop_tree_size *size, cop_tree **out);

/* Checks what was filled in and makes the rest. COP_EINVAL, COP_ENONFINITE, COP_ENOMEM as cop_tree_new; the tree is
 * then only to be freed. */
COP_CHECK cop_err cop_tree_settle(cop_tree *tree);

/* Whether the parts are as tree/tree.h defines them; the depth. COP_EINVAL, COP_ENONFINITE, COP_ENOMEM. */
COP_CHECK cop_err cop_tree_check(const cop_tree_parts *parts, unsigned *depth);

/* The tree under `root` (node or ~leaf) of parts that need not form one: `leaves` leaves, children left and right of
 * nodes (in place of parts->left and right). Nodes are renumbered parents first, leaves from left to right. COP_EINVAL:
 * a child out of range, or met twice. Else as cop_tree_new. */
COP_CHECK cop_err cop_tree_extract(const cop_tree_parts *parts, size_t leaves, const int32_t *left,
        const int32_t *right, int32_t root, cop_tree **out);

#endif
