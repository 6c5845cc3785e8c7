#include "support.h"

#include <float.h>
#include <stdlib.h>

#include "tree_fixture.h"
#include "unit/tree/oblique_walk.h"

#define D 40
#define K 5

static const fixture_shape shapes[] = {
	{ D, K, 30, COP_TREE_VALUES, false },
	{ D, K, 30, COP_TREE_VALUES, true },
	{ D, K, 30, COP_TREE_PROBABILITIES, false },
	{ D, K, 30, COP_TREE_LOGITS, true },
	{ D, 2, 30, COP_TREE_LOGITS, true },
	{ 1, 1, 30, COP_TREE_VALUES, true },
	{ 200, 3, 60, COP_TREE_LOGITS, true },
	{ D, K, 0, COP_TREE_VALUES, false },
	{ D, K, 0, COP_TREE_LOGITS, true },
};
#define SHAPES (sizeof shapes / sizeof *shapes)

/* ---- a small tree of parts: 0 is x1 >= 0.5, 1 is 2 x0 - x2 + 1 >= 0 on its right; leaf 0 has both outputs, leaves 1
 * and 2 have one ---- */

typedef struct small {
	size_t node_start[3], row_start[5], leaf[4];
	uint32_t node_index[3], row_index[2], output[4];
	float node_weight[3], node_bias[2], row_weight[2], row_bias[4];
	int32_t left[2], right[2];
	cop_tree_parts parts;
} small;

static void small_init(small *s)
{
	*s = (small){
		.node_start = { 0, 1, 3 },
		.node_index = { 1, 0, 2 },
		.node_weight = { 1.0f, 2.0f, -1.0f },
		.node_bias = { -0.5f, 1.0f },
		.row_start = { 0, 0, 0, 2, 2 },
		.row_index = { 0, 2 },
		.row_weight = { 3.0f, 0.5f },
		.row_bias = { 0.25f, -1.0f, 0.125f, 4.0f },
		.leaf = { 0, 2, 3, 4 },
		.output = { 0, 1, 1, 0 },
		.left = { ~0, ~1 },
		.right = { 1, ~2 },
	};
	s->parts =
	        (cop_tree_parts){ .d = 3, .outputs = 2, .link = COP_TREE_VALUES, .left = s->left, .right = s->right };
	s->parts.nodes = (cop_tree_vectors){ 2, s->node_start, s->node_index, s->node_weight, s->node_bias };
	s->parts.rows = (cop_tree_vectors){ 4, s->row_start, s->row_index, s->row_weight, s->row_bias };
	s->parts.leaf = s->leaf;
	s->parts.output = s->output;
}

static void expect_refused(const small *s, cop_err expected)
{
	cop_tree *tree = (cop_tree *)&tree;
	assert_int_equal(cop_tree_new(&s->parts, &tree), expected);
	assert_null(tree);
}

static void test_new_small_predicts_by_hand(void **state)
{
	(void)state;
	small s;
	cop_tree *tree;
	float out[2];
	small_init(&s);
	assert_int_equal(cop_tree_new(&s.parts, &tree), COP_OK);
	assert_int_equal(cop_tree_leaves(tree), 3);
	assert_int_equal(cop_tree_depth(tree), 2);
	assert_false(cop_tree_constant_leaves(tree));
	assert_true(cop_tree_leaf_constant(tree, 0));
	assert_false(cop_tree_leaf_constant(tree, 1));
	cop_row row = { .d = 3, .dense = (const float[]){ 0.0f, 0.25f, 9.0f } };
	assert_int_equal(cop_tree_predict(tree, &row, out), 0);
	assert_true(out[0] == 0.25f && out[1] == -1.0f);
	row.dense = (const float[]){ 1.0f, 0.5f, 4.0f };
	assert_true(cop_tree_margin(tree, 1, &row) == -1.0f);
	assert_int_equal(cop_tree_predict(tree, &row, out), 1);
	assert_true(out[0] == 0.0f && out[1] == 3.0f + 2.0f + 0.125f);
	row.dense = (const float[]){ 1.0f, 0.5f, 3.0f };
	assert_int_equal(cop_tree_predict(tree, &row, out), 2);
	assert_true(out[0] == 4.0f && out[1] == 0.0f);
	cop_tree_free(tree);
	cop_tree_free(NULL);
}

