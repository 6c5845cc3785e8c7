#include "support.h"

#include "tree/oblique_tree.h"

static void test_new_complete_has_heap_shape(void **state)
{
	(void)state;
	cop_oblique_tree *tree;
	assert_int_equal(cop_oblique_tree_new(5, 3, 2, &tree), COP_OK);
	assert_int_equal(cop_oblique_tree_features(tree), 5);
	assert_int_equal(cop_oblique_tree_outputs(tree), 2);
	assert_int_equal(cop_oblique_tree_nodes(tree), 7);
	assert_int_equal(cop_oblique_tree_leaves(tree), 8);
	assert_int_equal(cop_oblique_tree_depth(tree), 3);
	assert_int_equal(cop_oblique_tree_child(tree, 0, false), 1);
	assert_int_equal(cop_oblique_tree_child(tree, 2, true), 6);
	assert_int_equal(cop_oblique_tree_child(tree, 3, false), ~0);
	assert_int_equal(cop_oblique_tree_child(tree, 6, true), ~7);
	cop_oblique_tree_free(tree);
	cop_oblique_tree_free(NULL);
}

static void test_numbers_lie_node_by_node(void **state)
{
	(void)state;
	cop_oblique_tree *tree;
	assert_int_equal(cop_oblique_tree_new(3, 2, 2, &tree), COP_OK);
	for (size_t t = 0; t < 3; t++) {
		assert_ptr_equal(cop_oblique_tree_weights(tree, t), cop_oblique_tree_weights(tree, 0) + 3 * t);
		assert_ptr_equal(cop_oblique_tree_weights_view(tree, t), cop_oblique_tree_weights(tree, t));
		assert_ptr_equal(cop_oblique_tree_bias(tree, t), cop_oblique_tree_bias_view(tree, 0) + t);
	}
	for (size_t l = 0; l < 4; l++)
		assert_ptr_equal(cop_oblique_tree_values(tree, l), cop_oblique_tree_values_view(tree, 0) + 2 * l);
	cop_oblique_tree_free(tree);
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
	assert_int_equal(cop_oblique_tree_new((size_t)UINT32_MAX + 1, 3, 1, &tree), COP_EINVAL);
	assert_null(tree);
}

static void test_allocation_failure_every_one_is_enomem(void **state)
{
	(void)state;
	cop_oblique_tree *out;
	unsigned long n = 1;
	for (;; n++) {
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_oblique_tree_new(4, 3, 2, &out);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		cop_test_alloc_fail(0, 0);
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
		assert_null(out);
	}
	assert_int_equal(n, 5);
	cop_oblique_tree_free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_complete_has_heap_shape),
		cmocka_unit_test(test_numbers_lie_node_by_node),
		cmocka_unit_test(test_new_bad_sizes_refused),
		cmocka_unit_test(test_allocation_failure_every_one_is_enomem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
