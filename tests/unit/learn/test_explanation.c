/* Explanations of all learners: shares, sums, order, and paths against the exported trees. */
#include "learner_fixture.h"

#include <stdio.h>

#include "base/mem.h"
#include "learn/standardiser.h"
#include "unit/tree/oblique_walk.h"

/* Order, and no feature twice. */
static void check_order(const cop_explained_feature *f, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			assert_true(fabsf(f[i].contribution) <= fabsf(f[i - 1].contribution));
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(f[k].index, f[i].index);
	}
}

static void check_features(const cop_explained_feature *f, size_t count, const float *x, size_t d)
{
	check_order(f, count);
	for (size_t i = 0; i < count; i++) {
		assert_in_range(f[i].index, 0, d); /* d is the constant */
		assert_true(f[i].value == (x == NULL ? f[i].value : x[f[i].index]));
		double product = (double)f[i].weight * (double)f[i].value;
		assert_true(fabs((double)f[i].contribution - product) <= 1e-6 * (1.0 + fabs(product)));
	}
}

/* Of an expert: features, their products (a quarter of the product, cut at 5), or what a forest credits them with. */
static void check_expert_features(
        const cop_learner *learner, const cop_explained_expert *expert, const float *x, size_t d)
{
	check_order(expert->features, expert->count);
	for (size_t n = 0; n < expert->count; n++) {
		cop_explained_feature f = expert->features[n];
		size_t i, j;
		if (strcmp(expert->name, "forest") == 0) {
			assert_true(f.weight == 0.0f && f.index < d && f.value == x[f.index]);
		} else if (f.index <= d) {
			check_features(&f, 1, x, d);
		} else {
			assert_true(learner->class->product(learner, f.index, &i, &j));
			assert_true(i <= j && j < d);
			assert_true(fabsf(f.value - 0.25f * fminf(fmaxf(x[i] * x[j], -5.0f), 5.0f)) < 1e-6f);
			assert_true(
			        fabsf(f.contribution - f.weight * f.value) <= 1e-6f * (1.0f + fabsf(f.contribution)));
		}
	}
}

/* x: the standardised row in full (zeros where absent), d + 1 values. shared: what the exported leaves hold beside. */
static void check_tree(const cop_explanation *e, const cop_explained_tree *shown, const cop_oblique_tree *tree,
        const float *x, size_t arm, double shared)
{
	size_t d = cop_oblique_tree_features(tree);
	cop_row row = { .d = d, .dense = x };
	cop_tree_step steps[COP_TREE_MAX_HEIGHT];
	size_t depth = cop_oblique_tree_depth(tree), leaf = walk_path(tree, &row, steps);
	assert_int_equal(shown->depth, depth);
	assert_int_equal(shown->leaf, leaf);
	assert_true(fabs((double)shown->value + shared - (double)cop_oblique_tree_values_view(tree, leaf)[arm]) < 1e-6);
	for (size_t i = 0; i < depth; i++) {
		const cop_explained_node *node = &e->nodes[shown->first_node + i];
		assert_int_equal(node->node, steps[i].node);
		assert_true(fabs((double)node->margin - (double)steps[i].margin) < 1e-4);
		assert_in_range(node->count, 1, COP_EXPLANATION_NODE);
		check_features(node->features, node->count, x, d);
		for (size_t f = 0; f < node->count; f++)
			if (node->features[f].index < d)
				assert_true(
				        node->features[f].weight ==
				        cop_oblique_tree_weights_view(tree, steps[i].node)[node->features[f].index]);
	}
}

static void check_experts(const cop_learner *learner, const cop_explanation *e, const float *x, size_t d)
{
	double mixed = 0.5;
	size_t trees = 0;
	assert_in_range(e->expert_count, 1, COP_EXPLANATION_EXPERTS);
	for (size_t i = 0; i < e->expert_count; i++) {
		const cop_explained_expert *expert = &e->experts[i];
		assert_non_null(expert->name);
		mixed += expert->weight * (expert->prediction - 0.5);
		check_expert_features(learner, expert, x, d);
		assert_int_equal(expert->first_tree, trees);
		trees += expert->trees;
	}
	assert_true(fabs(mixed - e->prediction) < 1e-5);
	assert_int_equal(trees, e->tree_count);
	assert_int_equal(trees, cop_learner_trees(learner));
}

