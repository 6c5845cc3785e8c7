#include "support.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "store/model_file.h"
#include "tree/oblique_tree.h"

/* 0 -> (1, leaf 2); 1 -> (leaf 0, 2); 2 -> (leaf 3, leaf 1). */
static const int32_t pruned_left[] = { 1, ~0, ~3 };
static const int32_t pruned_right[] = { ~2, 2, ~1 };

static void fill(cop_oblique_tree *tree, cop_rng *rng)
{
	size_t d = cop_oblique_tree_features(tree), outputs = cop_oblique_tree_outputs(tree);
	for (size_t t = 0; t < cop_oblique_tree_nodes(tree); t++) {
		for (size_t j = 0; j < d; j++)
			cop_oblique_tree_weights(tree, t)[j] = (float)cop_rng_normal(rng);
		*cop_oblique_tree_bias(tree, t) = (float)cop_rng_normal(rng);
	}
	for (size_t l = 0; l < cop_oblique_tree_leaves(tree); l++)
		for (size_t k = 0; k < outputs; k++)
			cop_oblique_tree_values(tree, l)[k] = (float)cop_rng_normal(rng);
}

static cop_oblique_tree *make_pruned(size_t d, size_t outputs)
{
	cop_oblique_tree *tree;
	assert_int_equal(cop_oblique_tree_new_explicit(d, outputs, 3, pruned_left, pruned_right, &tree), COP_OK);
	return tree;
}

static double naive_margin(const cop_oblique_tree *tree, size_t t, const float *x)
{
	double sum = (double)*cop_oblique_tree_bias_view(tree, t);
	for (size_t j = 0; j < cop_oblique_tree_features(tree); j++)
		sum += (double)cop_oblique_tree_weights_view(tree, t)[j] * (double)x[j];
	return sum;
}

static void test_new_complete_has_heap_shape(void **state)
{
	(void)state;
	cop_oblique_tree *tree;
	assert_int_equal(cop_oblique_tree_new(5, 3, 2, &tree), COP_OK);
	assert_int_equal(cop_oblique_tree_nodes(tree), 7);
	assert_int_equal(cop_oblique_tree_leaves(tree), 8);
	assert_int_equal(cop_oblique_tree_depth(tree), 3);
	assert_true(cop_oblique_tree_is_heap(tree));
	assert_int_equal(cop_oblique_tree_child(tree, 0, false), 1);
	assert_int_equal(cop_oblique_tree_child(tree, 2, true), 6);
	assert_int_equal(cop_oblique_tree_child(tree, 3, false), ~0);
	assert_int_equal(cop_oblique_tree_child(tree, 6, true), ~7);
	cop_oblique_tree_free(tree);
	cop_oblique_tree_free(NULL);
}

static void test_new_bad_sizes_refused(void **state)
{
	(void)state;
	cop_oblique_tree *tree;
	assert_int_equal(cop_oblique_tree_new(0, 3, 2, &tree), COP_EINVAL);
	assert_null(tree);
	assert_int_equal(cop_oblique_tree_new(5, 0, 2, &tree), COP_EINVAL);
	assert_int_equal(cop_oblique_tree_new(5, COP_TREE_MAX_HEIGHT + 1, 2, &tree), COP_EINVAL);
	assert_int_equal(cop_oblique_tree_new(5, 3, 0, &tree), COP_EINVAL);
	assert_int_equal(cop_oblique_tree_new_explicit(5, 1, COP_TREE_MAX_NODES + 1, NULL, NULL, &tree), COP_EINVAL);
	assert_null(tree);
}

static void test_leaf_random_equals_naive_walk(void **state)
{
	(void)state;
	cop_rng rng;
	print_message("seed 21\n");
	cop_rng_init(&rng, 21, 0);
	for (unsigned h = 1; h <= 6; h++) {
		cop_oblique_tree *tree;
		assert_int_equal(cop_oblique_tree_new(19, h, 3, &tree), COP_OK);
		fill(tree, &rng);
		for (int i = 0; i < 50; i++) {
			float x[19];
			for (size_t j = 0; j < 19; j++)
				x[j] = (float)cop_rng_normal(&rng);
			size_t t = 0, n = cop_oblique_tree_nodes(tree);
			while (t < n)
				t = 2 * t + 1 + (naive_margin(tree, t, x) >= 0.0);
			cop_row row = { .d = 19, .dense = x };
			assert_int_equal(cop_oblique_tree_leaf(tree, &row), t - n);
			assert_ptr_equal(cop_oblique_tree_predict(tree, &row), cop_oblique_tree_values(tree, t - n));
		}
		cop_oblique_tree_free(tree);
	}
}

