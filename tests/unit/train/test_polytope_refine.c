/* All splits of a convex polytope tree together: gradients against finite differences, what refining promises, and the
 * common hard tree that it ends in. */
#include "support.h"

#include <string.h>

#include "base/mem.h"
#include "polytope_scene.h"
#include "train/polytope_pass.h"
#include "train/polytope_refine.h"

#define SEED 41U

static void grow(const scene *s, unsigned height, cop_polytope_tree *tree)
{
	cop_polytope_tree_settings settings = quick();
	settings.height = height;
	assert_int_equal(cop_polytope_tree_fit(&settings, &s->rows, SEED, NULL, tree), COP_OK);
}

static void expect_gradients(const cop_polytope_tree *tree, const cop_polytope_rows *rows, double lambda)
{
	cop_polytope_pass *pass;
	const float h = 1.0f / 512.0f;
	assert_int_equal(cop_polytope_pass_new(tree, rows->n, &pass), COP_OK);
	const size_t weights = cop_polytope_pass_weights(pass);
	float *w = cop_mem_alloc(weights, sizeof *w), *g = cop_mem_alloc(weights, sizeof *g);
	float *other = cop_mem_alloc(weights, sizeof *other);
	double largest = 0.0;
	assert_true(w != NULL && g != NULL && other != NULL);
	cop_polytope_pass_take(pass, w);
	(void)cop_polytope_pass_run(pass, w, rows, lambda, 0.0, g); /* the leaves' means */
	(void)cop_polytope_pass_run(pass, w, rows, lambda, 1.0, g);
	for (size_t e = 0; e < weights; e++) {
		const float at = w[e];
		w[e] = at + h;
		const double above = cop_polytope_pass_run(pass, w, rows, lambda, 1.0, other), up = (double)w[e];
		w[e] = at - h;
		const double below = cop_polytope_pass_run(pass, w, rows, lambda, 1.0, other), down = (double)w[e];
		w[e] = at;
		assert_true(fabs((above - below) / (up - down) - (double)g[e]) < 5e-4 + 0.02 * fabs((double)g[e]));
		largest = fmax(largest, fabs((double)g[e]));
	}
	assert_true(largest > 1e-3);
	cop_mem_free(w);
	cop_mem_free(g);
	cop_mem_free(other);
	cop_polytope_pass_free(pass);
}

static void test_gradients_equal_finite_differences(void **state)
{
	static scene s;
	cop_polytope_tree tree;
	(void)state;
	draw_ring(&s, 300, 0.4, 0.8, SEED);
	grow(&s, 3, &tree);
	assert_true(tree.splits >= 3);
	expect_gradients(&tree, &s.rows, 0.5);
	expect_gradients(&tree, &s.rows, 2.0);
	cop_polytope_tree_fini(&tree);
	draw_values(&s, 300, 0.4, 0.8, SEED);
	grow(&s, 3, &tree);
	assert_true(tree.splits >= 3);
	expect_gradients(&tree, &s.rows, 0.5);
	expect_gradients(&tree, &s.rows, 2.0);
	cop_polytope_tree_fini(&tree);
}

/* With the greatest steepness a soft tree's cost is the hard one's impurity. */
static void test_steep_passes_cost_what_the_hard_tree_does(void **state)
{
	static scene s;
	cop_polytope_tree tree;
	(void)state;
	for (int values = 0; values < 2; values++) {
		cop_polytope_pass *pass;
		values ? draw_values(&s, 500, 0.4, 0.8, SEED) : draw_ring(&s, 500, 0.4, 0.8, SEED);
		grow(&s, 2, &tree);
		assert_int_equal(cop_polytope_pass_new(&tree, s.rows.n, &pass), COP_OK);
		const size_t weights = cop_polytope_pass_weights(pass);
		float *w = cop_mem_alloc(weights, sizeof *w), *g = cop_mem_alloc(weights, sizeof *g);
		assert_true(w != NULL && g != NULL);
		cop_polytope_pass_take(pass, w);
		const double cost = cop_polytope_pass_run(pass, w, &s.rows, 1e7, 0.0, g);
		assert_true(fabs(cost - tree.impurity) < 0.02 * tree.impurity + 1e-3);
		cop_mem_free(w);
		cop_mem_free(g);
		cop_polytope_pass_free(pass);
		cop_polytope_tree_fini(&tree);
	}
}

