#include "journal_fixture.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

static void test_journal_of_many_segments_reads_back(void **state)
{
	(void)state;
	write_journal(1, 500, 400);
	assert_true(count_segments() > 20);
	check_whole(1, 500);
	for (uint64_t from = 1; from <= 501; from += 37)
		check_whole(from, 500);
}

static void test_journal_written_in_several_lives_reads_back(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 10; i++) {
		write_journal(1 + i * 7, 7 + i * 7, i % 2 == 0 ? 0 : 100);
		cop_journal_writer *idle = open_writer(8 + i * 7, 0); /* a start without a record */
		assert_int_equal(cop_journal_writer_close(idle, NULL), COP_OK);
	}
	check_whole(1, 70);
}

/* Whose descriptors then begin with 0, which is one like any other. */
static void test_journal_writer_without_standard_input_leaves_nothing_open(void **state)
{
	(void)state;
	int input = dup(STDIN_FILENO);
	(void)close(STDIN_FILENO);
	cop_journal_writer *writer = open_writer(1, 0);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	assert_int_equal(write_batch(writer, 1, 2), COP_OK);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	if (input >= 0)
		assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
	(void)close(input);
}

static void test_journal_of_large_bodies_reads_back(void **state)
{
	(void)state;
	static const size_t lengths[] = { 0, 1, (size_t)1 << 20, 3, ((size_t)1 << 20) + 17, (size_t)5 << 20, 0, 4096 };
	cop_journal_writer *writer = open_writer(1, (size_t)2 << 20);
	cop_bytes batch;
	cop_bytes_init(&batch);
	uint8_t *body = calloc(1, (size_t)5 << 20);
	for (uint64_t i = 0; i < 8; i++) {
		memset(body, (int)i + 1, lengths[i]);
		cop_bytes_clear(&batch);
		cop_journal_record_put(&batch, i + 1, 1, body, lengths[i]);
		assert_int_equal(cop_journal_writer_write(writer, batch.data, batch.length, i + 1, 1, NULL), COP_OK);
	}
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	cop_bytes_fini(&batch);
	cop_journal_reader *reader;
	cop_journal_record record;
	assert_int_equal(cop_journal_reader_open(folder, 0, false, &reader, NULL), COP_OK);
	for (uint64_t i = 0; i < 8; i++) {
		assert_int_equal(cop_journal_next(reader, &record, NULL), COP_OK);
		assert_int_equal(record.length, lengths[i]);
		memset(body, (int)i + 1, lengths[i]);
		assert_memory_equal(record.body, body, lengths[i]);
	}
	assert_int_equal(cop_journal_next(reader, &record, NULL), COP_EEND);
	cop_journal_reader_close(reader);
	free(body);
}

static void test_journal_write_out_of_order_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	cop_journal_writer *writer = open_writer(5, 0);
	assert_int_equal(write_batch(writer, 4, 1), COP_EINVAL);
	assert_int_equal(write_batch(writer, 6, 1), COP_EINVAL);
	assert_false(cop_journal_writer_broken(writer));
	assert_int_equal(cop_journal_writer_written(writer), 4);
	assert_int_equal(write_batch(writer, 5, 2), COP_OK);
	assert_int_equal(cop_journal_writer_durable(writer), 4);
	assert_int_equal(cop_journal_writer_sync(writer, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_durable(writer), 6);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	check_whole(5, 6);
}

static void test_journal_roll_begins_segment_with_new_models(void **state)
{
	(void)state;
	cop_journal_writer *writer = open_writer(1, 0);
	assert_int_equal(write_batch(writer, 1, 2), COP_OK);
	assert_int_equal(cop_journal_writer_set_models(writer, "others", 5), COP_OK);
	assert_int_equal(cop_journal_writer_roll(writer, NULL), COP_OK);
	assert_int_equal(cop_journal_writer_durable(writer), 2);
	assert_int_equal(cop_journal_writer_roll(writer, NULL), COP_OK); /* nothing in it: replaced */
	assert_int_equal(cop_journal_writer_base(writer), 3);
	assert_int_equal(write_batch(writer, 3, 1), COP_OK);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	assert_int_equal(count_segments(), 2);
	check_whole(1, 3);
	cop_journal_reader *reader;
	cop_journal_record record;
	size_t length;
	assert_int_equal(cop_journal_reader_open(folder, 2, false, &reader, NULL), COP_OK);
	assert_int_equal(cop_journal_next(reader, &record, NULL), COP_OK);
	assert_int_equal(cop_journal_reader_base(reader), 1);
	assert_memory_equal(cop_journal_reader_model_set(reader, &length), "models", 6);
	assert_int_equal(length, 6);
	assert_int_equal(cop_journal_next(reader, &record, NULL), COP_OK);
	assert_memory_equal(cop_journal_reader_model_set(reader, &length), "other", 5);
	assert_int_equal(length, 5);
	cop_journal_reader_close(reader);
}

