/* A checkpoint that a follower takes part by part, and what a start makes of it. */
#include "daemon/replica/replica_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/checkpoint_file.h"
#include "store/journal_writer.h"
#include "store/section_file.h"
#include "store/state_dir.h"
#include "support.h"

#define LENGTH 100000
#define WAITS  "replica.00000000000000000007.checkpoint"
#define RENEWS "renew.00000000000000000007.checkpoint"

static char folder[64], path[256];
static cop_bytes file; /* a checkpoint's, as it is on the disk */

static const char *in(const char *name)
{
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static bool there(const char *name) { return access(in(name), F_OK) == 0; }

/* A checkpoint in which somebody is forgotten since that record; 0: nobody is. */
static int make_file(uint64_t forgot)
{
	FILE *stream;
	cop_bytes body;
	cop_bytes_init(&body);
	cop_bytes_fini(&file);
	cop_bytes_init(&file);
	const size_t whole = cop_section_file_begin(&body);
	size_t section = cop_section_file_begin_section(&body, "daemon", 1);
	cop_bytes_put_f64(&body, 1.5);
	const uint64_t rest[] = { 21, 11, 3, forgot }; /* journal_next, journal_base, epoch */
	for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
		cop_bytes_put_u64(&body, rest[i]);
	cop_section_file_end_section(&body, section);
	section = cop_section_file_begin_section(&body, "filling", 1);
	for (size_t i = 0; i < LENGTH; i++)
		cop_bytes_put_u8(&body, 'x');
	cop_section_file_end_section(&body, section);
	cop_section_file_end(&body, whole);
	cop_err err = cop_checkpoint_write(folder, "other", 7, body.data, body.length, NULL);
	cop_bytes_fini(&body);
	if (err != COP_OK || (stream = fopen(in("other.00000000000000000007.checkpoint"), "rb")) == NULL)
		return -1;
	cop_bytes_reserve(&file, LENGTH + 1000);
	file.length = fread(file.data, 1, LENGTH + 1000, stream);
	(void)fclose(stream);
	return file.length > LENGTH ? 0 : -1;
}

static int set_up(void **state)
{
	(void)state;
	cop_bytes_init(&file);
	(void)snprintf(folder, sizeof folder, "/tmp/test_replica_copy.XXXXXX");
	return mkdtemp(folder) == NULL ? -1 : make_file(0);
}

static int tear_down(void **state)
{
	(void)state;
	char command[128];
	cop_bytes_fini(&file);
	(void)snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command); /* NOLINT: a test's own folder */
}

static cop_err take(cop_replica_copy *copy, const cop_bytes *whole, size_t part)
{
	cop_err err = COP_OK;
	for (size_t at = 0; at < whole->length && err == COP_OK; at += part) {
		size_t length = whole->length - at < part ? whole->length - at : part;
		err = cop_replica_copy_take(copy, whole->data + at, length, whole->length, NULL);
	}
	return err;
}

/* forgot: in what is there. */
static void keep(uint64_t forgot, const char *name)
{
	cop_replica_copy copy;
	cop_replica_copy_init(&copy, folder);
	assert_int_equal(cop_replica_copy_begin(&copy, "", 7, NULL), COP_OK);
	assert_int_equal(take(&copy, &file, 999), COP_EEND);
	assert_int_equal(cop_replica_copy_keep_checkpoint(&copy, forgot, NULL), COP_OK);
	cop_replica_copy_fini(&copy);
	assert_true(there(name));
	assert_false(there("replica.tmp"));
}

static void settle(const char *expected, bool erased)
{
	cop_replica_settled settled;
	char wants[300];
	(void)snprintf(wants, sizeof wants, "%s%s%s", expected[0] == '\0' ? "" : folder, expected[0] == '\0' ? "" : "/",
	        expected);
	assert_int_equal(cop_replica_copy_settle(folder, &settled, NULL), COP_OK);
	assert_true(settled.done);
	assert_int_equal(settled.erased, erased);
	assert_string_equal(settled.to, wants);
	assert_true(there("coppice.00000000000000000007.checkpoint"));
	assert_false(there("replica.00000000000000000007.checkpoint"));
	assert_false(there("renew.00000000000000000007.checkpoint"));
	assert_int_equal(cop_replica_copy_settle(folder, &settled, NULL), COP_OK);
	assert_false(settled.done);
}

static void test_copy_damaged_on_the_way_is_dropped(void **state)
{
	(void)state;
	cop_replica_copy copy;
	cop_replica_copy_init(&copy, folder);
	file.data[LENGTH / 2] ^= 1;
	assert_int_equal(cop_replica_copy_begin(&copy, "", 7, NULL), COP_OK);
	assert_int_equal(take(&copy, &file, 4096), COP_EFORMAT);
	file.data[LENGTH / 2] ^= 1;
	assert_int_equal(cop_replica_copy_begin(&copy, "", 7, NULL), COP_OK);
	assert_int_equal(cop_replica_copy_take(&copy, file.data, 0, file.length, NULL), COP_EFORMAT); /* it was cut */
	assert_int_equal(copy.file, -1);
	assert_false(there("replica.tmp"));
}

