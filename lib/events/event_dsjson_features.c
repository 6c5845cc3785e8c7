/* An object's members are features of the namespace that bears the object's name, whatever it lies in; those of the
 * event itself and of a candidate are of the default one. A number is a feature with that value, true one with 1, text
 * the feature name + text with 1 (blanks, bars and colons of the text become underscores); false, null and zeros are
 * none. An array's objects are of the namespace that bears its name, its numbers are unnamed features there. Of names
 * that begin with an underscore only "_text", whose words are features, holds any. All as Vowpal Wabbit does.
 *
 * The space makes one row at a time. So the shared row is made where "_multi" begins, which is mostly the last member;
 * when a shared feature comes after it, the line is read again with the candidates left for the end. */
#include "events/event_dsjson_private.h"

#include <string.h>

#include "base/mem.h"

#define SHOWN 40

/* Where an object lies. */
typedef enum place {
	EVENT,
	CANDIDATE,
	INSIDE, /* of either */
} place;

typedef struct names {
	const char *name;
	size_t length;
	size_t id; /* of the namespace; a new one for each */
	size_t ordinal;
} names;

static void read_object(cop_dsjson_features *f, names *space, place where);

static names enter(cop_dsjson_features *f, const char *name, size_t length)
{
	return (names){ name, length, ++f->spaces, 0 };
}

/* Tells the space which namespace the next feature is of. False: it may have none, see `late`. */
static inline bool use(cop_dsjson_features *f, const names *space)
{
	if (f->shared_done && !f->multi) {
		f->late = true;
		return cop_json_scan_fail(f->scan, NULL, COP_EFORMAT, "a shared feature behind the candidates");
	}
	if (f->active != space->id) {
		f->active = space->id;
		cop_feature_space_namespace(f->space, space->name, space->length, 1);
	}
	return true;
}

/* The text as it is meant: itself, or decoded into room that lasts as long as the line. */
static bool plain(cop_dsjson_features *f, const cop_json_scan_span *text, const char **at, size_t *length)
{
	*at = text->at;
	*length = text->length;
	if (!text->escaped)
		return true;
	*at = f->names + f->names_used;
	if (!cop_json_scan_decode(f->scan, text, f->names + f->names_used, length))
		return false;
	f->names_used += *length;
	return true;
}

/* The feature name + text. */
static void put_text(cop_dsjson_features *f, const names *space, const char *name, size_t length)
{
	cop_json_scan_span text;
	if (!cop_json_scan_string(f->scan, &text))
		return;
	size_t more = text.length;
	memcpy(f->word, name, length);
	if (!text.escaped)
		memcpy(f->word + length, text.at, more);
	else if (!cop_json_scan_decode(f->scan, &text, f->word + length, &more))
		return;
	for (char *at = f->word + length, *end = at + more; at < end; at++)
		if (*at == ' ' || *at == '\t' || *at == '|' || *at == ':')
			*at = '_';
	if (use(f, space))
		cop_feature_space_put(f->space, f->word, length + more, 1);
}

/* "_text": every word is a feature. */
static void put_words(cop_dsjson_features *f, const names *space)
{
	cop_json_scan_span text;
	size_t length;
	if (!cop_json_scan_string(f->scan, &text) || !cop_json_scan_decode(f->scan, &text, f->word, &length))
		return;
	char *start = f->word;
	for (char *at = start, *end = at + length; at <= end; at++) {
		if (at < end && (*at == ':' || *at == '|'))
			*at = '_';
		if (at < end && *at != ' ' && *at != '\t')
			continue;
		if (at > start && use(f, space))
			cop_feature_space_put(f->space, start, (size_t)(at - start), 1);
		start = at + 1;
	}
}

static void put_number(cop_dsjson_features *f, const names *space, const char *name, size_t length)
{
	double value;
	if (cop_json_scan_number(f->scan, &value) && use(f, space))
		cop_feature_space_put(f->space, name, length, value);
}

static void put_bool(cop_dsjson_features *f, const names *space, const char *name, size_t length)
{
	bool value;
	if (cop_json_scan_bool(f->scan, &value) && value && use(f, space))
		cop_feature_space_put(f->space, name, length, 1);
}

static void read_array(cop_dsjson_features *f, names *space)
{
	for ((void)cop_json_scan_open(f->scan); cop_json_scan_element(f->scan);) {
		double value;
		switch (cop_json_scan_kind(f->scan)) {
		case COP_JSON_SCAN_OBJECT:
			read_object(f, space, INSIDE);
			break;
		case COP_JSON_SCAN_NUMBER:
			if (cop_json_scan_number(f->scan, &value) && use(f, space))
				cop_feature_space_put_unnamed(f->space, space->ordinal, value);
			space->ordinal++;
			break;
		case COP_JSON_SCAN_NULL:
			(void)cop_json_scan_null(f->scan);
			break;
		default:
			(void)cop_json_scan_fail(
			        f->scan, NULL, COP_EFORMAT, "expected numbers or objects in a list of features");
		}
	}
}

