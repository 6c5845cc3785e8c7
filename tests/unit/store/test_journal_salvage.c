#include "journal_fixture.h"

#include "store/journal_keep.h"
#include "store/journal_salvage.h"
#include "store/journal_stat.h"

static char out[80];

static void make_out(void)
{
	char command[200];
	(void)snprintf(out, sizeof out, "%s/out", folder);
	(void)snprintf(command, sizeof command, "rm -rf %s && mkdir %s", out, out);
	assert_int_equal(system(command), 0);
}

typedef struct heard {
	size_t count;
	cop_journal_skip skips[16];
} heard;

static void hear(void *context, const cop_journal_skip *skip)
{
	heard *h = context;
	assert_true(skip->reason[0] != '\0' && skip->file[0] != '\0');
	if (h->count < 16)
		h->skips[h->count] = *skip;
	h->count++;
}

/* Salvages; the salvaged journal, read with gaps, gives rising, right records, as many as reported. */
static uint64_t salvage(heard *h, cop_journal_salvage_report *report)
{
	make_out();
	memset(h, 0, sizeof *h);
	*report = (cop_journal_salvage_report){ .skipped = hear, .context = h };
	assert_int_equal(cop_journal_salvage(folder, out, report, NULL), COP_OK);
	cop_journal_reader *reader;
	cop_journal_record record;
	uint64_t records = 0;
	uint64_t last = 0;
	assert_int_equal(cop_journal_reader_open(out, 0, true, &reader, NULL), COP_OK);
	for (;; records++) {
		cop_err err = cop_journal_next(reader, &record, NULL);
		if (err == COP_EEND)
			break;
		assert_int_equal(err, COP_OK);
		assert_true(record.sequence > last);
		last = record.sequence;
		check_record(&record, last);
	}
	assert_false(cop_journal_reader_tail(reader)->torn);
	cop_journal_reader_close(reader);
	assert_int_equal(report->records, records);
	assert_int_equal(report->last, last);
	assert_int_equal(report->skips, h->count);
	return records;
}

static void test_journal_salvage_of_a_whole_journal_copies_all(void **state)
{
	(void)state;
	heard h;
	cop_journal_salvage_report report;
	write_journal(1, 100, 500);
	assert_int_equal(cop_journal_keep_compress(folder, 1, NULL), COP_OK);
	assert_int_equal(salvage(&h, &report), 100);
	assert_int_equal(report.skips, 0);
	assert_int_equal(report.first, 1);
	assert_int_equal(report.missing, 0);
	cop_diag diag;
	assert_int_equal(cop_journal_salvage(folder, out, &report, &diag), COP_EEXIST);
	assert_int_equal(cop_journal_salvage("/nonexistent", folder, &report, &diag), COP_EEXIST);
	make_out();
	assert_int_equal(cop_journal_salvage("/nonexistent", out, &report, &diag), COP_ENOTFOUND);
	assert_int_equal(cop_journal_salvage(folder, "/nonexistent", &report, &diag), COP_ENOTFOUND);
}

static void test_journal_salvage_skips_what_is_damaged_and_says_where(void **state)
{
	(void)state;
	heard h;
	cop_journal_salvage_report report;
	write_journal(1, 30, 0);
	write_journal(31, 40, 0);
	write_journal(41, 50, 0);
	size_t length;
	uint8_t *data = load(path_of(1, false), &length);
	cop_journal_record record;
	size_t need;
	size_t at = COP_JOURNAL_HEADER_MIN + 6;
	do {
		assert_int_equal(cop_journal_segment_frame_parse(data + at, length - at, &record, &need), COP_OK);
		at += need;
	} while (record.sequence < 10 || record.type == COP_JOURNAL_MARK);
	assert_int_equal(cop_journal_segment_frame_parse(data + at, length - at, &record, &need), COP_OK);
	data[at + 18] ^= 4; /* of record 11 or the mark before it */
	save(path_of(1, false), data, length);
	free(data);
	assert_int_equal(unlink(path_of(31, false)), 0);
	uint64_t records = salvage(&h, &report);
	assert_int_equal(h.count, 2);
	assert_int_equal(h.skips[0].offset, at);
	assert_int_equal(h.skips[0].bytes, need);
	assert_string_equal(h.skips[0].file, "00000000000000000001.journal");
	assert_int_equal(h.skips[1].missing_first, 31);
	assert_int_equal(h.skips[1].missing_last, 40);
	assert_int_equal(h.skips[1].bytes, 0);
	assert_int_equal(records, 50 - report.missing);
	assert_true(report.missing == 10 || report.missing == 11);
}

