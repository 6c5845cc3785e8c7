/* Explanations that a model keeps from decide time, its making, its allocations, and sums that run away. */
#include "model_fixture.h"

#include <stdio.h>

static const char *const learners[] = { "ensemble", "dgt", "value" };

/* What an explanation says, by value. */
typedef struct said {
	uint64_t rev;
	double prediction;
	cop_explained_expert experts[COP_EXPLANATION_EXPERTS];
	cop_explained_tree trees[8];
	cop_explained_node nodes[32];
} said;

static void note(const cop_explanation *e, said *out)
{
	memset(out, 0, sizeof *out);
	out->rev = e->rev;
	out->prediction = e->prediction;
	assert_true(e->tree_count <= 8 && e->node_count <= 32 && e->tree_count > 0);
	memcpy(out->experts, e->experts, e->expert_count * sizeof *e->experts);
	memcpy(out->trees, e->trees, e->tree_count * sizeof *e->trees);
	memcpy(out->nodes, e->nodes, e->node_count * sizeof *e->nodes);
}

static void test_explain_kept_is_from_decide_time_else_current(void **state)
{
	(void)state;
	for (size_t l = 0; l < 3; l++) {
		cop_model_settings s;
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 70);
		model_settings(&s, learners[l], false);
		s.explain_keep = 50;
		s.pending_max = 1000;
		cop_model *model = model_new(&s);
		for (uint64_t i = 0; i < 40; i++) {
			(void)model_decide(model, &rng, false, i, 0.0);
			(void)model_feedback(model, i, cop_rng_unit(&rng), 0.0);
		}
		static said then, now;
		cop_decision made = model_decide(model, &rng, false, 100, 0.0), told;
		const cop_explanation *e;
		bool kept = false;
		cop_event_id id = model_id(100), other = model_id(39);
		assert_int_equal(cop_model_explain(model, &other, &told, &e, &kept), COP_ENOTFOUND);
		assert_int_equal(cop_model_explain(model, &id, &told, &e, &kept), COP_OK);
		assert_true(kept);
		assert_int_equal(told.arm, made.arm);
		assert_true(told.p == made.p && told.y == made.y);
		note(e, &then);
		assert_true(then.rev == made.rev);
		for (uint64_t i = 200; i < 249; i++) { /* learning moves the model under it */
			(void)model_decide(model, &rng, false, i, 0.0);
			(void)model_feedback(model, i, cop_rng_unit(&rng), 0.0);
		}
		assert_int_equal(cop_model_explain(model, &id, &told, &e, &kept), COP_OK);
		assert_true(kept);
		note(e, &now);
		assert_memory_equal(&then, &now, sizeof then);
		(void)model_decide(model, &rng, false, 300, 0.0); /* the 50th after it takes its place */
		assert_int_equal(cop_model_explain(model, &id, &told, &e, &kept), COP_OK);
		assert_false(kept);
		note(e, &now);
		assert_true(now.rev == cop_model_learner(model)->rev && now.rev > then.rev);
		assert_true(now.prediction != then.prediction);
		assert_int_equal(e->arm, made.arm);
		cop_model_free(model);
	}
}

/* A decision for which an older one gives way, which teaches the model, is explained as one that had room. */
static void test_explain_kept_knows_nothing_of_what_gave_way(void **state)
{
	(void)state;
	for (size_t l = 0; l < 3; l++) {
		static said why[2];
		for (size_t narrow = 0; narrow < 2; narrow++) {
			cop_model_settings s;
			cop_rng rng;
			cop_decision d;
			const cop_explanation *e;
			bool kept = false;
			cop_event_id id = model_id(20);
			cop_rng_init(&rng, FIXTURE_SEED, 76);
			model_settings(&s, learners[l], false);
			s.explain_keep = 3;
			s.reward = COP_REWARD_LAST;
			s.pending_max = narrow ? 20 : 1000;
			cop_model *model = model_new(&s);
			for (uint64_t i = 0; i < 20; i++) {
				(void)model_decide(model, &rng, false, i, 0.0);
				(void)model_feedback(model, i, cop_rng_unit(&rng), 0.0);
			}
			(void)model_decide(model, &rng, false, 20, 0.0);
			assert_int_equal(cop_model_get_counters(model)->evicted, narrow);
			assert_int_equal(cop_model_explain(model, &id, &d, &e, &kept), COP_OK);
			assert_true(kept);
			note(e, &why[narrow]);
			cop_model_free(model);
		}
		assert_memory_equal(&why[0], &why[1], sizeof why[0]);
	}
}

