#include "journal_fixture.h"

#include "base/crc32c.h"

static void test_journal_empty_folder_ends_at_once(void **state)
{
	(void)state;
	cop_journal_tail tail;
	uint64_t next;
	assert_int_equal(read_journal(0, &tail, &next, NULL), COP_EEND);
	assert_int_equal(tail.next_sequence, 1);
	assert_string_equal(tail.file, "");
	assert_int_equal(read_journal(17, &tail, &next, NULL), COP_EEND);
	assert_int_equal(tail.next_sequence, 17);
	cop_journal_reader *reader;
	assert_int_equal(cop_journal_reader_open("/nonexistent", 1, false, &reader, NULL), COP_ENOTFOUND);
	assert_null(reader);
}

static void test_journal_record_before_the_oldest_is_not_found(void **state)
{
	(void)state;
	write_journal(10, 20, 0);
	cop_journal_tail tail;
	cop_diag diag;
	uint64_t next;
	assert_int_equal(read_journal(9, &tail, &next, &diag), COP_ENOTFOUND);
	assert_non_null(strstr(diag.message, "oldest segment begins with 10"));
	check_whole(10, 20);
	assert_int_equal(read_journal(50, &tail, &next, NULL), COP_EEND);
	assert_int_equal(tail.next_sequence, 21);
}

/* Cut at `cut`, the last segment gives the records that are wholly before it. */
static void check_cut(const uint8_t *data, size_t cut, uint64_t base, size_t header)
{
	save(path_of(base, false), data, cut);
	size_t at = header;
	uint64_t whole = base;
	bool torn = cut < header;
	while (!torn && at < cut) {
		cop_journal_record record;
		size_t need;
		torn = cop_journal_segment_frame_parse(data + at, cut - at, &record, &need) != COP_OK;
		if (!torn) {
			at += need;
			whole += record.type != COP_JOURNAL_MARK;
		}
	}
	cop_journal_tail tail;
	uint64_t next;
	assert_int_equal(read_journal(1, &tail, &next, NULL), COP_EEND);
	assert_int_equal(next, whole);
	assert_int_equal(tail.next_sequence, whole);
	assert_int_equal(tail.torn, torn);
	if (torn) {
		assert_int_equal(tail.offset, cut < header ? 0 : at);
		assert_int_equal(tail.bytes, cut - tail.offset);
		assert_string_equal(tail.file, strrchr(path_of(base, false), '/') + 1);
	}
}

static void test_journal_cut_at_any_byte_gives_every_whole_record(void **state)
{
	(void)state;
	write_journal(1, 9, 0);
	write_journal(10, 24, 0);
	size_t length;
	uint8_t *data = load(path_of(10, false), &length);
	for (size_t cut = 0; cut <= length; cut++)
		check_cut(data, cut, 10, COP_JOURNAL_HEADER_MIN + 6);
	free(data);
}

static void test_journal_inner_segment_cut_at_any_byte_is_damage(void **state)
{
	(void)state;
	write_journal(1, 9, 0);
	write_journal(10, 12, 0);
	size_t length;
	uint8_t *data = load(path_of(1, false), &length);
	for (size_t cut = 0; cut < length - COP_JOURNAL_FRAME_HEAD; cut++) { /* its last frame is a mark */
		save(path_of(1, false), data, cut);
		cop_journal_tail tail;
		cop_diag diag = { .message = "" };
		uint64_t next;
		assert_int_equal(read_journal(1, &tail, &next, &diag), COP_EFORMAT);
		assert_true(next < 10);
		assert_string_equal(diag.source, path_of(1, false));
		assert_true(diag.offset <= cut && diag.message[0] != '\0');
	}
	free(data);
}

