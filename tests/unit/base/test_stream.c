#include "support.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stream.h"

static const char *const endings[] = { "", ".gz", ".zst" };
#define ENDINGS (sizeof endings / sizeof *endings)

static char folder[] = "/tmp/test_stream_XXXXXX";

static const char *path_of(const char *name)
{
	static char path[128];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL;
}

static int drop_folder(void **state)
{
	(void)state;
	char command[64];
	(void)snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command);
}

static void save(const char *path, const void *data, size_t length)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static void load(const char *path, cop_bytes *out)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	char block[4096];
	size_t got;
	while ((got = fread(block, 1, sizeof block, file)) > 0)
		cop_bytes_put(out, block, got);
	(void)fclose(file);
	assert_int_equal(out->err, COP_OK);
}

static void write_stream(const char *path, const void *data, size_t length, size_t step)
{
	cop_stream *stream;
	assert_int_equal(cop_stream_open_write(path, &stream, NULL), COP_OK);
	for (size_t at = 0; at < length; at += step)
		assert_int_equal(
		        cop_stream_write(stream, (const char *)data + at, length - at < step ? length - at : step),
		        COP_OK);
	assert_int_equal(cop_stream_close(stream, NULL), COP_OK);
}

/* Reads to the end in steps; the error that ended it. */
static cop_err read_all(cop_stream *stream, size_t step, cop_bytes *out)
{
	char *block = malloc(step);
	assert_non_null(block);
	cop_err err;
	size_t got;
	while ((err = cop_stream_read(stream, block, step, &got)) == COP_OK)
		cop_bytes_put(out, block, got);
	free(block);
	return err;
}

static void check_content(const char *path, size_t step, const void *data, size_t length)
{
	cop_stream *stream;
	cop_bytes got;
	cop_bytes_init(&got);
	assert_int_equal(cop_stream_open_read(path, &stream, NULL), COP_OK);
	assert_int_equal(read_all(stream, step, &got), COP_EEND);
	assert_int_equal(cop_stream_close(stream, NULL), COP_OK);
	assert_int_equal(got.length, length);
	if (length > 0)
		assert_memory_equal(got.data, data, length);
	cop_bytes_fini(&got);
}

static void test_stream_of_any_format_reads_back(void **state)
{
	(void)state;
	static const size_t lengths[] = { 0, 1, 3, 1000, 262144, 1500000 };
	cop_rng rng;
	cop_rng_init(&rng, 3, 0);
	size_t longest = lengths[sizeof lengths / sizeof *lengths - 1];
	uint8_t *data = cop_mem_alloc(longest, 1);
	assert_non_null(data);
	for (size_t i = 0; i < longest; i++)
		data[i] = (uint8_t)(cop_rng_below(&rng, 4) == 0 ? cop_rng_u64(&rng) : i);
	for (size_t e = 0; e < ENDINGS; e++)
		for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
			char name[32];
			(void)snprintf(name, sizeof name, "back%s", endings[e]);
			const char *path = path_of(name);
			write_stream(path, data, lengths[i], 70001);
			check_content(path, 1000003, data, lengths[i]);
			check_content(path, 777, data, lengths[i]);
		}
	cop_mem_free(data);
}

