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
	const char *name, *help;
	size_t offset;
} families[] = {
	{ "coppice_streams_events_total", "Events that the daemon took, repeats too.", AT(events) },
	{ "coppice_streams_repeats_total", "Of them, those that it had taken before.", AT(repeats) },
	{ "coppice_streams_dead_total", "Events passed over: no map, or refused as bad input.", AT(dead) },
	{ "coppice_streams_put_aside_total", "Of them, those that were put aside in the log.", AT(put_aside) },
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

static void put_family(const cop_bridge_readers *readers, size_t f, cop_bytes *out)
{
	char labels[LABELS];
	cop_exposition_family(out, families[f].name, families[f].help);
	for (size_t i = 0; i < readers->count; i++) {
		const char *counts = (const char *)&readers->items[i].counts;
		const _Atomic uint64_t *is = (const void *)(counts + families[f].offset);
		put_labels(&readers->items[i], labels, sizeof labels);
		cop_exposition_whole(out, families[f].name, labels, atomic_load(is));
	}
}

static void put_stages(
        const cop_bridge_readers *readers, const char *name, const char *help, bool seconds, cop_bytes *out)
{
	static const char *const stages[COP_BRIDGE_STAGES] = { "read", "decode", "daemon", "write" };
	char labels[LABELS];
	cop_exposition_family(out, name, help);
	for (size_t i = 0; i < readers->count; i++)
		for (size_t k = 0; k < COP_BRIDGE_STAGES; k++) {
			const cop_bridge_stage_counts *is = &readers->items[i].counts.stages[k];
			put_labels(&readers->items[i], labels, sizeof labels);
			size_t used = strlen(labels);
			(void)snprintf(labels + used, sizeof labels - used, ",stage=\"%s\"", stages[k]);
			if (seconds)
				cop_exposition_number(out, name, labels, 1e-9 * (double)atomic_load(&is->ns));
			else
				cop_exposition_whole(out, name, labels, atomic_load(&is->events));
		}
}

/* Gauges of truths and of the lag, which is left out where it is not known. */
static void put_states(const cop_bridge_readers *readers, cop_bytes *out)
{
	static const char *const names[] = { "coppice_streams_assigned", "coppice_streams_up", "coppice_streams_lag" };
	static const char *const helps[] = {
		"1 while the partition is read here; 0: another member of the group has it.",
		"1 while a partition has both its log and the daemon.",
		"Events that the log has behind the last that the daemon took."
	};
	char labels[LABELS];
	for (size_t f = 0; f < 3; f++) {
		cop_exposition_family(out, names[f], helps[f]);
		for (size_t i = 0; i < readers->count; i++) {
			const cop_bridge_reader_counts *is = &readers->items[i].counts;
			put_labels(&readers->items[i], labels, sizeof labels);
			if (f == 2 && atomic_load(&is->lag_known))
				cop_exposition_whole(out, names[f], labels, atomic_load(&is->lag));
			else if (f < 2)
				cop_exposition_whole(out, names[f], labels, atomic_load(f == 0 ? &is->own : &is->up));
		}
	}
}

void cop_bridge_metrics_put(const void *context, cop_bytes *out)
{
	const cop_bridge_readers *readers = context;
	for (size_t f = 0; f < sizeof families / sizeof *families; f++)
		put_family(readers, f, out);
	put_stages(readers, "coppice_streams_stage_events_total", "Events that went through a stage.", false, out);
	put_stages(readers, "coppice_streams_stage_seconds_total", "Time in it, of all batches, waits included.", true,
	        out);
	put_states(readers, out);
	cop_exposition_lone_whole(out, "coppice_streams_log_dropped_total", "Lines of the log that were dropped.",
	        cop_log_dropped(readers->log));
}
