#include "support.h"

#include "view/tree_json.h"

static cop_tree *sample(void)
{
	static const size_t node_start[] = { 0, 1, 2 }, row_start[4] = { 0 }, leaf[] = { 0, 1, 2, 3 };
	static const uint32_t index[] = { 0, 1 }, output[3] = { 0 };
	static const float w[] = { 0.5f, 0.1f }, b[] = { 0.0f, -2.0f }, theta[] = { 0.0f, 0.0f, 7.0f };
	static const int32_t left[] = { ~1, ~0 }, right[] = { 1, ~2 };
	const cop_tree_parts parts = { .d = 2,
		.outputs = 1,
		.nodes = { 2, node_start, index, w, b },
		.left = left,
		.right = right,
		.rows = { 3, row_start, NULL, NULL, theta },
		.leaf = leaf,
		.output = output };
	cop_tree *tree;
	assert_int_equal(cop_tree_new(&parts, &tree), COP_OK);
	return tree;
}

static void test_json_small_tree_is_complete(void **state)
{
	(void)state;
	static const char *const features[] = { "size", "a \"b\"" };
	cop_tree_phrases words = { .features = features };
	cop_tree *tree = sample();
	cop_json_writer *writer;
	const char *text;
	words.tree = tree;
	assert_int_equal(cop_json_writer_new(COP_JSON_COMPACT, &writer), COP_OK);
	assert_int_equal(cop_tree_json(&words, true, writer), COP_OK);
	assert_int_equal(cop_json_writer_finish(writer, &text, NULL), COP_OK);
	assert_string_equal(text, "{\"features\":2,\"outputs\":1,\"depth\":2,"
	                          "\"feature_names\":[\"size\",\"a \\\"b\\\"\"],"
	                          "\"nodes\":[{\"node\":0,\"left\":{\"leaf\":1},\"right\":{\"node\":1},\"bias\":0,"
	                          "\"weights\":[0.5,0]},"
	                          "{\"node\":1,\"left\":{\"leaf\":0},\"right\":{\"leaf\":2},\"bias\":-2,"
	                          "\"weights\":[0,0.1]}],"
	                          "\"leaves\":[[0],[0],[7]]}");
	cop_json_writer_free(writer);
	cop_tree_free(tree);
}

static void test_json_allocation_failure_is_sticky(void **state)
{
	(void)state;
	cop_tree *tree = sample();
	unsigned long n = 1;
	cop_tree_phrases words = { .tree = tree };
	for (;; n++) {
		cop_json_writer *writer;
		const char *text;
		assert_int_equal(cop_json_writer_new(COP_JSON_INDENTED, &writer), COP_OK);
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_tree_json(&words, true, writer);
		if (err == COP_OK)
			err = cop_json_writer_finish(writer, &text, NULL);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		cop_json_writer_free(writer);
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
	}
	assert_true(n > 1);
	cop_tree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_small_tree_is_complete),
		cmocka_unit_test(test_json_allocation_failure_is_sticky),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
