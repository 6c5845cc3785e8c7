/* The bytes of records, headers and names, and the example in docs/reference/journal.md. */
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
		size_t start = cop_journal_segment_record_begin(&b, sequence, type_of(sequence));
		for (size_t i = 0; i < length_of(sequence); i++)
			cop_bytes_put_u8(&b, byte_of(sequence, i));
		cop_journal_segment_record_end(&b, start);
	}
	assert_int_equal(a.length, b.length);
	assert_memory_equal(a.data, b.data, a.length);
	size_t at = 0;
	for (uint64_t sequence = 1; sequence < 20; sequence++) {
		cop_journal_record record;
		size_t need;
		assert_int_equal(cop_journal_segment_frame_parse(a.data + at, a.length - at, &record, &need), COP_OK);
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
	cop_journal_segment_header_put(&bytes, 1, 0, "x", COP_JOURNAL_MODEL_SET_MAX + 1);
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
		assert_int_equal(cop_journal_segment_frame_parse(bytes.data, have, &record, &need), COP_EEND);
		assert_true(need > have && need <= bytes.length);
	}
	for (size_t i = 0; i < bytes.length * 8; i++) {
		bytes.data[i / 8] ^= (uint8_t)(1u << i % 8);
		assert_int_not_equal(cop_journal_segment_frame_parse(bytes.data, bytes.length, &record, &need), COP_OK);
		bytes.data[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	cop_bytes_fini(&bytes);
}

/* Of a frame's head: the record's length, sequence and the 4 bytes of its type, with the checksum of what it is. */
static cop_err parse_head(uint64_t length, uint64_t sequence, uint32_t type, size_t *need)
{
	uint8_t frame[COP_JOURNAL_FRAME_HEAD + 2] = { 0 };
	uint32_t low = (uint32_t)length;
	memcpy(frame, &low, sizeof low);
	memcpy(frame + 8, &sequence, sizeof sequence);
	memcpy(frame + 16, &type, sizeof type);
	size_t body = length < 2 ? (size_t)length : 2;
	uint32_t crc = cop_crc32c(cop_crc32c(0, frame, 4), frame + 8, COP_JOURNAL_FRAME_HEAD - 8 + body);
	memcpy(frame + 4, &crc, sizeof crc);
	cop_journal_record record;
	return cop_journal_segment_frame_parse(frame, COP_JOURNAL_FRAME_HEAD + body, &record, need);
}

static void test_journal_frame_outside_what_is_allowed_is_refused_whatever_its_checksum(void **state)
{
	(void)state;
	size_t need;
	assert_int_equal(parse_head(1, 1, 1, &need), COP_OK);
	assert_int_equal(parse_head(0, 1, COP_JOURNAL_MARK, &need), COP_OK);
	assert_int_equal(parse_head(2, UINT64_MAX, 255, &need), COP_OK);
	assert_int_equal(parse_head(COP_JOURNAL_BODY_MAX, 1, 1, &need), COP_EEND);
	assert_int_equal(need, COP_JOURNAL_FRAME_HEAD + COP_JOURNAL_BODY_MAX);
	assert_int_equal(parse_head(1, 0, 1, &need), COP_EFORMAT);
	assert_int_equal(parse_head(COP_JOURNAL_BODY_MAX + 1, 1, 1, &need), COP_EFORMAT);
	assert_int_equal(parse_head(1, 1, COP_JOURNAL_MARK, &need), COP_EFORMAT);
	for (unsigned bit = 8; bit < 32; bit++)
		assert_int_equal(parse_head(1, 1, 1 + (1u << bit), &need), COP_EFORMAT);
}

static void test_journal_limits_themselves_are_allowed(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_journal_header header;
	cop_journal_record record;
	size_t need;
	uint8_t *body = cop_mem_alloc(COP_JOURNAL_BODY_MAX, 1);
	assert_non_null(body);
	cop_bytes_init(&bytes);
	cop_journal_record_put(&bytes, 1, 255, body, COP_JOURNAL_BODY_MAX);
	assert_int_equal(cop_journal_segment_frame_parse(bytes.data, bytes.length, &record, &need), COP_OK);
	assert_int_equal(record.length, COP_JOURNAL_BODY_MAX);
	cop_bytes_clear(&bytes);
	cop_journal_segment_header_put(&bytes, COP_JOURNAL_BASE_MAX, 0, body, COP_JOURNAL_MODEL_SET_MAX);
	assert_int_equal(cop_journal_segment_header_parse(bytes.data, bytes.length, &header, &need, NULL), COP_OK);
	assert_int_equal(header.model_set_length, COP_JOURNAL_MODEL_SET_MAX);
	assert_true(header.base == COP_JOURNAL_BASE_MAX);
	cop_bytes_fini(&bytes);
	cop_mem_free(body);
}

/* Headers whose checksum is right. */
static void test_journal_header_that_contradicts_itself_is_refused(void **state)
{
	(void)state;
	static const struct {
		uint32_t version, length;
		uint64_t base;
		uint32_t model_set;
		cop_err want;
		uint64_t offset;
	} cases[] = { { 1, 40, 1, 0, COP_OK, 0 }, { 1, 44, 1, 4, COP_OK, 0 }, { 0, 40, 1, 0, COP_EFORMAT, 0 },
		{ 2, 40, 1, 0, COP_EVERSION, 8 }, { 2, 44, 0, 0, COP_EVERSION, 8 }, { 2, 20, 0, 0, COP_EVERSION, 8 },
		{ 1, 19, 1, 0, COP_EFORMAT, 12 }, { 1, 20, 1, 0, COP_EFORMAT, 12 }, { 1, 39, 1, 0, COP_EFORMAT, 12 },
		{ 1, 39, 1, UINT32_MAX, COP_EFORMAT, 12 }, { 1, 44, 1, 3, COP_EFORMAT, 12 },
		{ 1, 44, 1, 5, COP_EFORMAT, 12 }, { 1, 40, 0, 0, COP_EFORMAT, 12 },
		{ 1, COP_JOURNAL_MODEL_SET_MAX + 4096, 1, 0, COP_EEND, 0 },
		{ 1, COP_JOURNAL_MODEL_SET_MAX + 4097, 1, 0, COP_EFORMAT, 12 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint8_t data[64] = "COPJRNL";
		memcpy(data, "COPJOURN", 8);
		memcpy(data + 8, &cases[i].version, 4);
		memcpy(data + 12, &cases[i].length, 4);
		memcpy(data + 16, &cases[i].base, 8);
		memcpy(data + 32, &cases[i].model_set, 4);
		size_t length = cases[i].length < sizeof data ? cases[i].length : sizeof data;
		uint32_t crc = cop_crc32c(0, data, length - 4);
		memcpy(data + length - 4, &crc, 4);
		cop_journal_header header;
		cop_diag diag = { .offset = 99, .line = 99 };
		size_t need;
		assert_int_equal(cop_journal_segment_header_parse(data, length, &header, &need, &diag), cases[i].want);
		if (cases[i].want == COP_EFORMAT || cases[i].want == COP_EVERSION) {
			assert_int_equal(diag.offset, cases[i].offset);
			assert_int_equal(diag.line, 0);
		}
	}
}

static void test_journal_header_reads_back_and_damage_is_found(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_journal_segment_header_put(&bytes, 77, UINT64_MAX - 5, "some models", 11);
	assert_int_equal(bytes.length, COP_JOURNAL_HEADER_MIN + 11);
	cop_journal_header header;
	cop_diag diag = { .source = "kept" };
	size_t need;
	assert_int_equal(cop_journal_segment_header_parse(bytes.data, bytes.length, &header, &need, &diag), COP_OK);
	assert_int_equal(header.base, 77);
	assert_true(header.epoch == UINT64_MAX - 5);
	assert_int_equal(header.length, bytes.length);
	assert_int_equal(header.model_set_length, 11);
	assert_memory_equal(header.model_set, "some models", 11);
	for (size_t have = 0; have < bytes.length; have++)
		assert_int_equal(cop_journal_segment_header_parse(bytes.data, have, &header, &need, NULL), COP_EEND);
	for (size_t i = 0; i < bytes.length * 8; i++) {
		bytes.data[i / 8] ^= (uint8_t)(1u << i % 8);
		cop_err err = cop_journal_segment_header_parse(bytes.data, bytes.length, &header, &need, &diag);
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

static void expect_one(const char *path, const char *in, uint64_t base, bool compressed, uint64_t bytes)
{
	cop_journal_file *files;
	size_t count;
	char *found;
	assert_int_equal(cop_journal_segment_find(path, &found, &files, &count, NULL), COP_OK);
	assert_string_equal(found, in);
	assert_int_equal(count, 1);
	assert_true(files->base == base && files->compressed == compressed && files->bytes == bytes);
	assert_true(files->modified > 0);
	cop_mem_free(found);
	cop_mem_free(files);
}

static void test_journal_find_takes_one_segment_or_a_folder(void **state)
{
	(void)state;
	char name[COP_JOURNAL_NAME_ROOM], here[1024];
	save(path_of(COP_JOURNAL_BASE_MAX, false), "123", 3);
	save(path_of(4, true), "1", 1);
	expect_one(path_of(COP_JOURNAL_BASE_MAX, false), folder, COP_JOURNAL_BASE_MAX, false, 3);
	expect_one(path_of(4, true), folder, 4, true, 1);
	assert_non_null(getcwd(here, sizeof here));
	assert_int_equal(chdir(folder), 0);
	cop_journal_name(4, true, name);
	expect_one(name, ".", 4, true, 1);
	assert_int_equal(chdir(here), 0);
	cop_journal_file *files;
	size_t count;
	char *found;
	assert_int_equal(cop_journal_segment_find(folder, &found, &files, &count, NULL), COP_OK);
	assert_string_equal(found, folder);
	assert_int_equal(count, 2);
	cop_mem_free(found);
	cop_mem_free(files);
	assert_int_equal(mkdir(path_of(5, false), 0700), 0); /* its name is a segment's, but it is a folder */
	assert_int_equal(cop_journal_segment_find(path_of(5, false), &found, &files, &count, NULL), COP_OK);
	assert_int_equal(count, 0);
	assert_string_equal(found, path_of(5, false));
	cop_mem_free(found);
	assert_int_equal(cop_journal_segment_find(path_of(6, false), &found, &files, &count, NULL), COP_ENOTFOUND);
	assert_true(found == NULL && files == NULL && count == 0);
}

static void test_journal_drop_temporary_removes_those_alone(void **state)
{
	(void)state;
	static const char *const names[] = { "00000000000000000011.journal.tmp", "00000000000000000012.journal.zst.tmp",
		"00000000000000000013.journal", "11.journal.tmp", "x.tmp", "00000000000000000012.journal.tmp",
		"00000000000000000011.journal.tmp.old", "00000000000000000011.journal.tmp.zst" };
	char path[160];
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		save(path, "", 0);
	}
	for (uint64_t below = 11; below <= 13; below++) {
		assert_int_equal(cop_journal_segment_drop_temporary(folder, below, NULL), COP_OK);
		for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
			(void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
			uint64_t base = i == 0 || i > 5 ? 11 : i == 5 ? 12 : UINT64_MAX;
			assert_int_equal(access(path, F_OK) == 0, base >= below);
		}
	}
	assert_int_equal(cop_journal_segment_drop_temporary("/nonexistent", 1, NULL), COP_ENOTFOUND);
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
		assert_int_equal(cop_journal_segment_find(path, &found, &files, &count, &diag), COP_EFORMAT);
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
	memcpy(path + length - (sizeof tail - 1), "docs/reference/journal.md", sizeof "docs/reference/journal.md");
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
		print_message("docs/reference/journal.md is not beside the source: skipped\n");
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
	assert_int_equal(cop_journal_writer_write(writer, batch.data, batch.length, 1, 1, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_sync(writer, NULL), COP_OK);
	cop_bytes_clear(&batch);
	cop_journal_record_put(&batch, 2, 3, NULL, 0);
	assert_int_equal(cop_journal_writer_write(writer, batch.data, batch.length, 2, 1, NULL), COP_OK);
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
		TEST(test_journal_frame_outside_what_is_allowed_is_refused_whatever_its_checksum),
		TEST(test_journal_limits_themselves_are_allowed),
		TEST(test_journal_header_reads_back_and_damage_is_found),
		TEST(test_journal_header_that_contradicts_itself_is_refused),
		TEST(test_journal_find_takes_one_segment_or_a_folder),
		TEST(test_journal_drop_temporary_removes_those_alone),
		TEST(test_journal_segment_whose_number_is_no_records_is_refused_by_name),
		TEST(test_journal_list_is_by_rising_base_and_of_segments_only),
		TEST(test_journal_manual_shows_the_bytes_that_are_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