static void test_explain_after_load_is_current(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_rng rng;
	cop_bytes bytes;
	cop_rng_init(&rng, FIXTURE_SEED, 71);
	cop_bytes_init(&bytes);
	model_settings(&s, "ensemble", false);
	s.explain_keep = 3;
	cop_model *a = model_new(&s), *b = model_new(&s);
	for (uint64_t i = 0; i < 4; i++)
		(void)model_decide(a, &rng, false, i, 0.0);
	model_save(a, &bytes);
	assert_int_equal(cop_model_load(b, bytes.data, bytes.length, NULL), COP_OK);
	for (uint64_t i = 0; i < 4; i++) {
		cop_decision d;
		const cop_explanation *e;
		bool kept = true;
		cop_event_id id = model_id(i);
		assert_int_equal(cop_model_explain(b, &id, &d, &e, &kept), COP_OK);
		assert_false(kept);
	}
	cop_bytes_fini(&bytes);
	cop_model_free(a);
	cop_model_free(b);
}

static void test_explain_row_takes_the_greedy_action_of_the_eligible(void **state)
{
	(void)state;
	for (size_t l = 0; l < 3; l++) {
		cop_model_settings s;
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 72);
		model_settings(&s, learners[l], false);
		cop_model *model = model_new(&s);
		model_run(model, &rng, false, 0, 200);
		for (size_t n = 0; n < 50; n++) {
			fixture_event e;
			cop_decision d;
			const cop_explanation *why;
			uint8_t mask[FIXTURE_ARMS] = { n & 1, (n >> 1) & 1, (n >> 2) & 1, 1 };
			fixture_draw(&e, &rng, false);
			const cop_candidates c = { .mask = n % 2 ? mask : NULL };
			const cop_model_context context = { .x = &e.row, .mask = c.mask };
			assert_int_equal(cop_model_explain_context(model, &context, &d, &why), COP_OK);
			double best = cop_learner_greedy(cop_model_learner(model), &e.row, &c);
			assert_true(d.p == 1.0);
			assert_true(l == 2 ? d.y == best : d.arm == (uint32_t)best);
			assert_true(l == 2 || n % 2 == 0 || mask[d.arm]);
			assert_int_equal(why->arm, d.arm);
		}
		cop_model_free(model);
	}
}

static void test_steady_load_allocates_nothing(void **state)
{
	(void)state;
	for (size_t l = 0; l < 3; l++)
		for (int sparse = 0; sparse < 2; sparse++) {
			cop_model_settings s;
			cop_rng rng;
			cop_rng_init(&rng, FIXTURE_SEED, 73);
			model_settings(&s, learners[l], sparse);
			s.explain_keep = 10;
			cop_model *model = model_new(&s);
			model_run(model, &rng, sparse, 0, 300);
			cop_test_alloc_fail(0, 0);
			model_run(model, &rng, sparse, 300, 300);
			assert_int_equal(cop_test_alloc_count(), 0);
			cop_model_free(model);
		}
}

/* A sum of recorded losses beyond all numbers would make a state that cannot be loaded again. */
static void test_sum_running_away_is_refused(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_rng rng;
	cop_bytes bytes;
	cop_rng_init(&rng, FIXTURE_SEED, 74);
	cop_bytes_init(&bytes);
	model_settings(&s, "value", false);
	s.reward = COP_REWARD_SUM;
	cop_model *model = model_new(&s);
	(void)model_decide(model, &rng, false, 1, 0.0);
	const double huge[2] = { 1.5e308, -1.5e308 };
	cop_feedback_result result;
	cop_event_id id = model_id(1);
	assert_int_equal(cop_model_feedback(model, &id, huge, 2, 0.0, &result), COP_OK);
	assert_int_equal(cop_model_feedback(model, &id, huge, 2, 0.0, &result), COP_EDIVERGED);
	model_save(model, &bytes);
	cop_model *other = model_new(&s);
	assert_int_equal(cop_model_load(other, bytes.data, bytes.length, NULL), COP_OK);
	assert_int_equal(cop_model_expire(model, WINDOW, 10), 1); /* the update is refused, the window ends */
	assert_int_equal(cop_model_get_counters(model)->refused, 1);
	assert_int_equal(cop_model_get_counters(model)->learned, 0);
	cop_bytes_fini(&bytes);
	cop_model_free(model);
	cop_model_free(other);
}