static void test_copy_of_a_challenger_goes_where_they_are(void **state)
{
	(void)state;
	cop_replica_copy copy;
	cop_replica_copy_init(&copy, folder);
	assert_int_equal(cop_replica_copy_begin(&copy, "m", 3, NULL), COP_OK);
	assert_int_equal(take(&copy, &file, 70000), COP_EEND);
	assert_int_equal(cop_replica_copy_place_challenger(&copy, NULL), COP_OK);
	assert_true(there("refit/refit.m.00000000000000000003.checkpoint"));
}

/* A journal whose only segment has so many records. */
static void write_journal(uint64_t records)
{
	const cop_journal_settings settings = { 0 };
	cop_journal_writer *writer;
	cop_bytes batch;
	cop_bytes_init(&batch);
	for (uint64_t i = 1; i <= records; i++)
		cop_journal_record_put(&batch, i, 1, "x", 1);
	assert_int_equal(mkdir(in("journal"), 0700), 0);
	assert_int_equal(cop_journal_writer_open(in("journal"), &settings, 1, &writer, NULL), COP_OK);
	if (records > 0)
		assert_int_equal(cop_journal_writer_write(writer, batch.data, batch.length, 1, records, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	cop_bytes_fini(&batch);
}

static void test_copy_in_place_of_nothing_moves_nothing(void **state)
{
	(void)state;
	write_journal(0);
	keep(0, WAITS);
	settle("", false);
	assert_false(there("journal"));
	assert_false(there("diverged.1"));
}

static void test_copy_in_place_of_records_moves_all_of_them(void **state)
{
	(void)state;
	write_journal(3);
	assert_int_equal(cop_checkpoint_write(folder, "coppice", 9, "old", 3, NULL), COP_OK);
	assert_int_equal(mkdir(in("diverged.1"), 0700), 0);
	keep(0, WAITS);
	settle("diverged.2", false);
	assert_true(there("diverged.2/journal/00000000000000000001.journal"));
	assert_true(there("diverged.2/coppice.00000000000000000009.checkpoint"));
	assert_false(there("journal"));
	assert_true(there("other.00000000000000000007.checkpoint")); /* nobody's of ours */
}

/* Records, a checkpoint and a challenger of before. */
static void write_state(void)
{
	write_journal(3);
	assert_int_equal(cop_checkpoint_write(folder, "coppice", 9, "old", 3, NULL), COP_OK);
	assert_int_equal(mkdir(in("refit"), 0700), 0);
	assert_int_equal(cop_checkpoint_write(in("refit"), "refit.m", 1, "old", 3, NULL), COP_OK);
}

static void test_copy_that_forgets_more_erases_what_was_there(void **state)
{
	(void)state;
	write_state();
	assert_int_equal(make_file(15), 0);
	keep(14, RENEWS);
	settle("", true);
	assert_false(there("journal"));
	assert_false(there("refit"));
	assert_false(there("coppice.00000000000000000009.checkpoint"));
	assert_false(there("diverged.1"));
	assert_true(there("other.00000000000000000007.checkpoint"));
}

static void test_copy_that_forgets_as_much_or_less_moves_what_was_there(void **state)
{
	(void)state;
	write_state();
	assert_int_equal(make_file(15), 0);
	keep(15, WAITS);
	settle("diverged.1", false);
	write_journal(2);
	assert_int_equal(make_file(0), 0);
	keep(15, WAITS);
	settle("diverged.2", false);
	assert_true(there("diverged.1/refit/refit.m.00000000000000000001.checkpoint"));
	assert_true(there("diverged.2/journal"));
}

static void test_copy_that_erases_goes_on_where_a_start_ended(void **state)
{
	(void)state;
	write_state();
	assert_int_equal(make_file(15), 0);
	keep(0, RENEWS);
	assert_int_equal(unlink(in("coppice.00000000000000000009.checkpoint")), 0); /* as far as it came */
	settle("", true);
	assert_false(there("journal"));
}

static void test_copy_without_a_mark_is_not_kept(void **state)
{
	(void)state;
	cop_replica_copy copy;
	cop_diag why = { 0 };
	assert_int_equal(cop_checkpoint_write(folder, "bare", 1, "no sections", 11, NULL), COP_OK);
	FILE *stream = fopen(in("bare.00000000000000000001.checkpoint"), "rb");
	assert_non_null(stream);
	file.length = fread(file.data, 1, LENGTH, stream);
	(void)fclose(stream);
	cop_replica_copy_init(&copy, folder);
	assert_int_equal(cop_replica_copy_begin(&copy, "", 7, NULL), COP_OK);
	assert_int_equal(take(&copy, &file, 999), COP_EEND);
	assert_int_equal(cop_replica_copy_keep_checkpoint(&copy, 0, &why), COP_EFORMAT);
	assert_string_not_equal(why.message, "");
	cop_replica_copy_fini(&copy);
	assert_false(there(WAITS) || there(RENEWS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copy_damaged_on_the_way_is_dropped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_copy_of_a_challenger_goes_where_they_are, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_copy_in_place_of_nothing_moves_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_copy_in_place_of_records_moves_all_of_them, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_copy_that_forgets_more_erases_what_was_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		        test_copy_that_forgets_as_much_or_less_moves_what_was_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_copy_that_erases_goes_on_where_a_start_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_copy_without_a_mark_is_not_kept, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
