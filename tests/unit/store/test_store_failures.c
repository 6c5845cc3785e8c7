/* Each function of the journal and of checkpoint files with every allocation and every call to the operating system
 * failing in turn (support_fail.h), and the calls that end half way. */
#include "journal_fixture.h"

#include <errno.h>

#include "base/crc32c.h"
#include "store/checkpoint_file.h"
#include "store/journal_intact.h"
#include "store/journal_keep.h"
#include "store/journal_rewrite.h"
#include "store/journal_salvage.h"
#include "store/journal_stat.h"
#include "support_fail.h"

#define LAST 30

static void none_fails(void) { cop_test_io_fail(COP_TEST_IO_EVERY, 0, false, 0); }

/* ---- checkpoint files ---- */

static void make_checkpoints(void *context)
{
	(void)context;
	empty_folder();
	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(cop_checkpoint_write(folder, "m", i, "old", 3, NULL), COP_OK);
}

static void check_old(void *context, bool failed)
{
	char path[160];
	cop_bytes body;
	(void)context;
	(void)failed;
	cop_bytes_init(&body);
	(void)snprintf(path, sizeof path, "%s/m.%020d.checkpoint", folder, 3);
	assert_int_equal(cop_checkpoint_read(path, &body, NULL), COP_OK);
	assert_int_equal(body.length, 3);
	assert_memory_equal(body.data, "old", 3);
	cop_bytes_fini(&body);
}

static cop_err write_checkpoint(void *context, cop_diag *diag)
{
	(void)context;
	return cop_checkpoint_write(folder, "m", 4, "new", 3, diag);
}

static cop_err read_checkpoint(void *context, cop_diag *diag)
{
	char path[160];
	cop_bytes body;
	(void)context;
	cop_bytes_init(&body);
	(void)snprintf(path, sizeof path, "%s/m.%020d.checkpoint", folder, 3);
	cop_err err = cop_checkpoint_read(path, &body, diag);
	assert_int_equal(body.length, err == COP_OK ? 3 : 0);
	cop_bytes_fini(&body);
	return err;
}

static cop_err list_checkpoints(void *context, cop_diag *diag)
{
	uint64_t *sequences;
	size_t count;
	(void)context;
	cop_err err = cop_checkpoint_list(folder, "m", &sequences, &count, diag);
	assert_int_equal(count, err == COP_OK ? 3 : 0);
	assert_int_equal(sequences != NULL, err == COP_OK);
	cop_mem_free(sequences);
	return err;
}

static cop_err newest_checkpoint(void *context, cop_diag *diag)
{
	cop_bytes body;
	uint64_t sequence;
	(void)context;
	cop_bytes_init(&body);
	cop_err err = cop_checkpoint_newest(folder, "m", &body, &sequence, NULL, diag);
	assert_int_equal(sequence, err == COP_OK ? 3 : 0);
	cop_bytes_fini(&body);
	return err;
}

static cop_err prune_checkpoints(void *context, cop_diag *diag)
{
	(void)context;
	return cop_checkpoint_prune(folder, "m", 1, diag);
}

/* ---- journal ---- */

/* Segments of 1, 10 (compressed) and 20 on, the last one with a record that was not wholly written. */
static void make_journal(void *context)
{
	(void)context;
	struct stat status;
	empty_folder();
	write_journal(1, 9, 0);
	write_journal(10, 19, 0);
	write_journal(20, LAST + 1, 0);
	assert_int_equal(cop_journal_keep_compress(folder, 10, NULL), COP_OK);
	cop_journal_writer *writer = open_writer(LAST + 2, 0);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	assert_int_equal(unlink(path_of(LAST + 2, false)), 0);
	assert_int_equal(stat(path_of(20, false), &status), 0);
	assert_int_equal(truncate(path_of(20, false), status.st_size - COP_JOURNAL_FRAME_HEAD - 3), 0);
}

