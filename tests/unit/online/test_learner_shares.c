/* Least and largest shares of arms, in every learner that explores and under every policy: what decides, is viewed and
 * was viewed keeps them. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model_fixture.h"
#include "unit/learn/rank_fixture.h"

#define LEAST  0.08
#define EVENTS 600

static const char *const policies[] = { "epsilon", "squarecb", "fastcb", "matching" };

/* Under a policy that would give arms far less than the floor. */
static void greedy_settings(cop_learner_settings *s, const char *policy)
{
	strcpy(s->policy, policy);
	s->exploration.epsilon = 0.01;
	s->exploration.gamma = 1e5;
	s->exploration.shares.least_propensity = LEAST;
}

static size_t mask_of(size_t n, uint8_t *mask)
{
	size_t eligible = 0;
	for (size_t k = 0; k < FIXTURE_ARMS; k++)
		eligible += mask[k] = n % 3 == 0 || (n + k) % FIXTURE_ARMS < 1 + n % FIXTURE_ARMS;
	return eligible;
}

static double lowest(const cop_policy_view *view, const uint8_t *mask)
{
	double least = 1.0, sum = 0.0;
	for (size_t k = 0; k < view->arms; k++) {
		sum += view->p[k];
		if (mask == NULL || mask[k] != 0)
			least = fmin(least, view->p[k]);
		else
			assert_true(view->p[k] == 0.0);
	}
	assert_true(fabs(sum - 1.0) < 1e-9);
	return least;
}

/* The least probability beside the floor, over a stream of decisions; decide, viewed and view agree. */
static double play(cop_learner *learner, const cop_learner_settings *s, double floor)
{
	cop_rng rng;
	double least = 2.0;
	cop_learner *shadow = fixture_learner(s);
	cop_rng_init(&rng, FIXTURE_SEED, 1);
	for (size_t n = 0; n < EVENTS; n++) {
		fixture_event e;
		uint8_t mask[FIXTURE_ARMS];
		cop_decision d;
		cop_policy_view view;
		double loss[2];
		fixture_draw(&e, &rng, false);
		size_t eligible = mask_of(n, mask);
		assert_int_equal(cop_learner_decide(learner, &e.row, &(cop_candidates){ .mask = mask }, &d), COP_OK);
		cop_policy_view viewed = cop_learner_last_policy(learner);
		assert_true(viewed.p[d.arm] == d.p);
		assert_true(d.p >= floor / (double)eligible);
		least = fmin(least, lowest(&viewed, mask) * (double)eligible);
		cop_decision same = { .arm = d.arm, .p = d.p };
		assert_int_equal(
		        cop_learner_follow(shadow, &e.row, &(cop_candidates){ .mask = mask }, &same, &view), COP_OK);
		assert_true(view.p[d.arm] == d.p);
		(void)fixture_loss(learner, &e, &d, loss);
		assert_int_equal(
		        cop_learner_learn(learner, &e.row, &(cop_candidates){ .mask = mask }, &d, loss, true), COP_OK);
		assert_int_equal(
		        cop_learner_learn(shadow, &e.row, &(cop_candidates){ .mask = mask }, &same, loss, true),
		        COP_OK);
	}
	cop_learner_free(shadow);
	return least;
}

static void test_floor_holds_in_learners_of_arms_under_every_policy(void **state)
{
	(void)state;
	static const char *const learners[] = { "ensemble", "dgt" };
	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < (i == 0 ? 4u : 3u); j++) {
			cop_learner_settings s;
			fixture_settings(&s, learners[i], false);
			greedy_settings(&s, policies[j]);
			cop_learner *kept = fixture_learner(&s);
			assert_true(play(kept, &s, LEAST) >= LEAST * (1.0 - 1e-12));
			cop_learner_free(kept);
			s.exploration.shares.least_propensity = 0.0;
			cop_learner *without = fixture_learner(&s);
			double least = play(without, &s, 0.0);
			print_message(
			        "%s, %s: without a floor down to %.3g of uniform\n", learners[i], policies[j], least);
			assert_true(least < 0.5 * LEAST);
			cop_learner_free(without);
		}
}

static void test_floor_holds_over_candidates(void **state)
{
	(void)state;
	for (size_t j = 0; j < 3; j++) {
		cop_learner_settings s;
		cop_rng rng;
		rank_settings(&s, false);
		greedy_settings(&s, policies[j]);
		cop_learner *learner = rank_learner(&s);
		size_t at_floor = 0;
		cop_rng_init(&rng, 9, 0);
		for (size_t n = 0; n < EVENTS; n++) {
			rank_event e;
			cop_decision d;
			uint8_t mask[RANK_MOST];
			size_t eligible = 0;
			rank_draw(&e, &rng, false, 0);
			for (size_t k = 0; k < e.set.count; k++)
				eligible += mask[k] = k == 0 || n % 2 == 0 || k % 2 == 0;
			e.set.mask = mask;
			assert_int_equal(cop_learner_decide(learner, &e.row, &e.set, &d), COP_OK);
			cop_policy_view view = cop_learner_last_policy(learner);
			double least = lowest(&view, mask) * (double)eligible;
			assert_true(view.arms == e.set.count && least >= LEAST * (1.0 - 1e-12));
			at_floor += least <= LEAST * (1.0 + 1e-12);
			assert_int_equal(
			        rank_learn(learner, &e.row, &e.candidate[d.arm], &d, e.loss[d.arm], true), COP_OK);
		}
		assert_true(at_floor > EVENTS / 4);
		cop_learner_free(learner);
	}
}

