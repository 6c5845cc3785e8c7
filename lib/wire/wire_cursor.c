/* head() reads one header with all its bounds; every typed read is head() and a comparison. The invariant that keeps
 * hostile headers harmless: count <= bytes left, checked where the header is read, and each element takes at least one
 * byte, so the work is linear in the message's bytes whatever its headers say. */
#include "wire/wire_cursor.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/assert.h"

typedef struct head {
	cop_wire_type type;
	size_t size;   /* bytes of the header, and of a scalar's value */
	uint64_t word; /* value's bits; or length of string, binary, extension; or count of elements or pairs */
	size_t width;  /* bytes of word as it was sent */
} head;

/* 0xc0 to 0xdf: type, and bytes of big-endian word behind the first byte. */
typedef struct form {
	uint8_t type;
	uint8_t width;
} form;

static const form forms[32] = {
	{ COP_WIRE_TYPE_NIL, 0 }, { COP_WIRE_TYPE_BAD, 0 }, { COP_WIRE_TYPE_BOOL, 0 }, { COP_WIRE_TYPE_BOOL, 0 },
	{ COP_WIRE_TYPE_BINARY, 1 }, { COP_WIRE_TYPE_BINARY, 2 }, { COP_WIRE_TYPE_BINARY, 4 },          /* c4 */
	{ COP_WIRE_TYPE_EXTENSION, 1 }, { COP_WIRE_TYPE_EXTENSION, 2 }, { COP_WIRE_TYPE_EXTENSION, 4 }, /* c7 */
	{ COP_WIRE_TYPE_FLOAT, 4 }, { COP_WIRE_TYPE_FLOAT, 8 },                                         /* ca */
	{ COP_WIRE_TYPE_UNSIGNED, 1 }, { COP_WIRE_TYPE_UNSIGNED, 2 }, { COP_WIRE_TYPE_UNSIGNED, 4 },
	{ COP_WIRE_TYPE_UNSIGNED, 8 }, /* cc */
	{ COP_WIRE_TYPE_NEGATIVE, 1 }, { COP_WIRE_TYPE_NEGATIVE, 2 }, { COP_WIRE_TYPE_NEGATIVE, 4 },
	{ COP_WIRE_TYPE_NEGATIVE, 8 }, /* d0 */
	{ COP_WIRE_TYPE_EXTENSION, 0 }, { COP_WIRE_TYPE_EXTENSION, 0 }, { COP_WIRE_TYPE_EXTENSION, 0 },
	{ COP_WIRE_TYPE_EXTENSION, 0 }, { COP_WIRE_TYPE_EXTENSION, 0 },                        /* d4 */
	{ COP_WIRE_TYPE_STRING, 1 }, { COP_WIRE_TYPE_STRING, 2 }, { COP_WIRE_TYPE_STRING, 4 }, /* d9 */
	{ COP_WIRE_TYPE_ARRAY, 2 }, { COP_WIRE_TYPE_ARRAY, 4 },                                /* dc */
	{ COP_WIRE_TYPE_MAP, 2 }, { COP_WIRE_TYPE_MAP, 4 },                                    /* de */
};

static uint64_t big_endian(const uint8_t *at, size_t width)
{
	uint64_t word = 0;
	for (size_t i = 0; i < width; i++)
		word = word << 8 | at[i];
	return word;
}

static uint64_t big_endian_8(const uint8_t *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof word);
	return __builtin_bswap64(word);
}

static uint32_t big_endian_4(const uint8_t *at)
{
	uint32_t word;
	memcpy(&word, at, sizeof word);
	return __builtin_bswap32(word);
}

