/* Verbs are the rows of verbs.def. A handler appends its reply's body to serving.reply, or fills the fault and returns
 * an error; the reply is sent in one place. */
#include "daemon/request.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/api/api_link.h"
#include "daemon/common/clock.h"
#include "daemon/forget_server.h"
#include "daemon/lead.h"
#include "daemon/refit/refit_body.h"
#include "daemon/model_change.h"
#include "daemon/past_verb.h"
#include "daemon/report/explain_body.h"
#include "daemon/report/history_body.h"
#include "daemon/report/positions_body.h"
#include "daemon/report/status_body.h"
#include "daemon/serve/permit.h"
#include "online/model_shadow.h"
#include "online/model_positions.h"
#include "wire/wire_context.h"
#include "wire/wire_items.h"
#include "wire/wire_keys.h"
#include "wire/wire_put.h"
#include "wire/wire_reply.h"

#define MOST_WAITING 65536 /* answers that may wait for the journal; more requests are refused */

typedef struct verb verb;

typedef struct request {
	cop_server *server;
	bool admin; /* it came by the endpoint of administration */
	const verb *verb;
	cop_model_slot *model; /* NULL for verbs that need none and got an empty name */
	const char *name;      /* of the model, as it came */
	size_t name_length;
	const void *body;
	size_t length;
	uint64_t sequence;              /* newest journal record that the reply reports; 0: none */
	const cop_access_entry *client; /* whose key it came with; NULL: none */
	bool quiet;                     /* administration that changed nothing, and is not logged */
	bool later;                     /* there is no answer yet */
	bool limited;                   /* it is beyond the client's limits */
	uint32_t owner, owner_most;     /* of its decisions, as of a cop_event_scope */
} request;

typedef cop_err handler(request *r, cop_wire_fault *fault);

/* Which models a verb is for. */
typedef enum verb_models { ANY, NO_CANDIDATES, CANDIDATES, NONE_NEEDED, NOT_YET } verb_models;

struct verb {
	const char *name;
	verb_models models;
	unsigned right;           /* that its sender's key needs */
	cop_outbox_kind kind;     /* of its reply */
	cop_event_handler *event; /* of one item; NULL: handle does it all */
	handler *handle;          /* NULL: the event alone, timed as a decision if it is one */
	bool changes;             /* models: one that follows does not take it */
};

static cop_event_scope scope_of(const request *r)
{
	cop_event_scope scope = cop_serving_scope(&r->server->serving, r->model);
	scope.follows = cop_replica_follows(&r->server->replica);
	scope.owner = r->owner;
	scope.owner_most = r->owner_most;
	return scope;
}

/* Whether the event would be taken at another time; one that is short of memory is said to be. */
static bool is_passing(cop_err err, cop_wire_fault *why)
{
	if (err == COP_ENOMEM)
		why->code = COP_WIRE_BUSY;
	return err == COP_ENOMEM || err == COP_EIO;
}

/* Items are answered in order; one that fails has its error in its place. */
static cop_err batch(request *r, cop_wire_fault *fault)
{
	cop_serving *serving = &r->server->serving;
	cop_wire_items items;
	cop_wire_seq seq;
	cop_err err = cop_wire_items_batch(&items, r->body, r->length, &seq, fault);
	if (err != COP_OK)
		return err;
	if (items.after.source != NULL && !cop_positions_passed(cop_model_positions(r->model->model), &items.after))
		return cop_wire_fault_set(fault, COP_WIRE_BEHIND,
		        "after: the model does not know this position; expected to be sent again from the one that it "
		        "knows");
	cop_permit_charge(r->client, items.count);
	cop_model_slot_charge(r->model, items.count > 0 ? items.count - 1 : 0);
	cop_event_scope scope = scope_of(r);
	cop_bytes *out = &serving->reply;
	cop_wire_items_put(out, items.count, &seq);
	const void *item;
	size_t length;
	cop_wire_fault why;
	bool ended = false; /* what stands behind goes the way of the one that could not be taken now */
	while (cop_wire_items_next(&items, &item, &length)) {
		if (!ended) {
			err = r->verb->event(&scope, item, length, out, &why);
			ended = items.ordered && is_passing(err, &why);
		}
		if (err == COP_OK) {
			r->sequence = scope.sequence > r->sequence ? scope.sequence : r->sequence;
			continue;
		}
		cop_event_id id;
		cop_wire_seq own;
		cop_wire_envelope(item, length, &id, &own);
		serving->counts.item_codes[why.code]++;
		cop_wire_reply_error_put(out, why.code, why.message, &id, &own);
	}
	return COP_OK;
}

