#include "support.h"

#include <string.h>

#include "view/tree_text.h"

/* 0 -> (leaf 1, 1); 1 -> (leaf 0, leaf 2), over 3 features and 2 outputs. */
static cop_oblique_tree *sample(void)
{
	static const int32_t left[] = { ~1, ~0 }, right[] = { 1, ~2 };
	static const float w[2][3] = { { 0.5f, -2.0f, 0.25f }, { 0.0f, 0.0f, 1.0f } };
	static const float theta[3][2] = { { 1.0f, 2.5f }, { 3.0f, -1.0f }, { 0.0f, 0.0f } };
	cop_oblique_tree *tree;
	assert_int_equal(cop_oblique_tree_new_explicit(3, 2, 2, left, right, &tree), COP_OK);
	for (size_t t = 0; t < 2; t++)
		memcpy(cop_oblique_tree_weights(tree, t), w[t], sizeof w[t]);
	*cop_oblique_tree_bias(tree, 0) = 0.125f;
	*cop_oblique_tree_bias(tree, 1) = -0.0f;
	for (size_t l = 0; l < 3; l++)
		memcpy(cop_oblique_tree_values(tree, l), theta[l], sizeof theta[l]);
	return tree;
}

static void check(const cop_oblique_tree *oblique, const cop_tree_phrases *names, size_t top, const char *want)
{
	cop_bytes out;
	cop_tree *tree;
	cop_tree_phrases words = names != NULL ? *names : (cop_tree_phrases){ 0 };
	assert_int_equal(cop_tree_from_oblique(oblique, COP_TREE_VALUES, &tree), COP_OK);
	words.tree = tree;
	words.top = top;
	cop_bytes_init(&out);
	cop_tree_text(&words, &out);
	cop_tree_free(tree);
	cop_bytes_put_u8(&out, 0);
	assert_int_equal(out.err, COP_OK);
	assert_string_equal((const char *)out.data, want);
	cop_bytes_fini(&out);
}

static void test_text_without_names_is_indented(void **state)
{
	(void)state;
	cop_oblique_tree *tree = sample();
	check(tree, NULL, 2,
	        "node 0: -2 x1 +0.5 x0 (1 lighter) +0.125 >= 0\n"
	        "  left (no): leaf 1: output 0 (3)\n"
	        "  right (yes): node 1: x2 >= 0\n"
	        "    left (no): leaf 0: output 1 (2.5)\n"
	        "    right (yes): leaf 2: output 0 (0)\n");
	cop_oblique_tree_free(tree);
}

static void test_text_with_names_shows_them(void **state)
{
	(void)state;
	static const char *const features[] = { "size", "price", "colour" };
	static const char *const outputs[] = { "keep", "drop" };
	cop_tree_phrases names = { .features = features, .outputs = outputs };
	cop_oblique_tree *tree = sample();
	check(tree, &names, 5,
	        "node 0: -2 price +0.5 size +0.25 colour +0.125 >= 0\n"
	        "  left (no): leaf 1: keep (3)\n"
	        "  right (yes): node 1: colour >= 0\n"
	        "    left (no): leaf 0: drop (2.5)\n"
	        "    right (yes): leaf 2: keep (0)\n");
	cop_oblique_tree_free(tree);
}

static void test_text_lone_leaf_of_one_output_is_its_value(void **state)
{
	(void)state;
	cop_oblique_tree *tree;
	assert_int_equal(cop_oblique_tree_new_explicit(1, 1, 0, NULL, NULL, &tree), COP_OK);
	cop_oblique_tree_values(tree, 0)[0] = -1.5f;
	check(tree, NULL, 3, "leaf 0: -1.5\n");
	cop_oblique_tree_free(tree);
}

static void test_text_deepest_tree_fits(void **state)
{
	(void)state;
	int32_t left[COP_TREE_MAX_DEPTH], right[COP_TREE_MAX_DEPTH];
	cop_oblique_tree *tree;
	cop_bytes out;
	cop_tree_phrases words = { .top = 1 };
	cop_tree *converted;
	size_t lines = 0;
	for (int32_t t = 0; t < COP_TREE_MAX_DEPTH; t++) {
		left[t] = t + 1 < COP_TREE_MAX_DEPTH ? t + 1 : ~COP_TREE_MAX_DEPTH;
		right[t] = ~t;
	}
	assert_int_equal(cop_oblique_tree_new_explicit(1, 1, COP_TREE_MAX_DEPTH, left, right, &tree), COP_OK);
	assert_int_equal(cop_tree_from_oblique(tree, COP_TREE_VALUES, &converted), COP_OK);
	words.tree = converted;
	cop_bytes_init(&out);
	cop_tree_text(&words, &out);
	for (size_t i = 0; i < out.length; i++)
		lines += out.data[i] == '\n';
	assert_int_equal(lines, 2 * COP_TREE_MAX_DEPTH + 1);
	cop_bytes_fini(&out);
	cop_tree_free(converted);
	cop_oblique_tree_free(tree);
}

static void test_text_allocation_failure_is_sticky(void **state)
{
	(void)state;
	cop_oblique_tree *tree = sample();
	cop_bytes out;
	cop_tree_phrases words = { .top = 3 };
	cop_tree *converted;
	assert_int_equal(cop_tree_from_oblique(tree, COP_TREE_VALUES, &converted), COP_OK);
	words.tree = converted;
	cop_bytes_init(&out);
	cop_test_alloc_fail(1, 1);
	cop_tree_text(&words, &out);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(out.err, COP_ENOMEM);
	cop_bytes_fini(&out);
	cop_tree_free(converted);
	cop_oblique_tree_free(tree);
}

static void test_heaviest_orders_by_magnitude_then_index(void **state)
{
	(void)state;
	static const float w[] = { 1.0f, -3.0f, 0.0f, 3.0f, 2.0f, -1.0f };
	uint32_t index[6];
	assert_int_equal(cop_tree_heaviest(6, w, 3, index), 3);
	assert_true(index[0] == 1 && index[1] == 3 && index[2] == 4);
	assert_int_equal(cop_tree_heaviest(6, w, 6, index), 5);
	assert_true(index[3] == 0 && index[4] == 5);
	assert_int_equal(cop_tree_heaviest(6, w, 0, index), 0);
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
