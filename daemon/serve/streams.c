/* Contexts are decided at once while somebody subscribes to the model's actions and none of its contexts wait; else
 * they go to the end of the model's queue, which is decided in order once there is a subscriber. So a context is never
 * decided before one of its model that came earlier, but for those that bring an action of their own. */
#include "daemon/serve/streams.h"

#include <string.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "daemon/serve/permit.h"
#include "wire/wire_items.h"
#include "wire/wire_keys.h"
#include "wire/wire_put.h"

#define WAITING_BUDGET 128 /* bodies of a model that waited and are decided in a turn; more than come in one */

static void complain(cop_serving *serving, const char *stream, const char *model, const char *why)
{
	cop_log_limited(serving->durable->log, &serving->limiter, cop_clock_monotonic_us(),
	        COP_LOG_EVENT(stream_refused), "stream=%s model=\"%s\" reason=\"%s\"", stream, model, why);
}

/* The model that a topic `prefix<model>` names; NULL (counted) when message or model is not of ours. */
static cop_model_slot *route(cop_serving *serving, cop_sockets_message *message, const char *prefix)
{
	serving->counts.streamed++;
	size_t skip = strlen(prefix);
	char clean[COP_CONFIG_NAME_MAX + 8] = "";
	cop_model_slot *slot = NULL;
	if (message->count == 2 && !message->too_many && zmq_msg_size(&message->frame[0]) > skip) {
		const char *topic = zmq_msg_data(&message->frame[0]);
		size_t length = zmq_msg_size(&message->frame[0]);
		cop_wire_text_clean(clean, sizeof clean, topic, length);
		if (memcmp(topic, prefix, skip) == 0)
			slot = cop_model_table_find(&serving->durable->models, topic + skip, length - skip);
	}
	if (slot == NULL) {
		serving->counts.unroutable++;
		complain(serving, prefix, clean, "expected two frames, topic with a configured model's name, and body");
	}
	return slot;
}

/* The items of a message, and whose they are. */
typedef struct opened {
	cop_wire_items items;
	const cop_access_entry *client; /* NULL: nobody's in particular */
} opened;

static bool open_items(cop_serving *serving, cop_model_slot *slot, cop_model_stream *stream, const char *name,
        zmq_msg_t *body, opened *out)
{
	cop_wire_fault fault = { 0 };
	cop_wire_items *items = &out->items;
	const cop_permit_asked asked = {
		.right = stream == &slot->contexts ? COP_ACCESS_DECIDE : COP_ACCESS_FEEDBACK,
		.model = slot->name,
		.bytes = zmq_msg_size(body),
	};
	if (cop_permit_take(serving->durable->config->curve_access, body, &asked, &out->client, &fault) != COP_OK) {
		serving->counts.limited += fault.code == COP_WIRE_BUSY;
		serving->counts.forbidden += fault.code != COP_WIRE_BUSY;
	} else if (zmq_msg_size(body) > serving->durable->config->message_limit)
		(void)cop_wire_fault_set(&fault, COP_WIRE_TOO_LARGE, "body of %zu bytes; expected at most %zu",
		        zmq_msg_size(body), (size_t)serving->durable->config->message_limit);
	else if (!cop_model_slot_take(slot, cop_clock_monotonic_us()))
		(void)cop_wire_fault_set(&fault, COP_WIRE_BUSY, COP_MODEL_SLOT_BUSY, slot->name);
	else if (cop_wire_items_stream(items, zmq_msg_data(body), zmq_msg_size(body), &fault) == COP_OK) {
		cop_permit_charge(out->client, items->count);
		cop_model_slot_charge(slot, items->count > 0 ? items->count - 1 : 0);
		return true;
	}
	stream->received++;
	stream->refused++;
	complain(serving, name, slot->name, fault.message);
	return false;
}

/* An item that said nothing usable; that it came is known all the same, so its number is no gap. */
static void refuse(cop_serving *serving, cop_model_slot *slot, cop_model_stream *stream, const char *name,
        const void *item, size_t length, const char *why)
{
	cop_wire_source source;
	cop_wire_read_source(item, length, &source);
	if (source.name != NULL && source.has_n)
		(void)cop_sequence_gaps_note(&stream->gaps, source.name, source.length, source.n);
	stream->refused++;
	complain(serving, name, slot->name, why);
}

/* Whether the body is an array, and so its answer. */
static bool is_array(const uint8_t *data, size_t length)
{
	return length > 0 && ((data[0] & 0xf0) == 0x90 || data[0] == 0xdc || data[0] == 0xdd);
}

/* Contexts of one message, and the message of their actions. */
typedef struct answering {
	cop_serving *serving;
	cop_event_scope scope;
	cop_outbox_item action;
	bool array;
	size_t mark;
	size_t decided;
} answering;

