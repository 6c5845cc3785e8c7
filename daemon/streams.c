#include "daemon/streams.h"

#include <string.h>

#include "daemon/clock.h"
#include "daemon/event.h"
#include "wire/wire_items.h"
#include "wire/wire_keys.h"
#include "wire/wire_put.h"

static void complain(cop_server *server, const char *stream, const char *model, const char *why)
{
	cop_log_limited(server->log, &server->limiter, cop_clock_monotonic_us(), COP_LOG_WARNING, "stream_refused",
	        "stream=%s model=\"%s\" reason=\"%s\"", stream, model, why);
}

/* The model that a topic `prefix<model>` names; NULL (counted) when message or model is not of ours. */
static cop_served *route(cop_server *server, cop_sockets_message *message, const char *prefix)
{
	server->counts.streamed++;
	size_t skip = strlen(prefix);
	char clean[COP_CONFIG_NAME_MAX + 8] = "";
	cop_served *served = NULL;
	if (message->count == 2 && !message->too_many && zmq_msg_size(&message->frame[0]) > skip) {
		const char *topic = zmq_msg_data(&message->frame[0]);
		size_t length = zmq_msg_size(&message->frame[0]);
		cop_wire_text_clean(clean, sizeof clean, topic, length);
		if (memcmp(topic, prefix, skip) == 0)
			served = cop_served_find(&server->models, topic + skip, length - skip);
	}
	if (served == NULL) {
		server->counts.unroutable++;
		complain(server, prefix, clean, "expected two frames, topic with a configured model's name, and body");
	}
	return served;
}

static bool open_items(cop_server *server, cop_served *served, cop_served_stream *stream, const char *name,
        zmq_msg_t *body, cop_wire_items *items)
{
	cop_wire_fault fault = { 0 };
	if (zmq_msg_size(body) > server->config->message_limit)
		(void)cop_wire_fault_set(&fault, COP_WIRE_TOO_LARGE, "body of %zu bytes; expected at most %zu",
		        zmq_msg_size(body), (size_t)server->config->message_limit);
	else if (cop_wire_items_stream(items, zmq_msg_data(body), zmq_msg_size(body), &fault) == COP_OK)
		return true;
	stream->received++;
	stream->refused++;
	complain(server, name, served->name, fault.message);
	return false;
}

/* An item that said nothing usable; that it came is known all the same, so its number is no gap. */
static void refuse(cop_server *server, cop_served *served, cop_served_stream *stream, const char *name,
        const void *item, size_t length, const char *why)
{
	cop_wire_source source;
	cop_wire_read_source(item, length, &source);
	if (source.name != NULL && source.has_n)
		(void)cop_gaps_note(&stream->gaps, source.name, source.length, source.n);
	stream->refused++;
	complain(server, name, served->name, why);
}

/* Whether the body is an array, and so its answer. */
static bool is_array(zmq_msg_t *body)
{
	const uint8_t *data = zmq_msg_data(body);
	return zmq_msg_size(body) > 0 && ((data[0] & 0xf0) == 0x90 || data[0] == 0xdc || data[0] == 0xdd);
}

void cop_streams_contexts(cop_server *server, cop_sockets_message *message)
{
	cop_wire_items items;
	cop_served *served = route(server, message, "ctx.");
	if (served != NULL && open_items(server, served, &served->contexts, "contexts", &message->frame[1], &items)) {
		cop_event_scope scope = { .served = served, .journal = server->journal, .now = server->time };
		cop_outbox_item action = { .topic = served->topic, .ok = true, .kind = COP_OUTBOX_DECISION };
		cop_bytes *out = &server->reply;
		bool array = is_array(&message->frame[1]);
		cop_bytes_clear(out);
		size_t mark = array ? cop_wire_put_array_open(out) : 0;
		size_t decided = 0;
		const void *item;
		size_t length;
		while (cop_wire_items_next(&items, &item, &length)) {
			cop_wire_fault fault;
			served->contexts.received++;
			if (cop_event_decide(&scope, item, length, out, &fault) == COP_OK) {
				decided++;
				action.sequence = scope.sequence > action.sequence ? scope.sequence : action.sequence;
				continue;
			}
			refuse(server, served, &served->contexts, "contexts", item, length, fault.message);
		}
		if (array)
			cop_wire_put_close(out, mark, decided);
		if (decided > 0 && !served->shape.apprentice && out->err == COP_OK &&
		        cop_outbox_put(&server->outbox, action, NULL, out) != COP_OK)
			server->sockets.actions_dropped++;
	}
	cop_sockets_release(message);
}

void cop_streams_feedback(cop_server *server, cop_sockets_message *message)
{
	cop_wire_items items;
	cop_served *served = route(server, message, "fb.");
	if (served != NULL && open_items(server, served, &served->feedback, "feedback", &message->frame[1], &items)) {
		const void *item;
		size_t length;
		while (cop_wire_items_next(&items, &item, &length)) {
			cop_wire_fault fault;
			served->feedback.received++;
			cop_event_scope scope = { .served = served, .journal = server->journal, .now = server->time };
			if (cop_event_feedback(&scope, item, length, NULL, &fault) == COP_OK)
				continue;
			refuse(server, served, &served->feedback, "feedback", item, length, fault.message);
		}
	}
	cop_sockets_release(message);
}
