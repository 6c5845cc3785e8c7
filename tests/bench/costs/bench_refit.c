/* Decisions are measured of one model, refits are of another, which is filled before and not decided by afterwards: so
 * its challengers cost the measured decisions nothing, and its journal does not change what is fitted. A round counts
 * when the same worker was under way before and after it; when it had ended, the other model gets as many events again.
 * Each round begins further on in its refit than the one before. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench_costs.h"
#include "bench_pair.h"
#include "bench_rounds.h"
#include "clients/c/client.h"
#include "tools/common/command.h"
#include "wire/wire_keys.h"

#define LOAD         0.25 /* of what the daemon sustains */
#define BATCHES      4    /* under way, while the other model is filled */
#define FRESH        8    /* events before a refit, which needs some that none has seen */
#define DOUBLINGS    8
#define LAST_START   0.8 /* progress of a refit at which the last round begins, at least */
#define POLL_SECONDS 0.002

enum { QUIET, FITTING };

static const char *const side_keys[COP_BENCH_SIDES] = { "without", "with" };

/* Of the other model's status. */
typedef struct watch {
	bool running;
	uint64_t pid, ended, failed;
	double progress;
	char why[160]; /* the last one ended so */
} watch;

typedef struct bench {
	const cop_bench_costs *set;
	cop_bench_pair pair;
	cop_bench_driver *measured, *filled;
	cop_client *control;
	cop_diag *diag;
	uint64_t events; /* that the other model has, at least */
	double capacity, rate;
	size_t counted, too_short; /* rounds beside a refit */
	double from, to;           /* least and greatest progress of refits in rounds that counted */
	cop_bench_figure latency[COP_BENCH_QUANTILES];
} bench;

/* ---- status ---- */

static void take_text(cop_wire_cursor *cursor, char *out, size_t size)
{
	const char *text = "";
	size_t length = 0;
	if (cop_wire_cursor_string(cursor, &text, &length) == COP_OK)
		(void)snprintf(out, size, "%.*s", (int)length, text);
}

/* The map that the cursor is at, as a message of its own; the cursor moves behind it. */
static cop_err inner(cop_wire_cursor *cursor, cop_wire_cursor *out)
{
	const uint8_t *at = cursor->at;
	cop_err err = cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH - 1);
	*out = (cop_wire_cursor){ at, cursor->at };
	return err;
}

static cop_err read_refit(cop_wire_cursor *cursor, watch *out)
{
	static const char *const names[] = { "state", "ended", "failed", "pid", "progress", "last_reason" };
	cop_wire_cursor map;
	cop_wire_keys keys;
	unsigned which;
	char state[16] = "";
	cop_err err = inner(cursor, &map);
	if (err == COP_OK)
		err = cop_wire_keys_open(&keys, &map, names, 6, NULL);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK) {
		if (which == 0)
			take_text(&map, state, sizeof state);
		else if (which == 4)
			err = cop_wire_cursor_double(&map, &out->progress);
		else if (which == 5)
			take_text(&map, out->why, sizeof out->why);
		else
			err = cop_wire_cursor_unsigned(&map, which == 1   ? &out->ended
			                                     : which == 2 ? &out->failed
			                                                  : &out->pid);
	}
	out->running = strcmp(state, "running") == 0 || strcmp(state, "queued") == 0;
	return err == COP_EEND ? COP_OK : err;
}

static cop_err read_model(cop_wire_cursor *cursor, watch *out)
{
	static const char *const names[] = { "refit" };
	cop_wire_cursor map;
	cop_wire_keys keys;
	unsigned which;
	cop_err err = inner(cursor, &map);
	if (err == COP_OK)
		err = cop_wire_keys_open(&keys, &map, names, 1, NULL);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK)
		err = read_refit(&map, out);
	return err == COP_EEND ? COP_OK : err;
}

