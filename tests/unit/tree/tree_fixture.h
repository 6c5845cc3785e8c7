/* Trees of every kind of node and leaf, rows, and what they predict, computed plainly. */
#ifndef COP_TESTS_TREE_FIXTURE_H
#define COP_TESTS_TREE_FIXTURE_H

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tree/tree_build.h"

#define FIXTURE_SECTION_HEAD 32 /* of a section in a model file */

typedef struct fixture_shape {
	size_t d, outputs, nodes;
	cop_tree_link link;
	bool linear;
} fixture_shape;

/* Every density: one in `rarity` features. */
static inline void fixture_vector(cop_rng *rng, size_t d, uint64_t rarity, float *w)
{
	for (size_t j = 0; j < d; j++)
		w[j] = cop_rng_below(rng, rarity) == 0 ? (float)cop_rng_normal(rng) : 0.0f;
}

static inline int32_t fixture_leaf(cop_tree_build *build, const fixture_shape *shape, cop_rng *rng, float *v, float *c)
{
	uint32_t output[64];
	size_t rows = 0;
	for (size_t k = 0; k < shape->outputs; k++)
		c[k] = (float)cop_rng_normal(rng);
	if (!shape->linear || cop_rng_below(rng, 4) == 0)
		return cop_tree_build_constant(build, c);
	for (uint32_t k = 0; k < shape->outputs; k++)
		if (cop_rng_below(rng, 3) > 0 || (k + 1 == shape->outputs && rows == 0)) {
			fixture_vector(rng, shape->d, 1 + rows % 5, v + rows * shape->d);
			output[rows++] = k;
		}
	return cop_tree_build_linear(build, rows, output, v, c);
}

static inline int32_t fixture_node(cop_tree_build *build, const fixture_shape *shape, cop_rng *rng, float *w)
{
	static const uint64_t rarity[] = { 1, 2, 3, 6, 12 };
	uint64_t kind = cop_rng_below(rng, 6);
	float bias = (float)cop_rng_normal(rng);
	if (kind == 5)
		return cop_tree_build_axis(build, (size_t)cop_rng_below(rng, shape->d), bias);
	fixture_vector(rng, shape->d, rarity[kind], w);
	return cop_tree_build_node(build, w, bias);
}

/* A tree of that shape: each node in turn takes the place of a random leaf. */
static inline cop_tree *fixture_tree(const fixture_shape *shape, cop_rng *rng)
{
	cop_tree_build *build;
	cop_tree *tree;
	float *v = cop_mem_alloc(shape->d * shape->outputs, sizeof *v), *c = cop_mem_alloc(shape->outputs, sizeof *c);
	int32_t *child = cop_mem_alloc(2 * shape->nodes + 1, sizeof *child);
	size_t *open = cop_mem_alloc(2 * shape->nodes + 1, sizeof *open), n_open = 0;
	assert_non_null(v);
	assert_non_null(c);
	assert_non_null(child);
	assert_non_null(open);
	assert_int_equal(cop_tree_build_new(shape->d, shape->outputs, shape->link, &build), COP_OK);
	for (size_t t = 0; t < shape->nodes; t++) {
		int32_t node = fixture_node(build, shape, rng, v);
		if (t > 0) {
			size_t at = (size_t)cop_rng_below(rng, n_open);
			child[open[at]] = node;
			open[at] = open[--n_open];
		}
		open[n_open++] = 2 * t;
		open[n_open++] = 2 * t + 1;
	}
	for (size_t i = 0; i < n_open; i++)
		child[open[i]] = fixture_leaf(build, shape, rng, v, c);
	if (shape->nodes == 0)
		child[0] = fixture_leaf(build, shape, rng, v, c);
	for (size_t t = 0; t < shape->nodes; t++)
		cop_tree_build_children(build, (int32_t)t, child[2 * t], child[2 * t + 1]);
	assert_int_equal(cop_tree_build_finish(build, shape->nodes == 0 ? child[0] : 0, &tree), COP_OK);
	cop_tree_build_free(build);
	cop_mem_free(open);
	cop_mem_free(child);
	cop_mem_free(c);
	cop_mem_free(v);
	return tree;
}

/* A dense row of which one in `rarity` values is not 0, and the same row sparse in index and value (room for d). */
static inline void fixture_row(cop_rng *rng, size_t d, uint64_t rarity, float *x, uint32_t *index, float *value,
        cop_row *dense, cop_row *sparse)
{
	size_t nnz = 0;
	fixture_vector(rng, d, rarity, x);
	for (size_t j = 0; j < d; j++)
		if (x[j] != 0.0f) {
			index[nnz] = (uint32_t)j;
			value[nnz++] = x[j];
		}
	*dense = (cop_row){ .d = d, .dense = x };
	*sparse = (cop_row){ .d = d, .nnz = nnz, .index = index, .value = value };
}

/* w . x + b of one vector, and of the magnitudes, for tolerances. */
static inline double fixture_sum(const cop_tree_vectors *vectors, size_t i, const float *x, double *size)
{
	double sum = (double)vectors->bias[i];
	*size = fabs(sum);
	for (size_t e = vectors->start[i]; e < vectors->start[i + 1]; e++) {
		double term = (double)vectors->weight[e] * (double)x[vectors->index[e]];
		sum += term;
		*size += fabs(term);
	}
	return sum;
}

/* The K outputs of a leaf, plainly. */
static inline void fixture_outputs(const cop_tree *tree, size_t leaf, const float *x, double *out)
{
	const cop_tree_parts *parts = cop_tree_view(tree);
	double total = 0.0, size;
	bool logits = parts->link == COP_TREE_LOGITS;
	for (size_t k = 0; k < parts->outputs; k++)
		out[k] = 0.0;
	for (size_t r = parts->leaf[leaf]; r < parts->leaf[leaf + 1]; r++) {
		double score = fixture_sum(&parts->rows, r, x, &size);
		out[parts->output[r]] = logits ? exp(score) : score;
		total += out[parts->output[r]];
	}
	for (size_t k = 0; logits && k < parts->outputs; k++)
		out[k] /= total;
}

static inline void fixture_save(const cop_tree *tree, cop_bytes *bytes)
{
	cop_bytes_init(bytes);
	cop_tree_save(tree, bytes);
	assert_int_equal(bytes->err, COP_OK);
	assert_true(bytes->length > FIXTURE_SECTION_HEAD);
}

#endif