static void test_stream_of_files_can_repeat_and_of_pipes_cannot(void **state)
{
	(void)state;
	assert_true(cop_stream_can_repeat("/"));
	assert_true(cop_stream_can_repeat("/proc/self/status"));
	assert_true(cop_stream_can_repeat("/nowhere/at/all"));
	assert_false(cop_stream_can_repeat("-"));
	assert_false(cop_stream_can_repeat("/dev/null"));
	int ends[2];
	char path[64];
	assert_int_equal(pipe(ends), 0);
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
	assert_false(cop_stream_can_repeat(path));
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void test_stream_format_is_told_by_content_not_name(void **state)
{
	(void)state;
	write_stream(path_of("named.gz"), "hello", 5, 5);
	cop_bytes file;
	cop_bytes_init(&file);
	load(path_of("named.gz"), &file);
	assert_int_equal(file.data[0], 0x1f);
	save(path_of("other.txt"), file.data, file.length);
	check_content(path_of("other.txt"), 100, "hello", 5);
	save(path_of("plain.gz"), "plain", 5);
	check_content(path_of("plain.gz"), 100, "plain", 5);
	cop_bytes_fini(&file);
}

static void test_stream_of_members_one_after_another_reads_on(void **state)
{
	(void)state;
	for (size_t e = 1; e < ENDINGS; e++) {
		char name[32];
		(void)snprintf(name, sizeof name, "member%s", endings[e]);
		cop_bytes file;
		cop_bytes_init(&file);
		static const char *const parts[] = { "one\ntw", "o\n", "", "three" };
		for (size_t i = 0; i < 4; i++) {
			write_stream(path_of(name), parts[i], strlen(parts[i]), 100);
			load(path_of(name), &file);
		}
		save(path_of(name), file.data, file.length);
		check_content(path_of(name), 3, "one\ntwo\nthree", 13);
		check_content(path_of(name), 1000, "one\ntwo\nthree", 13);
		cop_bytes_fini(&file);
	}
}

static void test_stream_cut_at_every_byte_is_an_error(void **state)
{
	(void)state;
	for (size_t e = 1; e < ENDINGS; e++) {
		char name[32];
		(void)snprintf(name, sizeof name, "cut%s", endings[e]);
		const char *text = "some text, some more text, and some other text\n";
		write_stream(path_of(name), text, strlen(text), 100);
		cop_bytes file;
		cop_bytes_init(&file);
		load(path_of(name), &file);
		/* Fewer bytes than the magic are a plain file. */
		for (size_t cut = e == 1 ? 2 : 4; cut <= file.length; cut++) {
			cop_stream *stream;
			cop_bytes got;
			cop_bytes_init(&got);
			assert_int_equal(cop_stream_open_memory("cut", file.data, cut, &stream, NULL), COP_OK);
			cop_err expected = cut == file.length ? COP_EEND : COP_EFORMAT;
			assert_int_equal(read_all(stream, 7, &got), expected);
			if (expected == COP_EFORMAT) {
				char again;
				size_t n;
				assert_non_null(strstr(cop_stream_diag(stream)->message, "cut short"));
				assert_int_equal(cop_stream_read(stream, &again, 1, &n), COP_EFORMAT);
			}
			assert_int_equal(cop_stream_close(stream, NULL), COP_OK);
			cop_bytes_fini(&got);
		}
		cop_bytes_fini(&file);
	}
}

static void test_stream_damaged_or_followed_by_other_bytes_is_an_error(void **state)
{
	(void)state;
	for (size_t e = 1; e < ENDINGS; e++) {
		char name[32];
		(void)snprintf(name, sizeof name, "bad%s", endings[e]);
		write_stream(path_of(name), "abcabcabcabc", 12, 100);
		cop_bytes file;
		cop_bytes_init(&file);
		load(path_of(name), &file);
		cop_bytes_put(&file, "garbage", 7);
		cop_stream *stream;
		cop_bytes got;
		cop_bytes_init(&got);
		assert_int_equal(cop_stream_open_memory("bad", file.data, file.length, &stream, NULL), COP_OK);
		assert_int_equal(read_all(stream, 100, &got), COP_EFORMAT);
		assert_int_equal(cop_stream_close(stream, NULL), COP_OK);
		cop_bytes_fini(&got);
		cop_bytes_fini(&file);
	}
}

static void check_lines(const char *text, size_t length, const char *const *lines, size_t count)
{
	cop_stream *stream;
	char *line;
	size_t got;
	assert_int_equal(cop_stream_open_memory("text", text, length, &stream, NULL), COP_OK);
	assert_int_equal(cop_stream_line_number(stream), 0);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(cop_stream_line(stream, &line, &got), COP_OK);
		assert_string_equal(line, lines[i]);
		assert_int_equal(got, strlen(lines[i]));
		assert_int_equal(cop_stream_line_number(stream), i + 1);
	}
	assert_int_equal(cop_stream_line(stream, &line, &got), COP_EEND);
	assert_int_equal(cop_stream_line(stream, &line, &got), COP_EEND);
	assert_null(line);
	assert_int_equal(cop_stream_close(stream, NULL), COP_OK);
}

