/* tests/unit/learn/refitted_fixture.h: trees as a batch fit might bring them, over raw rows of the fixtures' problems.
 */
#ifndef COP_TESTS_ONLINE_REFITTED_FIXTURE_H
#define COP_TESTS_ONLINE_REFITTED_FIXTURE_H

#include <stdlib.h>

#include "learner_fixture.h"
#include "tree/tree_build.h"
#include "tree/trees.h"

typedef struct refit_shape {
	size_t d, outputs;
	unsigned depth;
	bool sparse; /* splits on the features that fixture_draw fills */
	bool linear; /* leaves */
	cop_tree_link link;
	bool polytope; /* splits of two facets */
} refit_shape;

/* About half of the rows go left. */
static inline int32_t refit_polytope(cop_tree_build *b, const refit_shape *s, cop_rng *rng)
{
	const float r[2] = { 0.5f, 1.0f };
	float *beta = calloc(2 * (s->d + 1), sizeof *beta);
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < 3; i++) {
			const size_t j = (size_t)cop_rng_below(rng, s->sparse ? FIXTURE_D : s->d);
			const float w = (float)cop_rng_normal(rng);
			beta[k * (s->d + 1) + (s->sparse ? j * 37 + 5 : j)] += w;
			beta[k * (s->d + 1) + s->d] -= s->sparse ? 0.0f : 3.0f * w;
		}
	const int32_t node = cop_tree_build_polytope(b, 2, beta, r, 1.2f);
	free(beta);
	return node;
}

static inline int32_t refit_below(cop_tree_build *b, const refit_shape *s, cop_rng *rng, unsigned depth, float *room)
{
	if (depth > 0) {
		memset(room, 0, s->d * sizeof *room);
		float bias = 0.0f;
		for (size_t i = 0; i < 3; i++) {
			size_t j = (size_t)cop_rng_below(rng, s->sparse ? FIXTURE_D : s->d);
			float w = (float)cop_rng_normal(rng);
			room[s->sparse ? j * 37 + 5 : j] = w;
			bias -= s->sparse ? 0.0f : 3.0f * w;
		}
		int32_t node = s->polytope ? refit_polytope(b, s, rng) : cop_tree_build_node(b, room, bias);
		int32_t left = refit_below(b, s, rng, depth - 1, room);
		int32_t right = refit_below(b, s, rng, depth - (depth > 1 ? 2 : 1), room);
		cop_tree_build_children(b, node, left, right);
		return node;
	}
	float value[64] = { 0 }, v[64 * 64] = { 0 };
	uint32_t output[64];
	for (size_t k = 0; k < s->outputs; k++) {
		value[k] = (float)(0.02 + 0.96 * cop_rng_unit(rng));
		output[k] = (uint32_t)k;
		v[k * s->d] = (float)(0.01 * cop_rng_normal(rng));
	}
	return s->linear ? cop_tree_build_linear(b, s->outputs, output, v, value) : cop_tree_build_constant(b, value);
}

static inline cop_tree *refit_tree(const refit_shape *s, cop_rng *rng)
{
	cop_tree_build *build;
	cop_tree *tree;
	float *room = calloc(s->d, sizeof *room);
	assert_int_equal(cop_tree_build_new(s->d, s->outputs, s->link, &build), COP_OK);
	int32_t root = refit_below(build, s, rng, s->depth, room);
	assert_int_equal(cop_tree_build_finish(build, root, &tree), COP_OK);
	cop_tree_build_free(build);
	free(room);
	return tree;
}

/* `count` random trees of that shape, as a mean. */
static inline cop_trees *refit_trees(const refit_shape *s, size_t count, uint64_t seed)
{
	cop_rng rng;
	cop_tree *tree[8];
	cop_trees *trees;
	cop_rng_init(&rng, seed, 17);
	for (size_t m = 0; m < count; m++)
		tree[m] = refit_tree(s, &rng);
	assert_int_equal(cop_trees_new(COP_TREES_MEAN, count, tree, NULL, NULL, &trees), COP_OK);
	return trees;
}

/* A tree that knows the best arm of dense fixture contexts (inverted: takes it for the worst): for each pair of arms a
 * split that tells which one fits better, a tournament. */
static inline int32_t refit_contest(cop_tree_build *b, size_t champion, size_t next, bool inverted)
{
	if (next == FIXTURE_ARMS) {
		float loss[FIXTURE_ARMS];
		for (size_t k = 0; k < FIXTURE_ARMS; k++)
			loss[k] = (k == champion) == inverted ? 0.98f : 0.02f;
		return cop_tree_build_constant(b, loss);
	}
	float w[FIXTURE_D] = { 0 };
	w[next] = 1.0f / (2.0f * (float)next + 1.0f);
	w[champion] = -1.0f / (2.0f * (float)champion + 1.0f);
	int32_t node = cop_tree_build_node(b, w, -3.0f * (w[next] + w[champion]));
	int32_t left = refit_contest(b, champion, next + 1, inverted);
	int32_t right = refit_contest(b, next, next + 1, inverted);
	cop_tree_build_children(b, node, left, right);
	return node;
}

static inline cop_trees *refit_oracle(bool inverted)
{
	cop_tree_build *build;
	cop_tree *tree;
	cop_trees *trees;
	assert_int_equal(cop_tree_build_new(FIXTURE_D, FIXTURE_ARMS, COP_TREE_VALUES, &build), COP_OK);
	int32_t root = refit_contest(build, 0, 1, inverted);
	assert_int_equal(cop_tree_build_finish(build, root, &tree), COP_OK);
	cop_tree_build_free(build);
	assert_int_equal(cop_trees_new(COP_TREES_MEAN, 1, &tree, NULL, NULL, &trees), COP_OK);
	return trees;
}

/* Saved, they are the same bytes. */
static inline void refit_assert_same(const cop_learner *a, const cop_learner *b)
{
	cop_bytes one, two;
	cop_bytes_init(&one);
	cop_bytes_init(&two);
	fixture_save(a, &one);
	fixture_save(b, &two);
	assert_int_equal(one.length, two.length);
	assert_memory_equal(one.data, two.data, one.length);
	cop_bytes_fini(&one);
	cop_bytes_fini(&two);
}

#endif