static cop_err explain(request *r, cop_wire_fault *fault)
{
	cop_wire_context context;
	cop_model_slot_insist_on_names(r->model, true);
	cop_err err =
	        cop_wire_explain_decode(r->body, r->length, &r->model->shape, &r->model->workspace, &context, fault);
	cop_model_slot_insist_on_names(r->model, false);
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
		if (err == COP_OK)
			(void)cop_wire_context_name(&context, body.decision.arm, &body.arm, &body.arm_length);
		if (err == COP_OK && context.candidates > 0)
			body.candidate = context.candidate[body.decision.arm];
	} else {
		err = cop_explain_body_of_waiting(&body, &context.id);
	}
	if (err != COP_OK)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "id: no such decision is waiting for its feedback; expected a pending one, or a context in x");
	cop_explain_body_put(&body, &r->server->serving.reply);
	return COP_OK;
}

static cop_err status(request *r, cop_wire_fault *fault)
{
	cop_wire_seq seq;
	cop_err err = cop_wire_plain_decode(r->body, r->length, &seq, fault);
	if (err == COP_OK)
		cop_status_body_put(&r->server->report, r->model, &seq, &r->server->serving.reply);
	return err;
}

static cop_err history(request *r, cop_wire_fault *fault)
{
	cop_wire_seq seq;
	cop_err err = cop_wire_plain_decode(r->body, r->length, &seq, fault);
	if (err == COP_OK)
		cop_history_body_put(&r->server->report, r->model, &seq, &r->server->serving.reply);
	return err;
}

static cop_err positions(request *r, cop_wire_fault *fault)
{
	cop_wire_seq seq;
	cop_err err = cop_wire_plain_decode(r->body, r->length, &seq, fault);
	if (err == COP_OK)
		r->sequence = cop_positions_body_put(&r->server->report, r->model, &seq, &r->server->serving.reply);
	return err;
}

static cop_err decision(request *r, cop_wire_fault *fault)
{
	return cop_past_verb_decision(r->server, r->model, r->body, r->length, fault);
}

static cop_err decisions(request *r, cop_wire_fault *fault)
{
	return cop_past_verb_decisions(r->server, r->model, r->body, r->length, fault);
}

static cop_err view(request *r, cop_wire_fault *fault)
{
	cop_wire_seq seq;
	cop_server *server = r->server;
	cop_bytes *out = &server->serving.reply;
	cop_err err = cop_wire_plain_decode(r->body, r->length, &seq, fault);
	if (err != COP_OK)
		return err;
	const cop_model_view_page *page =
	        cop_model_view_ask(&server->view, r->model, cop_clock_monotonic(), cop_clock_real());
	if (page != NULL && page->err != COP_OK)
		return cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "view: %s",
		        page->why.message[0] != '\0' ? page->why.message : cop_err_text(page->err));
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "state", page == NULL ? "drawing" : "done");
	if (page != NULL)
		cop_wire_put_key_string(out, "html", (const char *)page->html.data, page->html.length);
	cop_wire_seq_put(out, &seq);
	cop_wire_put_map_close(out, map);
	return COP_OK;
}

