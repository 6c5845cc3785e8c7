/* Per segment: scan frame by frame; where none is intact, or its number cannot follow, seek the next one that can.
 * `expected` is the next number to come over all segments; a segment's numbers stay below the next one's base. */
#include "store/journal_salvage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "store/journal_scan.h"
#include "store/journal_writer.h"

#define BATCH ((size_t)1 << 20)

typedef struct salvage {
	const char *in;
	const char *out;
	cop_journal_salvage_report *report;
	cop_diag *diag;
	cop_journal_scan scan;
	cop_journal_file file; /* being read */
	uint64_t limit;
	uint64_t expected;
	cop_bytes model_set;
	cop_journal_writer *writer; /* of the current output segment; NULL: the next record begins one */
	cop_bytes batch;
	uint64_t batch_first;
	uint64_t batch_count;
} salvage;

static void skipped(salvage *s, uint64_t offset, uint64_t bytes, uint64_t next, const char *reason)
{
	cop_journal_skip skip = {
		.offset = offset, .bytes = bytes, .missing_first = s->expected, .missing_last = next - 1
	};
	cop_journal_name(s->file.base, s->file.compressed, skip.file);
	(void)snprintf(skip.reason, sizeof skip.reason, "%s", reason);
	s->report->skips++;
	s->report->skipped_bytes += bytes;
	s->report->missing += next - s->expected;
	if (s->report->skipped != NULL)
		s->report->skipped(s->report->context, &skip);
}

static cop_err flush(salvage *s)
{
	cop_err err = s->batch.err;
	if (err != COP_OK)
		cop_diag_set(s->diag, s->out, 0, 0, "%s", cop_err_text(err));
	else if (s->batch_count > 0)
		err = cop_journal_write(
		        s->writer, s->batch.data, s->batch.length, s->batch_first, s->batch_count, s->diag);
	cop_bytes_clear(&s->batch);
	s->batch_count = 0;
	return err;
}

/* Ends the output segment, so that the next record begins another. */
static cop_err end_output(salvage *s)
{
	if (s->writer == NULL)
		return COP_OK;
	cop_err err = flush(s);
	cop_err closed = cop_journal_writer_close(s->writer, err == COP_OK ? s->diag : NULL);
	s->writer = NULL;
	return err == COP_OK ? closed : err;
}

static cop_err copy_record(salvage *s, const cop_journal_record *record)
{
	cop_err err = COP_OK;
	if (s->writer == NULL) {
		cop_journal_settings settings = { .model_set = s->model_set.data,
			.model_set_length = s->model_set.length };
		err = cop_journal_writer_open(s->out, &settings, record->sequence, &s->writer, s->diag);
		s->report->segments += err == COP_OK;
	}
	if (err != COP_OK)
		return err;
	if (s->batch_count++ == 0)
		s->batch_first = record->sequence;
	cop_bytes_put(&s->batch, record->body - COP_JOURNAL_FRAME_HEAD, COP_JOURNAL_FRAME_HEAD + record->length);
	s->expected = record->sequence + 1;
	s->report->records++;
	s->report->last = record->sequence;
	if (s->report->first == 0)
		s->report->first = record->sequence;
	return s->batch.length >= BATCH || s->batch.err != COP_OK ? flush(s) : COP_OK;
}

/* Whether the frame is one to go on with; a mark always is. */
static bool fits(const salvage *s, const cop_journal_record *frame)
{
	return frame->type == COP_JOURNAL_MARK || frame->sequence == s->expected;
}

/* From a place where no fitting frame is to the next that can follow. COP_EEND: none before the segment's end. */
static cop_err resume(salvage *s, cop_journal_record *frame)
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
		err = end_output(s);
		s->expected = frame->sequence;
		return err;
	}
	bool zeros = err == COP_EEND && seek.zeros && seek.bytes == bytes;
	const char *reason =
	        s->scan.err != COP_OK ? cop_stream_diag(s->scan.stream)->message : "no intact record is here or later";
	if (!zeros)
		skipped(s, offset, bytes, s->expected, reason);
	return COP_EEND;
}

