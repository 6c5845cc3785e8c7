/* Nodes with facets: margins against their formula, over dense and sparse rows; what is saved, copied and cut keeps
 * them; what goes left is convex; parts that are no facets are refused. */
#include "support.h"

#include <float.h>

#include "tree_fixture.h"

#define SEED   31U
#define D      9
#define FACETS 4

/* A polytope over an axis split, a lone facet and a linear node; five leaves of two values. */
static cop_tree *make_tree(cop_rng *rng)
{
	cop_tree_build *build;
	cop_tree *tree;
	float beta[FACETS * (D + 1)], r[FACETS], w[D];
	int32_t node[4], leaf[5];
	assert_int_equal(cop_tree_build_new(D, 2, COP_TREE_VALUES, &build), COP_OK);
	for (size_t k = 0; k < FACETS; k++) {
		fixture_vector(rng, D, 1 + k, beta + k * (D + 1));
		beta[k * (D + 1) + D] = (float)cop_rng_normal(rng);
		r[k] = (float)(0.1 + cop_rng_unit(rng));
	}
	fixture_vector(rng, D, 2, w);
	node[0] = cop_tree_build_polytope(build, FACETS, beta, r, 2.0f);
	node[1] = cop_tree_build_axis(build, 3, 0.25f);
	node[2] = cop_tree_build_polytope(build, 1, beta + 2 * (D + 1), r + 1, 0.5f);
	node[3] = cop_tree_build_node(build, w, 0.1f);
	for (size_t l = 0; l < 5; l++) {
		const float values[2] = { (float)l, (float)cop_rng_normal(rng) };
		leaf[l] = cop_tree_build_constant(build, values);
	}
	cop_tree_build_children(build, node[0], node[1], node[2]);
	cop_tree_build_children(build, node[1], leaf[0], leaf[1]);
	cop_tree_build_children(build, node[2], node[3], leaf[2]);
	cop_tree_build_children(build, node[3], leaf[3], leaf[4]);
	assert_int_equal(cop_tree_build_finish(build, node[0], &tree), COP_OK);
	cop_tree_build_free(build);
	return tree;
}

static double naive_margin(const cop_tree *tree, size_t t, const float *x)
{
	const cop_tree_parts *parts = cop_tree_view(tree);
	double size, sum = fixture_sum(&parts->nodes, t, x, &size);
	for (size_t k = parts->facet[t]; k < parts->facet[t + 1]; k++)
		sum += (double)parts->r[k] * log(1.0 + exp(fixture_sum(&parts->facets, k, x, &size)));
	return sum;
}

static void test_margins_of_dense_and_sparse_rows_equal_the_formula(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	cop_tree *tree = make_tree(&rng);
	size_t met[5] = { 0 };
	assert_int_equal(cop_tree_facets(tree), FACETS + 1);
	for (size_t trial = 0; trial < 2000; trial++) {
		float x[D], value[D];
		uint32_t index[D];
		cop_row dense, sparse;
		cop_tree_step steps[COP_TREE_MAX_DEPTH];
		size_t leaf;
		fixture_row(&rng, D, 1 + trial % 4, x, index, value, &dense, &sparse);
		for (size_t t = 0; t < 4; t++) {
			const double expected = naive_margin(tree, t, x);
			assert_true(fabs((double)cop_tree_margin(tree, t, &dense) - expected) <
			            1e-5 * (1.0 + fabs(expected)));
			assert_true(fabs((double)cop_tree_margin(tree, t, &sparse) - expected) <
			            1e-5 * (1.0 + fabs(expected)));
		}
		const size_t count = cop_tree_path(tree, &dense, steps, &leaf);
		for (size_t i = 0; i < count; i++)
			assert_true(steps[i].right == (steps[i].margin >= 0.0f));
		assert_int_equal(leaf, cop_tree_leaf(tree, &dense));
		met[leaf]++;
	}
	for (size_t l = 0; l < 5; l++)
		assert_true(met[l] > 0);
	cop_tree_free(tree);
}

