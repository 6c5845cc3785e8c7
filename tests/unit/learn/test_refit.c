/* Learners that trees of a batch fit are given: they say what the trees say, then learn on; saved and loaded they are
 * the same to the byte; what they cannot take in is refused and changes nothing. */
#include <stdlib.h>

#include "support.h"

#include "learn/learner.h"
#include "learn/refit.h"
#include "rank_fixture.h"
#include "refitted_fixture.h"

#define RUN 300

static refit_shape shape_of(const cop_learner *learner, bool sparse, bool linear)
{
	const cop_learner_settings *s = &learner->settings;
	size_t d = cop_learner_dimension(s) + (learner->class->candidates ? cop_learner_candidate_dimension(s) : 0);
	return (refit_shape){
		.d = d, .outputs = s->arms == 0 ? 1 : s->arms, .depth = 3, .sparse = sparse, .linear = linear
	};
}

static void refit(cop_learner *learner, const cop_trees *trees)
{
	cop_diag diag = { 0 };
	cop_err err = cop_learner_refit(learner, trees, &diag);
	if (err != COP_OK)
		fail_msg("%s: %s", cop_err_text(err), diag.message);
}

/* One of a kind that has learned from `events` events, drawn by this stream. */
static cop_learner *lived(const char *kind, bool sparse, uint64_t stream, size_t events, cop_rng *rng)
{
	cop_learner_settings s;
	fixture_settings(&s, kind, sparse);
	cop_learner *learner = fixture_learner(&s);
	cop_rng_init(rng, FIXTURE_SEED, stream);
	(void)fixture_run(learner, rng, sparse, events);
	return learner;
}

static void test_refit_predicts_and_learns_running_means(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 1);
	for (int linear = 0; linear < 2; linear++)
		for (size_t count = 1; count <= 3; count++) {
			refit_shape shape = { FIXTURE_D, FIXTURE_ARMS, 4, false, linear != 0, COP_TREE_VALUES, false };
			cop_trees *trees = refit_trees(&shape, count, 3 + count);
			cop_refit *r;
			assert_int_equal(cop_refit_new(trees, FIXTURE_D, FIXTURE_ARMS, 9, &r, NULL), COP_OK);
			assert_int_equal(cop_refit_rev(r), 9);
			for (size_t i = 0; i < 200; i++) {
				fixture_event e;
				float work[FIXTURE_ARMS], told[FIXTURE_ARMS];
				double want[FIXTURE_ARMS];
				fixture_draw(&e, &rng, false);
				cop_trees_predict(trees, &e.row, work, want);
				cop_refit_predict(r, &e.row, told);
				for (size_t k = 0; k < FIXTURE_ARMS; k++)
					assert_float_equal(told[k], fmin(fmax(want[k], 0.0), 1.0), 1e-6);
			}
			fixture_event e;
			float before[FIXTURE_ARMS], after[FIXTURE_ARMS];
			fixture_draw(&e, &rng, false);
			cop_refit_predict(r, &e.row, before);
			cop_refit_learn(r, &e.row, 1, 1.0, true);
			cop_refit_predict(r, &e.row, after);
			float step = 1.0f / (COP_REFIT_EVIDENCE + 1.0f);
			assert_float_equal(after[1], before[1] + step * (1.0f - before[1]), 1e-5);
			assert_float_equal(after[0], before[0], 0.0);
			for (size_t i = 0; i < 5000; i++)
				cop_refit_learn(r, &e.row, 1, 0.25, false);
			cop_refit_predict(r, &e.row, after);
			assert_float_equal(after[1], 0.25, 1e-3);
			cop_refit_free(r);
			cop_trees_free(trees);
		}
}

