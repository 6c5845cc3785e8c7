#include "support.h"

#include <math.h>

#include "optim/schedule.h"

static void near(double got, double want) { assert_true(fabs(got - want) < 1e-12); }

static void test_cosine_falls_and_restarts(void **state)
{
	(void)state;
	cop_schedule s = { 1e-2, 1e-4, 8 };
	near(cop_schedule_rate(&s, 0), 1e-2);
	near(cop_schedule_rate(&s, 2), 1e-4 + 0.5 * 9.9e-3 * (1.0 + sqrt(0.5)));
	near(cop_schedule_rate(&s, 4), 5.05e-3);
	near(cop_schedule_rate(&s, 7), 1e-4 + 0.5 * 9.9e-3 * (1.0 - 0.92387953251128674));
	near(cop_schedule_rate(&s, 8), 1e-2);
	near(cop_schedule_rate(&s, 8 * 1000 + 4), 5.05e-3);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_cosine_falls_and_restarts) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
