/* Up to 19 digits are gathered in an integer. When it is at most 2^53 and the power of ten at most 22, both are exact
 * doubles and one multiplication or division rounds once, hence correctly (Clinger, 1990). All else goes to strtod. */
#include "base/number.h"

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

/* Reads [e [+-] digits] at `at`; NULL when malformed. */
static const char *scan_exponent(scan *s, const char *at, const char *end)
{
	if (at == end || (*at != 'e' && *at != 'E'))
		return at;
	at++;
	bool minus = at < end && *at == '-';
	if (at < end && (*at == '-' || *at == '+'))
		at++;
	if (at == end || !is_digit(*at))
		return NULL;
	int value = 0;
	for (; at < end && is_digit(*at); at++)
		if (value < MAX_EXPONENT)
			value = value * 10 + (*at - '0');
	s->exponent += minus ? -value : value;
	return at;
}

static bool scan_number(scan *s, const char *at, const char *end)
{
	if (at < end && (*at == '-' || *at == '+'))
		s->negative = *at++ == '-';
	for (; at < end && is_digit(*at); at++)
		gather(s, *at, false);
	if (at < end && *at == '.')
		for (at++; at < end && is_digit(*at); at++)
			gather(s, *at, true);
	if (!s->any)
		return false;
	at = scan_exponent(s, at, end);
	return at == end;
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

cop_err cop_number_parse(const char *text, size_t length, double *value)
{
	*value = 0;
	scan s = { 0 };
	if (length > COP_NUMBER_MAX)
		return COP_EFORMAT;
	if (!scan_number(&s, text, text + length))
		return is_nonfinite_word(text, length) ? COP_ENONFINITE : COP_EFORMAT;
	double result;
	if (!s.inexact && s.mantissa <= MAX_EXACT && s.exponent >= -MAX_POWER && s.exponent <= MAX_POWER) {
		result = (double)s.mantissa;
		result = s.exponent < 0 ? result / powers[-s.exponent] : result * powers[s.exponent];
		result = s.negative ? -result : result;
	} else {
		result = by_strtod(text, length);
		if (!isfinite(result))
			return COP_ENONFINITE;
	}
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
