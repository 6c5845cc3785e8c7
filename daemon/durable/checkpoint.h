/* daemon/durable/checkpoint.h: the daemon's whole state to a file and back.
 *
 * One model file (store/section_file.h) in a durable file of the state folder (store/checkpoint_file.h); which stay is
 * daemon/durable/checkpoint_kept.h's. Section "daemon" has where the state stands (store/state_mark.h). In a group of
 * replicas a section "live" has what was changed live. Then a section "model" for each model. State is serialised on
 * the loop's thread, which makes all calls; the file is written by a thread of its own. */
#ifndef COP_DAEMON_DURABLE_CHECKPOINT_H
#define COP_DAEMON_DURABLE_CHECKPOINT_H

#include "base/bytes.h"
#include "base/err.h"
#include "daemon/common/histogram.h"
#include "daemon/common/job.h"
#include "daemon/common/log.h"
#include "daemon/config/config.h"
#include "daemon/durable/checkpoint_kept.h"
#include "daemon/models/model_table.h"

/* Where the state stands. */
typedef struct cop_checkpoint_mark {
	double time;           /* event time, unix seconds */
	uint64_t journal_next; /* first journal record that is not in it; 0: from the time before there was a journal */
	uint64_t journal_base; /* first record of the segment that was being written; 0: not known */
	uint64_t epoch;        /* of the journal */
	uint64_t forgot;       /* nothing from before this record has whoever was forgotten last; 0: nobody was */
} cop_checkpoint_mark;

typedef struct cop_checkpoint {
	const char *folder;           /* kept */
	const cop_live_changes *live; /* kept; that go along; NULL: none do */
	uint64_t sequence;            /* of the newest written or restored; 0: none */
	uint64_t highest;             /* of all files met, damaged ones included */
	uint64_t written, failed;
	uint64_t bytes; /* of the newest */
	double seconds; /* the newest took */
	double time;    /* when it was written, unix; 0: none yet */
	double at;      /* the same, monotonic */
	cop_histogram durations;
	cop_checkpoint_mark mark; /* of the newest written or restored */
	cop_checkpoint_kept kept; /* the files up to it */
	cop_job job;              /* of the file being written; what follows is the thread's until it is done */
	cop_bytes body;
	cop_checkpoint_mark body_mark;
	double began;
	cop_err result;
	cop_diag why;
} cop_checkpoint;

void cop_checkpoint_init(cop_checkpoint *checkpoint, const char *folder);
/* Waits for a file being written. */
void cop_checkpoint_fini(cop_checkpoint *checkpoint);

/* Restores models made from config from the newest valid file; damaged ones are passed over with a warning, for which
 * the models are made anew. COP_OK also when there is no file at all. COP_ESHAPE, COP_EVERSION, COP_EIO, COP_ENOMEM,
 * with *diag. */
COP_CHECK cop_err cop_checkpoint_restore(cop_checkpoint *checkpoint, cop_model_table *set, const cop_config *config,
        const char *const *reset, cop_log *log, cop_diag *diag);

/* Restores fresh models from the newest valid file whose state is of before the record journal_next; none: *mark is all
 * zero and the models are as they were. Errors as above. */
COP_CHECK cop_err cop_checkpoint_restore_before(
        const char *folder, uint64_t journal_next, cop_model_table *set, cop_checkpoint_mark *mark, cop_diag *diag);

/* Into body the oldest file whose state is of after record `sequence`. COP_ENOTFOUND: there is none that can be read.
 * Reads the folder alone: any thread. COP_EIO, COP_ENOMEM, with *diag. */
COP_CHECK cop_err cop_checkpoint_read_after(const char *folder, uint64_t sequence, cop_bytes *body, cop_diag *diag);

/* Removes the files older than the file `newest` whose state is of after record `first` (0: all older ones), and
 * damaged ones: how many. Reads the folder alone: any thread. COP_EIO, COP_ENOMEM, with *diag. */
COP_CHECK cop_err cop_checkpoint_remove_since(
        const char *folder, uint64_t first, uint64_t newest, uint64_t *removed, cop_diag *diag);
/* That was done, here: what they needed of the journal is needed no more. */
void cop_checkpoint_removed_since(cop_checkpoint *checkpoint, uint64_t first);

/* Begins to write a new file; all journal records before mark->journal_next are synced. COP_EEXIST: one is being
 * written. COP_ENOMEM, COP_EIO (no thread): counted and logged. */
COP_CHECK cop_err cop_checkpoint_start(
        cop_checkpoint *checkpoint, const cop_model_table *set, const cop_checkpoint_mark *mark, cop_log *log);
/* Takes in a file that is written (wait: waits for it) and removes old ones. COP_EEND: none was being written, or it
 * still is. An error of writing is counted, logged and given in *diag; older files stay. */
COP_CHECK cop_err cop_checkpoint_finish(
        cop_checkpoint *checkpoint, const cop_checkpoint_keeping *keeping, bool wait, cop_log *log, cop_diag *diag);
/* Removes files that are of no use since the journal was cut back, if there are any. */
void cop_checkpoint_tidy(cop_checkpoint *checkpoint, const cop_checkpoint_keeping *keeping, cop_log *log);

#endif
