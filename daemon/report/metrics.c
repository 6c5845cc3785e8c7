/* One function for each part of the daemon, called in the order of the page; simple counters are rows of
 * tables (counters.h, online/model_counters.h). All samples of a family stand together, so models are the inner loop.
 */
#include "daemon/report/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "daemon/common/exposition.h"
#include "daemon/models/apprentice_body.h"
#include "daemon/models/arm_label.h"
#include "daemon/models/control_body.h"
#include "daemon/models/losses_body.h"
#include "daemon/report/counter_tables.h"
#include "daemon/report/partition_body.h"
#include "daemon/report/replica_body.h"
#include "online/model_shadow.h"

#define LABELS (COP_CONFIG_NAME_MAX + 64)

static const char *model_label(const cop_model_slot *slot, char *out)
{
	(void)snprintf(out, LABELS, "model=\"%s\"", slot->name);
	return out;
}

/* Since serving began. */
static void put_counter(
        const cop_model_slot *slot, const cop_model_counter *row, const cop_metric *metric, cop_bytes *out)
{
	const cop_model_counters *now = cop_model_get_counters(slot->model);
	const cop_model_counters *before = &slot->before;
	char labels[LABELS];
	(void)model_label(slot, labels);
	if (row->kind == COP_MODEL_COUNTER_SUM)
		cop_exposition_number(
		        out, metric, labels, cop_model_counters_sum(now, row) - cop_model_counters_sum(before, row));
	if (row->kind == COP_MODEL_COUNTER_WHOLE)
		cop_exposition_whole(out, metric, labels,
		        cop_model_counters_whole(now, row, 0) - cop_model_counters_whole(before, row, 0));
	for (size_t i = 0; i < row->count; i++) {
		(void)snprintf(labels, sizeof labels, "model=\"%s\",%s=\"%s\"", slot->name, row->label, row->words[i]);
		cop_exposition_whole(out, metric, labels,
		        cop_model_counters_whole(now, row, i) - cop_model_counters_whole(before, row, i));
	}
}

static void put_model_counters(const cop_model_table *models, cop_bytes *out)
{
	for (size_t r = 0; r < COP_MODEL_COUNTERS; r++) {
		const cop_model_counter *row = &cop_model_counters_table[r];
		if (row->metric == NULL)
			continue;
		const cop_metric *metric = cop_metric_find(row->metric);
		cop_exposition_family(out, metric);
		for (size_t i = 0; i < models->count; i++)
			put_counter(models->items[i], row, metric, out);
	}
}

/* A family with a sample of each model; of_word: one for each word of a label. */
typedef struct model_family {
	const cop_metric *metric;
	double (*of)(const cop_model_slot *slot);
	double (*of_word)(const cop_model_slot *slot, unsigned word);
	const char *label;
	const char *(*text)(unsigned word);
	unsigned first, end; /* words */
} model_family;

/* A promotion may go back to a learner that has seen fewer: to readers a counter that began anew. */
static double outliers_of(const cop_model_slot *slot)
{
	cop_outliers now;
	cop_learner_outliers(cop_model_learner(slot->model), &now);
	uint64_t before = slot->outliers_before.values;
	return (double)(now.values < before ? now.values : now.values - before);
}

static double dropped_of(const cop_model_slot *slot, unsigned word) { return (double)slot->unheard.dropped[word]; }
static const char *dropped_text(unsigned word) { return cop_unheard_reason_text((cop_unheard_reason)word); }
static double limited_of(const cop_model_slot *slot) { return (double)slot->limited; }
static double unheard_of(const cop_model_slot *slot) { return (double)slot->unheard_decisions; }
static double unknown_names_of(const cop_model_slot *slot) { return (double)cop_model_slot_unknown_names(slot); }
static double pending_of(const cop_model_slot *slot) { return (double)cop_model_pending(slot->model); }
static double waiting_of(const cop_model_slot *slot) { return (double)slot->unheard.contexts; }
static double waiting_bytes_of(const cop_model_slot *slot) { return (double)slot->unheard.bytes; }
static double revision_of(const cop_model_slot *slot) { return (double)cop_model_learner(slot->model)->rev; }

static const model_family model_families[] = {
	{ COP_METRIC(coppice_outliers_total), .of = outliers_of },
	{ COP_METRIC(coppice_stream_unheard_total), .of_word = dropped_of, .label = "reason", .text = dropped_text,
	        .end = COP_UNHEARD_REASONS },
	{ COP_METRIC(coppice_unheard_decisions_total), .of = unheard_of },
	{ COP_METRIC(coppice_model_limited_total), .of = limited_of },
	{ COP_METRIC(coppice_unknown_names_total), .of = unknown_names_of },
	{ COP_METRIC(coppice_pending_decisions), .of = pending_of },
	{ COP_METRIC(coppice_stream_waiting_contexts), .of = waiting_of },
	{ COP_METRIC(coppice_stream_waiting_bytes), .of = waiting_bytes_of },
	{ COP_METRIC(coppice_revision), .of = revision_of },
};