/* Trees from before arms were added: for these they say the mean of the others, and learn on. */
static void test_trees_of_fewer_outputs_say_the_mean_of_theirs_for_others(void **state)
{
	(void)state;
	enum { MORE = FIXTURE_ARMS + 2 };
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 61);
	refit_shape shape = { FIXTURE_D, FIXTURE_ARMS, 4, false, false, COP_TREE_VALUES, false };
	cop_trees *trees = refit_trees(&shape, 2, 3);
	cop_refit *few, *more, *same;
	cop_bytes bytes;
	cop_cursor cursor;
	assert_int_equal(cop_refit_new(trees, FIXTURE_D, FIXTURE_ARMS, 9, &few, NULL), COP_OK);
	assert_int_equal(cop_refit_new(trees, FIXTURE_D, MORE, 9, &more, NULL), COP_OK);
	fixture_event e;
	float known[FIXTURE_ARMS], told[MORE], again[MORE];
	double mean = 0.0;
	for (size_t i = 0; i < 100; i++) {
		fixture_draw(&e, &rng, false);
		cop_refit_predict(few, &e.row, known);
		cop_refit_predict(more, &e.row, told);
		assert_memory_equal(known, told, sizeof known);
		double sums[FIXTURE_ARMS];
		float work[FIXTURE_ARMS];
		cop_trees_predict(trees, &e.row, work, sums);
		mean = 0.0;
		for (size_t k = 0; k < FIXTURE_ARMS; k++)
			mean += sums[k] / FIXTURE_ARMS;
		assert_float_equal(told[FIXTURE_ARMS], fmin(fmax(mean, 0.0), 1.0), 1e-5);
	}
	for (size_t i = 0; i < 5000; i++)
		cop_refit_learn(more, &e.row, MORE - 1, 0.125, false);
	cop_refit_predict(more, &e.row, told);
	assert_float_equal(told[MORE - 1], 0.125, 1e-3);
	cop_bytes_init(&bytes);
	cop_refit_save(more, &bytes);
	assert_int_equal(cop_refit_empty(FIXTURE_D, MORE, &same), COP_OK);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_refit_load(same, &cursor), COP_OK);
	cop_refit_predict(same, &e.row, again);
	assert_memory_equal(told, again, sizeof told);
	cop_bytes_fini(&bytes);
	cop_refit_free(few);
	cop_refit_free(more);
	cop_refit_free(same);
	cop_trees_free(trees);
}

static void test_refit_of_wrong_trees_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	static const char *const names[] = { "ensemble", "dgt", "value" };
	for (size_t n = 0; n < 3; n++) {
		cop_rng rng;
		cop_learner *learner = lived(names[n], false, 2, 100, &rng), *same;
		assert_int_equal(cop_learner_clone(learner, &same), COP_OK);
		for (size_t wrong = 0; wrong < 7; wrong++) {
			refit_shape shape = shape_of(learner, false, false);
			size_t count = 1;
			shape.d += wrong == 0;
			shape.outputs += wrong == 1;
			shape.link = wrong == 2 ? COP_TREE_PROBABILITIES : COP_TREE_VALUES;
			shape.depth = wrong == 3 ? 4 : 3;
			shape.linear = wrong == 4;
			count += wrong == 5;
			shape.outputs -= wrong == 6;
			if (wrong > 2 && n != 1)
				break;
			cop_trees *trees = refit_trees(&shape, count, 5);
			cop_diag diag = { 0 };
			assert_int_equal(cop_learner_refit(learner, trees, &diag), COP_ESHAPE);
			assert_true(diag.message[0] != '\0');
			cop_trees_free(trees);
		}
		refit_assert_same(learner, same);
		cop_learner_free(learner);
		cop_learner_free(same);
	}
}

