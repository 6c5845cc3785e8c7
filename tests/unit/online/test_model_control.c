/* Launches of a model that learns, with a control group: who decides, what the interval says of the true gain at all
 * times, and that a conservative model costs no more than it may. COPPICE_TORTURE makes ten times as many. */
#include "model_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define EVENTS 1000
#define ARMS   3

static size_t launches(size_t few) { return getenv("COPPICE_TORTURE") != NULL ? 1000 : few; }

/* Mean losses of the arms: two that are as good as each other where x is small and large, and one that is bad. */
static double mean_loss(double x, uint32_t arm) { return arm == 2 ? 0.8 : arm == 0 ? 0.2 + 0.6 * x : 0.8 - 0.6 * x; }

typedef struct launch {
	double sum[COP_CONTROL_MAKERS], n[COP_CONTROL_MAKERS]; /* of the true means, by who decided */
	double excess;                                         /* over the baseline's, all decisions together */
	bool missed, exceeded;
	cop_control_summary end;
} launch;

static void play(const char *learner, uint64_t number, double baseline, double conservative, launch *out)
{
	cop_model_settings s;
	cop_rng rng;
	*out = (launch){ .missed = false };
	model_settings(&s, learner, false);
	s.learner.features = 1;
	s.learner.arms = ARMS;
	s.learner.seed = number + 1;
	s.holdout = 0.2;
	s.has_baseline = true;
	s.baseline = baseline;
	s.conservative = conservative;
	cop_model *model = model_new(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 700 + number);
	for (size_t t = 0; t < EVENTS; t++) {
		float value = (float)cop_rng_unit(&rng);
		const cop_row x = { .d = 1, .dense = &value };
		const cop_event_id id = model_id(t);
		cop_decision d;
		bool repeated;
		assert_int_equal(decide_context(model, &id, &x, NULL, (double)t, &d, &repeated), COP_OK);
		cop_control_by by = cop_model_made_by(model)->split_by.by;
		double mean = mean_loss((double)value, d.arm);
		assert_true(by == COP_CONTROL_POLICY || (d.arm == (uint32_t)baseline && d.p == 1.0));
		out->sum[by] += mean;
		out->n[by] += 1.0;
		out->excess += mean - mean_loss((double)value, (uint32_t)baseline);
		out->exceeded |= conservative > 0.0 && out->excess > conservative * (double)(t + 1);
		(void)model_feedback(model, t, cop_rng_unit(&rng) < mean ? 1.0 : 0.0, (double)t);
		cop_control_summarise(cop_model_control(model), &out->end);
		double gain = out->sum[COP_CONTROL_HELD] / out->n[COP_CONTROL_HELD] -
		              out->sum[COP_CONTROL_POLICY] / out->n[COP_CONTROL_POLICY];
		out->missed |= out->end.low > gain || out->end.high < gain; /* false while unknown */
	}
	assert_int_equal(out->end.group[0].losses + out->end.group[1].losses + out->end.kept, EVENTS);
	cop_model_free(model);
}

static void test_interval_covers_the_gain_of_a_model_that_learns(void **state)
{
	(void)state;
	static const char *const learners[] = { "dgt", "ensemble" };
	for (size_t k = 0; k < 2; k++) {
		size_t missed = 0, up = 0, down = 0, count = launches(k == 0 ? 100 : 20);
		for (uint64_t i = 0; i < count; i++) {
			launch l;
			play(learners[k], i, 2.0, 0.0, &l);
			missed += l.missed;
			up += l.end.low > 0.0;
			down += l.end.high < 0.0;
		}
		printf("%s: missed %zu, better %zu, worse %zu of %zu\n", learners[k], missed, up, down, count);
		assert_true((double)missed <= 0.05 * (double)count && down == 0 && 2 * up > count);
	}
}

/* The baseline is as good as the model can begin, and the allowance small. */
static void test_conservative_model_costs_no_more_than_it_may(void **state)
{
	(void)state;
	size_t exceeded = 0, count = launches(100);
	double policy = 0.0;
	for (uint64_t i = 0; i < count; i++) {
		launch l;
		play("dgt", i, 0.0, 0.05, &l);
		exceeded += l.exceeded;
		policy += l.n[COP_CONTROL_POLICY] / (double)count;
	}
	printf("exceeded %zu of %zu, the policy decides %.0f of %d\n", exceeded, count, policy, EVENTS);
	assert_true((double)exceeded <= 0.05 * (double)count && policy > 0.02 * EVENTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interval_covers_the_gain_of_a_model_that_learns),
		cmocka_unit_test(test_conservative_model_costs_no_more_than_it_may),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
