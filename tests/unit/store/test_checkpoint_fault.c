/* Checkpoint files with the n-th call to the operating system failing, for every n: the older files stay, what is
 * reported is the call that failed, and nothing temporary is left. */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/checkpoint_file.h"
#include "support_io.h"

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/test_checkpoint_XXXXXX");
	return mkdtemp(folder) == NULL;
}

static int drop_folder(void **state)
{
	char command[96];
	(void)state;
	(void)snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command);
}

static void none_fails(void) { cop_test_io_fail(COP_TEST_IO_ALL | COP_TEST_IO_READ, 0, false, 0); }

static void check_newest(uint64_t expected, const char *text)
{
	cop_bytes body;
	uint64_t sequence;
	cop_bytes_init(&body);
	assert_int_equal(cop_checkpoint_newest(folder, "m", &body, &sequence, NULL, NULL), COP_OK);
	assert_int_equal(sequence, expected);
	assert_int_equal(body.length, strlen(text));
	assert_memory_equal(body.data, text, body.length);
	cop_bytes_fini(&body);
}

static void test_checkpoint_write_with_any_call_failing_leaves_the_older_file(void **state)
{
	(void)state;
	assert_int_equal(cop_checkpoint_write(folder, "m", 1, "old", 3, NULL), COP_OK);
	for (int full = 0; full < 2; full++) {
		unsigned long n = 1;
		for (bool failed = true; failed; n++) {
			cop_diag diag = { .message = "" };
			int code = full ? ENOSPC : EIO;
			cop_test_io_fail(COP_TEST_IO_ALL, n, false, code);
			cop_err err = cop_checkpoint_write(folder, "m", 2, "new", 3, &diag);
			failed = cop_test_io_failed();
			none_fails();
			assert_int_equal(err, !failed ? COP_OK : full ? COP_EFULL : COP_EIO);
			if (failed)
				assert_non_null(strstr(diag.message, strerror(code)));
			char path[160];
			(void)snprintf(path, sizeof path, "%s/m.%020d.checkpoint.tmp", folder, 2);
			assert_int_not_equal(access(path, F_OK), 0);
			(void)snprintf(path, sizeof path, "%s/m.%020d.checkpoint", folder, 2);
			if (failed)
				(void)remove(path); /* it may be there, when its folder was not synced */
			check_newest(failed ? 1 : 2, failed ? "old" : "new");
			(void)remove(path);
		}
		assert_true(n > 6);
	}
}

static void test_checkpoint_read_with_any_call_failing_is_no_damage(void **state)
{
	(void)state;
	char path[160];
	cop_bytes body;
	cop_bytes_init(&body);
	assert_int_equal(cop_checkpoint_write(folder, "m", 1, "body", 4, NULL), COP_OK);
	(void)snprintf(path, sizeof path, "%s/m.%020d.checkpoint", folder, 1);
	unsigned long n = 1;
	for (bool failed = true; failed; n++) {
		cop_diag diag = { .message = "" };
		cop_test_io_fail(COP_TEST_IO_OPEN | COP_TEST_IO_READ, n, false, EIO);
		cop_err err = cop_checkpoint_read(path, &body, &diag);
		failed = cop_test_io_failed();
		none_fails();
		assert_int_equal(err, failed ? COP_EIO : COP_OK);
		assert_int_equal(body.length, failed ? 0 : 4);
		if (failed)
			assert_non_null(strstr(diag.message, strerror(EIO)));
	}
	assert_int_equal(n - 1, 4); /* open, head, body, and none */
	cop_bytes_fini(&body);
}

static void test_checkpoint_prune_with_any_call_failing_keeps_the_newest(void **state)
{
	(void)state;
	unsigned long n = 1;
	for (bool failed = true; failed; n++) {
		cop_diag diag = { .message = "" };
		for (uint64_t i = 1; i <= 3; i++)
			assert_int_equal(cop_checkpoint_write(folder, "m", i, "body", 4, NULL), COP_OK);
		cop_test_io_fail(COP_TEST_IO_ALL, n, false, EIO);
		cop_err err = cop_checkpoint_prune(folder, "m", 1, &diag);
		failed = cop_test_io_failed();
		none_fails();
		assert_int_equal(err, failed ? COP_EIO : COP_OK);
		if (failed)
			assert_non_null(strstr(diag.message, strerror(EIO)));
		check_newest(3, "body");
	}
	assert_true(n > 4);
	uint64_t *sequences;
	size_t count;
	assert_int_equal(cop_checkpoint_list(folder, "m", &sequences, &count, NULL), COP_OK);
	assert_int_equal(count, 1);
	cop_mem_free(sequences);
	assert_int_equal(cop_checkpoint_prune(folder, "m", 0, NULL), COP_EINVAL);
	assert_int_equal(cop_checkpoint_prune(folder, ".m", 1, NULL), COP_EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_checkpoint_write_with_any_call_failing_leaves_the_older_file),
		TEST(test_checkpoint_read_with_any_call_failing_is_no_damage),
		TEST(test_checkpoint_prune_with_any_call_failing_keeps_the_newest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
