/* One function for each part of the daemon, called in the order of the page; simple counters are rows of a table. All
 * samples of a family stand together, so models are the inner loop. */
#include "daemon/report/metrics.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "daemon/refit/refit_metrics.h"
#include "daemon/report/apprentice_body.h"
#include "daemon/report/exposition.h"
#include "daemon/serve/clock.h"

#define LABELS (COP_CONFIG_NAME_MAX + 64)

typedef struct counter_row {
	const char *name, *help;
	size_t offset; /* of a uint64_t */
} counter_row;

static uint64_t whole_at(const void *base, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)base + offset);
}

void cop_metrics_begin(cop_server *server)
{
	for (size_t i = 0; i < server->models.count; i++) {
		cop_served *served = &server->models.items[i];
		served->before = *cop_model_get_counters(served->model);
		cop_learner_outliers(cop_model_learner(served->model), &served->outliers_before);
		served->outliers_told = served->outliers_before;
		cop_model_get_apprentice(served->model, &served->apprentice_before);
	}
}

static const counter_row model_rows[] = {
	{ "coppice_decisions_total", "New decisions.", offsetof(cop_model_counters, decisions) },
	{ "coppice_greedy_decisions_total", "New decisions that took the best predicted arm.",
	        offsetof(cop_model_counters, greedy) },
	{ "coppice_repeated_decisions_total", "Contexts answered again because their id was pending.",
	        offsetof(cop_model_counters, repeated) },
	{ "coppice_learned_total", "Updates of the model, from feedback and from reward windows that ended.",
	        offsetof(cop_model_counters, learned) },
	{ "coppice_defaulted_decisions_total", "Decisions without feedback, learned with the default loss.",
	        offsetof(cop_model_counters, defaulted) },
	{ "coppice_dropped_decisions_total", "Decisions without feedback, forgotten at the end of their window.",
	        offsetof(cop_model_counters, dropped) },
	{ "coppice_evicted_decisions_total", "Pending decisions that gave way because too many were waiting.",
	        offsetof(cop_model_counters, evicted) },
	{ "coppice_refused_updates_total", "Updates that were not made because they would have diverged.",
	        offsetof(cop_model_counters, refused) },
};

static const char *model_label(const cop_served *served, char *out)
{
	(void)snprintf(out, LABELS, "model=\"%s\"", served->name);
	return out;
}

static void put_model_counters(const cop_served_set *models, cop_bytes *out)
{
	char labels[LABELS];
	for (size_t row = 0; row < sizeof model_rows / sizeof *model_rows; row++) {
		const counter_row *r = &model_rows[row];
		cop_exposition_family(out, r->name, COP_EXPOSITION_COUNTER, r->help);
		for (size_t i = 0; i < models->count; i++) {
			const cop_served *served = &models->items[i];
			uint64_t now = whole_at(cop_model_get_counters(served->model), r->offset);
			cop_exposition_whole(
			        out, r->name, model_label(served, labels), now - whole_at(&served->before, r->offset));
		}
	}
}

/* A promotion may go back to a learner that has seen fewer: to readers a counter that began anew. */
static void put_outliers(const cop_served_set *models, cop_bytes *out)
{
	static const char name[] = "coppice_outliers_total";
	char labels[LABELS];
	cop_exposition_family(out, name, COP_EXPOSITION_COUNTER,
	        "Values of features too far out to enter the running statistics as they were.");
	for (size_t i = 0; i < models->count; i++) {
		const cop_served *served = &models->items[i];
		cop_outliers now;
		cop_learner_outliers(cop_model_learner(served->model), &now);
		uint64_t before = served->outliers_before.values;
		cop_exposition_whole(
		        out, name, model_label(served, labels), now.values < before ? now.values : now.values - before);
	}
}

static void put_feedback(const cop_served_set *models, cop_bytes *out)
{
	static const char name[] = "coppice_feedback_total";
	char labels[LABELS];
	cop_exposition_family(out, name, COP_EXPOSITION_COUNTER, "Feedback that was joined, by its result.");
	for (size_t i = 0; i < models->count; i++) {
		const cop_served *served = &models->items[i];
		const cop_model_counters *c = cop_model_get_counters(served->model);
		for (unsigned result = 0; result < COP_FEEDBACK_RESULTS; result++) {
			(void)snprintf(labels, sizeof labels, "model=\"%s\",result=\"%s\"", served->name,
			        cop_feedback_result_text((cop_feedback_result)result));
			cop_exposition_whole(out, name, labels, c->feedback[result] - served->before.feedback[result]);
		}
	}
}

