/* Estimates against what the learners allocate. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learn/footprint.h"

static void check(const char *learner, size_t features, unsigned bits, size_t arms, size_t trees)
{
	cop_learner_settings s;
	cop_learner_settings_init(&s);
	bool two = strcmp(learner, "two") == 0;
	strcpy(s.learner, two ? "value" : learner);
	s.feedback = two ? COP_VALUE_TWO : COP_VALUE_BINS;
	s.features = features;
	s.bits = bits;
	s.arms = arms;
	s.trees = trees;
	if (strcmp(learner, "rank") == 0) { /* arms: candidates' features */
		s.candidate_features = features == 0 ? 0 : arms;
		s.max_candidates = 1000;
		s.arms = 0;
	}
	cop_learner *made;
	cop_explanation explanation;
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_learner_new(&s, &made, NULL), COP_OK);
	double bytes = (double)cop_test_alloc_bytes();
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_learner_explanation_init(made, &explanation), COP_OK);
	bytes += 100.0 * (double)(cop_test_alloc_bytes() + sizeof explanation);
	double estimate = cop_footprint(&made->settings, 100);
	if (!(fabs(estimate - bytes) <= 0.05 * bytes + 65536.0))
		fail_msg("%s, %zu features, %u bits, %zu arms, %zu trees: %.0f bytes, estimated %.0f", learner,
		        features, bits, arms, trees, bytes, estimate);
	cop_explanation_fini(&explanation);
	cop_learner_free(made);
}

static void test_footprint_is_what_learners_allocate(void **state)
{
	(void)state;
	static const size_t trees[] = { COP_LEARNER_DEFAULT_TREES, 0, 64 };
	for (size_t i = 0; i < 3; i++) {
		check("ensemble", 300, 1, 20, trees[i]);   /* full second-order terms */
		check("ensemble", 1000, 1, 100, trees[i]); /* their diagonal */
		check("ensemble", 0, 12, 50, trees[i]);
		check("value", 2000, 1, 0, trees[i]);
		check("value", 0, 12, 0, trees[i]);
		check("two", 2000, 1, 0, trees[i]);
		check("two", 0, 12, 0, trees[i]);
		check("dgt", 2000, 1, 10, trees[i]);
		check("dgt", 0, 13, 2000, trees[i]);
		check("ridge", 60, 1, 100, trees[i]);
		check("rank", 30, 1, 20, trees[i]);   /* full second-order terms */
		check("rank", 300, 1, 100, trees[i]); /* their diagonal */
		check("rank", 600, 1, 500, trees[i]); /* a sample of the products */
		check("rank", 0, 12, 0, trees[i]);
	}
}

static void test_footprint_at_the_limits_does_not_overflow(void **state)
{
	(void)state;
	cop_learner_settings s;
	cop_learner_settings_init(&s);
	s.bits = COP_LEARNER_MAX_BITS;
	s.arms = COP_LEARNER_MAX_ARMS;
	s.trees = COP_LEARNER_MAX_TREES;
	s.height = COP_LEARNER_MAX_ENSEMBLE_HEIGHT;
	assert_true(cop_footprint(&s, 65536) > 2.6e12); /* P, w, linear and its sums: 4 x 2^24 x 10000 floats */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_footprint_is_what_learners_allocate),
		cmocka_unit_test(test_footprint_at_the_limits_does_not_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
