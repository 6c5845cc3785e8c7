/* Per segment: scan frame by frame; where none is intact, or its number cannot follow, seek the next one that can.
 * `expected` is the next number to come over all segments; a segment's numbers stay below the next one's base. */
#include "store/journal_intact.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "store/journal_scan.h"

struct cop_journal_intact {
	char *folder;
	cop_journal_file *files;
	size_t count;
	size_t index; /* of the segment being read, or to be opened next */
	cop_journal_skip_listener listener;
	cop_journal_scan scan;
	cop_journal_file file; /* being read */
	bool open;
	bool follows; /* the next record does */
	uint64_t limit;
	uint64_t expected;
	uint64_t epoch; /* the greatest so far */
	cop_bytes model_set;
	cop_err err; /* sticky */
	cop_diag why;
};

cop_err cop_journal_intact_open(
        const char *folder, const cop_journal_skip_listener *listener, cop_journal_intact **out, cop_diag *diag)
{
	*out = NULL;
	cop_journal_intact *intact = cop_mem_alloc(1, sizeof *intact);
	if (intact == NULL) {
		cop_diag_of(diag, folder, "out of memory");
		return COP_ENOMEM;
	}
	if (listener != NULL)
		intact->listener = *listener;
	cop_bytes_init(&intact->model_set);
	cop_err err = cop_journal_segment_find(folder, &intact->folder, &intact->files, &intact->count, diag);
	if (err != COP_OK) {
		cop_journal_intact_close(intact);
		return err;
	}
	*out = intact;
	return COP_OK;
}

void cop_journal_intact_close(cop_journal_intact *intact)
{
	if (intact == NULL)
		return;
	if (intact->open)
		cop_journal_scan_close(&intact->scan);
	cop_bytes_fini(&intact->model_set);
	cop_mem_free(intact->files);
	cop_mem_free(intact->folder);
	cop_mem_free(intact);
}

static void skipped(cop_journal_intact *s, uint64_t offset, uint64_t bytes, uint64_t next, const char *reason)
{
	cop_journal_skip skip = {
		.offset = offset, .bytes = bytes, .missing_first = s->expected, .missing_last = next - 1
	};
	s->follows = false;
	cop_journal_name(s->file.base, s->file.compressed, skip.file);
	(void)snprintf(skip.reason, sizeof skip.reason, "%s", reason);
	if (s->listener.skipped != NULL)
		s->listener.skipped(s->listener.context, &skip);
}

/* Whether the frame is one to go on with; a mark always is. */
static bool fits(const cop_journal_intact *s, const cop_journal_record *frame)
{
	return frame->type == COP_JOURNAL_MARK || frame->sequence == s->expected;
}

/* From a place where no fitting frame is to the next that can follow. COP_EEND: none before the segment's end. */
static cop_err resume(cop_journal_intact *s, cop_journal_record *frame)
{
	uint64_t offset = s->scan.offset;
	cop_journal_seek seek;
	cop_err err;
	do {
		err = cop_journal_scan_seek(&s->scan, s->expected, frame, &seek);
		if (err == COP_OK && frame->type == COP_JOURNAL_MARK)
			cop_journal_scan_pass(&s->scan, frame);
	} while (err == COP_OK && frame->type == COP_JOURNAL_MARK);
	if (err == COP_ENOMEM)
		return err;
	uint64_t bytes = s->scan.offset - offset;
	if (err == COP_OK && frame->sequence < s->limit) {
		skipped(s, offset, bytes, frame->sequence, "no intact record is here");
		s->expected = frame->sequence;
		return COP_OK;
	}
	bool zeros = err == COP_EEND && seek.zeros && seek.bytes == bytes;
	const char *reason =
	        s->scan.err != COP_OK ? cop_stream_diag(s->scan.stream)->message : "no intact record is here or later";
	if (!zeros)
		skipped(s, offset, bytes, s->expected, reason);
	return COP_EEND;
}

