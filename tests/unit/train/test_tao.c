/* Whole fits on small random data: E on every iteration, starts, threads, pruning, what is refused. */
#include "unit/train/tao_problem.h"

#include <stdio.h>
#include <string.h>

#include "tree/tree_build.h"

static bool near(double a, double b) { return fabs(a - b) <= 1e-5 * (1 + fabs(a) + fabs(b)); }

/* a <= b, but for rounding. */
static bool at_most(double a, double b) { return a <= b || near(a, b); }

static void check_descent(const tao_problem *p, const cop_tree *tree, const cop_tao_report *report)
{
	for (unsigned i = 1; i <= report->iterations; i++)
		assert_true(report->history[i] <= report->history[i - 1]);
	assert_true(near(report->objective, tao_naive_objective(p, tree)));
	if (p->set.prune)
		assert_true(at_most(report->objective, report->history[report->iterations]));
	else
		assert_true(near(report->objective, report->history[report->iterations]));
}

static void fit_and_check(tao_problem *p)
{
	for (int prune = 0; prune < 2; prune++) {
		cop_tao_report report;
		p->set.prune = prune;
		cop_tree *tree = tao_run(p, NULL, NULL, &report);
		check_descent(p, tree, &report);
		cop_mem_free(report.history);
		cop_tree_free(tree);
	}
}

static void test_objective_every_loss_leaf_split_order_never_rises(void **unused)
{
	(void)unused;
	for (int c = 0; c < COP_TAO_LOSSES * 16; c++) {
		tao_problem p;
		tao_make(&p, (cop_tao_loss)(c / 16), TAO_ROWS, (c & 1) != 0, (uint64_t)c);
		p.set.split = (c & 2) != 0 ? COP_TAO_AXIS : COP_TAO_OBLIQUE;
		p.set.leaves = (c & 4) != 0 ? COP_TAO_LINEAR : COP_TAO_CONSTANT;
		p.set.order = (c & 8) != 0 ? COP_TAO_LEAVES_FIRST : COP_TAO_ROOT_FIRST;
		fit_and_check(&p);
		tao_end(&p);
	}
}

/* After k sweeps the tree itself, and not just the best one so far, is no worse than after k - 1. */
static void test_objective_monotone_falls_with_every_sweep(void **unused)
{
	(void)unused;
	for (int c = 0; c < COP_TAO_LOSSES * 8; c++) {
		tao_problem p;
		double last = (double)INFINITY;
		tao_make(&p, (cop_tao_loss)(c / 8), TAO_ROWS, false, (uint64_t)c + 300);
		p.set.leaves = (c & 1) != 0 ? COP_TAO_LINEAR : COP_TAO_CONSTANT;
		p.set.order = (c & 2) != 0 ? COP_TAO_LEAVES_FIRST : COP_TAO_ROOT_FIRST;
		p.set.split = (c & 4) != 0 ? COP_TAO_AXIS : COP_TAO_OBLIQUE;
		p.set.monotone = true;
		p.set.prune = false;
		p.set.tolerance = 0;
		for (p.set.iterations = 1; p.set.iterations <= 8; p.set.iterations++) {
			cop_tao_report report;
			cop_tree *tree = tao_run(&p, NULL, NULL, &report);
			check_descent(&p, tree, &report);
			assert_true(report.iterations <= p.set.iterations);
			assert_true(at_most(tao_naive_objective(&p, tree), last));
			last = report.objective;
			cop_mem_free(report.history);
			cop_tree_free(tree);
		}
		tao_end(&p);
	}
}

static void test_objective_many_iterations_ends_at_a_fixed_point(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_tao_report report;
	tao_make(&p, COP_TAO_ZERO_ONE, TAO_ROWS, false, 5);
	p.set.iterations = 1000;
	cop_tree *tree = tao_run(&p, NULL, NULL, &report);
	assert_in_range(report.iterations, 1, 999);
	check_descent(&p, tree, &report);
	cop_mem_free(report.history);
	cop_tree_free(tree);
	tao_end(&p);
}

static double errors(const tao_problem *p, const cop_tree *tree)
{
	size_t wrong = 0;

	for (size_t i = 0; i < p->sample.n; i++) {
		cop_row row;
		cop_dataset_row(p->rows, i, &row);
		wrong += cop_tree_class(tree, &row) != p->label[i];
	}
	return (double)wrong / (double)p->sample.n;
}

