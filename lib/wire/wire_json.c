/* Recursive, at most COP_WIRE_DEPTH deep: the whole value was checked before the first byte is written. */
#include "wire/wire_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/wire_code.h"
#include "wire/wire_cursor.h"

typedef struct printer {
	cop_bytes *out;
	cop_wire_cursor cursor;
	unsigned indent;
	const char *without; /* a key at the top; NULL: none */
} printer;

static void put_text(printer *p, const char *text) { cop_bytes_put(p->out, text, strlen(text)); }

static void put_line(printer *p, unsigned level)
{
	if (p->indent == 0)
		return;
	put_text(p, "\n");
	for (unsigned i = 0; i < level * p->indent; i++)
		put_text(p, " ");
}

static void put_character(printer *p, const char *at, size_t step)
{
	char text[8];
	if (step == 0) {
		put_text(p, "\xef\xbf\xbd");
	} else if (at[0] == '"' || at[0] == '\\') {
		(void)snprintf(text, sizeof text, "\\%c", at[0]);
		put_text(p, text);
	} else if (step == 1 && ((uint8_t)at[0] < 0x20 || at[0] == 0x7f)) {
		(void)snprintf(text, sizeof text, "\\u%04x", (unsigned)(uint8_t)at[0]);
		put_text(p, text);
	} else {
		cop_bytes_put(p->out, at, step);
	}
}

static void put_string(printer *p, const char *text, size_t length)
{
	put_text(p, "\"");
	for (size_t i = 0; i < length;) {
		size_t step = cop_wire_text_step(text + i, length - i);
		put_character(p, text + i, step);
		i += step == 0 ? 1 : step;
	}
	put_text(p, "\"");
}

static void put_hex(printer *p, const uint8_t *data, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	put_text(p, "\"");
	for (size_t i = 0; i < length; i++) {
		char pair[2] = { digits[data[i] >> 4], digits[data[i] & 15] };
		cop_bytes_put(p->out, pair, 2);
	}
	put_text(p, "\"");
}

/* The fewest digits that read back equal, as a double or as a float. */
static void put_number(printer *p, double value, bool single)
{
	char text[40];
	if (!isfinite(value)) {
		put_text(p, "null");
		return;
	}
	for (int digits = single ? 6 : 15; digits <= 17; digits++) {
		(void)snprintf(text, sizeof text, "%.*g", digits, value);
		if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
			break;
	}
	put_text(p, text);
	if (strpbrk(text, ".e") == NULL)
		put_text(p, ".0");
}

static cop_err put_float(printer *p)
{
	bool single = p->cursor.at[0] == 0xca;
	double value = (double)NAN;
	cop_err err = cop_wire_cursor_double(&p->cursor, &value);
	if (err == COP_ENONFINITE)
		err = cop_wire_cursor_skip(&p->cursor, 0);
	if (err == COP_OK)
		put_number(p, value, single);
	return err;
}

static cop_err put_integer(printer *p)
{
	char text[24];
	uint64_t u = 0;
	int64_t s = 0;
	cop_err err = cop_wire_cursor_unsigned(&p->cursor, &u);
	if (err == COP_OK) {
		(void)snprintf(text, sizeof text, "%" PRIu64, u);
	} else {
		err = cop_wire_cursor_signed(&p->cursor, &s);
		(void)snprintf(text, sizeof text, "%" PRId64, s);
	}
	if (err == COP_OK)
		put_text(p, text);
	return err;
}

static cop_err put_scalar(printer *p, cop_wire_type type)
{
	const char *text;
	const uint8_t *data;
	size_t length;
	bool flag;
	cop_err err;
	switch (type) {
	case COP_WIRE_TYPE_NIL:
		put_text(p, "null");
		return cop_wire_cursor_nil(&p->cursor);
	case COP_WIRE_TYPE_BOOL:
		err = cop_wire_cursor_bool(&p->cursor, &flag);
		if (err == COP_OK)
			put_text(p, flag ? "true" : "false");
		return err;
	case COP_WIRE_TYPE_FLOAT:
		return put_float(p);
	case COP_WIRE_TYPE_STRING:
		err = cop_wire_cursor_string(&p->cursor, &text, &length);
		if (err == COP_OK)
			put_string(p, text, length);
		return err;
	case COP_WIRE_TYPE_BINARY:
		err = cop_wire_cursor_binary(&p->cursor, &data, &length);
		if (err == COP_OK)
			put_hex(p, data, length);
		return err;
	default:
		return put_integer(p);
	}
}

