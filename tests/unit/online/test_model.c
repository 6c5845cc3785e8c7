/* Reward rules, windows, bounds and counters of a model, told by what it answers and by what it has learned. */
#include "model_fixture.h"

#include <stdio.h>

static cop_rng rng;

static cop_model *plain_model(cop_model_settings *s, cop_reward_rule rule)
{
	cop_rng_init(&rng, FIXTURE_SEED, 60);
	model_settings(s, "ensemble", false);
	s->reward = rule;
	return model_new(s);
}

static const cop_model_counters *counters(const cop_model *model) { return cop_model_get_counters(model); }

static cop_err feedback_error(cop_model *model, uint64_t n, const double *loss, size_t count)
{
	cop_feedback_result result;
	cop_event_id id = model_id(n);
	return cop_model_feedback(model, &id, loss, count, 0.0, &result);
}

static void test_earliest_first_is_applied_second_duplicate(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_model *model = plain_model(&s, COP_REWARD_EARLIEST);
	(void)model_decide(model, &rng, false, 1, 0.0);
	assert_int_equal(cop_model_pending(model), 1);
	assert_int_equal(model_feedback(model, 1, 0.25, 1.0), COP_FEEDBACK_APPLIED);
	assert_int_equal(cop_model_pending(model), 0);
	assert_int_equal(model_feedback(model, 1, 1.0, 2.0), COP_FEEDBACK_DUPLICATE);
	assert_int_equal(model_feedback(model, 2, 1.0, 2.0), COP_FEEDBACK_UNKNOWN);
	assert_int_equal(counters(model)->learned, 1);
	assert_int_equal(counters(model)->decisions, 1);
	assert_int_equal(counters(model)->feedback[COP_FEEDBACK_APPLIED], 1);
	assert_int_equal(counters(model)->feedback[COP_FEEDBACK_DUPLICATE], 1);
	assert_int_equal(counters(model)->feedback[COP_FEEDBACK_UNKNOWN], 1);
	assert_true(counters(model)->loss_sum == 0.25);
	assert_true(cop_model_learner(model)->rev == 1);
	(void)cop_model_expire(model, 1.0 + WINDOW, 10); /* remembered for one more window, to the second */
	assert_int_equal(model_feedback(model, 1, 1.0, 11.0), COP_FEEDBACK_DUPLICATE);
	assert_int_equal(cop_model_expire(model, 1.5 + WINDOW, 10), 0); /* no event: nothing is forgotten */
	assert_int_equal(model_feedback(model, 1, 1.0, 11.0), COP_FEEDBACK_DUPLICATE);
	assert_int_equal(model_feedback(model, 2, 1.0, 1.5 + WINDOW), COP_FEEDBACK_UNKNOWN);
	assert_int_equal(model_feedback(model, 1, 1.0, 12.0), COP_FEEDBACK_UNKNOWN);
	cop_model_free(model);
}

