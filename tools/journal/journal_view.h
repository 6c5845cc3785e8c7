/* tools/journal/journal_view.h: what a journal record holds, whatever model it is of, for `coppice journal`.
 *
 * Bodies are read without knowing the model's shape: the few fields that are shown or filtered by, and the whole body
 * as JSON. Views point into the record's body. */
#ifndef COP_TOOLS_JOURNAL_JOURNAL_VIEW_H
#define COP_TOOLS_JOURNAL_JOURNAL_VIEW_H

#include <stdbool.h>

#include "base/bytes.h"
#include "events/event_id.h"
#include "store/journal_segment.h"
#include "wire/wire_named.h"

#define COP_JOURNAL_VIEW_TIME 40  /* room for a time */
#define COP_JOURNAL_VIEW_ID   200 /* room for an id */

/* The names of the record types, in the order of their numbers, from 1 on; NULL at the end. */
extern const char *const cop_journal_view_types[];
/* Above the last number that has a name. */
#define COP_JOURNAL_VIEW_TYPES 11

typedef struct cop_journal_view {
	bool malformed;    /* the body is no map, or a field has the wrong type; the other members are then undefined */
	const char *model; /* borrowed, not terminated; NULL: the record is of none */
	size_t model_length;
	bool has_time, has_arm, has_value, has_p, has_own, has_count;
	double time;           /* seconds since 1970 */
	cop_event_id id, unit; /* kind 0: none */
	uint64_t arm;
	double value;
	double p;
	double own;     /* an existing system decided, or a baseline: the model's own probability of the arm */
	bool split;     /* there was a control group */
	uint64_t limit; /* what decided about p beside the policy (cop_wire_limit) */
	double loss[2];
	unsigned losses;
	cop_wire_named named; /* losses; borrowed */
	uint64_t count;
	bool deferred;
	bool has_text;
	size_t text_length;    /* of a configuration */
	const uint8_t *models; /* of a configuration; borrowed */
	size_t models_length;
} cop_journal_view;

void cop_journal_view_read(const cop_journal_record *record, cop_journal_view *out);

/* "2026-01-31T12:00:00.000001Z"; plain seconds outside the years 0 to 9999. */
void cop_journal_view_time(double seconds, char out[COP_JOURNAL_VIEW_TIME]);
/* Strings as they are (printable), integers in decimal, binary as hex digits; "-" for none. */
void cop_journal_view_id(const cop_event_id *id, char out[COP_JOURNAL_VIEW_ID]);
/* Whether the id is one that a person writes so. */
bool cop_journal_view_id_is(const cop_event_id *id, const char *text);

/* Puts the record as one JSON object on one line without its end: sequence, type and every key of the body, in which
 * packed `x` and `e` are arrays of numbers. A body that is no map becomes the key `malformed`, hex digits. scratch is
 * cleared. Failure: COP_ENOMEM. */
COP_CHECK cop_err cop_journal_view_json(const cop_journal_record *record, cop_bytes *scratch, cop_bytes *out);

#endif
