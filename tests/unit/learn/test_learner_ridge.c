/* Learner ridge against the normal equations in standardised features, found from the events themselves and solved by
 * elimination; and models of parts that were merged against one that saw all events. */
#include "ridge_fixture.h"

#include <stdio.h>

#include "support.h"

#define EVENTS 400
#define PARTS  3
#define D      RIDGE_D
#define K      FIXTURE_ARMS

static cop_learner *make(void)
{
	cop_learner_settings s;
	fixture_settings(&s, "ridge", false);
	return fixture_learner(&s);
}

static void assert_predicts(cop_learner *learner, const ridge_event *events, size_t count)
{
	for (uint32_t k = 0; k < K; k++)
		for (size_t i = 0; i < 20; i++) {
			double is = ridge_prediction(learner, events[i].x, k),
			       wanted = ridge_reference(events, count, D, events[i].x, k);
			if (!(fabs(is - wanted) < 2e-6))
				fail_msg("arm %u, row %zu of %zu: %.9f, expected %.9f", k, i, count, is, wanted);
		}
}

static void test_predictions_solve_the_normal_equations(void **state)
{
	(void)state;
	static ridge_event events[EVENTS];
	static const size_t counts[] = { 20, 21, 40, EVENTS };
	cop_learner *learner = make();
	ridge_draw(events, EVENTS, 5);
	for (size_t i = 0, at = 0; i < EVENTS; i++) {
		ridge_teach(learner, &events[i]);
		if (i + 1 == counts[at]) {
			assert_predicts(learner, events, counts[at]);
			at++;
		}
	}
	cop_learner_free(learner);
}

static void test_nothing_learned_predicts_a_half(void **state)
{
	(void)state;
	static const float x[D] = { 1e30f, -5.0f };
	cop_learner *learner = make();
	for (uint32_t k = 0; k < K; k++)
		assert_true(ridge_prediction(learner, x, k) == 0.5);
	const ridge_event one = { .x = { 1.0f }, .arm = 1, .loss = 1.0 };
	ridge_teach(learner, &one);
	assert_true(
	        ridge_prediction(learner, x, 1) == 0.75); /* drawn to a half, whatever the context: nothing varied */
	cop_learner_free(learner);
}

/* ---- merging ---- */

/* All tell all. */
static void exchange(cop_learner *const parts[PARTS], uint64_t number)
{
	cop_bytes room;
	cop_bytes_init(&room);
	for (uint32_t from = 0; from < PARTS; from++)
		for (uint32_t to = 0; to < PARTS; to++) {
			const cop_summary summary = ridge_summary(parts[from], from, number, &room);
			if (to != from)
				assert_int_equal(cop_learner_merge(parts[to], &summary), COP_OK);
		}
	cop_bytes_fini(&room);
}

static void test_merged_parts_predict_what_one_predicts_that_saw_all(void **state)
{
	(void)state;
	static ridge_event events[EVENTS];
	cop_learner *parts[PARTS];
	ridge_draw(events, EVENTS, 6);
	for (uint32_t p = 0; p < PARTS; p++) {
		parts[p] = make();
		ridge_life(parts[p], 100 + p);
	}
	cop_rng rng;
	cop_rng_init(&rng, 8, 1);
	for (size_t i = 0; i < EVENTS; i++) {
		ridge_teach(parts[cop_rng_below(&rng, PARTS)], &events[i]);
		if (i % 100 == 37)
			exchange(parts, i);
	}
	exchange(parts, EVENTS);
	for (uint32_t p = 0; p < PARTS; p++) {
		assert_predicts(parts[p], events, EVENTS);
		cop_learner_free(parts[p]);
	}
}

