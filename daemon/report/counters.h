/* daemon/report/counters.h: what the daemon counts of itself, in tables from which status and metrics are written. What
 * models count is in online/model_counters.h. The loop's thread. */
#ifndef COP_DAEMON_REPORT_COUNTERS_H
#define COP_DAEMON_REPORT_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

typedef struct cop_counter {
	const char *key; /* in status; NULL: not shown, or the end of a table when there is no metric either */
	const char *metric, *help; /* NULL: none */
	size_t offset;             /* of a uint64_t in what is counted */
	bool gauge;                /* it may fall */
} cop_counter;

extern const cop_counter cop_counters_requests[];   /* of a cop_server */
extern const cop_counter cop_counters_streams[];    /* the same */
extern const cop_counter cop_counters_stream[];     /* of a cop_served_stream */
extern const cop_counter cop_counters_checkpoint[]; /* of a cop_checkpoint */
extern const cop_counter cop_counters_journal[];    /* of a cop_journaler_counts */
extern const cop_counter cop_counters_apprentice[]; /* of a cop_apprentice_summary */

bool cop_counters_is_end(const cop_counter *row);
uint64_t cop_counters_value(const cop_counter *row, const void *of);

/* All that have a key, as pairs of the map that is open. */
void cop_counters_put_status(const cop_counter *table, const void *of, cop_bytes *out);
/* The two comment lines of the row's family. */
void cop_counters_put_family(const cop_counter *row, cop_bytes *out);
/* All that have a metric, each a family of one sample without labels. */
void cop_counters_put_metrics(const cop_counter *table, const void *of, cop_bytes *out);

#endif
