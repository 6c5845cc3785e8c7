/* Items are checked once, by cop_wire_settled_read; cop_wire_settled_next relies on that, as on what
 * cop_wire_settled_add wrote. */
#include "wire/wire_settled.h"

#include "base/assert.h"
#include "wire/wire_context.h"
#include "wire/wire_keys.h"
#include "wire/wire_put.h"

bool cop_wire_settled_learned(cop_wire_outcome outcome)
{
	return outcome == COP_WIRE_OUTCOME_RECORDED || outcome == COP_WIRE_OUTCOME_DEFAULT ||
	       outcome == COP_WIRE_OUTCOME_LEARNED_WAY;
}

bool cop_wire_settled_gave_way(cop_wire_outcome outcome)
{
	return outcome == COP_WIRE_OUTCOME_GAVE_WAY || outcome == COP_WIRE_OUTCOME_LEARNED_WAY;
}

void cop_wire_settled_add(cop_bytes *bytes, const cop_wire_settlement *settlement)
{
	bool named = settlement->named.count > 0;
	cop_wire_put_array(bytes, 2 + settlement->losses + named);
	cop_wire_id_put(bytes, &settlement->id);
	cop_wire_put_unsigned(bytes, settlement->outcome);
	for (unsigned i = 0; i < settlement->losses; i++)
		cop_wire_put_double(bytes, settlement->loss[i]);
	if (named)
		cop_wire_named_put(bytes, &settlement->named);
}

void cop_wire_settled_put(cop_bytes *bytes, const cop_wire_settled *settled)
{
	if (settled->lost && bytes->err == COP_OK)
		bytes->err = COP_ENOMEM;
	cop_wire_put_array(bytes, settled->count);
	if (settled->length > 0)
		cop_wire_put_raw(bytes, settled->items, settled->length);
}

/* What stands behind id and outcome: `count` elements. */
static cop_err read_losses(cop_wire_cursor *cursor, size_t count, cop_wire_settlement *out)
{
	cop_err err = COP_OK;
	out->losses = 0;
	out->loss[0] = out->loss[1] = 0.0;
	out->named = (cop_wire_named){ .count = 0 };
	for (size_t i = 0; i < count && err == COP_OK; i++) {
		bool named = i > 0 && i + 1 == count && cop_wire_cursor_peek(cursor) == COP_WIRE_TYPE_MAP;
		if (named)
			err = cop_wire_named_read(cursor, &out->named);
		else
			err = out->losses < 2 ? cop_wire_cursor_double(cursor, &out->loss[out->losses++]) : COP_EFORMAT;
	}
	return err;
}

static cop_err read_item(cop_wire_cursor *cursor, cop_wire_settlement *out)
{
	size_t count = 0;
	uint64_t outcome = 0;
	cop_err err = cop_wire_cursor_array(cursor, &count);
	if (err == COP_OK)
		err = count < 2 || count > 5 ? COP_EFORMAT : cop_wire_read_id(cursor, &out->id, NULL);
	if (err == COP_OK)
		err = cop_wire_cursor_unsigned(cursor, &outcome);
	if (err == COP_OK && outcome >= COP_WIRE_OUTCOMES)
		err = COP_EFORMAT;
	if (err != COP_OK)
		return err;
	out->outcome = (cop_wire_outcome)outcome;
	err = read_losses(cursor, count - 2, out);
	return err == COP_OK && (out->losses > 0) != cop_wire_settled_learned(out->outcome) ? COP_EFORMAT : err;
}

cop_err cop_wire_settled_read(cop_wire_cursor *cursor, cop_wire_settled *out)
{
	cop_wire_cursor rest = *cursor;
	cop_wire_settlement item;
	size_t count = 0;
	cop_err err = cop_wire_cursor_array(&rest, &count);
	const uint8_t *items = rest.at;
	for (size_t i = 0; i < count && err == COP_OK; i++)
		err = read_item(&rest, &item);
	if (err != COP_OK)
		return err;
	*out = (cop_wire_settled){ .items = items, .length = (size_t)(rest.at - items), .count = count };
	*cursor = rest;
	return COP_OK;
}

bool cop_wire_settled_next(cop_wire_settled *rest, cop_wire_settlement *out)
{
	if (rest->count == 0)
		return false;
	cop_wire_cursor cursor;
	cop_wire_cursor_init(&cursor, rest->items, rest->length);
	cop_err err = read_item(&cursor, out);
	COP_ASSERT(err == COP_OK);
	rest->items = cursor.at;
	rest->length = (size_t)(cursor.end - cursor.at);
	rest->count--;
	return true;
}
