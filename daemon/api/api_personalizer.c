/* A request's JSON is read into a tree, for its parts are needed in another order than they come in, and becomes the
 * body of `rank`, `feedback` or `activate`. The actions' ids stay with the request until the reply names one by its
 * place. */
#include "daemon/api/api_personalizer.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/json.h"
#include "wire/wire_cursor.h"
#include "wire/wire_keys.h"
#include "wire/wire_put.h"

#define RANDOM_BYTES 16 /* of an event's id */
#define MOST_ACTIONS 65536

static cop_err refuse(cop_wire_fault *fault, const char *text)
{
	return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "%s", text);
}

/* ---- JSON as MessagePack ---- */

static void put_value(cop_bytes *out, const cop_json *value);

static void put_members(cop_bytes *out, const cop_json *object)
{
	const char *key = NULL;
	for (const cop_json *value; (value = cop_json_next_member(object, &key)) != NULL;) {
		cop_wire_put_string(out, key, strlen(key));
		put_value(out, value);
	}
}

static void put_value(cop_bytes *out, const cop_json *value)
{
	const char *text;
	size_t length = cop_json_size(value);
	double number;
	bool flag;
	switch (cop_json_type_of(value)) {
	case COP_JSON_OBJECT:
		cop_wire_put_map(out, length);
		put_members(out, value);
		return;
	case COP_JSON_ARRAY:
		cop_wire_put_array(out, length);
		for (size_t i = 0; i < length; i++)
			put_value(out, cop_json_element(value, i));
		return;
	case COP_JSON_TEXT:
		if (cop_json_get_text(value, &text, &length) == COP_OK)
			cop_wire_put_string(out, text, length);
		return;
	case COP_JSON_NUMBER:
		if (cop_json_get_number(value, &number) == COP_OK)
			cop_wire_put_double(out, number);
		return;
	case COP_JSON_BOOLEAN:
		if (cop_json_get_boolean(value, &flag) == COP_OK)
			cop_wire_put_bool(out, flag);
		return;
	default:
		cop_wire_put_nil(out);
	}
}

/* NULL in the place of null, which these clients send for what they leave out. */
static const cop_json *member(const cop_json *object, const char *key)
{
	const cop_json *value = cop_json_member(object, key);
	return value != NULL && cop_json_type_of(value) == COP_JSON_NULL ? NULL : value;
}

/* The members of all objects of a list as one map; a missing list is an empty map. False: it is no list of objects. */
static bool put_merged(cop_bytes *out, const cop_json *list)
{
	size_t members = 0;
	if (list == NULL) {
		cop_wire_put_map(out, 0);
		return true;
	}
	if (cop_json_type_of(list) != COP_JSON_ARRAY)
		return false;
	for (size_t i = 0; i < cop_json_size(list); i++) {
		if (cop_json_type_of(cop_json_element(list, i)) != COP_JSON_OBJECT)
			return false;
		members += cop_json_size(cop_json_element(list, i));
	}
	cop_wire_put_map(out, members);
	for (size_t i = 0; i < cop_json_size(list); i++)
		put_members(out, cop_json_element(list, i));
	return true;
}

/* ---- rank ---- */

/* Place of an action's id among the first `count`; count: none. */
static size_t find_name(const cop_api_request *r, size_t count, const char *id)
{
	const char *at = (const char *)r->names.data;
	for (size_t i = 0; i < count; i++, at += strlen(at) + 1)
		if (strcmp(at, id) == 0)
			return i;
	return count;
}

static cop_err put_candidates(cop_api_request *r, const cop_json *actions, cop_bytes *out, cop_wire_fault *fault)
{
	size_t count = cop_json_size(actions);
	if (actions == NULL || cop_json_type_of(actions) != COP_JSON_ARRAY || count == 0 || count > MOST_ACTIONS)
		return refuse(fault, "actions: expected an array of at least one action");
	cop_wire_put_text(out, "c");
	cop_wire_put_array(out, count);
	for (size_t i = 0; i < count; i++) {
		const cop_json *action = cop_json_element(actions, i);
		const char *id;
		size_t length;
		if (cop_json_get_text(cop_json_member(action, "id"), &id, &length) != COP_OK || length == 0)
			return refuse(fault, "actions: expected an id, a text, of each");
		if (find_name(r, i, id) < i)
			return refuse(fault, "actions: an id comes twice; expected each once");
		cop_bytes_put(&r->names, id, length + 1);
		if (r->names.err != COP_OK)
			return r->names.err;
		if (!put_merged(out, member(action, "features")))
			return refuse(fault, "actions: features: expected an array of objects");
	}
	return COP_OK;
}