static void check_journal(uint64_t from)
{
	cop_journal_tail tail;
	none_fails();
	assert_int_equal(cop_journal_keep_cut_tail(folder, &tail, NULL), COP_OK);
	check_whole(from, LAST);
}

static void check_all(void *context, bool failed)
{
	(void)context;
	(void)failed;
	check_journal(1);
}

static void check_kept(void *context, bool failed)
{
	(void)context;
	(void)failed;
	check_journal(20);
}

static cop_err list_journal(void *context, cop_diag *diag)
{
	cop_journal_file *files;
	size_t count;
	(void)context;
	cop_err err = cop_journal_list(folder, &files, &count, diag);
	assert_int_equal(count, err == COP_OK ? 3 : 0);
	assert_int_equal(files != NULL, err == COP_OK);
	cop_mem_free(files);
	return err;
}

static cop_err find_journal(void *context, cop_diag *diag)
{
	cop_journal_file *files;
	size_t count;
	char *found;
	(void)context;
	cop_err err = cop_journal_segment_find(folder, &found, &files, &count, diag);
	assert_int_equal(count, err == COP_OK ? 3 : 0);
	assert_int_equal(found != NULL && files != NULL, err == COP_OK);
	cop_mem_free(found);
	cop_mem_free(files);
	return err;
}

static void make_temporaries(void *context)
{
	make_journal(context);
	char path[160];
	for (int i = 1; i <= 2; i++) {
		(void)snprintf(path, sizeof path, "%s/%020d.journal.tmp", folder, 40 + i);
		save(path, "x", 1);
	}
}

static cop_err drop_temporaries(void *context, cop_diag *diag)
{
	(void)context;
	return cop_journal_segment_drop_temporary(folder, UINT64_MAX, diag);
}

static cop_err read_from(uint64_t from, cop_diag *diag)
{
	cop_journal_reader *reader;
	cop_journal_record record;
	uint64_t next = from;
	cop_err err = cop_journal_reader_open(folder, from, false, &reader, diag);
	while (err == COP_OK && (err = cop_journal_next(reader, &record, diag)) == COP_OK)
		check_record(&record, next++);
	assert_true(err != COP_EEND || next == LAST + 1);
	cop_journal_reader_close(reader);
	return err;
}

static cop_err read_all(void *context, cop_diag *diag)
{
	(void)context;
	return read_from(1, diag);
}

static cop_err read_newest(void *context, cop_diag *diag)
{
	(void)context;
	return read_from(20, diag);
}

static cop_err read_models(void *context, cop_diag *diag)
{
	cop_bytes models;
	const cop_journal_file file = { .base = 10, .compressed = true };
	(void)context;
	(void)diag;
	cop_bytes_init(&models);
	cop_err err = cop_journal_reader_models(folder, &file, &models);
	if (err == COP_OK)
		assert_memory_equal(models.data, "models", 6);
	cop_bytes_fini(&models);
	return err;
}

static cop_err read_intact(void *context, cop_diag *diag)
{
	cop_journal_intact *intact;
	cop_journal_record record;
	bool follows;
	(void)context;
	cop_err err = cop_journal_intact_open(folder, NULL, &intact, diag);
	while (err == COP_OK)
		if ((err = cop_journal_intact_next(intact, &record, &follows, diag)) == COP_OK)
			check_record(&record, record.sequence);
	cop_journal_intact_close(intact);
	return err;
}

/* What a row says of its segment is wrong only where it says that reading failed. */
static void check_row(void *context, const cop_journal_stat *stat)
{
	(void)context;
	if (stat->err != COP_OK)
		return;
	assert_int_equal(stat->model_set_length, 6);
	assert_int_equal(stat->records, stat->file.base == 1 ? 9 : stat->file.base == 10 ? 10 : 11);
}

static cop_err verify(void *context, cop_diag *diag)
{
	const cop_journal_stat_listener listener = { check_row, context };
	return cop_journal_stat_verify(folder, &listener, diag);
}