static void test_merged_state_is_saved_and_goes_on(void **state)
{
	(void)state;
	static ridge_event events[EVENTS];
	cop_learner *parts[PARTS], *clone;
	cop_bytes one, other;
	cop_bytes_init(&one);
	cop_bytes_init(&other);
	ridge_draw(events, EVENTS, 7);
	for (uint32_t p = 0; p < PARTS; p++) {
		parts[p] = make();
		ridge_life(parts[p], 9 - p);
	}
	for (size_t i = 0; i < EVENTS / 2; i++)
		ridge_teach(parts[i % PARTS], &events[i]);
	exchange(parts, 1);
	assert_int_equal(cop_learner_clone(parts[0], &clone), COP_OK);
	fixture_save(parts[0], &one);
	fixture_save(clone, &other);
	assert_int_equal(one.length, other.length);
	assert_memory_equal(one.data, other.data, one.length);
	cop_learner_free(parts[0]);
	parts[0] = clone;
	for (size_t i = EVENTS / 2; i < EVENTS; i++)
		ridge_teach(parts[i % PARTS], &events[i]);
	exchange(parts, 2);
	assert_predicts(clone, events, EVENTS);
	for (uint32_t p = 0; p < PARTS; p++)
		cop_learner_free(parts[p]);
	for (size_t cut = 0; cut < one.length; cut += 41) { /* cut short */
		cop_cursor cursor;
		cop_learner *fresh = make();
		cop_cursor_init(&cursor, one.data, cut);
		assert_int_not_equal(cop_learner_load(fresh, &cursor), COP_OK);
		cop_learner_free(fresh);
	}
	cop_bytes_fini(&one);
	cop_bytes_fini(&other);
}

/* A model that is given arms keeps what it learned and was told, by loading and by inheriting alike. */
static void test_more_arms_keep_all_sums(void **state)
{
	(void)state;
	static ridge_event events[EVENTS];
	cop_learner *parts[PARTS], *loaded, *heir;
	cop_learner_settings s;
	cop_bytes one, other;
	cop_cursor cursor;
	cop_bytes_init(&one);
	cop_bytes_init(&other);
	ridge_draw(events, EVENTS, 9);
	for (uint32_t p = 0; p < PARTS; p++) {
		parts[p] = make();
		ridge_life(parts[p], 50 + p);
	}
	for (size_t i = 0; i < EVENTS; i++)
		ridge_teach(parts[i % PARTS], &events[i]);
	exchange(parts, 1);
	fixture_settings(&s, "ridge", false);
	s.arms = K + 2;
	loaded = fixture_learner(&s);
	heir = fixture_learner(&s);
	fixture_save(parts[0], &one);
	cop_cursor_init(&cursor, one.data, one.length);
	loaded->saved_arms = K;
	assert_int_equal(cop_learner_load(loaded, &cursor), COP_OK);
	assert_int_equal(cop_learner_make_room(heir, parts[0]), COP_OK);
	cop_learner_inherit(heir, parts[0]);
	fixture_save(loaded, &one);
	fixture_save(heir, &other);
	assert_int_equal(one.length, other.length);
	assert_memory_equal(one.data, other.data, one.length);
	assert_predicts(heir, events, EVENTS);
	assert_true(ridge_prediction(loaded, events[0].x, K + 1) == 0.5);
	for (uint32_t p = 0; p < PARTS; p++)
		cop_learner_free(parts[p]);
	cop_learner_free(loaded);
	cop_learner_free(heir);
	cop_bytes_fini(&one);
	cop_bytes_fini(&other);
}

/* ---- values far out ---- */

/* What a feature's values so far allow a value to be: of `count` rows, whose end was a block's. */
static void limits_of(const ridge_event *events, size_t step, size_t count, size_t feature, double *mean, double *away)
{
	double square = 0.0;
	*mean = 0.0;
	for (size_t i = 0; i < count; i++)
		*mean += (double)events[i * step].x[feature] / (double)count;
	for (size_t i = 0; i < count; i++)
		square += pow((double)events[i * step].x[feature] - *mean, 2) / (double)count;
	*away = 6.0 * (1.0 + 8.0 / (double)count) * sqrt(square);
}

/* Parts 1 and 2 of three are told values far out in their own 100th and 110th rows: one enters the sums as the mean of
 * what that part saw, the other cut to its limit, so merged sums are those of such rows. */
