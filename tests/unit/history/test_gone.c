/* What is in doubt at a journal's beginning, and for how long. */
#include "support.h"

#include "history/gone.h"

static cop_gone begun(double window)
{
	cop_gone b = { .cut = true };
	cop_gone_record(&b, 100.0, window);
	return b;
}

static void test_whole_journal_is_never_in_doubt(void **state)
{
	(void)state;
	cop_gone b = { .cut = false };
	cop_gone_record(&b, 100.0, 0.0);
	cop_gone_doubt(&b, 1, 100.0);
	cop_gone_expire(&b, 2, 100.0, true);
	assert_int_equal(b.doubtful, 0);
}

static void test_doubt_ends_with_the_windows_of_decisions_from_before(void **state)
{
	(void)state;
	cop_gone b = begun(10.0);
	cop_gone_doubt(&b, 5, 100.0);
	cop_gone_doubt(&b, 6, 110.5);
	cop_gone_doubt(&b, 7, 111.5);
	assert_int_equal(b.doubtful, 6);
	cop_gone_record(&b, 111.6, 30.0); /* windows grow */
	cop_gone_doubt(&b, 8, 130.0);
	assert_int_equal(b.doubtful, 8);
}

static void test_decision_shown_late_prolongs_it(void **state)
{
	(void)state;
	cop_gone b = begun(10.0);
	cop_gone_show(&b, 109.0);
	cop_gone_doubt(&b, 5, 119.5);
	assert_int_equal(b.doubtful, 5);
	cop_gone_show(&b, 125.0); /* nobody waits any more */
	cop_gone_doubt(&b, 6, 125.0);
	assert_int_equal(b.doubtful, 5);
}

static void test_expiries_count_only_when_they_are_behind(void **state)
{
	(void)state;
	cop_gone b = begun(10.0);
	cop_gone_expire(&b, 5, 105.0, true); /* none of those that are known can be over */
	cop_gone_expire(&b, 6, 110.5, false);
	assert_int_equal(b.doubtful, 0);
	cop_gone_expire(&b, 7, 110.8, true);
	cop_gone_expire(&b, 8, 200.0, true);
	assert_int_equal(b.doubtful, 8);
	cop_gone_expire(&b, 9, 201.0, false);
	cop_gone_expire(&b, 10, 202.0, true);
	assert_int_equal(b.doubtful, 8);
}

static void test_without_windows_doubt_never_ends(void **state)
{
	(void)state;
	cop_gone b = begun(0.0);
	cop_gone_expire(&b, 5, 1e9, false);
	assert_int_equal(b.doubtful, 5);
	cop_gone_doubt(&b, 6, 2e9);
	assert_int_equal(b.doubtful, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_journal_is_never_in_doubt),
		cmocka_unit_test(test_doubt_ends_with_the_windows_of_decisions_from_before),
		cmocka_unit_test(test_decision_shown_late_prolongs_it),
		cmocka_unit_test(test_expiries_count_only_when_they_are_behind),
		cmocka_unit_test(test_without_windows_doubt_never_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