/* Arms by their names, where they have some. */
static void put_slot_arms(const cop_metric *metric, const cop_model_slot *slot, const uint64_t *counts, cop_bytes *out)
{
	char labels[COP_ARM_LABEL_ROOM];
	for (size_t i = 0; i < slot->counted_arms; i++) {
		cop_arm_label(slot, i, labels);
		cop_exposition_whole(out, metric, labels, counts[i]);
	}
}

static void put_arms(const cop_model_table *models, cop_bytes *out)
{
	const cop_metric *all = COP_METRIC(coppice_arm_decisions_total);
	const cop_metric *baseline = COP_METRIC(coppice_arm_baseline_decisions_total);
	cop_exposition_family(out, all);
	for (size_t m = 0; m < models->count; m++)
		put_slot_arms(all, models->items[m], models->items[m]->arm_decisions, out);
	cop_exposition_family(out, baseline);
	for (size_t m = 0; m < models->count; m++)
		if (cop_model_control(models->items[m]->model)->terms.share > 0.0)
			put_slot_arms(baseline, models->items[m], models->items[m]->arm_baseline, out);
}

/* ---- refits ---- */

static double enabled_of(const cop_model_slot *slot) { return slot->config->refit.enabled; }
static double ended_of(const cop_model_slot *slot, unsigned word) { return (double)slot->refit.outcomes[word]; }
static const char *ended_text(unsigned word) { return cop_worker_outcome_text((cop_worker_outcome)word); }
static double spent_of(const cop_model_slot *slot) { return slot->refit.spent_total; }
static double promotions_of(const cop_model_slot *slot, unsigned word) { return (double)slot->refit.promotions[word]; }
static const char *promotions_text(unsigned word) { return cop_wire_promotion_text((cop_wire_promotion)word); }

static cop_promotion_test_roles roles_of(const cop_model_slot *slot)
{
	cop_promotion_test_roles roles;
	cop_model_shadow_roles(slot->model, &roles);
	return roles;
}

static cop_promotion_test_summary evidence_on(const cop_model_slot *slot)
{
	cop_model_evidence is;
	cop_model_get_evidence(slot->model, &is);
	return is.summary;
}

static double shadow_of(const cop_model_slot *slot) { return roles_of(slot).shadow; }
static double serving_of(const cop_model_slot *slot) { return roles_of(slot).promoted; }
static double frozen_of(const cop_model_slot *slot) { return roles_of(slot).frozen; }
static double events_of(const cop_model_slot *slot) { return (double)evidence_on(slot).events; }

static double verdict_of(const cop_model_slot *slot)
{
	static const double values[] = {
		[COP_PROMOTION_TEST_OPEN] = 0.0, [COP_PROMOTION_TEST_BETTER] = 1.0, [COP_PROMOTION_TEST_WORSE] = -1.0
	};
	return values[roles_of(slot).verdict];
}

/* NaN: not known yet. */
static double gain_of(const cop_model_slot *slot)
{
	const cop_promotion_test_summary e = evidence_on(slot);
	return e.events > 0 ? e.value[COP_PROMOTION_TEST_DR] : (double)NAN;
}

static double low_of(const cop_model_slot *slot)
{
	const cop_promotion_test_summary e = evidence_on(slot);
	return e.events > 0 ? e.low[COP_PROMOTION_TEST_DR] : (double)NAN;
}

static double high_of(const cop_model_slot *slot)
{
	const cop_promotion_test_summary e = evidence_on(slot);
	return e.events > 0 ? e.high[COP_PROMOTION_TEST_DR] : (double)NAN;
}

/* Counters begin with the process, evidence is of the model's state. */
static const model_family refit_families[] = {
	{ COP_METRIC(coppice_refits_enabled), .of = enabled_of },
	{ COP_METRIC(coppice_refits_total), .of_word = ended_of, .label = "outcome", .text = ended_text,
	        .end = COP_WORKER_OUTCOMES },
	{ COP_METRIC(coppice_refit_processor_seconds_total), .of = spent_of },
	{ COP_METRIC(coppice_promotions_total), .of_word = promotions_of, .label = "kind", .text = promotions_text,
	        COP_WIRE_PROMOTION_NONE + 1, COP_WIRE_PROMOTIONS },
	{ COP_METRIC(coppice_shadow_learners), .of = shadow_of },
	{ COP_METRIC(coppice_challenger_serving), .of = serving_of },
	{ COP_METRIC(coppice_frozen), .of = frozen_of },
	{ COP_METRIC(coppice_shadow_events), .of = events_of },
	{ COP_METRIC(coppice_shadow_verdict), .of = verdict_of },
	{ COP_METRIC(coppice_shadow_gain), .of = gain_of },
	{ COP_METRIC(coppice_shadow_gain_low), .of = low_of },
	{ COP_METRIC(coppice_shadow_gain_high), .of = high_of },
};

