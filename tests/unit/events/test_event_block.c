#include "events/event_block.h"

#include <math.h>

#include "base/mem.h"
#include "unit/events/some_events.h"

#define EVENTS 200

/* EVENTS of one kind in a block, and each viewed. */
static void check_kind(unsigned kinds)
{
	some_events made;
	cop_event_block block;
	cop_logged_event event;
	cop_logged_event view;
	cop_row rows[SOME_MOST_CANDIDATES];
	some_events_init(&made, kinds, 7 + kinds);
	cop_event_block_init(&block);
	for (int i = 0; i < EVENTS; i++) {
		some_event(&made, &event);
		assert_int_equal(cop_event_block_add(&block, &event), COP_OK);
	}
	assert_int_equal(block.count, EVENTS);
	assert_true(block.candidates <= SOME_MOST_CANDIDATES);
	some_events_init(&made, kinds, 7 + kinds);
	for (size_t i = 0; i < EVENTS; i++) {
		some_event(&made, &event);
		cop_event_block_get(&block, i, event.candidates > 0 ? rows : NULL, &view);
		assert_same_event(&view, &event);
		assert_int_equal(view.line, event.line);
		assert_int_equal(view.features, event.features);
		assert_int_equal(view.text, event.text);
		assert_memory_equal(&view.id, &event.id, sizeof view.id);
		assert_int_equal((uintptr_t)view.x.dense % 8, 0);
		assert_int_equal((uintptr_t)view.x.index % 8, 0);
	}
	cop_event_block_fini(&block);
}

static void test_views_of_events_of_every_kind_are_the_events(void **state)
{
	(void)state;
	for (unsigned kinds = 0; kinds <= SOME_ALL; kinds++)
		check_kind(kinds);
}

static void test_block_cleared_is_empty_and_can_be_filled_again(void **state)
{
	(void)state;
	some_events made;
	cop_event_block block;
	cop_logged_event event;
	some_events_init(&made, SOME_CANDIDATES, 1);
	cop_event_block_init(&block);
	some_event(&made, &event);
	assert_int_equal(cop_event_block_add(&block, &event), COP_OK);
	cop_event_block_clear(&block);
	assert_int_equal(block.count, 0);
	assert_int_equal(block.candidates, 0);
	assert_false(cop_event_block_is_full(&block));
	size_t count = 0;
	for (; !cop_event_block_is_full(&block); count++) {
		some_event(&made, &event);
		assert_int_equal(cop_event_block_add(&block, &event), COP_OK);
	}
	assert_true(block.bytes.length >= COP_EVENT_BLOCK_BYTES || count == COP_EVENT_BLOCK_EVENTS);
	cop_event_block_fini(&block);
}

static void test_event_whose_label_breaks_its_promise_is_refused(void **state)
{
	(void)state;
	float x[1] = { 1 };
	const cop_logged_event good = {
		.x = { .d = 1, .dense = x }, .weight = 1, .labelled = true, .learn = true, .p = 0.5
	};
	cop_event_block block;
	cop_event_block_init(&block);
	cop_logged_event bad[8];
	for (size_t i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].p = 0.0;
	bad[1].p = 1.5;
	bad[2].cost = (double)INFINITY;
	bad[3].cost = 2 * COP_LOGGED_COST_MAX;
	bad[4].weight = 0.0;
	bad[5].weight = (double)NAN;
	bad[6].labelled = false; /* yet learned */
	bad[7].id.kind = COP_EVENT_ID_STRING;
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(cop_event_block_add(&block, &bad[i]), COP_EINVAL);
	assert_int_equal(block.count, 0);
	assert_int_equal(block.bytes.length, 0);
	assert_int_equal(cop_event_block_add(&block, &good), COP_OK);
	cop_event_block_fini(&block);
}

/* Views of all events, so that a sanitizer sees what lies outside. */
static void look_at_all(const cop_event_block *block)
{
	cop_row *rows = cop_mem_alloc(block->candidates, sizeof *rows);
	volatile float sum = 0.0f;
	cop_logged_event event;
	assert_non_null(rows);
	for (size_t i = 0; i < block->count; i++) {
		cop_event_block_get(block, i, rows, &event);
		for (size_t k = 0; k <= event.candidates; k++) {
			const cop_row *row = k == 0 ? &event.x : &event.candidate[k - 1];
			for (size_t j = 0; j < cop_row_entries(row); j++) {
				assert_true(isfinite(cop_row_value(row, j)));
				assert_true(cop_row_index(row, j) < row->d);
				sum += fabsf(cop_row_value(row, j));
			}
		}
		for (size_t k = 0; k < event.arms; k++)
			sum += event.mask[k];
	}
	assert_true(sum >= 0.0f);
	cop_mem_free(rows);
}

static void test_played_values_come_back(void **state)
{
	(void)state;
	float x[3] = { 1, 2, 3 };
	const double values[] = { 0.0, 0.25, 1.0, 1.5, -0.1, (double)NAN };
	cop_event_block block;
	cop_event_block_init(&block);
	for (size_t i = 0; i < 6; i++) {
		cop_logged_event event = { .x = { .d = 3, .dense = x }, .weight = 1, .has_y = true, .y = values[i] };
		cop_event_id_from_unsigned(&event.id, i);
		assert_int_equal(cop_event_block_add(&block, &event), i < 3 ? COP_OK : COP_EINVAL);
	}
	for (size_t i = 0; i < 3; i++) {
		cop_logged_event view;
		cop_event_block_get(&block, i, NULL, &view);
		assert_true(view.has_y && view.y == values[i] && view.x.d == 3 && view.x.dense[2] == 3.0f);
		assert_int_equal(view.id.length, 8);
	}
	cop_event_block_fini(&block);
}

static void test_failed_allocation_leaves_the_block_as_it_was(void **state)
{
	(void)state;
	for (unsigned long n = 1;; n++) {
		some_events made;
		cop_logged_event event;
		cop_event_block block;
		size_t added = 0;
		bool failed = false;
		some_events_init(&made, SOME_ALL, 5);
		cop_event_block_init(&block);
		cop_test_alloc_fail(n, 0);
		for (int i = 0; i < 1500; i++) {
			some_event(&made, &event);
			cop_err err = cop_event_block_add(&block, &event);
			added += err == COP_OK;
			failed |= err != COP_OK;
			assert_true(err == COP_OK || err == COP_ENOMEM);
			assert_int_equal(block.count, added);
		}
		cop_test_alloc_fail(0, 0);
		look_at_all(&block);
		cop_event_block_fini(&block);
		if (!failed)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_played_values_come_back),
		cmocka_unit_test(test_views_of_events_of_every_kind_are_the_events),
		cmocka_unit_test(test_block_cleared_is_empty_and_can_be_filled_again),
		cmocka_unit_test(test_event_whose_label_breaks_its_promise_is_refused),
		cmocka_unit_test(test_failed_allocation_leaves_the_block_as_it_was),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
