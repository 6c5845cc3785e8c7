/* Refits of models with arms: the policy that comes out, what it may and may not come from. */
#include "support.h"

#include "refit_fixture.h"

static void check_leaves(const cop_trees *trees)
{
	const cop_tree *tree = cop_trees_at(trees, 0);
	assert_int_equal(cop_trees_outputs(trees), WORLD_ARMS);
	assert_true(cop_tree_constant_leaves(tree));
	for (size_t l = 0; l < cop_tree_leaves(tree); l++) {
		float out[WORLD_ARMS];
		cop_tree_leaf_outputs(tree, l, NULL, out);
		for (size_t k = 0; k < WORLD_ARMS; k++)
			assert_true(out[k] >= 0.0f && out[k] <= 1.0f);
	}
}

static void check_policy(const world *w, const cop_refit_settings *set, double most)
{
	cop_refit_report report;
	double logged = write_arms(w);
	cop_trees *trees = refit_with(set, NULL, NULL, &report);
	double loss = policy_loss(w, trees);
	check_leaves(trees);
	print_message("logged %.3f, refit %.3f, alpha %g, leaves %d; judged %.3f against %.3f, gain in [%.3f, %.3f]\n",
	        logged, loss, report.alpha, (int)report.leaves, report.summary.challenger_snips,
	        report.summary.champion_snips, report.summary.low[COP_PROMOTION_TEST_DR],
	        report.summary.high[COP_PROMOTION_TEST_DR]);
	assert_true(loss <= most && loss < logged - 0.2);
	assert_true(report.summary.challenger_snips < report.summary.champion_snips);
	assert_int_equal(report.fitted.events, 4 * w->events / 5);
	assert_int_equal(report.judged.events, w->events / 5);
	assert_true(report.fitted.first == 1 && report.fitted.last < report.judged.first);
	assert_int_equal(report.summary.events, report.judged.answered);
	assert_true(report.memory > 0 && report.learned > report.judged.first && !report.stopped);
	cop_trees_free(trees);
}

static void test_tao_finds_the_best_policy(void **state)
{
	(void)state;
	const cop_refit_settings set = quick();
	check_policy(&plain_world, &set, 0.3);
}

static void test_tao_on_ips_costs_finds_a_good_policy(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	set.costs = COP_REFIT_IPS;
	check_policy(&plain_world, &set, 0.4);
}

static void test_tao_of_sparse_contexts_finds_the_best_policy(void **state)
{
	(void)state;
	const cop_refit_settings set = quick();
	world w = plain_world;
	w.sparse = true;
	check_policy(&w, &set, 0.3);
}

static void test_tao_with_masks_finds_the_best_policy(void **state)
{
	(void)state;
	const cop_refit_settings set = quick();
	world w = plain_world;
	w.masks = true;
	check_policy(&w, &set, 0.3);
}

static void test_laptao_with_few_answers_finds_a_good_policy(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	world w = plain_world;
	set.method = COP_REFIT_LAPTAO;
	w.answered = 0.4;
	check_policy(&w, &set, 0.4);
	w.sparse = true;
	empty_folder();
	check_policy(&w, &set, 0.4);
}

static void test_forest_finds_the_best_policy(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	set.method = COP_REFIT_FOREST;
	set.trees = 8;
	check_policy(&plain_world, &set, 0.3);
	empty_folder();
	world masked = plain_world;
	masked.masks = true;
	check_policy(&masked, &set, 0.3);
}

/* One tree is all that learner dgt takes, and sparse contexts are split by hyperplanes. */
static void test_forest_gives_way_to_one_tree_where_it_cannot_be(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		world w = plain_world;
		w.dgt = i == 1;
		w.sparse = i == 2;
		cop_refit_settings set = quick();
		cop_refit_report report;
		set.method = COP_REFIT_FOREST;
		set.trees = 5;
		write_arms(&w);
		cop_trees *trees = refit_with(&set, NULL, NULL, &report);
		assert_int_equal(cop_trees_count(trees), i == 0 ? 5 : 1);
		assert_true(i == 0 || report.depth <= set.height);
		cop_trees_free(trees);
		empty_folder();
	}
}

