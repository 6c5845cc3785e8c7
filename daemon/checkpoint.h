/* daemon/checkpoint.h: the daemon's whole state to a file and back.
 *
 * One model file (tree/model_file.h) with a section "model" for each model, in a durable file of the state folder
 * (store/checkpoint_file.h); the newest `keep` stay. The loop's thread. */
#ifndef COP_DAEMON_CHECKPOINT_H
#define COP_DAEMON_CHECKPOINT_H

#include "base/bytes.h"
#include "base/err.h"
#include "daemon/histogram.h"
#include "daemon/log.h"
#include "daemon/served.h"

#define COP_CHECKPOINT_PREFIX "coppice"

typedef struct cop_checkpoint {
	const char *folder; /* kept */
	uint64_t sequence;  /* of the newest written or restored; 0: none */
	uint64_t highest;   /* of all files met, damaged ones included */
	uint64_t written, failed;
	uint64_t bytes; /* of the newest */
	double seconds; /* the newest took */
	double time;    /* when it was written, unix; 0: none yet */
	double at;      /* the same, monotonic */
	cop_histogram durations;
	cop_bytes body;
} cop_checkpoint;

void cop_checkpoint_init(cop_checkpoint *checkpoint, const char *folder);
void cop_checkpoint_fini(cop_checkpoint *checkpoint);

/* Restores from the newest valid file; damaged ones are passed over with a warning. COP_OK also when there is none.
 * Errors of cop_served_load and cop_checkpoint_newest, with *diag. */
COP_CHECK cop_err cop_checkpoint_restore(
        cop_checkpoint *checkpoint, cop_served_set *set, const char *const *reset, cop_log *log, cop_diag *diag);

/* Writes a new file and removes old ones. An error is logged and counted, what is there stays. */
COP_CHECK cop_err cop_checkpoint_save(
        cop_checkpoint *checkpoint, const cop_served_set *set, size_t keep, cop_log *log, cop_diag *diag);

#endif
