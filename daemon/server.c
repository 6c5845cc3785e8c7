/* A turn of the loop drains each socket up to a budget, so that no socket starves another, then looks at the timers;
 * only a turn that found nothing waits. The budget begins with one message after a wait, so that the answer to a lone
 * one leaves at once, and doubles while there are more, so that under load one write to the journal covers many. */
#include "daemon/server.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/durable/healing.h"
#include "daemon/durable/recovery.h"
#include "daemon/durable/trial.h"
#include "daemon/report/metrics.h"
#include "daemon/common/clock.h"
#include "daemon/models/model_set.h"
#include "daemon/serve/request.h"
#include "daemon/common/signals.h"
#include "daemon/serve/streams.h"
#include "daemon/serve/zmtp.h"
#include "online/model_record.h"
#include "store/state_dir.h"
#include "wire/wire_context.h"
#include "wire/wire_put.h"

#define BUDGET 64 /* most messages of one socket in a turn */
/* Reward windows ended in a turn, for each model, and two more for each of its decisions. */
#define EXPIRE_BUDGET 256
#define TURN_SHARE    64  /* the part of queue_limit that a turn's answers may take */
#define IDLE_MS       100 /* longest wait: reward windows end at most this late */
#define COMPLAINTS    5.0 /* about streams: a second, and at once */
#define ASIDES        16  /* turns between looks at signals and subscriptions while messages keep coming */
#define LAST_SECONDS  2.0 /* at the stop, for messages that had arrived */

static cop_err open_http(cop_server *server, cop_diag *diag)
{
	const char *listen = server->config->http_listen;
	if (listen == NULL)
		return COP_OK;
	cop_err err = cop_http_open(listen, &server->http, diag);
	if (err == COP_OK)
		cop_log_line(server->log, COP_LOG_NOTICE, "http", "listen=\"%s\"", listen);
	return err;
}

void cop_server_record_config(cop_server *server)
{
	cop_bytes text;
	cop_bytes models;
	cop_bytes_init(&text);
	cop_bytes_init(&models);
	cop_config_print(server->config, &text);
	size_t left_out = cop_model_set_put(server->config, &models);
	cop_wire_record record = {
		.time = server->time,
		.text = (const char *)text.data,
		.text_length = text.length,
		.models = models.data,
		.models_length = models.length,
	};
	if (text.err == COP_OK && models.err == COP_OK)
		(void)cop_journaler_put(server->journal, COP_WIRE_RECORD_CONFIG, &record);
	if (left_out > 0 && models.err == COP_OK)
		cop_log_line(server->log, COP_LOG_WARNING, "journal_models", "left_out=%zu", left_out);
	cop_journaler_set_models(server->journal, server->config);
	cop_bytes_fini(&text);
	cop_bytes_fini(&models);
}

/* Event time goes on from the newest record's. */
static void start_clock(cop_server *server, const cop_server_options *options, double newest)
{
	double tolerance = options->trust_clock ? 0.0 : 1e-6 * (double)server->config->clock_tolerance;
	cop_event_clock_start(&server->clock, newest, tolerance);
	server->time = cop_event_clock_now(&server->clock);
	if (server->clock.ahead > 0.0)
		cop_log_line(server->log, COP_LOG_WARNING, "clock_ahead",
		        "seconds=%.0f tolerance=%.0f reason=\"the clock is far ahead of the newest record; no reward "
		        "window ends by it until it is set right, or clock_tolerance raised and reloaded, or a start "
		        "with --trust-clock\"",
		        server->clock.ahead, tolerance);
}

static cop_err begin_journal(cop_server *server, const char *folder, uint64_t next, cop_diag *diag)
{
	cop_diag why = { 0 };
	server->journal_end = next;
	if (!server->config->journal_enabled)
		return COP_OK;
	cop_err err = cop_journaler_open(folder, server->config, next, &server->journal, &why);
	if (err == COP_OK && cop_journaler_broken(server->journal))
		cop_healing_broke(server, &why);
	else if (err != COP_OK)
		*diag = why;
	return err;
}

/* What was replayed, reset or set aside need not be so again. Replaying can be repeated, so that a disk without room
 * for the checkpoint is no reason not to serve; the others would be undone. */
static cop_err checkpoint_start(cop_server *server, bool must, cop_diag *diag)
{
	cop_diag why = { 0 };
	cop_err err = cop_healing_stands(server) || must ? cop_server_checkpoint(server, &why) : COP_OK;
	if (err == COP_EFULL && !must)
		return COP_OK; /* logged; the next one is due as ever */
	if (err != COP_OK)
		*diag = why;
	return err;
}

