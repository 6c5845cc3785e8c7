/* Invariants: child[2t + right] is a node in [0, n) or ~leaf with leaf in [0, n]; every node but the root and every
 * leaf is the child of exactly one node and all hang under node 0, so each walk ends after at most `depth` steps. */
#include "tree/oblique_tree.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "linalg/kernel.h"
#include "store/model_file.h"

struct cop_oblique_tree {
	size_t d;
	size_t outputs;
	size_t n; /* decision nodes */
	unsigned depth;
	bool heap;
	const cop_kernel *kernel;
	int32_t *child; /* n x 2 */
	float *w;       /* n x d */
	float *b;       /* n */
	float *theta;   /* (n + 1) x outputs */
};

void cop_oblique_tree_free(cop_oblique_tree *tree)
{
	if (tree == NULL)
		return;
	cop_mem_free(tree->child);
	cop_mem_free(tree->w);
	cop_mem_free(tree->b);
	cop_mem_free(tree->theta);
	cop_mem_free(tree);
}

/* A tree of n nodes whose children are still to be set. */
static cop_err make(size_t d, size_t outputs, size_t n, cop_oblique_tree **out)
{
	size_t weights, values;
	*out = NULL;
	if (d == 0 || d > UINT32_MAX || outputs == 0 || outputs > UINT32_MAX || n > COP_TREE_MAX_NODES)
		return COP_EINVAL;
	if (__builtin_mul_overflow(n, d, &weights) || __builtin_mul_overflow(n + 1, outputs, &values))
		return COP_ENOMEM;
	cop_oblique_tree *tree = cop_mem_alloc(1, sizeof *tree);
	if (tree == NULL)
		return COP_ENOMEM;
	tree->d = d;
	tree->outputs = outputs;
	tree->n = n;
	tree->kernel = cop_kernel_best();
	tree->child = cop_mem_alloc(2 * n, sizeof *tree->child);
	tree->w = cop_mem_alloc(weights, sizeof *tree->w);
	tree->b = cop_mem_alloc(n, sizeof *tree->b);
	tree->theta = cop_mem_alloc(values, sizeof *tree->theta);
	if (tree->child == NULL || tree->w == NULL || tree->b == NULL || tree->theta == NULL) {
		cop_oblique_tree_free(tree);
		return COP_ENOMEM;
	}
	*out = tree;
	return COP_OK;
}

/* Heap place c of a complete tree with n decision nodes, as a child. */
static int32_t heap_child(size_t n, size_t c) { return c < n ? (int32_t)c : ~(int32_t)(c - n); }

cop_err cop_oblique_tree_new(size_t d, unsigned h, size_t outputs, cop_oblique_tree **out)
{
	*out = NULL;
	if (h < 1 || h > COP_TREE_MAX_HEIGHT)
		return COP_EINVAL;
	size_t n = ((size_t)1 << h) - 1;
	cop_err err = make(d, outputs, n, out);
	if (err != COP_OK)
		return err;
	for (size_t t = 0; t < n; t++) {
		(*out)->child[2 * t] = heap_child(n, 2 * t + 1);
		(*out)->child[2 * t + 1] = heap_child(n, 2 * t + 2);
	}
	(*out)->depth = h;
	(*out)->heap = true;
	return COP_OK;
}

/* Breadth first from the root with every node and leaf marked once; sets depth. `queue` has n entries, `seen` 2n + 1
 * zeros (nodes, then leaves). n edges lead to n - 1 nodes and n + 1 leaves, so reaching n nodes without repetition
 * reaches all leaves too. */
static bool walk_shape(cop_oblique_tree *tree, uint32_t *queue, uint8_t *seen)
{
	size_t n = tree->n, tail = 1, level_end = 1;
	queue[0] = 0;
	seen[0] = 1;
	tree->depth = 1;
	for (size_t head = 0; head < tail; head++) {
		if (head == level_end) {
			level_end = tail;
			if (++tree->depth > COP_TREE_MAX_DEPTH)
				return false;
		}
		for (size_t side = 0; side < 2; side++) {
			int32_t c = tree->child[2 * (size_t)queue[head] + side];
			size_t place = c >= 0 ? (size_t)c : n + (size_t)~c;
			if ((c >= 0 ? place >= n : place > 2 * n) || seen[place])
				return false;
			seen[place] = 1;
			if (c >= 0)
				queue[tail++] = (uint32_t)c;
		}
	}
	return tail == n;
}