static void put_unheard(const cop_served_set *models, cop_bytes *out)
{
	static const char dropped[] = "coppice_stream_unheard_total", decisions[] = "coppice_unheard_decisions_total";
	char labels[LABELS];
	cop_exposition_family(out, dropped, COP_EXPOSITION_COUNTER,
	        "Contexts dropped undecided because nobody subscribed to the actions, by what they exceeded.");
	for (size_t i = 0; i < models->count * COP_UNHEARD_REASONS; i++) {
		const cop_served *served = &models->items[i / COP_UNHEARD_REASONS];
		cop_unheard_reason reason = (cop_unheard_reason)(i % COP_UNHEARD_REASONS);
		(void)snprintf(labels, sizeof labels, "model=\"%s\",reason=\"%s\"", served->name,
		        cop_unheard_reason_text(reason));
		cop_exposition_whole(out, dropped, labels, served->unheard.dropped[reason]);
	}
	cop_exposition_family(out, decisions, COP_EXPOSITION_COUNTER,
	        "Decisions whose action no subscriber was given; they get no default loss.");
	for (size_t i = 0; i < models->count; i++)
		cop_exposition_whole(
		        out, decisions, model_label(&models->items[i], labels), models->items[i].unheard_decisions);
}

static double waiting_of(const cop_served *served) { return (double)served->unheard.contexts; }
static double waiting_bytes_of(const cop_served *served) { return (double)served->unheard.bytes; }

static void put_unknown_names(const cop_served_set *models, cop_bytes *out)
{
	static const char name[] = "coppice_unknown_names_total";
	char labels[LABELS];
	cop_exposition_family(out, name, COP_EXPOSITION_COUNTER,
	        "Features that came by names which the model does not know, and were left out.");
	for (size_t i = 0; i < models->count; i++)
		cop_exposition_whole(
		        out, name, model_label(&models->items[i], labels), cop_served_unknown_names(&models->items[i]));
}

static double pending_of(const cop_served *served) { return (double)cop_model_pending(served->model); }
static double revision_of(const cop_served *served) { return (double)cop_model_learner(served->model)->rev; }
static double loss_of(const cop_served *served)
{
	return cop_model_get_counters(served->model)->loss_sum - served->before.loss_sum;
}

static void put_model_gauges(const cop_served_set *models, cop_bytes *out)
{
	static const struct {
		const char *name, *help;
		double (*of)(const cop_served *served);
	} rows[] = {
		{ "coppice_pending_decisions", "Decisions waiting for feedback.", pending_of },
		{ "coppice_stream_waiting_contexts", "Contexts waiting for somebody to subscribe to the actions.",
		        waiting_of },
		{ "coppice_stream_waiting_bytes", "Memory that they take.", waiting_bytes_of },
		{ "coppice_revision", "Updates since the model began.", revision_of },
		{ "coppice_learned_loss", "Sum of the learned losses; over coppice_learned_total, their mean.",
		        loss_of },
	};
	char labels[LABELS];
	for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
		cop_exposition_family(out, rows[row].name, COP_EXPOSITION_GAUGE, rows[row].help);
		for (size_t i = 0; i < models->count; i++)
			cop_exposition_number(out, rows[row].name, model_label(&models->items[i], labels),
			        rows[row].of(&models->items[i]));
	}
}

