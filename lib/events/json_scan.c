/* The text ends with a zero byte, which no rule of JSON allows anywhere: single bytes need no look at the end. Strings,
 * where most bytes lie, are searched eight at a time: (w - k * 01..01) & ~w & 80..80 marks the bytes of w below k (and,
 * above the first of them, perhaps more, so only the lowest mark counts); equality is that with k = 1 after an xor. */
#include "events/json_scan.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

#define ONES  UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

#define SHOWN 24 /* bytes of a wrong value in a message */

/* Where a scan stands after a fault: every look at the next byte finds the end. */
static const char nothing[1];

static bool is_digit(char c) { return (unsigned char)(c - '0') <= 9; }

static bool is_word(char c) { return is_digit(c) || ((unsigned char)((c | 32) - 'a') < 26) || c == '_'; }

void cop_json_scan_init(cop_json_scan *scan, const char *text, size_t length)
{
	memset(scan, 0, sizeof *scan);
	scan->at = scan->start = text;
	scan->end = text + length;
}

bool cop_json_scan_fail(cop_json_scan *scan, const char *at, cop_err err, const char *format, ...)
{
	if (scan->err != COP_OK)
		return false;
	scan->err = err;
	scan->column = (size_t)((at == NULL ? scan->at : at) - scan->start) + 1;
	va_list args;
	va_start(args, format);
	(void)vsnprintf(scan->what, sizeof scan->what, format, args);
	va_end(args);
	scan->at = scan->end = nothing; /* is all that is read from now on */
	return false;
}

/* Names what stands here instead of what was expected. */
__attribute__((noinline)) static bool unexpected(cop_json_scan *scan, const char *expected)
{
	const char *at = scan->at;
	if (scan->err != COP_OK)
		return false;
	if (at >= scan->end)
		return cop_json_scan_fail(scan, at, COP_EFORMAT, "the text ends here; expected %s", expected);
	if (*at == '"')
		return cop_json_scan_fail(scan, at, COP_EFORMAT, "text; expected %s", expected);
	if (*at > ' ' && *at < 127) {
		int length = 1;
		if (is_word(*at))
			while (length < SHOWN && at + length < scan->end && is_word(at[length]))
				length++;
		return cop_json_scan_fail(scan, at, COP_EFORMAT, "'%.*s'; expected %s", length, at, expected);
	}
	return cop_json_scan_fail(
	        scan, at, COP_EFORMAT, "byte %u; expected %s", (unsigned)(unsigned char)*at, expected);
}

