/* Two tables of keys, one walk for each. A text that fits is compared as it lies; others are written out first. */
#include "wire/wire_past.h"

#include <inttypes.h>
#include <stdio.h>

#include "wire/wire_context.h"
#include "wire/wire_put.h"

cop_err cop_wire_past_decision(const void *body, size_t length, cop_wire_past *out, cop_wire_fault *fault)
{
	enum { ID, RECORD, SEQ, KEYS };
	static const char *const names[KEYS] = { "id", "record", "seq" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	*out = (cop_wire_past){ .record = 0 };
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, KEYS, fault);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK) {
		if (which == ID)
			err = cop_wire_read_id(&cursor, &out->id, fault);
		else if (which == SEQ)
			err = cop_wire_read_seq(&cursor, &out->seq, fault);
		else if ((err = cop_wire_cursor_unsigned(&cursor, &out->record)) != COP_OK)
			err = cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, &cursor, "record", "a record's number");
	}
	if (err != COP_EEND)
		return err;
	if (out->id.kind == 0 && out->record == 0)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "id: missing; expected an id, or a record");
	return COP_OK;
}

static cop_err read_prefix(cop_wire_cursor *cursor, cop_wire_past *out, cop_wire_fault *fault)
{
	const char *text;
	size_t length;
	cop_err err = cop_wire_cursor_string(cursor, &text, &length);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "prefix", "a text");
	if (length > COP_WIRE_PAST_PREFIX || memchr(text, 0, length) != NULL)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "prefix: %zu bytes; expected at most %d, without a zero byte", length, COP_WIRE_PAST_PREFIX);
	memcpy(out->prefix, text, length);
	return COP_OK;
}

static cop_err read_limit(cop_wire_cursor *cursor, cop_wire_past *out, cop_wire_fault *fault)
{
	uint64_t limit;
	cop_err err = cop_wire_cursor_unsigned(cursor, &limit);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "limit", "a whole number");
	if (limit < 1 || limit > COP_WIRE_PAST_LIMIT)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "limit: %" PRIu64 "; expected 1 to %d", limit,
		        COP_WIRE_PAST_LIMIT);
	out->limit = (size_t)limit;
	return COP_OK;
}

cop_err cop_wire_past_decisions(const void *body, size_t length, cop_wire_past *out, cop_wire_fault *fault)
{
	enum { PREFIX, BEFORE, LIMIT, WAITING, SEQ, KEYS };
	static const char *const names[KEYS] = { "prefix", "before", "limit", "waiting", "seq" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	*out = (cop_wire_past){ .limit = COP_WIRE_PAST_USUAL };
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, KEYS, fault);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK) {
		if (which == PREFIX)
			err = read_prefix(&cursor, out, fault);
		else if (which == LIMIT)
			err = read_limit(&cursor, out, fault);
		else if (which == SEQ)
			err = cop_wire_read_seq(&cursor, &out->seq, fault);
		else if (which == BEFORE && (err = cop_wire_cursor_unsigned(&cursor, &out->before)) != COP_OK)
			err = cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, &cursor, "before", "a record's number");
		else if (which == WAITING && (err = cop_wire_cursor_bool(&cursor, &out->waiting)) != COP_OK)
			err = cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, &cursor, "waiting", "true or false");
	}
	return err == COP_EEND ? COP_OK : err;
}

uint32_t cop_wire_past_put_pairs(const cop_wire_past *question, cop_bytes *out)
{
	uint32_t pairs = 0;
	if (question->id.kind != 0) {
		cop_wire_put_text(out, "id");
		cop_wire_id_put(out, &question->id);
		pairs++;
	}
	if (question->record != 0) {
		cop_wire_put_key_unsigned(out, "record", question->record);
		pairs++;
	}
	if (question->limit == 0)
		return pairs;
	cop_wire_put_key_string(out, "prefix", question->prefix, strlen(question->prefix));
	cop_wire_put_key_unsigned(out, "before", question->before);
	cop_wire_put_key_unsigned(out, "limit", question->limit);
	cop_wire_put_key_bool(out, "waiting", question->waiting);
	return pairs + 4;
}

void cop_wire_past_put(const cop_wire_past *question, cop_bytes *out)
{
	size_t at = out->length;
	cop_wire_put_map(out, UINT16_MAX + 1); /* five bytes, which the pairs fill */
	uint32_t pairs = cop_wire_past_put_pairs(question, out);
	for (unsigned i = 0; out->err == COP_OK && i < 4; i++)
		out->data[at + 1 + i] = (uint8_t)(pairs >> (24 - 8 * i));
}

/* Of an integer's eight bytes, little-endian. */
static uint64_t number_of(const cop_event_id *id)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, id->bytes, id->length);
	return cop_cursor_u64(&cursor);
}

size_t cop_wire_past_spell(const cop_event_id *id, char out[COP_WIRE_PAST_PREFIX])
{
	static const char digits[] = "0123456789abcdef";
	char text[24];
	int n = 0;
	switch ((cop_event_id_kind)id->kind) {
	case COP_EVENT_ID_STRING:
		memcpy(out, id->bytes, id->length);
		return id->length;
	case COP_EVENT_ID_BINARY:
		for (size_t i = 0; i < id->length; i++) {
			out[2 * i] = digits[id->bytes[i] >> 4];
			out[2 * i + 1] = digits[id->bytes[i] & 15];
		}
		return 2 * (size_t)id->length;
	case COP_EVENT_ID_UNSIGNED:
		n = snprintf(text, sizeof text, "%" PRIu64, number_of(id));
		break;
	case COP_EVENT_ID_NEGATIVE:
		n = snprintf(text, sizeof text, "%" PRId64, (int64_t)number_of(id));
		break;
	}
	memcpy(out, text, (size_t)n);
	return (size_t)n;
}

bool cop_wire_past_begins(const cop_event_id *id, const char *prefix)
{
	char spelled[COP_WIRE_PAST_PREFIX];
	const size_t wanted = strlen(prefix);
	if (id->kind == COP_EVENT_ID_STRING)
		return id->length >= wanted && memcmp(id->bytes, prefix, wanted) == 0;
	return cop_wire_past_spell(id, spelled) >= wanted && memcmp(spelled, prefix, wanted) == 0;
}
