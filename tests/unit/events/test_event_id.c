#include "support.h"

#include <stdio.h>

#include <string.h>

#include "events/event_id.h"

static void test_event_id_of_distinct_types_differs(void **state)
{
	(void)state;
	cop_event_id ids[6];
	static const uint8_t word[8] = { 17 };
	cop_event_id_from_unsigned(&ids[0], 17);
	cop_event_id_from_signed(&ids[1], -17);
	assert_true(cop_event_id_from_bytes(&ids[2], COP_EVENT_ID_STRING, "17", 2));
	assert_true(cop_event_id_from_bytes(&ids[3], COP_EVENT_ID_BINARY, "17", 2));
	assert_true(cop_event_id_from_bytes(&ids[4], COP_EVENT_ID_BINARY, word, sizeof word));
	assert_true(cop_event_id_from_bytes(&ids[5], COP_EVENT_ID_BINARY, "17\0", 3));
	for (size_t i = 0; i < 6; i++)
		for (size_t k = 0; k < 6; k++) {
			assert_int_equal(cop_event_id_equal(&ids[i], &ids[k]), i == k);
			if (i != k)
				assert_true(cop_event_id_hash(&ids[i], 5) != cop_event_id_hash(&ids[k], 5));
		}
}

static void test_event_id_of_equal_integers_is_equal(void **state)
{
	(void)state;
	cop_event_id a;
	cop_event_id b;
	cop_event_id_from_unsigned(&a, 17);
	cop_event_id_from_signed(&b, 17);
	assert_true(cop_event_id_equal(&a, &b));
	assert_true(cop_event_id_hash(&a, 1) == cop_event_id_hash(&b, 1));
	cop_event_id_from_unsigned(&a, UINT64_MAX);
	cop_event_id_from_signed(&b, -1);
	assert_false(cop_event_id_equal(&a, &b));
	cop_event_id_from_signed(&a, INT64_MIN);
	assert_int_equal(a.kind, COP_EVENT_ID_NEGATIVE);
}

static void test_event_id_of_wrong_length_is_refused(void **state)
{
	(void)state;
	char bytes[COP_EVENT_ID_MAX + 1];
	memset(bytes, 'x', sizeof bytes);
	cop_event_id id;
	assert_false(cop_event_id_from_bytes(&id, COP_EVENT_ID_STRING, bytes, 0));
	assert_int_equal(id.kind, 0);
	assert_false(cop_event_id_from_bytes(&id, COP_EVENT_ID_STRING, bytes, COP_EVENT_ID_MAX + 1));
	assert_int_equal(id.kind, 0);
	for (size_t length = 1; length <= COP_EVENT_ID_MAX; length++) {
		assert_true(cop_event_id_from_bytes(&id, COP_EVENT_ID_STRING, bytes, length));
		assert_int_equal(id.length, length);
		cop_event_id other = id;
		other.bytes[length - 1] ^= 1;
		assert_false(cop_event_id_equal(&id, &other));
		assert_true(cop_event_id_hash(&id, 3) != cop_event_id_hash(&other, 3));
	}
}

static void test_event_id_reused_leaves_nothing_behind(void **state)
{
	(void)state;
	cop_event_id a;
	cop_event_id b;
	assert_true(cop_event_id_from_bytes(&a, COP_EVENT_ID_STRING, "a longer name", 13));
	assert_true(cop_event_id_from_bytes(&a, COP_EVENT_ID_STRING, "b", 1));
	assert_true(cop_event_id_from_bytes(&b, COP_EVENT_ID_STRING, "b", 1));
	assert_memory_equal(&a, &b, sizeof a);
}

/* 2^16 counters into 2^10 buckets: each near 64, under several keys. */
static void test_event_id_hash_spreads_counters(void **state)
{
	(void)state;
	static const uint64_t keys[] = { 0, 1, UINT64_C(0x9e3779b97f4a7c15), UINT64_MAX };
	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
		unsigned low[1024] = { 0 };
		unsigned high[1024] = { 0 };
		for (uint64_t i = 0; i < 65536; i++) {
			cop_event_id id;
			cop_event_id_from_unsigned(&id, i);
			uint64_t h = cop_event_id_hash(&id, keys[k]);
			low[h & 1023]++;
			high[h >> 54]++;
		}
		for (size_t i = 0; i < 1024; i++)
			assert_true(low[i] > 16 && low[i] < 128 && high[i] > 16 && high[i] < 128);
	}
	cop_event_id id;
	cop_event_id_from_unsigned(&id, 1);
	assert_true(cop_event_id_hash(&id, 1) != cop_event_id_hash(&id, 2));
}