static cop_err cut_tail(void *context, cop_diag *diag)
{
	cop_journal_tail tail;
	(void)context;
	return cop_journal_keep_cut_tail(folder, &tail, diag);
}

static cop_err compress(void *context, cop_diag *diag)
{
	(void)context;
	return cop_journal_keep_compress(folder, 1, diag);
}

/* Record 12 keeps its body and gets another type. */
static cop_err edit(void *context, const cop_journal_record *record, cop_journal_record *out, bool *changed)
{
	(void)context;
	*changed = record->sequence == 12 && record->type != 99;
	out->type = *changed ? 99 : record->type;
	return COP_OK;
}

static cop_err rewrite(void *context, cop_diag *diag)
{
	const cop_journal_editor editor = { edit, NULL };
	cop_journal_rewritten done;
	(void)context;
	return cop_journal_rewrite(folder, LAST, &editor, &done, diag);
}

static void check_rewritten(void *context, bool failed)
{
	cop_journal_reader *reader;
	cop_journal_record record;
	(void)context;
	none_fails();
	assert_int_equal(cop_journal_reader_open(folder, 1, false, &reader, NULL), COP_OK);
	for (uint64_t next = 1; next <= LAST; next++) {
		assert_int_equal(cop_journal_next(reader, &record, NULL), COP_OK);
		if (next == 12 && !failed)
			assert_int_equal(record.type, 99);
		if (next != 12)
			check_record(&record, next);
	}
	cop_journal_reader_close(reader);
}

static cop_err retain(void *context, cop_diag *diag)
{
	size_t removed;
	(void)context;
	cop_err err = cop_journal_keep_retain(folder, 0, 25, &removed, diag);
	assert_true(removed <= 2 && (removed == 2 || err != COP_OK));
	return err;
}

static char *out_folder(void)
{
	static char path[96];
	(void)snprintf(path, sizeof path, "%s/out", folder);
	return path;
}

static void make_salvage(void *context)
{
	char command[128];
	(void)snprintf(command, sizeof command, "rm -rf %s", out_folder());
	assert_int_equal(system(command), 0);
	make_journal(context);
	assert_int_equal(mkdir(out_folder(), 0700), 0);
}

static void end_salvage(void *context, bool failed)
{
	char command[128];
	(void)snprintf(command, sizeof command, "rm -rf %s", out_folder());
	assert_int_equal(system(command), 0);
	check_all(context, failed);
}

static cop_err salvage(void *context, cop_diag *diag)
{
	cop_journal_salvage_report report = { .skipped = NULL };
	(void)context;
	return cop_journal_salvage(folder, out_folder(), &report, diag);
}

/* ---- the writer ---- */

static cop_bytes first_batch, second_batch;

static int make_batches(void **state)
{
	(void)state;
	cop_bytes_init(&first_batch);
	cop_bytes_init(&second_batch);
	for (uint64_t i = 1; i <= 6; i++)
		put_record(&first_batch, i);
	put_record(&second_batch, 7);
	return 0;
}

static int drop_batches(void **state)
{
	(void)state;
	cop_bytes_fini(&first_batch);
	cop_bytes_fini(&second_batch);
	return 0;
}

static uint64_t durable; /* what the last writer said was durable */