static cop_err put_extension(printer *p)
{
	int8_t type;
	const uint8_t *data;
	size_t length;
	char text[40];
	cop_err err = cop_wire_cursor_extension(&p->cursor, &type, &data, &length);
	if (err != COP_OK)
		return err;
	(void)snprintf(text, sizeof text, "{\"extension\":%d,\"data\":", type);
	put_text(p, text);
	put_hex(p, data, length);
	put_text(p, "}");
	return COP_OK;
}

/* Keys are strings in JSON: other scalars get quotes around their text. */
static cop_err put_key(printer *p)
{
	cop_wire_type type = cop_wire_cursor_peek(&p->cursor);
	if (type >= COP_WIRE_TYPE_ARRAY)
		return COP_EFORMAT;
	bool quoted = type == COP_WIRE_TYPE_STRING || type == COP_WIRE_TYPE_BINARY;
	if (!quoted)
		put_text(p, "\"");
	cop_err err = put_scalar(p, type);
	if (!quoted)
		put_text(p, "\"");
	put_text(p, p->indent == 0 ? ":" : ": ");
	return err;
}

static cop_err put_value(printer *p, unsigned level);

/* Whether the pair that comes next is left out; then it is passed over. */
static bool passes(printer *p)
{
	cop_wire_cursor at = p->cursor;
	const char *text;
	size_t length;
	if (cop_wire_cursor_peek(&at) != COP_WIRE_TYPE_STRING ||
	        cop_wire_cursor_string(&at, &text, &length) != COP_OK || length != strlen(p->without) ||
	        memcmp(text, p->without, length) != 0 || cop_wire_cursor_skip(&at, COP_WIRE_DEPTH) != COP_OK)
		return false;
	p->cursor = at;
	return true;
}

static cop_err put_container(printer *p, bool map, unsigned level)
{
	size_t count;
	cop_err err = map ? cop_wire_cursor_map(&p->cursor, &count) : cop_wire_cursor_array(&p->cursor, &count);
	if (err != COP_OK)
		return err;
	put_text(p, map ? "{" : "[");
	size_t put = 0;
	for (size_t i = 0; i < count && p->out->err == COP_OK; i++) {
		if (map && level == 0 && p->without != NULL && passes(p))
			continue;
		if (put++ != 0)
			put_text(p, ",");
		put_line(p, level + 1);
		if (map)
			err = put_key(p);
		if (err == COP_OK)
			err = put_value(p, level + 1);
		if (err != COP_OK)
			return err;
	}
	if (put != 0)
		put_line(p, level);
	put_text(p, map ? "}" : "]");
	return COP_OK;
}

static cop_err put_value(printer *p, unsigned level)
{
	cop_wire_type type = cop_wire_cursor_peek(&p->cursor);
	if (type == COP_WIRE_TYPE_ARRAY || type == COP_WIRE_TYPE_MAP)
		return put_container(p, type == COP_WIRE_TYPE_MAP, level);
	return type == COP_WIRE_TYPE_EXTENSION ? put_extension(p) : put_scalar(p, type);
}

static cop_err print(printer *p, const void *data, size_t length)
{
	cop_wire_cursor_init(&p->cursor, data, length);
	cop_wire_cursor check = p->cursor;
	cop_err err = cop_wire_cursor_skip(&check, COP_WIRE_DEPTH);
	if (err != COP_OK)
		return err;
	if (cop_wire_cursor_left(&check) != 0)
		return COP_EFORMAT;
	err = put_value(p, 0);
	return err != COP_OK ? err : p->out->err;
}

cop_err cop_wire_json(cop_bytes *out, const void *data, size_t length, unsigned indent)
{
	printer p = { .out = out, .indent = indent };
	return print(&p, data, length);
}

cop_err cop_wire_json_without(cop_bytes *out, const void *data, size_t length, const char *without)
{
	printer p = { .out = out, .without = without };
	return print(&p, data, length);
}
