/* Verbs are rows of a table. A handler appends its reply's body to server->reply, or fills the fault and returns an
 * error; the reply is sent in one place. */
#include "daemon/serve/request.h"

#include <string.h>

#include "daemon/refit/refit_body.h"
#include "daemon/report/explain_body.h"
#include "daemon/report/status_body.h"
#include "daemon/common/clock.h"
#include "daemon/serve/event.h"
#include "wire/wire_context.h"
#include "wire/wire_items.h"
#include "wire/wire_keys.h"
#include "wire/wire_put.h"
#include "wire/wire_reply.h"

#define MOST_WAITING 65536 /* answers that may wait for the journal; more requests are refused */

typedef struct request {
	cop_server *server;
	cop_served *model; /* NULL for verbs that need none and got an empty name */
	const void *body;
	size_t length;
	uint64_t sequence; /* newest journal record that the reply tells of; 0: none */
} request;

typedef cop_err handler(request *r, cop_wire_fault *fault);

static cop_err one(request *r, cop_event_handler *handle, cop_wire_fault *fault)
{
	cop_event_scope scope = { .served = r->model, .journal = r->server->journal, .now = r->server->time };
	cop_err err = handle(&scope, r->body, r->length, &r->server->reply, fault);
	r->sequence = scope.sequence;
	return err;
}

/* Each of the two verbs is for models of its kind. */
static cop_err check_kind(const request *r, bool ranks, cop_wire_fault *fault)
{
	bool is = r->model->shape.max_candidates > 0;
	if (is == ranks)
		return COP_OK;
	return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
	        is ? "decide: the model ranks candidates; expected the verb rank or rank_batch"
	           : "rank: the model has no candidates; expected the verb decide or decide_batch");
}

static cop_err decide(request *r, cop_wire_fault *fault)
{
	cop_err err = check_kind(r, false, fault);
	return err != COP_OK ? err : one(r, cop_event_decide, fault);
}

static cop_err rank(request *r, cop_wire_fault *fault)
{
	cop_err err = check_kind(r, true, fault);
	return err != COP_OK ? err : one(r, cop_event_decide, fault);
}

static cop_err feedback(request *r, cop_wire_fault *fault) { return one(r, cop_event_feedback, fault); }
static cop_err activate(request *r, cop_wire_fault *fault) { return one(r, cop_event_activate, fault); }

/* Items are answered in order; one that fails has its error in its place. */
static cop_err batch(request *r, cop_event_handler *each, cop_wire_fault *fault)
{
	cop_wire_items items;
	cop_wire_seq seq;
	cop_err err = cop_wire_items_batch(&items, r->body, r->length, &seq, fault);
	if (err != COP_OK)
		return err;
	cop_event_scope scope = { .served = r->model, .journal = r->server->journal, .now = r->server->time };
	cop_bytes *out = &r->server->reply;
	cop_wire_items_put(out, items.count, &seq);
	const void *item;
	size_t length;
	while (cop_wire_items_next(&items, &item, &length)) {
		cop_wire_fault why;
		if (each(&scope, item, length, out, &why) == COP_OK) {
			r->sequence = scope.sequence > r->sequence ? scope.sequence : r->sequence;
			continue;
		}
		cop_event_id id;
		cop_wire_seq own;
		cop_wire_envelope(item, length, &id, &own);
		r->server->counts.item_codes[why.code]++;
		cop_wire_error_put(out, why.code, why.message, &id, &own);
	}
	return COP_OK;
}

static cop_err decide_batch(request *r, cop_wire_fault *fault)
{
	cop_err err = check_kind(r, false, fault);
	return err != COP_OK ? err : batch(r, cop_event_decide, fault);
}

static cop_err rank_batch(request *r, cop_wire_fault *fault)
{
	cop_err err = check_kind(r, true, fault);
	return err != COP_OK ? err : batch(r, cop_event_decide, fault);
}

static cop_err feedback_batch(request *r, cop_wire_fault *fault) { return batch(r, cop_event_feedback, fault); }

static cop_err explain(request *r, cop_wire_fault *fault)
{
	cop_wire_context context;
	cop_served_insist_on_names(r->model, true);
	cop_err err =
	        cop_wire_explain_decode(r->body, r->length, &r->model->shape, &r->model->workspace, &context, fault);
	cop_served_insist_on_names(r->model, false);
	if (err != COP_OK)
		return err;
	cop_explain_body body = { .served = r->model, .id = NULL, .seq = &context.seq };
	if (context.has_x) {
		const cop_model_context asked = {
			.x = &context.x,
			.candidate = context.candidate,
			.candidates = context.candidates,
			.mask = context.has_mask ? context.mask : NULL,
		};
		err = cop_model_explain_context(r->model->model, &asked, &body.decision, &body.explanation);
		body.x = context.x;
		if (err == COP_OK && context.candidates > 0)
			body.candidate = context.candidate[body.decision.arm];
	} else {
		body.id = &context.id;
		err = cop_model_explain(r->model->model, &context.id, &body.decision, &body.explanation, &body.kept);
		if (err == COP_OK)
			err = cop_model_waiting_rows(r->model->model, &context.id, &body.x, &body.candidate);
	}
	if (err != COP_OK)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "id: no such decision is waiting for its feedback; expected a pending one, or a context in x");
	cop_explain_body_put(&body, &r->server->reply);
	return COP_OK;
}

