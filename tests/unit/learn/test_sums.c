/* Sums of several instances: random summaries, lost, repeated and out of order, against a plain table of the newest of
 * each life; verdicts; saved states that are damaged. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "learn/sums.h"

#define ARMS     2
#define FEATURES 1
#define WIDTH    5
#define SIZE     (ARMS * WIDTH)
#define LIVES    12

static void fill(double *value, uint64_t life, uint64_t number)
{
	for (size_t i = 0; i < SIZE; i++)
		value[i] = (double)(life * 1000 + number * 10 + i) / 3.0;
}

static cop_summary make(cop_bytes *room, uint32_t part, uint64_t life, uint64_t number)
{
	double value[SIZE];
	fill(value, life, number);
	cop_bytes_clear(room);
	cop_bytes_put_f64s(room, value, SIZE);
	return (cop_summary){ part, life, number, (double)number, room->data, room->length };
}

static void test_newest_of_each_life_counts_once_whatever_comes(void **state)
{
	(void)state;
	cop_sums sums;
	cop_bytes room;
	cop_rng rng;
	uint64_t newest[LIVES] = { 0 };
	cop_bytes_init(&room);
	cop_rng_init(&rng, 71, 1);
	assert_int_equal(cop_sums_init(&sums, ARMS, FEATURES), COP_OK);
	for (size_t i = 0; i < 2000; i++) {
		const uint64_t life = 1 + cop_rng_below(&rng, LIVES), number = 1 + cop_rng_below(&rng, 50 + i / 20);
		const cop_summary summary = make(&room, (uint32_t)(life % 4), life, number);
		const bool new = number > newest[life - 1];
		const cop_sums_verdict known = number == newest[life - 1] ? COP_SUMS_SAME : COP_SUMS_OLD;
		assert_int_equal(cop_sums_judge(&sums, &summary), new ? COP_SUMS_NEW : known);
		assert_int_equal(cop_sums_take(&sums, &summary), new ? COP_OK : COP_EINVAL);
		newest[life - 1] = new ? number : newest[life - 1];
	}
	double wanted[SIZE] = { 0 }, value[SIZE];
	for (uint32_t part = 0; part < 4; part++) /* in the order of part and life: to the bit */
		for (uint64_t life = 1; life <= LIVES; life++) {
			fill(value, life, newest[life - 1]);
			for (size_t k = 0; k < SIZE && life % 4 == part; k++)
				wanted[k] += value[k];
		}
	assert_int_equal(sums.peers, LIVES);
	assert_memory_equal(sums.others, wanted, sizeof wanted);
	cop_sums_fini(&sums);
	cop_bytes_fini(&room);
}

static void test_verdicts_name_what_is_wrong(void **state)
{
	(void)state;
	cop_sums sums;
	cop_bytes room;
	cop_bytes_init(&room);
	assert_int_equal(cop_sums_init(&sums, ARMS, FEATURES), COP_OK);
	sums.life = 5;
	cop_summary s = make(&room, 1, 5, 1);
	assert_int_equal(cop_sums_judge(&sums, &s), COP_SUMS_OWN);
	s.life = 0;
	assert_int_equal(cop_sums_judge(&sums, &s), COP_SUMS_BROKEN);
	s.life = 6;
	s.number = 0;
	assert_int_equal(cop_sums_judge(&sums, &s), COP_SUMS_BROKEN);
	s.number = 1;
	s.time = NAN;
	assert_int_equal(cop_sums_judge(&sums, &s), COP_SUMS_BROKEN);
	s.time = 1.0;
	s.length -= 8;
	assert_int_equal(cop_sums_judge(&sums, &s), COP_SUMS_SHAPE);
	s.length += 8;
	assert_int_equal(cop_sums_take(&sums, &s), COP_OK);
	/* An instance at rest tells the same under the same number. */
	assert_int_equal(cop_sums_judge(&sums, &s), COP_SUMS_SAME);
	s.number = 2;
	assert_int_equal(cop_sums_judge(&sums, &s), COP_SUMS_SAME);
	s = make(&room, 1, 6, 2);
	assert_int_equal(cop_sums_judge(&sums, &s), COP_SUMS_NEW);
	s.number = 1;
	assert_int_equal(cop_sums_judge(&sums, &s), COP_SUMS_OLD); /* one number, two contents: the first stands */
	s.number = 2;
	s.part = 2;
	assert_int_equal(cop_sums_judge(&sums, &s), COP_SUMS_MOVED);
	const double infinite = INFINITY;
	memcpy(room.data + 8, &infinite, sizeof infinite);
	assert_int_equal(cop_sums_judge(&sums, &s), COP_SUMS_BROKEN);
	for (uint64_t life = 100; sums.peers < COP_SUMS_PEERS; life++) {
		s = make(&room, 3, life, 1);
		assert_int_equal(cop_sums_take(&sums, &s), COP_OK);
	}
	s = make(&room, 3, 99, 1);
	assert_int_equal(cop_sums_judge(&sums, &s), COP_SUMS_FULL);
	cop_sums_fini(&sums);
	cop_bytes_fini(&room);
}

