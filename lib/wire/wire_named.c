/* Pairs are checked once, by cop_wire_named_read; cop_wire_named_next relies on that, as on what cop_wire_named_encode
 * wrote. Names are at most 31 bytes, so one byte has their length. */
#include "wire/wire_named.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "wire/wire_keys.h"
#include "wire/wire_put.h"

#define FIXED_TEXT   0xa0
#define FLOAT_DOUBLE 0xcb

_Static_assert(COP_NAMED_LOSSES_NAME <= 32, "a name's length stands in five bits");

static uint8_t *encode_pair(uint8_t *at, const char *name, double value)
{
	size_t length = strlen(name);
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	*at++ = (uint8_t)(FIXED_TEXT | length);
	memcpy(at, name, length);
	at += length;
	*at++ = FLOAT_DOUBLE;
	for (unsigned i = 0; i < 8; i++)
		*at++ = (uint8_t)(bits >> (56 - 8 * i));
	return at;
}

void cop_wire_named_encode(const cop_loss_weights *names, const cop_loss_values *losses,
        uint8_t room[COP_WIRE_NAMED_ROOM], cop_wire_named *out)
{
	uint8_t *at = room;
	*out = (cop_wire_named){ .pairs = room };
	for (size_t i = 0; i < names->count; i++) {
		if ((losses->told >> i & 1u) == 0)
			continue;
		at = encode_pair(at, names->name[i], losses->value[i]);
		out->count++;
	}
	out->length = (size_t)(at - room);
}

void cop_wire_named_put(cop_bytes *bytes, const cop_wire_named *named)
{
	cop_wire_put_map(bytes, named->count);
	if (named->length > 0)
		cop_wire_put_raw(bytes, named->pairs, named->length);
}

static cop_err read_pair(cop_wire_cursor *cursor, const char **name, size_t *length, double *value)
{
	cop_err err = cop_wire_cursor_string(cursor, name, length);
	if (err == COP_OK && (*length == 0 || *length >= COP_NAMED_LOSSES_NAME))
		err = COP_EFORMAT;
	return err == COP_OK ? cop_wire_cursor_double(cursor, value) : err;
}

cop_err cop_wire_named_read(cop_wire_cursor *cursor, cop_wire_named *out)
{
	cop_wire_cursor rest = *cursor;
	const char *name;
	size_t length, count = 0;
	double value;
	cop_err err = cop_wire_cursor_map(&rest, &count);
	if (err == COP_OK && count > COP_NAMED_LOSSES_MOST)
		err = COP_EFORMAT;
	const uint8_t *pairs = rest.at;
	for (size_t i = 0; i < count && err == COP_OK; i++)
		err = read_pair(&rest, &name, &length, &value);
	if (err != COP_OK)
		return err;
	*out = (cop_wire_named){ pairs, (size_t)(rest.at - pairs), count };
	*cursor = rest;
	return COP_OK;
}

bool cop_wire_named_next(cop_wire_named *rest, const char **name, size_t *length, double *value)
{
	cop_wire_cursor cursor;
	if (rest->count == 0)
		return false;
	cop_wire_cursor_init(&cursor, rest->pairs, rest->length);
	cop_err err = read_pair(&cursor, name, length, value);
	COP_ASSERT(err == COP_OK);
	*rest = (cop_wire_named){ cursor.at, cop_wire_cursor_left(&cursor), rest->count - 1 };
	return true;
}

void cop_wire_named_find(const cop_wire_named *named, const cop_loss_weights *names, cop_loss_values *out)
{
	cop_wire_named rest = *named;
	const char *name;
	size_t length;
	double value;
	*out = (cop_loss_values){ .told = 0 };
	while (cop_wire_named_next(&rest, &name, &length, &value)) {
		size_t i = cop_named_losses_find(names, name, length);
		if (i == COP_NAMED_LOSSES_MOST)
			continue;
		out->told |= 1u << i;
		out->value[i] = value;
	}
}

void cop_wire_named_list(const cop_loss_weights *names, char *out, size_t size)
{
	size_t used = 0;
	out[0] = '\0';
	for (size_t i = 0; i < names->count && used < size; i++) {
		int more = snprintf(out + used, size - used, "%s%s", i == 0 ? "" : ", ", names->name[i]);
		used += more < 0 ? 0 : (size_t)more;
	}
}

/* ---- from a sender ---- */

#define LIST 200

static cop_err refuse_name(
        const cop_named_losses *losses, const char *name, size_t length, bool twice, cop_wire_fault *fault)
{
	char clean[3 * COP_NAMED_LOSSES_NAME + 1], list[LIST];
	cop_wire_text_clean(clean, sizeof clean, name, length < COP_NAMED_LOSSES_NAME ? length : COP_NAMED_LOSSES_NAME);
	cop_wire_named_list(&losses->weights, list, sizeof list);
	return cop_wire_fault_set(fault, COP_WIRE_BAD_LOSS, "losses: %s %s, expected each once of: %s", clean,
	        twice ? "comes twice" : "is no loss of this model", list);
}

static cop_err take_value(
        const cop_named_losses *losses, size_t i, double value, cop_loss_values *out, cop_wire_fault *fault)
{
	double low, high;
	cop_named_losses_range(losses, i, &low, &high);
	if (!(value >= low && value <= high))
		return cop_wire_fault_set(fault, COP_WIRE_BAD_LOSS,
		        "losses: %s: got %g, expected a number from %g to %g", losses->weights.name[i], value, low,
		        high);
	out->told |= 1u << i;
	out->value[i] = value;
	return COP_OK;
}

static cop_err decode_pair(
        cop_wire_cursor *cursor, const cop_named_losses *losses, cop_loss_values *out, cop_wire_fault *fault)
{
	const char *name;
	char path[COP_NAMED_LOSSES_NAME + 16];
	size_t length;
	double value;
	cop_err err = cop_wire_cursor_string(cursor, &name, &length);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_LOSS, err, cursor, "losses", "names as strings");
	size_t i = cop_named_losses_find(&losses->weights, name, length);
	bool twice = i < COP_NAMED_LOSSES_MOST && (out->told >> i & 1u) != 0;
	if (i == COP_NAMED_LOSSES_MOST || twice)
		return refuse_name(losses, name, length, twice, fault);
	err = cop_wire_cursor_double(cursor, &value);
	(void)snprintf(path, sizeof path, "losses: %s", losses->weights.name[i]);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_LOSS, err, cursor, path, "a number");
	return take_value(losses, i, value, out, fault);
}

cop_err cop_wire_named_decode(
        cop_wire_cursor *cursor, const cop_named_losses *losses, cop_loss_values *out, cop_wire_fault *fault)
{
	size_t count;
	*out = (cop_loss_values){ .told = 0 };
	cop_err err = cop_wire_cursor_map(cursor, &count);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_LOSS, err, cursor, "losses", "a map of names and numbers");
	for (size_t i = 0; i < count && err == COP_OK; i++)
		err = decode_pair(cursor, losses, out, fault);
	for (size_t i = 0; i < losses->weights.count && err == COP_OK; i++)
		if (losses->weights.weight[i] != 0.0 && (out->told >> i & 1u) == 0)
			err = cop_wire_fault_set(fault, COP_WIRE_BAD_LOSS,
			        "losses: %s: missing, expected it, as it is learned", losses->weights.name[i]);
	return err;
}
