/* A family for each row, a sample for each partition. */
#include "daemon/streams/bridge_metrics.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "daemon/common/exposition.h"

#define LABELS     (COP_EXPOSITION_ESCAPED * COP_WIRE_POSITION_SOURCE + 96)
#define AT(member) offsetof(cop_bridge_reader_counts, member)

static const struct {
	const cop_metric *metric;
	size_t offset;
} families[] = {
	{ COP_METRIC(coppice_streams_events_total), AT(events) },
	{ COP_METRIC(coppice_streams_repeats_total), AT(repeats) },
	{ COP_METRIC(coppice_streams_dead_total), AT(dead) },
	{ COP_METRIC(coppice_streams_put_aside_total), AT(put_aside) },
	{ COP_METRIC(coppice_streams_actions_total), AT(actions) },
	{ COP_METRIC(coppice_streams_batches_total), AT(batches) },
	{ COP_METRIC(coppice_streams_waits_total), AT(waits) },
	{ COP_METRIC(coppice_streams_interrupted_total), AT(interrupted) },
	{ COP_METRIC(coppice_streams_gaps_total), AT(gaps) },
	{ COP_METRIC(coppice_streams_offset), AT(offset) },
};

static void put_labels(const cop_bridge_reader *reader, char *out, size_t size)
{
	char name[COP_EXPOSITION_ESCAPED * COP_WIRE_POSITION_SOURCE + 1];
	cop_exposition_escape(reader->set.broker.name, name);
	(void)snprintf(out, size, "stream=\"%s\",partition=\"%" PRIu32 "\"", name, reader->set.broker.partition);
}

static void put_family(const cop_bridge_readers *readers, size_t f, cop_bytes *out)
{
	char labels[LABELS];
	cop_exposition_family(out, families[f].metric);
	for (size_t i = 0; i < readers->count; i++) {
		const char *counts = (const char *)&readers->items[i].counts;
		const _Atomic uint64_t *is = (const void *)(counts + families[f].offset);
		put_labels(&readers->items[i], labels, sizeof labels);
		cop_exposition_whole(out, families[f].metric, labels, atomic_load(is));
	}
}

static void put_stages(const cop_bridge_readers *readers, const cop_metric *metric, bool seconds, cop_bytes *out)
{
	static const char *const stages[COP_BRIDGE_STAGES] = { "read", "decode", "daemon", "write" };
	char labels[LABELS];
	cop_exposition_family(out, metric);
	for (size_t i = 0; i < readers->count; i++)
		for (size_t k = 0; k < COP_BRIDGE_STAGES; k++) {
			const cop_bridge_stage_counts *is = &readers->items[i].counts.stages[k];
			put_labels(&readers->items[i], labels, sizeof labels);
			size_t used = strlen(labels);
			(void)snprintf(labels + used, sizeof labels - used, ",stage=\"%s\"", stages[k]);
			if (seconds)
				cop_exposition_number(out, metric, labels, 1e-9 * (double)atomic_load(&is->ns));
			else
				cop_exposition_whole(out, metric, labels, atomic_load(&is->events));
		}
}

/* Gauges of truths and of the lag, which is left out where it is not known. */
static void put_states(const cop_bridge_readers *readers, cop_bytes *out)
{
	static const cop_metric *const metrics[] = { COP_METRIC(coppice_streams_assigned),
		COP_METRIC(coppice_streams_up), COP_METRIC(coppice_streams_lag) };
	char labels[LABELS];
	for (size_t f = 0; f < 3; f++) {
		cop_exposition_family(out, metrics[f]);
		for (size_t i = 0; i < readers->count; i++) {
			const cop_bridge_reader_counts *is = &readers->items[i].counts;
			put_labels(&readers->items[i], labels, sizeof labels);
			if (f == 2 && atomic_load(&is->lag_known))
				cop_exposition_whole(out, metrics[f], labels, atomic_load(&is->lag));
			else if (f < 2)
				cop_exposition_whole(out, metrics[f], labels, atomic_load(f == 0 ? &is->own : &is->up));
		}
	}
}

void cop_bridge_metrics_put(const void *context, cop_bytes *out)
{
	const cop_bridge_readers *readers = context;
	for (size_t f = 0; f < sizeof families / sizeof *families; f++)
		put_family(readers, f, out);
	put_stages(readers, COP_METRIC(coppice_streams_stage_events_total), false, out);
	put_stages(readers, COP_METRIC(coppice_streams_stage_seconds_total), true, out);
	put_states(readers, out);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_streams_log_dropped_total), cop_log_dropped(readers->log));
}
