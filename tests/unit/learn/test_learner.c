/* What holds for every learner, dense and sparse: same bits for a seed, saved states, masks, refusals, no allocation,
 * and that an easy problem is learned. */
#include "learner_fixture.h"

#include <stdio.h>

typedef struct variant {
	const char *learner;
	const char *policy;
	bool sparse;
	bool one_point;
	bool literal;
} variant;

static const variant variants[] = {
	{ "ensemble", "", false, false, false },
	{ "ensemble", "epsilon", false, false, false },
	{ "ensemble", "", true, false, false },
	{ "dgt", "", false, false, false },
	{ "dgt", "squarecb", false, false, true },
	{ "dgt", "", true, false, false },
	{ "value", "", false, false, false },
	{ "value", "", false, true, false },
	{ "value", "", true, false, false },
	{ "value", "", true, true, false },
};

#define VARIANTS (sizeof variants / sizeof *variants)

static void settings_of(cop_learner_settings *s, const variant *v, uint64_t seed)
{
	fixture_settings(s, v->learner, v->sparse);
	strcpy(s->policy, v->policy);
	s->feedback = v->one_point ? COP_VALUE_ONE : COP_VALUE_TWO;
	s->literal = v->literal;
	s->seed = seed;
}

static cop_learner *learner_of(const variant *v, uint64_t seed)
{
	cop_learner_settings s;
	settings_of(&s, v, seed);
	return fixture_learner(&s);
}

static void test_same_seed_gives_same_bits_another_seed_others(void **state)
{
	(void)state;
	cop_bytes bytes[3];
	for (size_t i = 0; i < 3; i++)
		cop_bytes_init(&bytes[i]);
	for (size_t i = 0; i < VARIANTS; i++) {
		for (size_t run = 0; run < 3; run++) {
			cop_learner *learner = learner_of(&variants[i], run == 2 ? 8 : 7);
			cop_rng rng;
			cop_rng_init(&rng, FIXTURE_SEED, 0);
			(void)fixture_run(learner, &rng, variants[i].sparse, 300);
			fixture_save(learner, &bytes[run]);
			assert_int_equal(learner->rev > 0, 1);
			cop_learner_free(learner);
		}
		assert_bytes_equal(&bytes[0], &bytes[1]);
		assert_true(bytes[0].length != bytes[2].length ||
		            memcmp(bytes[0].data, bytes[2].data, bytes[0].length) != 0);
	}
	for (size_t i = 0; i < 3; i++)
		cop_bytes_fini(&bytes[i]);
}

static void test_load_then_continue_equals_never_stopped(void **state)
{
	(void)state;
	cop_bytes first, second;
	cop_cursor cursor;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	for (size_t i = 0; i < VARIANTS; i++)
		for (size_t before = 297; before < 301; before++) { /* also between two steps of four events */
			cop_learner *a = learner_of(&variants[i], 7), *b = learner_of(&variants[i], 7);
			cop_rng rng, again;
			cop_rng_init(&rng, FIXTURE_SEED, 1);
			(void)fixture_run(a, &rng, variants[i].sparse, before);
			fixture_save(a, &first);
			cop_cursor_init(&cursor, first.data, first.length);
			assert_int_equal(cop_learner_load(b, &cursor), COP_OK);
			assert_int_equal(cop_cursor_left(&cursor), 0);
			assert_true(a->rev == b->rev);
			fixture_save(b, &second);
			assert_bytes_equal(&first, &second);
			again = rng;
			double one = fixture_run(a, &rng, variants[i].sparse, 500);
			double two = fixture_run(b, &again, variants[i].sparse, 500);
			assert_true(one == two);
			fixture_save(a, &first);
			fixture_save(b, &second);
			assert_bytes_equal(&first, &second);
			cop_learner_free(a);
			cop_learner_free(b);
		}
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
}

static void test_load_cut_or_other_shape_is_refused(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	for (size_t i = 0; i < VARIANTS; i++) {
		cop_learner *a = learner_of(&variants[i], 7);
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 2);
		(void)fixture_run(a, &rng, variants[i].sparse, 50);
		fixture_save(a, &bytes);
		size_t step = bytes.length > 4000 ? 13 : 1;
		for (size_t length = 0; length < bytes.length; length += length < 100 ? 1 : step) {
			cop_cursor_init(&cursor, bytes.data, length);
			assert_int_not_equal(cop_learner_load(a, &cursor), COP_OK);
		}
		cop_learner_settings s;
		settings_of(&s, &variants[i], 7);
		s.height++;
		cop_learner *other = fixture_learner(&s);
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_learner_load(other, &cursor), COP_ESHAPE);
		cop_learner_free(other);
		cop_learner_free(a);
	}
	cop_bytes_fini(&bytes);
}

