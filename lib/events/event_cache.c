/* Reading. Lengths and places are taken for true only after a checksum, and are bounded by the file's size before that,
 * so that a damaged file costs no more memory than it has bytes. */
#include "events/event_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "events/event_cache_file.h"

struct cop_event_cache {
	cop_event_reader reader; /* first: the cache is a reader */
	char *path;
	int fd;
	cop_event_cache_summary summary;
	cop_feature_space *space;
	cop_place_names *names; /* of it; NULL: none */
	uint64_t end;           /* where blocks end and the summary begins */
	uint64_t at;            /* the next block */
	uint64_t events;        /* behind it */

	cop_event_block block; /* for the reader */
	size_t next;           /* event of it */
	cop_row *rows;
	size_t row_room;
};

static cop_err damaged(const cop_event_cache *cache, uint64_t offset, const char *what, cop_diag *diag)
{
	cop_diag_at_offset(diag, cache->path, offset,
	        "the cache is damaged at byte %llu: %s; delete it, and it is made again", (unsigned long long)offset,
	        what);
	return COP_EFORMAT;
}

static cop_err out_of_memory(const cop_event_cache *cache, cop_diag *diag)
{
	cop_diag_of(diag, cache->path, "out of memory");
	return COP_ENOMEM;
}

static cop_err read_at(const cop_event_cache *cache, uint64_t offset, void *data, size_t length, cop_diag *diag)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = pread(cache->fd, (uint8_t *)data + done, length - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			cop_diag_at_offset(diag, cache->path, offset, "cannot be read: %s", strerror(errno));
			return COP_EIO;
		}
		if (n == 0)
			return damaged(cache, offset + done, "it ends there", diag);
		done += (size_t)n;
	}
	return COP_OK;
}

/* ---- opening ---- */

static cop_err open_file(cop_event_cache *cache, uint64_t *size, cop_diag *diag)
{
	struct stat status;
	do
		cache->fd = open(cache->path, O_RDONLY | O_CLOEXEC);
	while (cache->fd < 0 && errno == EINTR);
	if (cache->fd >= 0 && fstat(cache->fd, &status) == 0 && S_ISREG(status.st_mode)) {
		*size = (uint64_t)status.st_size;
		return COP_OK;
	}
	bool absent = cache->fd < 0 && errno == ENOENT;
	cop_diag_of(
	        diag, cache->path, "cannot be opened: %s", cache->fd < 0 ? strerror(errno) : "it is no regular file");
	return absent ? COP_ENOTFOUND : COP_EIO;
}

/* Where the summary is. */
static cop_err read_start(cop_event_cache *cache, uint64_t size, cop_cache_start *start, cop_diag *diag)
{
	memset(start, 0, sizeof *start);
	if (size < sizeof *start) {
		cop_diag_of(diag, cache->path,
		        "is no cache of parsed events, or cut to %llu bytes; delete it "
		        "if it was one, and it is made again",
		        (unsigned long long)size);
		return COP_EFORMAT;
	}
	cop_err err = read_at(cache, 0, start, sizeof *start, diag);
	if (err != COP_OK)
		return err;
	if (memcmp(start->magic, COP_CACHE_MAGIC, sizeof start->magic) != 0) {
		cop_diag_of(diag, cache->path, "is no cache of parsed events");
		return COP_EFORMAT;
	}
	if (start->version > COP_EVENT_CACHE_VERSION) {
		cop_diag_of(diag, cache->path,
		        "was made by a newer coppice (cache version %u, this one knows %d); delete it, and it is made "
		        "again",
		        (unsigned)start->version, COP_EVENT_CACHE_VERSION);
		return COP_EVERSION;
	}
	if (start->version == 0 || start->crc != cop_crc32c(0, start, sizeof *start - sizeof start->crc))
		return damaged(cache, 0, "the checksum of its beginning does not fit", diag);
	if (start->summary < sizeof *start || start->length > UINT64_MAX - start->summary)
		return damaged(cache, 0, "its beginning makes no sense", diag);
	uint64_t expected = start->summary + start->length;
	if (expected == size)
		return COP_OK;
	cop_diag_at_offset(diag, cache->path, size,
	        "the cache is cut or has grown: %llu bytes, expected %llu; delete it, and it is made again",
	        (unsigned long long)size, (unsigned long long)expected);
	return COP_EFORMAT;
}