static void test_new_bad_parts_refused(void **state)
{
	(void)state;
	small s;
#define REFUSED(change)                                                                                                \
	do {                                                                                                           \
		small_init(&s);                                                                                        \
		change;                                                                                                \
		expect_refused(&s, COP_EINVAL);                                                                        \
	} while (0)
	REFUSED(s.parts.d = 0);
	REFUSED(s.parts.d = 2);
	REFUSED(s.parts.d = (size_t)UINT32_MAX + 1);
	REFUSED(s.parts.outputs = 0);
	REFUSED(s.parts.outputs = 1);
	REFUSED(s.parts.outputs = (size_t)UINT32_MAX + 1);
	REFUSED(s.parts.link = COP_TREE_LINKS);
	REFUSED(s.parts.nodes.count = COP_TREE_MAX_NODES + 1);
	REFUSED(s.parts.rows.count = 0);
	REFUSED(s.parts.rows.count = 3);
	REFUSED(s.node_start[0] = 1);
	REFUSED(s.node_start[1] = 4);
	REFUSED(s.row_start[1] = 2; s.row_start[2] = 1);
	REFUSED(s.row_start[3] = 3);
	REFUSED(s.row_start[4] = 1);
	REFUSED(s.node_index[1] = 2);
	REFUSED(s.node_index[2] = 3);
	REFUSED(s.row_index[0] = 3);
	REFUSED(s.leaf[0] = 1);
	REFUSED(s.leaf[1] = 0);
	REFUSED(s.leaf[1] = 5);
	REFUSED(s.leaf[3] = 3);
	REFUSED(s.output[1] = 0);
	REFUSED(s.output[3] = 2);
	REFUSED(s.right[0] = 0);
	REFUSED(s.right[0] = 2);
	REFUSED(s.right[0] = ~3);
	REFUSED(s.right[0] = INT32_MIN);
	REFUSED(s.right[0] = ~2; s.right[1] = ~2);
	REFUSED(s.left[0] = 1);
	REFUSED(s.left[1] = 1);
	REFUSED(s.left[1] = ~0);
#undef REFUSED
}

static void test_new_not_finite_refused(void **state)
{
	(void)state;
	small s;
	float *const place[] = { &s.node_weight[2], &s.node_bias[0], &s.row_weight[1], &s.row_bias[3] };
	for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
		small_init(&s);
		*place[i] = i % 2 == 0 ? NAN : -INFINITY;
		expect_refused(&s, COP_ENONFINITE);
	}
}

/* A chain of `depth` nodes, each with a leaf on its left. */
static cop_err make_chain(size_t depth, cop_tree **out)
{
	cop_tree_build *build;
	float value = 0.0f;
	assert_int_equal(cop_tree_build_new(1, 1, COP_TREE_VALUES, &build), COP_OK);
	int32_t below = cop_tree_build_constant(build, &value);
	for (size_t i = 0; i < depth; i++) {
		int32_t node = cop_tree_build_axis(build, 0, 0.0f);
		value += 1.0f;
		cop_tree_build_children(build, node, cop_tree_build_constant(build, &value), below);
		below = node;
	}
	cop_err err = cop_tree_build_finish(build, below, out);
	cop_tree_build_free(build);
	return err;
}

static void test_new_deepest_accepted_deeper_refused(void **state)
{
	(void)state;
	cop_tree *tree;
	cop_tree_step steps[COP_TREE_MAX_DEPTH];
	float x = 1.0f;
	size_t leaf;
	cop_row row = { .d = 1, .dense = &x };
	assert_int_equal(make_chain(COP_TREE_MAX_DEPTH, &tree), COP_OK);
	assert_int_equal(cop_tree_depth(tree), COP_TREE_MAX_DEPTH);
	assert_int_equal(cop_tree_path(tree, &row, steps, &leaf), COP_TREE_MAX_DEPTH);
	assert_int_equal(leaf, COP_TREE_MAX_DEPTH);
	cop_tree_free(tree);
	assert_int_equal(make_chain(COP_TREE_MAX_DEPTH + 1, &tree), COP_EINVAL);
	assert_null(tree);
}

