/* Files of secrets and of rules: what others may not be able to do, by each bit of the mode. */
#include "base/file_guarded.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

static char path[] = "/tmp/test_file_guarded_XXXXXX";

static void test_file_is_opened_unless_others_may_do_too_much(void **state)
{
	(void)state;
	static const struct {
		mode_t mode;
		cop_err as[3]; /* public, rules, secret */
	} cases[] = { { 0600, { COP_OK, COP_OK, COP_OK } }, { 0660, { COP_OK, COP_OK, COP_OK } },
		{ 0604, { COP_OK, COP_OK, COP_EIO } }, { 0602, { COP_OK, COP_EIO, COP_EIO } },
		{ 0606, { COP_OK, COP_EIO, COP_EIO } }, { 0601, { COP_OK, COP_OK, COP_OK } } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (unsigned guard = COP_FILE_PUBLIC; guard <= COP_FILE_SECRET; guard++) {
			FILE *file;
			cop_diag diag = { .message = "" };
			char text[8] = "";
			assert_int_equal(chmod(path, cases[i].mode), 0);
			cop_err err = cop_file_guarded_open(path, (cop_file_guard)guard, &file, &diag);
			assert_int_equal(err, cases[i].as[guard]);
			if (err == COP_OK) {
				assert_non_null(fgets(text, sizeof text, file));
				assert_string_equal(text, "abc");
				assert_int_equal(fclose(file), 0);
			} else {
				assert_null(file);
				assert_string_equal(diag.source, path);
				assert_non_null(strstr(diag.message, guard == COP_FILE_RULES ? "o-w" : "o-rw"));
			}
		}
}

static void test_file_that_is_not_there_is_named(void **state)
{
	(void)state;
	FILE *file;
	cop_diag diag = { .message = "" };
	assert_int_equal(cop_file_guarded_open("/nowhere/key", COP_FILE_SECRET, &file, &diag), COP_EIO);
	assert_null(file);
	assert_string_equal(diag.source, "/nowhere/key");
	assert_non_null(strstr(diag.message, "No such file"));
}

static int make_file(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	return fd < 0 || write(fd, "abc", 3) != 3 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_is_opened_unless_others_may_do_too_much),
		cmocka_unit_test(test_file_that_is_not_there_is_named),
	};
	return cmocka_run_group_tests(tests, make_file, remove_file);
}
