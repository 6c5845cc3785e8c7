#include "support.h"

#include <math.h>

#include "optim/clip.h"

static void test_norm_above_limit_is_scaled_to_it(void **state)
{
	(void)state;
	assert_true(fabs(cop_clip_scale(25.0, 0.01) - 0.002) < 1e-15);
	assert_true(fabs(cop_clip_scale(9.0 + 16.0, 1.0) - 0.2) < 1e-15);
}

static void test_norm_within_limit_is_untouched(void **state)
{
	(void)state;
	assert_true(cop_clip_scale(25.0, 5.0) == 1.0);
	assert_true(cop_clip_scale(0.0, 1e-300) == 1.0);
}

static void test_norm_nonfinite_is_nan(void **state)
{
	(void)state;
	assert_true(isnan(cop_clip_scale((double)INFINITY, 1.0)));
	assert_true(isnan(cop_clip_scale((double)NAN, 1.0)));
}

static void test_norm_of_large_floats_does_not_overflow(void **state)
{
	(void)state;
	assert_true(fabs(cop_clip_scale(9e76, 1.0) * 3e38 - 1.0) < 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_norm_above_limit_is_scaled_to_it),
		cmocka_unit_test(test_norm_within_limit_is_untouched),
		cmocka_unit_test(test_norm_nonfinite_is_nan),
		cmocka_unit_test(test_norm_of_large_floats_does_not_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