/* For a backup the reply also reports what is to be copied. */
static cop_err save(request *r, bool backup, cop_wire_fault *fault)
{
	cop_durability *durable = &r->server->durable;
	cop_bytes *out = &r->server->serving.reply;
	cop_wire_seq seq;
	cop_diag diag = { 0 };
	cop_err err = cop_wire_plain_decode(r->body, r->length, &seq, fault);
	if (err != COP_OK)
		return err;
	err = cop_durability_checkpoint(durable, &diag);
	if (err != COP_OK)
		return cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "checkpoint: %s", diag.message);
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "sequence", durable->checkpoint.sequence);
	cop_wire_put_key_unsigned(out, "bytes", durable->checkpoint.bytes);
	cop_wire_put_key_double(out, "seconds", durable->checkpoint.seconds);
	if (backup)
		cop_status_body_put_state(&r->server->report, out);
	cop_wire_seq_put(out, &seq);
	cop_wire_put_map_close(out, map);
	return COP_OK;
}

static cop_err checkpoint(request *r, cop_wire_fault *fault) { return save(r, false, fault); }
static cop_err backup(request *r, cop_wire_fault *fault) { return save(r, true, fault); }

static cop_err reload(request *r, cop_wire_fault *fault)
{
	cop_wire_seq seq;
	cop_err err = cop_wire_plain_decode(r->body, r->length, &seq, fault);
	if (err == COP_OK)
		err = cop_model_change_check(r->server, "reload", fault);
	return err != COP_OK ? err
	                     : cop_model_change_reload(r->server, &seq, &r->later, &r->server->serving.reply, fault);
}

static cop_err change_model(request *r, cop_wire_fault *fault)
{
	return cop_model_change_order(r->server, r->name, r->name_length, r->body, r->length, &r->later, fault);
}

static cop_err forget(request *r, cop_wire_fault *fault)
{
	bool ordered = true;
	cop_err err = cop_forget_server_order(r->server, r->model, r->body, r->length, &ordered, fault);
	r->quiet = !ordered;
	return err;
}

/* A renewal, as a lease gives one a second, is not logged. */
static cop_err lead(request *r, cop_wire_fault *fault)
{
	const uint64_t before = cop_journaler_base(r->server->durable.journal);
	cop_err err = cop_lead_order(r->server, r->body, r->length, &r->server->serving.reply, fault);
	r->quiet = err == COP_OK && cop_journaler_base(r->server->durable.journal) == before;
	return err;
}

static cop_err follow(request *r, cop_wire_fault *fault)
{
	return cop_lead_follow(r->server, r->body, r->length, &r->later, &r->server->serving.reply, fault);
}

static cop_err refit(request *r, cop_wire_fault *fault)
{
	cop_refit_order order = { .slot = r->model };
	cop_err err = cop_wire_plain_decode(r->body, r->length, &order.seq, fault);
	return err != COP_OK ? err : cop_refit_body_refit(&r->server->refits, &order, &r->server->serving.reply, fault);
}

typedef cop_err order_handler(cop_refits *refits, cop_refit_order *order, cop_bytes *out, cop_wire_fault *fault);

static cop_err order(request *r, order_handler *handle, cop_wire_fault *fault)
{
	cop_refit_order what = { .slot = r->model };
	cop_err err = cop_refit_body_decode(r->body, r->length, &what, fault);
	if (err == COP_OK)
		err = handle(&r->server->refits, &what, &r->server->serving.reply, fault);
	r->sequence = what.sequence;
	return err;
}

static cop_err promote(request *r, cop_wire_fault *fault) { return order(r, cop_refit_body_promote, fault); }
static cop_err rollback(request *r, cop_wire_fault *fault) { return order(r, cop_refit_body_rollback, fault); }
static cop_err freeze(request *r, cop_wire_fault *fault) { return order(r, cop_refit_body_freeze, fault); }

