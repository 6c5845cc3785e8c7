/* Seeking in bytes that are no frames: which frames can follow, and what counts as a hole. */
#include "journal_fixture.h"

#include "store/journal_scan.h"

#define PAGE 4096

/* A file of these bytes alone, without a header. */
static void open_bytes(cop_journal_scan *scan, const void *bytes, size_t length)
{
	const cop_journal_file file = { .base = 1, .bytes = length };
	char name[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(1, false, name);
	char *path = cop_journal_path(folder, name);
	assert_non_null(path);
	FILE *out = fopen(path, "wb");
	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, length, out), length);
	assert_int_equal(fclose(out), 0);
	cop_mem_free(path);
	assert_int_equal(cop_journal_scan_open(scan, folder, &file, NULL), COP_OK);
}

/* Passes over the first `passed` bytes of a file of `length`, zero from `from` up to `to`, and seeks in the rest. */
static cop_journal_seek seek_zeros(size_t length, size_t passed, size_t from, size_t to)
{
	static uint8_t bytes[4 * PAGE];
	cop_journal_scan scan;
	cop_journal_record record = { 0 };
	cop_journal_seek seek;
	memset(bytes, 0xff, sizeof bytes);
	memset(bytes + from, 0, to - from);
	open_bytes(&scan, bytes, length);
	assert_int_equal(cop_journal_scan_frame(&scan, &record), COP_EFORMAT); /* reads it all */
	record.length = passed - COP_JOURNAL_FRAME_HEAD;
	cop_journal_scan_pass(&scan, &record);
	assert_int_equal(scan.offset, passed);
	assert_int_equal(cop_journal_scan_seek(&scan, 1, &record, &seek), COP_EEND);
	assert_int_equal(scan.offset, length);
	assert_int_equal(seek.bytes, length - passed);
	cop_journal_scan_close(&scan);
	return seek;
}

static void test_journal_scan_zeros_up_to_a_page_are_a_hole(void **state)
{
	(void)state;
	static const struct {
		size_t passed, from, to;
		bool hole;
	} cases[] = {
		{ PAGE - 8, PAGE - 8, PAGE, true }, /* from the start on */
		{ PAGE - 1, PAGE - 1, PAGE, true },
		{ PAGE - 8, PAGE - 8, PAGE - 1, false }, /* not up to the page's end */
		{ PAGE - 9, PAGE - 9, PAGE - 1, false },
		{ PAGE - 100, PAGE - 99, PAGE, false }, /* not from the start on */
		{ 100, PAGE, 2 * PAGE, true },          /* a whole page */
		{ 100, PAGE + 1, 2 * PAGE, false },
		{ 100, PAGE, 2 * PAGE - 1, false },
		{ 100, PAGE - 10, 2 * PAGE - 5, false }, /* as many, but of two pages */
		{ 100, PAGE - 10, 2 * PAGE, true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_journal_seek seek = seek_zeros(2 * PAGE + 50, cases[i].passed, cases[i].from, cases[i].to);
		assert_int_equal(seek.hole, cases[i].hole);
		assert_false(seek.zeros);
	}
	cop_journal_seek end = seek_zeros(PAGE + 5, PAGE, PAGE, PAGE + 5);
	assert_true(end.zeros && !end.hole);
	end = seek_zeros(PAGE + 5, PAGE, PAGE, PAGE + 4);
	assert_false(end.zeros);
}

static void test_journal_scan_seeks_frames_that_can_follow(void **state)
{
	(void)state;
	static const struct {
		uint64_t sequence;
		bool found;
	} cases[] = { { 5, true }, { 4, false }, { 6, true }, { 4 + ((uint64_t)1 << 32), true },
		{ 5 + ((uint64_t)1 << 32), false } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_bytes bytes;
		cop_journal_scan scan;
		cop_journal_record record;
		cop_journal_seek seek;
		cop_bytes_init(&bytes);
		cop_bytes_put(&bytes, "\xff\xff\xff", 3);
		cop_journal_record_put(&bytes, cases[i].sequence, 255, "body", 4);
		cop_bytes_put(&bytes, "\xff", 1);
		assert_int_equal(bytes.err, COP_OK);
		open_bytes(&scan, bytes.data, bytes.length);
		cop_err err = cop_journal_scan_seek(&scan, 5, &record, &seek);
		assert_int_equal(err, cases[i].found ? COP_OK : COP_EEND);
		assert_int_equal(seek.bytes, cases[i].found ? 3 : bytes.length);
		assert_int_equal(scan.spent, 0);
		if (cases[i].found) {
			assert_true(record.sequence == cases[i].sequence && record.offset == 3 && record.length == 4);
			cop_journal_scan_pass(&scan, &record);
			assert_int_equal(cop_journal_scan_frame(&scan, &record), COP_EFORMAT);
		}
		cop_journal_scan_close(&scan);
		cop_bytes_fini(&bytes);
	}
}

/* A frame of which only the first byte was in what was read at once. */
static void test_journal_scan_a_frame_begins_with_the_last_byte_read(void **state)
{
	(void)state;
	enum { READ = 1 << 20 }; /* at once */
	char junk[64];
	cop_bytes bytes;
	cop_journal_scan scan;
	cop_journal_record record = { .length = READ - 1 - COP_JOURNAL_FRAME_HEAD };
	memset(junk, 0xff, sizeof junk);
	cop_bytes_init(&bytes);
	while (bytes.length < READ - 1)
		cop_bytes_put(
		        &bytes, junk, READ - 1 - bytes.length < sizeof junk ? READ - 1 - bytes.length : sizeof junk);
	cop_journal_record_put(&bytes, 5, 255, "body", 4);
	assert_int_equal(bytes.err, COP_OK);
	open_bytes(&scan, bytes.data, bytes.length);
	cop_journal_record none;
	assert_int_equal(cop_journal_scan_frame(&scan, &none), COP_EFORMAT); /* reads the junk, and one byte */
	assert_int_equal(scan.end, READ);
	cop_journal_scan_pass(&scan, &record);
	assert_int_equal(cop_journal_scan_frame(&scan, &record), COP_OK);
	assert_true(record.sequence == 5 && record.offset == READ - 1 && record.length == 4);
	cop_journal_scan_close(&scan);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_journal_scan_zeros_up_to_a_page_are_a_hole),
		TEST(test_journal_scan_seeks_frames_that_can_follow),
		TEST(test_journal_scan_a_frame_begins_with_the_last_byte_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
