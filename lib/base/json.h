/* base/json.h: JSON out (a writer that builds one text) and in (a thin tree over jansson, whose one home this is).
 *
 * The writer keeps the order of keys, and numbers read back exactly. It is sticky: after the first failure calls do
 * nothing, and cop_json_writer_finish returns the error. Calls out of order (a value without its key, an end without
 * its begin) are broken contracts. One thread per object; a parsed tree may be read from many. */
#ifndef COP_BASE_JSON_H
#define COP_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Deepest nesting written or read. */
#define COP_JSON_MAX_DEPTH 64

typedef enum cop_json_style {
	COP_JSON_COMPACT,  /* {"a":[1,2]} */
	COP_JSON_INDENTED, /* two spaces a level, each member and element on its own line */
} cop_json_style;

typedef struct cop_json_writer cop_json_writer;

/* Caller frees with cop_json_writer_free; on error *out is NULL. COP_ENOMEM. */
COP_CHECK cop_err cop_json_writer_new(cop_json_style style, cop_json_writer **out);
void cop_json_writer_free(cop_json_writer *writer);

void cop_json_begin_object(cop_json_writer *writer);
void cop_json_end_object(cop_json_writer *writer);
void cop_json_begin_array(cop_json_writer *writer);
void cop_json_end_array(cop_json_writer *writer);
/* The key of the value that follows. */
void cop_json_key(cop_json_writer *writer, const char *key);
/* Bytes that are no UTF-8 become U+FFFD. NULL is written as null. */
void cop_json_text(cop_json_writer *writer, const char *text);
void cop_json_text_length(cop_json_writer *writer, const char *text, size_t length);
/* As few digits as read back the same; NaN and infinities are written as null. */
void cop_json_number(cop_json_writer *writer, double value);
void cop_json_number_float(cop_json_writer *writer, float value);
void cop_json_integer(cop_json_writer *writer, int64_t value);
void cop_json_unsigned(cop_json_writer *writer, uint64_t value);
void cop_json_boolean(cop_json_writer *writer, bool value);
void cop_json_null(cop_json_writer *writer);

/* The finished text, terminated and without a newline at its end; borrowed, valid until the writer is freed.
 * length may be NULL. On error *text is NULL. COP_ENOMEM. COP_EFULL: nested deeper than COP_JSON_MAX_DEPTH. */
COP_CHECK cop_err cop_json_writer_finish(cop_json_writer *writer, const char **text, size_t *length);

/* A parsed value. The root is owned, all values inside it are borrowed from it. */
typedef struct cop_json cop_json;

typedef enum cop_json_type {
	COP_JSON_OBJECT,
	COP_JSON_ARRAY,
	COP_JSON_TEXT,
	COP_JSON_NUMBER,
	COP_JSON_BOOLEAN,
	COP_JSON_NULL,
} cop_json_type;

/* One JSON value that fills text[0, length) (borrowed) but for white space. Repeated keys are refused. Caller frees the
 * root with cop_json_free; on error *out is NULL and *diag (NULL allowed) has the line.
 * COP_EFORMAT. COP_EFULL: nested deeper than COP_JSON_MAX_DEPTH. COP_ENOMEM. */
COP_CHECK cop_err cop_json_parse(const char *text, size_t length, cop_json **out, cop_diag *diag);
/* Only for the root. NULL is allowed. */
void cop_json_free(cop_json *root);

cop_json_type cop_json_type_of(const cop_json *value);
/* Members of an object, elements of an array, 0 of others. */
size_t cop_json_size(const cop_json *value);
/* NULL: no such member or element, value is NULL, or no object or array. */
const cop_json *cop_json_member(const cop_json *value, const char *key);
const cop_json *cop_json_element(const cop_json *value, size_t i);
/* Members in the text's order: *key is NULL before the first call and the last one's key (borrowed from the tree)
 * before the others. NULL: no more, or no object. */
const cop_json *cop_json_next_member(const cop_json *value, const char **key);
/* COP_EINVAL: value is NULL or of another type. Integers beyond 2^53 are rounded by number, and COP_EINVAL to integer
 * when the text had a point or exponent. */
COP_CHECK cop_err cop_json_get_number(const cop_json *value, double *number);
COP_CHECK cop_err cop_json_get_integer(const cop_json *value, int64_t *integer);
COP_CHECK cop_err cop_json_get_boolean(const cop_json *value, bool *boolean);
/* Terminated UTF-8, borrowed; length may be NULL. */
COP_CHECK cop_err cop_json_get_text(const cop_json *value, const char **text, size_t *length);

/* Bytes of the well-formed UTF-8 sequence at `at`, of which `left` >= 1 can be read; 0 when there is none (overlong
 * forms and surrogates too). */
size_t cop_json_utf8_length(const uint8_t *at, size_t left);

/* Key and value; a number that is not finite is left out, key and all. */
void cop_json_put_number(cop_json_writer *writer, const char *key, double value);
void cop_json_put_integer(cop_json_writer *writer, const char *key, int64_t value);
void cop_json_put_unsigned(cop_json_writer *writer, const char *key, uint64_t value);
void cop_json_put_boolean(cop_json_writer *writer, const char *key, bool value);
void cop_json_put_text(cop_json_writer *writer, const char *key, const char *text);
void cop_json_put_text_length(cop_json_writer *writer, const char *key, const char *text, size_t length);
/* Key, and the begin of its value. */
void cop_json_put_object(cop_json_writer *writer, const char *key);
void cop_json_put_array(cop_json_writer *writer, const char *key);

#endif