static void put_model_streams(const cop_served_set *models, cop_bytes *out)
{
	static const counter_row rows[] = {
		{ "coppice_stream_items_total", "Contexts or feedback received on streams.",
		        offsetof(cop_served_stream, received) },
		{ "coppice_stream_malformed_total", "Items received on streams that were refused.",
		        offsetof(cop_served_stream, refused) },
		{ "coppice_stream_lost_total", "Messages that never came, by the numbers that senders put in.",
		        offsetof(cop_served_stream, gaps.missing) },
	};
	char labels[LABELS];
	for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
		cop_exposition_family(out, rows[row].name, COP_EXPOSITION_COUNTER, rows[row].help);
		for (size_t i = 0; i < 2 * models->count; i++) {
			const cop_served *served = &models->items[i / 2];
			bool contexts = i % 2 == 0;
			(void)snprintf(labels, sizeof labels, "model=\"%s\",stream=\"%s\"", served->name,
			        contexts ? "contexts" : "feedback");
			cop_exposition_whole(out, rows[row].name, labels,
			        whole_at(contexts ? &served->contexts : &served->feedback, rows[row].offset));
		}
	}
}

static void put_traffic(const cop_server *server, cop_bytes *out)
{
	static const counter_row rows[] = {
		{ "coppice_requests_total", "Requests received.", offsetof(cop_server, counts.requests) },
		{ "coppice_replies_dropped_total", "Replies whose requester had gone or did not read.",
		        offsetof(cop_server, sockets.replies_dropped) },
		{ "coppice_stream_messages_total", "Messages received on streams.",
		        offsetof(cop_server, counts.streamed) },
		{ "coppice_stream_unroutable_total", "Stream messages for no model, or not of topic and body.",
		        offsetof(cop_server, counts.unroutable) },
		{ "coppice_stream_dropped_total", "Stream messages dropped because too many were queued.",
		        offsetof(cop_server, counts.dropped) },
		{ "coppice_actions_dropped_total", "Messages of actions that a slow subscriber missed.",
		        offsetof(cop_server, sockets.actions_dropped) },
	};
	for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
		cop_exposition_family(out, rows[row].name, COP_EXPOSITION_COUNTER, rows[row].help);
		cop_exposition_whole(out, rows[row].name, "", whole_at(server, rows[row].offset));
	}
	cop_exposition_family(out, "coppice_subscribers", COP_EXPOSITION_GAUGE, "Subscriptions to actions at present.");
	cop_exposition_whole(out, "coppice_subscribers", "", server->sockets.subscribers);
	cop_histogram_put(&server->decide_durations, "coppice_decide_duration_seconds",
	        "Time from taking up a decide request to handing over its action.", out);
}

static void put_queued(const cop_server *server, const cop_inlet_state *state, cop_bytes *out)
{
	static const char name[] = "coppice_queued_bytes";
	uint64_t waiting = 0;
	for (size_t i = 0; i < server->models.count; i++)
		waiting += server->models.items[i].unheard.bytes;
	const struct {
		const char *label;
		uint64_t bytes;
	} queues[] = {
		{ "queue=\"unfinished\"", state->unfinished },
		{ "queue=\"received\"", state->queued },
		{ "queue=\"waiting\"", waiting },
		{ "queue=\"answers\"",
		        cop_outbox_bytes(&server->outbox) + cop_outflow_answers(server->sockets.outflow) },
		{ "queue=\"actions\"", cop_outflow_actions(server->sockets.outflow) },
	};
	cop_exposition_family(out, name, COP_EXPOSITION_GAUGE, "Bytes queued, of queue_limit.");
	for (size_t i = 0; i < sizeof queues / sizeof *queues; i++)
		cop_exposition_whole(out, name, queues[i].label, queues[i].bytes);
}

static void put_connections(const cop_server *server, cop_bytes *out)
{
	static const char closed[] = "coppice_connections_closed_total";
	cop_inlet_state state;
	cop_inlet_look(server->sockets.inlet, &state);
	put_queued(server, &state, out);
	cop_exposition_family(
	        out, "coppice_queue_limit_bytes", COP_EXPOSITION_GAUGE, "What may be queued, as configured.");
	cop_exposition_whole(out, "coppice_queue_limit_bytes", "", server->config->queue_limit);
	cop_exposition_family(out, "coppice_connections", COP_EXPOSITION_GAUGE, "Connections of ZeroMQ at present.");
	cop_exposition_whole(out, "coppice_connections", "", state.connections);
	cop_exposition_family(
	        out, closed, COP_EXPOSITION_COUNTER, "Connections closed because they broke a limit, by the limit.");
	for (size_t i = 0; i < COP_INLET_REASONS; i++) {
		char labels[LABELS];
		(void)snprintf(labels, sizeof labels, "reason=\"%s\"", cop_inlet_reason_text((cop_inlet_reason)i));
		cop_exposition_whole(out, closed, labels, state.closed[i]);
	}
	cop_exposition_family(out, "coppice_subscriptions_ignored_total", COP_EXPOSITION_COUNTER,
	        "Subscriptions that no action can match.");
	cop_exposition_whole(out, "coppice_subscriptions_ignored_total", "", state.ignored);
}