/* ---- walks ---- */

static void expect_margins_near(const cop_tree *tree, const cop_row *dense, const cop_row *sparse)
{
	const cop_tree_parts *parts = cop_tree_view(tree);
	for (size_t t = 0; t < parts->nodes.count; t++) {
		double size, expected = fixture_sum(&parts->nodes, t, dense->dense, &size);
		assert_true(fabs((double)cop_tree_margin(tree, t, dense) - expected) <= 1e-5 * size);
		assert_true(fabs((double)cop_tree_margin(tree, t, sparse) - expected) <= 1e-5 * size);
	}
}

/* Path, leaf and margins tell the same story. */
static void expect_path_agrees(const cop_tree *tree, const cop_row *row)
{
	const cop_tree_parts *parts = cop_tree_view(tree);
	cop_tree_step steps[COP_TREE_MAX_DEPTH];
	size_t leaf, count = cop_tree_path(tree, row, steps, &leaf);
	int32_t at = parts->nodes.count == 0 ? ~0 : 0;
	assert_true(count <= cop_tree_depth(tree));
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(steps[i].node, at);
		float margin = cop_tree_margin(tree, steps[i].node, row);
		assert_memory_equal(&steps[i].margin, &margin, sizeof margin);
		assert_int_equal(steps[i].right, margin >= 0.0f);
		at = steps[i].right ? parts->right[at] : parts->left[at];
	}
	assert_int_equal(at, ~(int32_t)leaf);
	assert_int_equal(cop_tree_leaf(tree, row), leaf);
}

static void expect_outputs_near(const cop_tree *tree, const cop_row *row, const float *x)
{
	double expected[16];
	float out[16];
	size_t outputs = cop_tree_view(tree)->outputs;
	size_t leaf = cop_tree_predict(tree, row, out), best = 0;
	assert_int_equal(leaf, cop_tree_leaf(tree, row));
	fixture_outputs(tree, leaf, x, expected);
	for (size_t k = 0; k < outputs; k++) {
		assert_true(fabs((double)out[k] - expected[k]) <= 1e-4 * (1.0 + fabs(expected[k])));
		if (out[k] > out[best])
			best = k;
	}
	assert_int_equal(cop_tree_class(tree, row), best);
	assert_int_equal(cop_tree_leaf_class(tree, leaf, row), best);
	float constant[16];
	if (cop_tree_leaf_constant(tree, leaf)) {
		cop_tree_leaf_outputs(tree, leaf, NULL, constant);
		assert_memory_equal(constant, out, outputs * sizeof *out);
		assert_int_equal(cop_tree_leaf_class(tree, leaf, NULL), best);
	}
}

static void test_walks_any_tree_and_row_agree_with_plain_sums(void **state)
{
	(void)state;
	static const uint64_t rarity[] = { 1, 2, 10, 50 };
	float x[200], value[200];
	uint32_t index[200];
	cop_row dense, sparse;
	cop_rng rng;
	cop_rng_init(&rng, 7, 0);
	for (size_t s = 0; s < SHAPES; s++) {
		cop_tree *tree = fixture_tree(&shapes[s], &rng);
		for (size_t i = 0; i < 60; i++) {
			fixture_row(&rng, shapes[s].d, rarity[i % 4], x, index, value, &dense, &sparse);
			expect_margins_near(tree, &dense, &sparse);
			expect_path_agrees(tree, &dense);
			expect_path_agrees(tree, &sparse);
			expect_outputs_near(tree, &dense, x);
			expect_outputs_near(tree, &sparse, x);
		}
		cop_tree_free(tree);
	}
}

