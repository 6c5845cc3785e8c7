/* A learner that was added as docs/contributing/recipes.md says: with its row in the table it is found, decides,
 * learns, explains, and goes on from saved state. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "learn/learner.h"

#define SEED 9U
#define ARMS 3

extern const cop_learner_class cop_learner_means;

/* In place of learn/learner_table.c. */
const cop_learner_class *const cop_learner_table[] = { &cop_learner_ensemble, &cop_learner_means, NULL };

static const float features[2] = { 1.0f, -1.0f };
static const cop_row row = { .d = 2, .dense = features };

static cop_learner *make(void)
{
	cop_learner_settings s;
	cop_learner *learner;
	cop_diag diag = { 0 };
	cop_learner_settings_init(&s);
	strcpy(s.learner, "means");
	strcpy(s.policy, "epsilon");
	s.exploration.epsilon = 0.2;
	s.features = 2;
	s.arms = ARMS;
	assert_int_equal(cop_learner_new(&s, &learner, &diag), COP_OK);
	return learner;
}

/* Arm k loses with probability 0.2 + 0.3 k. */
static void run(cop_learner *learner, cop_rng *rng, size_t n, size_t *played)
{
	for (size_t i = 0; i < n; i++) {
		cop_decision d;
		assert_int_equal(cop_learner_decide(learner, &row, NULL, &d), COP_OK);
		const double loss = cop_rng_unit(rng) < 0.2 + 0.3 * d.arm ? 1.0 : 0.0;
		assert_int_equal(cop_learner_learn(learner, &row, NULL, &d, &loss, true), COP_OK);
		played[d.arm]++;
	}
}

static void test_added_learner_finds_the_best_arm(void **state)
{
	(void)state;
	size_t played[ARMS] = { 0 };
	static const uint8_t without_best[ARMS] = { 0, 1, 1 };
	const cop_candidates masked = { .mask = without_best };
	cop_rng rng;
	cop_learner *learner = make();
	cop_rng_init(&rng, SEED, 1);
	run(learner, &rng, 3000, played);
	assert_true(played[0] > 2300 && played[1] > 100 && played[2] > 100);
	assert_true(cop_learner_greedy(learner, &row, NULL) == 0.0);
	assert_true(cop_learner_greedy(learner, &row, &masked) == 1.0);
	cop_learner_free(learner);
}

static void test_added_learner_explains_its_prediction(void **state)
{
	(void)state;
	size_t played[ARMS] = { 0 };
	cop_rng rng;
	cop_explanation e;
	cop_learner *learner = make();
	const cop_decision decision = { .arm = 2, .p = 1.0 };
	cop_rng_init(&rng, SEED, 2);
	run(learner, &rng, 3000, played);
	assert_int_equal(cop_learner_explanation_init(learner, &e), COP_OK);
	cop_learner_explain(learner, &row, NULL, &decision, &e);
	assert_true(e.expert_count == 1 && e.arm == 2 && fabs(e.prediction - 0.8) < 0.1);
	assert_string_equal(e.experts[0].name, "means");
	cop_explanation_fini(&e);
	cop_learner_free(learner);
}

static void test_added_learner_goes_on_from_saved_state(void **state)
{
	(void)state;
	size_t played[ARMS] = { 0 }, again[ARMS] = { 0 };
	cop_rng rng, same;
	cop_bytes bytes;
	cop_cursor cursor;
	cop_learner *a = make(), *b = make();
	cop_rng_init(&rng, SEED, 3);
	run(a, &rng, 200, played);
	cop_bytes_init(&bytes);
	cop_learner_save(a, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_learner_load(b, &cursor), COP_OK);
	memset(played, 0, sizeof played);
	same = rng;
	run(a, &rng, 500, played);
	run(b, &same, 500, again);
	assert_memory_equal(played, again, sizeof played);
	cop_bytes_fini(&bytes);
	cop_learner_free(a);
	cop_learner_free(b);
}

static void test_learners_outside_the_table_are_not_found(void **state)
{
	(void)state;
	assert_ptr_equal(cop_learner_find("means"), &cop_learner_means);
	assert_null(cop_learner_find("dgt"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_added_learner_finds_the_best_arm),
		cmocka_unit_test(test_added_learner_explains_its_prediction),
		cmocka_unit_test(test_added_learner_goes_on_from_saved_state),
		cmocka_unit_test(test_learners_outside_the_table_are_not_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
