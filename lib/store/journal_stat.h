/* store/journal_stat.h: what each segment of a journal holds and whether it is whole, for the tools.
 *
 * Only reads; may run beside the writer (whose last record may then look torn). One thread per call. */
#ifndef COP_STORE_JOURNAL_STAT_H
#define COP_STORE_JOURNAL_STAT_H

#include "store/journal_walk.h"

typedef struct cop_journal_stat {
	cop_journal_file file; /* base, bytes on the disk, time, compressed */
	uint64_t last;         /* sequence number of the last record; base - 1 without any */
	uint64_t records;      /* intact ones before the end, or the damage */
	uint64_t content;      /* bytes decompressed, as far as read */
	uint64_t durable;      /* the last mark: known to have been synced; 0: none */
	uint64_t epoch;
	cop_journal_end end; /* COP_JOURNAL_END_DAMAGED: also unreadable or of a newer version, see err */
	uint64_t end_offset;
	uint64_t cut;             /* bytes behind end_offset, for ZEROS and TORN */
	const uint8_t *model_set; /* of the header, model_set_length bytes; borrowed by the listener */
	size_t model_set_length;
	cop_err err;  /* COP_OK, or why the segment cannot be read to its end */
	cop_diag why; /* for err, and for MISSING */
} cop_journal_stat;

typedef struct cop_journal_stat_listener {
	void (*segment)(void *context, const cop_journal_stat *stat); /* borrowed */
	void *context;
} cop_journal_stat_listener;

/* Reads all segments in order and reports each to the listener. COP_OK: all whole, or the last one torn. COP_EFORMAT,
 * COP_EVERSION, COP_EIO: the first fault of a segment, in *diag; the others are read all the same.
 * COP_ENOTFOUND: no such folder. COP_ENOMEM. */
COP_CHECK cop_err cop_journal_stat_verify(
        const char *folder, const cop_journal_stat_listener *listener, cop_diag *diag);

#endif
