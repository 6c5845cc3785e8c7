/* The time of the last comparison bounds the next alone: a slow one is made up for, and a clock that stands still, as a
 * simulated one may, bounds nothing. */
#include "daemon/replica/replica_pace.h"

#define SHARE 100.0 /* one of so many seconds goes into comparing */

void cop_replica_pace_set(cop_replica_pace *pace, uint64_t record) { pace->record = record; }

bool cop_replica_pace_due(const cop_replica_pace *pace, uint64_t last, double now)
{
	return last >= pace->record && now >= pace->time;
}

void cop_replica_pace_done(cop_replica_pace *pace, uint64_t last, uint32_t every, double began, double ended)
{
	pace->record = last + every;
	pace->time = began + SHARE * (ended - began);
}
