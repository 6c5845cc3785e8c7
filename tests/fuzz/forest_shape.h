/* tests/fuzz/forest_shape.h: the forest that the first four bytes of an input of fuzz_forest tell, and rows for it. */
#ifndef COP_TESTS_FUZZ_FOREST_SHAPE_H
#define COP_TESTS_FUZZ_FOREST_SHAPE_H

#include "base/assert.h"
#include "learn/forest.h"

#define SHAPE_BYTES  4
#define SHAPE_INPUTS 10 /* at most */
#define SHAPE_ARMS   4
#define SHAPE_TREES  3

static inline cop_forest_settings shape_settings(const uint8_t *shape)
{
	cop_forest_settings set = { .inputs = 2 + shape[0] % (SHAPE_INPUTS - 1),
		.arms = 1 + shape[1] % SHAPE_ARMS,
		.trees = 1 + shape[2] % SHAPE_TREES };
	set.entries = shape[3] % 2 != 0 ? set.inputs : 0;
	return set;
}

/* Fresh; caller frees. */
static inline cop_forest *shape_forest(const uint8_t *shape)
{
	cop_forest_settings set = shape_settings(shape);
	cop_forest *forest;
	cop_rng rng;
	cop_rng_init(&rng, 1, 0);
	COP_ASSERT(cop_forest_new(&set, &rng, &forest) == COP_OK);
	return forest;
}

/* A random row of the forest's kind into the arrays, SHAPE_INPUTS long. */
static inline cop_row shape_row(const uint8_t *shape, cop_rng *rng, float *value, uint32_t *index)
{
	cop_forest_settings set = shape_settings(shape);
	cop_row x = { .d = set.inputs };
	for (size_t j = 0; j < set.inputs; j++) {
		if (set.entries > 0 && j + 1 < set.inputs && cop_rng_below(rng, 2) == 0)
			continue;
		value[x.nnz] = j + 1 == set.inputs ? 1.0f : (float)(4.0 * cop_rng_unit(rng) - 2.0);
		index[x.nnz++] = (uint32_t)j;
	}
	if (set.entries == 0)
		return (cop_row){ .d = set.inputs, .dense = value };
	x.index = index;
	x.value = value;
	return x;
}

#endif
