/* daemon/serve/partition.h: whether an event's key is this instance's own, where keys are divided among several.
 *
 * The key is the unit, where it is given, else the id; whose it is follows from its hash (events/event_id.h). Feedback
 * without its context is not looked at: its decision waits where it was made. The loop's thread. */
#ifndef COP_DAEMON_SERVE_PARTITION_H
#define COP_DAEMON_SERVE_PARTITION_H

#include "daemon/common/log.h"
#include "daemon/config/config.h"
#include "events/event_id.h"
#include "wire/wire_code.h"

typedef struct cop_partition {
	const cop_config *config; /* kept */
	cop_log *log;             /* kept */
	cop_log_limiter limiter;
	uint64_t foreign; /* events whose key is another instance's */
	uint64_t refused; /* of them */
} cop_partition;

void cop_partition_init(cop_partition *partition, const cop_config *config, cop_log *log);
/* unit: kind 0: none. partition NULL: all keys are its own. COP_EINVAL (other_part): the key is another instance's, and
 * such are refused. */
COP_CHECK cop_err cop_partition_check(cop_partition *partition, const char *model, const cop_event_id *id,
        const cop_event_id *unit, cop_wire_fault *fault);

#endif
