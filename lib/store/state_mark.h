/* store/state_mark.h: where the state in a checkpoint of a daemon stands, its section COP_STATE_DIR_MARK. Any thread.
 */
#ifndef COP_STORE_STATE_MARK_H
#define COP_STORE_STATE_MARK_H

#include "store/section_file.h"

typedef struct cop_state_mark {
	double time;           /* event time, unix seconds */
	uint64_t journal_next; /* first journal record that is not in it; 0: from the time before there was a journal */
	uint64_t journal_base; /* first record of the segment that was being written; 0: not known */
	uint64_t epoch;        /* of the journal (store/journal_segment.h) */
	uint64_t forgot;       /* nothing from before this record has whoever was forgotten last; 0: nobody was */
} cop_state_mark;

/* COP_ENOTFOUND: the file has none; *out is zero. COP_EVERSION, COP_EFORMAT. */
COP_CHECK cop_err cop_state_mark_read(const cop_section_file *file, cop_state_mark *out);
/* Of a checkpoint file of which the beginning alone is read; the rest may be damaged. COP_ENOTFOUND: its first section
 * is another one. Else errors of cop_checkpoint_read, and as above. */
COP_CHECK cop_err cop_state_mark_glance(const char *path, cop_state_mark *out, cop_diag *diag);

#endif