/* A writer's life. */
static cop_err live(void *context, cop_diag *diag)
{
	(void)context;
	cop_journal_settings settings = { .preallocate = true, .model_set = "models", .model_set_length = 6 };
	cop_journal_writer *writer;
	cop_journal_ticket ticket;
	durable = 0;
	cop_err err = cop_journal_writer_open(folder, &settings, 1, &writer, diag);
	if (err == COP_OK)
		err = cop_journal_writer_write(writer, first_batch.data, first_batch.length, 1, 6, diag);
	if (err == COP_OK)
		err = cop_journal_writer_sync(writer, diag);
	if (err == COP_OK)
		err = cop_journal_writer_roll(writer, diag);
	if (err == COP_OK)
		err = cop_journal_writer_write(writer, second_batch.data, second_batch.length, 7, 1, diag);
	if (err == COP_OK && (err = cop_journal_writer_sync_begin(writer, &ticket)) == COP_OK) {
		cop_journal_writer_sync_run(&ticket);
		err = cop_journal_writer_sync_end(writer, &ticket, diag);
	} else if (err == COP_EIO) {
		cop_diag_message(diag, "%s", strerror(EIO)); /* sync_begin has none */
	}
	durable = writer == NULL ? 0 : cop_journal_writer_durable(writer);
	cop_err closed = cop_journal_writer_close(writer, err == COP_OK ? diag : NULL);
	return err == COP_OK ? closed : err;
}

static void make_whole(void *context)
{
	make_journal(context);
	check_journal(1);
}

/* Behind what an earlier process left. */
static cop_err go_on(void *context, cop_diag *diag)
{
	(void)context;
	cop_journal_settings settings = { .preallocate = true };
	cop_journal_writer *writer;
	cop_err err = cop_journal_writer_open(folder, &settings, LAST + 1, &writer, diag);
	return err == COP_OK ? cop_journal_writer_close(writer, diag) : err;
}

static void make_nothing(void *context)
{
	(void)context;
	empty_folder();
}

static void check_durable(void *context, bool failed)
{
	(void)context;
	cop_journal_tail tail;
	assert_true(failed || durable == 7);
	assert_int_equal(cop_journal_keep_cut_tail(folder, &tail, NULL), COP_OK);
	assert_true(tail.next_sequence > durable);
	check_whole(1, tail.next_sequence - 1);
}

static cop_journal_writer *broken;

static void break_writer(void *context)
{
	make_nothing(context);
	broken = open_writer(1, 0);
	assert_int_equal(write_batch(broken, 1, 9), COP_OK);
	cop_test_io_fail(COP_TEST_IO_SYNC, 1, false, EIO);
	assert_int_equal(cop_journal_writer_sync(broken, NULL), COP_EIO);
	none_fails();
}

static cop_err recover_writer(void *context, cop_diag *diag)
{
	(void)context;
	return cop_journal_writer_recover(broken, NULL, 0, 10, 0, diag);
}

