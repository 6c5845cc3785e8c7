/* Handing over: what changes models is refused, windows stand still, and when a follower has every record the order is
 * answered; the process ends once that answer is on its way. Where no follower gets there in time, this instance goes
 * on. */
#include "daemon/lead.h"

#include <inttypes.h>

#include "daemon/common/clock.h"
#include "daemon/durable/healing.h"
#include "daemon/model_change.h"
#include "daemon/request.h"
#include "wire/wire_keys.h"
#include "wire/wire_put.h"

#define DRAIN_SECONDS 10.0

double cop_lead_now(void) { return cop_clock_read(CLOCK_BOOTTIME); }

typedef struct order {
	bool has_epoch, has_until;
	uint64_t epoch;
	double until; /* on our clock */
	double within;
	cop_wire_seq seq;
} order;

enum { EPOCH, FOR, UNTIL, WITHIN, SEQ, KEYS };

static cop_err read_seconds(cop_wire_cursor *cursor, const char *name, double *out, cop_wire_fault *fault)
{
	cop_err err = cop_wire_cursor_double(cursor, out);
	if (err == COP_OK && *out <= 0.0)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "%s: %g, expected seconds above 0", name, *out);
	return err == COP_OK ? COP_OK
	                     : cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, name, "a number of seconds");
}

static cop_err read_key(cop_wire_cursor *cursor, unsigned key, order *o, cop_wire_fault *fault)
{
	double seconds = 0.0;
	cop_err err;
	switch (key) {
	case EPOCH:
		o->has_epoch = true;
		err = cop_wire_cursor_unsigned(cursor, &o->epoch);
		if (err == COP_OK && o->epoch > 0)
			return COP_OK;
		if (err == COP_OK)
			return cop_wire_fault_set(
			        fault, COP_WIRE_BAD_REQUEST, "epoch: 0, expected a whole number above 0");
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "epoch", "a whole number above 0");
	case FOR:
	case UNTIL:
		err = read_seconds(cursor, key == FOR ? "for" : "until", &seconds, fault);
		o->until = key == FOR ? cop_lead_now() + seconds : seconds;
		if (err == COP_OK && o->has_until)
			return cop_wire_fault_set(
			        fault, COP_WIRE_BAD_REQUEST, "for, until: both given, expected one of them");
		o->has_until = true;
		return err;
	case WITHIN:
		return read_seconds(cursor, "within", &o->within, fault);
	default:
		return cop_wire_read_seq(cursor, &o->seq, fault);
	}
}

static cop_err read_order(const void *body, size_t length, order *out, cop_wire_fault *fault)
{
	static const char *const names[KEYS] = { "epoch", "for", "until", "within", "seq" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	*out = (order){ .within = DRAIN_SECONDS };
	if (length == 0)
		return COP_OK;
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, KEYS, fault);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK)
		err = read_key(&cursor, which, out, fault);
	return err == COP_EEND ? COP_OK : err;
}

/* ---- to lead ---- */

/* From follower to leader: what a start of one that leads does behind its journal. */
static cop_err take_over(cop_server *server, cop_wire_fault *fault)
{
	cop_durability *durable = &server->durable;
	cop_diag why = { 0 };
	durable->follows = false;
	if (cop_model_table_complete(&durable->models, &why) != COP_OK)
		return cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "lead: %s", why.message);
	cop_model_table_reconfigure(&durable->models, durable->config, durable->log);
	cop_durability_record_config(durable);
	cop_model_table_begin(&durable->models, cop_clock_monotonic());
	cop_refits_announce(&server->refits);
	cop_notify_ready("serving");
	return COP_OK;
}

static cop_err begin(cop_server *server, uint64_t epoch, cop_wire_fault *fault)
{
	cop_durability *durable = &server->durable;
	cop_replica *replica = &server->replica;
	const bool followed = cop_replica_follows(replica);
	cop_diag why = { 0 };
	if (followed && replica->follower.state == COP_REPLICA_STOPPED)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "lead: this instance follows no more: %.200s; expected to be looked at first",
		        replica->follower.reason);
	if (cop_journaler_begin_epoch(durable->journal, epoch, &why) != COP_OK) {
		if (cop_journaler_broken(durable->journal))
			cop_healing_broke(durable, &why);
		return cop_wire_fault_set(fault, COP_WIRE_NOT_DURABLE, "lead: %.300s", why.message);
	}
	cop_replica_lead(replica, epoch);
	cop_err err = followed ? take_over(server, fault) : COP_OK;
	cop_log_line(server->log, COP_LOG_EVENT(leads), "epoch=%" PRIu64 " next=%" PRIu64, epoch,
	        cop_journaler_next(durable->journal));
	return err;
}

/* The epoch that it goes on in, or is to begin with. */
static cop_err choose_epoch(cop_server *server, const order *o, uint64_t *out, bool *begins, cop_wire_fault *fault)
{
	const bool follows = cop_replica_follows(&server->replica);
	const uint64_t heard = cop_replica_epoch(&server->replica), mine = cop_journaler_epoch(server->durable.journal);
	const uint64_t known = heard > mine ? heard : mine;
	*out = o->has_epoch ? o->epoch : follows ? known + 1 : known;
	*begins = follows || *out > known;
	if (*out > known || (!follows && *out == known))
		return COP_OK;
	return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "epoch: %" PRIu64 ", expected %s %" PRIu64, *out,
	        follows ? "above" : "at least", known);
}