static bool is_excluded(const cop_json *excluded, const char *name)
{
	const char *id;
	for (size_t i = 0; excluded != NULL && i < cop_json_size(excluded); i++)
		if (cop_json_get_text(cop_json_element(excluded, i), &id, NULL) == COP_OK && strcmp(id, name) == 0)
			return true;
	return false;
}

/* What the caller would have shown itself: the first action that is not excluded. */
static void put_caller(const cop_api_request *r, const cop_json *excluded, size_t count, cop_bytes *out)
{
	const char *at = (const char *)r->names.data;
	size_t place = 0;
	for (; place < count && is_excluded(excluded, at); place++)
		at += strlen(at) + 1;
	cop_wire_put_key_unsigned(out, "a", place < count ? place : 0); /* an apprentice's; others ignore it */
	cop_wire_put_key_double(out, "p", 1.0);
}

static cop_err put_mask(
        const cop_api_request *r, const cop_json *excluded, size_t count, cop_bytes *out, cop_wire_fault *fault)
{
	if (cop_json_type_of(excluded) != COP_JSON_ARRAY)
		return refuse(fault, "excludedActions: expected an array of ids");
	cop_wire_put_text(out, "mask");
	cop_wire_put_array(out, count);
	size_t start = out->length;
	for (size_t i = 0; i < count; i++)
		cop_wire_put_bool(out, true);
	for (size_t i = 0; i < cop_json_size(excluded); i++) {
		const char *id;
		if (cop_json_get_text(cop_json_element(excluded, i), &id, NULL) != COP_OK ||
		        find_name(r, count, id) == count)
			return refuse(fault, "excludedActions: expected ids of actions");
		if (out->err == COP_OK)
			out->data[start + find_name(r, count, id)] = 0xc2; /* false */
	}
	return COP_OK;
}

