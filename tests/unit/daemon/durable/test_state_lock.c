/* Who may have a state folder, and what becomes of the lock when folder or file are taken away. Locks of two opens are
 * two locks, so that one process stands for two. */
#include "daemon/durable/state_lock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"
#include "support_io.h"

static char place[64], state_dir[96], file[128], away[128];

static unsigned descriptors;

static int make_place(void **state)
{
	(void)state;
	descriptors = cop_test_io_descriptors();
	(void)snprintf(place, sizeof place, "/tmp/test_state_lock.XXXXXX");
	if (mkdtemp(place) == NULL)
		return 1;
	(void)snprintf(state_dir, sizeof state_dir, "%s/state", place);
	(void)snprintf(file, sizeof file, "%s/lock", state_dir);
	(void)snprintf(away, sizeof away, "%s/away", place);
	return 0;
}

static int drop_place(void **state)
{
	char command[96];
	(void)state;
	if (cop_test_io_descriptors() != descriptors)
		return 1;
	(void)snprintf(command, sizeof command, "rm -r %s", place);
	return system(command);
}

static cop_err try_open(cop_state_lock *lock, cop_diag *diag)
{
	cop_state_lock_init(lock, state_dir);
	return cop_state_lock_open(lock, diag);
}

/* That nobody else gets the folder. */
static void check_held(void)
{
	cop_state_lock other;
	cop_diag diag = { .message = "" };
	assert_int_equal(try_open(&other, &diag), COP_EEXIST);
	assert_non_null(strstr(diag.message, "another coppiced"));
	cop_state_lock_close(&other);
}

static void test_state_lock_keeps_another_daemon_out(void **state)
{
	(void)state;
	cop_state_lock lock, other;
	assert_int_equal(try_open(&lock, NULL), COP_OK);
	assert_int_equal(access(file, F_OK), 0);
	check_held();
	assert_int_equal(cop_state_lock_check(&lock, NULL), COP_OK);
	cop_state_lock_close(&lock);
	cop_state_lock_close(&lock);
	assert_int_equal(try_open(&other, NULL), COP_OK);
	cop_state_lock_close(&other);
}

static void expect_mode(const char *path, mode_t mode)
{
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, mode);
}

static void test_state_lock_is_none_before_and_after(void **state)
{
	(void)state;
	cop_state_lock lock;
	mode_t before = umask(0);
	cop_state_lock_init(&lock, state_dir);
	assert_true(lock.folder == -1 && lock.file == -1);
	assert_int_equal(cop_state_lock_open(&lock, NULL), COP_OK);
	(void)umask(before);
	expect_mode(state_dir, 0750);
	expect_mode(file, 0640);
	assert_int_equal(cop_test_io_descriptors(), descriptors + 2);
	cop_state_lock_close(&lock);
	assert_true(lock.folder == -1 && lock.file == -1);
}

/* Without a standard input its number is a descriptor like any other. */
static void test_state_lock_may_be_descriptor_0(void **state)
{
	(void)state;
	cop_state_lock lock;
	int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);
	assert_true(input >= 0);
	(void)close(STDIN_FILENO);
	cop_err opened = try_open(&lock, NULL);
	bool first = lock.folder == STDIN_FILENO;
	cop_err checked = cop_state_lock_check(&lock, NULL);
	cop_state_lock_close(&lock);
	bool closed = fcntl(STDIN_FILENO, F_GETFD) < 0;
	assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
	assert_true(opened == COP_OK && first && checked == COP_OK && closed);
	assert_int_equal(try_open(&lock, NULL), COP_OK);
	assert_int_equal(unlink(file), 0);
	(void)close(STDIN_FILENO);
	checked = cop_state_lock_check(&lock, NULL); /* makes the file anew */
	cop_err again = cop_state_lock_check(&lock, NULL);
	cop_state_lock_close(&lock);
	closed = fcntl(STDIN_FILENO, F_GETFD) < 0;
	assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
	(void)close(input);
	assert_true(checked == COP_OK && again == COP_OK && closed);
}

static void test_state_lock_holds_when_its_file_is_removed(void **state)
{
	(void)state;
	cop_state_lock lock;
	assert_int_equal(try_open(&lock, NULL), COP_OK);
	assert_int_equal(unlink(file), 0);
	check_held();
	(void)unlink(file);
	assert_int_equal(cop_state_lock_check(&lock, NULL), COP_OK);
	assert_int_equal(access(file, F_OK), 0); /* made again, for daemons that know no other lock */
	check_held();
	cop_state_lock_close(&lock);
}

static void test_state_lock_notices_that_another_has_the_file(void **state)
{
	(void)state;
	cop_state_lock lock, old;
	assert_int_equal(try_open(&lock, NULL), COP_OK);
	assert_int_equal(unlink(file), 0);
	/* A daemon that knows the file alone: the same file in another folder. */
	assert_int_equal(rename(state_dir, away), 0);
	assert_int_equal(try_open(&old, NULL), COP_OK);
	char moved[160];
	(void)snprintf(moved, sizeof moved, "%s/lock", away);
	assert_int_equal(rename(file, moved), 0);
	assert_int_equal(rmdir(state_dir), 0);
	assert_int_equal(rename(away, state_dir), 0);
	cop_diag diag;
	assert_int_equal(cop_state_lock_check(&lock, &diag), COP_EEXIST);
	assert_non_null(strstr(diag.message, "another coppiced"));
	assert_int_equal(cop_state_lock_renew(&lock, &diag), COP_EEXIST);
	cop_state_lock_close(&old);
	assert_int_equal(cop_state_lock_renew(&lock, &diag), COP_OK);
	cop_state_lock_close(&lock);
}

