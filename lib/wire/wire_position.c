/* The value is read from a copy of the cursor, which moves when all of it was good. */
#include "wire/wire_position.h"

#include "wire/wire_put.h"

#define EXPECTED                                                                                                       \
	"expected [source, partition, offset]: a string of 1 to 64 bytes and two or three integers of 0 or more"

int cop_wire_position_compare(const cop_wire_position *a, const cop_wire_position *b)
{
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->minor == b->minor ? 0 : a->minor < b->minor ? -1 : 1;
}

cop_err cop_wire_position_read(cop_wire_cursor *cursor, const char *key, cop_wire_position *out, cop_wire_fault *fault)
{
	size_t count = 0;
	cop_wire_cursor at = *cursor;
	*out = (cop_wire_position){ .source = NULL };
	bool good = cop_wire_cursor_array(&at, &count) == COP_OK && (count == 3 || count == 4) &&
	            cop_wire_cursor_string(&at, &out->source, &out->length) == COP_OK && out->length >= 1 &&
	            out->length <= COP_WIRE_POSITION_SOURCE &&
	            cop_wire_cursor_unsigned(&at, &out->partition) == COP_OK &&
	            cop_wire_cursor_unsigned(&at, &out->offset) == COP_OK &&
	            (count == 3 || cop_wire_cursor_unsigned(&at, &out->minor) == COP_OK);
	if (!good)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "%s: " EXPECTED, key);
	*cursor = at;
	return COP_OK;
}

void cop_wire_position_put(cop_bytes *bytes, const cop_wire_position *position)
{
	cop_wire_put_array(bytes, position->minor == 0 ? 3 : 4);
	cop_wire_put_string(bytes, position->source, position->length);
	cop_wire_put_unsigned(bytes, position->partition);
	cop_wire_put_unsigned(bytes, position->offset);
	if (position->minor != 0)
		cop_wire_put_unsigned(bytes, position->minor);
}

void cop_wire_position_put_key(cop_bytes *bytes, const cop_wire_position *position)
{
	if (position->source == NULL)
		return;
	cop_wire_put_text(bytes, "from");
	cop_wire_position_put(bytes, position);
}
