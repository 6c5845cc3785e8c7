/* l1_loss: exponential, logarithm and losses against the library's in double. Of many values next to each other the
 * mean error is far below a float's own, so that a wrong coefficient shows. */
#include "support.h"

#include <math.h>

#include "optim/l1_loss.h"

#define MANY 4096

static float a[MANY], s[MANY], c[MANY], r[MANY], h[MANY], most[MANY], e[MANY], margin[MANY];
static double sum[MANY];

/* Ascending, evenly from low to high. */
static void spread(double low, double high, float *v)
{
	for (size_t i = 0; i < MANY; i++)
		v[i] = (float)(low + (high - low) * (double)i / (MANY - 1));
}

static void fill(float value, float *v)
{
	for (size_t i = 0; i < MANY; i++)
		v[i] = value;
}

/* Relative errors of exp between low and high: the largest, and their mean. */
static void exp_errors(double low, double high, double *largest, double *mean)
{
	spread(low, high, a);
	fill(0.0F, most);
	for (size_t i = 0; i < MANY; i++)
		sum[i] = 1.0;
	cop_l1_loss_exp(MANY, a, most, e, sum);
	*largest = *mean = 0.0;
	for (size_t i = 0; i < MANY; i++) {
		double error = (double)e[i] / exp((double)a[i]) - 1.0;
		*largest = fmax(*largest, fabs(error));
		*mean += error / MANY;
		assert_true(sum[i] == 1.0 + (double)e[i]);
	}
}

static void test_exp_is_as_exact_as_a_float(void **state)
{
	(void)state;
	double largest, mean;
	for (double v = -86.9; v < 86.0; v += 0.5) {
		exp_errors(v, v + 0.5, &largest, &mean);
		assert_true(largest < 1.2e-7 && fabs(mean) < 1.5e-8);
	}
	/* what is left of the argument is largest here, and the last coefficient counts most */
	exp_errors(0.30, 0.346, &largest, &mean);
	assert_true(largest < 1.2e-7 && fabs(mean) < 1.5e-8);
	exp_errors(-0.346, -0.30, &largest, &mean);
	assert_true(largest < 1.2e-7 && fabs(mean) < 1.5e-8);
}

static void test_exp_far_away_is_that_of_the_bound(void **state)
{
	(void)state;
	const float far[] = { 87.0F, -87.0F, 88.5F, -88.5F, 200.0F, -200.0F, 3e38F, -3e38F };
	for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
		double total[1] = { 0.0 };
		const float none = 0.0F;
		cop_l1_loss_exp(1, &far[i], &none, e, total);
		assert_true(fabs((double)e[0] / exp(i % 2 == 0 ? 87.0 : -87.0) - 1.0) < 2e-7);
	}
	const float two = 2.0F, one = 1.0F;
	double total[1] = { 0.5 };
	cop_l1_loss_exp(1, &two, &one, e, total);
	assert_true(fabs(total[0] - 0.5 - exp(1.0)) < 1e-6);
}

/* Rows of one sign and weight, predictions from low to high: the sum of losses and both derivatives. */
static void check_losses(double low, double high, float sign, float weight)
{
	double want = 0.0, mean = 0.0;
	spread(low, high, a);
	fill(sign, s);
	fill(weight, c);
	double got = cop_l1_loss(MANY, a, s, c, r, h);
	for (size_t i = 0; i < MANY; i++) {
		double m = (double)a[i] * (double)sign, wrong = 1.0 / (1.0 + exp(m)), u = (double)weight;
		want += u * log1p(exp(-m));
		double first = (double)r[i] / (-u * (double)sign * wrong) - 1.0;
		double second = (double)h[i] / (u * fmax(wrong * (1.0 - wrong), 1e-4)) - 1.0;
		assert_true(fabs(first) < 3e-7 && fabs(second) < 4e-7);
		mean += first / MANY;
	}
	assert_true(fabs(got / want - 1.0) < 8e-9);
	assert_true(fabs(mean) < 1.5e-8);
}

static void test_losses_and_derivatives_are_as_exact_as_a_float(void **state)
{
	(void)state;
	static const double range[][2] = { { 0.0, 0.05 }, { -0.05, 0.0 }, { 0.0, 1.0 }, { -1.0, 0.0 }, { 1.0, 5.0 },
		{ -5.0, -1.0 }, { 8.0, 12.0 }, { -12.0, -8.0 }, { 20.0, 80.0 }, { -80.0, -20.0 } };
	for (size_t i = 0; i < sizeof range / sizeof *range; i++) {
		check_losses(range[i][0], range[i][1], 1.0F, 1.0F);
		check_losses(range[i][0], range[i][1], -1.0F, 2.0F);
	}
}

static void test_losses_of_any_number_of_rows_are_all_rows(void **state)
{
	(void)state;
	for (size_t n = 0; n < 1100; n += n < 250 || n > 520 ? 50 : 1) {
		spread(-3.0, 3.0, a);
		fill(1.0F, s);
		fill(0.5F, c);
		fill(7.0F, r);
		fill(7.0F, h);
		double want = 0.0, got = cop_l1_loss(n, a, s, c, r, h);
		for (size_t i = 0; i < n; i++) {
			want += 0.5 * log1p(exp(-(double)a[i]));
			assert_true(r[i] < 0.0F && h[i] < 1.0F);
		}
		assert_true(fabs(got - want) <= 1e-6 * want && r[n] == 7.0F && h[n] == 7.0F);
	}
}

/* Odds of one against others whose sum is from exp(low) to exp(high). */
static void check_odds(double low, double high)
{
	double mean = 0.0;
	spread(low, high, margin);
	fill((float)(0.5 * exp(low)), e);
	fill(1.5F, most);
	fill(0.75F, a);
	for (size_t i = 0; i < MANY; i++)
		sum[i] = exp((double)margin[i]) + (double)e[i];
	cop_l1_loss_odds(MANY, a, most, e, sum, margin);
	for (size_t i = 0; i < MANY; i++) {
		double want = -0.75 - log((double)(float)(sum[i] - (double)e[i]));
		double error = (double)margin[i] - want;
		assert_true(fabs(error) < 1.5e-7 * (1.0 + fabs(want)));
		mean += error / MANY;
	}
	assert_true(fabs(mean) < 2e-8 * (1.0 + fabs(low) + fabs(high)));
}

static void test_odds_are_as_exact_as_a_float(void **state)
{
	(void)state;
	check_odds(0.39, 0.405); /* the ends of the mantissas */
	check_odds(-0.287, -0.27);
	check_odds(-0.05, 0.05);
	check_odds(0.6, 0.7);
	check_odds(-5.0, 5.0);
	check_odds(20.0, 40.0);
	check_odds(-40.0, -20.0);
	/* others too few to count */
	const float one = 1.0F, none = 0.0F;
	const double all = 1.0;
	cop_l1_loss_odds(1, &none, &none, &one, &all, margin);
	assert_true(fabs((double)margin[0] + log(1.17549435e-38)) < 1e-4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exp_is_as_exact_as_a_float),
		cmocka_unit_test(test_exp_far_away_is_that_of_the_bound),
		cmocka_unit_test(test_losses_and_derivatives_are_as_exact_as_a_float),
		cmocka_unit_test(test_losses_of_any_number_of_rows_are_all_rows),
		cmocka_unit_test(test_odds_are_as_exact_as_a_float),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
