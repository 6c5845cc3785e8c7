/* A turn of the loop drains each socket up to a budget, so that no socket starves another, then looks at the timers;
 * only a turn that found nothing waits. The budget begins with one message after a wait, so that the answer to a lone
 * one leaves at once, and doubles while there are more, so that under load one write to the journal covers many. */
#include "daemon/server.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "daemon/common/clock.h"
#include "daemon/common/signals.h"
#include "daemon/durable/healing.h"
#include "daemon/follow_live.h"
#include "daemon/forget_server.h"
#include "daemon/lead.h"
#include "daemon/model_change.h"
#include "daemon/reload.h"
#include "daemon/report/metrics.h"
#include "daemon/request.h"
#include "daemon/serve/streams.h"
#include "daemon/serve/zmtp.h"

#define BUDGET       64  /* most messages of one socket in a turn */
#define TURN_SHARE   64  /* the part of queue_limit that a turn's answers may take */
#define IDLE_MS      100 /* longest wait: reward windows end at most this late */
#define CHANGE_MS    1   /* the same while a model is being changed, or a follower waits for the disk */
#define ASIDES       16  /* turns between looks at signals and subscriptions while messages keep coming */
#define TICK_SECONDS 0.5 /* between looks at what the models did */
#define LAST_SECONDS 2.0 /* at the stop, for messages that had arrived */

static cop_err open_http(cop_server *server, cop_diag *diag)
{
	const char *listen = server->config->http_listen;
	if (listen == NULL)
		return COP_OK;
	cop_err err = cop_http_open(listen, &server->http, diag);
	if (err == COP_OK)
		cop_log_line(server->log, COP_LOG_EVENT(http), "listen=\"%s\"", listen);
	return err;
}

static void announce_admin(const cop_server *server)
{
	const cop_config_list *list = &server->config->admin;
	for (size_t i = 0; i < list->count; i++)
		cop_log_line(server->log, COP_LOG_EVENT(admin), "endpoint=\"%s\"", list->items[i]);
	if (list->count == 0)
		cop_log_line(server->log, COP_LOG_EVENT(admin_off),
		        "reason=\"no endpoint; expected admin in section sockets, with a path of at most %d bytes\"",
		        COP_CONFIG_IPC_PATH);
}

static cop_err open_replica(cop_server *server, cop_diag *diag)
{
	const cop_replica_hooks hooks = cop_follow_live_hooks(server);
	return cop_replica_open(&server->replica, &server->durable, &server->serving.sockets, &hooks, diag);
}

cop_err cop_server_open(
        cop_server *server, const cop_server_options *options, cop_config **config, cop_log *log, cop_diag *diag)
{
	*server = (cop_server){
		.config_path = options->config_path, .config = *config, .log = log, .budget = 1, .signals = -1
	};
	*config = NULL;
	cop_durability *durable = &server->durable;
	double started = cop_clock_monotonic(), born = cop_clock_real();
	cop_durability_init(durable, server->config, log);
	cop_serving_init(&server->serving, durable);
	cop_past_desk_init(&server->past, server->config_path, log);
	cop_err err = cop_durability_lock(durable, diag);
	cop_refits_init(&server->refits, durable); /* whose folder is there now */
	if (err == COP_OK)
		err = open_http(server, diag); /* first, so that it can report that the rest is on its way */
	server->report = (cop_report){ durable, &server->serving, &server->refits, .forgetting = &server->forgetting,
		.replica = &server->replica, .merge = &server->merge, .past = &server->past, .http = server->http,
		.born = born, .started = started };
	if (err == COP_OK)
		err = cop_replica_settle(durable, diag);
	if (err == COP_OK)
		err = cop_durability_open(durable, &options->start, server->http, diag);
	if (err == COP_OK)
		cop_forget_server_open(server);
	if (err == COP_OK) {
		err = cop_signals_open(&server->signals);
		if (err != COP_OK)
			cop_diag_message(diag, "signals: %s", strerror(errno));
	}
	const char *exposed;
	for (size_t i = 0; err == COP_OK && (exposed = cop_config_exposed(server->config, i)) != NULL; i++)
		cop_log_line(log, COP_LOG_EVENT(insecure), "endpoint=\"%s\"", exposed);
	char unknown[COP_CONFIG_UNKNOWN];
	for (size_t i = 0; err == COP_OK && cop_config_unknown_model(server->config, i, unknown); i++)
		cop_log_line(log, COP_LOG_EVENT(access_unknown_model), "reason=\"%s\"", unknown);
	if (err == COP_OK)
		err = cop_sockets_open(&server->serving.sockets, server->config, log, diag);
	if (err == COP_OK)
		announce_admin(server);
	if (err == COP_OK)
		err = cop_api_open(
		        server->config, server->serving.sockets.context, COP_SOCKETS_API, log, &server->api, diag);
	if (err == COP_OK)
		err = open_replica(server, diag);
	if (err == COP_OK)
		err = cop_merge_open(&server->merge, durable, &server->serving.sockets, diag);
	server->report.api = server->api;
	durable->next_checkpoint = started + 1e-6 * (double)server->config->checkpoint_every;
	return err;
}