static void test_stream_lines_with_any_ends_are_stripped(void **state)
{
	(void)state;
	check_lines("", 0, NULL, 0);
	check_lines("a", 1, (const char *const[]){ "a" }, 1);
	check_lines("a\r\nb\n\n\r\nc\rd\r", 12, (const char *const[]){ "a", "b", "", "", "c\rd" }, 5);
	check_lines("\n", 1, (const char *const[]){ "" }, 1);
}

static void test_stream_lines_longer_than_buffer_come_whole(void **state)
{
	(void)state;
	size_t lengths[] = { 262143, 262144, 262145, 600000, 5, 0, 1000000 };
	size_t count = sizeof lengths / sizeof *lengths;
	cop_stream *out;
	cop_stream *in;
	assert_int_equal(cop_stream_open_write(path_of("long.gz"), &out, NULL), COP_OK);
	for (size_t i = 0; i < count; i++) {
		char c = (char)('a' + i);
		for (size_t k = 0; k < lengths[i]; k++)
			assert_int_equal(cop_stream_write(out, &c, 1), COP_OK);
		assert_int_equal(cop_stream_write(out, "\n", 1), COP_OK);
	}
	assert_int_equal(cop_stream_close(out, NULL), COP_OK);
	assert_int_equal(cop_stream_open_read(path_of("long.gz"), &in, NULL), COP_OK);
	for (size_t i = 0; i < count; i++) {
		char *line;
		size_t length;
		assert_int_equal(cop_stream_line(in, &line, &length), COP_OK);
		assert_int_equal(length, lengths[i]);
		if (length > 0)
			assert_int_equal(line[length - 1], 'a' + (int)i);
	}
	assert_int_equal(cop_stream_close(in, NULL), COP_OK);
}

static void test_stream_line_beyond_limit_is_refused(void **state)
{
	(void)state;
	size_t length = COP_STREAM_LINE_MAX + 2;
	char *text = cop_mem_alloc(length + 8, 1);
	assert_non_null(text);
	memset(text, 'x', length + 8);
	for (size_t extra = 0; extra < 4; extra++) {
		size_t line_length = COP_STREAM_LINE_MAX - 1 + extra;
		memset(text, 'x', length + 8);
		text[0] = '\n';
		text[1 + line_length] = '\n';
		for (int newline = 0; newline < 2; newline++) {
			cop_stream *stream;
			char *line;
			size_t got;
			assert_int_equal(
			        cop_stream_open_memory("text", text, 1 + line_length + (size_t)newline, &stream, NULL),
			        COP_OK);
			assert_int_equal(cop_stream_line(stream, &line, &got), COP_OK);
			cop_err err = cop_stream_line(stream, &line, &got);
			assert_int_equal(err, line_length <= COP_STREAM_LINE_MAX ? COP_OK : COP_EFORMAT);
			if (err != COP_OK)
				assert_int_equal(cop_stream_diag(stream)->line, 2);
			assert_int_equal(cop_stream_close(stream, NULL), COP_OK);
		}
	}
	cop_mem_free(text);
}