static void test_ensemble_expert_says_what_the_trees_say(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_rng rng;
		cop_learner *learner = lived("ensemble", sparse != 0, 3, RUN, &rng);
		refit_shape shape = shape_of(learner, sparse != 0, false);
		cop_trees *trees = refit_trees(&shape, 2, 11);
		assert_int_equal(cop_learner_predictions(learner), learner->class->predictions);
		fixture_event e;
		cop_decision d = { .arm = 2 }, again = { .arm = 2 };
		cop_policy_view view;
		float before[FIXTURE_ARMS], work[FIXTURE_ARMS];
		double says[FIXTURE_ARMS];
		fixture_draw(&e, &rng, sparse != 0);
		assert_int_equal(cop_learner_view(learner, &e.row, NULL, &d, &view), COP_OK);
		memcpy(before, view.loss, sizeof before);
		uint64_t rev = learner->rev;
		cop_explanation why;
		assert_int_equal(cop_learner_explanation_init(learner, &why), COP_OK);
		cop_learner_explain(learner, &e.row, NULL, &d, &why);
		size_t own = why.expert_count;
		cop_explanation_fini(&why);
		refit(learner, trees);
		assert_int_equal(learner->rev, rev + 1);
		assert_int_equal(cop_learner_predictions(learner), learner->class->predictions + 1);
		assert_int_equal(cop_learner_view(learner, &e.row, NULL, &again, &view), COP_OK);
		assert_memory_equal(before, view.loss, sizeof before); /* it has no weight yet */
		cop_trees_predict(trees, &e.row, work, says);
		assert_float_equal(again.prediction[own], says[2], 1e-6);
		double loss = 0.5;
		assert_int_equal(
		        cop_learner_learn(learner, &e.row, NULL, &d, &loss, true), COP_OK); /* from before the refit */
		assert_int_equal(cop_learner_explanation_init(learner, &why), COP_OK);
		cop_learner_explain(learner, &e.row, NULL, &again, &why);
		assert_int_equal(why.expert_count, own + 1);
		assert_string_equal(why.experts[own].name, "refit");
		assert_int_equal(why.experts[own].trees, 2);
		cop_explanation_fini(&why);
		(void)fixture_run(learner, &rng, sparse != 0, RUN);
		cop_trees_free(trees);
		cop_learner_free(learner);
	}
}

static void test_good_trees_win_weight_and_bad_ones_none(void **state)
{
	(void)state;
	double loss[3];
	for (size_t kind = 0; kind < 3; kind++) {
		cop_rng rng;
		cop_learner *learner = lived("ensemble", false, 4, RUN, &rng);
		cop_trees *trees = refit_oracle(kind == 2);
		if (kind > 0)
			refit(learner, trees);
		loss[kind] = fixture_run(learner, &rng, false, 1500);
		cop_trees_free(trees);
		cop_learner_free(learner);
	}
	print_message("seed %u: loss without %.4f, with good trees %.4f, with inverted ones %.4f\n", FIXTURE_SEED,
	        loss[0], loss[1], loss[2]);
	assert_true(loss[1] < 0.75 * loss[0]);
	assert_true(loss[2] < 1.05 * loss[0]); /* a stack may use them with a negative weight */
}

static void test_dgt_decides_as_the_tree_and_learns_on(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++)
		for (unsigned depth = 0; depth < 4; depth++) {
			cop_rng rng;
			cop_learner *learner = lived("dgt", sparse != 0, 5, 2001, &rng);
			refit_shape shape = shape_of(learner, sparse != 0, false);
			shape.depth = depth;
			cop_trees *trees = refit_trees(&shape, 1, 20 + depth);
			refit(learner, trees);
			size_t equal = 0, n = 1000;
			for (size_t i = 0; i < n; i++) {
				fixture_event e;
				float work[FIXTURE_ARMS];
				double says[FIXTURE_ARMS];
				cop_decision d = { 0 };
				cop_policy_view view;
				fixture_draw(&e, &rng, sparse != 0);
				cop_trees_predict(trees, &e.row, work, says);
				assert_int_equal(cop_learner_view(learner, &e.row, NULL, &d, &view), COP_OK);
				size_t best = 0;
				double off = 0.0;
				for (size_t k = 0; k < FIXTURE_ARMS; k++) {
					best = says[k] < says[best] ? k : best;
					off = fmax(off, fabs(says[k] - (double)view.loss[k]));
				}
				equal += off < 1e-5 && view.best == best;
			}
			assert_true(equal >= n - 2); /* rows beyond 5 standard deviations are cut */
			cop_learner *same;
			assert_int_equal(cop_learner_clone(learner, &same), COP_OK);
			cop_rng fork = rng;
			assert_true(fixture_run(learner, &rng, sparse != 0, RUN) ==
			            fixture_run(same, &fork, sparse != 0, RUN));
			refit_assert_same(learner, same);
			cop_learner_free(same);
			cop_trees_free(trees);
			cop_learner_free(learner);
		}
}

