/* Contexts and losses at the edges of what floats hold: decisions stay finite, and what is saved loads again. */
#include "learner_fixture.h"

#include <float.h>
#include <stdio.h>

#define EVENTS 100000

typedef struct variant {
	const char *learner, *policy;
	bool sparse, one_point;
} variant;

static const variant variants[] = {
	{ "ensemble", "squarecb", false, false },
	{ "ensemble", "epsilon", true, false },
	{ "dgt", "squarecb", false, false },
	{ "dgt", "epsilon", true, false },
	{ "value", "", false, false },
	{ "value", "", true, false },
	{ "value", "", false, true },
	{ "value", "", true, true },
};
#define VARIANTS (sizeof variants / sizeof *variants)

static cop_learner *learner_of(const variant *v)
{
	cop_learner_settings s;
	fixture_settings(&s, v->learner, v->sparse);
	strcpy(s.policy, v->policy);
	s.feedback = v->one_point ? COP_VALUE_ONE : COP_VALUE_TWO;
	return fixture_learner(&s);
}

static float extreme(cop_rng *rng)
{
	static const float values[] = { 0.0f, 1e-45f, 1e-44f, 1e-41f, FLT_MIN, 1e-30f, FLT_EPSILON, 1.0f, 1e10f, 1e30f,
		FLT_MAX / 2, FLT_MAX };
	float value = values[cop_rng_below(rng, sizeof values / sizeof *values)];
	return cop_rng_below(rng, 2) == 0 ? -value : value;
}

/* The whole row of one kind of number, or of all kinds; sparse indices as the fixture's. */
static void draw(fixture_event *e, cop_rng *rng, bool sparse)
{
	fixture_draw(e, rng, sparse);
	uint64_t kind = cop_rng_below(rng, 4);
	float common = extreme(rng);
	for (size_t j = 0; j < FIXTURE_D; j++)
		e->dense[j] = kind == 0 ? common : kind == 1 ? extreme(rng) : kind == 2 ? 1e-44f : e->dense[j];
}

static double extreme_loss(const cop_learner *learner, cop_rng *rng)
{
	if (!learner->class->values)
		return (double)cop_rng_below(rng, 2);
	return cop_rng_below(rng, 3) == 0 ? 1e3 * (double)extreme(rng) : cop_rng_unit(rng);
}

static void check_decision(const cop_learner *learner, const cop_decision *d)
{
	if (!(d->p > 0.0 && d->p <= 1.0))
		fail_msg("%s: p %g", learner->settings.learner, d->p);
	for (size_t i = 0; i < COP_LEARNER_EXPERTS; i++)
		assert_true(isfinite(d->prediction[i]));
	if (learner->class->values)
		assert_true(
		        isfinite(d->y) && isfinite(d->probe[0]) && isfinite(d->probe[1]) && d->y >= 0.0 && d->y <= 1.0);
}

static void check_saved_loads(const variant *v, const cop_learner *learner)
{
	cop_learner *again = learner_of(v);
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	fixture_save(learner, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_learner_load(again, &cursor), COP_OK);
	cop_bytes_fini(&bytes);
	cop_learner_free(again);
}

static void one_event(cop_learner *learner, cop_rng *rng, const fixture_event *e)
{
	cop_decision decision;
	double loss[2] = { extreme_loss(learner, rng), extreme_loss(learner, rng) };
	assert_int_equal(cop_learner_decide(learner, &e->row, NULL, &decision), COP_OK);
	check_decision(learner, &decision);
	bool here = cop_rng_below(rng, 4) != 0;
	if (!here && !learner->class->values)
		decision.p = cop_rng_below(rng, 2) == 0 ? DBL_MIN : 1.0;
	cop_err err = cop_learner_learn(learner, &e->row, NULL, &decision, loss, here);
	assert_true(err == COP_OK || err == COP_EDIVERGED);
	assert_true(isfinite(cop_learner_greedy(learner, &e->row, NULL)));
}

static void test_random_extremes_stay_finite_and_saved_state_loads(void **state)
{
	(void)state;
	printf("seed %u\n", FIXTURE_SEED);
	for (size_t i = 0; i < VARIANTS; i++) {
		cop_learner *learner = learner_of(&variants[i]);
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, i);
		for (size_t n = 0; n < EVENTS; n++) {
			fixture_event e;
			draw(&e, &rng, variants[i].sparse);
			if (n < EVENTS / 100) /* nothing but subnormal at first */
				e.dense[0] = n == 0 ? 1e-44f : 0.0f;
			one_event(learner, &rng, &e);
			if (n % (EVENTS / 20) == 0)
				check_saved_loads(&variants[i], learner);
		}
		assert_true(learner->rev > EVENTS / 20); /* it was not just refusing */
		check_saved_loads(&variants[i], learner);
		cop_learner_free(learner);
	}
}

/* After whatever came, ordinary feedback is taken. */
static void test_extremes_then_ordinary_events_are_learned(void **state)
{
	(void)state;
	for (size_t i = 0; i < VARIANTS; i++) {
		cop_learner *learner = learner_of(&variants[i]);
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 100 + i);
		for (size_t n = 0; n < 1000; n++) {
			fixture_event e;
			draw(&e, &rng, variants[i].sparse);
			one_event(learner, &rng, &e);
		}
		(void)fixture_run(learner, &rng, variants[i].sparse, 1000); /* asserts that each is learned */
		cop_learner_free(learner);
	}
}

/* The first feature is subnormal once and then 0, the others go up and down between the ends of the range. */
static void test_one_subnormal_value_does_no_harm(void **state)
{
	(void)state;
	for (size_t i = 0; i < VARIANTS; i++) {
		cop_learner *learner = learner_of(&variants[i]);
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 200 + i);
		for (size_t n = 0; n < 500; n++) {
			fixture_event e;
			fixture_draw(&e, &rng, variants[i].sparse);
			e.dense[0] = n == 0 ? 1e-44f : 0.0f;
			e.dense[1] = n % 2 == 0 ? FLT_MAX : -FLT_MAX;
			e.dense[2] = n % 2 == 0 ? FLT_MAX : FLT_MIN;
			cop_decision decision;
			double loss[2] = { 0.25, 0.5 };
			assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &decision), COP_OK);
			check_decision(learner, &decision);
			assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &decision, loss, true), COP_OK);
		}
		check_saved_loads(&variants[i], learner);
		cop_learner_free(learner);
	}
}

/* A first loss without measure would become a baseline that refuses all that follow. */
static void test_one_point_first_loss_beyond_measure_is_refused(void **state)
{
	(void)state;
	cop_learner *learner = learner_of(&variants[6]);
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 300);
	fixture_event e;
	cop_decision decision;
	const double huge = 1e300;
	fixture_draw(&e, &rng, false);
	assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &decision), COP_OK);
	assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &decision, &huge, true), COP_EDIVERGED);
	(void)fixture_run(learner, &rng, false, 100);
	cop_learner_free(learner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_extremes_stay_finite_and_saved_state_loads),
		cmocka_unit_test(test_extremes_then_ordinary_events_are_learned),
		cmocka_unit_test(test_one_subnormal_value_does_no_harm),
		cmocka_unit_test(test_one_point_first_loss_beyond_measure_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