static void test_classes_oblique_are_learned(void **unused)
{
	(void)unused;
	tao_problem p;
	tao_make(&p, COP_TAO_ZERO_ONE, TAO_ROWS, false, 7);
	p.sample.weight = NULL;
	p.set.iterations = 20;
	cop_tree *tree = tao_run(&p, NULL, NULL, NULL);
	assert_true(errors(&p, tree) < 0.15); /* a tenth of the labels is random */
	cop_tree_free(tree);
	tao_end(&p);
}

static bool same_tree(const cop_tree *a, const cop_tree *b)
{
	cop_bytes x, y;

	cop_bytes_init(&x);
	cop_bytes_init(&y);
	cop_tree_save(a, &x);
	cop_tree_save(b, &y);
	assert_int_equal(x.err, COP_OK);
	bool same = x.length == y.length && memcmp(x.data, y.data, x.length) == 0;
	cop_bytes_fini(&x);
	cop_bytes_fini(&y);
	return same;
}

static void test_tree_any_number_of_threads_is_the_same(void **unused)
{
	(void)unused;
	for (int c = 0; c < COP_TAO_LOSSES * 2; c++) {
		tao_problem p;
		tao_make(&p, (cop_tao_loss)(c / 2), TAO_ROWS, c % 3 == 0, 11);
		p.set.leaves = (c & 1) != 0 ? COP_TAO_LINEAR : COP_TAO_CONSTANT;
		cop_tree *one = tao_run(&p, NULL, NULL, NULL);
		for (unsigned threads = 2; threads <= 4; threads += 2) {
			cop_pool *pool;
			assert_int_equal(cop_pool_new(threads, &pool), COP_OK);
			cop_tree *many = tao_run(&p, NULL, pool, NULL);
			assert_true(same_tree(one, many));
			cop_tree_free(many);
			cop_pool_free(pool);
		}
		cop_tree_free(one);
		tao_end(&p);
	}
}

static void test_tree_same_seed_is_the_same(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_rng rng;
	cop_tree *other;
	tao_make(&p, COP_TAO_SQUARED, TAO_ROWS, true, 13);
	cop_tree *a = tao_run(&p, NULL, NULL, NULL), *b = tao_run(&p, NULL, NULL, NULL);
	assert_true(same_tree(a, b));
	cop_rng_init(&rng, 2, 0);
	assert_int_equal(cop_tao_fit(&p.set, &p.sample, NULL, NULL, &rng, NULL, NULL, &other), COP_OK);
	assert_false(same_tree(a, other));
	cop_tree_free(a);
	cop_tree_free(b);
	cop_tree_free(other);
	tao_end(&p);
}

/* A chain, deeper than the settings say: node t cuts feature t % d at a threshold, its left child is a leaf. */
static cop_tree *chain(unsigned depth, cop_tree_link link)
{
	cop_tree_build *build;
	cop_tree *tree;
	const float share[TAO_OUTPUTS] = { 0.1F, 0.2F, 0.3F, 0.4F };
	int32_t below;

	assert_int_equal(cop_tree_build_new(TAO_FEATURES, TAO_OUTPUTS, link, &build), COP_OK);
	below = cop_tree_build_constant(build, share);
	for (unsigned t = depth; t-- > 0;) {
		int32_t node = cop_tree_build_axis(build, t % TAO_FEATURES, (float)t * 0.1F - 0.6F);
		cop_tree_build_children(build, node, cop_tree_build_constant(build, share), below);
		below = node;
	}
	assert_int_equal(cop_tree_build_finish(build, below, &tree), COP_OK);
	cop_tree_build_free(build);
	return tree;
}

static void test_given_start_no_iteration_keeps_its_nodes(void **unused)
{
	(void)unused;
	tao_problem p;
	tao_make(&p, COP_TAO_ZERO_ONE, TAO_ROWS, false, 17);
	p.set.iterations = 0;
	p.set.prune = false;
	p.set.depth = 1;
	cop_tree *start = chain(9, COP_TREE_PROBABILITIES), *tree = tao_run(&p, start, NULL, NULL);
	const cop_tree_parts *a = cop_tree_view(start), *b = cop_tree_view(tree);
	assert_int_equal(b->nodes.count, 9);
	assert_memory_equal(a->nodes.bias, b->nodes.bias, 9 * sizeof(float));
	assert_memory_equal(a->nodes.index, b->nodes.index, 9 * sizeof(uint32_t));
	assert_true(tao_naive_objective(&p, tree) <= tao_naive_objective(&p, start));
	cop_tree_free(start);
	cop_tree_free(tree);
	tao_end(&p);
}

