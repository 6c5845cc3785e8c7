/* LapTAO as a whole: what its objective does, its leaves, masks, threads, starts, what it refuses, and what it is for.
 */
#include "unit/train/laptao_problem.h"

static bool near(double a, double b, double share) { return fabs(a - b) <= share * (1e-9 + fabs(a) + fabs(b)); }

static void check_lagrangian(const cop_laptao_report *report)
{
	assert_true(report->rounds >= 1);
	for (unsigned r = 0; r < report->rounds; r++) {
		const double *l = report->lagrangian + 3 * (size_t)r;
		assert_true(l[1] <= l[0] + 1e-9 * fabs(l[0]));
		assert_true(l[2] <= l[1] + 1e-12 * fabs(l[1]));
	}
}

/* ---- (3.5) and (3.1) ---- */

static void test_lagrangian_any_settings_never_rises_in_a_round(void **unused)
{
	(void)unused;
	for (unsigned c = 0; c < 48; c++) {
		laptao_problem p;
		cop_laptao_report report;
		laptao_make(&p, 120, c % 2 == 0 ? 1 : 3, c);
		bool shared = (c & 2) != 0;
		p.set.tree.leaves = (c & 4) != 0 ? COP_TAO_LINEAR : COP_TAO_CONSTANT;
		p.set.multiplier_step = (c & 8) != 0 ? 2 : 1;
		p.set.trees = c % 3 == 0 ? 3 : 1;
		p.set.mu = c < 24 ? 1e-3 : 0.1;
		if (shared && p.outputs > 1 && c % 5 != 0)
			p.sample.task = COP_TASK_CLASSES;
		cop_trees *trees = laptao_run(&p, shared, NULL, NULL, &report);
		assert_int_equal(report.rounds, p.set.rounds);
		check_lagrangian(&report);
		cop_mem_free(report.lagrangian);
		cop_trees_free(trees);
		laptao_end(&p);
	}
}

static void test_objective_of_the_result_is_what_is_reported(void **unused)
{
	(void)unused;
	for (unsigned c = 0; c < 16; c++) {
		laptao_problem p;
		cop_laptao_report report;
		laptao_make(&p, 100, 3, 50 + c);
		bool shared = (c & 1) != 0;
		p.set.tree.leaves = (c & 2) != 0 ? COP_TAO_LINEAR : COP_TAO_CONSTANT;
		p.set.trees = (c & 4) != 0 ? 3 : 1;
		p.set.tree.prune = (c & 8) != 0;
		if (shared)
			p.sample.task = COP_TASK_CLASSES;
		cop_trees *trees = laptao_run(&p, shared, NULL, NULL, &report);
		assert_true(near(report.objective, laptao_naive_objective(&p, shared, trees), 1e-5));
		cop_mem_free(report.lagrangian);
		cop_trees_free(trees);
		laptao_end(&p);
	}
}

static void test_rounds_growing_mu_closes_the_gap(void **unused)
{
	(void)unused;
	laptao_problem p;
	cop_laptao_report report;
	laptao_make(&p, 200, 1, 3);
	p.set.rounds = 40;
	p.set.tolerance = 1e-3;
	cop_trees *trees = laptao_run(&p, true, NULL, NULL, &report);
	assert_true(report.rounds < 40);
	assert_true(report.gap <= 1e-3);
	cop_mem_free(report.lagrangian);
	cop_trees_free(trees);
	laptao_end(&p);
}

/* ---- leaves ---- */

/* (3.1) with one leaf's row higher by `by`. */
static double objective_with(const laptao_problem *p, bool shared, const cop_tree *tree, size_t r, double by)
{
	cop_tree_parts parts = *cop_tree_view(tree);
	float *bias = cop_mem_alloc(parts.rows.count, sizeof *bias);
	cop_tree *changed = NULL;
	cop_trees *trees = NULL;

	memcpy(bias, parts.rows.bias, parts.rows.count * sizeof *bias);
	bias[r] = (float)((double)bias[r] + by);
	parts.rows.bias = bias;
	assert_int_equal(cop_tree_new(&parts, &changed), COP_OK);
	assert_int_equal(cop_trees_new(COP_TREES_MEAN, 1, &changed, NULL, NULL, &trees), COP_OK);
	double value = laptao_naive_objective(p, shared, trees);
	cop_trees_free(trees);
	cop_mem_free(bias);
	return value;
}

