/* The new configuration is read and compared as a whole before anything changes: what may change in a living model is
 * applied, what needs a restart is named, and what a restart would refuse is found by a trial (durable/trial.h). */
#include "daemon/reload.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/common/clock.h"
#include "daemon/durable/trial.h"
#include "wire/wire_put.h"

static size_t count_changes(const cop_config_changes *changes, cop_config_change_kind kind)
{
	size_t count = 0;
	for (size_t i = 0; i < changes->count; i++)
		count += changes->items[i].kind == kind;
	return count;
}

static void put_changes(const cop_config_changes *changes, cop_config_change_kind kind, cop_bytes *body)
{
	static const char *const names[] = { "applied", "restart", "refused" };
	size_t count = 0;
	cop_wire_put_text(body, names[kind]);
	size_t at = cop_wire_put_array_open(body);
	for (size_t i = 0; i < changes->count; i++) {
		if (changes->items[i].kind != kind)
			continue;
		cop_wire_put_text(body, changes->items[i].text);
		count++;
	}
	cop_wire_put_array_close(body, at, count);
}

/* All that is wrong, as far as one message holds it; the log gets every line. */
static void report_fault(cop_server *server, const cop_config_report *report, cop_wire_fault *fault)
{
	char all[sizeof fault->message] = "";
	size_t used = 0;
	for (size_t i = 0; i < report->count; i++) {
		char line[COP_LOG_LINE];
		cop_diag_text(&report->items[i], line, sizeof line);
		cop_log_line(server->log, COP_LOG_EVENT(config_wrong), "reason=\"%s\"", line);
		if (used < sizeof all)
			used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i == 0 ? "" : "; ", line);
	}
	(void)cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "configuration: %s", all);
}

/* Whether both have the option, with the same file: what is in it may be exchanged; another file takes a restart. */
static bool is_same_file(const char *now, const char *next)
{
	return now != NULL && next != NULL && strcmp(now, next) == 0;
}

typedef struct access_change {
	cop_config_changes *changes;
	const char *option;
} access_change;

/* Short of memory the change is not reported. */
static void note(void *context, const char *what, const char *how)
{
	const access_change *c = context;
	cop_config_change *change = cop_config_changes_add(c->changes, COP_CHANGE_APPLIED, "");
	if (change != NULL)
		(void)snprintf(change->text, sizeof change->text, "%s: %s %s", c->option, what, how);
}

/* The same file, read again. Whether tokens are asked for at all changes only with the addresses, by a restart. */
static void take_tokens(cop_server *server, cop_config *next, cop_config_changes *changes)
{
	access_change c = { changes, "api.tokens" };
	if (!is_same_file(server->config->api_tokens, next->api_tokens))
		return;
	cop_access_compare(cop_api_access(server->api), next->api_access, note, &c);
	cop_api_set_access(server->api, &next->api_access);
}

/* A certificate that was renewed in the same files. */
static void take_certificate(cop_server *server, cop_config *next, cop_config_changes *changes)
{
	access_change c = { changes, "api.certificate" };
	if (!is_same_file(server->config->api_certificate, next->api_certificate) ||
	        !is_same_file(server->config->api_key, next->api_key) || next->api_pair == NULL)
		return;
	if (cop_certificate_ends(next->api_pair) != cop_api_look(server->api)->certificate_ends)
		note(&c, "the file's pair", "was exchanged");
	cop_api_set_certificate(server->api, &next->api_pair);
}

/* The same for keys of clients. */
static void take_clients(cop_server *server, cop_config *next, cop_config_changes *changes)
{
	access_change c = { changes, "curve.clients" };
	if (!is_same_file(server->config->curve_clients, next->curve_clients))
		return;
	cop_access_compare(server->config->curve_access, next->curve_access, note, &c);
	cop_sockets_set_clients(&server->serving.sockets, server->config, &next->curve_access);
}

/* ---- what was read, over what is served ---- */

