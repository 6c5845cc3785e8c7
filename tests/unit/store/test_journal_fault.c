/* A caller like the daemon's writer thread, with the n-th call to the operating system failing, for every n. It keeps
 * what is not durable or relies on reading back; it goes on, or is killed at the first failure and started again. */
#include "journal_fixture.h"

#include <errno.h>
#include <fcntl.h>

#include "store/journal_keep.h"
#include "store/journal_salvage.h"
#include "support_io.h"

#define LAST     48
#define SEGMENT  260
#define HEADER   (COP_JOURNAL_HEADER_MIN + 6)
#define ATTEMPTS 5

typedef struct run {
	cop_journal_writer *writer;
	uint64_t durable; /* the highest that was ever reported */
	uint64_t base;
	bool keeps;
	bool failed;
	uint64_t sync_count;
} run;

/* For the hook: what of the current segment is known to be on the disk. */
static off_t safe;

static void lose_what_was_not_synced(int fd)
{
	static const uint8_t zeros[1024];
	struct stat status;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return;
	for (off_t at = safe; at < status.st_size; at += (off_t)sizeof zeros) {
		size_t left = (size_t)(status.st_size - at);
		assert_true(pwrite(fd, zeros, left < sizeof zeros ? left : sizeof zeros, at) > 0);
	}
}

static void note(run *r)
{
	uint64_t durable = cop_journal_writer_durable(r->writer);
	assert_true(durable >= r->durable && durable <= cop_journal_writer_written(r->writer));
	r->durable = durable;
	if (cop_journal_writer_base(r->writer) != r->base)
		safe = HEADER;
	r->base = cop_journal_writer_base(r->writer);
	if (durable == cop_journal_writer_written(r->writer) && !cop_journal_writer_broken(r->writer))
		safe = (off_t)cop_journal_writer_bytes(r->writer);
}

static cop_err give_back(run *r, uint64_t first)
{
	cop_bytes batch;
	cop_bytes_init(&batch);
	uint64_t count = 0;
	for (uint64_t at = first; at <= cop_journal_writer_written(r->writer); at++, count++)
		put_record(&batch, at);
	cop_err err = cop_journal_writer_recover(r->writer, batch.data, batch.length, first, count, NULL);
	cop_bytes_fini(&batch);
	return err;
}

/* Until it is healed; the cause goes away after some attempts. */
static void heal(run *r)
{
	for (int attempt = 0; cop_journal_writer_broken(r->writer); attempt++) {
		uint64_t durable = cop_journal_writer_durable(r->writer);
		assert_true(attempt <= ATTEMPTS);
		if (attempt == ATTEMPTS - 1)
			cop_test_io_fail(COP_TEST_IO_ALL, 0, false, 0);
		assert_int_equal(cop_journal_writer_sync(r->writer, NULL), COP_EIO);
		assert_int_equal(write_batch(r->writer, cop_journal_writer_written(r->writer) + 1, 1), COP_EIO);
		uint64_t first = r->keeps ? durable + 1 : cop_journal_writer_written(r->writer) + 1;
		if (r->keeps && attempt == 1 && durable > cop_journal_writer_base(r->writer))
			first = durable; /* earlier than needed is fine */
		cop_err err = give_back(r, first);
		if (err == COP_EFORMAT && !r->keeps)
			r->keeps = true; /* lost from the cache: only who kept it can give it */
		assert_false(cop_test_io_synced_again());
		assert_int_equal(err == COP_OK, !cop_journal_writer_broken(r->writer));
		note(r);
	}
	assert_int_equal(cop_journal_writer_durable(r->writer), cop_journal_writer_written(r->writer));
}

/* One step; false when it failed. */
static bool try_step(run *r, uint64_t first, uint64_t count)
{
	cop_err err = write_batch(r->writer, first, count);
	if (err == COP_OK) {
		note(r);
		if (++r->sync_count % 2 == 0)
			err = cop_journal_writer_sync(r->writer, NULL);
	}
	assert_int_equal(err != COP_OK, cop_journal_writer_broken(r->writer));
	r->failed = r->failed || err != COP_OK;
	note(r);
	return err == COP_OK;
}

static cop_err open_run(run *r, uint64_t next)
{
	cop_journal_settings settings = { .segment_bytes = SEGMENT, .model_set = "models", .model_set_length = 6 };
	cop_err err = cop_journal_writer_open(folder, &settings, next, &r->writer, NULL);
	r->base = 0;
	if (err == COP_OK)
		note(r);
	return err;
}

/* Writes up to LAST; stops at the first failure when it is to be killed then. */
static void drive(run *r, bool killed)
{
	while (cop_journal_writer_written(r->writer) < LAST) {
		uint64_t first = cop_journal_writer_written(r->writer) + 1;
		uint64_t count = LAST - first + 1 < 3 ? LAST - first + 1 : 3;
		if (!try_step(r, first, count)) {
			if (killed)
				return;
			heal(r);
		}
	}
}

