#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "store/model_file.h"

/* alpha 1 "abc"; beta 2 empty; alpha 3 holding a whole file with one section "inner". */
static void write_sample(cop_bytes *bytes)
{
	size_t file = cop_model_file_begin(bytes);
	size_t section = cop_model_file_begin_section(bytes, "alpha", 1);
	cop_bytes_put(bytes, "abc", 3);
	cop_model_file_end_section(bytes, section);
	section = cop_model_file_begin_section(bytes, "beta", 2);
	cop_model_file_end_section(bytes, section);
	section = cop_model_file_begin_section(bytes, "alpha", 3);
	size_t nested = cop_model_file_begin(bytes);
	size_t inner = cop_model_file_begin_section(bytes, "fifteen-letters", 7);
	cop_bytes_put_u32(bytes, 42);
	cop_model_file_end_section(bytes, inner);
	cop_model_file_end(bytes, nested);
	cop_model_file_end_section(bytes, section);
	cop_model_file_end(bytes, file);
}

static cop_err open_bytes(cop_model_file *file, const cop_bytes *bytes)
{
	return cop_model_file_open(file, bytes->data, bytes->length, "sample", NULL);
}

static void test_sections_round_trip_by_name_and_number(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_model_file file, nested;
	cop_model_section section;
	cop_bytes_init(&bytes);
	write_sample(&bytes);
	assert_int_equal(bytes.err, COP_OK);
	assert_int_equal(open_bytes(&file, &bytes), COP_OK);
	assert_int_equal(file.sections, 3);
	assert_int_equal(cop_model_file_find(&file, "alpha", 0, 1, &section), COP_OK);
	assert_int_equal(section.length, 3);
	assert_memory_equal(section.data, "abc", 3);
	assert_int_equal(cop_model_file_find(&file, "beta", 0, 9, &section), COP_OK);
	assert_int_equal(section.length, 0);
	assert_int_equal(section.version, 2);
	assert_int_equal(cop_model_file_find(&file, "alpha", 1, 3, &section), COP_OK);
	assert_int_equal(cop_model_file_open(&nested, section.data, section.length, NULL, NULL), COP_OK);
	assert_int_equal(cop_model_file_find(&nested, "fifteen-letters", 0, 7, &section), COP_OK);
	cop_cursor cursor;
	cop_cursor_init(&cursor, section.data, section.length);
	assert_int_equal(cop_cursor_u32(&cursor), 42);
	cop_bytes_fini(&bytes);
}

static void test_find_absent_or_newer_is_error(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_model_file file;
	cop_model_section section;
	cop_bytes_init(&bytes);
	write_sample(&bytes);
	assert_int_equal(open_bytes(&file, &bytes), COP_OK);
	assert_int_equal(cop_model_file_find(&file, "gamma", 0, 1, &section), COP_ENOTFOUND);
	assert_int_equal(cop_model_file_find(&file, "alpha", 2, 9, &section), COP_ENOTFOUND);
	assert_int_equal(cop_model_file_find(&file, "alpha", 1, 2, &section), COP_EVERSION);
	cop_bytes_fini(&bytes);
}

static void test_next_enumerates_all_in_order(void **state)
{
	(void)state;
	static const char *const names[] = { "alpha", "beta", "alpha" };
	cop_bytes bytes;
	cop_model_file file;
	cop_model_section section;
	cop_bytes_init(&bytes);
	write_sample(&bytes);
	assert_int_equal(open_bytes(&file, &bytes), COP_OK);
	size_t at = 0, count = 0;
	while (cop_model_file_next(&file, &at, &section)) {
		assert_true(count < 3);
		assert_string_equal(section.name, names[count]);
		assert_int_equal(section.version, ++count);
	}
	assert_int_equal(count, 3);
	cop_bytes_fini(&bytes);
}

static void test_empty_file_opens(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_model_file file;
	cop_model_section section;
	size_t at = 0;
	cop_bytes_init(&bytes);
	cop_model_file_end(&bytes, cop_model_file_begin(&bytes));
	assert_int_equal(bytes.length, 24);
	assert_int_equal(open_bytes(&file, &bytes), COP_OK);
	assert_false(cop_model_file_next(&file, &at, &section));
	cop_bytes_fini(&bytes);
}