static void test_forest_is_the_same_again_and_of_different_trees(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	cop_refit_report report;
	set.method = COP_REFIT_FOREST;
	set.trees = 2;
	write_arms(&plain_world);
	cop_trees *a = refit_with(&set, NULL, NULL, &report), *b = refit_with(&set, NULL, NULL, &report);
	assert_true(same_trees(a, b));
	assert_int_not_equal(cop_tree_parameters(cop_trees_at(a, 0)), cop_tree_parameters(cop_trees_at(a, 1)));
	set.seed++;
	cop_trees_free(b);
	b = refit_with(&set, NULL, NULL, &report);
	assert_false(same_trees(a, b));
	cop_trees_free(a);
	cop_trees_free(b);
}

/* The serving model knows the losses but for a shift of each arm. */
static cop_err tell_losses(void *context, const cop_row *x, size_t arms, float *out)
{
	assert_int_equal(arms, WORLD_ARMS);
	(*(size_t *)context)++;
	for (size_t k = 0; k < arms; k++)
		out[k] = (float)(mean_loss_of(x->dense, k) * 0.5 + 0.1 * (double)k);
	return COP_OK;
}

static cop_err fail_to_tell(void *context, const cop_row *x, size_t arms, float *out)
{
	(void)context;
	(void)x;
	(void)arms;
	(void)out;
	return COP_EIO;
}

static void test_serving_model_is_asked_and_corrected(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	cop_refit_report report;
	size_t asked = 0;
	const cop_refit_estimate serving = { tell_losses, &asked }, broken = { fail_to_tell, NULL };
	world w = plain_world;
	w.epsilon = 0.3;
	(void)write_arms(&w);
	cop_trees *trees = refit_with(&set, &serving, NULL, &report);
	assert_true(asked >= report.fitted.answered);
	assert_true(policy_loss(&w, trees) < 0.3);
	cop_trees_free(trees);
	assert_int_equal(cop_refit_run(&set, folder, &broken, NULL, NULL, &report, &trees, NULL), COP_EIO);
	assert_null(trees);
}

static void test_arm_that_was_never_played_is_never_best(void **state)
{
	(void)state;
	world w = plain_world;
	w.never = 2;
	(void)write_arms(&w);
	for (int method = 0; method < COP_REFIT_METHODS; method++) {
		cop_refit_settings set = quick();
		cop_refit_report report;
		set.method = (cop_refit_method)method;
		cop_trees *trees = refit_with(&set, NULL, NULL, &report);
		const cop_tree *tree = cop_trees_at(trees, 0);
		for (size_t l = 0; l < cop_tree_leaves(tree); l++) {
			float out[WORLD_ARMS];
			cop_tree_leaf_outputs(tree, l, NULL, out);
			assert_true(out[2] >= out[0] && out[2] >= out[1] && out[2] >= out[3]);
		}
		cop_trees_free(trees);
	}
}

static void test_held_out_events_do_not_move_the_tree(void **state)
{
	(void)state;
	for (int method = 0; method < COP_REFIT_METHODS; method++) {
		cop_refit_settings set = quick();
		cop_refit_report first, second;
		world w = plain_world;
		w.events = 500;
		set.method = (cop_refit_method)method;
		empty_folder();
		(void)write_arms(&w);
		cop_trees *clean = refit_with(&set, NULL, NULL, &first);
		w.poisoned = w.events / 5;
		empty_folder();
		(void)write_arms(&w);
		cop_trees *poisoned = refit_with(&set, NULL, NULL, &second);
		assert_true(same_trees(clean, poisoned));
		assert_true(first.summary.mean_loss != second.summary.mean_loss);
		w.poisoned++; /* one more is fitted */
		empty_folder();
		(void)write_arms(&w);
		cop_trees_free(poisoned);
		poisoned = refit_with(&set, NULL, NULL, &second);
		assert_false(same_trees(clean, poisoned));
		cop_trees_free(clean);
		cop_trees_free(poisoned);
	}
}

