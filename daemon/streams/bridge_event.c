/* What is no well-formed map is refused here, so that a batch as a whole is always well-formed. */
#include "daemon/streams/bridge_event.h"

#include <string.h>

#include "wire/wire_from_json.h"
#include "wire/wire_json.h"
#include "wire/wire_keys.h"
#include "wire/wire_put.h"

#define DEPTH (COP_WIRE_DEPTH - 2) /* a batch's map and array are around it */

static cop_err put_map(
        cop_bytes *out, const void *event, size_t length, const cop_wire_position *from, cop_wire_fault *fault)
{
	size_t pairs;
	cop_wire_cursor cursor, end;
	cop_wire_cursor_init(&cursor, event, length);
	end = cursor;
	if (cop_wire_cursor_skip(&end, DEPTH) != COP_OK || cop_wire_cursor_left(&end) != 0 ||
	        cop_wire_cursor_map(&cursor, &pairs) != COP_OK)
		return cop_wire_fault_set(
		        fault, COP_WIRE_BAD_REQUEST, "event: expected one MessagePack map or one JSON object");
	cop_wire_put_map(out, pairs + 1);
	cop_wire_put_raw(out, cursor.at, cop_wire_cursor_left(&cursor));
	cop_wire_position_put_key(out, from);
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
	if (!is_json(event, length))
		return put_map(out, event, length, from, fault);
	uint32_t pairs;
	cop_bytes body;
	cop_bytes_init(&body);
	cop_err err = cop_wire_from_json(&body, event, length, NULL, &pairs, fault);
	if (err == COP_OK)
		err = put_map(out, body.data, body.length, from, fault);
	cop_bytes_fini(&body);
	return err;
}

bool cop_bridge_event_is_action(const void *answer, size_t length)
{
	return cop_wire_keys_has(answer, length, "a") || cop_wire_keys_has(answer, length, "y");
}

cop_err cop_bridge_event_action(cop_bytes *out, const void *answer, size_t length, bool json)
{
	if (json)
		return cop_wire_json(out, answer, length, 0);
	cop_wire_put_raw(out, answer, length);
	return out->err;
}
