/* What is no well-formed map is refused here, so that a batch as a whole is always well-formed. */
#include "daemon/streams/bridge_event.h"

#include <string.h>

#include "wire/wire_from_json.h"
#include "wire/wire_json.h"
#include "wire/wire_keys.h"
#include "wire/wire_put.h"

#define DEPTH (COP_WIRE_DEPTH - 2) /* a batch's map and array are around it */

/* Well-formed, one map and nothing else, and no deeper than a batch allows; *cursor then stands behind its head. */
static bool is_map(const void *event, size_t length, cop_wire_cursor *cursor, size_t *pairs)
{
	cop_wire_cursor end;
	cop_wire_cursor_init(cursor, event, length);
	end = *cursor;
	return cop_wire_cursor_skip(&end, DEPTH) == COP_OK && cop_wire_cursor_left(&end) == 0 &&
	       cop_wire_cursor_map(cursor, pairs) == COP_OK;
}

static cop_err refuse(cop_wire_fault *fault)
{
	return cop_wire_fault_set(
	        fault, COP_WIRE_BAD_REQUEST, "event: expected one MessagePack map or one JSON object");
}

static cop_err put_map(
        cop_bytes *out, const void *event, size_t length, const cop_wire_position *from, cop_wire_fault *fault)
{
	size_t pairs;
	cop_wire_cursor cursor;
	if (!is_map(event, length, &cursor, &pairs))
		return refuse(fault);
	cop_wire_put_map(out, pairs + 1);
	cop_wire_put_raw(out, cursor.at, cop_wire_cursor_left(&cursor));
	cop_wire_position_put_key(out, from);
	return out->err;
}

/* Converted where it is to stand; its head of five bytes then counts one pair more. */
static cop_err put_json(
        cop_bytes *out, const void *event, size_t length, const cop_wire_position *from, cop_wire_fault *fault)
{
	uint32_t count;
	size_t pairs, at = out->length;
	cop_wire_cursor cursor;
	cop_err err = cop_wire_from_json(out, event, length, NULL, &count, fault);
	if (err != COP_OK)
		return err;
	if (!is_map(out->data + at, out->length - at, &cursor, &pairs)) {
		out->length = at;
		return refuse(fault);
	}
	cop_wire_position_put_key(out, from);
	for (unsigned i = 0; i < 4 && out->err == COP_OK; i++)
		out->data[at + 1 + i] = (uint8_t)((count + 1) >> (24 - 8 * i));
	return out->err;
}

static bool is_json(const char *text, size_t length)
{
	size_t i = 0;
	while (i < length && strchr(" \t\r\n", text[i]) != NULL && text[i] != '\0')
		i++;
	return i < length && text[i] == '{';
}

cop_err cop_bridge_event_put(
        cop_bytes *out, const void *event, size_t length, const cop_wire_position *from, cop_wire_fault *fault)
{
	return is_json(event, length) ? put_json(out, event, length, from, fault)
	                              : put_map(out, event, length, from, fault);
}

cop_bridge_answer cop_bridge_event_answer(const void *answer, size_t length)
{
	static const char *const names[] = { "a", "y", "repeated" };
	unsigned which;
	cop_wire_keys keys;
	cop_wire_cursor cursor;
	cop_bridge_answer out = { false, false };
	cop_wire_cursor_init(&cursor, answer, length);
	if (cop_wire_keys_open(&keys, &cursor, names, 3, NULL) != COP_OK)
		return out;
	while (cop_wire_keys_next(&keys, &which) == COP_OK && cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH) == COP_OK) {
		out.action = out.action || which < 2;
		out.repeated = out.repeated || which == 2;
	}
	return out;
}

cop_err cop_bridge_event_action(cop_bytes *out, const void *answer, size_t length, bool json)
{
	if (json)
		return cop_wire_json(out, answer, length, 0);
	cop_wire_put_raw(out, answer, length);
	return out->err;
}

static void put_letter(
        cop_bytes *out, const void *event, size_t length, const cop_wire_position *from, const cop_wire_fault *why)
{
	size_t kept = length < COP_BRIDGE_EVENT_LETTER ? length : COP_BRIDGE_EVENT_LETTER;
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_string(out, "stream", from->source, from->length);
	cop_wire_put_key_unsigned(out, "partition", from->partition);
	cop_wire_put_key_unsigned(out, "offset", from->offset);
	cop_wire_put_key_unsigned(out, "minor", from->minor);
	cop_wire_put_key_text(out, "code", cop_wire_code_text(why->code));
	cop_wire_put_key_text(out, "reason", why->message);
	cop_wire_put_key_unsigned(out, "length", length);
	cop_wire_put_text(out, "event");
	cop_wire_put_binary(out, event, kept);
	cop_wire_put_map_close(out, map);
}

cop_err cop_bridge_event_letter(cop_bytes *out, const void *event, size_t length, const cop_wire_position *from,
        const cop_wire_fault *why, bool json)
{
	cop_bytes letter;
	if (!json) {
		put_letter(out, event, length, from, why);
		return out->err;
	}
	cop_bytes_init(&letter);
	put_letter(&letter, event, length, from, why);
	cop_err err = letter.err != COP_OK ? letter.err : cop_wire_json(out, letter.data, letter.length, 0);
	cop_bytes_fini(&letter);
	return err;
}