static void test_given_start_every_loss_never_rises(void **unused)
{
	(void)unused;
	for (int c = 0; c < COP_TAO_LOSSES * 2; c++) {
		tao_problem p;
		cop_tao_report report;
		tao_make(&p, (cop_tao_loss)(c / 2), TAO_ROWS, false, 19);
		p.set.leaves = (c & 1) != 0 ? COP_TAO_LINEAR : COP_TAO_CONSTANT;
		p.set.prune = false;
		bool classes = p.sample.task == COP_TASK_CLASSES;
		cop_tree *start = chain(6, classes ? COP_TREE_PROBABILITIES : COP_TREE_VALUES);
		cop_tree *tree = tao_run(&p, start, NULL, &report);
		check_descent(&p, tree, &report);
		assert_true(at_most(report.history[0], tao_naive_objective(&p, start)));
		/* Its own tree as the start of a second fit: the leaves, too, begin where they were. */
		cop_tao_report again;
		cop_tree *second = tao_run(&p, tree, NULL, &again);
		assert_true(at_most(again.history[0], report.objective));
		check_descent(&p, second, &again);
		cop_mem_free(report.history);
		cop_mem_free(again.history);
		cop_tree_free(start);
		cop_tree_free(tree);
		cop_tree_free(second);
		tao_end(&p);
	}
}

static void test_given_start_lone_leaf_is_fitted(void **unused)
{
	(void)unused;
	tao_problem p;
	tao_make(&p, COP_TAO_SQUARED, 50, false, 23);
	cop_tree *start = chain(0, COP_TREE_VALUES);
	for (int swept = 0; swept < 2; swept++) { /* even where no iteration is allowed */
		p.set.iterations = swept ? 6 : 0;
		cop_tree *tree = tao_run(&p, start, NULL, NULL);
		assert_int_equal(cop_tree_leaves(tree), 1);
		assert_true(tao_naive_objective(&p, tree) < tao_naive_objective(&p, start));
		cop_tree_free(tree);
	}
	cop_tree_free(start);
	tao_end(&p);
}

static void test_given_start_of_another_shape_is_refused(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_rng rng;
	cop_tree *tree = NULL;
	tao_make(&p, COP_TAO_ZERO_ONE, 50, false, 29);
	cop_tree *start = chain(2, COP_TREE_PROBABILITIES);
	p.sample.outputs = TAO_OUTPUTS + 1;
	cop_rng_init(&rng, 1, 0);
	assert_int_equal(cop_tao_fit(&p.set, &p.sample, start, NULL, &rng, NULL, NULL, &tree), COP_ESHAPE);
	assert_null(tree);
	cop_tree_free(start);
	tao_end(&p);
}

static void test_pruned_tree_predicts_the_same(void **unused)
{
	(void)unused;
	for (int c = 0; c < COP_TAO_LOSSES * 2; c++) {
		tao_problem p;
		tao_make(&p, (cop_tao_loss)(c / 2), TAO_ROWS, (c & 1) != 0, 31);
		p.set.depth = 6;
		p.set.alpha = 2;
		p.set.prune = false;
		cop_tree *whole = tao_run(&p, NULL, NULL, NULL);
		p.set.prune = true;
		cop_tree *cut = tao_run(&p, NULL, NULL, NULL);
		assert_true(cop_tree_leaves(cut) <= cop_tree_leaves(whole));
		for (size_t i = 0; i < p.sample.n; i++) {
			cop_row row;
			float a[TAO_OUTPUTS], b[TAO_OUTPUTS];
			cop_dataset_row(p.rows, i, &row);
			cop_tree_predict(whole, &row, a);
			cop_tree_predict(cut, &row, b);
			if (p.set.loss == COP_TAO_ZERO_ONE)
				assert_int_equal(cop_tree_class(whole, &row), cop_tree_class(cut, &row));
			else
				assert_memory_equal(a, b, sizeof a);
		}
		cop_tree_free(whole);
		cop_tree_free(cut);
		tao_end(&p);
	}
}

