/* daemon/report/replica_body.h: what status and metrics report of a group of replicas. Nothing without a section
 * `replica`. The loop's thread. */
#ifndef COP_DAEMON_REPORT_REPLICA_BODY_H
#define COP_DAEMON_REPORT_REPLICA_BODY_H

#include "daemon/replica/replica.h"

/* The key `replica` of a status; until: when it ends leading, in seconds since the machine began, 0: it does not. */
void cop_replica_body_status(const cop_replica *replica, double until, cop_bytes *out);
void cop_replica_body_metrics(const cop_replica *replica, double until, cop_bytes *out);

#endif