void cop_server_close(cop_server *server)
{
	cop_model_change_drop(server);
	cop_request_drop(server);
	cop_slot_bin_fini(&server->bin);
	cop_refits_stop(&server->refits);
	cop_forgetting_stop(&server->forgetting);
	cop_past_desk_fini(&server->past);
	cop_api_close(server->api);
	cop_http_close(server->http);
	cop_merge_close(&server->merge);
	cop_replica_close(&server->replica);
	cop_serving_close(&server->serving);
	cop_model_view_fini(&server->view);
	cop_durability_close(&server->durable);
	cop_config_free(server->config);
	cop_signals_close();
}

/* By a signal; the result is in the log. A change that is under way goes first. */
static void reload(cop_server *server)
{
	cop_wire_fault fault;
	bool later;
	server->reload_due = server->change != NULL;
	if (server->reload_due)
		return;
	cop_bytes_clear(&server->serving.reply);
	(void)!cop_model_change_reload(server, NULL, &later, &server->serving.reply, &fault);
}

static void take_signals(cop_server *server)
{
	for (int number; cop_signals_take(&number);) {
		if (number == SIGHUP) {
			reload(server);
			continue;
		}
		cop_log_line(
		        server->log, COP_LOG_EVENT(stopping), "signal=%s", number == SIGTERM ? "SIGTERM" : "SIGINT");
		server->stop = true;
	}
}

/* The next message of a socket, unless the turn is to end: also when there are so many answers that what was answered
 * is to be on its way before there are more. */
static bool takes(const cop_server *server, void *socket, size_t count, cop_sockets_message *message)
{
	if (socket == NULL || count >= server->budget)
		return false;
	bool enough = cop_outbox_bytes(&server->serving.outbox) > server->config->queue_limit / TURN_SHARE;
	return (count == 0 || !enough) && cop_sockets_receive(socket, message);
}

/* most: taken from one socket. */
static void set_budget(cop_server *server, size_t all, size_t most)
{
	if (all == 0)
		server->budget = 1;
	else if (most == server->budget && most < BUDGET)
		server->budget *= 2;
}

/* Takes what the sockets have, each its share of the turn: how many messages. A stream's message is dropped while its
 * queue is too long; requests are taken all the same: they are answered. */
