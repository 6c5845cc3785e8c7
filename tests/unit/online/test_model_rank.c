/* A model that ranks candidates, as the daemon runs it: decisions replayed to the same bytes, saved state, windows,
 * feedback by id and self-contained, explanations, orders, logged events. */
#include "unit/learn/rank_fixture.h"

#include "online/model.h"
#include "store/section_file.h"
#include "unit/online/replay_fixture.h"

#define WINDOW 10.0

static cop_model *model_of(bool sparse, size_t explain_keep)
{
	cop_model_settings s;
	cop_model *model;
	cop_diag diag = { 0 };
	cop_model_settings_init(&s);
	rank_settings(&s.learner, sparse);
	s.reward_window = WINDOW;
	s.has_default_loss = true;
	s.default_loss = 1.0;
	s.pending_max = 20;
	s.explain_keep = explain_keep;
	if (cop_model_new(&s, &model, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	return model;
}

static void save(const cop_model *model, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	size_t mark = cop_section_file_begin(bytes);
	cop_model_save(model, bytes);
	cop_section_file_end(bytes, mark);
	assert_int_equal(bytes->err, COP_OK);
}

static void assert_equal_models(const cop_model *a, const cop_model *b)
{
	cop_bytes one, two;
	cop_bytes_init(&one);
	cop_bytes_init(&two);
	save(a, &one);
	save(b, &two);
	assert_bytes_equal(&one, &two);
	cop_bytes_fini(&one);
	cop_bytes_fini(&two);
}

static cop_event_id id_of(uint64_t n)
{
	cop_event_id id;
	cop_event_id_from_unsigned(&id, n);
	return id;
}

static cop_model_context context_of(const cop_event_id *id, const rank_event *e)
{
	return (cop_model_context){
		.id = id, .x = &e->row, .candidate = e->candidate, .candidates = e->set.count, .mask = e->set.mask
	};
}

/* Decisions, late, missing and self-contained feedback, and windows that end, on a model and on one that replays. */
static void test_replayed_events_give_the_same_bytes(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_model *lives = model_of(sparse != 0, 3), *replays = model_of(sparse != 0, 0);
		cop_rng rng;
		cop_rng_init(&rng, 1, 0);
		for (uint64_t i = 0; i < 400; i++) {
			rank_event e;
			cop_decision d;
			cop_feedback_result one, two;
			bool repeated;
			double now = (double)i;
			cop_event_id id = id_of(i), answered = id_of(i - 3), strange = id_of(100000 + i);
			rank_draw(&e, &rng, sparse != 0, 0);
			cop_model_context context = context_of(&id, &e);
			context.defer = i % 7 == 0;
			assert_int_equal(cop_model_decide(lives, &context, now, &d, &repeated), COP_OK);
			assert_int_equal(model_replay(lives, replays, &context, now, &d, NULL), COP_OK);
			if (i >= 3 && i % 4 != 0) {
				double loss = e.loss[0];
				assert_int_equal(cop_model_feedback(lives, &answered, &loss, 1, now, &one), COP_OK);
				assert_int_equal(cop_model_feedback(replays, &answered, &loss, 1, now, &two), COP_OK);
				assert_int_equal(one, two);
			}
			if (i % 5 == 0) {
				const cop_model_played played = { &e.row, &e.candidate[0], 0, 0.25 };
				for (int k = 0; k < 2; k++) {
					assert_int_equal(cop_model_feedback_played(k == 0 ? lives : replays, &strange,
					                         &played, e.loss[0], now, &one),
					        COP_OK);
					assert_int_equal(one, COP_FEEDBACK_APPLIED);
				}
			}
			if (cop_model_expire(lives, now, 10) > 0)
				assert_int_equal(model_replay_expiry(lives, replays, now), COP_OK);
		}
		assert_true(cop_model_get_counters(lives)->defaulted > 20);
		assert_true(cop_model_get_counters(lives)->learned > 200);
		cop_bytes bytes, again;
		cop_bytes_init(&bytes);
		cop_bytes_init(&again);
		cop_model_settings same = *cop_model_get_settings(lives);
		same.explain_keep = 0;
		assert_int_equal(cop_model_adjust(lives, &same, NULL), COP_OK);
		assert_equal_models(lives, replays);
		save(lives, &bytes);
		cop_model *loaded = model_of(sparse != 0, 0);
		cop_diag diag = { 0 };
		assert_int_equal(cop_model_load(loaded, bytes.data, bytes.length, &diag), COP_OK);
		assert_equal_models(lives, loaded);
		cop_model_settings peeked;
		assert_int_equal(cop_model_peek(bytes.data, bytes.length, &peeked, &diag), COP_OK);
		assert_int_equal(peeked.learner.candidate_features, sparse ? 0 : RANK_A);
		assert_int_equal(peeked.learner.max_candidates, RANK_MOST);
		cop_bytes_fini(&bytes);
		cop_bytes_fini(&again);
		cop_model_free(loaded);
		cop_model_free(lives);
		cop_model_free(replays);
	}
}

static void test_load_of_another_shape_is_refused(void **state)
{
	(void)state;
	cop_model *saved = model_of(false, 0);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	save(saved, &bytes);
	for (int i = 0; i < 4; i++) {
		cop_model_settings s = *cop_model_get_settings(saved);
		cop_model *other;
		cop_diag diag = { 0 };
		if (i == 0)
			s.learner.candidate_features++;
		else if (i == 1)
			s.learner.max_candidates--;
		else if (i == 2)
			s.learner.features--;
		else
			s.learner.max_candidates++; /* more is fine */
		assert_int_equal(cop_model_new(&s, &other, &diag), COP_OK);
		assert_int_equal(cop_model_load(other, bytes.data, bytes.length, &diag), i == 3 ? COP_OK : COP_ESHAPE);
		assert_true(i == 3 || strstr(diag.message, "candidate_features 3, max_candidates 8") != NULL);
		cop_model_free(other);
	}
	cop_bytes_fini(&bytes);
	cop_model_free(saved);
}

static void test_events_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	cop_model *model = model_of(false, 2), *fresh = model_of(false, 2);
	cop_rng rng;
	rank_event e;
	cop_decision d;
	cop_feedback_result result;
	const cop_explanation *why;
	bool repeated;
	double loss = 0.5;
	uint32_t order[RANK_MOST];
	size_t count;
	const uint8_t none[RANK_MOST] = { 0 };
	cop_event_id id = id_of(1);
	cop_rng_init(&rng, 2, 0);
	rank_draw(&e, &rng, false, 3);
	for (int i = 0; i < 3; i++) {
		cop_model_context context = context_of(&id, &e);
		if (i == 0)
			context.candidates = 0;
		else if (i == 1)
			context.candidates = RANK_MOST + 1;
		else
			context.mask = none;
		assert_int_equal(cop_model_decide(model, &context, 0.0, &d, &repeated), COP_EINVAL);
		assert_int_equal(cop_model_order(model, &context, order, &count), COP_EINVAL);
		assert_int_equal(cop_model_explain_context(model, &context, &d, &why), COP_EINVAL);
	}
	cop_model_context context = context_of(&id, &e);
	d = (cop_decision){ .arm = 3, .p = 0.5 };
	assert_int_equal(model_replay(model, model, &context, 0.0, &d, NULL), COP_EINVAL);
	assert_int_equal(cop_model_feedback_full(model, &id, &e.row, 0, 0.5, &loss, 1, 0.0, &result), COP_EINVAL);
	cop_model_played played = { &e.row, &e.candidate[0], RANK_MOST, 0.5 };
	assert_int_equal(cop_model_feedback_played(model, &id, &played, 0.5, 0.0, &result), COP_EINVAL);
	played.arm = 0;
	played.p = 0.0;
	assert_int_equal(cop_model_feedback_played(model, &id, &played, 0.5, 0.0, &result), COP_EINVAL);
	played.p = 1.0;
	assert_int_equal(cop_model_feedback_played(model, &id, &played, 1.5, 0.0, &result), COP_EINVAL);
	assert_equal_models(model, fresh);
	cop_model_free(model);
	cop_model_free(fresh);
}