/* Leaves that are certain: logits stay where a gradient can move them. */
static void test_dgt_takes_losses_of_zero_and_one(void **state)
{
	(void)state;
	const float certain[FIXTURE_ARMS] = { 0.0f, 1.0f, -3.0f, 4.0f };
	cop_rng rng;
	cop_learner *learner = lived("dgt", false, 5, 200, &rng);
	cop_tree_build *build;
	cop_tree *tree;
	cop_trees *trees;
	cop_oblique_tree *taken;
	assert_int_equal(cop_tree_build_new(FIXTURE_D, FIXTURE_ARMS, COP_TREE_VALUES, &build), COP_OK);
	int32_t root = cop_tree_build_constant(build, certain);
	assert_int_equal(cop_tree_build_finish(build, root, &tree), COP_OK);
	cop_tree_build_free(build);
	assert_int_equal(cop_trees_new(COP_TREES_MEAN, 1, &tree, NULL, NULL, &trees), COP_OK);
	refit(learner, trees);
	assert_int_equal(cop_learner_tree(learner, 0, &taken), COP_OK);
	for (size_t l = 0; l < (size_t)1 << learner->settings.height; l++)
		for (size_t k = 0; k < FIXTURE_ARMS; k++) {
			double want = (k % 2 == 0 ? 1.0 : -1.0) * log(0.99 / 0.01);
			assert_true(fabs((double)cop_oblique_tree_values(taken, l)[k] - want) < 1e-4);
		}
	cop_oblique_tree_free(taken);
	cop_trees_free(trees);
	cop_learner_free(learner);
}

static void test_dgt_leaves_windows_open_for_about_half(void **state)
{
	(void)state;
	static const float scales[] = { 1e-6f, 1.0f, 1e6f };
	for (size_t i = 0; i < 3; i++) {
		cop_rng rng;
		cop_tree_build *build;
		cop_tree *tree;
		cop_trees *trees;
		cop_explanation why;
		const float w[FIXTURE_D] = { scales[i], -scales[i] }, low[FIXTURE_ARMS] = { 0.1f },
		            high[FIXTURE_ARMS] = { 0.9f };
		cop_learner *learner = lived("dgt", false, 12, RUN, &rng);
		assert_int_equal(cop_tree_build_new(FIXTURE_D, FIXTURE_ARMS, COP_TREE_VALUES, &build), COP_OK);
		int32_t root = cop_tree_build_node(build, w, 0.0f);
		cop_tree_build_children(
		        build, root, cop_tree_build_constant(build, low), cop_tree_build_constant(build, high));
		assert_int_equal(cop_tree_build_finish(build, root, &tree), COP_OK);
		assert_int_equal(cop_trees_new(COP_TREES_MEAN, 1, &tree, NULL, NULL, &trees), COP_OK);
		refit(learner, trees);
		assert_int_equal(cop_learner_explanation_init(learner, &why), COP_OK);
		size_t open = 0;
		for (size_t n = 0; n < 400; n++) {
			fixture_event e;
			const cop_decision d = { 0 };
			fixture_draw(&e, &rng, false);
			cop_learner_explain(learner, &e.row, NULL, &d, &why);
			open += fabsf(why.nodes[0].margin) <= 1.0f;
		}
		assert_in_range(open, 100, 280); /* of scale 1 it is left as it came */
		cop_explanation_fini(&why);
		cop_tree_build_free(build);
		cop_trees_free(trees);
		cop_learner_free(learner);
	}
}

static void test_value_begins_at_the_trees_and_learns_on(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_rng rng;
		cop_learner *learner = lived("value", sparse != 0, 6, RUN, &rng);
		refit_shape shape = shape_of(learner, sparse != 0, true);
		shape.depth = 6; /* deeper than the learner */
		cop_trees *trees = refit_trees(&shape, 3, 31);
		refit(learner, trees);
		for (size_t i = 0; i < 100; i++) {
			fixture_event e;
			float work;
			double says;
			fixture_draw(&e, &rng, sparse != 0);
			cop_trees_predict(trees, &e.row, &work, &says);
			assert_float_equal(cop_learner_greedy(learner, &e.row, NULL), fmin(fmax(says, 0.0), 1.0), 1e-6);
		}
		double first = fixture_run(learner, &rng, sparse != 0, 400);
		(void)fixture_run(learner, &rng, sparse != 0, 4000);
		assert_true(fixture_run(learner, &rng, sparse != 0, 400) < 0.8 * first);
		cop_trees_free(trees);
		cop_learner_free(learner);
	}
}

