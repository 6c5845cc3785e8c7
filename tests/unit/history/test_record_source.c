/* Where a journal's records come from: why reading ends, and which file is named. */
#include "support.h"

#include "history/record_source.h"
#include "history_fixture.h"
#include "store/journal_keep.h"
#include "store/journal_segment.h"

/* Two segments of so many decisions each; the bases are 1 and 41. */
#define EACH 40

static void write_two_segments(void)
{
	const cop_wire_model model = told("m");
	book b;
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 0; id < EACH; id++)
		put_decision(&b, (double)id, id);
	assert_int_equal(cop_journal_writer_roll(b.writer, NULL), COP_OK);
	for (uint64_t id = EACH; id < 2 * EACH; id++)
		put_decision(&b, (double)id, id);
	close_book(&b);
}

static void damage(uint64_t base)
{
	char path[128], name[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(base, false, name);
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "r+b");
	assert_non_null(file);
	assert_int_equal(fseek(file, 1000, SEEK_SET), 0);
	assert_int_equal(fwrite("damage", 1, 6, file), 6);
	assert_int_equal(fclose(file), 0);
}

/* The error that ends the reading, and how many records come before it. */
static cop_err read_all(cop_record_source *source, uint64_t *records, cop_diag *diag)
{
	cop_journal_record record;
	for (*records = 0;; ++*records) {
		cop_err err = cop_record_source_next(source, &record, diag);
		if (err != COP_OK)
			return err;
	}
}

static void test_end_of_a_whole_journal_is_no_complaint(void **state)
{
	(void)state;
	cop_record_source source;
	cop_diag diag = { .message = "as it was" };
	uint64_t records;
	write_two_segments();
	for (int skip = 0; skip < 2; skip++) {
		assert_int_equal(cop_record_source_open(&source, folder, 0, skip, NULL, &diag), COP_OK);
		assert_int_equal(read_all(&source, &records, &diag), COP_EEND);
		assert_int_equal(records, 2 * EACH);
		assert_string_equal(diag.message, "as it was");
		cop_record_source_fini(&source);
	}
}

static void test_damage_ends_the_reading_with_advice_or_is_passed_over(void **state)
{
	(void)state;
	cop_record_source source;
	cop_diag diag = { .message = "" };
	uint64_t records, again;
	write_two_segments();
	damage(1);
	assert_int_equal(cop_record_source_open(&source, folder, 0, false, NULL, &diag), COP_OK);
	assert_int_equal(read_all(&source, &records, &diag), COP_EIO);
	assert_true(records > 0 && records < EACH);
	assert_non_null(strstr(diag.message, "; what is intact can be read by passing over it"));
	cop_record_source_fini(&source);
	assert_int_equal(cop_record_source_open(&source, folder, 0, false, NULL, NULL), COP_OK);
	assert_int_equal(read_all(&source, &again, NULL), COP_EIO);
	assert_int_equal(again, records);
	cop_record_source_fini(&source);
	assert_int_equal(cop_record_source_open(&source, folder, 0, true, NULL, &diag), COP_OK);
	assert_int_equal(read_all(&source, &again, &diag), COP_EEND);
	assert_true(again >= records + EACH && again < 2 * EACH);
	cop_record_source_fini(&source);
}

/* What is no damage: a folder that is gone when its second segment is to be read. */
static void test_segment_that_is_gone_ends_the_reading_without_advice(void **state)
{
	(void)state;
	cop_record_source source;
	cop_diag diag = { .message = "" };
	uint64_t records;
	write_two_segments();
	assert_int_equal(cop_record_source_open(&source, folder, 0, false, NULL, &diag), COP_OK);
	empty_folder();
	assert_int_equal(read_all(&source, &records, &diag), COP_EIO);
	assert_null(strstr(diag.message, "passing over"));
	cop_record_source_fini(&source);
}

static void expect_place(const cop_record_source *source, uint64_t base, bool compressed)
{
	cop_diag diag = { .message = "why" };
	char name[COP_JOURNAL_NAME_ROOM], path[128];
	cop_journal_name(base, compressed, name);
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	cop_record_source_place(source, base, &diag);
	assert_string_equal(diag.source, path);
	assert_string_equal(diag.message, "why");
}

static void test_place_is_the_file_as_it_was_found(void **state)
{
	(void)state;
	for (uint64_t compressed = 0; compressed < 2; compressed++) {
		cop_record_source source;
		write_two_segments();
		if (compressed)
			assert_int_equal(cop_journal_keep_compress(folder, 1, NULL), COP_OK);
		assert_int_equal(cop_record_source_open(&source, folder, 0, false, NULL, NULL), COP_OK);
		expect_place(&source, 1, compressed);
		expect_place(&source, EACH + 1, false);
		expect_place(&source, 7, false);
		cop_record_source_fini(&source);
		empty_folder();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_end_of_a_whole_journal_is_no_complaint),
		TEST(test_damage_ends_the_reading_with_advice_or_is_passed_over),
		TEST(test_segment_that_is_gone_ends_the_reading_without_advice),
		TEST(test_place_is_the_file_as_it_was_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
