/* refit/refit_rule.h: when a refit is due, and what evidence on its challenger leads to.
 *
 * Pure functions of what a caller knows of one model, so that the daemon and simulations go by the same rules
 * (docs/concepts/refit.md). Any thread. */
#ifndef COP_REFIT_REFIT_RULE_H
#define COP_REFIT_REFIT_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "evaluate/promotion_test.h"

#define COP_REFIT_MAX_HEIGHT 20 /* of a refitted tree */

typedef enum cop_refit_step {
	COP_REFIT_STAY = 0,
	COP_REFIT_PROMOTE,  /* the challenger serves */
	COP_REFIT_ROLLBACK, /* its predecessor serves again, and the challenger retires */
	COP_REFIT_RETIRE    /* the learner in the shadow goes */
} cop_refit_step;

/* verdict: of the learner in the shadow against the serving one; promoted: a challenger serves, its predecessor is in
 * the shadow; over: as many losses came since as the window holds, and it goes even if it is
 * neither better nor worse. A frozen model stays as it is. */
cop_refit_step cop_refit_step_of(cop_promotion_test_verdict verdict, bool promoted, bool frozen, bool over);

typedef struct cop_refit_standing {
	uint64_t fresh;          /* losses learned that no refit has seen */
	uint64_t least_feedback; /* of them, for a refit to begin by itself */
	bool asked;              /* by somebody, who does not wait */
	bool paused;             /* after a failure */
	bool resting;            /* refits have had their share of the processor for now, cop_refit_rested */
	bool drifted;            /* the model's loss rose since the last refit began */
	bool early;              /* the time between two refits is not over */
	bool trial;              /* cop_refit_on_trial */
} cop_refit_standing;

/* What one waits for, or why it begins. */
typedef enum cop_refit_due {
	COP_REFIT_FEW = 0, /* losses that no refit has seen */
	COP_REFIT_PAUSED,
	COP_REFIT_RESTING,
	COP_REFIT_EARLY,
	COP_REFIT_TRIAL,
	COP_REFIT_ASKED, /* from here on it begins */
	COP_REFIT_DRIFT,
	COP_REFIT_SCHEDULE
} cop_refit_due;

cop_refit_due cop_refit_is_due(const cop_refit_standing *standing);
bool cop_refit_begins(cop_refit_due due);

/* When the next may begin after one that began at `began` and took so many seconds of a processor, so that refits take
 * `share` of one, in (0, 1], over time. */
double cop_refit_rested(double began, double processor_seconds, double share);

/* Whether the learner in the shadow may yet show what it is: the evidence on it is open, and `since`, the losses
 * since the challenge or promotion, are fewer than `learned`, those before it, or the window, where that is less; and
 * in any case while they are fewer than least_feedback. */
bool cop_refit_on_trial(
        cop_promotion_test_verdict verdict, uint64_t since, uint64_t learned, uint64_t window, uint64_t least_feedback);

#endif
