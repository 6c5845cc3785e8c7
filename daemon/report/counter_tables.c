/* Each row names a field of the struct that the table is of; a row without key and metric ends a table. */

#include "daemon/report/counter_tables.h"

const cop_counter cop_counter_tables_requests[] = {
	{ "turns", COP_METRIC(coppice_loop_turns_total), offsetof(cop_serving, counts.turns) },
	{ "answer_turns", COP_METRIC(coppice_answer_turns_total), offsetof(cop_serving, outbox.waited) },
	{ "received", COP_METRIC(coppice_requests_total), offsetof(cop_serving, counts.requests) },
	{ "errors", NULL, offsetof(cop_serving, counts.errors) }, /* the metric counts them by code */
	{ "busy", NULL, offsetof(cop_serving, counts.codes[COP_WIRE_BUSY]) },
	{ "limited", COP_METRIC(coppice_limited_total), offsetof(cop_serving, counts.limited) },
	{ "replies_dropped", COP_METRIC(coppice_replies_dropped_total),
	        offsetof(cop_serving, sockets.replies_dropped) },
	COP_COUNTERS_END,
};

const cop_counter cop_counter_tables_streams[] = {
	{ "received", COP_METRIC(coppice_stream_messages_total), offsetof(cop_serving, counts.streamed) },
	{ "dropped", COP_METRIC(coppice_stream_dropped_total), offsetof(cop_serving, counts.dropped) },
	{ "forbidden", COP_METRIC(coppice_stream_forbidden_total), offsetof(cop_serving, counts.forbidden) },
	{ "subscriptions_refused", COP_METRIC(coppice_subscriptions_refused_total),
	        offsetof(cop_serving, sockets.subscriptions_refused) },
	{ "unroutable", COP_METRIC(coppice_stream_unroutable_total), offsetof(cop_serving, counts.unroutable) },
	{ "actions_dropped", COP_METRIC(coppice_actions_dropped_total),
	        offsetof(cop_serving, sockets.actions_dropped) },
	{ "subscribers", COP_METRIC(coppice_subscribers), offsetof(cop_serving, sockets.subscribers) },
	COP_COUNTERS_END,
};

const cop_counter cop_counter_tables_stream[] = {
	{ "received", COP_METRIC(coppice_stream_items_total), offsetof(cop_model_stream, received) },
	{ "malformed", COP_METRIC(coppice_stream_malformed_total), offsetof(cop_model_stream, refused) },
	{ "lost", COP_METRIC(coppice_stream_lost_total), offsetof(cop_model_stream, gaps.missing) },
	COP_COUNTERS_END,
};

const cop_counter cop_counter_tables_checkpoint[] = {
	{ "sequence", NULL, offsetof(cop_checkpoint, sequence) },
	{ "written", COP_METRIC(coppice_checkpoints_written_total), offsetof(cop_checkpoint, written) },
	{ "failed", COP_METRIC(coppice_checkpoints_failed_total), offsetof(cop_checkpoint, failed) },
	{ "bytes", COP_METRIC(coppice_checkpoint_size_bytes), offsetof(cop_checkpoint, bytes) },
	COP_COUNTERS_END,
};

const cop_counter cop_counter_tables_past[] = {
	{ "started", COP_METRIC(coppice_past_started_total), offsetof(cop_past_desk_counts, started) },
	{ "found", COP_METRIC(coppice_past_found_total), offsetof(cop_past_desk_counts, found) },
	{ "not_found", COP_METRIC(coppice_past_not_found_total), offsetof(cop_past_desk_counts, not_found) },
	{ "failed", COP_METRIC(coppice_past_failed_total), offsetof(cop_past_desk_counts, failed) },
	{ "dropped", COP_METRIC(coppice_past_dropped_total), offsetof(cop_past_desk_counts, dropped) },
	{ "refused", COP_METRIC(coppice_past_refused_total), offsetof(cop_past_desk_counts, refused) },
	COP_COUNTERS_END,
};

const cop_counter cop_counter_tables_journal[] = {
	{ "records", COP_METRIC(coppice_journal_records_total), offsetof(cop_journaler_counts, records) },
	{ "bytes", COP_METRIC(coppice_journal_bytes_total), offsetof(cop_journaler_counts, bytes) },
	{ "writes", COP_METRIC(coppice_journal_writes_total), offsetof(cop_journaler_counts, writes) },
	{ "syncs", NULL, offsetof(cop_journaler_counts, syncs) }, /* the metric counts their durations */
	{ "failures", COP_METRIC(coppice_journal_failures_total), offsetof(cop_journaler_counts, failures) },
	COP_COUNTERS_END,
};