/* Behind the last record: zeros are room that was not used, anything else was lost. */
static void test_journal_salvage_tells_of_a_tail_that_is_not_zeros(void **state)
{
	(void)state;
	static const struct {
		const char *tail;
		size_t length, skips;
	} cases[] = { { "", 0, 0 }, { "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 30, 0 },
		{ "\0\0\0", 3, 0 }, { "what is no record", 17, 1 }, { "\0\0\0x", 4, 1 }, { "x\0\0\0", 4, 1 },
		{ "x\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 30, 1 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		heard h;
		cop_journal_salvage_report report;
		size_t length;
		write_journal(1, 10, 0);
		uint8_t *data = load(path_of(1, false), &length);
		FILE *file = fopen(path_of(1, false), "ab");
		assert_non_null(file);
		assert_int_equal(fwrite(cases[i].tail, 1, cases[i].length, file), cases[i].length);
		assert_int_equal(fclose(file), 0);
		assert_int_equal(salvage(&h, &report), 10);
		assert_int_equal(h.count, cases[i].skips);
		if (h.count == 1) {
			assert_int_equal(h.skips[0].offset, length);
			assert_int_equal(h.skips[0].bytes, cases[i].length);
		}
		free(data);
		assert_int_equal(remove(path_of(1, false)), 0);
	}
}

static void test_journal_salvage_with_any_byte_changed_loses_at_most_what_it_touches(void **state)
{
	(void)state;
	heard h;
	cop_journal_salvage_report report;
	write_journal(1, 7, 0);
	write_journal(8, 12, 0);
	size_t length;
	uint8_t *data = load(path_of(1, false), &length);
	for (size_t i = 0; i < length; i++) {
		data[i] ^= 0x15;
		save(path_of(1, false), data, length);
		assert_true(salvage(&h, &report) >= 11);
		data[i] ^= 0x15;
	}
	for (size_t cut = 0; cut < length; cut += 5) {
		save(path_of(1, false), data, cut);
		assert_true(salvage(&h, &report) >= 5);
		assert_int_equal(report.records + report.missing, 12);
	}
	free(data);
}

static void test_journal_salvage_of_damaged_compressed_segment_keeps_what_came_before(void **state)
{
	(void)state;
	heard h;
	cop_journal_salvage_report report;
	write_journal(1, 5000, 0);
	write_journal(5001, 5003, 0);
	assert_int_equal(cop_journal_keep_compress(folder, 1, NULL), COP_OK);
	size_t length;
	uint8_t *data = load(path_of(1, true), &length);
	for (size_t part = 1; part <= 4; part++) {
		save(path_of(1, true), data, length * part / 5);
		assert_true(salvage(&h, &report) >= 3);
		assert_int_equal(report.records + report.missing, 5003);
	}
	save(path_of(1, true), "none", 4);
	assert_int_equal(salvage(&h, &report), 3);
	assert_int_equal(report.missing, 5000);
	free(data);
}

static void test_journal_salvage_without_memory_fails_cleanly(void **state)
{
	(void)state;
	write_journal(1, 9, 0);
	write_journal(10, 12, 0);
	unsigned long n = 1;
	for (cop_err err = COP_ENOMEM; err != COP_OK; n++) {
		cop_journal_salvage_report report = { .skipped = NULL };
		make_out();
		cop_test_alloc_fail(n, 0);
		err = cop_journal_salvage(folder, out, &report, NULL);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_ENOMEM || (err == COP_OK && report.records == 12));
	}
	assert_true(n > 10);
}

typedef struct rows {
	size_t count;
	cop_journal_stat stats[8];
} rows;

static void add_row(void *context, const cop_journal_stat *stat)
{
	rows *r = context;
	assert_true(r->count < 8);
	r->stats[r->count++] = *stat;
}

static void test_journal_verify_tells_of_each_segment(void **state)
{
	(void)state;
	rows r = { 0 };
	cop_journal_stat_listener listener = { add_row, &r };
	cop_diag diag;
	write_journal(1, 8, 0);
	write_journal(9, 20, 0);
	write_journal(15, 23, 0); /* again from 15 on */
	write_journal(24, 30, 0);
	assert_int_equal(cop_journal_keep_compress(folder, 1, NULL), COP_OK);
	struct stat status;
	assert_int_equal(stat(path_of(24, false), &status), 0);
	assert_int_equal(truncate(path_of(24, false), status.st_size - 5), 0); /* within the mark */
	assert_int_equal(cop_journal_stat_verify(folder, &listener, &diag), COP_OK);
	assert_int_equal(r.count, 4);
	static const uint64_t lasts[] = { 8, 14, 23, 30 };
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(r.stats[i].last, lasts[i]);
		assert_int_equal(r.stats[i].records, lasts[i] - r.stats[i].file.base + 1);
		assert_int_equal(r.stats[i].file.compressed, i == 0);
		assert_int_equal(r.stats[i].end, i == 3 ? COP_JOURNAL_END_TORN : COP_JOURNAL_END_WHOLE);
		assert_int_equal(r.stats[i].model_set_length, 6);
	}
	assert_int_equal(r.stats[3].cut, COP_JOURNAL_FRAME_HEAD - 5);
	assert_int_equal(r.stats[3].end, COP_JOURNAL_END_TORN);
	assert_int_equal(unlink(path_of(15, false)), 0);
	assert_int_equal(truncate(path_of(9, false), 100), 0);
	r.count = 0;
	assert_int_equal(cop_journal_stat_verify(folder, &listener, &diag), COP_EFORMAT);
	assert_string_equal(diag.source, path_of(9, false));
	assert_int_equal(r.count, 3);
	assert_int_equal(r.stats[0].err, COP_OK);
	assert_int_equal(r.stats[1].err, COP_EFORMAT);
	assert_int_equal(r.stats[1].end, COP_JOURNAL_END_DAMAGED);
	assert_int_equal(r.stats[2].err, COP_OK);
	assert_int_equal(cop_journal_stat_verify("/nonexistent", NULL, &diag), COP_ENOTFOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_journal_salvage_of_a_whole_journal_copies_all),
		TEST(test_journal_salvage_skips_what_is_damaged_and_says_where),
		TEST(test_journal_salvage_with_any_byte_changed_loses_at_most_what_it_touches),
		TEST(test_journal_salvage_of_damaged_compressed_segment_keeps_what_came_before),
		TEST(test_journal_salvage_without_memory_fails_cleanly),
		TEST(test_journal_verify_tells_of_each_segment),
		TEST(test_journal_salvage_tells_of_a_tail_that_is_not_zeros),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