static size_t drain(cop_server *server)
{
	cop_serving *serving = &server->serving;
	cop_sockets *sockets = &serving->sockets;
	const struct {
		void *socket;
		cop_inlet_kind kind;
	} queues[] = {
		{ sockets->requests, COP_INLET_REQUESTS },
		{ sockets->admin, COP_INLET_ADMIN },
		{ sockets->api, COP_INLET_FOREIGN },
		{ sockets->contexts, COP_INLET_CONTEXTS },
		{ sockets->feedback, COP_INLET_FEEDBACK },
		{ sockets->pull, COP_INLET_PULL },
	};
	sockets->sent = false;
	size_t all = cop_streams_turn(serving), most = 0;
	for (size_t i = 0; i < sizeof queues / sizeof *queues; i++) {
		size_t count = 0;
		cop_sockets_message message;
		for (; takes(server, queues[i].socket, count, &message); count++) {
			uint64_t cost = message.cost;
			int from = cop_sockets_source(sockets, &message);
			if (queues[i].kind == COP_INLET_FOREIGN) {
				cop_request_handle(server, queues[i].socket, &message);
				continue; /* did not come by a connection of ZeroMQ's */
			}
			if (queues[i].kind == COP_INLET_REQUESTS || queues[i].kind == COP_INLET_ADMIN) {
				/* The first frame is the requester's identity, which did not come over the wire. */
				cost -= zmq_msg_size(&message.frame[0]) + COP_ZMTP_FRAME_COST;
				cop_request_handle(server, queues[i].socket, &message);
			} else if (server->durable.follows || cop_inlet_full(sockets->inlet, queues[i].kind)) {
				cop_streams_drop(serving, &message);
			} else if (queues[i].kind == COP_INLET_CONTEXTS) {
				cop_streams_contexts(serving, &message);
			} else {
				cop_streams_feedback(serving, &message);
			}
			cop_inlet_taken(sockets->inlet, queues[i].kind, cost);
			if (from >= 0)
				cop_inlet_taken_from(sockets->inlet, from);
		}
		all += count;
		most = count > most ? count : most;
	}
	set_budget(server, all, most);
	return all;
}

/* Event time runs on by the time since boot, whatever is done to the clock. */
static void advance_time(cop_server *server)
{
	server->durable.time = fmax(server->durable.time, cop_event_clock_now(&server->durable.clock));
	server->serving.mark = cop_clock_monotonic_ns();
	cop_http_alive(server->http, server->serving.mark);
}

static void render_metrics(const void *report, cop_bytes *out) { cop_metrics_put(report, out); }

static void take_timers(cop_server *server)
{
	double now = 1e-9 * (double)server->serving.mark; /* late by a wait at most */
	cop_model_change_turn(server);
	if (server->reload_due)
		reload(server);
	cop_slot_bin_turn(&server->bin);
	if (!server->durable.follows && !cop_model_change_holds(server))
		cop_forgetting_turn(&server->forgetting, now); /* while all that was put is written */
	server->behind = !server->durable.follows && cop_serving_end_windows(&server->serving);
	cop_durability_turn(&server->durable, now);
	cop_model_change_look(server, now);
	if (!server->durable.follows)
		cop_refits_turn(&server->refits, now);
	cop_past_desk_turn(&server->past, now);
	if (now >= server->next_tick) {
		cop_model_table_tick(&server->durable.models, now);
		server->next_tick = now + TICK_SECONDS;
	}
	cop_drop_report_look(&server->drops, &server->serving, now);
	(void)cop_notify_tick(&server->notify, server->serving.mark / 1000);
}

/* What is not a message: subscriptions, signals, finished syncs. */
static void take_asides(cop_server *server)
{
	cop_diag why = { 0 };
	cop_sockets_subscriptions(&server->serving.sockets);
	take_signals(server);
	if (server->durable.journal != NULL && !cop_journaler_take(server->durable.journal, &why))
		cop_healing_broke(&server->durable, &why);
}

/* ZeroMQ's descriptors tell what changes, not what is there: each socket must have been found empty, and nothing sent
 * since, which may have taken a change in; else another turn looks again. */