static void test_stream_of_missing_file_names_it(void **state)
{
	(void)state;
	cop_stream *stream;
	cop_diag diag;
	assert_int_equal(cop_stream_open_read("/nonexistent/a.csv", &stream, &diag), COP_ENOTFOUND);
	assert_null(stream);
	assert_string_equal(diag.source, "/nonexistent/a.csv");
	assert_int_equal(cop_stream_open_read("/tmp", &stream, &diag), COP_EIO);
	assert_null(stream);
	assert_int_equal(cop_stream_open_write("/nonexistent/a.csv", &stream, &diag), COP_ENOTFOUND);
	assert_int_equal(cop_stream_open_write("/tmp", &stream, &diag), COP_EIO);
}

static void test_stream_to_full_device_fails_at_close(void **state)
{
	(void)state;
	for (size_t e = 0; e < ENDINGS; e++) {
		char name[32];
		(void)snprintf(name, sizeof name, "full%s", endings[e]);
		assert_int_equal(symlink("/dev/full", path_of(name)), 0);
		cop_stream *stream;
		cop_diag diag = { .line = 9 };
		assert_int_equal(cop_stream_open_write(path_of(name), &stream, NULL), COP_OK);
		assert_int_equal(cop_stream_write(stream, "text", 4), COP_OK);
		assert_int_equal(cop_stream_close(stream, &diag), COP_EIO);
		assert_non_null(strstr(diag.message, "cannot be written"));
	}
}

static void test_stream_of_dash_is_standard_descriptor(void **state)
{
	(void)state;
	save(path_of("stdin"), "from stdin\n", 11);
	int kept = dup(STDIN_FILENO);
	int fd = open(path_of("stdin"), O_RDONLY);
	assert_true(fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO);
	cop_stream *stream;
	char *line;
	size_t length;
	assert_int_equal(cop_stream_open_read("-", &stream, NULL), COP_OK);
	assert_int_equal(cop_stream_line(stream, &line, &length), COP_OK);
	assert_string_equal(line, "from stdin");
	assert_string_equal(cop_stream_name(stream), "standard input");
	assert_int_equal(cop_stream_close(stream, NULL), COP_OK);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	if (kept >= 0) {
		(void)dup2(kept, STDIN_FILENO);
		(void)close(kept);
	}
	(void)close(fd);
}

/* Where descriptor 0 is free, a file gets it, and is as good there as anywhere. */
static void test_stream_of_a_file_at_descriptor_0_reads(void **state)
{
	(void)state;
	save(path_of("zero"), "a\nb\n", 4);
	int kept = dup(STDIN_FILENO);
	(void)close(STDIN_FILENO);
	cop_stream *stream;
	char *line;
	size_t length;
	assert_int_equal(cop_stream_open_read(path_of("zero"), &stream, NULL), COP_OK);
	assert_int_equal(cop_stream_line(stream, &line, &length), COP_OK);
	assert_string_equal(line, "a");
	assert_true(cop_stream_share(stream) == 0.5);
	cop_stream_free(stream);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) < 0);
	if (kept >= 0) {
		(void)dup2(kept, STDIN_FILENO);
		(void)close(kept);
	}
}

