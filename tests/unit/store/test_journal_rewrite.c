/* Segments rewritten: what the editor changes is changed, all else is as it was; after any failure and any kill each
 * segment is the old or the new one, and doing it again ends the work. */
#include "journal_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "store/journal_keep.h"
#include "store/journal_rewrite.h"
#include "store/journal_wipe.h"
#include "support_io.h"

#define LAST   25
#define SECRET "the secret of a record"

/* Record 4 and 15 become one byte of type 9. */
static bool is_wanted(uint64_t sequence) { return sequence == 4 || sequence == 15; }

static cop_err edit(void *context, const cop_journal_record *record, cop_journal_record *out, bool *changed)
{
	static const uint8_t body[1] = { 7 };
	(void)context;
	*changed = is_wanted(record->sequence) && record->type != 9;
	if (!*changed)
		return COP_OK;
	out->type = 9;
	out->body = body;
	out->length = 1;
	return COP_OK;
}

static const cop_journal_editor editor = { edit, NULL };

static void put(cop_bytes *batch, uint64_t sequence)
{
	if (is_wanted(sequence))
		cop_journal_record_put(batch, sequence, 5, SECRET, strlen(SECRET));
	else
		put_record(batch, sequence);
}

static void write_secrets(uint64_t first, uint64_t last)
{
	cop_bytes batch;
	cop_journal_writer *writer = open_writer(first, 0);
	cop_bytes_init(&batch);
	for (uint64_t at = first; at <= last; at++)
		put(&batch, at);
	assert_int_equal(
	        cop_journal_writer_write(writer, batch.data, batch.length, first, last - first + 1, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	cop_bytes_fini(&batch);
}

/* Segments 1 to 9 (plain, compressed, or both), 10 to 19, 20 to 25. */
static void write_all(unsigned form)
{
	size_t length;
	empty_folder();
	write_secrets(1, 9);
	write_secrets(10, 19);
	write_secrets(20, LAST);
	uint8_t *data = load(path_of(1, false), &length);
	if (form > 0)
		assert_int_equal(cop_journal_keep_compress(folder, 1, NULL), COP_OK);
	if (form > 1)
		save(path_of(1, false), data, length);
	free(data);
}

/* Each wanted record is as it was, or (all of them, with `done`) edited; the others as they were. */
static void check_all(bool done)
{
	cop_journal_reader *reader;
	cop_journal_record record;
	uint64_t next = 1;
	assert_int_equal(cop_journal_reader_open(folder, 0, false, &reader, NULL), COP_OK);
	for (; cop_journal_next(reader, &record, NULL) == COP_OK; next++) {
		if (!is_wanted(next))
			check_record(&record, next);
		else if (record.type == 9)
			assert_true(record.sequence == next && record.length == 1 && record.body[0] == 7);
		else
			assert_true(!done && record.sequence == next && record.length == strlen(SECRET));
	}
	assert_int_equal(next, LAST + 1);
	assert_false(cop_journal_reader_tail(reader)->torn);
	cop_journal_reader_close(reader);
}

/* Whether any file of the folder but compressed ones has the text; *temporary counts names of unfinished files. */
static bool finds_secret(size_t *temporary)
{
	bool found = false;
	DIR *dir = opendir(folder);
	assert_non_null(dir);
	const struct dirent *entry;
	*temporary = 0;
	while ((entry = readdir(dir)) != NULL) {
		char path[400];
		size_t length;
		if (entry->d_name[0] == '.')
			continue;
		*temporary += strstr(entry->d_name, ".tmp") != NULL;
		(void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		uint8_t *data = load(path, &length);
		found = found || memmem(data, length, SECRET, strlen(SECRET)) != NULL;
		free(data);
	}
	(void)closedir(dir);
	return found;
}

static void check_end(unsigned form)
{
	size_t temporary;
	check_all(true);
	assert_false(finds_secret(&temporary));
	assert_int_equal(temporary, 0);
	assert_int_equal(count_segments(), 3);
	assert_int_equal(access(path_of(1, true), F_OK) == 0, form == 1);
	assert_int_equal(access(path_of(1, false), F_OK) == 0, form != 1);
}

static void test_rewrite_changes_what_the_editor_changes(void **state)
{
	(void)state;
	for (unsigned form = 0; form < 3; form++) {
		struct stat before, after, other;
		write_all(form);
		const struct timespec then[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000, .tv_nsec = 5 } };
		assert_int_equal(utimensat(AT_FDCWD, path_of(10, false), then, 0), 0);
		assert_int_equal(chmod(path_of(10, false), 0600), 0);
		assert_int_equal(stat(path_of(20, false), &before), 0);
		cop_journal_rewritten done;
		assert_int_equal(cop_journal_rewrite(folder, LAST, &editor, &done, NULL), COP_OK);
		assert_int_equal(done.records, 2);
		assert_int_equal(done.segments, 2);
		assert_true(done.after > 0 && (form > 0 || done.after < done.before));
		check_end(form);
		assert_int_equal(stat(path_of(20, false), &after), 0);
		assert_int_equal(before.st_ino, after.st_ino);
		assert_int_equal(stat(path_of(10, false), &other), 0);
		assert_true(other.st_mtim.tv_sec == 1000000 && other.st_mtim.tv_nsec == 5);
		assert_int_equal(other.st_mode & 0777, 0600);
		assert_int_equal(stat(path_of(1, form == 1), &before), 0);
		assert_int_equal(cop_journal_rewrite(folder, LAST, &editor, &done, NULL), COP_OK);
		assert_int_equal(done.records + done.segments, 0);
		assert_int_equal(stat(path_of(1, form == 1), &after), 0);
		assert_int_equal(before.st_ino, after.st_ino);
	}
}

static void test_rewrite_leaves_what_begins_behind_the_last_and_the_newest(void **state)
{
	(void)state;
	cop_journal_rewritten done;
	write_all(0);
	assert_int_equal(cop_journal_rewrite(folder, 9, &editor, &done, NULL), COP_OK);
	assert_int_equal(done.records, 1);
	assert_int_equal(unlink(path_of(20, false)), 0);
	assert_int_equal(cop_journal_rewrite(folder, LAST, &editor, &done, NULL), COP_OK);
	assert_int_equal(done.records, 0); /* 10 to 19 are the newest now */
	empty_folder();
	assert_int_equal(cop_journal_rewrite(folder, LAST, &editor, &done, NULL), COP_OK);
	assert_int_equal(cop_journal_rewrite("/nonexistent", LAST, &editor, &done, NULL), COP_ENOTFOUND);
}

/* What a failed write left behind a segment's last record, and was written again into the next segment. */
static void test_rewrite_drops_what_stands_behind_a_segments_end(void **state)
{
	(void)state;
	cop_bytes rest;
	size_t length, temporary;
	write_all(0);
	uint8_t *data = load(path_of(1, false), &length);
	cop_bytes_init(&rest);
	cop_bytes_put(&rest, data, length);
	put_record(&rest, 10);
	cop_journal_record_put(&rest, 15, 5, SECRET, strlen(SECRET));
	rest.length -= 3;
	save(path_of(1, false), rest.data, rest.length);
	cop_journal_rewritten done;
	cop_diag diag;
	assert_int_equal(cop_journal_rewrite(folder, LAST, &editor, &done, &diag), COP_OK);
	assert_int_equal(done.segments, 3); /* one of them twice */
	check_all(true);
	assert_false(finds_secret(&temporary));
	free(data);
	cop_bytes_fini(&rest);
}

static void test_rewrite_of_a_damaged_journal_changes_nothing(void **state)
{
	(void)state;
	size_t length;
	struct stat before, after;
	cop_diag diag;
	cop_journal_rewritten done;
	write_all(0);
	uint8_t *data = load(path_of(1, false), &length);
	data[length - 30] ^= 1;
	save(path_of(1, false), data, length);
	free(data);
	assert_int_equal(stat(path_of(10, false), &before), 0);
	assert_int_equal(cop_journal_rewrite(folder, LAST, &editor, &done, &diag), COP_EFORMAT);
	assert_string_equal(diag.source, path_of(1, false));
	assert_int_equal(stat(path_of(10, false), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(done.records, 0);
}

/* ---- failures and kills ---- */

static void test_rewrite_with_any_call_failing_can_be_done_again(void **state)
{
	(void)state;
	static const int codes[] = { EIO, ENOSPC };
	for (unsigned variant = 0; variant < 6; variant++) {
		unsigned long n = 1;
		for (bool failed = true; failed; n++) {
			cop_journal_rewritten done;
			cop_diag diag = { .message = "" };
			write_all(variant % 3);
			cop_test_io_fail(
			        COP_TEST_IO_EVERY & ~(unsigned)COP_TEST_IO_CLOSE, n, variant > 2, codes[variant > 2]);
			cop_err err = cop_journal_rewrite(folder, LAST, &editor, &done, &diag);
			failed = cop_test_io_failed();
			cop_test_io_fail(COP_TEST_IO_ALL, 0, false, 0);
			assert_true(err == COP_OK || err == COP_EIO || err == COP_EFULL);
			assert_true(failed || err == COP_OK);
			assert_int_equal(err != COP_OK, diag.message[0] != '\0');
			check_all(err == COP_OK);
			assert_int_equal(cop_journal_rewrite(folder, LAST, &editor, &done, NULL), COP_OK);
			check_end(variant % 3 == 2 && access(path_of(1, true), F_OK) == 0 ? 1 : variant % 3);
		}
		assert_true(n > 40);
	}
}

static unsigned long calls, kill_at;

static void die(void)
{
	if (++calls == kill_at)
		_exit(7);
}

/* Whether the child came to its end. */
static bool rewrite_killed(unsigned long n)
{
	int status;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		cop_journal_rewritten done;
		calls = 0;
		kill_at = n;
		cop_test_io_fail(COP_TEST_IO_EVERY, 0, false, 0);
		cop_test_io_on_call(die);
		_exit(cop_journal_rewrite(folder, LAST, &editor, &done, NULL) == COP_OK ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 7));
	return WEXITSTATUS(status) == 0;
}

/* Killed before any call: what is left is whole; a start removes the unfinished, and the next one ends the work. */
static void test_rewrite_killed_at_any_call_leaves_each_segment_whole(void **state)
{
	(void)state;
	for (unsigned form = 0; form < 3; form++) {
		unsigned long n = 1;
		for (bool ended = false; !ended; n++) {
			cop_journal_rewritten done;
			size_t temporary;
			write_all(form);
			ended = rewrite_killed(n);
			check_all(ended);
			if (n % 2 == 0) {
				assert_int_equal(cop_journal_segment_drop_temporary(folder, UINT64_MAX, NULL), COP_OK);
				check_all(ended);
				(void)finds_secret(&temporary);
				assert_int_equal(temporary, 0);
			}
			assert_int_equal(cop_journal_rewrite(folder, LAST, &editor, &done, NULL), COP_OK);
			check_end(form);
		}
		assert_true(n > 40);
	}
}

/* ---- wiping ---- */

static void test_wipe_overwrites_but_not_what_has_another_name(void **state)
{
	(void)state;
	char first[120], second[120];
	size_t length;
	(void)snprintf(first, sizeof first, "%s/first", folder);
	(void)snprintf(second, sizeof second, "%s/second", folder);
	save(first, SECRET, strlen(SECRET));
	int fd = open(first, O_RDWR), place = open(folder, O_RDONLY | O_DIRECTORY);
	assert_int_equal(link(first, second), 0);
	assert_false(cop_journal_wipe_bytes(fd));
	assert_true(cop_journal_wipe_file(place, "first"));
	assert_true(cop_journal_wipe_file(place, "first")); /* it is not there */
	uint8_t *data = load(second, &length);
	assert_memory_equal(data, SECRET, strlen(SECRET));
	free(data);
	assert_true(cop_journal_wipe_file(place, "second"));
	char left[sizeof SECRET];
	assert_int_equal(pread(fd, left, sizeof left, 0), (ssize_t)strlen(SECRET));
	for (size_t i = 0; i < strlen(SECRET); i++)
		assert_int_equal(left[i], 0);
	assert_int_equal(mkdir(second, 0700), 0);
	assert_false(cop_journal_wipe_file(place, "second"));
	assert_int_equal(rmdir(second), 0);
	(void)close(fd);
	(void)close(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rewrite_changes_what_the_editor_changes),
		TEST(test_rewrite_leaves_what_begins_behind_the_last_and_the_newest),
		TEST(test_rewrite_drops_what_stands_behind_a_segments_end),
		TEST(test_rewrite_of_a_damaged_journal_changes_nothing),
		TEST(test_rewrite_with_any_call_failing_can_be_done_again),
		TEST(test_rewrite_killed_at_any_call_leaves_each_segment_whole),
		TEST(test_wipe_overwrites_but_not_what_has_another_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