static void wait_for_work(cop_server *server)
{
	if (server->serving.sockets.sent)
		return;
	cop_inlet_idle(server->serving.sockets.inlet);
	cop_sockets_subscriptions(&server->serving.sockets);
	if (cop_streams_ready(&server->serving))
		return;
	int links[COP_REPLICA_FDS];
	size_t link_count = cop_replica_fds(&server->replica, links);
	struct pollfd items[COP_SOCKETS_MOST + COP_REPLICA_FDS + 4];
	nfds_t count = 0;
	items[count++] = (struct pollfd){ .fd = server->signals, .events = POLLIN };
	items[count++] =
	        (struct pollfd){ .fd = server->durable.journal != NULL ? cop_journaler_fd(server->durable.journal) : -1,
		        .events = POLLIN };
	items[count++] =
	        (struct pollfd){ .fd = server->http != NULL ? cop_http_fd(server->http) : -1, .events = POLLIN };
	items[count++] = (struct pollfd){ .fd = cop_refits_fd(&server->refits), .events = POLLIN };
	for (size_t i = 0; i < server->serving.sockets.fds; i++)
		items[count++] = (struct pollfd){ .fd = server->serving.sockets.fd[i], .events = POLLIN };
	for (size_t i = 0; i < link_count; i++)
		items[count++] = (struct pollfd){ .fd = links[i], .events = POLLIN };
	bool soon = server->change != NULL || server->linking;
	int ready = poll(items, count, server->behind ? 0 : soon ? CHANGE_MS : IDLE_MS);
	if (ready <= 0 || items[0].revents != 0 || items[1].revents != 0)
		take_asides(server);
	if (ready > 0 && items[3].revents != 0)
		server->refits.next_look = 0.0; /* now */
}

/* What was put goes to the disk between what other instances said and what they are told. How much they said. */
static size_t turn_link(cop_server *server)
{
	double now = 1e-9 * (double)server->serving.mark;
	bool any = cop_replica_receive(&server->replica, now);
	any |= cop_merge_receive(&server->merge, now);
	cop_serving_commit(&server->serving);
	cop_merge_send(&server->merge, now);
	server->linking = cop_replica_send(&server->replica, now);
	server->again = server->replica.enabled && server->replica.follower.again;
	server->stop |= server->again;
	return any;
}

cop_err cop_server_run(cop_server *server, cop_diag *diag)
{
	cop_refits_announce(&server->refits);
	cop_log_line(server->log, COP_LOG_EVENT(serving), "models=%zu checkpoint=%" PRIu64,
	        server->durable.models.count, server->durable.checkpoint.sequence);
	cop_model_table_begin(&server->durable.models, cop_clock_monotonic());
	cop_http_set_phase(server->http, COP_HTTP_SERVING);
	cop_notify_init(&server->notify, cop_clock_monotonic_us());
	cop_notify_ready(server->durable.follows ? "following" : "serving");
	for (unsigned turn = 0; !server->stop; turn++) {
		advance_time(server);
		cop_outbox_turn(&server->serving.outbox);
		size_t handled = drain(server);
		server->serving.counts.turns += handled > 0;
		handled += turn_link(server);
		if (handled == 0)
			wait_for_work(server);
		else if (turn % ASIDES == 0 || server->durable.follows ||
		         cop_outbox_count(&server->serving.outbox) > 0) /* somebody waits for a sync */
			take_asides(server);
		take_timers(server);
		cop_lead_turn(server);
		cop_http_answer(server->http, render_metrics, &server->report);
	}
	cop_http_set_phase(server->http, COP_HTTP_STOPPING);
	cop_api_stop(server->api);
	if (server->lead.ended) /* its journal is another instance's from here on */
		return COP_OK;
	cop_notify_stopping("writing a checkpoint");
	double deadline = cop_clock_monotonic() + LAST_SECONDS;
	do
		advance_time(server);
	while (drain(server) > 0 && cop_clock_monotonic() < deadline); /* what had arrived already */
	cop_model_change_finish(server);
	cop_streams_stop(&server->serving);
	if (server->again) /* what it has does not count any more */
		return COP_OK;
	cop_err err = cop_durability_checkpoint(&server->durable, diag);
	cop_serving_commit(
	        &server->serving); /* answers that waited for the journal, which the checkpoint has flushed */
	return err;
}
