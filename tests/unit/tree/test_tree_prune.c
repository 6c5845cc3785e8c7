#include "support.h"

#include "tree_fixture.h"

/* Four leaves under nodes 0 (x0 >= 0), 1 on its left, 2 on its right (both x1 >= 0). */
static cop_tree *make_four(cop_tree_link link, float value[4][2])
{
	cop_tree_build *build;
	cop_tree *tree;
	int32_t leaf[4];
	assert_int_equal(cop_tree_build_new(2, 2, link, &build), COP_OK);
	int32_t root = cop_tree_build_axis(build, 0, 0.0f), left = cop_tree_build_axis(build, 1, 0.0f);
	int32_t right = cop_tree_build_axis(build, 1, 0.0f);
	for (size_t l = 0; l < 4; l++)
		leaf[l] = cop_tree_build_constant(build, value[l]);
	cop_tree_build_children(build, root, left, right);
	cop_tree_build_children(build, left, leaf[0], leaf[1]);
	cop_tree_build_children(build, right, leaf[2], leaf[3]);
	assert_int_equal(cop_tree_build_finish(build, root, &tree), COP_OK);
	cop_tree_build_free(build);
	return tree;
}

/* Prunes and compares the first output of each leaf that is left, from left to right. */
static void expect_pruned(cop_tree *tree, const uint64_t *rows, size_t leaves, const float *first)
{
	cop_tree *pruned;
	float out[2];
	assert_int_equal(cop_tree_prune(tree, rows, &pruned), COP_OK);
	assert_int_equal(cop_tree_leaves(pruned), leaves);
	for (size_t l = 0; l < leaves; l++) {
		cop_tree_leaf_outputs(pruned, l, NULL, out);
		assert_true(out[0] == first[l]);
	}
	cop_tree_free(pruned);
	cop_tree_free(tree);
}

static void test_prune_nothing_on_one_side_takes_the_other(void **state)
{
	(void)state;
	float v[4][2] = { { 1.0f, 0.0f }, { 2.0f, 0.0f }, { 3.0f, 0.0f }, { 4.0f, 0.0f } };
	expect_pruned(make_four(COP_TREE_VALUES, v), (uint64_t[]){ 1, 1, 1, 1 }, 4, (float[]){ 1, 2, 3, 4 });
	expect_pruned(make_four(COP_TREE_VALUES, v), (uint64_t[]){ 1, 0, 1, 1 }, 3, (float[]){ 1, 3, 4 });
	expect_pruned(make_four(COP_TREE_VALUES, v), (uint64_t[]){ 0, 0, 1, 1 }, 2, (float[]){ 3, 4 });
	expect_pruned(make_four(COP_TREE_VALUES, v), (uint64_t[]){ 0, 5, 0, 1 }, 2, (float[]){ 2, 4 });
	expect_pruned(make_four(COP_TREE_VALUES, v), (uint64_t[]){ 0, 5, 0, 0 }, 1, (float[]){ 2 });
	expect_pruned(make_four(COP_TREE_VALUES, v), (uint64_t[]){ 0, 0, 0, 0 }, 4, (float[]){ 1, 2, 3, 4 });
}

static void test_prune_same_class_takes_the_more_used_leaf(void **state)
{
	(void)state;
	float v[4][2] = { { 0.6f, 0.4f }, { 0.9f, 0.1f }, { 0.7f, 0.3f }, { 0.2f, 0.8f } };
	expect_pruned(
	        make_four(COP_TREE_PROBABILITIES, v), (uint64_t[]){ 3, 2, 4, 1 }, 3, (float[]){ 0.6f, 0.7f, 0.2f });
	expect_pruned(
	        make_four(COP_TREE_PROBABILITIES, v), (uint64_t[]){ 2, 2, 4, 1 }, 3, (float[]){ 0.6f, 0.7f, 0.2f });
	expect_pruned(
	        make_four(COP_TREE_PROBABILITIES, v), (uint64_t[]){ 2, 3, 4, 1 }, 3, (float[]){ 0.9f, 0.7f, 0.2f });
	expect_pruned(make_four(COP_TREE_PROBABILITIES, v), (uint64_t[]){ 2, 3, 4, 0 }, 1, (float[]){ 0.7f });
	expect_pruned(
	        make_four(COP_TREE_VALUES, v), (uint64_t[]){ 2, 3, 4, 1 }, 4, (float[]){ 0.6f, 0.9f, 0.7f, 0.2f });
}