static void get_summary(cop_cursor *cursor, cop_event_cache_summary *s)
{
	cop_cursor_text(cursor, s->source.name, sizeof s->source.name);
	s->source.size = cop_cursor_u64(cursor);
	s->source.modified = cop_cursor_u64(cursor);
	cop_cursor_text(cursor, s->source.format, sizeof s->source.format);
	cop_cursor_text(cursor, s->source.options, sizeof s->source.options);
	s->events = cop_cursor_u64(cursor);
	s->labelled = cop_cursor_u64(cursor);
	s->skipped = cop_cursor_u64(cursor);
	s->arms = cop_cursor_u64(cursor);
	s->candidates = cop_cursor_u64(cursor);
	s->entries = cop_cursor_u64(cursor);
	s->dimension = cop_cursor_u64(cursor);
	cop_cursor_f64s(cursor, &s->cost_low, 1);
	cop_cursor_f64s(cursor, &s->cost_high, 1);
}

static unsigned bits_of(const cop_feature_space *space)
{
	unsigned bits = 0;
	while ((size_t)1 << bits < cop_feature_space_dimension(space))
		bits++;
	return bits;
}

/* All that the file has: in memory they take less than four times as much. */
static cop_err parse_names(cop_event_cache *cache, cop_cursor *cursor)
{
	if (cop_cursor_u8(cursor) == 0)
		return COP_OK;
	if (cache->space == NULL || cop_feature_space_is_dense(cache->space))
		return COP_EFORMAT;
	return cop_place_names_load(cursor, 4 * cop_cursor_left(cursor), bits_of(cache->space), &cache->names);
}

static cop_err parse_summary(cop_event_cache *cache, uint32_t version, cop_cursor *cursor)
{
	get_summary(cursor, &cache->summary);
	bool has_space = cop_cursor_u8(cursor) != 0;
	if (cursor->err == COP_OK && has_space) {
		cop_err err = cop_feature_space_load(cursor, &cache->space);
		if (err != COP_OK)
			return err;
	}
	cop_err err = version > 1 ? parse_names(cache, cursor) : COP_OK;
	if (err != COP_OK)
		return err;
	const uint8_t *mark = cop_cursor_take(cursor, sizeof COP_CACHE_END_MARK - 1);
	if (mark == NULL || cop_cursor_left(cursor) != 0 ||
	        memcmp(mark, COP_CACHE_END_MARK, sizeof COP_CACHE_END_MARK - 1) != 0)
		return COP_EFORMAT;
	return cursor->err;
}

static cop_err read_summary(cop_event_cache *cache, const cop_cache_start *start, cop_diag *diag)
{
	uint8_t *data = cop_mem_alloc((size_t)start->length, 1);
	if (data == NULL)
		return out_of_memory(cache, diag);
	cop_err err = read_at(cache, start->summary, data, (size_t)start->length, diag);
	if (err == COP_OK && cop_crc32c(0, data, (size_t)start->length) != start->summary_crc)
		err = damaged(cache, start->summary, "the checksum of its summary does not fit", diag);
	if (err == COP_OK) {
		cop_cursor cursor;
		cop_cursor_init(&cursor, data, (size_t)start->length);
		err = parse_summary(cache, start->version, &cursor);
		if (err == COP_ENOMEM)
			(void)out_of_memory(cache, diag);
		else if (err != COP_OK)
			err = damaged(cache, start->summary, "its summary makes no sense", diag);
	}
	cop_mem_free(data);
	return err;
}

