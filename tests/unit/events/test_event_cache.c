#include "events/event_cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "unit/events/some_events.h"

#define EVENTS 3000

static char folder[] = "/tmp/test_event_cache_XXXXXX";
static char path[128];

static int make_folder(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	(void)snprintf(path, sizeof path, "%s/log.cache", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(folder); /* fails when a temporary file was left */
}

static cop_event_cache_source a_source(void)
{
	cop_event_cache_source source = {
		.name = "log.vw", .size = 17, .modified = 5, .format = "vw", .options = "b=18"
	};
	return source;
}

static void must(cop_err err, const cop_diag *diag)
{
	if (err != COP_OK)
		fail_msg("%s: %s", diag->source, diag->message);
}

/* `count` events of these kinds in the file. */
static void make(unsigned kinds, size_t count, const cop_feature_space *space)
{
	some_events made;
	cop_logged_event event;
	cop_event_cache_writer *writer;
	cop_diag diag;
	cop_event_cache_source source = a_source();
	some_events_init(&made, kinds, 11);
	must(cop_event_cache_create(path, &writer, &diag), &diag);
	for (size_t i = 0; i < count; i++) {
		some_event(&made, &event);
		must(cop_event_cache_add(writer, &event, &diag), &diag);
	}
	assert_int_equal(cop_event_cache_added(writer)->events, count);
	must(cop_event_cache_finish(&writer, &source, 3, space, &diag), &diag);
	assert_null(writer);
}

static void assert_events(cop_event_cache *cache, unsigned kinds, size_t count)
{
	some_events made;
	cop_logged_event event;
	cop_logged_event read;
	cop_diag diag;
	some_events_init(&made, kinds, 11);
	for (size_t i = 0; i < count; i++) {
		some_event(&made, &event);
		must(cop_event_reader_next(cop_event_cache_reader(cache), &read, &diag), &diag);
		assert_same_event(&read, &event);
		assert_int_equal(read.line, event.line);
	}
	assert_int_equal(cop_event_reader_next(cop_event_cache_reader(cache), &read, &diag), COP_EEND);
	assert_int_equal(cop_event_reader_next(cop_event_cache_reader(cache), &read, &diag), COP_EEND);
}

static void test_events_of_every_kind_come_back_equal_and_again_after_rewind(void **state)
{
	(void)state;
	for (unsigned kinds = 0; kinds <= SOME_ALL; kinds += 5) {
		cop_event_cache *cache;
		cop_diag diag;
		make(kinds, EVENTS, NULL);
		must(cop_event_cache_open(path, &cache, &diag), &diag);
		assert_null(cop_event_cache_space(cache));
		assert_events(cache, kinds, EVENTS);
		cop_event_cache_rewind(cache);
		assert_events(cache, kinds, EVENTS);
		cop_event_reader_free(cop_event_cache_reader(cache));
	}
}

static void test_cache_without_events_is_a_cache(void **state)
{
	(void)state;
	cop_event_cache *cache;
	cop_diag diag;
	make(SOME_DENSE, 0, NULL);
	must(cop_event_cache_open(path, &cache, &diag), &diag);
	assert_events(cache, SOME_DENSE, 0);
	cop_event_cache_free(cache);
}

static void test_blocks_put_whole_are_read_whole(void **state)
{
	(void)state;
	cop_event_block block;
	cop_event_block read;
	cop_event_cache_writer *writer;
	cop_event_cache *cache;
	cop_logged_event event;
	some_events made;
	cop_diag diag;
	cop_event_cache_source source = a_source();
	cop_event_block_init(&block);
	cop_event_block_init(&read);
	must(cop_event_cache_create(path, &writer, &diag), &diag);
	some_events_init(&made, SOME_ALL, 11);
	some_event(&made, &event);
	must(cop_event_cache_add(writer, &event, &diag), &diag);
	for (int i = 0; i < 10; i++) {
		some_event(&made, &event);
		assert_int_equal(cop_event_block_add(&block, &event), COP_OK);
	}
	must(cop_event_cache_put(writer, &block, &diag), &diag);
	must(cop_event_cache_finish(&writer, &source, 0, NULL, &diag), &diag);
	must(cop_event_cache_open(path, &cache, &diag), &diag);
	must(cop_event_cache_read(cache, &read, &diag), &diag);
	assert_int_equal(read.count, 1);
	must(cop_event_cache_read(cache, &read, &diag), &diag);
	assert_int_equal(read.count, 10);
	assert_memory_equal(read.bytes.data, block.bytes.data, block.bytes.length);
	assert_int_equal(cop_event_cache_read(cache, &read, &diag), COP_EEND);
	cop_event_cache_rewind(cache);
	assert_events(cache, SOME_ALL, 11);
	cop_event_cache_free(cache);
	cop_event_block_fini(&block);
	cop_event_block_fini(&read);
}

static void test_summary_tells_what_was_added(void **state)
{
	(void)state;
	static const uint8_t mask[5] = { 1, 1, 1, 1, 1 };
	float x[3] = { 1, 2, 3 };
	cop_event_cache_writer *writer;
	cop_event_cache *cache;
	cop_diag diag;
	cop_event_cache_source source = a_source();
	cop_logged_event event = { .x = { .d = 3, .dense = x }, .weight = 1 };
	must(cop_event_cache_create(path, &writer, &diag), &diag);
	must(cop_event_cache_add(writer, &event, &diag), &diag);
	event.labelled = event.learn = true;
	event.p = 0.5;
	event.cost = 4.0;
	event.action = 2;
	must(cop_event_cache_add(writer, &event, &diag), &diag);
	event.cost = 3.0;
	event.mask = mask;
	event.arms = 5;
	must(cop_event_cache_add(writer, &event, &diag), &diag);
	must(cop_event_cache_finish(&writer, &source, 7, NULL, &diag), &diag);
	must(cop_event_cache_open(path, &cache, &diag), &diag);
	const cop_event_cache_summary *s = cop_event_cache_get_summary(cache);
	assert_int_equal(s->events, 3);
	assert_int_equal(s->labelled, 2);
	assert_int_equal(s->skipped, 7);
	assert_int_equal(s->arms, 5);
	assert_int_equal(s->candidates, 0);
	assert_int_equal(s->entries, 3);
	assert_int_equal(s->dimension, 3);
	assert_true(s->cost_low == 3.0 && s->cost_high == 4.0);
	assert_null(cop_event_cache_difference(&s->source, &source));
	cop_event_cache_free(cache);
}

static void test_difference_names_what_changed(void **state)
{
	(void)state;
	const cop_event_cache_source made = a_source();
	cop_event_cache_source other = made;
	other.modified++;
	assert_string_equal(cop_event_cache_difference(&made, &other), "the log has changed since");
	other = made;
	other.options[0] = 'x';
	assert_string_equal(cop_event_cache_difference(&made, &other), "the log was read with other options");
	other = made;
	other.format[0] = 'x';
	assert_string_equal(cop_event_cache_difference(&made, &other), "the log was of another format");
	other = made;
	other.name[0] = 'x';
	assert_string_equal(cop_event_cache_difference(&made, &other), "it was made from another log");
}

static void test_source_is_name_size_and_time_of_a_file(void **state)
{
	(void)state;
	cop_event_cache_source a;
	cop_event_cache_source b;
	cop_diag diag;
	struct stat status;
	char longer[2000];
	make(0, 5, NULL);
	assert_int_equal(stat(path, &status), 0);
	must(cop_event_cache_source_set(&a, path, "csv", "", &diag), &diag);
	assert_string_equal(a.name, path);
	assert_int_equal(a.size, status.st_size);
	const struct timespec times[2] = { { 5, 6 }, { 7, 8 } };
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	must(cop_event_cache_source_set(&b, path, "csv", "", &diag), &diag);
	assert_int_equal(b.modified, UINT64_C(7000000008));
	assert_non_null(cop_event_cache_difference(&a, &b));
	must(cop_event_cache_source_set(&a, "-", "csv", "", &diag), &diag);
	assert_int_equal(a.size, 0);
	assert_int_equal(cop_event_cache_source_set(&a, "/no/such", "csv", "", &diag), COP_ENOTFOUND);
	memset(longer, 'a', sizeof longer);
	longer[sizeof longer - 1] = '\0';
	assert_int_equal(cop_event_cache_source_set(&a, "-", "csv", longer, &diag), COP_EINVAL);
}

static void test_space_comes_back_with_its_columns(void **state)
{
	(void)state;
	cop_feature_space *space;
	cop_feature_room room = { .used = 0 };
	cop_feature_span span;
	cop_event_cache *cache;
	size_t features;
	cop_diag diag;
	const cop_feature_space_settings settings = { .dense = true };
	must(cop_feature_space_new(&settings, &space, &diag), &diag);
	cop_feature_space_begin(space);
	cop_feature_space_put(space, "age", 3, 1.5);
	cop_feature_space_namespace(space, "user", 4, 1.0);
	cop_feature_space_put(space, "town", 4, 2.5);
	assert_int_equal(cop_feature_space_end(space, &room, &span, &features), COP_OK);
	make(SOME_DENSE, 10, space);
	must(cop_event_cache_open(path, &cache, &diag), &diag);
	assert_non_null(cop_event_cache_space(cache));
	assert_int_equal(cop_feature_space_dimension(cop_event_cache_space(cache)), 2);
	assert_string_equal(cop_feature_space_column(cop_event_cache_space(cache), 1), "user^town");
	cop_event_cache_free(cache);
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

/* ---- what is not as it was written ---- */

static uint8_t *load(size_t *size)
{
	struct stat status;
	int fd = open(path, O_RDONLY);
	assert_true(fd >= 0 && fstat(fd, &status) == 0);
	*size = (size_t)status.st_size;
	uint8_t *data = cop_mem_alloc(*size, 1);
	assert_non_null(data);
	assert_int_equal(read(fd, data, *size), *size);
	assert_int_equal(close(fd), 0);
	return data;
}

static void save(const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(close(fd), 0);
}

/* How reading all of the file ends. */
static cop_err read_all(cop_diag *diag)
{
	cop_event_cache *cache;
	cop_event_block block;
	cop_err err = cop_event_cache_open(path, &cache, diag);
	if (err != COP_OK) {
		assert_null(cache);
		return err;
	}
	cop_event_block_init(&block);
	while ((err = cop_event_cache_read(cache, &block, diag)) == COP_OK)
		assert_true(block.count > 0);
	cop_event_block_fini(&block);
	cop_event_cache_free(cache);
	return err;
}

static void test_cache_cut_anywhere_is_told(void **state)
{
	(void)state;
	size_t size;
	cop_diag diag;
	make(SOME_ALL, 5, NULL);
	uint8_t *data = load(&size);
	for (size_t length = 0; length < size; length++) {
		save(data, length);
		assert_int_equal(read_all(&diag), COP_EFORMAT);
		assert_string_equal(diag.source, path);
		assert_non_null(strstr(diag.message, "delete it"));
	}
	save(data, size);
	assert_int_equal(read_all(&diag), COP_EEND);
	cop_mem_free(data);
}

static void test_cache_with_any_byte_changed_is_told(void **state)
{
	(void)state;
	size_t size;
	cop_diag diag;
	make(SOME_ALL, 5, NULL);
	uint8_t *data = load(&size);
	for (size_t i = 0; i < size; i++) {
		data[i] ^= 0x40;
		save(data, size);
		cop_err err = read_all(&diag);
		assert_int_equal(err, i >= 8 && i < 12 ? COP_EVERSION : COP_EFORMAT);
		data[i] ^= 0x40;
	}
	cop_mem_free(data);
}

static void test_newer_version_is_refused_by_name(void **state)
{
	(void)state;
	size_t size;
	cop_diag diag;
	make(SOME_ALL, 5, NULL);
	uint8_t *data = load(&size);
	data[8] = COP_EVENT_CACHE_VERSION + 1;
	save(data, size);
	assert_int_equal(read_all(&diag), COP_EVERSION);
	assert_non_null(strstr(diag.message, "newer"));
	assert_non_null(strstr(diag.message, "version 3"));
	cop_mem_free(data);
}

static void test_damage_names_the_byte_and_ends_the_reader(void **state)
{
	(void)state;
	size_t size;
	cop_diag diag;
	cop_event_cache *cache;
	cop_logged_event event;
	make(SOME_DENSE, EVENTS * 10, NULL);
	uint8_t *data = load(&size);
	data[size / 2] ^= 1;
	save(data, size);
	cop_mem_free(data);
	must(cop_event_cache_open(path, &cache, &diag), &diag);
	cop_err err;
	size_t count = 0;
	while ((err = cop_event_reader_next(cop_event_cache_reader(cache), &event, &diag)) == COP_OK)
		count++;
	assert_int_equal(err, COP_EIO); /* not an event that could be passed over */
	assert_true(count > 0 && count < EVENTS * 10);
	assert_true(diag.offset > 64 && diag.offset <= size / 2);
	assert_non_null(strstr(diag.message, "damaged at byte"));
	assert_int_equal(cop_event_reader_next(cop_event_cache_reader(cache), &event, &diag), COP_EIO);
	cop_event_cache_free(cache);
}

static void test_other_files_and_absent_ones_are_told_apart(void **state)
{
	(void)state;
	cop_diag diag;
	cop_event_cache *cache;
	static const char text[] = "1:0.5:0.25 | a b c\n1:0.5:0.25 | a b c\n1:0.5:0.25 | a b c\n1:0.5:0.25 | a b c\n";
	save(text, sizeof text - 1);
	assert_int_equal(read_all(&diag), COP_EFORMAT);
	assert_string_equal(diag.message, "is no cache of parsed events");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(read_all(&diag), COP_ENOTFOUND);
	assert_int_equal(cop_event_cache_open(folder, &cache, &diag), COP_EIO);
}

/* ---- making it ---- */

static void test_abandoned_cache_leaves_the_one_before(void **state)
{
	(void)state;
	some_events made;
	cop_logged_event event;
	cop_event_cache_writer *writer;
	cop_event_cache *cache;
	cop_diag diag;
	make(SOME_DENSE, 4, NULL);
	must(cop_event_cache_create(path, &writer, &diag), &diag);
	some_events_init(&made, 0, 1);
	some_event(&made, &event);
	must(cop_event_cache_add(writer, &event, &diag), &diag);
	cop_event_cache_abandon(writer);
	must(cop_event_cache_open(path, &cache, &diag), &diag);
	assert_events(cache, SOME_DENSE, 4);
	cop_event_cache_free(cache);
	cop_event_cache_abandon(NULL);
	cop_event_cache_free(NULL);
}

static void test_cache_that_cannot_be_created_names_the_reason(void **state)
{
	(void)state;
	cop_event_cache_writer *writer;
	cop_diag diag;
	assert_int_equal(cop_event_cache_create("/no/such/folder/x", &writer, &diag), COP_EIO);
	assert_null(writer);
	assert_non_null(strstr(diag.message, "No such file"));
}

static void test_event_that_breaks_its_promise_is_refused_with_its_line(void **state)
{
	(void)state;
	cop_event_cache_writer *writer;
	cop_diag diag;
	const cop_logged_event event = { .line = 12, .labelled = true, .weight = 1.0, .p = 2.0 };
	must(cop_event_cache_create(path, &writer, &diag), &diag);
	assert_int_equal(cop_event_cache_add(writer, &event, &diag), COP_EINVAL);
	assert_int_equal(diag.line, 12);
	cop_event_cache_abandon(writer);
}

/* Makes and reads a cache; false when memory was short somewhere. */
static bool make_and_read(void)
{
	some_events made;
	cop_logged_event event;
	cop_event_cache_writer *writer;
	cop_event_cache *cache;
	cop_event_block block;
	cop_diag diag;
	cop_event_cache_source source = a_source();
	cop_err err = cop_event_cache_create(path, &writer, &diag);
	some_events_init(&made, SOME_ALL, 2);
	for (int i = 0; i < 50 && err == COP_OK; i++) {
		some_event(&made, &event);
		err = cop_event_cache_add(writer, &event, &diag);
	}
	if (err == COP_OK) {
		cop_event_block_init(&block);
		err = cop_event_block_add(&block, &event);
		if (err == COP_OK)
			err = cop_event_cache_put(writer, &block, &diag);
		cop_event_block_fini(&block);
	}
	if (err == COP_OK)
		err = cop_event_cache_finish(&writer, &source, 0, NULL, &diag);
	else
		cop_event_cache_abandon(writer);
	if (err == COP_OK)
		err = cop_event_cache_open(path, &cache, &diag);
	if (err == COP_OK) {
		while ((err = cop_event_reader_next(cop_event_cache_reader(cache), &event, &diag)) == COP_OK)
			continue;
		cop_event_cache_free(cache);
	}
	assert_true(err == COP_EEND || err == COP_ENOMEM);
	return err == COP_EEND;
}

static void test_failed_allocations_are_reported(void **state)
{
	(void)state;
	bool whole = false;
	for (unsigned long n = 1; !whole; n++) {
		cop_test_alloc_fail(n, 0);
		whole = make_and_read();
		cop_test_alloc_fail(0, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_of_every_kind_come_back_equal_and_again_after_rewind),
		cmocka_unit_test(test_cache_without_events_is_a_cache),
		cmocka_unit_test(test_blocks_put_whole_are_read_whole),
		cmocka_unit_test(test_summary_tells_what_was_added),
		cmocka_unit_test(test_difference_names_what_changed),
		cmocka_unit_test(test_source_is_name_size_and_time_of_a_file),
		cmocka_unit_test(test_space_comes_back_with_its_columns),
		cmocka_unit_test(test_cache_cut_anywhere_is_told),
		cmocka_unit_test(test_cache_with_any_byte_changed_is_told),
		cmocka_unit_test(test_newer_version_is_refused_by_name),
		cmocka_unit_test(test_damage_names_the_byte_and_ends_the_reader),
		cmocka_unit_test(test_other_files_and_absent_ones_are_told_apart),
		cmocka_unit_test(test_abandoned_cache_leaves_the_one_before),
		cmocka_unit_test(test_cache_that_cannot_be_created_names_the_reason),
		cmocka_unit_test(test_event_that_breaks_its_promise_is_refused_with_its_line),
		cmocka_unit_test(test_failed_allocations_are_reported),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
