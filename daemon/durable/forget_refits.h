/* daemon/durable/forget_refits.h: challengers of refits that were made from what is forgotten: which ones, and what
 * becomes of them.
 *
 * One is concerned when its window (daemon/durable/challenger.h) overlaps the records from their first to their last in
 * its model. A model that is learned again never sees it, for its records go, too; where a model stays as it is, a
 * challenger leaves the shadow, and one that serves makes way for its predecessor if that is there. */
#ifndef COP_DAEMON_DURABLE_FORGET_REFITS_H
#define COP_DAEMON_DURABLE_FORGET_REFITS_H

#include "daemon/durable/durability.h"
#include "history/forget.h"

typedef struct cop_forget_refit {
	char model[COP_WIRE_RECORD_MODEL + 1]; /* stored name */
	uint64_t number;
} cop_forget_refit;

typedef struct cop_forget_refits {
	cop_forget_refit *items;
	size_t count;
} cop_forget_refits;

/* Zeroed is none. */
void cop_forget_refits_fini(cop_forget_refits *refits);
/* Those in the state folder, in place of what was there; the plan drops their records. One that cannot be read is
 * concerned. Any thread. COP_EIO, COP_ENOMEM, with *diag. */
COP_CHECK cop_err cop_forget_refits_find(
        cop_forget_refits *refits, const char *state_dir, cop_forget_plan *plan, cop_diag *diag);
/* Removes their files, durably, and what killed workers of the plan's models left. Any thread. COP_EIO, COP_ENOMEM,
 * with *diag. */
COP_CHECK cop_err cop_forget_refits_remove(
        const cop_forget_refits *refits, const char *state_dir, const cop_forget_plan *plan, cop_diag *diag);
/* The slot's model, which is not learned again, goes on without them, by records of its own; *serves: but for one that
 * serves and has no predecessor. The loop's thread. Errors of cop_promotion_do, with *diag. */
COP_CHECK cop_err cop_forget_refits_leave(const cop_forget_refits *refits, const cop_forget_plan *plan,
        cop_durability *durable, cop_model_slot *slot, bool *serves, cop_diag *diag);

#endif
