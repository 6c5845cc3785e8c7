/* store/journal_intact.h: every intact record of a journal, damaged or not, in order: what cannot be read is passed
 * over.
 *
 * For salvaging and for readers that make do with what is left; store/journal_reader.h reads a journal that must be
 * whole. The segments are those of the moment of opening. Nothing is written. One thread per object. */
#ifndef COP_STORE_JOURNAL_INTACT_H
#define COP_STORE_JOURNAL_INTACT_H

#include "store/journal_segment.h"

/* One stretch that was passed over. */
typedef struct cop_journal_skip {
	char file[COP_JOURNAL_NAME_ROOM]; /* the segment */
	uint64_t offset;                  /* in it, decompressed */
	uint64_t bytes;         /* 0: nothing is there, records are missing; at a segment's end, may be unknown */
	uint64_t missing_first; /* sequence numbers lost; first > last: none is known to be */
	uint64_t missing_last;
	char reason[160];
} cop_journal_skip;

typedef struct cop_journal_skip_listener {
	void (*skipped)(void *context, const cop_journal_skip *skip); /* hears of each skip, in order; NULL allowed */
	void *context;
} cop_journal_skip_listener;

typedef struct cop_journal_intact cop_journal_intact;

/* folder may also be the path of one segment's file. Caller closes with cop_journal_intact_close; on error *out is
 * NULL. COP_ENOTFOUND: no such folder. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_journal_intact_open(
        const char *folder, const cop_journal_skip_listener *listener, cop_journal_intact **out, cop_diag *diag);
/* NULL is allowed. */
void cop_journal_intact_close(cop_journal_intact *intact);

/* The next record that can follow the ones before it, its body (and the frame's head before it) borrowed until the next
 * call. *follows: it is in the segment of the one before, and nothing lies between the two. COP_EEND: there is none.
 * COP_EVERSION: a segment of a newer version. COP_ENOMEM. Failures and the end are sticky. */
COP_CHECK cop_err cop_journal_intact_next(
        cop_journal_intact *intact, cop_journal_record *record, bool *follows, cop_diag *diag);

/* Base of the segment that gave the last record; its epoch, and its model set (of the segment before when its header is
 * damaged, the epoch also when it falls; borrowed until the next call). */
uint64_t cop_journal_intact_base(const cop_journal_intact *intact);
uint64_t cop_journal_intact_epoch(const cop_journal_intact *intact);
const uint8_t *cop_journal_intact_model_set(const cop_journal_intact *intact, size_t *length);

#endif