/* The row that the space holds. */
static bool end_row(cop_dsjson_features *f, cop_feature_span *span, size_t *features)
{
	if (f->err != COP_OK || f->scan->err != COP_OK)
		return false;
	f->err = cop_feature_space_end(f->space, &f->room, span, features);
	return f->err == COP_OK;
}

static bool candidate_room(cop_dsjson_features *f)
{
	if (f->count < f->capacity)
		return true;
	if (f->count == COP_DSJSON_CANDIDATES_MAX)
		return cop_json_scan_fail(f->scan, NULL, COP_EFORMAT, "more candidates than %d; expected no more",
		        COP_DSJSON_CANDIDATES_MAX);
	size_t capacity = f->capacity == 0 ? 16 : f->capacity * 2;
	size_t spans = f->capacity == 0 ? 0 : f->capacity + 1;
	cop_feature_span *span = cop_mem_resize(f->span, spans, capacity + 1, sizeof *span);
	if (span != NULL)
		f->span = span;
	cop_row *rows = cop_mem_resize(f->rows, f->capacity, capacity, sizeof *rows);
	if (rows != NULL)
		f->rows = rows;
	if (span == NULL || rows == NULL) {
		f->err = COP_ENOMEM;
		return cop_json_scan_fail(f->scan, NULL, COP_ENOMEM, "out of memory");
	}
	f->capacity = capacity;
	return true;
}

static void end_shared(cop_dsjson_features *f)
{
	f->shared_done = true;
	if (candidate_room(f))
		(void)end_row(f, &f->span[0], &f->shared_features);
}

/* The list that comes next. */
static void read_candidates(cop_dsjson_features *f)
{
	const char *at = f->scan->at;
	f->multi = true;
	for ((void)cop_json_scan_open(f->scan); cop_json_scan_element(f->scan) && candidate_room(f);) {
		if (cop_json_scan_kind(f->scan) != COP_JSON_SCAN_OBJECT) {
			(void)cop_json_scan_fail(f->scan, NULL, COP_EFORMAT, "expected an object for each candidate");
			return;
		}
		names space = enter(f, "", 0);
		size_t own = 0;
		f->active = 0;
		cop_feature_space_begin_candidate(f->space);
		read_object(f, &space, CANDIDATE);
		if (!end_row(f, &f->span[1 + f->count], &own))
			return;
		f->count++;
		f->own_features += own;
	}
	if (f->count == 0)
		(void)cop_json_scan_fail(f->scan, at, COP_EFORMAT, "no candidates; expected at least one");
	f->multi = false;
}

static void meet_candidates(cop_dsjson_features *f, const cop_json_scan_span *name)
{
	if (f->shared_done || f->multi_scan.at != NULL) {
		(void)cop_json_scan_fail(
		        f->scan, name->at, COP_EFORMAT, "\"_multi\" stands here again; expected it once");
	} else if (cop_json_scan_kind(f->scan) != COP_JSON_SCAN_ARRAY) {
		(void)cop_json_scan_fail(f->scan, NULL, COP_EFORMAT, "expected a list of candidates");
	} else if (f->last_multi) {
		f->multi_scan = *f->scan;
		(void)cop_json_scan_skip(f->scan);
	} else {
		end_shared(f);
		read_candidates(f);
	}
}

/* A name that begins with an underscore. */
static void read_special(cop_dsjson_features *f, const names *space, const cop_json_scan_span *name, place where)
{
	if (cop_json_scan_is(name, "_text")) {
		put_words(f, space);
	} else if (cop_json_scan_is(name, "_multi")) {
		if (where == EVENT)
			meet_candidates(f, name);
		else
			(void)cop_json_scan_fail(f->scan, name->at, COP_EFORMAT,
			        "\"_multi\" inside of features; expected it beside them");
	} else if (cop_json_scan_is(name, "_slots")) {
		(void)cop_json_scan_fail(f->scan, name->at, COP_EFORMAT,
		        "multi-slot events (\"_slots\") are not supported; expected one decision");
	} else if (cop_json_scan_is(name, "__aid")) {
		(void)cop_json_scan_fail(f->scan, name->at, COP_EFORMAT,
		        "candidates by reference (\"__aid\") are not supported; expected their features");
	} else if (where != EVENT && name->length >= 6 && memcmp(name->at, "_label", 6) == 0) {
		(void)cop_json_scan_fail(f->scan, name->at, COP_EFORMAT,
		        "a label inside of features; expected it beside them, with \"_labelIndex\"");
	} else if (where != EVENT || cop_dsjson_label_member(f->label, f->scan, name) == COP_DSJSON_NOT_TAKEN) {
		(void)cop_json_scan_skip(f->scan);
	}
}

