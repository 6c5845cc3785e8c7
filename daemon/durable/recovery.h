/* daemon/durable/recovery.h: from the newest checkpoint to the present: the journal's records after it, applied again.
 *
 * Nothing is decided or drawn again: logged actions and propensities are taken. Afterwards models are byte for byte
 * what they were when the last record was written. The loop's thread, before serving. */
#ifndef COP_DAEMON_DURABLE_RECOVERY_H
#define COP_DAEMON_DURABLE_RECOVERY_H

#include "daemon/common/http.h"
#include "daemon/common/log.h"
#include "daemon/durable/checkpoint.h"
#include "daemon/models/model_table.h"
#include "store/journal_segment.h"

typedef struct cop_recovery {
	const char *state_dir;    /* where challengers are */
	const char *folder;       /* the journal's; made when it is not there */
	const char *const *reset; /* models whose records are passed over, NULL-terminated; NULL: none */
	cop_http *http;           /* told that work goes on; NULL: none */
	bool salvaged;            /* the journal has gaps: what no longer fits is passed over */
	bool aside;               /* the journal was set aside: none is expected */
	cop_log *log;
	uint64_t applied; /* records, out */
	uint64_t skipped; /* of models that are not served, or that did not fit, out */
	uint64_t next;    /* sequence number for the next record, out */
	double time;      /* event time of the last record applied, or the mark's, out */
	cop_diag why;     /* private */
} cop_recovery;

/* Applies the records from mark->journal_next on to the models. COP_EFORMAT: the journal is damaged before its end, a
 * segment is missing, or a record does not fit the models; *diag names file and offset and the ways out. A tail that
 * cannot be cut off because the disk is full stays: the segment that is begun next ends the records before it.
 * COP_ENOTFOUND: records after the mark are gone. COP_EVERSION, COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_recovery_run(
        cop_recovery *recovery, cop_model_table *set, const cop_checkpoint_mark *mark, cop_diag *diag);

/* One record; recovery's state_dir is set. Errors as above, with recovery->why. */
COP_CHECK cop_err cop_recovery_apply(cop_recovery *recovery, cop_model_table *set, const cop_journal_record *raw);

/* Whether the slot's model, which earlier records led to, is another one from this record on, if that is a
 * configuration's: it holds what no record has, was begun anew, or began as a saved model that is not the one that the
 * slot's began as. first: the record is the first one behind the checkpoint that the slot is of, if it is of any. */
bool cop_recovery_parts(const cop_model_slot *slot, const cop_journal_record *raw, bool first);

/* Moves the journal's folder aside, so that only the checkpoint counts; *to (size bytes) gets its new name. COP_EIO. */
COP_CHECK cop_err cop_recovery_set_aside(const char *folder, char *to, size_t size, cop_diag *diag);

#endif