static const verb verbs[] = {
#define VERB(name, models, right, kind, event, handle, changes, body, reply, meaning)                                  \
	{ #name, models, COP_ACCESS_##right, COP_OUTBOX_##kind, event, handle, changes },
#include "daemon/verbs.def"
#undef VERB
};
#define VERBS (sizeof verbs / sizeof *verbs)

static bool frame_is(zmq_msg_t *frame, const char *text)
{
	return zmq_msg_size(frame) == strlen(text) && memcmp(zmq_msg_data(frame), text, strlen(text)) == 0;
}

/* "decide, rank, ... or follow" */
static void list_verbs(char *out, size_t size)
{
	size_t used = 0;
	for (size_t i = 0; i < VERBS && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s",
		        i == 0          ? ""
		        : i + 1 < VERBS ? ", "
		                        : " or ",
		        verbs[i].name);
}

static const verb *find_verb(zmq_msg_t *frame, cop_wire_fault *fault)
{
	for (size_t i = 0; i < VERBS; i++)
		if (frame_is(frame, verbs[i].name))
			return &verbs[i];
	char clean[40], all[sizeof fault->message];
	cop_wire_text_clean(clean, sizeof clean, zmq_msg_data(frame), zmq_msg_size(frame));
	list_verbs(all, sizeof all);
	(void)cop_wire_fault_set(fault, COP_WIRE_UNKNOWN_VERB, "no verb '%s'; expected %s", clean, all);
	return NULL;
}

/* The model of that name, and one that the verb is for. */
static cop_err find_model(request *r, zmq_msg_t *name, cop_wire_fault *fault)
{
	size_t length = zmq_msg_size(name);
	r->name = zmq_msg_data(name);
	r->name_length = length;
	if ((length == 0 && r->verb->models == NONE_NEEDED) || r->verb->models == NOT_YET)
		return COP_OK;
	const cop_model_table *models = &r->server->durable.models;
	r->model = cop_model_table_find(&r->server->durable.models, zmq_msg_data(name), length);
	if (r->model == NULL) {
		char clean[COP_CONFIG_NAME_MAX + 8];
		cop_wire_text_clean(clean, sizeof clean, zmq_msg_data(name), length);
		if (cop_model_table_is_leaving(models, zmq_msg_data(name), length))
			return cop_wire_fault_set(fault, COP_WIRE_BUSY,
			        "the model %s is being removed or begun anew; expected to be sent again later", clean);
		return cop_wire_fault_set(
		        fault, COP_WIRE_UNKNOWN_MODEL, "no model '%s'; expected one of the configuration", clean);
	}
	bool ranks = r->model->shape.max_candidates > 0;
	if (r->verb->models == NO_CANDIDATES && ranks)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "decide: the model ranks candidates; expected the verb rank or rank_batch");
	if (r->verb->models == CANDIDATES && !ranks)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "rank: the model has no candidates; expected the verb decide or decide_batch");
	return COP_OK;
}

static bool is_administration(const verb *v) { return v->right == COP_ACCESS_ADMIN; }

/* Verbs of administration have an endpoint of their own, whose file's mode, or whose clients' keys, guard it. */
static cop_err check_endpoint(const request *r, const verb *v, cop_wire_fault *fault)
{
	const cop_config_list *list = &r->server->config->admin;
	if (!is_administration(v) || r->admin)
		return COP_OK;
	if (list->count == 0)
		return cop_wire_fault_set(fault, COP_WIRE_FORBIDDEN,
		        "%s is administration, which has no endpoint; expected admin in section sockets", v->name);
	return cop_wire_fault_set(
	        fault, COP_WIRE_FORBIDDEN, "%s is administration; expected at %s", v->name, list->items[0]);
}

static bool is_frozen(const cop_model_slot *slot)
{
	cop_promotion_test_roles roles;
	cop_model_shadow_roles(slot->model, &roles);
	return roles.frozen;
}

