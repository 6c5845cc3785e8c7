/* daemon/durable/durability.h: the models that are served, and all that makes them last: the state folder's lock, the
 * journal, checkpoints, and what is kept of both.
 *
 * Whoever serves or refits changes models through it and puts records into its journal. The loop's thread. */
#ifndef COP_DAEMON_DURABLE_DURABILITY_H
#define COP_DAEMON_DURABLE_DURABILITY_H

#include "daemon/common/event_clock.h"
#include "daemon/common/http.h"
#include "daemon/durable/checkpoint.h"
#include "daemon/durable/journal_retention.h"
#include "daemon/durable/journaler.h"
#include "daemon/durable/state_lock.h"
#include "daemon/models/model_table.h"

typedef struct cop_durability {
	cop_config *config; /* kept */
	cop_log *log;       /* kept */
	cop_model_table models;
	cop_state_lock lock;    /* of the state folder */
	cop_journaler *journal; /* NULL: off */
	cop_checkpoint checkpoint;
	cop_journal_retention retention;
	cop_event_clock clock;
	double time;            /* event time of the loop's turn: unix seconds that never jump nor fall */
	uint64_t journal_end;   /* without a journal: where an old one ended */
	double next_checkpoint; /* monotonic seconds */
	uint64_t forgot;        /* nothing from before this record has whoever was forgotten last; 0: nobody was */
	bool follows;           /* the journal is another instance's: nothing of this one's goes into it */
	bool held; /* no segment is removed or compressed, no refit begun, none who serves exchanged (forgetting.h) */
	/* Of a journal that is broken (healing.h). */
	double next_look;      /* monotonic seconds: when files and the clock are looked at again */
	double next_heal;      /* the same: when the journal is tried again */
	double next_complaint; /* the same: when the log gets another line, that it does not heal */
	bool broken_logged;    /* the log has it that the journal is broken */
	char broken_reason[160];
} cop_durability;

typedef struct cop_durability_options {
	const char *const *reset; /* models to begin anew, NULL-terminated */
	bool checkpoint_only;     /* set the journal aside */
	bool salvaged;            /* the journal has gaps */
	bool trust_clock;         /* however far it is ahead of the newest record */
} cop_durability_options;

/* Nothing is opened. Caller closes. */
void cop_durability_init(cop_durability *durable, cop_config *config, cop_log *log);
/* Takes the state folder's lock, and makes the folder if it is not there. Errors of cop_state_lock_open, with *diag. */
COP_CHECK cop_err cop_durability_lock(cop_durability *durable, cop_diag *diag);
/* Models from the newest checkpoint (those in `reset` afresh) and the journal after it, and a journal to go on with.
 * http (NULL: none) shows that work goes on. Errors of what it opens, with *diag. */
COP_CHECK cop_err cop_durability_open(
        cop_durability *durable, const cop_durability_options *options, cop_http *http, cop_diag *diag);
void cop_durability_close(cop_durability *durable);

/* The configuration from here on goes into the journal, for whoever replays. */
void cop_durability_record_config(cop_durability *durable);
/* The same where the models are not what the records before lead to: all of them, or those of these names alone
 * (NULL-terminated; NULL: none). */
void cop_durability_record_apart(cop_durability *durable, bool all, const char *const *names);
/* Writes a checkpoint and waits for it. COP_EIO, COP_ENOMEM: logged, with *diag. */
COP_CHECK cop_err cop_durability_checkpoint(cop_durability *durable, cop_diag *diag);
/* Begins one, which turn takes in. COP_EEXIST: one is under way, so later; COP_EIO, COP_ENOMEM: logged, with *diag. */
COP_CHECK cop_err cop_durability_begin_checkpoint(cop_durability *durable, cop_diag *diag);
/* Waits for one that is under way. */
void cop_durability_finish_checkpoint(cop_durability *durable);
/* Once a turn, now in monotonic seconds: takes in a checkpoint that is written, begins one that is due, and heals. */
void cop_durability_turn(cop_durability *durable, double now);

#endif
