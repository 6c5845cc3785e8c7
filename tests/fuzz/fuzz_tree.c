/* Arbitrary bytes two ways: as the payload of a tree, which, once accepted, is walked, pruned and saved to the same
 * bytes; and as a model file of several trees: the first byte says how many of the next are the payload of section
 * "trees", the rest is that of each tree. */
#include <string.h>

#include "base/assert.h"
#include "tree/tree_build.h"
#include "tree/trees.h"

#define SECTION_HEAD 32
#define MOST_WIDE    256 /* features and outputs of trees that are walked with dense rows and all outputs */
#define MOST_TREES   8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_row(const cop_tree *tree, const cop_row *row)
{
	cop_tree_step steps[COP_TREE_MAX_DEPTH];
	float out[MOST_WIDE];
	size_t leaf, count = cop_tree_path(tree, row, steps, &leaf);
	COP_ASSERT(count <= cop_tree_depth(tree) && leaf < cop_tree_leaves(tree));
	COP_ASSERT(cop_tree_leaf(tree, row) == leaf);
	COP_ASSERT(cop_tree_class(tree, row) < cop_tree_view(tree)->outputs);
	COP_ASSERT(cop_tree_flops(tree, row) <= cop_tree_parameters(tree));
	if (cop_tree_view(tree)->outputs <= MOST_WIDE)
		COP_ASSERT(cop_tree_predict(tree, row, out) == leaf);
}

static void try_rows(const cop_tree *tree)
{
	static const float value[] = { 1.0f, -3.0f };
	static const uint32_t index[] = { 0, 5 };
	float x[MOST_WIDE];
	size_t d = cop_tree_view(tree)->d;
	cop_row sparse = { .d = d, .nnz = d > index[1] ? 2 : 1, .index = index, .value = value };
	cop_row dense = { .d = d, .dense = x };
	for (size_t j = 0; j < MOST_WIDE; j++)
		x[j] = (float)(j % 7) - 3.0f;
	try_row(tree, &sparse);
	if (d <= MOST_WIDE)
		try_row(tree, &dense);
}

static void try_prune(const cop_tree *tree)
{
	static uint64_t rows[64];
	cop_tree *pruned;
	if (cop_tree_leaves(tree) > sizeof rows / sizeof *rows)
		return;
	for (size_t l = 0; l < cop_tree_leaves(tree); l++)
		rows[l] = l % 3;
	COP_ASSERT(cop_tree_prune(tree, rows, &pruned) == COP_OK);
	COP_ASSERT(cop_tree_leaves(pruned) <= cop_tree_leaves(tree));
	try_rows(pruned);
	cop_tree_free(pruned);
}

static void try_tree(const uint8_t *data, size_t size)
{
	cop_tree *tree;
	cop_bytes bytes;
	if (cop_tree_load(data, size, &tree) != COP_OK) {
		COP_ASSERT(tree == NULL);
		return;
	}
	cop_bytes_init(&bytes);
	cop_tree_save(tree, &bytes);
	COP_ASSERT(bytes.length == size + SECTION_HEAD && memcmp(bytes.data + SECTION_HEAD, data, size) == 0);
	cop_bytes_fini(&bytes);
	try_rows(tree);
	try_prune(tree);
	cop_tree_free(tree);
}

static void put_section(cop_bytes *bytes, const char *name, const uint8_t *data, size_t size)
{
	size_t mark = cop_section_file_begin_section(bytes, name, 1);
	cop_bytes_put(bytes, data, size);
	cop_section_file_end_section(bytes, mark);
}

static void try_trees(const uint8_t *head, size_t head_size, const uint8_t *tree, size_t tree_size)
{
	cop_section_file file;
	cop_trees *trees;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	size_t mark = cop_section_file_begin(&bytes);
	put_section(&bytes, COP_TREES_SECTION, head, head_size);
	for (size_t i = 0; i < MOST_TREES; i++)
		put_section(&bytes, COP_TREE_SECTION, tree, tree_size);
	cop_section_file_end(&bytes, mark);
	COP_ASSERT(cop_section_file_open(&file, bytes.data, bytes.length, NULL, NULL) == COP_OK);
	if (cop_trees_load(&file, &trees) == COP_OK) {
		static const uint32_t index = 0;
		static const float value = 0.5f;
		cop_row row = { .d = cop_trees_features(trees), .nnz = 1, .index = &index, .value = &value };
		float work[MOST_WIDE];
		double out[MOST_WIDE];
		if (cop_trees_outputs(trees) <= MOST_WIDE)
			cop_trees_predict(trees, &row, work, out);
		cop_trees_free(trees);
	} else {
		COP_ASSERT(trees == NULL);
	}
	cop_bytes_fini(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_tree(data, size);
	if (size > 1 && data[0] < size)
		try_trees(data + 1, data[0], data + 1 + data[0], size - 1 - data[0]);
	return 0;
}
