/* Who may have a state folder, and what becomes of the lock when folder or file are taken away. Locks of two opens are
 * two locks, so that one process stands for two. */
#include "daemon/durable/state_lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

static char place[64], state_dir[96], file[128], away[128];

static int make_place(void **state)
{
	(void)state;
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
		TEST(test_state_lock_holds_when_its_file_is_removed),
		TEST(test_state_lock_notices_that_another_has_the_file),
		TEST(test_state_lock_is_renewed_where_the_folder_was_removed),
		TEST(test_state_lock_does_not_take_a_folder_that_holds_something),
		TEST(test_state_lock_of_what_is_no_folder_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