static void test_event_id_of_other_bytes_or_zero_is_another(void **state)
{
	(void)state;
	cop_event_id a, b;
	assert_true(cop_event_id_from_bytes(&a, COP_EVENT_ID_STRING, "left", 4));
	assert_true(cop_event_id_from_bytes(&b, COP_EVENT_ID_STRING, "next", 4));
	assert_memory_equal(a.bytes, "left", 5);
	assert_false(cop_event_id_equal(&a, &b));
	cop_event_id_from_signed(&a, 0);
	cop_event_id_from_unsigned(&b, 0);
	assert_true(cop_event_id_equal(&a, &b));
	cop_event_id_from_signed(&a, -1);
	assert_int_equal(a.kind, COP_EVENT_ID_NEGATIVE);
}

static void test_event_id_integer_leaves_nothing_behind(void **state)
{
	(void)state;
	static const uint8_t zeros[COP_EVENT_ID_MAX] = { 0 };
	cop_event_id id;
	assert_true(cop_event_id_from_bytes(&id, COP_EVENT_ID_STRING, "a longer name", 13));
	cop_event_id_from_unsigned(&id, 5);
	assert_int_equal(id.bytes[0], 5);
	assert_memory_equal(id.bytes + 1, zeros, COP_EVENT_ID_MAX - 1);
}

/* Also the longest one, which fills its struct. */
static void test_event_id_hash_is_of_the_id_alone(void **state)
{
	(void)state;
	struct {
		cop_event_id id;
		uint8_t behind[16];
	} at[2];
	char bytes[COP_EVENT_ID_MAX];
	memset(bytes, 'x', sizeof bytes);
	for (size_t i = 0; i < 2; i++) {
		memset(&at[i], i == 0 ? 0 : 0xff, sizeof at[i]);
		assert_true(cop_event_id_from_bytes(&at[i].id, COP_EVENT_ID_STRING, bytes, sizeof bytes));
	}
	assert_true(cop_event_id_hash(&at[0].id, 7) == cop_event_id_hash(&at[1].id, 7));
}

/* As clients/python and docs/reference/merging.md have it. */
static void test_event_id_part_is_what_clients_find(void **state)
{
	(void)state;
	static const struct {
		const char *text; /* NULL: the number */
		int64_t number;
		uint32_t of4, of_many;
	} keys[] = { { "u1-17", 0, 3, 558443 }, { "a", 0, 1, 484546 }, { "17", 0, 0, 241604 }, { NULL, 17, 1, 733382 },
		{ NULL, -3, 0, 115054 }, { NULL, 0, 2, 774924 }, { "anna", 0, 2, 329528 }, { "bob", 0, 2, 527297 } };
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		cop_event_id id;
		if (keys[i].text == NULL)
			cop_event_id_from_signed(&id, keys[i].number);
		else
			assert_true(
			        cop_event_id_from_bytes(&id, COP_EVENT_ID_STRING, keys[i].text, strlen(keys[i].text)));
		assert_int_equal(cop_event_id_part(&id, 4), keys[i].of4);
		assert_int_equal(cop_event_id_part(&id, 1000003), keys[i].of_many);
		assert_int_equal(cop_event_id_part(&id, 1), 0);
	}
}

static void test_event_id_parts_have_equal_shares(void **state)
{
	(void)state;
	unsigned met[8] = { 0 };
	for (uint64_t i = 0; i < 80000; i++) {
		cop_event_id id;
		char text[32];
		int length = snprintf(text, sizeof text, "user-%llu", (unsigned long long)i);
		assert_true(cop_event_id_from_bytes(&id, COP_EVENT_ID_STRING, text, (size_t)length));
		met[cop_event_id_part(&id, 8)]++;
	}
	for (size_t k = 0; k < 8; k++)
		assert_in_range(met[k], 10000 - 500, 10000 + 500); /* 5 standard deviations */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_id_of_distinct_types_differs),
		cmocka_unit_test(test_event_id_of_equal_integers_is_equal),
		cmocka_unit_test(test_event_id_of_wrong_length_is_refused),
		cmocka_unit_test(test_event_id_reused_leaves_nothing_behind),
		cmocka_unit_test(test_event_id_hash_spreads_counters),
		cmocka_unit_test(test_event_id_of_other_bytes_or_zero_is_another),
		cmocka_unit_test(test_event_id_integer_leaves_nothing_behind),
		cmocka_unit_test(test_event_id_hash_is_of_the_id_alone),
		cmocka_unit_test(test_event_id_part_is_what_clients_find),
		cmocka_unit_test(test_event_id_parts_have_equal_shares),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
