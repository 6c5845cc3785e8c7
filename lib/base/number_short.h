/* base/number_short.h: the usual decimal numbers, read without a branch on their lengths. For inner loops; number.c
 * reads the others.
 *
 * At most 8 digits on either side of the point, 15 bytes in all, no plus and no exponent. The digits make an integer
 * below 2^53, so that one division by an exact power of ten rounds once, hence correctly. Only the places of the bytes
 * that are no digits lie between one number of a text and the next: what the digits spell is worked out beside that.
 * Any thread. */
#ifndef COP_BASE_NUMBER_SHORT_H
#define COP_BASE_NUMBER_SHORT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define COP_NUMBER_SHORT_LOOK  16 /* bytes in which the number must end */
#define COP_NUMBER_SHORT_BYTES 25 /* that must be readable */

static inline uint64_t cop_number_short_load(const char *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof word);
	return word;
}

/* Bit i of the lower 16: byte i is no digit. */
static inline unsigned cop_number_short_other_bytes(const char *text)
{
#ifdef __SSE2__
	__m128i digits = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)text), _mm_set1_epi8('0'));
	__m128i small = _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits);
	return (unsigned)_mm_movemask_epi8(small) ^ 0xffff;
#else
	unsigned others = 0;
	for (unsigned i = 0; i < COP_NUMBER_SHORT_LOOK; i++)
		others |= (unsigned)((unsigned char)(text[i] - '0') > 9) << i;
	return others;
#endif
}

/* The number that the word's first `count` bytes spell, all digits, count at most 8: neighbours are joined to two
 * digits, those to four, those to eight. */
static inline uint64_t cop_number_short_digits(uint64_t word, unsigned count)
{
	uint64_t x = count == 0 ? 0 : (word ^ UINT64_C(0x3030303030303030)) << (64 - 8 * count);
	x = (x * 10 + (x >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x * 100 + (x >> 16)) & UINT64_C(0x0000ffff0000ffff);
	return (x * 10000 + (x >> 32)) & UINT32_MAX;
}

/* The number at the start of text, of which COP_NUMBER_SHORT_BYTES can be read; where it ended, NULL: none, or one
 * of another form (*value is unset then). */
static inline __attribute__((always_inline)) const char *cop_number_short_scan(const char *text, double *value)
{
	static const uint64_t whole[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000 };
	/* Signs follow no pattern: no branch on them. */
	static const double power[2][9] = { { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8 },
		{ -1e0, -1e1, -1e2, -1e3, -1e4, -1e5, -1e6, -1e7, -1e8 } };
	unsigned minus = *text == '-';
	unsigned others = (cop_number_short_other_bytes(text) | 1u << COP_NUMBER_SHORT_LOOK) & ~minus;
	unsigned point = (unsigned)__builtin_ctz(others);
	unsigned before = point - minus;
	if (text[point] != '.') { /* a branch that is predicted well: columns of integers need no more than this */
		if (point >= COP_NUMBER_SHORT_LOOK || before > 8 || before == 0 || (text[point] | 0x20) == 'e')
			return NULL;
		*value = (double)(int64_t)cop_number_short_digits(cop_number_short_load(text + minus), before) *
		         power[minus][0];
		return text + point;
	}
	unsigned end = (unsigned)__builtin_ctz((others & (others - 1)) | 1u << COP_NUMBER_SHORT_LOOK);
	unsigned behind = end - point - 1;
	if (end >= COP_NUMBER_SHORT_LOOK || before > 8 || behind > 8 || before + behind == 0 ||
	        (text[end] | 0x20) == 'e')
		return NULL;
	/* Fewer than COP_NUMBER_SHORT_LOOK digits: below 2^53. */
	uint64_t mantissa = cop_number_short_digits(cop_number_short_load(text + minus), before) * whole[behind] +
	                    cop_number_short_digits(cop_number_short_load(text + point + 1), behind);
	*value = (double)(int64_t)mantissa / power[minus][behind];
	return text + end;
}

#endif