/* changed: the models are not what the newest checkpoint holds. */
static cop_err open_journal(cop_server *server, const cop_server_options *options, bool changed, cop_diag *diag)
{
	char folder[4096];
	(void)snprintf(folder, sizeof folder, "%s/" COP_STATE_DIR_JOURNAL, server->config->state_dir);
	if (options->checkpoint_only) {
		char aside[4200];
		cop_err err = cop_recovery_set_aside(folder, aside, sizeof aside, diag);
		if (err != COP_OK)
			return err;
		cop_log_line(server->log, COP_LOG_WARNING, "journal_set_aside", "to=\"%s\"", aside);
	}
	cop_recovery recovery = {
		.state_dir = server->config->state_dir,
		.folder = folder,
		.reset = options->reset,
		.http = server->http,
		.salvaged = options->salvaged,
		.aside = options->checkpoint_only,
		.log = server->log,
	};
	cop_err err = cop_recovery_run(&recovery, &server->models, &server->checkpoint.mark, diag);
	if (err != COP_OK)
		return err;
	start_clock(server, options, recovery.time);
	err = begin_journal(server, folder, recovery.next, diag);
	if (err != COP_OK)
		return err;
	cop_served_reconfigure(&server->models, server->config, server->log); /* over what was saved and replayed */
	cop_server_record_config(server);
	bool must = options->checkpoint_only || options->reset[0] != NULL;
	return changed || must || recovery.applied > 0 ? checkpoint_start(server, must, diag) : COP_OK;
}

static void action_unheard(void *server, cop_outbox_item *item)
{
	const void *body = zmq_msg_data(&item->body);
	cop_streams_unheard(server, item->topic, item->decided, body, zmq_msg_size(&item->body));
}

cop_err cop_server_open(
        cop_server *server, const cop_server_options *options, cop_config **config, cop_log *log, cop_diag *diag)
{
	*server = (cop_server){ .config_path = options->config_path, .config = *config, .log = log, .signals = -1 };
	*config = NULL;
	cop_bytes_init(&server->reply);
	cop_bytes_init(&server->waiting);
	cop_outbox_init(&server->outbox, action_unheard, server);
	cop_log_limiter_init(&server->limiter, COMPLAINTS, COMPLAINTS);
	server->started = cop_clock_monotonic();
	server->time = server->born = cop_clock_real();
	cop_checkpoint_init(&server->checkpoint, server->config->state_dir);
	cop_state_lock_init(&server->lock, server->config->state_dir);
	cop_err err = cop_state_lock_open(&server->lock, diag);
	cop_refits_init(&server->refits, server->config->state_dir); /* which is there now */
	if (err == COP_OK)
		err = open_http(server, diag); /* first, so that it can say that the rest is on its way */
	if (err == COP_OK)
		err = cop_served_init(&server->models, server->config, diag);
	if (err == COP_OK)
		err = cop_checkpoint_restore(
		        &server->checkpoint, &server->models, server->config, options->reset, log, diag);
	size_t begun = 0;
	if (err == COP_OK)
		err = cop_served_start_from(&server->models, log, &begun, diag);
	if (err == COP_OK)
		err = open_journal(server, options, begun > 0, diag);
	if (err == COP_OK) {
		err = cop_signals_open(&server->signals);
		if (err != COP_OK)
			cop_diag_message(diag, "signals: %s", strerror(errno));
	}
	if (err == COP_OK)
		err = cop_sockets_open(&server->sockets, server->config, diag);
	server->budget = 1;
	server->next_checkpoint = server->started + 1e-6 * (double)server->config->checkpoint_every;
	return err;
}

void cop_server_close(cop_server *server)
{
	cop_refits_stop(&server->refits);
	cop_http_close(server->http);
	cop_outbox_fini(&server->outbox);
	cop_sockets_close(&server->sockets);
	cop_journal_retention_end(&server->care);
	(void)!cop_journaler_close(server->journal, NULL); /* flushed by the last checkpoint, or broken and told */
	cop_checkpoint_fini(&server->checkpoint);
	cop_served_fini(&server->models);
	cop_bytes_fini(&server->reply);
	cop_bytes_fini(&server->waiting);
	cop_config_free(server->config);
	cop_signals_close();
	cop_state_lock_close(&server->lock);
}

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
		cop_log_line(server->log, COP_LOG_ERROR, "config_wrong", "reason=\"%s\"", line);
		if (used < sizeof all)
			used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i == 0 ? "" : "; ", line);
	}
	(void)cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "configuration: %s", all);
}

