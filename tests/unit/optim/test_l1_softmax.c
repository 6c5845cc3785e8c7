/* l1_softmax: the optimality conditions, a slow reference in double, and what it says of odd problems. */
#include "l1_fixture.h"

#include "optim/l1_softmax.h"

static l1_problem p;

static cop_err fit_to(double tolerance, unsigned steps, float *w, float *b, cop_l1_report *report)
{
	cop_columns x;
	cop_l1_softmax settings = { .lambda = p.lambda, .tolerance = tolerance, .max_steps = steps };
	l1_columns(&p, &x);
	cop_err err = cop_l1_softmax_fit(&settings, &x, p.k, p.label, p.weight, w, b, report);
	cop_columns_fini(&x);
	return err;
}

static cop_err fit(float *w, float *b, cop_l1_report *report) { return fit_to(1e-5, 1000, w, b, report); }

/* Every class is there. */
static void draw(uint64_t seed)
{
	l1_draw(&p, L1_SOFTMAX, seed, seed % 2 == 0 ? 1.0 : 0.15, seed % 3 == 0 ? 3.0 : 0.0);
	for (size_t k = 0; k < p.k; k++)
		p.label[k] = (uint32_t)k;
}

/* At W = 0. */
static void best_biases(float *b)
{
	double mass[L1_K] = { 0 };
	for (size_t i = 0; i < p.n; i++)
		mass[p.label[i]] += (double)p.weight[i];
	for (size_t k = 0; k < p.k; k++)
		b[k] = (float)log(mass[k]);
}

/* Violation at W = 0 with the best biases. */
static double at_zero(void)
{
	float w[L1_K * L1_D] = { 0 };
	float b[L1_K];
	best_biases(b);
	return l1_violation(&p, w, b);
}

static double objective_at_zero(void)
{
	float w[L1_K * L1_D] = { 0 };
	float b[L1_K];
	best_biases(b);
	return l1_objective(&p, w, b);
}

static void test_softmax_random_problems_meet_reference(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 30; seed++) {
		float w[L1_K * L1_D] = { 0 };
		float b[L1_K] = { 0 };
		cop_l1_report report;
		draw(seed);
		assert_int_equal(fit(w, b, &report), COP_OK);
		double want = l1_reference(&p);
		double got = l1_objective(&p, w, b);
		if (got / want - 1.0 > 1e-5 || l1_violation(&p, w, b) > 1e-3 * at_zero() + 1e-6 * (double)p.n)
			fail_msg("seed %u: objective %.9g, reference %.9g, violation %g of %g", (unsigned)seed, got,
			        want, l1_violation(&p, w, b), at_zero());
		assert_true(fabs(report.objective / got - 1.0) < 1e-5);
	}
}

/* By products of features, of all rows and of a sample. */
static void test_softmax_many_features_meet_conditions(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		float w[L1_K * L1_D] = { 0 };
		float b[L1_K] = { 0 };
		l1_draw_sized(&p, L1_SOFTMAX, seed, seed % 2 == 0 ? 1.0 : 0.2, 0.0, seed < 2 ? L1_N : 1200, L1_D);
		assert_int_equal(fit(w, b, NULL), COP_OK);
		if (l1_violation(&p, w, b) > 1e-3 * at_zero())
			fail_msg("seed %u: violation %g of %g", (unsigned)seed, l1_violation(&p, w, b), at_zero());
	}
}

static void test_softmax_loose_tolerance_is_met(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 30; seed++) {
		float w[L1_K * L1_D] = { 0 };
		float b[L1_K] = { 0 };
		draw(seed);
		assert_int_equal(fit_to(1e-2, 60, w, b, NULL), COP_OK);
		assert_true(l1_objective(&p, w, b) - l1_reference(&p) <= 2e-2 * objective_at_zero());
	}
}