static inline const char *skip_space(const char *at)
{
	while (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')
		at++;
	return at;
}

/* The next byte that is not white space; 0 at the end and after a fault. */
static inline char next_byte(cop_json_scan *scan)
{
	if ((unsigned char)*scan->at <= ' ')
		scan->at = skip_space(scan->at);
	return *scan->at;
}

static bool word_here(const cop_json_scan *scan, const char *word)
{
	size_t length = strlen(word);
	return (size_t)(scan->end - scan->at) >= length && memcmp(scan->at, word, length) == 0 &&
	       !is_word(scan->at[length]);
}

/* A number that JSON does not have; a message that names it helps more than one about a stray letter. */
static bool not_finite_here(cop_json_scan *scan)
{
	static const char *const words[] = { "NaN", "nan", "Infinity", "-Infinity", "inf", "-inf", "Inf", "-Inf",
		"-NaN", "-nan" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (word_here(scan, words[i]))
			return !cop_json_scan_fail(
			        scan, NULL, COP_ENONFINITE, "%s is not finite; expected a finite number", words[i]);
	return false;
}

cop_json_scan_type cop_json_scan_kind(cop_json_scan *scan)
{
	char c = next_byte(scan);
	switch (c) {
	case '{':
		return COP_JSON_SCAN_OBJECT;
	case '[':
		return COP_JSON_SCAN_ARRAY;
	case '"':
		return COP_JSON_SCAN_STRING;
	case 't':
	case 'f':
		return COP_JSON_SCAN_BOOL;
	case 'n':
		if (!word_here(scan, "nan"))
			return COP_JSON_SCAN_NULL;
		break;
	default:
		if (is_digit(c) || c == '-')
			return COP_JSON_SCAN_NUMBER;
	}
	if (!not_finite_here(scan))
		(void)unexpected(scan, "a value");
	return COP_JSON_SCAN_NONE;
}

/* The first of: a quote, a backslash, a control character; or the end. */
static inline const char *string_stop(const char *at, const char *end)
{
	for (; end - at >= 8; at += 8) {
		uint64_t w;
		memcpy(&w, at, sizeof w);
		uint64_t quote = w ^ ONES * '"';
		uint64_t slash = w ^ ONES * '\\';
		uint64_t marks = ((quote - ONES) & ~quote) | ((slash - ONES) & ~slash) | ((w - ONES * ' ') & ~w);
		marks &= HIGHS;
		if (marks != 0)
			return at + ((unsigned)__builtin_ctzll(marks) >> 3);
	}
	while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= ' ')
		at++;
	return at;
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	c = (char)(c | 32);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hexadecimal digits; -1 when they are none. A zero byte stops it before the end is passed. */
static int hex_word(const char *at)
{
	int word = 0;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(at[i]);
		if (digit < 0)
			return -1;
		word = word * 16 + digit;
	}
	return word;
}

/* Behind the escape that begins at `at`; NULL when it is none. */
static const char *pass_escape(const char *at)
{
	switch (at[1]) {
	case '"':
	case '\\':
	case '/':
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't':
		return at + 2;
	case 'u':
		return hex_word(at + 2) >= 0 ? at + 6 : NULL;
	default:
		return NULL;
	}
}

/* The string whose quote stands here. */
static inline bool scan_text(cop_json_scan *scan, cop_json_scan_span *out)
{
	const char *first = scan->at + 1;
	const char *stop = string_stop(first, scan->end);
	out->escaped = false;
	while (*stop != '"') {
		const char *next = *stop == '\\' ? pass_escape(stop) : NULL;
		if (next == NULL) {
			*out = (cop_json_scan_span){ first, 0, false };
			scan->at = stop;
			if (stop >= scan->end)
				return unexpected(scan, "the end of a string");
			return *stop == '\\' ? cop_json_scan_fail(scan, stop, COP_EFORMAT,
			                               "an unknown escape; expected one of \\\" \\\\ \\/ \\b \\f "
			                               "\\n \\r \\t \\u and four hex digits")
			                     : unexpected(scan, "no control character in a string");
		}
		out->escaped = true;
		stop = string_stop(next, scan->end);
	}
	out->at = first;
	out->length = (size_t)(stop - first);
	scan->at = stop + 1;
	return true;
}

bool cop_json_scan_string(cop_json_scan *scan, cop_json_scan_span *out)
{
	if (next_byte(scan) == '"')
		return scan_text(scan, out);
	*out = (cop_json_scan_span){ scan->at, 0, false };
	return unexpected(scan, "text in quotes");
}

/* Behind the number that begins at `at` by JSON's grammar; NULL when none does. */
static const char *pass_number(const char *at)
{
	at += *at == '-';
	if (!is_digit(*at))
		return NULL;
	const char *first = at;
	while (is_digit(*at))
		at++;
	if (*first == '0' && at - first > 1)
		return NULL;
	if (*at == '.') {
		if (!is_digit(at[1]))
			return NULL;
		for (at++; is_digit(*at);)
			at++;
	}
	if (*at == 'e' || *at == 'E') {
		at++;
		at += *at == '+' || *at == '-';
		if (!is_digit(*at))
			return NULL;
		while (is_digit(*at))
			at++;
	}
	return is_word(*at) || *at == '.' ? NULL : at;
}

bool cop_json_scan_number(cop_json_scan *scan, double *out)
{
	*out = 0;
	char c = next_byte(scan);
	const char *at = scan->at;
	if (is_digit(c) && !is_word(at[1]) && at[1] != '.') { /* most are one digit */
		*out = c - '0';
		scan->at++;
		return true;
	}
	const char *stop = is_digit(c) || c == '-' ? pass_number(at) : NULL;
	if (stop == NULL)
		return not_finite_here(scan) ? false : unexpected(scan, "a number");
	double value;
	int shown = stop - at < SHOWN ? (int)(stop - at) : SHOWN;
	if (cop_number_scan(at, scan->end, &value) != stop)
		return cop_json_scan_fail(scan, at, COP_EFORMAT, "a number of %zu bytes; expected at most %d",
		        (size_t)(stop - at), COP_NUMBER_MAX);
	if (!isfinite(value))
		return cop_json_scan_fail(scan, at, COP_ENONFINITE,
		        "%.*s is beyond the largest number; expected a finite one", shown, at);
	*out = value;
	scan->at = stop;
	return true;
}

bool cop_json_scan_bool(cop_json_scan *scan, bool *out)
{
	char c = next_byte(scan);
	*out = c == 't';
	if ((c == 't' && word_here(scan, "true")) || (c == 'f' && word_here(scan, "false"))) {
		scan->at += c == 't' ? 4 : 5;
		return true;
	}
	*out = false;
	return unexpected(scan, "true or false");
}

bool cop_json_scan_null(cop_json_scan *scan)
{
	if (next_byte(scan) != 'n' || !word_here(scan, "null"))
		return unexpected(scan, "null");
	scan->at += 4;
	return true;
}

bool cop_json_scan_open(cop_json_scan *scan)
{
	char c = next_byte(scan);
	if (c != '{' && c != '[')
		return unexpected(scan, "an object or array");
	if (scan->depth == COP_JSON_SCAN_DEPTH)
		return cop_json_scan_fail(scan, NULL, COP_EFORMAT,
		        "objects and arrays lie deeper in one another than %d; expected less", COP_JSON_SCAN_DEPTH);
	scan->at++;
	scan->depth++;
	scan->fresh = true;
	return true;
}

/* In front of the next part of an object or array, or behind its closing byte (false). */
static inline bool next_part(cop_json_scan *scan, char closing, const char *expected)
{
	char c = next_byte(scan);
	if (c == closing) {
		scan->at++;
		scan->depth--;
		scan->fresh = false;
		return false;
	}
	if (scan->fresh) {
		scan->fresh = false;
		return true;
	}
	if (c != ',')
		return unexpected(scan, expected);
	scan->at++;
	return true;
}

bool cop_json_scan_member(cop_json_scan *scan, cop_json_scan_span *name)
{
	*name = (cop_json_scan_span){ scan->at, 0, false };
	if (!next_part(scan, '}', "a comma or }"))
		return false;
	if (next_byte(scan) != '"')
		return unexpected(scan, "a name in quotes");
	if (!scan_text(scan, name))
		return false;
	if (next_byte(scan) != ':')
		return unexpected(scan, "a colon behind the name");
	scan->at++;
	return true;
}

bool cop_json_scan_element(cop_json_scan *scan) { return next_part(scan, ']', "a comma or ]"); }

static bool skip_plain(cop_json_scan *scan, cop_json_scan_type kind)
{
	cop_json_scan_span text;
	bool truth;
	switch (kind) {
	case COP_JSON_SCAN_STRING:
		return scan_text(scan, &text);
	case COP_JSON_SCAN_BOOL:
		return cop_json_scan_bool(scan, &truth);
	case COP_JSON_SCAN_NULL:
		return cop_json_scan_null(scan);
	case COP_JSON_SCAN_NUMBER: {
		const char *stop = pass_number(scan->at);
		if (stop == NULL)
			return not_finite_here(scan) ? false : unexpected(scan, "a number");
		scan->at = stop;
		return true;
	}
	default:
		return false;
	}
}

/* One bit for each level entered here: an object or an array. */
bool cop_json_scan_skip(cop_json_scan *scan)
{
	uint64_t objects = 0;
	unsigned entered = 0;
	for (;;) {
		cop_json_scan_type kind = cop_json_scan_kind(scan);
		if (kind >= COP_JSON_SCAN_ARRAY) {
			if (!cop_json_scan_open(scan))
				return false;
			objects = objects << 1 | (kind == COP_JSON_SCAN_OBJECT);
			entered++;
		} else if (!skip_plain(scan, kind)) {
			return false;
		}
		for (; entered > 0; entered--, objects >>= 1) {
			cop_json_scan_span name;
			if ((objects & 1) != 0 ? cop_json_scan_member(scan, &name) : cop_json_scan_element(scan))
				break;
			if (scan->err != COP_OK)
				return false;
		}
		if (entered == 0)
			return true;
	}
}

bool cop_json_scan_finish(cop_json_scan *scan)
{
	(void)next_byte(scan);
	if (scan->err != COP_OK)
		return false;
	return scan->at == scan->end || unexpected(scan, "nothing more");
}

static char *put_utf8(char *to, unsigned code)
{
	if (code < 0x80) {
		*to++ = (char)code;
	} else if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
		*to++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	} else {
		*to++ = (char)(0xf0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 0x3f));
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	}
	return to;
}

