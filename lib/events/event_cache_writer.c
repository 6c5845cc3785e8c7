/* Blocks go to a temporary file as they fill; summary and beginning are written last, when all is known, and then the
 * temporary file replaces the cache. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "base/file_atomic.h"
#include "base/mem.h"
#include "events/event_cache.h"
#include "events/event_cache_file.h"

struct cop_event_cache_writer {
	char *path;
	cop_file_atomic *file; /* NULL: it became the cache */
	uint64_t at;           /* bytes written */
	cop_event_cache_summary summary;
	cop_event_block block; /* events not yet written */
	cop_row *rows;
	size_t row_room;
};

uint32_t cop_cache_block_crc(const cop_cache_block *head, const void *data)
{
	size_t before = offsetof(cop_cache_block, events);
	uint32_t crc = cop_crc32c(0, (const uint8_t *)head + before, sizeof *head - before);
	return cop_crc32c(crc, data, (size_t)head->length);
}

void cop_event_cache_abandon(cop_event_cache_writer *writer)
{
	if (writer == NULL)
		return;
	cop_file_atomic_abandon(writer->file);
	cop_event_block_fini(&writer->block);
	cop_mem_free(writer->rows);
	cop_mem_free(writer->path);
	cop_mem_free(writer);
}

static cop_err cannot(const cop_event_cache_writer *writer, const char *what, cop_diag *diag)
{
	cop_diag_at_offset(diag, writer->path, writer->at, "the cache cannot be %s: %s", what, strerror(errno));
	return COP_EIO;
}

static cop_err out_of_memory(const cop_event_cache_writer *writer, cop_diag *diag)
{
	cop_diag_of(diag, writer->path, "out of memory");
	return COP_ENOMEM;
}

static cop_err write_all(cop_event_cache_writer *writer, const void *data, size_t length, cop_diag *diag)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = pwrite(cop_file_atomic_fd(writer->file), (const uint8_t *)data + done, length - done,
		        (off_t)(writer->at + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n < 0 ? errno : EIO;
			return cannot(writer, "written", diag);
		}
		done += (size_t)n;
	}
	writer->at += length;
	return COP_OK;
}

cop_err cop_event_cache_create(const char *path, cop_event_cache_writer **out, cop_diag *diag)
{
	*out = NULL;
	cop_event_cache_writer *writer = cop_mem_alloc(1, sizeof *writer);
	if (writer != NULL) {
		writer->at = sizeof(cop_cache_start);
		cop_event_block_init(&writer->block);
		writer->path = cop_mem_strdup(path);
	}
	if (writer == NULL || writer->path == NULL) {
		cop_event_cache_abandon(writer);
		cop_diag_of(diag, path, "out of memory");
		return COP_ENOMEM;
	}
	cop_err err = cop_file_atomic_begin(path, &writer->file, diag);
	if (err != COP_OK) {
		cop_event_cache_abandon(writer);
		return err;
	}
	*out = writer;
	return COP_OK;
}

/* ---- events ---- */

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void note_row(cop_event_cache_summary *s, const cop_row *row)
{
	s->entries = larger(s->entries, cop_row_entries(row));
	s->dimension = larger(s->dimension, row->d);
}

static void note(cop_event_cache_summary *s, const cop_logged_event *event)
{
	s->events++;
	note_row(s, &event->x);
	for (size_t i = 0; i < event->candidates; i++)
		note_row(s, &event->candidate[i]);
	s->candidates = larger(s->candidates, event->candidates);
	if (event->candidates == 0)
		s->arms = larger(s->arms, event->arms);
	if (!event->labelled)
		return;
	if (event->candidates == 0)
		s->arms = larger(s->arms, (uint64_t)event->action + 1);
	s->cost_low = s->labelled == 0 || event->cost < s->cost_low ? event->cost : s->cost_low;
	s->cost_high = s->labelled == 0 || event->cost > s->cost_high ? event->cost : s->cost_high;
	s->labelled++;
}

static cop_err write_block(cop_event_cache_writer *writer, const cop_event_block *block, cop_diag *diag)
{
	if (block->count == 0)
		return COP_OK;
	cop_cache_block head = {
		.mark = COP_CACHE_BLOCK_MARK,
		.events = (uint32_t)block->count,
		.length = block->bytes.length,
	};
	head.crc = cop_cache_block_crc(&head, block->bytes.data);
	cop_err err = write_all(writer, &head, sizeof head, diag);
	return err == COP_OK ? write_all(writer, block->bytes.data, block->bytes.length, diag) : err;
}

static cop_err flush(cop_event_cache_writer *writer, cop_diag *diag)
{
	cop_err err = write_block(writer, &writer->block, diag);
	cop_event_block_clear(&writer->block);
	return err;
}

