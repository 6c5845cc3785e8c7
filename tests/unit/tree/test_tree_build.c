#include "support.h"

#include <math.h>

#include "tree/tree_build.h"

static cop_tree_build *make(size_t d, size_t outputs, cop_tree_link link)
{
	cop_tree_build *build;
	assert_int_equal(cop_tree_build_new(d, outputs, link, &build), COP_OK);
	return build;
}

static int32_t put_leaf(cop_tree_build *build, float value) { return cop_tree_build_constant(build, &value); }

static void expect_finish(cop_tree_build *build, int32_t root, cop_err expected)
{
	cop_tree *tree = (cop_tree *)&tree;
	assert_int_equal(cop_tree_build_finish(build, root, &tree), expected);
	assert_int_equal(tree == NULL, expected != COP_OK);
	cop_tree_free(tree);
	cop_tree_build_free(build);
}

static void test_finish_any_order_renumbers_parents_first_leaves_left_to_right(void **state)
{
	(void)state;
	static const float w[3] = { 0.0f, 2.0f, 0.0f };
	cop_tree_build *build = make(3, 1, COP_TREE_VALUES);
	cop_tree *tree;
	int32_t third = put_leaf(build, 30.0f), child = cop_tree_build_axis(build, 2, 0.5f);
	int32_t first = put_leaf(build, 10.0f), root = cop_tree_build_node(build, w, 1.0f);
	int32_t second = put_leaf(build, 20.0f);
	cop_tree_build_children(build, root, first, child);
	cop_tree_build_children(build, child, second, third);
	assert_true(child >= 0 && root >= 0 && child != root);
	assert_int_equal(cop_tree_build_finish(build, root, &tree), COP_OK);
	const cop_tree_parts *parts = cop_tree_view(tree);
	assert_int_equal(parts->nodes.count, 2);
	assert_int_equal(parts->left[0], ~0);
	assert_int_equal(parts->right[0], 1);
	assert_int_equal(parts->left[1], ~1);
	assert_int_equal(parts->right[1], ~2);
	assert_int_equal(parts->nodes.start[1], 1); /* zeros are not stored */
	assert_int_equal(parts->nodes.index[0], 1);
	assert_true(parts->nodes.weight[0] == 2.0f && parts->nodes.bias[0] == 1.0f);
	assert_true(parts->nodes.weight[1] == 1.0f && parts->nodes.bias[1] == -0.5f);
	for (size_t l = 0; l < 3; l++)
		assert_true(parts->rows.bias[l] == 10.0f * (float)(l + 1));
	cop_tree_free(tree);
	cop_tree_build_free(build);
}

static void test_finish_twice_from_other_root_leaves_the_rest_out(void **state)
{
	(void)state;
	cop_tree_build *build = make(1, 1, COP_TREE_VALUES);
	cop_tree *tree;
	int32_t root = cop_tree_build_axis(build, 0, 1.0f), child = cop_tree_build_axis(build, 0, 2.0f);
	int32_t leaf = put_leaf(build, 1.0f);
	cop_tree_build_children(build, root, leaf, child);
	cop_tree_build_children(build, child, put_leaf(build, 2.0f), put_leaf(build, 3.0f));
	assert_int_equal(cop_tree_build_finish(build, root, &tree), COP_OK);
	assert_int_equal(cop_tree_leaves(tree), 3);
	cop_tree_free(tree);
	assert_int_equal(cop_tree_build_finish(build, child, &tree), COP_OK);
	assert_int_equal(cop_tree_leaves(tree), 2);
	assert_true(cop_tree_view(tree)->rows.bias[0] == 2.0f);
	cop_tree_free(tree);
	assert_int_equal(cop_tree_build_finish(build, leaf, &tree), COP_OK);
	assert_int_equal(cop_tree_leaves(tree), 1);
	assert_true(cop_tree_view(tree)->rows.bias[0] == 1.0f);
	cop_tree_free(tree);
	cop_tree_build_free(build);
}