/* The copy has no byte to spare, so that the sanitizer sees a read past the end. */
static cop_err open_exact(const uint8_t *data, size_t length)
{
	cop_model_file file;
	uint8_t *copy = malloc(length == 0 ? 1 : length);
	assert_non_null(copy);
	memcpy(copy, data, length);
	cop_err err = cop_model_file_open(&file, copy, length, NULL, NULL);
	free(copy);
	return err;
}

static void test_open_cut_anywhere_is_format_error(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	write_sample(&bytes);
	for (size_t cut = 0; cut < bytes.length; cut++)
		assert_int_equal(open_exact(bytes.data, cut), COP_EFORMAT);
	cop_bytes_put_u8(&bytes, 0);
	assert_int_equal(open_exact(bytes.data, bytes.length), COP_EFORMAT);
	cop_bytes_fini(&bytes);
}

static void test_open_any_bit_flipped_is_refused(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	write_sample(&bytes);
	for (size_t at = 0; at < bytes.length; at++)
		for (int bit = 0; bit < 8; bit++) {
			bytes.data[at] ^= (uint8_t)(1 << bit);
			cop_err err = open_exact(bytes.data, bytes.length);
			assert_true(err == COP_EFORMAT || (err == COP_EVERSION && at >= 4 && at < 8));
			bytes.data[at] ^= (uint8_t)(1 << bit);
		}
	assert_int_equal(open_exact(bytes.data, bytes.length), COP_OK);
	cop_bytes_fini(&bytes);
}

/* Sets both checksums right again, so that only the header's own checks are left to refuse it. */
static void seal(cop_bytes *bytes)
{
	uint32_t crc = cop_crc32c(0, bytes->data, 20);
	memcpy(bytes->data + 20, &crc, 4);
	if (bytes->length >= 56) {
		crc = cop_crc32c(cop_crc32c(0, bytes->data + 24, 28), bytes->data + 56, bytes->length - 56);
		memcpy(bytes->data + 52, &crc, 4);
	}
}

static void test_open_lying_headers_with_good_checksums_are_refused(void **state)
{
	(void)state;
	static const struct {
		size_t at;
		uint64_t value;
		size_t length;
	} lies[] = {
		{ 44, 1000, 8 },                     /* section longer than the file */
		{ 44, UINT64_MAX, 8 },               /* so long that sums overflow */
		{ 44, 3, 8 },                        /* shorter: bytes remain behind it */
		{ 16, 2, 4 },                        /* more sections than there are */
		{ 16, UINT32_MAX, 4 }, { 16, 0, 4 }, /* fewer */
		{ 8, 4096, 8 },                      /* file length */
		{ 24, 0, 1 },                        /* empty name */
		{ 25, ' ', 1 },                      /* a space in the name */
		{ 30, 'x', 1 },                      /* letters after the name's end */
		{ 4, 0, 4 },                         /* version 0 */
	};
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		size_t file = cop_model_file_begin(&bytes);
		size_t section = cop_model_file_begin_section(&bytes, "one", 1);
		cop_bytes_put_u64(&bytes, 5);
		cop_model_file_end_section(&bytes, section);
		cop_model_file_end(&bytes, file);
		seal(&bytes);
		assert_int_equal(open_exact(bytes.data, bytes.length), COP_OK);
		memcpy(bytes.data + lies[i].at, &lies[i].value, lies[i].length);
		seal(&bytes);
		assert_int_equal(open_exact(bytes.data, bytes.length), COP_EFORMAT);
		cop_bytes_fini(&bytes);
	}
}

static void test_open_newer_version_is_named(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_model_file file;
	cop_diag diag;
	cop_bytes_init(&bytes);
	write_sample(&bytes);
	bytes.data[4] = COP_MODEL_FILE_VERSION + 1;
	assert_int_equal(cop_model_file_open(&file, bytes.data, bytes.length, "m.cop", &diag), COP_EVERSION);
	assert_string_equal(diag.source, "m.cop");
	assert_non_null(strstr(diag.message, "newer"));
	cop_bytes_fini(&bytes);
}

