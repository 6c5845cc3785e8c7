/* Models that are given further arms: what they know of the others stays bit for bit, what waits joins as before. */
#include "model_fixture.h"

#include <string.h>

#include "unit/learn/refitted_fixture.h"

enum { MORE = 9 }; /* another padding of rows */

static const struct {
	const char *learner;
	bool sparse;
	size_t arms; /* then */
	bool refitted;
} kinds[] = {
	{ "ensemble", false, FIXTURE_ARMS + 1, false },
	{ "ensemble", false, FIXTURE_ARMS + MORE, true },
	{ "ensemble", true, FIXTURE_ARMS + 1, true },
	{ "ensemble", true, FIXTURE_ARMS + MORE, false },
	{ "dgt", false, FIXTURE_ARMS + 1, false },
	{ "dgt", true, FIXTURE_ARMS + MORE, false },
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* A batch fit's trees beside the others. */
static void refit(cop_learner *learner, bool sparse)
{
	const cop_learner_settings *s = &learner->settings;
	const refit_shape shape = { .d = cop_learner_dimension(s), .outputs = s->arms, .depth = 3, .sparse = sparse };
	cop_trees *trees = refit_trees(&shape, 2, 5);
	assert_int_equal(cop_learner_refit(learner, trees, NULL), COP_OK);
	cop_trees_free(trees);
}

static cop_model *grown_of(const cop_model *model, size_t arms)
{
	cop_model_settings s = *cop_model_get_settings(model);
	cop_bytes bytes;
	cop_diag diag = { 0 };
	cop_bytes_init(&bytes);
	model_save(model, &bytes);
	s.learner.arms = arms;
	cop_model *more = model_new(&s);
	if (cop_model_load(more, bytes.data, bytes.length, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	cop_bytes_fini(&bytes);
	return more;
}

static void predict(cop_model *model, const cop_row *x, float *loss)
{
	const cop_model_logged logged = { .x = x, .p = 1.0 };
	cop_policy_view view;
	assert_int_equal(cop_model_view_logged(model, &logged, &view), COP_OK);
	memcpy(loss, view.loss, view.arms * sizeof *loss);
}

static void check_alike(cop_model *few, cop_model *more, bool sparse)
{
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 90);
	for (int i = 0; i < 50; i++) {
		float a[FIXTURE_ARMS], b[FIXTURE_ARMS + MORE];
		fixture_event e;
		fixture_draw(&e, &rng, sparse);
		predict(few, &e.row, a);
		predict(more, &e.row, b);
		assert_memory_equal(a, b, sizeof a);
	}
}

static void test_other_arms_stay_bit_for_bit_and_new_ones_are_learned(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		cop_model_settings s;
		cop_rng rng;
		const bool sparse = kinds[i].sparse;
		model_settings(&s, kinds[i].learner, sparse);
		s.reward_window = 1e6;
		s.pending_max = 1000;
		cop_model *few = model_new(&s);
		cop_rng_init(&rng, FIXTURE_SEED, 91 + i);
		model_run(few, &rng, sparse, 0, 300);
		if (kinds[i].refitted)
			refit(cop_model_learner(few), sparse);
		model_run(few, &rng, sparse, 300, 300);
		cop_model *more = grown_of(few, kinds[i].arms);
		check_alike(few, more, sparse);
		assert_int_equal(cop_model_pending(more), cop_model_pending(few));
		assert_memory_equal(
		        cop_model_get_counters(more), cop_model_get_counters(few), sizeof(cop_model_counters));
		for (uint64_t n = 2; n < 600; n += 5) /* never answered so far */
			assert_int_equal(model_feedback(more, n, 0.5, 600.0), COP_FEEDBACK_APPLIED);
		size_t played = 0;
		for (uint64_t n = 600; n < 1200; n++) {
			const cop_decision d = model_decide(more, &rng, sparse, n, 600.0);
			played += d.arm >= FIXTURE_ARMS;
			(void)model_feedback(more, n, d.arm >= FIXTURE_ARMS ? 0.0 : 1.0, 600.0);
		}
		assert_true(played > 200); /* they are the better ones, and so it learned */
		cop_bytes first, second;
		cop_bytes_init(&first);
		cop_bytes_init(&second);
		cop_model *same = grown_of(more, kinds[i].arms);
		model_save(more, &first);
		model_save(same, &second);
		assert_bytes_equal(&first, &second);
		cop_bytes_fini(&first);
		cop_bytes_fini(&second);
		cop_model_free(few);
		cop_model_free(more);
		cop_model_free(same);
	}
}

/* Arms that were not there when a decision was made were not eligible then: nothing is held against them. */
static void test_what_waits_has_new_arms_masked(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_constant_gain gain;
	cop_rng rng;
	model_settings(&s, "ensemble", false);
	s.holdout = 0.2;
	s.reward_window = 1e6;
	cop_model *few = model_new(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 97);
	for (uint64_t n = 0; n < 50; n++)
		(void)model_decide(few, &rng, false, n, 0.0);
	cop_model *more = grown_of(few, FIXTURE_ARMS + 2);
	for (uint64_t n = 0; n < 50; n++)
		assert_int_equal(model_feedback(more, n, 1.0, 1.0), COP_FEEDBACK_APPLIED);
	cop_constant_arms_get(cop_model_constant_arms(more), 0, &gain);
	assert_true(gain.losses > 20);
	cop_constant_arms_get(cop_model_constant_arms(more), FIXTURE_ARMS, &gain);
	assert_int_equal(gain.losses, 0);
	cop_model_free(few);
	cop_model_free(more);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_arms_stay_bit_for_bit_and_new_ones_are_learned),
		cmocka_unit_test(test_what_waits_has_new_arms_masked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