static cop_err status(request *r, cop_wire_fault *fault)
{
	cop_wire_seq seq;
	cop_err err = cop_wire_plain_decode(r->body, r->length, &seq, fault);
	if (err == COP_OK)
		cop_status_body_put(r->server, r->model, &seq, &r->server->reply);
	return err;
}

static cop_err checkpoint(request *r, cop_wire_fault *fault)
{
	cop_server *server = r->server;
	cop_wire_seq seq;
	cop_diag diag = { 0 };
	cop_err err = cop_wire_plain_decode(r->body, r->length, &seq, fault);
	if (err != COP_OK)
		return err;
	err = cop_server_checkpoint(server, &diag);
	if (err != COP_OK)
		return cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "checkpoint: %s", diag.message);
	size_t map = cop_wire_put_map_open(&server->reply);
	cop_wire_put_key_unsigned(&server->reply, "sequence", server->checkpoint.sequence);
	cop_wire_put_key_unsigned(&server->reply, "bytes", server->checkpoint.bytes);
	cop_wire_put_key_double(&server->reply, "seconds", server->checkpoint.seconds);
	cop_wire_seq_put(&server->reply, &seq);
	cop_wire_put_map_close(&server->reply, map);
	return COP_OK;
}

static cop_err reload(request *r, cop_wire_fault *fault)
{
	cop_wire_seq seq;
	cop_err err = cop_wire_plain_decode(r->body, r->length, &seq, fault);
	return err != COP_OK ? err : cop_server_reload(r->server, &seq, &r->server->reply, fault);
}

static cop_err refit(request *r, cop_wire_fault *fault)
{
	cop_wire_seq seq;
	cop_err err = cop_wire_plain_decode(r->body, r->length, &seq, fault);
	return err != COP_OK ? err : cop_refit_body_refit(r->server, r->model, &seq, fault);
}

typedef cop_err order_handler(cop_server *server, cop_served *served, const cop_refit_order *order, uint64_t *sequence,
        cop_wire_fault *fault);

static cop_err order(request *r, order_handler *handle, cop_wire_fault *fault)
{
	cop_refit_order what;
	cop_err err = cop_refit_order_decode(r->body, r->length, &what, fault);
	return err != COP_OK ? err : handle(r->server, r->model, &what, &r->sequence, fault);
}

static cop_err promote(request *r, cop_wire_fault *fault) { return order(r, cop_refit_body_promote, fault); }
static cop_err rollback(request *r, cop_wire_fault *fault) { return order(r, cop_refit_body_rollback, fault); }
static cop_err freeze(request *r, cop_wire_fault *fault) { return order(r, cop_refit_body_freeze, fault); }

typedef struct verb {
	const char *name;
	bool needs_model;
	cop_outbox_kind kind; /* of its reply */
	handler *handle;
} verb;

static const verb verbs[] = {
	{ "decide", true, COP_OUTBOX_DECISION, decide },
	{ "rank", true, COP_OUTBOX_DECISION, rank },
	{ "feedback", true, COP_OUTBOX_FEEDBACK, feedback },
	{ "decide_batch", true, COP_OUTBOX_DECISION, decide_batch },
	{ "rank_batch", true, COP_OUTBOX_DECISION, rank_batch },
	{ "feedback_batch", true, COP_OUTBOX_FEEDBACK, feedback_batch },
	{ "activate", true, COP_OUTBOX_FEEDBACK, activate },
	{ "explain", true, COP_OUTBOX_PLAIN, explain },
	{ "status", false, COP_OUTBOX_PLAIN, status },
	{ "checkpoint", false, COP_OUTBOX_PLAIN, checkpoint },
	{ "reload", false, COP_OUTBOX_PLAIN, reload },
	{ "refit", true, COP_OUTBOX_PLAIN, refit },
	{ "promote", true, COP_OUTBOX_FEEDBACK, promote },
	{ "rollback", true, COP_OUTBOX_FEEDBACK, rollback },
	{ "freeze", true, COP_OUTBOX_FEEDBACK, freeze },
};

static bool frame_is(zmq_msg_t *frame, const char *text)
{
	return zmq_msg_size(frame) == strlen(text) && memcmp(zmq_msg_data(frame), text, strlen(text)) == 0;
}

static cop_err find_model(cop_server *server, zmq_msg_t *name, bool needed, cop_served **model, cop_wire_fault *fault)
{
	size_t length = zmq_msg_size(name);
	*model = NULL;
	if (length == 0 && !needed)
		return COP_OK;
	*model = cop_served_find(&server->models, zmq_msg_data(name), length);
	if (*model != NULL)
		return COP_OK;
	char clean[COP_CONFIG_NAME_MAX + 8];
	cop_wire_text_clean(clean, sizeof clean, zmq_msg_data(name), length);
	return cop_wire_fault_set(
	        fault, COP_WIRE_UNKNOWN_MODEL, "no model '%s'; expected one of the configuration", clean);
}

