/* daemon/models/slot_bin.h: slots that are served no longer, closed on a thread of their own: the kernel takes a while
 * to get a large model's memory back. Zeroed is empty. All calls by the loop's thread. */
#ifndef COP_DAEMON_MODELS_SLOT_BIN_H
#define COP_DAEMON_MODELS_SLOT_BIN_H

#include "daemon/common/job.h"
#include "daemon/models/model_slot.h"

typedef struct cop_slot_bin {
	cop_job job;
	cop_model_slot *first; /* of those that wait */
	cop_model_slot *going; /* the thread's while it works */
} cop_slot_bin;

/* slot: taken. */
void cop_slot_bin_put(cop_slot_bin *bin, cop_model_slot *slot);
/* Once a turn. */
void cop_slot_bin_turn(cop_slot_bin *bin);
/* Closes all that is left, and waits for it. */
void cop_slot_bin_fini(cop_slot_bin *bin);

#endif
