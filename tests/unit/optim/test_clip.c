#include "support.h"

#include <math.h>

#include "optim/clip.h"

static void test_norm_above_limit_is_scaled_to_it(void **state)
{
	(void)state;
	float g[3] = { 3.0f, 0.0f, -4.0f };
	assert_true(fabs(cop_clip_norm(3, g, 0.01) - 0.002) < 1e-15);
	assert_true(fabs((double)g[0] - 0.006) < 1e-9 && g[1] == 0.0f && fabs((double)g[2] + 0.008) < 1e-9);
}

static void test_norm_within_limit_is_untouched(void **state)
{
	(void)state;
	float g[2] = { 3.0f, 4.0f }, zero[2] = { 0 };
	assert_true(cop_clip_norm(2, g, 5.0) == 1.0);
	assert_true(g[0] == 3.0f && g[1] == 4.0f);
	assert_true(cop_clip_norm(2, zero, 1e-300) == 1.0);
}

static void test_norm_nonfinite_is_nan_and_untouched(void **state)
{
	(void)state;
	float g[2] = { 3.0f, INFINITY };
	assert_true(isnan(cop_clip_norm(2, g, 1.0)));
	assert_true(g[0] == 3.0f);
	g[1] = NAN;
	assert_true(isnan(cop_clip_norm(2, g, 1.0)));
}

static void test_norm_large_floats_do_not_overflow(void **state)
{
	(void)state;
	float g[2] = { 3e38f, 0.0f };
	assert_true(fabs(cop_clip_norm(2, g, 1.0) * 3e38 - 1.0) < 1e-6);
	assert_true(fabs((double)g[0] - 1.0) < 1e-6);
}

static void test_several_arrays_share_one_scale(void **state)
{
	(void)state;
	float a[1] = { 3.0f }, b[2] = { 0.0f, 4.0f };
	double scale = cop_clip_scale(cop_clip_squares(1, a) + cop_clip_squares(2, b), 1.0);
	assert_true(fabs(scale - 0.2) < 1e-15);
	cop_clip_apply(1, a, scale);
	cop_clip_apply(2, b, scale);
	assert_true(fabs((double)a[0] - 0.6) < 1e-7 && fabs((double)b[1] - 0.8) < 1e-7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_norm_above_limit_is_scaled_to_it),
		cmocka_unit_test(test_norm_within_limit_is_untouched),
		cmocka_unit_test(test_norm_nonfinite_is_nan_and_untouched),
		cmocka_unit_test(test_norm_large_floats_do_not_overflow),
		cmocka_unit_test(test_several_arrays_share_one_scale),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