static void put_codes(const char *name, const char *help, const uint64_t *codes, cop_bytes *out)
{
	cop_exposition_family(out, name, COP_EXPOSITION_COUNTER, help);
	for (unsigned code = COP_WIRE_OK + 1; code < COP_WIRE_CODE_COUNT; code++) {
		char labels[LABELS];
		(void)snprintf(labels, sizeof labels, "code=\"%s\"", cop_wire_code_text((cop_wire_code)code));
		cop_exposition_whole(out, name, labels, codes[code]);
	}
}

static void put_checkpoints(const cop_server *server, cop_bytes *out)
{
	const cop_checkpoint *c = &server->checkpoint;
	static const counter_row rows[] = {
		{ "coppice_checkpoints_written_total", "Checkpoints written.", offsetof(cop_checkpoint, written) },
		{ "coppice_checkpoints_failed_total", "Checkpoints that could not be written.",
		        offsetof(cop_checkpoint, failed) },
	};
	for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
		cop_exposition_family(out, rows[row].name, COP_EXPOSITION_COUNTER, rows[row].help);
		cop_exposition_whole(out, rows[row].name, "", whole_at(c, rows[row].offset));
	}
	/* Before the first one, the state is as old as the process. */
	double since = c->at > 0.0 ? c->at : server->started;
	cop_exposition_family(out, "coppice_checkpoint_age_seconds", COP_EXPOSITION_GAUGE,
	        "Time since a checkpoint was written, or since the start when none was.");
	cop_exposition_number(out, "coppice_checkpoint_age_seconds", "", cop_clock_monotonic() - since);
	cop_exposition_family(out, "coppice_checkpoint_size_bytes", COP_EXPOSITION_GAUGE,
	        "Size of the newest checkpoint, written or restored; 0 when there is none.");
	cop_exposition_whole(out, "coppice_checkpoint_size_bytes", "", c->bytes);
	cop_histogram_put(&c->durations, "coppice_checkpoint_duration_seconds",
	        "Time from taking the state to the file being on disk.", out);
}

static void put_journal(const cop_server *server, cop_bytes *out)
{
	const cop_journaler *journal = server->journal;
	if (journal == NULL)
		return;
	const cop_journaler_counts *counts = cop_journaler_get_counts(journal);
	static const counter_row rows[] = {
		{ "coppice_journal_records_total", "Records put into the journal.",
		        offsetof(cop_journaler_counts, records) },
		{ "coppice_journal_bytes_total", "Bytes put into the journal.", offsetof(cop_journaler_counts, bytes) },
		{ "coppice_journal_writes_total", "Writes, each of all records of a turn.",
		        offsetof(cop_journaler_counts, writes) },
		{ "coppice_journal_failures_total", "Times that the journal could not be written or synced.",
		        offsetof(cop_journaler_counts, failures) },
	};
	for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
		cop_exposition_family(out, rows[row].name, COP_EXPOSITION_COUNTER, rows[row].help);
		cop_exposition_whole(out, rows[row].name, "", whole_at(counts, rows[row].offset));
	}
	cop_exposition_family(
	        out, "coppice_journal_broken", COP_EXPOSITION_GAUGE, "1 while feedback cannot be made durable.");
	cop_exposition_whole(out, "coppice_journal_broken", "", cop_journaler_broken(journal));
	cop_exposition_family(out, "coppice_journal_lag_bytes", COP_EXPOSITION_GAUGE, "Bytes put and not yet synced.");
	cop_exposition_whole(out, "coppice_journal_lag_bytes", "", cop_journaler_lag(journal));
	cop_exposition_family(
	        out, "coppice_answers_waiting", COP_EXPOSITION_GAUGE, "Answers that wait for the journal.");
	cop_exposition_whole(out, "coppice_answers_waiting", "", cop_outbox_count(&server->outbox));
	cop_histogram_put(
	        &counts->sync_durations, "coppice_journal_sync_duration_seconds", "Time that fdatasync took.", out);
}