static void test_leaves_constant_are_the_best_of_their_structure(void **unused)
{
	(void)unused;
	for (unsigned c = 0; c < 6; c++) {
		laptao_problem p;
		laptao_make(&p, 120, 2, 70 + c);
		bool shared = c % 2 == 0;
		if (c >= 4)
			p.set.gamma = 2;
		cop_trees *trees = laptao_run(&p, shared, NULL, NULL, NULL);
		const cop_tree *tree = cop_trees_at(trees, 0);
		assert_true(cop_tree_leaves(tree) > 2);
		for (size_t r = 0; r < cop_tree_view(tree)->rows.count; r++) {
			/* Of a parabola, whose step is one that floats can take. */
			double up = objective_with(&p, shared, tree, r, 0.25);
			double down = objective_with(&p, shared, tree, r, -0.25),
			       here = objective_with(&p, shared, tree, r, 0);
			double slope = (up - down) / 0.5, bend = (up + down - 2 * here) / 0.0625;
			assert_true(fabs(slope) <= 2e-6 * (1 + bend));
		}
		cop_trees_free(trees);
		laptao_end(&p);
	}
}

static void test_leaves_of_classes_are_probabilities(void **unused)
{
	(void)unused;
	laptao_problem p;
	double *t = cop_mem_alloc(LAP_MOST * LAP_OUTPUTS, sizeof *t);
	laptao_make(&p, 150, 3, 8);
	p.sample.task = COP_TASK_CLASSES;
	cop_trees *trees = laptao_run(&p, true, NULL, NULL, NULL);
	assert_int_equal(cop_tree_view(cop_trees_at(trees, 0))->link, COP_TREE_PROBABILITIES);
	laptao_predict(&p, trees, t);
	for (size_t i = 0; i < p.n; i++) {
		double sum = 0;
		for (size_t k = 0; k < 3; k++) {
			assert_true(t[3 * i + k] >= 0);
			sum += t[3 * i + k];
		}
		assert_true(fabs(sum - 1) < 1e-5);
	}
	cop_mem_free(t);
	cop_trees_free(trees);
	laptao_end(&p);
}

/* ---- masks ---- */

static void test_masks_all_the_same_are_the_shared_one(void **unused)
{
	(void)unused;
	for (int c = 0; c < 2; c++) {
		laptao_problem p;
		laptao_make(&p, 120, 3, 21);
		for (size_t e = 0; e < p.n * 3; e++)
			p.mask[e] = p.shared[e / 3];
		p.set.solver = c == 0 ? COP_LAPTAO_GRADIENTS : COP_LAPTAO_EIGENVECTORS;
		cop_trees *a = laptao_run(&p, true, NULL, NULL, NULL), *b = laptao_run(&p, false, NULL, NULL, NULL);
		assert_true(laptao_same(a, b));
		cop_trees_free(a);
		cop_trees_free(b);
		laptao_end(&p);
	}
}

static void test_mask_output_unseen_in_a_component_is_counted_and_gets_the_mean(void **unused)
{
	(void)unused;
	laptao_problem p;
	cop_laptao_report report;
	double *t = cop_mem_alloc(LAP_MOST * LAP_OUTPUTS, sizeof *t), sum = 0, all = 0;
	laptao_make(&p, 160, 2, 4);
	assert_int_equal(p.graph.parts, 2);
	for (size_t i = 0; i < p.n; i++) {
		if (p.graph.part[i] == p.graph.part[0])
			p.mask[2 * i + 1] = 0;
		sum += (double)p.mask[2 * i + 1] * (double)p.target[2 * i + 1];
		all += (double)p.mask[2 * i + 1];
	}
	cop_trees *trees = laptao_run(&p, false, NULL, NULL, &report);
	assert_int_equal(report.unlabelled_parts, 1);
	check_lagrangian(&report);
	laptao_predict(&p, trees, t);
	for (size_t i = 0; i < p.n; i++)
		if (p.graph.part[i] == p.graph.part[0])
			assert_true(fabs(t[2 * i + 1] - sum / all) < 0.05);
	cop_mem_free(report.lagrangian);
	cop_trees_free(trees);
	cop_mem_free(t);
	laptao_end(&p);
}