/* Nodes and rows of one entry, of many, and of lengths that differ by much, in wide spaces. */
static void test_margin_sparse_in_wide_space_is_exact(void **state)
{
	(void)state;
	enum { WIDE = 5000 };
	static float w[WIDE], x[WIDE], value[WIDE];
	static uint32_t index[WIDE];
	static const uint64_t rarity[] = { 1, 3, 40, 600, 6000 };
	cop_rng rng;
	cop_rng_init(&rng, 8, 0);
	for (size_t i = 0; i < 25; i++) {
		cop_tree_build *build;
		cop_tree *tree;
		float zero = 0.0f;
		cop_row dense, sparse;
		assert_int_equal(cop_tree_build_new(WIDE, 1, COP_TREE_VALUES, &build), COP_OK);
		fixture_vector(&rng, WIDE, rarity[i % 5], w);
		fixture_row(&rng, WIDE, rarity[i / 5], x, index, value, &dense, &sparse);
		double expected = 0.0;
		for (size_t j = 0; j < WIDE; j++) { /* small whole numbers: any order of summing gives the same */
			w[j] = rintf(w[j]);
			x[j] = rintf(x[j]);
			expected += (double)w[j] * (double)x[j];
		}
		for (size_t e = 0; e < sparse.nnz; e++)
			value[e] = rintf(value[e]);
		int32_t node = cop_tree_build_node(build, w, 0.0f);
		int32_t left = cop_tree_build_constant(build, &zero), right = cop_tree_build_constant(build, &zero);
		cop_tree_build_children(build, node, left, right);
		assert_int_equal(cop_tree_build_finish(build, node, &tree), COP_OK);
		assert_true((double)cop_tree_margin(tree, 0, &dense) == expected);
		assert_true((double)cop_tree_margin(tree, 0, &sparse) == expected);
		cop_tree_free(tree);
		cop_tree_build_free(build);
	}
}

static void test_leaf_axis_node_compares_as_floats_do(void **state)
{
	(void)state;
	static const float threshold[] = { 0.0f, 0.1f, -0.1f, 1e-40f, -1e-45f, FLT_MIN, 3e38f, -FLT_MAX, 16777217.0f };
	for (size_t i = 0; i < sizeof threshold / sizeof *threshold; i++) {
		cop_tree_build *build;
		cop_tree *tree;
		float zero = 0.0f, t = threshold[i];
		assert_int_equal(cop_tree_build_new(3, 1, COP_TREE_VALUES, &build), COP_OK);
		int32_t node = cop_tree_build_axis(build, 1, t);
		int32_t left = cop_tree_build_constant(build, &zero), right = cop_tree_build_constant(build, &zero);
		cop_tree_build_children(build, node, left, right);
		assert_int_equal(cop_tree_build_finish(build, node, &tree), COP_OK);
		const float try[] = { t, nextafterf(t, FLT_MAX), nextafterf(t, -FLT_MAX), -t, 0.0f, -0.0f, 1e-45f,
			FLT_MAX, -FLT_MAX };
		for (size_t j = 0; j < sizeof try / sizeof *try; j++) {
			uint32_t index = 1;
			cop_row dense = { .d = 3, .dense = (const float[]){ 5.0f, try[j], -5.0f } };
			cop_row sparse = { .d = 3, .nnz = 1, .index = &index, .value = &try[j] };
			assert_int_equal(cop_tree_leaf(tree, &dense), try[j] >= t);
			assert_int_equal(cop_tree_leaf(tree, &sparse), try[j] >= t);
			index = 2;
			assert_int_equal(cop_tree_leaf(tree, &sparse), 0.0f >= t);
		}
		cop_tree_free(tree);
		cop_tree_build_free(build);
	}
}

