/* The ranking learner: same bits for a seed, saved states, changing sets, masks, refusals, no allocation, and that an
 * interaction of context and candidate is learned. */
#include "rank_fixture.h"

#include <float.h>
#include <stdio.h>

static void test_interaction_is_learned_in_sets_of_changing_size(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_learner_settings s;
		cop_rng rng;
		rank_settings(&s, sparse != 0);
		cop_learner *learner = rank_learner(&s);
		cop_rng_init(&rng, 11, 0);
		double early = rank_run(learner, &rng, sparse != 0, 0, 200);
		(void)rank_run(learner, &rng, sparse != 0, 0, 3000);
		double late = rank_run(learner, &rng, sparse != 0, 0, 1000);
		if (!(late < 0.03 && late < early / 3.0))
			fail_msg("sparse %d: excess loss %.4f after %.4f", sparse, late, early);
		cop_learner_free(learner);
	}
}

static void test_same_seed_gives_same_bits_another_seed_others(void **state)
{
	(void)state;
	cop_bytes bytes[3];
	for (size_t i = 0; i < 3; i++)
		cop_bytes_init(&bytes[i]);
	for (int sparse = 0; sparse < 2; sparse++) {
		for (size_t run = 0; run < 3; run++) {
			cop_learner_settings s;
			cop_rng rng;
			rank_settings(&s, sparse != 0);
			s.seed = run == 2 ? 8 : 7;
			cop_learner *learner = rank_learner(&s);
			cop_rng_init(&rng, 1, 0);
			(void)rank_run(learner, &rng, sparse != 0, 0, 300);
			rank_save(learner, &bytes[run]);
			assert_true(learner->rev == 300);
			cop_learner_free(learner);
		}
		assert_bytes_equal(&bytes[0], &bytes[1]);
		assert_int_equal(bytes[0].length, bytes[2].length);
		assert_memory_not_equal(bytes[0].data, bytes[2].data, bytes[0].length);
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
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_learner_settings s;
		cop_rng rng, again;
		rank_settings(&s, sparse != 0);
		cop_learner *a = rank_learner(&s), *b = rank_learner(&s);
		cop_rng_init(&rng, 2, 0);
		(void)rank_run(a, &rng, sparse != 0, 0, 301);
		rank_save(a, &first);
		cop_cursor_init(&cursor, first.data, first.length);
		assert_int_equal(cop_learner_load(b, &cursor), COP_OK);
		assert_int_equal(cop_cursor_left(&cursor), 0);
		again = rng;
		assert_true(rank_run(a, &rng, sparse != 0, 0, 300) == rank_run(b, &again, sparse != 0, 0, 300));
		rank_save(a, &first);
		rank_save(b, &second);
		assert_bytes_equal(&first, &second);
		for (size_t length = 0; length < first.length; length += length < 200 ? 1 : 97) {
			cop_cursor_init(&cursor, first.data, length);
			assert_int_not_equal(cop_learner_load(b, &cursor), COP_OK);
		}
		s.height++;
		cop_learner *other = rank_learner(&s);
		cop_cursor_init(&cursor, first.data, first.length);
		assert_int_equal(cop_learner_load(other, &cursor), COP_ESHAPE);
		cop_learner_free(other);
		cop_learner_free(a);
		cop_learner_free(b);
	}
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
}

static void test_masked_candidates_are_never_played(void **state)
{
	(void)state;
	static const char *const policies[] = { "squarecb", "epsilon" };
	for (size_t policy = 0; policy < 2; policy++) {
		cop_learner_settings s;
		cop_rng rng;
		rank_settings(&s, false);
		strcpy(s.policy, policies[policy]);
		cop_learner *learner = rank_learner(&s);
		cop_rng_init(&rng, 3, 0);
		for (size_t n = 0; n < 1000; n++) {
			rank_event e;
			cop_decision d;
			uint8_t mask[RANK_MOST];
			size_t eligible = 0;
			rank_draw(&e, &rng, false, 0);
			for (size_t k = 0; k < e.set.count; k++)
				eligible += mask[k] = (uint8_t)cop_rng_below(&rng, 2);
			e.set.mask = mask;
			uint64_t rev = learner->rev;
			if (eligible == 0) {
				assert_int_equal(cop_learner_decide(learner, &e.row, &e.set, &d), COP_EINVAL);
				continue;
			}
			assert_int_equal(cop_learner_decide(learner, &e.row, &e.set, &d), COP_OK);
			assert_int_equal(mask[d.arm], 1);
			assert_true(d.rev == rev);
			if (eligible == 1)
				assert_true(d.p == 1.0 && d.greedy);
			assert_int_equal(
			        rank_learn(learner, &e.row, &e.candidate[d.arm], &d, e.loss[d.arm], true), COP_OK);
		}
		cop_learner_free(learner);
	}
}

