/* daemon/streams/bridge_metrics.h: the page of metrics of coppiced-streams. Any thread. */
#ifndef COP_DAEMON_STREAMS_BRIDGE_METRICS_H
#define COP_DAEMON_STREAMS_BRIDGE_METRICS_H

#include "daemon/streams/bridge_reader.h"

typedef struct cop_bridge_readers {
	cop_bridge_reader *items; /* borrowed */
	size_t count;
	cop_log *log;
} cop_bridge_readers;

/* context: a cop_bridge_readers. */
void cop_bridge_metrics_put(const void *context, cop_bytes *out);

#endif