static void put_family(const model_family *family, const cop_model_table *models, cop_bytes *out)
{
	char labels[LABELS];
	cop_exposition_family(out, family->metric);
	for (size_t i = 0; i < models->count; i++) {
		const cop_model_slot *slot = models->items[i];
		if (family->of != NULL)
			cop_exposition_number(out, family->metric, model_label(slot, labels), family->of(slot));
		for (unsigned word = family->first; word < family->end; word++) {
			(void)snprintf(labels, sizeof labels, "model=\"%s\",%s=\"%s\"", slot->name, family->label,
			        family->text(word));
			cop_exposition_number(out, family->metric, labels, family->of_word(slot, word));
		}
	}
}

static void put_families(const model_family *family, size_t count, const cop_model_table *models, cop_bytes *out)
{
	for (size_t i = 0; i < count; i++)
		put_family(&family[i], models, out);
}

/* ---- of the daemon ---- */

static void put_model_streams(const cop_model_table *models, cop_bytes *out)
{
	char labels[LABELS];
	for (const cop_counter *row = cop_counter_tables_stream; !cop_counters_is_end(row); row++) {
		cop_exposition_family(out, row->metric);
		for (size_t i = 0; i < 2 * models->count; i++) {
			const cop_model_slot *slot = models->items[i / 2];
			bool contexts = i % 2 == 0;
			(void)snprintf(labels, sizeof labels, "model=\"%s\",stream=\"%s\"", slot->name,
			        contexts ? "contexts" : "feedback");
			cop_exposition_whole(out, row->metric, labels,
			        cop_counters_value(row, contexts ? &slot->contexts : &slot->feedback));
		}
	}
}

static void put_traffic(const cop_serving *serving, cop_bytes *out)
{
	cop_counters_put_metrics(cop_counter_tables_requests, serving, out);
	cop_counters_put_metrics(cop_counter_tables_streams, serving, out);
	cop_histogram_put(&serving->decide_durations, COP_METRIC(coppice_decide_duration_seconds), out);
}

static void put_queued(const cop_serving *serving, const cop_inlet_state *state, cop_bytes *out)
{
	const cop_metric *metric = COP_METRIC(coppice_queued_bytes);
	uint64_t waiting = 0;
	for (size_t i = 0; i < serving->durable->models.count; i++)
		waiting += serving->durable->models.items[i]->unheard.bytes;
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
	cop_exposition_family(out, metric);
	for (size_t i = 0; i < sizeof queues / sizeof *queues; i++)
		cop_exposition_whole(out, metric, queues[i].label, queues[i].bytes);
}

static void put_connections(const cop_serving *serving, cop_bytes *out)
{
	const cop_metric *closed = COP_METRIC(coppice_connections_closed_total);
	cop_inlet_state state;
	cop_inlet_look(serving->sockets.inlet, &state);
	put_queued(serving, &state, out);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_queue_limit_bytes), serving->durable->config->queue_limit);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_connections), state.connections);
	cop_exposition_family(out, closed);
	for (size_t i = 0; i < COP_INLET_REASONS; i++) {
		char labels[LABELS];
		(void)snprintf(labels, sizeof labels, "reason=\"%s\"", cop_inlet_reason_text((cop_inlet_reason)i));
		cop_exposition_whole(out, closed, labels, state.closed[i]);
	}
	cop_exposition_lone_whole(out, COP_METRIC(coppice_subscriptions_ignored_total), state.ignored);
}

static void put_codes(const cop_metric *metric, const uint64_t *codes, cop_bytes *out)
{
	cop_exposition_family(out, metric);
	for (unsigned code = COP_WIRE_OK + 1; code < COP_WIRE_CODE_COUNT; code++) {
		char labels[LABELS];
		(void)snprintf(labels, sizeof labels, "code=\"%s\"", cop_wire_code_text((cop_wire_code)code));
		cop_exposition_whole(out, metric, labels, codes[code]);
	}
}

static void put_checkpoints(const cop_report *report, cop_bytes *out)
{
	const cop_checkpoint *c = &report->durable->checkpoint;
	cop_counters_put_metrics(cop_counter_tables_checkpoint, c, out);
	/* Before the first one, the state is as old as the process. */
	double since = c->at > 0.0 ? c->at : report->started;
	cop_exposition_lone_number(out, COP_METRIC(coppice_checkpoint_age_seconds), cop_clock_monotonic() - since);
	cop_histogram_put(&c->durations, COP_METRIC(coppice_checkpoint_duration_seconds), out);
}