static void recorded_rule(cop_reward_rule rule, const double *losses, size_t n, double want)
{
	cop_model_settings s;
	cop_model *model = plain_model(&s, rule);
	(void)model_decide(model, &rng, false, 1, 0.0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(model_feedback(model, 1, losses[i], 1.0), COP_FEEDBACK_RECORDED);
	assert_int_equal(counters(model)->learned, 0);
	assert_int_equal(cop_model_pending(model), 1);
	assert_int_equal(cop_model_expire(model, WINDOW - 1e-6, 10), 0);
	assert_int_equal(cop_model_expire(model, WINDOW, 10), 1);
	assert_int_equal(cop_model_pending(model), 0);
	assert_int_equal(counters(model)->learned, 1);
	assert_int_equal(counters(model)->defaulted, 0);
	assert_int_equal(counters(model)->dropped, 0);
	assert_true(fabs(counters(model)->loss_sum - want) < 1e-12);
	assert_int_equal(counters(model)->feedback[COP_FEEDBACK_RECORDED], n);
	assert_int_equal(model_feedback(model, 1, 0.0, WINDOW + 1.0), COP_FEEDBACK_DUPLICATE);
	cop_model_free(model);
}

static void test_last_learns_the_last_when_the_window_ends(void **state)
{
	(void)state;
	recorded_rule(COP_REWARD_LAST, (const double[]){ 1.0, 0.5, 0.125 }, 3, 0.125);
}

static void test_first_learns_the_first_when_the_window_ends(void **state)
{
	(void)state;
	cop_model_settings s;
	recorded_rule(COP_REWARD_FIRST, (const double[]){ 0.75 }, 1, 0.75);
	cop_model *model = plain_model(&s, COP_REWARD_FIRST);
	(void)model_decide(model, &rng, false, 1, 0.0);
	assert_int_equal(model_feedback(model, 1, 0.25, 1.0), COP_FEEDBACK_RECORDED);
	assert_int_equal(model_feedback(model, 1, 1.0, 2.0), COP_FEEDBACK_DUPLICATE);
	assert_int_equal(counters(model)->learned, 0);
	assert_int_equal(cop_model_expire(model, WINDOW, 10), 1);
	assert_int_equal(counters(model)->learned, 1);
	assert_true(counters(model)->loss_sum == 0.25);
	cop_model_free(model);
}

/* ---- decisions that often end by the default loss ---- */

static cop_model *model_with_default(cop_model_settings *s)
{
	cop_rng_init(&rng, FIXTURE_SEED, 60);
	model_settings(s, "ensemble", false);
	s->has_default_loss = true;
	s->default_loss = 1.0;
	s->pending_max = 2000;
	return model_new(s);
}

/* n decisions at `now`, from number `from`. */
static void decide_many(cop_model *model, uint64_t from, size_t n, double now)
{
	for (uint64_t i = from; i < from + n; i++)
		(void)model_decide(model, &rng, false, i, now);
}

/* `answered` decisions that are told at once, then `silent` ones whose windows end; what becomes of the next one told.
 */
static cop_feedback_result after(size_t answered, size_t silent)
{
	cop_model_settings s;
	cop_model *model = model_with_default(&s);
	for (uint64_t i = 0; i < answered; i++) {
		(void)model_decide(model, &rng, false, i, 0.0);
		assert_int_equal(model_feedback(model, i, 0.0, 0.0), COP_FEEDBACK_APPLIED);
	}
	decide_many(model, answered, silent, 1.0);
	assert_int_equal(cop_model_expire(model, 1.0 + WINDOW, SIZE_MAX), silent);
	assert_int_equal(counters(model)->defaulted, silent);
	assert_int_equal(counters(model)->learned, answered + silent);
	uint64_t next = answered + silent;
	(void)model_decide(model, &rng, false, next, 20.0);
	cop_feedback_result result = model_feedback(model, next, 0.0, 21.0);
	assert_int_equal(model_feedback(model, next, 1.0, 22.0), COP_FEEDBACK_DUPLICATE);
	assert_int_equal(counters(model)->learned, next + (result == COP_FEEDBACK_APPLIED));
	assert_int_equal(cop_model_expire(model, 20.0 + WINDOW, SIZE_MAX), result == COP_FEEDBACK_RECORDED);
	assert_int_equal(counters(model)->learned, next + 1);
	assert_int_equal(counters(model)->defaulted, silent);
	assert_true(counters(model)->loss_sum == (double)silent);
	cop_model_free(model);
	return result;
}

static void test_earliest_waits_for_the_window_where_the_default_is_usual(void **state)
{
	(void)state;
	assert_int_equal(after(899, 100), COP_FEEDBACK_RECORDED); /* above a tenth */
	assert_int_equal(after(900, 100), COP_FEEDBACK_APPLIED);  /* a tenth */
	assert_int_equal(after(0, 100), COP_FEEDBACK_RECORDED);
	assert_int_equal(after(0, 99), COP_FEEDBACK_APPLIED); /* too few to know */
}

/* A decision every hundredth of a second, every 50th told `late` decisions later; how many were learned at once. */
static uint64_t learned_before_a_window_ends(cop_model *model, uint64_t late)
{
	for (uint64_t i = 0; i < 900; i++) {
		(void)model_decide(model, &rng, false, i, 0.01 * (double)i);
		if (i % 50 == 49 && i >= late)
			(void)model_feedback(model, i - late, 0.0, 0.01 * (double)i);
	}
	assert_int_equal(counters(model)->defaulted, 0);
	return counters(model)->learned;
}

static void test_earliest_waits_for_the_window_where_few_are_told_and_soon(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_model *model = model_with_default(&s);
	assert_int_equal(learned_before_a_window_ends(model, 2), 2); /* then 100 wait, for 50 times as long */
	assert_int_equal(counters(model)->feedback[COP_FEEDBACK_RECORDED], 16);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	model_save(model, &bytes);
	cop_model *loaded = model_new(&s);
	cop_diag diag = { 0 };
	assert_int_equal(cop_model_load(loaded, bytes.data, bytes.length, &diag), COP_OK);
	assert_int_equal(model_feedback(loaded, 898, 0.0, 9.0), COP_FEEDBACK_RECORDED);
	assert_true(counters(loaded)->awaited > 0.0);
	cop_bytes_fini(&bytes);
	cop_model_free(loaded);
	cop_model_free(model);
	model = model_with_default(
	        &s); /* none is told before a third of what the oldest waits: this is how late they are */
	assert_int_equal(learned_before_a_window_ends(model, 300), 12);
	cop_model_free(model);
	s.has_default_loss = false;
	model = model_new(&s);
	assert_int_equal(learned_before_a_window_ends(model, 2), 18);
	cop_model_free(model);
}

/* ---- recorded losses ---- */

static void test_sum_learns_the_sum_cut_to_the_range(void **state)
{
	(void)state;
	recorded_rule(COP_REWARD_SUM, (const double[]){ 0.25, 0.5 }, 2, 0.75);
	recorded_rule(COP_REWARD_SUM, (const double[]){ 0.75, 0.5 }, 2, 1.0);
}

static void test_sum_of_shifted_range_is_one_of_losses_as_sent(void **state)
{
	(void)state;
	cop_model_settings s;
	model_settings(&s, "ensemble", false);
	s.reward = COP_REWARD_SUM;
	s.loss_low = -1.0;
	s.loss_high = 0.0;
	cop_rng_init(&rng, FIXTURE_SEED, 67);
	cop_model *model = model_new(&s);
	(void)model_decide(model, &rng, false, 1, 0.0);
	assert_int_equal(model_feedback(model, 1, -0.25, 1.0), COP_FEEDBACK_RECORDED);
	assert_int_equal(model_feedback(model, 1, -0.5, 2.0), COP_FEEDBACK_RECORDED);
	assert_int_equal(cop_model_expire(model, WINDOW, 10), 1);
	assert_true(counters(model)->loss_sum == -0.75);
	cop_model_free(model);
}

static void test_feedback_after_the_window_is_late_though_nothing_ended_it_yet(void **state)
{
	(void)state;
	cop_model_settings s;
	model_settings(&s, "ensemble", false);
	cop_rng_init(&rng, FIXTURE_SEED, 68);
	cop_model *model = model_new(&s);
	(void)model_decide(model, &rng, false, 1, 0.0);
	(void)model_decide(model, &rng, false, 2, 0.0);
	assert_int_equal(model_feedback(model, 1, 0.5, WINDOW), COP_FEEDBACK_LATE);
	assert_int_equal(counters(model)->dropped, 1);
	assert_int_equal(counters(model)->learned, 0);
	/* And its id is free for a new decision. */
	(void)model_decide(model, &rng, false, 2, WINDOW);
	assert_int_equal(counters(model)->decisions, 3);
	assert_int_equal(cop_model_pending(model), 1);
	cop_model_free(model);
}

static void test_window_over_without_feedback_drops_or_learns_default(void **state)
{
	(void)state;
	for (int with_default = 0; with_default < 2; with_default++) {
		cop_model_settings s;
		model_settings(&s, "ensemble", false);
		s.has_default_loss = with_default;
		s.default_loss = 3.0;
		s.loss_low = -1.0;
		s.loss_high = 3.0;
		cop_rng_init(&rng, FIXTURE_SEED, 61);
		cop_model *model = model_new(&s);
		for (uint64_t i = 0; i < 5; i++)
			(void)model_decide(model, &rng, false, i, (double)i);
		assert_int_equal(cop_model_expire(model, 3.0 + WINDOW, 2), 2); /* most */
		assert_int_equal(cop_model_expire(model, 3.0 + WINDOW, 10), 2);
		assert_int_equal(cop_model_pending(model), 1);
		assert_int_equal(counters(model)->dropped, with_default ? 0 : 4);
		assert_int_equal(counters(model)->defaulted, with_default ? 4 : 0);
		assert_int_equal(counters(model)->learned, with_default ? 4 : 0);
		assert_true(counters(model)->loss_sum == (with_default ? 12.0 : 0.0));
		assert_int_equal(model_feedback(model, 2, 0.5, 13.5), COP_FEEDBACK_LATE);
		assert_int_equal(model_feedback(model, 4, 0.5, 13.5), COP_FEEDBACK_APPLIED);
		(void)model_decide(model, &rng, false, 9, 13.5 + WINDOW);
		assert_int_equal(model_feedback(model, 2, 0.5, 33.0), COP_FEEDBACK_UNKNOWN);
		assert_int_equal(counters(model)->feedback[COP_FEEDBACK_LATE], 1);
		cop_model_free(model);
	}
}

static void test_decide_again_gives_first_decision(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_model *model = plain_model(&s, COP_REWARD_EARLIEST);
	cop_bytes before, after;
	cop_bytes_init(&before);
	cop_bytes_init(&after);
	cop_decision first = model_decide(model, &rng, false, 1, 0.0), again;
	cop_learner_save(cop_model_learner(model), &before);
	for (int i = 0; i < 20; i++) {
		fixture_event e;
		bool repeated = false;
		cop_event_id id = model_id(1);
		fixture_draw(&e, &rng, false); /* another context does not matter */
		assert_int_equal(decide_context(model, &id, &e.row, NULL, 1.0, &again, &repeated), COP_OK);
		assert_true(repeated);
		assert_int_equal(again.arm, first.arm);
		assert_true(again.p == first.p && again.rev == first.rev && again.greedy == first.greedy);
	}
	cop_learner_save(cop_model_learner(model), &after);
	assert_bytes_equal(&before, &after);
	assert_int_equal(counters(model)->repeated, 20);
	assert_int_equal(counters(model)->decisions, 1);
	assert_int_equal(cop_model_pending(model), 1);
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
	cop_model_free(model);
}

static void test_full_table_evicts_the_oldest_and_counts(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_rng_init(&rng, FIXTURE_SEED, 62);
	model_settings(&s, "ensemble", false);
	s.pending_max = 5;
	cop_model *model = model_new(&s);
	for (uint64_t i = 0; i < 8; i++)
		(void)model_decide(model, &rng, false, i, (double)i);
	assert_int_equal(cop_model_pending(model), 5);
	assert_int_equal(counters(model)->evicted, 3);
	assert_int_equal(model_feedback(model, 2, 0.5, 8.0), COP_FEEDBACK_LATE);
	assert_int_equal(model_feedback(model, 3, 0.5, 8.0), COP_FEEDBACK_APPLIED);
	cop_model_free(model);
}

static void test_lowered_bound_ends_the_oldest_with_the_windows(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_model *model = plain_model(&s, COP_REWARD_EARLIEST);
	for (uint64_t i = 0; i < 20; i++)
		(void)model_decide(model, &rng, false, i, 0.0);
	assert_int_equal(cop_model_expire(model, 1.0, 100), 0);
	s.pending_max = 5;
	assert_int_equal(cop_model_adjust(model, &s, NULL), COP_OK);
	assert_int_equal(cop_model_expire(model, 1.0, 7), 7);
	assert_int_equal(cop_model_pending(model), 13);
	assert_int_equal(cop_model_expire(model, 1.0, 100), 8);
	assert_int_equal(cop_model_expire(model, 1.0, 100), 0);
	assert_int_equal(cop_model_pending(model), 5);
	assert_true(counters(model)->evicted == 15 && counters(model)->dropped == 0);
	assert_int_equal(model_feedback(model, 14, 0.5, 1.0), COP_FEEDBACK_LATE);
	assert_int_equal(model_feedback(model, 15, 0.5, 1.0), COP_FEEDBACK_APPLIED);
	cop_model_free(model);
}

static void test_no_eligible_arm_is_refused_and_does_not_wait(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_model *model = plain_model(&s, COP_REWARD_EARLIEST);
	const uint8_t none[FIXTURE_ARMS] = { 0 };
	const uint8_t one[FIXTURE_ARMS] = { 0, 0, 1, 0 };
	cop_event_id id = model_id(1);
	fixture_event e;
	cop_decision d;
	bool repeated;
	fixture_draw(&e, &rng, false);
	assert_int_equal(decide_context(model, &id, &e.row, none, 0.0, &d, &repeated), COP_EINVAL);
	assert_int_equal(cop_model_pending(model), 0);
	assert_int_equal(counters(model)->decisions, 0);
	assert_int_equal(decide_context(model, &id, &e.row, one, 0.0, &d, &repeated), COP_OK);
	assert_int_equal(d.arm, 2);
	assert_true(d.p == 1.0);
	cop_model_free(model);
}

static void test_wrong_losses_leave_decision_waiting(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_bytes before, after;
	cop_bytes_init(&before);
	cop_bytes_init(&after);
	cop_model *model = plain_model(&s, COP_REWARD_EARLIEST);
	(void)model_decide(model, &rng, false, 1, 0.0);
	model_save(model, &before);
	const double wrong[] = { (double)NAN, (double)INFINITY, 1.5, -0.5 };
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(feedback_error(model, 1, &wrong[i], 1), i < 2 ? COP_ENONFINITE : COP_EINVAL);
	assert_int_equal(feedback_error(model, 1, (const double[]){ 0.5, 0.5 }, 2), COP_EINVAL);
	assert_int_equal(feedback_error(model, 1, NULL, 0), COP_EINVAL);
	model_save(model, &after);
	assert_bytes_equal(&before, &after);
	assert_int_equal(model_feedback(model, 1, 0.5, 1.0), COP_FEEDBACK_APPLIED);
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
	cop_model_free(model);
}

static void test_value_models_take_as_many_losses_as_probes(void **state)
{
	(void)state;
	for (int one_point = 0; one_point < 2; one_point++) {
		cop_model_settings s;
		cop_rng_init(&rng, FIXTURE_SEED, 63);
		model_settings(&s, "value", false);
		s.learner.feedback = one_point ? COP_VALUE_ONE : COP_VALUE_TWO;
		s.learner.delta = 2.0; /* in units of the range */
		s.value_low = -5.0;
		s.value_high = 15.0;
		cop_model *model = model_new(&s);
		cop_decision d = model_decide(model, &rng, false, 1, 0.0);
		double gap = cop_model_value(model, d.probe[0]) - cop_model_value(model, d.y);
		assert_true(fabs(fabs(gap) - 2.0) < 1e-9);
		assert_true(cop_model_value(model, 0.0) == -5.0 && cop_model_value(model, 1.0) == 15.0);
		assert_true(fabs(cop_model_get_settings(model)->learner.delta - 2.0) < 1e-12);
		const double loss[2] = { 7.0, 9.0 }; /* beyond loss_range: only its scale matters */
		assert_int_equal(feedback_error(model, 1, loss, one_point ? 2 : 1), COP_EINVAL);
		assert_int_equal(feedback_error(model, 1, (const double[]){ 0.0, (double)NAN }, 2),
		        one_point ? COP_EINVAL : COP_ENONFINITE);
		assert_int_equal(feedback_error(model, 1, loss, one_point ? 1 : 2), COP_OK);
		assert_true(fabs(counters(model)->loss_sum - (one_point ? 7.0 : 8.0)) < 1e-9);
		cop_model_free(model);
	}
}

/* A model of loss_range {-2, 6} fed with 8 l - 2 learns what one of {0, 1} fed with l does. */
static void test_loss_range_is_scaled(void **state)
{
	(void)state;
	cop_bytes bytes[2];
	for (int wide = 0; wide < 2; wide++) {
		cop_model_settings s;
		cop_rng_init(&rng, FIXTURE_SEED, 64);
		model_settings(&s, "ensemble", false);
		s.loss_low = wide ? -2.0 : 0.0;
		s.loss_high = wide ? 6.0 : 1.0;
		cop_model *model = model_new(&s);
		for (uint64_t i = 0; i < 200; i++) {
			double loss = (double)cop_rng_below(&rng, 5) / 4.0;
			(void)model_decide(model, &rng, false, i, 0.0);
			assert_int_equal(
			        model_feedback(model, i, wide ? 8.0 * loss - 2.0 : loss, 0.0), COP_FEEDBACK_APPLIED);
		}
		cop_bytes_init(&bytes[wide]);
		cop_learner_save(cop_model_learner(model), &bytes[wide]);
		cop_model_free(model);
	}
	assert_bytes_equal(&bytes[0], &bytes[1]);
	cop_bytes_fini(&bytes[0]);
	cop_bytes_fini(&bytes[1]);
}

static void test_full_feedback_learns_unknown_ids_once(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_model *model = plain_model(&s, COP_REWARD_EARLIEST);
	cop_event_id id = model_id(1), waiting = model_id(2);
	cop_feedback_result result;
	const double loss = 0.5;
	fixture_event e;
	fixture_draw(&e, &rng, false);
	const double bad_p[] = { 0.0, -0.5, 1.5, (double)NAN };
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
		        cop_model_feedback_full(model, &id, &e.row, 1, bad_p[i], &loss, 1, 0.0, &result), COP_EINVAL);
	assert_int_equal(
	        cop_model_feedback_full(model, &id, &e.row, FIXTURE_ARMS, 0.5, &loss, 1, 0.0, &result), COP_EINVAL);
	assert_int_equal(counters(model)->learned, 0);
	assert_int_equal(cop_model_feedback_full(model, &id, &e.row, 1, 0.5, &loss, 1, 0.0, &result), COP_OK);
	assert_int_equal(result, COP_FEEDBACK_APPLIED);
	assert_int_equal(cop_model_feedback_full(model, &id, &e.row, 1, 0.5, &loss, 1, 0.0, &result), COP_OK);
	assert_int_equal(result, COP_FEEDBACK_DUPLICATE);
	(void)model_decide(model, &rng, false, 2, 0.0);
	assert_int_equal(cop_model_feedback_full(model, &waiting, &e.row, 1, 0.5, &loss, 1, 0.0, &result), COP_OK);
	assert_int_equal(result, COP_FEEDBACK_APPLIED);
	assert_int_equal(cop_model_pending(model), 0);
	assert_int_equal(counters(model)->learned, 2);
	cop_model_free(model);
}