static void test_margin_zero_goes_right(void **state)
{
	(void)state;
	cop_oblique_tree *tree = make_pruned(2, 1);
	float x[2] = { 3.0f, 4.0f };
	cop_row row = { .d = 2, .dense = x };
	assert_int_equal(cop_oblique_tree_leaf(tree, &row), 2);
	*cop_oblique_tree_bias(tree, 0) = -1.0f;
	assert_int_equal(cop_oblique_tree_leaf(tree, &row), 1);
	*cop_oblique_tree_bias(tree, 2) = -0.5f;
	assert_int_equal(cop_oblique_tree_leaf(tree, &row), 3);
	cop_oblique_tree_free(tree);
}

static void test_leaf_sparse_equals_dense(void **state)
{
	(void)state;
	cop_rng rng;
	print_message("seed 22\n");
	cop_rng_init(&rng, 22, 0);
	cop_oblique_tree *tree = make_pruned(40, 2);
	fill(tree, &rng);
	for (int i = 0; i < 50; i++) {
		float x[40] = { 0 }, value[40];
		uint32_t index[40];
		size_t nnz = 0;
		for (uint32_t j = 0; j < 40; j++)
			if (cop_rng_below(&rng, 5) == 0) {
				index[nnz] = j;
				value[nnz++] = x[j] = (float)cop_rng_normal(&rng);
			}
		cop_row dense = { .d = 40, .dense = x };
		cop_row sparse = { .d = 40, .nnz = nnz, .index = index, .value = value };
		assert_int_equal(cop_oblique_tree_leaf(tree, &sparse), cop_oblique_tree_leaf(tree, &dense));
		for (size_t t = 0; t < 3; t++)
			assert_true(fabs((double)cop_oblique_tree_margin(tree, t, &sparse) - naive_margin(tree, t, x)) <
			            1e-5);
	}
	cop_oblique_tree_free(tree);
}

static void test_path_gives_every_step_and_leaf(void **state)
{
	(void)state;
	cop_oblique_tree *tree = make_pruned(1, 1);
	assert_int_equal(cop_oblique_tree_depth(tree), 3);
	assert_false(cop_oblique_tree_is_heap(tree));
	cop_oblique_tree_weights(tree, 0)[0] = -1.0f;
	cop_oblique_tree_weights(tree, 2)[0] = 2.0f;
	float x[1] = { 1.5f };
	cop_row row = { .d = 1, .dense = x };
	cop_tree_step steps[3];
	size_t leaf;
	assert_int_equal(cop_oblique_tree_path(tree, &row, steps, &leaf), 3);
	assert_int_equal(leaf, 1);
	assert_int_equal(steps[0].node, 0);
	assert_true(steps[0].margin == -1.5f && !steps[0].right);
	assert_int_equal(steps[1].node, 1);
	assert_true(steps[1].margin == 0.0f && steps[1].right);
	assert_int_equal(steps[2].node, 2);
	assert_true(steps[2].margin == 3.0f && steps[2].right);
	cop_oblique_tree_free(tree);
}

static void test_explicit_lone_leaf_works(void **state)
{
	(void)state;
	cop_oblique_tree *tree;
	assert_int_equal(cop_oblique_tree_new_explicit(3, 2, 0, NULL, NULL, &tree), COP_OK);
	assert_int_equal(cop_oblique_tree_leaves(tree), 1);
	assert_int_equal(cop_oblique_tree_depth(tree), 0);
	float x[3] = { 0 };
	cop_row row = { .d = 3, .dense = x };
	cop_tree_step none;
	size_t leaf = 9;
	assert_int_equal(cop_oblique_tree_path(tree, &row, &none, &leaf), 0);
	assert_int_equal(leaf, 0);
	cop_oblique_tree_free(tree);
}

static void test_explicit_complete_children_is_heap(void **state)
{
	(void)state;
	static const int32_t left[] = { 1, ~0, ~2 }, right[] = { 2, ~1, ~3 };
	cop_oblique_tree *tree;
	assert_int_equal(cop_oblique_tree_new_explicit(1, 1, 3, left, right, &tree), COP_OK);
	assert_true(cop_oblique_tree_is_heap(tree));
	cop_oblique_tree_free(tree);
}

static void refused(size_t n, const int32_t *left, const int32_t *right)
{
	cop_oblique_tree *tree;
	assert_int_equal(cop_oblique_tree_new_explicit(2, 1, n, left, right, &tree), COP_EINVAL);
	assert_null(tree);
}