static double double_of(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static float float_of(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

/* One-byte forms: small integers, short strings, arrays and maps. */
static void short_head(uint8_t first, head *h)
{
	h->size = 1;
	h->width = 0;
	if (first < 0x80) {
		h->type = COP_WIRE_TYPE_UNSIGNED;
		h->word = first;
	} else if (first >= 0xe0) {
		h->type = COP_WIRE_TYPE_NEGATIVE;
		h->word = UINT64_MAX - 0xff + first;
	} else if (first < 0x90) {
		h->type = COP_WIRE_TYPE_MAP;
		h->word = first & 0x0f;
	} else if (first < 0xa0) {
		h->type = COP_WIRE_TYPE_ARRAY;
		h->word = first & 0x0f;
	} else {
		h->type = COP_WIRE_TYPE_STRING;
		h->word = first & 0x1f;
	}
}

/* d0 to d3: the sign is spread, and what is not below zero is an unsigned integer like any other. */
static void signed_head(head *h)
{
	unsigned shift = 64 - 8 * (unsigned)h->width;
	int64_t value = (int64_t)(h->word << shift) >> shift;
	h->word = (uint64_t)value;
	if (value >= 0)
		h->type = COP_WIRE_TYPE_UNSIGNED;
}

/* 0xc0 to 0xdf; left counts the bytes behind the first. */
static cop_err long_head(const uint8_t *at, size_t left, head *h)
{
	const form *f = &forms[at[0] & 0x1f];
	h->type = (cop_wire_type)f->type;
	h->width = f->width;
	h->size = 1 + h->width;
	if (h->type == COP_WIRE_TYPE_BAD || h->width > left)
		return COP_EFORMAT;
	h->word = big_endian(at + 1, h->width);
	if (h->type == COP_WIRE_TYPE_BOOL)
		h->word = at[0] & 1;
	else if (h->type == COP_WIRE_TYPE_NEGATIVE)
		signed_head(h);
	else if (h->type == COP_WIRE_TYPE_EXTENSION) {
		if (h->width == 0)
			h->word = UINT64_C(1) << (at[0] - 0xd4);
		h->size++; /* the application's type */
		if (h->size > 1 + left)
			return COP_EFORMAT;
	}
	return COP_OK;
}

static cop_err head_read(const cop_wire_cursor *cursor, head *h)
{
	size_t left = cop_wire_cursor_left(cursor);
	h->type = COP_WIRE_TYPE_END;
	if (left == 0)
		return COP_EFORMAT;
	uint8_t first = cursor->at[0];
	if (first < 0xc0 || first >= 0xe0) {
		short_head(first, h);
	} else {
		cop_err err = long_head(cursor->at, left - 1, h);
		if (err != COP_OK) {
			h->type = COP_WIRE_TYPE_BAD;
			return err;
		}
	}
	uint64_t need = 0;
	if (h->type >= COP_WIRE_TYPE_STRING) /* word < 2^32, so 2 * word does not overflow */
		need = h->type == COP_WIRE_TYPE_MAP ? 2 * h->word : h->word;
	if (need > left - h->size) {
		h->type = COP_WIRE_TYPE_BAD;
		return COP_EFORMAT;
	}
	return COP_OK;
}

/* The header when it is of the wanted type. */
static cop_err expect(const cop_wire_cursor *cursor, cop_wire_type type, head *h)
{
	cop_err err = head_read(cursor, h);
	if (err != COP_OK)
		return err;
	return h->type == type ? COP_OK : COP_EINVAL;
}

void cop_wire_cursor_init(cop_wire_cursor *cursor, const void *data, size_t length)
{
	static const uint8_t nothing[1] = { 0 };
	cursor->at = data == NULL ? nothing : data;
	cursor->end = cursor->at + (data == NULL ? 0 : length);
}

size_t cop_wire_cursor_left(const cop_wire_cursor *cursor) { return (size_t)(cursor->end - cursor->at); }

cop_wire_type cop_wire_cursor_peek(const cop_wire_cursor *cursor)
{
	head h;
	(void)!head_read(cursor, &h); /* of an error the type is enough */
	return h.type;
}

const char *cop_wire_cursor_type_text(cop_wire_type type)
{
	static const char *const texts[COP_WIRE_TYPE_COUNT] = {
		[COP_WIRE_TYPE_END] = "nothing",
		[COP_WIRE_TYPE_BAD] = "malformed MessagePack",
		[COP_WIRE_TYPE_NIL] = "nil",
		[COP_WIRE_TYPE_BOOL] = "a boolean",
		[COP_WIRE_TYPE_UNSIGNED] = "an integer",
		[COP_WIRE_TYPE_NEGATIVE] = "a negative integer",
		[COP_WIRE_TYPE_FLOAT] = "a float",
		[COP_WIRE_TYPE_STRING] = "a string",
		[COP_WIRE_TYPE_BINARY] = "binary",
		[COP_WIRE_TYPE_ARRAY] = "an array",
		[COP_WIRE_TYPE_MAP] = "a map",
		[COP_WIRE_TYPE_EXTENSION] = "an extension",
	};
	return (unsigned)type < COP_WIRE_TYPE_COUNT ? texts[type] : "something unknown";
}

cop_err cop_wire_cursor_nil(cop_wire_cursor *cursor)
{
	head h;
	cop_err err = expect(cursor, COP_WIRE_TYPE_NIL, &h);
	if (err == COP_OK)
		cursor->at += h.size;
	return err;
}

cop_err cop_wire_cursor_bool(cop_wire_cursor *cursor, bool *out)
{
	head h;
	cop_err err = expect(cursor, COP_WIRE_TYPE_BOOL, &h);
	if (err != COP_OK)
		return err;
	*out = h.word != 0;
	cursor->at += h.size;
	return COP_OK;
}

cop_err cop_wire_cursor_unsigned(cop_wire_cursor *cursor, uint64_t *out)
{
	head h;
	cop_err err = expect(cursor, COP_WIRE_TYPE_UNSIGNED, &h);
	if (err != COP_OK)
		return err;
	*out = h.word;
	cursor->at += h.size;
	return COP_OK;
}

cop_err cop_wire_cursor_signed(cop_wire_cursor *cursor, int64_t *out)
{
	head h;
	cop_err err = head_read(cursor, &h);
	if (err != COP_OK)
		return err;
	if (h.type != COP_WIRE_TYPE_UNSIGNED && h.type != COP_WIRE_TYPE_NEGATIVE)
		return COP_EINVAL;
	if (h.type == COP_WIRE_TYPE_UNSIGNED && h.word > INT64_MAX)
		return COP_ENONFINITE;
	*out = (int64_t)h.word;
	cursor->at += h.size;
	return COP_OK;
}

/* A number of any encoding as a double, finite or not, and the bytes it took. */
static cop_err number(const cop_wire_cursor *cursor, double *out, size_t *size)
{
	head h;
	cop_err err = head_read(cursor, &h);
	if (err != COP_OK)
		return err;
	if (h.type == COP_WIRE_TYPE_FLOAT)
		*out = h.width == 4 ? (double)float_of((uint32_t)h.word) : double_of(h.word);
	else if (h.type == COP_WIRE_TYPE_UNSIGNED)
		*out = (double)h.word;
	else if (h.type == COP_WIRE_TYPE_NEGATIVE)
		*out = (double)(int64_t)h.word;
	else
		return COP_EINVAL;
	*size = h.size;
	return COP_OK;
}

cop_err cop_wire_cursor_double(cop_wire_cursor *cursor, double *out)
{
	double value;
	size_t size;
	cop_err err = number(cursor, &value, &size);
	if (err != COP_OK)
		return err;
	if (!isfinite(value))
		return COP_ENONFINITE;
	*out = value;
	cursor->at += size;
	return COP_OK;
}

cop_err cop_wire_cursor_float(cop_wire_cursor *cursor, float *out)
{
	double value;
	size_t size;
	cop_err err = number(cursor, &value, &size);
	if (err != COP_OK)
		return err;
	if (!(fabs(value) <= (double)FLT_MAX)) /* NaN too */
		return COP_ENONFINITE;
	*out = (float)value;
	cursor->at += size;
	return COP_OK;
}

/* String and binary: the header, then word bytes. */
static cop_err stretch(cop_wire_cursor *cursor, cop_wire_type type, const uint8_t **out, size_t *length)
{
	head h;
	cop_err err = expect(cursor, type, &h);
	if (err != COP_OK)
		return err;
	*out = cursor->at + h.size;
	*length = (size_t)h.word;
	cursor->at += h.size + h.word;
	return COP_OK;
}

cop_err cop_wire_cursor_string(cop_wire_cursor *cursor, const char **out, size_t *length)
{
	const uint8_t *at;
	cop_err err = stretch(cursor, COP_WIRE_TYPE_STRING, &at, length);
	if (err == COP_OK)
		*out = (const char *)at;
	return err;
}

cop_err cop_wire_cursor_binary(cop_wire_cursor *cursor, const uint8_t **out, size_t *length)
{
	return stretch(cursor, COP_WIRE_TYPE_BINARY, out, length);
}

cop_err cop_wire_cursor_extension(cop_wire_cursor *cursor, int8_t *type, const uint8_t **out, size_t *length)
{
	cop_err err = stretch(cursor, COP_WIRE_TYPE_EXTENSION, out, length);
	if (err == COP_OK)
		memcpy(type, *out - 1, 1);
	return err;
}

static cop_err container(cop_wire_cursor *cursor, cop_wire_type type, size_t *count)
{
	head h;
	cop_err err = expect(cursor, type, &h);
	if (err != COP_OK)
		return err;
	*count = (size_t)h.word;
	cursor->at += h.size;
	return COP_OK;
}

cop_err cop_wire_cursor_array(cop_wire_cursor *cursor, size_t *count)
{
	return container(cursor, COP_WIRE_TYPE_ARRAY, count);
}

cop_err cop_wire_cursor_map(cop_wire_cursor *cursor, size_t *count)
{
	return container(cursor, COP_WIRE_TYPE_MAP, count);
}

cop_err cop_wire_cursor_floats(cop_wire_cursor *cursor, float *out, size_t count, size_t *bad)
{
	const uint8_t *at = cursor->at, *end = cursor->end;
	cop_err err = COP_OK;
	size_t i = 0;
	for (; i < count; i++) {
		double value;
		size_t size;
		if (end - at >= 9 && at[0] == 0xcb) { /* what Python sends */
			value = double_of(big_endian_8(at + 1));
			size = 9;
		} else if (end - at >= 5 && at[0] == 0xca) {
			value = (double)float_of(big_endian_4(at + 1));
			size = 5;
		} else {
			cop_wire_cursor one = { at, end };
			err = number(&one, &value, &size);
			if (err != COP_OK)
				break;
		}
		if (!(fabs(value) <= (double)FLT_MAX)) {
			err = COP_ENONFINITE;
			break;
		}
		out[i] = (float)value;
		at += size;
	}
	cursor->at = at;
	*bad = i;
	return err;
}

cop_err cop_wire_cursor_packed(const uint8_t *bytes, float *out, size_t count, size_t *bad)
{
	if (count != 0)
		memcpy(out, bytes, count * sizeof *out);
	/* As integers, which every processor compares side by side: beyond FLT_MAX are infinities and NaN. */
	int32_t wrong = 0;
#pragma omp simd reduction(| : wrong)
	for (size_t i = 0; i < count; i++) {
		int32_t word;
		memcpy(&word, &out[i], sizeof word);
		wrong |= (word & 0x7fffffff) > 0x7f7fffff ? -1 : 0;
	}
	*bad = count;
	if (wrong == 0)
		return COP_OK;
	for (*bad = 0; isfinite(out[*bad]);)
		++*bad;
	return COP_ENONFINITE;
}

cop_err cop_wire_cursor_skip(cop_wire_cursor *cursor, unsigned depth)
{
	COP_ASSERT(depth <= COP_WIRE_DEPTH);
	uint64_t left[COP_WIRE_DEPTH + 1]; /* values still to come at each level */
	unsigned level = 0;
	cop_wire_cursor at = *cursor;
	left[0] = 1;
	for (;;) {
		while (left[level] == 0) {
			if (level == 0) {
				*cursor = at;
				return COP_OK;
			}
			level--;
		}
		left[level]--;
		if (at.end - at.at >= 9 && at.at[0] == 0xcb) { /* the usual element, without the general way */
			at.at += 9;
			continue;
		}
		head h;
		cop_err err = head_read(&at, &h);
		if (err != COP_OK)
			return err;
		at.at += h.size;
		if (h.type == COP_WIRE_TYPE_ARRAY || h.type == COP_WIRE_TYPE_MAP) {
			if (level == depth)
				return COP_EFORMAT;
			left[++level] = h.type == COP_WIRE_TYPE_MAP ? 2 * h.word : h.word;
		} else if (h.type >= COP_WIRE_TYPE_STRING) {
			at.at += h.word;
		}
	}
}