static cop_err apply_changes(cop_server *server, cop_config *next, cop_config_changes *changes)
{
	cop_err err = cop_config_diff(server->config, next, changes);
	if (err == COP_OK)
		err = cop_trial_changes(&server->models, server->config, next, changes);
	if (err != COP_OK)
		return err;
	cop_config_apply(server->config, next);
	cop_served_reconfigure(&server->models, server->config, server->log);
	cop_server_record_config(server);
	cop_refits_announce(server);
	cop_log_set_level(server->log, server->config->log_level);
	double due = cop_clock_monotonic() + 1e-6 * (double)server->config->checkpoint_every;
	server->next_checkpoint = fmin(server->next_checkpoint, due);
	static const char *const events[] = { "reload_applied", "reload_needs_restart", "reload_restart_refused" };
	for (size_t i = 0; i < changes->count; i++)
		cop_log_line(server->log,
		        changes->items[i].kind == COP_CHANGE_APPLIED ? COP_LOG_NOTICE : COP_LOG_WARNING,
		        events[changes->items[i].kind], "change=\"%s\"", changes->items[i].text);
	return COP_OK;
}

cop_err cop_server_reload(cop_server *server, const cop_wire_seq *seq, cop_bytes *body, cop_wire_fault *fault)
{
	cop_config *next = NULL;
	cop_config_report report;
	cop_config_changes changes = { 0 };
	cop_config_report_init(&report);
	cop_notify_reloading(cop_clock_monotonic_us());
	const cop_config_origin origin = { .live = server->config };
	cop_err err = cop_config_load(server->config_path, &origin, &next, &report);
	if (err != COP_OK) {
		report_fault(server, &report, fault);
		err = COP_EINVAL;
	} else {
		err = apply_changes(server, next, &changes);
		if (err != COP_OK)
			(void)cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "reload: %s", cop_err_text(err));
	}
	if (err == COP_OK) {
		size_t map = cop_wire_put_map_open(body);
		put_changes(&changes, COP_CHANGE_APPLIED, body);
		put_changes(&changes, COP_CHANGE_RESTART, body);
		if (count_changes(&changes, COP_CHANGE_REFUSED) > 0)
			put_changes(&changes, COP_CHANGE_REFUSED, body);
		cop_wire_seq_put(body, seq);
		cop_wire_put_map_close(body, map);
	}
	cop_log_line(server->log, err == COP_OK ? COP_LOG_NOTICE : COP_LOG_ERROR, "reload", "result=%s changes=%zu",
	        err == COP_OK ? "ok" : "refused", changes.count);
	cop_notify_ready("serving");
	cop_config_changes_free(&changes);
	cop_config_free(next);
	cop_config_report_fini(&report);
	return err;
}

static void take_signals(cop_server *server)
{
	for (int number; cop_signals_take(&number);) {
		if (number == SIGHUP) {
			cop_wire_fault fault;
			cop_wire_seq none = { 0 };
			cop_bytes_clear(&server->reply);
			(void)!cop_server_reload(server, &none, &server->reply, &fault); /* logged */
			continue;
		}
		cop_log_line(
		        server->log, COP_LOG_NOTICE, "stopping", "signal=%s", number == SIGTERM ? "SIGTERM" : "SIGINT");
		server->stop = true;
	}
}

typedef void message_handler(cop_server *server, cop_sockets_message *message);

/* Answers in a turn: with more, the turn ends, so that what was answered is on its way before there are more. */
static bool enough(const cop_server *server)
{
	return cop_outbox_bytes(&server->outbox) > server->config->queue_limit / TURN_SHARE;
}

/* A queue of a stream that is too long is drained by dropping. Requests are taken all the same: they are answered. */
static size_t drain(cop_server *server, void *socket, cop_inlet_kind queue, message_handler *handle)
{
	size_t count = 0;
	cop_inlet *inlet = server->sockets.inlet;
	cop_sockets_message message;
	while (socket != NULL && count < server->budget && (count == 0 || !enough(server)) &&
	        cop_sockets_receive(socket, &message)) {
		bool request = queue == COP_INLET_REQUESTS;
		/* The first frame of a request is its requester's identity, which did not come over the wire. */
		uint64_t identity = request ? zmq_msg_size(&message.frame[0]) + COP_ZMTP_FRAME_COST : 0;
		uint64_t cost = message.cost - identity;
		if (request || !cop_inlet_full(inlet, queue))
			handle(server, &message);
		else
			cop_streams_drop(server, &message);
		cop_inlet_taken(inlet, queue, cost);
		count++;
	}
	return count;
}

