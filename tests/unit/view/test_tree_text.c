#include "support.h"

#include "tree/tree_build.h"
#include "view/tree_text.h"

/* 0 -> (leaf 1, 1); 1 -> (leaf 0, leaf 2), over 3 features and 2 outputs. */
static cop_tree *sample(void)
{
	static const size_t node_start[] = { 0, 3, 4 }, row_start[7] = { 0 }, leaf[] = { 0, 2, 4, 6 };
	static const uint32_t index[] = { 0, 1, 2, 2 }, output[] = { 0, 1, 0, 1, 0, 1 };
	static const float w[] = { 0.5f, -2.0f, 0.25f, 1.0f }, b[] = { 0.125f, -0.0f };
	static const float theta[] = { 1.0f, 2.5f, 3.0f, -1.0f, 0.0f, 0.0f };
	static const int32_t left[] = { ~1, ~0 }, right[] = { 1, ~2 };
	const cop_tree_parts parts = { .d = 3,
		.outputs = 2,
		.nodes = { 2, node_start, index, w, b },
		.left = left,
		.right = right,
		.rows = { 6, row_start, NULL, NULL, theta },
		.leaf = leaf,
		.output = output };
	cop_tree *tree;
	assert_int_equal(cop_tree_new(&parts, &tree), COP_OK);
	return tree;
}

static void check(const cop_tree *tree, const cop_tree_phrases *names, size_t top, const char *want)
{
	cop_bytes out;
	cop_tree_phrases words = names != NULL ? *names : (cop_tree_phrases){ 0 };
	words.tree = tree;
	words.top = top;
	cop_bytes_init(&out);
	cop_tree_text(&words, &out);
	cop_bytes_put_u8(&out, 0);
	assert_int_equal(out.err, COP_OK);
	assert_string_equal((const char *)out.data, want);
	cop_bytes_fini(&out);
}

static void test_text_without_names_is_indented(void **state)
{
	(void)state;
	cop_tree *tree = sample();
	check(tree, NULL, 2,
	        "node 0: -2 x1 +0.5 x0 (1 lighter) +0.125 >= 0\n"
	        "  left (no): leaf 1: output 0 (3)\n"
	        "  right (yes): node 1: x2 >= 0\n"
	        "    left (no): leaf 0: output 1 (2.5)\n"
	        "    right (yes): leaf 2: output 0 (0)\n");
	cop_tree_free(tree);
}

static void test_text_with_names_shows_them(void **state)
{
	(void)state;
	static const char *const features[] = { "size", "price", "colour" };
	static const char *const outputs[] = { "keep", "drop" };
	cop_tree_phrases names = { .features = features, .outputs = outputs };
	cop_tree *tree = sample();
	check(tree, &names, 5,
	        "node 0: -2 price +0.5 size +0.25 colour +0.125 >= 0\n"
	        "  left (no): leaf 1: keep (3)\n"
	        "  right (yes): node 1: colour >= 0\n"
	        "    left (no): leaf 0: drop (2.5)\n"
	        "    right (yes): leaf 2: keep (0)\n");
	cop_tree_free(tree);
}

static void test_text_lone_leaf_of_one_output_is_its_value(void **state)
{
	(void)state;
	const float value = -1.5f;
	cop_tree_build *build;
	cop_tree *tree;
	assert_int_equal(cop_tree_build_new(1, 1, COP_TREE_VALUES, &build), COP_OK);
	assert_int_equal(cop_tree_build_finish(build, cop_tree_build_constant(build, &value), &tree), COP_OK);
	cop_tree_build_free(build);
	check(tree, NULL, 3, "leaf 0: -1.5\n");
	cop_tree_free(tree);
}

static void test_text_deepest_tree_fits(void **state)
{
	(void)state;
	static const float zero = 0.0f;
	cop_tree_build *build;
	cop_bytes out;
	cop_tree_phrases words = { .top = 1 };
	cop_tree *tree;
	size_t lines = 0;
	assert_int_equal(cop_tree_build_new(1, 1, COP_TREE_VALUES, &build), COP_OK);
	int32_t root = cop_tree_build_constant(build, &zero);
	for (int t = 0; t < COP_TREE_MAX_DEPTH; t++) {
		int32_t node = cop_tree_build_node(build, &zero, 0.0f);
		cop_tree_build_children(build, node, root, cop_tree_build_constant(build, &zero));
		root = node;
	}
	assert_int_equal(cop_tree_build_finish(build, root, &tree), COP_OK);
	cop_tree_build_free(build);
	words.tree = tree;
	cop_bytes_init(&out);
	cop_tree_text(&words, &out);
	for (size_t i = 0; i < out.length; i++)
		lines += out.data[i] == '\n';
	assert_int_equal(lines, 2 * COP_TREE_MAX_DEPTH + 1);
	cop_bytes_fini(&out);
	cop_tree_free(tree);
}

static void test_text_allocation_failure_is_sticky(void **state)
{
	(void)state;
	cop_tree *tree = sample();
	cop_bytes out;
	cop_tree_phrases words = { .top = 3 };
	words.tree = tree;
	cop_bytes_init(&out);
	cop_test_alloc_fail(1, 1);
	cop_tree_text(&words, &out);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(out.err, COP_ENOMEM);
	cop_bytes_fini(&out);
	cop_tree_free(tree);
}

static void test_heaviest_orders_by_magnitude_then_index(void **state)
{
	(void)state;
	static const float w[] = { 1.0f, -3.0f, 0.0f, 3.0f, 2.0f, -1.0f };
	uint32_t index[6];
	assert_int_equal(cop_tree_phrases_heaviest(6, w, 3, index), 3);
	assert_true(index[0] == 1 && index[1] == 3 && index[2] == 4);
	assert_int_equal(cop_tree_phrases_heaviest(6, w, 6, index), 5);
	assert_true(index[3] == 0 && index[4] == 5);
	assert_int_equal(cop_tree_phrases_heaviest(6, w, 0, index), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_without_names_is_indented),
		cmocka_unit_test(test_text_with_names_shows_them),
		cmocka_unit_test(test_text_lone_leaf_of_one_output_is_its_value),
		cmocka_unit_test(test_text_deepest_tree_fits),
		cmocka_unit_test(test_text_allocation_failure_is_sticky),
		cmocka_unit_test(test_heaviest_orders_by_magnitude_then_index),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
