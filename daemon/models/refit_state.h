/* daemon/models/refit_state.h: what the daemon keeps of one model's refits: when the last one was, whether the loss
 * drifts, which challengers are needed, where in the journal the window begins.
 *
 * The first part is saved with the model, so that a restart changes nothing. The loop's thread. */
#ifndef COP_DAEMON_MODELS_REFIT_STATE_H
#define COP_DAEMON_MODELS_REFIT_STATE_H

#include "base/bytes.h"
#include "daemon/common/worker_line.h"
#include "daemon/config/config.h"
#include "daemon/models/refit_history.h"
#include "online/model.h"
#include "refit/refit_controller.h"
#include "wire/wire_record.h"

#define COP_REFIT_STATE_VERSION 1 /* of what is saved */
#define COP_REFIT_STATE_MARKS   128
#define COP_REFIT_STATE_KEPT    16

typedef struct cop_refit_need {
	uint64_t sequence; /* journal record that challenged */
	uint64_t number;   /* with this file */
} cop_refit_need;

typedef struct cop_refit_mark {
	uint64_t next;      /* journal record to come */
	uint64_t decisions; /* of the model until then */
} cop_refit_mark;

typedef struct cop_refit_state {
	/* Saved, of the controller what its header says. */
	cop_refit_controller controller;
	cop_refit_need *need; /* by rising sequence */
	size_t needs;
	cop_refit_mark mark[COP_REFIT_STATE_MARKS]; /* by rising record */
	size_t marks;
	cop_refit_history history;
	/* Not saved. */
	uint64_t kept[COP_REFIT_STATE_KEPT]; /* the newest challengers whose files there are, the newest first */
	size_t kept_count;
	uint64_t held; /* bytes of challengers that only the journal needs, at the last checkpoint */
	bool running;  /* the refit under way is this model's */
	bool crowded;  /* one is due, and there is too little free memory for it */
	bool has_last; /* one has ended in this process */
	cop_worker_line last;
	double last_time, last_seconds;         /* unix; it took */
	double spent_total;                     /* seconds of a processor, in this process */
	uint64_t outcomes[COP_WORKER_OUTCOMES]; /* in this process */
	uint64_t promotions[COP_WIRE_PROMOTIONS];
} cop_refit_state;

void cop_refit_state_init(cop_refit_state *state);
void cop_refit_state_fini(cop_refit_state *state);
/* A detector as the configuration wants it. Short of memory there is none. */
void cop_refit_state_configure(cop_refit_state *state, const cop_config_refit *config);

/* The model's counters are from now on looked at from where they are. */
void cop_refit_state_sync(cop_refit_state *state, const cop_model *model);
/* Gives the detector what the model has learned since. Several losses at once count as their mean. */
void cop_refit_state_watch(cop_refit_state *state, const cop_model *model);

/* A challenge was recorded. COP_ENOMEM: nothing changed. */
COP_CHECK cop_err cop_refit_state_need(cop_refit_state *state, uint64_t sequence, uint64_t number);
/* Forgets challenges recorded before this record. */
void cop_refit_state_release(cop_refit_state *state, uint64_t from);
/* Whether the challenger's file must stay. */
bool cop_refit_state_needs(const cop_refit_state *state, uint64_t number);

/* The journal's next record is `next`; marks that no window of so many decisions needs go. */
void cop_refit_state_mark(cop_refit_state *state, uint64_t next, uint64_t decisions, uint64_t window);
/* Where the window begins, or before; 0: at the journal's beginning. */
uint64_t cop_refit_state_window(const cop_refit_state *state, uint64_t decisions, uint64_t window);

/* What is not of the model's events stays with another state of it: that numbers rise, and when the last refit was. */
void cop_refit_state_replace(cop_refit_state *state, const cop_refit_state *from);

/* Whether there is anything to save. */
bool cop_refit_state_used(const cop_refit_state *state);
void cop_refit_state_save(const cop_refit_state *state, cop_bytes *out);
/* Of what was saved. COP_EFORMAT, COP_ENONFINITE, COP_EVERSION, COP_ENOMEM; *state is then as new. */
COP_CHECK cop_err cop_refit_state_load(cop_refit_state *state, cop_cursor *in);

#endif
