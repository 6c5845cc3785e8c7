#include "support.h"

#include <math.h>

#include "optim/schedule.h"

static void near(double got, double want) { assert_true(fabs(got - want) < 1e-12); }

static void test_constant_is_constant(void **state)
{
	(void)state;
	cop_schedule s = { COP_SCHEDULE_CONSTANT, 0.1, 0.0, 1 };
	near(cop_schedule_rate(&s, 0), 0.1);
	near(cop_schedule_rate(&s, UINT64_MAX), 0.1);
}

static void test_cosine_falls_and_restarts(void **state)
{
	(void)state;
	cop_schedule s = { COP_SCHEDULE_COSINE, 1e-2, 1e-4, 8 };
	near(cop_schedule_rate(&s, 0), 1e-2);
	near(cop_schedule_rate(&s, 2), 1e-4 + 0.5 * 9.9e-3 * (1.0 + sqrt(0.5)));
	near(cop_schedule_rate(&s, 4), 5.05e-3);
	near(cop_schedule_rate(&s, 7), 1e-4 + 0.5 * 9.9e-3 * (1.0 - 0.92387953251128674));
	near(cop_schedule_rate(&s, 8), 1e-2);
	near(cop_schedule_rate(&s, 8 * 1000 + 4), 5.05e-3);
}

static void test_inverse_sqrt_falls_to_minimum(void **state)
{
	(void)state;
	cop_schedule s = { COP_SCHEDULE_INVERSE_SQRT, 0.2, 0.01, 100 };
	near(cop_schedule_rate(&s, 0), 0.2);
	near(cop_schedule_rate(&s, 300), 0.1);
	near(cop_schedule_rate(&s, 1000000000), 0.01);
}

static void test_find_known_and_unknown_names(void **state)
{
	(void)state;
	cop_schedule_kind kind;
	for (unsigned i = 0; i < COP_SCHEDULE_COUNT; i++) {
		assert_int_equal(cop_schedule_find(cop_schedule_name((cop_schedule_kind)i), &kind), COP_OK);
		assert_int_equal(kind, i);
	}
	assert_int_equal(cop_schedule_find("linear", &kind), COP_ENOTFOUND);
	assert_null(cop_schedule_name(COP_SCHEDULE_COUNT));
}

static void test_check_bad_fields_are_refused(void **state)
{
	(void)state;
	cop_schedule good = { COP_SCHEDULE_COSINE, 1.0, 0.5, 3 }, bad;
	assert_int_equal(cop_schedule_check(&good), COP_OK);
	bad = good;
	bad.period = 0;
	assert_int_equal(cop_schedule_check(&bad), COP_EINVAL);
	bad = good;
	bad.minimum = 2.0;
	assert_int_equal(cop_schedule_check(&bad), COP_EINVAL);
	bad = good;
	bad.lr = (double)NAN;
	assert_int_equal(cop_schedule_check(&bad), COP_EINVAL);
	bad = good;
	bad.kind = COP_SCHEDULE_COUNT;
	assert_int_equal(cop_schedule_check(&bad), COP_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constant_is_constant),
		cmocka_unit_test(test_cosine_falls_and_restarts),
		cmocka_unit_test(test_inverse_sqrt_falls_to_minimum),
		cmocka_unit_test(test_find_known_and_unknown_names),
		cmocka_unit_test(test_check_bad_fields_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
