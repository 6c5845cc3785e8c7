/* A family for each row, a sample for each partition. */
#include "daemon/streams/bridge_metrics.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "daemon/common/exposition.h"

#define AT(member) offsetof(cop_bridge_reader_counts, member)

static const struct {
	const char *name, *help;
	size_t offset;
} families[] = {
	{ "coppice_streams_events_total", "Events that the daemon took, repeats too.", AT(events) },
	{ "coppice_streams_repeats_total", "Of them, those that it had taken before.", AT(repeats) },
	{ "coppice_streams_dead_total", "Events passed over: no map, or refused as bad input.", AT(dead) },
	{ "coppice_streams_actions_total", "Actions sent to the log.", AT(actions) },
	{ "coppice_streams_batches_total", "Batches that the daemon answered.", AT(batches) },
	{ "coppice_streams_waits_total", "Waits for a daemon that was busy or could not write.", AT(waits) },
	{ "coppice_streams_interrupted_total", "Sessions that ended by a failure of the log or the daemon.",
	        AT(interrupted) },
	{ "coppice_streams_gaps_total", "Beginnings at which the log had lost events that were not read.", AT(gaps) },
	{ "coppice_streams_offset", "Offset of the last event that the daemon took.", AT(offset) },
};

static void put_labels(const cop_bridge_reader *reader, char *out, size_t size)
{
	char name[COP_EXPOSITION_ESCAPED * COP_WIRE_POSITION_SOURCE + 1];
	cop_exposition_escape(reader->set.broker.name, name);
	(void)snprintf(out, size, "stream=\"%s\",partition=\"%" PRIu32 "\"", name, reader->set.broker.partition);
}

void cop_bridge_metrics_put(const void *context, cop_bytes *out)
{
	const cop_bridge_readers *readers = context;
	char labels[COP_EXPOSITION_ESCAPED * COP_WIRE_POSITION_SOURCE + 64];
	for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
		cop_exposition_family(out, families[f].name, families[f].help);
		for (size_t i = 0; i < readers->count; i++) {
			const char *counts = (const char *)&readers->items[i].counts;
			const _Atomic uint64_t *is = (const void *)(counts + families[f].offset);
			put_labels(&readers->items[i], labels, sizeof labels);
			cop_exposition_whole(out, families[f].name, labels, atomic_load(is));
		}
	}
	cop_exposition_family(out, "coppice_streams_up", "1 while a partition has both its log and the daemon.");
	for (size_t i = 0; i < readers->count; i++) {
		put_labels(&readers->items[i], labels, sizeof labels);
		cop_exposition_whole(out, "coppice_streams_up", labels, atomic_load(&readers->items[i].counts.up));
	}
	cop_exposition_lone_whole(out, "coppice_streams_log_dropped_total", "Lines of the log that were dropped.",
	        cop_log_dropped(readers->log));
}