static cop_err read_status(const cop_client_reply *reply, watch *out)
{
	static const char *const names[] = { "models" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	size_t count = 0;
	*out = (watch){ .running = false };
	cop_wire_cursor_init(&cursor, reply->body, reply->length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, 1, NULL);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK) {
		err = cop_wire_cursor_array(&cursor, &count);
		if (err == COP_OK && count != 1)
			return COP_EFORMAT;
		if (err == COP_OK)
			err = read_model(&cursor, out);
	}
	return err == COP_EEND ? COP_OK : err;
}

static cop_err look(bench *b, watch *out)
{
	cop_client_reply reply;
	cop_err err = cop_bench_interrupted(b->diag);
	if (err == COP_OK)
		err = cop_bench_pair_check(&b->pair, b->diag);
	if (err == COP_OK)
		err = cop_client_request(b->control, "status", COP_BENCH_FITTED_MODEL, NULL, 0, &reply, b->diag);
	if (err != COP_OK)
		return err;
	err = read_status(&reply, out);
	if (err != COP_OK)
		cop_diag_message(b->diag, "the daemon's status cannot be read");
	if (err == COP_OK && out->failed > 0) {
		cop_diag_message(b->diag, "a refit failed: %s", out->why);
		return COP_EIO;
	}
	return err;
}

static void rest(void)
{
	const struct timespec pause = { .tv_nsec = (long)(1e9 * POLL_SECONDS) };
	(void)nanosleep(&pause, NULL);
}

/* ---- refits ---- */

static cop_err fill(bench *b, uint64_t events)
{
	double rate;
	const cop_bench_part part = {
		.inflight = BATCHES, .batch = b->set->requests.batch, .learns = true, .events = events, .seconds = 1e9
	};
	return cop_bench_drive(b->filled, &part, &rate, b->diag);
}

static cop_err wait_for_none(bench *b)
{
	watch is;
	cop_err err;
	while ((err = look(b, &is)) == COP_OK && is.running)
		rest();
	return err;
}

/* A refit that was asked for has come so far, *is describes the refit. COP_ENOTFOUND: the refit has ended already. */
static cop_err begin_refit(bench *b, double progress, watch *is)
{
	cop_client_reply reply;
	watch before = { .running = false };
	cop_err err = fill(b, FRESH);
	if (err == COP_OK)
		err = look(b, &before);
	if (err == COP_OK)
		err = cop_client_request(b->control, "refit", COP_BENCH_FITTED_MODEL, NULL, 0, &reply, b->diag);
	while (err == COP_OK && (err = look(b, is)) == COP_OK && (is->pid == 0 || is->progress < progress)) {
		if (is->ended > before.ended)
			return COP_ENOTFOUND;
		rest();
	}
	return err;
}

static cop_err drive(bench *b, cop_bench_latencies *out)
{
	return cop_bench_drive_at(b->measured, b->rate, b->set->requests.seconds, out, b->diag);
}

/* COP_ENOTFOUND: the refit had ended before the round did. */
static cop_err drive_beside_refit(bench *b, cop_bench_latencies *out)
{
	watch before, after;
	out->count = 0;
	cop_err err = begin_refit(b, LAST_START * (double)b->counted / (double)b->set->requests.rounds, &before);
	if (err == COP_OK)
		err = drive(b, out);
	if (err == COP_OK)
		err = look(b, &after);
	if (err != COP_OK)
		return err;
	if (after.pid != before.pid)
		return COP_ENOTFOUND;
	b->counted++;
	b->from = before.progress < b->from ? before.progress : b->from;
	b->to = after.progress > b->to ? after.progress : b->to;
	return COP_OK;
}

static cop_err take_turn(void *context, int side, cop_bench_latencies *out)
{
	bench *b = context;
	cop_err err = wait_for_none(b);
	if (err == COP_OK && side == QUIET)
		return drive(b, out);
	while (err == COP_OK) {
		err = drive_beside_refit(b, out);
		if (err != COP_ENOTFOUND)
			return err;
		if (b->too_short++ == DOUBLINGS) {
			cop_diag_message(b->diag,
			        "refits of %" PRIu64 " events end within a round of %g s; expected more --events, or "
			        "shorter rounds",
			        b->events, b->set->requests.seconds);
			return COP_EINVAL;
		}
		err = fill(b, b->events);
		b->events *= 2;
		if (err == COP_OK)
			err = wait_for_none(b);
	}
	return err;
}

