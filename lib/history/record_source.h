/* history/record_source.h: the records of a journal, which must be whole, or as much of it as is intact. One thread. */
#ifndef COP_HISTORY_RECORD_SOURCE_H
#define COP_HISTORY_RECORD_SOURCE_H

#include "store/journal_intact.h"
#include "store/journal_reader.h"

typedef struct cop_record_source {
	cop_journal_reader *whole; /* one of the two */
	cop_journal_intact *intact;
	char *folder;
	cop_journal_file *files; /* as they were at the opening */
	size_t count;
} cop_record_source;

/* from: the record to begin with, 0: the oldest; skip, which goes with 0 only: pass over what is damaged, the listener
 * (NULL allowed) hears of it. Finish with fini, also after an error. COP_ENOTFOUND, COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_record_source_open(cop_record_source *source, const char *path, uint64_t from, bool skip,
        const cop_journal_skip_listener *listener, cop_diag *diag);
void cop_record_source_fini(cop_record_source *source);

/* COP_EEND; COP_EIO: cannot be read on, damage included; COP_EVERSION, COP_ENOMEM. */
COP_CHECK cop_err cop_record_source_next(cop_record_source *source, cop_journal_record *record, cop_diag *diag);
/* Base of the segment of the last record, and its model set (borrowed). */
uint64_t cop_record_source_base(const cop_record_source *source);
const uint8_t *cop_record_source_model_set(const cop_record_source *source, size_t *length);
/* *diag's source becomes the segment with this base. */
void cop_record_source_place(const cop_record_source *source, uint64_t base, cop_diag *diag);

#endif
