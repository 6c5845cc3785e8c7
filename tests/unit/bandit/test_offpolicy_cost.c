/* Cost rows and labels from logged feedback: by hand, and their means over a simulated logging policy. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "bandit/offpolicy_cost.h"
#include "bandit/policy.h"
#include "base/rng.h"

#define ARMS 4

static const float model[ARMS] = { 0.5F, 0.25F, 0.75F, 0.125F };

static void assert_row(const float *row, float a, float b, float c, float d)
{
	const float want[ARMS] = { a, b, c, d };
	for (size_t k = 0; k < ARMS; k++)
		if (row[k] != want[k])
			fail_msg("arm %zu: got %g, want %g", k, (double)row[k], (double)want[k]);
}

static void cost_row(const char *name, double clip, const cop_offpolicy_cost_event *e, float *row)
{
	assert_int_equal(cop_offpolicy_cost_row(cop_offpolicy_cost_find(name), clip, ARMS, e, row), COP_OK);
}

static void test_costs_of_one_event_equal_those_by_hand(void **state)
{
	(void)state;
	float row[ARMS];
	cop_offpolicy_cost_event e = { .arm = 1, .p = 0.125, .answered = true, .loss = 0.75, .model = model };
	cost_row("ips", (double)INFINITY, &e, row);
	assert_row(row, 0.0F, 6.0F, 0.0F, 0.0F);
	cost_row("dr", (double)INFINITY, &e, row);
	assert_row(row, 0.5F, 4.25F, 0.75F, 0.125F);
	cost_row("ips", 4.0, &e, row);
	assert_row(row, 0.0F, 3.0F, 0.0F, 0.0F);
	cost_row("dr", 4.0, &e, row);
	assert_row(row, 0.5F, 2.25F, 0.75F, 0.125F);
	cost_row("ips", 1.0, &e, row); /* the least bound there may be */
	assert_row(row, 0.0F, 0.75F, 0.0F, 0.0F);
	e.loss = 0.0;
	cost_row("dr", 4.0, &e, row);
	assert_row(row, 0.5F, -0.75F, 0.75F, 0.125F);
}

static void test_event_without_answer_holds_the_model_alone(void **state)
{
	(void)state;
	float row[ARMS], weight[ARMS];
	cop_offpolicy_cost_event e = { .arm = 2, .p = 0.5, .loss = (double)NAN, .model = model };
	cost_row("ips", 10.0, &e, row);
	assert_row(row, 0.0F, 0.0F, 0.0F, 0.0F);
	cost_row("dr", 10.0, &e, row);
	assert_row(row, 0.5F, 0.25F, 0.75F, 0.125F);
	assert_int_equal(cop_offpolicy_cost_labels(10.0, ARMS, &e, row, weight), COP_OK);
	assert_row(weight, 0.0F, 0.0F, 0.0F, 0.0F);
}

static void test_masked_arms_cost_as_much_as_the_dearest_of_their_row(void **state)
{
	(void)state;
	float row[ARMS];
	const uint8_t mask[ARMS] = { 1, 1, 0, 0 };
	cop_offpolicy_cost_event e = {
		.arm = 1, .p = 0.5, .answered = true, .loss = 1.0, .model = model, .mask = mask
	};
	cost_row("ips", 10.0, &e, row);
	assert_row(row, 0.0F, 2.0F, 2.0F, 2.0F);
	cost_row("dr", 10.0, &e, row);
	assert_row(row, 0.5F, 1.75F, 1.75F, 1.75F);
	e.loss = 0.0; /* the masked arm's own estimate, dearer than all, is not looked at */
	cost_row("dr", 10.0, &e, row);
	assert_row(row, 0.5F, -0.25F, 0.5F, 0.5F);
	cost_row("ips", 10.0, &e, row);
	assert_row(row, 0.0F, 0.0F, 0.0F, 0.0F);
}

static void test_labels_are_of_the_played_arm_alone(void **state)
{
	(void)state;
	float target[ARMS], weight[ARMS];
	cop_offpolicy_cost_event e = { .arm = 3, .p = 0.125, .answered = true, .loss = 0.25 };
	assert_int_equal(cop_offpolicy_cost_labels(100.0, ARMS, &e, target, weight), COP_OK);
	assert_row(target, 0.0F, 0.0F, 0.0F, 0.25F);
	assert_row(weight, 0.0F, 0.0F, 0.0F, 8.0F);
	assert_int_equal(cop_offpolicy_cost_labels(5.0, ARMS, &e, target, weight), COP_OK);
	assert_row(weight, 0.0F, 0.0F, 0.0F, 5.0F);
}

