/* The table has one row for each METRIC of metrics.def, in that order, which COP_METRIC relies on. */
#include "daemon/common/metric.h"

#include <string.h>

#include "base/assert.h"

const cop_metric cop_metric_table[COP_METRICS] = {
#define GROUP(heading)
#define METRIC(name, type, labels, help) { #name, COP_METRIC_##type, labels, help },
#include "daemon/common/metrics.def"
#undef METRIC
#undef GROUP
};

const char *cop_metric_type_text(cop_metric_type type)
{
	static const char *const texts[] = { "counter", "gauge", "histogram" };
	return texts[type];
}

const cop_metric *cop_metric_find(const char *name)
{
	size_t i = 0;
	while (i < COP_METRICS && strcmp(cop_metric_table[i].name, name) != 0)
		i++;
	COP_ASSERT(i < COP_METRICS);
	return &cop_metric_table[i];
}