static void test_same_seed_gives_the_same_tree_for_any_threads(void **state)
{
	(void)state;
	world w = plain_world;
	w.events = 600;
	(void)write_arms(&w);
	for (int method = 0; method < COP_REFIT_METHODS; method++) {
		cop_refit_settings set = quick();
		cop_refit_report report;
		cop_pool *pool;
		set.method = (cop_refit_method)method;
		assert_int_equal(cop_pool_new(3, &pool), COP_OK);
		cop_trees *one = refit_with(&set, NULL, NULL, &report);
		cop_trees *three = refit_with(&set, NULL, pool, &report);
		set.seed++;
		cop_trees *other = refit_with(&set, NULL, pool, &report);
		assert_true(same_trees(one, three));
		assert_false(same_trees(one, other));
		cop_trees_free(one);
		cop_trees_free(three);
		cop_trees_free(other);
		cop_pool_free(pool);
	}
}

/* The log plays the best arm mostly; a tree of losses turned round has nothing to offer. */
static void test_worse_challenger_is_judged_to_be_worse(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	cop_refit_report report;
	world w = plain_world;
	w.events = 3000;
	w.poisoned = 600; /* the judged part says the opposite of what was fitted */
	set.mix = 0.0;
	(void)write_arms(&w);
	cop_trees *trees = refit_with(&set, NULL, NULL, &report);
	assert_true(report.summary.value[COP_PROMOTION_TEST_IPS] <= 0.1);
	assert_int_not_equal(report.summary.verdict, COP_PROMOTION_TEST_BETTER);
	cop_trees_free(trees);
}

static void test_better_challenger_is_judged_to_be_better(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	cop_refit_report report;
	world w = plain_world;
	w.events = 4000;
	w.answered = 1.0;
	set.least_p = 1.0 / WORLD_ARMS;
	(void)write_arms(&w);
	cop_trees *trees = refit_with(&set, NULL, NULL, &report);
	assert_int_equal(report.summary.verdict, COP_PROMOTION_TEST_BETTER);
	assert_true(report.summary.low[COP_PROMOTION_TEST_DR] > 0.2);
	cop_trees_free(trees);
	double wide = report.summary.high[COP_PROMOTION_TEST_DR] - report.summary.low[COP_PROMOTION_TEST_DR];
	set.least_p = 0.5; /* not so */
	trees = refit_with(&set, NULL, NULL, &report);
	assert_true(report.summary.high[COP_PROMOTION_TEST_DR] - report.summary.low[COP_PROMOTION_TEST_DR] > wide);
	cop_trees_free(trees);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tao_finds_the_best_policy),
		TEST(test_tao_on_ips_costs_finds_a_good_policy),
		TEST(test_tao_of_sparse_contexts_finds_the_best_policy),
		TEST(test_tao_with_masks_finds_the_best_policy),
		TEST(test_laptao_with_few_answers_finds_a_good_policy),
		TEST(test_forest_finds_the_best_policy),
		TEST(test_forest_gives_way_to_one_tree_where_it_cannot_be),
		TEST(test_forest_is_the_same_again_and_of_different_trees),
		TEST(test_serving_model_is_asked_and_corrected),
		TEST(test_arm_that_was_never_played_is_never_best),
		TEST(test_held_out_events_do_not_move_the_tree),
		TEST(test_same_seed_gives_the_same_tree_for_any_threads),
		TEST(test_worse_challenger_is_judged_to_be_worse),
		TEST(test_better_challenger_is_judged_to_be_better),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