/* The paper's ring (section 4.1): three leaves at depth 2, area 0.962. */
static void test_ring_has_three_leaves_and_a_large_area(void **state)
{
	static scene train, test;
	double sum = 0.0;
	(void)state;
	for (uint64_t seed = 0; seed < 3; seed++) {
		cop_polytope_tree_settings settings;
		cop_polytope_refine_settings refine;
		cop_polytope_tree tree;
		cop_polytope_tree_defaults(&settings);
		cop_polytope_refine_defaults(&refine);
		settings.height = 2;
		settings.least_gain = 0.1;
		draw_ring(&train, 2000, 0.4, 0.8, 2 * seed + SEED);
		draw_ring(&test, 4000, 0.4, 0.8, 2 * seed + SEED + 1);
		assert_int_equal(cop_polytope_tree_fit(&settings, &train.rows, seed, NULL, &tree), COP_OK);
		assert_int_equal(cop_polytope_refine(&refine, &train.rows, seed, NULL, &tree), COP_OK);
		assert_int_equal(tree.leaves, 3);
		assert_true(cop_polytope_tree_facets(&tree) < 2 * settings.split.experts);
		sum += scene_auc(&tree, &test) / 3.0;
		cop_polytope_tree_fini(&tree);
	}
	assert_true(sum >= 0.96);
}

static void test_refining_lowers_the_impurity_of_classes_and_values(void **state)
{
	static scene s;
	(void)state;
	for (int values = 0; values < 2; values++) {
		cop_polytope_refine_settings refine;
		cop_polytope_tree tree, again;
		cop_polytope_refine_defaults(&refine);
		values ? draw_values(&s, 1000, 0.4, 0.8, SEED) : draw_ring(&s, 1000, 0.4, 0.8, SEED);
		grow(&s, 2, &tree);
		grow(&s, 2, &again);
		const double before = tree.impurity;
		const size_t facets = cop_polytope_tree_facets(&tree), leaves = tree.leaves;
		assert_int_equal(cop_polytope_refine(&refine, &s.rows, 3, NULL, &tree), COP_OK);
		assert_true(tree.impurity < before && tree.leaves == leaves);
		assert_true(cop_polytope_tree_facets(&tree) <= facets);
		assert_int_equal(cop_polytope_refine(&refine, &s.rows, 3, NULL, &again), COP_OK);
		assert_memory_equal(tree.share, again.share, tree.leaves * tree.outputs * sizeof *tree.share);
		assert_memory_equal(tree.split[0].node.beta, again.split[0].node.beta, 3 * sizeof(float));
		cop_polytope_tree_fini(&tree);
		cop_polytope_tree_fini(&again);
	}
}

static void test_hard_tree_sends_rows_to_the_same_shares(void **state)
{
	static scene s;
	(void)state;
	for (int values = 0; values < 2; values++) {
		cop_polytope_tree tree;
		cop_tree *hard;
		values ? draw_values(&s, 1000, 0.4, 0.8, SEED) : draw_ring(&s, 1000, 0.4, 0.8, SEED);
		grow(&s, 3, &tree);
		assert_int_equal(cop_polytope_tree_hard(&tree, &hard), COP_OK);
		assert_int_equal(cop_tree_view(hard)->link, values ? COP_TREE_VALUES : COP_TREE_PROBABILITIES);
		assert_true(cop_tree_facets(hard) > 0 && cop_tree_facets(hard) <= cop_polytope_tree_facets(&tree));
		for (size_t i = 0; i < s.rows.n; i++) {
			const cop_row row = { .d = 2, .dense = s.x + 3 * i };
			const double *share = tree.share + cop_polytope_tree_leaf(&tree, s.x + 3 * i) * tree.outputs;
			float out[2];
			(void)cop_tree_predict(hard, &row, out);
			if (values)
				assert_true(fabs((double)out[0] - share[0]) < 1e-6);
			else /* leaves of one class may have become one */
				assert_int_equal(out[1] > out[0], share[1] > share[0]);
		}
		cop_tree_free(hard);
		cop_polytope_tree_fini(&tree);
	}
}

