/* Bytes that are no expected frame at offset o are judged by what follows them:
 *
 *     nothing intact, all zero (and room for a head)   ZEROS
 *     nothing intact                                   TORN
 *     an intact frame, and before it a page that never reached the disk, and no mark anywhere behind o    TORN
 *     an intact frame otherwise                        damage
 *
 * The third line is a power cut: pages reach the disk in any order. The marks keep it apart from a page that was lost
 * later: a mark behind o records that all before it had been synced. */
#include "store/journal_walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

void cop_journal_walk_diag(const cop_journal_walk *walk, uint64_t offset, const char *what, cop_diag *diag)
{
	char name[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(walk->file.base, walk->file.compressed, name);
	char *path = cop_journal_path(walk->folder, name);
	cop_diag_at_offset(diag, path == NULL ? name : path, offset, "%s", what);
	cop_mem_free(path);
}

static cop_err damaged(cop_journal_walk *walk, uint64_t offset, const char *what, cop_diag *diag)
{
	char text[256];
	(void)snprintf(text, sizeof text, "damaged at offset %" PRIu64 ": %.200s", offset, what);
	cop_journal_walk_diag(walk, offset, text, diag);
	walk->end = COP_JOURNAL_END_DAMAGED;
	walk->end_offset = offset;
	walk->ended = true;
	return COP_EFORMAT;
}

/* The stream's failure, or memory's. */
static cop_err failed(cop_journal_walk *walk, cop_err err, cop_diag *diag)
{
	if (err == COP_EFORMAT)
		err = walk->scan.err; /* bytes cut short by what the stream met are not damaged */
	if (err == COP_EFORMAT)
		return damaged(walk, walk->scan.offset, cop_stream_diag(walk->scan.stream)->message, diag);
	const char *why = err == COP_ENOMEM ? "out of memory" : cop_stream_diag(walk->scan.stream)->message;
	cop_journal_walk_diag(walk, walk->scan.offset, why, diag);
	return err;
}

static cop_err ended(cop_journal_walk *walk, cop_journal_end end, uint64_t offset, uint64_t cut)
{
	walk->end = end;
	walk->end_offset = offset;
	walk->cut = cut;
	walk->ended = true;
	return COP_EEND;
}

/* Goes over the rest, which begins with the intact `frame`. COP_EEND: no mark. COP_OK: a mark says that what stood at
 * walk->expected had been synced. */
static cop_err find_mark(cop_journal_walk *walk, cop_journal_record *frame)
{
	cop_journal_seek seek;
	cop_err err = COP_OK;
	while (err == COP_OK) {
		if (frame->type == COP_JOURNAL_MARK && frame->sequence >= walk->expected)
			return COP_OK;
		cop_journal_scan_pass(&walk->scan, frame);
		err = cop_journal_scan_frame(&walk->scan, frame);
		if (err == COP_EFORMAT && walk->scan.err == COP_OK)
			err = cop_journal_scan_seek(&walk->scan, walk->expected, frame, &seek);
	}
	return err;
}

/* The last segment's bytes from `offset`, where the scan stands, are no expected frame. */
static cop_err judge_last(cop_journal_walk *walk, uint64_t offset, const char *what, cop_diag *diag)
{
	cop_journal_seek seek;
	cop_journal_record frame;
	cop_journal_scan *scan = &walk->scan;
	cop_err err = cop_journal_scan_seek(scan, walk->expected, &frame, &seek);
	if (err == COP_EEND) {
		bool zeros = seek.zeros && seek.bytes >= COP_JOURNAL_FRAME_HEAD && offset > 0;
		cop_journal_end end = zeros ? COP_JOURNAL_END_ZEROS : COP_JOURNAL_END_TORN;
		return walk->file.compressed ? damaged(walk, offset, what, diag) : ended(walk, end, offset, seek.bytes);
	}
	if (err == COP_OK && seek.hole && !walk->file.compressed) {
		err = find_mark(walk, &frame);
		if (err == COP_EEND)
			return ended(walk, COP_JOURNAL_END_TORN, offset, scan->offset - offset);
	}
	if (err != COP_OK && (err != COP_EFORMAT || scan->err != COP_OK))
		return failed(walk, err, diag);
	return damaged(walk, offset, what, diag);
}

/* The same in a segment that another one follows: what is missing is missing, whatever it looks like. */
static cop_err judge_inner(cop_journal_walk *walk, uint64_t offset, const char *what, cop_diag *diag)
{
	cop_journal_seek seek;
	cop_journal_record frame;
	cop_err err = cop_journal_scan_seek(&walk->scan, walk->expected, &frame, &seek);
	if (err == COP_EEND && seek.zeros)
		return ended(walk, COP_JOURNAL_END_MISSING, offset, seek.bytes);
	if (err != COP_OK && err != COP_EEND && (err != COP_EFORMAT || walk->scan.err != COP_OK))
		return failed(walk, err, diag);
	return damaged(walk, offset, what, diag);
}

static cop_err judge(cop_journal_walk *walk, const char *what, cop_diag *diag)
{
	uint64_t offset = walk->scan.offset;
	return walk->limit == UINT64_MAX ? judge_last(walk, offset, what, diag) : judge_inner(walk, offset, what, diag);
}

static cop_err open_header(cop_journal_walk *walk, cop_diag *diag)
{
	cop_journal_header header;
	cop_diag why = { .message = "" };
	cop_err err = cop_journal_scan_header(&walk->scan, &header, &why);
	if (err == COP_EEND) {
		err = judge(walk, "the file ends within the segment's header", diag);
		return err == COP_EEND ? COP_OK : err;
	}
	if (err == COP_EFORMAT && walk->scan.err == COP_OK)
		return damaged(walk, why.offset, why.message, diag);
	if (err == COP_EVERSION) {
		cop_journal_walk_diag(walk, why.offset, why.message, diag);
		return err;
	}
	if (err != COP_OK)
		return failed(walk, err, diag);
	if (header.base != walk->file.base)
		return damaged(walk, 16, "the segment's base is not the one in its name", diag);
	walk->epoch = header.epoch;
	cop_bytes_put(&walk->model_set, header.model_set, header.model_set_length);
	return walk->model_set.err == COP_OK ? COP_OK : failed(walk, COP_ENOMEM, diag);
}

cop_err cop_journal_walk_open(
        cop_journal_walk *walk, const char *folder, const cop_journal_file *file, uint64_t limit, cop_diag *diag)
{
	memset(walk, 0, sizeof *walk);
	walk->folder = folder;
	walk->file = *file;
	walk->expected = file->base;
	walk->limit = limit;
	cop_bytes_init(&walk->model_set);
	cop_err err = cop_journal_scan_open(&walk->scan, folder, file, diag);
	if (err == COP_OK)
		err = open_header(walk, diag);
	if (err != COP_OK) {
		cop_journal_end end = walk->end;
		uint64_t offset = walk->end_offset;
		cop_journal_walk_close(walk);
		walk->end = end;
		walk->end_offset = offset;
	}
	return err;
}

void cop_journal_walk_close(cop_journal_walk *walk)
{
	cop_journal_scan_close(&walk->scan);
	cop_bytes_fini(&walk->model_set);
	memset(walk, 0, sizeof *walk);
}

cop_err cop_journal_walk_enter(cop_journal_walk *walk, uint64_t *epoch, cop_diag *diag)
{
	char text[128];
	if (walk->ended)
		return COP_OK;
	if (walk->epoch < *epoch) {
		(void)snprintf(text, sizeof text,
		        "its epoch is %" PRIu64 "; expected at least %" PRIu64 ", which a segment before it has",
		        walk->epoch, *epoch);
		return damaged(walk, 24, text, diag);
	}
	*epoch = walk->epoch;
	return COP_OK;
}

cop_err cop_journal_walk_next(cop_journal_walk *walk, cop_journal_record *out, cop_diag *diag)
{
	cop_journal_scan *scan = &walk->scan;
	if (walk->ended)
		return walk->end == COP_JOURNAL_END_DAMAGED ? COP_EFORMAT : COP_EEND;
	for (;;) {
		if (walk->expected >= walk->limit)
			return ended(walk, COP_JOURNAL_END_WHOLE, scan->offset, 0);
		cop_err err = cop_journal_scan_frame(scan, out);
		if (err == COP_EEND && walk->limit == UINT64_MAX)
			return ended(walk, COP_JOURNAL_END_WHOLE, scan->offset, 0);
		if (err == COP_EEND)
			return ended(walk, COP_JOURNAL_END_MISSING, scan->offset, 0);
		if (err == COP_EFORMAT && scan->err == COP_OK)
			return judge(walk, "no intact record is here", diag);
		if (err != COP_OK)
			return failed(walk, err, diag);
		if (out->type != COP_JOURNAL_MARK && out->sequence != walk->expected)
			return judge(walk, "the record's sequence number is not the one that follows", diag);
		cop_journal_scan_pass(scan, out);
		if (out->type == COP_JOURNAL_MARK) {
			walk->durable = out->sequence;
		} else {
			walk->expected++;
			return COP_OK;
		}
	}
}
