#include "tools/replay/estimates.h"

#include <math.h>
#include <string.h>

#include "support.h"

static const cop_logged_event event = {
	.action = 1, .cost = 2.0, .p = 0.5, .weight = 3.0, .labelled = true, .features = 4
};
static const cop_replay_seen seen = { .target = 0.25, .target_max = 0.5, .q = 1.0, .m = 1.5, .has_model = true };

static void start(cop_estimates *tally) { assert_int_equal(cop_estimates_init(tally, 0.0, 4.0, 10.0), COP_OK); }

static void test_tally_average_is_weighted_inverse_propensity(void **state)
{
	(void)state;
	cop_estimates tally;
	cop_logged_event other = { .cost = 4.0, .p = 1.0, .weight = 1.0, .labelled = true };
	cop_replay_seen none = { .target = 0.0 };
	start(&tally);
	assert_true(isnan(cop_estimates_average(&tally)));
	assert_int_equal(cop_estimates_add(&tally, &event, &seen, (cop_replay_place){ .first_pass = true }), COP_OK);
	assert_int_equal(cop_estimates_add(&tally, &other, &none, (cop_replay_place){ .first_pass = true }), COP_OK);
	assert_true(fabs(cop_estimates_average(&tally) - 3.0 * 2.0 * 0.5 / 4.0) < 1e-15);
	assert_int_equal(tally.examples, 2);
	assert_int_equal(tally.features, 4);
}

static void test_tally_later_passes_estimate_nothing(void **state)
{
	(void)state;
	cop_estimates tally;
	start(&tally);
	assert_int_equal(cop_estimates_add(&tally, &event, &seen, (cop_replay_place){ .last_pass = true }), COP_OK);
	assert_int_equal(tally.seen.n, 0);
	assert_int_equal(tally.examples, 1);
}

static void test_tally_held_events_count_in_the_last_pass_alone(void **state)
{
	(void)state;
	cop_estimates tally;
	start(&tally);
	cop_replay_place first = { .first_pass = true, .held = true };
	cop_replay_place last = { .last_pass = true, .held = true };
	assert_int_equal(cop_estimates_add(&tally, &event, &seen, first), COP_OK);
	assert_int_equal(tally.held.n, 0);
	assert_int_equal(cop_estimates_add(&tally, &event, &seen, last), COP_OK);
	assert_int_equal(tally.held.n, 1);
	assert_int_equal(tally.seen.n, 0);
	assert_int_equal(tally.examples, 0);
	assert_int_equal(tally.held_examples, 1);
}

static void test_tally_saved_is_loaded_and_goes_on_alike(void **state)
{
	(void)state;
	cop_estimates one, two;
	cop_bytes bytes, again;
	cop_cursor cursor;
	cop_replay_place place = { .first_pass = true, .last_pass = true };
	start(&one);
	for (int i = 0; i < 5; i++)
		assert_int_equal(cop_estimates_add(&one, &event, &seen, place), COP_OK);
	cop_bytes_init(&bytes);
	cop_bytes_init(&again);
	cop_estimates_save(&one, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	start(&two);
	assert_int_equal(cop_estimates_load(&two, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	assert_int_equal(cop_estimates_add(&one, &event, &seen, place), COP_OK);
	assert_int_equal(cop_estimates_add(&two, &event, &seen, place), COP_OK);
	cop_bytes_clear(&bytes);
	cop_estimates_save(&one, &bytes);
	cop_estimates_save(&two, &again);
	assert_int_equal(bytes.length, again.length);
	assert_memory_equal(bytes.data, again.data, bytes.length);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&again);
}

static void test_tally_cut_anywhere_is_refused(void **state)
{
	(void)state;
	cop_estimates tally;
	cop_bytes bytes;
	start(&tally);
	cop_bytes_init(&bytes);
	cop_estimates_save(&tally, &bytes);
	for (size_t length = 0; length < bytes.length; length++) {
		cop_cursor cursor;
		cop_cursor_init(&cursor, bytes.data, length);
		assert_int_not_equal(cop_estimates_load(&tally, &cursor), COP_OK);
	}
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tally_average_is_weighted_inverse_propensity),
		cmocka_unit_test(test_tally_later_passes_estimate_nothing),
		cmocka_unit_test(test_tally_held_events_count_in_the_last_pass_alone),
		cmocka_unit_test(test_tally_saved_is_loaded_and_goes_on_alike),
		cmocka_unit_test(test_tally_cut_anywhere_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
