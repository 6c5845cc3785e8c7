/* Error returns of the journal's functions that its other tests do not come by: tickets across breaks, memory that runs
 * out within large records, calls that a signal interrupts, headers and numbers that contradict each other. */
#include "journal_fixture.h"

#include <errno.h>

#include "base/crc32c.h"
#include "store/journal_intact.h"
#include "store/journal_keep.h"
#include "store/journal_stat.h"
#include "support_io.h"

static void none_fails(void) { cop_test_io_fail(COP_TEST_IO_ALL | COP_TEST_IO_READ, 0, false, 0); }

static void test_journal_ticket_whose_sync_failed_breaks_the_writer(void **state)
{
	(void)state;
	cop_journal_writer *writer = open_writer(1, 0);
	cop_journal_ticket ticket, second;
	cop_diag diag = { .message = "" };
	assert_int_equal(write_batch(writer, 1, 3), COP_OK);
	assert_int_equal(cop_journal_writer_sync_begin(writer, &ticket), COP_OK);
	cop_test_io_fail(COP_TEST_IO_SYNC, 1, false, EIO);
	cop_journal_writer_sync_run(&ticket);
	none_fails();
	assert_int_equal(ticket.error, EIO);
	assert_int_equal(cop_journal_writer_sync_end(writer, &ticket, &diag), COP_EIO);
	assert_non_null(strstr(diag.message, "cannot be synced"));
	assert_true(cop_journal_writer_broken(writer) && !cop_journal_writer_gone(writer));
	assert_int_equal(cop_journal_writer_durable(writer), 0);
	assert_int_equal(cop_journal_writer_sync_begin(writer, &second), COP_EINVAL);
	assert_int_equal(cop_journal_writer_roll(writer, NULL), COP_EIO);
	assert_int_equal(cop_journal_writer_recover(writer, NULL, 0, 4, 0, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	check_whole(1, 3);
}

static void test_journal_ticket_of_a_writer_that_broke_meanwhile_says_so(void **state)
{
	(void)state;
	cop_journal_writer *writer = open_writer(1, 0);
	cop_journal_ticket ticket;
	cop_diag diag = { .message = "" };
	assert_int_equal(write_batch(writer, 1, 3), COP_OK);
	assert_int_equal(cop_journal_writer_sync_begin(writer, &ticket), COP_OK);
	cop_test_io_fail(COP_TEST_IO_WRITE, 1, false, ENOSPC);
	assert_int_equal(write_batch(writer, 4, 1), COP_EFULL);
	none_fails();
	assert_int_equal(cop_journal_writer_sync_extend(writer, &ticket), COP_EINVAL); /* the ticket is as it was */
	cop_journal_writer_sync_run(&ticket);
	assert_int_equal(cop_journal_writer_sync_end(writer, &ticket, &diag), COP_EIO);
	assert_non_null(strstr(diag.message, "stands still"));
	assert_int_equal(cop_journal_writer_recover(writer, NULL, 0, 4, 0, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	check_whole(1, 3);
}

static void test_journal_ticket_goes_along_to_the_next_segment(void **state)
{
	(void)state;
	cop_journal_writer *writer = open_writer(1, 0);
	cop_journal_ticket ticket, left;
	assert_int_equal(write_batch(writer, 1, 3), COP_OK);
	assert_int_equal(cop_journal_writer_sync_begin(writer, &ticket), COP_OK);
	assert_int_equal(cop_journal_writer_sync_begin(writer, &left), COP_OK);
	assert_int_equal(cop_journal_writer_roll(writer, NULL), COP_OK);
	assert_int_equal(write_batch(writer, 4, 2), COP_OK);
	assert_int_equal(cop_journal_writer_sync_extend(writer, &ticket), COP_OK);
	assert_int_equal(ticket.base, 4);
	assert_int_equal(ticket.sequence, 5);
	cop_journal_writer_sync_run(&left); /* of a segment that was left: synced as a whole, whatever becomes of it */
	left.error = EIO;
	assert_int_equal(cop_journal_writer_sync_end(writer, &left, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_durable(writer), 3);
	cop_journal_writer_sync_run(&ticket);
	assert_int_equal(cop_journal_writer_sync_end(writer, &ticket, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_durable(writer), 5);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_close(NULL, NULL), COP_OK);
	check_whole(1, 5);
}

static void test_journal_models_that_cannot_be_taken_leave_the_old_ones(void **state)
{
	(void)state;
	cop_journal_writer *writer = open_writer(1, 0);
	static uint8_t many[COP_JOURNAL_MODEL_SET_MAX + 1];
	assert_int_equal(cop_journal_writer_set_models(writer, many, sizeof many), COP_EINVAL);
	cop_test_alloc_fail(1, 1);
	assert_int_equal(cop_journal_writer_set_models(writer, "others", 6), COP_ENOMEM);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(write_batch(writer, 1, 1), COP_OK);
	assert_int_equal(cop_journal_writer_roll(writer, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	cop_bytes models;
	cop_bytes_init(&models);
	const cop_journal_file file = { .base = 2 };
	assert_int_equal(cop_journal_reader_models(folder, &file, &models), COP_OK);
	assert_int_equal(models.length, 6);
	assert_memory_equal(models.data, "models", 6);
	cop_bytes_fini(&models);
}

/* A healing that got its name but no synced folder lies ahead of one that begins earlier: it has to go. */
static void test_journal_healed_half_way_leaves_no_later_segment(void **state)
{
	(void)state;
	for (int refused = 0; refused < 2; refused++) {
		empty_folder();
		cop_journal_writer *writer = open_writer(1, 0);
		cop_bytes batch;
		assert_int_equal(write_batch(writer, 1, 3), COP_OK);
		assert_int_equal(cop_journal_writer_sync(writer, NULL), COP_OK);
		assert_int_equal(write_batch(writer, 4, 2), COP_OK);
		cop_test_io_fail(COP_TEST_IO_SYNC, 1, false, EIO);
		assert_int_equal(cop_journal_writer_sync(writer, NULL), COP_EIO);
		cop_test_io_fail(COP_TEST_IO_SYNC, 2, false, EIO); /* the file is synced, its folder not */
		assert_int_equal(cop_journal_writer_recover(writer, NULL, 0, 6, 0, NULL), COP_EIO);
		none_fails();
		assert_int_equal(access(path_of(4, false), F_OK), 0);
		cop_bytes_init(&batch);
		for (uint64_t i = 3; i <= 5; i++)
			put_record(&batch, i);
		cop_diag diag = { .message = "" };
		if (refused) {
			cop_test_io_fail(COP_TEST_IO_REMOVE, 1, false, EIO);
			assert_int_equal(
			        cop_journal_writer_recover(writer, batch.data, batch.length, 3, 3, &diag), COP_EIO);
			assert_non_null(strstr(diag.message, "cannot be removed"));
			none_fails();
		}
		assert_int_equal(cop_journal_writer_recover(writer, batch.data, batch.length, 3, 3, &diag), COP_OK);
		assert_int_not_equal(access(path_of(4, false), F_OK), 0);
		assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
		check_whole(1, 5);
		cop_bytes_fini(&batch);
	}
}

static void test_journal_heals_or_runs_out_of_memory(void **state)
{
	(void)state;
	cop_journal_writer *writer = open_writer(1, 0);
	assert_int_equal(write_batch(writer, 1, 9), COP_OK);
	cop_test_io_fail(COP_TEST_IO_SYNC, 1, false, EIO);
	assert_int_equal(cop_journal_writer_sync(writer, NULL), COP_EIO);
	none_fails();
	unsigned long n = 1;
	for (cop_err err = COP_ENOMEM; err != COP_OK; n++) {
		cop_test_alloc_fail(n, 0);
		err = cop_journal_writer_recover(writer, NULL, 0, 10, 0, NULL);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		assert_int_equal(cop_journal_writer_broken(writer), err != COP_OK);
	}
	assert_true(n > 4);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	check_whole(1, 9);
}

static void test_journal_interrupted_calls_are_made_again(void **state)
{
	(void)state;
	cop_journal_writer *writer = open_writer(1, 0);
	cop_test_io_fail(COP_TEST_IO_WRITE, 1, false, EINTR);
	assert_int_equal(write_batch(writer, 1, 3), COP_OK);
	cop_test_io_fail(COP_TEST_IO_SYNC, 1, false, EINTR);
	assert_int_equal(cop_journal_writer_sync(writer, NULL), COP_OK);
	cop_test_io_fail(COP_TEST_IO_SYNC, 2, false, EINTR);
	assert_int_equal(cop_journal_writer_roll(writer, NULL), COP_OK);
	none_fails();
	assert_int_equal(write_batch(writer, 4, 1), COP_OK);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	cop_test_io_fail(COP_TEST_IO_READ, 1, false, EINTR);
	assert_int_equal(cop_journal_keep_compress(folder, 1, NULL), COP_OK);
	assert_true(cop_test_io_failed());
	none_fails();
	check_whole(1, 4);
}

/* One record that is larger than the readers' window. */
static void write_large(uint64_t base)
{
	const size_t length = (size_t)3 << 20;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	uint8_t *body = calloc(1, length);
	assert_non_null(body);
	cop_journal_segment_header_put(&bytes, base, 0, "", 0);
	cop_journal_record_put(&bytes, base, 1, "x", 1);
	cop_journal_record_put(&bytes, base + 1, 1, body, length);
	assert_int_equal(bytes.err, COP_OK);
	save(path_of(base, false), bytes.data, bytes.length);
	cop_bytes_fini(&bytes);
	free(body);
}

static void test_journal_large_record_without_memory_is_no_damage(void **state)
{
	(void)state;
	write_large(1);
	for (int salvaging = 0; salvaging < 2; salvaging++) {
		unsigned long n = 1;
		for (bool whole = false; !whole; n++) {
			cop_journal_record record;
			cop_journal_reader *reader = NULL;
			cop_journal_intact *intact = NULL;
			bool follows;
			uint64_t records = 0;
			cop_diag diag = { .message = "" };
			cop_test_alloc_fail(n, 0);
			cop_err err = salvaging ? cop_journal_intact_open(folder, NULL, &intact, &diag)
			                        : cop_journal_reader_open(folder, 1, false, &reader, &diag);
			while (err == COP_OK) {
				err = salvaging ? cop_journal_intact_next(intact, &record, &follows, &diag)
				                : cop_journal_next(reader, &record, &diag);
				records += err == COP_OK;
			}
			cop_test_alloc_fail(0, 0);
			whole = err == COP_EEND;
			assert_true(whole || (err == COP_ENOMEM && strstr(diag.message, "memory") != NULL));
			assert_true(!whole || records == 2);
			cop_journal_reader_close(reader);
			cop_journal_intact_close(intact);
		}
		assert_true(n > 4);
	}
}

static void test_journal_record_beyond_the_limit_is_refused(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	size_t start = cop_journal_segment_record_begin(&bytes, 1, 1);
	cop_bytes_reserve(&bytes, COP_JOURNAL_BODY_MAX + 1);
	assert_int_equal(bytes.err, COP_OK);
	bytes.length += COP_JOURNAL_BODY_MAX + 1;
	cop_journal_segment_record_end(&bytes, start);
	assert_int_equal(bytes.err, COP_EINVAL);
	cop_bytes_fini(&bytes);
}

static void test_journal_header_whose_lengths_contradict_each_other_is_damage(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_journal_header header;
	size_t need;
	cop_diag diag = { .message = "" };
	cop_bytes_init(&bytes);
	cop_journal_segment_header_put(&bytes, 1, 0, "models", 6);
	uint32_t five = 5;
	memcpy(bytes.data + 32, &five, sizeof five);
	uint32_t crc = cop_crc32c(0, bytes.data, bytes.length - 4);
	memcpy(bytes.data + bytes.length - 4, &crc, sizeof crc);
	assert_int_equal(
	        cop_journal_segment_header_parse(bytes.data, bytes.length, &header, &need, &diag), COP_EFORMAT);
	assert_non_null(strstr(diag.message, "contradict"));
	cop_bytes_fini(&bytes);
}

/* In the middle of a segment, and under a right checksum. */
static void test_journal_record_with_a_number_that_does_not_follow_is_damage(void **state)
{
	(void)state;
	static const uint64_t numbers[] = { 1, 2, 4, 5 };
	cop_bytes bytes;
	cop_journal_tail tail;
	cop_diag diag = { .message = "" };
	uint64_t next;
	cop_bytes_init(&bytes);
	cop_journal_segment_header_put(&bytes, 1, 0, "", 0);
	for (size_t i = 0; i < 4; i++)
		put_record(&bytes, numbers[i]);
	save(path_of(1, false), bytes.data, bytes.length);
	assert_int_equal(read_journal(1, &tail, &next, &diag), COP_EFORMAT);
	assert_int_equal(next, 3);
	assert_non_null(strstr(diag.message, "sequence number"));
	cop_bytes_fini(&bytes);
}

static void note_ends(void *context, const cop_journal_stat *stat)
{
	unsigned *missing = context;
	*missing += stat->end == COP_JOURNAL_END_MISSING;
}

static void test_journal_verify_reports_the_records_that_are_missing(void **state)
{
	(void)state;
	unsigned missing = 0;
	cop_journal_stat_listener listener = { note_ends, &missing };
	cop_diag diag = { .message = "" };
	write_journal(1, 9, 0);
	write_journal(10, 12, 0);
	write_journal(13, 15, 0);
	assert_int_equal(cop_journal_stat_verify(folder, &listener, &diag), COP_OK);
	assert_int_equal(missing, 0);
	assert_int_equal(unlink(path_of(10, false)), 0);
	assert_int_equal(cop_journal_stat_verify(folder, &listener, &diag), COP_EFORMAT);
	assert_int_equal(missing, 1);
	assert_string_equal(diag.source, path_of(1, false));
	assert_non_null(strstr(diag.message, "records 10 to 12 are missing"));
	unsigned long n = 1;
	for (cop_err err = COP_ENOMEM; err == COP_ENOMEM; n++) {
		cop_test_alloc_fail(n, 0);
		err = cop_journal_stat_verify(folder, NULL, &diag);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_ENOMEM || err == COP_EFORMAT);
	}
	assert_true(n > 3);
}

static void test_journal_find_and_cut_without_memory_fail_cleanly(void **state)
{
	(void)state;
	write_journal(1, 9, 0);
	char path[160];
	(void)snprintf(path, sizeof path, "%s", path_of(1, false));
	const char *const places[] = { path, folder };
	for (size_t i = 0; i < 2; i++) {
		unsigned long n = 1;
		for (cop_err err = COP_ENOMEM; err != COP_OK; n++) {
			char *found;
			cop_journal_file *files;
			size_t count;
			cop_test_alloc_fail(n, 0);
			err = cop_journal_segment_find(places[i], &found, &files, &count, NULL);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || err == COP_ENOMEM);
			assert_int_equal(found != NULL, err == COP_OK);
			assert_int_equal(files != NULL, err == COP_OK);
			cop_mem_free(found);
			cop_mem_free(files);
		}
		assert_int_equal(n - 1, 3);
	}
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	unsigned long n = 1;
	for (cop_err err = COP_ENOMEM; err != COP_OK; n++) {
		cop_journal_tail tail;
		assert_int_equal(truncate(path, status.st_size - 3), 0);
		cop_test_alloc_fail(n, 0);
		err = cop_journal_keep_cut_tail(folder, &tail, NULL);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
	}
	assert_true(n > 5);
}

static void test_journal_torn_header_that_cannot_be_removed_is_an_error(void **state)
{
	(void)state;
	cop_journal_tail tail;
	cop_diag diag = { .message = "" };
	write_journal(1, 9, 0);
	save(path_of(10, false), "COPJR", 5);
	cop_test_io_fail(COP_TEST_IO_REMOVE, 1, false, EIO);
	assert_int_equal(cop_journal_keep_cut_tail(folder, &tail, &diag), COP_EIO);
	none_fails();
	assert_non_null(strstr(diag.message, "cannot be removed"));
	assert_true(tail.torn && tail.next_sequence == 10);
	assert_int_equal(cop_journal_keep_cut_tail(folder, &tail, NULL), COP_OK);
	assert_int_equal(cop_journal_keep_cut_tail("/nonexistent", &tail, NULL), COP_ENOTFOUND);
	assert_int_equal(cop_journal_segment_drop_temporary("/nonexistent", UINT64_MAX, NULL), COP_ENOTFOUND);
	check_whole(1, 9);
}

static void test_journal_reader_names_the_segment_it_is_in(void **state)
{
	(void)state;
	cop_journal_reader *reader;
	cop_journal_record record;
	char name[COP_JOURNAL_NAME_ROOM];
	write_journal(1, 3, 0);
	write_journal(4, 4, 0);
	assert_int_equal(cop_journal_keep_compress(folder, 1, NULL), COP_OK);
	assert_int_equal(cop_journal_reader_open(folder, 1, false, &reader, NULL), COP_OK);
	cop_journal_reader_file(reader, name);
	assert_string_equal(name, "");
	for (uint64_t i = 1; i <= 4; i++) {
		assert_int_equal(cop_journal_next(reader, &record, NULL), COP_OK);
		cop_journal_reader_file(reader, name);
		assert_string_equal(name, i < 4 ? "00000000000000000001.journal.zst" : "00000000000000000004.journal");
	}
	assert_int_equal(cop_journal_next(reader, &record, NULL), COP_EEND);
	cop_journal_reader_file(reader, name);
	assert_string_equal(name, "");
	cop_journal_reader_close(reader);
}

static void turn_byte(uint64_t base, size_t at)
{
	size_t length;
	uint8_t *data = load(path_of(base, false), &length);
	data[at] ^= 0xff;
	save(path_of(base, false), data, length);
	free(data);
}

static void test_journal_verify_keeps_the_first_fault(void **state)
{
	(void)state;
	cop_diag diag = { .message = "as it was" };
	for (uint64_t base = 1; base <= 19; base += 9)
		write_journal(base, base + 8, 0);
	assert_int_equal(cop_journal_stat_verify(folder, NULL, &diag), COP_OK);
	assert_string_equal(diag.message, "as it was");
	turn_byte(1, COP_JOURNAL_HEADER_MIN + 60);
	turn_byte(10, COP_JOURNAL_HEADER_MIN + 60);
	assert_int_equal(cop_journal_stat_verify(folder, NULL, &diag), COP_EFORMAT);
	assert_string_equal(diag.source, path_of(1, false));
	assert_int_equal(cop_journal_stat_verify(folder, NULL, NULL), COP_EFORMAT);
}

/* Offsets within the header. */
static void note_offset(void *context, const cop_journal_stat *stat)
{
	*(unsigned *)context += stat->why.offset > 0 && stat->why.offset < COP_JOURNAL_HEADER_MIN;
}

static void test_journal_verify_without_memory_names_the_header_by_its_beginning(void **state)
{
	(void)state;
	unsigned within = 0;
	const cop_journal_stat_listener listener = { note_offset, &within };
	cop_err err = COP_ENOMEM;
	cop_diag diag;
	write_journal(1, 9, 0);
	for (unsigned long n = 1; err == COP_ENOMEM; n++) {
		cop_test_alloc_fail(n, 0);
		err = cop_journal_stat_verify(folder, &listener, &diag);
		cop_test_alloc_fail(0, 0);
	}
	assert_int_equal(err, COP_OK);
	assert_int_equal(within, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_journal_ticket_whose_sync_failed_breaks_the_writer),
		TEST(test_journal_ticket_of_a_writer_that_broke_meanwhile_says_so),
		TEST(test_journal_ticket_goes_along_to_the_next_segment),
		TEST(test_journal_models_that_cannot_be_taken_leave_the_old_ones),
		TEST(test_journal_healed_half_way_leaves_no_later_segment),
		TEST(test_journal_heals_or_runs_out_of_memory),
		TEST(test_journal_interrupted_calls_are_made_again),
		TEST(test_journal_large_record_without_memory_is_no_damage),
		TEST(test_journal_record_beyond_the_limit_is_refused),
		TEST(test_journal_header_whose_lengths_contradict_each_other_is_damage),
		TEST(test_journal_record_with_a_number_that_does_not_follow_is_damage),
		TEST(test_journal_verify_reports_the_records_that_are_missing),
		TEST(test_journal_find_and_cut_without_memory_fail_cleanly),
		TEST(test_journal_torn_header_that_cannot_be_removed_is_an_error),
		TEST(test_journal_reader_names_the_segment_it_is_in),
		TEST(test_journal_verify_keeps_the_first_fault),
		TEST(test_journal_verify_without_memory_names_the_header_by_its_beginning),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
