/* Decisions whose action nobody was given: no default loss, whatever else may still come of them; saved and loaded. */
#include "model_fixture.h"

#include "online/model_apprentice.h"
#include "store/section_file.h"

static cop_rng rng;

static const cop_model_counters *counters(const cop_model *model) { return cop_model_get_counters(model); }

static cop_model *default_model(cop_reward_rule rule)
{
	cop_model_settings s;
	cop_rng_init(&rng, FIXTURE_SEED, 95);
	model_settings(&s, "ensemble", false);
	s.reward = rule;
	s.has_default_loss = true;
	s.default_loss = 1.0;
	return model_new(&s);
}

static bool unheard(cop_model *model, uint64_t n, const double *decided)
{
	cop_event_id id = model_id(n);
	return cop_model_unheard(model, &id, decided);
}

static void test_unheard_is_dropped_without_default(void **state)
{
	(void)state;
	cop_model *model = default_model(COP_REWARD_EARLIEST);
	(void)model_decide(model, &rng, false, 1, 0.0);
	(void)model_decide(model, &rng, false, 2, 0.0);
	assert_true(unheard(model, 1, NULL));
	assert_true(unheard(model, 1, NULL)); /* again: nothing new */
	assert_false(unheard(model, 3, NULL));
	assert_int_equal(cop_model_expire(model, WINDOW, 10), 2);
	assert_int_equal(counters(model)->dropped, 1);
	assert_int_equal(counters(model)->defaulted, 1);
	assert_true(counters(model)->learned == 1 && counters(model)->loss_sum == 1.0);
	assert_int_equal(model_feedback(model, 1, 0.25, WINDOW), COP_FEEDBACK_LATE);
	cop_model_free(model);
}

static void test_feedback_of_unheard_is_learned_all_the_same(void **state)
{
	(void)state;
	cop_model *model = default_model(COP_REWARD_EARLIEST);
	(void)model_decide(model, &rng, false, 1, 0.0);
	assert_true(unheard(model, 1, NULL));
	assert_int_equal(model_feedback(model, 1, 0.25, 1.0), COP_FEEDBACK_APPLIED);
	assert_true(counters(model)->learned == 1 && counters(model)->loss_sum == 0.25);
	assert_false(unheard(model, 1, NULL)); /* it does not wait any more */
	cop_model_free(model);
	model = default_model(COP_REWARD_SUM);
	(void)model_decide(model, &rng, false, 1, 0.0);
	assert_true(unheard(model, 1, NULL));
	assert_int_equal(model_feedback(model, 1, 0.25, 1.0), COP_FEEDBACK_RECORDED);
	assert_int_equal(cop_model_expire(model, WINDOW, 10), 1);
	assert_true(counters(model)->defaulted == 0 && counters(model)->loss_sum == 0.25);
	cop_model_free(model);
}

/* A refusal that comes late names the decision by its time: the id may have been decided anew. */
static void test_unheard_of_an_earlier_decision_is_not_of_a_later_one(void **state)
{
	(void)state;
	const double first = 0.0, second = 1.5;
	cop_model *model = default_model(COP_REWARD_EARLIEST);
	(void)model_decide(model, &rng, false, 1, first);
	assert_int_equal(model_feedback(model, 1, 0.25, 1.0), COP_FEEDBACK_APPLIED);
	(void)model_decide(model, &rng, false, 1, second);
	assert_false(unheard(model, 1, &first));
	assert_int_equal(cop_model_expire(model, second + WINDOW, 10), 1);
	assert_int_equal(counters(model)->defaulted, 1);
	(void)model_decide(model, &rng, false, 1, 50.0);
	const double third = 50.0;
	assert_true(unheard(model, 1, &third));
	assert_int_equal(cop_model_expire(model, third + WINDOW, 10), 1);
	assert_int_equal(counters(model)->defaulted, 1);
	cop_model_free(model);
}

/* A mark that comes between a window's end and its expiry counts. */
static void test_unheard_after_the_window_counts_until_it_was_ended(void **state)
{
	(void)state;
	cop_model *model = default_model(COP_REWARD_EARLIEST);
	(void)model_decide(model, &rng, false, 1, 0.0);
	assert_true(unheard(model, 1, NULL));
	assert_int_equal(cop_model_expire(model, 3.0 * WINDOW, 10), 1);
	assert_true(counters(model)->dropped == 1 && counters(model)->learned == 0);
	cop_model_free(model);
}