static void test_masked_arms_are_never_played(void **state)
{
	(void)state;
	for (size_t i = 0; i < VARIANTS; i++) {
		cop_learner *learner = learner_of(&variants[i], 7);
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 3);
		for (size_t n = 0; n < 1000 && !learner->class->values; n++) {
			uint8_t mask[FIXTURE_ARMS];
			size_t eligible = 0;
			fixture_event e;
			cop_decision d;
			double loss[2];
			fixture_draw(&e, &rng, variants[i].sparse);
			for (size_t k = 0; k < FIXTURE_ARMS; k++)
				eligible += mask[k] = (uint8_t)cop_rng_below(&rng, 2);
			cop_bytes before, after;
			cop_bytes_init(&before);
			cop_bytes_init(&after);
			if (eligible == 0) {
				fixture_save(learner, &before);
				assert_int_equal(
				        cop_learner_decide(learner, &e.row, &(cop_candidates){ .mask = mask }, &d),
				        COP_EINVAL);
				fixture_save(learner, &after);
				assert_bytes_equal(&before, &after);
			} else {
				assert_int_equal(
				        cop_learner_decide(learner, &e.row, &(cop_candidates){ .mask = mask }, &d),
				        COP_OK);
				assert_true(d.arm < FIXTURE_ARMS && mask[d.arm]);
				assert_true(d.p > 0.0 && d.p <= 1.0);
				assert_true(eligible > 1 || (d.p == 1.0 && d.greedy));
				(void)fixture_loss(learner, &e, &d, loss);
				assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, loss, true), COP_OK);
			}
			cop_bytes_fini(&before);
			cop_bytes_fini(&after);
		}
		cop_learner_free(learner);
	}
}

static void test_wrong_losses_are_refused_and_change_nothing(void **state)
{
	(void)state;
	const double wrong[] = { (double)NAN, (double)INFINITY, -(double)INFINITY, 1.0 + 1e-9, -1e-9, 2.0, 1e300,
		-1e300 };
	cop_bytes before, after;
	cop_bytes_init(&before);
	cop_bytes_init(&after);
	for (size_t i = 0; i < VARIANTS; i++) {
		cop_learner *learner = learner_of(&variants[i], 7);
		cop_rng rng;
		fixture_event e;
		cop_decision d;
		cop_rng_init(&rng, FIXTURE_SEED, 4);
		(void)fixture_run(learner, &rng, variants[i].sparse, 101);
		fixture_draw(&e, &rng, variants[i].sparse);
		assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
		fixture_save(learner, &before);
		uint64_t rev = learner->rev;
		for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++)
			for (size_t here = 0; here < 2; here++) {
				bool values = learner->class->values;
				if (values && isfinite(wrong[w]) && fabs(wrong[w]) < 1e100)
					continue; /* a loss like any other */
				double loss[2] = { wrong[w], 0.5 };
				cop_err err = cop_learner_learn(learner, &e.row, NULL, &d, loss, here);
				if (!isfinite(wrong[w]))
					assert_int_equal(err, COP_ENONFINITE);
				else
					assert_int_equal(err, values ? COP_EDIVERGED : COP_EINVAL);
				fixture_save(learner, &after);
				if (!here && err == COP_EDIVERGED) /* the context's statistics stay taken in */
					fixture_save(learner, &before);
				assert_bytes_equal(&before, &after);
				assert_true(learner->rev == rev);
			}
		cop_learner_free(learner);
	}
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
}

static void test_warm_learner_allocates_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < VARIANTS; i++) {
		cop_learner *learner = learner_of(&variants[i], 7);
		cop_explanation e;
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 5);
		assert_int_equal(cop_learner_explanation_init(learner, &e), COP_OK);
		(void)fixture_run(learner, &rng, variants[i].sparse, 10);
		cop_test_alloc_fail(0, 0);
		(void)fixture_run(learner, &rng, variants[i].sparse, 100);
		for (size_t n = 0; n < 10; n++) {
			fixture_event event;
			cop_decision d;
			fixture_draw(&event, &rng, variants[i].sparse);
			assert_int_equal(cop_learner_decide(learner, &event.row, NULL, &d), COP_OK);
			cop_learner_explain(learner, &event.row, NULL, &d, &e);
			(void)cop_learner_greedy(learner, &event.row, NULL);
		}
		assert_int_equal(cop_test_alloc_count(), 0);
		cop_explanation_fini(&e);
		cop_learner_free(learner);
	}
}

static void test_greedy_and_explain_change_nothing(void **state)
{
	(void)state;
	cop_bytes before, after;
	cop_bytes_init(&before);
	cop_bytes_init(&after);
	for (size_t i = 0; i < VARIANTS; i++) {
		cop_learner *learner = learner_of(&variants[i], 7);
		cop_explanation e;
		cop_rng rng;
		fixture_event event;
		cop_rng_init(&rng, FIXTURE_SEED, 6);
		assert_int_equal(cop_learner_explanation_init(learner, &e), COP_OK);
		(void)fixture_run(learner, &rng, variants[i].sparse, 102);
		fixture_save(learner, &before);
		for (size_t n = 0; n < 20; n++) {
			fixture_draw(&event, &rng, variants[i].sparse);
			double y = cop_learner_greedy(learner, &event.row, NULL);
			cop_decision d = { .arm = learner->class->values ? 0 : (uint32_t)y, .p = 1.0, .y = y };
			assert_true(y >= 0.0 && y <= (learner->class->values ? 1.0 : FIXTURE_ARMS - 1.0));
			cop_learner_explain(learner, &event.row, NULL, &d, &e);
		}
		fixture_save(learner, &after);
		assert_bytes_equal(&before, &after);
		cop_explanation_fini(&e);
		cop_learner_free(learner);
	}
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
}

