/* l1_logistic: the optimality conditions, a slow reference in double, and what it says of odd problems. */
#include "l1_fixture.h"

static l1_problem p;

static const cop_l1_logistic exact = { .lambda = 0.0, .tolerance = 1e-5, .max_steps = 300 };

static cop_err fit_to(double tolerance, unsigned steps, float *w, float *b, cop_l1_report *report)
{
	cop_columns x;
	cop_l1_logistic settings = { .lambda = p.lambda, .tolerance = tolerance, .max_steps = steps };
	l1_columns(&p, &x);
	cop_err err = cop_l1_logistic_fit(&settings, &x, p.sign, p.weight, w, b, report);
	cop_columns_fini(&x);
	return err;
}

static cop_err fit(float *w, float *b, cop_l1_report *report)
{
	return fit_to(exact.tolerance, exact.max_steps, w, b, report);
}

/* Violation at w = 0 with the best bias. */
static double at_zero(void)
{
	double positive = 0.0;
	double negative = 0.0;
	for (size_t i = 0; i < p.n; i++)
		*(p.sign[i] > 0 ? &positive : &negative) += (double)p.weight[i];
	float w[L1_D] = { 0 };
	float b = (float)log(positive / negative);
	return l1_violation(&p, w, &b);
}

static void draw(uint64_t seed)
{
	l1_draw(&p, L1_LOGISTIC, seed, seed % 2 == 0 ? 1.0 : 0.15, seed % 3 == 0 ? 3.0 : 0.0);
}

static void test_logistic_random_problems_meet_reference(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		float w[L1_D] = { 0 };
		float b = 0.0F;
		cop_l1_report report;
		draw(seed);
		assert_int_equal(fit(w, &b, &report), COP_OK);
		double want = l1_reference(&p);
		double got = l1_objective(&p, w, &b);
		if (got / want - 1.0 > 1e-5 || l1_violation(&p, w, &b) > 1e-3 * at_zero() + 1e-6 * (double)p.n)
			fail_msg("seed %u: objective %.9g, reference %.9g, violation %g of %g", (unsigned)seed, got,
			        want, l1_violation(&p, w, &b), at_zero());
		assert_true(fabs(report.objective / got - 1.0) < 1e-5);
	}
}

/* By products of features, of all rows and of a sample. */
static void test_logistic_many_features_meet_conditions(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 8; seed++) {
		float w[L1_D] = { 0 };
		float b = 0.0F;
		cop_l1_report report;
		l1_draw_sized(&p, L1_LOGISTIC, seed, seed % 2 == 0 ? 1.0 : 0.2, seed % 4 < 2 ? 2.0 : 0.0,
		        seed < 4 ? L1_N : 1200, L1_D);
		assert_int_equal(fit(w, &b, &report), COP_OK);
		if (l1_violation(&p, w, &b) > 1e-3 * at_zero())
			fail_msg("seed %u: violation %g of %g", (unsigned)seed, l1_violation(&p, w, &b), at_zero());
		assert_true(fabs(report.objective / l1_objective(&p, w, &b) - 1.0) < 1e-5);
	}
}

static void test_logistic_loose_tolerance_is_met(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		float w[L1_D] = { 0 };
		float b = 0.0F;
		cop_l1_report report;
		draw(seed);
		assert_int_equal(fit_to(1e-2, 20, w, &b, &report), COP_OK);
		assert_true(report.steps < 20);
		assert_true(l1_violation(&p, w, &b) <= 1.1e-2 * at_zero() + 1e-5 * (double)p.n);
	}
}

static void test_logistic_bad_start_is_never_made_worse(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 3, 3);
	for (uint64_t seed = 0; seed < 30; seed++) {
		float w[L1_D];
		float b = (float)(20.0 * cop_rng_normal(&rng));
		cop_l1_report report;
		draw(seed);
		for (size_t j = 0; j < p.d; j++)
			w[j] = (float)(10.0 * cop_rng_normal(&rng));
		double start = l1_objective(&p, w, &b);
		assert_int_equal(fit_to(1e-3, 1 + (unsigned)(seed % 3), w, &b, &report), COP_OK);
		assert_true(l1_objective(&p, w, &b) <= start * (1.0 + 1e-6));
		assert_int_equal(fit(w, &b, &report), COP_OK);
		assert_true(report.objective / l1_reference(&p) - 1.0 < 1e-4);
	}
}