static void test_explicit_bad_shapes_refused(void **state)
{
	(void)state;
	refused(1, (int32_t[]){ 0 }, (int32_t[]){ ~0 });                /* its own child */
	refused(1, (int32_t[]){ ~0 }, (int32_t[]){ ~0 });               /* a leaf twice */
	refused(1, (int32_t[]){ ~0 }, (int32_t[]){ ~2 });               /* no such leaf */
	refused(1, (int32_t[]){ ~0 }, (int32_t[]){ 1 });                /* no such node */
	refused(1, (int32_t[]){ INT32_MAX }, (int32_t[]){ INT32_MIN }); /* far outside */
	refused(2, (int32_t[]){ ~0, ~2 }, (int32_t[]){ ~1, 1 });        /* node 1 hangs under itself */
	refused(3, (int32_t[]){ ~0, 2, 1 }, (int32_t[]){ ~1, ~2, ~3 }); /* a cycle beside the root */
	refused(3, (int32_t[]){ 1, 2, 0 }, (int32_t[]){ ~1, ~2, ~3 });  /* a cycle through the root */
	refused(3, (int32_t[]){ 1, ~0, ~1 }, (int32_t[]){ 1, ~2, ~3 }); /* one node twice, one never */
}

static void test_explicit_depth_is_bounded(void **state)
{
	(void)state;
	int32_t left[COP_TREE_MAX_DEPTH + 1], right[COP_TREE_MAX_DEPTH + 1];
	cop_oblique_tree *tree;
	for (size_t n = COP_TREE_MAX_DEPTH; n <= COP_TREE_MAX_DEPTH + 1; n++) {
		for (size_t t = 0; t < n; t++) {
			left[t] = t + 1 < n ? (int32_t)t + 1 : ~(int32_t)n;
			right[t] = ~(int32_t)t;
		}
		cop_err err = cop_oblique_tree_new_explicit(1, 1, n, left, right, &tree);
		assert_int_equal(err, n == COP_TREE_MAX_DEPTH ? COP_OK : COP_EINVAL);
		cop_oblique_tree_free(tree);
	}
}

/* Saved as the only section of a file; the section's payload is found in it. */
static cop_model_section save(const cop_oblique_tree *tree, cop_bytes *bytes)
{
	cop_model_file file;
	cop_model_section section;
	size_t mark = cop_model_file_begin(bytes);
	cop_oblique_tree_save(tree, bytes);
	cop_model_file_end(bytes, mark);
	assert_int_equal(bytes->err, COP_OK);
	assert_int_equal(cop_model_file_open(&file, bytes->data, bytes->length, NULL, NULL), COP_OK);
	assert_int_equal(
	        cop_model_file_find(&file, COP_OBLIQUE_TREE_SECTION, 0, COP_OBLIQUE_TREE_VERSION, &section), COP_OK);
	return section;
}

static void test_save_load_round_trip_is_identical(void **state)
{
	(void)state;
	cop_rng rng;
	print_message("seed 23\n");
	cop_rng_init(&rng, 23, 0);
	for (int heap = 0; heap < 2; heap++) {
		cop_oblique_tree *tree = NULL, *again;
		if (heap)
			assert_int_equal(cop_oblique_tree_new(7, 4, 3, &tree), COP_OK);
		else
			tree = make_pruned(7, 3);
		fill(tree, &rng);
		cop_bytes first, second;
		cop_bytes_init(&first);
		cop_bytes_init(&second);
		cop_model_section section = save(tree, &first);
		assert_int_equal(cop_oblique_tree_load(section.data, section.length, &again), COP_OK);
		assert_int_equal(cop_oblique_tree_is_heap(again), heap);
		assert_int_equal(cop_oblique_tree_depth(again), cop_oblique_tree_depth(tree));
		(void)save(again, &second);
		assert_int_equal(first.length, second.length);
		assert_memory_equal(first.data, second.data, first.length);
		cop_bytes_fini(&first);
		cop_bytes_fini(&second);
		cop_oblique_tree_free(tree);
		cop_oblique_tree_free(again);
	}
}

/* No checksum guards the payload here: whatever loads must be a sound tree. */
static void check_hostile(const uint8_t *payload, size_t length)
{
	cop_oblique_tree *tree;
	if (cop_oblique_tree_load(payload, length, &tree) != COP_OK) {
		assert_null(tree);
		return;
	}
	float x[2] = { 0.5f, -2.0f };
	cop_row row = { .d = 2, .dense = x };
	if (cop_oblique_tree_features(tree) == 2)
		assert_true(cop_oblique_tree_leaf(tree, &row) < cop_oblique_tree_leaves(tree));
	cop_oblique_tree_free(tree);
}

