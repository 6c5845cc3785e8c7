/* A tree comes to be in three steps: room of known size, its contents (copied, read or picked by the caller), and
 * settling: checks, and the lines along which walks go.
 *
 * A vector with a fair share of all features is written out in full: a vector unit takes 16 places in the time in
 * which a few scattered ones are fetched. One that holds all is full as it stands. */
#include <string.h>

#include "base/mem.h"
#include "tree/tree_columns.h"

#define FULL_SHARE 4 /* in full from d / 4 entries on */
#define FULL_LEAST 4 /* and at least so many */

void cop_tree_free(cop_tree *tree)
{
	if (tree == NULL)
		return;
	cop_mem_free(tree->left);
	cop_mem_free(tree->right);
	cop_mem_free(tree->leaf);
	cop_mem_free(tree->output);
	cop_mem_free(tree->facet);
	cop_mem_free(tree->r);
	cop_mem_free(tree->start);
	cop_mem_free(tree->index);
	cop_mem_free(tree->weight);
	cop_mem_free(tree->bias);
	cop_mem_free(tree->node);
	cop_mem_free(tree->line);
	cop_mem_free(tree->facet_line);
	cop_mem_free(tree->full);
	cop_mem_free(tree->node_numbers);
	cop_mem_free(tree->leaf_numbers);
	cop_tree_columns_free(tree->columns);
	cop_mem_free(tree);
}

static cop_tree_vectors view(const cop_tree_room *room)
{
	return (cop_tree_vectors){ room->count, room->start, room->index, room->weight, room->bias };
}

static void divide_room(cop_tree *tree, const cop_tree_size *size)
{
	tree->nodes = (cop_tree_room){ size->nodes, tree->start, tree->index, tree->weight, tree->bias };
	tree->rows = (cop_tree_room){ size->rows, tree->start + size->nodes + 1, tree->index + size->node_entries,
		tree->weight + size->node_entries, tree->bias + size->nodes };
	const size_t vectors = size->nodes + size->rows, entries = size->node_entries + size->row_entries;
	tree->facets = (cop_tree_room){ size->facets, tree->start + vectors + 2, tree->index + entries,
		tree->weight + entries, tree->bias + vectors };
	tree->parts.nodes = view(&tree->nodes);
	tree->parts.rows = view(&tree->rows);
	tree->parts.facets = view(&tree->facets);
	tree->parts.facet = tree->facet;
	tree->parts.r = tree->r;
	tree->parts.left = tree->left;
	tree->parts.right = tree->right;
	tree->parts.leaf = tree->leaf;
	tree->parts.output = tree->output;
}

cop_err cop_tree_alloc(size_t d, size_t outputs, cop_tree_link link, const cop_tree_size *size, cop_tree **out)
{
	size_t vectors, entries;
	*out = NULL;
	if (size->nodes > COP_TREE_MAX_NODES || size->rows == 0)
		return COP_EINVAL;
	if (__builtin_add_overflow(size->nodes + 3, size->rows, &vectors) ||
	        __builtin_add_overflow(vectors, size->facets, &vectors) ||
	        __builtin_add_overflow(size->node_entries, size->row_entries, &entries) ||
	        __builtin_add_overflow(entries, size->facet_entries, &entries))
		return COP_ENOMEM;
	cop_tree *tree = cop_mem_alloc(1, sizeof *tree);
	if (tree == NULL)
		return COP_ENOMEM;
	tree->parts.d = d;
	tree->parts.outputs = outputs;
	tree->parts.link = link;
	tree->left = cop_mem_alloc(size->nodes, sizeof *tree->left);
	tree->right = cop_mem_alloc(size->nodes, sizeof *tree->right);
	tree->leaf = cop_mem_alloc(size->nodes + 2, sizeof *tree->leaf);
	tree->output = cop_mem_alloc(size->rows, sizeof *tree->output);
	tree->start = cop_mem_alloc(vectors, sizeof *tree->start);
	tree->index = cop_mem_alloc(entries, sizeof *tree->index);
	tree->weight = cop_mem_alloc(entries, sizeof *tree->weight);
	tree->bias = cop_mem_alloc(vectors, sizeof *tree->bias);
	tree->facet = size->facets == 0 ? NULL : cop_mem_alloc(size->nodes + 1, sizeof *tree->facet);
	tree->r = size->facets == 0 ? NULL : cop_mem_alloc(size->facets, sizeof *tree->r);
	if (tree->left == NULL || tree->right == NULL || tree->leaf == NULL || tree->output == NULL ||
	        tree->start == NULL || tree->index == NULL || tree->weight == NULL || tree->bias == NULL ||
	        (size->facets > 0 && (tree->facet == NULL || tree->r == NULL))) {
		cop_tree_free(tree);
		return COP_ENOMEM;
	}
	divide_room(tree, size);
	*out = tree;
	return COP_OK;
}