static void test_view_is_what_decide_draws_from(void **state)
{
	(void)state;
	cop_learner_settings s;
	cop_rng rng;
	rank_settings(&s, false);
	cop_learner *decides = rank_learner(&s), *follows = rank_learner(&s);
	cop_bytes one, two;
	cop_bytes_init(&one);
	cop_bytes_init(&two);
	cop_rng_init(&rng, 4, 0);
	for (size_t n = 0; n < 300; n++) {
		rank_event e;
		cop_decision d;
		cop_policy_view view;
		rank_draw(&e, &rng, false, 0);
		assert_int_equal(cop_learner_decide(decides, &e.row, &e.set, &d), COP_OK);
		cop_decision same = { .arm = d.arm, .p = d.p };
		assert_int_equal(cop_learner_follow(follows, &e.row, &e.set, &same, &view), COP_OK);
		assert_int_equal(view.arms, e.set.count);
		assert_true(view.p[d.arm] == d.p && same.rev == d.rev && same.greedy == d.greedy);
		assert_memory_equal(same.prediction, d.prediction, 3 * sizeof *d.prediction);
		double sum = 0.0;
		for (size_t k = 0; k < view.arms; k++) {
			sum += view.p[k];
			assert_true(view.loss[view.best] <= view.loss[k]);
		}
		assert_true(fabs(sum - 1.0) < 1e-12);
		const cop_row *played = &e.candidate[d.arm];
		assert_int_equal(rank_learn(decides, &e.row, played, &d, e.loss[d.arm], true), COP_OK);
		assert_int_equal(rank_learn(follows, &e.row, played, &same, e.loss[d.arm], true), COP_OK);
		cop_decision wrong = { .arm = (uint32_t)e.set.count, .p = 1.0 };
		assert_int_equal(cop_learner_view(follows, &e.row, &e.set, &wrong, &view), COP_EINVAL);
		assert_int_equal(cop_learner_follow(follows, &e.row, &e.set, &wrong, &view), COP_EINVAL);
		rank_save(decides, &one);
		rank_save(follows, &two);
		assert_bytes_equal(&one, &two);
	}
	cop_bytes_fini(&one);
	cop_bytes_fini(&two);
	cop_learner_free(decides);
	cop_learner_free(follows);
}

/* The one arm of most probability in e, by a learner whose third candidate feature was always 0 in what it learned. */
static size_t likeliest(double optimism, bool sparse, rank_event *e, cop_policy_view *view)
{
	cop_learner_settings s;
	cop_rng rng;
	cop_decision d = { .arm = 0, .p = 0.5 };
	rank_settings(&s, sparse);
	s.exploration.optimism = optimism;
	s.exploration.gamma = 1e6;
	s.exploration.shares.least_propensity = 0.0;
	cop_learner *learner = rank_learner(&s);
	cop_rng_init(&rng, 15, 0);
	for (size_t n = 0; n < 400; n++) {
		rank_draw(e, &rng, sparse, 4);
		for (size_t k = 0; k < 4; k++)
			e->a[k][2] = n % 2 == 0 ? 0.01f : -0.01f;
		d.arm = (uint32_t)(n % 4);
		assert_int_equal(cop_learner_follow(learner, &e->row, &e->set, &d, view), COP_OK);
		const double loss = 0.2 + 0.1 * (double)(e->a[d.arm][0] > 0.0f);
		assert_int_equal(rank_learn(learner, &e->row, &e->candidate[d.arm], &d, loss, true), COP_OK);
	}
	/* Alike, and alike good, but for what was never seen in the last one. */
	for (size_t k = 0; k < 4; k++)
		for (size_t j = 0; j < RANK_A; j++)
			e->a[k][j] = j == 0 ? (k == 0 ? -0.5f : -0.4f) : 0.0f;
	e->a[3][0] = 0.5f;
	e->a[3][2] = 0.2f;
	assert_int_equal(cop_learner_view(learner, &e->row, &e->set, &d, view), COP_OK);
	size_t most = 0;
	for (size_t k = 1; k < 4; k++)
		most = view->p[k] > view->p[most] ? k : most;
	printf("optimism %g%s: predicted %.3f %.3f %.3f %.3f, p %.3f %.3f %.3f %.3f\n", optimism,
	        sparse ? ", sparse" : "", (double)view->loss[0], (double)view->loss[1], (double)view->loss[2],
	        (double)view->loss[3], view->p[0], view->p[1], view->p[2], view->p[3]);
	assert_true(view->best != 3 && view->loss[view->best] < view->loss[3]);
	cop_learner_free(learner);
	return most;
}

