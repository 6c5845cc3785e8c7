/* The newest records in memory, against an array that keeps all of them. */
#include "daemon/replica/replica_log.h"

#include "base/mem.h"
#include "store/journal_segment.h"
#include "support.h"

#define RECORDS 400

static cop_bytes all;
static size_t where[RECORDS + 2]; /* of record i, from 1 */

static void make_records(void)
{
	uint8_t body[64];
	cop_bytes_init(&all);
	for (uint64_t i = 1; i <= RECORDS; i++) {
		where[i] = all.length;
		memset(body, (int)i, sizeof body);
		cop_journal_record_put(&all, i, 1, body, (size_t)(i * 7 % sizeof body));
	}
	where[RECORDS + 1] = all.length;
}

static void put(cop_replica_log *log, uint64_t first, uint64_t count)
{
	cop_replica_log_put(log, all.data + where[first], where[first + count] - where[first], first, count);
}

/* Records from `next` on, as many as were taken. */
static uint64_t taken(const cop_replica_log *log, uint64_t next, size_t most)
{
	cop_bytes out;
	cop_bytes_init(&out);
	uint64_t count = cop_replica_log_take(log, next, most, &out);
	assert_int_equal(out.length, where[next + count] - where[next]);
	assert_true(count == 0 || memcmp(out.data, all.data + where[next], out.length) == 0);
	assert_true(count <= 1 || out.length <= most);
	cop_bytes_fini(&out);
	return count;
}

static void test_log_gives_every_record_from_anywhere(void **state)
{
	(void)state;
	cop_replica_log log;
	cop_replica_log_init(&log, 1, 1u << 20);
	assert_int_equal(cop_replica_log_first(&log), 1);
	for (uint64_t next = 1, size = 1; next <= RECORDS; next += size, size = size % 7 + 1) {
		size = next + size > RECORDS ? RECORDS + 1 - next : size;
		put(&log, next, size);
	}
	assert_int_equal(log.next, RECORDS + 1);
	for (uint64_t next = 1; next <= RECORDS; next++) {
		assert_int_equal(taken(&log, next, 1u << 20), RECORDS + 1 - next);
		assert_true(taken(&log, next, 200) >= 1);
		cop_journal_record record;
		size_t need;
		assert_int_equal(cop_journal_segment_frame_parse(
		                         all.data + where[next], all.length - where[next], &record, &need),
		        COP_OK);
		assert_int_equal(cop_replica_log_crc(&log, next), cop_replica_log_frame_crc(all.data + where[next]));
		assert_int_equal(cop_replica_log_frame(all.data + where[next]), where[next + 1] - where[next]);
	}
	assert_int_equal(taken(&log, RECORDS + 1, 100), 0);
	cop_replica_log_fini(&log);
}

static void test_log_forgets_the_oldest_beyond_its_bound(void **state)
{
	(void)state;
	cop_replica_log log;
	cop_replica_log_init(&log, 1, 4000);
	for (uint64_t next = 1; next <= RECORDS; next++) {
		put(&log, next, 1);
		assert_true(log.bytes <= 4000);
	}
	uint64_t first = cop_replica_log_first(&log);
	assert_true(first > 1 && first < RECORDS);
	assert_int_equal(taken(&log, first, 1u << 20), RECORDS + 1 - first);
	cop_replica_log_fini(&log);
}

static void test_log_begins_anew_where_records_are_missing(void **state)
{
	(void)state;
	cop_replica_log log;
	cop_replica_log_init(&log, 1, 1u << 20);
	put(&log, 1, 10);
	put(&log, 20, 10);
	assert_int_equal(cop_replica_log_first(&log), 20);
	assert_int_equal(log.next, 30);
	cop_replica_log_fini(&log);
}

static void test_log_taking_ends_where_the_state_was_summed(void **state)
{
	(void)state;
	cop_replica_log log;
	cop_bytes sums;
	cop_bytes_init(&sums);
	cop_bytes_put(&sums, "sums", 4);
	cop_replica_log_init(&log, 1, 1u << 20);
	cop_replica_log_put_state(&log, &sums); /* of no record */
	put(&log, 1, 10);
	put(&log, 11, 10);
	cop_replica_log_put_state(&log, &sums);
	put(&log, 21, 10);
	assert_int_equal(taken(&log, 1, 1u << 20), 20);
	assert_null(cop_replica_log_state(&log, 10));
	assert_null(cop_replica_log_state(&log, 19));
	assert_null(cop_replica_log_state(&log, 40));
	assert_int_equal(cop_replica_log_state(&log, 20)->length, 4);
	assert_int_equal(taken(&log, 21, 1u << 20), 10);
	const size_t before = log.bytes;
	cop_replica_log_drop_states(&log);
	assert_null(cop_replica_log_state(&log, 20));
	assert_int_equal(log.bytes, before - 4);
	assert_int_equal(taken(&log, 1, 1u << 20), 30);
	cop_replica_log_put_state(&log, &sums); /* behind the newest record again */
	assert_int_equal(cop_replica_log_state(&log, 30)->length, 4);
	cop_replica_log_fini(&log);
	cop_bytes_fini(&sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_gives_every_record_from_anywhere),
		cmocka_unit_test(test_log_forgets_the_oldest_beyond_its_bound),
		cmocka_unit_test(test_log_begins_anew_where_records_are_missing),
		cmocka_unit_test(test_log_taking_ends_where_the_state_was_summed),
	};
	make_records();
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	cop_bytes_fini(&all);
	return failed;
}
