/* Encoders put the keys in one fixed order; decoders take them in any order and check afterwards that the needed ones
 * came. */
#include "wire/wire_reply.h"

#include <string.h>

#include "wire/wire_put.h"

void cop_wire_reply_action_put(cop_bytes *bytes, const cop_wire_action *action)
{
	size_t map = cop_wire_put_map_open(bytes);
	cop_wire_put_text(bytes, "id");
	cop_wire_id_put(bytes, &action->id);
	if (action->value) {
		cop_wire_put_key_double(bytes, "y", action->y);
		cop_wire_put_text(bytes, "probe");
		cop_wire_put_array(bytes, action->probes);
		for (unsigned i = 0; i < action->probes; i++)
			cop_wire_put_double(bytes, action->probe[i]);
		if (action->density)
			cop_wire_put_key_double(bytes, "p", action->p);
		cop_wire_put_key_unsigned(bytes, "rev", action->rev);
	} else {
		cop_wire_put_key_unsigned(bytes, "a", action->a);
		if (action->arm != NULL)
			cop_wire_put_key_string(bytes, "arm", action->arm, action->arm_length);
		cop_wire_put_key_double(bytes, "p", action->p);
		cop_wire_put_key_unsigned(bytes, "rev", action->rev);
		cop_wire_put_key_bool(bytes, "greedy", action->greedy);
		if (action->by != COP_WIRE_BY_POLICY)
			cop_wire_put_key_text(bytes, "by", cop_wire_split_maker_text(action->by));
		if (action->limit != COP_WIRE_LIMIT_NONE)
			cop_wire_put_key_text(bytes, "limit", cop_wire_split_limit_text(action->limit));
	}
	if (action->order != NULL) {
		cop_wire_put_text(bytes, "order");
		cop_wire_put_array(bytes, action->order_count);
		for (size_t i = 0; i < action->order_count; i++)
			cop_wire_put_unsigned(bytes, action->order[i]);
	}
	if (action->probability != NULL) {
		cop_wire_put_text(bytes, "probabilities");
		cop_wire_put_array(bytes, action->probability_count);
		for (size_t i = 0; i < action->probability_count; i++)
			cop_wire_put_double(bytes, action->probability[i]);
	}
	if (action->repeated)
		cop_wire_put_key_bool(bytes, "repeated", true);
	if (!action->durable)
		cop_wire_put_key_bool(bytes, "durable", false);
	cop_wire_seq_put(bytes, &action->seq);
	cop_wire_put_map_close(bytes, map);
}

void cop_wire_reply_result_put(
        cop_bytes *bytes, const cop_event_id *id, cop_wire_result result, const cop_wire_seq *seq)
{
	size_t map = cop_wire_put_map_open(bytes);
	cop_wire_put_text(bytes, "id");
	cop_wire_id_put(bytes, id);
	cop_wire_put_key_text(bytes, "result", cop_wire_result_text(result));
	cop_wire_seq_put(bytes, seq);
	cop_wire_put_map_close(bytes, map);
}

void cop_wire_reply_repeat_put(cop_bytes *bytes, const cop_event_id *id, bool feedback, const cop_wire_seq *seq)
{
	size_t map = cop_wire_put_map_open(bytes);
	cop_wire_put_text(bytes, "id");
	cop_wire_id_put(bytes, id);
	if (feedback)
		cop_wire_put_key_text(bytes, "result", cop_wire_result_text(COP_WIRE_DUPLICATE));
	cop_wire_put_key_bool(bytes, "repeated", true);
	cop_wire_seq_put(bytes, seq);
	cop_wire_put_map_close(bytes, map);
}

void cop_wire_reply_error_put(
        cop_bytes *bytes, cop_wire_code code, const char *message, const cop_event_id *id, const cop_wire_seq *seq)
{
	char clean[512];
	cop_wire_text_clean(clean, sizeof clean, message, strlen(message));
	size_t map = cop_wire_put_map_open(bytes);
	cop_wire_put_key_text(bytes, "code", cop_wire_code_text(code));
	cop_wire_put_key_text(bytes, "message", clean);
	if (id != NULL && id->kind != 0) {
		cop_wire_put_text(bytes, "id");
		cop_wire_id_put(bytes, id);
	}
	cop_wire_seq_put(bytes, seq);
	cop_wire_put_map_close(bytes, map);
}

