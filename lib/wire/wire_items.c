/* The body is checked as a whole when it is opened, so that a walk over its items cannot meet a malformed one. */
#include "wire/wire_items.h"

#include "base/assert.h"
#include "wire/wire_context.h"
#include "wire/wire_put.h"

/* The body is one well-formed value. */
static cop_err check(const void *body, size_t length, cop_wire_cursor *cursor, cop_wire_fault *fault)
{
	cop_wire_cursor_init(cursor, body, length);
	cop_wire_cursor at = *cursor;
	cop_err err = cop_wire_cursor_skip(&at, COP_WIRE_DEPTH);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "message", "a map");
	if (cop_wire_cursor_left(&at) != 0)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "message: %zu bytes behind its end, expected none", cop_wire_cursor_left(&at));
	return COP_OK;
}

cop_err cop_wire_items_stream(cop_wire_items *items, const void *body, size_t length, cop_wire_fault *fault)
{
	*items = (cop_wire_items){ 0 };
	cop_err err = check(body, length, &items->cursor, fault);
	if (err != COP_OK)
		return err;
	if (cop_wire_cursor_peek(&items->cursor) == COP_WIRE_TYPE_MAP) {
		items->count = items->left = 1;
		return COP_OK;
	}
	err = cop_wire_cursor_array(&items->cursor, &items->count);
	if (err != COP_OK)
		return cop_wire_refuse(
		        fault, COP_WIRE_BAD_REQUEST, err, &items->cursor, "message", "a map or an array of maps");
	items->left = items->count;
	return COP_OK;
}

static cop_err open_items(cop_wire_cursor *cursor, cop_wire_items *items, cop_wire_fault *fault)
{
	cop_wire_cursor inside = *cursor;
	cop_err err = cop_wire_cursor_array(&inside, &items->count);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "items", "an array of maps");
	if (items->count > COP_WIRE_BATCH_MAX)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "items: got %zu, expected at most %d",
		        items->count, COP_WIRE_BATCH_MAX);
	items->cursor = inside;
	items->left = items->count;
	err = cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH - 1);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "items", "an array of maps");
	return COP_OK;
}

static cop_err read_after(cop_wire_cursor *cursor, cop_wire_items *items, cop_wire_fault *fault)
{
	items->ordered = true;
	if (cop_wire_cursor_peek(cursor) == COP_WIRE_TYPE_NIL)
		return cop_wire_cursor_nil(cursor);
	return cop_wire_position_read(cursor, "after", &items->after, fault);
}

cop_err cop_wire_items_batch(
        cop_wire_items *items, const void *body, size_t length, cop_wire_seq *seq, cop_wire_fault *fault)
{
	static const char *const names[] = { "items", "seq", "after" };
	*items = (cop_wire_items){ 0 };
	seq->length = 0;
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, 3, fault);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK)
		err = which == 0   ? open_items(&cursor, items, fault)
		      : which == 1 ? cop_wire_read_seq(&cursor, seq, fault)
		                   : read_after(&cursor, items, fault);
	return err == COP_EEND ? cop_wire_keys_need(&keys, 1) : err;
}

bool cop_wire_items_next(cop_wire_items *items, const void **item, size_t *length)
{
	if (items->left == 0)
		return false;
	const uint8_t *from = items->cursor.at;
	cop_err err = cop_wire_cursor_skip(&items->cursor, COP_WIRE_DEPTH);
	COP_ASSERT(err == COP_OK); /* checked when the body was opened */
	items->left--;
	*item = from;
	*length = (size_t)(items->cursor.at - from);
	return true;
}

void cop_wire_items_put(cop_bytes *bytes, size_t count, const cop_wire_seq *seq)
{
	bool has_seq = seq != NULL && seq->length != 0;
	cop_wire_put_map(bytes, has_seq ? 2 : 1);
	cop_wire_seq_put(bytes, seq);
	cop_wire_put_text(bytes, "items");
	cop_wire_put_array(bytes, count);
}