static void test_full_feedback_for_values_needs_two_points(void **state)
{
	(void)state;
	for (int one_point = 0; one_point < 2; one_point++) {
		cop_model_settings s;
		cop_feedback_result result;
		cop_event_id id = model_id(1);
		fixture_event e;
		model_settings(&s, "value", false);
		s.learner.feedback = one_point ? COP_VALUE_ONE : COP_VALUE_TWO;
		cop_model *model = model_new(&s);
		cop_rng_init(&rng, FIXTURE_SEED, 65);
		fixture_draw(&e, &rng, false);
		cop_err err = cop_model_feedback_full(
		        model, &id, &e.row, 0, 1.0, (const double[]){ 0.5, 0.25 }, one_point ? 1 : 2, 0.0, &result);
		assert_int_equal(err, one_point ? COP_EINVAL : COP_OK);
		cop_model_free(model);
	}
}

static void test_adjust_takes_over_or_changes_nothing(void **state)
{
	(void)state;
	cop_model_settings s, wrong;
	cop_diag diag = { 0 };
	cop_model *model = plain_model(&s, COP_REWARD_EARLIEST);
	for (int i = 0; i < 8; i++) {
		wrong = s;
		wrong.reward_window = i == 0 ? 0.0 : i == 1 ? (double)NAN : 55.0;
		wrong.has_default_loss = i == 2;
		wrong.default_loss = 1.5;
		wrong.pending_max = i == 3 ? 0 : 7;
		wrong.learner.exploration.epsilon = i == 4 ? 1.5 : i == 5 ? (double)NAN : 0.1;
		wrong.learner.exploration.epsilon_floor = i == 6 ? -1.0 : 0.0;
		wrong.learner.exploration.epsilon_decay = i == 7 ? (double)INFINITY : 0.0;
		diag.message[0] = '\0';
		assert_int_equal(cop_model_adjust(model, &wrong, &diag), COP_EINVAL);
		assert_true(strlen(diag.message) > 5);
		assert_true(cop_model_get_settings(model)->reward_window == WINDOW);
		assert_int_equal(cop_model_get_settings(model)->pending_max, 100);
	}
	for (uint64_t i = 0; i < 20; i++)
		(void)model_decide(model, &rng, false, i, 0.0);
	s.reward_window = 5.0;
	s.pending_max = 10;
	s.has_default_loss = true;
	s.default_loss = 0.5;
	s.reward = COP_REWARD_LAST;
	assert_int_equal(cop_model_adjust(model, &s, &diag), COP_OK);
	assert_int_equal(cop_model_pending(model), 20);
	(void)model_decide(model, &rng, false, 50, 1.0);
	assert_int_equal(cop_model_pending(model), 10);
	assert_int_equal(counters(model)->evicted, 11);
	/* What waited keeps the rule it was decided under. */
	assert_int_equal(model_feedback(model, 19, 1.0, 1.0), COP_FEEDBACK_APPLIED);
	assert_int_equal(model_feedback(model, 50, 1.0, 1.0), COP_FEEDBACK_RECORDED);
	assert_int_equal(cop_model_expire(model, 5.0, 100), 8);
	assert_int_equal(counters(model)->defaulted, 8);
	assert_true(counters(model)->loss_sum == 8 * 0.5 + 1.0);
	cop_model_free(model);
}

