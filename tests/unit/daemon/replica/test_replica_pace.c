/* When states are compared: by records, and by how long it took. */
#include "daemon/replica/replica_pace.h"

#include "support.h"

static void test_pace_is_of_records_where_comparing_takes_no_time(void **state)
{
	(void)state;
	cop_replica_pace pace = { 0 };
	uint64_t compared[4] = { 0 };
	size_t count = 0;
	cop_replica_pace_set(&pace, 10);
	for (uint64_t last = 1; last <= 40; last++)
		if (cop_replica_pace_due(&pace, last, 5.0)) {
			compared[count++] = last;
			cop_replica_pace_done(&pace, last, 10, 5.0, 5.0);
		}
	assert_int_equal(count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(compared[i], 10 * (i + 1));
}

/* A record each second, of which comparing takes a quarter each time. */
static void test_pace_takes_one_hundredth_of_the_time(void **state)
{
	(void)state;
	cop_replica_pace pace = { 0 };
	size_t count = 0;
	for (uint64_t last = 1; last <= 1000; last++) {
		const double now = (double)last;
		if (cop_replica_pace_due(&pace, last, now)) {
			count++;
			cop_replica_pace_done(&pace, last, 1, now, now + 0.25);
		}
	}
	assert_int_equal(count, 40); /* 10 of 1000 seconds */
}

static void test_pace_that_is_set_anew_waits_for_its_time(void **state)
{
	(void)state;
	cop_replica_pace pace = { 0 };
	assert_true(cop_replica_pace_due(&pace, 0, 0.0));
	cop_replica_pace_done(&pace, 100, 1000, 50.0, 52.0);
	assert_int_equal(pace.record, 1100);
	cop_replica_pace_set(&pace, 0); /* as when a follower comes */
	assert_false(cop_replica_pace_due(&pace, 101, 249.0));
	assert_true(cop_replica_pace_due(&pace, 101, 250.0));
	cop_replica_pace_set(&pace, 102);
	assert_false(cop_replica_pace_due(&pace, 101, 1000.0));
	assert_true(cop_replica_pace_due(&pace, 102, 1000.0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pace_is_of_records_where_comparing_takes_no_time),
		cmocka_unit_test(test_pace_takes_one_hundredth_of_the_time),
		cmocka_unit_test(test_pace_that_is_set_anew_waits_for_its_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