cop_err cop_event_cache_add(cop_event_cache_writer *writer, const cop_logged_event *event, cop_diag *diag)
{
	cop_err err = cop_event_block_add(&writer->block, event);
	if (err == COP_EFULL && writer->block.count > 0) {
		err = flush(writer, diag);
		if (err != COP_OK)
			return err;
		err = cop_event_block_add(&writer->block, event);
	}
	if (err == COP_ENOMEM)
		return out_of_memory(writer, diag);
	if (err != COP_OK) {
		cop_diag_at_line(
		        diag, writer->path, event->line, "the event cannot be kept in a cache: %s", cop_err_text(err));
		return err;
	}
	note(&writer->summary, event);
	return cop_event_block_is_full(&writer->block) ? flush(writer, diag) : COP_OK;
}

cop_err cop_event_cache_put(cop_event_cache_writer *writer, const cop_event_block *block, cop_diag *diag)
{
	if (block->candidates > writer->row_room) {
		cop_mem_free(writer->rows);
		writer->row_room = 0;
		writer->rows = cop_mem_alloc(block->candidates, sizeof *writer->rows);
		if (writer->rows == NULL)
			return out_of_memory(writer, diag);
		writer->row_room = block->candidates;
	}
	cop_err err = flush(writer, diag);
	if (err == COP_OK)
		err = write_block(writer, block, diag);
	cop_logged_event event;
	for (size_t i = 0; i < block->count && err == COP_OK; i++) {
		cop_event_block_get(block, i, writer->rows, &event);
		note(&writer->summary, &event);
	}
	return err;
}

const cop_event_cache_summary *cop_event_cache_added(const cop_event_cache_writer *writer) { return &writer->summary; }

/* ---- the end ---- */

static void put_summary(cop_bytes *bytes, const cop_event_cache_summary *s)
{
	cop_bytes_put_text(bytes, s->source.name);
	cop_bytes_put_u64(bytes, s->source.size);
	cop_bytes_put_u64(bytes, s->source.modified);
	cop_bytes_put_text(bytes, s->source.format);
	cop_bytes_put_text(bytes, s->source.options);
	cop_bytes_put_u64(bytes, s->events);
	cop_bytes_put_u64(bytes, s->labelled);
	cop_bytes_put_u64(bytes, s->skipped);
	cop_bytes_put_u64(bytes, s->arms);
	cop_bytes_put_u64(bytes, s->candidates);
	cop_bytes_put_u64(bytes, s->entries);
	cop_bytes_put_u64(bytes, s->dimension);
	cop_bytes_put_f64(bytes, s->cost_low);
	cop_bytes_put_f64(bytes, s->cost_high);
}

/* The summary, and then the beginning that points at it. */
static cop_err write_end(cop_event_cache_writer *writer, const cop_feature_space *space, cop_diag *diag)
{
	cop_bytes bytes;
	cop_cache_start start = { .version = COP_EVENT_CACHE_VERSION, .summary = writer->at };
	memcpy(start.magic, COP_CACHE_MAGIC, sizeof start.magic);
	cop_bytes_init(&bytes);
	put_summary(&bytes, &writer->summary);
	cop_bytes_put_u8(&bytes, space != NULL);
	const cop_place_names *names = space != NULL ? cop_feature_space_names(space) : NULL;
	if (space != NULL)
		cop_feature_space_save(space, &bytes);
	cop_bytes_put_u8(&bytes, names != NULL);
	if (names != NULL)
		cop_place_names_save(names, &bytes);
	cop_bytes_put(&bytes, COP_CACHE_END_MARK, sizeof COP_CACHE_END_MARK - 1);
	cop_err err = bytes.err == COP_OK ? COP_OK : out_of_memory(writer, diag);
	if (err == COP_OK) {
		start.length = bytes.length;
		start.summary_crc = cop_crc32c(0, bytes.data, bytes.length);
		start.crc = cop_crc32c(0, &start, sizeof start - sizeof start.crc);
		err = write_all(writer, bytes.data, bytes.length, diag);
	}
	cop_bytes_fini(&bytes);
	writer->at = 0;
	return err == COP_OK ? write_all(writer, &start, sizeof start, diag) : err;
}

cop_err cop_event_cache_finish(cop_event_cache_writer **writer, const cop_event_cache_source *source, uint64_t skipped,
        const cop_feature_space *space, cop_diag *diag)
{
	cop_event_cache_writer *w = *writer;
	*writer = NULL;
	w->summary.source = *source;
	w->summary.skipped = skipped;
	cop_err err = flush(w, diag);
	if (err == COP_OK)
		err = write_end(w, space, diag);
	if (err == COP_OK) {
		cop_file_atomic *file = w->file;
		w->file = NULL;
		err = cop_file_atomic_commit(file, diag);
	}
	cop_event_cache_abandon(w);
	return err;
}
