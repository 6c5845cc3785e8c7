/* daemon/common/metric.h: every family of the pages /metrics: name, type, labels and HELP, the rows of metrics.def. No
 * state: any thread. */
#ifndef COP_DAEMON_COMMON_METRIC_H
#define COP_DAEMON_COMMON_METRIC_H

#include <stddef.h>

typedef enum cop_metric_type { COP_METRIC_COUNTER, COP_METRIC_GAUGE, COP_METRIC_HISTOGRAM } cop_metric_type;

typedef struct cop_metric {
	const char *name;
	cop_metric_type type;
	const char *labels; /* their names, with ", " between; "" for none */
	const char *help;
} cop_metric;

enum {
#define GROUP(heading)
#define METRIC(name, type, labels, help) COP_METRIC_OF_##name,
#include "daemon/common/metrics.def"
#undef METRIC
#undef GROUP
	COP_METRICS
};

extern const cop_metric cop_metric_table[COP_METRICS];

/* The row of a name, which is written as a word. */
#define COP_METRIC(name) (&cop_metric_table[COP_METRIC_OF_##name])

/* "counter" ... */
const char *cop_metric_type_text(cop_metric_type type);
/* The row of a name that must be there. */
const cop_metric *cop_metric_find(const char *name);

#endif
