/* Every map is opened and closed with cop_wire_put_map_open and cop_wire_put_map_close, which count its entries, or
 * has one key for each value of an enumeration; keys that depend on the model's shape are left out where they do not
 * apply. Counters are read at one moment by the loop, so they agree with each other. */
#include "daemon/report/status_body.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "daemon/models/apprentice_body.h"
#include "daemon/models/control_body.h"
#include "daemon/models/losses_body.h"
#include "daemon/refit/refit_body.h"
#include "daemon/report/counter_tables.h"
#include "daemon/report/forget_body.h"
#include "daemon/report/partition_body.h"
#include "daemon/report/replica_body.h"
#include "wire/wire_context.h"
#include "wire/wire_put.h"

static void put_table(const char *key, const cop_counter *table, const void *of, cop_bytes *out)
{
	cop_wire_put_text(out, key);
	size_t map = cop_wire_put_map_open(out);
	cop_counters_put_status(table, of, out);
	cop_wire_put_map_close(out, map);
}

static void put_unheard(const cop_model_slot *slot, cop_bytes *out)
{
	const cop_unheard *unheard = &slot->unheard;
	cop_wire_put_text(out, "unheard");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "waiting", unheard->contexts);
	cop_wire_put_key_unsigned(out, "waiting_bytes", unheard->bytes);
	for (size_t i = 0; i < COP_UNHEARD_REASONS; i++) {
		char key[32];
		(void)snprintf(key, sizeof key, "dropped_%s", cop_unheard_reason_text((cop_unheard_reason)i));
		cop_wire_put_key_unsigned(out, key, unheard->dropped[i]);
	}
	cop_wire_put_key_unsigned(out, "decisions", slot->unheard_decisions);
	cop_wire_put_map_close(out, map);
}

static void put_words(const cop_model_counter *row, const cop_model_counters *c, cop_bytes *out)
{
	cop_wire_put_text(out, row->key);
	cop_wire_put_map(out, row->count);
	for (size_t i = 0; i < row->count; i++)
		cop_wire_put_key_unsigned(out, row->words[i], cop_model_counters_whole(c, row, i));
}

/* Either sums, or all others. */
static void put_counters(const cop_model_counters *c, bool sums, cop_bytes *out)
{
	for (size_t r = 0; r < COP_MODEL_COUNTERS; r++) {
		const cop_model_counter *row = &cop_model_counters_table[r];
		if (row->key == NULL || (row->kind == COP_MODEL_COUNTER_SUM) != sums)
			continue;
		if (sums)
			cop_wire_put_key_double(out, row->key, cop_model_counters_sum(c, row));
		else if (row->kind == COP_MODEL_COUNTER_WORDS)
			put_words(row, c, out);
		else
			cop_wire_put_key_unsigned(out, row->key, cop_model_counters_whole(c, row, 0));
	}
}

/* feature, its name and value: of the last outlier, when there was one. */
static void put_outliers(const cop_model_slot *slot, cop_bytes *out)
{
	cop_outliers outliers;
	cop_learner_outliers(cop_model_learner(slot->model), &outliers);
	cop_wire_put_text(out, "outliers");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "values", outliers.values);
	cop_wire_put_key_unsigned(out, "rescaled", outliers.rescaled);
	if (outliers.values > 0) {
		const char *name = cop_model_slot_feature_name(slot, outliers.feature);
		cop_wire_put_key_unsigned(out, "feature", outliers.feature);
		if (name != NULL)
			cop_wire_put_key_text(out, "name", name);
		cop_wire_put_key_double(out, "value", (double)outliers.value);
	}
	cop_wire_put_map_close(out, map);
}

