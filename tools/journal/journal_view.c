/* The body is checked as a whole first, so that going through its pairs cannot fail but by a field's type. */
#include "journal_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "wire/wire_context.h"
#include "wire/wire_cursor.h"
#include "wire/wire_json.h"
#include "wire/wire_put.h"
#include "wire/wire_record.h"

const char *const cop_journal_view_types[] = { "decision", "feedback", "expiry", "activation", "config", "promotion",
	"unheard", "forgotten", "position", "merge", NULL };
_Static_assert(sizeof cop_journal_view_types / sizeof *cop_journal_view_types == COP_JOURNAL_VIEW_TYPES &&
                       COP_WIRE_RECORD_MERGE + 1 == COP_JOURNAL_VIEW_TYPES,
        "every type has a name");

/* ---- fields ---- */

static bool is_key(const char *key, size_t length, const char *name)
{
	return length == strlen(name) && memcmp(key, name, length) == 0;
}

static cop_err read_losses(cop_wire_cursor *cursor, cop_journal_view *out)
{
	size_t count;
	cop_err err = cop_wire_cursor_array(cursor, &count);
	if (err == COP_OK && (count < 1 || count > 2))
		return COP_EFORMAT;
	for (size_t i = 0; err == COP_OK && i < count; i++)
		err = cop_wire_cursor_double(cursor, &out->loss[i]);
	out->losses = err == COP_OK ? (unsigned)count : 0;
	return err;
}

static cop_err read_number(cop_wire_cursor *cursor, double *out, bool *has)
{
	*has = true;
	return cop_wire_cursor_double(cursor, out);
}

static cop_err read_field(cop_wire_cursor *cursor, const char *key, size_t length, cop_journal_view *out)
{
	const char *text;
	if (is_key(key, length, "m"))
		return cop_wire_cursor_string(cursor, &out->model, &out->model_length);
	if (is_key(key, length, "t"))
		return read_number(cursor, &out->time, &out->has_time);
	if (is_key(key, length, "id"))
		return cop_wire_read_id(cursor, &out->id, NULL);
	if (is_key(key, length, "unit"))
		return cop_wire_keys_read_id(cursor, "unit", &out->unit, NULL);
	if (is_key(key, length, "p"))
		return read_number(cursor, &out->p, &out->has_p);
	if (is_key(key, length, "o"))
		return read_number(cursor, &out->own, &out->has_own);
	if (is_key(key, length, "h"))
		out->split = true; /* passed over */
	if (is_key(key, length, "b"))
		return cop_wire_cursor_unsigned(cursor, &out->limit);
	if (is_key(key, length, "y"))
		return read_number(cursor, &out->value, &out->has_value);
	if (is_key(key, length, "loss"))
		return read_losses(cursor, out);
	if (is_key(key, length, "l"))
		return cop_wire_named_read(cursor, &out->named);
	if (is_key(key, length, "defer"))
		return cop_wire_cursor_bool(cursor, &out->deferred);
	if (is_key(key, length, "a")) {
		out->has_arm = true;
		return cop_wire_cursor_unsigned(cursor, &out->arm);
	}
	if (is_key(key, length, "n")) {
		out->has_count = true;
		return cop_wire_cursor_unsigned(cursor, &out->count);
	}
	if (is_key(key, length, "text")) {
		out->has_text = true;
		return cop_wire_cursor_string(cursor, &text, &out->text_length);
	}
	if (is_key(key, length, "models"))
		return cop_wire_cursor_binary(cursor, &out->models, &out->models_length);
	return cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH);
}

/* The number of pairs, if all of the body is one well-formed map. */
static cop_err open_map(const cop_journal_record *record, cop_wire_cursor *cursor, size_t *pairs)
{
	cop_wire_cursor_init(cursor, record->body, record->length);
	cop_wire_cursor whole = *cursor;
	cop_err err = cop_wire_cursor_skip(&whole, COP_WIRE_DEPTH);
	if (err == COP_OK && cop_wire_cursor_left(&whole) != 0)
		err = COP_EFORMAT;
	return err == COP_OK ? cop_wire_cursor_map(cursor, pairs) : err;
}

/* A key that is no string names nothing: *key is NULL then. */
static cop_err read_key(cop_wire_cursor *cursor, const char **key, size_t *length)
{
	*key = NULL;
	*length = 0;
	cop_err err = cop_wire_cursor_string(cursor, key, length);
	return err == COP_EINVAL ? cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH) : err;
}

void cop_journal_view_read(const cop_journal_record *record, cop_journal_view *out)
{
	cop_wire_cursor cursor;
	size_t pairs = 0;
	memset(out, 0, sizeof *out);
	cop_err err = open_map(record, &cursor, &pairs);
	while (err == COP_OK && pairs-- > 0) {
		const char *key;
		size_t length;
		err = read_key(&cursor, &key, &length);
		if (err == COP_OK)
			err = key != NULL ? read_field(&cursor, key, length, out)
			                  : cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH);
	}
	out->malformed = err != COP_OK;
}

/* ---- text ---- */

void cop_journal_view_time(double seconds, char out[COP_JOURNAL_VIEW_TIME])
{
	struct tm parts;
	char text[COP_JOURNAL_VIEW_TIME];
	double whole = floor(seconds);
	int micros = (int)lround(1e6 * (seconds - whole));
	if (micros == 1000000) {
		whole += 1.0;
		micros = 0;
	}
	/* From 0000-01-01 to 9999-12-31. */
	bool inside = whole >= -62167219200.0 && whole < 253402300800.0;
	time_t at = inside ? (time_t)whole : 0;
	if (!inside || gmtime_r(&at, &parts) == NULL || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts) == 0)
		(void)snprintf(out, COP_JOURNAL_VIEW_TIME, "%.6g", seconds);
	else
		(void)snprintf(out, COP_JOURNAL_VIEW_TIME, "%.30s.%06dZ", text, micros);
}

