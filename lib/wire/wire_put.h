/* wire/wire_put.h: MessagePack into a cop_bytes.
 *
 * Every call appends one value (or one header) in its shortest encoding; doubles keep all 64 bits. Errors are sticky in
 * bytes->err (COP_ENOMEM), so that a message is a straight list of calls and one check. Nothing is allocated once the
 * buffer has grown to the size of the largest message. One thread per buffer. */
#ifndef COP_WIRE_WIRE_PUT_H
#define COP_WIRE_WIRE_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

/* `length` further bytes, to be filled; NULL when there is no memory for them. */
static inline uint8_t *cop_wire_put_room(cop_bytes *bytes, size_t length)
{
	if (length > bytes->capacity - bytes->length)
		cop_bytes_reserve(bytes, length);
	if (bytes->err != COP_OK)
		return NULL;
	uint8_t *at = bytes->data + bytes->length;
	bytes->length += length;
	return at;
}

void cop_wire_put_nil(cop_bytes *bytes);
void cop_wire_put_bool(cop_bytes *bytes, bool value);
void cop_wire_put_unsigned(cop_bytes *bytes, uint64_t value);
void cop_wire_put_signed(cop_bytes *bytes, int64_t value);
void cop_wire_put_double(cop_bytes *bytes, double value);
void cop_wire_put_float(cop_bytes *bytes, float value);
/* length < 2^32. */
void cop_wire_put_string(cop_bytes *bytes, const char *text, size_t length);
/* Here, so that the length of a literal costs nothing. */
static inline void cop_wire_put_text(cop_bytes *bytes, const char *text)
{
	size_t length = strlen(text);
	uint8_t *at = length < 32 ? cop_wire_put_room(bytes, 1 + length) : NULL;
	if (at != NULL) {
		at[0] = (uint8_t)(0xa0 | length);
		memcpy(at + 1, text, length);
	} else if (length >= 32) {
		cop_wire_put_string(bytes, text, length);
	}
}
void cop_wire_put_binary(cop_bytes *bytes, const void *data, size_t length);
/* Header of a binary value; the caller appends its length bytes. */
void cop_wire_put_binary_head(cop_bytes *bytes, size_t length);
/* count little-endian float32 as binary. */
void cop_wire_put_packed(cop_bytes *bytes, const float *values, size_t count);
/* Header of an array of count values, of a map of count pairs. */
void cop_wire_put_array(cop_bytes *bytes, size_t count);
void cop_wire_put_map(cop_bytes *bytes, size_t count);
/* A map that counts its pairs itself: what is put between the two calls are its keys and values. open returns where the
 * map stands. Maps may stand in one another; the inner one is closed first. */
size_t cop_wire_put_map_open(cop_bytes *bytes);
void cop_wire_put_map_close(cop_bytes *bytes, size_t at);
/* One pair more for the map at `at`, with which the bytes end: its key and value are put next. */
void cop_wire_put_map_reopen(cop_bytes *bytes, size_t at);
/* length bytes that are MessagePack already. */
void cop_wire_put_raw(cop_bytes *bytes, const void *data, size_t length);

/* For a count that is known only afterwards: a five-byte header of 0; returns where it stands. */
size_t cop_wire_put_array_open(cop_bytes *bytes);
/* Writes the count of values into the header at `at`. */
void cop_wire_put_array_close(cop_bytes *bytes, size_t at, size_t count);

/* Key and value. */
static inline void cop_wire_put_key_bool(cop_bytes *bytes, const char *key, bool value)
{
	cop_wire_put_text(bytes, key);
	cop_wire_put_bool(bytes, value);
}

static inline void cop_wire_put_key_unsigned(cop_bytes *bytes, const char *key, uint64_t value)
{
	cop_wire_put_text(bytes, key);
	cop_wire_put_unsigned(bytes, value);
}

static inline void cop_wire_put_key_signed(cop_bytes *bytes, const char *key, int64_t value)
{
	cop_wire_put_text(bytes, key);
	cop_wire_put_signed(bytes, value);
}

static inline void cop_wire_put_key_double(cop_bytes *bytes, const char *key, double value)
{
	cop_wire_put_text(bytes, key);
	cop_wire_put_double(bytes, value);
}

static inline void cop_wire_put_key_string(cop_bytes *bytes, const char *key, const char *text, size_t length)
{
	cop_wire_put_text(bytes, key);
	cop_wire_put_string(bytes, text, length);
}
static inline void cop_wire_put_key_text(cop_bytes *bytes, const char *key, const char *value)
{
	cop_wire_put_text(bytes, key);
	cop_wire_put_text(bytes, value);
}

#endif
