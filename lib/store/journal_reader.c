/* One walk at a time over the listed segments; records below from_sequence are read (and so checked) but not given out.
 * Invariant: tail.next_sequence is the record that comes next, read or not. */
#include "store/journal_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "store/journal_walk.h"

struct cop_journal_reader {
	char *folder;
	cop_journal_file *files;
	size_t count;
	size_t index; /* of the segment being read, or to be opened next */
	bool open;
	bool allow_gaps;
	uint64_t from;
	cop_journal_walk walk;
	cop_journal_tail tail;
	cop_err err; /* sticky */
	cop_diag why;
};

/* The last segment whose base is not above `from`. */
static cop_err find_start(cop_journal_reader *reader, cop_diag *diag)
{
	if (reader->count == 0) {
		reader->tail.next_sequence = reader->from == 0 ? 1 : reader->from;
		return COP_OK;
	}
	if (reader->from != 0 && reader->from < reader->files[0].base) {
		cop_diag_of(diag, reader->folder,
		        "record %" PRIu64 " is not there: the oldest segment begins with %" PRIu64, reader->from,
		        reader->files[0].base);
		return COP_ENOTFOUND;
	}
	while (reader->index + 1 < reader->count && reader->files[reader->index + 1].base <= reader->from)
		reader->index++;
	reader->tail.next_sequence = reader->files[reader->index].base;
	const cop_journal_file *last = &reader->files[reader->count - 1];
	cop_journal_name(last->base, last->compressed, reader->tail.file);
	return COP_OK;
}

cop_err cop_journal_reader_open(
        const char *folder, uint64_t from_sequence, bool allow_gaps, cop_journal_reader **out, cop_diag *diag)
{
	*out = NULL;
	cop_journal_reader *reader = cop_mem_alloc(1, sizeof *reader);
	if (reader == NULL) {
		cop_diag_of(diag, folder, "out of memory");
		return COP_ENOMEM;
	}
	reader->from = from_sequence;
	reader->allow_gaps = allow_gaps;
	cop_err err = cop_journal_segment_find(folder, &reader->folder, &reader->files, &reader->count, diag);
	if (err == COP_OK)
		err = find_start(reader, diag);
	if (err != COP_OK) {
		cop_journal_reader_close(reader);
		return err;
	}
	*out = reader;
	return COP_OK;
}

void cop_journal_reader_close(cop_journal_reader *reader)
{
	if (reader == NULL)
		return;
	cop_journal_walk_close(&reader->walk);
	cop_mem_free(reader->files);
	cop_mem_free(reader->folder);
	cop_mem_free(reader);
}

static cop_err open_segment(cop_journal_reader *reader)
{
	const cop_journal_file *file = &reader->files[reader->index];
	bool last = reader->index + 1 == reader->count;
	cop_err err = cop_journal_walk_open(
	        &reader->walk, reader->folder, file, last ? UINT64_MAX : file[1].base, &reader->why);
	reader->open = err == COP_OK;
	if (err == COP_OK)
		err = cop_journal_walk_enter(&reader->walk, &reader->tail.epoch, &reader->why);
	reader->tail.next_sequence = file->base;
	return err;
}