static void test_softmax_bad_start_is_never_made_worse(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 3, 3);
	for (uint64_t seed = 0; seed < 20; seed++) {
		float w[L1_K * L1_D];
		float b[L1_K];
		cop_l1_report report;
		draw(seed);
		for (size_t i = 0; i < p.k * p.d; i++)
			w[i] = (float)(10.0 * cop_rng_normal(&rng));
		for (size_t k = 0; k < p.k; k++)
			b[k] = (float)(20.0 * cop_rng_normal(&rng));
		double start = l1_objective(&p, w, b);
		assert_int_equal(fit_to(1e-3, 1 + (unsigned)(seed % 3), w, b, &report), COP_OK);
		assert_true(l1_objective(&p, w, b) <= start * (1.0 + 1e-6));
		assert_int_equal(fit(w, b, &report), COP_OK);
		assert_true(report.objective / l1_reference(&p) - 1.0 < 1e-4);
	}
}

static void test_softmax_start_at_solution_stays(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		float w[L1_K * L1_D] = { 0 };
		float again[L1_K * L1_D];
		float b[L1_K] = { 0 };
		cop_l1_report report;
		draw(seed);
		assert_int_equal(fit(w, b, &report), COP_OK);
		memcpy(again, w, sizeof w);
		assert_int_equal(fit_to(1e-2, 20, again, b, &report), COP_OK);
		assert_int_equal(report.steps, 0);
		assert_memory_equal(again, w, sizeof w);
	}
}

static void test_softmax_large_lambda_leaves_log_shares(void **state)
{
	(void)state;
	float w[L1_K * L1_D] = { 1.0F };
	float b[L1_K] = { 0 };
	double mass[L1_K] = { 0 };
	cop_l1_report report;
	draw(1);
	p.lambda = 1e6;
	for (size_t i = 0; i < p.n; i++)
		mass[p.label[i]] += (double)p.weight[i];
	assert_int_equal(fit(w, b, &report), COP_OK);
	assert_int_equal(report.nonzeros, 0);
	for (size_t k = 1; k < p.k; k++)
		assert_true(fabs((double)(b[k] - b[0]) - log(mass[k] / mass[0])) < 1e-2);
}

static void test_softmax_absent_class_becomes_impossible(void **state)
{
	(void)state;
	float w[L1_K * L1_D];
	float b[L1_K] = { 0 };
	cop_l1_report report;
	for (uint64_t seed = 0; p.k != L1_K; seed++)
		draw(seed);
	for (size_t i = 0; i < p.n; i++)
		p.label[i] = p.label[i] == 2 ? 3 : p.label[i];
	for (size_t i = 0; i < p.k * p.d; i++)
		w[i] = 0.1F;
	assert_int_equal(fit(w, b, &report), COP_OK);
	for (size_t j = 0; j < p.d; j++)
		assert_true(w[2 * p.d + j] == 0.0F);
	for (size_t k = 0; k < p.k; k++)
		assert_true(k == 2 || b[2] <= b[k] - 29.0F);
	assert_true(fabs(report.objective / l1_objective(&p, w, b) - 1.0) < 1e-4);
}

static void test_softmax_one_class_needs_no_weights(void **state)
{
	(void)state;
	float w[L1_K * L1_D] = { 1.0F };
	float b[L1_K] = { 0 };
	cop_l1_report report;
	draw(1);
	for (size_t i = 0; i < p.n; i++)
		p.weight[i] = p.label[i] == 1 ? p.weight[i] : 0.0F;
	assert_int_equal(fit(w, b, &report), COP_OK);
	assert_int_equal(report.nonzeros, 0);
	assert_true(b[1] > b[0] + 29.0F);
	memset(p.weight, 0, sizeof p.weight);
	assert_int_equal(fit(w, b, &report), COP_OK);
	assert_true(report.objective == 0.0 && b[0] == b[1]);
}

