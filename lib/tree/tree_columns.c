/* Made in two goes over a block's entries: its features, sorted and each kept once; then, since the rows come in
 * ascending order, a counting sort of the entries by feature. A row's features are searched for in a block's, a few
 * side by side. */
#include "tree/tree_columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define ROWS_LEAST   8 /* a leaf of fewer rows gains nothing */
#define SPARSE_SHARE 8 /* nor one whose rows store more than d / 8 features in the mean */

typedef struct block {
	size_t rows;
	size_t features, from; /* from: of its features in `feature`; its starts begin at from + its number */
} block;

struct cop_tree_columns {
	size_t *leaf; /* leaves + 1: leaf l has the blocks leaf[l] to leaf[l + 1] */
	block *block;
	uint32_t *feature;
	size_t *start; /* of each block one more than features: the places in row and weight */
	uint16_t *row; /* within the block */
	float *weight;
};

void cop_tree_columns_free(cop_tree_columns *columns)
{
	if (columns == NULL)
		return;
	cop_mem_free(columns->leaf);
	cop_mem_free(columns->block);
	cop_mem_free(columns->feature);
	cop_mem_free(columns->start);
	cop_mem_free(columns->row);
	cop_mem_free(columns->weight);
	cop_mem_free(columns);
}

bool cop_tree_columns_has(const cop_tree_columns *columns, size_t leaf)
{
	return columns != NULL && columns->leaf[leaf + 1] > columns->leaf[leaf];
}

/* ---- matching ---- */

size_t cop_tree_columns_scores(
        const cop_tree_columns *columns, size_t leaf, size_t first, const cop_row *row, float *out)
{
	const size_t b = columns->leaf[leaf] + first / COP_TREE_COLUMNS_BLOCK;
	const block *at = &columns->block[b];
	const uint32_t *feature = columns->feature + at->from;
	const size_t *start = columns->start + at->from + b;
	size_t place[COP_TREE_FINDS];
	memset(out, 0, at->rows * sizeof *out);
	for (size_t from = 0, count; from < row->nnz; from += count) {
		count = row->nnz - from < COP_TREE_FINDS ? row->nnz - from : COP_TREE_FINDS;
		cop_tree_find_each(feature, at->features, count, row->index + from, place);
		for (size_t i = 0; i < count; i++) {
			const size_t f = place[i];
			if (f == at->features || feature[f] != row->index[from + i])
				continue;
			for (size_t e = start[f]; e < start[f + 1]; e++)
				out[columns->row[e]] += columns->weight[e] * row->value[from + i];
		}
	}
	return at->rows;
}

/* ---- making ---- */

static size_t entries_between(const cop_tree *tree, size_t from, size_t to)
{
	return tree->rows.start[to] - tree->rows.start[from];
}

/* Rows that are written out in full are summed in another order. */
static bool gains(const cop_tree *tree, size_t leaf)
{
	size_t from = tree->leaf[leaf], to = tree->leaf[leaf + 1];
	if (to - from < ROWS_LEAST || entries_between(tree, from, to) > (to - from) * tree->parts.d / SPARSE_SHARE)
		return false;
	for (size_t r = from; r < to; r++)
		if (tree->line[r].kind == COP_TREE_LINE_FULL)
			return false;
	return entries_between(tree, from, to) > 0;
}

static size_t blocks_of(const cop_tree *tree, size_t leaf)
{
	return (tree->leaf[leaf + 1] - tree->leaf[leaf] + COP_TREE_COLUMNS_BLOCK - 1) / COP_TREE_COLUMNS_BLOCK;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *p = a, *q = b;
	return (*p > *q) - (*p < *q);
}

