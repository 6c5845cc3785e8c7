/* One request at a time. Models that rank have verbs of their own, which the model's status tells. */
#include "daemon/streams/bridge_daemon.h"

#include <string.h>

#include "base/mem.h"
#include "wire/wire_keys.h"
#include "wire/wire_position.h"
#include "wire/wire_reply.h"

struct cop_bridge_daemon {
	const cop_bridge_daemon_settings *set;
	cop_client *client;
	const char *verb;
	uint64_t body_limit;
};

static cop_err odd(const cop_bridge_daemon *daemon, const char *what, cop_diag *diag)
{
	cop_diag_of(diag, daemon->set->endpoint, "%s: the answer is none of this verb", what);
	return COP_EFORMAT;
}

static cop_err ask(cop_bridge_daemon *daemon, const char *verb, cop_client_reply *reply, cop_diag *diag)
{
	static const uint8_t empty[] = { 0x80 };
	return cop_client_request(daemon->client, verb, daemon->set->model, empty, sizeof empty, reply, diag);
}

/* The cursor at the value of the map's key; false: it has none. */
static bool find_key(cop_wire_cursor *cursor, const char *key)
{
	const char *names[] = { key };
	cop_wire_keys keys;
	unsigned which;
	return cop_wire_keys_open(&keys, cursor, names, 1, NULL) == COP_OK &&
	       cop_wire_keys_next(&keys, &which) == COP_OK;
}

/* Whether the status has a model of learner `rank`. */
static cop_err read_verb(cop_bridge_daemon *daemon, const cop_client_reply *reply, cop_diag *diag)
{
	size_t count, length;
	const char *text;
	cop_wire_cursor cursor;
	cop_wire_cursor_init(&cursor, reply->body, reply->length);
	if (!find_key(&cursor, "models") || cop_wire_cursor_array(&cursor, &count) != COP_OK || count != 1 ||
	        !find_key(&cursor, "learner") || cop_wire_cursor_string(&cursor, &text, &length) != COP_OK)
		return odd(daemon, "status", diag);
	const bool ranks = length == strlen("rank") && memcmp(text, "rank", length) == 0;
	daemon->verb = daemon->set->feedback ? "feedback_batch" : ranks ? "rank_batch" : "decide_batch";
	return COP_OK;
}

static cop_err read_limit(cop_bridge_daemon *daemon, const cop_client_reply *reply, cop_diag *diag)
{
	cop_wire_cursor cursor;
	cop_wire_cursor_init(&cursor, reply->body, reply->length);
	if (!find_key(&cursor, "message_limit") || cop_wire_cursor_unsigned(&cursor, &daemon->body_limit) != COP_OK)
		return odd(daemon, "status", diag);
	return COP_OK;
}

cop_err cop_bridge_daemon_open(const cop_bridge_daemon_settings *settings, cop_bridge_daemon **out, cop_diag *diag)
{
	cop_client_reply reply;
	*out = NULL;
	cop_bridge_daemon *daemon = cop_mem_alloc(1, sizeof *daemon);
	if (daemon == NULL)
		return COP_ENOMEM;
	daemon->set = settings;
	cop_err err = cop_client_open_keyed(settings->endpoint, settings->keys.own == NULL ? NULL : &settings->keys,
	        settings->timeout, &daemon->client, diag);
	if (err == COP_OK)
		err = ask(daemon, "status", &reply, diag);
	if (err == COP_OK)
		err = read_verb(daemon, &reply, diag);
	if (err == COP_OK)
		err = read_limit(daemon, &reply, diag);
	if (err != COP_OK) {
		cop_bridge_daemon_close(daemon);
		return err;
	}
	*out = daemon;
	return COP_OK;
}

void cop_bridge_daemon_close(cop_bridge_daemon *daemon)
{
	if (daemon == NULL)
		return;
	cop_client_close(daemon->client);
	cop_mem_free(daemon);
}

uint64_t cop_bridge_daemon_limit(const cop_bridge_daemon *daemon) { return daemon->body_limit; }

cop_err cop_bridge_daemon_position(cop_bridge_daemon *daemon, cop_wire_position *at, bool *known, cop_diag *diag)
{
	size_t count;
	cop_client_reply reply;
	cop_wire_cursor cursor;
	*known = false;
	cop_err err = ask(daemon, "positions", &reply, diag);
	if (err != COP_OK)
		return err;
	cop_wire_cursor_init(&cursor, reply.body, reply.length);
	if (!find_key(&cursor, "positions") || cop_wire_cursor_array(&cursor, &count) != COP_OK)
		return odd(daemon, "positions", diag);
	for (size_t i = 0; i < count; i++) {
		cop_wire_position is;
		if (cop_wire_position_read(&cursor, "positions", &is, NULL) != COP_OK)
			return odd(daemon, "positions", diag);
		if (is.partition != at->partition || is.length != at->length ||
		        memcmp(is.source, at->source, is.length) != 0)
			continue;
		at->offset = is.offset;
		at->minor = is.minor;
		*known = true;
	}
	return COP_OK;
}

cop_err cop_bridge_daemon_batch(cop_bridge_daemon *daemon, const cop_bytes *body, size_t count, cop_wire_items *answers,
        cop_wire_fault *fault, cop_diag *diag)
{
	cop_client_reply reply;
	cop_event_id id;
	cop_wire_seq seq;
	cop_err err = cop_client_send(daemon->client, daemon->verb, daemon->set->model, body->data, body->length, diag);
	if (err == COP_OK)
		err = cop_client_receive(daemon->client, &reply, diag);
	if (err != COP_OK)
		return err;
	if (!reply.ok) {
		if (cop_wire_reply_error_decode(reply.body, reply.length, fault, &id, &seq, NULL) != COP_OK)
			return odd(daemon, daemon->verb, diag);
		return COP_EINVAL;
	}
	if (cop_wire_items_batch(answers, reply.body, reply.length, &seq, NULL) != COP_OK || answers->count != count)
		return odd(daemon, daemon->verb, diag);
	return COP_OK;
}