static void test_feedback_for_a_waiting_decision_joins_it(void **state)
{
	(void)state;
	cop_model *by_id = model_of(false, 0), *played_too = model_of(false, 0), *unplaced = model_of(false, 0);
	cop_model *models[] = { by_id, played_too, unplaced };
	cop_rng rng;
	cop_rng_init(&rng, 3, 0);
	for (uint64_t i = 0; i < 50; i++) {
		rank_event e;
		cop_decision d;
		cop_feedback_result result;
		bool repeated;
		cop_event_id id = id_of(i);
		rank_draw(&e, &rng, false, 0);
		cop_model_context context = context_of(&id, &e);
		for (size_t k = 0; k < 3; k++) {
			assert_int_equal(cop_model_decide(models[k], &context, 0.0, &d, &repeated), COP_OK);
			cop_decision again;
			assert_int_equal(cop_model_decide(models[k], &context, 0.0, &again, &repeated), COP_OK);
			assert_true(repeated && again.arm == d.arm && again.p == d.p);
			const cop_model_played played = { &e.row, &e.candidate[d.arm],
				k == 1 ? d.arm : COP_MODEL_ANY_ARM, d.p };
			double loss = e.loss[d.arm];
			cop_err err = k == 0 ? cop_model_feedback(models[k], &id, &loss, 1, 0.0, &result)
			                     : cop_model_feedback_played(models[k], &id, &played, loss, 0.0, &result);
			assert_int_equal(err, COP_OK);
			assert_int_equal(result, COP_FEEDBACK_APPLIED);
			err = cop_model_feedback_played(models[k], &id, &played, loss, 0.0, &result);
			assert_int_equal(err, COP_OK);
			assert_int_equal(result, COP_FEEDBACK_DUPLICATE);
		}
	}
	assert_equal_models(by_id, played_too);
	assert_equal_models(by_id, unplaced);
	for (size_t k = 0; k < 3; k++)
		cop_model_free(models[k]);
}