static cop_err reader_next(cop_event_reader *reader, cop_logged_event *event, cop_diag *diag);
static void reader_destroy(cop_event_reader *reader) { cop_event_cache_free((cop_event_cache *)reader); }
static const cop_event_reader_class reader_class = { reader_next, reader_destroy };

cop_err cop_event_cache_open(const char *path, cop_event_cache **out, cop_diag *diag)
{
	*out = NULL;
	cop_event_cache *cache = cop_mem_alloc(1, sizeof *cache);
	if (cache != NULL) {
		cache->reader.class = &reader_class;
		cache->fd = -1;
		cop_event_block_init(&cache->block);
		cache->path = cop_mem_strdup(path);
	}
	if (cache == NULL || cache->path == NULL) {
		cop_event_cache_free(cache);
		cop_diag_of(diag, path, "out of memory");
		return COP_ENOMEM;
	}
	uint64_t size;
	cop_cache_start start;
	cop_err err = open_file(cache, &size, diag);
	if (err == COP_OK)
		err = read_start(cache, size, &start, diag);
	if (err == COP_OK)
		err = read_summary(cache, &start, diag);
	if (err != COP_OK) {
		cop_event_cache_free(cache);
		return err;
	}
	cache->end = start.summary;
	cop_event_cache_rewind(cache);
	*out = cache;
	return COP_OK;
}

void cop_event_cache_free(cop_event_cache *cache)
{
	if (cache == NULL)
		return;
	if (cache->fd >= 0)
		(void)close(cache->fd);
	cop_feature_space_free(cache->space);
	cop_place_names_free(cache->names);
	cop_event_block_fini(&cache->block);
	cop_mem_free(cache->rows);
	cop_mem_free(cache->path);
	cop_mem_free(cache);
}

const cop_event_cache_summary *cop_event_cache_get_summary(const cop_event_cache *cache) { return &cache->summary; }
const cop_feature_space *cop_event_cache_space(const cop_event_cache *cache) { return cache->space; }

cop_err cop_event_cache_give_names(const cop_event_cache *cache, size_t bytes, cop_feature_space *space)
{
	cop_bytes saved;
	cop_cursor cursor;
	cop_place_names *names = NULL;
	if (cache->names == NULL || bytes == 0)
		return cop_feature_space_keep_names(space, bytes);
	cop_bytes_init(&saved);
	cop_place_names_save(cache->names, &saved);
	cop_cursor_init(&cursor, saved.data, saved.length);
	cop_err err = saved.err;
	if (err == COP_OK)
		err = cop_place_names_load(&cursor, bytes, bits_of(space), &names);
	if (err == COP_OK)
		cop_feature_space_take_names(space, &names);
	cop_bytes_fini(&saved);
	return err;
}

/* ---- blocks ---- */

void cop_event_cache_rewind(cop_event_cache *cache)
{
	cache->at = sizeof(cop_cache_start);
	cache->events = 0;
	cop_event_block_clear(&cache->block);
	cache->next = 0;
}

/* The block of `head` into the caller's; its data lie behind the head. */
static cop_err read_block(
        cop_event_cache *cache, const cop_cache_block *head, uint64_t at, cop_event_block *block, cop_diag *diag)
{
	void *data;
	if (cop_event_block_lend(block, (size_t)head->length, &data) != COP_OK)
		return out_of_memory(cache, diag);
	cop_err err = read_at(cache, at + sizeof *head, data, (size_t)head->length, diag);
	if (err != COP_OK)
		return err;
	if (cop_cache_block_crc(head, data) != head->crc)
		return damaged(cache, at, "the checksum of a block does not fit", diag);
	err = cop_event_block_check(block);
	if (err == COP_ENOMEM)
		return out_of_memory(cache, diag);
	return err == COP_OK && block->count == head->events
	               ? COP_OK
	               : damaged(cache, at, "a block does not hold what it should", diag);
}