static void test_optimism_tries_candidates_of_which_little_is_known(void **state)
{
	(void)state;
	rank_event e;
	cop_policy_view view;
	assert_true(likeliest(0.0, false, &e, &view) != 3);
	assert_int_equal(likeliest(10.0, false, &e, &view), 3);
}

static void test_optimism_without_widths_changes_nothing(void **state)
{
	(void)state;
	rank_event e;
	cop_policy_view view;
	assert_true(likeliest(0.0, true, &e, &view) != 3);
	assert_true(likeliest(10.0, true, &e, &view) != 3);
}

static void test_advance_moves_as_decide_does(void **state)
{
	(void)state;
	cop_learner_settings s;
	cop_rng rng;
	rank_settings(&s, true);
	cop_learner *a = rank_learner(&s), *b = rank_learner(&s);
	cop_bytes one, two;
	cop_bytes_init(&one);
	cop_bytes_init(&two);
	cop_rng_init(&rng, 5, 0);
	for (size_t n = 0; n < 100; n++) {
		rank_event e;
		cop_decision d;
		rank_draw(&e, &rng, true, 0);
		assert_int_equal(cop_learner_decide(a, &e.row, &e.set, &d), COP_OK);
		cop_learner_advance(b, &e.row, &e.set);
		for (int i = 0; i < 2; i++)
			assert_int_equal(
			        rank_learn(i == 0 ? a : b, &e.row, &e.candidate[d.arm], &d, e.loss[d.arm], true),
			        COP_OK);
		rank_save(a, &one);
		rank_save(b, &two);
		assert_bytes_equal(&one, &two);
	}
	cop_bytes_fini(&one);
	cop_bytes_fini(&two);
	cop_learner_free(a);
	cop_learner_free(b);
}

static void test_wrong_calls_are_refused_and_change_nothing(void **state)
{
	(void)state;
	cop_learner_settings s;
	cop_rng rng;
	rank_event e;
	cop_decision d;
	cop_bytes before, after;
	rank_settings(&s, false);
	cop_learner *learner = rank_learner(&s);
	cop_bytes_init(&before);
	cop_bytes_init(&after);
	cop_rng_init(&rng, 6, 0);
	(void)rank_run(learner, &rng, false, 0, 50);
	rank_draw(&e, &rng, false, 3);
	rank_save(learner, &before);
	const uint8_t none[RANK_MOST] = { 0 };
	cop_candidates wrong[] = { { 0, e.candidate, NULL }, { RANK_MOST + 1, e.candidate, NULL },
		{ 3, e.candidate, none } };
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(cop_learner_decide(learner, &e.row, &wrong[i], &d), COP_EINVAL);
	d = (cop_decision){ .p = 1.0 };
	assert_int_equal(rank_learn(learner, &e.row, e.candidate, &d, 1.5, true), COP_EINVAL);
	assert_int_equal(rank_learn(learner, &e.row, e.candidate, &d, (double)NAN, true), COP_ENONFINITE);
	rank_save(learner, &after);
	assert_bytes_equal(&before, &after);
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
	cop_learner_free(learner);
}

