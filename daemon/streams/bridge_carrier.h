/* daemon/streams/bridge_carrier.h: everything that one configuration asks to be carried: a reader for each partition,
 * and the memberships of groups. One thread. */
#ifndef COP_DAEMON_STREAMS_BRIDGE_CARRIER_H
#define COP_DAEMON_STREAMS_BRIDGE_CARRIER_H

#include "daemon/streams/bridge_config.h"
#include "daemon/streams/bridge_group.h"
#include "daemon/streams/bridge_metrics.h"

typedef struct cop_bridge_carrier {
	const cop_bridge_config *config; /* kept */
	cop_bridge_readers readers;      /* for the page of metrics */
	cop_bridge_group *groups;
	size_t group_count;
} cop_bridge_carrier;

/* On error nothing runs. COP_EIO: no thread, no descriptor. COP_ENOMEM. */
COP_CHECK cop_err cop_bridge_carrier_start(const cop_bridge_config *config, cop_log *log, cop_bridge_carrier *out);
/* Each reader ends its batch: what the daemon answered goes to the log, and the hint follows; then groups are left. */
void cop_bridge_carrier_stop(cop_bridge_carrier *carrier);

#endif