static void test_stream_to_dash_leaves_standard_output_open(void **state)
{
	(void)state;
	(void)fflush(stdout);
	int kept = dup(STDOUT_FILENO);
	int fd = open(path_of("stdout"), O_WRONLY | O_CREAT, 0600);
	assert_true(kept >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
	cop_stream *stream;
	cop_err opened[2], written[2] = { COP_EIO, COP_EIO }, closed[2] = { COP_EIO, COP_EIO };
	for (size_t i = 0; i < 2; i++) {
		opened[i] = (i == 0 ? cop_stream_open_write : cop_stream_open_replace)("-", &stream, NULL);
		if (opened[i] != COP_OK)
			break;
		written[i] = cop_stream_write(stream, "text\n", 5);
		closed[i] = cop_stream_close(stream, NULL);
	}
	(void)dup2(kept, STDOUT_FILENO);
	(void)close(kept);
	(void)close(fd);
	for (size_t i = 0; i < 2; i++)
		assert_true(opened[i] == COP_OK && written[i] == COP_OK && closed[i] == COP_OK);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	load(path_of("stdout"), &bytes);
	assert_int_equal(bytes.length, 10);
	assert_memory_equal(bytes.data, "text\ntext\n", 10);
	cop_bytes_fini(&bytes);
}

/* Until it is closed, and when it is given up, the file is the old one. */
static void test_stream_that_replaces_a_file_does_it_when_closed(void **state)
{
	(void)state;
	static const char *const want[] = { "old", "old", "new" };
	for (size_t e = 0; e < ENDINGS; e++) {
		char name[16];
		(void)snprintf(name, sizeof name, "whole%s", endings[e]);
		write_stream(path_of(name), "old", 3, 3);
		for (size_t i = 0; i < 3; i++) {
			cop_stream *stream;
			cop_stream *check;
			cop_bytes bytes;
			assert_int_equal(cop_stream_open_replace(path_of(name), &stream, NULL), COP_OK);
			assert_int_equal(cop_stream_write(stream, "new", 3), COP_OK);
			if (i == 1)
				cop_stream_free(stream);
			if (i == 2)
				assert_int_equal(cop_stream_close(stream, NULL), COP_OK);
			cop_bytes_init(&bytes);
			assert_int_equal(cop_stream_open_read(path_of(name), &check, NULL), COP_OK);
			assert_int_equal(read_all(check, 8, &bytes), COP_EEND);
			assert_int_equal(bytes.length, 3);
			assert_memory_equal(bytes.data, want[i], 3);
			cop_stream_free(check);
			cop_bytes_fini(&bytes);
			if (i == 0)
				cop_stream_free(stream);
		}
	}
	cop_stream *stream;
	cop_diag diag;
	assert_int_equal(cop_stream_open_replace(path_of("none/x"), &stream, &diag), COP_EIO);
	assert_null(stream);
	assert_int_equal(cop_stream_open_replace("/dev/null", &stream, NULL), COP_OK); /* written in place */
	assert_int_equal(cop_stream_close(stream, NULL), COP_OK);
	struct stat status;
	assert_int_equal(stat("/dev/null", &status), 0);
	assert_true(S_ISCHR(status.st_mode));
}

/* A name without a folder, where descriptor 0 is free, and a file of another's: what replaces it is theirs. */
static void test_stream_that_replaces_keeps_the_owner_of_a_name_alone(void **state)
{
	(void)state;
	char here[1024];
	struct stat status;
	cop_stream *stream;
	save(path_of("owned"), "old", 3);
	bool root = geteuid() == 0;
	if (root)
		assert_int_equal(chown(path_of("owned"), 12345, 23456), 0);
	assert_int_equal(chmod(path_of("owned"), 0640), 0);
	assert_non_null(getcwd(here, sizeof here));
	assert_int_equal(chdir(folder), 0);
	int kept = dup(STDIN_FILENO);
	for (size_t i = 0; i < 2; i++) {
		if (i == 1)
			(void)close(STDIN_FILENO);
		cop_err opened = cop_stream_open_replace("owned", &stream, NULL);
		cop_err closed = opened == COP_OK ? cop_stream_close(stream, NULL) : opened;
		if (i == 1 && kept >= 0)
			(void)dup2(kept, STDIN_FILENO);
		assert_int_equal(opened, COP_OK);
		assert_int_equal(closed, COP_OK);
	}
	if (kept >= 0)
		(void)close(kept);
	assert_int_equal(chdir(here), 0);
	assert_int_equal(stat(path_of("owned"), &status), 0);
	assert_int_equal(status.st_size, 0);
	assert_int_equal(status.st_mode & 0777, 0640);
	if (root)
		assert_true(status.st_uid == 12345 && status.st_gid == 23456);
}

/* Lines, looks and reads of one stream follow one another without a byte lost or given twice. */
static void test_stream_lines_and_reads_take_turns(void **state)
{
	(void)state;
	const size_t length = 700000;
	char *text = malloc(length), *block = malloc(length);
	assert_true(text != NULL && block != NULL);
	for (size_t i = 0; i < length; i++)
		text[i] = i % 1009 == 1008 ? '\n' : (char)('a' + i % 23);
	for (size_t e = 0; e < ENDINGS; e++) {
		char name[16];
		(void)snprintf(name, sizeof name, "turns%s", endings[e]);
		write_stream(path_of(name), text, length, 50000);
		cop_stream *stream;
		size_t at = 0, got, size;
		cop_err err;
		assert_int_equal(cop_stream_open_read(path_of(name), &stream, NULL), COP_OK);
		for (size_t turn = 0; at < length; turn++) {
			char *line;
			const char *next;
			assert_int_equal(cop_stream_peek(stream, 1, &next, &got), COP_OK);
			assert_memory_equal(next, text + at, got);
			assert_int_equal(cop_stream_line(stream, &line, &got), COP_OK);
			assert_memory_equal(line, text + at, got);
			at += got + (at + got < length);
			size = turn % 7 * turn * 1000;
			err = cop_stream_read(stream, block, size, &got);
			assert_true(err == COP_OK || (err == COP_EEND && at == length && got == 0));
			assert_int_equal(got, size < length - at ? size : length - at);
			assert_memory_equal(block, text + at, got);
			at += got;
		}
		cop_stream_free(stream);
	}
	free(text);
	free(block);
}

/* Reads every line; the first error that is no end. */
static cop_err read_lines(const char *path)
{
	cop_stream *stream;
	cop_diag diag;
	cop_err err = cop_stream_open_read(path, &stream, &diag);
	char *line;
	size_t length;
	while (err == COP_OK)
		err = cop_stream_line(stream, &line, &length);
	cop_stream_free(stream);
	return err;
}

static cop_err write_lines(const char *path)
{
	cop_stream *stream;
	cop_err err = cop_stream_open_write(path, &stream, NULL);
	if (err == COP_OK)
		err = cop_stream_write(stream, "a\nb\n", 4);
	cop_err closed = cop_stream_close(stream, NULL);
	return err != COP_OK ? err : closed;
}

static void test_stream_without_memory_fails_cleanly(void **state)
{
	(void)state;
	for (size_t e = 0; e < ENDINGS; e++) {
		char name[32];
		(void)snprintf(name, sizeof name, "memory%s", endings[e]);
		unsigned long n = 1;
		for (;; n++) {
			cop_test_alloc_fail(n, 0);
			cop_err err = write_lines(path_of(name));
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			if (err == COP_OK)
				break;
			assert_int_equal(err, COP_ENOMEM);
		}
		assert_true(n >= 4);
		for (n = 1;; n++) {
			cop_test_alloc_fail(n, 0);
			cop_err err = read_lines(path_of(name));
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_EEND, cop_test_alloc_failed());
			if (err == COP_EEND)
				break;
			assert_int_equal(err, COP_ENOMEM);
		}
		assert_true(n >= 5);
	}
}

