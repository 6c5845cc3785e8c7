/* store/journal_salvage.h: what is intact of a damaged journal, as a new journal.
 *
 * Every intact record that can follow the ones before it is copied, its number kept. Where records are missing a new
 * segment begins, so the result is read with allow_gaps. The damaged journal is only read. One thread per call. */
#ifndef COP_STORE_JOURNAL_SALVAGE_H
#define COP_STORE_JOURNAL_SALVAGE_H

#include "store/journal_intact.h"

typedef struct cop_journal_salvage_report {
	uint64_t records; /* copied */
	uint64_t first;   /* sequence numbers of the first and last copied one; 0 without any */
	uint64_t last;
	uint64_t segments; /* written */
	uint64_t skips;
	uint64_t skipped_bytes;
	uint64_t missing;                                             /* records known to be lost */
	void (*skipped)(void *context, const cop_journal_skip *skip); /* set by the caller; NULL allowed */
	void *context;
} cop_journal_salvage_report;

/* folder_out is there and holds no segment. *report's counts are set, its listener hears of each skip, in order.
 * Damage is no error here. COP_EEXIST: folder_out holds segments. COP_ENOTFOUND: a folder is not there. COP_EVERSION: a
 * segment of a newer version. COP_EIO: writing failed (reading: reported as a skip). COP_ENOMEM. On error what was
 * written so far stays. */
COP_CHECK cop_err cop_journal_salvage(
        const char *folder_in, const char *folder_out, cop_journal_salvage_report *report, cop_diag *diag);

#endif
