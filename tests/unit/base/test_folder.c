/* What makes a folder's name last, and what goes wrong with it. That the sync reaches the disk is shown by machine
 * kills (tests/fault/test_machine_kills.py). */
#include "support.h"
#include "support_io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"

static char place[] = "/tmp/cop_folder_XXXXXX";
static char inner[64], file[64], synced[256];
static unsigned descriptors;

static int make_place(void **state)
{
	(void)state;
	descriptors = cop_test_io_descriptors();
	if (mkdtemp(place) == NULL)
		return -1;
	(void)snprintf(inner, sizeof inner, "%s/inner", place);
	(void)snprintf(file, sizeof file, "%s/file", place);
	FILE *made = fopen(file, "w");
	return made == NULL ? -1 : fclose(made);
}

static int drop_place(void **state)
{
	(void)state;
	(void)unlink(file);
	return cop_test_io_descriptors() == descriptors ? rmdir(place) : -1;
}

/* Before a sync that fails: which folder it is of. */
static void note(int fd)
{
	char link[64];
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, synced, sizeof synced - 1);
	synced[n < 0 ? 0 : n] = '\0';
}

static void test_make_makes_or_finds_the_folder_and_syncs_its_parent(void **state)
{
	(void)state;
	struct stat status;
	for (int i = 0; i < 2; i++) {
		cop_test_io_fail(COP_TEST_IO_SYNC, 0, false, 0);
		assert_int_equal(cop_folder_make(inner, 0750), COP_OK);
		assert_int_equal(cop_test_io_count(), 1);
	}
	assert_int_equal(stat(inner, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0750);
	cop_test_io_on_lost(note);
	cop_test_io_fail(COP_TEST_IO_SYNC, 1, false, EIO);
	assert_int_equal(cop_folder_make(inner, 0750), COP_EIO);
	assert_int_equal(errno, EIO);
	cop_test_io_on_lost(NULL);
	assert_string_equal(synced, place);
	assert_int_equal(rmdir(inner), 0);
}

static void test_sync_is_of_the_folder_itself(void **state)
{
	(void)state;
	cop_test_io_fail(COP_TEST_IO_SYNC, 0, false, 0);
	assert_int_equal(cop_folder_sync(place), COP_OK);
	assert_int_equal(cop_test_io_count(), 1);
	cop_test_io_on_lost(note);
	cop_test_io_fail(COP_TEST_IO_SYNC, 1, false, ENOSPC);
	assert_int_equal(cop_folder_sync(place), COP_EIO);
	assert_int_equal(errno, ENOSPC);
	cop_test_io_on_lost(NULL);
	assert_string_equal(synced, place);
	cop_test_io_fail(0, 0, false, 0);
	assert_int_equal(cop_folder_sync(inner), COP_EIO);
	assert_int_equal(errno, ENOENT);
}

static void test_failures_have_their_reason_and_leave_nothing_open(void **state)
{
	(void)state;
	cop_test_io_fail(0, 0, false, 0);
	assert_int_equal(cop_folder_sync_parent(inner), COP_EIO);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(cop_folder_make(file, 0750), COP_EIO);
	assert_int_equal(errno, ENOTDIR);
	char deep[96];
	(void)snprintf(deep, sizeof deep, "%s/deep", inner);
	assert_int_equal(cop_folder_make(deep, 0750), COP_EIO);
	assert_int_equal(errno, ENOENT);
	for (unsigned long n = 1; n <= 2; n++) {
		cop_test_io_fail(COP_TEST_IO_OPEN, n, false, EMFILE);
		assert_int_equal(cop_folder_sync_parent(place), COP_EIO);
		assert_int_equal(errno, EMFILE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_make_makes_or_finds_the_folder_and_syncs_its_parent),
		cmocka_unit_test(test_sync_is_of_the_folder_itself),
		cmocka_unit_test(test_failures_have_their_reason_and_leave_nothing_open),
	};
	return cmocka_run_group_tests(tests, make_place, drop_place);
}