static void test_linear_rows_store_no_zeros(void **state)
{
	(void)state;
	static const uint32_t output[] = { 1, 2 };
	static const float v[2][3] = { { 0.0f, 0.0f, 5.0f }, { 0.0f, 0.0f, 0.0f } }, c[] = { 1.0f, 2.0f };
	cop_tree_build *build = make(3, 4, COP_TREE_LOGITS);
	cop_tree *tree;
	assert_int_equal(cop_tree_build_finish(build, cop_tree_build_linear(build, 2, output, v[0], c), &tree), COP_OK);
	const cop_tree_parts *parts = cop_tree_view(tree);
	assert_int_equal(parts->leaf[1], 2);
	assert_int_equal(parts->rows.start[1], 1);
	assert_int_equal(parts->rows.start[2], 1);
	assert_int_equal(parts->rows.index[0], 2);
	assert_int_equal(parts->output[1], 2);
	cop_tree_free(tree);
	cop_tree_build_free(build);
}

static void test_sparse_rows_are_as_linear_ones(void **state)
{
	(void)state;
	static const uint32_t output[] = { 1, 2, 3 }, index[] = { 0, 2, 1 };
	static const float v[3][3] = { { -1.0f, 0.0f, 5.0f }, { 0.0f, 0.0f, 0.0f } }, c[] = { 1.0f, 2.0f, 3.0f };
	static const float weight[] = { -1.0f, 5.0f, 0.0f };
	static const size_t start[] = { 0, 2, 2, 3 };
	const cop_tree_vectors rows = { 3, start, index, weight, c };
	cop_tree *tree[2];
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_tree_build *build = make(3, 4, COP_TREE_LOGITS);
		int32_t leaf = sparse != 0 ? cop_tree_build_sparse(build, output, &rows)
		                           : cop_tree_build_linear(build, 3, output, v[0], c);
		assert_int_equal(cop_tree_build_finish(build, leaf, &tree[sparse]), COP_OK);
		cop_tree_build_free(build);
	}
	const cop_tree_parts *a = cop_tree_view(tree[0]), *b = cop_tree_view(tree[1]);
	assert_int_equal(b->rows.count, 3);
	assert_memory_equal(a->rows.start, b->rows.start, 4 * sizeof *start);
	assert_int_equal(b->rows.start[3], 2);
	assert_memory_equal(a->rows.index, b->rows.index, 2 * sizeof *index);
	assert_memory_equal(a->rows.weight, b->rows.weight, 2 * sizeof *weight);
	assert_memory_equal(a->rows.bias, b->rows.bias, sizeof c);
	assert_memory_equal(a->output, b->output, sizeof output);
	cop_tree_free(tree[0]);
	cop_tree_free(tree[1]);
}

static void test_new_bad_shape_refused(void **state)
{
	(void)state;
	cop_tree_build *build = (cop_tree_build *)&build;
	assert_int_equal(cop_tree_build_new(0, 1, COP_TREE_VALUES, &build), COP_EINVAL);
	assert_null(build);
	assert_int_equal(cop_tree_build_new(1, 0, COP_TREE_VALUES, &build), COP_EINVAL);
	assert_int_equal(cop_tree_build_new((size_t)UINT32_MAX + 1, 1, COP_TREE_VALUES, &build), COP_EINVAL);
	assert_int_equal(cop_tree_build_new(1, 1, COP_TREE_LINKS, &build), COP_EINVAL);
	cop_tree_build_free(NULL);
}

static void test_finish_no_tree_refused(void **state)
{
	(void)state;
	for (int what = 0; what < 6; what++) {
		cop_tree_build *build = make(1, 1, COP_TREE_VALUES);
		int32_t root = cop_tree_build_axis(build, 0, 1.0f), child = cop_tree_build_axis(build, 0, 2.0f);
		int32_t a = put_leaf(build, 1.0f), b = put_leaf(build, 2.0f), c = put_leaf(build, 3.0f);
		if (what != 0) /* 0: children never told */
			cop_tree_build_children(build, child, b, what == 1 ? b : c);
		cop_tree_build_children(build, root, what == 2 ? root : a, what == 3 ? 7 : what == 4 ? ~7 : child);
		expect_finish(build, what == 5 ? 2 : root, COP_EINVAL);
	}
	cop_tree_build *build = make(1, 1, COP_TREE_VALUES);
	expect_finish(build, ~0, COP_EINVAL);
	build = make(1, 1, COP_TREE_VALUES);
	expect_finish(build, 0, COP_EINVAL);
}

