/* Where a checkpoint stands, from its section's bytes. */
#include "store/state_mark.h"
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
	assert_true(mark.journal_base == 42 && mark.epoch == 43);
	put(&bytes, COP_STATE_DIR_MARK, COP_STATE_DIR_MARK_VERSION, 2);
	assert_int_equal(read_back(&bytes, &mark), COP_EFORMAT);
	put(&bytes, COP_STATE_DIR_MARK, COP_STATE_DIR_MARK_VERSION + 1, 3);
	assert_int_equal(read_back(&bytes, &mark), COP_EVERSION);
	put(&bytes, "other", 1, 3);
	assert_int_equal(read_back(&bytes, &mark), COP_ENOTFOUND);
	assert_true(mark.time == 0.0 && mark.journal_next == 0 && mark.journal_base == 0);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mark_is_read_and_what_is_missing_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