/* An instance that follows only answers: also what a model that does not learn would decide. */
static cop_err check_role(const request *r, cop_wire_fault *fault)
{
	const char *where = cop_replica_requests(&r->server->replica);
	if (r->verb->changes && r->server->lead.draining)
		return cop_wire_fault_set(fault, COP_WIRE_NOT_LEADER,
		        "%s: this instance hands over; expected at the one that leads then", r->verb->name);
	if (!r->verb->changes || !cop_replica_follows(&r->server->replica) ||
	        (r->verb->event == cop_event_decide && is_frozen(r->model)))
		return COP_OK;
	return cop_wire_fault_set(fault, COP_WIRE_NOT_LEADER, "%s: this instance follows another one; expected at %s%s",
	        r->verb->name,
	        is_administration(r->verb) && where[0] != '\0' ? "the admin endpoint of the one that answers at " : "",
	        where[0] == '\0' ? "the one that leads, which is not known" : where);
}

static bool outbox_full(const cop_serving *serving)
{
	return cop_outbox_count(&serving->outbox) >= MOST_WAITING ||
	       cop_outbox_bytes(&serving->outbox) > serving->durable->config->queue_limit / 8;
}

/* Whether the sender has the right, and is within its limits. */
static cop_err take_permit(request *r, zmq_msg_t *frame, cop_wire_fault *fault)
{
	cop_serving *serving = &r->server->serving;
	const cop_permit_asked asked = {
		.right = r->verb->right, .model = r->model == NULL ? "" : r->model->name, .bytes = r->length
	};
	cop_err err = cop_permit_take(serving->durable->config->curve_access, frame, &asked, &r->client, fault);
	r->limited = err != COP_OK && fault->code == COP_WIRE_BUSY;
	serving->counts.limited += r->limited;
	if (r->client != NULL) {
		r->owner = r->client->owner;
		r->owner_most = r->client->limits.pending;
	}
	return err;
}

/* frame[first..): verb, model and body; the last two may be missing where they are not needed. Fills all of r but what
 * the verb's handler does. */
static cop_err read_request(request *r, cop_sockets_message *message, size_t first, cop_wire_fault *fault)
{
	const cop_serving *serving = &r->server->serving;
	zmq_msg_t *frame = &message->frame[first];
	if (message->too_many || message->count < first)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "too many frames; expected verb, model, body");
	if (outbox_full(serving))
		return cop_wire_fault_set(fault, COP_WIRE_BUSY,
		        "%zu answers wait for the journal; expected to be sent again later",
		        cop_outbox_count(&serving->outbox));
	size_t count = message->count - first;
	if (count < 1 || count > 3)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "%zu frames; expected verb, model, body", count);
	if (count == 3) {
		r->body = zmq_msg_data(&frame[2]);
		r->length = zmq_msg_size(&frame[2]);
	}
	uint64_t most = serving->durable->config->message_limit;
	if (r->length > most)
		return cop_wire_fault_set(
		        fault, COP_WIRE_TOO_LARGE, "body of %zu bytes; expected at most %zu", r->length, (size_t)most);
	const verb *found = find_verb(&frame[0], fault);
	if (found == NULL || check_endpoint(r, found, fault) != COP_OK)
		return COP_EINVAL;
	if (found->models != NONE_NEEDED && count != 3)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "%zu frames; expected verb, model, body", count);
	if (found->kind != COP_OUTBOX_PLAIN && !r->admin && cop_inlet_full(serving->sockets.inlet, COP_INLET_REQUESTS))
		return cop_wire_fault_set(
		        fault, COP_WIRE_BUSY, "too many requests wait; expected to be sent again later");
	r->verb = found;
	cop_err err = count < 2 ? COP_OK : find_model(r, &frame[1], fault);
	if (err == COP_OK)
		err = check_role(r, fault);
	if (err == COP_OK)
		err = take_permit(r, &frame[0], fault);
	if (err == COP_OK && found->event != NULL && !cop_model_slot_take(r->model, cop_clock_monotonic_us()))
		err = cop_wire_fault_set(fault, COP_WIRE_BUSY, COP_MODEL_SLOT_BUSY, r->model->name);
	return err;
}

