/* Where a checkpoint stands, from its section's bytes. */
#include "store/state_mark.h"

#include <string.h>
#include <unistd.h>

#include "store/checkpoint_file.h"
#include "store/state_dir.h"
#include "support.h"

static cop_err read_back(const cop_bytes *bytes, cop_state_mark *out)
{
	cop_section_file file;
	assert_int_equal(cop_section_file_open(&file, bytes->data, bytes->length, NULL, NULL), COP_OK);
	return cop_state_mark_read(&file, out);
}

static void put(cop_bytes *bytes, const char *name, uint32_t version, size_t numbers)
{
	cop_bytes_clear(bytes);
	size_t file = cop_section_file_begin(bytes);
	size_t section = cop_section_file_begin_section(bytes, name, version);
	if (numbers > 0)
		cop_bytes_put_f64(bytes, 12.5);
	for (size_t i = 1; i < numbers; i++)
		cop_bytes_put_u64(bytes, 40 + i);
	cop_section_file_end_section(bytes, section);
	cop_section_file_end(bytes, file);
	assert_int_equal(bytes->err, COP_OK);
}

static void test_mark_is_read_and_what_is_missing_is_named(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_state_mark mark;
	cop_bytes_init(&bytes);
	put(&bytes, COP_STATE_DIR_MARK, COP_STATE_DIR_MARK_VERSION, 3);
	assert_int_equal(read_back(&bytes, &mark), COP_OK);
	assert_true(mark.time == 12.5 && mark.journal_next == 41 && mark.journal_base == 42 && mark.epoch == 0);
	put(&bytes, COP_STATE_DIR_MARK, COP_STATE_DIR_MARK_VERSION, 4);
	assert_int_equal(read_back(&bytes, &mark), COP_OK);
	assert_true(mark.journal_base == 42 && mark.epoch == 43 && mark.forgot == 0);
	put(&bytes, COP_STATE_DIR_MARK, COP_STATE_DIR_MARK_VERSION, 5);
	assert_int_equal(read_back(&bytes, &mark), COP_OK);
	assert_true(mark.epoch == 43 && mark.forgot == 44);
	put(&bytes, COP_STATE_DIR_MARK, COP_STATE_DIR_MARK_VERSION, 2);
	assert_int_equal(read_back(&bytes, &mark), COP_EFORMAT);
	put(&bytes, COP_STATE_DIR_MARK, COP_STATE_DIR_MARK_VERSION + 1, 3);
	assert_int_equal(read_back(&bytes, &mark), COP_EVERSION);
	put(&bytes, "other", 1, 3);
	assert_int_equal(read_back(&bytes, &mark), COP_ENOTFOUND);
	assert_true(mark.time == 0.0 && mark.journal_next == 0 && mark.journal_base == 0);
	cop_bytes_fini(&bytes);
}

/* Of a file on the disk its beginning does, whatever the rest is like. */
static void test_mark_is_read_from_the_beginning_of_a_file(void **state)
{
	(void)state;
	static const char path[] = "/tmp/test_state_mark.00000000000000000007.checkpoint";
	cop_bytes bytes;
	cop_state_mark mark;
	cop_diag diag = { .message = "" };
	cop_bytes_init(&bytes);
	put(&bytes, COP_STATE_DIR_MARK, COP_STATE_DIR_MARK_VERSION, 4);
	for (size_t i = 0; i < 1000; i++)
		cop_bytes_put_u8(&bytes, 0xff); /* no section at all */
	assert_int_equal(cop_checkpoint_write("/tmp", "test_state_mark", 7, bytes.data, bytes.length, NULL), COP_OK);
	assert_int_equal(cop_state_mark_glance(path, &mark, &diag), COP_OK);
	assert_true(mark.time == 12.5 && mark.journal_next == 41 && mark.journal_base == 42 && mark.epoch == 43);
	bytes.data[24 + 32 + 8] ^= 1; /* in the section */
	assert_int_equal(cop_checkpoint_write("/tmp", "test_state_mark", 7, bytes.data, bytes.length, NULL), COP_OK);
	assert_int_equal(cop_state_mark_glance(path, &mark, &diag), COP_EFORMAT);
	assert_true(mark.journal_next == 0 && strstr(diag.message, cop_err_text(COP_EFORMAT)) != NULL);
	put(&bytes, COP_STATE_DIR_MARK, COP_STATE_DIR_MARK_VERSION + 1, 4);
	assert_int_equal(cop_checkpoint_write("/tmp", "test_state_mark", 7, bytes.data, bytes.length, NULL), COP_OK);
	assert_int_equal(cop_state_mark_glance(path, &mark, NULL), COP_EVERSION);
	put(&bytes, "other", 1, 3);
	assert_int_equal(cop_checkpoint_write("/tmp", "test_state_mark", 7, bytes.data, bytes.length, NULL), COP_OK);
	assert_int_equal(cop_state_mark_glance(path, &mark, NULL), COP_ENOTFOUND);
	for (size_t length = 0; length < bytes.length; length++) {
		assert_int_equal(cop_checkpoint_write("/tmp", "test_state_mark", 7, bytes.data, length, NULL), COP_OK);
		assert_int_equal(cop_state_mark_glance(path, &mark, NULL), COP_EFORMAT);
	}
	cop_bytes_clear(&bytes);
	size_t file = cop_section_file_begin(&bytes);
	cop_section_file_end(&bytes, file); /* without sections */
	assert_int_equal(cop_checkpoint_write("/tmp", "test_state_mark", 7, bytes.data, bytes.length, NULL), COP_OK);
	assert_int_equal(cop_state_mark_glance(path, &mark, NULL), COP_ENOTFOUND);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(cop_state_mark_glance(path, &mark, NULL), COP_ENOTFOUND);
	assert_int_equal(cop_state_mark_glance("/tmp", &mark, NULL), COP_EFORMAT);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mark_is_read_and_what_is_missing_is_named),
		cmocka_unit_test(test_mark_is_read_from_the_beginning_of_a_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
