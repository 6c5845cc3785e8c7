/* Up to 19 digits are gathered in an integer. When it is at most 2^53 and the power of ten at most 22, both are exact
 * doubles and one multiplication or division rounds once, hence correctly (Clinger, 1990). Up to 2^64 and a power of 27
 * the same is done with the 64 bits of a long double, where there is one; the result's rounding to 53 bits is right
 * unless it lies halfway between two doubles. All else goes to strtod.
 * Most numbers have at most 7 digits on each side of the point: these are read eight bytes at a time. */
#include "base/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/assert.h"

#define MAX_DIGITS   19
#define MAX_EXACT    (UINT64_C(1) << 53)
#define MAX_POWER    22
#define MAX_EXPONENT 100000 /* further digits of an exponent change nothing */

static const double powers[MAX_POWER + 1] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
	1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

typedef struct scan {
	uint64_t mantissa;
	int digits;   /* significant ones gathered in mantissa */
	int exponent; /* of ten */
	bool negative;
	bool inexact; /* digits were left out */
	bool any;
} scan;

static bool is_digit(char c) { return (unsigned char)(c - '0') <= 9; }

static void gather(scan *s, char c, bool fraction)
{
	s->any = true;
	if (s->digits < MAX_DIGITS) {
		s->mantissa = s->mantissa * 10 + (uint64_t)(c - '0');
		s->digits += s->mantissa != 0;
		s->exponent -= fraction;
	} else {
		s->inexact |= c != '0';
		s->exponent += !fraction;
	}
}

/* Reads [e [+-] digits] at `at`; without digits it is not part of the number. */
static const char *scan_exponent(scan *s, const char *at, const char *end)
{
	const char *before = at;
	if (at == end || (*at != 'e' && *at != 'E'))
		return at;
	at++;
	bool minus = at < end && *at == '-';
	if (at < end && (*at == '-' || *at == '+'))
		at++;
	if (at == end || !is_digit(*at))
		return before;
	int value = 0;
	for (; at < end && is_digit(*at); at++)
		if (value < MAX_EXPONENT)
			value = value * 10 + (*at - '0');
	s->exponent += minus ? -value : value;
	return at;
}

/* Where the number ends; NULL: there is none. */
static const char *scan_number(scan *s, const char *at, const char *end)
{
	if (at < end && (*at == '-' || *at == '+'))
		s->negative = *at++ == '-';
	for (; at < end && is_digit(*at); at++)
		gather(s, *at, false);
	if (at < end && *at == '.')
		for (at++; at < end && is_digit(*at); at++)
			gather(s, *at, true);
	return s->any ? scan_exponent(s, at, end) : NULL;
}

/* glibc answers with its constant "C" locale: nothing is allocated, so this cannot fail. */
static locale_t c_locale(void)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	COP_ASSERT(c != (locale_t)0);
	return c;
}

static double by_strtod(const char *text, size_t length)
{
	char copy[COP_NUMBER_MAX + 1];
	memcpy(copy, text, length);
	copy[length] = '\0';
	locale_t c = c_locale();
	double value = strtod_l(copy, NULL, c);
	freelocale(c);
	return value;
}

static bool is_nonfinite_word(const char *text, size_t length)
{
	static const char *const words[] = { "nan", "inf", "infinity" };
	if (length > 0 && (*text == '-' || *text == '+'))
		text++, length--;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (length == strlen(words[i]) && strncasecmp(text, words[i], length) == 0)
			return true;
	return false;
}

#if LDBL_MANT_DIG == 64
static const long double long_powers[] = { 1e0L, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L, 1e6L, 1e7L, 1e8L, 1e9L, 1e10L, 1e11L,
	1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L,
	1e27L };

/* false: halfway, or too far for exact powers. */
static bool by_long_double(const scan *s, double *value)
{
	const int most = (int)(sizeof long_powers / sizeof *long_powers) - 1;
	if (s->exponent < -most || s->exponent > most)
		return false;
	long double wide = (long double)s->mantissa;
	wide = s->exponent < 0 ? wide / long_powers[-s->exponent] : wide * long_powers[s->exponent];
	uint64_t bits; /* the significand */
	memcpy(&bits, &wide, sizeof bits);
	*value = (double)wide;
	return (bits & 0x7ff) != 0x400;
}
#else
static bool by_long_double(const scan *s, double *value)
{
	(void)s;
	(void)value;
	return false;
}
#endif

