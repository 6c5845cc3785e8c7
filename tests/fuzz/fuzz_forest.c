/* Arbitrary bytes as the state of a forest whose shape the first four bytes tell. What loads must predict, doubt,
 * explain and learn with finite numbers, and be saved to bytes that load again and are saved the same. */
#include <math.h>
#include <string.h>

#include "forest_shape.h"

#define EVENTS  60
#define LARGEST 1e9f

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_explanation(const cop_explained_expert *why)
{
	COP_ASSERT(why->count <= COP_EXPLANATION_LINEAR && isfinite(why->linear));
	for (size_t i = 0; i < why->count; i++)
		COP_ASSERT(isfinite(why->features[i].contribution) && isfinite(why->features[i].value));
}

static void use(cop_forest *forest, const uint8_t *shape)
{
	size_t arms = shape_settings(shape).arms;
	cop_rng rng;
	cop_rng_init(&rng, 2, 0);
	for (size_t n = 0; n < EVENTS; n++) {
		float value[SHAPE_INPUTS], loss[SHAPE_ARMS], doubt[SHAPE_ARMS];
		uint32_t index[SHAPE_INPUTS];
		cop_explained_expert why = { .name = "forest" };
		cop_row x = shape_row(shape, &rng, value, index);
		cop_forest_predict(forest, &x, loss);
		cop_forest_doubt(forest, doubt);
		for (size_t k = 0; k < arms; k++)
			COP_ASSERT(fabsf(loss[k]) < LARGEST && doubt[k] > 0.0f && doubt[k] <= 1.0f);
		cop_forest_learn(forest, &x, n % arms, x.nnz % 2 == 0 ? cop_rng_unit(&rng) : 1.0, n % 3 != 0);
		cop_forest_explain(forest, &x, n % arms, &why);
		check_explanation(&why);
	}
}

static void check_same(const cop_forest *forest, const uint8_t *shape)
{
	cop_bytes first, second;
	cop_cursor cursor;
	cop_forest *copy = shape_forest(shape);
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	cop_forest_save(forest, &first);
	cop_cursor_init(&cursor, first.data, first.length);
	COP_ASSERT(cop_forest_load(copy, &cursor) == COP_OK && cop_cursor_left(&cursor) == 0);
	COP_ASSERT(cop_forest_leaves(copy) == cop_forest_leaves(forest));
	cop_forest_save(copy, &second);
	COP_ASSERT(first.err == COP_OK && second.err == COP_OK && first.length == second.length);
	COP_ASSERT(memcmp(first.data, second.data, first.length) == 0);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
	cop_forest_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cop_cursor cursor;
	if (size < SHAPE_BYTES)
		return 0;
	cop_forest *forest = shape_forest(data);
	cop_cursor_init(&cursor, data + SHAPE_BYTES, size - SHAPE_BYTES);
	if (cop_forest_load(forest, &cursor) == COP_OK) {
		check_same(forest, data);
		use(forest, data);
		check_same(forest, data);
	}
	cop_forest_free(forest);
	return 0;
}
