#include "journal_fixture.h"

#include "store/journal_keep.h"

static void test_journal_cut_tail_cuts_what_is_torn_at_every_byte(void **state)
{
	(void)state;
	write_journal(1, 6, 0);
	write_journal(7, 12, 0);
	size_t length;
	uint8_t *data = load(path_of(7, false), &length);
	for (size_t size = 0; size <= length; size++) {
		save(path_of(7, false), data, size);
		cop_journal_tail tail;
		assert_int_equal(cop_journal_keep_cut_tail(folder, &tail, NULL), COP_OK);
		assert_true(tail.next_sequence >= 7 && tail.next_sequence <= 13);
		check_whole(1, tail.next_sequence - 1);
		assert_int_equal(access(path_of(7, false), F_OK) == 0, size >= COP_JOURNAL_HEADER_MIN + 6);
		write_journal(tail.next_sequence, 14, 0);
		check_whole(1, 14);
		for (uint64_t base = 7; base <= 14; base++)
			(void)unlink(path_of(base, false));
	}
	free(data);
}

static void test_journal_cut_tail_cuts_zeros_and_leaves_damage(void **state)
{
	(void)state;
	cop_journal_tail tail;
	assert_int_equal(cop_journal_keep_cut_tail(folder, &tail, NULL), COP_OK);
	assert_int_equal(tail.next_sequence, 1);
	assert_int_equal(cop_journal_keep_cut_tail("/nonexistent", &tail, NULL), COP_ENOTFOUND);
	write_journal(1, 6, 0);
	struct stat before;
	struct stat after;
	assert_int_equal(stat(path_of(1, false), &before), 0);
	assert_int_equal(truncate(path_of(1, false), before.st_size + 5000), 0);
	assert_int_equal(cop_journal_keep_cut_tail(folder, &tail, NULL), COP_OK);
	assert_false(tail.torn);
	assert_int_equal(tail.bytes, 5000);
	assert_int_equal(stat(path_of(1, false), &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	size_t length;
	uint8_t *data = load(path_of(1, false), &length);
	data[60] ^= 1;
	save(path_of(1, false), data, length);
	free(data);
	cop_diag diag;
	assert_int_equal(cop_journal_keep_cut_tail(folder, &tail, &diag), COP_EFORMAT);
	assert_string_equal(diag.source, path_of(1, false));
	assert_int_equal(stat(path_of(1, false), &after), 0);
	assert_int_equal(after.st_size, before.st_size);
}

static void test_journal_compressed_segments_read_back(void **state)
{
	(void)state;
	write_journal(1, 200, 1000);
	cop_journal_file *files;
	size_t count;
	assert_int_equal(cop_journal_list(folder, &files, &count, NULL), COP_OK);
	assert_true(count > 3);
	for (size_t i = 0; i + 1 < count; i++) {
		assert_int_equal(cop_journal_keep_compress(folder, files[i].base, NULL), COP_OK);
		assert_int_equal(cop_journal_keep_compress(folder, files[i].base, NULL), COP_OK);
		assert_int_not_equal(access(path_of(files[i].base, false), F_OK), 0);
		assert_int_equal(access(path_of(files[i].base, true), F_OK), 0);
		check_whole(1, 200);
	}
	cop_diag diag;
	assert_int_equal(cop_journal_keep_compress(folder, files[count - 1].base, &diag), COP_EINVAL);
	assert_int_equal(cop_journal_keep_compress(folder, 2, &diag), COP_ENOTFOUND);
	cop_journal_file *now;
	size_t now_count;
	assert_int_equal(cop_journal_list(folder, &now, &now_count, NULL), COP_OK);
	assert_int_equal(now_count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(now[i].compressed, i + 1 < count);
		assert_int_equal(now[i].modified, files[i].modified);
	}
	cop_mem_free(now);
	cop_mem_free(files);
}

static void test_journal_cut_tail_does_not_cut_compressed_data_under_a_plain_name(void **state)
{
	(void)state;
	write_journal(1, 9, 0);
	struct stat status;
	assert_int_equal(stat(path_of(1, false), &status), 0);
	assert_int_equal(truncate(path_of(1, false), status.st_size - 7), 0);
	write_journal(10, 12, 0);
	assert_int_equal(cop_journal_keep_compress(folder, 1, NULL), COP_OK);
	assert_int_equal(unlink(path_of(10, false)), 0);
	char path[128];
	(void)snprintf(path, sizeof path, "%s", path_of(1, true));
	assert_int_equal(rename(path, path_of(1, false)), 0);
	cop_journal_tail tail;
	assert_int_equal(stat(path_of(1, false), &status), 0);
	off_t size = status.st_size;
	assert_int_equal(cop_journal_keep_cut_tail(folder, &tail, NULL), COP_EFORMAT);
	assert_int_equal(stat(path_of(1, false), &status), 0);
	assert_int_equal(status.st_size, size);
}

/* A crash between naming the compressed file and removing the plain one leaves both. */
static void test_journal_segment_in_both_forms_counts_once(void **state)
{
	(void)state;
	write_journal(1, 9, 0);
	write_journal(10, 12, 0);
	size_t length;
	uint8_t *data = load(path_of(1, false), &length);
	assert_int_equal(cop_journal_keep_compress(folder, 1, NULL), COP_OK);
	save(path_of(1, false), data, length);
	free(data);
	assert_int_equal(count_segments(), 2);
	check_whole(1, 12);
	assert_int_equal(cop_journal_keep_compress(folder, 1, NULL), COP_OK);
	assert_int_not_equal(access(path_of(1, false), F_OK), 0);
	check_whole(1, 12);
}

static void test_journal_compressed_segment_damaged_anywhere_gives_no_wrong_record(void **state)
{
	(void)state;
	write_journal(1, 9, 0);
	write_journal(10, 12, 0);
	assert_int_equal(cop_journal_keep_compress(folder, 1, NULL), COP_OK);
	size_t length;
	uint8_t *data = load(path_of(1, true), &length);
	cop_journal_tail tail;
	cop_diag diag;
	uint64_t next;
	for (size_t i = 0; i < length * 8; i++) {
		data[i / 8] ^= (uint8_t)(1u << i % 8);
		save(path_of(1, true), data, length);
		cop_err err = read_journal(1, &tail, &next, &diag);
		assert_true(err == COP_EFORMAT || (err == COP_EEND && next == 13));
		data[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	for (size_t cut = 0; cut < length; cut++) {
		save(path_of(1, true), data, cut);
		cop_err err = read_journal(1, &tail, &next, &diag);
		assert_true(err == COP_EFORMAT || (err == COP_EEND && next == 13));
	}
	free(data);
}

static void test_journal_compress_without_memory_leaves_all_as_it_was(void **state)
{
	(void)state;
	write_journal(1, 9, 0);
	write_journal(10, 12, 0);
	unsigned long n = 1;
	for (cop_err err = COP_ENOMEM; err != COP_OK; n++) {
		cop_test_alloc_fail(n, 0);
		err = cop_journal_keep_compress(folder, 1, NULL);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		check_whole(1, 12);
	}
	assert_true(n > 5);
}

static void test_journal_retain_removes_only_the_oldest_that_may_go(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		write_journal(1 + i * 10, 10 + i * 10, 0);
	size_t removed;
	struct stat status;
	assert_int_equal(stat(path_of(91, false), &status), 0);
	uint64_t each = (uint64_t)status.st_size;
	assert_int_equal(cop_journal_keep_retain(folder, UINT64_MAX, UINT64_MAX, &removed, NULL), COP_OK);
	assert_int_equal(removed, 0);
	assert_int_equal(cop_journal_keep_retain(folder, 0, 10, &removed, NULL), COP_OK);
	assert_int_equal(removed, 0); /* the first segment holds record 10 */
	assert_int_equal(cop_journal_keep_retain(folder, 0, 11, &removed, NULL), COP_OK);
	assert_int_equal(removed, 1);
	check_whole(11, 100);
	assert_int_equal(cop_journal_keep_retain(folder, 0, 39, &removed, NULL), COP_OK);
	assert_int_equal(removed, 2);
	check_whole(31, 100);
	assert_int_equal(cop_journal_keep_compress(folder, 31, NULL), COP_OK);
	assert_int_equal(cop_journal_keep_retain(folder, each * 4, UINT64_MAX, &removed, NULL), COP_OK);
	assert_in_range(removed, 2, 4);
	assert_int_equal(cop_journal_keep_retain(folder, 0, UINT64_MAX, &removed, NULL), COP_OK);
	assert_int_equal(count_segments(), 1);
	check_whole(91, 100);
	assert_int_equal(cop_journal_keep_retain("/nonexistent", 0, 1, NULL, NULL), COP_ENOTFOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_journal_cut_tail_cuts_what_is_torn_at_every_byte),
		TEST(test_journal_cut_tail_cuts_zeros_and_leaves_damage),
		TEST(test_journal_cut_tail_does_not_cut_compressed_data_under_a_plain_name),
		TEST(test_journal_compressed_segments_read_back),
		TEST(test_journal_segment_in_both_forms_counts_once),
		TEST(test_journal_compressed_segment_damaged_anywhere_gives_no_wrong_record),
		TEST(test_journal_compress_without_memory_leaves_all_as_it_was),
		TEST(test_journal_retain_removes_only_the_oldest_that_may_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
