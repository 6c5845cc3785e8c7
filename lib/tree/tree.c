/* The walk. A sum over a dense row goes by the node's line: full ones through the vector kernel (short ones without the
 * detour), others by fetching the stored features; over a sparse row, by the row's entries where the weights are full,
 * else by matching two ascending lists. A margin is always formed the same way, so walks, paths and margins agree bit
 * by bit.
 *
 * Axis-aligned nodes compare as floats do: x - t is rounded, but gradual underflow keeps its sign and lets it be zero
 * only where x equals t. */
#include "tree/tree.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "tree/tree_columns.h"

#define SEARCH_SHARE 8   /* lists of which one is so many times shorter are matched by searching */
#define SHORT        256 /* features up to which the kernel's start and end cost more than its width gains */

const cop_tree_parts *cop_tree_view(const cop_tree *tree) { return &tree->parts; }
size_t cop_tree_leaves(const cop_tree *tree) { return tree->nodes.count + 1; }
unsigned cop_tree_depth(const cop_tree *tree) { return tree->depth; }
size_t cop_tree_facets(const cop_tree *tree) { return tree->facets.count; }
bool cop_tree_constant_leaves(const cop_tree *tree) { return tree->constant; }

bool cop_tree_leaf_constant(const cop_tree *tree, size_t leaf)
{
	COP_ASSERT(leaf <= tree->nodes.count);
	return tree->rows.start[tree->leaf[leaf]] == tree->rows.start[tree->leaf[leaf + 1]];
}

/* ---- sums ---- */

static inline float fetch_sum(size_t n, const uint32_t *index, const float *w, const float *x)
{
	float a = 0.0f, b = 0.0f, c = 0.0f, e = 0.0f;
	size_t i = 0;
	for (; i + 4 <= n; i += 4) {
		a += w[i] * x[index[i]];
		b += w[i + 1] * x[index[i + 1]];
		c += w[i + 2] * x[index[i + 2]];
		e += w[i + 3] * x[index[i + 3]];
	}
	for (; i < n; i++)
		a += w[i] * x[index[i]];
	return (a + b) + (c + e);
}

typedef float four __attribute__((vector_size(16)));

static inline four load_four(const float *x)
{
	four v;
	memcpy(&v, x, sizeof v);
	return v;
}

/* 16 lanes, folded in halves; what is left over comes behind. */
static inline float short_sum(size_t n, const float *w, const float *x)
{
	four a = { 0 }, b = { 0 }, c = { 0 }, e = { 0 };
	size_t i = 0;
	for (; i + 16 <= n; i += 16) {
		a += load_four(w + i) * load_four(x + i);
		b += load_four(w + i + 4) * load_four(x + i + 4);
		c += load_four(w + i + 8) * load_four(x + i + 8);
		e += load_four(w + i + 12) * load_four(x + i + 12);
	}
	for (; i + 4 <= n; i += 4)
		a += load_four(w + i) * load_four(x + i);
	a = (a + b) + (c + e);
	float sum = (a[0] + a[2]) + (a[1] + a[3]);
	for (; i < n; i++)
		sum += w[i] * x[i];
	return sum;
}

static float search_sum(size_t few, const uint32_t *few_index, const float *few_value, size_t many,
        const uint32_t *many_index, const float *many_value)
{
	float sum = 0.0f;
	size_t at[COP_TREE_FINDS];
	for (size_t from = 0, count; from < few; from += count) {
		count = few - from < COP_TREE_FINDS ? few - from : COP_TREE_FINDS;
		cop_tree_find_each(many_index, many, count, few_index + from, at);
		for (size_t i = 0; i < count; i++)
			if (at[i] < many && many_index[at[i]] == few_index[from + i])
				sum += few_value[from + i] * many_value[at[i]];
	}
	return sum;
}

static float match_sum(
        size_t n, const uint32_t *a_index, const float *a, size_t m, const uint32_t *b_index, const float *b)
{
	if (m / SEARCH_SHARE > n)
		return search_sum(n, a_index, a, m, b_index, b);
	if (n / SEARCH_SHARE > m)
		return search_sum(m, b_index, b, n, a_index, a);
	float sum = 0.0f;
	for (size_t i = 0, j = 0; i < n && j < m;) {
		uint32_t p = a_index[i], q = b_index[j];
		if (p == q)
			sum += a[i] * b[j];
		i += p <= q;
		j += q <= p;
	}
	return sum;
}

static float facets_sum(const cop_tree *tree, size_t node, const cop_row *row);