static void test_load_hostile_payload_is_error_or_sound(void **state)
{
	(void)state;
	cop_rng rng;
	print_message("seed 24\n");
	cop_rng_init(&rng, 24, 0);
	cop_oblique_tree *tree = make_pruned(2, 1), *out;
	fill(tree, &rng);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_model_section section = save(tree, &bytes);
	uint8_t *copy = cop_mem_alloc(section.length + 4, 1);
	memcpy(copy, section.data, section.length);
	for (size_t cut = 0; cut < section.length; cut++)
		assert_int_equal(cop_oblique_tree_load(copy, cut, &out), COP_EFORMAT);
	assert_int_equal(cop_oblique_tree_load(copy, section.length + 4, &out), COP_EFORMAT);
	for (size_t at = 0; at < section.length; at++)
		for (int value = 0; value < 256; value++) {
			copy[at] = (uint8_t)value;
			check_hostile(copy, section.length);
			copy[at] = section.data[at];
		}
	/* Counts whose products would overflow. */
	memset(copy, 0xff, 12);
	assert_int_equal(cop_oblique_tree_load(copy, section.length, &out), COP_EFORMAT);
	cop_mem_free(copy);
	cop_bytes_fini(&bytes);
	cop_oblique_tree_free(tree);
}

static void test_load_nan_is_nonfinite(void **state)
{
	(void)state;
	cop_oblique_tree *tree = make_pruned(2, 1), *out;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	*cop_oblique_tree_bias(tree, 1) = NAN;
	cop_model_section section = save(tree, &bytes);
	assert_int_equal(cop_oblique_tree_load(section.data, section.length, &out), COP_ENONFINITE);
	assert_null(out);
	cop_bytes_fini(&bytes);
	cop_oblique_tree_free(tree);
}

static void test_allocation_failure_every_one_is_enomem(void **state)
{
	(void)state;
	cop_oblique_tree *tree = make_pruned(4, 2), *out;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_model_section section = save(tree, &bytes);
	for (int what = 0; what < 3; what++) {
		unsigned long n = 1;
		for (;; n++) {
			cop_test_alloc_fail(n, 0);
			cop_err err = what == 0 ? cop_oblique_tree_new(4, 3, 2, &out)
			              : what == 1
			                      ? cop_oblique_tree_new_explicit(4, 2, 3, pruned_left, pruned_right, &out)
			                      : cop_oblique_tree_load(section.data, section.length, &out);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			cop_test_alloc_fail(0, 0);
			if (err == COP_OK)
				break;
			assert_int_equal(err, COP_ENOMEM);
			assert_null(out);
		}
		assert_true(n >= 6);
		cop_oblique_tree_free(out);
	}
	cop_bytes_fini(&bytes);
	cop_oblique_tree_free(tree);
}

static void test_walks_allocate_nothing(void **state)
{
	(void)state;
	cop_oblique_tree *tree = make_pruned(2, 1);
	float x[2] = { 1.0f, 2.0f };
	cop_row row = { .d = 2, .dense = x };
	cop_tree_step steps[3];
	size_t leaf;
	cop_test_alloc_fail(0, 0);
	(void)cop_oblique_tree_leaf(tree, &row);
	(void)cop_oblique_tree_predict(tree, &row);
	(void)cop_oblique_tree_path(tree, &row, steps, &leaf);
	assert_int_equal(cop_test_alloc_count(), 0);
	cop_oblique_tree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_complete_has_heap_shape),
		cmocka_unit_test(test_new_bad_sizes_refused),
		cmocka_unit_test(test_leaf_random_equals_naive_walk),
		cmocka_unit_test(test_margin_zero_goes_right),
		cmocka_unit_test(test_leaf_sparse_equals_dense),
		cmocka_unit_test(test_path_gives_every_step_and_leaf),
		cmocka_unit_test(test_explicit_lone_leaf_works),
		cmocka_unit_test(test_explicit_complete_children_is_heap),
		cmocka_unit_test(test_explicit_bad_shapes_refused),
		cmocka_unit_test(test_explicit_depth_is_bounded),
		cmocka_unit_test(test_save_load_round_trip_is_identical),
		cmocka_unit_test(test_load_hostile_payload_is_error_or_sound),
		cmocka_unit_test(test_load_nan_is_nonfinite),
		cmocka_unit_test(test_allocation_failure_every_one_is_enomem),
		cmocka_unit_test(test_walks_allocate_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
