/* Bytes are laid down here rather than by a packer that calls back for each piece: an answer is some twenty of them. */
#include "wire/wire_put.h"

#include "base/assert.h"
#include "wire/wire_cursor.h"

static void put_byte(cop_bytes *bytes, uint8_t value)
{
	uint8_t *at = cop_wire_put_room(bytes, 1);
	if (at != NULL)
		*at = value;
}

/* The first byte, and the lower `width` bytes of the word, big-endian. */
static inline __attribute__((always_inline)) void put_head(cop_bytes *bytes, uint8_t first, size_t width, uint64_t word)
{
	uint8_t *at = cop_wire_put_room(bytes, 1 + width);
	if (at == NULL)
		return;
	at[0] = first;
	word = __builtin_bswap64(word << (64 - 8 * width));
	memcpy(at + 1, &word, width);
}

void cop_wire_put_nil(cop_bytes *bytes) { put_byte(bytes, 0xc0); }
void cop_wire_put_bool(cop_bytes *bytes, bool value) { put_byte(bytes, value ? 0xc3 : 0xc2); }

void cop_wire_put_unsigned(cop_bytes *bytes, uint64_t value)
{
	if (value < 0x80)
		put_byte(bytes, (uint8_t)value);
	else if (value <= UINT8_MAX)
		put_head(bytes, 0xcc, 1, value);
	else if (value <= UINT16_MAX)
		put_head(bytes, 0xcd, 2, value);
	else if (value <= UINT32_MAX)
		put_head(bytes, 0xce, 4, value);
	else
		put_head(bytes, 0xcf, 8, value);
}

void cop_wire_put_signed(cop_bytes *bytes, int64_t value)
{
	if (value >= 0)
		cop_wire_put_unsigned(bytes, (uint64_t)value);
	else if (value >= -0x20)
		put_byte(bytes, (uint8_t)value);
	else if (value >= INT8_MIN)
		put_head(bytes, 0xd0, 1, (uint64_t)value);
	else if (value >= INT16_MIN)
		put_head(bytes, 0xd1, 2, (uint64_t)value);
	else if (value >= INT32_MIN)
		put_head(bytes, 0xd2, 4, (uint64_t)value);
	else
		put_head(bytes, 0xd3, 8, (uint64_t)value);
}

void cop_wire_put_double(cop_bytes *bytes, double value)
{
	uint64_t word;
	memcpy(&word, &value, sizeof word);
	put_head(bytes, 0xcb, 8, word);
}

void cop_wire_put_float(cop_bytes *bytes, float value)
{
	uint32_t word;
	memcpy(&word, &value, sizeof word);
	put_head(bytes, 0xca, 4, word);
}

/* A header of a length, or a count, that is not in its first byte: of 8 bits (first), 16 and 32. */
static void put_length(cop_bytes *bytes, uint8_t first, size_t length)
{
	COP_ASSERT(length <= UINT32_MAX);
	if (length <= UINT8_MAX)
		put_head(bytes, first, 1, length);
	else if (length <= UINT16_MAX)
		put_head(bytes, (uint8_t)(first + 1), 2, length);
	else
		put_head(bytes, (uint8_t)(first + 2), 4, length);
}

void cop_wire_put_string(cop_bytes *bytes, const char *text, size_t length)
{
	if (length < 32)
		put_byte(bytes, (uint8_t)(0xa0 | length));
	else
		put_length(bytes, 0xd9, length);
	cop_bytes_put(bytes, text, length);
}

void cop_wire_put_binary_head(cop_bytes *bytes, size_t length) { put_length(bytes, 0xc4, length); }

void cop_wire_put_binary(cop_bytes *bytes, const void *data, size_t length)
{
	cop_wire_put_binary_head(bytes, length);
	cop_bytes_put(bytes, data, length);
}

void cop_wire_put_packed(cop_bytes *bytes, const float *values, size_t count)
{
	cop_wire_put_binary(bytes, values, count * sizeof *values);
}

/* Up to 15 in the first byte; then of 16 (wide) and 32 bits. */
static void put_count(cop_bytes *bytes, uint8_t small, uint8_t wide, size_t count)
{
	COP_ASSERT(count <= UINT32_MAX);
	if (count < 16)
		put_byte(bytes, (uint8_t)(small | count));
	else if (count <= UINT16_MAX)
		put_head(bytes, wide, 2, count);
	else
		put_head(bytes, (uint8_t)(wide + 1), 4, count);
}

void cop_wire_put_array(cop_bytes *bytes, size_t count) { put_count(bytes, 0x90, 0xdc, count); }
void cop_wire_put_map(cop_bytes *bytes, size_t count) { put_count(bytes, 0x80, 0xde, count); }

void cop_wire_put_raw(cop_bytes *bytes, const void *data, size_t length) { cop_bytes_put(bytes, data, length); }

/* One byte, enough for up to 15 pairs. */
size_t cop_wire_put_map_open(cop_bytes *bytes)
{
	size_t at = bytes->length;
	put_byte(bytes, 0x80);
	return at;
}

/* Values from `at` on, which must be whole ones. */
static size_t values_from(const cop_bytes *bytes, size_t at)
{
	cop_wire_cursor cursor;
	size_t count = 0;
	cop_wire_cursor_init(&cursor, bytes->data + at, bytes->length - at);
	for (; cursor.at < cursor.end; count++) {
		cop_err err = cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH);
		COP_ASSERT(err == COP_OK);
	}
	return count;
}

/* Gives the map at `at`, whose header has `head` bytes, the header of `pairs` pairs. */
static void put_pairs(cop_bytes *bytes, size_t at, size_t head, size_t pairs)
{
	size_t wanted = pairs < 16 ? 1 : pairs <= UINT16_MAX ? 3 : 5, length = bytes->length - at - head;
	if (wanted > head && cop_wire_put_room(bytes, wanted - head) == NULL)
		return;
	memmove(bytes->data + at + wanted, bytes->data + at + head, length);
	bytes->length = at;
	cop_wire_put_map(bytes, pairs);
	bytes->length += length;
}

void cop_wire_put_map_close(cop_bytes *bytes, size_t at)
{
	if (bytes->err != COP_OK)
		return;
	size_t values = values_from(bytes, at + 1);
	COP_ASSERT(values % 2 == 0);
	put_pairs(bytes, at, 1, values / 2);
}

void cop_wire_put_map_reopen(cop_bytes *bytes, size_t at)
{
	if (bytes->err != COP_OK)
		return;
	cop_wire_cursor cursor;
	size_t pairs, length = bytes->length - at;
	cop_wire_cursor_init(&cursor, bytes->data + at, length);
	cop_err err = cop_wire_cursor_map(&cursor, &pairs);
	COP_ASSERT(err == COP_OK);
	put_pairs(bytes, at, length - cop_wire_cursor_left(&cursor), pairs + 1);
}

size_t cop_wire_put_array_open(cop_bytes *bytes)
{
	size_t at = bytes->length;
	put_head(bytes, 0xdd, 4, 0);
	return at;
}

void cop_wire_put_array_close(cop_bytes *bytes, size_t at, size_t count)
{
	COP_ASSERT(count <= UINT32_MAX);
	if (bytes->err != COP_OK)
		return;
	COP_ASSERT(at + 5 <= bytes->length);
	uint32_t word = __builtin_bswap32((uint32_t)count);
	memcpy(bytes->data + at + 1, &word, sizeof word);
}