/* Each bit of the segment in turn: no wrong record is given out, and nothing that a mark covers is lost unsaid. */
static void flip_all(uint64_t base, uint64_t last, bool inner)
{
	size_t length;
	uint8_t *data = load(path_of(base, false), &length);
	for (size_t i = 0; i < length * 8; i++) {
		data[i / 8] ^= (uint8_t)(1u << i % 8);
		save(path_of(base, false), data, length);
		cop_journal_tail tail;
		cop_diag diag = { .message = "" };
		uint64_t next;
		cop_err err = read_journal(1, &tail, &next, &diag);
		if (err == COP_EEND && tail.torn) {
			assert_false(inner);
			assert_true(i / 8 >= length - COP_JOURNAL_FRAME_HEAD); /* the mark at the end */
		}
		if (err == COP_EEND)
			assert_int_equal(next, last + 1);
		else
			assert_true(err == COP_EFORMAT && diag.offset <= i / 8 && diag.source[0] != '\0');
		data[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	save(path_of(base, false), data, length);
	free(data);
}

static void test_journal_with_any_bit_flipped_gives_no_wrong_record(void **state)
{
	(void)state;
	write_journal(1, 7, 0);
	write_journal(8, 14, 0);
	flip_all(1, 14, true);
	flip_all(8, 14, false);
	check_whole(1, 14);
}

static void test_journal_without_segment_in_between_is_a_gap(void **state)
{
	(void)state;
	write_journal(1, 5, 0);
	write_journal(6, 8, 0);
	write_journal(9, 12, 0);
	assert_int_equal(unlink(path_of(6, false)), 0);
	cop_journal_tail tail;
	cop_diag diag;
	uint64_t next;
	assert_int_equal(read_journal(1, &tail, &next, &diag), COP_EFORMAT);
	assert_int_equal(next, 6);
	assert_non_null(strstr(diag.message, "records 6 to 8 are missing"));
	assert_string_equal(diag.source, path_of(1, false));
	check_whole(9, 12);
	cop_journal_reader *reader;
	cop_journal_record record;
	assert_int_equal(cop_journal_reader_open(folder, 4, true, &reader, NULL), COP_OK);
	static const uint64_t expected[] = { 4, 5, 9, 10, 11, 12 };
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(cop_journal_next(reader, &record, NULL), COP_OK);
		check_record(&record, expected[i]);
	}
	assert_int_equal(cop_journal_next(reader, &record, NULL), COP_EEND);
	cop_journal_reader_close(reader);
}

static void test_journal_overlap_prefers_the_newer_segment(void **state)
{
	(void)state;
	write_journal(1, 20, 0);
	size_t length;
	uint8_t *data = load(path_of(1, false), &length);
	memset(data + length - 200, 0x5a, 200);
	save(path_of(1, false), data, length);
	free(data);
	write_journal(10, 25, 0); /* from 10 on again */
	check_whole(1, 25);
	check_whole(15, 25);
}

static void test_journal_zero_tail_is_a_clean_end(void **state)
{
	(void)state;
	write_journal(1, 6, 0);
	struct stat status;
	assert_int_equal(stat(path_of(1, false), &status), 0);
	assert_int_equal(truncate(path_of(1, false), status.st_size + 100000), 0);
	cop_journal_tail tail;
	uint64_t next;
	assert_int_equal(read_journal(1, &tail, &next, NULL), COP_EEND);
	assert_int_equal(next, 7);
	assert_false(tail.torn);
	assert_int_equal(tail.bytes, 100000);
	write_journal(7, 9, 0);
	check_whole(1, 9);
}

/* Records of 1000 bytes without a sync, then one mark if `mark`; the file's second page is zero. */
static void write_with_hole(bool mark)
{
	uint8_t body[1000];
	memset(body, 0x77, sizeof body);
	cop_bytes file;
	cop_bytes_init(&file);
	cop_journal_segment_header_put(&file, 1, 0, NULL, 0);
	for (uint64_t i = 1; i <= 20; i++)
		cop_journal_record_put(&file, i, 1, body, sizeof body);
	uint8_t head[COP_JOURNAL_FRAME_HEAD];
	cop_journal_segment_mark_make(20, head);
	if (mark)
		cop_bytes_put(&file, head, sizeof head);
	memset(file.data + 4096, 0, 4096);
	save(path_of(1, false), file.data, file.length);
	cop_bytes_fini(&file);
}

static void test_journal_page_that_never_reached_the_disk_is_torn_unless_marked(void **state)
{
	(void)state;
	for (int mark = 0; mark < 2; mark++) {
		write_with_hole(mark);
		cop_journal_reader *reader;
		cop_journal_record record;
		cop_diag diag;
		assert_int_equal(cop_journal_reader_open(folder, 0, false, &reader, NULL), COP_OK);
		for (uint64_t i = 1; i <= 3; i++)
			assert_int_equal(cop_journal_next(reader, &record, NULL), COP_OK);
		assert_int_equal(cop_journal_next(reader, &record, &diag), mark ? COP_EFORMAT : COP_EEND);
		const cop_journal_tail *tail = cop_journal_reader_tail(reader);
		assert_int_equal(tail->torn, !mark);
		if (!mark)
			assert_int_equal(tail->offset, COP_JOURNAL_HEADER_MIN + 3 * 1020);
		else
			assert_int_equal(diag.offset, COP_JOURNAL_HEADER_MIN + 3 * 1020);
		cop_journal_reader_close(reader);
	}
}

static void test_journal_of_newer_version_is_refused_by_name(void **state)
{
	(void)state;
	write_journal(1, 5, 0);
	size_t length;
	uint8_t *data = load(path_of(1, false), &length);
	uint32_t version = COP_JOURNAL_VERSION + 1;
	memcpy(data + 8, &version, sizeof version);
	uint32_t crc = cop_crc32c(0, data, COP_JOURNAL_HEADER_MIN + 2);
	memcpy(data + COP_JOURNAL_HEADER_MIN + 2, &crc, sizeof crc);
	save(path_of(1, false), data, length);
	free(data);
	cop_journal_tail tail;
	cop_diag diag;
	uint64_t next;
	assert_int_equal(read_journal(1, &tail, &next, &diag), COP_EVERSION);
	assert_non_null(strstr(diag.message, "version 2 was written by a newer coppice"));
	assert_string_equal(diag.source, path_of(1, false));
}

static void test_journal_segment_under_another_name_is_damage(void **state)
{
	(void)state;
	write_journal(1, 5, 0);
	char other[128];
	(void)snprintf(other, sizeof other, "%s", path_of(2, false));
	assert_int_equal(rename(path_of(1, false), other), 0);
	cop_journal_tail tail;
	uint64_t next;
	assert_int_equal(read_journal(0, &tail, &next, NULL), COP_EFORMAT);
}

/* A body that holds whole records of higher numbers is not mistaken for them while it is intact. */
static void test_journal_record_inside_a_body_is_not_read(void **state)
{
	(void)state;
	cop_bytes inner;
	cop_bytes batch;
	cop_bytes_init(&inner);
	cop_bytes_init(&batch);
	put_record(&inner, 2);
	put_record(&inner, 3);
	cop_journal_record_put(&batch, 1, 7, inner.data, inner.length);
	cop_journal_writer *writer = open_writer(1, 0);
	assert_int_equal(cop_journal_writer_write(writer, batch.data, batch.length, 1, 1, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	cop_journal_reader *reader;
	cop_journal_record record;
	assert_int_equal(cop_journal_reader_open(folder, 0, false, &reader, NULL), COP_OK);
	assert_int_equal(cop_journal_next(reader, &record, NULL), COP_OK);
	assert_int_equal(record.length, inner.length);
	assert_int_equal(cop_journal_next(reader, &record, NULL), COP_EEND);
	cop_journal_reader_close(reader);
	cop_bytes_fini(&inner);
	cop_bytes_fini(&batch);
}

/* Heads that promise long bodies at every byte: the search for an intact record gives up in time. */
static void test_journal_of_imitated_heads_is_judged_in_bounded_time(void **state)
{
	(void)state;
	cop_bytes file;
	cop_bytes_init(&file);
	cop_journal_segment_header_put(&file, 1, 0, NULL, 0);
	uint8_t head[COP_JOURNAL_FRAME_HEAD] = { 0, 0, 0x20, 0, 1, 2, 3, 4, 9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0 };
	for (size_t i = 0; i < 200000; i++)
		cop_bytes_put(&file, head, sizeof head);
	assert_int_equal(file.err, COP_OK);
	save(path_of(1, false), file.data, file.length);
	cop_bytes_fini(&file);
	cop_journal_tail tail;
	uint64_t next;
	assert_int_equal(read_journal(1, &tail, &next, NULL), COP_EFORMAT);
}

static void test_journal_reader_without_memory_fails_cleanly(void **state)
{
	(void)state;
	write_journal(1, 60, 500);
	unsigned long n = 1;
	for (cop_err err = COP_ENOMEM; err != COP_EEND; n++) {
		cop_journal_tail tail;
		uint64_t next;
		cop_test_alloc_fail(n, 0);
		err = read_journal(1, &tail, &next, NULL);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_EEND, cop_test_alloc_failed());
		assert_true(err == COP_ENOMEM || (err == COP_EEND && next == 61));
	}
	assert_true(n > 10);
}

static void test_journal_reader_outside_of_segments_has_no_base_and_no_models(void **state)
{
	(void)state;
	static const cop_journal_record none;
	cop_journal_reader *reader;
	cop_journal_record record;
	size_t length = 7;
	write_journal(1, 9, 0);
	assert_int_equal(cop_journal_reader_open(folder, 0, false, &reader, NULL), COP_OK);
	for (int end = 0; end < 2; end++) {
		assert_int_equal(cop_journal_reader_base(reader), 0);
		assert_null(cop_journal_reader_model_set(reader, &length));
		assert_int_equal(length, 0);
		for (uint64_t i = 1; i <= 9 && !end; i++) {
			assert_int_equal(cop_journal_next(reader, &record, NULL), COP_OK);
			check_record(&record, i);
			assert_int_equal(cop_journal_reader_base(reader), 1);
			assert_memory_equal(cop_journal_reader_model_set(reader, &length), "models", 6);
			assert_int_equal(length, 6);
		}
		memset(&record, 1, sizeof record);
		assert_int_equal(cop_journal_next(reader, &record, NULL), COP_EEND);
		assert_memory_equal(&record, &none, sizeof record);
	}
	cop_journal_reader_close(reader);
}

static void test_journal_models_of_no_segment_or_of_a_damaged_one_are_not_read(void **state)
{
	(void)state;
	const cop_journal_file file = { .base = 1 };
	cop_bytes models;
	size_t length;
	cop_bytes_init(&models);
	assert_int_not_equal(cop_journal_reader_models(folder, &file, &models), COP_OK);
	write_journal(1, 9, 0);
	assert_int_equal(cop_journal_reader_models(folder, &file, &models), COP_OK);
	assert_int_equal(models.length, 6);
	uint8_t *data = load(path_of(1, false), &length);
	data[COP_JOURNAL_HEADER_MIN] ^= 0xff;
	save(path_of(1, false), data, length);
	free(data);
	cop_bytes_clear(&models);
	assert_int_equal(cop_journal_reader_models(folder, &file, &models), COP_EFORMAT);
	assert_int_equal(models.length, 0);
	cop_bytes_fini(&models);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_journal_empty_folder_ends_at_once),
		TEST(test_journal_record_before_the_oldest_is_not_found),
		TEST(test_journal_cut_at_any_byte_gives_every_whole_record),
		TEST(test_journal_inner_segment_cut_at_any_byte_is_damage),
		TEST(test_journal_with_any_bit_flipped_gives_no_wrong_record),
		TEST(test_journal_without_segment_in_between_is_a_gap),
		TEST(test_journal_overlap_prefers_the_newer_segment),
		TEST(test_journal_zero_tail_is_a_clean_end),
		TEST(test_journal_page_that_never_reached_the_disk_is_torn_unless_marked),
		TEST(test_journal_of_newer_version_is_refused_by_name),
		TEST(test_journal_segment_under_another_name_is_damage),
		TEST(test_journal_record_inside_a_body_is_not_read),
		TEST(test_journal_of_imitated_heads_is_judged_in_bounded_time),
		TEST(test_journal_reader_without_memory_fails_cleanly),
		TEST(test_journal_reader_outside_of_segments_has_no_base_and_no_models),
		TEST(test_journal_models_of_no_segment_or_of_a_damaged_one_are_not_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