static bool has_heap_order(const cop_oblique_tree *tree)
{
	size_t n = tree->n;
	if (n == 0 || ((n + 1) & n) != 0 || n >= ((size_t)1 << COP_TREE_MAX_HEIGHT))
		return false;
	for (size_t t = 0; t < n; t++)
		if (tree->child[2 * t] != heap_child(n, 2 * t + 1) ||
		        tree->child[2 * t + 1] != heap_child(n, 2 * t + 2))
			return false;
	return true;
}

/* COP_EINVAL when the children do not form one tree; sets what depends on them. */
static cop_err finish_shape(cop_oblique_tree *tree)
{
	if (tree->n == 0)
		return COP_OK;
	uint32_t *queue = cop_mem_alloc(tree->n, sizeof *queue);
	uint8_t *seen = cop_mem_alloc(2 * tree->n + 1, sizeof *seen);
	cop_err err = COP_ENOMEM;
	if (queue != NULL && seen != NULL)
		err = walk_shape(tree, queue, seen) ? COP_OK : COP_EINVAL;
	cop_mem_free(queue);
	cop_mem_free(seen);
	if (err == COP_OK)
		tree->heap = has_heap_order(tree);
	return err;
}

cop_err cop_oblique_tree_new_explicit(
        size_t d, size_t outputs, size_t n_nodes, const int32_t *left, const int32_t *right, cop_oblique_tree **out)
{
	cop_oblique_tree *tree;
	*out = NULL;
	cop_err err = make(d, outputs, n_nodes, &tree);
	if (err != COP_OK)
		return err;
	for (size_t t = 0; t < n_nodes; t++) {
		tree->child[2 * t] = left[t];
		tree->child[2 * t + 1] = right[t];
	}
	err = finish_shape(tree);
	if (err != COP_OK) {
		cop_oblique_tree_free(tree);
		return err;
	}
	*out = tree;
	return COP_OK;
}

size_t cop_oblique_tree_features(const cop_oblique_tree *tree) { return tree->d; }
size_t cop_oblique_tree_outputs(const cop_oblique_tree *tree) { return tree->outputs; }
size_t cop_oblique_tree_nodes(const cop_oblique_tree *tree) { return tree->n; }
size_t cop_oblique_tree_leaves(const cop_oblique_tree *tree) { return tree->n + 1; }
unsigned cop_oblique_tree_depth(const cop_oblique_tree *tree) { return tree->depth; }
bool cop_oblique_tree_is_heap(const cop_oblique_tree *tree) { return tree->heap; }

int32_t cop_oblique_tree_child(const cop_oblique_tree *tree, size_t node, bool right)
{
	COP_ASSERT(node < tree->n);
	return tree->child[2 * node + right];
}

float *cop_oblique_tree_weights(cop_oblique_tree *tree, size_t node)
{
	COP_ASSERT(node < tree->n);
	return tree->w + node * tree->d;
}

const float *cop_oblique_tree_weights_view(const cop_oblique_tree *tree, size_t node)
{
	COP_ASSERT(node < tree->n);
	return tree->w + node * tree->d;
}

float *cop_oblique_tree_bias(cop_oblique_tree *tree, size_t node)
{
	COP_ASSERT(node < tree->n);
	return tree->b + node;
}

const float *cop_oblique_tree_bias_view(const cop_oblique_tree *tree, size_t node)
{
	COP_ASSERT(node < tree->n);
	return tree->b + node;
}

float *cop_oblique_tree_values(cop_oblique_tree *tree, size_t leaf)
{
	COP_ASSERT(leaf <= tree->n);
	return tree->theta + leaf * tree->outputs;
}

const float *cop_oblique_tree_values_view(const cop_oblique_tree *tree, size_t leaf)
{
	COP_ASSERT(leaf <= tree->n);
	return tree->theta + leaf * tree->outputs;
}

static float margin(const cop_oblique_tree *tree, size_t node, const cop_row *row)
{
	const float *w = tree->w + node * tree->d;
	if (row->dense != NULL)
		return tree->kernel->dot(tree->d, w, row->dense) + tree->b[node];
	float sum = 0.0f;
	for (size_t i = 0; i < row->nnz; i++)
		sum += w[row->index[i]] * row->value[i];
	return sum + tree->b[node];
}

