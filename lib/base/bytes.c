/* The machine is little-endian (asserted below), so fields are copied as they are. */
#include "base/bytes.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

_Static_assert(
        __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files and messages are little-endian; so must be the machine");

void cop_bytes_init(cop_bytes *bytes) { memset(bytes, 0, sizeof *bytes); }

void cop_bytes_fini(cop_bytes *bytes)
{
	cop_mem_free(bytes->data);
	memset(bytes, 0, sizeof *bytes);
}

void cop_bytes_clear(cop_bytes *bytes)
{
	bytes->length = 0;
	bytes->err = COP_OK;
}

void cop_bytes_reserve(cop_bytes *bytes, size_t more)
{
	if (bytes->err != COP_OK || more <= bytes->capacity - bytes->length)
		return;
	size_t want;
	if (__builtin_add_overflow(bytes->length, more, &want)) {
		bytes->err = COP_ENOMEM;
		return;
	}
	size_t capacity = bytes->capacity < 128 ? 128 : bytes->capacity;
	while (capacity < want)
		capacity = capacity > SIZE_MAX / 4 ? want : capacity * 2;
	uint8_t *data = cop_mem_reserve(capacity, 1); /* what is not written yet need not be zero */
	if (data == NULL) {
		bytes->err = COP_ENOMEM;
		return;
	}
	if (bytes->length > 0)
		memcpy(data, bytes->data, bytes->length);
	cop_mem_free(bytes->data);
	bytes->data = data;
	bytes->capacity = capacity;
}

void cop_bytes_put_u8(cop_bytes *bytes, uint8_t value) { cop_bytes_put(bytes, &value, sizeof value); }
void cop_bytes_put_u32(cop_bytes *bytes, uint32_t value) { cop_bytes_put(bytes, &value, sizeof value); }
void cop_bytes_put_u64(cop_bytes *bytes, uint64_t value) { cop_bytes_put(bytes, &value, sizeof value); }
void cop_bytes_put_f32(cop_bytes *bytes, float value) { cop_bytes_put(bytes, &value, sizeof value); }
void cop_bytes_put_f64(cop_bytes *bytes, double value) { cop_bytes_put(bytes, &value, sizeof value); }

void cop_bytes_put_f32s(cop_bytes *bytes, const float *values, size_t count)
{
	cop_bytes_put(bytes, values, count * sizeof *values);
}

void cop_bytes_put_f64s(cop_bytes *bytes, const double *values, size_t count)
{
	cop_bytes_put(bytes, values, count * sizeof *values);
}

void cop_bytes_put_text(cop_bytes *bytes, const char *text)
{
	size_t length = strlen(text);
	if (length > UINT32_MAX) {
		bytes->err = COP_EINVAL;
		return;
	}
	cop_bytes_put_u32(bytes, (uint32_t)length);
	cop_bytes_put(bytes, text, length);
}

void cop_bytes_put_rng(cop_bytes *bytes, const cop_rng *rng)
{
	for (size_t i = 0; i < 4; i++)
		cop_bytes_put_u64(bytes, rng->s[i]);
}

void cop_cursor_init(cop_cursor *cursor, const void *data, size_t length)
{
	cursor->at = data;
	cursor->end = length > 0 ? cursor->at + length : cursor->at; /* nothing may be at NULL */
	cursor->err = COP_OK;
}

size_t cop_cursor_left(const cop_cursor *cursor)
{
	return cursor->err != COP_OK ? 0 : (size_t)(cursor->end - cursor->at);
}

const uint8_t *cop_cursor_take(cop_cursor *cursor, size_t length)
{
	if (length > cop_cursor_left(cursor)) {
		if (cursor->err == COP_OK)
			cursor->err = COP_EFORMAT;
		return NULL;
	}
	const uint8_t *at = cursor->at;
	cursor->at += length;
	return at;
}

static void take_into(cop_cursor *cursor, void *out, size_t length)
{
	const uint8_t *at = cop_cursor_take(cursor, length);
	if (at != NULL && length != 0)
		memcpy(out, at, length);
	else if (length != 0)
		memset(out, 0, length);
}

uint8_t cop_cursor_u8(cop_cursor *cursor)
{
	uint8_t value;
	take_into(cursor, &value, sizeof value);
	return value;
}

uint32_t cop_cursor_u32(cop_cursor *cursor)
{
	uint32_t value;
	take_into(cursor, &value, sizeof value);
	return value;
}

uint64_t cop_cursor_u64(cop_cursor *cursor)
{
	uint64_t value;
	take_into(cursor, &value, sizeof value);
	return value;
}

float cop_cursor_f32(cop_cursor *cursor)
{
	float value;
	cop_cursor_f32s(cursor, &value, 1);
	return value;
}

double cop_cursor_f64(cop_cursor *cursor)
{
	double value;
	cop_cursor_f64s(cursor, &value, 1);
	return value;
}

/* Models hold millions, so without a jump in the loop. */
static bool finite_floats(const float *values, size_t count)
{
	const uint32_t exponent = 0x7f800000u;
	uint32_t bad = 0;
#pragma omp simd reduction(| : bad)
	for (size_t i = 0; i < count; i++) {
		uint32_t bits;
		memcpy(&bits, &values[i], sizeof bits);
		bad |= (uint32_t)((bits & exponent) == exponent);
	}
	return bad == 0;
}

void cop_cursor_f32s(cop_cursor *cursor, float *values, size_t count)
{
	if (count > SIZE_MAX / sizeof *values) {
		cursor->err = COP_EFORMAT;
		return;
	}
	take_into(cursor, values, count * sizeof *values);
	if (cursor->err == COP_OK && !finite_floats(values, count))
		cursor->err = COP_ENONFINITE;
}

void cop_cursor_f64s(cop_cursor *cursor, double *values, size_t count)
{
	if (count > SIZE_MAX / sizeof *values) {
		cursor->err = COP_EFORMAT;
		return;
	}
	take_into(cursor, values, count * sizeof *values);
	for (size_t i = 0; i < count && cursor->err == COP_OK; i++)
		if (!isfinite(values[i]))
			cursor->err = COP_ENONFINITE;
}

void cop_cursor_text(cop_cursor *cursor, char *out, size_t size)
{
	uint32_t length = cop_cursor_u32(cursor);
	out[0] = '\0';
	if (cursor->err != COP_OK)
		return;
	if (length >= size) {
		cursor->err = COP_EFORMAT;
		return;
	}
	const uint8_t *at = cop_cursor_take(cursor, length);
	if (at == NULL)
		return;
	if (length != 0 && memchr(at, 0, length) != NULL) {
		cursor->err = COP_EFORMAT;
		return;
	}
	if (length != 0)
		memcpy(out, at, length);
	out[length] = '\0';
}

void cop_cursor_rng(cop_cursor *cursor, cop_rng *rng)
{
	for (size_t i = 0; i < 4; i++)
		rng->s[i] = cop_cursor_u64(cursor);
	if (cursor->err == COP_OK && (rng->s[0] | rng->s[1] | rng->s[2] | rng->s[3]) == 0)
		cursor->err = COP_EFORMAT;
}