static void read_member(cop_dsjson_features *f, const names *space, const cop_json_scan_span *name, place where)
{
	const char *at;
	size_t length;
	if (name->length > 0 && name->at[0] == '_') {
		read_special(f, space, name, where);
		return;
	}
	if (!plain(f, name, &at, &length))
		return;
	if (length > 0 && at[0] == '_') {
		(void)cop_json_scan_fail(f->scan, name->at, COP_EFORMAT, "an escaped underscore; expected it plain");
		return;
	}
	names inner;
	switch (cop_json_scan_kind(f->scan)) {
	case COP_JSON_SCAN_STRING:
		put_text(f, space, at, length);
		break;
	case COP_JSON_SCAN_NUMBER:
		put_number(f, space, at, length);
		break;
	case COP_JSON_SCAN_BOOL:
		put_bool(f, space, at, length);
		break;
	case COP_JSON_SCAN_OBJECT:
		inner = enter(f, at, length);
		read_object(f, &inner, INSIDE);
		break;
	case COP_JSON_SCAN_ARRAY:
		inner = enter(f, at, length);
		read_array(f, &inner);
		break;
	default:
		(void)cop_json_scan_null(f->scan);
	}
}

static void read_object(cop_dsjson_features *f, names *space, place where)
{
	cop_json_scan_span name;
	for ((void)cop_json_scan_open(f->scan); cop_json_scan_member(f->scan, &name);)
		read_member(f, space, &name, where);
}

cop_err cop_dsjson_features_begin(cop_dsjson_features *f, size_t length)
{
	if (length > f->length || f->names == NULL) {
		size_t room = f->length * 2 > length ? f->length * 2 : length;
		cop_mem_free(f->names);
		cop_mem_free(f->word);
		f->length = 0;
		f->names = cop_mem_alloc(room + 1, 1);
		f->word = cop_mem_alloc(room + 1, 1);
		if (f->names == NULL || f->word == NULL)
			return COP_ENOMEM;
		f->length = room;
	}
	f->names_used = f->active = f->count = f->shared_features = f->own_features = 0;
	f->spaces = 1; /* the first is the event's */
	f->err = COP_OK;
	f->shared_done = f->late = f->multi = false;
	f->multi_scan.at = NULL;
	cop_feature_room_clear(&f->room);
	cop_feature_space_begin(f->space);
	return COP_OK;
}

void cop_dsjson_features_context(cop_dsjson_features *f)
{
	names space = { "", 0, 1, 0 };
	read_object(f, &space, EVENT);
}

void cop_dsjson_features_member(cop_dsjson_features *f, const cop_json_scan_span *name)
{
	names space = { "", 0, 1, 0 };
	read_member(f, &space, name, EVENT);
}

static cop_err rows_failed(cop_dsjson_features *f)
{
	if (f->err == COP_EFULL)
		(void)cop_json_scan_fail(f->scan, f->scan->start, COP_EFORMAT, "too many features; expected at most %u",
		        COP_FEATURE_SPACE_MAX_ENTRIES);
	else if (f->err == COP_ENONFINITE)
		(void)cop_json_scan_fail(f->scan, f->scan->start, COP_ENONFINITE,
		        "a feature, or features that add up, beyond 3.4e38; expected finite ones");
	else if (f->err != COP_OK)
		(void)cop_json_scan_fail(f->scan, f->scan->start, COP_EFORMAT, "%s", cop_err_text(f->err));
	return f->err == COP_ENOMEM ? COP_ENOMEM : COP_OK;
}

cop_err cop_dsjson_features_end(cop_dsjson_features *f, cop_logged_event *event)
{
	if (!f->shared_done)
		end_shared(f);
	if (f->multi_scan.at != NULL && f->scan->err == COP_OK && f->err == COP_OK) {
		cop_json_scan here = *f->scan;
		*f->scan = f->multi_scan;
		read_candidates(f);
		if (f->scan->err == COP_OK)
			*f->scan = here;
	}
	if (f->scan->err != COP_OK || f->err != COP_OK)
		return rows_failed(f);
	f->err = cop_feature_space_widen(f->space, &f->room, f->span, f->count + 1);
	if (f->err != COP_OK)
		return rows_failed(f);
	cop_feature_space_row(f->space, &f->room, &f->span[0], &event->x);
	for (size_t i = 0; i < f->count; i++)
		cop_feature_space_row(f->space, &f->room, &f->span[1 + i], &f->rows[i]);
	event->candidates = f->count;
	event->candidate = f->count > 0 ? f->rows : NULL;
	event->features =
	        f->count == 0 ? f->shared_features + 1 : f->own_features + f->count * (f->shared_features + 1);
	return COP_OK;
}

void cop_dsjson_features_fini(cop_dsjson_features *f)
{
	cop_mem_free(f->names);
	cop_mem_free(f->word);
	cop_mem_free(f->span);
	cop_mem_free(f->rows);
	cop_feature_room_fini(&f->room);
}