static void test_logistic_start_at_solution_stays(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		float w[L1_D] = { 0 };
		float again[L1_D];
		float b = 0.0F;
		cop_l1_report report;
		draw(seed);
		assert_int_equal(fit(w, &b, &report), COP_OK);
		memcpy(again, w, sizeof w);
		float bias = b;
		assert_int_equal(fit_to(1e-2, 20, again, &bias, &report), COP_OK);
		assert_int_equal(report.steps, 0);
		assert_memory_equal(again, w, sizeof w);
		assert_true(bias == b);
	}
}

static void test_logistic_large_lambda_leaves_log_odds(void **state)
{
	(void)state;
	float w[L1_D] = { 0 };
	float b = 2.0F;
	cop_l1_report report;
	draw(1);
	p.lambda = 1e6;
	w[0] = 1.0F;
	double sums[2] = { 0 };
	for (size_t i = 0; i < p.n; i++)
		sums[p.sign[i] > 0] += (double)p.weight[i];
	assert_int_equal(fit(w, &b, &report), COP_OK);
	assert_int_equal(report.nonzeros, 0);
	assert_true(fabs((double)b - log(sums[1] / sums[0])) < 1e-3);
}

static void test_logistic_signs_of_one_kind_give_bias_alone(void **state)
{
	(void)state;
	for (int sign = -1; sign <= 1; sign += 2) {
		float w[L1_D] = { 1.0F, -1.0F };
		float b = 0.5F;
		cop_l1_report report;
		draw(2);
		for (size_t i = 0; i < p.n; i++)
			p.weight[i] = p.sign[i] == sign ? p.weight[i] : 0.0F; /* the others do not count */
		assert_int_equal(fit(w, &b, &report), COP_OK);
		assert_int_equal(report.nonzeros, 0);
		assert_true(b == 10.0F * (float)sign);
		assert_true(fabs(report.objective / l1_objective(&p, w, &b) - 1.0) < 1e-4);
	}
}

static void test_logistic_rows_without_weight_do_not_count(void **state)
{
	(void)state;
	float w[2][L1_D] = { { 0 } };
	float b[2] = { 0 };
	draw(4);
	for (size_t i = 5; i < 15; i++)
		p.weight[i] = 0.0F;
	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(fit(w[k], &b[k], NULL), COP_OK);
		for (size_t i = 5; i < 15; i++) {
			p.sign[i] = (int8_t)-p.sign[i];
			for (size_t j = 0; j < p.d; j++)
				p.x[i * p.d + j] = 7.0F;
		}
	}
	for (size_t j = 0; j < p.d; j++)
		assert_true(fabsf(w[0][j] - w[1][j]) < 1e-3F);
	memset(p.weight, 0, sizeof p.weight);
	cop_l1_report report;
	assert_int_equal(fit(w[0], &b[0], &report), COP_OK);
	assert_int_equal(report.nonzeros, 0);
	assert_true(report.objective == 0.0);
}

static void test_logistic_scale_of_weights_does_not_matter(void **state)
{
	(void)state;
	draw(6);
	float w[3][L1_D] = { { 0 } };
	float b[3] = { 0 };
	const float scale[3] = { 1.0F, 0x1p40F, 0x1p-40F };
	const l1_problem first = p;
	for (unsigned k = 0; k < 3; k++) {
		cop_l1_report report;
		p = first;
		p.lambda *= (double)scale[k];
		for (size_t i = 0; i < p.n; i++)
			p.weight[i] *= scale[k];
		assert_int_equal(fit(w[k], &b[k], &report), COP_OK);
		assert_memory_equal(w[k], w[0], sizeof w[0]);
		assert_true(b[k] == b[0]);
	}
}

static void test_logistic_separable_without_penalty_stays_finite(void **state)
{
	(void)state;
	float w[L1_D] = { 0 };
	float b = 0.0F;
	cop_l1_report report;
	draw(0);
	for (size_t i = 0; i < p.n; i++)
		p.sign[i] = p.x[i * p.d] > 3.0F ? 1 : -1;
	p.lambda = 0.0;
	assert_int_equal(fit_to(1e-6, 500, w, &b, &report), COP_OK);
	assert_true(isfinite(report.objective) && report.objective < 1.0);
}

