/* The epoch in the header of each segment: who gives it, who keeps it, and what becomes of a journal in which it falls.
 */
#include "journal_fixture.h"

#include "store/journal_keep.h"
#include "store/journal_rewrite.h"
#include "store/journal_salvage.h"
#include "store/journal_stat.h"

#define FALLS "its epoch is 6; expected at least 7"

/* Records first to first + 2, in a segment of at least this epoch. */
static void write_segment(const char *place, uint64_t first, uint64_t epoch, uint64_t want)
{
	const cop_journal_settings settings = { .epoch = epoch };
	cop_journal_writer *writer;
	assert_int_equal(cop_journal_writer_open(place, &settings, first, &writer, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_epoch(writer), want);
	assert_int_equal(write_batch(writer, first, 3), COP_OK);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
}

/* The epochs of records 1, 4, 7, ...; how reading ended. */
static cop_err read_epochs(const char *place, uint64_t *epochs, uint64_t *records, cop_diag *diag)
{
	cop_journal_reader *reader;
	cop_journal_record record;
	*records = 0;
	assert_int_equal(cop_journal_reader_open(place, 0, false, &reader, diag), COP_OK);
	assert_int_equal(cop_journal_reader_epoch(reader), 0);
	cop_err err;
	while ((err = cop_journal_next(reader, &record, diag)) == COP_OK) {
		check_record(&record, ++*records);
		epochs[(*records - 1) / 3] = cop_journal_reader_epoch(reader);
		assert_int_equal(cop_journal_reader_tail(reader)->epoch, cop_journal_reader_epoch(reader));
	}
	cop_journal_reader_close(reader);
	return err;
}

static void check_epochs(const char *place, uint64_t one, uint64_t two, uint64_t three)
{
	uint64_t epochs[3] = { 99, 99, 99 }, records;
	assert_int_equal(read_epochs(place, epochs, &records, NULL), COP_EEND);
	assert_int_equal(records, 9);
	assert_int_equal(epochs[0], one);
	assert_int_equal(epochs[1], two);
	assert_int_equal(epochs[2], three);
}

static void test_journal_epoch_of_a_new_segment_is_at_least_that_of_the_newest(void **state)
{
	(void)state;
	write_segment(folder, 1, 5, 5);
	write_segment(folder, 4, 0, 5);
	write_segment(folder, 7, UINT64_MAX, UINT64_MAX);
	check_epochs(folder, 5, 5, UINT64_MAX);
	cop_journal_tail tail;
	assert_int_equal(cop_journal_keep_cut_tail(folder, &tail, NULL), COP_OK);
	assert_true(tail.epoch == UINT64_MAX);
}

static void test_journal_epoch_of_a_torn_header_is_not_taken(void **state)
{
	(void)state;
	write_segment(folder, 1, 5, 5);
	save(path_of(4, false), "COPJO", 5);
	const cop_journal_settings settings = { .epoch = 2 };
	cop_journal_writer *writer;
	assert_int_equal(cop_journal_writer_open(folder, &settings, 4, &writer, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_epoch(writer), 5);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
}

static void test_journal_epoch_is_of_the_segments_to_come_and_never_falls(void **state)
{
	(void)state;
	cop_journal_writer *writer = open_writer(1, 0);
	assert_int_equal(write_batch(writer, 1, 3), COP_OK);
	assert_int_equal(cop_journal_writer_set_epoch(writer, 3), COP_OK);
	assert_int_equal(cop_journal_writer_roll(writer, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_set_epoch(writer, 2), COP_EINVAL);
	assert_int_equal(cop_journal_writer_epoch(writer), 3);
	assert_int_equal(write_batch(writer, 4, 3), COP_OK);
	assert_int_equal(cop_journal_writer_roll(writer, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_set_epoch(writer, 4), COP_OK);
	assert_int_equal(cop_journal_writer_roll(writer, NULL), COP_OK); /* one without records is replaced */
	assert_int_equal(write_batch(writer, 7, 3), COP_OK);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	assert_int_equal(count_segments(), 3);
	check_epochs(folder, 0, 3, 4);
}

static void check_base(uint64_t epoch, uint64_t want)
{
	uint64_t base = 99;
	assert_int_equal(cop_journal_reader_epoch_base(folder, epoch, &base), COP_OK);
	assert_int_equal(base, want);
}

static void test_journal_epoch_is_found_where_it_began(void **state)
{
	(void)state;
	static const uint64_t epochs[] = { 1, 1, 3, 3, 3, 4, 9 };
	const uint64_t count = sizeof epochs / sizeof *epochs;
	check_base(0, 0);
	for (uint64_t n = 0; n < count; n++) {
		write_segment(folder, 1 + 3 * n, epochs[n], epochs[n]);
		for (uint64_t epoch = 0; epoch <= 10; epoch++) {
			uint64_t first = 0;
			while (first <= n && epochs[first] < epoch)
				first++;
			check_base(epoch, first <= n ? 1 + 3 * first : 0);
		}
	}
	assert_int_equal(cop_journal_keep_compress(folder, 7, NULL), COP_OK);
	check_base(3, 7);
	assert_int_equal(unlink(path_of(1, access(path_of(1, true), F_OK) == 0)), 0);
	check_base(1, 4);
}

static void test_journal_epoch_of_headers_that_cannot_be_read_is_not_found(void **state)
{
	(void)state;
	uint64_t base;
	assert_int_equal(cop_journal_reader_epoch_base("/nonexistent", 1, &base), COP_ENOTFOUND);
	save(path_of(1, false), "COPJO", 5);
	assert_int_equal(cop_journal_reader_epoch_base(folder, 1, &base), COP_EFORMAT);
	assert_int_equal(base, 0);
}

static cop_err edit(void *context, const cop_journal_record *record, cop_journal_record *out, bool *edited)
{
	(void)context;
	*edited = record->sequence == 5; /* to what it is */
	*out = *record;
	return COP_OK;
}

static void test_journal_epoch_is_kept_by_compressing_and_by_writing_anew(void **state)
{
	(void)state;
	write_segment(folder, 1, 7, 7);
	write_segment(folder, 4, 8, 8);
	write_segment(folder, 7, 9, 9);
	assert_int_equal(cop_journal_keep_compress(folder, 1, NULL), COP_OK);
	const cop_journal_editor editor = { .edit = edit };
	cop_journal_rewritten done;
	assert_int_equal(cop_journal_rewrite(folder, UINT64_MAX, &editor, &done, NULL), COP_OK);
	assert_int_equal(done.segments, 1);
	check_epochs(folder, 7, 8, 9);
}

static void remember(void *context, const cop_journal_stat *stat)
{
	uint64_t *epochs = context;
	epochs[(stat->file.base - 1) / 3] = stat->epoch;
}

/* Three segments; that of the middle has a lower epoch than the first. */
static void write_fall(void)
{
	for (uint64_t i = 0; i < 3; i++) {
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		cop_journal_segment_header_put(&bytes, 1 + 3 * i, (uint64_t[]){ 7, 6, 8 }[i], "", 0);
		for (uint64_t k = 0; k < 3; k++)
			put_record(&bytes, 1 + 3 * i + k);
		save(path_of(1 + 3 * i, false), bytes.data, bytes.length);
		cop_bytes_fini(&bytes);
	}
}

static void test_journal_epoch_that_falls_is_damage(void **state)
{
	(void)state;
	cop_diag diag = { .message = "" };
	uint64_t epochs[3], records;
	write_fall();
	assert_int_equal(read_epochs(folder, epochs, &records, &diag), COP_EFORMAT);
	assert_int_equal(records, 3);
	assert_string_equal(diag.source, path_of(4, false));
	assert_int_equal(diag.offset, 24);
	assert_non_null(strstr(diag.message, FALLS));
	const cop_journal_stat_listener listener = { remember, epochs };
	assert_int_equal(cop_journal_stat_verify(folder, &listener, &diag), COP_EFORMAT);
	assert_non_null(strstr(diag.message, FALLS));
	assert_true(epochs[0] == 7 && epochs[1] == 6 && epochs[2] == 8);
}

static void note_skip(void *context, const cop_journal_skip *skip) { *(cop_journal_skip *)context = *skip; }

static void test_journal_epoch_that_falls_is_raised_in_what_is_salvaged(void **state)
{
	(void)state;
	char out[80];
	write_fall();
	(void)snprintf(out, sizeof out, "%s/out", folder);
	assert_int_equal(mkdir(out, 0700), 0);
	cop_journal_skip skip;
	cop_journal_salvage_report report = { .skipped = note_skip, .context = &skip };
	assert_int_equal(cop_journal_salvage(folder, out, &report, NULL), COP_OK);
	assert_int_equal(report.records, 9);
	assert_int_equal(report.skips, 1);
	assert_int_equal(report.missing, 0);
	assert_int_equal(skip.offset, 24);
	assert_string_equal(skip.file, "00000000000000000004.journal");
	check_epochs(out, 7, 7, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_journal_epoch_of_a_new_segment_is_at_least_that_of_the_newest),
		TEST(test_journal_epoch_of_a_torn_header_is_not_taken),
		TEST(test_journal_epoch_is_of_the_segments_to_come_and_never_falls),
		TEST(test_journal_epoch_is_found_where_it_began),
		TEST(test_journal_epoch_of_headers_that_cannot_be_read_is_not_found),
		TEST(test_journal_epoch_is_kept_by_compressing_and_by_writing_anew),
		TEST(test_journal_epoch_that_falls_is_damage),
		TEST(test_journal_epoch_that_falls_is_raised_in_what_is_salvaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
