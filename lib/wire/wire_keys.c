/* Invariant: after a key was given out the cursor stands on its value, and bit i of `seen` is set iff names[i] came.
 * Keys are compared from the name behind the last one on, as messages of one sender keep their order. */
#include "wire/wire_keys.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"

cop_err cop_wire_refuse(cop_wire_fault *fault, cop_wire_code code, cop_err err, const cop_wire_cursor *cursor,
        const char *path, const char *expected)
{
	if (err == COP_ENONFINITE) {
		(void)cop_wire_fault_set(fault, code, "%s: not a finite number in range, expected %s", path, expected);
		return code == COP_WIRE_BAD_REQUEST ? COP_EFORMAT : COP_ENONFINITE;
	}
	if (err == COP_EFORMAT)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "%s: malformed MessagePack (cut off, nested too deeply, or a length beyond the message's end)",
		        path);
	return cop_wire_fault_set(fault, code, "%s: got %s, expected %s", path,
	        cop_wire_cursor_type_text(cop_wire_cursor_peek(cursor)), expected);
}

cop_err cop_wire_keys_open(
        cop_wire_keys *keys, cop_wire_cursor *cursor, const char *const *names, unsigned count, cop_wire_fault *fault)
{
	COP_ASSERT(count <= 64);
	*keys = (cop_wire_keys){ .cursor = cursor, .names = names, .count = count, .fault = fault };
	cop_err err = cop_wire_cursor_map(cursor, &keys->left);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "message", "a map");
	return COP_OK;
}

/* A name that ends too early differs at its end. */
static bool is(const char *name, const char *key, size_t length)
{
	size_t i = 0;
	while (i < length && name[i] != '\0' && name[i] == key[i])
		i++;
	return i == length && name[i] == '\0';
}

/* From the name that is to be expected on, round. */
static bool known(cop_wire_keys *keys, const char *key, size_t length, unsigned *which)
{
	unsigned at = keys->next;
	for (unsigned i = 0; i < keys->count; i++, at++) {
		if (at >= keys->count)
			at = 0;
		if (is(keys->names[at], key, length)) {
			*which = at;
			keys->next = at + 1;
			return true;
		}
	}
	return false;
}

/* A string of up to 31 bytes, as keys are, without a look at what else a header may be. */
static bool read_short(cop_wire_cursor *cursor, const char **name, size_t *length)
{
	const size_t left = cop_wire_cursor_left(cursor);
	if (left == 0 || cursor->at[0] < 0xa0 || cursor->at[0] > 0xbf)
		return false;
	*length = cursor->at[0] & 0x1f;
	if (*length >= left)
		return false;
	*name = (const char *)cursor->at + 1;
	cursor->at += 1 + *length;
	return true;
}

/* A key of any type; true in *found when it is one of the table. */
static cop_err read_key(cop_wire_keys *keys, bool *found, unsigned *which)
{
	const char *name;
	size_t length;
	cop_err err = read_short(keys->cursor, &name, &length) ? COP_OK
	                                                       : cop_wire_cursor_string(keys->cursor, &name, &length);
	*found = false;
	if (err == COP_OK)
		*found = known(keys, name, length, which);
	else if (err == COP_EINVAL)
		err = cop_wire_cursor_skip(keys->cursor, COP_WIRE_DEPTH - 1);
	return err;
}

cop_err cop_wire_keys_next(cop_wire_keys *keys, unsigned *which)
{
	while (keys->left > 0) {
		bool found;
		cop_err err = read_key(keys, &found, which);
		if (err == COP_OK && !found)
			err = cop_wire_cursor_skip(keys->cursor, COP_WIRE_DEPTH - 1);
		if (err != COP_OK)
			return cop_wire_refuse(
			        keys->fault, COP_WIRE_BAD_REQUEST, err, keys->cursor, "message", "a map");
		keys->left--;
		if (!found)
			continue;
		if (keys->seen & UINT64_C(1) << *which)
			return cop_wire_fault_set(
			        keys->fault, COP_WIRE_BAD_REQUEST, "%s: the key comes twice", keys->names[*which]);
		keys->seen |= UINT64_C(1) << *which;
		return COP_OK;
	}
	if (cop_wire_cursor_left(keys->cursor) != 0)
		return cop_wire_fault_set(keys->fault, COP_WIRE_BAD_REQUEST,
		        "message: %zu bytes behind its end, expected none", cop_wire_cursor_left(keys->cursor));
	return COP_EEND;
}

cop_err cop_wire_keys_need(const cop_wire_keys *keys, uint64_t need)
{
	const uint64_t missing = need & ~keys->seen;
	for (unsigned i = 0; missing != 0 && i < keys->count; i++)
		if (missing >> i & 1)
			return cop_wire_fault_set(
			        keys->fault, COP_WIRE_BAD_REQUEST, "%s: the key is missing", keys->names[i]);
	return COP_OK;
}

bool cop_wire_keys_has(const void *body, size_t length, const char *name)
{
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	cop_wire_cursor_init(&cursor, body, length);
	return cop_wire_keys_open(&keys, &cursor, &name, 1, NULL) == COP_OK &&
	       cop_wire_keys_next(&keys, &which) == COP_OK;
}

#define ID_EXPECTED "a string or binary of 1 to 64 bytes, or an integer"