static void test_rows_and_shares_are_those_of_the_leaves(void **state)
{
	static scene s;
	cop_polytope_tree tree;
	uint64_t rows[8] = { 0 };
	double sum[8] = { 0 }, squares = 0.0;
	(void)state;
	draw_values(&s, 800, 0.4, 0.8, SEED);
	grow(&s, 3, &tree);
	for (size_t i = 0; i < s.rows.n; i++) {
		const size_t leaf = cop_polytope_tree_leaf(&tree, s.x + 3 * i);
		rows[leaf]++;
		sum[leaf] += (double)s.target[i];
		squares += pow((double)s.target[i] - tree.share[leaf], 2.0);
	}
	for (size_t l = 0; l < tree.leaves; l++) {
		assert_int_equal(rows[l], tree.rows[l]);
		assert_true(fabs(sum[l] / (double)rows[l] - tree.share[l]) < 1e-9);
	}
	assert_true(fabs(squares / 800.0 - tree.impurity) < 1e-9);
	cop_polytope_tree_fini(&tree);
}

static bool stop(void *context, double share, const char *text)
{
	unsigned *calls = context;
	assert_true(share >= 0.0 && share <= 1.0 && text[0] != '\0');
	return ++*calls < 3;
}

static void test_stopped_fits_end_with_what_there_is(void **state)
{
	static scene s;
	cop_polytope_tree tree;
	cop_polytope_refine_settings refine;
	unsigned calls = 0;
	const cop_progress progress = { stop, &calls };
	const cop_polytope_tree_settings settings = quick();
	(void)state;
	cop_polytope_refine_defaults(&refine);
	draw_ring(&s, 500, 0.4, 0.8, SEED);
	assert_int_equal(cop_polytope_tree_fit(&settings, &s.rows, 1, &progress, &tree), COP_OK);
	assert_true(calls >= 3 && tree.leaves == tree.splits + 1 && tree.splits >= 1);
	assert_int_equal(cop_polytope_refine(&refine, &s.rows, 1, &progress, &tree), COP_OK);
	cop_polytope_tree_fini(&tree);
}

static void test_bad_settings_and_short_memory_leave_the_tree(void **state)
{
	static scene s;
	cop_polytope_tree tree;
	cop_polytope_refine_settings refine;
	(void)state;
	draw_ring(&s, 80, 0.4, 0.8, SEED);
	grow(&s, 2, &tree);
	const double impurity = tree.impurity;
	cop_polytope_refine_defaults(&refine);
	refine.lr = 0.0;
	assert_int_equal(cop_polytope_refine(&refine, &s.rows, 1, NULL, &tree), COP_EINVAL);
	cop_polytope_refine_defaults(&refine);
	refine.last = refine.first / 2.0;
	assert_int_equal(cop_polytope_refine(&refine, &s.rows, 1, NULL, &tree), COP_EINVAL);
	cop_polytope_refine_defaults(&refine);
	refine.epochs = 0;
	assert_int_equal(cop_polytope_refine(&refine, &s.rows, 1, NULL, &tree), COP_OK);
	refine.epochs = 1;
	cop_err err = COP_ENOMEM;
	for (unsigned long fail = 1; err != COP_OK; fail++) {
		assert_true(tree.impurity == impurity && fail < 500);
		cop_test_alloc_fail(fail, 0);
		err = cop_polytope_refine(&refine, &s.rows, 1, NULL, &tree);
		cop_test_alloc_fail(0, 0);
		assert_true(err == COP_OK || err == COP_ENOMEM);
	}
	err = COP_ENOMEM;
	for (unsigned long fail = 1; err != COP_OK; fail++) {
		cop_tree *hard;
		assert_true(fail < 500);
		cop_test_alloc_fail(fail, 0);
		err = cop_polytope_tree_hard(&tree, &hard);
		cop_test_alloc_fail(0, 0);
		assert_true(err == COP_OK || err == COP_ENOMEM);
		assert_int_equal(hard == NULL, err != COP_OK);
		cop_tree_free(hard);
	}
	cop_polytope_tree_fini(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gradients_equal_finite_differences),
		cmocka_unit_test(test_steep_passes_cost_what_the_hard_tree_does),
		cmocka_unit_test(test_ring_has_three_leaves_and_a_large_area),
		cmocka_unit_test(test_refining_lowers_the_impurity_of_classes_and_values),
		cmocka_unit_test(test_hard_tree_sends_rows_to_the_same_shares),
		cmocka_unit_test(test_rows_and_shares_are_those_of_the_leaves),
		cmocka_unit_test(test_stopped_fits_end_with_what_there_is),
		cmocka_unit_test(test_bad_settings_and_short_memory_leave_the_tree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