cop_err cop_event_cache_read(cop_event_cache *cache, cop_event_block *block, cop_diag *diag)
{
	cop_cache_block head = { .crc = 0 };
	uint64_t at = cache->at;
	cop_event_block_clear(block);
	if (at == cache->end) {
		if (cache->events == cache->summary.events)
			return COP_EEND;
		return damaged(cache, at, "it does not hold as many events as it should", diag);
	}
	if (cache->end - at < sizeof head)
		return damaged(cache, at, "a block is cut", diag);
	cop_err err = read_at(cache, at, &head, sizeof head, diag);
	if (err != COP_OK)
		return err;
	if (head.mark != COP_CACHE_BLOCK_MARK || head.length > COP_EVENT_BLOCK_MAX ||
	        head.length > cache->end - at - sizeof head)
		return damaged(cache, at, "no block begins there", diag);
	err = read_block(cache, &head, at, block, diag);
	if (err != COP_OK) {
		cop_event_block_clear(block);
		return err;
	}
	cache->at = at + sizeof head + head.length;
	cache->events += head.events;
	return COP_OK;
}

/* ---- event by event ---- */

cop_event_reader *cop_event_cache_reader(cop_event_cache *cache) { return &cache->reader; }

static cop_err next_block(cop_event_cache *cache, cop_diag *diag)
{
	cache->next = 0;
	cop_err err = cop_event_cache_read(cache, &cache->block, diag);
	if (err != COP_OK)
		return err == COP_EFORMAT ? COP_EIO : err; /* nothing can be read behind it */
	if (cache->block.candidates <= cache->row_room)
		return COP_OK;
	cop_mem_free(cache->rows);
	cache->row_room = 0;
	cache->rows = cop_mem_alloc(cache->block.candidates, sizeof *cache->rows);
	if (cache->rows == NULL) {
		cop_event_block_clear(&cache->block);
		return out_of_memory(cache, diag);
	}
	cache->row_room = cache->block.candidates;
	return COP_OK;
}

static cop_err reader_next(cop_event_reader *reader, cop_logged_event *event, cop_diag *diag)
{
	cop_event_cache *cache = (cop_event_cache *)reader;
	while (cache->next == cache->block.count) {
		cop_err err = next_block(cache, diag);
		if (err != COP_OK)
			return err;
	}
	cop_event_block_get(&cache->block, cache->next++, cache->rows, event);
	return COP_OK;
}

/* ---- the source ---- */

static bool put_text(char *out, size_t size, const char *text)
{
	size_t length = strlen(text);
	if (length >= size)
		return false;
	memcpy(out, text, length + 1);
	return true;
}

cop_err cop_event_cache_source_set(
        cop_event_cache_source *source, const char *path, const char *format, const char *options, cop_diag *diag)
{
	struct stat status;
	memset(source, 0, sizeof *source);
	if (!put_text(source->name, sizeof source->name, path) ||
	        !put_text(source->format, sizeof source->format, format) ||
	        !put_text(source->options, sizeof source->options, options)) {
		cop_diag_of(diag, path, "the name or the options are too long for a cache");
		return COP_EINVAL;
	}
	if (strcmp(path, "-") == 0)
		return COP_OK;
	if (stat(path, &status) != 0) {
		cop_diag_of(diag, path, "cannot be opened: %s", strerror(errno));
		return errno == ENOENT ? COP_ENOTFOUND : COP_EIO;
	}
	if (!S_ISREG(status.st_mode))
		return COP_OK;
	source->size = (uint64_t)status.st_size;
	source->modified = (uint64_t)status.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)status.st_mtim.tv_nsec;
	return COP_OK;
}

const char *cop_event_cache_difference(const cop_event_cache_source *made, const cop_event_cache_source *wanted)
{
	if (strcmp(made->name, wanted->name) != 0)
		return "it was made from another log";
	if (strcmp(made->format, wanted->format) != 0)
		return "the log was of another format";
	if (strcmp(made->options, wanted->options) != 0)
		return "the log was read with other options";
	if (made->size != wanted->size || made->modified != wanted->modified)
		return "the log has changed since";
	return NULL;
}
