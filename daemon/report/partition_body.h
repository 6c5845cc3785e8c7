/* daemon/report/partition_body.h: which keys are this instance's, and what it merged, in status and metrics. The loop's
 * thread. */
#ifndef COP_DAEMON_REPORT_PARTITION_BODY_H
#define COP_DAEMON_REPORT_PARTITION_BODY_H

#include "daemon/merge/merge.h"
#include "daemon/serve/partition.h"

/* A pair of the map that is open; nothing without a section partition. */
void cop_partition_body_status(const cop_partition *partition, const cop_merge *merge, cop_bytes *out);
void cop_partition_body_metrics(const cop_partition *partition, const cop_merge *merge, cop_bytes *out);

#endif
