/* window[at, end) always begins at file offset `offset`. A frame that crosses the window's end is moved to its front
 * and the rest is read behind it; the window grows only for a frame that is larger than it. */
#include "store/journal_scan.h"

#include <string.h>

#include "base/mem.h"

#define WINDOW     ((size_t)1 << 20)
#define PAGE       4096u
#define SPAN       ((uint64_t)1 << 32)
#define SPENT_MAX  ((uint64_t)1 << 28)
#define SPENT_RATE 16

cop_err cop_journal_scan_open(cop_journal_scan *scan, const char *folder, const cop_journal_file *file, cop_diag *diag)
{
	memset(scan, 0, sizeof *scan);
	cop_err err = COP_ENOTFOUND;
	for (int other = 0; other < 2 && err == COP_ENOTFOUND; other++) {
		char name[COP_JOURNAL_NAME_ROOM];
		cop_journal_name(file->base, file->compressed != (other == 1), name);
		char *path = cop_journal_path(folder, name);
		if (path != NULL)
			err = cop_stream_open_read(path, &scan->stream, diag);
		cop_mem_free(path);
		if (path == NULL)
			err = COP_ENOMEM;
	}
	/* A small file and its end fit at once. */
	scan->capacity = file->compressed || file->bytes >= WINDOW ? WINDOW : (size_t)file->bytes + 1;
	if (err == COP_OK && (scan->window = cop_mem_alloc(scan->capacity, 1)) == NULL)
		err = COP_ENOMEM;
	if (err == COP_ENOMEM)
		cop_diag_of(diag, folder, "out of memory");
	if (err != COP_OK)
		cop_journal_scan_close(scan);
	return err;
}

void cop_journal_scan_close(cop_journal_scan *scan)
{
	cop_stream_free(scan->stream);
	cop_mem_free(scan->window);
	memset(scan, 0, sizeof *scan);
}

/* Room for `want` bytes in the window, what is in it at its front. */
static cop_err make_room(cop_journal_scan *scan, size_t want)
{
	size_t have = scan->end - scan->at;
	if (have > 0 && scan->at > 0)
		memmove(scan->window, scan->window + scan->at, have);
	scan->at = 0;
	scan->end = have;
	if (want <= scan->capacity)
		return COP_OK;
	size_t capacity = want < scan->capacity * 2 ? scan->capacity * 2 : want;
	uint8_t *grown = cop_mem_resize(scan->window, have, capacity, 1);
	if (grown == NULL)
		return COP_ENOMEM;
	scan->window = grown;
	scan->capacity = capacity;
	return COP_OK;
}

/* At least `want` bytes from `at` on, fewer only at the end. COP_ENOMEM; the stream's own failures are kept in err. */
static cop_err fill(cop_journal_scan *scan, size_t want)
{
	while (scan->end - scan->at < want && !scan->at_end) {
		cop_err err = make_room(scan, want);
		if (err != COP_OK)
			return err;
		size_t got;
		size_t size = scan->capacity - scan->end;
		err = cop_stream_read(scan->stream, scan->window + scan->end, size, &got);
		scan->end += got;
		scan->at_end = err != COP_OK || got < size;
		if (err != COP_OK && err != COP_EEND)
			scan->err = err;
	}
	return COP_OK;
}

cop_err cop_journal_scan_header(cop_journal_scan *scan, cop_journal_header *out, cop_diag *diag)
{
	size_t need = 1;
	cop_err err;
	do {
		err = fill(scan, need);
		if (err == COP_OK)
			err = cop_journal_segment_header_parse(
			        scan->window + scan->at, scan->end - scan->at, out, &need, diag);
	} while (err == COP_EEND && !scan->at_end);
	if (err == COP_EEND && scan->err != COP_OK)
		err = scan->err;
	if (err == COP_OK) {
		scan->at += out->length;
		scan->offset += out->length;
	}
	return err;
}

cop_err cop_journal_scan_frame(cop_journal_scan *scan, cop_journal_record *out)
{
	size_t need = COP_JOURNAL_FRAME_HEAD;
	for (;;) {
		cop_err err = fill(scan, need);
		if (err != COP_OK)
			return err;
		size_t have = scan->end - scan->at;
		if (have == 0)
			return scan->err != COP_OK ? scan->err : COP_EEND;
		err = cop_journal_segment_frame_parse(scan->window + scan->at, have, out, &need);
		out->offset = scan->offset;
		if (err != COP_EEND)
			return err;
		if (scan->at_end)
			return scan->err != COP_OK ? scan->err : COP_EFORMAT;
	}
}

void cop_journal_scan_pass(cop_journal_scan *scan, const cop_journal_record *frame)
{
	scan->at += COP_JOURNAL_FRAME_HEAD + frame->length;
	scan->offset += COP_JOURNAL_FRAME_HEAD + frame->length;
}

/* What the head at the cursor says could be a frame that follows; cheap, and enough for all bytes but made-up ones. */
static bool plausible(const uint8_t *head, uint64_t expected)
{
	uint32_t length;
	uint32_t type;
	uint64_t sequence;
	memcpy(&type, head + 16, sizeof type);
	memcpy(&length, head, sizeof length);
	memcpy(&sequence, head + 8, sizeof sequence);
	return (type & 0xffffff00u) == 0 && length <= COP_JOURNAL_BODY_MAX && sequence >= expected &&
	       sequence - expected < SPAN;
}

/* One byte further; `run` counts the zero bytes that end here. */
static void pass_byte(cop_journal_scan *scan, cop_journal_seek *seek, uint64_t *run)
{
	*run = scan->window[scan->at] == 0 ? *run + 1 : 0;
	scan->at++;
	scan->offset++;
	seek->bytes++;
	seek->zeros = *run == seek->bytes;
	if (scan->offset % PAGE == 0 && (*run >= PAGE || seek->zeros))
		seek->hole = true;
}

cop_err cop_journal_scan_seek(
        cop_journal_scan *scan, uint64_t expected, cop_journal_record *out, cop_journal_seek *seek)
{
	uint64_t run = 0;
	memset(seek, 0, sizeof *seek);
	seek->zeros = true;
	for (;;) {
		cop_err err = fill(scan, COP_JOURNAL_FRAME_HEAD);
		size_t have = scan->end - scan->at;
		if (err == COP_OK && have == 0)
			err = scan->err != COP_OK ? scan->err : COP_EEND;
		if (err != COP_OK)
			return err;
		if (have >= COP_JOURNAL_FRAME_HEAD && plausible(scan->window + scan->at, expected)) {
			err = cop_journal_scan_frame(scan, out);
			if (err == COP_OK || err == COP_ENOMEM)
				return err;
			scan->spent += out->length;
			if (scan->spent > SPENT_MAX + SPENT_RATE * scan->offset)
				return COP_EFORMAT;
		}
		pass_byte(scan, seek, &run);
	}
}
