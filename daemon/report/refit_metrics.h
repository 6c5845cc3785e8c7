/* daemon/report/refit_metrics.h: refits, promotions and the evidence on challengers, as families of the metrics' page.
 * The loop's thread. */
#ifndef COP_DAEMON_REPORT_REFIT_METRICS_H
#define COP_DAEMON_REPORT_REFIT_METRICS_H

#include "base/bytes.h"
#include "daemon/models/served.h"

/* Appends them, for all models. */
void cop_refit_metrics_put(const cop_served_set *models, cop_bytes *out);

#endif