static void restart(run *r)
{
	cop_journal_tail tail;
	cop_test_io_fail(COP_TEST_IO_ALL, 0, false, 0);
	assert_int_equal(cop_journal_keep_cut_tail(folder, &tail, NULL), COP_OK);
	assert_true(tail.next_sequence > r->durable);
	check_whole(1, tail.next_sequence - 1);
	assert_int_equal(open_run(r, tail.next_sequence), COP_OK);
	drive(r, false);
}

/* One run; whether anything was made to fail. */
static bool run_once(unsigned kinds, unsigned long n, bool forever, bool keeps, bool killed)
{
	run r = { .keeps = keeps };
	safe = 0;
	empty_folder();
	cop_test_io_fail(kinds, n, forever, forever ? ENOSPC : EIO);
	cop_err err = open_run(&r, 1);
	r.failed = err != COP_OK;
	bool reopened = r.failed;
	for (int attempt = 0; err != COP_OK; attempt++) {
		assert_int_equal(err, forever ? COP_EFULL : COP_EIO);
		assert_true(attempt < 2);
		if (attempt == 1 || killed)
			cop_test_io_fail(COP_TEST_IO_ALL, 0, false, 0);
		err = open_run(&r, 1);
	}
	drive(&r, killed && !reopened);
	bool failed = cop_test_io_failed();
	if (cop_journal_writer_broken(r.writer)) {
		cop_err closed = cop_journal_writer_close(r.writer, NULL); /* broken: nothing is written any more */
		assert_int_equal(closed, COP_OK);
		restart(&r);
	}
	cop_test_io_fail(COP_TEST_IO_ALL, 0, false, 0);
	assert_int_equal(cop_journal_writer_close(r.writer, NULL), COP_OK);
	check_whole(1, LAST);
	return failed || r.failed;
}

static void run_all(void (*lost)(int fd))
{
	static const unsigned kinds[] = { COP_TEST_IO_OPEN, COP_TEST_IO_WRITE, COP_TEST_IO_SYNC, COP_TEST_IO_RENAME,
		COP_TEST_IO_WRITE | COP_TEST_IO_CUT, COP_TEST_IO_SYNC | COP_TEST_IO_REMOVE, COP_TEST_IO_ALL };
	cop_test_io_on_lost(lost);
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		for (unsigned variant = 0; variant < 8; variant++) {
			unsigned long n = 1;
			while (run_once(kinds[k], n, variant & 1, variant & 2, variant & 4))
				n++;
			assert_true(n > 5);
		}
	}
	cop_test_io_on_lost(NULL);
}

static void test_journal_with_any_call_failing_loses_nothing_durable(void **state)
{
	(void)state;
	run_all(NULL);
}

static void test_journal_with_unsynced_pages_lost_loses_nothing_durable(void **state)
{
	(void)state;
	run_all(lose_what_was_not_synced);
}

static void test_journal_close_whose_sync_fails_says_so(void **state)
{
	(void)state;
	run r = { 0 };
	assert_int_equal(open_run(&r, 1), COP_OK);
	assert_int_equal(write_batch(r.writer, 1, 3), COP_OK);
	cop_diag diag;
	cop_test_io_fail(COP_TEST_IO_SYNC, 1, true, EIO);
	assert_int_equal(cop_journal_writer_close(r.writer, &diag), COP_EIO);
	cop_test_io_fail(COP_TEST_IO_ALL, 0, false, 0);
	assert_string_equal(diag.source, path_of(1, false));
	assert_non_null(strstr(diag.message, "cannot be synced"));
}

static void test_journal_recover_with_a_batch_that_does_not_fit_is_refused(void **state)
{
	(void)state;
	run r = { 0 };
	assert_int_equal(open_run(&r, 1), COP_OK);
	assert_int_equal(write_batch(r.writer, 1, 3), COP_OK);
	cop_test_io_fail(COP_TEST_IO_SYNC, 1, false, EIO);
	assert_int_equal(cop_journal_writer_sync(r.writer, NULL), COP_EIO);
	cop_diag diag;
	assert_int_equal(cop_journal_writer_recover(r.writer, NULL, 0, 0, 0, &diag), COP_EINVAL);
	assert_int_equal(cop_journal_writer_recover(r.writer, NULL, 0, 3, 0, &diag), COP_EINVAL);
	assert_int_equal(cop_journal_writer_recover(r.writer, NULL, 0, 5, 0, &diag), COP_EINVAL);
	assert_true(cop_journal_writer_broken(r.writer));
	assert_int_equal(give_back(&r, 2), COP_OK);
	assert_int_equal(cop_journal_writer_durable(r.writer), 3);
	assert_int_equal(cop_journal_writer_close(r.writer, NULL), COP_OK);
	check_whole(1, 3);
}

