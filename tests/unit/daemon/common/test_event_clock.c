/* Event time against clocks that this test sets. */
#include "daemon/common/event_clock.h"

#include <time.h>

#include "support.h"

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

static double real, boot;

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	double seconds = clock == CLOCK_BOOTTIME ? boot : real;
	*out = (struct timespec){ .tv_sec = (time_t)seconds,
		.tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds)) };
	return 0;
}

#define NEWEST 1.8e9
#define YEAR   31536000.0

static cop_event_clock start(double clock, double newest, double tolerance)
{
	cop_event_clock c;
	real = clock;
	boot = 1000.0;
	cop_event_clock_start(&c, newest, tolerance);
	return c;
}

static void test_event_clock_within_tolerance_is_believed(void **state)
{
	(void)state;
	static const struct {
		double clock, newest, tolerance;
	} cases[] = {
		{ NEWEST, NEWEST, YEAR }, { NEWEST + YEAR, NEWEST, YEAR },
		{ NEWEST + 50.0 * YEAR, NEWEST, 0.0 }, /* whatever it says */
		{ NEWEST + 50.0 * YEAR, 0.0, YEAR },   /* no record */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_event_clock c = start(cases[i].clock, cases[i].newest, cases[i].tolerance);
		assert_true(c.ahead == 0.0);
		assert_true(cop_event_clock_now(&c) == cases[i].clock);
		real += 9.0 * YEAR; /* set while it runs: no matter */
		boot += 5.0;
		assert_true(cop_event_clock_now(&c) == cases[i].clock + 5.0);
		assert_false(cop_event_clock_look(&c, cop_event_clock_now(&c), cases[i].tolerance));
		assert_true(cop_event_clock_now(&c) == cases[i].clock + 5.0);
	}
}

static void test_event_clock_behind_the_newest_record_goes_on_from_there(void **state)
{
	(void)state;
	cop_event_clock c = start(NEWEST - 3.0 * YEAR, NEWEST, YEAR);
	assert_true(c.ahead == 0.0);
	boot += 2.0;
	assert_true(cop_event_clock_now(&c) == NEWEST + 2.0);
}

static void test_event_clock_far_ahead_is_not_believed_until_it_is_set(void **state)
{
	(void)state;
	cop_event_clock c = start(NEWEST + YEAR + 1.0, NEWEST, YEAR);
	assert_true(c.ahead == YEAR + 1.0);
	assert_true(cop_event_clock_now(&c) == NEWEST);
	real += 10.0;
	boot += 10.0;
	assert_true(cop_event_clock_now(&c) == NEWEST + 10.0);
	assert_false(cop_event_clock_look(&c, NEWEST + 10.0, YEAR));
	assert_true(c.ahead == YEAR + 1.0);
	real = NEWEST + 7200.0; /* it was down for two hours */
	assert_true(cop_event_clock_look(&c, NEWEST + 10.0, YEAR));
	assert_true(c.ahead == 0.0);
	assert_true(cop_event_clock_now(&c) == NEWEST + 7200.0);
	assert_false(cop_event_clock_look(&c, NEWEST + 7200.0, YEAR));
}

static void test_event_clock_set_behind_does_not_turn_time_back(void **state)
{
	(void)state;
	cop_event_clock c = start(NEWEST + 2.0 * YEAR, NEWEST, YEAR);
	real = NEWEST - 5.0;
	boot += 10.0;
	assert_true(cop_event_clock_look(&c, NEWEST + 10.0, YEAR));
	assert_true(cop_event_clock_now(&c) == NEWEST + 10.0);
}

static void test_event_clock_is_believed_when_the_tolerance_is_raised(void **state)
{
	(void)state;
	static const double tolerances[] = { 0.0, 3.0 * YEAR };
	for (size_t i = 0; i < 2; i++) {
		cop_event_clock c = start(NEWEST + 2.0 * YEAR, NEWEST, YEAR);
		assert_false(cop_event_clock_look(&c, NEWEST, YEAR));
		assert_true(cop_event_clock_look(&c, NEWEST, tolerances[i]));
		assert_true(cop_event_clock_now(&c) == NEWEST + 2.0 * YEAR);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_clock_within_tolerance_is_believed),
		cmocka_unit_test(test_event_clock_behind_the_newest_record_goes_on_from_there),
		cmocka_unit_test(test_event_clock_far_ahead_is_not_believed_until_it_is_set),
		cmocka_unit_test(test_event_clock_set_behind_does_not_turn_time_back),
		cmocka_unit_test(test_event_clock_is_believed_when_the_tolerance_is_raised),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
