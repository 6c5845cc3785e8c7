/* Events that another policy decided: a model that follows them moves as if it had decided them itself. */
#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "online/model.h"
#include "support.h"

enum { FEATURES = 6, ARMS = 4, EVENTS = 400 };

static cop_model *new_model(const char *learner)
{
	cop_model_settings s;
	cop_model *model;
	cop_model_settings_init(&s);
	(void)snprintf(s.learner.learner, sizeof s.learner.learner, "%s", learner);
	s.learner.features = FEATURES;
	s.learner.arms = ARMS;
	s.learner.seed = 5;
	s.loss_low = -1.0;
	s.loss_high = 1.0;
	assert_int_equal(cop_model_new(&s, &model, NULL), COP_OK);
	return model;
}

static void assert_equal_learners(cop_model *a, cop_model *b)
{
	cop_bytes bytes[2];
	for (int i = 0; i < 2; i++) {
		cop_bytes_init(&bytes[i]);
		cop_learner_save(cop_model_learner(i == 0 ? a : b), &bytes[i]);
	}
	assert_int_equal(bytes[0].length, bytes[1].length);
	assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].length);
	cop_bytes_fini(&bytes[0]);
	cop_bytes_fini(&bytes[1]);
}

static void assert_follows(const char *learner)
{
	cop_model *decides = new_model(learner);
	cop_model *follows = new_model(learner);
	cop_rng rng;
	cop_rng_init(&rng, 3, 0);
	for (uint64_t i = 0; i < EVENTS; i++) {
		float x[FEATURES];
		cop_event_id id;
		cop_decision decision;
		cop_feedback_result result;
		cop_policy_view view;
		bool repeated;
		for (size_t j = 0; j < FEATURES; j++)
			x[j] = (float)cop_rng_normal(&rng);
		uint8_t mask[ARMS] = { 1, i % 3 != 0, 1, i % 5 != 0 };
		cop_row row = { .d = FEATURES, .dense = x };
		cop_event_id_from_unsigned(&id, i);
		cop_model_context context = { .id = &id, .x = &row, .mask = mask };
		assert_int_equal(cop_model_decide(decides, &context, 0.0, &decision, &repeated), COP_OK);
		double loss = x[decision.arm] > 0.0f ? -1.0 : 0.5;
		assert_int_equal(cop_model_feedback(decides, &id, &loss, 1, 0.0, &result), COP_OK);
		cop_model_logged logged = { &row, mask, decision.arm, decision.p, loss, true, NULL, 0, 0.0 };
		assert_int_equal(cop_model_take_logged(follows, &logged, &view), COP_OK);
		assert_int_equal(view.arms, ARMS);
		assert_true(view.p[decision.arm] == decision.p);
		assert_int_equal(view.best == decision.arm, decision.greedy);
		double sum = 0.0;
		for (size_t k = 0; k < ARMS; k++)
			sum += view.p[k];
		assert_true(fabs(sum - 1.0) < 1e-12);
	}
	assert_equal_learners(decides, follows);
	assert_true(cop_model_get_counters(follows)->decisions == EVENTS);
	assert_true(cop_model_get_counters(follows)->learned == EVENTS);
	assert_true(cop_model_get_counters(follows)->loss_sum == cop_model_get_counters(decides)->loss_sum);
	cop_model_free(decides);
	cop_model_free(follows);
}

static void test_logged_own_decisions_same_learner(void **state)
{
	(void)state;
	assert_follows("ensemble");
	assert_follows("dgt");
}

static cop_model *new_values(cop_value_feedback feedback)
{
	cop_model_settings s;
	cop_model *model;
	cop_model_settings_init(&s);
	(void)snprintf(s.learner.learner, sizeof s.learner.learner, "value");
	s.learner.features = FEATURES;
	s.learner.feedback = feedback;
	s.learner.seed = 5;
	s.value_high = 4.0;
	assert_int_equal(cop_model_new(&s, &model, NULL), COP_OK);
	return model;
}

/* Values drawn from a density: the same learner, and what it would have done is a density over bins, of which that of
 * the decision is one. */
