/* A checkpoint that a follower takes part by part, and what a start makes of it. */
#include "daemon/replica/replica_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/checkpoint_file.h"
#include "store/journal_writer.h"
#include "store/state_dir.h"
#include "support.h"

#define LENGTH 100000

static char folder[64], path[256];
static cop_bytes file; /* a checkpoint's, as it is on the disk */

static const char *in(const char *name)
{
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static bool there(const char *name) { return access(in(name), F_OK) == 0; }

static int set_up(void **state)
{
	(void)state;
	char body[LENGTH];
	FILE *stream;
	memset(body, 'x', sizeof body);
	(void)snprintf(folder, sizeof folder, "/tmp/test_replica_copy.XXXXXX");
	if (mkdtemp(folder) == NULL || cop_checkpoint_write(folder, "other", 7, body, sizeof body, NULL) != COP_OK ||
	        (stream = fopen(in("other.00000000000000000007.checkpoint"), "rb")) == NULL)
		return -1;
	cop_bytes_init(&file);
	cop_bytes_reserve(&file, LENGTH + 1000);
	file.length = fread(file.data, 1, LENGTH + 1000, stream);
	(void)fclose(stream);
	return file.length > LENGTH ? 0 : -1;
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

static void keep(void)
{
	cop_replica_copy copy;
	cop_replica_copy_init(&copy, folder);
	assert_int_equal(cop_replica_copy_begin(&copy, "", 7, NULL), COP_OK);
	assert_int_equal(take(&copy, &file, 999), COP_EEND);
	assert_int_equal(cop_replica_copy_keep_checkpoint(&copy, NULL), COP_OK);
	cop_replica_copy_fini(&copy);
	assert_true(there("replica.00000000000000000007.checkpoint"));
	assert_false(there("replica.tmp"));
}

static void settle(const char *expected)
{
	bool settled;
	char to[300], wants[300];
	(void)snprintf(wants, sizeof wants, "%s%s%s", expected[0] == '\0' ? "" : folder, expected[0] == '\0' ? "" : "/",
	        expected);
	assert_int_equal(cop_replica_copy_settle(folder, &settled, to, sizeof to, NULL), COP_OK);
	assert_true(settled);
	assert_string_equal(to, wants);
	assert_true(there("coppice.00000000000000000007.checkpoint"));
	assert_false(there("replica.00000000000000000007.checkpoint"));
	assert_int_equal(cop_replica_copy_settle(folder, &settled, to, sizeof to, NULL), COP_OK);
	assert_false(settled);
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
	keep();
	settle("");
	assert_false(there("journal"));
	assert_false(there("diverged.1"));
}

static void test_copy_in_place_of_records_moves_all_of_them(void **state)
{
	(void)state;
	write_journal(3);
	assert_int_equal(cop_checkpoint_write(folder, "coppice", 9, "old", 3, NULL), COP_OK);
	assert_int_equal(mkdir(in("diverged.1"), 0700), 0);
	keep();
	settle("diverged.2");
	assert_true(there("diverged.2/journal/00000000000000000001.journal"));
	assert_true(there("diverged.2/coppice.00000000000000000009.checkpoint"));
	assert_false(there("journal"));
	assert_true(there("other.00000000000000000007.checkpoint")); /* nobody's of ours */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copy_damaged_on_the_way_is_dropped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_copy_of_a_challenger_goes_where_they_are, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_copy_in_place_of_nothing_moves_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_copy_in_place_of_records_moves_all_of_them, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