static cop_err read_id_bytes(
        cop_wire_cursor *cursor, const char *name, cop_event_id_kind kind, cop_event_id *out, cop_wire_fault *fault)
{
	cop_wire_cursor at = *cursor;
	const uint8_t *bytes = NULL;
	const char *text = NULL;
	size_t length = 0;
	cop_err err = kind == COP_EVENT_ID_STRING ? cop_wire_cursor_string(&at, &text, &length)
	                                          : cop_wire_cursor_binary(&at, &bytes, &length);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, name, ID_EXPECTED);
	if (!cop_event_id_from_bytes(out, kind, text != NULL ? (const void *)text : bytes, length))
		return cop_wire_fault_set(
		        fault, COP_WIRE_BAD_REQUEST, "%s: got %zu bytes, expected " ID_EXPECTED, name, length);
	*cursor = at;
	return COP_OK;
}

cop_err cop_wire_read_id(cop_wire_cursor *cursor, cop_event_id *out, cop_wire_fault *fault)
{
	return cop_wire_keys_read_id(cursor, "id", out, fault);
}

cop_err cop_wire_keys_read_id(cop_wire_cursor *cursor, const char *name, cop_event_id *out, cop_wire_fault *fault)
{
	switch (cop_wire_cursor_peek(cursor)) {
	case COP_WIRE_TYPE_STRING:
		return read_id_bytes(cursor, name, COP_EVENT_ID_STRING, out, fault);
	case COP_WIRE_TYPE_BINARY:
		return read_id_bytes(cursor, name, COP_EVENT_ID_BINARY, out, fault);
	default:
		break;
	}
	uint64_t u = 0;
	int64_t s = 0;
	cop_err err = cop_wire_cursor_unsigned(cursor, &u);
	if (err == COP_OK) {
		cop_event_id_from_unsigned(out, u);
		return COP_OK;
	}
	if (err == COP_EINVAL)
		err = cop_wire_cursor_signed(cursor, &s);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, name, ID_EXPECTED);
	cop_event_id_from_signed(out, s);
	return COP_OK;
}

cop_err cop_wire_read_seq(cop_wire_cursor *cursor, cop_wire_seq *out, cop_wire_fault *fault)
{
	const uint8_t *from = cursor->at;
	cop_wire_type type = cop_wire_cursor_peek(cursor);
	if (type == COP_WIRE_TYPE_ARRAY || type == COP_WIRE_TYPE_MAP)
		return cop_wire_refuse(
		        fault, COP_WIRE_BAD_REQUEST, COP_EINVAL, cursor, "seq", "a number, string or binary");
	cop_err err = cop_wire_cursor_skip(cursor, 0);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "seq", "a number, string or binary");
	size_t length = (size_t)(cursor->at - from);
	if (length > COP_WIRE_SEQ_MAX)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "seq: got %zu encoded bytes, at most %d allowed",
		        length, COP_WIRE_SEQ_MAX);
	out->length = (uint8_t)length;
	memcpy(out->bytes, from, length);
	return COP_OK;
}

cop_err cop_wire_read_src(cop_wire_cursor *cursor, cop_wire_source *out, cop_wire_fault *fault)
{
	cop_wire_cursor at = *cursor;
	const char *name;
	size_t length;
	cop_err err = cop_wire_cursor_string(&at, &name, &length);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "src", "a string of 1 to 64 bytes");
	if (length == 0 || length > COP_WIRE_SOURCE_MAX)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "src: got %zu bytes, expected a string of 1 to %d bytes", length, COP_WIRE_SOURCE_MAX);
	out->name = name;
	out->length = length;
	*cursor = at;
	return COP_OK;
}

cop_err cop_wire_read_n(cop_wire_cursor *cursor, cop_wire_source *out, cop_wire_fault *fault)
{
	cop_err err = cop_wire_cursor_unsigned(cursor, &out->n);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "n", "an integer of 0 or more");
	out->has_n = true;
	return COP_OK;
}

cop_err cop_wire_plain_decode(const void *body, size_t length, cop_wire_seq *seq, cop_wire_fault *fault)
{
	static const char *const names[] = { "seq" };
	seq->length = 0;
	if (length == 0)
		return COP_OK;
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, 1, fault);
	unsigned which;
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK)
		err = cop_wire_read_seq(&cursor, seq, fault);
	return err == COP_EEND ? COP_OK : err;
}

void cop_wire_read_source(const void *body, size_t length, cop_wire_source *out)
{
	static const char *const names[] = { "src", "n" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	*out = (cop_wire_source){ .name = NULL };
	cop_wire_cursor_init(&cursor, body, length);
	if (cop_wire_keys_open(&keys, &cursor, names, 2, NULL) != COP_OK)
		return;
	while (cop_wire_keys_next(&keys, &which) == COP_OK) {
		cop_wire_cursor value = cursor;
		if (which == 0)
			(void)!cop_wire_read_src(&value, out, NULL);
		else
			(void)!cop_wire_read_n(&value, out, NULL);
		if (cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH - 1) != COP_OK)
			return;
	}
}

void cop_wire_envelope(const void *body, size_t length, cop_event_id *id, cop_wire_seq *seq)
{
	static const char *const names[] = { "id", "seq" };
	memset(id, 0, sizeof *id);
	seq->length = 0;
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	cop_wire_cursor_init(&cursor, body, length);
	if (cop_wire_keys_open(&keys, &cursor, names, 2, NULL) != COP_OK)
		return;
	unsigned which;
	while (cop_wire_keys_next(&keys, &which) == COP_OK) {
		cop_wire_cursor value =
		        cursor; /* a refused value may leave its cursor anywhere; the walk goes on behind it */
		if (which == 0 && id->kind == 0)
			(void)!cop_wire_read_id(&value, id, NULL);
		else if (which == 1 && seq->length == 0)
			(void)!cop_wire_read_seq(&value, seq, NULL);
		keys.seen = 0; /* a key that comes twice may be what is wrong; the other one may stand behind it */
		if (cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH - 1) != COP_OK)
			return;
	}
}
