/* refit/refit_controller.h: one model's refits: when one is due, and what becomes of its challenger.
 *
 * State and transitions alone. The caller owns the model, the journal and the worker, reports to the controller what
 * happened (a refit began or ended, a challenger came, was promoted or retired, losses were learned), and does what the
 * controller returns. Time is an argument: event time in unix seconds, monotonic seconds for pauses; a caller without
 * time passes 0. The daemon and simulations go by the same controller (docs/concepts/refit.md). One thread per object.
 */
#ifndef COP_REFIT_REFIT_CONTROLLER_H
#define COP_REFIT_REFIT_CONTROLLER_H

#include "base/err.h"
#include "evaluate/change.h"
#include "refit/refit_rule.h"

/* What a configuration sets. */
typedef struct cop_refit_controller_settings {
	uint64_t window;         /* decisions that a refit sees */
	uint64_t least_feedback; /* new losses, for a refit to begin by itself */
	double every;            /* seconds of event time between two that begin by themselves */
} cop_refit_controller_settings;

typedef struct cop_refit_controller {
	/* A caller saves these. */
	uint64_t learned;     /* the model's counter when the last refit that ended well became due */
	uint64_t after;       /* newest journal record whose feedback that refit saw */
	double began;         /* event time when the last one began; 0: none did */
	double spent;         /* seconds of a processor that it took; while it runs at most, then exactly */
	uint64_t number;      /* highest of a challenger so far */
	uint64_t current;     /* challenger in the shadow or serving; 0: none */
	uint64_t taken;       /* the model's counter when the challenger came or was promoted */
	bool drifted;         /* the detector found a rise since the last refit began */
	cop_change *detector; /* NULL: none */
	/* These begin anew with the process. */
	uint64_t seen; /* losses that the detector has seen, and their sum */
	double seen_sum;
	bool asked;           /* by somebody, who does not wait for anything to be due */
	unsigned failures;    /* in a row */
	double not_before;    /* monotonic seconds: end of the pause after a failure */
	uint64_t due_learned; /* of the refit under way: the model's counter when it became due, */
	bool due_drifted;     /* and whether a rise was part of why it began */
} cop_refit_controller;

/* When a caller asks; all 0: time does not matter. */
typedef struct cop_refit_controller_times {
	double event, monotonic;
	double rested; /* event time from which on refits may have the processor again, see cop_refit_rested */
} cop_refit_controller_times;

/* Zeroed is as new. */
void cop_refit_controller_fini(cop_refit_controller *controller);

/* Uses the detector of that name (evaluate/change.h), "none": none. The one there is stays if it has the name; else
 * drift is forgotten with it. COP_ENOTFOUND, COP_ENOMEM: there is none. */
COP_CHECK cop_err cop_refit_controller_detect(cop_refit_controller *controller, const char *detector);
/* The detector takes the model's sums, of losses learned, as seen. */
void cop_refit_controller_sync(cop_refit_controller *controller, uint64_t learned, double loss_sum);
/* The detector sees what was learned since, scaled by the range of losses; several at once count as their mean. */
void cop_refit_controller_watch(
        cop_refit_controller *controller, uint64_t learned, double loss_sum, double low, double high);

/* Losses learned that no refit has seen. */
uint64_t cop_refit_controller_fresh(const cop_refit_controller *controller, uint64_t learned);
/* Whether a refit is due, or what it waits for. */
cop_refit_due cop_refit_controller_due(const cop_refit_controller *controller,
        const cop_refit_controller_settings *settings, const cop_promotion_test_roles *roles,
        const cop_refit_controller_times *times);
/* A refit begins that became due when the model had learned so many losses. */
void cop_refit_controller_begin(cop_refit_controller *controller, uint64_t learned, double event_time);
/* It ended; well: also without a challenger, where that is no failure. after: the newest journal record that it saw. A
 * failure is followed by a pause that doubles with each. */
void cop_refit_controller_end(cop_refit_controller *controller, bool well, uint64_t after, double monotonic);

/* What is to be done with the learner in the shadow; the caller does it and reports it. */
cop_refit_step cop_refit_controller_step(const cop_refit_controller *controller,
        const cop_refit_controller_settings *settings, const cop_promotion_test_roles *roles);
/* The challenger of that number came into the shadow; learned: the model's losses so far. */
void cop_refit_controller_challenge(cop_refit_controller *controller, uint64_t number, uint64_t learned);
/* The challenger serves, and its predecessor's trial begins. */
void cop_refit_controller_promote(cop_refit_controller *controller, uint64_t learned);
/* The learner in the shadow was discarded; promoted: it was a challenger's predecessor. */
void cop_refit_controller_retire(cop_refit_controller *controller, bool promoted);

#endif
