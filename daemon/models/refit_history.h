/* daemon/models/refit_history.h: a model's last refits: how each ended, and what became of its challenger.
 *
 * Bounded: the newest COP_REFIT_HISTORY_MOST. A challenger is found by its number; one that is told of by a record of
 * the journal alone has an entry too, without what only its worker told. Saved with the state of refits. The loop's
 * thread. */
#ifndef COP_DAEMON_MODELS_REFIT_HISTORY_H
#define COP_DAEMON_MODELS_REFIT_HISTORY_H

#include "base/bytes.h"
#include "daemon/common/worker_line.h"
#include "evaluate/promotion_test.h"
#include "wire/wire_record.h"

#define COP_REFIT_HISTORY_MOST 16
#define COP_REFIT_HISTORY_TEXT 120

typedef struct cop_refit_history_item {
	double time;               /* unix seconds: when it ended */
	double seconds, processor; /* that it took; 0: not known */
	cop_worker_outcome outcome;
	uint64_t number; /* of its challenger; 0: there is none */
	char reason[COP_REFIT_HISTORY_TEXT];
	/* Of the challenger. */
	cop_wire_promotion last;            /* what became of it last; NONE: it did not come into the shadow */
	double changed;                     /* when, unix seconds */
	bool promoted;                      /* it served at some time */
	cop_promotion_test_verdict verdict; /* and evidence, when that happened */
	uint64_t events;
	double value, low, high;
} cop_refit_history_item;

typedef struct cop_refit_history {
	cop_refit_history_item item[COP_REFIT_HISTORY_MOST]; /* the newest first */
	size_t count;
} cop_refit_history;

/* A refit ended. One whose challenger has an entry already completes that. */
void cop_refit_history_end(cop_refit_history *history, const cop_worker_line *end, double now, double seconds);
/* What became of the challenger of that number, with the evidence of just before; freezing is nothing of its. */
void cop_refit_history_change(cop_refit_history *history, cop_wire_promotion kind, uint64_t number, double now,
        const cop_promotion_test_summary *evidence);

/* Nothing, where there are none. */
void cop_refit_history_save(const cop_refit_history *history, cop_bytes *out);
/* As far as there is anything left to read. Errors stay in the cursor's err; then there are none. */
void cop_refit_history_load(cop_refit_history *history, cop_cursor *in);

#endif
