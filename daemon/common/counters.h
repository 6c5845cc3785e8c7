/* daemon/common/counters.h: tables of counters, from which status and metrics are written. No state: any thread. */
#ifndef COP_DAEMON_COMMON_COUNTERS_H
#define COP_DAEMON_COMMON_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "daemon/common/metric.h"

typedef struct cop_counter {
	const char *key;          /* in status; NULL: not shown, or the end of a table when there is no metric either */
	const cop_metric *metric; /* NULL: none */
	size_t offset;            /* of a uint64_t in what is counted */
} cop_counter;

#define COP_COUNTERS_END                                                                                               \
	{                                                                                                              \
		NULL, NULL, 0                                                                                          \
	}

bool cop_counters_is_end(const cop_counter *row);
uint64_t cop_counters_value(const cop_counter *row, const void *of);

/* All that have a key, as pairs of the map that is open. */
void cop_counters_put_status(const cop_counter *table, const void *of, cop_bytes *out);
/* All that have a metric, each a family of one sample without labels. */
void cop_counters_put_metrics(const cop_counter *table, const void *of, cop_bytes *out);

#endif