void cop_wire_reply_version_put(cop_bytes *bytes, const char *version)
{
	cop_bytes_reserve(bytes, 16 + strlen(version)); /* without memory the reply stays as it is */
	cop_wire_put_map_reopen(bytes, 0);
	cop_wire_put_key_text(bytes, "version", version);
}

enum { ID, A, ARM, P, REV, GREEDY, BY, LIMIT, Y, PROBE, REPEATED, DURABLE, SEQ, ACTION_KEYS };

static const char *const action_names[ACTION_KEYS] = { "id", "a", "arm", "p", "rev", "greedy", "by", "limit", "y",
	"probe", "repeated", "durable", "seq" };

static cop_err read_probe(cop_wire_cursor *cursor, cop_wire_action *out)
{
	size_t count;
	cop_err err = cop_wire_cursor_array(cursor, &count);
	if (err == COP_OK && (count == 0 || count > 2))
		err = COP_EINVAL;
	for (size_t i = 0; err == COP_OK && i < count; i++)
		err = cop_wire_cursor_double(cursor, &out->probe[i]);
	if (err == COP_OK)
		out->probes = (unsigned)count;
	return err;
}

static cop_err read_arm(cop_wire_cursor *cursor, cop_wire_action *out)
{
	uint64_t a;
	cop_err err = cop_wire_cursor_unsigned(cursor, &a);
	if (err == COP_OK)
		out->a = (size_t)a;
	return err;
}

/* A word of a later version counts as the policy. */
static cop_err read_by(cop_wire_cursor *cursor, cop_wire_maker *by)
{
	const char *text;
	size_t length;
	cop_err err = cop_wire_cursor_string(cursor, &text, &length);
	for (unsigned k = 1; err == COP_OK && k < COP_WIRE_MAKERS; k++) {
		const char *word = cop_wire_split_maker_text((cop_wire_maker)k);
		if (length == strlen(word) && memcmp(text, word, length) == 0)
			*by = (cop_wire_maker)k;
	}
	return err;
}

/* A word of a later version counts as none. */
static cop_err read_limit(cop_wire_cursor *cursor, cop_wire_limit *limit)
{
	const char *text;
	size_t length;
	cop_err err = cop_wire_cursor_string(cursor, &text, &length);
	for (unsigned k = 1; err == COP_OK && k < COP_WIRE_LIMITS; k++) {
		const char *word = cop_wire_split_limit_text((cop_wire_limit)k);
		if (length == strlen(word) && memcmp(text, word, length) == 0)
			*limit = (cop_wire_limit)k;
	}
	return err;
}

static cop_err read_action_field(cop_wire_cursor *cursor, unsigned which, cop_wire_action *out, cop_wire_fault *fault)
{
	cop_wire_cursor from = *cursor;
	cop_err err;
	switch (which) {
	case ID:
		return cop_wire_read_id(cursor, &out->id, fault);
	case SEQ:
		return cop_wire_read_seq(cursor, &out->seq, fault);
	case A:
		err = read_arm(cursor, out);
		break;
	case ARM:
		err = cop_wire_cursor_string(cursor, &out->arm, &out->arm_length);
		break;
	case P:
		err = cop_wire_cursor_double(cursor, &out->p);
		break;
	case REV:
		err = cop_wire_cursor_unsigned(cursor, &out->rev);
		break;
	case GREEDY:
		err = cop_wire_cursor_bool(cursor, &out->greedy);
		break;
	case BY:
		err = read_by(cursor, &out->by);
		break;
	case LIMIT:
		err = read_limit(cursor, &out->limit);
		break;
	case Y:
		err = cop_wire_cursor_double(cursor, &out->y);
		break;
	case PROBE:
		err = read_probe(cursor, out);
		break;
	case REPEATED:
		err = cop_wire_cursor_bool(cursor, &out->repeated);
		break;
	default:
		err = cop_wire_cursor_bool(cursor, &out->durable);
		break;
	}
	if (err == COP_OK)
		return COP_OK;
	return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, &from, action_names[which], "what an action holds");
}