static void test_from_oblique_any_tree_predicts_the_same(void **state)
{
	(void)state;
	cop_rng rng;
	float x[D], value[D];
	uint32_t index[D];
	cop_rng_init(&rng, 9, 0);
	for (unsigned h = 1; h <= 4; h += 3) {
		cop_oblique_tree *oblique;
		cop_tree *tree;
		cop_row dense, sparse;
		float out[K];
		assert_int_equal(cop_oblique_tree_new(D, h, K, &oblique), COP_OK);
		for (size_t t = 0; t < cop_oblique_tree_nodes(oblique); t++) {
			fixture_vector(&rng, D, t % 2 == 0 ? 1 : 8, cop_oblique_tree_weights(oblique, t));
			*cop_oblique_tree_bias(oblique, t) = (float)cop_rng_normal(&rng);
		}
		for (size_t l = 0; l < cop_oblique_tree_leaves(oblique); l++)
			fixture_vector(&rng, K, 1, cop_oblique_tree_values(oblique, l));
		assert_int_equal(cop_tree_from_oblique(oblique, COP_TREE_VALUES, &tree), COP_OK);
		assert_int_equal(cop_tree_depth(tree), cop_oblique_tree_depth(oblique));
		assert_true(cop_tree_constant_leaves(tree));
		for (size_t i = 0; i < 100; i++) {
			fixture_row(&rng, D, 2, x, index, value, &dense, &sparse);
			(void)cop_tree_predict(tree, &dense, out);
			assert_memory_equal(out, walk_predict(oblique, &dense), sizeof out);
		}
		*cop_oblique_tree_bias(oblique, 0) = NAN;
		cop_tree_free(tree);
		assert_int_equal(cop_tree_from_oblique(oblique, COP_TREE_VALUES, &tree), COP_ENONFINITE);
		assert_null(tree);
		cop_oblique_tree_free(oblique);
	}
}

/* ---- leaves ---- */

/* A lone leaf of `rows` constant rows. */
static cop_tree *lone_leaf(
        cop_tree_link link, size_t outputs, size_t rows, const uint32_t *output, const float *v, const float *c)
{
	cop_tree_build *build;
	cop_tree *tree;
	assert_int_equal(cop_tree_build_new(1, outputs, link, &build), COP_OK);
	int32_t leaf = cop_tree_build_linear(build, rows, output, v, c);
	assert_int_equal(cop_tree_build_finish(build, leaf, &tree), COP_OK);
	cop_tree_build_free(build);
	return tree;
}

static void expect_class(cop_tree_link link, float first, float second, size_t expected)
{
	const uint32_t output[] = { 1, 3 };
	const float zeros[2] = { 0 }, c[] = { first, second };
	cop_tree *tree = lone_leaf(link, 4, 2, output, zeros, c);
	assert_int_equal(cop_tree_leaf_class(tree, 0, NULL), expected);
	cop_tree_free(tree);
}

static void test_class_ties_and_absent_outputs_take_the_lowest(void **state)
{
	(void)state;
	expect_class(COP_TREE_PROBABILITIES, 0.5f, 0.5f, 1);
	expect_class(COP_TREE_PROBABILITIES, 0.2f, 0.5f, 3);
	expect_class(COP_TREE_PROBABILITIES, 0.0f, 0.0f, 0);
	expect_class(COP_TREE_VALUES, -1.0f, -2.0f, 0);
	expect_class(COP_TREE_LOGITS, -1.0f, -2.0f, 1);
	expect_class(COP_TREE_LOGITS, -2.0f, -2.0f, 1);
	expect_class(COP_TREE_LOGITS, -2.0f, 7.0f, 3);
}

static void test_outputs_logits_of_any_size_are_probabilities(void **state)
{
	(void)state;
	static const float weight[][2] = { { FLT_MAX, -FLT_MAX }, { FLT_MAX, FLT_MAX }, { -FLT_MAX, -FLT_MAX },
		{ 1000.0f, 0.0f } };
	const uint32_t output[] = { 0, 2 };
	const float zeros[2] = { 0 };
	float x = 4.0f, out[3];
	cop_row row = { .d = 1, .dense = &x };
	for (size_t i = 0; i < sizeof weight / sizeof *weight; i++) {
		cop_tree *tree = lone_leaf(COP_TREE_LOGITS, 3, 2, output, weight[i], zeros);
		(void)cop_tree_predict(tree, &row, out);
		assert_true(out[0] >= 0.0f && out[2] >= 0.0f && out[1] == 0.0f);
		assert_true(fabsf(out[0] + out[2] - 1.0f) < 1e-6f);
		assert_true(weight[i][0] != weight[i][1] || out[0] == 0.5f);
		cop_tree_free(tree);
	}
}

