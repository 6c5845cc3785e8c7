/* store/journal_scan.h: the frames of one segment, plain or compressed, one after another; for the journal's own files.
 *
 * A window of the (decompressed) file slides forward; offsets are from its start. Which sequence number may come next
 * is the caller's business (store/journal_walk.h). One thread per object. */
#ifndef COP_STORE_JOURNAL_SCAN_H
#define COP_STORE_JOURNAL_SCAN_H

#include "base/stream.h"
#include "store/journal_segment.h"

typedef struct cop_journal_scan {
	cop_stream *stream;
	uint8_t *window;
	size_t capacity;
	size_t at; /* window[at, end) is read and not yet passed */
	size_t end;
	uint64_t offset; /* of window[at] in the file */
	uint64_t spent;  /* bytes checksummed in vain while seeking */
	bool at_end;     /* the stream gives no more */
	cop_err err;     /* why, when it should have */
} cop_journal_scan;

/* On error the scan is as zeroed. file has which of the two names is tried first.
 * COP_ENOTFOUND, COP_EIO, COP_EFORMAT (of compressed data), COP_ENOMEM. */
COP_CHECK cop_err cop_journal_scan_open(
        cop_journal_scan *scan, const char *folder, const cop_journal_file *file, cop_diag *diag);
/* Zeroed is allowed. */
void cop_journal_scan_close(cop_journal_scan *scan);

/* The header at the file's start, passed over. COP_EEND: the file ends within it (nothing is passed); else as
 * cop_journal_segment_header_parse and cop_stream_read. The model set is borrowed until the next call. */
COP_CHECK cop_err cop_journal_scan_header(cop_journal_scan *scan, cop_journal_header *out, cop_diag *diag);

/* The intact frame at the cursor, which stays; the body is borrowed until the next call. COP_EEND: not a byte is left.
 * COP_EFORMAT: no intact frame is here, or the compressed data is damaged (scan->err is set). COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_journal_scan_frame(cop_journal_scan *scan, cop_journal_record *out);

/* Passes the frame that scan_frame or scan_seek gave last. */
void cop_journal_scan_pass(cop_journal_scan *scan, const cop_journal_record *frame);

/* What cop_journal_scan_seek went over. */
typedef struct cop_journal_seek {
	uint64_t bytes;
	bool zeros; /* all of it is zero */
	bool hole;  /* a page of the file in it is zero, or from its start to the page's end: never written to the disk
	             */
} cop_journal_seek;

/* Moves on to the next intact frame that can follow in a journal which expects `expected`: a record or mark of that or
 * a later sequence number. COP_EEND: there is none, the cursor is at the end. COP_EFORMAT: the bytes imitate frames
 * without end, or the compressed data is damaged. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_journal_scan_seek(
        cop_journal_scan *scan, uint64_t expected, cop_journal_record *out, cop_journal_seek *seek);

#endif
