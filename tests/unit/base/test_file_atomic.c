#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_atomic.h"

static char folder[] = "/tmp/cop_file_atomic_XXXXXX";

static const char *in_folder(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];
	(void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL ? -1 : 0;
}

/* Fails when a temporary file was left. */
static int remove_folder(void **state)
{
	(void)state;
	for (const char *const *name = (const char *const[]){ "file", "link", "fifo", "new", NULL }; *name != NULL;
	        name++)
		(void)unlink(in_folder(*name));
	(void)rmdir(in_folder("sub"));
	return rmdir(folder);
}

static void expect_content(const char *path, const char *expected)
{
	char text[64] = "";
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	size_t n = fread(text, 1, sizeof text - 1, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(n, strlen(expected));
	assert_string_equal(text, expected);
}

static cop_err save(const char *path, const char *text, cop_diag *diag)
{
	return cop_file_atomic_save(path, text, strlen(text), diag);
}

static void test_save_replaces_content_and_keeps_mode(void **state)
{
	(void)state;
	struct stat status;
	assert_int_equal(save(in_folder("file"), "old", NULL), COP_OK);
	assert_int_equal(chmod(in_folder("file"), 0604), 0);
	assert_int_equal(save(in_folder("file"), "newer", NULL), COP_OK);
	expect_content(in_folder("file"), "newer");
	assert_int_equal(stat(in_folder("file"), &status), 0);
	assert_int_equal(status.st_mode & 07777, 0604);
}

static void test_save_new_file_has_mode_of_umask(void **state)
{
	(void)state;
	struct stat status;
	(void)unlink(in_folder("new"));
	mode_t before = umask(027);
	assert_int_equal(save(in_folder("new"), "x", NULL), COP_OK);
	(void)umask(before);
	assert_int_equal(stat(in_folder("new"), &status), 0);
	assert_int_equal(status.st_mode & 07777, 0640);
}

static void test_save_through_links_keeps_them(void **state)
{
	(void)state;
	struct stat status;
	assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
	assert_int_equal(symlink("../file", in_folder("sub/second")), 0);
	assert_int_equal(symlink("sub/second", in_folder("link")), 0);
	for (int round = 0; round < 2; round++) { /* the target is there, then it is not */
		assert_int_equal(save(in_folder("link"), "target", NULL), COP_OK);
		assert_int_equal(lstat(in_folder("link"), &status), 0);
		assert_true(S_ISLNK(status.st_mode));
		assert_int_equal(lstat(in_folder("sub/second"), &status), 0);
		assert_true(S_ISLNK(status.st_mode));
		assert_int_equal(lstat(in_folder("file"), &status), 0);
		assert_true(S_ISREG(status.st_mode));
		expect_content(in_folder("file"), "target");
		assert_int_equal(unlink(in_folder("file")), 0);
	}
	assert_int_equal(unlink(in_folder("link")), 0);
	assert_int_equal(unlink(in_folder("sub/second")), 0);
	assert_int_equal(rmdir(in_folder("sub")), 0);
}

static void test_save_link_to_itself_is_error(void **state)
{
	(void)state;
	cop_diag diag;
	assert_int_equal(symlink("link", in_folder("link")), 0);
	assert_int_equal(save(in_folder("link"), "x", &diag), COP_EIO);
	assert_int_equal(errno, ELOOP);
	assert_int_equal(unlink(in_folder("link")), 0);
}

static void expect_refused(const char *path, mode_t kind)
{
	cop_diag diag;
	struct stat status;
	assert_int_equal(save(path, "x", &diag), COP_EIO);
	assert_string_equal(diag.source, path);
	assert_non_null(strstr(diag.message, "expected a regular file"));
	assert_int_equal(lstat(path, &status), 0);
	assert_int_equal(status.st_mode & S_IFMT, kind);
}

static void test_save_refuses_what_is_no_regular_file(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	expect_refused(in_folder("fifo"), S_IFIFO);
	assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
	expect_refused(in_folder("sub"), S_IFDIR);
	expect_refused("/dev/full", S_IFCHR);
	/* behind a link as well, which stays */
	assert_int_equal(symlink("fifo", in_folder("link")), 0);
	assert_int_equal(save(in_folder("link"), "x", NULL), COP_EIO);
	struct stat status;
	assert_int_equal(lstat(in_folder("fifo"), &status), 0);
	assert_true(S_ISFIFO(status.st_mode));
}

static void test_abandon_leaves_the_file_as_it_was(void **state)
{
	(void)state;
	cop_file_atomic *file;
	assert_int_equal(save(in_folder("file"), "kept", NULL), COP_OK);
	assert_int_equal(cop_file_atomic_begin(in_folder("file"), &file, NULL), COP_OK);
	assert_int_equal(cop_file_atomic_write(file, "lost", 4, NULL), COP_OK);
	cop_file_atomic_abandon(file);
	expect_content(in_folder("file"), "kept");
}

static void test_commit_onto_what_became_a_folder_is_error(void **state)
{
	(void)state;
	cop_file_atomic *file;
	cop_diag diag;
	(void)unlink(in_folder("new"));
	assert_int_equal(cop_file_atomic_begin(in_folder("new"), &file, NULL), COP_OK);
	assert_int_equal(mkdir(in_folder("new"), 0700), 0);
	assert_int_equal(cop_file_atomic_commit(file, &diag), COP_EIO);
	assert_string_equal(diag.source, in_folder("new"));
	assert_int_equal(rmdir(in_folder("new")), 0);
}

static void test_two_writers_do_not_mix(void **state)
{
	(void)state;
	cop_file_atomic *first, *second;
	assert_int_equal(cop_file_atomic_begin(in_folder("file"), &first, NULL), COP_OK);
	assert_int_equal(cop_file_atomic_begin(in_folder("file"), &second, NULL), COP_OK);
	assert_int_equal(cop_file_atomic_write(first, "first", 5, NULL), COP_OK);
	assert_int_equal(cop_file_atomic_write(second, "second", 6, NULL), COP_OK);
	assert_int_equal(cop_file_atomic_commit(second, NULL), COP_OK);
	expect_content(in_folder("file"), "second");
	assert_int_equal(cop_file_atomic_commit(first, NULL), COP_OK);
	expect_content(in_folder("file"), "first");
}

static void test_save_long_name_fits(void **state)
{
	(void)state;
	char name[256];
	char path[512];
	memset(name, 'n', 255); /* the longest name of a file */
	name[255] = '\0';
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(save(path, "x", NULL), COP_OK);
	assert_int_equal(unlink(path), 0);
}

static void test_save_allocation_failure_is_enomem(void **state)
{
	(void)state;
	size_t n = 1;
	for (;; n++) {
		cop_test_alloc_fail(n, 0);
		cop_err err = save(in_folder("file"), "x", NULL);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
	}
	assert_true(n > 3);
}

ssize_t __real_write(int fd, const void *data, size_t length);
ssize_t __wrap_write(int fd, const void *data, size_t length);

enum { INTERRUPTED = -1, BROKEN = -2 };

/* What the next calls of write() do: so many bytes at most, or an error; then as ever. */
static const int *script;
static size_t script_left;

ssize_t __wrap_write(int fd, const void *data, size_t length)
{
	if (script_left == 0)
		return __real_write(fd, data, length);
	script_left--;
	int most = *script++;
	if (most < 0) {
		errno = most == INTERRUPTED ? EINTR : EIO;
		return -1;
	}
	return most == 0 ? 0 : __real_write(fd, data, length < (size_t)most ? length : (size_t)most);
}

/* Ten bytes into a file; their number in it. */
static size_t write_ten(const int *calls, size_t count, cop_err *err)
{
	char path[] = "/tmp/test_file_atomic_XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	script = calls;
	script_left = count;
	errno = 0;
	*err = cop_file_write_all(fd, "0123456789", 10);
	int why = errno;
	assert_int_equal(script_left, 0);
	char back[16];
	ssize_t length = pread(fd, back, sizeof back, 0);
	assert_true(length >= 0);
	assert_memory_equal(back, "0123456789", (size_t)length);
	assert_int_equal(close(fd), 0);
	assert_int_equal(unlink(path), 0);
	errno = why;
	return (size_t)length;
}

static void test_writes_that_are_short_or_interrupted_go_on(void **state)
{
	(void)state;
	static const int some[] = { INTERRUPTED, 3, 1, INTERRUPTED, 2 }, full[] = { 4, 0 }, broken[] = { 1, BROKEN };
	cop_err err;
	assert_int_equal(write_ten(some, 5, &err), 10);
	assert_int_equal(err, COP_OK);
	assert_int_equal(write_ten(full, 2, &err), 4);
	assert_true(err == COP_EIO && errno == ENOSPC);
	assert_int_equal(write_ten(broken, 2, &err), 1);
	assert_true(err == COP_EIO && errno == EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_save_replaces_content_and_keeps_mode),
		cmocka_unit_test(test_save_new_file_has_mode_of_umask),
		cmocka_unit_test(test_save_through_links_keeps_them),
		cmocka_unit_test(test_save_link_to_itself_is_error),
		cmocka_unit_test(test_save_refuses_what_is_no_regular_file),
		cmocka_unit_test(test_abandon_leaves_the_file_as_it_was),
		cmocka_unit_test(test_commit_onto_what_became_a_folder_is_error),
		cmocka_unit_test(test_two_writers_do_not_mix),
		cmocka_unit_test(test_save_long_name_fits),
		cmocka_unit_test(test_save_allocation_failure_is_enomem),
		cmocka_unit_test(test_writes_that_are_short_or_interrupted_go_on),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