/* ---- counts ---- */

static void test_parameters_small_tree_counted_by_hand(void **state)
{
	(void)state;
	small s;
	cop_tree *tree;
	small_init(&s);
	assert_int_equal(cop_tree_new(&s.parts, &tree), COP_OK);
	/* nodes 2 + 3; leaf 0 constant: K = 2; leaf 1: 2 weights, bias; leaf 2 constant: 2 */
	assert_int_equal(cop_tree_parameters(tree), 2 + 3 + 2 + 3 + 2);
	cop_row row = { .d = 3, .dense = (const float[]){ 0.0f, 0.0f, 0.0f } };
	assert_int_equal(cop_tree_flops(tree, &row), 2 + 2);
	row.dense = (const float[]){ 1.0f, 0.5f, 4.0f };
	assert_int_equal(cop_tree_flops(tree, &row), 2 + 3 + 3);
	cop_tree_free(tree);
	s.node_weight[1] = 0.0f; /* stored, but not counted */
	assert_int_equal(cop_tree_new(&s.parts, &tree), COP_OK);
	assert_int_equal(cop_tree_parameters(tree), 11);
	cop_tree_free(tree);
}

static void test_parameters_two_logit_rows_count_as_one(void **state)
{
	(void)state;
	static const uint32_t output[] = { 0, 1 };
	static const float v[2][6] = { { 1.0f, 0.0f, 2.0f, 0.0f, 3.0f, 0.0f }, { 0.0f, 5.0f, 2.0f, 0.0f, 4.0f, 7.0f } };
	static const float c[2] = { 0 };
	for (int link = COP_TREE_VALUES; link < COP_TREE_LINKS; link++) {
		cop_tree_build *build;
		cop_tree *tree;
		assert_int_equal(cop_tree_build_new(6, 2, (cop_tree_link)link, &build), COP_OK);
		int32_t leaf = cop_tree_build_linear(build, 2, output, v[0], c);
		assert_int_equal(cop_tree_build_finish(build, leaf, &tree), COP_OK);
		/* The rows differ in features 0, 1, 4, 5. */
		assert_int_equal(cop_tree_parameters(tree), link == COP_TREE_LOGITS ? 4 + 1 : 3 + 1 + 4 + 1);
		cop_tree_free(tree);
		cop_tree_build_free(build);
	}
}

/* ---- files ---- */

static void test_load_any_saved_tree_saves_to_the_same_bytes(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 10, 0);
	for (size_t s = 0; s < SHAPES; s++) {
		cop_tree *tree = fixture_tree(&shapes[s], &rng), *loaded;
		cop_bytes bytes, again;
		fixture_save(tree, &bytes);
		assert_int_equal(
		        cop_tree_load(bytes.data + FIXTURE_SECTION_HEAD, bytes.length - FIXTURE_SECTION_HEAD, &loaded),
		        COP_OK);
		fixture_save(loaded, &again);
		assert_int_equal(bytes.length, again.length);
		assert_memory_equal(bytes.data, again.data, bytes.length);
		assert_int_equal(cop_tree_parameters(loaded), cop_tree_parameters(tree));
		assert_int_equal(cop_tree_depth(loaded), cop_tree_depth(tree));
		cop_bytes_fini(&again);
		cop_bytes_fini(&bytes);
		cop_tree_free(loaded);
		cop_tree_free(tree);
	}
}

/* Of `length` bytes in a block of their own, so that a sanitizer sees a read behind them. */
static cop_err load_copy(const uint8_t *data, size_t length, cop_tree **tree)
{
	uint8_t *copy = malloc(length == 0 ? 1 : length);
	assert_non_null(copy);
	if (length > 0)
		memcpy(copy, data, length);
	cop_err err = cop_tree_load(copy, length, tree);
	free(copy);
	return err;
}

