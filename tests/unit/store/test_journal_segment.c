/* The bytes of records, headers and names, and the example in docs/journal.md. */
#include "journal_fixture.h"

#include "base/crc32c.h"

static void test_journal_record_put_and_begin_end_give_equal_bytes(void **state)
{
	(void)state;
	cop_bytes a;
	cop_bytes b;
	cop_bytes_init(&a);
	cop_bytes_init(&b);
	for (uint64_t sequence = 1; sequence < 20; sequence++) {
		put_record(&a, sequence);
		size_t start = cop_journal_record_begin(&b, sequence, type_of(sequence));
		for (size_t i = 0; i < length_of(sequence); i++)
			cop_bytes_put_u8(&b, byte_of(sequence, i));
		cop_journal_record_end(&b, start);
	}
	assert_int_equal(a.length, b.length);
	assert_memory_equal(a.data, b.data, a.length);
	size_t at = 0;
	for (uint64_t sequence = 1; sequence < 20; sequence++) {
		cop_journal_record record;
		size_t need;
		assert_int_equal(cop_journal_frame_parse(a.data + at, a.length - at, &record, &need), COP_OK);
		check_record(&record, sequence);
		at += need;
	}
	assert_int_equal(at, a.length);
	cop_bytes_fini(&a);
	cop_bytes_fini(&b);
}

static void test_journal_record_outside_what_is_allowed_is_refused(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_journal_record_put(&bytes, 0, 1, "x", 1);
	assert_int_equal(bytes.err, COP_EINVAL);
	cop_bytes_clear(&bytes);
	cop_journal_record_put(&bytes, 1, COP_JOURNAL_MARK, "x", 1);
	assert_int_equal(bytes.err, COP_EINVAL);
	cop_bytes_clear(&bytes);
	cop_journal_record_put(&bytes, 1, 1, "x", COP_JOURNAL_BODY_MAX + 1);
	assert_int_equal(bytes.err, COP_EINVAL);
	cop_bytes_clear(&bytes);
	cop_journal_header_put(&bytes, 1, "x", COP_JOURNAL_MODEL_SET_MAX + 1);
	assert_int_equal(bytes.err, COP_EINVAL);
	cop_bytes_fini(&bytes);
}