static void test_huge_rows_stay_finite_and_find_their_side(void **state)
{
	(void)state;
	cop_rng rng;
	float x[D];
	cop_rng_init(&rng, SEED, 1);
	cop_tree *tree = make_tree(&rng);
	for (size_t trial = 0; trial < 50; trial++) {
		for (size_t j = 0; j < D; j++)
			x[j] = trial % 2 == 0 ? 1e30f * (float)cop_rng_normal(&rng) : 1e-30f;
		const cop_row row = { .d = D, .dense = x };
		const float margin = cop_tree_margin(tree, 0, &row);
		assert_true(margin >= 0.0f || margin < 0.0f);
		assert_true(cop_tree_leaf(tree, &row) < 5);
	}
	cop_tree_free(tree);
}

static void test_what_goes_left_is_convex(void **state)
{
	(void)state;
	cop_rng rng;
	size_t looked = 0;
	cop_rng_init(&rng, SEED, 2);
	cop_tree *tree = make_tree(&rng);
	for (size_t trial = 0; trial < 20000; trial++) {
		float x[3][D];
		const float part = (float)cop_rng_unit(&rng);
		float margin[3];
		for (size_t j = 0; j < D; j++) {
			x[0][j] = (float)cop_rng_normal(&rng);
			x[1][j] = (float)cop_rng_normal(&rng);
			x[2][j] = x[0][j] + part * (x[1][j] - x[0][j]);
		}
		for (size_t i = 0; i < 3; i++)
			margin[i] = cop_tree_margin(tree, 0, &(cop_row){ .d = D, .dense = x[i] });
		if (margin[0] > -1e-5f || margin[1] > -1e-5f)
			continue;
		assert_true(margin[2] < 0.0f);
		looked++;
	}
	assert_true(looked > 1000);
	cop_tree_free(tree);
}

static void expect_equal(const cop_tree *a, const cop_tree *b)
{
	cop_bytes one, other;
	fixture_save(a, &one);
	fixture_save(b, &other);
	assert_int_equal(one.length, other.length);
	assert_memory_equal(one.data, other.data, one.length);
	cop_bytes_fini(&one);
	cop_bytes_fini(&other);
}

static void test_saved_copied_and_uncut_trees_are_the_same(void **state)
{
	(void)state;
	cop_rng rng;
	cop_bytes bytes;
	cop_tree *loaded, *copied, *pruned;
	const uint64_t rows[5] = { 1, 1, 1, 1, 1 };
	cop_rng_init(&rng, SEED, 3);
	cop_tree *tree = make_tree(&rng);
	fixture_save(tree, &bytes);
	assert_int_equal(
	        cop_tree_load(bytes.data + FIXTURE_SECTION_HEAD, bytes.length - FIXTURE_SECTION_HEAD, &loaded), COP_OK);
	assert_int_equal(cop_tree_new(cop_tree_view(tree), &copied), COP_OK);
	assert_int_equal(cop_tree_prune(tree, rows, &pruned), COP_OK);
	expect_equal(tree, loaded);
	expect_equal(tree, copied);
	expect_equal(tree, pruned);
	assert_int_equal(cop_tree_parameters(tree), cop_tree_parameters(loaded));
	cop_tree_free(loaded);
	cop_tree_free(copied);
	cop_tree_free(pruned);
	cop_bytes_fini(&bytes);
	cop_tree_free(tree);
}

/* Without rows right of the root, the polytope of one facet goes. */
static void test_cutting_takes_the_facets_of_nodes_along(void **state)
{
	(void)state;
	cop_rng rng;
	cop_tree *pruned;
	const uint64_t left[5] = { 1, 1, 0, 0, 0 }, below[5] = { 0, 1, 1, 1, 1 };
	float x[D];
	cop_rng_init(&rng, SEED, 4);
	cop_tree *tree = make_tree(&rng);
	assert_int_equal(cop_tree_prune(tree, left, &pruned), COP_OK);
	assert_int_equal(cop_tree_facets(pruned), 0);
	cop_tree_free(pruned);
	assert_int_equal(cop_tree_prune(tree, below, &pruned), COP_OK);
	assert_int_equal(cop_tree_facets(pruned), FACETS + 1);
	assert_int_equal(cop_tree_view(pruned)->nodes.count, 3);
	for (size_t j = 0; j < D; j++)
		x[j] = (float)cop_rng_normal(&rng);
	const cop_row row = { .d = D, .dense = x };
	assert_true(cop_tree_margin(tree, 2, &row) == cop_tree_margin(pruned, 1, &row));
	cop_tree_free(pruned);
	cop_tree_free(tree);
}

