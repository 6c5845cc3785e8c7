/* Deferred decisions, the bound of bytes, events that fail and so never happened, and probes that come back. */
#include "model_fixture.h"

#include <stdio.h>

static cop_rng rng;

static const cop_model_counters *counters(const cop_model *model) { return cop_model_get_counters(model); }

static cop_decision defer(cop_model *model, uint64_t n, double now)
{
	fixture_event e;
	cop_decision d;
	bool repeated;
	cop_event_id id = model_id(n);
	fixture_draw(&e, &rng, false);
	const cop_model_context context = { .id = &id, .x = &e.row, .defer = true };
	assert_int_equal(cop_model_decide(model, &context, now, &d, &repeated), COP_OK);
	assert_false(repeated);
	return d;
}

static cop_feedback_result activate(cop_model *model, uint64_t n, double now)
{
	cop_feedback_result result = COP_FEEDBACK_RESULTS;
	cop_event_id id = model_id(n);
	cop_model_activate(model, &id, now, &result);
	return result;
}

static cop_model *default_model(cop_reward_rule rule)
{
	cop_model_settings s;
	cop_rng_init(&rng, FIXTURE_SEED, 90);
	model_settings(&s, "ensemble", false);
	s.reward = rule;
	s.has_default_loss = true;
	s.default_loss = 0.5;
	return model_new(&s);
}

static void test_deferred_never_activated_is_dropped_without_default(void **state)
{
	(void)state;
	cop_model *model = default_model(COP_REWARD_EARLIEST);
	(void)defer(model, 1, 0.0);
	(void)model_decide(model, &rng, false, 2, 0.0);
	assert_int_equal(cop_model_expire(model, WINDOW, 10), 2);
	assert_int_equal(counters(model)->dropped, 1);
	assert_int_equal(counters(model)->defaulted, 1);
	assert_int_equal(counters(model)->learned, 1);
	assert_int_equal(model_feedback(model, 1, 0.25, WINDOW), COP_FEEDBACK_LATE);
	assert_int_equal(activate(model, 1, WINDOW), COP_FEEDBACK_LATE);
	cop_model_free(model);
}

static void test_activated_window_begins_then(void **state)
{
	(void)state;
	cop_model *model = default_model(COP_REWARD_EARLIEST);
	(void)defer(model, 1, 0.0);
	(void)defer(model, 2, 0.0);
	(void)model_decide(model, &rng, false, 3, 5.0);
	assert_int_equal(activate(model, 1, 8.0), COP_FEEDBACK_APPLIED);
	assert_int_equal(activate(model, 1, 9.0), COP_FEEDBACK_DUPLICATE); /* and the window stays */
	assert_int_equal(activate(model, 3, 9.0), COP_FEEDBACK_DUPLICATE);
	assert_int_equal(activate(model, 4, 9.0), COP_FEEDBACK_UNKNOWN);
	assert_int_equal(cop_model_expire(model, 10.0, 10), 1); /* 2, never shown */
	assert_int_equal(counters(model)->dropped, 1);
	assert_int_equal(cop_model_expire(model, 15.0, 10), 1); /* 3 */
	assert_int_equal(cop_model_expire(model, 18.0 - 1e-6, 10), 0);
	assert_int_equal(counters(model)->defaulted, 1);
	assert_int_equal(cop_model_expire(model, 18.0, 10), 1);
	assert_int_equal(counters(model)->defaulted, 2);
	assert_int_equal(counters(model)->dropped, 1);
	cop_model_free(model);
}

static void test_activate_after_the_window_is_late_though_nothing_ended_it_yet(void **state)
{
	(void)state;
	cop_model *model = default_model(COP_REWARD_EARLIEST);
	(void)defer(model, 1, 0.0);
	assert_int_equal(activate(model, 1, WINDOW), COP_FEEDBACK_LATE);
	assert_int_equal(cop_model_pending(model), 0);
	assert_int_equal(counters(model)->dropped, 1);
	assert_int_equal(counters(model)->learned, 0);
	cop_model_free(model);
}

static void test_feedback_before_activation_is_applied(void **state)
{
	(void)state;
	cop_model *model = default_model(COP_REWARD_EARLIEST);
	(void)defer(model, 1, 0.0);
	assert_int_equal(model_feedback(model, 1, 0.25, 1.0), COP_FEEDBACK_APPLIED);
	assert_int_equal(activate(model, 1, 2.0), COP_FEEDBACK_DUPLICATE);
	assert_int_equal(counters(model)->learned, 1);
	assert_true(counters(model)->loss_sum == 0.25);
	assert_int_equal(cop_model_expire(model, 100.0, 10), 0);
	cop_model_free(model);
}