cop_err cop_wire_reply_action_decode(const void *body, size_t length, cop_wire_action *out, cop_wire_fault *fault)
{
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	*out = (cop_wire_action){ .durable = true };
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, action_names, ACTION_KEYS, fault);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK)
		err = read_action_field(&cursor, which, out, fault);
	if (err != COP_EEND)
		return err;
	out->value = (keys.seen & 1U << Y) != 0;
	out->density = out->value && (keys.seen & 1U << P) != 0;
	uint32_t need = 1U << ID | 1U << REV;
	need |= out->value ? 1U << PROBE : 1U << A | 1U << P;
	return cop_wire_keys_need(&keys, need);
}

void cop_wire_reply_action_mark(cop_bytes *bytes, const void *body, size_t length)
{
	cop_wire_action action;
	cop_wire_cursor cursor;
	size_t count;
	cop_wire_cursor_init(&cursor, body, length);
	if (cop_wire_reply_action_decode(body, length, &action, NULL) != COP_OK || !action.durable ||
	        cop_wire_cursor_map(&cursor, &count) != COP_OK) {
		cop_wire_put_raw(bytes, body, length);
		return;
	}
	cop_wire_put_map(bytes, count + 1);
	size_t left = cop_wire_cursor_left(&cursor);
	cop_wire_put_raw(bytes, (const uint8_t *)body + (length - left), left);
	cop_wire_put_key_bool(bytes, "durable", false);
}

static cop_err read_result(cop_wire_cursor *cursor, cop_wire_result *out, cop_wire_fault *fault)
{
	const char *text;
	size_t length;
	cop_err err = cop_wire_cursor_string(cursor, &text, &length);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "result", "a string");
	if (!cop_wire_result_find(text, length, out)) {
		char clean[40];
		cop_wire_text_clean(clean, sizeof clean, text, length);
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "result: '%s' is not known", clean);
	}
	return COP_OK;
}

cop_err cop_wire_reply_result_decode(const void *body, size_t length, cop_event_id *id, cop_wire_result *result,
        cop_wire_seq *seq, cop_wire_fault *fault)
{
	static const char *const names[] = { "id", "result", "seq" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	seq->length = 0;
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, 3, fault);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK) {
		if (which == 0)
			err = cop_wire_read_id(&cursor, id, fault);
		else if (which == 1)
			err = read_result(&cursor, result, fault);
		else
			err = cop_wire_read_seq(&cursor, seq, fault);
	}
	return err == COP_EEND ? cop_wire_keys_need(&keys, 3) : err;
}

/* code or message of an error. */
static cop_err read_error_text(cop_wire_cursor *cursor, bool code, cop_wire_fault *error, cop_wire_fault *fault)
{
	const char *text;
	size_t length;
	cop_err err = cop_wire_cursor_string(cursor, &text, &length);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, code ? "code" : "message", "a string");
	if (!code)
		cop_wire_text_clean(error->message, sizeof error->message, text, length);
	else if (!cop_wire_code_find(text, length, &error->code))
		error->code = COP_WIRE_INTERNAL;
	return COP_OK;
}

cop_err cop_wire_reply_error_decode(const void *body, size_t length, cop_wire_fault *error, cop_event_id *id,
        cop_wire_seq *seq, cop_wire_fault *fault)
{
	static const char *const names[] = { "code", "message", "id", "seq" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	memset(id, 0, sizeof *id);
	seq->length = 0;
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, 4, fault);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK) {
		if (which < 2)
			err = read_error_text(&cursor, which == 0, error, fault);
		else if (which == 2)
			err = cop_wire_read_id(&cursor, id, fault);
		else
			err = cop_wire_read_seq(&cursor, seq, fault);
	}
	return err == COP_EEND ? cop_wire_keys_need(&keys, 3) : err;
}

bool cop_wire_reply_is_error(const void *body, size_t length) { return cop_wire_keys_has(body, length, "code"); }