static void test_mask_one_row_gives_its_value_everywhere(void **unused)
{
	(void)unused;
	for (int c = 0; c < 2; c++) {
		laptao_problem p;
		double *t = cop_mem_alloc(LAP_MOST * LAP_OUTPUTS, sizeof *t);
		laptao_make(&p, 100, 3, 5);
		memset(p.shared, 0, sizeof p.shared);
		p.shared[17] = 1;
		if (c == 1)
			p.sample.task = COP_TASK_CLASSES;
		cop_trees *trees = laptao_run(&p, true, NULL, NULL, NULL);
		laptao_predict(&p, trees, t);
		for (size_t e = 0; e < p.n * 3; e++) {
			double seen = c == 1 ? (double)(p.label[17] == e % 3) : (double)p.target[17 * 3 + e % 3];
			assert_true(fabs(t[e] - seen) < 1e-5);
		}
		cop_trees_free(trees);
		cop_mem_free(t);
		laptao_end(&p);
	}
}

/* What is not seen is not read. */
static void test_mask_unseen_targets_do_not_matter(void **unused)
{
	(void)unused;
	laptao_problem p;
	laptao_make(&p, 120, 3, 31);
	cop_trees *a = laptao_run(&p, false, NULL, NULL, NULL);
	for (size_t e = 0; e < p.n * 3; e++)
		p.target[e] = p.mask[e] > 0 ? p.target[e] : NAN;
	cop_trees *b = laptao_run(&p, false, NULL, NULL, NULL);
	assert_true(laptao_same(a, b));
	cop_trees_free(a);
	cop_trees_free(b);
	laptao_end(&p);
}

static double squares(const laptao_problem *p, const double *t)
{
	double sum = 0;

	for (size_t e = 0; e < p->n * p->outputs; e++)
		sum += (t[e] - (double)p->target[e]) * (t[e] - (double)p->target[e]);
	return sum;
}

static void test_mask_full_without_graph_is_as_good_as_tao(void **unused)
{
	(void)unused;
	laptao_problem p;
	double *t = cop_mem_alloc(LAP_MOST * LAP_OUTPUTS, sizeof *t);
	cop_tree *tree = NULL;
	cop_trees *tao = NULL;
	cop_rng rng;
	laptao_make(&p, 300, 2, 6);
	for (size_t i = 0; i < p.n; i++)
		p.shared[i] = 1;
	p.set.gamma = 0;
	p.set.mu = 0.5;
	p.set.tree.depth = 4;
	p.set.rounds = 10;
	cop_trees *trees = laptao_run(&p, true, NULL, NULL, NULL);
	cop_rng_init(&rng, 1, 0);
	p.set.tree.iterations = 40;
	assert_int_equal(cop_tao_fit(&p.set.tree, &p.sample, NULL, NULL, &rng, NULL, NULL, &tree), COP_OK);
	assert_int_equal(cop_trees_new(COP_TREES_MEAN, 1, &tree, NULL, NULL, &tao), COP_OK);
	laptao_predict(&p, trees, t);
	double own = squares(&p, t);
	laptao_predict(&p, tao, t);
	assert_true(own <= 1.15 * squares(&p, t));
	cop_trees_free(trees);
	cop_trees_free(tao);
	cop_mem_free(t);
	laptao_end(&p);
}

/* ---- solvers, threads, starts ---- */

static void test_solvers_give_results_of_one_quality(void **unused)
{
	(void)unused;
	laptao_problem p;
	cop_laptao_report a, b;
	laptao_make(&p, 150, 2, 12);
	p.set.solver = COP_LAPTAO_GRADIENTS;
	p.set.solver_tolerance = 1e-10;
	cop_trees *x = laptao_run(&p, true, NULL, NULL, &a);
	p.set.solver = COP_LAPTAO_EIGENVECTORS;
	cop_trees *y = laptao_run(&p, true, NULL, NULL, &b);
	assert_true(near(a.objective, b.objective, 0.02));
	assert_true(near(a.lagrangian[0], b.lagrangian[0], 1e-5));
	assert_true(near(a.lagrangian[1], b.lagrangian[1], 1e-5));
	cop_mem_free(a.lagrangian);
	cop_mem_free(b.lagrangian);
	cop_trees_free(x);
	cop_trees_free(y);
	laptao_end(&p);
}