static void test_parameters_count_facets(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 5);
	cop_tree *tree = make_tree(&rng);
	const cop_tree_parts *parts = cop_tree_view(tree);
	const size_t stored = parts->facets.start[FACETS + 1] + parts->nodes.start[4];
	/* each facet's c and r, each node's bias, two values a leaf */
	assert_int_equal(cop_tree_parameters(tree), stored + 2 * (FACETS + 1) + 4 + 2 * 5);
	cop_tree_free(tree);
}

static void expect_refused(const cop_tree_parts *parts, cop_err err)
{
	cop_tree *tree;
	assert_int_equal(cop_tree_new(parts, &tree), err);
	assert_null(tree);
}

static void test_parts_that_are_no_facets_are_refused(void **state)
{
	(void)state;
	cop_rng rng;
	cop_tree *copied;
	cop_rng_init(&rng, SEED, 6);
	cop_tree *tree = make_tree(&rng);
	cop_tree_parts parts = *cop_tree_view(tree);
	const float r[5] = { 1, 1, 1, 1, 0 }, infinite[5] = { 1, 1, 1, 1, (float)INFINITY };
	const size_t backwards[5] = { 0, 4, 2, 5, 5 }, few[5] = { 0, 4, 4, 4, 4 }, both[5] = { 0, 4, 5, 5, 5 };
	parts.r = r;
	expect_refused(&parts, COP_EINVAL);
	parts.r = infinite;
	expect_refused(&parts, COP_EINVAL);
	parts.r = cop_tree_view(tree)->r;
	parts.facet = backwards;
	expect_refused(&parts, COP_EINVAL);
	parts.facet = few;
	expect_refused(&parts, COP_EINVAL);
	parts.facet = both; /* node 1 has a feature, too */
	expect_refused(&parts, COP_EINVAL);
	parts.facet = cop_tree_view(tree)->facet;
	assert_int_equal(cop_tree_new(&parts, &copied), COP_OK);
	cop_tree_free(copied);
	cop_tree_free(tree);
}

static void test_damaged_bytes_give_an_error_or_a_tree(void **state)
{
	(void)state;
	cop_rng rng;
	cop_bytes bytes;
	cop_rng_init(&rng, SEED, 7);
	cop_tree *tree = make_tree(&rng);
	fixture_save(tree, &bytes);
	uint8_t *at = bytes.data + FIXTURE_SECTION_HEAD;
	const size_t length = bytes.length - FIXTURE_SECTION_HEAD;
	for (size_t cut = 0; cut < length; cut++) {
		cop_tree *loaded;
		assert_int_not_equal(cop_tree_load(at, cut, &loaded), COP_OK);
		assert_null(loaded);
	}
	for (size_t i = 0; i < length; i++) {
		cop_tree *loaded;
		const uint8_t kept = at[i];
		at[i] ^= (uint8_t)(1U << cop_rng_below(&rng, 8));
		if (cop_tree_load(at, length, &loaded) == COP_OK) {
			cop_bytes again;
			fixture_save(loaded, &again);
			assert_memory_equal(again.data + FIXTURE_SECTION_HEAD, at, length);
			cop_bytes_fini(&again);
		}
		cop_tree_free(loaded);
		at[i] = kept;
	}
	cop_bytes_fini(&bytes);
	cop_tree_free(tree);
}

static void test_no_memory_is_said(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 8);
	cop_tree *tree = make_tree(&rng);
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		cop_tree *copied;
		assert_true(n < 100);
		cop_test_alloc_fail(n, 0);
		err = cop_tree_new(cop_tree_view(tree), &copied);
		cop_test_alloc_fail(0, 0);
		assert_true(err == COP_OK || err == COP_ENOMEM);
		cop_tree_free(copied);
	}
	cop_tree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_margins_of_dense_and_sparse_rows_equal_the_formula),
		cmocka_unit_test(test_huge_rows_stay_finite_and_find_their_side),
		cmocka_unit_test(test_what_goes_left_is_convex),
		cmocka_unit_test(test_saved_copied_and_uncut_trees_are_the_same),
		cmocka_unit_test(test_cutting_takes_the_facets_of_nodes_along),
		cmocka_unit_test(test_parameters_count_facets),
		cmocka_unit_test(test_parts_that_are_no_facets_are_refused),
		cmocka_unit_test(test_damaged_bytes_give_an_error_or_a_tree),
		cmocka_unit_test(test_no_memory_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
