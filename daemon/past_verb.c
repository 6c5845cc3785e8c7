/* The table of what waits is walked for the youngest WALKED only, which is a fraction of a millisecond; one that is
 * older is found by its whole id, and by the journal. */
#include "daemon/past_verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/clock.h"
#include "daemon/report/explain_body.h"
#include "daemon/report/past_body.h"
#include "wire/wire_past.h"
#include "wire/wire_put.h"

#define WALKED 2000u

static cop_err no_journal(const cop_model_slot *slot, cop_wire_fault *fault)
{
	return cop_wire_fault_set(fault, COP_WIRE_UNKNOWN_DECISION,
	        "no decision of this id; looked through the %zu that wait for their feedback: there is no journal",
	        cop_model_pending(slot->model));
}

static void put_looking(const cop_wire_past *question, cop_bytes *out)
{
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "state", "looking");
	cop_wire_seq_put(out, &question->seq);
	cop_wire_put_map_close(out, map);
}

/* The answer of an item, or why there is none. */
static cop_err take_answer(
        const cop_past_desk_item *item, const cop_wire_past *question, cop_bytes *out, cop_wire_fault *fault)
{
	const cop_bytes *answer = &item->answer;
	const int most = answer->length < sizeof fault->message ? (int)answer->length : (int)sizeof fault->message - 1;
	switch (item->state) {
	case COP_PAST_DESK_FOUND: {
		size_t at = out->length;
		cop_wire_put_raw(out, answer->data, answer->length);
		if (question->seq.length > 0) {
			cop_wire_put_map_reopen(out, at);
			cop_wire_seq_put(out, &question->seq);
		}
		return COP_OK;
	}
	case COP_PAST_DESK_NOT_FOUND:
		return cop_wire_fault_set(fault, COP_WIRE_UNKNOWN_DECISION, "%.*s", most, (const char *)answer->data);
	case COP_PAST_DESK_FAILED:
		return cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "past: %.*s", most, (const char *)answer->data);
	default:
		put_looking(question, out);
		return COP_OK;
	}
}

static cop_err ask(cop_server *server, const cop_model_slot *slot, const char *verb, const cop_wire_past *question,
        cop_wire_fault *fault)
{
	cop_bytes body;
	cop_bytes_init(&body);
	cop_wire_past_put(question, &body);
	if (body.err != COP_OK) {
		cop_bytes_fini(&body);
		return cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "no memory");
	}
	const cop_past_desk_question asked = {
		.verb = verb, .model = slot->name, .stored = slot->stored, .body = &body
	};
	const cop_past_desk_item *item = cop_past_desk_ask(&server->past, &asked, cop_clock_monotonic());
	cop_bytes_fini(&body);
	if (item == NULL)
		return cop_wire_fault_set(fault, COP_WIRE_BUSY,
		        "%d questions about the past wait; expected to be asked again later", COP_PAST_DESK_WAITING);
	return take_answer(item, question, &server->serving.reply, fault);
}

cop_err cop_past_verb_decision(
        cop_server *server, cop_model_slot *slot, const void *body, size_t length, cop_wire_fault *fault)
{
	static const char verb[] = "decision";
	cop_wire_past question;
	cop_bytes *out = &server->serving.reply;
	cop_err err = cop_wire_past_decision(body, length, &question, fault);
	if (err != COP_OK)
		return err;
	cop_explain_body e = { .served = slot, .seq = &question.seq };
	if (question.record != 0 || cop_explain_body_of_waiting(&e, &question.id) != COP_OK)
		return server->config->journal_enabled ? ask(server, slot, verb, &question, fault)
		                                       : no_journal(slot, fault);
	size_t map = cop_wire_put_map_open(out);
	cop_explain_body_put_keys(&e, out);
	cop_wire_put_key_bool(out, "waits", true);
	cop_wire_seq_put(out, &question.seq);
	cop_wire_put_map_close(out, map);
	return COP_OK;
}

/* ---- what waits ---- */

typedef struct collection {
	const cop_model_slot *slot;
	const cop_wire_past *question;
	cop_bytes *out;
	size_t count;
} collection;

static bool collect(void *context, const cop_event_id *id, const cop_model_waiting *waiting)
{
	static const cop_past_fate waits = { .waits = true };
	collection *c = context;
	if (!cop_wire_past_begins(id, c->question->prefix))
		return true;
	bool values = cop_learner_plays_values(&c->slot->config->set.learner);
	const cop_past_search_found found = { .id = *id,
		.time = waiting->time,
		.has_value = values,
		.has_arm = !values,
		.has_p = !values,
		.arm = waiting->decision.arm,
		.value = waiting->decision.y,
		.p = waiting->decision.p,
		.by = waiting->by,
		.limit = (cop_wire_limit)waiting->decision.limit };
	size_t map = cop_wire_put_map_open(c->out);
	cop_past_body_put_found(c->slot->config, &found, c->out);
	cop_past_body_put_fate(&waits, c->out);
	cop_wire_put_map_close(c->out, map);
	return ++c->count < c->question->limit;
}

/* Those that are too old for the walk, if the prefix is all of their id. */
static void collect_whole(collection *c)
{
	const char *prefix = c->question->prefix;
	const size_t length = strlen(prefix);
	cop_event_id id;
	char *end;
	if (cop_event_id_from_bytes(&id, COP_EVENT_ID_STRING, prefix, length))
		(void)cop_model_visit_one(c->slot->model, &id, collect, c);
	errno = 0;
	long long number = strtoll(prefix, &end, 10);
	if (length == 0 || *end != '\0' || errno != 0 || c->count >= c->question->limit)
		return;
	cop_event_id_from_signed(&id, number);
	(void)cop_model_visit_one(c->slot->model, &id, collect, c);
}

static void put_waiting(const cop_model_slot *slot, const cop_wire_past *question, cop_bytes *out)
{
	collection c = { .slot = slot, .question = question, .out = out };
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "state", "done");
	cop_wire_put_text(out, "decisions");
	size_t at = cop_wire_put_array_open(out);
	size_t walked = cop_model_visit(slot->model, WALKED, collect, &c);
	if (c.count == 0 && walked == WALKED)
		collect_whole(&c);
	cop_wire_put_array_close(out, at, c.count);
	cop_wire_put_text(out, "looked");
	size_t looked = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "waiting", walked);
	cop_wire_put_key_unsigned(out, "of", cop_model_pending(slot->model));
	cop_wire_put_map_close(out, looked);
	cop_wire_seq_put(out, &question->seq);
	cop_wire_put_map_close(out, map);
}

cop_err cop_past_verb_decisions(
        cop_server *server, cop_model_slot *slot, const void *body, size_t length, cop_wire_fault *fault)
{
	static const char verb[] = "decisions";
	cop_wire_past question;
	cop_err err = cop_wire_past_decisions(body, length, &question, fault);
	if (err != COP_OK)
		return err;
	if (!question.waiting && server->config->journal_enabled)
		return ask(server, slot, verb, &question, fault);
	put_waiting(slot, &question, &server->serving.reply);
	return COP_OK;
}