static bool any_of(const cop_config_changes *changes, cop_config_change_of of)
{
	for (size_t i = 0; i < changes->count; i++)
		if (changes->items[i].of == of && changes->items[i].kind == COP_CHANGE_APPLIED)
			return true;
	return false;
}

cop_err cop_reload_compare(cop_server *server, const cop_config *next, cop_config_changes *changes)
{
	cop_err err = cop_config_diff(server->config, next, changes);
	return err == COP_OK ? cop_trial_changes(&server->durable.models, server->config, next, changes) : err;
}

/* A model is no longer served, or by another slot. */
static void tell_gone(cop_server *server, cop_model_slot *slot)
{
	cop_model_slot *now = cop_model_table_find_stored(&server->durable.models, slot->stored, strlen(slot->stored));
	if (now != NULL) {
		const cop_model_size was = cop_model_slot_size(slot), is = cop_model_slot_size(now);
		/* Loaded into a learner of the arms that there were, or fitted to fewer features. */
		if (cop_refits_is_loading(&server->refits) || is.features > was.features)
			cop_refits_forget(&server->refits, slot);
		cop_refits_move(&server->refits, slot, now);
		if (is.arms > was.arms)
			cop_log_line(server->log, COP_LOG_EVENT(arms_added), "model=%s arms=%zu were=%zu", slot->name,
			        is.arms, was.arms);
		if (is.features > was.features)
			cop_log_line(server->log, COP_LOG_EVENT(features_added), "model=%s features=%zu were=%zu",
			        slot->name, is.features, was.features);
		return;
	}
	cop_refits_forget(&server->refits, slot);
	if (slot->unheard.contexts > 0)
		cop_log_line(server->log, COP_LOG_EVENT(contexts_left), "model=%s contexts=%zu", slot->name,
		        slot->unheard.contexts);
	cop_log_line(server->log, COP_LOG_EVENT(model_ended), "model=%s decisions=%" PRIu64, slot->name,
	        cop_model_get_counters(slot->model)->decisions);
}

static void let_go(void *context, cop_model_slot *slot)
{
	cop_server *server = context;
	tell_gone(server, slot);
	cop_slot_bin_put(&server->bin, slot);
}

cop_err cop_reload_prepare(cop_server *server, const cop_config *next, cop_config_changes *changes,
        cop_model_exchange *exchange, cop_diag *diag)
{
	*exchange = (cop_model_exchange){ 0 };
	/* What a removed model has learned must be in a checkpoint: a start passes over records of models that are not
	 * there. */
	cop_err err = any_of(changes, COP_CHANGE_REMOVES) ? cop_durability_checkpoint(&server->durable, diag) : COP_OK;
	if (err == COP_OK)
		err = cop_model_exchange_begin(exchange, &server->durable.models, next, changes);
	if (err == COP_OK) {
		cop_model_exchange_make(exchange, next, changes, server->log);
		err = cop_model_exchange_made(exchange);
	}
	if (err == COP_OK)
		err = cop_model_exchange_ready(exchange, next, changes);
	if (err != COP_OK)
		cop_model_exchange_drop(exchange);
	return err;
}

