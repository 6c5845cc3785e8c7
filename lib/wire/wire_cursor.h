/* wire/wire_cursor.h: a bounded MessagePack reader over borrowed bytes.
 *
 * Every header is checked against the bytes that remain (an array of n needs at least n further bytes, a map 2n), so a
 * header can never promise more than the message holds; nothing is allocated and nothing recurses. A call that fails
 * leaves the cursor where it was, so that the caller can look at what stands there. Errors of every read:
 *   COP_EINVAL      another type than the wanted one
 *   COP_EFORMAT     cut off, a header larger than the rest, the reserved byte 0xc1, nested too deeply
 *   COP_ENONFINITE  NaN, infinity, or beyond the range of the wanted type
 * One thread per cursor. */
#ifndef COP_WIRE_WIRE_CURSOR_H
#define COP_WIRE_WIRE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Containers inside one another that a message may have, itself included. */
#define COP_WIRE_DEPTH 16

typedef enum cop_wire_type {
	COP_WIRE_TYPE_END = 0, /* no byte left */
	COP_WIRE_TYPE_BAD,     /* 0xc1, or cut off, or larger than the rest */
	COP_WIRE_TYPE_NIL,
	COP_WIRE_TYPE_BOOL,
	COP_WIRE_TYPE_UNSIGNED, /* any integer >= 0, however it is encoded */
	COP_WIRE_TYPE_NEGATIVE, /* integers < 0 */
	COP_WIRE_TYPE_FLOAT,    /* 32 or 64 bits */
	COP_WIRE_TYPE_STRING,
	COP_WIRE_TYPE_BINARY,
	COP_WIRE_TYPE_ARRAY,
	COP_WIRE_TYPE_MAP,
	COP_WIRE_TYPE_EXTENSION,
	COP_WIRE_TYPE_COUNT
} cop_wire_type;

typedef struct cop_wire_cursor {
	const uint8_t *at; /* borrowed */
	const uint8_t *end;
} cop_wire_cursor;

/* data may be NULL when length is 0. */
void cop_wire_cursor_init(cop_wire_cursor *cursor, const void *data, size_t length);
size_t cop_wire_cursor_left(const cop_wire_cursor *cursor);

/* What comes next, without moving. */
cop_wire_type cop_wire_cursor_peek(const cop_wire_cursor *cursor);
/* "a string", "an array" …; never NULL. */
const char *cop_wire_cursor_type_text(cop_wire_type type);

COP_CHECK cop_err cop_wire_cursor_nil(cop_wire_cursor *cursor);
COP_CHECK cop_err cop_wire_cursor_bool(cop_wire_cursor *cursor, bool *out);
COP_CHECK cop_err cop_wire_cursor_unsigned(cop_wire_cursor *cursor, uint64_t *out);
/* Any integer of [INT64_MIN, INT64_MAX]; COP_ENONFINITE above. */
COP_CHECK cop_err cop_wire_cursor_signed(cop_wire_cursor *cursor, int64_t *out);
/* A finite number: float or integer. */
COP_CHECK cop_err cop_wire_cursor_double(cop_wire_cursor *cursor, double *out);
/* The same, at most FLT_MAX in size; rounded to nearest. */
COP_CHECK cop_err cop_wire_cursor_float(cop_wire_cursor *cursor, float *out);
/* Borrowed, not terminated, UTF-8 not checked. */
COP_CHECK cop_err cop_wire_cursor_string(cop_wire_cursor *cursor, const char **out, size_t *length);
COP_CHECK cop_err cop_wire_cursor_binary(cop_wire_cursor *cursor, const uint8_t **out, size_t *length);
/* Extension: application type and borrowed bytes. */
COP_CHECK cop_err cop_wire_cursor_extension(cop_wire_cursor *cursor, int8_t *type, const uint8_t **out, size_t *length);
/* Elements that follow. */
COP_CHECK cop_err cop_wire_cursor_array(cop_wire_cursor *cursor, size_t *count);
/* Key and value pairs that follow. */
COP_CHECK cop_err cop_wire_cursor_map(cop_wire_cursor *cursor, size_t *count);

/* `count` numbers one after the other (the elements of an array whose header was read) into out. On error the cursor
 * stands at element *bad, and the elements before it are in out. About 1 ns an element. */
COP_CHECK cop_err cop_wire_cursor_floats(cop_wire_cursor *cursor, float *out, size_t count, size_t *bad);
/* The same from `count` little-endian float32 in bytes (borrowed, 4 * count). Only COP_ENONFINITE. */
COP_CHECK cop_err cop_wire_cursor_packed(const uint8_t *bytes, float *out, size_t count, size_t *bad);

/* Past one value of any type with at most `depth` containers inside one another (0: a scalar; at most
 * COP_WIRE_DEPTH). COP_EFORMAT. */
COP_CHECK cop_err cop_wire_cursor_skip(cop_wire_cursor *cursor, unsigned depth);

#endif
