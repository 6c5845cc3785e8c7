/* store/journal_walk.h: the records of one segment in order, and how it ends; for the journal's own files.
 *
 * A segment's records end where the next segment's base begins. In the last segment what cannot be read is a torn tail
 * when no intact frame follows it, or when a page of it never reached the disk and no mark behind it records that it
 * had been synced; anywhere else, and else, it is damage. So is an epoch below that of a segment before. One thread per
 * object. */
#ifndef COP_STORE_JOURNAL_WALK_H
#define COP_STORE_JOURNAL_WALK_H

#include "store/journal_scan.h"

typedef enum cop_journal_end {
	COP_JOURNAL_END_WHOLE,   /* all of it read, or all that counts before the next segment's base */
	COP_JOURNAL_END_ZEROS,   /* zero bytes only from offset on: room that was never written */
	COP_JOURNAL_END_TORN,    /* a torn tail from offset on */
	COP_JOURNAL_END_MISSING, /* it ends before the next segment's base */
	COP_JOURNAL_END_DAMAGED, /* damage at offset */
} cop_journal_end;

typedef struct cop_journal_walk {
	cop_journal_scan scan;
	cop_journal_file file;
	cop_bytes model_set;
	uint64_t epoch;
	const char *folder; /* kept */
	uint64_t expected;  /* sequence number of the next record */
	uint64_t limit;     /* base of the next segment; UINT64_MAX in the last one */
	uint64_t durable;   /* of the last mark */
	cop_journal_end end;
	uint64_t end_offset; /* where it ended */
	uint64_t cut;        /* bytes from there to the file's end, for ZEROS and TORN */
	bool ended;
} cop_journal_walk;

/* Opens the segment and reads its header; the first cop_journal_walk_next reports a torn header. On error the walk
 * is as zeroed; a damaged one sets end and end_offset besides. COP_ENOTFOUND, COP_EIO, COP_EFORMAT, COP_EVERSION,
 * COP_ENOMEM. */
COP_CHECK cop_err cop_journal_walk_open(
        cop_journal_walk *walk, const char *folder, const cop_journal_file *file, uint64_t limit, cop_diag *diag);
/* Zeroed is allowed. */
void cop_journal_walk_close(cop_journal_walk *walk);

/* The next record, borrowed until the next call. COP_EEND: none, walk->end is WHOLE, ZEROS, TORN or MISSING.
 * COP_EFORMAT: damage, *diag names file and offset. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_journal_walk_next(cop_journal_walk *walk, cop_journal_record *out, cop_diag *diag);

/* After open, with the greatest epoch of the segments before: it becomes this one's, which must not be lower. A segment
 * whose header is torn has none. COP_EFORMAT: damage, as of open. */
COP_CHECK cop_err cop_journal_walk_enter(cop_journal_walk *walk, uint64_t *epoch, cop_diag *diag);

/* *diag gets what is wrong at `offset` of the segment. */
void cop_journal_walk_diag(const cop_journal_walk *walk, uint64_t offset, const char *what, cop_diag *diag);

#endif