static void test_softmax_scale_of_weights_does_not_matter(void **state)
{
	(void)state;
	draw(6);
	float w[3][L1_K * L1_D] = { { 0 } };
	float b[3][L1_K] = { { 0 } };
	const float scale[3] = { 1.0F, 0x1p40F, 0x1p-40F };
	const l1_problem first = p;
	for (unsigned k = 0; k < 3; k++) {
		p = first;
		p.lambda *= (double)scale[k];
		for (size_t i = 0; i < p.n; i++)
			p.weight[i] *= scale[k];
		assert_int_equal(fit(w[k], b[k], NULL), COP_OK);
		assert_memory_equal(w[k], w[0], sizeof w[0]);
		assert_memory_equal(b[k], b[0], sizeof b[0]);
	}
}

static void test_softmax_wrong_input_is_refused(void **state)
{
	(void)state;
	static const cop_l1_softmax wrong[] = { { -1.0, 1e-3, 5 }, { (double)NAN, 1e-3, 5 }, { HUGE_VAL, 1e-3, 5 },
		{ 1.0, 0.0, 5 }, { 1.0, (double)NAN, 5 }, { 1.0, 1e-3, 0 } };
	float w[L1_K * L1_D] = { 1.0F };
	float b[L1_K] = { 3.0F };
	cop_columns x;
	draw(3);
	l1_columns(&p, &x);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(cop_l1_softmax_fit(&wrong[i], &x, p.k, p.label, p.weight, w, b, NULL), COP_EINVAL);
	const cop_l1_softmax right = { 1.0, 1e-3, 5 };
	assert_int_equal(cop_l1_softmax_fit(&right, &x, 1, p.label, p.weight, w, b, NULL), COP_EINVAL);
	p.label[4] = (uint32_t)p.k;
	assert_int_equal(cop_l1_softmax_fit(&right, &x, p.k, p.label, p.weight, w, b, NULL), COP_EINVAL);
	p.label[4] = 0;
	cop_columns_fini(&x);
	w[0] = NAN;
	assert_int_equal(fit(w, b, NULL), COP_ENONFINITE);
	w[0] = 1.0F;
	b[0] = INFINITY;
	assert_int_equal(fit(w, b, NULL), COP_ENONFINITE);
	b[0] = 3.0F;
	for (unsigned k = 0; k < 2; k++) {
		p.weight[2] = k == 0 ? NAN : INFINITY;
		assert_int_equal(fit(w, b, NULL), COP_ENONFINITE);
		assert_true(w[0] == 1.0F && b[0] == 3.0F);
	}
}

static void test_softmax_allocation_failure_changes_nothing(void **state)
{
	(void)state;
	cop_columns x;
	l1_draw_sized(&p, L1_SOFTMAX, 5, 1.0, 0.0, 1200, L1_D); /* by products of features */
	l1_columns(&p, &x);
	cop_l1_softmax settings = { .lambda = p.lambda, .tolerance = 1e-2, .max_steps = 2 };
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		float w[L1_K * L1_D] = { 0.5F };
		float b[L1_K] = { 0.25F };
		cop_test_alloc_fail(n, 0);
		err = cop_l1_softmax_fit(&settings, &x, p.k, p.label, p.weight, w, b, NULL);
		assert_true(err == COP_OK || (err == COP_ENOMEM && w[0] == 0.5F && b[0] == 0.25F));
		assert_true(n < 500);
	}
	cop_test_alloc_fail(0, 0);
	cop_columns_fini(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_softmax_random_problems_meet_reference),
		cmocka_unit_test(test_softmax_many_features_meet_conditions),
		cmocka_unit_test(test_softmax_loose_tolerance_is_met),
		cmocka_unit_test(test_softmax_bad_start_is_never_made_worse),
		cmocka_unit_test(test_softmax_start_at_solution_stays),
		cmocka_unit_test(test_softmax_large_lambda_leaves_log_shares),
		cmocka_unit_test(test_softmax_absent_class_becomes_impossible),
		cmocka_unit_test(test_softmax_one_class_needs_no_weights),
		cmocka_unit_test(test_softmax_scale_of_weights_does_not_matter),
		cmocka_unit_test(test_softmax_wrong_input_is_refused),
		cmocka_unit_test(test_softmax_allocation_failure_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