static void test_result_any_number_of_threads_is_the_same(void **unused)
{
	(void)unused;
	cop_pool *pool = NULL;
	assert_int_equal(cop_pool_new(3, &pool), COP_OK);
	for (unsigned c = 0; c < 8; c++) {
		laptao_problem p;
		laptao_make(&p, 200, (c & 1) != 0 ? 3 : 1, 40 + c);
		p.set.trees = (c & 2) != 0 ? 4 : 1;
		p.set.solver = (c & 4) != 0 ? COP_LAPTAO_EIGENVECTORS : COP_LAPTAO_GRADIENTS;
		cop_trees *a = laptao_run(&p, true, NULL, NULL, NULL), *b = laptao_run(&p, true, pool, NULL, NULL);
		assert_true(laptao_same(a, b));
		assert_int_equal(cop_trees_count(a), p.set.trees);
		cop_trees_free(a);
		cop_trees_free(b);
		laptao_end(&p);
	}
	cop_pool_free(pool);
}

static void test_start_given_without_iterations_keeps_its_structure(void **unused)
{
	(void)unused;
	laptao_problem p;
	laptao_make(&p, 150, 2, 14);
	cop_trees *first = laptao_run(&p, true, NULL, NULL, NULL);
	const cop_tree *start = cop_trees_at(first, 0);
	p.set.tree.iterations = 0;
	cop_trees *again = laptao_run(&p, true, NULL, start, NULL);
	const cop_tree_parts *a = cop_tree_view(start), *b = cop_tree_view(cop_trees_at(again, 0));
	assert_int_equal(a->nodes.count, b->nodes.count);
	assert_memory_equal(a->nodes.bias, b->nodes.bias, a->nodes.count * sizeof(float));
	for (size_t r = 0; r < a->rows.count; r++) /* these are the best for it, so they stay */
		assert_true(fabs((double)a->rows.bias[r] - (double)b->rows.bias[r]) < 1e-4);
	cop_trees_free(first);
	cop_trees_free(again);
	laptao_end(&p);
}

static void test_rows_in_another_order_are_points_in_that_order(void **unused)
{
	(void)unused;
	laptao_problem p, q;
	uint32_t back[LAP_MOST];
	double *t = cop_mem_alloc(LAP_MOST, sizeof *t);
	laptao_make(&p, 100, 1, 15);
	laptao_make(&q, 100, 1, 15);
	/* q's dataset holds the rows backwards. */
	for (size_t i = 0; i < p.n; i++) {
		back[i] = (uint32_t)(p.n - 1 - i);
		q.target[i] = p.target[p.n - 1 - i];
		memcpy(q.rows->x + 2 * i, p.x[p.n - 1 - i], sizeof p.x[0]);
	}
	q.sample.row = back;
	cop_trees *a = laptao_run(&p, true, NULL, NULL, NULL), *b = laptao_run(&q, true, NULL, NULL, NULL);
	assert_true(laptao_same(a, b));
	cop_trees_free(a);
	cop_trees_free(b);
	cop_mem_free(t);
	laptao_end(&p);
	laptao_end(&q);
}

static bool stop_at(void *context, double share, const char *text)
{
	unsigned *left = context;

	assert_true(share >= 0 && share <= 1);
	assert_true(strlen(text) > 0);
	return (*left)-- > 1;
}

typedef struct rounds_told {
	unsigned of, last;
} rounds_told;

/* Rounds are told one after the other, from 1. */
static bool note_round(void *context, double share, const char *text)
{
	rounds_told *told = context;
	unsigned round, of;
	double gap;
	(void)share;
	if (sscanf(text, "round %u of %u, gap %lf", &round, &of, &gap) != 3)
		return true;
	assert_true(of == told->of && gap >= 0.0 && (round == told->last || round == told->last + 1));
	told->last = round;
	return true;
}

static void test_progress_counts_the_rounds(void **unused)
{
	(void)unused;
	laptao_problem p;
	laptao_make(&p, 100, 1, 16);
	p.set.rounds = 3;
	p.set.tolerance = 0.0;
	rounds_told told = { .of = 3 };
	cop_progress progress = { note_round, &told };
	cop_laptao_report report;
	cop_trees *trees = NULL;
	cop_rng rng;
	cop_rng_init(&rng, 1, 0);
	assert_int_equal(cop_laptao_fit(&p.set, &p.sample, p.shared, true, &p.graph, NULL, NULL, &rng, &progress,
	                         &report, &trees),
	        COP_OK);
	assert_int_equal(report.rounds, 3);
	assert_int_equal(told.last, 3);
	cop_mem_free(report.lagrangian);
	cop_trees_free(trees);
	laptao_end(&p);
}

