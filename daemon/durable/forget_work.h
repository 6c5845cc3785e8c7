/* daemon/durable/forget_work.h: what forgetting somebody does beside the loop, a step at a time, on a thread of its
 * own: reads the journal for what is theirs, learns the models again without it, and erases it.
 *
 * begin, then look with cop_job_is_busy and finish with cop_forget_work_end, which gives the step's result. While a
 * step is under way all but its flags is the thread's. */
#ifndef COP_DAEMON_DURABLE_FORGET_WORK_H
#define COP_DAEMON_DURABLE_FORGET_WORK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "daemon/common/job.h"
#include "daemon/durable/forget_refits.h"
#include "daemon/durable/recovery.h"
#include "history/forget.h"

typedef struct cop_forget_work {
	cop_job job;
	const char *state_dir; /* kept */
	char folder[4096];     /* the journal's */
	cop_forget_plan *plan; /* owned */
	bool by_id;            /* it is of a decision's id */
	atomic_bool cancel;    /* set by the loop: the step is to end, with COP_EEND */
	/* scan: up to this record */
	uint64_t up_to;
	/* learn */
	cop_config *config;       /* owned; the models' slots point into it */
	size_t served;            /* models of it that are served; those behind them are parked (forget_parked.h) */
	cop_model_table models;   /* made from it */
	cop_recovery recovery;    /* by which records are applied to them */
	uint64_t first;           /* record concerned */
	uint64_t edited;          /* records before this one are edited */
	uint64_t renewed;         /* a configuration in a record from here on is another one: COP_ESHAPE */
	atomic_bool near;         /* set by the thread: little is left, and the loop says where to stop: */
	_Atomic uint64_t stop;    /* the record before which it stops; 0: not known yet */
	uint64_t next;            /* record that the models have not seen */
	bool relearned;           /* false: it cannot be, because of what is missing: */
	const char *lack;         /* "start", a state from before `first`; "gap", records of what the models hold */
	uint64_t from;            /* the record that learning began with */
	cop_bytes room;           /* of edited records */
	cop_forget_refits refits; /* made from what is theirs */
	/* erase */
	uint64_t clean;   /* checkpoints that end before this record hold nothing of theirs */
	uint64_t newest;  /* the checkpoint that stays, with all newer ones; 0: none goes */
	uint64_t removed; /* checkpoints */
	cop_journal_rewritten erased;
	cop_err err;
	cop_diag why;
} cop_forget_work;

/* Both are kept. Nothing is begun. */
void cop_forget_work_init(cop_forget_work *work, const char *state_dir);
/* Ends what is under way and frees all. */
void cop_forget_work_fini(cop_forget_work *work);
/* What was learned goes; the plan stays. */
void cop_forget_work_drop_models(cop_forget_work *work);

/* Each begins a step; COP_EIO: no thread. */
COP_CHECK cop_err cop_forget_work_scan(cop_forget_work *work, uint64_t up_to);
/* config: taken over; of its models the first `served` are served. */
COP_CHECK cop_err cop_forget_work_learn(cop_forget_work *work, cop_config *config, size_t served);
COP_CHECK cop_err cop_forget_work_erase(cop_forget_work *work);
/* Waits for the step's end; its result, with the reason in work->why. COP_EEND: it was to end. Of learn, COP_ESHAPE:
 * the configuration changed meanwhile. Else errors of cop_forget_scan, cop_recovery_apply, cop_forget_erase. */
COP_CHECK cop_err cop_forget_work_end(cop_forget_work *work);

/* Whether the model, by its stored name, is one of those concerned. */
bool cop_forget_work_is_of(const cop_forget_work *work, const char *stored);
/* Applies a record of theirs to the learned models, as recovery would; others are passed over. The thread, and the loop
 * when learning has ended. */
COP_CHECK cop_err cop_forget_work_apply(cop_forget_work *work, const cop_journal_record *record);

#endif