static void test_stream_peek_takes_nothing(void **state)
{
	(void)state;
	static char text[300000];
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)(i % 100 == 99 ? '\n' : 'a' + i % 26);
	cop_stream *stream;
	const char *next;
	char *line;
	size_t length;
	assert_int_equal(cop_stream_open_memory("m", text, sizeof text, &stream, NULL), COP_OK);
	for (size_t taken = 0; taken < sizeof text; taken += 100) {
		size_t left = sizeof text - taken;
		size_t wanted = taken % 700 == 0 ? COP_STREAM_PEEK_MAX : taken % 300;
		assert_int_equal(cop_stream_peek(stream, wanted, &next, &length), COP_OK);
		assert_true(length >= (wanted < left ? wanted : left) && length <= left);
		if (length > 0)
			assert_memory_equal(next, text + taken, length);
		assert_int_equal(cop_stream_line(stream, &line, &length), COP_OK);
		assert_int_equal(length, 99);
		assert_memory_equal(line, text + taken, length);
		assert_int_equal(line[length], 0);
		size_t sum = 0;
		for (size_t i = 0; i <= COP_STREAM_SLACK; i++) /* can be read */
			sum += (unsigned char)line[length + i];
		assert_true(sum < 256 * (COP_STREAM_SLACK + 1));
	}
	assert_int_equal(cop_stream_peek(stream, 1, &next, &length), COP_EEND);
	assert_int_equal(length, 0);
	cop_stream_free(stream);
}