/* Under the names that all Prometheus clients use. */
static void put_process(const cop_server *server, cop_bytes *out)
{
	struct timespec cpu = { 0 };
	uint64_t pages[2] = { 0 }; /* address space, resident */
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	FILE *statm = fopen("/proc/self/statm", "re");
	if (statm != NULL) {
		(void)!fscanf(statm, "%" SCNu64 " %" SCNu64, &pages[0], &pages[1]);
		(void)fclose(statm);
	}
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	cop_exposition_family(out, "process_start_time_seconds", COP_EXPOSITION_GAUGE, "When it started, unix time.");
	cop_exposition_number(out, "process_start_time_seconds", "", server->born);
	cop_exposition_family(out, "process_cpu_seconds_total", COP_EXPOSITION_COUNTER, "Processor time spent.");
	cop_exposition_number(out, "process_cpu_seconds_total", "", (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec);
	cop_exposition_family(out, "process_virtual_memory_bytes", COP_EXPOSITION_GAUGE, "Address space in use.");
	cop_exposition_whole(out, "process_virtual_memory_bytes", "", pages[0] * page);
	cop_exposition_family(out, "process_resident_memory_bytes", COP_EXPOSITION_GAUGE, "Memory in use.");
	cop_exposition_whole(out, "process_resident_memory_bytes", "", pages[1] * page);
}

static void put_daemon(const cop_server *server, cop_bytes *out)
{
	cop_exposition_family(out, "coppice_build_info", COP_EXPOSITION_GAUGE, "Always 1; the version is the label.");
	cop_exposition_whole(out, "coppice_build_info", "version=\"" COP_VERSION "\"", 1);
	cop_exposition_family(out, "coppice_parked_models", COP_EXPOSITION_GAUGE,
	        "Models that are kept in checkpoints but not configured.");
	cop_exposition_whole(out, "coppice_parked_models", "", server->models.parked_count);
	cop_exposition_family(out, "coppice_refit_running", COP_EXPOSITION_GAUGE, "1 while a refit is under way.");
	cop_exposition_whole(out, "coppice_refit_running", "", server->refits.running != NULL);
	cop_exposition_family(out, "coppice_clock_ahead_seconds", COP_EXPOSITION_GAUGE,
	        "By how much the clock is ahead of event time while it is not believed; else 0.");
	cop_exposition_number(out, "coppice_clock_ahead_seconds", "", server->clock.ahead);
	cop_exposition_family(out, "coppice_log_dropped_total", COP_EXPOSITION_COUNTER,
	        "Log lines lost because the log's receiver was too slow.");
	cop_exposition_whole(out, "coppice_log_dropped_total", "", cop_log_dropped(server->log));
	cop_exposition_family(out, "coppice_scrapes_missed_total", COP_EXPOSITION_COUNTER,
	        "Scrapes of this page that were not answered in time.");
	cop_exposition_whole(out, "coppice_scrapes_missed_total", "", cop_http_missed(server->http));
}

void cop_metrics_put(const cop_server *server, cop_bytes *out)
{
	put_model_counters(&server->models, out);
	put_outliers(&server->models, out);
	put_feedback(&server->models, out);
	put_unheard(&server->models, out);
	put_unknown_names(&server->models, out);
	put_model_gauges(&server->models, out);
	cop_apprentice_body_metrics(&server->models, out);
	cop_refit_metrics_put(&server->models, out);
	put_model_streams(&server->models, out);
	put_traffic(server, out);
	put_connections(server, out);
	put_codes("coppice_request_errors_total", "Requests answered with an error, by its code.", server->counts.codes,
	        out);
	put_codes("coppice_request_item_errors_total", "Items of batches answered with an error, by its code.",
	        server->counts.item_codes, out);
	put_checkpoints(server, out);
	put_journal(server, out);
	put_daemon(server, out);
	put_process(server, out);
}