static void test_rank_scorer_says_what_the_trees_say(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_learner_settings s;
		cop_rng rng;
		rank_settings(&s, sparse != 0);
		cop_learner *learner = rank_learner(&s), *same;
		cop_rng_init(&rng, FIXTURE_SEED, 7);
		(void)rank_run(learner, &rng, sparse != 0, 0, RUN);
		refit_shape shape = shape_of(learner, false, true);
		cop_trees *trees = refit_trees(&shape, 1, 41);
		refit(learner, trees);
		rank_event e;
		cop_decision d = { 0 };
		cop_policy_view view;
		rank_draw(&e, &rng, sparse != 0, 5);
		d.arm = 3;
		assert_int_equal(cop_learner_view(learner, &e.row, &e.set, &d, &view), COP_OK);
		float x[2 << RANK_BITS] = { 0 }, work;
		double says;
		size_t first = sparse ? (size_t)1 << RANK_BITS : RANK_D;
		for (size_t j = 0; j < RANK_D; j++)
			x[sparse ? e.x_index[j] : j] = e.x[j];
		for (size_t j = 0; j < RANK_A; j++)
			x[first + (sparse ? e.a_index[j] : j)] = e.a[3][j];
		const cop_row whole = { .d = shape.d, .dense = x };
		cop_trees_predict(trees, &whole, &work, &says);
		assert_float_equal(d.prediction[learner->class->predictions], fmin(fmax(says, 0.0), 1.0), 1e-5);
		cop_explanation why;
		assert_int_equal(cop_learner_explanation_init(learner, &why), COP_OK);
		cop_learner_explain(learner, &e.row, &e.set, &d, &why);
		assert_string_equal(why.experts[why.expert_count - 1].name, "refit");
		cop_explanation_fini(&why);
		assert_int_equal(cop_learner_clone(learner, &same), COP_OK);
		cop_rng fork = rng;
		assert_true(rank_run(learner, &rng, sparse != 0, 0, RUN) == rank_run(same, &fork, sparse != 0, 0, RUN));
		refit_assert_same(learner, same);
		cop_learner_free(same);
		cop_trees_free(trees);
		cop_learner_free(learner);
	}
}

static void test_clone_of_a_refitted_learner_goes_the_same_way(void **state)
{
	(void)state;
	static const char *const names[] = { "ensemble", "dgt", "value" };
	for (size_t n = 0; n < 3; n++) {
		cop_learner_settings s;
		cop_rng rng;
		fixture_settings(&s, names[n], false);
		cop_learner *learner = fixture_learner(&s), *same, *plain = fixture_learner(&s);
		cop_rng_init(&rng, FIXTURE_SEED, 8);
		refit_shape shape = shape_of(learner, false, false);
		cop_trees *trees = refit_trees(&shape, 1, 51);
		for (size_t round = 0; round < 3; round++) { /* a later refit takes the earlier one's place */
			(void)fixture_run(learner, &rng, false, RUN);
			refit(learner, trees);
		}
		assert_int_equal(cop_learner_clone(learner, &same), COP_OK);
		cop_rng fork = rng;
		assert_true(fixture_run(learner, &rng, false, RUN) == fixture_run(same, &fork, false, RUN));
		refit_assert_same(learner, same);
		/* a learner with a refit that loads a state without one has none after */
		cop_bytes bytes;
		cop_cursor cursor;
		cop_bytes_init(&bytes);
		fixture_save(plain, &bytes);
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_learner_load(same, &cursor), COP_OK);
		refit_assert_same(plain, same);
		cop_bytes_fini(&bytes);
		cop_trees_free(trees);
		cop_learner_free(plain);
		cop_learner_free(same);
		cop_learner_free(learner);
	}
}

