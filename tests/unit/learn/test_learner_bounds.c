/* Learners of every kind with contexts, masks and candidates of exactly the size that learner.h names
 * (support_guard.h), rows freed before the loss comes: nothing around them is touched, nothing of them is kept. */
#include "support.h"

#include <string.h>

#include "base/mem.h"
#include "learn/learner.h"
#include "support_guard.h"

#define EVENTS 4
#define BITS   7

typedef struct world {
	const char *learner;
	bool sparse;
	size_t d, arms; /* features (sparse: most entries), arms or candidates */
} world;

/* A row of n entries in arrays of its own. */
static cop_row new_row(const world *w, size_t d, size_t n, size_t event)
{
	float *value;
	uint32_t *index;
	COP_TEST_GUARD(value, n);
	for (size_t j = 0; j < n; j++)
		value[j] = (float)(j % 3) - 1.0f + 0.5f * (float)event;
	if (!w->sparse)
		return (cop_row){ .d = d, .dense = value };
	COP_TEST_GUARD(index, n);
	for (size_t j = 0; j < n; j++)
		index[j] = (uint32_t)(3 * j + event);
	return (cop_row){ .d = d, .nnz = n, .index = index, .value = value };
}

static void drop_row(const cop_row *row)
{
	void *array;
	const void *const arrays[] = { row->dense, row->value, row->index };
	for (size_t i = 0; i < 3; i++) {
		memcpy(&array, &arrays[i], sizeof array);
		cop_test_guard_free(array);
	}
}

static cop_learner *new_learner(const world *w)
{
	cop_learner_settings s;
	cop_learner *learner;
	cop_diag diag = { .message = "" };
	bool ranks = strcmp(w->learner, "rank") == 0;
	cop_learner_settings_init(&s);
	bool two = strcmp(w->learner, "two") == 0;
	strcpy(s.learner, two ? "value" : w->learner);
	s.feedback = two ? COP_VALUE_TWO : COP_VALUE_BINS;
	s.features = w->sparse ? 0 : w->d;
	s.bits = BITS;
	s.max_nonzeros = w->d;
	s.arms = ranks || strcmp(s.learner, "value") == 0 ? 0 : w->arms;
	s.candidate_features = ranks && !w->sparse ? w->d : 0;
	s.max_candidates = w->arms;
	s.height = 2;
	if (strcmp(w->learner, "dgt") != 0)
		s.trees = 2;
	if (cop_learner_new(&s, &learner, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	return learner;
}

static size_t dimension(const world *w) { return w->sparse ? (size_t)1 << BITS : w->d; }

static void run_arms(const world *w)
{
	static const double loss[2] = { 0.25, 0.5 };
	cop_learner *learner = new_learner(w);
	cop_explanation e;
	assert_int_equal(cop_learner_explanation_init(learner, &e), COP_OK);
	for (size_t i = 0; i < EVENTS; i++) {
		cop_decision decision;
		uint8_t *mask = NULL;
		cop_row x = new_row(w, dimension(w), w->d, i);
		if (!learner->class->values) {
			COP_TEST_GUARD(mask, w->arms);
			memset(mask, 0, w->arms);
			mask[w->arms - 1] = 1;
		}
		assert_int_equal(cop_learner_decide(learner, &x, &(cop_candidates){ .mask = mask }, &decision), COP_OK);
		if (mask != NULL)
			assert_int_equal(decision.arm, w->arms - 1);
		cop_learner_explain(learner, &x, NULL, &decision, &e);
		drop_row(&x);
		x = new_row(w, dimension(w), w->d, i);
		assert_int_equal(
		        cop_learner_learn(learner, &x, &(cop_candidates){ .mask = mask }, &decision, loss, true),
		        COP_OK);
		cop_test_guard_free(mask);
		drop_row(&x);
	}
	cop_explanation_fini(&e);
	cop_learner_free(learner);
}

static void run_candidates(const world *w)
{
	cop_learner *learner = new_learner(w);
	for (size_t i = 0; i < EVENTS; i++) {
		cop_decision decision;
		cop_row *rows, x = new_row(w, dimension(w), w->d, i);
		uint8_t *mask;
		COP_TEST_GUARD(rows, w->arms);
		COP_TEST_GUARD(mask, w->arms);
		for (size_t k = 0; k < w->arms; k++)
			rows[k] = new_row(w, dimension(w), w->d, i + k);
		memset(mask, 0, w->arms);
		mask[w->arms - 1] = 1;
		const cop_candidates c = { w->arms, rows, mask };
		assert_int_equal(cop_learner_decide(learner, &x, &c, &decision), COP_OK);
		assert_int_equal(decision.arm, w->arms - 1);
		for (size_t k = 0; k + 1 < w->arms; k++)
			drop_row(&rows[k]);
		cop_row played = rows[w->arms - 1];
		cop_test_guard_free(mask);
		cop_test_guard_free(rows);
		assert_int_equal(cop_learner_learn(learner, &x, &(cop_candidates){ .row = &played }, &decision,
		                         &(double){ 0.25 }, true),
		        COP_OK);
		drop_row(&played);
		drop_row(&x);
	}
	cop_learner_free(learner);
}

static void test_learners_touch_nothing_around_what_they_are_given(void **state)
{
	(void)state;
	static const char *const learners[] = { "ensemble", "dgt", "value", "two", "rank", "ridge" };
	static const size_t sizes[] = { 1, 2, 3, 5, 8, 15, 16, 17, 31, 33 };
	for (size_t l = 0; l < sizeof learners / sizeof *learners; l++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
			for (int sparse = 0; sparse < (strcmp(learners[l], "ridge") == 0 ? 1 : 2); sparse++) {
				const world w = { learners[l], sparse != 0, sizes[i], 2 + sizes[i] % 7 };
				if (strcmp(w.learner, "rank") == 0)
					run_candidates(&w);
				else
					run_arms(&w);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_learners_touch_nothing_around_what_they_are_given),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