static cop_unheard_owner owner_of(const cop_access_entry *client)
{
	if (client == NULL)
		return (cop_unheard_owner){ 0 };
	return (cop_unheard_owner){ client->owner, client->limits.pending };
}

static void begin_answer(answering *a, cop_serving *serving, cop_model_slot *slot, cop_unheard_owner owner, bool array)
{
	*a = (answering){ .serving = serving, .array = array };
	a->scope = cop_serving_scope(serving, slot);
	a->scope.actions_alone = true;
	a->scope.owner = owner.owner;
	a->scope.owner_most = owner.most;
	a->action = (cop_outbox_item){
		.topic = slot->topic, .decided = serving->durable->time, .ok = true, .kind = COP_OUTBOX_DECISION
	};
	cop_bytes_clear(&serving->reply);
	a->mark = array ? cop_wire_put_array_open(&serving->reply) : 0;
}

static void decide(answering *a, const void *item, size_t length)
{
	cop_wire_fault fault;
	cop_model_slot *slot = a->scope.served;
	const size_t before = a->serving->reply.length;
	if (cop_event_decide(&a->scope, item, length, &a->serving->reply, &fault) == COP_OK) {
		a->decided += a->serving->reply.length > before;
		a->action.sequence = a->scope.sequence > a->action.sequence ? a->scope.sequence : a->action.sequence;
	} else if (a->scope.noted) { /* good when it came: a reload has changed what is */
		slot->contexts.refused++;
		complain(a->serving, "contexts", slot->name, fault.message);
	} else {
		refuse(a->serving, slot, &slot->contexts, "contexts", item, length, fault.message);
	}
}

static void end_answer(answering *a)
{
	cop_serving *serving = a->serving;
	cop_bytes *out = &serving->reply;
	if (a->array)
		cop_wire_put_array_close(out, a->mark, a->decided);
	if (a->decided == 0 || a->scope.served->shape.apprentice || out->err != COP_OK ||
	        cop_outbox_put(&serving->outbox, a->action, NULL, out) == COP_OK)
		return;
	serving->sockets.actions_dropped++;
	cop_streams_unheard(serving, a->action.topic, a->action.decided, out->data, out->length);
}

/* Whether contexts of the model wait for somebody to hear its actions. */
static bool waits(const cop_serving *serving, const cop_model_slot *slot)
{
	return serving->sockets.actions != NULL && slot->config->unheard == COP_UNHEARD_WAIT &&
	       !slot->shape.apprentice && !cop_sockets_heard(&serving->sockets, slot->topic);
}

/* The models share an eighth of what may be queued. */
static cop_unheard_limits limits_of(const cop_serving *serving, const cop_model_slot *slot)
{
	uint64_t share = serving->durable->config->queue_limit / 8 / serving->durable->models.count;
	return (cop_unheard_limits){
		.contexts = slot->config->unheard_max,
		.bytes = (size_t)(slot->config->unheard_bytes < share ? slot->config->unheard_bytes : share),
		.age = 1e-6 * (double)slot->config->unheard_age,
	};
}

/* A body that keep_waiting put together. */
static void decide_kept(cop_serving *serving, cop_model_slot *slot, const cop_unheard_item *kept)
{
	cop_wire_items items;
	if (cop_wire_items_stream(&items, kept->body, kept->length, NULL) != COP_OK)
		return;
	answering a;
	const void *item;
	size_t size;
	begin_answer(&a, serving, slot, kept->owner, is_array(kept->body, kept->length));
	a.scope.noted = true;
	while (cop_wire_items_next(&items, &item, &size))
		decide(&a, item, size);
	end_answer(&a);
}

/* Those that waited longest; false when none did. */
static bool decide_oldest(cop_serving *serving, cop_model_slot *slot)
{
	cop_unheard_body *body = cop_unheard_take(&slot->unheard);
	if (body == NULL)
		return false;
	decide_kept(serving, slot, &(cop_unheard_item){ body->data, body->length, body->contexts, body->owner });
	cop_mem_free(body);
	return true;
}

/* To the end of the queue. What is heard by now is decided rather than dropped. */
static void put_waiting(cop_serving *serving, cop_model_slot *slot, const cop_unheard_item *item)
{
	const cop_unheard_limits limits = limits_of(serving, slot);
	while (!waits(serving, slot) && !cop_unheard_has_room(&slot->unheard, &limits, item->length, item->contexts)) {
		if (decide_oldest(serving, slot))
			continue;
		decide_kept(serving, slot, item);
		return;
	}
	cop_unheard_put(&slot->unheard, &limits, serving->durable->time, item);
}