static void test_logistic_wrong_input_is_refused(void **state)
{
	(void)state;
	static const cop_l1_logistic wrong[] = { { -1.0, 1e-3, 5 }, { (double)NAN, 1e-3, 5 }, { HUGE_VAL, 1e-3, 5 },
		{ 1.0, 0.0, 5 }, { 1.0, (double)NAN, 5 }, { 1.0, 1e-3, 0 } };
	float w[L1_D] = { 1.0F };
	float b = 3.0F;
	cop_columns x;
	draw(3);
	l1_columns(&p, &x);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(cop_l1_logistic_fit(&wrong[i], &x, p.sign, p.weight, w, &b, NULL), COP_EINVAL);
	cop_columns_fini(&x);
	w[0] = NAN;
	assert_int_equal(fit(w, &b, NULL), COP_ENONFINITE);
	w[0] = 1.0F;
	b = INFINITY;
	assert_int_equal(fit(w, &b, NULL), COP_ENONFINITE);
	b = 3.0F;
	for (unsigned k = 0; k < 2; k++) {
		p.weight[2] = k == 0 ? NAN : INFINITY;
		assert_int_equal(fit(w, &b, NULL), COP_ENONFINITE);
		assert_true(w[0] == 1.0F && b == 3.0F);
	}
}

static void test_logistic_without_rows_or_features_works(void **state)
{
	(void)state;
	cop_columns x;
	cop_l1_logistic settings = exact;
	float w[1] = { 1.0F };
	float b = 1.0F;
	const float value[3] = { 0 };
	const int8_t sign[3] = { 1, 1, -1 };
	assert_int_equal(cop_columns_from_dense(&x, 0, NULL, 1, value), COP_OK);
	assert_int_equal(cop_l1_logistic_fit(&settings, &x, sign, NULL, w, &b, NULL), COP_OK);
	cop_columns_fini(&x);
	assert_int_equal(cop_columns_from_dense(&x, 3, NULL, 0, value), COP_OK);
	assert_int_equal(cop_l1_logistic_fit(&settings, &x, sign, NULL, w, &b, NULL), COP_OK);
	assert_true(fabs((double)b - log(2.0)) < 1e-3);
	cop_columns_fini(&x);
}

static void test_logistic_allocation_failure_changes_nothing(void **state)
{
	(void)state;
	cop_columns x;
	l1_draw_sized(&p, L1_LOGISTIC, 5, 1.0, 0.0, L1_N, L1_D); /* by products of features */
	l1_columns(&p, &x);
	cop_l1_logistic settings = { .lambda = p.lambda, .tolerance = 1e-3, .max_steps = 50 };
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		float w[L1_D] = { 0.5F };
		float b = 0.25F;
		cop_test_alloc_fail(n, 0);
		err = cop_l1_logistic_fit(&settings, &x, p.sign, p.weight, w, &b, NULL);
		assert_true(err == COP_OK || (err == COP_ENOMEM && w[0] == 0.5F && b == 0.25F));
		assert_true(n < 200);
	}
	cop_test_alloc_fail(0, 0);
	cop_columns_fini(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_logistic_random_problems_meet_reference),
		cmocka_unit_test(test_logistic_many_features_meet_conditions),
		cmocka_unit_test(test_logistic_loose_tolerance_is_met),
		cmocka_unit_test(test_logistic_bad_start_is_never_made_worse),
		cmocka_unit_test(test_logistic_start_at_solution_stays),
		cmocka_unit_test(test_logistic_large_lambda_leaves_log_odds),
		cmocka_unit_test(test_logistic_signs_of_one_kind_give_bias_alone),
		cmocka_unit_test(test_logistic_rows_without_weight_do_not_count),
		cmocka_unit_test(test_logistic_scale_of_weights_does_not_matter),
		cmocka_unit_test(test_logistic_separable_without_penalty_stays_finite),
		cmocka_unit_test(test_logistic_wrong_input_is_refused),
		cmocka_unit_test(test_logistic_without_rows_or_features_works),
		cmocka_unit_test(test_logistic_allocation_failure_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