/* The character of the \u at *at, which moves behind it (and its other half); 0: none, or one that cannot be. */
static unsigned decode_code(const char **at, const char *end)
{
	unsigned code = (unsigned)hex_word(*at + 2);
	*at += 6;
	if (code < 0xd800 || code > 0xdfff)
		return code;
	if (code > 0xdbff || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
		return 0;
	unsigned low = (unsigned)hex_word(*at + 2);
	*at += 6;
	return low < 0xdc00 || low > 0xdfff ? 0 : 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
}

static char simple_escape(char c)
{
	static const char from[] = "bfnrt";
	static const char to[] = "\b\f\n\r\t";
	const char *at = memchr(from, c, sizeof from - 1);
	return at == NULL ? c : to[at - from];
}

bool cop_json_scan_decode(cop_json_scan *scan, const cop_json_scan_span *text, char *out, size_t *length)
{
	const char *end = text->at + text->length;
	char *to = out;
	*length = 0;
	if (scan->err != COP_OK)
		return false;
	for (const char *at = text->at; at < end;) {
		if (*at != '\\') {
			*to++ = *at++;
		} else if (at[1] != 'u') {
			*to++ = simple_escape(at[1]);
			at += 2;
		} else {
			const char *escape = at;
			unsigned code = decode_code(&at, end);
			if (code == 0)
				return cop_json_scan_fail(scan, escape, COP_EFORMAT,
				        "\\%.5s is no character; expected one (of two halves above \\uffff)",
				        escape + 1);
			to = put_utf8(to, code);
		}
	}
	*length = (size_t)(to - out);
	return true;
}
