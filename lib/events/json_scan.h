/* events/json_scan.h: one JSON text (RFC 8259) read value by value, in one pass, without a tree and without memory.
 *
 * For logs of events, which are read at hundreds of megabytes a second: a tree of every line, as base/json makes it, is
 * many times too slow for that. Everything small (configuration, status, models' descriptions) stays with base/json.
 *
 * Sticky: after the first fault every call answers "nothing more" and one check of `err` at the end tells. The text is
 * never written to, so a place in it can be kept and returned to. Names inside an object may be repeated. Bytes above
 * 127 are taken as they are. No state but the struct's: any thread.
 *
 *     for (cop_json_scan_open(&s); cop_json_scan_member(&s, &name);)
 *         if (cop_json_scan_is(&name, "p"))
 *             cop_json_scan_number(&s, &p);
 *         else
 *             cop_json_scan_skip(&s); */
#ifndef COP_EVENTS_JSON_SCAN_H
#define COP_EVENTS_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"

/* How deep objects and arrays may lie in one another. */
#define COP_JSON_SCAN_DEPTH 64

typedef enum cop_json_scan_type {
	COP_JSON_SCAN_NONE = 0, /* a fault, or no value stands here */
	COP_JSON_SCAN_NULL,
	COP_JSON_SCAN_BOOL,
	COP_JSON_SCAN_NUMBER,
	COP_JSON_SCAN_STRING,
	COP_JSON_SCAN_ARRAY,
	COP_JSON_SCAN_OBJECT,
} cop_json_scan_type;

/* What stands between the quotes: a view of the text. */
typedef struct cop_json_scan_span {
	const char *at;
	size_t length;
	bool escaped; /* holds backslashes: cop_json_scan_decode gives what they mean */
} cop_json_scan_span;

typedef struct cop_json_scan {
	const char *at; /* the next byte */
	const char *start, *end;
	unsigned depth;
	bool fresh; /* just inside an object or array: no comma yet */
	cop_err err;
	size_t column;  /* of the fault, from 1 */
	char what[160]; /* the fault: what is wrong and what was expected */
} cop_json_scan;

/* text[0, length) is kept, and text[length] must be 0. */
void cop_json_scan_init(cop_json_scan *scan, const char *text, size_t length);

/* The kind of the value that comes next, by its first byte; COP_JSON_SCAN_NONE and a fault when none does. */
cop_json_scan_type cop_json_scan_kind(cop_json_scan *scan);

/* The next value must be of that kind: false and a fault otherwise. COP_EFORMAT; COP_ENONFINITE for NaN, Infinity and
 * numbers beyond the largest double. */
bool cop_json_scan_string(cop_json_scan *scan, cop_json_scan_span *out);
bool cop_json_scan_number(cop_json_scan *scan, double *out);
bool cop_json_scan_bool(cop_json_scan *scan, bool *out);
bool cop_json_scan_null(cop_json_scan *scan);

/* Enters the object or array that comes next. Deeper than COP_JSON_SCAN_DEPTH: COP_EFORMAT. */
bool cop_json_scan_open(cop_json_scan *scan);
/* In an object: the next member's name, its value comes next. False: the object is over and left (or a fault). */
bool cop_json_scan_member(cop_json_scan *scan, cop_json_scan_span *name);
/* In an array: another value comes next. False: the array is over and left (or a fault). */
bool cop_json_scan_element(cop_json_scan *scan);

/* Passes over one value of any kind; checked as strictly as one that is read, but for its escapes' surrogates. */
bool cop_json_scan_skip(cop_json_scan *scan);
/* Nothing but white space may be left: false and a fault otherwise. */
bool cop_json_scan_finish(cop_json_scan *scan);

/* A fault of the caller's, at `at` in the text (NULL: here), unless there is one already. Text beyond the room is cut.
 * Always false. */
bool cop_json_scan_fail(cop_json_scan *scan, const char *at, cop_err err, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* Same bytes as the word. An escaped one is never the same. */
static inline bool cop_json_scan_is(const cop_json_scan_span *text, const char *word)
{
	size_t length = strlen(word); /* known when compiled */
	return text->length == length && !text->escaped && memcmp(text->at, word, length) == 0;
}
/* The meaning in UTF-8 into out (at least text->length bytes). False and a fault: half a surrogate pair, or \u0000. */
bool cop_json_scan_decode(cop_json_scan *scan, const cop_json_scan_span *text, char *out, size_t *length);

#endif
