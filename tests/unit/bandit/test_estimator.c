/* Estimators against finite differences of the losses they are gradients of, and against exact means. */
#include "support.h"

#include <math.h>

#include "bandit/estimator.h"

static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

/* Eq. (8)'s loss: the reward 1 - l against the predicted reward, weighted by 1/p. */
static double squared_loss(double theta, double loss, double p)
{
	double gap = sigmoid(theta) - (1.0 - loss);
	return gap * gap / p;
}

/* Logistic loss of the predicted loss 1 - sigmoid(theta) for a target in [0, 1]. */
static double logistic_loss(double theta, double loss, double p)
{
	(void)p;
	return -loss * log(1.0 - sigmoid(theta)) - (1.0 - loss) * log(sigmoid(theta));
}

static void check_gradient(const char *name, double (*f)(double, double, double))
{
	const cop_estimator *estimator = cop_estimator_find(name);
	assert_non_null(estimator);
	assert_string_equal(estimator->name, name);
	for (double theta = -6.0; theta <= 6.0; theta += 0.37)
		for (double loss = 0.0; loss <= 1.0; loss += 0.25)
			for (double p = 0.01; p <= 1.0; p += 0.09) {
				const double h = 1e-5;
				double numeric = (f(theta + h, loss, p) - f(theta - h, loss, p)) / (2.0 * h);
				double got = estimator->gradient(theta, loss, p);
				assert_true(fabs(got - numeric) <= 1e-6 * (1.0 + fabs(numeric)));
			}
}

static void test_squared_ips_equals_finite_differences(void **state)
{
	(void)state;
	check_gradient("squared_ips", squared_loss);
}

static void test_direct_equals_finite_differences_of_logistic_loss(void **state)
{
	(void)state;
	check_gradient("direct", logistic_loss);
}

static void test_gradients_at_extreme_scores_stay_finite(void **state)
{
	(void)state;
	const double scores[] = { -1e308, -1e4, -745.0, 745.0, 1e4, 1e308 };
	for (size_t i = 0; i < sizeof scores / sizeof *scores; i++) {
		assert_true(isfinite(cop_estimator_find("direct")->gradient(scores[i], 1.0, 1e-6)));
		assert_true(isfinite(cop_estimator_find("squared_ips")->gradient(scores[i], 1.0, 1e-6)));
		double s = cop_estimator_sigmoid(scores[i]);
		assert_true(s >= 0.0 && s <= 1.0);
	}
	assert_true(cop_estimator_sigmoid(0.0) == 0.5);
	assert_true(fabs(cop_estimator_sigmoid(2.0) - 0.8807970779778823) < 1e-15);
	assert_true(cop_estimator_sigmoid(-30.0) > 9e-14); /* no cancellation */
}

static void test_find_unknown_name_is_null(void **state)
{
	(void)state;
	assert_null(cop_estimator_find("ips"));
	assert_null(cop_estimator_find(""));
}

static double quadratic(double y) { return 0.3 + 2.0 * y + 5.0 * y * y; }

/* E[l(y + delta u) u] / delta over u = +-1 is the derivative of a quadratic, whatever delta and the baseline. */
static void test_one_point_mean_is_derivative_of_quadratic(void **state)
{
	(void)state;
	for (double y = -1.0; y <= 1.0; y += 0.25)
		for (double delta = 0.05; delta <= 0.5; delta += 0.15)
			for (double baseline = -2.0; baseline <= 2.0; baseline += 1.0) {
				double plus = cop_estimator_one_point(quadratic(y + delta), baseline, 1, delta);
				double minus = cop_estimator_one_point(quadratic(y - delta), baseline, -1, delta);
				assert_true(fabs((plus + minus) / 2.0 - (2.0 + 10.0 * y)) < 1e-10);
			}
	assert_true(fabs(cop_estimator_one_point(0.7, 0.2, -1, 0.1) + 5.0) < 1e-12);
}

static void test_two_point_is_derivative_of_quadratic(void **state)
{
	(void)state;
	for (double y = -1.0; y <= 1.0; y += 0.25)
		for (double delta = 0.05; delta <= 0.5; delta += 0.15) {
			double g = cop_estimator_two_point(quadratic(y + delta), quadratic(y - delta), delta);
			assert_true(fabs(g - (2.0 + 10.0 * y)) < 1e-10);
		}
}

static void test_scale_loss_inside_range_is_linear(void **state)
{
	(void)state;
	double scaled = -1.0;
	assert_int_equal(cop_estimator_scale_loss(-2.0, -2.0, 6.0, &scaled), COP_OK);
	assert_true(scaled == 0.0);
	assert_int_equal(cop_estimator_scale_loss(6.0, -2.0, 6.0, &scaled), COP_OK);
	assert_true(scaled == 1.0);
	assert_int_equal(cop_estimator_scale_loss(0.0, -2.0, 6.0, &scaled), COP_OK);
	assert_true(scaled == 0.25);
}

static void test_scale_loss_wrong_value_is_refused(void **state)
{
	(void)state;
	double scaled = 0.125;
	assert_int_equal(cop_estimator_scale_loss((double)NAN, 0.0, 1.0, &scaled), COP_ENONFINITE);
	assert_int_equal(cop_estimator_scale_loss((double)INFINITY, 0.0, 1.0, &scaled), COP_ENONFINITE);
	assert_int_equal(cop_estimator_scale_loss(-(double)INFINITY, 0.0, 1.0, &scaled), COP_ENONFINITE);
	assert_int_equal(cop_estimator_scale_loss(1.0 + 1e-9, 0.0, 1.0, &scaled), COP_EINVAL);
	assert_int_equal(cop_estimator_scale_loss(-1e-9, 0.0, 1.0, &scaled), COP_EINVAL);
	assert_true(scaled == 0.125);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_squared_ips_equals_finite_differences),
		cmocka_unit_test(test_direct_equals_finite_differences_of_logistic_loss),
		cmocka_unit_test(test_gradients_at_extreme_scores_stay_finite),
		cmocka_unit_test(test_find_unknown_name_is_null),
		cmocka_unit_test(test_one_point_mean_is_derivative_of_quadratic),
		cmocka_unit_test(test_two_point_is_derivative_of_quadratic),
		cmocka_unit_test(test_scale_loss_inside_range_is_linear),
		cmocka_unit_test(test_scale_loss_wrong_value_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