/* The scanned number's value; text[0, length) is its text. */
static double value_of(const scan *s, const char *text, size_t length)
{
	double result;
	if (s->inexact)
		return by_strtod(text, length);
	if (s->mantissa <= MAX_EXACT && s->exponent >= -MAX_POWER && s->exponent <= MAX_POWER) {
		result = (double)s->mantissa;
		result = s->exponent < 0 ? result / powers[-s->exponent] : result * powers[s->exponent];
	} else if (!by_long_double(s, &result)) {
		return by_strtod(text, length);
	}
	return s->negative ? -result : result;
}

static const char *scan_any(const char *text, const char *end, double *value)
{
	scan s = { 0 };
	*value = 0;
	if (end - text > COP_NUMBER_MAX + 1)
		end = text + COP_NUMBER_MAX + 1;
	const char *stop = scan_number(&s, text, end);
	if (stop == NULL || stop - text > COP_NUMBER_MAX)
		return NULL;
	*value = value_of(&s, text, (size_t)(stop - text));
	return stop;
}

/* ---- eight bytes at a time ---- */

#define WORD       8
#define FAST_BYTES (1 + 2 * WORD) /* sign, up to 7 digits, point, a word of which up to 7 are digits */
#define EACH(byte) ((byte)*UINT64_C(0x0101010101010101))

static uint64_t load(const char *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof word);
	return word;
}

/* How many of the word's first bytes are digits. A byte that is none may carry into later ones only. */
static unsigned leading_digits(uint64_t word)
{
	uint64_t digits = word ^ EACH('0');
	uint64_t others = ((digits + EACH(0x80 - 10)) | digits) & EACH(0x80);
	return others == 0 ? WORD : (unsigned)__builtin_ctzll(others) / 8;
}

/* The number that the word's first `count` bytes spell, all digits, count < 8: neighbours are joined to two digits,
 * those to four, those to eight. */
static uint64_t digits_value(uint64_t word, unsigned count)
{
	uint64_t x = (word ^ EACH('0')) << 8 << (56 - 8 * count);
	x = (x * 10 + (x >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x * 100 + (x >> 16)) & UINT64_C(0x0000ffff0000ffff);
	return (x * 10000 + (x >> 32)) & UINT32_MAX;
}

const char *cop_number_scan(const char *text, const char *end, double *value)
{
	static const uint64_t whole_powers[WORD] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000 };
	if (end - text < FAST_BYTES)
		return scan_any(text, end, value);
	bool negative = *text == '-';
	const char *at = text + (negative || *text == '+');
	uint64_t word = load(at);
	unsigned before = leading_digits(word);
	unsigned behind = 0;
	if (before == WORD)
		return scan_any(text, end, value);
	uint64_t mantissa = digits_value(word, before);
	at += before;
	if (*at == '.') {
		word = load(at + 1);
		behind = leading_digits(word);
		if (behind == WORD)
			return scan_any(text, end, value);
		mantissa = mantissa * whole_powers[behind] + digits_value(word, behind);
		at += 1 + behind;
	}
	if (before + behind == 0 || (*at | 0x20) == 'e')
		return scan_any(text, end, value);
	double result = (double)(int64_t)mantissa / powers[behind];
	*value = negative ? -result : result;
	return at;
}

cop_err cop_number_parse(const char *text, size_t length, double *value)
{
	*value = 0;
	if (length > COP_NUMBER_MAX)
		return COP_EFORMAT;
	double result;
	const char *stop = cop_number_scan(text, text + length, &result);
	if (stop == NULL || stop != text + length)
		return is_nonfinite_word(text, length) ? COP_ENONFINITE : COP_EFORMAT;
	if (!isfinite(result))
		return COP_ENONFINITE;
	*value = result;
	return COP_OK;
}

