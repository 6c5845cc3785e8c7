/* store/journal_keep.h: the care of segments: cutting a torn tail, compressing, removing the oldest.
 *
 * Each call looks at the folder anew. Compressing and removing may run beside the writer and readers, on any thread,
 * but not beside one another. */
#ifndef COP_STORE_JOURNAL_KEEP_H
#define COP_STORE_JOURNAL_KEEP_H

#include "store/journal_reader.h"

/* Cuts the last segment's torn tail, or unwritten zero bytes, off and syncs it; a segment whose header is torn is
 * removed. *tail has what was there. At start only: no writer may be open. COP_EFORMAT: the last segment is
 * damaged (nothing is cut). COP_EVERSION, COP_ENOTFOUND, COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_journal_keep_cut_tail(const char *folder, cop_journal_tail *tail, cop_diag *diag);

/* Replaces the segment BASE.journal by BASE.journal.zst, which is read back and compared first; the time of its last
 * change is kept. One that is compressed already stays. COP_EINVAL: the newest segment, which may still be written to.
 * COP_ENOTFOUND: no such segment. COP_EFORMAT: the copy is not equal. COP_EIO, COP_ENOMEM. On error all is as before,
 * but for a temporary file that could not be removed. */
COP_CHECK cop_err cop_journal_keep_compress(const char *folder, uint64_t base, cop_diag *diag);

/* While all segments together hold more than keep_bytes on the disk, removes the oldest one, if all its records are
 * below keep_from_sequence; never the newest one. *removed (NULL allowed) counts. keep_bytes 0 removes all that may be
 * removed: so a caller that reads cop_journal_file.modified keeps by age. COP_ENOTFOUND, COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_journal_keep_retain(
        const char *folder, uint64_t keep_bytes, uint64_t keep_from_sequence, size_t *removed, cop_diag *diag);

#endif
