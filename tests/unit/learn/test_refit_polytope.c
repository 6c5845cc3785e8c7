/* Trees whose splits are polytopes, served: an ensemble takes them in as it does linear ones, frozen it decides by them
 * and stays, saved and loaded it is the same; dgt, whose splits are linear, refuses them. */
#include <stdlib.h>

#include "support.h"

#include "learn/learner.h"
#include "learn/refit.h"
#include "refitted_fixture.h"

static cop_trees *polytopes(size_t count)
{
	const refit_shape shape = { .d = FIXTURE_D, .outputs = FIXTURE_ARMS, .depth = 3, .polytope = true };
	cop_trees *trees = refit_trees(&shape, count, 17);
	assert_true(cop_tree_facets(cop_trees_at(trees, 0)) > 0);
	return trees;
}

static void test_served_polytopes_say_what_the_trees_say(void **state)
{
	(void)state;
	cop_rng rng;
	cop_refit *r, *loaded;
	cop_bytes bytes;
	cop_cursor cursor;
	size_t leaves[64] = { 0 }, met = 0;
	cop_trees *trees = polytopes(1);
	cop_rng_init(&rng, FIXTURE_SEED, 1);
	assert_int_equal(cop_refit_new(trees, FIXTURE_D, FIXTURE_ARMS, 9, &r, NULL), COP_OK);
	cop_bytes_init(&bytes);
	cop_refit_save(r, &bytes);
	assert_int_equal(bytes.err, COP_OK);
	assert_int_equal(cop_refit_empty(FIXTURE_D, FIXTURE_ARMS, &loaded), COP_OK);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_refit_load(loaded, &cursor), COP_OK);
	for (size_t i = 0; i < 500; i++) {
		fixture_event e;
		float work[FIXTURE_ARMS], told[FIXTURE_ARMS], again[FIXTURE_ARMS];
		double want[FIXTURE_ARMS];
		fixture_draw(&e, &rng, false);
		cop_trees_predict(trees, &e.row, work, want);
		cop_refit_predict(r, &e.row, told);
		cop_refit_predict(loaded, &e.row, again);
		assert_memory_equal(told, again, sizeof told);
		for (size_t k = 0; k < FIXTURE_ARMS; k++)
			assert_float_equal(told[k], want[k], 1e-6);
		leaves[cop_tree_leaf(cop_trees_at(trees, 0), &e.row)]++;
	}
	for (size_t l = 0; l < 64; l++)
		met += leaves[l] > 0;
	assert_true(met >= 3);
	cop_bytes_fini(&bytes);
	cop_refit_free(loaded);
	cop_refit_free(r);
	cop_trees_free(trees);
}

static void test_frozen_ensemble_of_polytopes_decides_and_stays(void **state)
{
	(void)state;
	cop_learner_settings s;
	cop_rng rng;
	cop_learner *same;
	cop_diag diag = { 0 };
	cop_explanation why;
	cop_decision d = { .arm = 1 };
	fixture_event e;
	cop_trees *trees = polytopes(2);
	fixture_settings(&s, "ensemble", false);
	cop_learner *learner = fixture_learner(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 2);
	(void)fixture_run(learner, &rng, false, 300);
	assert_int_equal(cop_learner_refit(learner, trees, &diag), COP_OK);
	(void)fixture_run(learner, &rng, false, 300);
	cop_learner_freeze(learner, true);
	const uint64_t rev = learner->rev;
	fixture_draw(&e, &rng, false);
	const double before = cop_learner_greedy(learner, &e.row, NULL);
	(void)fixture_run(learner, &rng, false, 300);
	assert_int_equal(learner->rev, rev);
	assert_true(cop_learner_greedy(learner, &e.row, NULL) == before);
	cop_learner_freeze(learner, false);
	assert_int_equal(cop_learner_clone(learner, &same), COP_OK);
	refit_assert_same(learner, same);
	assert_int_equal(cop_learner_explanation_init(learner, &why), COP_OK);
	cop_learner_explain(learner, &e.row, NULL, &d, &why);
	const cop_explained_expert *refit = &why.experts[why.expert_count - 1];
	assert_string_equal(refit->name, "refit");
	assert_int_equal(refit->trees, 2);
	cop_explanation_fini(&why);
	cop_learner_free(same);
	cop_learner_free(learner);
	cop_trees_free(trees);
}

/* The weights that are told of a node are those of the facet that weighs most at the row. */
static void test_explained_nodes_show_their_heaviest_facet(void **state)
{
	(void)state;
	cop_rng rng;
	cop_refit *r;
	cop_explanation why;
	cop_learner_settings s;
	size_t shown = 0;
	cop_trees *trees = polytopes(1);
	const cop_tree *tree = cop_trees_at(trees, 0);
	const cop_tree_parts *parts = cop_tree_view(tree);
	fixture_settings(&s, "ensemble", false);
	cop_learner *learner = fixture_learner(&s);
	cop_diag diag = { 0 };
	assert_int_equal(cop_learner_refit(learner, trees, &diag), COP_OK);
	assert_int_equal(cop_refit_new(trees, FIXTURE_D, FIXTURE_ARMS, 1, &r, NULL), COP_OK);
	cop_rng_init(&rng, FIXTURE_SEED, 3);
	for (size_t i = 0; i < 20; i++) {
		fixture_event e;
		fixture_draw(&e, &rng, false);
		assert_int_equal(cop_learner_explanation_init(learner, &why), COP_OK);
		cop_explained_expert expert = { .name = "refit" };
		cop_refit_explain(r, &e.row, 0, &why, &expert);
		for (size_t n = 0; n < why.node_count; n++) {
			const cop_explained_node *node = &why.nodes[n];
			const size_t facet = cop_tree_heaviest_facet(tree, node->node, &e.row);
			for (size_t f = 0; f < node->count; f++) {
				bool found = false;
				for (size_t at = parts->facets.start[facet]; at < parts->facets.start[facet + 1]; at++)
					found |= parts->facets.index[at] == node->features[f].index &&
					         parts->facets.weight[at] == node->features[f].weight;
				assert_true(found);
				shown++;
			}
		}
		cop_explanation_fini(&why);
	}
	assert_true(shown > 0);
	cop_refit_free(r);
	cop_learner_free(learner);
	cop_trees_free(trees);
}

static void test_dgt_refuses_polytopes(void **state)
{
	(void)state;
	cop_learner_settings s;
	cop_diag diag = { 0 };
	cop_trees *trees = polytopes(1);
	fixture_settings(&s, "dgt", false);
	cop_learner *learner = fixture_learner(&s);
	assert_int_equal(cop_learner_refit(learner, trees, &diag), COP_ESHAPE);
	assert_string_equal(diag.message, "learner dgt takes a tree with linear splits, not polytopes");
	cop_learner_free(learner);
	cop_trees_free(trees);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_served_polytopes_say_what_the_trees_say),
		cmocka_unit_test(test_frozen_ensemble_of_polytopes_decides_and_stays),
		cmocka_unit_test(test_explained_nodes_show_their_heaviest_facet),
		cmocka_unit_test(test_dgt_refuses_polytopes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
