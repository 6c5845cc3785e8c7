/* One pass over the text. Counts of members are known only at the end of a container, so its header takes five bytes
 * and is filled then. Containers lie on the C stack, at most COP_WIRE_DEPTH deep. */
#include "wire/wire_from_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "events/json_scan.h"
#include "wire/wire_cursor.h"
#include "wire/wire_put.h"

#define HEADER       5 /* bytes */
#define MOST_DIGITS  20
#define MAP_HEADER   0xdf
#define ARRAY_HEADER 0xdd

typedef struct converter {
	cop_json_scan scan;
	cop_bytes *out;
	unsigned depth;
	const char *without; /* at the top */
	uint32_t top;        /* members of the outermost object */
} converter;

static size_t open_container(cop_bytes *out)
{
	size_t at = out->length;
	uint8_t *header = cop_wire_put_room(out, HEADER);
	if (header != NULL)
		memset(header, 0, HEADER);
	return at;
}

static void close_container(cop_bytes *out, size_t at, uint8_t kind, uint32_t count)
{
	if (out->err != COP_OK)
		return;
	uint8_t *header = out->data + at;
	header[0] = kind;
	for (unsigned i = 0; i < 4; i++)
		header[1 + i] = (uint8_t)(count >> (24 - 8 * i));
}

static bool is_utf8(const char *text, size_t length)
{
	for (size_t i = 0; i < length;) {
		size_t step = (uint8_t)text[i] < 0x80 ? 1 : cop_wire_text_step(text + i, length - i);
		if (step == 0)
			return false;
		i += step;
	}
	return true;
}

/* A header that is as long as the text may become, then the text, decoded in place. */
static void put_text(converter *c, const cop_json_scan_span *span)
{
	if (!is_utf8(span->at, span->length)) {
		(void)cop_json_scan_fail(&c->scan, span->at, COP_EFORMAT, "a text that is not UTF-8; expected UTF-8");
		return;
	}
	if (!span->escaped) {
		cop_wire_put_string(c->out, span->at, span->length);
		return;
	}
	size_t at = c->out->length, length = 0;
	uint8_t *room = cop_wire_put_room(c->out, HEADER + span->length);
	if (room == NULL || !cop_json_scan_decode(&c->scan, span, (char *)room + HEADER, &length))
		return;
	close_container(c->out, at, 0xdb, (uint32_t)length);
	c->out->length = at + HEADER + length;
}

/* The number at `at` that ends before `end` as an integer, when it is written as one and fits. */
static bool put_integer(cop_bytes *out, const char *at, const char *end)
{
	char digits[MOST_DIGITS + 2];
	size_t length = (size_t)(end - at);
	bool negative = *at == '-';
	if (length >= sizeof digits)
		return false;
	memcpy(digits, at, length);
	digits[length] = '\0';
	if (strspn(digits + negative, "0123456789") != length - negative || strcmp(digits, "-0") == 0)
		return false;
	errno = 0;
	if (negative) {
		long long value = strtoll(digits, NULL, 10);
		if (errno == 0)
			cop_wire_put_signed(out, value);
	} else {
		unsigned long long value = strtoull(digits, NULL, 10);
		if (errno == 0)
			cop_wire_put_unsigned(out, value);
	}
	return errno == 0;
}

static void put_number(converter *c)
{
	const char *at = c->scan.at; /* cop_json_scan_kind has passed over white space */
	double value;
	if (!cop_json_scan_number(&c->scan, &value))
		return;
	if (!put_integer(c->out, at, c->scan.at))
		cop_wire_put_double(c->out, value);
}

static void put_value(converter *c);

static void put_array(converter *c)
{
	uint32_t count = 0;
	size_t at = open_container(c->out);
	for (; cop_json_scan_element(&c->scan); count++)
		put_value(c);
	close_container(c->out, at, ARRAY_HEADER, count);
}

static void put_object(converter *c)
{
	uint32_t count = 0;
	bool top = c->depth == 1;
	cop_json_scan_span name;
	size_t at = open_container(c->out);
	while (cop_json_scan_member(&c->scan, &name)) {
		if (top && c->without != NULL && cop_json_scan_is(&name, c->without)) {
			(void)cop_json_scan_skip(&c->scan);
			continue;
		}
		put_text(c, &name);
		put_value(c);
		count++;
	}
	if (top)
		c->top = count;
	close_container(c->out, at, MAP_HEADER, count);
}

static void put_container(converter *c, bool object)
{
	if (c->depth == COP_WIRE_DEPTH) {
		(void)cop_json_scan_fail(
		        &c->scan, NULL, COP_EFORMAT, "nested too deeply; expected at most %d levels", COP_WIRE_DEPTH);
		return;
	}
	if (!cop_json_scan_open(&c->scan))
		return;
	c->depth++;
	if (object)
		put_object(c);
	else
		put_array(c);
	c->depth--;
}

static void put_plain(converter *c, cop_json_scan_type kind)
{
	cop_json_scan_span span;
	bool flag;
	if (kind == COP_JSON_SCAN_NUMBER) {
		put_number(c);
	} else if (kind == COP_JSON_SCAN_STRING) {
		if (cop_json_scan_string(&c->scan, &span))
			put_text(c, &span);
	} else if (kind == COP_JSON_SCAN_BOOL) {
		if (cop_json_scan_bool(&c->scan, &flag))
			cop_wire_put_bool(c->out, flag);
	} else if (kind == COP_JSON_SCAN_NULL && cop_json_scan_null(&c->scan)) {
		cop_wire_put_nil(c->out);
	}
}

static void put_value(converter *c)
{
	cop_json_scan_type kind = cop_json_scan_kind(&c->scan);
	if (kind >= COP_JSON_SCAN_ARRAY)
		put_container(c, kind == COP_JSON_SCAN_OBJECT);
	else
		put_plain(c, kind);
}

cop_err cop_wire_from_json(
        cop_bytes *out, const char *text, size_t length, const char *without, uint32_t *pairs, cop_wire_fault *fault)
{
	converter c = { .out = out, .without = without };
	size_t start = out->length;
	cop_json_scan_init(&c.scan, text, length);
	cop_json_scan_type kind = cop_json_scan_kind(&c.scan);
	if (kind != COP_JSON_SCAN_OBJECT)
		(void)cop_json_scan_fail(&c.scan, NULL, COP_EFORMAT, "no object; expected a JSON object");
	else
		put_container(&c, true);
	(void)cop_json_scan_finish(&c.scan);
	*pairs = c.top;
	if (c.scan.err == COP_OK)
		return out->err;
	if (out->err == COP_OK)
		out->length = start;
	return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "body, column %zu: %s", c.scan.column, c.scan.what);
}

void cop_wire_from_json_add(cop_bytes *out, size_t at, const char *key, uint64_t number, uint32_t *pairs)
{
	cop_wire_put_key_unsigned(out, key, number);
	close_container(out, at, MAP_HEADER, ++*pairs);
}