/* Means over many draws of the arm. */
static void test_costs_are_unbiased_under_a_logging_policy(void **state)
{
	(void)state;
	const double mu[ARMS] = { 0.3, 0.6, 0.1, 0.8 };
	const double p[ARMS] = { 0.05, 0.7, 0.05, 0.2 };
	double ips[ARMS] = { 0 }, dr[ARMS] = { 0 }, lost[ARMS] = { 0 }, weights[ARMS] = { 0 };
	const int n = 200000;
	cop_rng rng;
	cop_rng_init(&rng, 11, 0);
	for (int i = 0; i < n; i++) {
		float row[ARMS], weight[ARMS];
		cop_offpolicy_cost_event e = { .answered = true, .model = model };
		e.arm = cop_policy_draw(ARMS, p, &rng);
		e.p = p[e.arm];
		e.loss = cop_rng_unit(&rng) < mu[e.arm] ? 1.0 : 0.0;
		cost_row("ips", 1000.0, &e, row);
		for (size_t k = 0; k < ARMS; k++)
			ips[k] += (double)row[k] / n;
		cost_row("dr", 1000.0, &e, row);
		for (size_t k = 0; k < ARMS; k++)
			dr[k] += (double)row[k] / n;
		assert_int_equal(cop_offpolicy_cost_labels(1000.0, ARMS, &e, row, weight), COP_OK);
		for (size_t k = 0; k < ARMS; k++) {
			lost[k] += (double)(weight[k] * row[k]) / n;
			weights[k] += (double)weight[k] / n;
		}
	}
	for (size_t k = 0; k < ARMS; k++) {
		double error = 4.0 * sqrt(1.0 / p[k] / n);
		print_message("arm %zu (seed 11): true %.3f, ips %.3f, dr %.3f, labels %.3f\n", k, mu[k], ips[k], dr[k],
		        lost[k] / weights[k]);
		assert_true(fabs(ips[k] - mu[k]) < error && fabs(dr[k] - mu[k]) < error);
		assert_true(fabs(lost[k] / weights[k] - mu[k]) < error && fabs(weights[k] - 1.0) < error);
	}
}

static void refuse(const cop_offpolicy_cost_event *e, double clip, cop_err want)
{
	float row[ARMS] = { 7.0F, 7.0F, 7.0F, 7.0F }, other[ARMS];
	assert_int_equal(cop_offpolicy_cost_row(cop_offpolicy_cost_find("dr"), clip, ARMS, e, row), want);
	assert_row(row, 7.0F, 7.0F, 7.0F, 7.0F);
	if (e->model == model)
		assert_int_equal(cop_offpolicy_cost_labels(clip, ARMS, e, row, other), want);
	assert_row(row, 7.0F, 7.0F, 7.0F, 7.0F);
}

static void test_bad_events_are_refused_and_leave_the_row_alone(void **state)
{
	(void)state;
	const cop_offpolicy_cost_event good = { .arm = 1, .p = 0.5, .answered = true, .loss = 0.5, .model = model };
	const uint8_t mask[ARMS] = { 1, 0, 1, 1 };
	float bad[ARMS] = { 0.0F, 0.0F, NAN, 0.0F };
	cop_offpolicy_cost_event e = good;
	assert_null(cop_offpolicy_cost_find("oracle"));
	refuse(&good, 0.5, COP_EINVAL);
	refuse(&good, 1.0 - 1e-15, COP_EINVAL);
	refuse(&good, (double)NAN, COP_ENONFINITE);
	refuse((e.arm = ARMS, &e), 10.0, COP_EINVAL);
	e = good;
	refuse((e.p = 0.0, &e), 10.0, COP_EINVAL);
	refuse((e.p = 1e-200, &e), (double)INFINITY, COP_EINVAL);
	refuse((e.p = 1.5, &e), 10.0, COP_EINVAL);
	refuse((e.p = (double)NAN, &e), 10.0, COP_ENONFINITE);
	e = good;
	refuse((e.loss = 1.5, &e), 10.0, COP_EINVAL);
	refuse((e.loss = (double)NAN, &e), 10.0, COP_ENONFINITE);
	e = good;
	refuse((e.mask = mask, &e), 10.0, COP_EINVAL); /* the played arm was not eligible */
	e = good;
	refuse((e.model = NULL, &e), 10.0, COP_EINVAL);
	refuse((e.model = bad, &e), 10.0, COP_ENONFINITE);
	bad[2] = 1.5F;
	refuse(&e, 10.0, COP_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_costs_of_one_event_equal_those_by_hand),
		cmocka_unit_test(test_event_without_answer_holds_the_model_alone),
		cmocka_unit_test(test_masked_arms_cost_as_much_as_the_dearest_of_their_row),
		cmocka_unit_test(test_labels_are_of_the_played_arm_alone),
		cmocka_unit_test(test_costs_are_unbiased_under_a_logging_policy),
		cmocka_unit_test(test_bad_events_are_refused_and_leave_the_row_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
