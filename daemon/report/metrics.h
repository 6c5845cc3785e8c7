/* daemon/report/metrics.h: the daemon's counters and state as the page that Prometheus reads;
 * docs/reference/metrics.md lists them. The loop's thread. */
#ifndef COP_DAEMON_REPORT_METRICS_H
#define COP_DAEMON_REPORT_METRICS_H

#include "base/bytes.h"
#include "daemon/report/report.h"

/* Appends the page. About a microsecond for each line: some fifty lines, and twenty-five for each model. */
void cop_metrics_put(const cop_report *report, cop_bytes *out);

#endif