static void test_costs_of_zero_and_one_are_the_zero_one_loss(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_tao_report classes, costs;
	tao_make(&p, COP_TAO_ZERO_ONE, TAO_ROWS, false, 37);
	p.sample.weight = NULL;
	cop_tree *a = tao_run(&p, NULL, NULL, &classes);
	for (size_t i = 0; i < TAO_ROWS; i++)
		for (uint32_t k = 0; k < TAO_OUTPUTS; k++)
			p.target[i * TAO_OUTPUTS + k] = p.label[i] != k;
	p.set.loss = COP_TAO_COST;
	p.sample.task = COP_TASK_COSTS;
	cop_tree *b = tao_run(&p, NULL, NULL, &costs);
	assert_int_equal(classes.iterations, costs.iterations);
	for (unsigned i = 0; i <= costs.iterations; i++)
		assert_true(near(classes.history[i], costs.history[i]));
	for (size_t i = 0; i < TAO_ROWS; i++) {
		cop_row row;
		float out[TAO_OUTPUTS];
		uint32_t least = 0;
		cop_dataset_row(p.rows, i, &row);
		cop_tree_predict(b, &row, out);
		for (uint32_t k = 1; k < TAO_OUTPUTS; k++)
			least = out[k] < out[least] ? k : least;
		assert_int_equal(cop_tree_class(a, &row), least);
	}
	cop_mem_free(classes.history);
	cop_mem_free(costs.history);
	cop_tree_free(a);
	cop_tree_free(b);
	tao_end(&p);
}

static void test_rows_that_repeat_weigh_as_often(void **unused)
{
	(void)unused;
	tao_problem p;
	uint32_t twice[2 * TAO_ROWS];
	cop_tao_report report;
	tao_make(&p, COP_TAO_SQUARED, TAO_ROWS, false, 41);
	for (uint32_t i = 0; i < 2 * TAO_ROWS; i++)
		twice[i] = i / 2;
	p.sample.row = twice;
	p.sample.n = 2 * TAO_ROWS;
	cop_tree *tree = tao_run(&p, NULL, NULL, &report);
	check_descent(&p, tree, &report);
	cop_mem_free(report.history);
	cop_tree_free(tree);
	tao_end(&p);
}

static void test_rows_all_equal_or_one_give_a_leaf(void **unused)
{
	(void)unused;
	tao_problem p;
	uint32_t same[20] = { 0 };
	tao_make(&p, COP_TAO_ZERO_ONE, 20, false, 43);
	p.sample.row = same;
	for (size_t n = 1; n <= 20; n += 19) {
		p.sample.n = n;
		cop_tree *tree = tao_run(&p, NULL, NULL, NULL);
		cop_row row;
		cop_dataset_row(p.rows, 0, &row);
		assert_int_equal(cop_tree_leaves(tree), 1);
		assert_int_equal(cop_tree_class(tree, &row), p.label[0]);
		cop_tree_free(tree);
	}
	tao_end(&p);
}

static bool stop_at_two(void *context, double share, const char *text)
{
	unsigned *calls = context;

	assert_true(share >= 0 && share <= 1);
	assert_non_null(strstr(text, "objective"));
	return ++*calls < 3;
}

static void test_progress_false_stops_with_what_there_is(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_rng rng;
	cop_tree *tree;
	cop_tao_report report;
	unsigned calls = 0;
	cop_progress progress = { stop_at_two, &calls };
	tao_make(&p, COP_TAO_ZERO_ONE, TAO_ROWS, false, 47);
	cop_rng_init(&rng, 1, 0);
	assert_int_equal(cop_tao_fit(&p.set, &p.sample, NULL, NULL, &rng, &progress, &report, &tree), COP_OK);
	assert_int_equal(report.iterations, 3); /* the start's first sweep, and two more */
	check_descent(&p, tree, &report);
	cop_mem_free(report.history);
	cop_tree_free(tree);
	tao_end(&p);
}

static void refuse(const tao_problem *p)
{
	cop_rng rng;
	cop_tree *tree = NULL;

	cop_rng_init(&rng, 1, 0);
	assert_int_equal(cop_tao_fit(&p->set, &p->sample, NULL, NULL, &rng, NULL, NULL, &tree), COP_EINVAL);
	assert_null(tree);
}