static cop_err report_gap(cop_journal_reader *reader)
{
	const cop_journal_walk *walk = &reader->walk;
	char text[300];
	char name[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(walk->expected, false, name);
	(void)snprintf(text, sizeof text,
	        "the segment ends at offset %" PRIu64 ", records %" PRIu64 " to %" PRIu64
	        " are missing; expected them here or in %s",
	        walk->end_offset, walk->expected, walk->limit - 1, name);
	cop_journal_walk_diag(walk, walk->end_offset, text, &reader->why);
	return COP_EFORMAT;
}

/* Behind a segment's end: COP_OK to go on with the next one, COP_EEND at the last, COP_EFORMAT at a gap. */
static cop_err leave_segment(cop_journal_reader *reader)
{
	const cop_journal_walk *walk = &reader->walk;
	if (walk->end == COP_JOURNAL_END_MISSING && !reader->allow_gaps)
		return report_gap(reader);
	if (reader->index + 1 == reader->count) {
		reader->tail.torn = walk->end == COP_JOURNAL_END_TORN;
		reader->tail.offset = walk->end_offset;
		reader->tail.bytes = walk->cut;
	}
	cop_journal_walk_close(&reader->walk);
	reader->open = false;
	reader->index++;
	return reader->index == reader->count ? COP_EEND : COP_OK;
}

static cop_err step(cop_journal_reader *reader, cop_journal_record *record)
{
	if (reader->index == reader->count)
		return COP_EEND;
	cop_err err = reader->open ? COP_OK : open_segment(reader);
	if (err == COP_OK)
		err = cop_journal_walk_next(&reader->walk, record, &reader->why);
	if (err == COP_OK)
		reader->tail.next_sequence = record->sequence + 1;
	if (err != COP_EEND)
		return err;
	memset(record, 0, sizeof *record);
	return leave_segment(reader);
}

cop_err cop_journal_next(cop_journal_reader *reader, cop_journal_record *record, cop_diag *diag)
{
	do {
		if (reader->err == COP_OK)
			reader->err = step(reader, record);
	} while (reader->err == COP_OK && (record->sequence == 0 || record->sequence < reader->from));
	if (reader->err == COP_OK)
		return COP_OK;
	memset(record, 0, sizeof *record);
	if (diag != NULL && reader->err != COP_EEND)
		*diag = reader->why;
	return reader->err;
}

const cop_journal_tail *cop_journal_reader_tail(const cop_journal_reader *reader) { return &reader->tail; }

uint64_t cop_journal_reader_base(const cop_journal_reader *reader) { return reader->open ? reader->walk.file.base : 0; }

uint64_t cop_journal_reader_epoch(const cop_journal_reader *reader) { return reader->open ? reader->walk.epoch : 0; }

const uint8_t *cop_journal_reader_model_set(const cop_journal_reader *reader, size_t *length)
{
	*length = reader->open ? reader->walk.model_set.length : 0;
	return reader->open ? reader->walk.model_set.data : NULL;
}

void cop_journal_reader_file(const cop_journal_reader *reader, char out[COP_JOURNAL_NAME_ROOM])
{
	out[0] = '\0';
	if (reader->open)
		cop_journal_name(reader->walk.file.base, reader->walk.file.compressed, out);
}

/* The header of one segment; models: NULL: its model set is not asked for. */
static cop_err read_header(const char *folder, const cop_journal_file *file, cop_bytes *models, uint64_t *epoch)
{
	cop_journal_scan scan;
	cop_journal_header header;
	cop_err err = cop_journal_scan_open(&scan, folder, file, NULL);
	if (err != COP_OK)
		return err;
	err = cop_journal_scan_header(&scan, &header, NULL);
	if (err == COP_OK)
		*epoch = header.epoch;
	if (err == COP_OK && models != NULL) {
		cop_bytes_put(models, header.model_set, header.model_set_length);
		err = models->err;
	}
	cop_journal_scan_close(&scan);
	return err == COP_EEND ? COP_EFORMAT : err;
}

cop_err cop_journal_reader_models(const char *folder, const cop_journal_file *file, cop_bytes *out)
{
	uint64_t epoch;
	return read_header(folder, file, out, &epoch);
}

cop_err cop_journal_reader_epoch_base(const char *folder, uint64_t epoch, uint64_t *base)
{
	cop_journal_file *files = NULL;
	size_t count = 0;
	*base = 0;
	cop_err err = cop_journal_list(folder, &files, &count, NULL);
	for (size_t low = 0, high = count; err == COP_OK && low < high;) {
		const size_t middle = low + (high - low) / 2;
		uint64_t is = 0;
		err = read_header(folder, &files[middle], NULL, &is);
		if (err == COP_OK && is >= epoch) {
			*base = files[middle].base;
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	cop_mem_free(files);
	return err;
}
