/* daemon/replica/replica_pace.h: when a leader compares its state with its followers' next: so many records behind the
 * last time, and not before a hundred times as long has passed as that took, so that comparing takes at most about one
 * hundredth of the loop's time. Followers compare at the records that they are told. Times are arguments, monotonic
 * seconds; one thread. */
#ifndef COP_DAEMON_REPLICA_REPLICA_PACE_H
#define COP_DAEMON_REPLICA_REPLICA_PACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cop_replica_pace {
	uint64_t record; /* compared behind this one, or a later one, next, */
	double time;     /* and not before */
} cop_replica_pace;

/* From here on due behind that record, if its time has come; 0: behind whatever comes. */
void cop_replica_pace_set(cop_replica_pace *pace, uint64_t record);
/* last: the newest record. */
bool cop_replica_pace_due(const cop_replica_pace *pace, uint64_t last, double now);
/* Compared behind the record `last`; every: records between comparisons, at least. */
void cop_replica_pace_done(cop_replica_pace *pace, uint64_t last, uint32_t every, double began, double ended);

#endif