/* What is refused is no answer: the decision goes on waiting for one. */
static void test_feedback_that_would_diverge_is_refused_and_counted(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 75);
	model_settings(&s, "value", false);
	s.reward = COP_REWARD_EARLIEST;
	cop_model *model = model_new(&s);
	(void)model_decide(model, &rng, false, 1, 0.0);
	const double huge[2] = { 1.5e308, -1.5e308 };
	cop_feedback_result result;
	cop_event_id id = model_id(1);
	assert_int_equal(cop_model_feedback(model, &id, huge, 2, 0.0, &result), COP_EDIVERGED);
	assert_int_equal(cop_model_get_counters(model)->refused, 1);
	assert_int_equal(cop_model_get_counters(model)->learned, 0);
	assert_int_equal(cop_model_get_counters(model)->feedback[COP_FEEDBACK_APPLIED], 0);
	assert_int_equal(model_feedback(model, 1, 0.5, 0.0), COP_FEEDBACK_APPLIED);
	assert_int_equal(cop_model_get_counters(model)->learned, 1);
	cop_model_free(model);
}

static void test_new_wrong_settings_are_refused_with_message(void **state)
{
	(void)state;
	for (int i = 0; i < 9; i++) {
		cop_model_settings s;
		cop_model *model;
		cop_diag diag = { 0 };
		model_settings(&s, "value", false);
		s.reward_window = i == 0 ? -1.0 : i == 1 ? (double)INFINITY : WINDOW;
		s.loss_low = i == 2 ? 1.0 : i == 3 ? (double)NAN : 0.0;
		s.value_high = i == 4 ? 0.0 : i == 5 ? (double)INFINITY : 1.0;
		s.pending_max = i == 6 ? 0 : 10;
		s.learner.delta = i == 7 ? 0.75 : 0.1;
		s.has_default_loss = i == 8;
		s.default_loss = (double)NAN;
		if (cop_model_new(&s, &model, &diag) != COP_EINVAL)
			fail_msg("setting %d", i);
		assert_null(model);
		assert_true(strlen(diag.message) > 5);
	}
}

static void test_new_short_of_memory_is_refused(void **state)
{
	(void)state;
	for (size_t l = 0; l < 3; l++) {
		cop_model_settings s;
		cop_model *model = NULL;
		model_settings(&s, learners[l], false);
		s.explain_keep = 3;
		for (unsigned long n = 1; model == NULL; n++) {
			cop_diag diag = { 0 };
			cop_test_alloc_fail(n, 0);
			cop_err err = cop_model_new(&s, &model, &diag);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || (err == COP_ENOMEM && model == NULL && strlen(diag.message) > 0));
		}
		cop_model_free(model);
	}
	cop_model_free(NULL);
}

static void test_decide_short_of_memory_is_refused_and_does_not_wait(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 75);
	model_settings(&s, "ensemble", false);
	cop_model *model = model_new(&s);
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		fixture_event e;
		cop_decision d;
		bool repeated;
		cop_event_id id = model_id(1);
		fixture_draw(&e, &rng, false);
		cop_test_alloc_fail(n, 0);
		err = decide_context(model, &id, &e.row, NULL, 0.0, &d, &repeated);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		assert_int_equal(cop_model_pending(model), err == COP_OK);
		assert_int_equal(cop_model_get_counters(model)->decisions, err == COP_OK);
	}
	cop_model_free(model);
}

static void test_result_text_is_the_protocols(void **state)
{
	(void)state;
	static const char *const want[] = { "applied", "recorded", "duplicate", "late", "unknown" };
	for (int i = 0; i < COP_FEEDBACK_RESULTS; i++)
		assert_string_equal(cop_feedback_result_text((cop_feedback_result)i), want[i]);
	assert_non_null(cop_feedback_result_text(COP_FEEDBACK_RESULTS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_explain_kept_is_from_decide_time_else_current),
		cmocka_unit_test(test_explain_kept_knows_nothing_of_what_gave_way),
		cmocka_unit_test(test_explain_after_load_is_current),
		cmocka_unit_test(test_explain_row_takes_the_greedy_action_of_the_eligible),
		cmocka_unit_test(test_steady_load_allocates_nothing),
		cmocka_unit_test(test_sum_running_away_is_refused),
		cmocka_unit_test(test_feedback_that_would_diverge_is_refused_and_counted),
		cmocka_unit_test(test_new_wrong_settings_are_refused_with_message),
		cmocka_unit_test(test_new_short_of_memory_is_refused),
		cmocka_unit_test(test_decide_short_of_memory_is_refused_and_does_not_wait),
		cmocka_unit_test(test_result_text_is_the_protocols),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