static void test_outliers_enter_the_sums_within_limits(void **state)
{
	(void)state;
	static ridge_event events[EVENTS];
	cop_learner *parts[PARTS], *clone;
	cop_outliers is, again;
	double mean, away;
	const size_t wild = 99 * PARTS + 1, far = 109 * PARTS + 2;
	ridge_draw(events, EVENTS, 11);
	events[wild].x[2] = 1e12f;
	events[far].x[0] = -40.0f;
	for (uint32_t p = 0; p < PARTS; p++) {
		parts[p] = make();
		ridge_life(parts[p], 70 + p);
	}
	for (size_t i = 0; i < EVENTS; i++)
		ridge_teach(parts[i % PARTS], &events[i]);
	cop_learner_outliers(parts[0], &is);
	assert_int_equal(is.values, 0);
	cop_learner_outliers(parts[1], &is);
	assert_true(is.values == 1 && is.feature == 2 && is.value == 1e12f);
	assert_int_equal(cop_learner_clone(parts[2], &clone), COP_OK);
	cop_learner_outliers(parts[2], &is);
	cop_learner_outliers(clone, &again);
	assert_true(is.values == 1 && is.feature == 0 && again.values == 1 && again.value == -40.0f);
	cop_learner_free(clone);
	exchange(parts, 1);
	limits_of(events + 1, PARTS, 99, 2, &mean, &away);
	events[wild].x[2] = (float)mean;
	limits_of(events + 2, PARTS, 96, 0, &mean, &away);
	events[far].x[0] = (float)(mean - away);
	for (uint32_t p = 0; p < PARTS; p++) {
		assert_predicts(parts[p], events, EVENTS);
		cop_learner_free(parts[p]);
	}
}

/* One among the first rows, which nothing could judge: when the scale is made anew, at row 16, the feature of these
 * rows becomes the middle of the last eight. */
static void test_feature_begins_anew_with_its_scale(void **state)
{
	(void)state;
	static ridge_event events[EVENTS];
	cop_learner *learner = make();
	cop_outliers is;
	double least = 1e30, most = -1e30;
	ridge_draw(events, EVENTS, 12);
	events[3].x[2] = events[3].x[3] = 1e12f;
	for (size_t i = 0; i < EVENTS; i++)
		ridge_teach(learner, &events[i]);
	cop_learner_outliers(learner, &is);
	assert_true(is.rescaled == 2 && is.values == 0);
	for (size_t j = 2; j < 4; j++, least = 1e30, most = -1e30) {
		for (size_t i = 8; i < 16; i++) {
			least = fmin(least, (double)events[i].x[j]);
			most = fmax(most, (double)events[i].x[j]);
		}
		for (size_t i = 0; i < 16; i++)
			events[i].x[j] = (float)(0.5 * (least + most));
	}
	assert_predicts(learner, events, EVENTS);
	cop_learner_free(learner);
}

static void test_frozen_statistics_do_not_move(void **state)
{
	(void)state;
	static ridge_event events[EVENTS];
	cop_learner *learner = make();
	cop_bytes before, after;
	cop_bytes_init(&before);
	cop_bytes_init(&after);
	ridge_draw(events, EVENTS, 13);
	for (size_t i = 0; i < 100; i++)
		ridge_teach(learner, &events[i]);
	fixture_save(learner, &before);
	cop_learner_freeze(learner, true);
	events[100].x[1] = 1e12f;
	for (size_t i = 100; i < 200; i++)
		ridge_teach(learner, &events[i]);
	fixture_save(learner, &after);
	assert_int_equal(before.length, after.length);
	assert_memory_equal(before.data, after.data, before.length);
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
	cop_learner_free(learner);
}

static void test_others_are_no_sums_and_say_what_does_not_add_up(void **state)
{
	(void)state;
	static const char *const names[] = { "ensemble", "dgt", "value", "rank" };
	cop_learner_settings s;
	for (size_t i = 0; i < 4; i++) {
		cop_learner_settings_init(&s);
		strcpy(s.learner, names[i]);
		const char *apart = cop_learner_apart(&s);
		assert_non_null(apart);
		assert_non_null(strstr(apart, "standardised"));
	}
	strcpy(s.learner, "ridge");
	assert_null(cop_learner_apart(&s));
	fixture_settings(&s, "ensemble", false);
	cop_learner *ensemble = fixture_learner(&s);
	const cop_summary summary = { 1, 2, 3, 4.0, NULL, 0 };
	assert_null(cop_learner_sums(ensemble));
	assert_int_equal(cop_learner_merge(ensemble, &summary), COP_EINVAL);
	cop_learner_free(ensemble);
}