static void test_progress_told_to_stop_ends_with_what_there_is(void **unused)
{
	(void)unused;
	laptao_problem p;
	laptao_make(&p, 100, 1, 16);
	for (unsigned calls = 1; calls < 40; calls += 6) {
		unsigned left = calls;
		cop_progress progress = { stop_at, &left };
		cop_laptao_report report;
		cop_trees *trees = NULL;
		cop_rng rng;
		cop_rng_init(&rng, 1, 0);
		assert_int_equal(cop_laptao_fit(&p.set, &p.sample, p.shared, true, &p.graph, NULL, NULL, &rng,
		                         &progress, &report, &trees),
		        COP_OK);
		assert_true(left <= calls);
		assert_true(report.rounds < p.set.rounds || left > 0);
		cop_mem_free(report.lagrangian);
		cop_trees_free(trees);
	}
	laptao_end(&p);
}

/* ---- refusals ---- */

static cop_err attempt(const laptao_problem *p, const float *mask, bool shared, const cop_tree *start)
{
	cop_rng rng;
	cop_laptao_report report;
	cop_trees *trees = NULL;

	cop_rng_init(&rng, 1, 0);
	cop_err err =
	        cop_laptao_fit(&p->set, &p->sample, mask, shared, &p->graph, start, NULL, &rng, NULL, &report, &trees);
	if (err != COP_OK) {
		assert_null(trees);
		assert_null(report.lagrangian);
	}
	cop_mem_free(report.lagrangian);
	cop_trees_free(trees);
	return err;
}

static void test_settings_out_of_range_are_refused(void **unused)
{
	(void)unused;
	laptao_problem p;
	laptao_make(&p, 30, 2, 17);
	const cop_laptao_settings good = p.set;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_OK);
#define REFUSED(field, wrong)                                                                                          \
	p.set = good;                                                                                                  \
	p.set.field = (wrong);                                                                                         \
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_EINVAL)
	REFUSED(gamma, -1);
	REFUSED(gamma, (double)NAN);
	REFUSED(mu, 0);
	REFUSED(mu, (double)INFINITY);
	REFUSED(growth, 1);
	REFUSED(growth, 1e300);
	REFUSED(rounds, 0);
	REFUSED(tolerance, -1);
	REFUSED(multiplier_step, 2.5);
	REFUSED(multiplier_step, (double)NAN);
	REFUSED(solver, (cop_laptao_solver)3);
	REFUSED(solver_tolerance, 0);
	REFUSED(solver_tolerance, 1);
	REFUSED(solver_steps, 0);
	REFUSED(tree.loss, COP_TAO_ABSOLUTE);
	REFUSED(tree.alpha, -1);
	REFUSED(tree.leaf_alpha, (double)NAN);
	REFUSED(tree.depth, 0);
	REFUSED(trees, 0);
	REFUSED(trees, (size_t)COP_TREES_MOST + 1);
	p.set = good;
	p.set.trees = 2;
	p.set.share = 0;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_EINVAL);
	p.set = good;
	p.set.solver = COP_LAPTAO_EIGENVECTORS;
	assert_int_equal(attempt(&p, p.mask, false, NULL), COP_EINVAL);
	laptao_end(&p);
}

static void test_settings_at_the_ends_of_their_range_are_taken(void **unused)
{
	(void)unused;
	laptao_problem p;
	laptao_make(&p, 30, 2, 17);
	p.set.rounds = 1;
	const cop_laptao_settings good = p.set;
#define TAKEN(field, value)                                                                                            \
	p.set = good;                                                                                                  \
	p.set.field = (value);                                                                                         \
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_OK)
	TAKEN(gamma, 0);
	TAKEN(rounds, 1);
	TAKEN(tolerance, 0);
	TAKEN(multiplier_step, 0);
	TAKEN(multiplier_step, 2);
	TAKEN(solver_steps, 1);
	TAKEN(tree.alpha, 0);
	TAKEN(tree.leaf_alpha, 0);
	TAKEN(share, 0); /* of one tree it is not looked at */
	p.set = good;
	p.set.trees = 2;
	p.set.share = 1;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_OK);
	p.set.share = 1.1;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_EINVAL);
	p.set = good;
	p.sample.outputs = 0;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_EINVAL);
	p.sample.outputs = SIZE_MAX / 30 + 1;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_EINVAL);
	p.sample.outputs = 2;
	p.sample.n = 0;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_EINVAL);
	p.sample.n = (size_t)COP_DATASET_MAX_ROWS + 1;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_EINVAL);
	laptao_end(&p);
}