static void test_write_allocation_failure_is_sticky(void **state)
{
	(void)state;
	unsigned long n = 1;
	for (;; n++) {
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		cop_test_alloc_fail(n, 0);
		write_sample(&bytes);
		cop_test_alloc_fail(0, 0);
		cop_err err = bytes.err;
		cop_bytes_fini(&bytes);
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
	}
	assert_true(n >= 2);
}

static char folder[] = "/tmp/cop_model_file_XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	(void)snprintf(path, sizeof path, "%s/m.cop", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(folder); /* fails when a temporary file was left */
}

static void test_save_load_gives_same_bytes(void **state)
{
	(void)state;
	cop_bytes bytes, back;
	cop_bytes_init(&bytes);
	cop_bytes_init(&back);
	cop_bytes_put(&back, "old", 3);
	for (int round = 0; round < 2; round++) { /* new, then replaced */
		write_sample(&bytes);
		assert_int_equal(cop_model_file_save(path, &bytes, NULL), COP_OK);
		assert_int_equal(cop_model_file_load(path, &back, NULL), COP_OK);
		assert_int_equal(back.length, bytes.length);
		assert_memory_equal(back.data, bytes.data, bytes.length);
	}
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&back);
}

static void test_save_impossible_path_leaves_nothing(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_diag diag;
	char wrong[128];
	cop_bytes_init(&bytes);
	write_sample(&bytes);
	(void)snprintf(wrong, sizeof wrong, "%s/absent/m.cop", folder);
	assert_int_equal(cop_model_file_save(wrong, &bytes, &diag), COP_EIO);
	assert_int_equal(errno, ENOENT);
	assert_string_equal(diag.source, wrong);
	(void)snprintf(wrong, sizeof wrong, "%s/taken", folder);
	assert_int_equal(mkdir(wrong, 0700), 0); /* a folder cannot be replaced: the temporary file goes again */
	assert_int_equal(cop_model_file_save(wrong, &bytes, &diag), COP_EIO);
	assert_int_equal(rmdir(wrong), 0);
	bytes.err = COP_ENOMEM;
	assert_int_equal(cop_model_file_save(path, &bytes, &diag), COP_ENOMEM);
	cop_bytes_fini(&bytes);
}

static void test_load_absent_or_folder_is_error(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_diag diag;
	cop_bytes_init(&bytes);
	(void)unlink(path);
	assert_int_equal(cop_model_file_load(path, &bytes, &diag), COP_ENOTFOUND);
	assert_string_equal(diag.source, path);
	assert_int_equal(cop_model_file_load(folder, &bytes, &diag), COP_EFORMAT);
	cop_bytes_fini(&bytes);
}

static void test_save_load_allocation_failure_is_enomem(void **state)
{
	(void)state;
	cop_bytes bytes, back;
	cop_bytes_init(&bytes);
	cop_bytes_init(&back);
	write_sample(&bytes);
	assert_int_equal(cop_model_file_save(path, &bytes, NULL), COP_OK);
	cop_test_alloc_fail(1, 0);
	assert_int_equal(cop_model_file_save(path, &bytes, NULL), COP_ENOMEM);
	cop_test_alloc_fail(1, 0);
	assert_int_equal(cop_model_file_load(path, &back, NULL), COP_ENOMEM);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_model_file_load(path, &back, NULL), COP_OK);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sections_round_trip_by_name_and_number),
		cmocka_unit_test(test_find_absent_or_newer_is_error),
		cmocka_unit_test(test_next_enumerates_all_in_order),
		cmocka_unit_test(test_empty_file_opens),
		cmocka_unit_test(test_open_cut_anywhere_is_format_error),
		cmocka_unit_test(test_open_any_bit_flipped_is_refused),
		cmocka_unit_test(test_open_lying_headers_with_good_checksums_are_refused),
		cmocka_unit_test(test_open_newer_version_is_named),
		cmocka_unit_test(test_write_allocation_failure_is_sticky),
		cmocka_unit_test(test_save_load_gives_same_bytes),
		cmocka_unit_test(test_save_impossible_path_leaves_nothing),
		cmocka_unit_test(test_load_absent_or_folder_is_error),
		cmocka_unit_test(test_save_load_allocation_failure_is_enomem),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