/* Explains a few contexts of a learner that has learned a while. */
static void check_learner(const char *name, bool sparse)
{
	cop_learner_settings s;
	fixture_settings(&s, name, sparse);
	cop_learner *learner = fixture_learner(&s);
	size_t d = cop_learner_dimension(&learner->settings);
	static float x[(1 << FIXTURE_BITS) + 1];
	cop_standardiser *standardiser;
	assert_int_equal(cop_standardiser_new(d, sparse, FIXTURE_D, &standardiser), COP_OK);
	cop_rng rng, again;
	cop_rng_init(&rng, FIXTURE_SEED, 40);
	again = rng;
	(void)fixture_run(learner, &rng, sparse, 400);
	fixture_event event;
	for (size_t n = 0; n < 400; n++) { /* the same statistics as the learner's own */
		fixture_draw(&event, &again, sparse);
		cop_standardiser_observe(standardiser, &event.row);
	}
	cop_explanation e;
	assert_int_equal(cop_learner_explanation_init(learner, &e), COP_OK);
	for (size_t n = 0; n < 40; n++) {
		cop_decision decision;
		cop_row row;
		fixture_draw(&event, &rng, sparse);
		assert_int_equal(cop_learner_decide(learner, &event.row, NULL, &decision), COP_OK);
		cop_standardiser_observe(standardiser, &event.row);
		cop_standardiser_apply(standardiser, &event.row, &row);
		memset(x, 0, sizeof x);
		for (size_t i = 0; i < (sparse ? row.nnz : row.d); i++)
			x[sparse ? row.index[i] : i] = sparse ? row.value[i] : row.dense[i];
		cop_learner_explain(learner, &event.row, NULL, &decision, &e);
		assert_int_equal(e.arm, decision.arm);
		assert_true(e.rev == learner->rev);
		check_experts(learner, &e, x, d);
		double shared = strcmp(name, "dgt") == 0 ? e.experts[0].linear : 0.0; /* its leaf bias */
		for (size_t m = 0; m < e.tree_count; m++) {
			cop_oblique_tree *tree;
			assert_int_equal(cop_learner_tree(learner, m, &tree), COP_OK);
			check_tree(&e, &e.trees[m], tree, x, decision.arm, shared);
			cop_oblique_tree_free(tree);
		}
		if (strcmp(name, "ensemble") == 0)
			for (size_t i = 0; i < e.expert_count; i++)
				assert_true(fabs(e.experts[i].prediction - (double)decision.prediction[i]) < 1e-5);
		if (strcmp(name, "dgt") == 0)
			assert_true(fabs(e.prediction - 1.0 / (1.0 + exp((double)e.trees[0].value + shared))) < 1e-6);
	}
	cop_explanation_fini(&e);
	cop_standardiser_free(standardiser);
	cop_learner_free(learner);
}

static void test_ensemble_explanation_is_consistent(void **state)
{
	(void)state;
	check_learner("ensemble", false);
	check_learner("ensemble", true);
}

static void test_dgt_explanation_is_consistent(void **state)
{
	(void)state;
	check_learner("dgt", false);
	check_learner("dgt", true);
}

static void test_value_explanation_is_consistent(void **state)
{
	(void)state;
	check_learner("value", false);
	check_learner("value", true);
}

static void test_top_equals_full_sort(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 41);
	printf("seed %u\n", FIXTURE_SEED);
	for (size_t n = 0; n < 500; n++) {
		test_row r;
		float w[ROW_MAX * 3];
		cop_explained_feature out[COP_EXPLANATION_LINEAR];
		row_random(&r, &rng, 1 + (size_t)cop_rng_below(&rng, ROW_MAX), 0.5, 0);
		size_t stride = 1 + (size_t)cop_rng_below(&rng, 3);
		for (size_t i = 0; i < r.d * stride; i++)
			w[i] = (float)cop_rng_normal(&rng);
		uint8_t most = (uint8_t)(1 + cop_rng_below(&rng, COP_EXPLANATION_LINEAR));
		cop_row row = n % 2 ? row_sparse(&r) : row_dense(&r);
		uint8_t count = cop_explanation_top(&row, w, stride, most, out);
		assert_true(count <= most && count <= (n % 2 ? r.nnz : r.d));
		for (size_t i = 0; i < count; i++) {
			size_t heavier = 0; /* how many entries weigh strictly more */
			for (size_t j = 0; j < r.d; j++)
				heavier += fabsf(w[j * stride] * r.dense[j]) > fabsf(out[i].contribution);
			assert_true(heavier <= i);
			assert_true(out[i].weight == w[out[i].index * stride]);
			assert_true(out[i].value == r.dense[out[i].index]);
		}
		check_features(out, count, r.dense, r.d);
		if (r.nnz >= most)
			assert_int_equal(count, most);
	}
}

