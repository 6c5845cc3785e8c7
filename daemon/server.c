/* A turn of the loop drains each socket up to a budget, so that no socket starves another, then looks at the timers;
 * only a turn that found nothing waits in zmq_poll. */
#include "daemon/server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/metrics.h"
#include "daemon/request.h"
#include "daemon/signals.h"
#include "daemon/streams.h"
#include "wire/wire_context.h"
#include "wire/wire_put.h"

#define BUDGET        64  /* messages of one socket in a turn */
#define EXPIRE_BUDGET 256 /* reward windows ended in a turn, for each model */
#define IDLE_MS       100 /* longest wait: reward windows end at most this late */
#define COMPLAINTS    5.0 /* about streams: a second, and at once */

/* One daemon for a state folder: the lock is held until close. */
static cop_err open_state(cop_server *server, cop_diag *diag)
{
	const char *folder = server->config->state_dir;
	char path[4096];
	if (mkdir(folder, 0750) != 0 && errno != EEXIST) {
		cop_diag_set(diag, folder, 0, 0, "cannot make the state folder: %s", strerror(errno));
		return COP_EIO;
	}
	(void)snprintf(path, sizeof path, "%s/lock", folder);
	server->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (server->lock < 0) {
		cop_diag_set(diag, path, 0, 0, "cannot open: %s; expected a state folder that can be written",
		        strerror(errno));
		return COP_EIO;
	}
	if (flock(server->lock, LOCK_EX | LOCK_NB) != 0) {
		cop_diag_set(diag, folder, 0, 0, "another coppiced is running with this state folder");
		return COP_EEXIST;
	}
	return COP_OK;
}

static void warn_of_what_comes_later(const cop_server *server)
{
	if (server->config->journal_given)
		cop_log_line(server->log, COP_LOG_WARNING, "no_effect",
		        "section=journal reason=\"this version keeps checkpoints only\"");
}

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

cop_err cop_server_open(cop_server *server, const char *config_path, cop_config **config, const char *const *reset,
        cop_log *log, cop_diag *diag)
{
	*server = (cop_server){ .config_path = config_path, .config = *config, .log = log, .lock = -1, .signals = -1 };
	*config = NULL;
	cop_bytes_init(&server->reply);
	cop_log_limiter_init(&server->limiter, COMPLAINTS, COMPLAINTS);
	server->started = cop_clock_monotonic();
	server->time = server->born = cop_clock_real();
	cop_checkpoint_init(&server->checkpoint, server->config->state_dir);
	warn_of_what_comes_later(server);
	cop_err err = open_state(server, diag);
	if (err == COP_OK)
		err = open_http(server, diag); /* first, so that it can say that the rest is on its way */
	if (err == COP_OK)
		err = cop_served_init(&server->models, server->config, diag);
	if (err == COP_OK)
		err = cop_checkpoint_restore(&server->checkpoint, &server->models, reset, log, diag);
	if (err == COP_OK)
		err = cop_signals_open(&server->signals);
	if (err == COP_OK)
		err = cop_sockets_open(&server->sockets, server->config, diag);
	server->next_checkpoint = server->started + 1e-6 * (double)server->config->checkpoint_every;
	return err;
}

void cop_server_close(cop_server *server)
{
	cop_http_close(server->http);
	cop_sockets_close(&server->sockets);
	cop_checkpoint_fini(&server->checkpoint);
	cop_served_fini(&server->models);
	cop_bytes_fini(&server->reply);
	cop_config_free(server->config);
	cop_signals_close();
	if (server->lock >= 0)
		(void)close(server->lock);
}

static void put_changes(const cop_config_changes *changes, bool applied, cop_bytes *body)
{
	size_t count = 0;
	cop_wire_put_text(body, applied ? "applied" : "restart");
	size_t at = cop_wire_put_array_open(body);
	for (size_t i = 0; i < changes->count; i++) {
		if (changes->items[i].applied != applied)
			continue;
		cop_wire_put_text(body, changes->items[i].text);
		count++;
	}
	cop_wire_put_close(body, at, count);
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
	if (err != COP_OK)
		return err;
	cop_config_apply(server->config, next);
	cop_served_reconfigure(&server->models, server->config);
	cop_log_set_level(server->log, server->config->log_level);
	double due = cop_clock_monotonic() + 1e-6 * (double)server->config->checkpoint_every;
	server->next_checkpoint = fmin(server->next_checkpoint, due);
	for (size_t i = 0; i < changes->count; i++)
		cop_log_line(server->log, changes->items[i].applied ? COP_LOG_NOTICE : COP_LOG_WARNING,
		        changes->items[i].applied ? "reload_applied" : "reload_needs_restart", "change=\"%s\"",
		        changes->items[i].text);
	return COP_OK;
}

