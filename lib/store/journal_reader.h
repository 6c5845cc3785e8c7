/* store/journal_reader.h: a journal's records in order, over all its segments, plain and compressed.
 *
 * The segments are those of the moment of opening. Wrong bytes are never given out as a record: they are a torn tail
 * (only at the end of the last segment) or damage (docs/reference/journal.md has the rules). One thread per object. */
#ifndef COP_STORE_JOURNAL_READER_H
#define COP_STORE_JOURNAL_READER_H

#include "store/journal_segment.h"

typedef struct cop_journal_reader cop_journal_reader;

/* Where the journal ends. */
typedef struct cop_journal_tail {
	uint64_t next_sequence; /* of the record that would come next */
	bool torn;              /* the last segment's last `bytes` are a torn tail; false: they are zero, or none */
	uint64_t bytes;         /* that cop_journal_keep_cut_tail would cut */
	uint64_t offset;        /* where they begin */
	uint64_t epoch;         /* of the last segment that was entered */
	char file[COP_JOURNAL_NAME_ROOM]; /* the last segment's name; "" without segments */
} cop_journal_tail;

/* folder may also be the path of one segment's file, which then is the whole journal. Begins at the record
 * from_sequence, or with 0 at the oldest there is. allow_gaps: a segment may end before the next
 * one's base (as in salvaged journals); else that is damage. Caller closes with cop_journal_reader_close; on error *out
 * is NULL. COP_ENOTFOUND: no such folder, or the record is older than the oldest segment. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_journal_reader_open(
        const char *folder, uint64_t from_sequence, bool allow_gaps, cop_journal_reader **out, cop_diag *diag);
/* NULL is allowed. */
void cop_journal_reader_close(cop_journal_reader *reader);

/* The next record, its body borrowed until the next call. COP_EEND: there is none, the tail has how it ends.
 * COP_EFORMAT: damage, an epoch that falls, or a gap; diag->source is the segment, diag->offset the place.
 * COP_EVERSION: a segment of a newer version. COP_EIO, COP_ENOTFOUND, COP_ENOMEM. Failures and the end are sticky. */
COP_CHECK cop_err cop_journal_next(cop_journal_reader *reader, cop_journal_record *record, cop_diag *diag);

/* Valid once cop_journal_next gave COP_EEND; next_sequence and epoch at any time. Borrowed. */
const cop_journal_tail *cop_journal_reader_tail(const cop_journal_reader *reader);

/* Base of the segment that gave the last record, its epoch, and its model set (borrowed until the next call of
 * cop_journal_next). 0 and NULL before the first record and at the end. */
uint64_t cop_journal_reader_base(const cop_journal_reader *reader);
uint64_t cop_journal_reader_epoch(const cop_journal_reader *reader);
const uint8_t *cop_journal_reader_model_set(const cop_journal_reader *reader, size_t *length);

/* Name of that segment, "" where there is none. */
void cop_journal_reader_file(const cop_journal_reader *reader, char out[COP_JOURNAL_NAME_ROOM]);

/* Appends the model set in the header of one segment of the folder. COP_EFORMAT, COP_EVERSION, COP_EIO, COP_ENOTFOUND:
 * it cannot be read. COP_ENOMEM. */
COP_CHECK cop_err cop_journal_reader_models(const char *folder, const cop_journal_file *file, cop_bytes *out);

/* Base of the oldest segment in the folder that is of this epoch or a later one, found by halving, since epochs never
 * fall; 0: there is none. Errors of cop_journal_list and of cop_journal_reader_models. */
COP_CHECK cop_err cop_journal_reader_epoch_base(const char *folder, uint64_t epoch, uint64_t *base);

#endif