static cop_err copy_frames(salvage *s)
{
	cop_journal_record frame;
	while (s->expected < s->limit) {
		cop_err err = cop_journal_scan_frame(&s->scan, &frame);
		if (err == COP_ENOMEM || err == COP_EEND)
			return err;
		if (err != COP_OK || !fits(s, &frame))
			err = resume(s, &frame);
		if (err != COP_OK)
			return err;
		cop_journal_scan_pass(&s->scan, &frame);
		if (frame.type != COP_JOURNAL_MARK)
			err = copy_record(s, &frame);
		if (err != COP_OK)
			return err;
	}
	return COP_EEND;
}

/* The header; a damaged one is passed over, and the model set of the segment before stays. */
static cop_err read_header(salvage *s)
{
	cop_journal_header header;
	cop_diag why = { .message = "the file ends within the segment's header" };
	cop_err err = cop_journal_scan_header(&s->scan, &header, &why);
	if (err == COP_EVERSION || err == COP_ENOMEM) {
		char name[COP_JOURNAL_NAME_ROOM];
		cop_journal_name(s->file.base, s->file.compressed, name);
		cop_diag_set(s->diag, name, 0, 0, "%s", err == COP_ENOMEM ? "out of memory" : why.message);
		return err;
	}
	if (err != COP_OK)
		return COP_OK; /* resume reports it */
	cop_bytes_clear(&s->model_set);
	cop_bytes_put(&s->model_set, header.model_set, header.model_set_length);
	return s->model_set.err;
}

static cop_err copy_segment(salvage *s)
{
	cop_diag why;
	cop_err err = end_output(s);
	if (err != COP_OK)
		return err;
	err = cop_journal_scan_open(&s->scan, s->in, &s->file, &why);
	if (err == COP_ENOMEM) {
		cop_diag_set(s->diag, s->in, 0, 0, "out of memory");
		return err;
	}
	if (err != COP_OK) {
		skipped(s, 0, s->file.bytes, s->expected, why.message);
	} else {
		err = read_header(s);
		if (err == COP_OK)
			err = copy_frames(s);
		if (err == COP_ENOMEM)
			cop_diag_set(s->diag, s->in, 0, 0, "out of memory");
	}
	bool fatal = err != COP_EEND && s->scan.stream != NULL;
	uint64_t end = s->scan.offset;
	cop_journal_scan_close(&s->scan);
	if (fatal)
		return err;
	if (s->limit != UINT64_MAX && s->expected < s->limit) {
		skipped(s, end, 0, s->limit, "records are missing before the next segment");
		s->expected = s->limit;
	}
	return COP_OK;
}

static cop_err copy_all(salvage *s, const cop_journal_file *files, size_t count)
{
	cop_err err = COP_OK;
	for (size_t i = 0; i < count && err == COP_OK; i++) {
		s->file = files[i];
		s->limit = i + 1 < count ? files[i + 1].base : UINT64_MAX;
		s->expected = files[i].base;
		err = copy_segment(s);
	}
	cop_err ended = end_output(s);
	return err == COP_OK ? ended : err;
}

static cop_err check_empty(const char *folder, cop_diag *diag)
{
	cop_journal_file *files;
	size_t count;
	cop_err err = cop_journal_list(folder, &files, &count, diag);
	cop_mem_free(files);
	if (err == COP_OK && count > 0) {
		cop_diag_set(diag, folder, 0, 0, "there are segments already; expected an empty folder");
		err = COP_EEXIST;
	}
	return err;
}

cop_err cop_journal_salvage(
        const char *folder_in, const char *folder_out, cop_journal_salvage_report *report, cop_diag *diag)
{
	cop_journal_salvage_report fresh = { .skipped = report->skipped, .context = report->context };
	*report = fresh;
	cop_journal_file *files = NULL;
	size_t count = 0;
	salvage s = { .in = folder_in, .out = folder_out, .report = report, .diag = diag };
	cop_err err = check_empty(folder_out, diag);
	if (err == COP_OK)
		err = cop_journal_list(folder_in, &files, &count, diag);
	if (err == COP_OK)
		err = copy_all(&s, files, count);
	cop_mem_free(files);
	cop_bytes_fini(&s.batch);
	cop_bytes_fini(&s.model_set);
	return err;
}