static void test_settings_out_of_range_are_refused(void **unused)
{
	(void)unused;
	tao_problem good;
	tao_make(&good, COP_TAO_ZERO_ONE, 50, false, 53);
	tao_problem p = good;
	p.set.depth = 0;
	refuse(&p);
	p.set.depth = COP_TAO_MAX_DEPTH + 1;
	refuse(&p);
	p = good;
	p.set.alpha = -1;
	refuse(&p);
	p.set.alpha = (double)NAN;
	refuse(&p);
	p = good;
	p.set.leaf_alpha = (double)INFINITY;
	refuse(&p);
	p = good;
	p.set.loss = COP_TAO_SQUARED;
	refuse(&p);
	p = good;
	p.set.node_tolerance = 0;
	refuse(&p);
	p = good;
	p.set.node_steps = 0;
	refuse(&p);
	p = good;
	p.sample.n = 0;
	refuse(&p);
	p = good;
	p.sample.outputs = 2;
	refuse(&p);
	p = good;
	p.sample.label = NULL;
	refuse(&p);
	p = good;
	p.sample.n = (size_t)COP_DATASET_MAX_ROWS + 1;
	refuse(&p);
	p = good;
	p.set.split = (cop_tao_split)9;
	refuse(&p);
	p = good;
	p.set.leaves = (cop_tao_leaves)9;
	refuse(&p);
	p = good;
	p.set.order = (cop_tao_order)9;
	refuse(&p);
	p = good;
	p.set.tolerance = -1e-9;
	refuse(&p);
	p.set.tolerance = (double)NAN;
	refuse(&p);
	p = good;
	p.set.iterations = UINT32_MAX;
	refuse(&p);
	p = good;
	p.sample.task = COP_TASK_VALUES;
	p.set.loss = COP_TAO_SQUARED;
	p.sample.target = NULL;
	refuse(&p);
	p.sample.target = p.target;
	p.sample.outputs = 0;
	refuse(&p);
	tao_end(&good);
}

static void test_settings_at_the_ends_of_their_range_are_taken(void **unused)
{
	(void)unused;
	tao_problem good;
	tao_make(&good, COP_TAO_ZERO_ONE, 50, false, 53);
	good.set.iterations = 1;
	for (int c = 0; c < 7; c++) {
		tao_problem p = good;
		p.set.depth = c == 0 ? 1 : c == 1 ? COP_TAO_MAX_DEPTH : p.set.depth;
		p.set.alpha = c == 2 ? 0 : p.set.alpha;
		p.set.leaf_alpha = c == 3 ? 0 : p.set.leaf_alpha;
		p.set.tolerance = 0;
		p.set.node_steps = c == 4 ? 1 : p.set.node_steps;
		p.sample.n = c == 5 ? 1 : p.sample.n;
		p.set.iterations = c == 6 ? 0 : 1;
		cop_tree *tree = tao_run(&p, NULL, NULL, NULL);
		assert_true(c != 0 || cop_tree_leaves(tree) <= 2);
		assert_true(c != 5 || cop_tree_leaves(tree) == 1);
		cop_tree_free(tree);
	}
	tao_end(&good);
}

/* What progress is told before each sweep. */
typedef struct told {
	unsigned calls;
	double share[8];
	char text[8][120];
} told;

static bool note(void *context, double share, const char *text)
{
	told *t = context;

	assert_true(t->calls < 8);
	t->share[t->calls] = share;
	(void)snprintf(t->text[t->calls++], sizeof t->text[0], "%s", text);
	return true;
}

static void test_progress_counts_iterations_and_nodes(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_rng rng;
	cop_tree *tree;
	cop_tao_report report;
	told t = { .calls = 0 };
	cop_progress progress = { note, &t };
	tao_make(&p, COP_TAO_SQUARED, 100, false, 61);
	p.set.iterations = 2;
	p.set.depth = 2;
	p.set.alpha = 0;
	cop_tree *start = chain(2, COP_TREE_VALUES);
	cop_rng_init(&rng, 1, 0);
	assert_int_equal(cop_tao_fit(&p.set, &p.sample, start, NULL, &rng, &progress, &report, &tree), COP_OK);
	assert_true(t.calls >= 2);
	for (unsigned i = 0; i < t.calls && i < 2; i++) {
		char want[64];
		(void)snprintf(want, sizeof want, "iteration %u of 2, objective ", i);
		assert_memory_equal(t.text[i], want, strlen(want));
		assert_true(t.share[i] == 0.5 * i);
	}
	assert_non_null(strstr(t.text[0], ", 2 nodes"));
	cop_mem_free(report.history);
	cop_tree_free(start);
	cop_tree_free(tree);
	tao_end(&p);
}