static void test_order_is_by_predicted_loss_of_the_eligible(void **state)
{
	(void)state;
	cop_model *model = model_of(false, 0);
	cop_rng rng;
	cop_rng_init(&rng, 4, 0);
	for (uint64_t i = 0; i < 300; i++) {
		rank_event e;
		cop_decision d;
		cop_feedback_result result;
		const cop_explanation *why;
		uint8_t mask[RANK_MOST];
		uint32_t order[RANK_MOST];
		size_t count, eligible = 0;
		bool repeated;
		cop_event_id id = id_of(i);
		rank_draw(&e, &rng, false, 0);
		for (size_t k = 0; k < e.set.count; k++)
			eligible += mask[k] = (uint8_t)(k == 0 || cop_rng_below(&rng, 3) > 0);
		e.set.mask = mask;
		cop_model_context context = context_of(&id, &e);
		assert_int_equal(cop_model_decide(model, &context, 0.0, &d, &repeated), COP_OK);
		assert_int_equal(cop_model_order(model, &context, order, &count), COP_OK);
		assert_int_equal(count, eligible);
		assert_true(d.greedy == (order[0] == d.arm));
		cop_decision best;
		assert_int_equal(cop_model_explain_context(model, &context, &best, &why), COP_OK);
		assert_int_equal(best.arm, order[0]);
		assert_int_equal(why->score_count, e.set.count);
		assert_true(fabs(why->prediction - (double)why->scores[best.arm]) < 1e-6);
		for (size_t k = 1; k < count; k++) {
			assert_int_equal(mask[order[k]], 1);
			assert_true(why->scores[order[k - 1]] <= why->scores[order[k]]);
		}
		double loss = e.loss[d.arm];
		assert_int_equal(cop_model_feedback(model, &id, &loss, 1, 0.0, &result), COP_OK);
	}
	cop_model_free(model);
}