/* ---- settling ---- */

static bool goes_in_full(size_t d, size_t entries)
{
	return entries < d && entries >= FULL_LEAST && entries * FULL_SHARE >= d;
}

static size_t full_vectors(size_t d, const cop_tree_room *room)
{
	size_t count = 0;
	for (size_t i = 0; i < room->count; i++)
		count += goes_in_full(d, room->start[i + 1] - room->start[i]);
	return count;
}

/* The line of vector i; *full is the next free place for one written out. */
static cop_tree_line make_line(size_t d, const cop_tree_room *room, size_t i, float **full)
{
	size_t from = room->start[i], entries = room->start[i + 1] - from;
	cop_tree_line line = { room->weight + from, COP_TREE_LINE_SCATTERED, (uint32_t)entries };
	if (entries == 0) {
		line.kind = COP_TREE_LINE_NONE;
	} else if (entries == 1 && room->weight[from] == 1.0f) {
		line.kind = COP_TREE_LINE_AXIS;
		line.at = room->index[from];
	} else if (entries == d) {
		line.kind = COP_TREE_LINE_FULL;
	} else if (goes_in_full(d, entries)) {
		for (size_t e = 0; e < entries; e++)
			(*full)[room->index[from + e]] = room->weight[from + e];
		line.kind = COP_TREE_LINE_FULL;
		line.w = *full;
		*full += d;
	}
	return line;
}

static size_t nonzeros(const cop_tree_room *room, size_t i)
{
	size_t count = 0;
	for (size_t e = room->start[i]; e < room->start[i + 1]; e++)
		count += room->weight[e] != 0.0f;
	return count;
}

/* Features in which rows i and i + 1 differ: two classes need only the difference of their logits. */
static size_t differences(const cop_tree_room *room, size_t i)
{
	size_t a = room->start[i], b = room->start[i + 1], a_end = b, b_end = room->start[i + 2], count = 0;
	while (a < a_end || b < b_end) {
		bool first = b == b_end || (a < a_end && room->index[a] <= room->index[b]);
		bool second = a == a_end || (b < b_end && room->index[b] <= room->index[a]);
		float v = first ? room->weight[a] : 0.0f, u = second ? room->weight[b] : 0.0f;
		count += v != u;
		a += first;
		b += second;
	}
	return count;
}

static size_t numbers_of_leaf(const cop_tree *tree, size_t leaf)
{
	size_t from = tree->leaf[leaf], to = tree->leaf[leaf + 1], count = 0;
	if (tree->rows.start[from] == tree->rows.start[to])
		return tree->parts.outputs;
	if (tree->parts.link == COP_TREE_LOGITS && to - from == 2)
		return differences(&tree->rows, from) + 1;
	for (size_t r = from; r < to; r++)
		count += nonzeros(&tree->rows, r) + 1;
	return count;
}

static void make_lines(cop_tree *tree)
{
	size_t d = tree->parts.d, n = tree->nodes.count;
	float *full = tree->full;
	for (size_t t = 0; t < n; t++) {
		tree->node[t].line = make_line(d, &tree->nodes, t, &full);
		tree->node[t].bias = tree->nodes.bias[t];
		tree->node[t].child[0] = tree->left[t];
		tree->node[t].child[1] = tree->right[t];
		tree->node_numbers[t] = nonzeros(&tree->nodes, t) + 1;
		const size_t facets = cop_tree_parts_facets(&tree->parts, t);
		if (facets > 0)
			tree->node[t].line = (cop_tree_line){ NULL, COP_TREE_LINE_FACETS, (uint32_t)t };
		for (size_t k = 0; k < facets; k++)
			tree->node_numbers[t] += nonzeros(&tree->facets, tree->facet[t] + k) + 2;
	}
	for (size_t k = 0; k < tree->facets.count; k++)
		tree->facet_line[k] = make_line(d, &tree->facets, k, &full);
	for (size_t r = 0; !tree->constant && r < tree->rows.count; r++)
		tree->line[r] = make_line(d, &tree->rows, r, &full);
	for (size_t l = 0; l <= n; l++)
		tree->leaf_numbers[l] = numbers_of_leaf(tree, l);
}