/* It can be healed later, and then holds everything. */
static void check_healed(void *context, bool failed)
{
	(void)context;
	(void)failed;
	if (cop_journal_writer_broken(broken))
		assert_int_equal(cop_journal_writer_recover(broken, NULL, 0, 10, 0, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_close(broken, NULL), COP_OK);
	check_whole(1, 9);
}

#define OPEN   COP_TEST_IO_OPEN
#define READ   COP_TEST_IO_READ
#define WRITE  COP_TEST_IO_WRITE
#define SYNC   COP_TEST_IO_SYNC
#define RENAME COP_TEST_IO_RENAME
#define CUT    COP_TEST_IO_CUT
#define REMOVE COP_TEST_IO_REMOVE
#define STAT   COP_TEST_IO_STAT
#define LIST   COP_TEST_IO_LIST
#define CLOSE  COP_TEST_IO_CLOSE
#define MODE   COP_TEST_IO_MODE

static cop_test_attempt attempts[] = {
	{ "checkpoint write", make_checkpoints, write_checkpoint, check_old, .calls = OPEN | WRITE | SYNC | RENAME,
	        .tolerated = CLOSE, .failures = 7 },
	{ "checkpoint read", make_checkpoints, read_checkpoint, check_old, .calls = OPEN | READ | STAT,
	        .tolerated = CLOSE, .allocations = 1, .failures = 4 },
	{ "checkpoint list", make_checkpoints, list_checkpoints, check_old, .calls = LIST, .allocations = 3,
	        .failures = 7 },
	{ "checkpoint newest", make_checkpoints, newest_checkpoint, check_old, .calls = LIST, .allocations = 5,
	        .failures = 7 },
	{ "checkpoint prune", make_checkpoints, prune_checkpoints, check_old, .calls = OPEN | REMOVE | SYNC | LIST,
	        .tolerated = CLOSE, .allocations = 3, .failures = 15 },
	{ "journal list", make_journal, list_journal, check_all, .calls = LIST | STAT, .allocations = 3,
	        .failures = 9 },
	{ "journal find", make_journal, find_journal, check_all, .calls = LIST | STAT, .allocations = 4,
	        .failures = 9 },
	{ "journal drop temporary", make_temporaries, drop_temporaries, check_all, .calls = LIST | REMOVE,
	        .tolerated = OPEN | WRITE | SYNC | STAT | CLOSE, .failures = 9 },
	{ "journal reader", make_journal, read_all, check_all, COP_EEND, .calls = OPEN | LIST | STAT,
	        .tolerated = READ | CLOSE, .allocations = 12, .failures = 12 },
	{ "journal reader of the newest", make_journal, read_newest, check_all, COP_EEND,
	        .calls = OPEN | READ | LIST | STAT, .tolerated = CLOSE, .allocations = 8, .failures = 12 },
	{ "journal models", make_journal, read_models, check_all, .calls = OPEN, .tolerated = READ, .silent = true,
	        .allocations = 5, .failures = 1 },
	{ "journal intact", make_journal, read_intact, check_all, COP_EEND, .calls = LIST | STAT,
	        .tolerated = OPEN | READ | CLOSE, .allocations = 12, .failures = 9 },
	{ "journal verify", make_journal, verify, check_all, .calls = OPEN | LIST | STAT, .tolerated = READ | CLOSE,
	        .allocations = 12, .failures = 12 },
	{ "journal cut", make_journal, cut_tail, check_all, .calls = OPEN | READ | LIST | STAT | CUT | SYNC,
	        .tolerated = CLOSE, .allocations = 12, .failures = 18 },
	{ "journal compress", make_journal, compress, check_all,
	        .calls = OPEN | READ | WRITE | SYNC | RENAME | REMOVE | LIST | STAT | MODE, .allocations = 10,
	        .failures = 20 },
	{ "journal rewrite", make_journal, rewrite, check_rewritten, .calls = RENAME | LIST | MODE,
	        .tolerated = OPEN | READ | WRITE | SYNC | REMOVE | STAT | CLOSE, .allocations = 30, .failures = 12 },
	{ "journal retain", make_journal, retain, check_kept, .calls = OPEN | SYNC | REMOVE | LIST | STAT,
	        .tolerated = CLOSE, .allocations = 9, .failures = 14 },
	{ "journal salvage", make_salvage, salvage, end_salvage, .calls = SYNC | RENAME | LIST,
	        .tolerated = OPEN | READ | WRITE | STAT | CUT | CLOSE, .allocations = 15, .failures = 14 },
	{ "journal writer", make_nothing, live, check_durable, .calls = OPEN | SYNC | RENAME | LIST,
	        .tolerated = WRITE | STAT | CUT | CLOSE, .allocations = 5, .failures = 14 },
	{ "journal writer behind another", make_whole, go_on, check_all, .calls = OPEN | SYNC | RENAME | LIST,
	        .tolerated = WRITE | STAT | CUT | CLOSE | READ, .allocations = 5, .failures = 8 },
	{ "journal healing", break_writer, recover_writer, check_healed, .calls = OPEN | WRITE | SYNC | RENAME,
	        .tolerated = READ | STAT | CUT | CLOSE, .allocations = 6, .failures = 7 },
};

/* ---- calls that end half way ---- */

static void test_files_written_and_read_in_small_pieces_are_whole(void **state)
{
	(void)state;
	static const size_t pieces[] = { 1, 7, 40 };
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		empty_folder();
		cop_test_io_limit(pieces[i]);
		assert_int_equal(cop_checkpoint_write(folder, "m", 3, "old", 3, NULL), COP_OK);
		check_old(NULL, false);
		empty_folder();
		write_journal(1, 9, 0);
		write_journal(10, 19, 0);
		assert_int_equal(cop_journal_keep_compress(folder, 1, NULL), COP_OK);
		check_whole(1, 19);
		cop_test_io_limit(0);
		check_whole(1, 19);
	}
}