static void test_stream_share_grows_to_the_whole_file(void **state)
{
	(void)state;
	enum { LINES = 400000 };
	cop_bytes text;
	cop_rng rng;
	cop_bytes_init(&text);
	cop_rng_init(&rng, 5, 0);
	for (size_t i = 0; i < LINES; i++) {
		char line[32];
		int length =
		        snprintf(line, sizeof line, "%lu\n", (unsigned long)(1000000 + cop_rng_below(&rng, 1000000)));
		cop_bytes_put(&text, line, (size_t)length);
	}
	for (size_t k = 0; k < ENDINGS; k++) {
		char name[32], *line;
		cop_stream *stream;
		size_t length;
		double share = 0;
		(void)snprintf(name, sizeof name, "share%s", endings[k]);
		write_stream(path_of(name), text.data, text.length, text.length);
		assert_int_equal(cop_stream_open_read(path_of(name), &stream, NULL), COP_OK);
		for (size_t i = 1; i <= LINES; i++) {
			assert_int_equal(cop_stream_line(stream, &line, &length), COP_OK);
			if (i % 40000 != 0)
				continue;
			double now = cop_stream_share(stream);
			assert_true(now >= share && now <= 1 && now > (double)i / LINES - 0.02 &&
			            now < (double)i / LINES + 0.2);
			share = now;
		}
		assert_int_equal(cop_stream_line(stream, &line, &length), COP_EEND);
		assert_true(cop_stream_share(stream) == 1);
		cop_stream_free(stream);
	}
	cop_bytes_fini(&text);
	cop_stream *stream;
	assert_int_equal(cop_stream_open_memory("", "a", 1, &stream, NULL), COP_OK);
	assert_true(cop_stream_share(stream) < 0);
	cop_stream_free(stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stream_of_any_format_reads_back),
		cmocka_unit_test(test_stream_of_files_can_repeat_and_of_pipes_cannot),
		cmocka_unit_test(test_stream_format_is_told_by_content_not_name),
		cmocka_unit_test(test_stream_of_members_one_after_another_reads_on),
		cmocka_unit_test(test_stream_cut_at_every_byte_is_an_error),
		cmocka_unit_test(test_stream_damaged_or_followed_by_other_bytes_is_an_error),
		cmocka_unit_test(test_stream_lines_with_any_ends_are_stripped),
		cmocka_unit_test(test_stream_lines_longer_than_buffer_come_whole),
		cmocka_unit_test(test_stream_line_beyond_limit_is_refused),
		cmocka_unit_test(test_stream_of_missing_file_names_it),
		cmocka_unit_test(test_stream_to_full_device_fails_at_close),
		cmocka_unit_test(test_stream_of_dash_is_standard_descriptor),
		cmocka_unit_test(test_stream_without_memory_fails_cleanly),
		cmocka_unit_test(test_stream_peek_takes_nothing),
		cmocka_unit_test(test_stream_share_grows_to_the_whole_file),
		cmocka_unit_test(test_stream_of_a_file_at_descriptor_0_reads),
		cmocka_unit_test(test_stream_to_dash_leaves_standard_output_open),
		cmocka_unit_test(test_stream_that_replaces_a_file_does_it_when_closed),
		cmocka_unit_test(test_stream_lines_and_reads_take_turns),
		cmocka_unit_test(test_stream_that_replaces_keeps_the_owner_of_a_name_alone),
	};
	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