static void put_error(const request *r, cop_sockets_message *message, size_t first, const cop_wire_fault *fault)
{
	cop_serving *serving = &r->server->serving;
	const bool known = r->verb == NULL || !is_administration(r->verb); /* where the leader takes it */
	const char *where = known ? cop_replica_requests(&r->server->replica) : "";
	cop_event_id id = { 0 };
	cop_wire_seq seq = { 0 };
	if (message->count == first + 3) {
		zmq_msg_t *body = &message->frame[first + 2];
		if (zmq_msg_size(body) <= serving->durable->config->message_limit)
			cop_wire_envelope(zmq_msg_data(body), zmq_msg_size(body), &id, &seq);
	}
	cop_bytes_clear(&serving->reply);
	cop_wire_reply_error_put(&serving->reply, fault->code, fault->message, &id, &seq);
	if (fault->code == COP_WIRE_NOT_LEADER && where[0] != '\0') {
		cop_wire_put_map_reopen(&serving->reply, 0);
		cop_wire_put_key_text(&serving->reply, "leader", where);
	}
	serving->counts.errors++;
	serving->counts.codes[fault->code]++;
}

/* Also an event of the log, when the sender has not the right, or sends too much. */
static void refuse(const request *r, cop_sockets_message *message, size_t first, const cop_wire_fault *fault)
{
	cop_serving *serving = &r->server->serving;
	put_error(r, message, first, fault);
	if (fault->code != COP_WIRE_FORBIDDEN && !r->limited)
		return;
	const char *name = cop_permit_name(&message->frame[first]); /* is there: the verb was read */
	cop_log_limited(serving->durable->log, &serving->limiter, cop_clock_monotonic_us(),
	        r->limited ? COP_LOG_EVENT(client_limited) : COP_LOG_EVENT(request_forbidden),
	        "name=%.64s reason=\"%s\"", name == NULL ? "-" : name, fault->message);
}

/* ":USER:GROUP:PROCESS" over ipc, where libzmq has "localhost" before it, else an address. */
static const char *peer_of(zmq_msg_t *frame)
{
	static const char host[] = "localhost";
	const char *peer = zmq_msg_gets(frame, "Peer-Address");
	if (peer == NULL)
		return "";
	return strncmp(peer, host, sizeof host - 1) == 0 ? peer + sizeof host - 1 : peer;
}

/* Who administers is in the log. */
static void audit(const request *r, zmq_msg_t *frame, cop_err err)
{
	const char *name = cop_permit_name(frame);
	char model[COP_CONFIG_NAME_MAX + 8] = "";
	if (r->name_length > 0)
		cop_wire_text_clean(model, sizeof model, r->name, r->name_length);
	cop_log_line(r->server->log, COP_LOG_EVENT(administration),
	        "verb=%s model=\"%s\" peer=\"%s\" name=\"%s\" done=%s", r->verb->name, model, peer_of(frame),
	        name == NULL ? "" : name, err == COP_OK ? "yes" : "no");
}

/* One reading of the clock for a message: it ends this one's time and begins the next one's. */
static void take_time(cop_serving *serving, bool decided)
{
	uint64_t now = cop_clock_monotonic_ns();
	if (decided)
		cop_histogram_observe(&serving->decide_durations, now - serving->mark);
	serving->mark = now;
}

static void take_owner(request *r, zmq_msg_t *frame)
{
	cop_api_owner told;
	COP_ASSERT(zmq_msg_size(frame) == sizeof told); /* from this process */
	memcpy(&told, zmq_msg_data(frame), sizeof told);
	r->owner = told.owner;
	r->owner_most = told.most;
}

/* A status has it among what it tells. */
static void put_version(const request *r, cop_err err)
{
	if (err != COP_OK || r->verb->handle != status)
		cop_wire_reply_version_put(&r->server->serving.reply, COP_VERSION);
}