float cop_oblique_tree_margin(const cop_oblique_tree *tree, size_t node, const cop_row *row)
{
	COP_ASSERT(row->d == tree->d && node < tree->n);
	return margin(tree, node, row);
}

size_t cop_oblique_tree_leaf(const cop_oblique_tree *tree, const cop_row *row)
{
	COP_ASSERT(row->d == tree->d);
	int32_t at = tree->n == 0 ? ~0 : 0;
	while (at >= 0)
		at = tree->child[2 * (size_t)at + (margin(tree, (size_t)at, row) >= 0.0f)];
	return (size_t)~at;
}

const float *cop_oblique_tree_predict(const cop_oblique_tree *tree, const cop_row *row)
{
	return tree->theta + cop_oblique_tree_leaf(tree, row) * tree->outputs;
}

size_t cop_oblique_tree_path(const cop_oblique_tree *tree, const cop_row *row, cop_tree_step *steps, size_t *leaf)
{
	COP_ASSERT(row->d == tree->d);
	size_t count = 0;
	int32_t at = tree->n == 0 ? ~0 : 0;
	while (at >= 0) {
		cop_tree_step *step = &steps[count++];
		step->node = (uint32_t)at;
		step->margin = margin(tree, (size_t)at, row);
		step->right = step->margin >= 0.0f;
		at = tree->child[2 * (size_t)at + step->right];
	}
	*leaf = (size_t)~at;
	return count;
}

/* Payload: u32 d, u32 outputs, u32 n; n x 2 children (left, right) as u32 two's complement; n x d weights, n biases,
 * (n + 1) x outputs leaf values, all f32. */
void cop_oblique_tree_save(const cop_oblique_tree *tree, cop_bytes *bytes)
{
	size_t mark = cop_model_file_begin_section(bytes, COP_OBLIQUE_TREE_SECTION, COP_OBLIQUE_TREE_VERSION);
	cop_bytes_put_u32(bytes, (uint32_t)tree->d);
	cop_bytes_put_u32(bytes, (uint32_t)tree->outputs);
	cop_bytes_put_u32(bytes, (uint32_t)tree->n);
	for (size_t i = 0; i < 2 * tree->n; i++)
		cop_bytes_put_u32(bytes, (uint32_t)tree->child[i]);
	cop_bytes_put_f32s(bytes, tree->w, tree->n * tree->d);
	cop_bytes_put_f32s(bytes, tree->b, tree->n);
	cop_bytes_put_f32s(bytes, tree->theta, (tree->n + 1) * tree->outputs);
	cop_model_file_end_section(bytes, mark);
}

/* Whether `left` bytes are just what a tree of this shape has after its three counts. */
static bool fits(uint64_t d, uint64_t outputs, uint64_t n, size_t left)
{
	uint64_t weights, values, words;
	if (n > COP_TREE_MAX_NODES || left % 4 != 0)
		return false;
	weights = n * d; /* at most 2^52 */
	values = (n + 1) * outputs;
	words = 2 * n + weights + n + values;
	return words == left / 4;
}

cop_err cop_oblique_tree_load(const void *payload, size_t length, cop_oblique_tree **out)
{
	cop_cursor cursor;
	*out = NULL;
	cop_cursor_init(&cursor, payload, length);
	uint32_t d = cop_cursor_u32(&cursor), outputs = cop_cursor_u32(&cursor), n = cop_cursor_u32(&cursor);
	if (cursor.err != COP_OK || d == 0 || outputs == 0 || !fits(d, outputs, n, cop_cursor_left(&cursor)))
		return COP_EFORMAT;
	cop_oblique_tree *tree;
	cop_err err = make(d, outputs, n, &tree);
	if (err != COP_OK)
		return err;
	for (size_t i = 0; i < 2 * (size_t)n; i++)
		tree->child[i] = (int32_t)cop_cursor_u32(&cursor);
	cop_cursor_f32s(&cursor, tree->w, (size_t)n * d);
	cop_cursor_f32s(&cursor, tree->b, n);
	cop_cursor_f32s(&cursor, tree->theta, ((size_t)n + 1) * outputs);
	err = cursor.err;
	if (err == COP_OK)
		err = finish_shape(tree);
	if (err != COP_OK) {
		cop_oblique_tree_free(tree);
		return err == COP_EINVAL ? COP_EFORMAT : err;
	}
	*out = tree;
	return COP_OK;
}