static void put_journal(const cop_report *report, cop_bytes *out)
{
	const cop_journaler *journal = report->durable->journal;
	if (journal == NULL)
		return;
	const cop_journaler_counts *counts = cop_journaler_get_counts(journal);
	cop_counters_put_metrics(cop_counter_tables_journal, counts, out);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_journal_broken), cop_journaler_broken(journal));
	cop_exposition_lone_whole(out, COP_METRIC(coppice_journal_lag_bytes), cop_journaler_lag(journal));
	cop_exposition_lone_whole(out, COP_METRIC(coppice_answers_waiting), cop_outbox_count(&report->serving->outbox));
	cop_histogram_put(&counts->sync_durations, COP_METRIC(coppice_journal_sync_duration_seconds), out);
}

static void put_api(const cop_api_counts *counts, cop_bytes *out)
{
	cop_exposition_family(out, COP_METRIC(coppice_api_requests_total));
	for (unsigned i = 2; i < COP_API_STATUSES; i++) {
		char labels[32];
		(void)snprintf(labels, sizeof labels, "status=\"%uxx\"", i);
		if (i != 3)
			cop_exposition_whole(out, COP_METRIC(coppice_api_requests_total), labels, counts->requests[i]);
	}
	cop_exposition_family(out, COP_METRIC(coppice_api_refused_total));
	cop_exposition_whole(out, COP_METRIC(coppice_api_refused_total), "reason=\"token\"", counts->strangers);
	cop_exposition_whole(out, COP_METRIC(coppice_api_refused_total), "reason=\"right\"", counts->forbidden);
	cop_exposition_whole(out, COP_METRIC(coppice_api_refused_total), "reason=\"limit\"", counts->limited);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_api_unanswered_total), counts->unanswered);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_api_connections), counts->connections);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_api_connections_ended_total), counts->ended);
	int64_t ends = counts->certificate_ends;
	cop_exposition_lone_whole(out, COP_METRIC(coppice_api_certificate_ends_seconds), (uint64_t)ends);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_api_certificate_ends_soon),
	        ends != 0 && (double)ends - cop_clock_real() < COP_CERTIFICATE_SOON);
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
	cop_exposition_lone_number(out, COP_METRIC(process_start_time_seconds), report->born);
	cop_exposition_lone_number(
	        out, COP_METRIC(process_cpu_seconds_total), (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec);
	cop_exposition_lone_whole(out, COP_METRIC(process_virtual_memory_bytes), pages[0] * page);
	cop_exposition_lone_whole(out, COP_METRIC(process_resident_memory_bytes), pages[1] * page);
}

static void put_daemon(const cop_report *report, cop_bytes *out)
{
	cop_exposition_family(out, COP_METRIC(coppice_build_info));
	cop_exposition_whole(out, COP_METRIC(coppice_build_info), "version=\"" COP_VERSION "\"", 1);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_parked_models), report->durable->models.parked_count);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_refit_running), report->refits->running != NULL);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_forget_orders), report->forgetting->waiting);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_forget_done_total), report->forgetting->done);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_forget_failures_total), report->forgetting->failed);
	cop_exposition_lone_number(out, COP_METRIC(coppice_clock_ahead_seconds), report->durable->clock.ahead);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_log_dropped_total), cop_log_dropped(report->durable->log));
	cop_exposition_lone_whole(out, COP_METRIC(coppice_scrapes_missed_total), cop_http_missed(report->http));
}

void cop_metrics_put(const cop_report *report, cop_bytes *out)
{
	const cop_model_table *models = &report->durable->models;
	put_model_counters(models, out);
	put_families(model_families, sizeof model_families / sizeof *model_families, models, out);
	put_arms(models, out);
	cop_apprentice_body_metrics(models, out);
	cop_control_body_metrics(models, out);
	cop_losses_body_metrics(models, out);
	put_families(refit_families, sizeof refit_families / sizeof *refit_families, models, out);
	put_model_streams(models, out);
	put_traffic(report->serving, out);
	put_connections(report->serving, out);
	put_api(cop_api_look(report->api), out);
	cop_counters_put_metrics(cop_counter_tables_past, &report->past->counts, out);
	put_codes(COP_METRIC(coppice_request_errors_total), report->serving->counts.codes, out);
	put_codes(COP_METRIC(coppice_request_item_errors_total), report->serving->counts.item_codes, out);
	put_checkpoints(report, out);
	put_journal(report, out);
	cop_replica_body_metrics(report->replica, report->serving->until, out);
	cop_partition_body_metrics(&report->serving->partition, report->merge, out);
	put_daemon(report, out);
	put_process(report, out);
}