/* Checks each item now; what brings its own action is decided now, the rest goes into a body that waits. */
static void keep_waiting(
        cop_serving *serving, cop_model_slot *slot, cop_wire_items *items, cop_unheard_owner owner, bool array)
{
	cop_bytes *kept = &serving->waiting;
	answering a;
	const void *item;
	size_t length;
	size_t contexts = 0;
	begin_answer(&a, serving, slot, owner, array);
	cop_bytes_clear(kept);
	size_t mark = array ? cop_wire_put_array_open(kept) : 0;
	while (cop_wire_items_next(items, &item, &length)) {
		cop_wire_fault fault;
		slot->contexts.received++;
		if (cop_wire_keys_has(item, length, "a")) {
			decide(&a, item, length);
		} else if (cop_event_check(&a.scope, item, length, &fault) == COP_OK) {
			cop_wire_put_raw(kept, item, length);
			contexts++;
		} else {
			refuse(serving, slot, &slot->contexts, "contexts", item, length, fault.message);
		}
	}
	end_answer(&a);
	if (array)
		cop_wire_put_array_close(kept, mark, contexts);
	if (kept->err != COP_OK)
		slot->unheard.dropped[COP_UNHEARD_BYTES] += contexts;
	else if (contexts > 0)
		put_waiting(serving, slot, &(cop_unheard_item){ kept->data, kept->length, contexts, owner });
}

void cop_streams_contexts(cop_serving *serving, cop_sockets_message *message)
{
	opened o;
	zmq_msg_t *body = &message->frame[1];
	cop_model_slot *slot = route(serving, message, "ctx.");
	if (slot != NULL && open_items(serving, slot, &slot->contexts, "contexts", body, &o)) {
		bool array = is_array(zmq_msg_data(body), zmq_msg_size(body));
		if (slot->unheard.oldest != NULL || waits(serving, slot)) {
			keep_waiting(serving, slot, &o.items, owner_of(o.client), array);
		} else {
			answering a;
			const void *item;
			size_t length;
			begin_answer(&a, serving, slot, owner_of(o.client), array);
			while (cop_wire_items_next(&o.items, &item, &length)) {
				slot->contexts.received++;
				decide(&a, item, length);
			}
			end_answer(&a);
		}
	}
	cop_sockets_release(message);
}

bool cop_streams_ready(const cop_serving *serving)
{
	for (size_t i = 0; i < serving->durable->models.count; i++) {
		const cop_model_slot *slot = serving->durable->models.items[i];
		if (slot->unheard.oldest != NULL && !waits(serving, slot))
			return true;
	}
	return false;
}

size_t cop_streams_turn(cop_serving *serving)
{
	size_t bodies = 0;
	for (size_t i = 0; i < serving->durable->models.count; i++) {
		cop_model_slot *slot = serving->durable->models.items[i];
		if (slot->unheard.oldest == NULL)
			continue;
		const cop_unheard_limits limits = limits_of(serving, slot);
		cop_unheard_drop_old(&slot->unheard, &limits, serving->durable->time);
		for (size_t n = 0; n < WAITING_BUDGET && !waits(serving, slot) && decide_oldest(serving, slot); n++)
			bodies++;
	}
	return bodies;
}

void cop_streams_stop(cop_serving *serving)
{
	for (size_t i = 0; i < serving->durable->models.count; i++) {
		cop_model_slot *slot = serving->durable->models.items[i];
		if (slot->unheard.contexts > 0)
			cop_log_line(serving->durable->log, COP_LOG_EVENT(contexts_left), "model=%s contexts=%zu",
			        slot->name, slot->unheard.contexts);
	}
}

void cop_streams_unheard(cop_serving *serving, const char *topic, double decided, const void *body, size_t length)
{
	const char *name = topic + strlen("act.");
	cop_model_slot *slot = cop_model_table_find(&serving->durable->models, name, strlen(name));
	if (slot == NULL || slot->config->unheard != COP_UNHEARD_WAIT)
		return;
	cop_event_scope scope = cop_serving_scope(serving, slot);
	(void)cop_event_unheard(&scope, decided, body, length);
}

void cop_streams_drop(cop_serving *serving, cop_sockets_message *message)
{
	serving->counts.streamed++;
	serving->counts.dropped++;
	cop_sockets_release(message);
}

void cop_streams_feedback(cop_serving *serving, cop_sockets_message *message)
{
	opened o;
	cop_model_slot *slot = route(serving, message, "fb.");
	if (slot != NULL && open_items(serving, slot, &slot->feedback, "feedback", &message->frame[1], &o)) {
		const void *item;
		size_t length;
		while (cop_wire_items_next(&o.items, &item, &length)) {
			cop_wire_fault fault;
			slot->feedback.received++;
			cop_event_scope scope = cop_serving_scope(serving, slot);
			if (cop_event_feedback(&scope, item, length, NULL, &fault) == COP_OK)
				continue;
			refuse(serving, slot, &slot->feedback, "feedback", item, length, fault.message);
		}
	}
	cop_sockets_release(message);
}
