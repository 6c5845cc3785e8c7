/* The writer appends to one growing text; a stack of levels holds whether a comma is due and what may come next.
 * The reader's cop_json is jansson's json_t, never defined here. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/number.h"

typedef struct level {
	bool object;
	bool filled; /* something was written in it */
} level;

struct cop_json_writer {
	cop_bytes text;
	cop_json_style style;
	bool keyed; /* a key was written, its value was not */
	bool ended; /* the one value is whole */
	size_t depth;
	level levels[COP_JSON_MAX_DEPTH];
};

cop_err cop_json_writer_new(cop_json_style style, cop_json_writer **out)
{
	*out = cop_mem_alloc(1, sizeof **out);
	if (*out == NULL)
		return COP_ENOMEM;
	cop_bytes_init(&(*out)->text);
	(*out)->style = style;
	return COP_OK;
}

void cop_json_writer_free(cop_json_writer *writer)
{
	if (writer == NULL)
		return;
	cop_bytes_fini(&writer->text);
	cop_mem_free(writer);
}

static void put(cop_json_writer *w, const char *text) { cop_bytes_put(&w->text, text, strlen(text)); }

static void new_line(cop_json_writer *w)
{
	if (w->style != COP_JSON_INDENTED)
		return;
	put(w, "\n");
	for (size_t i = 0; i < w->depth; i++)
		put(w, "  ");
}

static void separate(cop_json_writer *w)
{
	level *inside = &w->levels[w->depth - 1];
	if (inside->filled)
		put(w, ",");
	inside->filled = true;
	new_line(w);
}

/* Before each value: the comma, the line, and the contract. False: the writer has failed. */
static bool begin_value(cop_json_writer *w)
{
	if (w->text.err != COP_OK)
		return false;
	COP_ASSERT(!w->ended);
	if (w->depth > 0 && !w->levels[w->depth - 1].object)
		separate(w);
	else
		COP_ASSERT(w->depth == 0 || w->keyed);
	w->keyed = false;
	return true;
}

static void end_value(cop_json_writer *w) { w->ended = w->depth == 0; }

static void open_level(cop_json_writer *w, bool object)
{
	if (!begin_value(w))
		return;
	if (w->depth == COP_JSON_MAX_DEPTH) {
		w->text.err = COP_EFULL;
		return;
	}
	put(w, object ? "{" : "[");
	w->levels[w->depth++] = (level){ .object = object };
}

static void close_level(cop_json_writer *w, bool object)
{
	if (w->text.err != COP_OK)
		return;
	COP_ASSERT(w->depth > 0 && w->levels[w->depth - 1].object == object && !w->keyed);
	w->depth--;
	if (w->levels[w->depth].filled)
		new_line(w);
	put(w, object ? "}" : "]");
	end_value(w);
}

void cop_json_begin_object(cop_json_writer *writer) { open_level(writer, true); }
void cop_json_end_object(cop_json_writer *writer) { close_level(writer, true); }
void cop_json_begin_array(cop_json_writer *writer) { open_level(writer, false); }
void cop_json_end_array(cop_json_writer *writer) { close_level(writer, false); }

size_t cop_json_utf8_length(const uint8_t *at, size_t left)
{
	uint8_t c = at[0];
	size_t length = c < 0x80                ? 1
	                : c >= 0xc2 && c < 0xe0 ? 2
	                : c >= 0xe0 && c < 0xf0 ? 3
	                : c >= 0xf0 && c < 0xf5 ? 4
	                                        : 0;
	if (length > left)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if ((c == 0xe0 && at[1] < 0xa0) || (c == 0xed && at[1] > 0x9f) || (c == 0xf0 && at[1] < 0x90) ||
	        (c == 0xf4 && at[1] > 0x8f))
		return 0;
	return length;
}

static void put_character(cop_json_writer *w, const uint8_t *at, size_t length)
{
	if (length == 0)
		put(w, "\\ufffd");
	else if (*at == '"' || *at == '\\')
		cop_bytes_put(&w->text, (const uint8_t[]){ '\\', *at }, 2);
	else if (*at == '\n')
		put(w, "\\n");
	else if (*at == '\t')
		put(w, "\\t");
	else if (*at < 0x20 || *at == 0x7f) {
		char escape[8];
		(void)snprintf(escape, sizeof escape, "\\u%04x", *at);
		put(w, escape);
	} else
		cop_bytes_put(&w->text, at, length);
}