static void test_journal_open_where_records_follow_is_refused(void **state)
{
	(void)state;
	write_journal(1, 20, 100);
	cop_journal_settings settings = { 0 };
	cop_journal_writer *writer;
	cop_diag diag;
	assert_int_equal(cop_journal_writer_open(folder, &settings, 3, &writer, &diag), COP_EEXIST);
	assert_null(writer);
	assert_int_equal(cop_journal_writer_open(folder, &settings, 0, &writer, &diag), COP_EINVAL);
	settings.model_set_length = COP_JOURNAL_MODEL_SET_MAX + 1;
	assert_int_equal(cop_journal_writer_open(folder, &settings, 21, &writer, &diag), COP_EINVAL);
	settings.model_set_length = 0;
	assert_int_equal(cop_journal_writer_open("/nonexistent", &settings, 1, &writer, &diag), COP_ENOTFOUND);
	check_whole(1, 20);
}

static void test_journal_segment_is_not_larger_than_said(void **state)
{
	(void)state;
	write_journal(1, 300, 1000);
	cop_journal_file *files;
	size_t count;
	assert_int_equal(cop_journal_list(folder, &files, &count, NULL), COP_OK);
	for (size_t i = 0; i < count; i++)
		assert_true(files[i].bytes <= 1000 + COP_JOURNAL_FRAME_HEAD && files[i].bytes > 0);
	cop_mem_free(files);
}

/* In batches of any size; a batch alone may be larger than a segment. */
static void test_journal_batch_that_has_no_room_begins_a_segment(void **state)
{
	(void)state;
	for (uint64_t step = 1; step <= 4; step++) {
		for (uint64_t bytes = 1; bytes <= 401; bytes += 100) {
			cop_journal_writer *writer = open_writer(1, bytes);
			uint64_t batches = 0;
			for (uint64_t at = 1; at <= 24; at += step, batches++)
				assert_int_equal(write_batch(writer, at, step), COP_OK);
			assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
			check_whole(1, batches * step);
			cop_journal_file *files;
			size_t count;
			assert_int_equal(cop_journal_list(folder, &files, &count, NULL), COP_OK);
			assert_true(bytes > 1 || count == batches);
			for (size_t i = 0; i + 1 < count; i++)
				assert_true(files[i + 1].base - files[i].base == step ||
				            files[i].bytes <= bytes + COP_JOURNAL_FRAME_HEAD);
			cop_mem_free(files);
			empty_folder();
		}
	}
}

static void test_journal_unfinished_segment_is_removed_at_open(void **state)
{
	(void)state;
	write_journal(1, 4, 0);
	char path[256];
	(void)snprintf(path, sizeof path, "%s.tmp", path_of(5, false));
	save(path, "half", 4);
	write_journal(5, 9, 0);
	assert_int_not_equal(access(path, F_OK), 0);
	check_whole(1, 9);
}

static void test_journal_writer_without_memory_fails_cleanly(void **state)
{
	(void)state;
	unsigned long n = 1;
	for (cop_err err = COP_ENOMEM; err != COP_OK; n++) {
		cop_journal_settings settings = { .model_set = "m", .model_set_length = 1 };
		cop_journal_writer *writer;
		write_journal(1, 2, 0);
		cop_test_alloc_fail(n, 0);
		err = cop_journal_writer_open(folder, &settings, 3, &writer, NULL);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		if (err == COP_OK)
			assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
		else
			assert_int_equal(err, COP_ENOMEM);
		check_whole(1, 2);
		empty_folder();
	}
	assert_true(n > 5);
}