cop_err cop_reload_apply(
        cop_server *server, cop_config *next, cop_config_changes *changes, cop_model_exchange *exchange)
{
	const cop_log_event events[] = { COP_LOG_EVENT(reload_applied), COP_LOG_EVENT(reload_needs_restart),
		COP_LOG_EVENT(reload_restart_refused) };
	bool added = any_of(changes, COP_CHANGE_ADDS) || any_of(changes, COP_CHANGE_RENEWS);
	bool others = added || any_of(changes, COP_CHANGE_REMOVES);
	char unknown[COP_CONFIG_UNKNOWN];
	for (size_t i = 0; cop_config_unknown_model(next, i, unknown); i++)
		cop_log_line(server->log, COP_LOG_EVENT(access_unknown_model), "reason=\"%s\"", unknown);
	cop_err err = cop_config_apply(server->config, next, changes);
	if (err != COP_OK)
		return err;
	cop_model_exchange_take(exchange, server->config, let_go, server);
	take_tokens(server, next, changes);
	take_certificate(server, next, changes);
	take_clients(server, next, changes);
	cop_model_table_reconfigure(&server->durable.models, server->config, server->log);
	cop_durability_record_config(&server->durable);
	if (others || any_of(changes, COP_CHANGE_GROWS))
		cop_sockets_models_changed(&server->serving.sockets, added);
	cop_refits_announce(&server->refits);
	cop_log_set_level(server->log, server->config->log_level);
	double now = cop_clock_monotonic(), due = now + 1e-6 * (double)server->config->checkpoint_every;
	/* Further arms come again with the record: their model's state, which may be large, waits for the next one.
	 * What was removed is in the last one. */
	server->durable.next_checkpoint = added ? now : fmin(server->durable.next_checkpoint, due);
	for (size_t i = 0; i < changes->count; i++)
		cop_log_line(server->log, events[changes->items[i].kind], "change=\"%s\"", changes->items[i].text);
	return COP_OK;
}

cop_err cop_reload_read(cop_server *server, const cop_live_changes *live, cop_config **next, cop_wire_fault *fault)
{
	cop_config_report report;
	cop_config_report_init(&report);
	const cop_config_origin origin = { .live = server->config, .changes = live };
	cop_err err = cop_config_load(server->config_path, &origin, next, &report);
	if (err != COP_OK) {
		report_fault(server, &report, fault);
		err = COP_EINVAL;
	}
	cop_config_report_fini(&report);
	return err;
}

cop_err cop_reload_fault(const char *what, cop_err err, const cop_diag *why, cop_wire_fault *fault)
{
	char text[sizeof why->source + sizeof why->message];
	cop_diag_text(why, text, sizeof text);
	(void)cop_wire_fault_set(
	        fault, COP_WIRE_INTERNAL, "%s: %.300s", what, why->message[0] != '\0' ? text : cop_err_text(err));
	return err;
}

void cop_reload_put(const cop_config_changes *changes, const cop_wire_seq *seq, cop_bytes *body)
{
	size_t map = cop_wire_put_map_open(body);
	put_changes(changes, COP_CHANGE_APPLIED, body);
	put_changes(changes, COP_CHANGE_RESTART, body);
	if (count_changes(changes, COP_CHANGE_REFUSED) > 0)
		put_changes(changes, COP_CHANGE_REFUSED, body);
	cop_wire_seq_put(body, seq);
	cop_wire_put_map_close(body, map);
}

void cop_reload_tell_begin(void) { cop_notify_reloading(cop_clock_monotonic_us()); }

void cop_reload_tell_end(cop_server *server, const cop_config_changes *changes, cop_err err)
{
	cop_log_line(server->log, err == COP_OK ? COP_LOG_EVENT(reload) : COP_LOG_EVENT_WORSE(reload),
	        "result=%s changes=%zu", err == COP_OK ? "ok" : "refused", changes->count);
	cop_notify_ready("serving");
}

cop_err cop_reload(cop_server *server, const cop_wire_seq *seq, cop_bytes *body, cop_wire_fault *fault)
{
	cop_config *next = NULL;
	cop_config_changes changes = { 0 };
	cop_model_exchange exchange = { 0 };
	cop_diag why = { 0 };
	cop_reload_tell_begin();
	cop_err err = cop_reload_read(server, NULL, &next, fault);
	if (err == COP_OK) {
		err = cop_reload_compare(server, next, &changes);
		if (err == COP_OK)
			err = cop_reload_prepare(server, next, &changes, &exchange, &why);
		if (err == COP_OK)
			err = cop_reload_apply(server, next, &changes, &exchange);
		if (err != COP_OK)
			err = cop_reload_fault("reload", err, &why, fault);
	}
	if (err == COP_OK)
		cop_reload_put(&changes, seq, body);
	cop_reload_tell_end(server, &changes, err);
	cop_model_exchange_drop(&exchange);
	cop_config_changes_free(&changes);
	cop_config_free(next);
	return err;
}