static void test_shares_of_arms_hold_and_change_while_it_lives(void **state)
{
	(void)state;
	cop_learner_settings s;
	cop_rng rng;
	fixture_settings(&s, "ensemble", false);
	greedy_settings(&s, "fastcb");
	assert_null(cop_shares_add(&s.exploration.shares.min, "1=0.3"));
	assert_null(cop_shares_add(&s.exploration.shares.max, "2=0.05"));
	cop_learner *learner = fixture_learner(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 2);
	for (size_t n = 0; n < 400; n++) {
		fixture_event e;
		cop_decision d;
		double loss[2];
		fixture_draw(&e, &rng, false);
		if (n == 200) {
			cop_policy_settings other = learner->settings.exploration;
			other.shares = (cop_shares){ .least_propensity = -1.0 };
			cop_learner_explore(learner, &other);
			assert_true(learner->settings.exploration.shares.least_propensity == LEAST);
			assert_true(learner->settings.exploration.shares.min.count == 0);
		}
		assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
		cop_policy_view view = cop_learner_last_policy(learner);
		if (n < 200)
			assert_true(view.p[1] >= 0.3 && view.p[2] <= 0.05 && view.p[2] >= LEAST / 4);
		(void)fixture_loss(learner, &e, &d, loss);
		assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, loss, true), COP_OK);
		if (n > 200 && view.p[1] < 0.3 && view.p[2] > 0.05)
			break;
		assert_true(n < 399);
	}
	cop_learner_free(learner);
}

static void test_defaults_are_of_learner_and_policy(void **state)
{
	(void)state;
	static const struct {
		const char *learner, *policy;
		double least;
	} cases[] = {
		{ "ensemble", "", COP_LEARNER_LEAST_PROPENSITY },
		{ "ensemble", "squarecb", COP_LEARNER_LEAST_PROPENSITY },
		{ "ensemble", "epsilon", 0.0 },
		{ "dgt", "", 0.0 },
		{ "dgt", "fastcb", 0.0 },
		{ "value", "", 0.0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_learner_settings s;
		fixture_settings(&s, cases[i].learner, false);
		strcpy(s.policy, cases[i].policy);
		cop_learner *learner = fixture_learner(&s);
		assert_true(learner->settings.exploration.shares.least_propensity == cases[i].least);
		cop_learner_free(learner);
	}
}

static void refused(const cop_learner_settings *s, const char *holds)
{
	cop_learner *learner;
	cop_diag diag = { 0 };
	assert_int_equal(cop_learner_new(s, &learner, &diag), COP_EINVAL);
	assert_null(learner);
	if (strstr(diag.message, holds) == NULL)
		fail_msg("%s", diag.message);
}

static void test_what_has_no_propensities_has_no_shares(void **state)
{
	(void)state;
	cop_learner_settings s;
	fixture_settings(&s, "value", false);
	s.exploration.shares.least_propensity = 0.1;
	refused(&s, "least_propensity: a value learner's actions have no propensities");
	rank_settings(&s, false);
	assert_null(cop_shares_add(&s.exploration.shares.max, "0=0.5"));
	refused(&s, "share_min, share_max: candidates and values have none");
	fixture_settings(&s, "ensemble", false);
	assert_null(cop_shares_add(&s.exploration.shares.max, "4=0.5"));
	refused(&s, "share_max: expected arms that there are");
}

/* Saved with a model and back. */
static void test_saved_settings_hold_the_shares(void **state)
{
	(void)state;
	static const char *const learners[] = { "ensemble", "dgt", "rank" };
	for (size_t i = 0; i < 3; i++) {
		cop_model_settings set, peeked;
		cop_bytes bytes;
		cop_model *model;
		cop_model_settings_init(&set);
		if (i == 2)
			rank_settings(&set.learner, false);
		else
			fixture_settings(&set.learner, learners[i], false);
		cop_shares *shares = &set.learner.exploration.shares;
		shares->least_propensity = 0.0625;
		if (i < 2) {
			assert_null(cop_shares_add(&shares->min, "3=0.125"));
			assert_null(cop_shares_add(&shares->min, "0=0.0625"));
			assert_null(cop_shares_add(&shares->max, "2=0.75"));
		}
		assert_int_equal(cop_model_new(&set, &model, NULL), COP_OK);
		cop_bytes_init(&bytes);
		model_save(model, &bytes);
		assert_int_equal(cop_model_peek(bytes.data, bytes.length, &peeked, NULL), COP_OK);
		assert_memory_equal(&peeked.learner.exploration.shares, shares, sizeof *shares);
		*shares = (cop_shares){ .least_propensity = 0.5 };
		cop_model_free(model);
		assert_int_equal(cop_model_new(&set, &model, NULL), COP_OK);
		assert_int_equal(cop_model_load(model, bytes.data, bytes.length, NULL), COP_OK);
		assert_memory_equal(&cop_model_learner(model)->settings.exploration.shares,
		        &peeked.learner.exploration.shares, sizeof *shares);
		cop_model_free(model);
		cop_bytes_fini(&bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_floor_holds_in_learners_of_arms_under_every_policy),
		cmocka_unit_test(test_floor_holds_over_candidates),
		cmocka_unit_test(test_shares_of_arms_hold_and_change_while_it_lives),
		cmocka_unit_test(test_defaults_are_of_learner_and_policy),
		cmocka_unit_test(test_what_has_no_propensities_has_no_shares),
		cmocka_unit_test(test_saved_settings_hold_the_shares),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