static void put_quoted(cop_json_writer *w, const char *text, size_t length)
{
	put(w, "\"");
	for (size_t i = 0; i < length;) {
		const uint8_t *at = (const uint8_t *)text + i;
		size_t n = cop_json_utf8_length(at, length - i);
		put_character(w, at, n);
		i += n == 0 ? 1 : n;
	}
	put(w, "\"");
}

void cop_json_key(cop_json_writer *writer, const char *key)
{
	if (writer->text.err != COP_OK)
		return;
	COP_ASSERT(writer->depth > 0 && writer->levels[writer->depth - 1].object && !writer->keyed);
	separate(writer);
	put_quoted(writer, key, strlen(key));
	put(writer, writer->style == COP_JSON_INDENTED ? ": " : ":");
	writer->keyed = true;
}

static void put_value(cop_json_writer *w, const char *text)
{
	if (!begin_value(w))
		return;
	put(w, text);
	end_value(w);
}

void cop_json_text_length(cop_json_writer *writer, const char *text, size_t length)
{
	if (!begin_value(writer))
		return;
	put_quoted(writer, text, length);
	end_value(writer);
}

void cop_json_text(cop_json_writer *writer, const char *text)
{
	if (text == NULL)
		cop_json_null(writer);
	else
		cop_json_text_length(writer, text, strlen(text));
}

void cop_json_number(cop_json_writer *writer, double value)
{
	char text[COP_NUMBER_ROOM] = "null";
	if (isfinite(value))
		(void)cop_number_format(value, text);
	put_value(writer, text);
}

void cop_json_number_float(cop_json_writer *writer, float value)
{
	char text[COP_NUMBER_ROOM] = "null";
	if (isfinite(value))
		(void)cop_number_format_float(value, text);
	put_value(writer, text);
}

void cop_json_integer(cop_json_writer *writer, int64_t value)
{
	char text[COP_NUMBER_ROOM];
	(void)snprintf(text, sizeof text, "%" PRId64, value);
	put_value(writer, text);
}

void cop_json_unsigned(cop_json_writer *writer, uint64_t value)
{
	char text[COP_NUMBER_ROOM];
	(void)snprintf(text, sizeof text, "%" PRIu64, value);
	put_value(writer, text);
}

void cop_json_boolean(cop_json_writer *writer, bool value) { put_value(writer, value ? "true" : "false"); }
void cop_json_null(cop_json_writer *writer) { put_value(writer, "null"); }

cop_err cop_json_writer_finish(cop_json_writer *writer, const char **text, size_t *length)
{
	*text = NULL;
	cop_bytes_put_u8(&writer->text, 0);
	if (writer->text.err != COP_OK)
		return writer->text.err;
	COP_ASSERT(writer->ended);
	writer->text.length--; /* the end stays behind the text */
	*text = (const char *)writer->text.data;
	if (length != NULL)
		*length = writer->text.length;
	return COP_OK;
}

static const json_t *tree(const cop_json *value) { return (const json_t *)value; }

/* Brackets outside of strings never nest deeper than allowed: checked before jansson recurses. */
static bool too_deep(const char *text, size_t length)
{
	size_t depth = 0;
	bool quoted = false;
	for (size_t i = 0; i < length; i++) {
		char c = text[i];
		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '{' || c == '['))
			depth++;
		else if (!quoted && (c == '}' || c == ']') && depth > 0)
			depth--;
		if (depth > COP_JSON_MAX_DEPTH)
			return true;
	}
	return false;
}

cop_err cop_json_parse(const char *text, size_t length, cop_json **out, cop_diag *diag)
{
	*out = NULL;
	if (too_deep(text, length)) {
		cop_diag_message(diag, "nested deeper than %d levels", COP_JSON_MAX_DEPTH);
		return COP_EFULL;
	}
	json_error_t error;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (root != NULL) {
		*out = (cop_json *)root;
		return COP_OK;
	}
	cop_diag_at_line(diag, NULL, error.line > 0 ? (uint64_t)error.line : 0, "%s; expected JSON", error.text);
	return json_error_code(&error) == json_error_out_of_memory ? COP_ENOMEM : COP_EFORMAT;
}

