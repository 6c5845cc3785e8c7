/* daemon/report/counter_tables.h: what the daemon counts of itself. What models count is in online/model_counters.h.
 * The loop's thread. */
#ifndef COP_DAEMON_REPORT_COUNTER_TABLES_H
#define COP_DAEMON_REPORT_COUNTER_TABLES_H

#include "daemon/common/counters.h"
#include "daemon/report/past_desk.h"
#include "daemon/serve/serving.h"

extern const cop_counter cop_counter_tables_requests[];   /* of a cop_serving */
extern const cop_counter cop_counter_tables_streams[];    /* the same */
extern const cop_counter cop_counter_tables_stream[];     /* of a cop_model_stream */
extern const cop_counter cop_counter_tables_checkpoint[]; /* of a cop_checkpoint */
extern const cop_counter cop_counter_tables_past[];       /* of a cop_past_desk_counts */
extern const cop_counter cop_counter_tables_journal[];    /* of a cop_journaler_counts */

#endif