/* Integers are 8 bytes little-endian. */
static uint64_t id_number(const cop_event_id *id)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, id->bytes, id->length);
	return cop_cursor_u64(&cursor);
}

void cop_journal_view_id(const cop_event_id *id, char out[COP_JOURNAL_VIEW_ID])
{
	switch ((cop_event_id_kind)id->kind) {
	case COP_EVENT_ID_STRING:
		cop_wire_text_clean(out, COP_JOURNAL_VIEW_ID, (const char *)id->bytes, id->length);
		return;
	case COP_EVENT_ID_BINARY:
		for (size_t i = 0; i < id->length; i++)
			(void)snprintf(out + 2 * i, 3, "%02x", id->bytes[i]);
		return;
	case COP_EVENT_ID_UNSIGNED:
		(void)snprintf(out, COP_JOURNAL_VIEW_ID, "%" PRIu64, id_number(id));
		return;
	case COP_EVENT_ID_NEGATIVE:
		(void)snprintf(out, COP_JOURNAL_VIEW_ID, "%" PRId64, (int64_t)id_number(id));
		return;
	}
	(void)snprintf(out, COP_JOURNAL_VIEW_ID, "-");
}

bool cop_journal_view_id_is(const cop_event_id *id, const char *text)
{
	char shown[COP_JOURNAL_VIEW_ID];
	if (id->kind == 0)
		return false;
	if (id->kind == COP_EVENT_ID_STRING)
		return is_key((const char *)id->bytes, id->length, text);
	cop_journal_view_id(id, shown);
	return strcmp(shown, text) == 0;
}

/* ---- JSON ---- */

/* Little-endian float32 as an array; NaN stays what it is. */
static void put_floats(cop_bytes *out, const uint8_t *packed, size_t count)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, packed, count * sizeof(float));
	cop_wire_put_array(out, count);
	for (size_t i = 0; i < count; i++)
		cop_wire_put_float(out, cop_cursor_f32(&cursor));
}

/* A configuration's models and names are MessagePack within binaries. */
static bool is_value(const uint8_t *data, size_t length)
{
	cop_wire_cursor cursor;
	cop_wire_cursor_init(&cursor, data, length);
	return cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH / 2) == COP_OK && cop_wire_cursor_left(&cursor) == 0;
}

/* Copies a pair; COP_EFORMAT is left to cop_wire_json, which reads it again. */
static cop_err put_pair(cop_bytes *out, cop_wire_cursor *cursor)
{
	const uint8_t *start = cursor->at;
	const char *key;
	const uint8_t *packed;
	size_t key_length;
	size_t length;
	cop_err err = read_key(cursor, &key, &key_length);
	if (err != COP_OK)
		return err;
	bool floats = key != NULL && (is_key(key, key_length, "x") || is_key(key, key_length, "e"));
	bool within = key != NULL && (is_key(key, key_length, "models") || is_key(key, key_length, "names"));
	if ((floats || within) && cop_wire_cursor_peek(cursor) == COP_WIRE_TYPE_BINARY) {
		cop_wire_cursor value = *cursor;
		err = cop_wire_cursor_binary(&value, &packed, &length);
		if (err == COP_OK && (floats ? length % sizeof(float) == 0 : is_value(packed, length))) {
			cop_wire_put_raw(out, start, (size_t)(cursor->at - start));
			if (floats)
				put_floats(out, packed, length / sizeof(float));
			else
				cop_wire_put_raw(out, packed, length);
			*cursor = value;
			return COP_OK;
		}
	}
	err = cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH);
	cop_wire_put_raw(out, start, (size_t)(cursor->at - start));
	return err;
}

static void put_head(cop_bytes *out, const cop_journal_record *record, size_t pairs)
{
	cop_bytes_clear(out);
	cop_wire_put_map(out, pairs + 2);
	cop_wire_put_key_unsigned(out, "sequence", record->sequence);
	if (record->type < COP_JOURNAL_VIEW_TYPES)
		cop_wire_put_key_text(out, "type", cop_journal_view_types[record->type - 1]);
	else
		cop_wire_put_key_unsigned(out, "type", record->type);
}

cop_err cop_journal_view_json(const cop_journal_record *record, cop_bytes *scratch, cop_bytes *out)
{
	cop_wire_cursor cursor;
	size_t pairs = 0;
	cop_err err = open_map(record, &cursor, &pairs);
	if (err == COP_OK)
		put_head(scratch, record, pairs);
	while (err == COP_OK && pairs-- > 0)
		err = put_pair(scratch, &cursor);
	size_t before = out->length;
	if (err == COP_OK && scratch->err == COP_OK)
		err = cop_wire_json(out, scratch->data, scratch->length, 0);
	if (err != COP_OK && err != COP_ENOMEM) {
		out->length = before;
		put_head(scratch, record, 1);
		cop_wire_put_text(scratch, "malformed");
		cop_wire_put_binary(scratch, record->body, record->length);
		if (scratch->err == COP_OK)
			err = cop_wire_json(out, scratch->data, scratch->length, 0);
	}
	return err == COP_OK ? scratch->err : err;
}
