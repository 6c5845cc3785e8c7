/* daemon/durable/checkpoint_kept.h: which checkpoint files are kept, and what they need of the journal.
 *
 * The newest ones, for recovery; and older ones over what the journal still holds, so that its past can be explained,
 * replayed and forgotten: the oldest from which the records are all there, and of those between it and the newest as
 * many as `older` allows, spread over the records. Newest first. Plain data; one thread. */
#ifndef COP_DAEMON_DURABLE_CHECKPOINT_KEPT_H
#define COP_DAEMON_DURABLE_CHECKPOINT_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define COP_CHECKPOINT_OLDER_MAX 64

/* How many, and of what journal. */
typedef struct cop_checkpoint_keeping {
	size_t newest;  /* at least 1 */
	size_t older;   /* at most so many besides, at most COP_CHECKPOINT_OLDER_MAX */
	uint64_t first; /* record of the journal; 0: not known, and none goes because of what is gone */
} cop_checkpoint_keeping;

typedef struct cop_checkpoint_kept {
	uint64_t *sequence; /* of the files, the newest first */
	uint64_t *next;     /* their journal_next: the first record that is not in them */
	size_t count, room;
} cop_checkpoint_kept;

void cop_checkpoint_kept_fini(cop_checkpoint_kept *kept);
/* A file that is newer than all. COP_ENOMEM: nothing is known of any any more. */
COP_CHECK cop_err cop_checkpoint_kept_add(cop_checkpoint_kept *kept, uint64_t sequence, uint64_t next);
/* Whether a file is to go for what is gone of the journal. */
bool cop_checkpoint_kept_is_late(const cop_checkpoint_kept *kept, const cop_checkpoint_keeping *keeping);
/* Leaves those that are kept. */
void cop_checkpoint_kept_thin(cop_checkpoint_kept *kept, const cop_checkpoint_keeping *keeping);
/* Those of a state of after record `first` are gone, but for the newest. */
void cop_checkpoint_kept_drop_since(cop_checkpoint_kept *kept, uint64_t first);
/* The first record that one of the newest may still need; 0: all. */
uint64_t cop_checkpoint_kept_needs(const cop_checkpoint_kept *kept, size_t newest);

#endif