static size_t print(double value, int digits, char out[COP_NUMBER_ROOM])
{
	locale_t c = c_locale();
	locale_t before = uselocale(c);
	int length = snprintf(out, COP_NUMBER_ROOM, "%.*g", digits, value);
	(void)uselocale(before);
	freelocale(c);
	return length < 0 ? 0 : (size_t)length;
}

/* ---- the usual numbers without printf ----
 *
 * value = m / 10^k with P significant digits in m, P as printf would be asked for. Of a float, value * 10^k is an exact
 * double for every k here (24 bits and at most 28 of 5^12), so m is what printf rounds to. Of a double it may be off by
 * one; but distinct decimals of 15 digits are distinct doubles, so an m that reads back is the only one. */

typedef struct decimal {
	uint64_t m;
	int k; /* digits behind the point */
} decimal;

/* Exponent of ten of v in [1e-4, 1e15). */
static int exponent_of(double v)
{
	int x = 0;
	if (v >= 1.0) {
		while (v >= powers[x + 1])
			x++;
		return x;
	}
	return v >= 0.1 ? -1 : v >= 0.01 ? -2 : v >= 0.001 ? -3 : -4;
}

static decimal scaled(double v, int k) { return (decimal){ (uint64_t)llrint(v * powers[k]), k }; }

static double read_back(decimal d) { return (double)d.m / powers[d.k]; }

/* As %g writes it: without trailing zeros, and never in the form with an exponent (the caller sees to that). */
static size_t write_decimal(decimal d, bool negative, char out[COP_NUMBER_ROOM])
{
	char digits[24];
	size_t at = sizeof digits;
	size_t used = 0;
	while (d.k > 0 && d.m % 10 == 0) {
		d.m /= 10;
		d.k--;
	}
	for (int written = 0; d.m > 0 || written <= d.k; written++) {
		if (written == d.k && d.k > 0)
			digits[--at] = '.';
		digits[--at] = (char)('0' + d.m % 10);
		d.m /= 10;
	}
	if (negative)
		out[used++] = '-';
	memcpy(out + used, digits + at, sizeof digits - at);
	used += sizeof digits - at;
	out[used] = '\0';
	return used;
}

/* 0: not one of the usual ones. */
static size_t format_usual_float(float value, char out[COP_NUMBER_ROOM])
{
	double v = fabs((double)value);
	if (!((v >= 1e-4 && v < 16777216.0) || v == 0.0)) /* 2^24: up to there no integer goes by a shorter name */
		return 0;
	int x = v == 0.0 ? 0 : exponent_of(v);
	for (int digits = x < 6 ? 6 : x + 1; digits <= 9; digits++) {
		decimal d = scaled(v, digits - 1 - x);
		if ((float)read_back(d) != (float)v)
			continue;
		if (x >= 6 && d.k == 0 && d.m % 10 == 0)
			return 0; /* 1e+06 */
		return write_decimal(d, signbit(value), out);
	}
	return 0;
}

static size_t format_usual(double value, char out[COP_NUMBER_ROOM])
{
	double v = fabs(value);
	if (!((v >= 1e-4 && v < 1e15) || v == 0.0))
		return 0;
	decimal d = scaled(v, 14 - (v == 0.0 ? 0 : exponent_of(v)));
	return read_back(d) == v ? write_decimal(d, signbit(value), out) : 0;
}

/* %g drops trailing zeros, so the first precision at which every shorter decimal survives (15, or 6 for float) is the
 * place to start. */
size_t cop_number_format(double value, char out[COP_NUMBER_ROOM])
{
	double back;
	size_t usual = format_usual(value, out);
	if (usual > 0)
		return usual;
	for (int digits = 15;; digits++) {
		size_t length = print(value, digits, out);
		if (digits == 17 || (cop_number_parse(out, length, &back) == COP_OK && back == value))
			return length;
	}
}

size_t cop_number_format_float(float value, char out[COP_NUMBER_ROOM])
{
	double back;
	size_t usual = format_usual_float(value, out);
	if (usual > 0)
		return usual;
	for (int digits = 6;; digits++) {
		size_t length = print((double)value, digits, out);
		if (digits == 9 || (cop_number_parse(out, length, &back) == COP_OK && (float)back == value))
			return length;
	}
}