static void test_model_settings_begin_as_the_documents_say(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_model_settings_init(&s);
	assert_true(s.reward_window == 600.0 && s.reward == COP_REWARD_EARLIEST && s.pending_max == 1000000);
	assert_true(s.loss_low == 0.0 && s.loss_high == 1.0 && s.value_low == 0.0 && s.value_high == 1.0);
	assert_true(s.pending_bytes == (size_t)1 << 30 && s.learner.bits == 14 && s.learner.max_nonzeros == 1024);
	assert_string_equal(s.learner.learner, "ensemble");
	assert_true(s.learner.max_candidates == 64 && s.learner.trees == SIZE_MAX && s.learner.seed == 1);
	assert_true(s.learner.exploration.epsilon == -1.0 && s.learner.exploration.gamma == -1.0);
	assert_true(s.learner.exploration.optimism == -1.0);
	assert_true(s.learner.exploration.shares.least_propensity == -1.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model_settings_begin_as_the_documents_say),
		cmocka_unit_test(test_earliest_first_is_applied_second_duplicate),
		cmocka_unit_test(test_last_learns_the_last_when_the_window_ends),
		cmocka_unit_test(test_first_learns_the_first_when_the_window_ends),
		cmocka_unit_test(test_earliest_waits_for_the_window_where_the_default_is_usual),
		cmocka_unit_test(test_earliest_waits_for_the_window_where_few_are_told_and_soon),
		cmocka_unit_test(test_sum_learns_the_sum_cut_to_the_range),
		cmocka_unit_test(test_sum_of_shifted_range_is_one_of_losses_as_sent),
		cmocka_unit_test(test_feedback_after_the_window_is_late_though_nothing_ended_it_yet),
		cmocka_unit_test(test_window_over_without_feedback_drops_or_learns_default),
		cmocka_unit_test(test_decide_again_gives_first_decision),
		cmocka_unit_test(test_full_table_evicts_the_oldest_and_counts),
		cmocka_unit_test(test_lowered_bound_ends_the_oldest_with_the_windows),
		cmocka_unit_test(test_no_eligible_arm_is_refused_and_does_not_wait),
		cmocka_unit_test(test_wrong_losses_leave_decision_waiting),
		cmocka_unit_test(test_value_models_take_as_many_losses_as_probes),
		cmocka_unit_test(test_loss_range_is_scaled),
		cmocka_unit_test(test_full_feedback_learns_unknown_ids_once),
		cmocka_unit_test(test_full_feedback_for_values_needs_two_points),
		cmocka_unit_test(test_adjust_takes_over_or_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