static void test_journal_frame_cut_or_flipped_is_not_intact(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	put_record(&bytes, 5);
	cop_journal_record record;
	size_t need;
	for (size_t have = 0; have < bytes.length; have++) {
		assert_int_equal(cop_journal_frame_parse(bytes.data, have, &record, &need), COP_EEND);
		assert_true(need > have && need <= bytes.length);
	}
	for (size_t i = 0; i < bytes.length * 8; i++) {
		bytes.data[i / 8] ^= (uint8_t)(1u << i % 8);
		assert_int_not_equal(cop_journal_frame_parse(bytes.data, bytes.length, &record, &need), COP_OK);
		bytes.data[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	cop_bytes_fini(&bytes);
}

static void test_journal_header_reads_back_and_damage_is_found(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_journal_header_put(&bytes, 77, "some models", 11);
	assert_int_equal(bytes.length, COP_JOURNAL_HEADER_MIN + 11);
	cop_journal_header header;
	cop_diag diag = { .source = "kept" };
	size_t need;
	assert_int_equal(cop_journal_header_parse(bytes.data, bytes.length, &header, &need, &diag), COP_OK);
	assert_int_equal(header.base, 77);
	assert_int_equal(header.length, bytes.length);
	assert_int_equal(header.model_set_length, 11);
	assert_memory_equal(header.model_set, "some models", 11);
	for (size_t have = 0; have < bytes.length; have++)
		assert_int_equal(cop_journal_header_parse(bytes.data, have, &header, &need, NULL), COP_EEND);
	for (size_t i = 0; i < bytes.length * 8; i++) {
		bytes.data[i / 8] ^= (uint8_t)(1u << i % 8);
		cop_err err = cop_journal_header_parse(bytes.data, bytes.length, &header, &need, &diag);
		assert_true(err == COP_EFORMAT || (err == COP_EEND && need > bytes.length));
		bytes.data[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	assert_string_equal(diag.source, "kept");
	cop_bytes_fini(&bytes);
}

static void test_journal_list_is_by_rising_base_and_of_segments_only(void **state)
{
	(void)state;
	save(path_of(30, false), "12345", 5);
	save(path_of(4, true), "1", 1);
	save(path_of(COP_JOURNAL_BASE_MAX, false), "", 0);
	save(path_of(7, false), "", 0);
	save(path_of(7, true), "", 0);
	save(path_of(0, false), "", 0);
	assert_int_equal(mkdir(path_of(9, false), 0700), 0);
	char path[128];
	static const char *const others[] = { "1.journal", "00000000000000000011.journal.tmp",
		"00000000000000000012.checkpoint", "x" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", folder, others[i]);
		save(path, "", 0);
	}
	cop_journal_file *files;
	size_t count;
	assert_int_equal(cop_journal_list(folder, &files, &count, NULL), COP_OK);
	assert_int_equal(count, 4);
	static const uint64_t bases[] = { 4, 7, 30, COP_JOURNAL_BASE_MAX };
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(files[i].base, bases[i]);
		assert_int_equal(files[i].compressed, i == 0);
	}
	assert_int_equal(files[2].bytes, 5);
	cop_mem_free(files);
	cop_diag diag;
	assert_int_equal(cop_journal_list("/nonexistent", &files, &count, &diag), COP_ENOTFOUND);
	assert_string_equal(diag.source, "/nonexistent");
}

static void test_journal_segment_whose_number_is_no_records_is_refused_by_name(void **state)
{
	(void)state;
	static const char *const names[] = { "18446744073709551615.journal", "99999999999999999999.journal.zst" };
	save(path_of(4, false), "", 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[160];
		cop_diag diag = { .message = "" };
		cop_journal_file *files;
		size_t count;
		char *found;
		(void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		save(path, "", 0);
		assert_int_equal(cop_journal_list(folder, &files, &count, &diag), COP_EFORMAT);
		assert_null(files);
		assert_int_equal(count, 0);
		assert_non_null(strstr(diag.message, names[i]));
		assert_int_equal(cop_journal_find(path, &found, &files, &count, &diag), COP_EFORMAT);
		assert_non_null(strstr(diag.message, names[i]));
		assert_int_equal(remove(path), 0);
	}
	cop_journal_writer *writer;
	const cop_journal_settings settings = { 0 };
	assert_int_equal(
	        cop_journal_writer_open(folder, &settings, COP_JOURNAL_BASE_MAX + 1, &writer, NULL), COP_EINVAL);
}

/* Opens the manual beside this source's tree; NULL when only the program is there. */
static FILE *open_manual(void)
{
	static const char tail[] = "tests/unit/store/test_journal_segment.c";
	char path[1024];
	size_t length = strlen(__FILE__);
	if (length < sizeof tail - 1 || length >= sizeof path - 32)
		return NULL;
	memcpy(path, __FILE__, length - (sizeof tail - 1));
	memcpy(path + length - (sizeof tail - 1), "docs/journal.md", sizeof "docs/journal.md");
	return fopen(path, "r");
}

/* The bytes of the manual's ```hex block: pairs of digits up to the first '|' or '#' of each line. */
static size_t read_hex(FILE *file, uint8_t *out, size_t room)
{
	char line[256];
	size_t length = 0;
	while (fgets(line, sizeof line, file) != NULL && strcmp(line, "```hex\n") != 0)
		continue;
	while (fgets(line, sizeof line, file) != NULL && strcmp(line, "```\n") != 0) {
		line[strcspn(line, "#")] = '\0';
		const char *at = line;
		unsigned byte;
		int used;
		while (length < room && sscanf(at, " %2x%n", &byte, &used) == 1) {
			out[length++] = (uint8_t)byte;
			at += used;
		}
	}
	return length;
}

static void test_journal_manual_shows_the_bytes_that_are_written(void **state)
{
	(void)state;
	FILE *file = open_manual();
	if (file == NULL) {
		print_message("docs/journal.md is not beside the source: skipped\n");
		skip();
	}
	uint8_t manual[512];
	size_t length = read_hex(file, manual, sizeof manual);
	(void)fclose(file);
	cop_journal_settings settings = { .model_set = "demo", .model_set_length = 4 };
	cop_journal_writer *writer;
	assert_int_equal(cop_journal_writer_open(folder, &settings, 1, &writer, NULL), COP_OK);
	cop_bytes batch;
	cop_bytes_init(&batch);
	cop_journal_record_put(&batch, 1, 1, "hello", 5);
	assert_int_equal(cop_journal_write(writer, batch.data, batch.length, 1, 1, NULL), COP_OK);
	assert_int_equal(cop_journal_sync(writer, NULL), COP_OK);
	cop_bytes_clear(&batch);
	cop_journal_record_put(&batch, 2, 3, NULL, 0);
	assert_int_equal(cop_journal_write(writer, batch.data, batch.length, 2, 1, NULL), COP_OK);
	size_t size;
	uint8_t *written = load(path_of(1, false), &size);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	for (size_t i = 0; i < size && (size != length || memcmp(written, manual, size) != 0); i++)
		print_message("%02x%s", written[i], i % 16 == 15 ? "\n" : " ");
	assert_int_equal(length, size);
	assert_memory_equal(manual, written, size);
	free(written);
	cop_bytes_fini(&batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_journal_record_put_and_begin_end_give_equal_bytes),
		TEST(test_journal_record_outside_what_is_allowed_is_refused),
		TEST(test_journal_frame_cut_or_flipped_is_not_intact),
		TEST(test_journal_header_reads_back_and_damage_is_found),
		TEST(test_journal_segment_whose_number_is_no_records_is_refused_by_name),
		TEST(test_journal_list_is_by_rising_base_and_of_segments_only),
		TEST(test_journal_manual_shows_the_bytes_that_are_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