static void test_samples_and_masks_that_do_not_fit_are_refused(void **unused)
{
	(void)unused;
	laptao_problem p;
	uint32_t twice[30] = { 0 };
	laptao_make(&p, 30, 2, 18);
	const cop_sample good = p.sample;
	p.sample.task = COP_TASK_COSTS;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_EINVAL);
	p.sample.task = COP_TASK_CLASSES;
	assert_int_equal(attempt(&p, p.mask, false, NULL), COP_EINVAL);
	for (size_t i = 0; i < 30; i++)
		p.label[i] = p.shared[i] > 0 ? 2 : 0;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_EINVAL);
	p.sample = good;
	p.sample.target = NULL;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_EINVAL);
	p.sample = good;
	p.sample.row = twice;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_EINVAL);
	p.sample = good;
	p.sample.n = 29;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_ESHAPE);
	p.sample = good;
	assert_int_equal(attempt(&p, NULL, true, NULL), COP_EINVAL);
	float kept = p.shared[3];
	p.shared[3] = -1;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_EINVAL);
	p.shared[3] = NAN;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_EINVAL);
	p.shared[3] = kept;
	p.shared[5] = 1;
	p.target[5 * 2] = INFINITY;
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_ENONFINITE);
	memset(p.shared, 0, sizeof p.shared);
	assert_int_equal(attempt(&p, p.shared, true, NULL), COP_EINVAL);
	laptao_end(&p);
}

static void test_start_of_another_shape_is_refused(void **unused)
{
	(void)unused;
	laptao_problem p, q;
	laptao_make(&p, 30, 2, 19);
	laptao_make(&q, 30, 3, 19);
	cop_trees *other = laptao_run(&q, true, NULL, NULL, NULL);
	assert_int_equal(attempt(&p, p.shared, true, cop_trees_at(other, 0)), COP_ESHAPE);
	cop_trees_free(other);
	laptao_end(&p);
	laptao_end(&q);
}

static void test_allocation_failing_anywhere_is_reported(void **unused)
{
	(void)unused;
	for (unsigned c = 0; c < 4; c++) {
		laptao_problem p;
		laptao_make(&p, 16, 2, 20);
		p.set.rounds = 2;
		p.set.tree.depth = 2;
		p.set.tree.iterations = 1;
		p.set.trees = c == 1 ? 2 : 1;
		p.set.solver = c == 2 ? COP_LAPTAO_EIGENVECTORS : COP_LAPTAO_GRADIENTS;
		if (c == 3)
			p.sample.task = COP_TASK_CLASSES;
		cop_test_alloc_fail(0, 0);
		assert_int_equal(attempt(&p, p.shared, true, NULL), COP_OK);
		unsigned long all = cop_test_alloc_count();
		for (unsigned long n = 1; n <= all; n++) {
			cop_test_alloc_fail(n, 0);
			cop_err err = attempt(&p, p.shared, true, NULL);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_int_equal(err, COP_ENOMEM);
		}
		laptao_end(&p);
	}
}

/* ---- what it is for ---- */

/* Two half circles that reach into each other; label: which one. */
static void make_moons(laptao_problem *p, size_t n)
{
	cop_rng rng;

	*p = (laptao_problem){ .n = n, .outputs = 2 };
	cop_rng_init(&rng, 2, 0);
	for (size_t i = 0; i < n; i++) {
		double angle = 3.14159265 * cop_rng_unit(&rng);
		p->label[i] = (uint32_t)(i % 2);
		p->x[i][0] = (float)((i % 2 == 0 ? cos(angle) : 1 - cos(angle)) + 0.06 * cop_rng_normal(&rng));
		p->x[i][1] = (float)((i % 2 == 0 ? sin(angle) : 0.5 - sin(angle)) + 0.06 * cop_rng_normal(&rng));
	}
	laptao_join(p, 0.25);
	p->sample.task = COP_TASK_CLASSES;
	cop_laptao_defaults(&p->set);
}