static void test_state_lock_is_renewed_where_the_folder_was_removed(void **state)
{
	(void)state;
	cop_state_lock lock;
	cop_diag diag;
	assert_int_equal(try_open(&lock, NULL), COP_OK);
	assert_int_equal(rename(state_dir, away), 0);
	assert_int_equal(cop_state_lock_check(&lock, &diag), COP_ENOTFOUND);
	assert_non_null(strstr(diag.message, "removed or moved away"));
	assert_int_equal(cop_state_lock_renew(&lock, &diag), COP_OK);
	assert_int_equal(access(file, F_OK), 0);
	assert_int_equal(cop_state_lock_check(&lock, NULL), COP_OK);
	check_held();
	cop_state_lock_close(&lock);
}

static void test_state_lock_is_not_renewed_where_another_daemon_is(void **state)
{
	(void)state;
	cop_state_lock lock, other;
	cop_diag diag = { .message = "" };
	assert_int_equal(try_open(&lock, NULL), COP_OK);
	assert_int_equal(rename(state_dir, away), 0);
	assert_int_equal(try_open(&other, NULL), COP_OK);
	assert_int_equal(cop_state_lock_renew(&lock, &diag), COP_EEXIST);
	assert_non_null(strstr(diag.message, "another coppiced"));
	cop_state_lock_close(&other);
	cop_state_lock_close(&lock);
}

/* A file in the path's way leaves no folder there; a path that leads nowhere is no reason to give the lock up. */
static void test_state_lock_of_a_path_that_cannot_be_followed(void **state)
{
	(void)state;
	char inner[128];
	cop_state_lock lock;
	assert_int_equal(mkdir(state_dir, 0700), 0);
	(void)snprintf(inner, sizeof inner, "%s/inner", state_dir);
	cop_state_lock_init(&lock, inner);
	assert_int_equal(cop_state_lock_open(&lock, NULL), COP_OK);
	assert_int_equal(rename(state_dir, away), 0);
	assert_int_equal(symlink(state_dir, state_dir), 0);
	assert_int_equal(cop_state_lock_check(&lock, NULL), COP_OK);
	assert_int_equal(unlink(state_dir), 0);
	FILE *made = fopen(state_dir, "w");
	assert_non_null(made);
	assert_int_equal(fclose(made), 0);
	assert_int_equal(cop_state_lock_check(&lock, NULL), COP_ENOTFOUND);
	cop_state_lock_close(&lock);
}

static void test_state_lock_does_not_take_a_folder_that_holds_something(void **state)
{
	(void)state;
	cop_state_lock lock;
	cop_diag diag;
	char other[128];
	assert_int_equal(try_open(&lock, NULL), COP_OK);
	assert_int_equal(rename(state_dir, away), 0);
	assert_int_equal(mkdir(state_dir, 0700), 0);
	(void)snprintf(other, sizeof other, "%s/coppice", state_dir);
	assert_int_equal(mkdir(other, 0700), 0);
	assert_int_equal(cop_state_lock_renew(&lock, &diag), COP_EEXIST);
	assert_non_null(strstr(diag.message, "another folder"));
	assert_int_equal(rmdir(other), 0);
	assert_int_equal(rmdir(state_dir), 0);
	assert_int_equal(rename(away, state_dir), 0); /* the former one is back */
	assert_int_equal(cop_state_lock_renew(&lock, &diag), COP_OK);
	check_held();
	cop_state_lock_close(&lock);
}

static void test_state_lock_of_what_is_no_folder_is_an_error(void **state)
{
	(void)state;
	cop_state_lock lock;
	cop_diag diag;
	FILE *made = fopen(state_dir, "w");
	assert_non_null(made);
	assert_int_equal(fclose(made), 0);
	assert_int_equal(try_open(&lock, &diag), COP_EIO);
	assert_string_equal(diag.source, state_dir);
	cop_state_lock_close(&lock);
	cop_state_lock_init(&lock, "/nonexistent/state");
	assert_int_equal(cop_state_lock_open(&lock, &diag), COP_EIO);
	assert_non_null(strstr(diag.message, "cannot make the state folder"));
	assert_int_equal(unlink(state_dir), 0);
	assert_int_equal(mkdir(state_dir, 0700), 0);
	assert_int_equal(mkdir(file, 0700), 0); /* where the lock file would be */
	assert_int_equal(try_open(&lock, &diag), COP_EIO);
	assert_non_null(strstr(diag.message, "cannot open lock"));
	cop_state_lock_close(&lock);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, drop_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_state_lock_keeps_another_daemon_out),
		TEST(test_state_lock_is_none_before_and_after),
		TEST(test_state_lock_may_be_descriptor_0),
		TEST(test_state_lock_is_not_renewed_where_another_daemon_is),
		TEST(test_state_lock_of_a_path_that_cannot_be_followed),
		TEST(test_state_lock_holds_when_its_file_is_removed),
		TEST(test_state_lock_notices_that_another_has_the_file),
		TEST(test_state_lock_is_renewed_where_the_folder_was_removed),
		TEST(test_state_lock_does_not_take_a_folder_that_holds_something),
		TEST(test_state_lock_of_what_is_no_folder_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
