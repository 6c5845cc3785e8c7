/* A ring whose capacity is a power of two, in the order in which answers were put; `bytes` is the sum of the costs of
 * what is in it. The first answer whose record is not committed holds back all behind it, so a peer sees answers in
 * order; under journal.sync = "replica" it may do so for long, so what says nothing about the journal passes, unless
 * the same requester waits already: whether this one may is looked at once, for it can only leave with that one later.
 * If the journal is broken nothing is held back: what would promise too much is rewritten first. Where memory is too
 * short for that, an answer other than a decision becomes a constant error, and a decision leaves as it was. */
#include "daemon/serve/outbox.h"

#include <string.h>

#include "base/mem.h"
#include "wire/wire_items.h"
#include "wire/wire_put.h"
#include "wire/wire_reply.h"

#define SMALLEST 256
#define ROOM     65536 /* for an answer that is made anew, even when memory is short */

void cop_outbox_init(cop_outbox *outbox, cop_outbox_listener *unheard, void *context)
{
	*outbox = (cop_outbox){ .unheard = unheard, .context = context };
	cop_bytes_init(&outbox->work);
	cop_bytes_reserve(&outbox->work, ROOM);
}

static void release(cop_outbox_item *item)
{
	(void)zmq_msg_close(&item->to);
	(void)zmq_msg_close(&item->body);
}

static cop_outbox_item *at(const cop_outbox *outbox, size_t place)
{
	return &outbox->ring[(outbox->first + place) & (outbox->capacity - 1)];
}

void cop_outbox_fini(cop_outbox *outbox)
{
	for (size_t i = 0; i < outbox->count; i++)
		release(at(outbox, i));
	cop_mem_free(outbox->ring);
	cop_bytes_fini(&outbox->work);
}

/* A zmq_msg_t must be moved, not copied. */
static void move(cop_outbox_item *from, cop_outbox_item *to)
{
	*to = *from;
	if (from->topic != NULL)
		to->topic = to->own;
	(void)zmq_msg_init(&to->to);
	(void)zmq_msg_init(&to->body);
	(void)zmq_msg_move(&to->to, &from->to);
	(void)zmq_msg_move(&to->body, &from->body);
}

static cop_err grow(cop_outbox *outbox)
{
	size_t capacity = outbox->capacity == 0 ? SMALLEST : 2 * outbox->capacity;
	cop_outbox_item *ring = cop_mem_alloc(capacity, sizeof *ring);
	if (ring == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < outbox->count; i++)
		move(at(outbox, i), &ring[i]);
	cop_mem_free(outbox->ring);
	outbox->ring = ring;
	outbox->capacity = capacity;
	outbox->first = 0;
	return COP_OK;
}

static size_t cost_of(cop_outbox_item *item) { return sizeof *item + zmq_msg_size(&item->body); }

cop_err cop_outbox_put(cop_outbox *outbox, cop_outbox_item item, zmq_msg_t *to, const cop_bytes *body)
{
	if (outbox->count == outbox->capacity && grow(outbox) != COP_OK)
		return COP_ENOMEM;
	cop_outbox_item *slot = at(outbox, outbox->count);
	*slot = item;
	slot->turn = outbox->turn;
	if (item.topic != NULL) {
		size_t length = strnlen(item.topic, sizeof slot->own - 1);
		memcpy(slot->own, item.topic, length);
		slot->own[length] = '\0';
		slot->topic = slot->own;
	}
	if (zmq_msg_init_size(&slot->body, body->length) != 0)
		return COP_ENOMEM;
	if (body->length > 0)
		memcpy(zmq_msg_data(&slot->body), body->data, body->length);
	(void)zmq_msg_init(&slot->to);
	if (to != NULL)
		(void)zmq_msg_move(&slot->to, to);
	outbox->count++;
	outbox->bytes += cost_of(slot);
	return COP_OK;
}

static void mark_each(cop_bytes *out, cop_wire_items *items)
{
	const void *item;
	size_t length;
	while (cop_wire_items_next(items, &item, &length))
		cop_wire_reply_action_mark(out, item, length);
}

/* An action, a batch of them, or (on streams) an array of them. */
static void mark_decision(cop_bytes *out, const void *body, size_t length)
{
	cop_wire_items items;
	cop_wire_seq seq;
	const uint8_t *first = body;
	if (cop_wire_items_batch(&items, body, length, &seq, NULL) == COP_OK) {
		cop_wire_items_put(out, items.count, &seq);
		mark_each(out, &items);
	} else if (length > 0 && (first[0] & 0xf0) != 0x80 && first[0] < 0xde &&
	           cop_wire_items_stream(&items, body, length, NULL) == COP_OK) {
		cop_wire_put_array(out, items.count);
		mark_each(out, &items);
	} else {
		cop_wire_reply_action_mark(out, body, length);
	}
}

