/* One function for each part of the daemon, called in the order of the page; simple counters are rows of
 * tables (counters.h, online/model_counters.h). All samples of a family stand together, so models are the inner loop.
 */
#include "daemon/report/metrics.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "daemon/common/exposition.h"
#include "daemon/models/apprentice_body.h"
#include "daemon/report/counter_tables.h"
#include "daemon/report/refit_metrics.h"

#define LABELS (COP_CONFIG_NAME_MAX + 64)

void cop_metrics_begin(cop_served_set *models)
{
	for (size_t i = 0; i < models->count; i++) {
		cop_served *served = &models->items[i];
		served->before = *cop_model_get_counters(served->model);
		cop_learner_outliers(cop_model_learner(served->model), &served->outliers_before);
		served->outliers_told = served->outliers_before;
		cop_model_get_apprentice(served->model, &served->apprentice_before);
	}
}

static const char *model_label(const cop_served *served, char *out)
{
	(void)snprintf(out, LABELS, "model=\"%s\"", served->name);
	return out;
}

/* Since serving began. */
static void put_counter(const cop_served *served, const cop_model_counter *row, cop_bytes *out)
{
	const cop_model_counters *now = cop_model_get_counters(served->model);
	const cop_model_counters *before = &served->before;
	char labels[LABELS];
	(void)model_label(served, labels);
	if (row->kind == COP_MODEL_COUNTER_SUM)
		cop_exposition_number(out, row->metric, labels,
		        cop_model_counters_sum(now, row) - cop_model_counters_sum(before, row));
	if (row->kind == COP_MODEL_COUNTER_WHOLE)
		cop_exposition_whole(out, row->metric, labels,
		        cop_model_counters_whole(now, row, 0) - cop_model_counters_whole(before, row, 0));
	for (size_t i = 0; i < row->count; i++) {
		(void)snprintf(
		        labels, sizeof labels, "model=\"%s\",%s=\"%s\"", served->name, row->label, row->words[i]);
		cop_exposition_whole(out, row->metric, labels,
		        cop_model_counters_whole(now, row, i) - cop_model_counters_whole(before, row, i));
	}
}

