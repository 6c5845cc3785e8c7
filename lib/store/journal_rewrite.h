/* store/journal_rewrite.h: closed segments in which some records become others.
 *
 * Sequence numbers and headers stay. A segment is replaced as a whole, under the same name: the new file is durable
 * before it takes the name, and the old one is overwritten (store/journal_wipe.h) before its bytes are given up. After
 * a kill each segment is the old or the new one, and what else is left has a temporary name. May run beside the writer
 * and readers (one that has a segment open may then find zeros in it), but not beside store/journal_keep.h. */
#ifndef COP_STORE_JOURNAL_REWRITE_H
#define COP_STORE_JOURNAL_REWRITE_H

#include "store/journal_segment.h"

typedef struct cop_journal_editor {
	/* *out is the record at first; what it shall be goes there (type, body and length alone; kept until the next
	 * call), and *changed becomes true. Called more than once for a record, with the same answer. */
	cop_err (*edit)(void *context, const cop_journal_record *record, cop_journal_record *out, bool *changed);
	void *context;
} cop_journal_editor;

typedef struct cop_journal_rewritten {
	uint64_t records; /* that became others */
	size_t segments;  /* that were replaced, */
	uint64_t before;  /* their bytes on the disk before, */
	uint64_t after;   /* and after */
} cop_journal_rewritten;

/* Replaces, from the newest to the oldest, each segment that begins at record `last` or before, never the newest one,
 * in which the editor changes a record. If there is any, bytes behind a segment's last record, which a failed write
 * left there and which were written again into the next segment, are dropped before. *out counts, on error what was
 * done until then, which stays. Unfinished files of a killed call are removed. COP_EFORMAT, COP_EVERSION: a segment is
 * damaged, or newer. COP_EIO, COP_ENOTFOUND, COP_ENOMEM; the editor's. */
COP_CHECK cop_err cop_journal_rewrite(const char *folder, uint64_t last, const cop_journal_editor *editor,
        cop_journal_rewritten *out, cop_diag *diag);

#endif
