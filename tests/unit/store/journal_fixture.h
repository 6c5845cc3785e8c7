/* A folder for each test, and records whose type, length and bytes follow from their sequence number. */
#ifndef COP_TESTS_JOURNAL_FIXTURE_H
#define COP_TESTS_JOURNAL_FIXTURE_H

#include "support.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/journal_reader.h"
#include "store/journal_writer.h"

static char folder[64];

static inline int make_folder(void **state)
{
	(void)state;
	/* Thousands of syncs: in memory, where there is such a place. */
	const char *place = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
	(void)snprintf(folder, sizeof folder, "%s/test_journal_XXXXXX", place);
	return mkdtemp(folder) == NULL;
}

static inline int drop_folder(void **state)
{
	(void)state;
	char command[96];
	(void)snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

static inline void empty_folder(void)
{
	DIR *dir = opendir(folder);
	assert_non_null(dir);
	const struct dirent *entry;
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			assert_int_equal(unlinkat(dirfd(dir), entry->d_name, 0), 0);
	(void)closedir(dir);
}

static inline const char *path_of(uint64_t base, bool compressed)
{
	static char path[sizeof folder + COP_JOURNAL_NAME_ROOM + 1];
	char name[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(base, compressed, name);
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static inline void save(const char *path, const void *data, size_t length)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

/* The whole file; caller frees with free. */
static inline uint8_t *load(const char *path, size_t *length)
{
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	*length = (size_t)status.st_size;
	uint8_t *data = malloc(*length + 1);
	assert_non_null(data);
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fread(data, 1, *length, file), *length);
	(void)fclose(file);
	return data;
}

static inline uint8_t type_of(uint64_t sequence) { return (uint8_t)(1 + sequence % 5); }
static inline size_t length_of(uint64_t sequence) { return sequence % 4 == 0 ? 0 : (size_t)(sequence * 7 % 23); }
static inline uint8_t byte_of(uint64_t sequence, size_t i) { return (uint8_t)(sequence * 31 + i * 7 + 1); }

static inline void put_record(cop_bytes *batch, uint64_t sequence)
{
	uint8_t body[32];
	size_t length = length_of(sequence);
	for (size_t i = 0; i < length; i++)
		body[i] = byte_of(sequence, i);
	cop_journal_record_put(batch, sequence, type_of(sequence), body, length);
	assert_int_equal(batch->err, COP_OK);
}

static inline void check_record(const cop_journal_record *record, uint64_t sequence)
{
	assert_int_equal(record->sequence, sequence);
	assert_int_equal(record->type, type_of(sequence));
	assert_int_equal(record->length, length_of(sequence));
	for (size_t i = 0; i < record->length; i++)
		assert_int_equal(record->body[i], byte_of(sequence, i));
}

static inline cop_err write_batch(cop_journal_writer *writer, uint64_t first, uint64_t count)
{
	cop_bytes batch;
	cop_bytes_init(&batch);
	for (uint64_t i = 0; i < count; i++)
		put_record(&batch, first + i);
	cop_err err = cop_journal_writer_write(writer, batch.data, batch.length, first, count, NULL);
	cop_bytes_fini(&batch);
	return err;
}

static inline cop_journal_writer *open_writer(uint64_t next, uint64_t segment_bytes)
{
	cop_journal_settings settings = {
		.segment_bytes = segment_bytes, .preallocate = true, .model_set = "models", .model_set_length = 6
	};
	cop_journal_writer *writer;
	assert_int_equal(cop_journal_writer_open(folder, &settings, next, &writer, NULL), COP_OK);
	return writer;
}

/* Records first to last in batches of three, each second one synced. */
static inline void write_journal(uint64_t first, uint64_t last, uint64_t segment_bytes)
{
	cop_journal_writer *writer = open_writer(first, segment_bytes);
	for (uint64_t at = first; at <= last; at += 3) {
		assert_int_equal(write_batch(writer, at, last - at + 1 < 3 ? last - at + 1 : 3), COP_OK);
		if (at % 2 == 0)
			assert_int_equal(cop_journal_writer_sync(writer, NULL), COP_OK);
	}
	assert_int_equal(cop_journal_writer_written(writer), last);
	assert_int_equal(cop_journal_writer_close(writer, NULL), COP_OK);
}

/* Reads and checks what follows `from`; the sequence number behind the last record. */
static inline cop_err read_journal(uint64_t from, cop_journal_tail *tail, uint64_t *next, cop_diag *diag)
{
	cop_journal_reader *reader;
	cop_journal_record record;
	*next = from;
	cop_err err = cop_journal_reader_open(folder, from, false, &reader, diag);
	if (err != COP_OK)
		return err;
	while ((err = cop_journal_next(reader, &record, diag)) == COP_OK)
		check_record(&record, (*next)++);
	assert_int_equal(cop_journal_next(reader, &record, NULL), err);
	*tail = *cop_journal_reader_tail(reader);
	cop_journal_reader_close(reader);
	return err;
}

/* The journal is whole and holds exactly `from` to `last`. */
static inline void check_whole(uint64_t from, uint64_t last)
{
	cop_journal_tail tail = { .torn = true };
	cop_diag diag = { .message = "" };
	uint64_t next;
	cop_err err = read_journal(from, &tail, &next, &diag);
	if (err != COP_EEND)
		print_message("%s: %s\n", diag.source, diag.message);
	assert_int_equal(err, COP_EEND);
	assert_int_equal(next, last + 1);
	assert_false(tail.torn);
	assert_int_equal(tail.next_sequence, last + 1);
}

static inline size_t count_segments(void)
{
	cop_journal_file *files;
	size_t count;
	assert_int_equal(cop_journal_list(folder, &files, &count, NULL), COP_OK);
	cop_mem_free(files);
	return count;
}

#endif
