/* The table of what models count: it has every field once, and what is saved comes back. */
#include "online/model_counters.h"

#include <string.h>

#include "support.h"

#define FIELDS (sizeof(cop_model_counters) / sizeof(uint64_t))
#define SAVED                                                                                                          \
	(sizeof(uint64_t) * (FIELDS - 3) +                                                                             \
	        sizeof(uint32_t)) /* repeated, refused and passed are not; a number of words        \
	                                                      */

/* Each field another number. */
static void fill(cop_model_counters *c)
{
	*c = (cop_model_counters){
		.decisions = 101,
		.repeated = 102,
		.greedy = 103,
		.feedback = { 104, 105, 106, 107, 108 },
		.learned = 109,
		.defaulted = 110,
		.dropped = 111,
		.evicted = 112,
		.refused = 113,
		.loss_sum = 114.5,
		.awaited = 115.25,
		.passed = 114,
		.shorter = 115,
	};
}

static size_t width_of(const cop_model_counter *row) { return row->kind == COP_MODEL_COUNTER_WORDS ? row->count : 1; }

static void test_rows_cover_every_field_once_in_order(void **state)
{
	size_t next = 0;
	(void)state;
	for (size_t r = 0; r < COP_MODEL_COUNTERS; r++) {
		const cop_model_counter *row = &cop_model_counters_table[r];
		assert_int_equal(row->offset, next * sizeof(uint64_t));
		assert_int_equal(row->count > 0, row->kind == COP_MODEL_COUNTER_WORDS);
		assert_int_equal(row->words != NULL && row->label != NULL, row->kind == COP_MODEL_COUNTER_WORDS);
		assert_int_equal(row->metric != NULL, row->key != NULL);
		next += width_of(row);
	}
	assert_int_equal(next, FIELDS);
}

static void test_rows_have_names_of_their_own(void **state)
{
	(void)state;
	for (size_t r = 0; r < COP_MODEL_COUNTERS; r++)
		for (size_t other = 0; other < r; other++) {
			const cop_model_counter *a = &cop_model_counters_table[r],
			                        *b = &cop_model_counters_table[other];
			if (a->key != NULL && b->key != NULL) {
				assert_string_not_equal(a->key, b->key);
				assert_string_not_equal(a->metric, b->metric);
			}
		}
}

static void test_rows_read_their_fields(void **state)
{
	cop_model_counters c;
	double sums[2];
	size_t met = 0, wholes = 0;
	(void)state;
	fill(&c);
	for (size_t r = 0; r < COP_MODEL_COUNTERS; r++) {
		const cop_model_counter *row = &cop_model_counters_table[r];
		if (row->kind == COP_MODEL_COUNTER_SUM)
			sums[met++] = cop_model_counters_sum(&c, row);
		else
			for (size_t i = 0; i < width_of(row); i++)
				assert_int_equal(cop_model_counters_whole(&c, row, i), 101 + wholes++);
	}
	assert_int_equal(wholes, 15);
	assert_int_equal(met, 2);
	assert_true(sums[0] == 114.5 && sums[1] == 115.25);
	for (size_t i = 0; i < COP_FEEDBACK_RESULTS; i++)
		assert_string_equal(
		        cop_model_counters_table[3].words[i], cop_feedback_result_text((cop_feedback_result)i));
}

static void saved(cop_bytes *bytes)
{
	cop_model_counters c;
	fill(&c);
	cop_bytes_init(bytes);
	cop_model_counters_save(&c, bytes);
	assert_int_equal(bytes->err, COP_OK);
	assert_int_equal(bytes->length, SAVED);
}

static void test_saved_counters_come_back_and_others_stay(void **state)
{
	cop_model_counters c = { .repeated = 7, .refused = 8, .passed = 6, .awaited = 9.0 }, whole;
	cop_bytes bytes;
	cop_cursor cursor;
	(void)state;
	saved(&bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_model_counters_load(&c, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	fill(&whole);
	whole.repeated = 7;
	whole.refused = 8;
	whole.passed = 6;
	assert_memory_equal(&c, &whole, sizeof c);
	cop_bytes_fini(&bytes);
}

static void test_cut_counters_are_refused(void **state)
{
	cop_model_counters c = { .awaited = 9.0 };
	cop_bytes bytes;
	cop_cursor cursor;
	(void)state;
	saved(&bytes);
	for (size_t length = 0; length < bytes.length; length++) {
		cop_cursor_init(&cursor, bytes.data, length);
		bool without = length == bytes.length - sizeof(uint64_t); /* the quiet one, which is 0 then */
		assert_int_equal(cop_model_counters_load(&c, &cursor) == COP_OK, without);
	}
	cop_bytes_fini(&bytes);
}

static void test_another_number_of_results_is_refused(void **state)
{
	cop_model_counters c;
	cop_bytes bytes;
	cop_cursor cursor;
	(void)state;
	saved(&bytes);
	bytes.data[2 * sizeof(uint64_t)]++; /* behind decisions and greedy */
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_model_counters_load(&c, &cursor), COP_EFORMAT);
	cop_bytes_fini(&bytes);
}

static void test_shift_keeps_the_distance(void **state)
{
	(void)state;
	cop_model_counters before = { .decisions = 10, .loss_sum = 1.5, .awaited = 3.0 };
	const cop_model_counters was = { .decisions = 100, .greedy = 7, .loss_sum = 20.0, .feedback = { 5, 0, 9 } };
	const cop_model_counters now = { .decisions = 60, .greedy = 8, .loss_sum = 12.0, .feedback = { 4, 1, 2 } };
	cop_model_counters_shift(&before, &was, &now);
	assert_int_equal(now.decisions - before.decisions, 90);
	assert_int_equal(now.greedy - before.greedy, 7);
	assert_int_equal(now.feedback[2] - before.feedback[2], 9);
	assert_int_equal(now.feedback[1] - before.feedback[1], 0);
	assert_true(now.loss_sum - before.loss_sum == 18.5 && before.awaited == 3.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_cover_every_field_once_in_order),
		cmocka_unit_test(test_rows_have_names_of_their_own),
		cmocka_unit_test(test_rows_read_their_fields),
		cmocka_unit_test(test_saved_counters_come_back_and_others_stay),
		cmocka_unit_test(test_cut_counters_are_refused),
		cmocka_unit_test(test_shift_keeps_the_distance),
		cmocka_unit_test(test_another_number_of_results_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