static void test_interrupted_reads_are_made_again(void **state)
{
	(void)state;
	make_checkpoints(NULL);
	for (unsigned long n = 1; n <= 2; n++) {
		cop_test_io_fail(COP_TEST_IO_READ, n, false, EINTR);
		check_old(NULL, false);
		assert_true(cop_test_io_failed());
	}
	cop_test_io_fail(COP_TEST_IO_WRITE, 1, false, EINTR);
	assert_int_equal(cop_checkpoint_write(folder, "m", 4, "new", 3, NULL), COP_OK);
	none_fails();
}

static void test_file_that_ends_while_it_is_read_is_damage(void **state)
{
	(void)state;
	cop_diag diag = { .message = "" };
	make_checkpoints(NULL);
	cop_test_io_fail(COP_TEST_IO_READ, 2, false, 0);
	assert_int_equal(read_checkpoint(NULL, &diag), COP_EFORMAT);
	none_fails();
	assert_non_null(strstr(diag.message, "became shorter"));
}

static void test_write_that_writes_nothing_is_a_full_disk(void **state)
{
	(void)state;
	cop_diag diag = { .message = "" };
	cop_test_io_fail(COP_TEST_IO_WRITE, 1, false, 0);
	assert_int_equal(cop_checkpoint_write(folder, "m", 1, "new", 3, &diag), COP_EFULL);
	assert_non_null(strstr(diag.message, strerror(ENOSPC)));
	none_fails();
	cop_journal_writer *writer = open_writer(1, 0);
	cop_test_io_fail(COP_TEST_IO_WRITE, 1, false, 0);
	assert_int_equal(write_batch(writer, 1, 3), COP_EFULL);
	none_fails();
	assert_int_equal(cop_journal_writer_recover(writer, NULL, 0, 1, 0, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	check_whole(1, 0);
}

static void test_checkpoint_whose_closing_fails_is_not_there(void **state)
{
	(void)state;
	cop_diag diag = { .message = "" };
	make_checkpoints(NULL);
	cop_test_io_fail(COP_TEST_IO_CLOSE, 1, false, EIO);
	assert_int_equal(cop_checkpoint_write(folder, "m", 4, "new", 3, &diag), COP_EIO);
	none_fails();
	assert_non_null(strstr(diag.message, strerror(EIO)));
	assert_int_equal(newest_checkpoint(NULL, NULL), COP_OK);
}

/* Nobody knows then whether the segment was removed or cut; that it was is not said. */
static void test_writer_that_cannot_look_at_its_files_goes_on(void **state)
{
	(void)state;
	cop_journal_writer *writer = open_writer(1, 0);
	cop_test_io_fail(COP_TEST_IO_STAT, 1, true, EIO);
	assert_int_equal(write_batch(writer, 1, 3), COP_OK);
	assert_int_equal(cop_journal_writer_sync(writer, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_check(writer, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_roll(writer, NULL), COP_OK);
	for (unsigned long n = 1; n <= 5; n++) {
		cop_test_io_fail(COP_TEST_IO_STAT, n, false, EIO);
		assert_int_equal(cop_journal_writer_check(writer, NULL), COP_OK);
		assert_true(cop_test_io_failed());
	}
	cop_test_io_fail(COP_TEST_IO_STAT, 5, false, ENOENT); /* of the folder's name */
	assert_int_equal(cop_journal_writer_check(writer, NULL), COP_EIO);
	none_fails();
	assert_true(cop_journal_writer_gone(writer));
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
}

static void change_first_segment(void)
{
	cop_test_io_on_call(NULL);
	FILE *file = fopen(path_of(1, false), "r+b");
	assert_non_null(file);
	assert_int_equal(fseek(file, 60, SEEK_SET), 0);
	assert_int_equal(fputc('!', file), '!');
	assert_int_equal(fclose(file), 0);
}

/* The copy is synced, and compared after that. */
static void test_compressed_copy_of_a_segment_that_changed_meanwhile_is_not_kept(void **state)
{
	(void)state;
	cop_diag diag = { .message = "" };
	write_journal(1, 9, 0);
	write_journal(10, 12, 0);
	cop_test_io_fail(COP_TEST_IO_SYNC, 0, false, 0);
	cop_test_io_on_call(change_first_segment);
	assert_int_equal(cop_journal_keep_compress(folder, 1, &diag), COP_EFORMAT);
	none_fails();
	assert_non_null(strstr(diag.message, "not equal"));
	assert_int_equal(access(path_of(1, false), F_OK), 0);
	assert_int_not_equal(access(path_of(1, true), F_OK), 0);
}

/* A segment that got its name without a synced folder has to go; that it is there has to be known. */
static void test_journal_healed_half_way_without_a_listing_stays_broken(void **state)
{
	(void)state;
	cop_diag diag = { .message = "" };
	cop_bytes batch;
	break_writer(NULL);
	cop_test_io_fail(COP_TEST_IO_SYNC, 2, false, EIO);
	assert_int_equal(cop_journal_writer_recover(broken, NULL, 0, 10, 0, NULL), COP_EIO);
	cop_bytes_init(&batch);
	for (uint64_t i = 1; i <= 9; i++)
		put_record(&batch, i);
	cop_test_io_fail(COP_TEST_IO_LIST, 1, false, EIO);
	assert_int_equal(cop_journal_writer_recover(broken, batch.data, batch.length, 1, 9, &diag), COP_EIO);
	assert_non_null(strstr(diag.message, "an unfinished segment cannot be removed"));
	assert_true(cop_journal_writer_broken(broken));
	none_fails();
	assert_int_equal(cop_journal_writer_recover(broken, batch.data, batch.length, 1, 9, NULL), COP_OK);
	cop_bytes_fini(&batch);
	check_healed(NULL, false);
}

/* ---- damage, with failures while what follows it is sought ---- */

#define LARGE ((size_t)3 << 20) /* more than a reader's window */

/* A record, bytes that are none (after a page of zeros where `hole`), and a large record; whole: as a segment of its
 * own, followed by another where `followed`. */
static void write_damaged(bool hole, bool followed)
{
	cop_bytes bytes;
	empty_folder();
	cop_bytes_init(&bytes);
	uint8_t *body = calloc(1, LARGE);
	assert_non_null(body);
	cop_journal_segment_header_put(&bytes, 1, 0, "", 0);
	cop_journal_record_put(&bytes, 1, 1, "x", 1);
	for (size_t i = 0; i < (hole ? 3 * 4096 : 40); i++)
		cop_bytes_put_u8(&bytes, hole ? 0 : 0xff);
	cop_journal_record_put(&bytes, 3, 1, body, LARGE);
	cop_bytes_put(&bytes, "\xff\xff\xff\xff", 4); /* damage again behind it */
	cop_journal_record_put(&bytes, 4, 1, body, LARGE);
	assert_int_equal(bytes.err, COP_OK);
	save(path_of(1, false), bytes.data, bytes.length);
	if (followed) {
		cop_bytes_clear(&bytes);
		cop_journal_segment_header_put(&bytes, 5, 0, "", 0);
		assert_int_equal(bytes.err, COP_OK);
		save(path_of(5, false), bytes.data, bytes.length);
	}
	cop_bytes_fini(&bytes);
	free(body);
}

static cop_err end_of_damaged;

static cop_err read_damaged(void *context, cop_diag *diag)
{
	cop_journal_reader *reader;
	cop_journal_record record;
	(void)context;
	cop_err err = cop_journal_reader_open(folder, 1, false, &reader, diag);
	while (err == COP_OK)
		err = cop_journal_next(reader, &record, diag);
	cop_journal_reader_close(reader);
	return err;
}

static cop_err read_intact_damaged(void *context, cop_diag *diag)
{
	cop_journal_intact *intact;
	cop_journal_record record;
	bool follows;
	uint64_t *records = context;
	*records = 0;
	cop_err err = cop_journal_intact_open(folder, NULL, &intact, diag);
	while (err == COP_OK && (err = cop_journal_intact_next(intact, &record, &follows, diag)) == COP_OK)
		++*records;
	cop_journal_intact_close(intact);
	return err;
}

static void check_intact(void *context, bool failed)
{
	const uint64_t *records = context;
	assert_true(failed || *records == 3);
}

static void test_damage_under_every_failure_is_not_taken_for_another(void **state)
{
	(void)state;
	uint64_t records;
	for (unsigned which = 0; which < 4; which++) {
		bool hole = (which & 1) != 0, followed = (which & 2) != 0;
		/* A power cut leaves holes at the end alone. */
		end_of_damaged = hole && !followed ? COP_EEND : COP_EFORMAT;
		/* Without memory the damage is named without its folder. */
		const cop_test_attempt reading = { "damaged", NULL, read_damaged, NULL, end_of_damaged,
			.calls = COP_TEST_IO_OPEN | COP_TEST_IO_READ, .spares_memory = true, .allocations = 7,
			.failures = 3 };
		const cop_test_attempt passing = { "damaged, passed over", NULL, read_intact_damaged, check_intact,
			COP_EEND, .calls = COP_TEST_IO_LIST, .tolerated = COP_TEST_IO_OPEN | COP_TEST_IO_READ,
			.allocations = 7, .failures = 1 };
		write_damaged(hole, followed);
		cop_test_fail_each(&reading, NULL);
		cop_test_fail_each(&passing, &records);
	}
}

/* What a newer version wrote is neither read nor passed over. */
static void test_header_of_a_newer_version_ends_the_passing_over(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_diag diag = { .message = "" };
	uint64_t records;
	const uint32_t version = COP_JOURNAL_VERSION + 1;
	cop_bytes_init(&bytes);
	cop_journal_segment_header_put(&bytes, 1, 0, "", 0);
	memcpy(bytes.data + 8, &version, sizeof version);
	uint32_t crc = cop_crc32c(0, bytes.data, bytes.length - 4);
	memcpy(bytes.data + bytes.length - 4, &crc, sizeof crc);
	save(path_of(1, false), bytes.data, bytes.length);
	cop_bytes_fini(&bytes);
	assert_int_equal(read_intact_damaged(&records, &diag), COP_EVERSION);
	assert_non_null(strstr(diag.message, "newer coppice"));
	assert_string_equal(diag.source, "00000000000000000001.journal");
}

int main(void)
{
	const struct CMUnitTest others[] = {
		TEST(test_files_written_and_read_in_small_pieces_are_whole),
		TEST(test_interrupted_reads_are_made_again),
		TEST(test_file_that_ends_while_it_is_read_is_damage),
		TEST(test_write_that_writes_nothing_is_a_full_disk),
		TEST(test_checkpoint_whose_closing_fails_is_not_there),
		TEST(test_writer_that_cannot_look_at_its_files_goes_on),
		TEST(test_compressed_copy_of_a_segment_that_changed_meanwhile_is_not_kept),
		TEST(test_journal_healed_half_way_without_a_listing_stays_broken),
		TEST(test_damage_under_every_failure_is_not_taken_for_another),
		TEST(test_header_of_a_newer_version_ends_the_passing_over),
	};
	int failed = cmocka_run_group_tests(others, NULL, NULL);
	return failed + cop_test_fail_group(attempts, sizeof attempts / sizeof *attempts, make_folder, drop_folder,
	                        make_batches, drop_batches);
}