/* Recorded before: learned when the window ends, be it the activated one or the one that never began. */
static void test_feedback_before_activation_is_recorded(void **state)
{
	(void)state;
	for (int shown = 0; shown < 2; shown++) {
		cop_model *model = default_model(COP_REWARD_SUM);
		(void)defer(model, 1, 0.0);
		assert_int_equal(model_feedback(model, 1, 0.25, 1.0), COP_FEEDBACK_RECORDED);
		if (shown)
			assert_int_equal(activate(model, 1, 6.0), COP_FEEDBACK_APPLIED);
		assert_int_equal(model_feedback(model, 1, 0.5, 7.0), COP_FEEDBACK_RECORDED);
		assert_int_equal(cop_model_expire(model, 10.0, 10), shown ? 0 : 1);
		assert_int_equal(cop_model_expire(model, 16.0, 10), shown ? 1 : 0);
		assert_int_equal(counters(model)->learned, 1);
		assert_int_equal(counters(model)->dropped, 0);
		assert_int_equal(counters(model)->defaulted, 0);
		assert_true(counters(model)->loss_sum == 0.75);
		assert_int_equal(activate(model, 1, 16.0), COP_FEEDBACK_DUPLICATE);
		cop_model_free(model);
	}
}

static void test_no_eligible_arm_leaves_saved_bytes_unchanged(void **state)
{
	(void)state;
	static const char *const learners[] = { "ensemble", "dgt" };
	cop_bytes before, after;
	cop_bytes_init(&before);
	cop_bytes_init(&after);
	for (size_t l = 0; l < 2; l++) {
		cop_model_settings s;
		model_settings(&s, learners[l], false);
		cop_rng_init(&rng, FIXTURE_SEED, 91);
		cop_model *model = model_new(&s);
		model_run(model, &rng, false, 0, 30);
		model_save(model, &before);
		static const uint8_t none[FIXTURE_ARMS] = { 0 };
		for (uint64_t n = 29; n < 33; n++) { /* also one that waits, and one whose window is over */
			fixture_event e;
			cop_decision d;
			bool repeated;
			cop_event_id id = model_id(n);
			fixture_draw(&e, &rng, false);
			assert_int_equal(decide_context(model, &id, &e.row, none, n == 29 ? 90.0 : 30.0, &d, &repeated),
			        COP_EINVAL);
		}
		model_save(model, &after);
		assert_bytes_equal(&before, &after);
		cop_model_free(model);
	}
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
}

/* Decides (or replays) under id n with the k-th allocation failing for k = 1, 2, ..; how often memory was short. */
static size_t decide_short_of_memory(cop_model *model, uint64_t n, double now, bool replay, const cop_bytes *before)
{
	cop_bytes after;
	fixture_event e;
	size_t refused = 0;
	cop_bytes_init(&after);
	fixture_draw(&e, &rng, false);
	cop_event_id id = model_id(n);
	const cop_model_context context = { .id = &id, .x = &e.row };
	cop_bytes ended;
	cop_bytes_init(&ended);
	cop_decision told = { .arm = 1, .p = 0.5 };
	cop_wire_record record = { .time = now };
	cop_model_record_decision(model, &context, &told, &record);
	if (n > 0)
		cop_wire_settled_add(
		        &ended, &(cop_wire_settlement){ .id = id, .outcome = COP_WIRE_OUTCOME_UNANSWERED });
	record.settled = (cop_wire_settled){ .items = ended.data, .length = ended.length, .count = n > 0 };
	for (unsigned long k = 1;; k++) {
		cop_decision d;
		bool repeated = false;
		cop_test_alloc_fail(k, 0);
		cop_err err = replay ? cop_model_apply(model, COP_WIRE_RECORD_DECISION, &record)
		                     : cop_model_decide(model, &context, now, &d, &repeated);
		cop_test_alloc_fail(0, 0);
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
		refused++;
		model_save(model, &after);
		assert_bytes_equal(before, &after);
	}
	cop_bytes_fini(&after);
	cop_bytes_fini(&ended);
	return refused;
}

static void test_decide_short_of_memory_leaves_saved_bytes_unchanged(void **state)
{
	(void)state;
	for (int replay = 0; replay < 2; replay++) {
		cop_model_settings s;
		cop_bytes before;
		cop_bytes_init(&before);
		cop_rng_init(&rng, FIXTURE_SEED, 92);
		model_settings(&s, "ensemble", false);
		s.pending_max = 1000;
		s.reward = COP_REWARD_LAST;
		cop_model *model = model_new(&s);
		model_save(model, &before);
		assert_true(decide_short_of_memory(model, 0, 0.0, replay, &before) >= 1); /* the first chunk */
		for (uint64_t i = 1; i < 192; i++) /* as many as fit the first index */
			(void)model_decide(model, &rng, false, i, 0.0);
		model_save(model, &before);
		/* Its id waits still, but its window is over: it ends with the event, or not at all. */
		assert_true(decide_short_of_memory(model, 7, WINDOW, replay, &before) >= 1);
		assert_int_equal(cop_model_pending(model), 192);
		assert_int_equal(counters(model)->dropped, 1);
		cop_bytes_fini(&before);
		cop_model_free(model);
	}
}

