/* The age of a part is event time since its newest summary that was heard of, whether it was new or not. */
#include "daemon/report/partition_body.h"

#include <stdio.h>

#include "daemon/common/counters.h"
#include "daemon/common/exposition.h"
#include "wire/wire_put.h"

#define KEYS(key, metric, member)                                                                                      \
	{                                                                                                              \
		key, metric, offsetof(cop_partition, member)                                                           \
	}
static const cop_counter events[] = {
	KEYS("foreign", COP_METRIC(coppice_partition_foreign_total), foreign),
	KEYS("refused", COP_METRIC(coppice_partition_refused_total), refused),
	COP_COUNTERS_END,
};

#define COUNT(key, metric, member)                                                                                     \
	{                                                                                                              \
		key, metric, offsetof(cop_merge_counts, member)                                                        \
	}
static const cop_counter counts[] = {
	COUNT("asked", COP_METRIC(coppice_merge_asked_total), asked),
	COUNT("unanswered", COP_METRIC(coppice_merge_unanswered_total), unanswered),
	COUNT("answered", COP_METRIC(coppice_merge_answered_total), answered),
	COUNT("refused", COP_METRIC(coppice_merge_refused_total), refused),
	COUNT("new", COP_METRIC(coppice_merge_new_total), verdicts[COP_SUMS_NEW]),
	COUNT("put_off", COP_METRIC(coppice_merge_put_off_total), put_off),
	COUNT("bytes", COP_METRIC(coppice_merge_bytes_total), bytes),
	COUNT("same", COP_METRIC(coppice_merge_same_total), verdicts[COP_SUMS_SAME]),
	COUNT("old", COP_METRIC(coppice_merge_old_total), verdicts[COP_SUMS_OLD]),
	COUNT("own", COP_METRIC(coppice_merge_own_total), verdicts[COP_SUMS_OWN]),
	COUNT("moved", COP_METRIC(coppice_merge_moved_total), verdicts[COP_SUMS_MOVED]),
	COUNT("shape", COP_METRIC(coppice_merge_shape_total), verdicts[COP_SUMS_SHAPE]),
	COUNT("broken", COP_METRIC(coppice_merge_broken_total), verdicts[COP_SUMS_BROKEN]),
	COUNT("full", COP_METRIC(coppice_merge_full_total), verdicts[COP_SUMS_FULL]),
	COUNT("unfit", COP_METRIC(coppice_merge_unfit_total), unfit),
	COP_COUNTERS_END,
};

static void put_parts(const cop_partition *p, const cop_merge *m, cop_bytes *out)
{
	size_t count = 0;
	cop_wire_put_text(out, "parts");
	size_t at = cop_wire_put_array_open(out);
	for (uint32_t part = 0; part < p->config->partition_of; part++) {
		const double age = cop_merge_age(m, part);
		if (part == p->config->partition_number)
			continue;
		size_t map = cop_wire_put_map_open(out);
		cop_wire_put_key_unsigned(out, "part", part);
		if (age >= 0.0)
			cop_wire_put_key_double(out, "age", age);
		cop_wire_put_map_close(out, map);
		count++;
	}
	cop_wire_put_array_close(out, at, count);
}

void cop_partition_body_status(const cop_partition *p, const cop_merge *m, cop_bytes *out)
{
	const cop_config *config = p->config;
	if (config == NULL || !config->partition_given)
		return;
	cop_wire_put_text(out, "partition");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "of", config->partition_of);
	cop_wire_put_key_unsigned(out, "number", config->partition_number);
	cop_counters_put_status(events, p, out);
	if (m->enabled) {
		cop_wire_put_text(out, "merge");
		size_t merge = cop_wire_put_map_open(out);
		cop_wire_put_key_double(out, "every", 1e-6 * (double)config->partition_every);
		put_parts(p, m, out);
		cop_counters_put_status(counts, &m->counts, out);
		cop_wire_put_map_close(out, merge);
	}
	cop_wire_put_map_close(out, map);
}

void cop_partition_body_metrics(const cop_partition *p, const cop_merge *m, cop_bytes *out)
{
	const cop_metric *metric = COP_METRIC(coppice_merge_age_seconds);
	const cop_config *config = p->config;
	char labels[32];
	if (config == NULL || !config->partition_given)
		return;
	cop_counters_put_metrics(events, p, out);
	if (!m->enabled)
		return;
	cop_counters_put_metrics(counts, &m->counts, out);
	cop_exposition_family(out, metric);
	for (uint32_t part = 0; part < config->partition_of; part++) {
		const double age = cop_merge_age(m, part);
		(void)snprintf(labels, sizeof labels, "part=\"%u\"", part);
		if (part != config->partition_number && age >= 0.0)
			cop_exposition_number(out, metric, labels, age);
	}
}