static void test_settings_out_of_range_are_refused(void **state)
{
	(void)state;
	cop_learner_settings good, s;
	cop_learner *learner;
	cop_diag diag;
	rank_settings(&good, false);
	for (int i = 0; i < 9; i++) {
		s = good;
		if (i == 0)
			s.arms = 4;
		else if (i == 1)
			s.candidate_features = 0;
		else if (i == 2)
			s.features = 0; /* then candidates are sparse too */
		else if (i == 3)
			s.max_candidates = 0;
		else if (i == 4)
			s.max_candidates = COP_LEARNER_MAX_CANDIDATES + 1;
		else if (i == 5)
			s.height = COP_LEARNER_MAX_ENSEMBLE_HEIGHT + 1;
		else {
			s.features = i == 6 ? s.features : i == 7 ? 1 : 0;
			s.candidate_features = i < 8 ? 10000 : 0;
			s.max_nonzeros = i < 8 ? 1 : 10000;
			s.max_candidates = 10000;
		}
		diag.message[0] = '\0';
		assert_int_equal(cop_learner_new(&s, &learner, &diag), COP_EINVAL);
		assert_null(learner);
		assert_true(strchr(diag.message, ':') != NULL);
	}
}

static void test_running_allocates_nothing(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_learner_settings s;
		cop_rng rng;
		rank_settings(&s, sparse != 0);
		cop_learner *learner = rank_learner(&s);
		cop_explanation why;
		assert_int_equal(cop_learner_explanation_init(learner, &why), COP_OK);
		cop_rng_init(&rng, 7, 0);
		cop_test_alloc_fail(0, 0);
		(void)rank_run(learner, &rng, sparse != 0, 0, 200);
		for (size_t n = 0; n < 20; n++) {
			rank_event e;
			cop_decision d = { .p = 1.0 };
			rank_draw(&e, &rng, sparse != 0, 0);
			cop_learner_explain(learner, &e.row, &e.set, &d, &why);
			assert_int_equal(why.score_count, e.set.count);
			assert_true(fabs((double)why.scores[0] - why.prediction) < 1e-6);
			assert_int_equal(why.expert_count, 3);
			cop_learner_explain(learner, &e.row, &(cop_candidates){ .row = e.candidate }, &d, &why);
			assert_int_equal(why.score_count, 0);
		}
		assert_int_equal(cop_test_alloc_count(), 0);
		cop_explanation_fini(&why);
		cop_learner_free(learner);
	}
}

/* What the experts with trees predict is the sum of what is explained, whatever context came before. */
static void test_predictions_are_of_the_present_context(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_learner_settings s;
		cop_rng rng;
		rank_settings(&s, sparse != 0);
		cop_learner *learner = rank_learner(&s);
		cop_explanation why;
		size_t compared = 0;
		assert_int_equal(cop_learner_explanation_init(learner, &why), COP_OK);
		cop_rng_init(&rng, 21, 0);
		(void)rank_run(learner, &rng, sparse != 0, 0, 500);
		for (size_t n = 0; n < 50; n++) {
			rank_event e;
			cop_decision d = { .p = 1.0 };
			rank_draw(&e, &rng, sparse != 0, 0);
			cop_learner_explain(learner, &e.row, &(cop_candidates){ .row = e.candidate }, &d, &why);
			for (size_t i = 0; i < why.expert_count; i++) {
				const cop_explained_expert *expert = &why.experts[i];
				if (strcmp(expert->name, "trees") != 0)
					continue;
				double logit = expert->linear;
				for (size_t m = 0; m < expert->trees; m++)
					logit += (double)why.trees[expert->first_tree + m].value;
				assert_true(fabs(1.0 / (1.0 + exp(logit)) - expert->prediction) < 1e-4);
				compared++;
			}
		}
		assert_int_equal(compared, 50);
		cop_explanation_fini(&why);
		cop_learner_free(learner);
	}
}

static void test_new_without_memory_fails_cleanly(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_learner_settings s;
		cop_learner *learner = NULL;
		cop_err err = COP_ENOMEM;
		rank_settings(&s, sparse != 0);
		for (unsigned long n = 1; err != COP_OK; n++) {
			cop_test_alloc_fail(n, 0);
			err = cop_learner_new(&s, &learner, NULL);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || (err == COP_ENOMEM && learner == NULL));
		}
		cop_explanation why;
		err = COP_ENOMEM;
		for (unsigned long n = 1; err != COP_OK; n++) {
			cop_test_alloc_fail(n, 0);
			err = cop_learner_explanation_init(learner, &why);
		}
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		cop_explanation_fini(&why);
		cop_learner_free(learner);
	}
}