#define PATH_D    150 /* several blocks of entries, the last one cut */
#define PATH_ODDS 7   /* of weights that are zero; others repeat, so that entries weigh the same */

/* A path of one tree among `trees`, and what cop_explanation_top finds at each of its nodes. */
static void check_path(cop_rng *rng, size_t d, unsigned height, size_t trees, bool sparse)
{
	size_t columns = trees * ((size_t)1 << height);
	float *w = cop_mem_alloc(d * columns, sizeof *w);
	float *a = cop_mem_alloc(columns, sizeof *a);
	float x[PATH_D], value[PATH_D];
	uint32_t index[PATH_D];
	cop_row row = { .d = d, .dense = sparse ? NULL : x, .index = index, .value = value };
	for (size_t i = 0; i < d; i++) {
		x[i] = cop_rng_below(rng, 3) == 0 ? 1.0f : (float)cop_rng_normal(rng);
		if (sparse && cop_rng_below(rng, 2) == 0) {
			index[row.nnz] = (uint32_t)i;
			value[row.nnz++] = x[i];
		}
	}
	for (size_t i = 0; i < d * columns; i++)
		w[i] = (float)cop_rng_below(rng, PATH_ODDS) - 3.0f;
	for (size_t i = 0; i < columns; i++)
		a[i] = (float)cop_rng_normal(rng);
	size_t m = (size_t)cop_rng_below(rng, trees);
	cop_explanation e;
	assert_int_equal(cop_explanation_init(&e, 1, height), COP_OK);
	cop_explained_tree *tree = cop_explanation_tree(&e, cop_explanation_expert(&e, "any"));
	cop_explanation_path(&e, tree, &row, a + m, trees, w + m, columns, height);
	assert_int_equal(tree->depth, height);
	size_t t = 0;
	for (size_t level = 0; level < height; level++) {
		cop_explained_feature top[COP_EXPLANATION_NODE];
		const cop_explained_node *node = &e.nodes[level];
		assert_int_equal(node->node, t);
		assert_true(node->margin == a[m + t * trees]);
		assert_int_equal(
		        node->count, cop_explanation_top(&row, w + m + t * trees, columns, COP_EXPLANATION_NODE, top));
		assert_memory_equal(node->features, top, node->count * sizeof *top);
		t = 2 * t + (node->margin >= 0.0f ? 2 : 1);
	}
	cop_explanation_fini(&e);
	cop_mem_free(w);
	cop_mem_free(a);
}

static void test_path_has_the_top_of_each_node(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 42);
	printf("seed %u\n", FIXTURE_SEED);
	for (size_t n = 0; n < 300; n++) {
		size_t d = 1 + (size_t)cop_rng_below(&rng, PATH_D);
		unsigned height = (unsigned)(1 + cop_rng_below(&rng, 10)); /* more nodes than are looked at at once */
		check_path(&rng, d, height, 1 + (size_t)cop_rng_below(&rng, 3), n % 2 != 0);
	}
}

static void test_init_short_of_memory_is_refused(void **state)
{
	(void)state;
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		cop_explanation e;
		cop_test_alloc_fail(n, 0);
		err = cop_explanation_init(&e, 3, 4);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		if (err == COP_OK)
			cop_explanation_fini(&e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ensemble_explanation_is_consistent),
		cmocka_unit_test(test_dgt_explanation_is_consistent),
		cmocka_unit_test(test_value_explanation_is_consistent),
		cmocka_unit_test(test_top_equals_full_sort),
		cmocka_unit_test(test_path_has_the_top_of_each_node),
		cmocka_unit_test(test_init_short_of_memory_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
