/* One walk from the root, left before right, finds what is reached and numbers it; then each reached node and leaf is
 * copied to its place. `new` numbers count from 1, so that 0 means not met. */
#include <string.h>

#include "base/mem.h"
#include "tree/tree_private.h"

typedef struct picked {
	size_t nodes, leaves;
	uint32_t *node, *leaf;         /* old numbers, in the new order */
	uint32_t *new_node, *new_leaf; /* by old numbers */
	int32_t *stack;
} picked;

static void picked_fini(picked *p)
{
	cop_mem_free(p->node);
	cop_mem_free(p->leaf);
	cop_mem_free(p->new_node);
	cop_mem_free(p->new_leaf);
	cop_mem_free(p->stack);
}

static bool picked_init(picked *p, size_t n, size_t leaves)
{
	*p = (picked){ 0 };
	p->node = cop_mem_alloc(n, sizeof *p->node);
	p->leaf = cop_mem_alloc(leaves, sizeof *p->leaf);
	p->new_node = cop_mem_alloc(n, sizeof *p->new_node);
	p->new_leaf = cop_mem_alloc(leaves, sizeof *p->new_leaf);
	p->stack = cop_mem_alloc(n + 1, sizeof *p->stack);
	return p->node != NULL && p->leaf != NULL && p->new_node != NULL && p->new_leaf != NULL && p->stack != NULL;
}

/* The stack never holds more than one child for each node met, and the one being met. */
static bool walk(picked *p, size_t n, size_t leaves, const int32_t *left, const int32_t *right, int32_t root)
{
	size_t waiting = 0;
	p->stack[waiting++] = root;
	while (waiting > 0) {
		int32_t at = p->stack[--waiting];
		size_t place = at >= 0 ? (size_t)at : (size_t)~at;
		uint32_t *number = at >= 0 ? p->new_node : p->new_leaf;
		if (place >= (at >= 0 ? n : leaves) || number[place] != 0)
			return false;
		if (at < 0) {
			p->leaf[p->leaves++] = (uint32_t)place;
			number[place] = (uint32_t)p->leaves;
			continue;
		}
		p->node[p->nodes++] = (uint32_t)place;
		number[place] = (uint32_t)p->nodes;
		p->stack[waiting++] = right[at];
		p->stack[waiting++] = left[at];
	}
	return true;
}

static cop_tree_size measure(const picked *p, const cop_tree_parts *parts)
{
	cop_tree_size size = { .nodes = p->nodes };
	for (size_t t = 0; t < p->nodes; t++) {
		const size_t node = p->node[t], facets = cop_tree_parts_facets(parts, node);
		size.node_entries += parts->nodes.start[node + 1] - parts->nodes.start[node];
		size.facets += facets;
		if (facets > 0)
			size.facet_entries +=
			        parts->facets.start[parts->facet[node + 1]] - parts->facets.start[parts->facet[node]];
	}
	for (size_t l = 0; l < p->leaves; l++) {
		size_t from = parts->leaf[p->leaf[l]], to = parts->leaf[p->leaf[l] + 1];
		size.rows += to - from;
		size.row_entries += parts->rows.start[to] - parts->rows.start[from];
	}
	return size;
}

/* Vector `from` to place `to` of the room, whose start[to] stands. */
static void put_vector(const cop_tree_room *room, size_t to, const cop_tree_vectors *vectors, size_t from)
{
	size_t first = vectors->start[from], entries = vectors->start[from + 1] - first, at = room->start[to];
	if (entries > 0) {
		memcpy(room->index + at, vectors->index + first, entries * sizeof *room->index);
		memcpy(room->weight + at, vectors->weight + first, entries * sizeof *room->weight);
	}
	room->bias[to] = vectors->bias[from];
	room->start[to + 1] = at + entries;
}

static int32_t renumber(const picked *p, int32_t child)
{
	return child >= 0 ? (int32_t)(p->new_node[child] - 1) : ~(int32_t)(p->new_leaf[~child] - 1);
}

/* Those of node `from` as those of node `to`, behind the ones that are there. */
static void put_facets(cop_tree *tree, size_t to, const cop_tree_parts *parts, size_t from)
{
	size_t at = tree->facet[to];
	for (size_t i = 0; i < cop_tree_parts_facets(parts, from); i++, at++) {
		put_vector(&tree->facets, at, &parts->facets, parts->facet[from] + i);
		tree->r[at] = parts->r[parts->facet[from] + i];
	}
	tree->facet[to + 1] = at;
}

static void fill(
        cop_tree *tree, const picked *p, const cop_tree_parts *parts, const int32_t *left, const int32_t *right)
{
	size_t rows = 0;
	for (size_t t = 0; t < p->nodes; t++) {
		put_vector(&tree->nodes, t, &parts->nodes, p->node[t]);
		if (tree->facet != NULL)
			put_facets(tree, t, parts, p->node[t]);
		tree->left[t] = renumber(p, left[p->node[t]]);
		tree->right[t] = renumber(p, right[p->node[t]]);
	}
	for (size_t l = 0; l < p->leaves; l++) {
		for (size_t r = parts->leaf[p->leaf[l]]; r < parts->leaf[p->leaf[l] + 1]; r++, rows++) {
			put_vector(&tree->rows, rows, &parts->rows, r);
			tree->output[rows] = parts->output[r];
		}
		tree->leaf[l + 1] = rows;
	}
}

cop_err cop_tree_extract(const cop_tree_parts *parts, size_t leaves, const int32_t *left, const int32_t *right,
        int32_t root, cop_tree **out)
{
	picked p;
	cop_tree *tree = NULL;
	cop_err err = COP_ENOMEM;
	*out = NULL;
	if (picked_init(&p, parts->nodes.count, leaves))
		err = walk(&p, parts->nodes.count, leaves, left, right, root) ? COP_OK : COP_EINVAL;
	if (err == COP_OK) {
		cop_tree_size size = measure(&p, parts);
		err = cop_tree_alloc(parts->d, parts->outputs, parts->link, &size, &tree);
	}
	if (err == COP_OK) {
		fill(tree, &p, parts, left, right);
		err = cop_tree_settle(tree);
	}
	picked_fini(&p);
	if (err == COP_OK)
		*out = tree;
	else
		cop_tree_free(tree);
	return err;
}
