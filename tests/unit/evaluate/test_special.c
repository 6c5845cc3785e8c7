/* Distribution functions against closed forms, published tables and their own inverses. */
#include "support.h"

#include <math.h>

#include "evaluate/special.h"

static void assert_close(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance * (1.0 + fabs(want))))
		fail_msg("got %.17g, want %.17g", got, want);
}

static void test_beta_in_closed_form_agrees(void **state)
{
	(void)state;
	for (double x = 0.0; x <= 1.0; x += 0.0625) {
		assert_close(cop_special_beta(1.0, 1.0, x), x, 1e-14);
		assert_close(cop_special_beta(3.0, 1.0, x), x * x * x, 1e-14);
		assert_close(cop_special_beta(2.0, 3.0, x), x * x * (6.0 - 8.0 * x + 3.0 * x * x), 1e-13);
		assert_close(cop_special_beta(0.5, 0.5, x), M_2_PI * asin(sqrt(x)), 1e-13);
	}
}

static void test_beta_quantile_inverts_beta(void **state)
{
	(void)state;
	const double shapes[] = { 0.3, 1.0, 4.5, 77.0, 1e4, 3e6 };
	const double shares[] = { 1e-8, 0.01, 0.3, 0.5, 0.975, 0.999999 };
	for (size_t i = 0; i < 6; i++)
		for (size_t j = 0; j < 6; j++)
			for (size_t k = 0; k < 6; k++) {
				double x = cop_special_beta_quantile(shapes[i], shapes[j], shares[k]);
				assert_true(x >= 0.0 && x <= 1.0);
				if (x > 1e-300 && x < 1.0 - 1e-5) /* nearer to 1 a double has too few digits for this */
					assert_close(cop_special_beta(shapes[i], shapes[j], x), shares[k], 1e-9);
			}
	assert_true(cop_special_beta_quantile(2.0, 3.0, 0.0) == 0.0);
	assert_true(cop_special_beta_quantile(2.0, 3.0, 1.0) == 1.0);
}

static void test_normal_quantile_agrees_with_tables(void **state)
{
	(void)state;
	assert_close(cop_special_normal_quantile(0.975), 1.959963984540054, 1e-14);
	assert_close(cop_special_normal_quantile(0.025), -1.959963984540054, 1e-14);
	assert_close(cop_special_normal_quantile(0.995), 2.5758293035489004, 1e-14);
	assert_close(cop_special_normal_quantile(1e-10), -6.361340902404056, 1e-13);
	assert_true(cop_special_normal_quantile(0.5) == 0.0);
}

static void test_student_quantile_agrees_with_closed_forms_and_tables(void **state)
{
	(void)state;
	for (double tail = 0.001; tail < 0.5; tail += 0.03) {
		assert_close(cop_special_student_quantile(1.0, tail), 1.0 / tan(M_PI * tail), 1e-11);
		double a = 4.0 * tail * (1.0 - tail);
		assert_close(cop_special_student_quantile(2.0, tail), 2.0 * (0.5 - tail) * sqrt(2.0 / a), 1e-11);
	}
	/* With u^2 = t^2 / (10 + t^2) the integral over (-t, t) is a polynomial in u. */
	double t = cop_special_student_quantile(10.0, 0.025), u2 = t * t / (10.0 + t * t);
	double sum = 1.0 - u2 * (4.0 / 3.0 - u2 * (6.0 / 5.0 - u2 * (4.0 / 7.0 - u2 / 9.0)));
	assert_close(2.0 * sqrt(u2) * sum * exp(lgamma(5.5) - lgamma(0.5) - lgamma(5.0)), 0.95, 1e-13);
	/* The expansion for many degrees of freedom goes on where the fraction ends. */
	assert_close(cop_special_student_quantile(99999.0, 0.025), cop_special_student_quantile(100001.0, 0.025), 1e-9);
	assert_close(cop_special_student_quantile(1e300, 0.025), 1.959963984540054, 1e-14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beta_in_closed_form_agrees),
		cmocka_unit_test(test_beta_quantile_inverts_beta),
		cmocka_unit_test(test_normal_quantile_agrees_with_tables),
		cmocka_unit_test(test_student_quantile_agrees_with_closed_forms_and_tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
