/* The segment being written, or its folder, is taken away under the writer: it notices before it writes, when it syncs,
 * or when it is asked to look; nothing is taken for durable then, and a new writer goes on. */
#include "journal_fixture.h"

#include <errno.h>

#include "support_io.h"

static void remove_it(void) { assert_int_equal(unlink(path_of(1, false)), 0); }
static void cut_it(void) { assert_int_equal(truncate(path_of(1, false), 50), 0); }

static void replace_it(void)
{
	remove_it();
	save(path_of(1, false), "another", 7);
}

static char moved[sizeof folder + 8];

static void move_it(void)
{
	char to[160];
	(void)snprintf(to, sizeof to, "%s/elsewhere", folder);
	assert_int_equal(rename(path_of(1, false), to), 0);
}

static void move_folder(void)
{
	(void)snprintf(moved, sizeof moved, "%s.away", folder);
	assert_int_equal(rename(folder, moved), 0);
}

static void replace_folder(void)
{
	move_folder();
	assert_int_equal(mkdir(folder, 0700), 0);
}

static int drop_both(void **state)
{
	char command[200];
	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf %s %s.away", folder, folder);
	return system(command);
}

#define GONE(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_both)

/* Three records, durable. */
static cop_journal_writer *begin(void)
{
	cop_journal_writer *writer = open_writer(1, 0);
	assert_int_equal(write_batch(writer, 1, 3), COP_OK);
	assert_int_equal(cop_journal_writer_sync(writer, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_check(writer, NULL), COP_OK);
	assert_false(cop_journal_writer_gone(writer));
	return writer;
}

/* The writer cannot be healed, and says what it is about. */
static void check_gone(cop_journal_writer *writer, const char *what)
{
	cop_diag diag = { .message = "" };
	assert_true(cop_journal_writer_broken(writer) && cop_journal_writer_gone(writer));
	assert_int_equal(cop_journal_writer_check(writer, &diag), COP_EIO);
	assert_non_null(strstr(diag.message, what));
	assert_int_equal(write_batch(writer, cop_journal_writer_written(writer) + 1, 1), COP_EIO);
	diag.message[0] = '\0';
	uint64_t next = cop_journal_writer_written(writer) + 1;
	assert_int_equal(cop_journal_writer_recover(writer, NULL, 0, next, 0, &diag), COP_ENOTFOUND);
	assert_non_null(strstr(diag.message, what));
	assert_true(cop_journal_writer_broken(writer));
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
}

static void test_journal_check_notices_whatever_became_of_the_segment(void **state)
{
	(void)state;
	static const struct {
		void (*change)(void);
		const char *what;
	} cases[] = {
		{ remove_it, "removed or cut" },
		{ cut_it, "removed or cut" },
		{ replace_it, "removed or cut" },
		{ move_it, "lost its name" },
		{ move_folder, "folder was removed" },
		{ replace_folder, "folder was removed" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_journal_writer *writer = begin();
		cop_diag diag = { .message = "" };
		cases[i].change();
		assert_int_equal(cop_journal_writer_check(writer, &diag), COP_EIO);
		assert_non_null(strstr(diag.message, cases[i].what));
		assert_non_null(strstr(diag.message, "00000000000000000001.journal"));
		check_gone(writer, cases[i].what);
		assert_int_equal(drop_both(NULL), 0);
		assert_int_equal(mkdir(folder, 0700), 0);
	}
}

static void test_journal_write_to_a_segment_that_is_gone_is_refused(void **state)
{
	(void)state;
	static void (*const changes[])(void) = { remove_it, cut_it };
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		cop_journal_writer *writer = begin();
		changes[i]();
		assert_int_equal(write_batch(writer, 4, 2), COP_EIO);
		assert_int_equal(cop_journal_writer_written(writer), 3);
		check_gone(writer, "removed or cut");
		empty_folder();
	}
}

static void test_journal_cut_segment_is_not_made_longer_at_close(void **state)
{
	(void)state;
	const cop_journal_settings settings = { .preallocate = true };
	cop_journal_writer *writer;
	struct stat status;
	assert_int_equal(cop_journal_writer_open(folder, &settings, 1, &writer, NULL), COP_OK);
	assert_int_equal(write_batch(writer, 1, 3), COP_OK);
	cut_it();
	assert_int_equal(cop_journal_writer_check(writer, NULL), COP_EIO);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	assert_int_equal(stat(path_of(1, false), &status), 0);
	assert_int_equal(status.st_size, 50);
}

static void test_journal_sync_of_a_segment_that_is_gone_is_none(void **state)
{
	(void)state;
	static void (*const changes[])(void) = { remove_it, cut_it };
	for (unsigned i = 0; i < 4; i++) {
		cop_journal_writer *writer = begin();
		cop_journal_ticket ticket;
		assert_int_equal(write_batch(writer, 4, 2), COP_OK);
		assert_int_equal(cop_journal_writer_sync_begin(writer, &ticket), COP_OK);
		changes[i % 2]();
		cop_journal_writer_sync_run(&ticket);
		if (i < 2) {
			assert_int_equal(cop_journal_writer_sync_end(writer, &ticket, NULL), COP_EIO);
		} else {
			(void)close(ticket.fd);
			assert_int_equal(cop_journal_writer_sync(writer, NULL), COP_EIO);
		}
		assert_int_equal(cop_journal_writer_durable(writer), 3);
		check_gone(writer, "removed or cut");
		empty_folder();
	}
}

static void test_journal_segment_that_is_gone_is_not_left_for_the_next_one(void **state)
{
	(void)state;
	cop_journal_writer *writer = begin();
	move_it();
	assert_int_equal(cop_journal_writer_roll(writer, NULL), COP_EIO);
	assert_int_equal(cop_journal_writer_base(writer), 1);
	check_gone(writer, "lost its name");
}

static void test_journal_goes_on_with_a_new_writer_behind_what_is_gone(void **state)
{
	(void)state;
	cop_journal_writer *writer = begin();
	remove_it();
	assert_int_equal(cop_journal_writer_check(writer, NULL), COP_EIO);
	cop_journal_writer *next = open_writer(4, 0);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	assert_int_equal(write_batch(next, 4, 2), COP_OK);
	assert_int_equal(cop_journal_writer_close(next, NULL), COP_OK);
	check_whole(4, 5);
}

static void test_journal_segment_missing_in_between_is_named(void **state)
{
	(void)state;
	cop_journal_tail tail;
	cop_diag diag;
	uint64_t next;
	write_journal(1, 9, 0);
	write_journal(10, 12, 0);
	write_journal(13, 20, 0);
	assert_int_equal(unlink(path_of(10, false)), 0);
	assert_int_equal(read_journal(1, &tail, &next, &diag), COP_EFORMAT);
	assert_int_equal(next, 10);
	assert_non_null(strstr(diag.message, "records 10 to 12 are missing"));
	assert_non_null(strstr(diag.message, "00000000000000000010.journal"));
}

static void test_journal_on_a_full_disk_is_not_opened_and_says_why(void **state)
{
	(void)state;
	const cop_journal_settings settings = { 0 };
	cop_journal_writer *writer;
	static const int codes[] = { ENOSPC, EDQUOT, EIO };
	for (size_t i = 0; i < 3; i++) {
		cop_diag diag;
		cop_test_io_fail(COP_TEST_IO_WRITE, 1, true, codes[i]);
		cop_err err = cop_journal_writer_open(folder, &settings, 1, &writer, &diag);
		cop_test_io_fail(COP_TEST_IO_ALL, 0, false, 0);
		assert_int_equal(err, codes[i] == EIO ? COP_EIO : COP_EFULL);
		assert_null(writer);
		assert_non_null(strstr(diag.message, strerror(codes[i])));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GONE(test_journal_check_notices_whatever_became_of_the_segment),
		GONE(test_journal_write_to_a_segment_that_is_gone_is_refused),
		GONE(test_journal_cut_segment_is_not_made_longer_at_close),
		GONE(test_journal_sync_of_a_segment_that_is_gone_is_none),
		GONE(test_journal_segment_that_is_gone_is_not_left_for_the_next_one),
		GONE(test_journal_goes_on_with_a_new_writer_behind_what_is_gone),
		GONE(test_journal_segment_missing_in_between_is_named),
		GONE(test_journal_on_a_full_disk_is_not_opened_and_says_why),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