/* Where there is a page cache beside the file: the build's folder, as a rule. */
static int make_folder_on_disk(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "./test_journal_XXXXXX");
	return mkdtemp(folder) == NULL;
}

static size_t cached_bytes(const char *path, size_t *length)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &status) == 0);
	*length = (size_t)status.st_size;
	void *map = mmap(NULL, *length, PROT_READ, MAP_SHARED, fd, 0);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (*length + page - 1) / page, cached = 0;
	unsigned char *there = calloc(pages, 1);
	assert_true(map != MAP_FAILED && there != NULL);
	assert_int_equal(mincore(map, *length, there), 0);
	for (size_t i = 0; i < pages; i++)
		cached += (there[i] & 1) * page;
	free(there);
	assert_int_equal(munmap(map, *length), 0);
	(void)close(fd);
	return cached;
}

static void test_sync_in_steps_gives_durable_bytes_back_and_all_reads_back(void **state)
{
	(void)state;
	enum { BATCHES = 200, BODY = 1 << 16 };
	struct statfs system;
	cop_journal_writer *writer = open_writer(1, 0);
	cop_journal_ticket ticket = { .fd = -1 };
	cop_bytes batch;
	cop_bytes_init(&batch);
	uint8_t *body = calloc(1, BODY);
	assert_non_null(body);
	for (uint64_t i = 0; i < BATCHES; i++) {
		memset(body, (int)i, BODY);
		cop_bytes_clear(&batch);
		cop_journal_record_put(&batch, i + 1, 1, body, BODY);
		assert_int_equal(cop_journal_writer_write(writer, batch.data, batch.length, i + 1, 1, NULL), COP_OK);
		if (i % 8 == 0) {
			assert_int_equal(cop_journal_writer_sync_begin(writer, &ticket), COP_OK);
		} else if (i % 8 == 3) {
			assert_int_equal(cop_journal_writer_sync_extend(writer, &ticket), COP_OK);
			cop_journal_writer_sync_run(&ticket);
			assert_int_equal(cop_journal_writer_sync_end(writer, &ticket, NULL), COP_OK);
			assert_int_equal(cop_journal_writer_durable(writer), i + 1);
		}
	}
	size_t length;
	size_t cached = cached_bytes(path_of(1, false), &length);
	assert_true(length > (size_t)BATCHES * BODY);
	assert_int_equal(statfs(folder, &system), 0);
	if (system.f_type == TMPFS_MAGIC)
		printf("no page cache beside the files here\n");
	else
		assert_true(cached < length / 2);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
	cop_journal_reader *reader;
	cop_journal_record record;
	assert_int_equal(cop_journal_reader_open(folder, 0, false, &reader, NULL), COP_OK);
	for (uint64_t i = 0; i < BATCHES; i++) {
		assert_int_equal(cop_journal_next(reader, &record, NULL), COP_OK);
		memset(body, (int)i, BODY);
		assert_int_equal(record.length, BODY);
		assert_memory_equal(record.body, body, BODY);
	}
	cop_journal_reader_close(reader);
	cop_bytes_fini(&batch);
	free(body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_journal_of_many_segments_reads_back),
		TEST(test_journal_written_in_several_lives_reads_back),
		TEST(test_journal_writer_without_standard_input_leaves_nothing_open),
		TEST(test_journal_of_large_bodies_reads_back),
		TEST(test_journal_write_out_of_order_is_refused_and_changes_nothing),
		TEST(test_journal_roll_begins_segment_with_new_models),
		TEST(test_journal_open_where_records_follow_is_refused),
		TEST(test_journal_segment_is_not_larger_than_said),
		TEST(test_journal_batch_that_has_no_room_begins_a_segment),
		TEST(test_journal_unfinished_segment_is_removed_at_open),
		TEST(test_journal_writer_without_memory_fails_cleanly),
		cmocka_unit_test_setup_teardown(test_sync_in_steps_gives_durable_bytes_back_and_all_reads_back,
		        make_folder_on_disk, drop_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
