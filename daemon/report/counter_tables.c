/* Each row names a field of the struct that the table is of; a row without key and metric ends a table. */

#include "daemon/report/counter_tables.h"

const cop_counter cop_counter_tables_requests[] = {
	{ "turns", "coppice_loop_turns_total", "Turns of the serving loop in which messages were taken.",
	        offsetof(cop_serving, counts.turns) },
	{ "answer_turns", "coppice_answer_turns_total",
	        "Turns that answers to decisions and feedback left behind the one in which those were taken.",
	        offsetof(cop_serving, outbox.waited) },
	{ "received", "coppice_requests_total", "Requests received.", offsetof(cop_serving, counts.requests) },
	{ "errors", NULL, NULL, offsetof(cop_serving, counts.errors) }, /* the metric counts them by code */
	{ "busy", NULL, NULL, offsetof(cop_serving, counts.codes[COP_WIRE_BUSY]) },
	{ "limited", "coppice_limited_total", "Requests and stream messages beyond their client's limits.",
	        offsetof(cop_serving, counts.limited) },
	{ "replies_dropped", "coppice_replies_dropped_total", "Replies whose requester had gone or did not read.",
	        offsetof(cop_serving, sockets.replies_dropped) },
	COP_COUNTERS_END,
};

const cop_counter cop_counter_tables_streams[] = {
	{ "received", "coppice_stream_messages_total", "Messages received on streams.",
	        offsetof(cop_serving, counts.streamed) },
	{ "dropped", "coppice_stream_dropped_total", "Stream messages dropped because too many were queued.",
	        offsetof(cop_serving, counts.dropped) },
	{ "forbidden", "coppice_stream_forbidden_total", "Stream messages whose sender's key has not the right.",
	        offsetof(cop_serving, counts.forbidden) },
	{ "subscriptions_refused", "coppice_subscriptions_refused_total",
	        "Subscriptions to actions that their key may not read.",
	        offsetof(cop_serving, sockets.subscriptions_refused) },
	{ "unroutable", "coppice_stream_unroutable_total", "Stream messages for no model, or not of topic and body.",
	        offsetof(cop_serving, counts.unroutable) },
	{ "actions_dropped", "coppice_actions_dropped_total", "Messages of actions that a slow subscriber missed.",
	        offsetof(cop_serving, sockets.actions_dropped) },
	{ "subscribers", "coppice_subscribers", "Subscriptions to actions at present.",
	        offsetof(cop_serving, sockets.subscribers) },
	COP_COUNTERS_END,
};

const cop_counter cop_counter_tables_stream[] = {
	{ "received", "coppice_stream_items_total", "Contexts or feedback received on streams.",
	        offsetof(cop_model_stream, received) },
	{ "malformed", "coppice_stream_malformed_total", "Items received on streams that were refused.",
	        offsetof(cop_model_stream, refused) },
	{ "lost", "coppice_stream_lost_total", "Messages that never came, by the numbers that senders put in.",
	        offsetof(cop_model_stream, gaps.missing) },
	COP_COUNTERS_END,
};

const cop_counter cop_counter_tables_checkpoint[] = {
	{ "sequence", NULL, NULL, offsetof(cop_checkpoint, sequence) },
	{ "written", "coppice_checkpoints_written_total", "Checkpoints written.", offsetof(cop_checkpoint, written) },
	{ "failed", "coppice_checkpoints_failed_total", "Checkpoints that could not be written.",
	        offsetof(cop_checkpoint, failed) },
	{ "bytes", "coppice_checkpoint_size_bytes",
	        "Size of the newest checkpoint, written or restored; 0 when there is none.",
	        offsetof(cop_checkpoint, bytes) },
	COP_COUNTERS_END,
};

const cop_counter cop_counter_tables_past[] = {
	{ "started", "coppice_past_started_total", "Processes begun for questions about decisions of the past.",
	        offsetof(cop_past_desk_counts, started) },
	{ "found", "coppice_past_found_total", "Of them, answered.", offsetof(cop_past_desk_counts, found) },
	{ "not_found", "coppice_past_not_found_total", "Of them, about a decision that is not there.",
	        offsetof(cop_past_desk_counts, not_found) },
	{ "failed", "coppice_past_failed_total", "Of them, without an answer: an error, or beyond their time.",
	        offsetof(cop_past_desk_counts, failed) },
	{ "dropped", "coppice_past_dropped_total", "Questions dropped since nobody asked any more.",
	        offsetof(cop_past_desk_counts, dropped) },
	{ "refused", "coppice_past_refused_total", "Questions refused since too many waited.",
	        offsetof(cop_past_desk_counts, refused) },
	COP_COUNTERS_END,
};

const cop_counter cop_counter_tables_journal[] = {
	{ "records", "coppice_journal_records_total", "Records put into the journal.",
	        offsetof(cop_journaler_counts, records) },
	{ "bytes", "coppice_journal_bytes_total", "Bytes put into the journal.",
	        offsetof(cop_journaler_counts, bytes) },
	{ "writes", "coppice_journal_writes_total", "Writes, each of all records of a turn.",
	        offsetof(cop_journaler_counts, writes) },
	{ "syncs", NULL, NULL, offsetof(cop_journaler_counts, syncs) }, /* the metric counts their durations */
	{ "failures", "coppice_journal_failures_total", "Times that the journal could not be written or synced.",
	        offsetof(cop_journaler_counts, failures) },
	COP_COUNTERS_END,
};