static void test_prune_equal_values_become_one_leaf(void **state)
{
	(void)state;
	float v[4][2] = { { 1.0f, 5.0f }, { 1.0f, 5.0f }, { 1.0f, 5.0f }, { 1.0f, 6.0f } };
	expect_pruned(make_four(COP_TREE_VALUES, v), (uint64_t[]){ 1, 1, 1, 1 }, 3, (float[]){ 1, 1, 1 });
	v[3][1] = 5.0f;
	expect_pruned(make_four(COP_TREE_VALUES, v), (uint64_t[]){ 1, 1, 1, 1 }, 1, (float[]){ 1 });
}

/* One leaf with a row for output 0 only, one with both; as values alike when the row of output 1 is 0. */
static void test_prune_absent_rows_count_as_zero_values(void **state)
{
	(void)state;
	static const uint32_t first = 0;
	for (int alike = 0; alike < 2; alike++) {
		const float v = 0.0f, c = 3.0f, both[] = { 3.0f, alike ? 0.0f : 1.0f };
		const uint64_t rows[] = { 1, 1 };
		cop_tree_build *build;
		cop_tree *tree, *pruned;
		assert_int_equal(cop_tree_build_new(1, 2, COP_TREE_VALUES, &build), COP_OK);
		int32_t root = cop_tree_build_axis(build, 0, 0.0f);
		int32_t left = cop_tree_build_linear(build, 1, &first, &v, &c);
		cop_tree_build_children(build, root, left, cop_tree_build_constant(build, both));
		assert_int_equal(cop_tree_build_finish(build, root, &tree), COP_OK);
		assert_int_equal(cop_tree_prune(tree, rows, &pruned), COP_OK);
		assert_int_equal(cop_tree_leaves(pruned), alike ? 1 : 2);
		cop_tree_free(pruned);
		cop_tree_free(tree);
		cop_tree_build_free(build);
	}
}

#define ROWS 150

static void test_prune_any_tree_keeps_what_its_rows_get(void **state)
{
	(void)state;
	static const fixture_shape shapes[] = {
		{ 6, 2, 60, COP_TREE_PROBABILITIES, false },
		{ 6, 3, 60, COP_TREE_LOGITS, true },
		{ 6, 2, 60, COP_TREE_LOGITS, false },
		{ 6, 1, 60, COP_TREE_VALUES, true },
		{ 6, 2, 0, COP_TREE_VALUES, false },
	};
	cop_rng rng;
	cop_rng_init(&rng, 21, 0);
	for (size_t s = 0; s < 5 * 10; s++) {
		const fixture_shape *shape = &shapes[s % 5];
		float x[ROWS][6], value[6], before[3], after[3];
		uint32_t index[6];
		uint64_t rows[61] = { 0 }, again[61] = { 0 };
		cop_row row, sparse;
		cop_tree *tree = fixture_tree(shape, &rng), *pruned;
		for (size_t i = 0; i < ROWS; i++) {
			fixture_row(&rng, 6, 1, x[i], index, value, &row, &sparse);
			rows[cop_tree_leaf(tree, &row)]++;
		}
		assert_int_equal(cop_tree_prune(tree, rows, &pruned), COP_OK);
		assert_true(cop_tree_leaves(pruned) <= cop_tree_leaves(tree));
		for (size_t i = 0; i < ROWS; i++) {
			row.dense = x[i];
			(void)cop_tree_predict(tree, &row, before);
			again[cop_tree_predict(pruned, &row, after)]++;
			assert_int_equal(cop_tree_class(tree, &row), cop_tree_class(pruned, &row));
			if (shape->link == COP_TREE_VALUES)
				assert_memory_equal(before, after, shape->outputs * sizeof *before);
		}
		for (size_t l = 0; l < cop_tree_leaves(pruned); l++)
			assert_true(again[l] > 0);
		cop_tree_free(pruned);
		cop_tree_free(tree);
	}
}

static void test_prune_allocation_fails_gives_enomem(void **state)
{
	(void)state;
	static const fixture_shape shape = { 6, 3, 20, COP_TREE_LOGITS, true };
	uint64_t rows[21];
	cop_rng rng;
	cop_rng_init(&rng, 22, 0);
	cop_tree *tree = fixture_tree(&shape, &rng);
	for (size_t l = 0; l < 21; l++)
		rows[l] = l % 3;
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		cop_tree *pruned;
		cop_test_alloc_fail(n, 0);
		err = cop_tree_prune(tree, rows, &pruned);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		assert_int_equal(pruned == NULL, err != COP_OK);
		cop_tree_free(pruned);
	}
	cop_tree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prune_nothing_on_one_side_takes_the_other),
		cmocka_unit_test(test_prune_same_class_takes_the_more_used_leaf),
		cmocka_unit_test(test_prune_equal_values_become_one_leaf),
		cmocka_unit_test(test_prune_absent_rows_count_as_zero_values),
		cmocka_unit_test(test_prune_any_tree_keeps_what_its_rows_get),
		cmocka_unit_test(test_prune_allocation_fails_gives_enomem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
