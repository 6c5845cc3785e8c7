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
		assert_int_equal(cop_event_block_candidates(&block, i), event.candidates);
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

static void fill(cop_event_block *block, unsigned kinds, size_t count)
{
	some_events made;
	cop_logged_event event;
	some_events_init(&made, kinds, 3);
	cop_event_block_init(block);
	for (size_t i = 0; i < count; i++) {
		some_event(&made, &event);
		assert_int_equal(cop_event_block_add(block, &event), COP_OK);
	}
}

static void test_loaded_block_is_the_saved_one(void **state)
{
	(void)state;
	for (unsigned kinds = 0; kinds <= SOME_ALL; kinds += 3) {
		cop_event_block block;
		cop_event_block loaded;
		fill(&block, kinds, 50);
		cop_event_block_init(&loaded);
		assert_int_equal(cop_event_block_load(&loaded, block.bytes.data, block.bytes.length), COP_OK);
		assert_int_equal(loaded.count, 50);
		assert_int_equal(loaded.candidates, block.candidates);
		assert_int_equal(loaded.bytes.length, block.bytes.length);
		assert_memory_equal(loaded.bytes.data, block.bytes.data, block.bytes.length);
		assert_memory_equal(loaded.at, block.at, 50 * sizeof *block.at);
		cop_event_block_fini(&block);
		cop_event_block_fini(&loaded);
	}
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

static void test_block_with_any_byte_changed_is_refused_or_keeps_its_promises(void **state)
{
	(void)state;
	static const uint8_t changes[] = { 0x01, 0x80, 0xff, 0x10 };
	for (unsigned kinds = SOME_ALL; kinds >= SOME_ALL - 3; kinds--) {
		cop_event_block block;
		cop_event_block loaded;
		fill(&block, kinds, 12);
		cop_event_block_init(&loaded);
		for (size_t i = 0; i < block.bytes.length * sizeof changes; i++) {
			uint8_t *at = &block.bytes.data[i / sizeof changes];
			*at ^= changes[i % sizeof changes];
			cop_err err = cop_event_block_load(&loaded, block.bytes.data, block.bytes.length);
			if (err == COP_OK)
				look_at_all(&loaded);
			else
				assert_true(err == COP_EFORMAT || err == COP_ENONFINITE);
			assert_true(err == COP_OK || loaded.count == 0);
			*at ^= changes[i % sizeof changes];
		}
		cop_event_block_fini(&block);
		cop_event_block_fini(&loaded);
	}
}

static void test_block_cut_anywhere_but_between_events_is_refused(void **state)
{
	(void)state;
	cop_event_block block;
	cop_event_block loaded;
	fill(&block, SOME_ALL, 6);
	cop_event_block_init(&loaded);
	size_t whole = 0;
	for (size_t length = 0; length < block.bytes.length; length++) {
		if (whole < block.count && length == (size_t)block.at[whole] * 8) {
			assert_int_equal(cop_event_block_load(&loaded, block.bytes.data, length), COP_OK);
			assert_int_equal(loaded.count, whole++);
		} else {
			assert_int_equal(cop_event_block_load(&loaded, block.bytes.data, length), COP_EFORMAT);
		}
	}
	assert_int_equal(cop_event_block_load(&loaded, block.bytes.data, block.bytes.length), COP_OK);
	assert_int_equal(cop_event_block_load(&loaded, NULL, COP_EVENT_BLOCK_MAX + 1), COP_EFORMAT);
	assert_int_equal(loaded.count, 0);
	cop_event_block_fini(&block);
	cop_event_block_fini(&loaded);
}

static void test_played_values_come_back_and_cut_ones_are_refused(void **state)
{
	(void)state;
	float x[3] = { 1, 2, 3 };
	const double values[] = { 0.0, 0.25, 1.0, 1.5, -0.1, (double)NAN };
	cop_event_block block, loaded;
	cop_event_block_init(&block);
	cop_event_block_init(&loaded);
	for (size_t i = 0; i < 6; i++) {
		cop_logged_event event = { .x = { .d = 3, .dense = x }, .weight = 1, .has_y = true, .y = values[i] };
		cop_event_id_from_unsigned(&event.id, i);
		assert_int_equal(cop_event_block_add(&block, &event), i < 3 ? COP_OK : COP_EINVAL);
	}
	assert_int_equal(cop_event_block_load(&loaded, block.bytes.data, block.bytes.length), COP_OK);
	for (size_t i = 0; i < 3; i++) {
		cop_logged_event view;
		cop_event_block_get(&loaded, i, NULL, &view);
		assert_true(view.has_y && view.y == values[i] && view.x.d == 3 && view.x.dense[2] == 3.0f);
		assert_int_equal(view.id.length, 8);
	}
	const double wrong = 2.0;
	memcpy(block.bytes.data + 72, &wrong, sizeof wrong); /* behind the first head */
	assert_int_equal(cop_event_block_load(&loaded, block.bytes.data, block.bytes.length), COP_EFORMAT);
	cop_event_block_fini(&block);
	cop_event_block_fini(&loaded);
}

static void test_values_that_are_not_finite_are_refused_as_such(void **state)
{
	(void)state;
	float x[5] = { 1, 2, 3, 4, 5 };
	cop_logged_event event = { .x = { .d = 5, .dense = x }, .weight = 1 };
	cop_event_block block;
	cop_event_block loaded;
	cop_event_block_init(&block);
	cop_event_block_init(&loaded);
	x[4] = NAN;
	assert_int_equal(cop_event_block_add(&block, &event), COP_OK); /* the caller's promise; load checks it */
	assert_int_equal(cop_event_block_load(&loaded, block.bytes.data, block.bytes.length), COP_ENONFINITE);
	x[4] = 5;
	event.labelled = event.learn = true;
	const double parts[] = { event.cost = 123.25, event.p = 0.3125, event.weight = 7.5 }, wrong = (double)NAN;
	for (size_t which = 0; which < 3; which++) {
		cop_event_block_clear(&block);
		assert_int_equal(cop_event_block_add(&block, &event), COP_OK);
		assert_int_equal(cop_event_block_load(&loaded, block.bytes.data, block.bytes.length), COP_OK);
		size_t at = 0; /* of the part in the event's head */
		while (at + 8 < block.bytes.length && memcmp(block.bytes.data + at, &parts[which], 8) != 0)
			at++;
		memcpy(block.bytes.data + at, &wrong, sizeof wrong);
		assert_int_equal(cop_event_block_load(&loaded, block.bytes.data, block.bytes.length), COP_ENONFINITE);
	}
	cop_event_block_fini(&block);
	cop_event_block_fini(&loaded);
}

static void test_failed_allocation_leaves_the_block_as_it_was(void **state)
{
	(void)state;
	for (unsigned long n = 1;; n++) {
		some_events made;
		cop_logged_event event;
		cop_event_block block;
		cop_event_block loaded;
		size_t added = 0;
		bool failed = false;
		some_events_init(&made, SOME_ALL, 5);
		cop_event_block_init(&block);
		cop_event_block_init(&loaded);
		cop_test_alloc_fail(n, 0);
		for (int i = 0; i < 1500; i++) {
			some_event(&made, &event);
			cop_err err = cop_event_block_add(&block, &event);
			added += err == COP_OK;
			failed |= err != COP_OK;
			assert_true(err == COP_OK || err == COP_ENOMEM);
			assert_int_equal(block.count, added);
		}
		cop_err err = cop_event_block_load(&loaded, block.bytes.data, block.bytes.length);
		failed |= err != COP_OK;
		assert_true(err == COP_OK || err == COP_ENOMEM);
		cop_test_alloc_fail(0, 0);
		look_at_all(&block);
		cop_event_block_fini(&block);
		cop_event_block_fini(&loaded);
		if (!failed)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_played_values_come_back_and_cut_ones_are_refused),
		cmocka_unit_test(test_views_of_events_of_every_kind_are_the_events),
		cmocka_unit_test(test_block_cleared_is_empty_and_can_be_filled_again),
		cmocka_unit_test(test_event_whose_label_breaks_its_promise_is_refused),
		cmocka_unit_test(test_loaded_block_is_the_saved_one),
		cmocka_unit_test(test_block_with_any_byte_changed_is_refused_or_keeps_its_promises),
		cmocka_unit_test(test_block_cut_anywhere_but_between_events_is_refused),
		cmocka_unit_test(test_values_that_are_not_finite_are_refused_as_such),
		cmocka_unit_test(test_failed_allocation_leaves_the_block_as_it_was),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