/* ---- all of it ---- */

static cop_err connect_all(bench *b)
{
	cop_bench_target target = {
		.endpoint = b->pair.daemon_endpoint,
		.model = COP_BENCH_OWN_MODEL,
		.features = b->set->features,
		.floats = b->set->floats,
		.timeout = b->set->timeout,
	};
	cop_err err = cop_bench_drive_open(&target, &b->measured, b->diag);
	target.model = COP_BENCH_FITTED_MODEL;
	if (err == COP_OK)
		err = cop_bench_drive_open(&target, &b->filled, b->diag);
	if (err == COP_OK)
		err = cop_client_open(b->pair.admin_endpoint, target.timeout, &b->control, b->diag);
	if (err != COP_OK) /* the reason may be that it has ended */
		(void)!cop_bench_pair_check(&b->pair, b->diag);
	return err;
}

/* With a checkpoint the worker asks the model for losses, as it does of a daemon that has run for long. */
static cop_err prepare(bench *b)
{
	cop_client_reply reply;
	const cop_bench_part part = {
		.inflight = b->set->requests.inflight, .batch = 1, .seconds = b->set->requests.seconds
	};
	cop_err err = cop_bench_drive(b->measured, &part, &b->capacity, b->diag);
	b->rate = LOAD * b->capacity;
	if (err == COP_OK)
		err = fill(b, b->events);
	return err == COP_OK ? cop_client_request(b->control, "checkpoint", "", NULL, 0, &reply, b->diag) : err;
}

static void show_text(const bench *b)
{
	const cop_bench_costs *set = b->set;
	(void)printf("learner dgt, %zu arms, %zu features, over %s; refits of another model with %" PRIu64 " events; "
	             "medians of %zu rounds of %g s\n\n",
	        set->arms, set->features, set->tcp ? "tcp" : "ipc", b->events, set->requests.rounds,
	        set->requests.seconds);
	(void)printf("it decides %.0f a second without a refit; rounds lay between %.0f and %.0f %% of a refit\n\n",
	        b->capacity, 100.0 * b->from, 100.0 * b->to);
	(void)printf("%-44s %10s %10s %8s\n", "latency in us", "no refit", "refit", "ratio");
	(void)printf("of %.0f decisions a second\n", b->rate);
	cop_bench_latency_show(b->latency);
}

static void put_json(const bench *b, cop_json_writer *json)
{
	cop_json_put_unsigned(json, "features", b->set->features);
	cop_json_put_unsigned(json, "rounds", b->set->requests.rounds);
	cop_json_put_number(json, "seconds", b->set->requests.seconds);
	cop_json_put_unsigned(json, "events", b->events);
	cop_json_put_number(json, "capacity_per_second", b->capacity);
	cop_json_put_unsigned(json, "refits_too_short", b->too_short);
	cop_json_put_number(json, "progress_low", b->from);
	cop_json_put_number(json, "progress_high", b->to);
	cop_bench_latency_put(json, side_keys, b->rate, b->latency);
}

cop_err cop_bench_refit_run(const cop_bench_costs *settings, cop_json_writer *json, cop_diag *diag)
{
	bench b = { .set = settings, .diag = diag, .events = settings->events, .from = 1.0 };
	sigset_t before;
	cop_bench_signals_hold(&before);
	cop_err err = cop_bench_pair_start(&b.pair, settings, diag);
	if (err == COP_OK)
		err = connect_all(&b);
	if (err == COP_OK)
		err = prepare(&b);
	if (err == COP_OK)
		err = cop_bench_latency_measure(settings->requests.rounds, take_turn, &b, b.latency);
	cop_client_close(b.control);
	cop_bench_drive_close(b.filled);
	cop_bench_drive_close(b.measured);
	cop_bench_pair_stop(&b.pair);
	cop_bench_signals_release(&before);
	if (err == COP_OK && json == NULL)
		show_text(&b);
	else if (err == COP_OK)
		put_json(&b, json);
	return err;
}