static void test_activation_shows_that_it_was_heard(void **state)
{
	(void)state;
	cop_model *model = default_model(COP_REWARD_EARLIEST);
	fixture_event e;
	cop_decision d;
	bool repeated;
	cop_feedback_result result;
	cop_event_id id = model_id(1);
	fixture_draw(&e, &rng, false);
	const cop_model_context context = { .id = &id, .x = &e.row, .defer = true };
	assert_int_equal(cop_model_decide(model, &context, 0.0, &d, &repeated), COP_OK);
	assert_true(cop_model_unheard(model, &id, NULL));
	cop_model_activate(model, &id, 1.0, &result);
	assert_int_equal(result, COP_FEEDBACK_APPLIED);
	assert_int_equal(cop_model_expire(model, 1.0 + WINDOW, 10), 1);
	assert_int_equal(counters(model)->defaulted, 1);
	cop_model_free(model);
}

/* Who decided it knows. */
static void test_observed_decision_is_never_unheard(void **state)
{
	(void)state;
	cop_model *model = default_model(COP_REWARD_EARLIEST);
	fixture_event e;
	bool repeated;
	cop_event_id id = model_id(1);
	fixture_draw(&e, &rng, false);
	const cop_model_context context = { .id = &id, .x = &e.row };
	cop_model_observed made = { .decision = { .arm = 1, .p = 0.5 } };
	assert_int_equal(cop_model_observe(model, &context, 0.0, &made, &repeated), COP_OK);
	assert_false(cop_model_unheard(model, &id, NULL));
	cop_model_free(model);
}

static void test_saved_unheard_is_unheard_after_loading(void **state)
{
	(void)state;
	cop_bytes bytes, again;
	cop_bytes_init(&bytes);
	cop_bytes_init(&again);
	cop_model *model = default_model(COP_REWARD_EARLIEST), *loaded = default_model(COP_REWARD_EARLIEST);
	(void)model_decide(model, &rng, false, 1, 0.0);
	(void)model_decide(model, &rng, false, 2, 0.0);
	model_save(model, &bytes);
	assert_true(unheard(model, 2, NULL));
	model_save(model, &bytes);
	assert_int_equal(cop_model_load(loaded, bytes.data, bytes.length, NULL), COP_OK);
	model_save(loaded, &again);
	assert_bytes_equal(&bytes, &again);
	assert_int_equal(cop_model_expire(loaded, WINDOW, 10), 2);
	assert_true(counters(loaded)->defaulted == 1 && counters(loaded)->dropped == 1);
	assert_int_equal(cop_model_expire(model, WINDOW, 10), 2);
	model_save(model, &bytes);
	model_save(loaded, &again);
	assert_bytes_equal(&bytes, &again);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&again);
	cop_model_free(model);
	cop_model_free(loaded);
}

static void test_forgotten_ones_end_with_nothing_learned(void **state)
{
	(void)state;
	cop_model *model = default_model(COP_REWARD_SUM);
	for (uint64_t n = 1; n <= 4; n++)
		(void)model_decide(model, &rng, false, n, 0.0);
	assert_int_equal(model_feedback(model, 1, 0.25, 1.0), COP_FEEDBACK_RECORDED);
	const cop_event_id ids[] = { model_id(1), model_id(3), model_id(9) };
	assert_int_equal(cop_model_forget(model, ids, 3, 2.0), 2);
	assert_true(cop_model_pending(model) == 2 && counters(model)->learned == 0 && counters(model)->defaulted == 0);
	assert_int_equal(model_feedback(model, 3, 0.5, 3.0), COP_FEEDBACK_LATE);
	assert_int_equal(model_feedback(model, 2, 0.5, 3.0), COP_FEEDBACK_RECORDED);
	assert_int_equal(cop_model_forget(model, ids, 3, 4.0), 0);
	cop_model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unheard_is_dropped_without_default),
		cmocka_unit_test(test_forgotten_ones_end_with_nothing_learned),
		cmocka_unit_test(test_feedback_of_unheard_is_learned_all_the_same),
		cmocka_unit_test(test_unheard_of_an_earlier_decision_is_not_of_a_later_one),
		cmocka_unit_test(test_unheard_after_the_window_counts_until_it_was_ended),
		cmocka_unit_test(test_activation_shows_that_it_was_heard),
		cmocka_unit_test(test_observed_decision_is_never_unheard),
		cmocka_unit_test(test_saved_unheard_is_unheard_after_loading),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