void cop_json_free(cop_json *root) { json_decref((json_t *)root); }

cop_json_type cop_json_type_of(const cop_json *value)
{
	switch (json_typeof(tree(value))) {
	case JSON_OBJECT:
		return COP_JSON_OBJECT;
	case JSON_ARRAY:
		return COP_JSON_ARRAY;
	case JSON_STRING:
		return COP_JSON_TEXT;
	case JSON_INTEGER:
	case JSON_REAL:
		return COP_JSON_NUMBER;
	case JSON_TRUE:
	case JSON_FALSE:
		return COP_JSON_BOOLEAN;
	case JSON_NULL:
	default:
		return COP_JSON_NULL;
	}
}

size_t cop_json_size(const cop_json *value)
{
	return json_is_object(tree(value)) ? json_object_size(tree(value)) : json_array_size(tree(value));
}

const cop_json *cop_json_member(const cop_json *value, const char *key)
{
	return (const cop_json *)json_object_get(tree(value), key);
}

const cop_json *cop_json_element(const cop_json *value, size_t i)
{
	return (const cop_json *)json_array_get(tree(value), i);
}

const cop_json *cop_json_next_member(const cop_json *value, const char **key)
{
	json_t *object = (json_t *)(uintptr_t)value; /* iterating changes nothing */
	void *at =
	        *key == NULL ? json_object_iter(object) : json_object_iter_next(object, json_object_key_to_iter(*key));
	*key = at == NULL ? NULL : json_object_iter_key(at);
	return at == NULL ? NULL : (const cop_json *)json_object_iter_value(at);
}

cop_err cop_json_get_number(const cop_json *value, double *number)
{
	*number = 0;
	if (!json_is_number(tree(value)))
		return COP_EINVAL;
	*number = json_number_value(tree(value));
	return COP_OK;
}

cop_err cop_json_get_integer(const cop_json *value, int64_t *integer)
{
	*integer = 0;
	if (!json_is_integer(tree(value)))
		return COP_EINVAL;
	*integer = json_integer_value(tree(value));
	return COP_OK;
}

cop_err cop_json_get_boolean(const cop_json *value, bool *boolean)
{
	*boolean = false;
	if (!json_is_boolean(tree(value)))
		return COP_EINVAL;
	*boolean = json_is_true(tree(value));
	return COP_OK;
}

cop_err cop_json_get_text(const cop_json *value, const char **text, size_t *length)
{
	*text = NULL;
	if (!json_is_string(tree(value)))
		return COP_EINVAL;
	*text = json_string_value(tree(value));
	if (length != NULL)
		*length = json_string_length(tree(value));
	return COP_OK;
}

void cop_json_put_number(cop_json_writer *writer, const char *key, double value)
{
	if (!isfinite(value))
		return;
	cop_json_key(writer, key);
	cop_json_number(writer, value);
}

void cop_json_put_unsigned(cop_json_writer *writer, const char *key, uint64_t value)
{
	cop_json_key(writer, key);
	cop_json_unsigned(writer, value);
}

void cop_json_put_integer(cop_json_writer *writer, const char *key, int64_t value)
{
	cop_json_key(writer, key);
	cop_json_integer(writer, value);
}

void cop_json_put_boolean(cop_json_writer *writer, const char *key, bool value)
{
	cop_json_key(writer, key);
	cop_json_boolean(writer, value);
}

void cop_json_put_text(cop_json_writer *writer, const char *key, const char *text)
{
	cop_json_key(writer, key);
	cop_json_text(writer, text);
}

void cop_json_put_text_length(cop_json_writer *writer, const char *key, const char *text, size_t length)
{
	cop_json_key(writer, key);
	cop_json_text_length(writer, text, length);
}

void cop_json_put_object(cop_json_writer *writer, const char *key)
{
	cop_json_key(writer, key);
	cop_json_begin_object(writer);
}

void cop_json_put_array(cop_json_writer *writer, const char *key)
{
	cop_json_key(writer, key);
	cop_json_begin_array(writer);
}