/* After a wrong call everything is ignored, and finish tells. */
static void test_wrong_call_is_remembered(void **state)
{
	(void)state;
	static const uint32_t output[] = { 0, 1, 2 }, twice[] = { 1, 1 };
	static const float zeros[6] = { 0 };
	static const size_t starts[4] = { 0 };
	const cop_tree_vectors none = { .start = starts, .bias = zeros }, many = { 3, starts, output, zeros, zeros };
	for (int what = 0; what < 9; what++) {
		cop_tree_build *build = make(2, 2, COP_TREE_PROBABILITIES);
		int32_t leaf = cop_tree_build_constant(build, zeros), other = cop_tree_build_constant(build, zeros);
		int32_t node = cop_tree_build_axis(build, what == 0 ? 2 : 1, 0.0f);
		if (what == 1)
			leaf = cop_tree_build_linear(build, 0, output, zeros, zeros);
		else if (what == 2)
			leaf = cop_tree_build_linear(build, 3, output, zeros, zeros);
		else if (what == 3)
			leaf = cop_tree_build_linear(build, 2, twice, zeros, zeros);
		else if (what >= 7)
			leaf = cop_tree_build_sparse(build, output, what == 7 ? &none : &many);
		else if (what == 4)
			cop_tree_build_children(build, 5, leaf, other);
		else if (what == 5)
			cop_tree_build_children(build, -1, leaf, other);
		(void)cop_tree_build_node(build, zeros, 0.0f);
		cop_tree_build_children(build, node, leaf, other);
		expect_finish(build, node, what == 6 ? COP_OK : COP_EINVAL);
	}
}

static void test_finish_not_finite_refused(void **state)
{
	(void)state;
	static const float good[] = { 1.0f, 0.0f }, bad[] = { 0.0f, NAN };
	for (int what = 0; what < 4; what++) {
		cop_tree_build *build = make(2, 2, COP_TREE_VALUES);
		int32_t node = what == 0 ? cop_tree_build_axis(build, 0, INFINITY)
		                         : cop_tree_build_node(build, what == 1 ? bad : good, 0.0f);
		int32_t left = cop_tree_build_constant(build, what == 2 ? bad : good);
		int32_t right = cop_tree_build_constant(build, good);
		cop_tree_build_children(build, node, left, right);
		expect_finish(build, node, what == 3 ? COP_OK : COP_ENONFINITE);
	}
}

/* A little of everything. */
static cop_err build_and_finish(cop_tree **out)
{
	static const uint32_t output[] = { 1 };
	float w[40];
	cop_tree_build *build;
	*out = NULL;
	cop_err err = cop_tree_build_new(40, 2, COP_TREE_LOGITS, &build);
	if (err != COP_OK)
		return err;
	for (size_t j = 0; j < 40; j++)
		w[j] = (float)(j % 3);
	int32_t root = cop_tree_build_axis(build, 39, -1.0f);
	for (size_t i = 0; i < 100; i++) { /* so that arrays grow */
		int32_t node = cop_tree_build_node(build, w, 1.0f);
		cop_tree_build_children(build, node, root, cop_tree_build_linear(build, 1, output, w, w + 1));
		if (i == 0)
			cop_tree_build_children(
			        build, root, cop_tree_build_constant(build, w), cop_tree_build_constant(build, w));
		root = node;
	}
	err = cop_tree_build_finish(build, root, out);
	cop_tree_build_free(build);
	return err;
}

static void test_build_allocation_fails_gives_enomem(void **state)
{
	(void)state;
	cop_err err = COP_ENOMEM;
	unsigned long n = 0;
	while (err != COP_OK) {
		cop_tree *tree;
		cop_test_alloc_fail(++n, 0);
		err = build_and_finish(&tree);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		assert_int_equal(tree == NULL, err != COP_OK);
		cop_tree_free(tree);
	}
	assert_true(n > 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finish_any_order_renumbers_parents_first_leaves_left_to_right),
		cmocka_unit_test(test_finish_twice_from_other_root_leaves_the_rest_out),
		cmocka_unit_test(test_linear_rows_store_no_zeros),
		cmocka_unit_test(test_sparse_rows_are_as_linear_ones),
		cmocka_unit_test(test_new_bad_shape_refused),
		cmocka_unit_test(test_finish_no_tree_refused),
		cmocka_unit_test(test_wrong_call_is_remembered),
		cmocka_unit_test(test_finish_not_finite_refused),
		cmocka_unit_test(test_build_allocation_fails_gives_enomem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