cop_err cop_server_reload(cop_server *server, const cop_wire_seq *seq, cop_bytes *body, cop_wire_fault *fault)
{
	cop_config *next = NULL;
	cop_config_report report;
	cop_config_changes changes = { 0 };
	cop_config_report_init(&report);
	cop_notify_reloading(cop_clock_monotonic_us());
	cop_err err = cop_config_load(server->config_path, &next, &report);
	if (err != COP_OK) {
		report_fault(server, &report, fault);
		err = COP_EINVAL;
	} else {
		err = apply_changes(server, next, &changes);
		if (err != COP_OK)
			(void)cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "reload: %s", cop_err_text(err));
	}
	if (err == COP_OK) {
		cop_wire_put_map(body, 2 + (seq->length > 0));
		put_changes(&changes, true, body);
		put_changes(&changes, false, body);
		cop_wire_seq_put(body, seq);
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

static size_t drain(cop_server *server, void *socket, message_handler *handle)
{
	size_t count = 0;
	cop_sockets_message message;
	while (socket != NULL && count < BUDGET && cop_sockets_receive(socket, &message)) {
		handle(server, &message);
		count++;
	}
	return count;
}

static size_t drain_all(cop_server *server)
{
	size_t count = drain(server, server->sockets.requests, cop_request_handle);
	count += drain(server, server->sockets.contexts, cop_streams_contexts);
	count += drain(server, server->sockets.feedback, cop_streams_feedback);
	count += drain(server, server->sockets.pull, cop_streams_feedback);
	return count;
}

/* Event time never falls, whatever the clock does. */
static void advance_time(cop_server *server)
{
	server->time = fmax(server->time, cop_clock_real());
	server->mark = cop_clock_monotonic_ns();
	cop_http_alive(server->http, server->mark);
}

static void render_metrics(const void *server, cop_bytes *out) { cop_metrics_put(server, out); }

static void take_timers(cop_server *server)
{
	for (size_t i = 0; i < server->models.count; i++)
		(void)cop_model_expire(server->models.items[i].model, server->time, EXPIRE_BUDGET);
	double now = cop_clock_monotonic();
	if (now >= server->next_checkpoint) {
		(void)!cop_checkpoint_save(&server->checkpoint, &server->models, server->config->checkpoint_keep,
		        server->log, NULL); /* logged and counted; tried again next time */
		server->next_checkpoint = now + 1e-6 * (double)server->config->checkpoint_every;
	}
	(void)cop_notify_tick(&server->notify, cop_clock_monotonic_us());
}

static void wait_for_work(cop_server *server)
{
	zmq_pollitem_t items[7] = { { .fd = server->signals, .events = ZMQ_POLLIN } };
	void *const sockets[] = { server->sockets.requests, server->sockets.contexts, server->sockets.feedback,
		server->sockets.pull, server->sockets.actions };
	int count = 1;
	for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++)
		if (sockets[i] != NULL)
			items[count++] = (zmq_pollitem_t){ .socket = sockets[i], .events = ZMQ_POLLIN };
	if (server->http != NULL)
		items[count++] = (zmq_pollitem_t){ .fd = cop_http_fd(server->http), .events = ZMQ_POLLIN };
	(void)zmq_poll(items, count, IDLE_MS);
	cop_sockets_subscriptions(&server->sockets);
	take_signals(server);
}

cop_err cop_server_run(cop_server *server, cop_diag *diag)
{
	cop_log_line(server->log, COP_LOG_NOTICE, "serving", "models=%zu checkpoint=%" PRIu64, server->models.count,
	        server->checkpoint.sequence);
	cop_metrics_begin(server);
	cop_http_set_phase(server->http, COP_HTTP_SERVING);
	cop_notify_init(&server->notify, cop_clock_monotonic_us());
	cop_notify_ready("serving");
	for (unsigned turn = 0; !server->stop; turn++) {
		advance_time(server);
		size_t handled = drain_all(server);
		if (handled == 0)
			wait_for_work(server);
		else if (turn % BUDGET == 0) {
			cop_sockets_subscriptions(&server->sockets);
			take_signals(server);
		}
		take_timers(server);
		cop_http_answer(server->http, render_metrics, server);
	}
	cop_http_set_phase(server->http, COP_HTTP_STOPPING);
	cop_notify_stopping("writing a checkpoint");
	(void)drain_all(server); /* what had arrived already */
	return cop_checkpoint_save(
	        &server->checkpoint, &server->models, server->config->checkpoint_keep, server->log, diag);
}
