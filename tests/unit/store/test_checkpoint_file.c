#include "support.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "store/checkpoint_file.h"

static char folder[] = "/tmp/test_checkpoint_file_XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	(void)strcpy(strrchr(folder, '_'), "_XXXXXX");
	return mkdtemp(folder) == NULL;
}

static int drop_folder(void **state)
{
	(void)state;
	char command[64];
	(void)snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command);
}

static const char *path_of(const char *prefix, uint64_t sequence)
{
	static char path[COP_CHECKPOINT_NAME_ROOM + sizeof folder + 1];
	char name[COP_CHECKPOINT_NAME_ROOM];
	cop_checkpoint_name(prefix, sequence, name);
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void save(const char *path, const void *data, size_t length)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static size_t load(const char *path, uint8_t *data, size_t room)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	size_t got = fread(data, 1, room, file);
	(void)fclose(file);
	return got;
}

static void put(const char *prefix, uint64_t sequence, const char *text)
{
	assert_int_equal(cop_checkpoint_write(folder, prefix, sequence, text, strlen(text), NULL), COP_OK);
}

static void check_list(const char *prefix, const uint64_t *expected, size_t expected_count)
{
	uint64_t *sequences;
	size_t count;
	assert_int_equal(cop_checkpoint_list(folder, prefix, &sequences, &count, NULL), COP_OK);
	assert_int_equal(count, expected_count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(sequences[i], expected[i]);
	cop_mem_free(sequences);
}

static void check_body(const char *path, const char *text)
{
	cop_bytes body;
	cop_bytes_init(&body);
	assert_int_equal(cop_checkpoint_read(path, &body, NULL), COP_OK);
	assert_int_equal(body.length, strlen(text));
	if (body.length > 0)
		assert_memory_equal(body.data, text, body.length);
	cop_bytes_fini(&body);
}

static void test_checkpoint_file_written_reads_back(void **state)
{
	(void)state;
	put("m", 7, "body");
	check_body(path_of("m", 7), "body");
	put("m", 7, "another");
	check_body(path_of("m", 7), "another");
	put("m", 8, "");
	check_body(path_of("m", 8), "");
	assert_non_null(strstr(path_of("m", 8), "/m.00000000000000000008.checkpoint"));
}

static void test_checkpoint_list_is_newest_first_and_own_prefix_only(void **state)
{
	(void)state;
	static const uint64_t written[] = { 3, COP_CHECKPOINT_SEQUENCE_MAX, 20, 0, 9 };
	for (size_t i = 0; i < 5; i++)
		put("a", written[i], "x");
	put("a.b", 4, "x");
	put("ab", 5, "x");
	char path[128];
	(void)snprintf(path, sizeof path, "%s/a.7.checkpoint", folder);
	save(path, "", 0);
	check_list("a", (const uint64_t[]){ COP_CHECKPOINT_SEQUENCE_MAX, 20, 9, 3, 0 }, 5);
	check_list("a.b", (const uint64_t[]){ 4 }, 1);
	check_list("c", NULL, 0);
}

static void test_checkpoint_number_without_a_next_one_is_refused_by_name(void **state)
{
	(void)state;
	static const char *const names[] = { "a.18446744073709551615.checkpoint", "a.99999999999999999999.checkpoint",
		"a.10000000000000000000.checkpoint" };
	put("a", 4, "x");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[128];
		cop_diag diag = { .message = "" };
		uint64_t *sequences, sequence;
		size_t count;
		cop_bytes body;
		cop_bytes_init(&body);
		(void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		save(path, "", 0);
		assert_int_equal(cop_checkpoint_list(folder, "a", &sequences, &count, &diag), COP_EFORMAT);
		assert_null(sequences);
		assert_int_equal(count, 0);
		assert_non_null(strstr(diag.message, names[i]));
		assert_non_null(strstr(diag.message, "move the file"));
		assert_int_equal(cop_checkpoint_newest(folder, "a", &body, &sequence, NULL, &diag), COP_EFORMAT);
		assert_int_equal(cop_checkpoint_prune(folder, "a", 1, &diag), COP_EFORMAT);
		assert_int_equal(remove(path), 0);
	}
	cop_diag diag = { .message = "" };
	assert_int_equal(cop_checkpoint_write(folder, "a", COP_CHECKPOINT_SEQUENCE_MAX + 1, "x", 1, &diag), COP_EINVAL);
	char text[512], expected[256];
	cop_diag_text(&diag, text, sizeof text);
	(void)snprintf(expected, sizeof expected, "%s: no number is left for another checkpoint of a", folder);
	assert_string_equal(text, expected);
	check_list("a", (const uint64_t[]){ 4 }, 1);
}

static void test_checkpoint_file_with_any_bit_flipped_is_refused(void **state)
{
	(void)state;
	put("flip", 1, "some body");
	const char *path = path_of("flip", 1);
	uint8_t data[256];
	size_t length = load(path, data, sizeof data);
	cop_bytes body;
	cop_bytes_init(&body);
	for (size_t i = 0; i < length * 8; i++) {
		data[i / 8] ^= (uint8_t)(1u << i % 8);
		save(path, data, length);
		assert_int_equal(cop_checkpoint_read(path, &body, NULL), COP_EFORMAT);
		assert_int_equal(body.length, 0);
		data[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	save(path, data, length);
	check_body(path, "some body");
	cop_bytes_fini(&body);
}

static void test_checkpoint_file_cut_or_lengthened_is_refused(void **state)
{
	(void)state;
	put("cut", 1, "some body");
	const char *path = path_of("cut", 1);
	uint8_t data[256] = { 0 };
	size_t length = load(path, data, sizeof data);
	cop_bytes body;
	cop_bytes_init(&body);
	for (size_t cut = 0; cut < length + 3; cut++) {
		if (cut == length)
			continue;
		save(path, data, cut);
		assert_int_equal(cop_checkpoint_read(path, &body, NULL), COP_EFORMAT);
	}
	cop_bytes_fini(&body);
}

/* Writes a file of version 2 with another layout behind its fixed head. */
static void put_newer(const char *path)
{
	put("newer", 1, "x");
	uint8_t data[256];
	(void)load(path_of("newer", 1), data, sizeof data);
	uint32_t version = COP_CHECKPOINT_VERSION + 1;
	memcpy(data + 8, &version, sizeof version);
	uint32_t crc = cop_crc32c(0, data, 12);
	memcpy(data + 12, &crc, sizeof crc);
	(void)unlink(path_of("newer", 1));
	save(path, data, 17);
}

static void test_checkpoint_file_of_newer_version_is_refused_by_name(void **state)
{
	(void)state;
	char path[256];
	(void)snprintf(path, sizeof path, "%s", path_of("v", 9));
	put("v", 8, "old");
	put_newer(path);
	cop_bytes body;
	cop_bytes_init(&body);
	cop_diag diag;
	uint64_t sequence;
	assert_int_equal(cop_checkpoint_read(path, &body, &diag), COP_EVERSION);
	assert_non_null(strstr(diag.message, "version 2"));
	assert_int_equal(cop_checkpoint_newest(folder, "v", &body, &sequence, NULL, &diag), COP_EVERSION);
	assert_string_equal(diag.source, path);
	cop_bytes_fini(&body);
}

typedef struct heard {
	size_t count;
	uint64_t sequences[8];
} heard;

static void hear(void *context, uint64_t sequence, const cop_diag *why)
{
	heard *h = context;
	assert_true(why->message[0] != '\0' && why->source[0] != '\0');
	h->sequences[h->count++] = sequence;
}

static void test_checkpoint_newest_passes_over_damaged_ones(void **state)
{
	(void)state;
	heard h = { 0 };
	cop_checkpoint_listener listener = { hear, &h };
	cop_bytes body;
	cop_bytes_init(&body);
	uint64_t sequence;
	cop_diag diag;
	assert_int_equal(cop_checkpoint_newest(folder, "n", &body, &sequence, &listener, &diag), COP_ENOTFOUND);
	put("n", 1, "one");
	put("n", 2, "two");
	put("n", 3, "three");
	assert_int_equal(cop_checkpoint_newest(folder, "n", &body, &sequence, &listener, NULL), COP_OK);
	assert_int_equal(sequence, 3);
	assert_int_equal(body.length, 5);
	assert_int_equal(h.count, 0);
	save(path_of("n", 3), "torn", 4);
	assert_int_equal(mkdir(path_of("n", 4), 0700), 0);
	assert_int_equal(cop_checkpoint_newest(folder, "n", &body, &sequence, &listener, NULL), COP_OK);
	assert_int_equal(sequence, 2);
	assert_memory_equal(body.data, "two", 3);
	assert_int_equal(h.count, 2);
	assert_int_equal(h.sequences[0], 4);
	assert_int_equal(h.sequences[1], 3);
	save(path_of("n", 2), "", 0);
	save(path_of("n", 1), "", 0);
	assert_int_equal(cop_checkpoint_newest(folder, "n", &body, &sequence, NULL, &diag), COP_ENOTFOUND);
	assert_non_null(strstr(diag.message, "is whole"));
	assert_int_equal(body.length, 0);
	cop_bytes_fini(&body);
}

static void test_checkpoint_prune_keeps_newest_and_drops_temporary(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 10; i++)
		put("p", i, "x");
	put("q", 1, "x");
	char temporary[256];
	(void)snprintf(temporary, sizeof temporary, "%s.tmp", path_of("p", 11));
	save(temporary, "torn", 4);
	assert_int_equal(cop_checkpoint_prune(folder, "p", 3, NULL), COP_OK);
	check_list("p", (const uint64_t[]){ 10, 9, 8 }, 3);
	check_list("q", (const uint64_t[]){ 1 }, 1);
	assert_int_not_equal(access(temporary, F_OK), 0);
	assert_int_equal(cop_checkpoint_prune(folder, "p", 5, NULL), COP_OK);
	check_list("p", (const uint64_t[]){ 10, 9, 8 }, 3);
	assert_int_equal(cop_checkpoint_prune(folder, "p", 0, NULL), COP_EINVAL);
	put("p", 3, "x");
	put("p", 5, "x");
	put("p", 6, "x");
	const uint64_t some[] = { 4, 5, 9 };
	assert_int_equal(cop_checkpoint_file_prune(folder, "p", &(cop_checkpoint_stay){ 2, some, 3 }, NULL), COP_OK);
	check_list("p", (const uint64_t[]){ 10, 9, 5 }, 3);
}

static void test_checkpoint_write_without_space_leaves_old_files(void **state)
{
	(void)state;
	put("s", 1, "old");
	struct rlimit before;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	struct rlimit small = before;
	small.rlim_cur = 1000;
	static const char large[4000] = { 'x' };
	cop_diag diag;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	cop_err next = cop_checkpoint_write(folder, "s", 2, large, sizeof large, &diag);
	cop_err same = cop_checkpoint_write(folder, "s", 1, large, sizeof large, &diag);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	(void)signal(SIGXFSZ, handler);
	assert_int_equal(next, COP_EIO);
	assert_int_equal(same, COP_EIO);
	assert_non_null(strstr(diag.message, "cannot be written"));
	check_list("s", (const uint64_t[]){ 1 }, 1);
	check_body(path_of("s", 1), "old");
	char temporary[256];
	(void)snprintf(temporary, sizeof temporary, "%s.tmp", path_of("s", 2));
	assert_int_not_equal(access(temporary, F_OK), 0);
}

static void test_checkpoint_in_unwritable_folder_leaves_old_files(void **state)
{
	(void)state;
	put("u", 1, "old");
	assert_int_equal(chmod(folder, 0500), 0);
	if (geteuid() != 0)
		assert_int_equal(cop_checkpoint_write(folder, "u", 2, "new", 3, NULL), COP_EIO);
	assert_int_equal(chmod(folder, 0700), 0);
	/* The name is taken by a folder: rename fails, whoever we are. */
	assert_int_equal(mkdir(path_of("u", 3), 0700), 0);
	assert_int_equal(cop_checkpoint_write(folder, "u", 3, "new", 3, NULL), COP_EIO);
	assert_int_equal(rmdir(path_of("u", 3)), 0);
	check_body(path_of("u", 1), "old");
	assert_int_equal(cop_checkpoint_write("/proc", "u", 3, "new", 3, NULL) == COP_OK, false);
}

static void test_checkpoint_in_wrong_place_is_an_error(void **state)
{
	(void)state;
	static const char *const prefixes[] = { "", "a/b", "..", ".a", "a b", "\xc3\xa9" };
	uint64_t *sequences;
	size_t count;
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		assert_int_equal(cop_checkpoint_write(folder, prefixes[i], 1, "x", 1, NULL), COP_EINVAL);
		assert_int_equal(cop_checkpoint_list(folder, prefixes[i], &sequences, &count, NULL), COP_EINVAL);
		assert_int_equal(cop_checkpoint_prune(folder, prefixes[i], 1, NULL), COP_EINVAL);
	}
	cop_bytes body;
	cop_bytes_init(&body);
	uint64_t sequence;
	assert_int_equal(cop_checkpoint_write("/nonexistent", "a", 1, "x", 1, NULL), COP_ENOTFOUND);
	assert_int_equal(cop_checkpoint_list("/nonexistent", "a", &sequences, &count, NULL), COP_ENOTFOUND);
	assert_int_equal(cop_checkpoint_newest("/nonexistent", "a", &body, &sequence, NULL, NULL), COP_ENOTFOUND);
	assert_int_equal(cop_checkpoint_prune("/nonexistent", "a", 1, NULL), COP_ENOTFOUND);
	assert_int_equal(cop_checkpoint_read("/nonexistent", &body, NULL), COP_ENOTFOUND);
	assert_int_equal(cop_checkpoint_read("/tmp", &body, NULL), COP_EFORMAT);
	cop_bytes_fini(&body);
}

static void test_checkpoint_without_memory_fails_cleanly(void **state)
{
	(void)state;
	put("mem", 1, "x");
	put("mem", 2, "y");
	unsigned long n = 1;
	for (;; n++) {
		cop_bytes body;
		cop_bytes_init(&body);
		uint64_t sequence;
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_checkpoint_newest(folder, "mem", &body, &sequence, NULL, NULL);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		cop_bytes_fini(&body);
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
	}
	assert_true(n > 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_checkpoint_file_written_reads_back),
		TEST(test_checkpoint_list_is_newest_first_and_own_prefix_only),
		TEST(test_checkpoint_number_without_a_next_one_is_refused_by_name),
		TEST(test_checkpoint_file_with_any_bit_flipped_is_refused),
		TEST(test_checkpoint_file_cut_or_lengthened_is_refused),
		TEST(test_checkpoint_file_of_newer_version_is_refused_by_name),
		TEST(test_checkpoint_newest_passes_over_damaged_ones),
		TEST(test_checkpoint_prune_keeps_newest_and_drops_temporary),
		TEST(test_checkpoint_write_without_space_leaves_old_files),
		TEST(test_checkpoint_in_unwritable_folder_leaves_old_files),
		TEST(test_checkpoint_in_wrong_place_is_an_error),
		TEST(test_checkpoint_without_memory_fails_cleanly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