/* The header; a damaged one is passed over, and the model set of the segment before stays. */
static cop_err read_header(cop_journal_intact *s)
{
	cop_journal_header header;
	cop_diag why = { .message = "the file ends within the segment's header" };
	cop_err err = cop_journal_scan_header(&s->scan, &header, &why);
	if (err == COP_EVERSION || err == COP_ENOMEM) {
		char name[COP_JOURNAL_NAME_ROOM];
		cop_journal_name(s->file.base, s->file.compressed, name);
		cop_diag_of(&s->why, name, "%s", err == COP_ENOMEM ? "out of memory" : why.message);
		return err;
	}
	if (err != COP_OK)
		return COP_OK; /* resume reports it */
	if (header.epoch < s->epoch)
		skipped(s, 24, 0, s->expected,
		        "its epoch is lower than that of a segment before it, which takes its place");
	else
		s->epoch = header.epoch;
	cop_bytes_clear(&s->model_set);
	cop_bytes_put(&s->model_set, header.model_set, header.model_set_length);
	return s->model_set.err;
}

/* A segment that cannot be opened is passed over. */
static cop_err open_segment(cop_journal_intact *s)
{
	cop_diag why;
	s->file = s->files[s->index];
	s->limit = s->index + 1 < s->count ? s->files[s->index + 1].base : UINT64_MAX;
	s->expected = s->file.base;
	s->follows = false;
	cop_err err = cop_journal_scan_open(&s->scan, s->folder, &s->file, &why);
	s->open = err == COP_OK;
	if (s->open)
		return read_header(s);
	if (err == COP_ENOMEM)
		return err;
	skipped(s, 0, s->file.bytes, s->expected, why.message);
	return COP_OK;
}

static void leave_segment(cop_journal_intact *s)
{
	uint64_t end = s->open ? s->scan.offset : 0;
	if (s->open)
		cop_journal_scan_close(&s->scan);
	s->open = false;
	if (s->limit != UINT64_MAX && s->expected < s->limit) {
		skipped(s, end, 0, s->limit, "records are missing before the next segment");
		s->expected = s->limit;
	}
	s->index++;
}

/* The next record of the open segment. COP_EEND: it has no more. */
static cop_err step(cop_journal_intact *s, cop_journal_record *record)
{
	while (s->open && s->expected < s->limit) {
		cop_err err = cop_journal_scan_frame(&s->scan, record);
		if (err == COP_ENOMEM || err == COP_EEND)
			return err;
		if (err != COP_OK || !fits(s, record))
			err = resume(s, record);
		if (err != COP_OK)
			return err;
		cop_journal_scan_pass(&s->scan, record);
		if (record->type != COP_JOURNAL_MARK) {
			s->expected = record->sequence + 1;
			return COP_OK;
		}
	}
	return COP_EEND;
}

static cop_err advance(cop_journal_intact *s, cop_journal_record *record)
{
	while (s->index < s->count) {
		cop_err err = s->open ? COP_OK : open_segment(s);
		if (err == COP_OK)
			err = step(s, record);
		if (err != COP_EEND)
			return err;
		leave_segment(s);
	}
	return COP_EEND;
}

cop_err cop_journal_intact_next(cop_journal_intact *s, cop_journal_record *record, bool *follows, cop_diag *diag)
{
	if (s->err == COP_OK)
		s->err = advance(s, record);
	if (s->err == COP_OK) {
		*follows = s->follows;
		s->follows = true;
		return COP_OK;
	}
	if (s->err == COP_ENOMEM)
		cop_diag_of(&s->why, s->folder, "out of memory");
	if (diag != NULL && s->err != COP_EEND)
		*diag = s->why;
	memset(record, 0, sizeof *record);
	*follows = false;
	return s->err;
}

uint64_t cop_journal_intact_base(const cop_journal_intact *s) { return s->file.base; }

uint64_t cop_journal_intact_epoch(const cop_journal_intact *s) { return s->epoch; }

const uint8_t *cop_journal_intact_model_set(const cop_journal_intact *s, size_t *length)
{
	*length = s->model_set.length;
	return s->model_set.data;
}
