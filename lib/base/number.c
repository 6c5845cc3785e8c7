/* Up to 19 digits are gathered in an integer. When it is at most 2^53 and the power of ten at most 22, both are exact
 * doubles and one multiplication or division rounds once, hence correctly (Clinger, 1990). Up to 2^64 and a power of 27
 * the same is done with the 64 bits of a long double, where there is one; the result's rounding to 53 bits is right
 * unless it lies halfway between two doubles. All else goes to strtod.
 * Before any of this the usual short numbers are tried (number_short.h). */
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
#include "base/number_short.h"

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

/* The end of a text is brought to where enough can be read. */
static __attribute__((noinline)) const char *scan_rest(const char *text, const char *end, double *value)
{
	char rest[COP_NUMBER_SHORT_BYTES] = { 0 };
	memcpy(rest, text, (size_t)(end - text));
	const char *stop = cop_number_short_scan(rest, value);
	return stop != NULL ? text + (stop - rest) : scan_any(text, end, value);
}

const char *cop_number_scan(const char *text, const char *end, double *value)
{
	if (end - text < COP_NUMBER_SHORT_BYTES)
		return scan_rest(text, end, value);
	const char *stop = cop_number_short_scan(text, value);
	return stop != NULL ? stop : scan_any(text, end, value);
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