static float sparse_sum(const cop_tree *tree, const cop_tree_line *line, const cop_row *row)
{
	if (line->kind == COP_TREE_LINE_NONE)
		return 0.0f;
	if (line->kind == COP_TREE_LINE_FACETS)
		return facets_sum(tree, line->at, row);
	if (line->kind == COP_TREE_LINE_FULL)
		return fetch_sum(row->nnz, row->index, row->value, line->w);
	if (line->kind == COP_TREE_LINE_AXIS) {
		size_t at = cop_tree_find(row->index, 0, row->nnz, line->at);
		return at < row->nnz && row->index[at] == line->at ? row->value[at] : 0.0f;
	}
	return match_sum(line->at, tree->index + (line->w - tree->weight), line->w, row->nnz, row->index, row->value);
}

static inline float dense_sum(const cop_tree *tree, const cop_tree_line *line, const float *x)
{
	if (line->kind == COP_TREE_LINE_AXIS)
		return x[line->at];
	if (line->kind == COP_TREE_LINE_FULL)
		return tree->parts.d <= SHORT ? short_sum(tree->parts.d, line->w, x)
		                              : tree->kernel->dot(tree->parts.d, line->w, x);
	if (line->kind == COP_TREE_LINE_NONE)
		return 0.0f;
	if (line->kind == COP_TREE_LINE_FACETS)
		return facets_sum(tree, line->at, &(cop_row){ .d = tree->parts.d, .dense = x });
	return fetch_sum(line->at, tree->index + (line->w - tree->weight), line->w, x);
}

static float facet_part(const cop_tree *tree, size_t k, const cop_row *row)
{
	const cop_tree_line *line = &tree->facet_line[k];
	float z = row->dense != NULL ? dense_sum(tree, line, row->dense) : sparse_sum(tree, line, row);
	double at = (double)z + (double)tree->facets.bias[k];
	return (float)((double)tree->r[k] * (fmax(at, 0.0) + log1p(exp(-fabs(at)))));
}

static float facets_sum(const cop_tree *tree, size_t node, const cop_row *row)
{
	float sum = 0.0f;
	for (size_t k = tree->facet[node]; k < tree->facet[node + 1]; k++)
		sum += facet_part(tree, k, row);
	return sum;
}

size_t cop_tree_heaviest_facet(const cop_tree *tree, size_t node, const cop_row *row)
{
	COP_ASSERT(row->d == tree->parts.d && cop_tree_parts_facets(&tree->parts, node) > 0);
	size_t best = tree->facet[node];
	float most = facet_part(tree, best, row);
	for (size_t k = best + 1; k < tree->facet[node + 1]; k++) {
		float part = facet_part(tree, k, row);
		best = part > most ? k : best;
		most = fmaxf(part, most);
	}
	return best;
}

static inline float margin(const cop_tree *tree, const cop_tree_node *node, const cop_row *row)
{
	float sum = row->dense != NULL ? dense_sum(tree, &node->line, row->dense) : sparse_sum(tree, &node->line, row);
	return sum + node->bias;
}

static inline float score(const cop_tree *tree, size_t r, const cop_row *row)
{
	float c = tree->rows.bias[r];
	if (tree->constant || tree->line[r].kind == COP_TREE_LINE_NONE)
		return c;
	const cop_tree_line *line = &tree->line[r];
	return (row->dense != NULL ? dense_sum(tree, line, row->dense) : sparse_sum(tree, line, row)) + c;
}

/* ---- walks ---- */

float cop_tree_margin(const cop_tree *tree, size_t node, const cop_row *row)
{
	COP_ASSERT(row->d == tree->parts.d && node < tree->nodes.count);
	return margin(tree, &tree->node[node], row);
}

size_t cop_tree_leaf(const cop_tree *tree, const cop_row *row)
{
	COP_ASSERT(row->d == tree->parts.d);
	int32_t at = tree->nodes.count == 0 ? ~0 : 0;
	while (at >= 0) {
		const cop_tree_node *node = &tree->node[at];
		at = node->child[margin(tree, node, row) >= 0.0f];
	}
	return (size_t)~at;
}

size_t cop_tree_path(const cop_tree *tree, const cop_row *row, cop_tree_step *steps, size_t *leaf)
{
	COP_ASSERT(row->d == tree->parts.d);
	size_t count = 0;
	int32_t at = tree->nodes.count == 0 ? ~0 : 0;
	while (at >= 0) {
		cop_tree_step *step = &steps[count++];
		step->node = (uint32_t)at;
		step->margin = margin(tree, &tree->node[at], row);
		step->right = step->margin >= 0.0f;
		at = tree->node[at].child[step->right];
	}
	*leaf = (size_t)~at;
	return count;
}

/* ---- leaves ---- */

/* A logit that sums may have carried out of range, brought back; no number is the least. */
static inline float in_range(float sum)
{
	if (!(sum > -FLT_MAX))
		return -FLT_MAX;
	return sum < FLT_MAX ? sum : FLT_MAX;
}