cop_err cop_lead_order(cop_server *server, const void *body, size_t length, cop_bytes *out, cop_wire_fault *fault)
{
	order o;
	uint64_t epoch;
	bool begins;
	cop_err err = read_order(body, length, &o, fault);
	if (err != COP_OK)
		return err;
	if (server->durable.journal == NULL)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "lead: expected a journal (section journal)");
	const bool renews = o.has_epoch && o.epoch == cop_journaler_epoch(server->durable.journal); /* meanwhile, too */
	if ((server->lead.draining && !renews) || server->lead.ended)
		return cop_wire_fault_set(fault, COP_WIRE_BUSY, "lead: this instance hands over");
	if (o.has_until && o.until <= cop_lead_now())
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "until: it is over, expected a time to come");
	err = choose_epoch(server, &o, &epoch, &begins, fault);
	if (err == COP_OK && begins)
		err = begin(server, epoch, fault);
	if (err != COP_OK)
		return err;
	server->serving.until = o.has_until ? o.until : 0.0;
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "epoch", epoch);
	if (o.has_until)
		cop_wire_put_key_double(out, "until", o.until);
	cop_wire_put_key_double(out, "clock", cop_lead_now());
	cop_wire_seq_put(out, &o.seq);
	cop_wire_put_map_close(out, map);
	return COP_OK;
}

/* ---- to follow ---- */

static void put_followed(cop_server *server, const cop_wire_seq *seq, cop_bytes *out)
{
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "epoch", cop_replica_epoch(&server->replica));
	cop_wire_put_key_unsigned(out, "next", cop_journaler_next(server->durable.journal));
	cop_wire_seq_put(out, seq);
	cop_wire_put_map_close(out, map);
}

cop_err cop_lead_follow(
        cop_server *server, const void *body, size_t length, bool *later, cop_bytes *out, cop_wire_fault *fault)
{
	order o;
	cop_err err = read_order(body, length, &o, fault);
	if (err == COP_OK && !server->replica.enabled)
		err = cop_wire_fault_set(
		        fault, COP_WIRE_BAD_REQUEST, "follow: there is no other instance; expected a section replica");
	if (err == COP_OK && (server->lead.draining || server->kept.there))
		err = cop_wire_fault_set(fault, COP_WIRE_BUSY, "follow: another order is under way");
	if (err == COP_OK)
		err = cop_model_change_check(server, "follow", fault);
	if (err != COP_OK)
		return err;
	if (cop_replica_follows(&server->replica)) {
		put_followed(server, &o.seq, out);
		return COP_OK;
	}
	server->lead = (cop_lead){ .draining = true, .drain_end = cop_lead_now() + o.within, .seq = o.seq };
	server->durable.follows = true; /* nothing goes into the journal any more */
	cop_log_line(
	        server->log, COP_LOG_EVENT(hands_over), "next=%" PRIu64, cop_journaler_next(server->durable.journal));
	*later = true;
	return COP_OK;
}

static void answer_follow(cop_server *server, bool handed)
{
	cop_wire_fault fault = { .code = COP_WIRE_BUSY, .message = "" };
	const uint64_t last = cop_journaler_next(server->durable.journal) - 1;
	const uint64_t has = cop_replica_held(&server->replica);
	cop_err err = COP_OK;
	cop_bytes_clear(&server->serving.reply);
	if (handed)
		put_followed(server, &server->lead.seq, &server->serving.reply);
	else
		err = cop_wire_fault_set(&fault, COP_WIRE_BUSY,
		        "follow: no follower has everything: %" PRIu64 " of %" PRIu64
		        " records; this instance leads on",
		        has, last);
	cop_request_answer(server, err, &fault);
	if (!handed)
		cop_log_line(
		        server->log, COP_LOG_EVENT(not_handed_over), "next=%" PRIu64 " has=%" PRIu64, last + 1, has);
}

static void drain(cop_server *server)
{
	cop_lead *lead = &server->lead;
	if (!server->kept.there) { /* it is answered: what waits before that leaves, too */
		lead->ended = cop_outbox_count(&server->serving.outbox) == 0;
		if (lead->ended)
			cop_log_line(server->log, COP_LOG_EVENT(handed_over), "next=%" PRIu64,
			        cop_journaler_next(server->durable.journal));
		return;
	}
	if (cop_replica_held(&server->replica) + 1 >= cop_journaler_next(server->durable.journal)) {
		answer_follow(server, true);
	} else if (cop_lead_now() >= lead->drain_end) {
		answer_follow(server, false);
		lead->draining = false;
		server->durable.follows = false;
	}
}

/* ---- the turn ---- */

void cop_lead_turn(cop_server *server)
{
	const uint64_t higher = cop_replica_higher(&server->replica);
	if (server->lead.ended)
		return;
	if (higher > 0)
		server->serving.silent = true;
	if (server->serving.silent) {
		server->lead.ended = true;
		server->serving.sockets.silent = true;
		cop_log_line(server->log, COP_LOG_EVENT(leads_no_longer),
		        "epoch=%" PRIu64 " reason=\"%s\" higher=%" PRIu64, cop_replica_epoch(&server->replica),
		        higher > 0 ? "another instance leads in a higher epoch" : "the order's time is over", higher);
	} else if (server->lead.draining) {
		drain(server);
	}
	server->stop |= server->lead.ended;
}
