/* A table is walked row by row up to its end; what it is a table of is a struct whose uint64_t the row's offset names.
 */
#include "daemon/common/counters.h"

#include "daemon/common/exposition.h"
#include "wire/wire_put.h"

bool cop_counters_is_end(const cop_counter *row) { return row->key == NULL && row->metric == NULL; }

uint64_t cop_counters_value(const cop_counter *row, const void *of)
{
	const void *at = (const char *)of + row->offset;
	return *(const uint64_t *)at;
}

void cop_counters_put_status(const cop_counter *table, const void *of, cop_bytes *out)
{
	for (const cop_counter *row = table; !cop_counters_is_end(row); row++)
		if (row->key != NULL)
			cop_wire_put_key_unsigned(out, row->key, cop_counters_value(row, of));
}

void cop_counters_put_metrics(const cop_counter *table, const void *of, cop_bytes *out)
{
	for (const cop_counter *row = table; !cop_counters_is_end(row); row++) {
		if (row->metric == NULL)
			continue;
		cop_exposition_lone_whole(out, row->metric, cop_counters_value(row, of));
	}
}