/* The features of the entries, each once, ascending, into out, which has room for all. Returns how many. */
static size_t features_of(const uint32_t *index, size_t entries, uint32_t *out)
{
	size_t count = 0;
	if (entries == 0)
		return 0;
	memcpy(out, index, entries * sizeof *out);
	qsort(out, entries, sizeof *out, by_number);
	for (size_t e = 0; e < entries; e++)
		if (count == 0 || out[count - 1] != out[e])
			out[count++] = out[e];
	return count;
}

/* Block b: the tree's rows from `from` to `to`, whose entries go to the place `entry`. */
static void fill_block(cop_tree_columns *c, const cop_tree *tree, size_t b, size_t from, size_t to, size_t entry)
{
	block *at = &c->block[b];
	const uint32_t *index = tree->rows.index + tree->rows.start[from];
	const size_t entries = entries_between(tree, from, to);
	at->rows = to - from;
	at->features = features_of(index, entries, c->feature + at->from);
	const uint32_t *feature = c->feature + at->from;
	size_t *start = c->start + at->from + b;
	for (size_t f = 0; f <= at->features; f++)
		start[f] = 0;
	for (size_t e = 0; e < entries; e++)
		start[cop_tree_find(feature, 0, at->features, index[e]) + 1]++;
	start[0] = entry;
	for (size_t f = 1; f <= at->features; f++)
		start[f] += start[f - 1];
	for (size_t r = from; r < to; r++)
		for (size_t e = tree->rows.start[r]; e < tree->rows.start[r + 1]; e++) {
			size_t place = start[cop_tree_find(feature, 0, at->features, tree->rows.index[e])]++;
			c->row[place] = (uint16_t)(r - from);
			c->weight[place] = tree->rows.weight[e];
		}
	for (size_t f = at->features; f > 0; f--)
		start[f] = start[f - 1];
	start[0] = entry;
}

static void fill(cop_tree_columns *c, const cop_tree *tree)
{
	size_t entry = 0, b = 0;
	for (size_t l = 0; l <= tree->nodes.count; l++) {
		c->leaf[l] = b;
		for (size_t from = tree->leaf[l], to; gains(tree, l) && from < tree->leaf[l + 1]; from = to) {
			to = from + COP_TREE_COLUMNS_BLOCK < tree->leaf[l + 1] ? from + COP_TREE_COLUMNS_BLOCK
			                                                       : tree->leaf[l + 1];
			c->block[b].from = b == 0 ? 0 : c->block[b - 1].from + c->block[b - 1].features;
			fill_block(c, tree, b++, from, to, entry);
			entry += entries_between(tree, from, to);
		}
	}
	c->leaf[tree->nodes.count + 1] = b;
}

cop_err cop_tree_columns_new(const cop_tree *tree, cop_tree_columns **out)
{
	size_t blocks = 0, entries = 0;
	*out = NULL;
	if (tree->constant)
		return COP_OK;
	for (size_t l = 0; l <= tree->nodes.count; l++)
		if (gains(tree, l)) {
			blocks += blocks_of(tree, l);
			entries += entries_between(tree, tree->leaf[l], tree->leaf[l + 1]);
		}
	if (blocks == 0)
		return COP_OK;
	cop_tree_columns *c = cop_mem_alloc(1, sizeof *c);
	if (c == NULL)
		return COP_ENOMEM;
	c->leaf = cop_mem_alloc(tree->nodes.count + 2, sizeof *c->leaf);
	c->block = cop_mem_alloc(blocks, sizeof *c->block);
	c->feature = cop_mem_alloc(entries, sizeof *c->feature);
	c->start = cop_mem_alloc(entries + blocks, sizeof *c->start);
	c->row = cop_mem_alloc(entries, sizeof *c->row);
	c->weight = cop_mem_alloc(entries, sizeof *c->weight);
	if (c->leaf == NULL || c->block == NULL || c->feature == NULL || c->start == NULL || c->row == NULL ||
	        c->weight == NULL) {
		cop_tree_columns_free(c);
		return COP_ENOMEM;
	}
	fill(c, tree);
	*out = c;
	return COP_OK;
}