/* Scores of the rows from r on, at most COP_TREE_COLUMNS_BLOCK of them, r being so many behind the leaf's first.
 * Returns how many. */
static size_t scores(const cop_tree *tree, size_t leaf, size_t r, const cop_row *row, float *out)
{
	const size_t rows = tree->leaf[leaf + 1] - r;
	const size_t count = rows < COP_TREE_COLUMNS_BLOCK ? rows : COP_TREE_COLUMNS_BLOCK;
	if (row == NULL || row->dense != NULL || !cop_tree_columns_has(tree->columns, leaf)) {
		for (size_t i = 0; i < count; i++)
			out[i] = score(tree, r + i, row);
		return count;
	}
	(void)cop_tree_columns_scores(tree->columns, leaf, r - tree->leaf[leaf], row, out);
	for (size_t i = 0; i < count; i++)
		out[i] += tree->rows.bias[r + i];
	return count;
}

static void softmax(const cop_tree *tree, size_t from, size_t to, float *out)
{
	float most = -FLT_MAX;
	double sum = 0.0;
	for (size_t r = from; r < to; r++) {
		float *o = &out[tree->output[r]];
		*o = in_range(*o);
		most = fmaxf(most, *o);
	}
	for (size_t r = from; r < to; r++) {
		float *o = &out[tree->output[r]];
		*o = expf(*o - most);
		sum += (double)*o;
	}
	for (size_t r = from; r < to; r++)
		out[tree->output[r]] = (float)((double)out[tree->output[r]] / sum);
}

void cop_tree_leaf_outputs(const cop_tree *tree, size_t leaf, const cop_row *row, float *out)
{
	COP_ASSERT(leaf <= tree->nodes.count && (row == NULL || row->d == tree->parts.d));
	size_t from = tree->leaf[leaf], to = tree->leaf[leaf + 1], K = tree->parts.outputs;
	float block[COP_TREE_COLUMNS_BLOCK];
	if (to - from < K)
		memset(out, 0, K * sizeof *out);
	for (size_t r = from, count; r < to; r += count) {
		count = scores(tree, leaf, r, row, block);
		for (size_t i = 0; i < count; i++)
			out[tree->output[r + i]] = block[i];
	}
	if (tree->parts.link == COP_TREE_LOGITS)
		softmax(tree, from, to, out);
}

size_t cop_tree_predict(const cop_tree *tree, const cop_row *row, float *out)
{
	size_t leaf = cop_tree_leaf(tree, row);
	cop_tree_leaf_outputs(tree, leaf, row, out);
	return leaf;
}

/* The first output without a row in the leaf; K when each has one. */
static size_t first_absent(const cop_tree *tree, size_t from, size_t to)
{
	size_t k = 0;
	while (from + k < to && tree->output[from + k] == k)
		k++;
	return k;
}

size_t cop_tree_leaf_class(const cop_tree *tree, size_t leaf, const cop_row *row)
{
	COP_ASSERT(leaf <= tree->nodes.count && (row == NULL || row->d == tree->parts.d));
	size_t from = tree->leaf[leaf], to = tree->leaf[leaf + 1], best = tree->output[from];
	float block[COP_TREE_COLUMNS_BLOCK], most = -INFINITY;
	for (size_t r = from, count; r < to; r += count) {
		count = scores(tree, leaf, r, row, block);
		for (size_t i = 0; i < count; i++) {
			float s = in_range(block[i]);
			if (s > most) {
				most = s;
				best = tree->output[r + i];
			}
		}
	}
	if (tree->parts.link == COP_TREE_LOGITS || to - from == tree->parts.outputs)
		return best;
	size_t absent = first_absent(tree, from, to);
	return most < 0.0f || (most == 0.0f && absent < best) ? absent : best;
}

size_t cop_tree_class(const cop_tree *tree, const cop_row *row)
{
	return cop_tree_leaf_class(tree, cop_tree_leaf(tree, row), row);
}

/* ---- counts ---- */

size_t cop_tree_parameters(const cop_tree *tree)
{
	size_t count = 0;
	for (size_t t = 0; t < tree->nodes.count; t++)
		count += tree->node_numbers[t];
	for (size_t l = 0; l <= tree->nodes.count; l++)
		count += tree->leaf_numbers[l];
	return count;
}

size_t cop_tree_flops(const cop_tree *tree, const cop_row *row)
{
	COP_ASSERT(row->d == tree->parts.d);
	size_t count = 0;
	int32_t at = tree->nodes.count == 0 ? ~0 : 0;
	while (at >= 0) {
		const cop_tree_node *node = &tree->node[at];
		count += tree->node_numbers[at];
		at = node->child[margin(tree, node, row) >= 0.0f];
	}
	return count + tree->leaf_numbers[~at];
}
