/* Rows for tests of convex polytope trees. */
#ifndef COP_TESTS_POLYTOPE_SCENE_H
#define COP_TESTS_POLYTOPE_SCENE_H

#include <math.h>

#include "train/polytope_tree.h"

#define SCENE_MOST 4000

typedef struct scene {
	float x[SCENE_MOST * 3];
	float target[SCENE_MOST];
	uint32_t label[SCENE_MOST];
	cop_polytope_rows rows;
} scene;

/* Points of [-1, 1]^2, scaled to deviation 1; between the two circles is class 1. */
static inline void draw_ring(scene *s, size_t n, double inner, double outer, uint64_t seed)
{
	cop_rng rng;
	cop_rng_init(&rng, seed, 0);
	for (size_t i = 0; i < n; i++) {
		const double a = 2.0 * cop_rng_unit(&rng) - 1.0, b = 2.0 * cop_rng_unit(&rng) - 1.0, r = hypot(a, b);
		s->x[3 * i] = (float)(a * sqrt(3.0));
		s->x[3 * i + 1] = (float)(b * sqrt(3.0));
		s->x[3 * i + 2] = 1.0f;
		s->label[i] = r >= inner && r < outer;
	}
	s->rows = (cop_polytope_rows){ .n = n, .d = 2, .classes = 2, .x = s->x, .label = s->label };
}

/* The same points; the values are -1 in the ring and 1 elsewhere, and a little noise. */
static inline void draw_values(scene *s, size_t n, double inner, double outer, uint64_t seed)
{
	cop_rng rng;
	draw_ring(s, n, inner, outer, seed);
	cop_rng_init(&rng, seed, 1);
	for (size_t i = 0; i < n; i++)
		s->target[i] = (s->label[i] == 1 ? -1.0f : 1.0f) + 0.1f * (float)cop_rng_normal(&rng);
	s->rows = (cop_polytope_rows){ .n = n, .d = 2, .x = s->x, .target = s->target };
}

static inline cop_polytope_tree_settings quick(void)
{
	cop_polytope_tree_settings settings;
	cop_polytope_tree_defaults(&settings);
	settings.split.experts = 6;
	settings.split.epochs = 10;
	settings.split.starts = 1;
	settings.height = 2;
	return settings;
}

/* The share of pairs of a row of class 1 and one of class 0 that the leaves' shares order, ties by half. */
static inline double scene_auc(const cop_polytope_tree *tree, const scene *s)
{
	double right = 0.0, pairs = 0.0, count[2][16] = { { 0 } };
	for (size_t i = 0; i < s->rows.n; i++)
		count[s->label[i]][cop_polytope_tree_leaf(tree, s->x + 3 * i)]++;
	for (size_t a = 0; a < tree->leaves; a++) {
		for (size_t b = 0; b < tree->leaves; b++) {
			const double one = tree->share[2 * a + 1], other = tree->share[2 * b + 1];
			pairs += count[1][a] * count[0][b];
			right += count[1][a] * count[0][b] * (one > other ? 1.0 : one < other ? 0.0 : 0.5);
		}
	}
	return right / pairs;
}

#endif
