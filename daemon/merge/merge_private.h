/* daemon/merge/merge_private.h: what the two halves of a merge share: what is told (merge_tell.c) and what is taken
 * (merge_take.c). As daemon/merge/merge.h. */
#ifndef COP_DAEMON_MERGE_MERGE_PRIVATE_H
#define COP_DAEMON_MERGE_MERGE_PRIVATE_H

#include "daemon/merge/merge.h"

/* The sums of a model that is merged, and lives; NULL: it is not, or does not. */
cop_sums *cop_merge_sums_of(const cop_merge *merge, const cop_model_slot *slot);
/* An ask that came: it is answered when the journal has what there is to tell. */
void cop_merge_hear(cop_merge *merge, cop_sockets_message *message);
/* Answers who asked, if the journal is so far. now: monotonic seconds. */
void cop_merge_answer(cop_merge *merge, double now);
/* Forgets who asked and what they were to be told. */
void cop_merge_drop(cop_merge *merge);
/* A summary that a peer told. */
void cop_merge_take(cop_merge *merge, const cop_merge_message *told, const void *sums, size_t length, double now);

#endif