static void test_settings_that_cannot_be_are_refused(void **state)
{
	(void)state;
	static const struct {
		size_t features, arms;
		const char *begins;
	} wrong[] = { { 0, 3, "features: learner ridge takes dense" }, { 257, 3, "features:" },
		{ 256, 1000, "arms:" } };
	for (size_t i = 0; i < 3; i++) {
		cop_learner_settings s;
		cop_learner *learner;
		cop_diag diag = { .message = "" };
		fixture_settings(&s, "ridge", false);
		s.features = wrong[i].features;
		s.arms = wrong[i].arms;
		assert_int_equal(cop_learner_new(&s, &learner, &diag), COP_EINVAL);
		assert_memory_equal(diag.message, wrong[i].begins, strlen(wrong[i].begins));
	}
}

static void test_explanation_adds_up_to_the_prediction(void **state)
{
	(void)state;
	static ridge_event events[EVENTS];
	cop_learner *learner = make();
	cop_explanation e;
	cop_anatomy_part parts[COP_ANATOMY_PARTS];
	ridge_draw(events, EVENTS, 10);
	for (size_t i = 0; i < EVENTS; i++)
		ridge_teach(learner, &events[i]);
	assert_int_equal(cop_learner_explanation_init(learner, &e), COP_OK);
	const cop_row row = { .d = D, .dense = events[3].x };
	const cop_decision decision = { .arm = 2 };
	cop_learner_explain(learner, &row, NULL, &decision, &e);
	assert_int_equal(e.expert_count, 1);
	assert_true(fabs(e.prediction - (0.5 + e.experts[0].linear)) < 1e-5);
	double sum = 0.0;
	for (size_t i = 0; i < e.experts[0].count; i++)
		sum += (double)e.experts[0].features[i].contribution;
	assert_true(fabs(sum - e.experts[0].linear) < 1e-5); /* all of them fit */
	assert_int_equal(cop_learner_anatomy(learner, parts), 1);
	assert_int_equal(parts[0].linear.outputs, K);
	cop_explanation_fini(&e);
	cop_learner_free(learner);
}

static void test_learns_to_decide(void **state)
{
	(void)state;
	cop_rng rng;
	cop_learner *learner = make();
	cop_rng_init(&rng, FIXTURE_SEED, 1);
	const double first = fixture_run(learner, &rng, false, 300);
	double last = 1.0;
	for (size_t i = 0; i < 5; i++)
		last = fixture_run(learner, &rng, false, 1000);
	assert_true(last < first && last < 0.45);
	cop_learner_free(learner);
}

static void test_failed_allocations_leave_nothing(void **state)
{
	(void)state;
	cop_learner_settings s;
	cop_learner *learner;
	fixture_settings(&s, "ridge", false);
	for (unsigned long nth = 1;; nth++) {
		cop_test_alloc_fail(nth, 0);
		cop_err err = cop_learner_new(&s, &learner, NULL);
		cop_test_alloc_fail(0, 0);
		if (err == COP_OK) {
			assert_true(nth > 8);
			break;
		}
		assert_int_equal(err, COP_ENOMEM);
		assert_null(learner);
	}
	cop_learner_free(learner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_predictions_solve_the_normal_equations),
		cmocka_unit_test(test_nothing_learned_predicts_a_half),
		cmocka_unit_test(test_merged_parts_predict_what_one_predicts_that_saw_all),
		cmocka_unit_test(test_merged_state_is_saved_and_goes_on),
		cmocka_unit_test(test_more_arms_keep_all_sums),
		cmocka_unit_test(test_outliers_enter_the_sums_within_limits),
		cmocka_unit_test(test_feature_begins_anew_with_its_scale),
		cmocka_unit_test(test_frozen_statistics_do_not_move),
		cmocka_unit_test(test_others_are_no_sums_and_say_what_does_not_add_up),
		cmocka_unit_test(test_settings_that_cannot_be_are_refused),
		cmocka_unit_test(test_explanation_adds_up_to_the_prediction),
		cmocka_unit_test(test_learns_to_decide),
		cmocka_unit_test(test_failed_allocations_leave_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