static bool make_event(char event[COP_CONFIG_NAME_MAX + 1])
{
	uint8_t bytes[RANDOM_BYTES];
	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		return false;
	for (size_t i = 0; i < sizeof bytes; i++)
		(void)snprintf(event + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

static cop_err take_event(cop_api_request *r, const cop_json *id, cop_wire_fault *fault)
{
	const char *text;
	size_t length;
	if (id == NULL)
		return make_event(r->event) ? COP_OK : COP_EIO;
	if (cop_json_get_text(id, &text, &length) != COP_OK || length == 0 || length >= sizeof r->event)
		return refuse(fault, "eventId: expected a text of 1 to 64 bytes");
	memcpy(r->event, text, length + 1);
	return COP_OK;
}

static cop_err put_rank(
        cop_api_request *r, const cop_json *body, cop_bytes *out, uint32_t *pairs, cop_wire_fault *fault)
{
	const cop_json *excluded = member(body, "excludedActions"), *actions = member(body, "actions"),
	               *deferred = member(body, "deferActivation");
	bool defer = false;
	if (deferred != NULL && cop_json_get_boolean(deferred, &defer) != COP_OK)
		return refuse(fault, "deferActivation: expected a boolean");
	cop_err err = take_event(r, member(body, "eventId"), fault);
	if (err != COP_OK)
		return err;
	cop_wire_put_key_text(out, "id", r->event);
	cop_wire_put_key_bool(out, "probabilities", true);
	cop_wire_put_key_bool(out, "defer", defer);
	cop_wire_put_text(out, "x");
	if (!put_merged(out, member(body, "contextFeatures")))
		return refuse(fault, "contextFeatures: expected an array of objects");
	err = put_candidates(r, actions, out, fault);
	*pairs = 7;
	if (err == COP_OK && excluded != NULL) {
		err = put_mask(r, excluded, cop_json_size(actions), out, fault);
		*pairs = 8;
	}
	if (err == COP_OK)
		put_caller(r, excluded, cop_json_size(actions), out);
	return err;
}

static cop_err put_reward(
        cop_api_request *r, const cop_json *body, cop_bytes *out, uint32_t *pairs, cop_wire_fault *fault)
{
	double value;
	if (cop_json_get_number(cop_json_member(body, "value"), &value) != COP_OK || !(value >= 0.0 && value <= 1.0))
		return refuse(fault, "value: expected a reward, a number from 0 to 1");
	cop_wire_put_key_text(out, "id", r->event);
	cop_wire_put_key_double(out, "loss", 1.0 - value);
	*pairs = 2;
	return COP_OK;
}

cop_err cop_api_personalizer_put(cop_api_request *r, cop_bytes *out, uint32_t *pairs, cop_wire_fault *fault)
{
	cop_json *body = NULL;
	cop_diag diag = { .message = "" };
	cop_wire_put_map(out, UINT16_MAX + 1); /* five bytes */
	if (r->route->shown == COP_API_ACTIVATED) {
		cop_wire_put_key_text(out, "id", r->event);
		*pairs = 1;
		return out->err;
	}
	cop_err err = cop_json_parse((const char *)r->body.data, r->body.length, &body, &diag);
	if (err == COP_EFORMAT || err == COP_EFULL)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "body: %s", diag.message);
	if (err == COP_OK && cop_json_type_of(body) != COP_JSON_OBJECT)
		err = refuse(fault, "body: expected a JSON object");
	if (err == COP_OK)
		err = r->route->shown == COP_API_RANKED ? put_rank(r, body, out, pairs, fault)
		                                        : put_reward(r, body, out, pairs, fault);
	cop_json_free(body);
	return err == COP_OK ? out->err : err;
}

/* ---- the answer to rank ---- */

typedef struct ranked {
	uint64_t a;
	double p;
	cop_wire_cursor probabilities; /* at NULL: there are none */
} ranked;

static bool read_ranked(const void *body, size_t length, ranked *out)
{
	static const char *const names[] = { "a", "p", "probabilities" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	cop_wire_cursor_init(&cursor, body, length);
	if (cop_wire_keys_open(&keys, &cursor, names, 3, NULL) != COP_OK)
		return false;
	while (cop_wire_keys_next(&keys, &which) == COP_OK) {
		if (which == 2)
			out->probabilities = cursor;
		cop_err err = which == 0   ? cop_wire_cursor_unsigned(&cursor, &out->a)
		              : which == 1 ? cop_wire_cursor_double(&cursor, &out->p)
		                           : cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH);
		if (err != COP_OK)
			return false;
	}
	return cop_wire_keys_need(&keys, 3) == COP_OK;
}

/* Of a repeated decision only the chosen action's probability is known, of an apprentice's none but the system's. */
static void put_ranking(const cop_api_request *r, ranked *found, cop_json_writer *json)
{
	const char *at = (const char *)r->names.data, *end = at + r->names.length;
	size_t count;
	bool all = found->probabilities.at != NULL && cop_wire_cursor_array(&found->probabilities, &count) == COP_OK;
	cop_json_put_array(json, "ranking");
	for (uint64_t i = 0; at < end; i++, at += strlen(at) + 1) {
		double p = 0.0;
		all = all && cop_wire_cursor_double(&found->probabilities, &p) == COP_OK;
		cop_json_begin_object(json);
		cop_json_put_text(json, "id", at);
		if (all)
			cop_json_put_number(json, "probability", p);
		else if (i == found->a)
			cop_json_put_number(json, "probability", found->p);
		cop_json_end_object(json);
	}
	cop_json_end_array(json);
}

static const char *name_at(const cop_api_request *r, uint64_t place)
{
	if (r->names.length == 0)
		return NULL;
	const char *at = (const char *)r->names.data, *end = at + r->names.length;
	for (; place > 0 && at < end; place--)
		at += strlen(at) + 1;
	return at < end ? at : NULL;
}

static void show_ranking(cop_api_request *r, const void *body, size_t length)
{
	ranked found = { .probabilities = { .at = NULL } };
	const char *text;
	size_t size;
	cop_json_writer *json;
	const char *chosen = read_ranked(body, length, &found) ? name_at(r, found.a) : NULL;
	if (chosen == NULL) {
		cop_api_request_refuse(r, 400, "bad_request", "eventId: the event was decided with other actions");
		return;
	}
	if (cop_json_writer_new(COP_JSON_COMPACT, &json) != COP_OK) {
		cop_api_request_refuse(r, 500, "internal", "no memory");
		return;
	}
	cop_json_begin_object(json);
	put_ranking(r, &found, json);
	cop_json_put_text(json, "eventId", r->event);
	cop_json_put_text(json, "rewardActionId", chosen);
	cop_json_end_object(json);
	if (cop_json_writer_finish(json, &text, &size) == COP_OK)
		cop_bytes_put(&r->answer, text, size);
	if (r->answer.err != COP_OK || r->answer.length == 0)
		cop_api_request_refuse(r, 500, "internal", "no memory");
	cop_json_writer_free(json);
}

void cop_api_personalizer_take(cop_api_request *request, const void *body, size_t length)
{
	request->status = request->route->shown == COP_API_RANKED ? 201 : 204;
	if (request->route->shown == COP_API_RANKED)
		show_ranking(request, body, length);
}