static void test_failed_allocations_leave_the_learner_as_it_was(void **state)
{
	(void)state;
	static const char *const names[] = { "ensemble", "dgt", "value", "rank" };
	for (size_t n = 0; n < 4; n++) {
		cop_learner_settings s;
		if (n == 3)
			rank_settings(&s, true);
		else
			fixture_settings(&s, names[n], false);
		cop_learner *learner = fixture_learner(&s), *same;
		refit_shape shape = shape_of(learner, false, false);
		cop_trees *trees = refit_trees(&shape, 1, 61);
		assert_int_equal(cop_learner_clone(learner, &same), COP_OK);
		unsigned long nth = 1;
		for (;; nth++) {
			cop_test_alloc_fail(nth, 0);
			cop_err err = cop_learner_refit(learner, trees, NULL);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			if (err == COP_OK)
				break;
			assert_int_equal(err, COP_ENOMEM);
			refit_assert_same(learner, same);
		}
		assert_true(nth > 3);
		cop_learner *clone;
		for (nth = 1;; nth++) {
			cop_test_alloc_fail(nth, 0);
			cop_err err = cop_learner_clone(learner, &clone);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			if (err == COP_OK)
				break;
			assert_int_equal(err, COP_ENOMEM);
			assert_null(clone);
		}
		refit_assert_same(learner, clone);
		cop_learner_free(clone);
		cop_learner_free(same);
		cop_learner_free(learner);
		cop_trees_free(trees);
	}
}

static void test_refitted_learner_allocates_nothing_per_event(void **state)
{
	(void)state;
	static const char *const names[] = { "ensemble", "dgt", "value" };
	for (size_t n = 0; n < 3; n++) {
		cop_learner_settings s;
		cop_rng rng;
		fixture_settings(&s, names[n], false);
		cop_learner *learner = fixture_learner(&s);
		refit_shape shape = shape_of(learner, false, false);
		cop_trees *trees = refit_trees(&shape, 1, 71);
		refit(learner, trees);
		cop_rng_init(&rng, FIXTURE_SEED, 9);
		cop_test_alloc_fail(0, 0);
		(void)fixture_run(learner, &rng, false, 100);
		assert_int_equal(cop_test_alloc_count(), 0);
		cop_trees_free(trees);
		cop_learner_free(learner);
	}
}

static void test_frozen_learner_decides_and_stays(void **state)
{
	(void)state;
	static const char *const names[] = { "ensemble", "dgt", "value" };
	for (size_t n = 0; n < 3; n++) {
		cop_rng rng;
		cop_learner *learner = lived(names[n], false, 10, RUN, &rng);
		fixture_event e;
		fixture_draw(&e, &rng, false);
		double before = cop_learner_greedy(learner, &e.row, NULL);
		uint64_t rev = learner->rev;
		cop_learner_freeze(learner, true);
		(void)fixture_run(learner, &rng, false, RUN);
		assert_int_equal(learner->rev, rev);
		assert_int_equal(learner->unlearnt, RUN);
		assert_true(cop_learner_greedy(learner, &e.row, NULL) == before);
		cop_learner_freeze(learner, false);
		(void)fixture_run(learner, &rng, false, RUN);
		assert_int_equal(learner->rev, rev + RUN);
		cop_learner_free(learner);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refit_predicts_and_learns_running_means),
		cmocka_unit_test(test_trees_of_fewer_outputs_say_the_mean_of_theirs_for_others),
		cmocka_unit_test(test_refit_of_wrong_trees_is_refused_and_changes_nothing),
		cmocka_unit_test(test_ensemble_expert_says_what_the_trees_say),
		cmocka_unit_test(test_good_trees_win_weight_and_bad_ones_none),
		cmocka_unit_test(test_dgt_decides_as_the_tree_and_learns_on),
		cmocka_unit_test(test_dgt_takes_losses_of_zero_and_one),
		cmocka_unit_test(test_dgt_leaves_windows_open_for_about_half),
		cmocka_unit_test(test_value_begins_at_the_trees_and_learns_on),
		cmocka_unit_test(test_rank_scorer_says_what_the_trees_say),
		cmocka_unit_test(test_clone_of_a_refitted_learner_goes_the_same_way),
		cmocka_unit_test(test_failed_allocations_leave_the_learner_as_it_was),
		cmocka_unit_test(test_refitted_learner_allocates_nothing_per_event),
		cmocka_unit_test(test_frozen_learner_decides_and_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
