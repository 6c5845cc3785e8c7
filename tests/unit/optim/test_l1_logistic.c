/* l1_logistic: what it alone promises; see test_l1_solvers. */
#include "l1_fixture.h"

static l1_problem p;

static void test_logistic_loose_tolerance_is_met(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		float w[L1_D] = { 0 };
		float b = 0.0F;
		cop_l1_report report;
		l1_draw(&p, L1_LOGISTIC, seed);
		assert_int_equal(l1_fit_to(&p, 1e-2, 20, w, &b, &report), COP_OK);
		assert_true(report.steps < 20);
		assert_true(l1_violation(&p, w, &b) <= 1.1e-2 * l1_violation_at_zero(&p) + 1e-5 * (double)p.n);
	}
}

static void test_logistic_signs_of_one_kind_give_bias_alone(void **state)
{
	(void)state;
	for (int sign = -1; sign <= 1; sign += 2) {
		float w[L1_D] = { 1.0F, -1.0F };
		float b = 0.5F;
		cop_l1_report report;
		l1_draw(&p, L1_LOGISTIC, 2);
		for (size_t i = 0; i < p.n; i++)
			p.weight[i] = p.sign[i] == sign ? p.weight[i] : 0.0F; /* the others do not count */
		assert_int_equal(l1_fit(&p, w, &b, &report), COP_OK);
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
	l1_draw(&p, L1_LOGISTIC, 4);
	for (size_t i = 5; i < 15; i++)
		p.weight[i] = 0.0F;
	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(l1_fit(&p, w[k], &b[k], NULL), COP_OK);
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
	assert_int_equal(l1_fit(&p, w[0], &b[0], &report), COP_OK);
	assert_int_equal(report.nonzeros, 0);
	assert_true(report.objective == 0.0);
}

static void test_logistic_separable_without_penalty_stays_finite(void **state)
{
	(void)state;
	float w[L1_D] = { 0 };
	float b = 0.0F;
	cop_l1_report report;
	l1_draw(&p, L1_LOGISTIC, 0);
	for (size_t i = 0; i < p.n; i++)
		p.sign[i] = p.x[i * p.d] > 3.0F ? 1 : -1;
	p.lambda = 0.0;
	assert_int_equal(l1_fit_to(&p, 1e-6, 500, w, &b, &report), COP_OK);
	assert_true(isfinite(report.objective) && report.objective < 1.0);
}

static void test_logistic_without_rows_or_features_works(void **state)
{
	(void)state;
	cop_columns x;
	cop_l1_settings settings = { .lambda = 0.0, .tolerance = 1e-5, .max_steps = 300 };
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

static void test_logistic_takes_no_more_steps_than_allowed(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		float w[L1_D] = { 0 }, b = 0.0F;
		cop_l1_report report;
		l1_draw(&p, L1_LOGISTIC, seed);
		p.lambda *= 0.01;
		for (unsigned most = 1; most <= 3; most += 2) {
			assert_int_equal(l1_fit_to(&p, 1e-300, most, w, &b, &report), COP_OK);
			assert_true(report.steps >= 1 && report.steps <= most);
			assert_true(fabs(report.objective / l1_objective(&p, w, &b) - 1.0) < 1e-4);
		}
	}
}

/* inf - inf in a row's prediction: the weights themselves are numbers, and stay what they were. */
static void test_logistic_start_whose_objective_is_no_number_is_refused(void **state)
{
	(void)state;
	float w[L1_D] = { 1.0F, 1.0F, 2.0F }, b = 0.5F;
	cop_l1_report report = { .steps = 77 };
	l1_draw_sized(&p, L1_LOGISTIC, 1, 1.0, 0.0, 20, 3);
	p.x[0] = p.x[1] = 3e38F;
	p.x[2] = -3e38F;
	assert_int_equal(l1_fit(&p, w, &b, &report), COP_ENONFINITE);
	assert_true(w[0] == 1.0F && w[1] == 1.0F && w[2] == 2.0F && b == 0.5F);
	assert_int_equal(report.steps, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_logistic_loose_tolerance_is_met),
		cmocka_unit_test(test_logistic_signs_of_one_kind_give_bias_alone),
		cmocka_unit_test(test_logistic_rows_without_weight_do_not_count),
		cmocka_unit_test(test_logistic_separable_without_penalty_stays_finite),
		cmocka_unit_test(test_logistic_without_rows_or_features_works),
		cmocka_unit_test(test_logistic_takes_no_more_steps_than_allowed),
		cmocka_unit_test(test_logistic_start_whose_objective_is_no_number_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