static void fail_every_allocation(cop_tao_loss loss, cop_tao_leaves leaves, bool sparse)
{
	tao_problem p;
	cop_tree *tree = NULL;
	cop_err err = COP_ENOMEM;
	unsigned long n = 0;
	tao_make(&p, loss, 24, sparse, 59);
	p.set.depth = 2;
	p.set.iterations = 2;
	p.set.leaves = leaves;
	p.set.leaf_classes = 2;
	while (err == COP_ENOMEM) {
		cop_rng rng;
		cop_tao_report report;
		cop_rng_init(&rng, 1, 0);
		cop_test_alloc_fail(++n, 0);
		err = cop_tao_fit(&p.set, &p.sample, NULL, NULL, &rng, NULL, &report, &tree);
		bool reached = cop_test_alloc_count() >= n;
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err != COP_OK || !reached); /* none that failed went by unseen */
		assert_true((err == COP_OK) == (tree != NULL));
		cop_mem_free(report.history);
	}
	assert_int_equal(err, COP_OK);
	assert_true(n > 30);
	cop_tree_free(tree);
	tao_end(&p);
}

static void test_allocation_that_fails_is_told(void **unused)
{
	(void)unused;
	fail_every_allocation(COP_TAO_ZERO_ONE, COP_TAO_CONSTANT, false);
	fail_every_allocation(COP_TAO_ZERO_ONE, COP_TAO_LINEAR, true);
	fail_every_allocation(COP_TAO_ABSOLUTE, COP_TAO_LINEAR, false);
	fail_every_allocation(COP_TAO_CROSS_ENTROPY, COP_TAO_CONSTANT, false);
}

static void test_defaults_are_those_that_the_documents_name(void **unused)
{
	(void)unused;
	static const struct {
		cop_task task;
		cop_tao_loss loss;
		cop_tao_order order;
		double alpha, leaf_alpha;
	} of[] = { { COP_TASK_CLASSES, COP_TAO_ZERO_ONE, COP_TAO_LEAVES_FIRST, 0.3, 0.5 },
		{ COP_TASK_VALUES, COP_TAO_SQUARED, COP_TAO_ROOT_FIRST, 0.2, 1.0 },
		{ COP_TASK_COSTS, COP_TAO_COST, COP_TAO_LEAVES_FIRST, 0.3, 0.5 } };
	for (size_t i = 0; i < 3; i++) {
		cop_tao_settings s;
		cop_tao_defaults(of[i].task, &s);
		assert_true(s.loss == of[i].loss && s.order == of[i].order);
		assert_true(s.alpha == of[i].alpha && s.leaf_alpha == of[i].leaf_alpha);
		assert_true(s.depth == 6 && s.split == COP_TAO_OBLIQUE && s.leaves == COP_TAO_CONSTANT);
		assert_true(s.leaf_classes == 0 && s.iterations == 40 && !s.monotone && s.prune);
		assert_true(s.tolerance == 1e-4 && s.node_tolerance == 3e-3 && s.node_steps == 50);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_are_those_that_the_documents_name),
		cmocka_unit_test(test_objective_every_loss_leaf_split_order_never_rises),
		cmocka_unit_test(test_objective_monotone_falls_with_every_sweep),
		cmocka_unit_test(test_objective_many_iterations_ends_at_a_fixed_point),
		cmocka_unit_test(test_classes_oblique_are_learned),
		cmocka_unit_test(test_tree_any_number_of_threads_is_the_same),
		cmocka_unit_test(test_tree_same_seed_is_the_same),
		cmocka_unit_test(test_given_start_no_iteration_keeps_its_nodes),
		cmocka_unit_test(test_given_start_every_loss_never_rises),
		cmocka_unit_test(test_given_start_lone_leaf_is_fitted),
		cmocka_unit_test(test_given_start_of_another_shape_is_refused),
		cmocka_unit_test(test_pruned_tree_predicts_the_same),
		cmocka_unit_test(test_costs_of_zero_and_one_are_the_zero_one_loss),
		cmocka_unit_test(test_rows_that_repeat_weigh_as_often),
		cmocka_unit_test(test_rows_all_equal_or_one_give_a_leaf),
		cmocka_unit_test(test_progress_false_stops_with_what_there_is),
		cmocka_unit_test(test_settings_out_of_range_are_refused),
		cmocka_unit_test(test_settings_at_the_ends_of_their_range_are_taken),
		cmocka_unit_test(test_progress_counts_iterations_and_nodes),
		cmocka_unit_test(test_allocation_that_fails_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