static const fixture_shape hostile_shapes[] = {
	{ 3, 2, 4, COP_TREE_PROBABILITIES, false },
	{ 4, 3, 3, COP_TREE_LOGITS, true },
	{ 20, 2, 0, COP_TREE_VALUES, true },
};

static void test_load_cut_anywhere_refused(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 11, 0);
	for (size_t s = 0; s < 3; s++) {
		cop_tree *tree = fixture_tree(&hostile_shapes[s], &rng), *loaded;
		cop_bytes bytes;
		fixture_save(tree, &bytes);
		const uint8_t *payload = bytes.data + FIXTURE_SECTION_HEAD;
		for (size_t length = 0; length < bytes.length - FIXTURE_SECTION_HEAD; length++) {
			assert_int_equal(load_copy(payload, length, &loaded), COP_EFORMAT);
			assert_null(loaded);
		}
		cop_bytes_put_u8(&bytes, 0);
		assert_int_equal(
		        load_copy(bytes.data + FIXTURE_SECTION_HEAD, bytes.length - FIXTURE_SECTION_HEAD, &loaded),
		        COP_EFORMAT);
		cop_bytes_fini(&bytes);
		cop_tree_free(tree);
	}
}

/* Whatever a changed bit makes of it, it is refused or a tree that can be walked. */
static void test_load_any_bit_flipped_refused_or_walkable(void **state)
{
	(void)state;
	cop_rng rng;
	float x[20] = { 0.5f }, out[16];
	cop_rng_init(&rng, 12, 0);
	for (size_t s = 0; s < 3; s++) {
		cop_tree *tree = fixture_tree(&hostile_shapes[s], &rng), *loaded;
		cop_bytes bytes;
		size_t accepted = 0;
		fixture_save(tree, &bytes);
		uint8_t *payload = bytes.data + FIXTURE_SECTION_HEAD;
		for (size_t bit = 0; bit < 8 * (bytes.length - FIXTURE_SECTION_HEAD); bit++) {
			payload[bit / 8] ^= (uint8_t)(1U << bit % 8);
			cop_err err = load_copy(payload, bytes.length - FIXTURE_SECTION_HEAD, &loaded);
			payload[bit / 8] ^= (uint8_t)(1U << bit % 8);
			assert_true(err == COP_OK || err == COP_EFORMAT || err == COP_ENONFINITE);
			if (err != COP_OK)
				continue;
			accepted++;
			const cop_tree_parts *parts = cop_tree_view(loaded);
			cop_row row = { .d = parts->d, .nnz = 1, .index = (const uint32_t[]){ 0 }, .value = x };
			assert_true(cop_tree_leaf(loaded, &row) < cop_tree_leaves(loaded));
			if (parts->outputs <= 16)
				(void)cop_tree_predict(loaded, &row, out);
			cop_tree_free(loaded);
		}
		assert_true(accepted > 0);
		cop_bytes_fini(&bytes);
		cop_tree_free(tree);
	}
}

static void test_load_counts_beyond_the_bytes_take_no_room(void **state)
{
	(void)state;
	static const uint64_t counts[][4] = { { COP_TREE_MAX_NODES, 1, 0, 0 }, { 0, UINT64_MAX, 0, 0 },
		{ 0, 1, UINT64_MAX / 4, 0 }, { 0, 1, 0, UINT64_MAX }, { 0, 1, UINT64_MAX - 8, 16 }, { 0, 0, 0, 0 } };
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		cop_bytes bytes;
		cop_tree *tree;
		cop_bytes_init(&bytes);
		cop_bytes_put_u32(&bytes, 1);
		cop_bytes_put_u32(&bytes, 1);
		cop_bytes_put_u32(&bytes, 0);
		cop_bytes_put_u32(&bytes, (uint32_t)counts[i][0]);
		for (size_t j = 1; j < 4; j++)
			cop_bytes_put_u64(&bytes, counts[i][j]);
		for (size_t j = 0; j < 64; j++)
			cop_bytes_put_u8(&bytes, 0);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(cop_tree_load(bytes.data, bytes.length, &tree), COP_EFORMAT);
		assert_int_equal(cop_test_alloc_count(), 0);
		cop_bytes_fini(&bytes);
	}
}

