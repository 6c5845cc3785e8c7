/* Times are given, so a second is a second. */
#include "daemon/common/quota.h"

#include <string.h>

#include "support.h"

#define SECOND 1000000u

static size_t taken(cop_quota *quota, const cop_quota_limits *limits, uint64_t now, size_t bytes, size_t tries)
{
	size_t count = 0;
	for (size_t i = 0; i < tries; i++)
		count += cop_quota_take(quota, limits, now, bytes) == NULL;
	return count;
}

static void test_quota_gives_a_seconds_worth_at_once_and_the_rate_after(void **state)
{
	(void)state;
	const cop_quota_limits limits = { .rate = 50 };
	cop_quota quota = { 0 };
	assert_int_equal(taken(&quota, &limits, 7 * SECOND, 100, 500), 50);
	assert_string_equal(cop_quota_take(&quota, &limits, 7 * SECOND, 0), "events");
	size_t later = 0;
	for (uint64_t now = 7 * SECOND; now < 17 * SECOND; now += 1000)
		later += taken(&quota, &limits, now, 0, 3);
	assert_in_range(later, 498, 500);
	assert_int_equal(taken(&quota, &limits, 1000000 * (uint64_t)SECOND, 0, 500), 50); /* no more for a long rest */
}

static void test_quota_counts_bytes_apart(void **state)
{
	(void)state;
	const cop_quota_limits limits = { .bytes = 1000 };
	cop_quota quota = { 0 };
	assert_int_equal(taken(&quota, &limits, SECOND, 300, 100), 4); /* the last one was paid for afterwards */
	assert_string_equal(cop_quota_take(&quota, &limits, SECOND, 1), "bytes");
	assert_null(cop_quota_take(&quota, &limits, 2 * SECOND, 5000));
	assert_string_equal(cop_quota_take(&quota, &limits, 6 * SECOND, 1), "bytes");
	assert_null(cop_quota_take(&quota, &limits, 7 * SECOND, 1));
}

static void test_quota_charges_a_batch_that_passed(void **state)
{
	(void)state;
	const cop_quota_limits limits = { .rate = 10 };
	cop_quota quota = { 0 };
	assert_null(cop_quota_take(&quota, &limits, SECOND, 0));
	cop_quota_charge(&quota, 29, 0);
	assert_string_equal(cop_quota_take(&quota, &limits, 3 * SECOND, 0), "events");
	assert_null(cop_quota_take(&quota, &limits, 4 * SECOND, 0));
}

static void test_quota_without_limits_gives_all(void **state)
{
	(void)state;
	const cop_quota_limits none = { .pending = 3 }, slow = { .rate = 1 };
	cop_quota quota = { 0 };
	assert_int_equal(taken(&quota, &none, 5, (size_t)1 << 40, 10000), 10000);
	quota = (cop_quota){ 0 };
	assert_int_equal(taken(&quota, &slow, 5, 0, 100), 1);
	assert_int_equal(taken(&quota, &slow, 4, 0, 100), 0); /* a clock that went back */
	assert_int_equal(taken(&quota, &slow, 5 + SECOND, 0, 100), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quota_gives_a_seconds_worth_at_once_and_the_rate_after),
		cmocka_unit_test(test_quota_counts_bytes_apart),
		cmocka_unit_test(test_quota_charges_a_batch_that_passed),
		cmocka_unit_test(test_quota_without_limits_gives_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