static void test_bytes_bound_evicts_the_oldest_and_counts(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_model_settings s;
		cop_rng_init(&rng, FIXTURE_SEED, 93);
		model_settings(&s, "ensemble", sparse);
		s.pending_max = 10000;
		cop_model *model = model_new(&s);
		size_t empty = cop_model_pending_bytes(model);
		(void)model_decide(model, &rng, sparse, 0, 0.0);
		size_t each = cop_model_pending_bytes(model) - empty;
		assert_true(each > FIXTURE_D * sizeof(float) && each < 200);
		s.pending_bytes = empty + 5 * each;
		assert_int_equal(cop_model_adjust(model, &s, NULL), COP_OK);
		for (uint64_t i = 1; i < 8; i++)
			(void)model_decide(model, &rng, sparse, i, (double)i);
		assert_int_equal(cop_model_pending(model), 5);
		assert_int_equal(counters(model)->evicted, 3);
		assert_true(cop_model_pending_bytes(model) <= s.pending_bytes);
		assert_int_equal(model_feedback(model, 2, 0.5, 8.0), COP_FEEDBACK_LATE);
		assert_int_equal(model_feedback(model, 3, 0.5, 8.0), COP_FEEDBACK_APPLIED);
		s.pending_bytes = 1; /* below the index alone: one waits, as long as nobody comes */
		assert_int_equal(cop_model_adjust(model, &s, NULL), COP_OK);
		(void)model_decide(model, &rng, sparse, 20, 8.0);
		(void)model_decide(model, &rng, sparse, 21, 8.0);
		assert_int_equal(cop_model_pending(model), 1);
		assert_int_equal(counters(model)->evicted, 8);
		assert_int_equal(model_feedback(model, 21, 0.5, 8.0), COP_FEEDBACK_APPLIED);
		cop_model_free(model);
	}
}

static bool same_probes(const cop_decision *a, const cop_decision *b)
{
	return memcmp(a->probe, b->probe, sizeof a->probe) == 0 && a->y == b->y && a->u == b->u && a->p == b->p;
}

static void check_probes(cop_model *model, const cop_decision *made, uint64_t n)
{
	fixture_event e;
	cop_decision again, told;
	const cop_explanation *why;
	bool repeated, kept;
	cop_event_id id = model_id(n);
	fixture_draw(&e, &rng, false);
	assert_int_equal(decide_context(model, &id, &e.row, NULL, 1.0, &again, &repeated), COP_OK);
	assert_true(repeated && same_probes(made, &again));
	assert_int_equal(cop_model_explain(model, &id, &told, &why, &kept), COP_OK);
	assert_true(same_probes(made, &told));
}

static void test_value_probes_come_back_as_they_were(void **state)
{
	(void)state;
	for (int one_point = 0; one_point < 2; one_point++) {
		cop_model_settings s;
		cop_decision made[50];
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		cop_rng_init(&rng, FIXTURE_SEED, 94);
		model_settings(&s, "value", false);
		s.learner.feedback = one_point ? COP_VALUE_ONE : COP_VALUE_TWO;
		s.learner.delta = 0.7;
		s.value_low = -3.0;
		s.value_high = 4.0;
		cop_model *model = model_new(&s), *other = model_new(&s);
		for (uint64_t i = 0; i < 50; i++) {
			made[i] = model_decide(model, &rng, false, i, 0.0);
			(void)model_decide(model, &rng, false, 1000, 0.0);
			(void)model_feedback(model, 1000, 9.0 * cop_rng_unit(&rng), 0.0);
			assert_true(fabs(made[i].probe[0] - made[i].y) > 0.09);
			assert_true(one_point ? made[i].u != 0 && made[i].probe[1] == 0.0
			                      : made[i].u == 0 && made[i].probe[1] < made[i].y);
		}
		model_save(model, &bytes);
		assert_int_equal(cop_model_load(other, bytes.data, bytes.length, NULL), COP_OK);
		for (uint64_t i = 0; i < 50; i++) {
			check_probes(model, &made[i], i);
			check_probes(other, &made[i], i);
		}
		cop_bytes_fini(&bytes);
		cop_model_free(model);
		cop_model_free(other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deferred_never_activated_is_dropped_without_default),
		cmocka_unit_test(test_activated_window_begins_then),
		cmocka_unit_test(test_activate_after_the_window_is_late_though_nothing_ended_it_yet),
		cmocka_unit_test(test_feedback_before_activation_is_applied),
		cmocka_unit_test(test_feedback_before_activation_is_recorded),
		cmocka_unit_test(test_no_eligible_arm_leaves_saved_bytes_unchanged),
		cmocka_unit_test(test_decide_short_of_memory_leaves_saved_bytes_unchanged),
		cmocka_unit_test(test_bytes_bound_evicts_the_oldest_and_counts),
		cmocka_unit_test(test_value_probes_come_back_as_they_were),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
