/* base/bytes.h: little-endian bytes: a growing writer and a bounded reader.
 *
 * Both are sticky: after the first failure further calls do nothing (reads give zeros), and one check at the end is
 * enough, so a save or a load is a straight list of fields. One thread per object. */
#ifndef COP_BASE_BYTES_H
#define COP_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"

typedef struct cop_bytes {
	uint8_t *data; /* length bytes, owned */
	size_t length;
	size_t capacity;
	cop_err err; /* first failure; COP_OK while all is well */
} cop_bytes;

void cop_bytes_init(cop_bytes *bytes);
void cop_bytes_fini(cop_bytes *bytes);
/* Length 0, room and error state: room kept, error cleared. */
void cop_bytes_clear(cop_bytes *bytes);
/* Room for `more` further bytes, or err = COP_ENOMEM. */
void cop_bytes_reserve(cop_bytes *bytes, size_t more);
static inline void cop_bytes_put(cop_bytes *bytes, const void *data, size_t length)
{
	if (length > bytes->capacity - bytes->length)
		cop_bytes_reserve(bytes, length);
	if (bytes->err != COP_OK || length == 0)
		return;
	memcpy(bytes->data + bytes->length, data, length);
	bytes->length += length;
}
void cop_bytes_put_u8(cop_bytes *bytes, uint8_t value);
void cop_bytes_put_u32(cop_bytes *bytes, uint32_t value);
void cop_bytes_put_u64(cop_bytes *bytes, uint64_t value);
void cop_bytes_put_f32(cop_bytes *bytes, float value);
void cop_bytes_put_f64(cop_bytes *bytes, double value);
void cop_bytes_put_f32s(cop_bytes *bytes, const float *values, size_t count);
void cop_bytes_put_f64s(cop_bytes *bytes, const double *values, size_t count);
/* u32 length, then the characters. */
void cop_bytes_put_text(cop_bytes *bytes, const char *text);
/* The generator's state, 32 bytes. */
void cop_bytes_put_rng(cop_bytes *bytes, const cop_rng *rng);

typedef struct cop_cursor {
	const uint8_t *at; /* borrowed */
	const uint8_t *end;
	cop_err err; /* COP_EFORMAT once a read went past the end */
} cop_cursor;

void cop_cursor_init(cop_cursor *cursor, const void *data, size_t length);
size_t cop_cursor_left(const cop_cursor *cursor);
/* The next `length` bytes, borrowed; NULL past the end. */
const uint8_t *cop_cursor_take(cop_cursor *cursor, size_t length);
uint8_t cop_cursor_u8(cop_cursor *cursor);
uint32_t cop_cursor_u32(cop_cursor *cursor);
uint64_t cop_cursor_u64(cop_cursor *cursor);
float cop_cursor_f32(cop_cursor *cursor);
double cop_cursor_f64(cop_cursor *cursor);
/* Fills values (zeros past the end); a NaN or infinity makes err COP_ENONFINITE. */
void cop_cursor_f32s(cop_cursor *cursor, float *values, size_t count);
void cop_cursor_f64s(cop_cursor *cursor, double *values, size_t count);
/* Text of put_text into out (size bytes, terminated); COP_EFORMAT when it does not fit or holds a zero byte. */
void cop_cursor_text(cop_cursor *cursor, char *out, size_t size);
/* COP_EFORMAT when all of the state is zero, from which no generator starts. */
void cop_cursor_rng(cop_cursor *cursor, cop_rng *rng);

#endif