static void put_model(const cop_report *report, const cop_model_slot *slot, cop_bytes *out)
{
	const cop_model_settings *s = cop_model_get_settings(slot->model);
	const cop_model_counters *c = cop_model_get_counters(slot->model);
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "name", slot->name);
	cop_wire_put_key_text(out, "learner", s->learner.learner);
	if (slot->shape.max_candidates > 0) {
		cop_wire_put_key_unsigned(out, "max_candidates", s->learner.max_candidates);
		cop_wire_put_key_unsigned(out, "candidate_features", s->learner.candidate_features);
	}
	if (s->learner.arms > 0) {
		cop_wire_put_key_unsigned(out, "arms", s->learner.arms);
	}
	if (!cop_wire_features_has_values(&slot->shape)) {
		cop_wire_put_key_text(out, "policy", s->learner.policy);
	} else {
		cop_wire_put_text(out, "value_range");
		cop_wire_put_array(out, 2);
		cop_wire_put_double(out, s->value_low);
		cop_wire_put_double(out, s->value_high);
		cop_wire_put_key_double(out, "delta", s->learner.delta);
		cop_wire_put_key_text(out, "feedback_points", cop_value_feedback_words[s->learner.feedback]);
	}
	cop_wire_put_key_unsigned(out, "features", s->learner.features);
	if (s->learner.features == 0) {
		cop_wire_put_key_unsigned(out, "bits", s->learner.bits);
	}
	cop_wire_put_key_unsigned(out, "rev", cop_model_learner(slot->model)->rev);
	cop_wire_put_key_unsigned(out, "pending", cop_model_pending(slot->model));
	cop_wire_put_key_unsigned(out, "pending_bytes", cop_model_pending_bytes(slot->model));
	put_counters(c, false, out);
	cop_wire_put_key_unsigned(out, "unknown_names", cop_model_slot_unknown_names(slot));
	put_counters(c, true, out);
	if (c->learned > 0) {
		cop_wire_put_key_double(out, "mean_loss", c->loss_sum / (double)c->learned);
	}
	if (slot->config->rate > 0) {
		cop_wire_put_key_unsigned(out, "rate", slot->config->rate);
		cop_wire_put_key_unsigned(out, "limited", slot->limited);
	}
	put_outliers(slot, out);
	put_table("contexts", cop_counter_tables_stream, &slot->contexts, out);
	put_table("feedback_stream", cop_counter_tables_stream, &slot->feedback, out);
	put_unheard(slot, out);
	cop_apprentice_body_status(slot, out);
	cop_control_body_status(slot, out);
	cop_losses_body_status(slot, out);
	cop_refit_body_status(report->refits, slot, out);
	cop_wire_put_map_close(out, map);
}

static void put_checkpoint(const cop_checkpoint *checkpoint, cop_bytes *out)
{
	cop_wire_put_text(out, "checkpoint");
	size_t map = cop_wire_put_map_open(out);
	cop_counters_put_status(cop_counter_tables_checkpoint, checkpoint, out);
	cop_wire_put_key_double(out, "seconds", checkpoint->seconds);
	if (checkpoint->time > 0.0)
		cop_wire_put_key_double(out, "age", cop_clock_real() - checkpoint->time);
	cop_wire_put_map_close(out, map);
}

static void put_journal_counts(const cop_journaler *journal, cop_bytes *out)
{
	cop_wire_put_key_unsigned(out, "next", cop_journaler_next(journal));
	cop_wire_put_key_unsigned(out, "committed", cop_journaler_committed(journal));
	cop_wire_put_key_unsigned(out, "durable", cop_journaler_durable(journal));
	cop_wire_put_key_unsigned(out, "lag_bytes", cop_journaler_lag(journal));
	cop_counters_put_status(cop_counter_tables_journal, cop_journaler_get_counts(journal), out);
}

static void put_journal(const cop_report *report, cop_bytes *out)
{
	const cop_journaler *journal = report->durable->journal;
	bool broken = journal != NULL && cop_journaler_broken(journal);
	cop_wire_put_text(out, "journal");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "state", journal == NULL ? "off" : broken ? "broken" : "ok");
	if (journal != NULL)
		put_journal_counts(journal, out);
	if (broken && report->durable->broken_logged)
		cop_wire_put_key_text(out, "reason", report->durable->broken_reason);
	cop_wire_put_map_close(out, map);
}

/* In bytes, but for connections. */
static void put_queues(const cop_report *report, cop_bytes *out)
{
	const cop_sockets *sockets = &report->serving->sockets;
	cop_inlet_state state;
	uint64_t waiting = 0;
	cop_inlet_look(sockets->inlet, &state);
	for (size_t i = 0; i < report->durable->models.count; i++)
		waiting += report->durable->models.items[i]->unheard.bytes;
	cop_wire_put_text(out, "queues");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "limit", report->durable->config->queue_limit);
	cop_wire_put_key_unsigned(out, "unfinished", state.unfinished);
	cop_wire_put_key_unsigned(out, "received", state.queued);
	cop_wire_put_key_unsigned(out, "waiting", waiting);
	cop_wire_put_key_unsigned(
	        out, "answers", cop_outbox_bytes(&report->serving->outbox) + cop_outflow_answers(sockets->outflow));
	cop_wire_put_key_unsigned(out, "actions", cop_outflow_actions(sockets->outflow));
	cop_wire_put_key_unsigned(out, "connections", state.connections);
	cop_wire_put_text(out, "closed");
	cop_wire_put_map(out, COP_INLET_REASONS);
	for (size_t i = 0; i < COP_INLET_REASONS; i++)
		cop_wire_put_key_unsigned(out, cop_inlet_reason_text((cop_inlet_reason)i), state.closed[i]);
	cop_wire_put_key_unsigned(out, "subscriptions_ignored", state.ignored);
	cop_wire_put_map_close(out, map);
}