/* frame[0..count): verb, model and body; the last two may be missing where they are not needed. */
static cop_err dispatch(
        cop_server *server, zmq_msg_t *frame, size_t count, cop_outbox_item *answer, cop_wire_fault *fault)
{
	static const uint8_t empty_map[] = { 0x80 };
	if (count < 1 || count > 3)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "%zu frames; expected verb, model, body", count);
	request r = { .server = server, .body = empty_map, .length = sizeof empty_map };
	if (count == 3) {
		r.body = zmq_msg_data(&frame[2]);
		r.length = zmq_msg_size(&frame[2]);
	}
	if (r.length > server->config->message_limit)
		return cop_wire_fault_set(fault, COP_WIRE_TOO_LARGE, "body of %zu bytes; expected at most %zu",
		        r.length, (size_t)server->config->message_limit);
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		if (!frame_is(&frame[0], verbs[i].name))
			continue;
		if (verbs[i].needs_model && count != 3)
			return cop_wire_fault_set(
			        fault, COP_WIRE_BAD_REQUEST, "%zu frames; expected verb, model, body", count);
		if (verbs[i].kind != COP_OUTBOX_PLAIN && cop_inlet_full(server->sockets.inlet, COP_INLET_REQUESTS))
			return cop_wire_fault_set(
			        fault, COP_WIRE_BUSY, "too many requests wait; expected to be sent again later");
		cop_err err = count < 2 ? COP_OK : find_model(server, &frame[1], verbs[i].needs_model, &r.model, fault);
		if (err == COP_OK)
			err = verbs[i].handle(&r, fault);
		answer->kind = verbs[i].kind;
		answer->sequence = r.sequence;
		return err;
	}
	char clean[40];
	cop_wire_text_clean(clean, sizeof clean, zmq_msg_data(&frame[0]), zmq_msg_size(&frame[0]));
	return cop_wire_fault_set(fault, COP_WIRE_UNKNOWN_VERB,
	        "no verb '%s'; expected decide, rank, feedback, decide_batch, rank_batch, feedback_batch, activate, "
	        "explain, status, checkpoint, reload, refit, promote, rollback or freeze",
	        clean);
}

static void put_error(cop_server *server, cop_sockets_message *message, size_t first, const cop_wire_fault *fault)
{
	cop_event_id id = { 0 };
	cop_wire_seq seq = { 0 };
	if (message->count == first + 3) {
		zmq_msg_t *body = &message->frame[first + 2];
		if (zmq_msg_size(body) <= server->config->message_limit)
			cop_wire_envelope(zmq_msg_data(body), zmq_msg_size(body), &id, &seq);
	}
	cop_bytes_clear(&server->reply);
	cop_wire_error_put(&server->reply, fault->code, fault->message, &id, &seq);
	server->counts.errors++;
	server->counts.codes[fault->code]++;
}

/* One reading of the clock for a message: it ends this one's time and begins the next one's. */
static void take_time(cop_server *server, bool decided)
{
	uint64_t now = cop_clock_monotonic_ns();
	if (decided)
		cop_histogram_observe(&server->decide_durations, now - server->mark);
	server->mark = now;
}

static bool outbox_full(const cop_server *server)
{
	return cop_outbox_count(&server->outbox) >= MOST_WAITING ||
	       cop_outbox_bytes(&server->outbox) > server->config->queue_limit / 8;
}

void cop_request_handle(cop_server *server, cop_sockets_message *message)
{
	cop_wire_fault fault = { .code = COP_WIRE_INTERNAL, .message = "internal error" };
	cop_outbox_item answer = { .kind = COP_OUTBOX_PLAIN };
	server->counts.requests++;
	cop_bytes_clear(&server->reply);
	/* frame[0] is the peer's identity; REQ sockets put an empty frame behind it. */
	answer.delimiter = message->count > 1 && zmq_msg_size(&message->frame[1]) == 0;
	size_t first = answer.delimiter ? 2 : 1;
	cop_err err = message->too_many || message->count < first
	                      ? cop_wire_fault_set(
	                                &fault, COP_WIRE_BAD_REQUEST, "too many frames; expected verb, model, body")
	              : outbox_full(server)
	                      ? cop_wire_fault_set(&fault, COP_WIRE_BUSY,
	                                "%zu answers wait for the journal; expected to be sent again later",
	                                cop_outbox_count(&server->outbox))
	                      : dispatch(server, &message->frame[first], message->count - first, &answer, &fault);
	if (err == COP_OK && server->reply.err != COP_OK)
		err = cop_wire_fault_set(&fault, COP_WIRE_INTERNAL, "reply: %s", cop_err_text(server->reply.err));
	if (err != COP_OK)
		put_error(server, message, first, &fault);
	bool decided = err == COP_OK &&
	               (frame_is(&message->frame[first], "decide") || frame_is(&message->frame[first], "rank"));
	answer.ok = err == COP_OK;
	if (cop_outbox_put(&server->outbox, answer, &message->frame[0], &server->reply) != COP_OK)
		server->sockets.replies_dropped++;
	cop_sockets_release(message);
	take_time(server, decided);
}
