/* What a model without a control group counts of the policy against each arm: launches of models that learn (ten times
 * as many with COPPICE_TORTURE), and which decisions are counted and which are not. */
#include "model_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define EVENTS 600
#define ARMS   3

static double mean_loss(double x, size_t arm) { return arm == 2 ? 0.8 : arm == 0 ? 0.2 + 0.6 * x : 0.8 - 0.6 * x; }

static void settings_of(cop_model_settings *s, const char *learner, uint64_t number)
{
	model_settings(s, learner, false);
	s->learner.features = 1;
	s->learner.arms = ARMS;
	s->learner.seed = number + 1;
	s->learner.exploration.shares.least_propensity = 0.1;
}

static cop_decision decide(cop_model *model, uint64_t n, float value, const cop_event_id *unit, double now)
{
	const cop_row x = { .d = 1, .dense = &value };
	const cop_event_id id = model_id(n);
	const cop_model_context context = { .id = &id, .x = &x, .unit = unit };
	cop_decision d;
	bool repeated;
	assert_int_equal(cop_model_decide(model, &context, now, &d, &repeated), COP_OK);
	return d;
}

static cop_constant_gain gain_of(const cop_model *model, size_t k)
{
	cop_constant_gain is;
	cop_arm_gains_get(cop_model_arm_gains(model), k, &is);
	return is;
}

/* Whether an arm's interval ever missed the gain so far: of each context, over what the policy's arms would lose by the
 * shares with which it draws them. */
static bool misses(const char *learner, uint64_t number, size_t *better)
{
	cop_model_settings s;
	cop_rng rng;
	bool missed = false;
	double sum[ARMS] = { 0.0 }, policy = 0.0;
	settings_of(&s, learner, number);
	cop_model *model = model_new(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 900 + number);
	for (uint64_t t = 0; t < EVENTS; t++) {
		float value = (float)cop_rng_unit(&rng);
		const cop_decision d = decide(model, t, value, NULL, (double)t);
		const cop_policy_view view = cop_learner_last_policy(cop_model_learner(model));
		for (size_t k = 0; k < ARMS; k++) {
			const double share = view.p[k];
			assert_true(k != d.arm || share == d.p);
			sum[k] += mean_loss((double)value, k);
			policy += share * mean_loss((double)value, k);
		}
		double loss = cop_rng_unit(&rng) < mean_loss((double)value, d.arm) ? 1.0 : 0.0;
		assert_int_equal(model_feedback(model, t, loss, (double)t), COP_FEEDBACK_APPLIED);
		for (size_t k = 0; t % 10 == 9 && k < ARMS; k++) {
			const cop_constant_gain is = gain_of(model, k);
			double gain = (sum[k] - policy) / (double)(t + 1);
			assert_true(is.losses == t + 1);
			missed |= is.low > gain || is.high < gain;
		}
	}
	*better += gain_of(model, 2).low > 0.0;
	assert_true(gain_of(model, 2).high > 0.0); /* it is the worst one */
	cop_model_free(model);
	return missed;
}

static void test_intervals_cover_the_gain_of_models_that_learn(void **state)
{
	(void)state;
	static const char *const learners[] = { "dgt", "ensemble" };
	const size_t times = getenv("COPPICE_TORTURE") != NULL ? 10 : 1, launches[] = { 100 * times, 20 * times };
	for (size_t i = 0; i < 2; i++) {
		size_t missed = 0, better = 0;
		for (uint64_t number = 0; number < launches[i]; number++)
			missed += misses(learners[i], number, &better);
		printf("%s: missed %zu, better %zu of %zu\n", learners[i], missed, better, launches[i]);
		assert_true((double)missed <= 0.05 * (double)launches[i]);
	}
}

static void adjust(cop_model *model, double holdout)
{
	cop_model_settings s = *cop_model_get_settings(model);
	cop_diag diag = { 0 };
	s.holdout = holdout;
	assert_int_equal(cop_model_adjust(model, &s, &diag), COP_OK);
}

static void play(cop_model *model, uint64_t from, size_t count, const cop_event_id *unit)
{
	for (uint64_t n = from; n < from + count; n++) {
		const cop_decision d = decide(model, n, 0.5f, unit, (double)n);
		(void)model_feedback(model, n, d.arm == 0 ? 0.0 : 1.0, (double)n);
	}
}

/* One group at a time: what was decided before or beside a control group is not counted after it, nor the reverse. */
static void test_control_group_takes_over_and_gives_back(void **state)
{
	(void)state;
	cop_model_settings s;
	settings_of(&s, "dgt", 1);
	s.reward_window = 1e6;
	cop_model *model = model_new(&s);
	play(model, 0, 50, NULL);
	assert_int_equal(gain_of(model, 1).losses, 50);
	(void)decide(model, 1000, 0.5f, NULL, 60.0);
	adjust(model, 0.5);
	play(model, 100, 40, NULL);
	(void)model_feedback(model, 1000, 1.0, 150.0);
	assert_true(gain_of(model, 1).losses == 0 && cop_model_control(model)->group[1].loss.value.n > 0);
	adjust(model, 0.0);
	(void)decide(model, 1001, 0.5f, NULL, 160.0);
	adjust(model, 0.5); /* the same terms go on */
	play(model, 200, 1, NULL);
	adjust(model, 0.0);
	(void)model_feedback(model, 1001, 1.0, 250.0);
	play(model, 300, 7, NULL);
	assert_int_equal(gain_of(model, 1).losses, 8); /* 1001 was decided after the group had begun */
	adjust(model, 0.5);
	play(model, 400, 1, NULL); /* a decision beside the group ends that */
	assert_int_equal(gain_of(model, 1).losses, 0);
	cop_model_free(model);
}

/* The same units fall into the same clusters, others into others; what waits keeps its cluster. */
static void test_units_fall_into_clusters_and_a_saved_model_goes_on(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_bytes first, second;
	cop_diag diag = { 0 };
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	settings_of(&s, "dgt", 1);
	s.reward_window = 1e6;
	cop_model *model = model_new(&s), *back = NULL;
	play(model, 0, 30, NULL);
	for (uint64_t u = 0; u < 5; u++) {
		const cop_event_id unit = model_id(u);
		play(model, 100 + 10 * u, 6, &unit);
		(void)decide(model, 1000 + u, 0.5f, &unit, 200.0);
	}
	assert_int_equal(gain_of(model, 0).losses, 30); /* began with the first unit */
	model_save(model, &first);
	assert_int_equal(cop_model_open(first.data, first.length, &back, &diag), COP_OK);
	for (uint64_t u = 0; u < 5; u++)
		for (int i = 0; i < 2; i++)
			(void)model_feedback(i == 0 ? model : back, 1000 + u, 0.5, 201.0);
	size_t clusters = 0;
	for (size_t c = 0; c < COP_CLUSTERS; c++) {
		const double n = cop_model_arm_gains(model)->visits.n[c];
		assert_true(n == 0.0 || fmod(n, 7.0) == 0.0);
		clusters += n > 0.0;
	}
	assert_true(clusters >= 4 && clusters <= 5);
	model_save(model, &first);
	model_save(back, &second);
	assert_true(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
	cop_model_free(model);
	cop_model_free(back);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intervals_cover_the_gain_of_models_that_learn),
		cmocka_unit_test(test_control_group_takes_over_and_gives_back),
		cmocka_unit_test(test_units_fall_into_clusters_and_a_saved_model_goes_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