/* ---- memory ---- */

static cop_err make_new(const void *from, size_t length, cop_tree **out)
{
	(void)length;
	return cop_tree_new(from, out);
}

static cop_err make_oblique(const void *from, size_t length, cop_tree **out)
{
	(void)length;
	return cop_tree_from_oblique(from, COP_TREE_VALUES, out);
}

static void expect_every_failure_clean(
        cop_err (*make)(const void *from, size_t length, cop_tree **out), const void *from, size_t length)
{
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		cop_tree *tree;
		assert_true(n < 1000);
		cop_test_alloc_fail(n, 0);
		err = make(from, length, &tree);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		assert_int_equal(tree == NULL, err != COP_OK);
		cop_tree_free(tree);
	}
}

static void test_make_allocation_fails_gives_enomem(void **state)
{
	(void)state;
	cop_rng rng;
	cop_bytes bytes;
	cop_oblique_tree *oblique;
	cop_rng_init(&rng, 13, 0);
	cop_tree *tree = fixture_tree(&shapes[1], &rng);
	fixture_save(tree, &bytes);
	assert_int_equal(cop_oblique_tree_new(D, 3, K, &oblique), COP_OK);
	expect_every_failure_clean(make_new, cop_tree_view(tree), 0);
	expect_every_failure_clean(make_oblique, oblique, 0);
	expect_every_failure_clean(
	        cop_tree_load, bytes.data + FIXTURE_SECTION_HEAD, bytes.length - FIXTURE_SECTION_HEAD);
	cop_oblique_tree_free(oblique);
	cop_bytes_fini(&bytes);
	cop_tree_free(tree);
}

static void test_walks_allocate_nothing(void **state)
{
	(void)state;
	cop_rng rng;
	float x[D], value[D], out[K];
	uint32_t index[D];
	cop_row dense, sparse;
	cop_rng_init(&rng, 14, 0);
	cop_tree *tree = fixture_tree(&shapes[3], &rng);
	fixture_row(&rng, D, 2, x, index, value, &dense, &sparse);
	cop_test_alloc_fail(0, 0);
	(void)cop_tree_predict(tree, &dense, out);
	(void)cop_tree_class(tree, &sparse);
	(void)cop_tree_flops(tree, &sparse);
	assert_int_equal(cop_test_alloc_count(), 0);
	cop_tree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_small_predicts_by_hand),
		cmocka_unit_test(test_new_bad_parts_refused),
		cmocka_unit_test(test_new_not_finite_refused),
		cmocka_unit_test(test_new_deepest_accepted_deeper_refused),
		cmocka_unit_test(test_walks_any_tree_and_row_agree_with_plain_sums),
		cmocka_unit_test(test_margin_sparse_in_wide_space_is_exact),
		cmocka_unit_test(test_leaf_axis_node_compares_as_floats_do),
		cmocka_unit_test(test_from_oblique_any_tree_predicts_the_same),
		cmocka_unit_test(test_class_ties_and_absent_outputs_take_the_lowest),
		cmocka_unit_test(test_outputs_logits_of_any_size_are_probabilities),
		cmocka_unit_test(test_parameters_small_tree_counted_by_hand),
		cmocka_unit_test(test_parameters_two_logit_rows_count_as_one),
		cmocka_unit_test(test_load_any_saved_tree_saves_to_the_same_bytes),
		cmocka_unit_test(test_load_cut_anywhere_refused),
		cmocka_unit_test(test_load_any_bit_flipped_refused_or_walkable),
		cmocka_unit_test(test_load_counts_beyond_the_bytes_take_no_room),
		cmocka_unit_test(test_make_allocation_fails_gives_enomem),
		cmocka_unit_test(test_walks_allocate_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