/* Instead of an answer that would say more than is true, when there is no memory for a better one: these bytes need
 * none. {code: "not_durable", message: ...} */
static const char no_memory[] = "\x82\xa4"
                                "code"
                                "\xab"
                                "not_durable"
                                "\xa7"
                                "message"
                                "\xbf"
                                "not on disk: send it again soon";

static void mark_not_durable(cop_outbox *outbox, cop_outbox_item *item)
{
	cop_bytes *out = &outbox->work;
	const void *body = zmq_msg_data(&item->body);
	size_t length = zmq_msg_size(&item->body);
	bool versioned = cop_wire_keys_has(body, length, "version");
	cop_bytes_clear(out);
	if (item->kind == COP_OUTBOX_DECISION) {
		mark_decision(out, body, length);
	} else {
		cop_event_id id;
		cop_wire_seq seq;
		cop_wire_envelope(body, length, &id, &seq);
		item->ok = false;
		cop_wire_reply_error_put(out, COP_WIRE_NOT_DURABLE,
		        "not on disk: the journal cannot be written; expected to be sent again later", &id, &seq);
	}
	if (versioned && !cop_wire_keys_has(out->data, out->length, "version"))
		cop_wire_reply_version_put(out, COP_VERSION);
	zmq_msg_t fresh;
	bool made = out->err == COP_OK && zmq_msg_init_size(&fresh, out->length) == 0;
	if (made)
		memcpy(zmq_msg_data(&fresh), out->data, out->length);
	else if (item->kind == COP_OUTBOX_DECISION)
		return; /* it stands; better told as durable than not at all */
	else
		(void)zmq_msg_init_data(&fresh, (void *)(uintptr_t)no_memory, sizeof no_memory - 1, NULL, NULL);
	(void)zmq_msg_close(&item->body);
	(void)zmq_msg_init(&item->body);
	(void)zmq_msg_move(&item->body, &fresh);
	(void)zmq_msg_close(&fresh);
}

static void send_item(cop_outbox *outbox, cop_sockets *sockets, cop_outbox_item *item)
{
	outbox->waited += item->kind == COP_OUTBOX_PLAIN ? 0 : outbox->turn - item->turn;
	if (item->topic == NULL)
		cop_sockets_reply(
		        sockets, item->socket, &item->to, item->delimiter, item->ok ? "ok" : "error", &item->body);
	else if (!cop_sockets_publish(sockets, item->topic, &item->body))
		outbox->unheard(outbox->context, item);
}

/* Whether an answer before that one goes to the same requester. */
static bool has_earlier(const cop_outbox *outbox, size_t place)
{
	cop_outbox_item *item = at(outbox, place);
	const size_t length = zmq_msg_size(&item->to);
	for (size_t i = 0; i < place && !item->unordered; i++) {
		cop_outbox_item *other = at(outbox, i);
		if (other->topic == NULL && other->socket == item->socket && zmq_msg_size(&other->to) == length &&
		        memcmp(zmq_msg_data(&other->to), zmq_msg_data(&item->to), length) == 0)
			return true;
	}
	return false;
}

/* The first in line waits; those behind it that need not. */
static void let_pass(cop_outbox *outbox, cop_sockets *sockets)
{
	while (outbox->seen < outbox->count) {
		cop_outbox_item *item = at(outbox, outbox->seen);
		if (item->topic != NULL || item->kind != COP_OUTBOX_PLAIN || item->sequence != 0 ||
		        has_earlier(outbox, outbox->seen)) {
			outbox->seen++;
			continue;
		}
		outbox->bytes -= cost_of(item);
		send_item(outbox, sockets, item);
		release(item);
		for (size_t i = outbox->seen; i + 1 < outbox->count; i++)
			move(at(outbox, i + 1), at(outbox, i));
		outbox->count--;
	}
}

void cop_outbox_send(cop_outbox *outbox, cop_sockets *sockets, uint64_t committed, bool broken)
{
	while (outbox->count > 0) {
		cop_outbox_item *item = at(outbox, 0);
		size_t cost = cost_of(item);
		if (item->sequence > committed) {
			if (!broken) {
				let_pass(outbox, sockets);
				return;
			}
			if (item->ok && item->kind != COP_OUTBOX_PLAIN)
				mark_not_durable(outbox, item);
		}
		outbox->bytes -= cost;
		send_item(outbox, sockets, item);
		release(item);
		outbox->first = (outbox->first + 1) & (outbox->capacity - 1);
		outbox->count--;
		outbox->seen -= outbox->seen > 0;
	}
}

void cop_outbox_turn(cop_outbox *outbox) { outbox->turn++; }
size_t cop_outbox_count(const cop_outbox *outbox) { return outbox->count; }
size_t cop_outbox_bytes(const cop_outbox *outbox) { return outbox->bytes; }
