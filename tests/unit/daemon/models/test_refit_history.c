/* The last refits: bounded, the newest first; what became of a challenger is found by its number; saved and read back.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/models/refit_history.h"

static const cop_promotion_test_summary better = {
	.verdict = COP_PROMOTION_TEST_BETTER,
	.events = 7,
	.value = { [COP_PROMOTION_TEST_DR] = 0.25 },
	.low = { [COP_PROMOTION_TEST_DR] = 0.125 },
	.high = { [COP_PROMOTION_TEST_DR] = INFINITY },
};

static void finish(cop_refit_history *h, cop_worker_outcome outcome, uint64_t number, double now)
{
	cop_worker_line end = { .result = true, .outcome = outcome, .number = number, .spent = 1.5 };
	(void)snprintf(end.text, sizeof end.text, "refit at %g", now);
	cop_refit_history_end(h, &end, now, 2.5);
}

static void test_newest_are_kept(void **state)
{
	(void)state;
	cop_refit_history h = { .count = 0 };
	for (unsigned i = 1; i <= 40; i++)
		finish(&h, i % 2 == 0 ? COP_WORKER_NOTHING : COP_WORKER_TIMEOUT, 0, (double)i);
	assert_int_equal(h.count, COP_REFIT_HISTORY_MOST);
	for (unsigned i = 0; i < COP_REFIT_HISTORY_MOST; i++)
		assert_true(
		        h.item[i].time == (double)(40 - i) && h.item[i].seconds == 2.5 && h.item[i].processor == 1.5);
	assert_string_equal(h.item[0].reason, "refit at 40");
	assert_int_equal(h.item[1].outcome, COP_WORKER_TIMEOUT);
}

static void test_fate_follows_the_challenger(void **state)
{
	(void)state;
	cop_refit_history h = { .count = 0 };
	cop_refit_history_change(&h, COP_WIRE_PROMOTION_CHALLENGE, 1, 10.0, &better); /* before its worker's end */
	finish(&h, COP_WORKER_MADE, 1, 11.0);
	assert_int_equal(h.count, 1);
	assert_true(h.item[0].time == 11.0 && h.item[0].changed == 10.0 && h.item[0].events == 0);
	cop_refit_history_change(&h, COP_WIRE_PROMOTION_FREEZE, 1, 12.0, &better); /* nothing of its */
	assert_true(h.item[0].changed == 10.0);
	cop_refit_history_change(&h, COP_WIRE_PROMOTION_PROMOTE, 1, 13.0, &better);
	cop_refit_history_change(&h, COP_WIRE_PROMOTION_RETIRE, 1, 14.0, &better); /* its predecessor */
	assert_int_equal(h.item[0].last, COP_WIRE_PROMOTION_PROMOTE);
	assert_true(h.item[0].promoted && h.item[0].changed == 13.0 && h.item[0].verdict == COP_PROMOTION_TEST_BETTER);
	assert_true(h.item[0].value == 0.25 && h.item[0].low == 0.125 && h.item[0].high == 0.0);
	cop_refit_history_change(&h, COP_WIRE_PROMOTION_CHALLENGE, 2, 20.0, &better);
	cop_refit_history_change(&h, COP_WIRE_PROMOTION_CHALLENGE, 3, 21.0, &better); /* in its place */
	assert_int_equal(h.count, 3);
	assert_int_equal(h.item[1].last, COP_WIRE_PROMOTION_RETIRE);
	assert_int_equal(h.item[2].last, COP_WIRE_PROMOTION_PROMOTE);
	cop_refit_history_change(&h, COP_WIRE_PROMOTION_PROMOTE, 3, 22.0, &better);
	cop_refit_history_change(&h, COP_WIRE_PROMOTION_ROLLBACK, 3, 23.0, &better);
	cop_refit_history_change(&h, COP_WIRE_PROMOTION_RETIRE, 3, 23.0, &better);
	assert_true(h.item[0].last == COP_WIRE_PROMOTION_ROLLBACK && h.item[0].promoted);
}

static void test_it_comes_back_and_damage_is_refused(void **state)
{
	(void)state;
	cop_refit_history h = { .count = 0 }, back;
	cop_bytes bytes;
	cop_cursor in;
	cop_bytes_init(&bytes);
	cop_refit_history_save(&h, &bytes);
	assert_int_equal(bytes.length, 0);
	cop_cursor_init(&in, "", 0);
	cop_refit_history_load(&back, &in);
	assert_true(in.err == COP_OK && back.count == 0);
	for (unsigned i = 1; i <= 3; i++)
		finish(&h, COP_WORKER_MADE, i, (double)i);
	cop_refit_history_change(&h, COP_WIRE_PROMOTION_CHALLENGE, 2, 5.0, &better);
	cop_refit_history_change(&h, COP_WIRE_PROMOTION_PROMOTE, 2, 6.0, &better);
	cop_refit_history_save(&h, &bytes);
	cop_cursor_init(&in, bytes.data, bytes.length);
	cop_refit_history_load(&back, &in);
	assert_true(in.err == COP_OK && cop_cursor_left(&in) == 0 && back.count == 3);
	for (size_t i = 0; i < 3; i++) {
		assert_true(back.item[i].time == h.item[i].time && back.item[i].number == h.item[i].number);
		assert_int_equal(back.item[i].last, h.item[i].last);
		assert_string_equal(back.item[i].reason, h.item[i].reason);
	}
	assert_true(back.item[1].promoted && back.item[1].events == 7 && back.item[1].low == 0.125);
	for (size_t length = 1; length < bytes.length; length++) {
		cop_cursor_init(&in, bytes.data, length);
		cop_refit_history_load(&back, &in);
		assert_true(in.err != COP_OK && back.count == 0);
	}
	bytes.data[0] = COP_REFIT_HISTORY_MOST + 1;
	cop_cursor_init(&in, bytes.data, bytes.length);
	cop_refit_history_load(&back, &in);
	assert_int_equal(in.err, COP_EFORMAT);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_newest_are_kept),
		cmocka_unit_test(test_fate_follows_the_challenger),
		cmocka_unit_test(test_it_comes_back_and_damage_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