static void test_explanation_of_a_decision_is_kept_with_all_scores(void **state)
{
	(void)state;
	cop_model *model = model_of(true, 2);
	cop_rng rng;
	cop_rng_init(&rng, 5, 0);
	for (uint64_t i = 0; i < 5; i++) {
		rank_event e;
		cop_decision d;
		bool repeated;
		cop_event_id id = id_of(i);
		rank_draw(&e, &rng, true, 4);
		cop_model_context context = context_of(&id, &e);
		assert_int_equal(cop_model_decide(model, &context, 0.0, &d, &repeated), COP_OK);
	}
	for (uint64_t i = 0; i < 5; i++) {
		cop_event_id id = id_of(i);
		cop_decision d;
		const cop_explanation *why;
		bool kept;
		assert_int_equal(cop_model_explain(model, &id, &d, &why, &kept), COP_OK);
		assert_int_equal(kept, i >= 3);
		assert_int_equal(why->score_count, kept ? 4 : 0);
		assert_int_equal(why->arm, d.arm);
		assert_int_equal(why->expert_count, 3);
	}
	cop_model_free(model);
}

static void test_logged_own_decisions_give_the_same_learner(void **state)
{
	(void)state;
	cop_model *decides = model_of(false, 0), *follows = model_of(false, 0);
	cop_bytes one, two;
	cop_rng rng;
	cop_bytes_init(&one);
	cop_bytes_init(&two);
	cop_rng_init(&rng, 6, 0);
	for (uint64_t i = 0; i < 200; i++) {
		rank_event e;
		cop_decision d;
		cop_policy_view view;
		cop_feedback_result result;
		bool repeated;
		cop_event_id id = id_of(i);
		rank_draw(&e, &rng, false, 0);
		cop_model_context context = context_of(&id, &e);
		assert_int_equal(cop_model_decide(decides, &context, 0.0, &d, &repeated), COP_OK);
		double loss = e.loss[d.arm];
		assert_int_equal(cop_model_feedback(decides, &id, &loss, 1, 0.0, &result), COP_OK);
		cop_model_logged logged = { .x = &e.row,
			.candidate = e.candidate,
			.candidates = e.set.count,
			.arm = d.arm,
			.p = d.p,
			.loss = loss,
			.learn = true };
		assert_int_equal(cop_model_view_logged(follows, &logged, &view), COP_OK);
		assert_true(view.p[d.arm] > 0.0); /* statistics move at the next call */
		assert_int_equal(cop_model_take_logged(follows, &logged, &view), COP_OK);
		assert_int_equal(view.arms, e.set.count);
		assert_true(view.p[d.arm] == d.p);
		logged.arm = (uint32_t)e.set.count;
		assert_int_equal(cop_model_take_logged(follows, &logged, &view), COP_EINVAL);
		logged.candidates = 0;
		assert_int_equal(cop_model_take_logged(follows, &logged, &view), COP_EINVAL);
	}
	rank_save(cop_model_learner(decides), &one);
	rank_save(cop_model_learner(follows), &two);
	assert_bytes_equal(&one, &two);
	cop_bytes_fini(&one);
	cop_bytes_fini(&two);
	cop_model_free(decides);
	cop_model_free(follows);
}

static void test_decide_without_memory_changes_nothing(void **state)
{
	(void)state;
	cop_model *model = model_of(true, 0), *fresh = model_of(true, 0);
	cop_rng rng;
	rank_event e;
	cop_decision d;
	bool repeated;
	cop_event_id id = id_of(1);
	cop_rng_init(&rng, 7, 0);
	rank_draw(&e, &rng, true, 5);
	e.candidate[2].nnz = 1; /* records of two sizes */
	cop_model_context context = context_of(&id, &e);
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		cop_test_alloc_fail(n, 1);
		err = cop_model_decide(model, &context, 0.0, &d, &repeated);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		if (err != COP_OK)
			assert_equal_models(model, fresh);
	}
	cop_model_free(model);
	cop_model_free(fresh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replayed_events_give_the_same_bytes),
		cmocka_unit_test(test_load_of_another_shape_is_refused),
		cmocka_unit_test(test_events_that_do_not_fit_are_refused),
		cmocka_unit_test(test_feedback_for_a_waiting_decision_joins_it),
		cmocka_unit_test(test_order_is_by_predicted_loss_of_the_eligible),
		cmocka_unit_test(test_explanation_of_a_decision_is_kept_with_all_scores),
		cmocka_unit_test(test_logged_own_decisions_give_the_same_learner),
		cmocka_unit_test(test_decide_without_memory_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