static void test_easy_problem_is_learned(void **state)
{
	(void)state;
	for (size_t i = 0; i < VARIANTS; i++) {
		cop_learner_settings s;
		settings_of(&s, &variants[i], 7);
		bool dgt = strcmp(s.learner, "dgt") == 0;
		if (dgt)
			s.learning_rate = 1e-2; /* a short stream */
		cop_learner *learner = fixture_learner(&s);
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 7);
		double first = fixture_run(learner, &rng, variants[i].sparse, 200);
		(void)fixture_run(learner, &rng, variants[i].sparse, dgt ? 12000 : 3000);
		double last = fixture_run(learner, &rng, variants[i].sparse, 2000);
		printf("%s %s%s%s: %.3f then %.3f\n", s.learner, s.policy, variants[i].sparse ? " sparse" : "",
		        s.feedback == COP_VALUE_ONE ? " one-point" : "", first, last);
		if (learner->class->values) {
			double delta = learner->settings.delta;
			assert_true(
			        last - delta * delta < 0.4 * (first - delta * delta)); /* what exploring costs stays */
		} else {
			assert_true(last < (dgt ? 0.55 : 0.3)); /* chance 0.75; eps 0.3 alone costs dgt 0.225 */
		}
		cop_learner_free(learner);
	}
}

static void test_explore_changes_rates_of_living_learner(void **state)
{
	(void)state;
	cop_learner *learner = learner_of(&variants[1], 7); /* epsilon */
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 8);
	cop_policy_settings none = { .epsilon = 0.0, .gamma = -1.0 };
	double gamma = learner->settings.exploration.gamma;
	(void)fixture_run(learner, &rng, false, 10);
	cop_learner_explore(learner, &none);
	assert_true(learner->settings.exploration.gamma == gamma);
	for (size_t n = 0; n < 200; n++) {
		fixture_event e;
		cop_decision d;
		fixture_draw(&e, &rng, false);
		assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
		assert_true(d.greedy && d.p == 1.0);
	}
	cop_learner_free(learner);
}

static void test_new_wrong_settings_are_refused_with_message(void **state)
{
	(void)state;
	cop_learner_settings good;
	fixture_settings(&good, "ensemble", false);
	cop_learner_settings bad[15];
	for (size_t i = 0; i < 15; i++)
		bad[i] = good;
	strcpy(bad[0].learner, "forest");
	strcpy(bad[1].policy, "greedy");
	bad[2].arms = 1;
	bad[3].exploration.epsilon = 1.5;
	bad[4].height = 13;
	bad[5].features = 0;
	bad[5].bits = 0;
	bad[6].features = 0;
	bad[6].bits = 25;
	bad[7].features = 0;
	bad[7].max_nonzeros = 0;
	bad[8].learning_rate = -1.0;
	bad[9].learning_rate = (double)NAN;
	bad[10].exploration.epsilon = (double)NAN;
	fixture_settings(&bad[11], "value", false);
	bad[11].delta = 0.75;
	bad[12].exploration.epsilon_floor = 1.5;
	bad[13].exploration.epsilon_decay = -1.0;
	bad[14].exploration.gamma = (double)NAN;
	for (size_t i = 0; i < 15; i++) {
		cop_learner *learner;
		cop_diag diag = { 0 };
		if (cop_learner_new(&bad[i], &learner, &diag) != COP_EINVAL)
			fail_msg("setting %zu", i);
		assert_null(learner);
		assert_true(strlen(diag.message) > 5);
	}
}

static void test_new_short_of_memory_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < VARIANTS; i++) {
		cop_learner_settings s;
		cop_learner *learner = NULL;
		settings_of(&s, &variants[i], 7);
		for (unsigned long n = 1; learner == NULL; n++) {
			cop_test_alloc_fail(n, 0);
			cop_err err = cop_learner_new(&s, &learner, NULL);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || (err == COP_ENOMEM && learner == NULL));
		}
		cop_learner_free(learner);
	}
	cop_learner_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_seed_gives_same_bits_another_seed_others),
		cmocka_unit_test(test_load_then_continue_equals_never_stopped),
		cmocka_unit_test(test_load_cut_or_other_shape_is_refused),
		cmocka_unit_test(test_masked_arms_are_never_played),
		cmocka_unit_test(test_wrong_losses_are_refused_and_change_nothing),
		cmocka_unit_test(test_warm_learner_allocates_nothing),
		cmocka_unit_test(test_greedy_and_explain_change_nothing),
		cmocka_unit_test(test_easy_problem_is_learned),
		cmocka_unit_test(test_explore_changes_rates_of_living_learner),
		cmocka_unit_test(test_new_wrong_settings_are_refused_with_message),
		cmocka_unit_test(test_new_short_of_memory_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