static void put_api(const cop_api_counts *counts, cop_bytes *out)
{
	uint64_t requests = 0, refused = 0;
	for (size_t i = 0; i < COP_API_STATUSES; i++) {
		requests += counts->requests[i];
		refused += i >= 4 ? counts->requests[i] : 0;
	}
	cop_wire_put_text(out, "api");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "requests", requests);
	cop_wire_put_key_unsigned(out, "refused", refused);
	cop_wire_put_key_unsigned(out, "strangers", counts->strangers);
	cop_wire_put_key_unsigned(out, "forbidden", counts->forbidden);
	cop_wire_put_key_unsigned(out, "limited", counts->limited);
	cop_wire_put_key_unsigned(out, "unanswered", counts->unanswered);
	cop_wire_put_key_unsigned(out, "connections", counts->connections);
	cop_wire_put_key_unsigned(out, "ended", counts->ended);
	if (counts->certificate_ends != 0)
		cop_wire_put_key_unsigned(out, "certificate_ends", (uint64_t)counts->certificate_ends);
	cop_wire_put_map_close(out, map);
}

static void put_parked(const cop_model_table *models, cop_bytes *out)
{
	size_t count = 0;
	cop_wire_put_text(out, "parked");
	size_t at = cop_wire_put_array_open(out);
	for (size_t i = 0; i < models->parked_count; i++) {
		if (models->parked[i].refit)
			continue;
		cop_wire_put_text(out, models->parked[i].stored);
		count++;
	}
	cop_wire_put_array_close(out, at, count);
}

/* Absolute. */
static void put_state_dir(const cop_report *report, cop_bytes *out)
{
	char folder[PATH_MAX];
	const char *absolute = realpath(report->durable->config->state_dir, folder);
	cop_wire_put_key_text(out, "state_dir", absolute == NULL ? report->durable->config->state_dir : absolute);
}

void cop_status_body_put_state(const cop_report *report, cop_bytes *out)
{
	put_state_dir(report, out);
	put_journal(report, out);
}

void cop_status_body_put(const cop_report *report, const cop_model_slot *only, const cop_wire_seq *seq, cop_bytes *out)
{
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "version", COP_VERSION);
	cop_wire_put_key_unsigned(out, "pid", (uint64_t)getpid());
	cop_wire_put_key_double(out, "uptime", cop_clock_monotonic() - report->started);
	put_state_dir(report, out);
	cop_wire_put_key_unsigned(out, "message_limit", report->durable->config->message_limit);
	cop_wire_put_text(out, "models");
	cop_wire_put_array(out, only != NULL ? 1 : report->durable->models.count);
	for (size_t i = 0; i < report->durable->models.count; i++)
		if (only == NULL || only == report->durable->models.items[i])
			put_model(report, report->durable->models.items[i], out);
	put_parked(&report->durable->models, out);
	put_table("requests", cop_counter_tables_requests, report->serving, out);
	put_table("streams", cop_counter_tables_streams, report->serving, out);
	put_queues(report, out);
	if (report->api != NULL)
		put_api(cop_api_look(report->api), out);
	put_table("past", cop_counter_tables_past, &report->past->counts, out);
	put_journal(report, out);
	put_checkpoint(&report->durable->checkpoint, out);
	cop_forget_body_status(report->forgetting, out);
	cop_replica_body_status(report->replica, report->serving->until, out);
	cop_partition_body_status(&report->serving->partition, report->merge, out);
	if (report->durable->clock.ahead > 0.0)
		cop_wire_put_key_double(out, "clock_ahead", report->durable->clock.ahead);
	cop_wire_put_key_unsigned(out, "log_dropped", cop_log_dropped(report->durable->log));
	cop_wire_seq_put(out, seq);
	cop_wire_put_map_close(out, map);
}