static void put_model_counters(const cop_served_set *models, cop_bytes *out)
{
	for (size_t r = 0; r < COP_MODEL_COUNTERS; r++) {
		const cop_model_counter *row = &cop_model_counters_table[r];
		bool sum = row->kind == COP_MODEL_COUNTER_SUM;
		if (row->metric == NULL)
			continue;
		cop_exposition_family(out, row->metric, sum ? COP_EXPOSITION_GAUGE : COP_EXPOSITION_COUNTER, row->help);
		for (size_t i = 0; i < models->count; i++)
			put_counter(&models->items[i], row, out);
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

static void put_unheard(const cop_served_set *models, cop_bytes *out)
{
	static const char dropped[] = "coppice_stream_unheard_total", decisions[] = "coppice_unheard_decisions_total";
	char labels[LABELS];
	cop_exposition_family(out, dropped, COP_EXPOSITION_COUNTER,
	        "Contexts dropped undecided because the actions had no subscriber, by what they exceeded.");
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
	        "Features that came by names which the model does not have, and were left out.");
	for (size_t i = 0; i < models->count; i++)
		cop_exposition_whole(
		        out, name, model_label(&models->items[i], labels), cop_served_unknown_names(&models->items[i]));
}

static double pending_of(const cop_served *served) { return (double)cop_model_pending(served->model); }
static double revision_of(const cop_served *served) { return (double)cop_model_learner(served->model)->rev; }

static void put_model_gauges(const cop_served_set *models, cop_bytes *out)
{
	static const struct {
		const char *name, *help;
		double (*of)(const cop_served *served);
	} rows[] = {
		{ "coppice_pending_decisions", "Decisions waiting for feedback.", pending_of },
		{ "coppice_stream_waiting_contexts", "Contexts waiting until the actions have a subscriber.",
		        waiting_of },
		{ "coppice_stream_waiting_bytes", "Memory that they take.", waiting_bytes_of },
		{ "coppice_revision", "Updates since the model began.", revision_of },
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
	char labels[LABELS];
	for (const cop_counter *row = cop_counter_tables_stream; !cop_counters_is_end(row); row++) {
		cop_counters_put_family(row, out);
		for (size_t i = 0; i < 2 * models->count; i++) {
			const cop_served *served = &models->items[i / 2];
			bool contexts = i % 2 == 0;
			(void)snprintf(labels, sizeof labels, "model=\"%s\",stream=\"%s\"", served->name,
			        contexts ? "contexts" : "feedback");
			cop_exposition_whole(out, row->metric, labels,
			        cop_counters_value(row, contexts ? &served->contexts : &served->feedback));
		}
	}
}

static void put_traffic(const cop_serving *serving, cop_bytes *out)
{
	cop_counters_put_metrics(cop_counter_tables_requests, serving, out);
	cop_counters_put_metrics(cop_counter_tables_streams, serving, out);
	cop_histogram_put(&serving->decide_durations, "coppice_decide_duration_seconds",
	        "Time from taking up a decide request to handing over its action.", out);
}

static void put_queued(const cop_serving *serving, const cop_inlet_state *state, cop_bytes *out)
{
	static const char name[] = "coppice_queued_bytes";
	uint64_t waiting = 0;
	for (size_t i = 0; i < serving->durable->models.count; i++)
		waiting += serving->durable->models.items[i].unheard.bytes;
	const struct {
		const char *label;
		uint64_t bytes;
	} queues[] = {
		{ "queue=\"unfinished\"", state->unfinished },
		{ "queue=\"received\"", state->queued },
		{ "queue=\"waiting\"", waiting },
		{ "queue=\"answers\"",
		        cop_outbox_bytes(&serving->outbox) + cop_outflow_answers(serving->sockets.outflow) },
		{ "queue=\"actions\"", cop_outflow_actions(serving->sockets.outflow) },
	};
	cop_exposition_family(out, name, COP_EXPOSITION_GAUGE, "Bytes queued, of queue_limit.");
	for (size_t i = 0; i < sizeof queues / sizeof *queues; i++)
		cop_exposition_whole(out, name, queues[i].label, queues[i].bytes);
}

static void put_connections(const cop_serving *serving, cop_bytes *out)
{
	static const char closed[] = "coppice_connections_closed_total";
	cop_inlet_state state;
	cop_inlet_look(serving->sockets.inlet, &state);
	put_queued(serving, &state, out);
	cop_exposition_lone_whole(out, "coppice_queue_limit_bytes", "What may be queued, as configured.",
	        serving->durable->config->queue_limit);
	cop_exposition_lone_whole(out, "coppice_connections", "Connections of ZeroMQ at present.", state.connections);
	cop_exposition_family(
	        out, closed, COP_EXPOSITION_COUNTER, "Connections closed because they broke a limit, by the limit.");
	for (size_t i = 0; i < COP_INLET_REASONS; i++) {
		char labels[LABELS];
		(void)snprintf(labels, sizeof labels, "reason=\"%s\"", cop_inlet_reason_text((cop_inlet_reason)i));
		cop_exposition_whole(out, closed, labels, state.closed[i]);
	}
	cop_exposition_lone_whole(
	        out, "coppice_subscriptions_ignored_total", "Subscriptions that no action can match.", state.ignored);
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

static void put_checkpoints(const cop_report *report, cop_bytes *out)
{
	const cop_checkpoint *c = &report->durable->checkpoint;
	cop_counters_put_metrics(cop_counter_tables_checkpoint, c, out);
	/* Before the first one, the state is as old as the process. */
	double since = c->at > 0.0 ? c->at : report->started;
	cop_exposition_lone_number(out, "coppice_checkpoint_age_seconds",
	        "Time since a checkpoint was written, or since the start when none was.",
	        cop_clock_monotonic() - since);
	cop_histogram_put(&c->durations, "coppice_checkpoint_duration_seconds",
	        "Time from taking the state to the file being on disk.", out);
}

static void put_journal(const cop_report *report, cop_bytes *out)
{
	const cop_journaler *journal = report->durable->journal;
	if (journal == NULL)
		return;
	const cop_journaler_counts *counts = cop_journaler_get_counts(journal);
	cop_counters_put_metrics(cop_counter_tables_journal, counts, out);
	cop_exposition_lone_whole(out, "coppice_journal_broken", "1 while feedback cannot be made durable.",
	        cop_journaler_broken(journal));
	cop_exposition_lone_whole(
	        out, "coppice_journal_lag_bytes", "Bytes put and not yet synced.", cop_journaler_lag(journal));
	cop_exposition_lone_whole(out, "coppice_answers_waiting", "Answers that wait for the journal.",
	        cop_outbox_count(&report->serving->outbox));
	cop_histogram_put(
	        &counts->sync_durations, "coppice_journal_sync_duration_seconds", "Time that fdatasync took.", out);
}

/* Under the names that all Prometheus clients use. */
static void put_process(const cop_report *report, cop_bytes *out)
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
	cop_exposition_lone_number(out, "process_start_time_seconds", "When it started, unix time.", report->born);
	cop_exposition_lone_number(out, "process_cpu_seconds_total", "Processor time spent.",
	        (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec);
	cop_exposition_lone_whole(out, "process_virtual_memory_bytes", "Address space in use.", pages[0] * page);
	cop_exposition_lone_whole(out, "process_resident_memory_bytes", "Memory in use.", pages[1] * page);
}

static void put_daemon(const cop_report *report, cop_bytes *out)
{
	cop_exposition_family(out, "coppice_build_info", COP_EXPOSITION_GAUGE, "Always 1; the version is the label.");
	cop_exposition_whole(out, "coppice_build_info", "version=\"" COP_VERSION "\"", 1);
	cop_exposition_lone_whole(out, "coppice_parked_models",
	        "Models that are kept in checkpoints but not configured.", report->durable->models.parked_count);
	cop_exposition_lone_whole(
	        out, "coppice_refit_running", "1 while a refit is under way.", report->refits->running != NULL);
	cop_exposition_lone_number(out, "coppice_clock_ahead_seconds",
	        "By how much the clock is ahead of event time while it is ignored; else 0.",
	        report->durable->clock.ahead);
	cop_exposition_lone_whole(out, "coppice_log_dropped_total",
	        "Log lines lost because the log's receiver was too slow.", cop_log_dropped(report->durable->log));
	cop_exposition_lone_whole(out, "coppice_scrapes_missed_total",
	        "Scrapes of this page that were not answered in time.", cop_http_missed(report->http));
}

void cop_metrics_put(const cop_report *report, cop_bytes *out)
{
	put_model_counters(&report->durable->models, out);
	put_outliers(&report->durable->models, out);
	put_unheard(&report->durable->models, out);
	put_unknown_names(&report->durable->models, out);
	put_model_gauges(&report->durable->models, out);
	cop_apprentice_body_metrics(&report->durable->models, out);
	cop_refit_metrics_put(&report->durable->models, out);
	put_model_streams(&report->durable->models, out);
	put_traffic(report->serving, out);
	put_connections(report->serving, out);
	put_codes("coppice_request_errors_total", "Requests answered with an error, by its code.",
	        report->serving->counts.codes, out);
	put_codes("coppice_request_item_errors_total", "Items of batches answered with an error, by its code.",
	        report->serving->counts.item_codes, out);
	put_checkpoints(report, out);
	put_journal(report, out);
	put_daemon(report, out);
	put_process(report, out);
}