/* Extreme but finite contexts and candidates leave everything finite. */
static void test_extreme_rows_keep_the_model_finite(void **state)
{
	(void)state;
	static const float values[] = { FLT_MAX, -FLT_MAX, FLT_MIN, 1e-42f, 0.0f, 1.0f, -1e20f };
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_learner_settings s;
		cop_rng rng;
		cop_bytes bytes;
		cop_cursor cursor;
		rank_settings(&s, sparse != 0);
		cop_learner *learner = rank_learner(&s);
		cop_bytes_init(&bytes);
		cop_rng_init(&rng, 8, 0);
		for (size_t n = 0; n < 500; n++) {
			rank_event e;
			cop_decision d;
			rank_draw(&e, &rng, sparse != 0, 0);
			e.x[n % RANK_D] = values[n % 7];
			for (size_t k = 0; k < e.set.count; k++)
				e.a[k][n % RANK_A] = values[(n + k) % 7];
			assert_int_equal(cop_learner_decide(learner, &e.row, &e.set, &d), COP_OK);
			assert_true(d.p > 0.0 && d.p <= 1.0);
			assert_int_equal(
			        rank_learn(learner, &e.row, &e.candidate[d.arm], &d, (double)(n % 2), n % 3 != 0),
			        COP_OK);
		}
		rank_save(learner, &bytes); /* loading refuses what is not finite */
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_learner_load(learner, &cursor), COP_OK);
		cop_bytes_fini(&bytes);
		cop_learner_free(learner);
	}
}

static void test_features_are_described(void **state)
{
	(void)state;
	cop_learner_settings s;
	cop_learner_feature f;
	rank_settings(&s, false);
	cop_learner *learner = rank_learner(&s);
	cop_learner_describe(learner, 2, &f);
	assert_true(f.count == 1 && !f.part[0].candidate && !f.part[0].constant && f.part[0].index == 2);
	cop_learner_describe(learner, RANK_D + 1, &f);
	assert_true(f.count == 1 && f.part[0].candidate && !f.part[0].constant && f.part[0].index == 1);
	cop_learner_describe(learner, RANK_D + RANK_A, &f);
	assert_true(f.count == 1 && f.part[0].constant);
	cop_learner_describe(learner, RANK_D + RANK_A + 1 + 2 * RANK_A + 1, &f);
	assert_true(f.count == 2 && !f.part[0].candidate && f.part[1].candidate);
	assert_true(f.part[0].index == 2 && f.part[1].index == 1);
	cop_learner_free(learner);
	rank_settings(&s, true);
	learner = rank_learner(&s);
	cop_learner_describe(learner, ((size_t)2 << RANK_BITS) + 5, &f);
	assert_int_equal(f.count, 0);
	cop_learner_free(learner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interaction_is_learned_in_sets_of_changing_size),
		cmocka_unit_test(test_same_seed_gives_same_bits_another_seed_others),
		cmocka_unit_test(test_load_then_continue_equals_never_stopped),
		cmocka_unit_test(test_masked_candidates_are_never_played),
		cmocka_unit_test(test_view_is_what_decide_draws_from),
		cmocka_unit_test(test_optimism_tries_candidates_of_which_little_is_known),
		cmocka_unit_test(test_optimism_without_widths_changes_nothing),
		cmocka_unit_test(test_advance_moves_as_decide_does),
		cmocka_unit_test(test_wrong_calls_are_refused_and_change_nothing),
		cmocka_unit_test(test_settings_out_of_range_are_refused),
		cmocka_unit_test(test_running_allocates_nothing),
		cmocka_unit_test(test_predictions_are_of_the_present_context),
		cmocka_unit_test(test_new_without_memory_fails_cleanly),
		cmocka_unit_test(test_extreme_rows_keep_the_model_finite),
		cmocka_unit_test(test_features_are_described),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