/* Whatever features it has; of the first ones it counts. */
static void test_summaries_of_other_features_are_kept_as_they_came(void **state)
{
	(void)state;
	static const size_t features[] = { 0, 1, 2, 3 };
	cop_sums sums, again;
	cop_bytes room, saved, other;
	double value[ARMS * 14], own = 0.0;
	cop_bytes_init(&room);
	cop_bytes_init(&saved);
	cop_bytes_init(&other);
	assert_int_equal(cop_sums_init(&sums, ARMS, FEATURES), COP_OK);
	for (uint64_t number = 1; number < 3; number++)
		for (size_t i = 0; i < 4; i++) { /* the second ones of one more than the first */
			const size_t d = (features[i] + number) % 4, width = 2 + 2 * d + d * (d + 1) / 2;
			for (size_t k = 0; k < ARMS * width; k++)
				value[k] = (double)(i * 1000 + number * 100 + k);
			cop_bytes_clear(&room);
			cop_bytes_put_f64s(&room, value, ARMS * width);
			const cop_summary s = { 1, 1 + i, number, 1.0, room.data, room.length };
			assert_int_equal(cop_sums_take(&sums, &s), COP_OK);
			assert_int_equal(cop_sums_judge(&sums, &s), COP_SUMS_SAME);
			assert_int_equal(sums.peer[i].features, d);
			cop_bytes_clear(&other);
			cop_sums_put_peer(&sums, &sums.peer[i], &other);
			assert_memory_equal(other.data, room.data, room.length);
		}
	for (size_t i = 0; i < 4; i++)
		own += 1000.0 * (double)i + 200.0;
	assert_true(sums.others[0] == own && cop_sums_is_open(&sums, 0)); /* one peer has no feature at all */
	cop_sums_pin(&sums, 0, 2.0);
	cop_sums_add_up(&sums);
	assert_false(cop_sums_is_open(&sums, 0));
	assert_true(
	        sums.others[2] == 2.0 * 2200.0 + 202.0 + 1202.0 + 3202.0); /* the third, of (2 + 2) mod 4 features */
	cop_sums_save(&sums, &saved);
	cop_cursor cursor;
	cop_cursor_init(&cursor, saved.data, saved.length);
	assert_int_equal(cop_sums_init(&again, ARMS, FEATURES), COP_OK);
	assert_int_equal(cop_sums_load(&again, ARMS, FEATURES, &cursor), COP_OK);
	assert_memory_equal(again.others, sums.others, SIZE * sizeof *sums.others);
	cop_bytes_clear(&other);
	cop_sums_save(&again, &other);
	assert_int_equal(other.length, saved.length);
	assert_memory_equal(other.data, saved.data, saved.length);
	for (size_t cut = 0; cut < saved.length; cut++) {
		cop_cursor_init(&cursor, saved.data, cut);
		assert_int_not_equal(cop_sums_load(&again, ARMS, FEATURES, &cursor), COP_OK);
	}
	cop_sums_fini(&sums);
	cop_sums_fini(&again);
	cop_bytes_fini(&room);
	cop_bytes_fini(&saved);
	cop_bytes_fini(&other);
}

static void test_damaged_states_are_refused(void **state)
{
	(void)state;
	cop_sums sums, again;
	cop_bytes room, saved;
	cop_bytes_init(&room);
	cop_bytes_init(&saved);
	assert_int_equal(cop_sums_init(&sums, ARMS, FEATURES), COP_OK);
	for (uint64_t life = 1; life < 4; life++) {
		const cop_summary s = make(&room, 1, life, life);
		assert_int_equal(cop_sums_take(&sums, &s), COP_OK);
	}
	cop_sums_save(&sums, &saved);
	for (size_t cut = 0; cut <= saved.length; cut++) {
		cop_cursor cursor;
		assert_int_equal(cop_sums_init(&again, ARMS, FEATURES), COP_OK);
		cop_cursor_init(&cursor, saved.data, cut);
		assert_int_equal(cop_sums_load(&again, ARMS, FEATURES, &cursor) == COP_OK, cut == saved.length);
		cop_sums_fini(&again);
	}
	const size_t first = 8 + SIZE * sizeof(double) + 8; /* its part, then its life */
	static const struct {
		size_t at;
		uint8_t byte;
	} wrong[] = { { first - 6, 1 }, { first, 9 }, { first + 4, 0 }, { first + 4, 7 }, { first + 12, 0 },
		{ first + 27, 0x7f } };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_cursor cursor;
		const uint8_t was = saved.data[wrong[i].at];
		saved.data[wrong[i].at] = wrong[i].byte;
		saved.data[first + 26] = wrong[i].byte == 0x7f ? 0xf0 : saved.data[first + 26];
		assert_int_equal(cop_sums_init(&again, ARMS, FEATURES), COP_OK);
		cop_cursor_init(&cursor, saved.data, saved.length);
		if (cop_sums_load(&again, ARMS, FEATURES, &cursor) == COP_OK)
			fail_msg("byte %zu as %u was taken", wrong[i].at, wrong[i].byte);
		saved.data[wrong[i].at] = was;
		cop_sums_fini(&again);
	}
	cop_sums_fini(&sums);
	cop_bytes_fini(&room);
	cop_bytes_fini(&saved);
}

static void test_failed_allocation_changes_nothing(void **state)
{
	(void)state;
	cop_sums sums;
	cop_bytes room;
	cop_bytes_init(&room);
	assert_int_equal(cop_sums_init(&sums, ARMS, FEATURES), COP_OK);
	const cop_summary s = make(&room, 1, 2, 3);
	cop_test_alloc_fail(1, 0);
	cop_err err = cop_sums_take(&sums, &s);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(err, COP_ENOMEM);
	assert_int_equal(sums.peers, 0);
	assert_int_equal(cop_sums_take(&sums, &s), COP_OK);
	cop_sums_fini(&sums);
	cop_bytes_fini(&room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_newest_of_each_life_counts_once_whatever_comes),
		cmocka_unit_test(test_verdicts_name_what_is_wrong),
		cmocka_unit_test(test_summaries_of_other_features_are_kept_as_they_came),
		cmocka_unit_test(test_damaged_states_are_refused),
		cmocka_unit_test(test_failed_allocation_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