/* frame[0] is the peer's identity; REQ sockets put an empty frame behind it, and the api whose request it is. */
static bool is_delimited(const cop_serving *serving, const void *socket, cop_sockets_message *message)
{
	return socket != serving->sockets.api && message->count > 1 && zmq_msg_size(&message->frame[1]) == 0;
}

/* The one reply, and what is to be known of it; the message is released. */
static void answer(const request *r, void *socket, cop_sockets_message *message, cop_err err, cop_wire_fault *fault)
{
	cop_serving *serving = &r->server->serving;
	const bool api = socket == serving->sockets.api, delimiter = is_delimited(serving, socket, message);
	const size_t first = delimiter || api ? 2 : 1;
	if (err == COP_OK && serving->reply.err != COP_OK)
		err = cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "reply: %s", cop_err_text(serving->reply.err));
	if (err != COP_OK)
		refuse(r, message, first, fault);
	if (r->verb != NULL && r->verb->right == COP_ACCESS_ADMIN && !r->quiet)
		audit(r, &message->frame[first], err);
	if (!api) /* where HTTP's head tells it */
		put_version(r, err);
	cop_outbox_item item = {
		.socket = socket,
		.delimiter = delimiter,
		.unordered = api,
		.ok = err == COP_OK,
		.kind = r->verb == NULL ? COP_OUTBOX_PLAIN : r->verb->kind,
		.sequence = r->sequence,
	};
	if (cop_outbox_put(&serving->outbox, item, &message->frame[0], &serving->reply) != COP_OK)
		serving->sockets.replies_dropped++;
	cop_sockets_release(message);
}

void cop_request_handle(cop_server *server, void *socket, cop_sockets_message *message)
{
	static const uint8_t empty_map[] = { 0x80 };
	cop_serving *serving = &server->serving;
	cop_wire_fault fault = { .code = COP_WIRE_INTERNAL, .message = "internal error" };
	request r = { .server = server,
		.admin = socket == serving->sockets.admin,
		.body = empty_map,
		.length = sizeof empty_map };
	serving->counts.requests++;
	cop_bytes_clear(&serving->reply);
	bool api = socket == serving->sockets.api;
	size_t first = api || is_delimited(serving, socket, message) ? 2 : 1;
	if (api)
		take_owner(&r, &message->frame[1]);
	cop_err err = read_request(&r, message, first, &fault);
	bool event = err == COP_OK && r.verb->handle == NULL;
	if (event) {
		cop_event_scope scope = scope_of(&r);
		err = r.verb->event(&scope, r.body, r.length, &serving->reply, &fault);
		r.sequence = scope.sequence;
	} else if (err == COP_OK) {
		err = r.verb->handle(&r, &fault);
	}
	if (r.later) {
		server->kept = (cop_request_kept){ true, socket, *message };
		message->count = 0;
	} else {
		answer(&r, socket, message, err, &fault);
	}
	take_time(serving, event && err == COP_OK && r.verb->kind == COP_OUTBOX_DECISION);
}

void cop_request_answer(cop_server *server, cop_err err, cop_wire_fault *fault)
{
	cop_request_kept *kept = &server->kept;
	const size_t first = is_delimited(&server->serving, kept->socket, &kept->message) ? 2 : 1;
	zmq_msg_t *frame = &kept->message.frame[first]; /* verb and model are there: it was read */
	cop_wire_fault none;
	const request r = {
		.server = server,
		.verb = find_verb(frame, &none),
		.name = zmq_msg_data(&frame[1]),
		.name_length = zmq_msg_size(&frame[1]),
	};
	COP_ASSERT(kept->there);
	answer(&r, kept->socket, &kept->message, err, fault);
	kept->there = false;
}

void cop_request_drop(cop_server *server)
{
	if (server->kept.there)
		cop_sockets_release(&server->kept.message);
	server->kept.there = false;
}