static void test_journal_care_with_any_call_failing_leaves_every_record(void **state)
{
	(void)state;
	unsigned long n = 1;
	for (bool failed = true; failed; n++) {
		empty_folder();
		write_journal(1, 9, 0);
		write_journal(10, 19, 0);
		write_journal(20, 25, 0);
		struct stat status;
		assert_int_equal(stat(path_of(20, false), &status), 0);
		assert_int_equal(truncate(path_of(20, false), status.st_size - 3), 0);
		cop_journal_tail tail;
		size_t removed;
		cop_test_io_fail(COP_TEST_IO_ALL, n, false, EIO);
		cop_err cut = cop_journal_keep_cut_tail(folder, &tail, NULL);
		cop_err squeezed = cop_journal_keep_compress(folder, 1, NULL);
		cop_err squeezed_second = cop_journal_keep_compress(folder, 10, NULL);
		cop_err removing = cop_journal_keep_retain(folder, 0, 12, &removed, NULL);
		failed = cop_test_io_failed();
		cop_test_io_fail(COP_TEST_IO_ALL, 0, false, 0);
		assert_int_equal(cut == COP_OK && squeezed == COP_OK && squeezed_second == COP_OK && removing == COP_OK,
		        !failed);
		assert_int_equal(cop_journal_keep_cut_tail(folder, &tail, NULL), COP_OK);
		assert_int_equal(cop_journal_keep_compress(folder, 10, NULL), COP_OK);
		assert_int_equal(cop_journal_keep_retain(folder, 0, 12, &removed, NULL), COP_OK);
		check_whole(10, 25);
		assert_int_equal(count_segments(), 2);
	}
	assert_true(n > 20);
}

/* Whatever fails, the reason of the call that failed is what is reported, and nothing is left behind. */
static void test_journal_compress_reports_the_call_that_failed(void **state)
{
	(void)state;
	static const unsigned kinds[] = { COP_TEST_IO_WRITE, COP_TEST_IO_READ, COP_TEST_IO_SYNC, COP_TEST_IO_RENAME };
	char temporary[160];
	write_journal(1, 9, 0);
	write_journal(10, 12, 0);
	(void)snprintf(temporary, sizeof temporary, "%s/00000000000000000001.journal.tmp.zst", folder);
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		unsigned long n = 1;
		for (bool failed = true; failed; n++) {
			cop_diag diag = { .message = "" };
			cop_test_io_fail(kinds[k], n, false, EIO);
			cop_err err = cop_journal_keep_compress(folder, 1, &diag);
			failed = cop_test_io_failed();
			cop_test_io_fail(COP_TEST_IO_ALL, 0, false, 0);
			assert_int_equal(err, failed ? COP_EIO : COP_OK);
			if (failed)
				assert_non_null(strstr(diag.message, strerror(EIO)));
			assert_int_not_equal(access(temporary, F_OK), 0);
		}
		assert_true(n > 1);
		empty_folder();
		write_journal(1, 9, 0);
		write_journal(10, 12, 0);
	}
}

static void test_journal_salvage_with_any_call_failing_says_so(void **state)
{
	(void)state;
	char out[80];
	char command[200];
	write_journal(1, 20, 200);
	(void)snprintf(out, sizeof out, "%s/out", folder);
	(void)snprintf(command, sizeof command, "rm -rf %s && mkdir %s", out, out);
	unsigned long n = 1;
	for (bool failed = true; failed; n++) {
		assert_int_equal(system(command), 0);
		cop_journal_salvage_report report = { .skipped = NULL };
		cop_test_io_fail(COP_TEST_IO_ALL & ~(unsigned)COP_TEST_IO_CUT, n, false, EIO);
		cop_err err = cop_journal_salvage(folder, out, &report, NULL);
		failed = cop_test_io_failed();
		cop_test_io_fail(COP_TEST_IO_ALL, 0, false, 0);
		assert_true(err == COP_OK || err == COP_EIO);
		if (err == COP_OK)
			assert_true(report.records == 20 || report.skips > 0 || failed);
		if (!failed)
			assert_int_equal(report.records, 20);
	}
	assert_true(n > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_journal_with_any_call_failing_loses_nothing_durable),
		TEST(test_journal_with_unsynced_pages_lost_loses_nothing_durable),
		TEST(test_journal_close_whose_sync_fails_says_so),
		TEST(test_journal_recover_with_a_batch_that_does_not_fit_is_refused),
		TEST(test_journal_care_with_any_call_failing_leaves_every_record),
		TEST(test_journal_compress_reports_the_call_that_failed),
		TEST(test_journal_salvage_with_any_call_failing_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
