/* daemon/streams/bridge_group.h: a stream's membership of its group, by a thread of its own: the group says which
 * partitions are read here. A partition is given up only when its reader's batch has been carried and the hint left.
 * start and stop by one thread. */
#ifndef COP_DAEMON_STREAMS_BRIDGE_GROUP_H
#define COP_DAEMON_STREAMS_BRIDGE_GROUP_H

#include "daemon/streams/bridge_reader.h"

typedef struct cop_bridge_group {
	const cop_broker_class *class;
	cop_broker_settings broker;
	cop_bridge_reader *readers; /* kept; the i-th is of partition i */
	size_t count;
	cop_log *log;
	_Atomic bool ends;
	int wake;
	double wait; /* until the next attempt, by the group's thread */
	pthread_t thread;
} cop_bridge_group;

/* Of shared readers of one stream. COP_EIO: no thread, no descriptor. */
COP_CHECK cop_err cop_bridge_group_start(cop_bridge_group *group, cop_bridge_reader *readers, size_t count);
/* Gives up all partitions and leaves; the readers still run. */
void cop_bridge_group_end(cop_bridge_group *group);
void cop_bridge_group_join(cop_bridge_group *group);

#endif
