/* A row without key and metric ends a table. */
#include "daemon/report/counters.h"

#include "daemon/common/exposition.h"
#include "daemon/server.h"
#include "wire/wire_put.h"

#define END                                                                                                            \
	{                                                                                                              \
		NULL, NULL, NULL, 0, false                                                                             \
	}

const cop_counter cop_counters_requests[] = {
	{ "received", "coppice_requests_total", "Requests received.", offsetof(cop_server, counts.requests), false },
	{ "errors", NULL, NULL, offsetof(cop_server, counts.errors), false }, /* the metric counts them by code */
	{ "busy", NULL, NULL, offsetof(cop_server, counts.codes[COP_WIRE_BUSY]), false },
	{ "replies_dropped", "coppice_replies_dropped_total", "Replies whose requester had gone or did not read.",
	        offsetof(cop_server, sockets.replies_dropped), false },
	END,
};

const cop_counter cop_counters_streams[] = {
	{ "received", "coppice_stream_messages_total", "Messages received on streams.",
	        offsetof(cop_server, counts.streamed), false },
	{ "dropped", "coppice_stream_dropped_total", "Stream messages dropped because too many were queued.",
	        offsetof(cop_server, counts.dropped), false },
	{ "unroutable", "coppice_stream_unroutable_total", "Stream messages for no model, or not of topic and body.",
	        offsetof(cop_server, counts.unroutable), false },
	{ "actions_dropped", "coppice_actions_dropped_total", "Messages of actions that a slow subscriber missed.",
	        offsetof(cop_server, sockets.actions_dropped), false },
	{ "subscribers", "coppice_subscribers", "Subscriptions to actions at present.",
	        offsetof(cop_server, sockets.subscribers), true },
	END,
};

const cop_counter cop_counters_stream[] = {
	{ "received", "coppice_stream_items_total", "Contexts or feedback received on streams.",
	        offsetof(cop_served_stream, received), false },
	{ "malformed", "coppice_stream_malformed_total", "Items received on streams that were refused.",
	        offsetof(cop_served_stream, refused), false },
	{ "lost", "coppice_stream_lost_total", "Messages that never came, by the numbers that senders put in.",
	        offsetof(cop_served_stream, gaps.missing), false },
	END,
};

const cop_counter cop_counters_checkpoint[] = {
	{ "sequence", NULL, NULL, offsetof(cop_checkpoint, sequence), false },
	{ "written", "coppice_checkpoints_written_total", "Checkpoints written.", offsetof(cop_checkpoint, written),
	        false },
	{ "failed", "coppice_checkpoints_failed_total", "Checkpoints that could not be written.",
	        offsetof(cop_checkpoint, failed), false },
	{ "bytes", "coppice_checkpoint_size_bytes",
	        "Size of the newest checkpoint, written or restored; 0 when there is none.",
	        offsetof(cop_checkpoint, bytes), true },
	END,
};

const cop_counter cop_counters_journal[] = {
	{ "records", "coppice_journal_records_total", "Records put into the journal.",
	        offsetof(cop_journaler_counts, records), false },
	{ "bytes", "coppice_journal_bytes_total", "Bytes put into the journal.", offsetof(cop_journaler_counts, bytes),
	        false },
	{ "writes", "coppice_journal_writes_total", "Writes, each of all records of a turn.",
	        offsetof(cop_journaler_counts, writes), false },
	{ "syncs", NULL, NULL, offsetof(cop_journaler_counts, syncs), false }, /* the metric counts their durations */
	{ "failures", "coppice_journal_failures_total", "Times that the journal could not be written or synced.",
	        offsetof(cop_journaler_counts, failures), false },
	END,
};

const cop_counter cop_counters_apprentice[] = {
	{ "observed", "coppice_apprentice_observed_total", "Decisions of the existing system.",
	        offsetof(cop_apprentice_summary, observed), false },
	{ "agreed", "coppice_apprentice_agreed_total", "Of them, those that took the model's best arm.",
	        offsetof(cop_apprentice_summary, agreed), false },
	{ "losses", "coppice_apprentice_losses_total", "Of them, those whose loss was weighed.",
	        offsetof(cop_apprentice_summary, losses), false },
	END,
};

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

void cop_counters_put_family(const cop_counter *row, cop_bytes *out)
{
	cop_exposition_family(out, row->metric, row->gauge ? COP_EXPOSITION_GAUGE : COP_EXPOSITION_COUNTER, row->help);
}

void cop_counters_put_metrics(const cop_counter *table, const void *of, cop_bytes *out)
{
	for (const cop_counter *row = table; !cop_counters_is_end(row); row++) {
		if (row->metric == NULL)
			continue;
		cop_counters_put_family(row, out);
		cop_exposition_whole(out, row->metric, "", cop_counters_value(row, of));
	}
}