/* Messages taken. */
static size_t drain_all(cop_server *server)
{
	server->sockets.sent = false;
	size_t all = cop_streams_turn(server);
	const size_t counts[] = {
		drain(server, server->sockets.requests, COP_INLET_REQUESTS, cop_request_handle),
		drain(server, server->sockets.contexts, COP_INLET_CONTEXTS, cop_streams_contexts),
		drain(server, server->sockets.feedback, COP_INLET_FEEDBACK, cop_streams_feedback),
		drain(server, server->sockets.pull, COP_INLET_PULL, cop_streams_feedback),
	};
	size_t most = 0;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		all += counts[i];
		most = counts[i] > most ? counts[i] : most;
	}
	if (all == 0)
		server->budget = 1;
	else if (most == server->budget && most < BUDGET)
		server->budget *= 2;
	return all;
}

/* Event time runs on by the time since boot, whatever is done to the clock. */
static void advance_time(cop_server *server)
{
	server->time = fmax(server->time, cop_event_clock_now(&server->clock));
	server->mark = cop_clock_monotonic_ns();
	cop_http_alive(server->http, server->mark);
}

/* All that was put in this turn goes to the disk, and the answers that waited for it leave. */
static void commit(cop_server *server)
{
	cop_diag why = { 0 };
	if (server->journal != NULL && !cop_journaler_commit(server->journal, &why))
		cop_healing_broke(server, &why);
	if (!cop_healing_stands(server) && !server->broken_told) { /* broken while records were put */
		cop_diag_message(&why, "no memory for records");
		cop_healing_broke(server, &why);
		server->next_heal = 0.0; /* nothing to wait for: it may be there again */
	}
	uint64_t committed = server->journal == NULL ? UINT64_MAX : cop_journaler_committed(server->journal);
	uint64_t next = server->journal == NULL ? 0 : cop_journaler_next(server->journal);
	cop_outbox_send(&server->outbox, &server->sockets, committed, !cop_healing_stands(server));
	/* Which of them nobody heard is on its way to the disk before anything else happens. */
	if (server->journal != NULL && cop_journaler_next(server->journal) != next &&
	        !cop_journaler_commit(server->journal, &why))
		cop_healing_broke(server, &why);
}

static cop_checkpoint_mark mark_of(const cop_server *server)
{
	return (cop_checkpoint_mark){
		.time = server->time,
		.journal_next = server->journal != NULL ? cop_journaler_next(server->journal) : server->journal_end,
		.journal_base = server->journal != NULL ? cop_journaler_base(server->journal) : 0,
	};
}

static void checkpoint_written(cop_server *server)
{
	char folder[4096];
	(void)snprintf(folder, sizeof folder, "%s/" COP_STATE_DIR_JOURNAL, server->config->state_dir);
	server->care.spare_age = server->clock.ahead > 0.0;
	server->care.beside = cop_refits_held(server);
	if (server->journal != NULL)
		cop_journal_retention_start(&server->care, folder, server->config,
		        cop_checkpoint_needs(&server->checkpoint, server->config->checkpoint_keep),
		        cop_refits_window(server), server->log);
	cop_refits_tidy(server);
}

static cop_err start_checkpoint(cop_server *server, cop_diag *diag)
{
	if (server->journal != NULL && cop_healing_stands(server)) {
		cop_diag why = { 0 };
		if (cop_journaler_flush(server->journal, &why) != COP_OK)
			cop_healing_broke(server, &why); /* the checkpoint is the better for it */
	}
	cop_checkpoint_mark mark = mark_of(server);
	cop_err err = cop_checkpoint_start(&server->checkpoint, &server->models, &mark, server->log);
	if (err != COP_OK)
		cop_diag_message(diag, "%s", cop_err_text(err));
	return err;
}

cop_err cop_server_checkpoint(cop_server *server, cop_diag *diag)
{
	uint32_t keep = server->config->checkpoint_keep;
	(void)!cop_checkpoint_finish(&server->checkpoint, keep, true, server->log, NULL); /* one that is under way */
	cop_err err = start_checkpoint(server, diag);
	if (err == COP_OK)
		err = cop_checkpoint_finish(&server->checkpoint, keep, true, server->log, diag);
	if (err == COP_OK)
		checkpoint_written(server);
	return err;
}

/* A budget for each turn, that grows with what was decided in it: else batches would outrun it. Nothing is learned that
 * no record reports: while the journal cannot be written windows wait. */