cop_err cop_tree_settle(cop_tree *tree)
{
	size_t d = tree->parts.d, n = tree->nodes.count, floats;
	cop_err err = cop_tree_check(&tree->parts, &tree->depth);
	if (err != COP_OK)
		return err;
	if (__builtin_mul_overflow(
	            full_vectors(d, &tree->nodes) + full_vectors(d, &tree->rows) + full_vectors(d, &tree->facets), d,
	            &floats))
		return COP_ENOMEM;
	tree->constant = tree->rows.start[tree->rows.count] == 0;
	tree->kernel = cop_kernel_best();
	tree->node = cop_mem_alloc(n, sizeof *tree->node);
	tree->line = tree->constant ? NULL : cop_mem_alloc(tree->rows.count, sizeof *tree->line);
	tree->facet_line = tree->facets.count == 0 ? NULL : cop_mem_alloc(tree->facets.count, sizeof *tree->facet_line);
	tree->full = cop_mem_alloc(floats, sizeof *tree->full);
	tree->node_numbers = cop_mem_alloc(n, sizeof *tree->node_numbers);
	tree->leaf_numbers = cop_mem_alloc(n + 1, sizeof *tree->leaf_numbers);
	if (tree->node == NULL || (tree->line == NULL && !tree->constant) || tree->full == NULL ||
	        tree->node_numbers == NULL || tree->leaf_numbers == NULL ||
	        (tree->facet_line == NULL && tree->facets.count > 0))
		return COP_ENOMEM;
	make_lines(tree);
	return cop_tree_columns_new(tree, &tree->columns);
}

/* ---- from parts ---- */

static void copy(void *to, const void *from, size_t count, size_t size)
{
	if (count > 0)
		memcpy(to, from, count * size);
}

static size_t entries_of(const cop_tree_vectors *vectors)
{
	return vectors->count == 0 ? 0 : vectors->start[vectors->count];
}

static void copy_vectors(const cop_tree_room *room, const cop_tree_vectors *from)
{
	size_t entries = entries_of(from);
	copy(room->start, from->start, from->count == 0 ? 0 : from->count + 1, sizeof *room->start);
	copy(room->index, from->index, entries, sizeof *room->index);
	copy(room->weight, from->weight, entries, sizeof *room->weight);
	copy(room->bias, from->bias, from->count, sizeof *room->bias);
}

cop_err cop_tree_new(const cop_tree_parts *parts, cop_tree **out)
{
	size_t n = parts->nodes.count;
	cop_tree *tree;
	*out = NULL;
	if (n > COP_TREE_MAX_NODES)
		return COP_EINVAL;
	const cop_tree_size size = { n, parts->rows.count, entries_of(&parts->nodes), entries_of(&parts->rows),
		parts->facets.count, entries_of(&parts->facets) };
	cop_err err = cop_tree_alloc(parts->d, parts->outputs, parts->link, &size, &tree);
	if (err != COP_OK)
		return err;
	copy_vectors(&tree->nodes, &parts->nodes);
	copy_vectors(&tree->rows, &parts->rows);
	copy_vectors(&tree->facets, &parts->facets);
	copy(tree->facet, parts->facet, size.facets == 0 ? 0 : n + 1, sizeof *tree->facet);
	copy(tree->r, parts->r, size.facets, sizeof *tree->r);
	copy(tree->left, parts->left, n, sizeof *tree->left);
	copy(tree->right, parts->right, n, sizeof *tree->right);
	copy(tree->leaf, parts->leaf, n + 2, sizeof *tree->leaf);
	copy(tree->output, parts->output, parts->rows.count, sizeof *tree->output);
	err = cop_tree_settle(tree);
	if (err == COP_OK)
		*out = tree;
	else
		cop_tree_free(tree);
	return err;
}