static double wrong(const laptao_problem *p, const cop_tree *tree)
{
	size_t count = 0;

	for (size_t i = 0; i < p->n; i++) {
		cop_row row;
		cop_dataset_row(p->rows, i, &row);
		count += cop_tree_class(tree, &row) != p->label[i];
	}
	return (double)count / (double)p->n;
}

static void test_moons_two_labels_each_beats_tao_on_those(void **unused)
{
	(void)unused;
	laptao_problem p;
	uint32_t seen[4] = { 0, 1, 2, 3 };
	cop_tao_settings set;
	cop_tree *alone = NULL;
	cop_rng rng;
	make_moons(&p, 400);
	for (size_t i = 0; i < 4; i++)
		p.shared[seen[i]] = 1;
	p.set.tree.depth = 4;
	p.set.tree.alpha = 0.01;
	cop_trees *trees = laptao_run(&p, true, NULL, NULL, NULL);
	cop_sample few = p.sample;
	few.n = 4;
	few.row = seen;
	cop_tao_defaults(COP_TASK_CLASSES, &set);
	set.alpha = 0.01;
	cop_rng_init(&rng, 1, 0);
	assert_int_equal(cop_tao_fit(&set, &few, NULL, NULL, &rng, NULL, NULL, &alone), COP_OK);
	double with = wrong(&p, cop_trees_at(trees, 0)), without = wrong(&p, alone);
	print_message("share of errors: %.3f with the graph, %.3f without\n", with, without);
	assert_true(with < 0.03);
	assert_true(without > 0.08);
	cop_tree_free(alone);
	cop_trees_free(trees);
	laptao_end(&p);
}

static void test_defaults_are_those_that_the_documents_name(void **state)
{
	(void)state;
	cop_laptao_settings s;
	cop_laptao_defaults(&s);
	assert_true(s.gamma == 0.1 && s.mu == 0.1 && s.growth == 1.3 && s.rounds == 20 && s.tolerance == 1e-3);
	assert_true(s.multiplier_step == 1.0 && s.solver_tolerance == 1e-6 && s.solver_steps == 1000);
	assert_true(s.trees == 1 && s.share == 0.9 && s.tree.loss == COP_TAO_SQUARED);
	assert_true(s.tree.alpha == 0.1 && s.tree.leaf_alpha == 0.1 && s.tree.iterations == 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_are_those_that_the_documents_name),
		cmocka_unit_test(test_lagrangian_any_settings_never_rises_in_a_round),
		cmocka_unit_test(test_objective_of_the_result_is_what_is_reported),
		cmocka_unit_test(test_rounds_growing_mu_closes_the_gap),
		cmocka_unit_test(test_leaves_constant_are_the_best_of_their_structure),
		cmocka_unit_test(test_leaves_of_classes_are_probabilities),
		cmocka_unit_test(test_masks_all_the_same_are_the_shared_one),
		cmocka_unit_test(test_mask_output_unseen_in_a_component_is_counted_and_gets_the_mean),
		cmocka_unit_test(test_mask_one_row_gives_its_value_everywhere),
		cmocka_unit_test(test_mask_unseen_targets_do_not_matter),
		cmocka_unit_test(test_mask_full_without_graph_is_as_good_as_tao),
		cmocka_unit_test(test_solvers_give_results_of_one_quality),
		cmocka_unit_test(test_result_any_number_of_threads_is_the_same),
		cmocka_unit_test(test_start_given_without_iterations_keeps_its_structure),
		cmocka_unit_test(test_rows_in_another_order_are_points_in_that_order),
		cmocka_unit_test(test_progress_counts_the_rounds),
		cmocka_unit_test(test_progress_told_to_stop_ends_with_what_there_is),
		cmocka_unit_test(test_settings_out_of_range_are_refused),
		cmocka_unit_test(test_settings_at_the_ends_of_their_range_are_taken),
		cmocka_unit_test(test_samples_and_masks_that_do_not_fit_are_refused),
		cmocka_unit_test(test_start_of_another_shape_is_refused),
		cmocka_unit_test(test_allocation_failing_anywhere_is_reported),
		cmocka_unit_test(test_moons_two_labels_each_beats_tao_on_those),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