static void end_windows(cop_server *server)
{
	server->behind = false;
	if (!cop_healing_stands(server))
		return;
	for (size_t i = 0; i < server->models.count; i++) {
		cop_served *served = &server->models.items[i];
		uint64_t decided = cop_model_get_counters(served->model)->decisions - served->before.decisions;
		size_t most = EXPIRE_BUDGET + 2 * (size_t)(decided - served->decided);
		served->decided = decided;
		size_t ended = cop_model_expire(served->model, server->time, most);
		cop_wire_record record = {
			.model = served->name,
			.model_length = strlen(served->name),
			.time = server->time,
		};
		cop_model_record_ended(served->model, &record);
		server->behind = server->behind || ended == most;
		if (ended > 0)
			(void)cop_journaler_put(server->journal, COP_WIRE_RECORD_EXPIRY, &record);
		cop_refit_state_watch(&served->refit, served->model);
	}
}

static void render_metrics(const void *server, cop_bytes *out) { cop_metrics_put(server, out); }

static void take_timers(cop_server *server)
{
	end_windows(server);
	double now = 1e-9 * (double)server->mark; /* late by a wait at most */
	uint32_t keep = server->config->checkpoint_keep;
	if (cop_checkpoint_finish(&server->checkpoint, keep, false, server->log, NULL) == COP_OK)
		checkpoint_written(server);
	if (now >= server->next_checkpoint) {
		(void)!start_checkpoint(server, NULL); /* logged and counted; tried again next time */
		server->next_checkpoint = now + 1e-6 * (double)server->config->checkpoint_every;
	}
	cop_healing_turn(server, now);
	cop_refits_turn(server, now);
	cop_drop_report_tell(&server->trouble, server, now);
	(void)cop_notify_tick(&server->notify, server->mark / 1000);
}

/* What is not a message: subscriptions, signals, finished syncs. */
static void take_asides(cop_server *server)
{
	cop_diag why = { 0 };
	cop_sockets_subscriptions(&server->sockets);
	take_signals(server);
	if (server->journal != NULL && !cop_journaler_take(server->journal, &why))
		cop_healing_broke(server, &why);
}

/* ZeroMQ's descriptors tell what changes, not what is there: each socket must have been found empty, and nothing sent
 * since, which may have taken a change in; else another turn looks again. */
static void wait_for_work(cop_server *server)
{
	if (server->sockets.sent)
		return;
	cop_inlet_idle(server->sockets.inlet);
	cop_sockets_subscriptions(&server->sockets);
	if (cop_streams_ready(server))
		return;
	struct pollfd items[COP_SOCKETS_MOST + 4];
	nfds_t count = 0;
	items[count++] = (struct pollfd){ .fd = server->signals, .events = POLLIN };
	items[count++] = (struct pollfd){ .fd = server->journal != NULL ? cop_journaler_fd(server->journal) : -1,
		.events = POLLIN };
	items[count++] =
	        (struct pollfd){ .fd = server->http != NULL ? cop_http_fd(server->http) : -1, .events = POLLIN };
	items[count++] = (struct pollfd){ .fd = cop_refits_fd(&server->refits), .events = POLLIN };
	for (size_t i = 0; i < server->sockets.fds; i++)
		items[count++] = (struct pollfd){ .fd = server->sockets.fd[i], .events = POLLIN };
	int ready = poll(items, count, server->behind ? 0 : IDLE_MS);
	if (ready <= 0 || items[0].revents != 0 || items[1].revents != 0)
		take_asides(server);
	if (ready > 0 && items[3].revents != 0)
		server->refits.next_look = 0.0; /* now */
}

cop_err cop_server_run(cop_server *server, cop_diag *diag)
{
	cop_refits_announce(server);
	cop_log_line(server->log, COP_LOG_NOTICE, "serving", "models=%zu checkpoint=%" PRIu64, server->models.count,
	        server->checkpoint.sequence);
	cop_metrics_begin(server);
	cop_http_set_phase(server->http, COP_HTTP_SERVING);
	cop_notify_init(&server->notify, cop_clock_monotonic_us());
	cop_notify_ready("serving");
	for (unsigned turn = 0; !server->stop; turn++) {
		advance_time(server);
		size_t handled = drain_all(server);
		commit(server);
		if (handled == 0)
			wait_for_work(server);
		else if (turn % ASIDES == 0 || cop_outbox_count(&server->outbox) > 0)
			take_asides(server);
		take_timers(server);
		cop_http_answer(server->http, render_metrics, server);
	}
	cop_http_set_phase(server->http, COP_HTTP_STOPPING);
	cop_notify_stopping("writing a checkpoint");
	double deadline = cop_clock_monotonic() + LAST_SECONDS;
	do
		advance_time(server);
	while (drain_all(server) > 0 && cop_clock_monotonic() < deadline); /* what had arrived already */
	cop_streams_stop(server);
	cop_err err = cop_server_checkpoint(server, diag);
	commit(server); /* answers that waited for the journal, which the checkpoint has flushed */
	return err;
}