static void test_logged_own_values_same_learner(void **state)
{
	(void)state;
	cop_model *decides = new_values(COP_VALUE_BINS), *follows = new_values(COP_VALUE_BINS);
	cop_rng rng;
	cop_rng_init(&rng, 4, 0);
	for (uint64_t i = 0; i < EVENTS; i++) {
		float x[FEATURES];
		cop_event_id id;
		cop_decision decision;
		cop_feedback_result result;
		cop_policy_view view;
		bool repeated;
		double sum = 0.0;
		for (size_t j = 0; j < FEATURES; j++)
			x[j] = (float)cop_rng_normal(&rng);
		cop_row row = { .d = FEATURES, .dense = x };
		cop_event_id_from_unsigned(&id, i);
		cop_model_context context = { .id = &id, .x = &row };
		assert_int_equal(cop_model_decide(decides, &context, 0.0, &decision, &repeated), COP_OK);
		double loss = pow(decision.y - (x[0] > 0.0f ? 0.3 : 0.6), 2.0) * 20.0; /* beyond the range of losses */
		assert_int_equal(cop_model_feedback(decides, &id, &loss, 1, 0.0, &result), COP_OK);
		cop_model_logged logged = { &row, NULL, 0, decision.p, loss, true, NULL, 0, decision.y };
		assert_int_equal(cop_model_take_logged(follows, &logged, &view), COP_OK);
		size_t bin = (size_t)(decision.y * (double)view.arms);
		assert_true(fabs(view.p[bin] * (double)view.arms - decision.p) < 1e-5 * decision.p);
		for (size_t k = 0; k < view.arms; k++) {
			sum += view.p[k];
			assert_true(view.p[k] > 0.0 && view.loss[k] >= view.loss[view.best]);
		}
		assert_true(fabs(sum - 1.0) < 1e-12);
	}
	assert_equal_learners(decides, follows);
	assert_true(cop_model_get_counters(follows)->learned == EVENTS);
	cop_model_free(decides);
	cop_model_free(follows);
}

static void test_logged_values_that_cannot_be_change_nothing(void **state)
{
	(void)state;
	cop_model *model = new_values(COP_VALUE_BINS), *fresh = new_values(COP_VALUE_BINS);
	cop_model *probes = new_values(COP_VALUE_ONE);
	float x[FEATURES] = { 1, 2, 3, 4, 5, 6 };
	cop_row row = { .d = FEATURES, .dense = x };
	cop_policy_view view;
	const cop_model_logged bad[] = {
		{ &row, NULL, 0, 1.0, 0.0, true, NULL, 0, 1.5 },
		{ &row, NULL, 0, 1.0, 0.0, true, NULL, 0, (double)NAN },
		{ &row, NULL, 0, 0.0, 0.0, true, NULL, 0, 0.5 },
		{ &row, NULL, 0, (double)INFINITY, 0.0, true, NULL, 0, 0.5 },
		{ &row, NULL, 0, 1.0, (double)NAN, true, NULL, 0, 0.5 },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_not_equal(cop_model_take_logged(model, &bad[i], &view), COP_OK);
	assert_equal_learners(model, fresh);
	const cop_model_logged good = { &row, NULL, 0, 7.5, 3.0, true, NULL, 0, 0.5 };
	assert_int_equal(cop_model_take_logged(probes, &good, &view), COP_EINVAL);
	assert_int_equal(cop_model_take_logged(model, &good, &view), COP_OK);
	cop_model_free(model);
	cop_model_free(fresh);
	cop_model_free(probes);
}

static void test_logged_bad_event_changes_nothing(void **state)
{
	(void)state;
	cop_model *model = new_model("ensemble");
	cop_model *fresh = new_model("ensemble");
	float x[FEATURES] = { 1, 2, 3, 4, 5, 6 };
	uint8_t mask[ARMS] = { 1, 0, 1, 1 };
	cop_row row = { .d = FEATURES, .dense = x };
	cop_policy_view view;
	const cop_model_logged bad[] = {
		{ &row, NULL, ARMS, 0.5, 0.0, true, NULL, 0, 0.0 },
		{ &row, mask, 1, 0.5, 0.0, true, NULL, 0, 0.0 },
		{ &row, NULL, 1, 0.0, 0.0, true, NULL, 0, 0.0 },
		{ &row, NULL, 1, 1.5, 0.0, true, NULL, 0, 0.0 },
		{ &row, NULL, 1, 0.5, 1.5, true, NULL, 0, 0.0 },
		{ &row, NULL, 1, 0.5, (double)INFINITY, true, NULL, 0, 0.0 },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_not_equal(cop_model_take_logged(model, &bad[i], &view), COP_OK);
	assert_equal_learners(model, fresh);
	assert_true(cop_model_get_counters(model)->decisions == 0);
	const cop_model_logged followed = { &row, NULL, 1, 0.0, (double)NAN, false, NULL, 0, 0.0 };
	assert_int_equal(cop_model_take_logged(model, &followed, &view), COP_OK);
	assert_true(cop_model_get_counters(model)->decisions == 1);
	assert_true(cop_model_get_counters(model)->learned == 0);
	cop_model_free(model);
	cop_model_free(fresh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_logged_own_decisions_same_learner),
		cmocka_unit_test(test_logged_own_values_same_learner),
		cmocka_unit_test(test_logged_values_that_cannot_be_change_nothing),
		cmocka_unit_test(test_logged_bad_event_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
