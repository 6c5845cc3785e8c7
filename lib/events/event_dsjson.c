/* A line has one of two forms. Decision service: the features are in "c" and the rest stands beside it. Plain:
 * features, candidates and label stand together at the top. Which one it is shows only when "c" or "_multi" comes, so a
 * line is first read as the former; without a "c" (or with "_multi" beside it) it is read again as the latter. Lines
 * are never written to, so that reading again is safe.
 *
 * Not events, passed over: observations that found no decision (no features, but "RewardValue",
 * "Observations" or nothing but an id) and the "[CHECKPOINT" lines that its logs hold. */
#include "events/event_dsjson_private.h"

#include <string.h>

#include "base/mem.h"

#define CHECKPOINT "[CHECKPOINT"

typedef struct dsjson_reader {
	cop_event_reader base;
	cop_stream *stream;
	double assumed_probability;
	cop_json_scan scan;
	cop_dsjson_label label;
	cop_dsjson_features features;
	cop_event_id id;
	bool context;     /* "c" was read */
	bool observation; /* it looks like one without a decision */
	bool named;       /* there is something that may be a feature */
	bool plain;       /* to be read (again) as the plain form */
	bool guess;       /* that it is plain is only known of the line before */
} dsjson_reader;

typedef enum line_kind { LINE_EVENT, LINE_PASSED, LINE_BAD } line_kind;

static void read_id(dsjson_reader *r)
{
	cop_json_scan_span text;
	char decoded[COP_EVENT_ID_MAX * 6];
	size_t length;
	if (cop_json_scan_kind(&r->scan) != COP_JSON_SCAN_STRING) {
		(void)cop_json_scan_skip(&r->scan);
		return;
	}
	if (!cop_json_scan_string(&r->scan, &text) || text.length > sizeof decoded ||
	        !cop_json_scan_decode(&r->scan, &text, decoded, &length))
		return;
	(void)cop_event_id_from_bytes(&r->id, COP_EVENT_ID_STRING, decoded, length); /* none when too long */
}

static bool is_id(const cop_json_scan_span *name)
{
	return cop_json_scan_is(name, "EventId") || cop_json_scan_is(name, "event_id");
}

static bool is_observation(const cop_json_scan_span *name)
{
	return cop_json_scan_is(name, "RewardValue") || cop_json_scan_is(name, "Observations");
}

static bool is_short(const cop_json_scan_span *name)
{
	return cop_json_scan_is(name, "a") || cop_json_scan_is(name, "p") || cop_json_scan_is(name, "pdrop") ||
	       cop_json_scan_is(name, "skipLearn");
}

static bool refuse_slots(dsjson_reader *r, const cop_json_scan_span *name)
{
	return cop_json_scan_is(name, "_outcomes") &&
	       !cop_json_scan_fail(&r->scan, name->at, COP_EFORMAT,
	               "multi-slot events (_outcomes) are not supported; expected one decision");
}

/* "a", "p" and "pdrop" mean something else in a plain line, so they are read when it is known to be none. */
typedef struct later {
	cop_json_scan_span name;
	cop_json_scan scan; /* at its value */
} later;

#define LATER_MAX 4

static void read_later(dsjson_reader *r, const later *items, size_t count)
{
	for (size_t i = 0; i < count && r->scan.err == COP_OK; i++) {
		cop_json_scan here = r->scan;
		r->scan = items[i].scan;
		cop_dsjson_label_short(&r->label, &r->scan, &items[i].name);
		if (r->scan.err == COP_OK)
			r->scan = here;
	}
}

static void read_context(dsjson_reader *r, const cop_json_scan_span *name)
{
	if (cop_json_scan_kind(&r->scan) != COP_JSON_SCAN_OBJECT) {
		r->named = true;
		(void)cop_json_scan_skip(&r->scan);
	} else if (r->context) {
		(void)cop_json_scan_fail(&r->scan, name->at, COP_EFORMAT, "\"c\" stands here again; expected it once");
	} else {
		r->context = true;
		cop_dsjson_features_context(&r->features);
	}
}

/* A member of a decision-service line that is neither context nor one of the short names. */
static void read_top_member(dsjson_reader *r, const cop_json_scan_span *name)
{
	if (is_id(name)) {
		read_id(r);
	} else if (name->length == 0 || name->at[0] != '_') {
		r->observation |= is_observation(name);
		r->named = true;
		(void)cop_json_scan_skip(&r->scan);
	} else if (cop_json_scan_is(name, "_p")) {
		cop_dsjson_label_short(&r->label, &r->scan, name);
	} else if (cop_json_scan_is(name, "_multi")) {
		r->plain = true;
	} else if (cop_json_scan_is(name, "_text")) {
		r->named = true;
		(void)cop_json_scan_skip(&r->scan);
	} else if (!refuse_slots(r, name) &&
	           cop_dsjson_label_member(&r->label, &r->scan, name) == COP_DSJSON_NOT_TAKEN) {
		(void)cop_json_scan_skip(&r->scan);
	}
}

/* The decision-service form. Sets `plain` when it is not. */
static void read_decision(dsjson_reader *r)
{
	later items[LATER_MAX];
	size_t count = 0;
	cop_json_scan_span name;
	for ((void)cop_json_scan_open(&r->scan); !r->plain && cop_json_scan_member(&r->scan, &name);) {
		if (cop_json_scan_is(&name, "c")) {
			read_context(r, &name);
		} else if (!is_short(&name)) {
			read_top_member(r, &name);
		} else {
			r->named = true;
			if (count < LATER_MAX)
				items[count++] = (later){ name, r->scan };
			(void)cop_json_scan_skip(&r->scan);
		}
	}
	if (!r->plain && !r->context && r->scan.err == COP_OK && !r->observation)
		r->plain = r->named || r->id.kind == 0;
	if (!r->plain && cop_json_scan_finish(&r->scan))
		read_later(r, items, count);
}

/* The plain form: all names are features but ids, and those with an underscore. Takes `plain` back when that was a
 * guess and may be wrong. */
static void read_plain(dsjson_reader *r)
{
	cop_json_scan_span name;
	for ((void)cop_json_scan_open(&r->scan); r->plain && cop_json_scan_member(&r->scan, &name);) {
		if (is_id(&name)) {
			read_id(r);
			continue;
		}
		r->named = true;
		if (r->guess && (cop_json_scan_is(&name, "c") || is_observation(&name)))
			r->plain = false;
		else if (cop_json_scan_is(&name, "_p"))
			cop_dsjson_label_short(&r->label, &r->scan, &name);
		else if (!refuse_slots(r, &name))
			cop_dsjson_features_member(&r->features, &name);
	}
	if (r->guess && !r->named)
		r->plain = false;
	if (r->plain)
		(void)cop_json_scan_finish(&r->scan);
}

/* One reading of the line, in its plain form or the other one. COP_ENOMEM. */
static cop_err read_form(dsjson_reader *r, const char *line, size_t length)
{
	cop_json_scan_init(&r->scan, line, length);
	memset(&r->label, 0, sizeof r->label);
	memset(&r->id, 0, sizeof r->id);
	r->context = r->observation = r->named = false;
	cop_err err = cop_dsjson_features_begin(&r->features, length);
	if (err != COP_OK)
		return err;
	if (cop_json_scan_kind(&r->scan) != COP_JSON_SCAN_OBJECT)
		(void)cop_json_scan_fail(&r->scan, NULL, COP_EFORMAT, "expected an object in braces");
	else if (r->plain)
		read_plain(r);
	else
		read_decision(r);
	return COP_OK;
}

/* A wrong guess, the other form, the right one, and shared features behind the candidates: few lines are read so often.
 */
static cop_err read_line(dsjson_reader *r, const char *line, size_t length, cop_logged_event *event, line_kind *kind)
{
	cop_err err;
	bool plain;
	r->guess = r->plain;
	for (;;) {
		plain = r->plain;
		err = read_form(r, line, length);
		if (r->guess && r->scan.err != COP_OK && !r->features.late)
			r->plain = false; /* no fault, perhaps, of a line of the other form */
		if (err != COP_OK || (!r->features.late && plain == r->plain))
			break;
		r->features.last_multi |= r->features.late; /* the lines that follow will be like it */
		r->guess &= r->features.late;
		if (r->context || r->features.late || plain)
			cop_feature_space_abandon(r->features.space);
	}
	*kind = LINE_BAD;
	if (err == COP_OK && !r->plain && !r->context && r->scan.err == COP_OK) {
		*kind = LINE_PASSED;
	} else if (err == COP_OK) {
		err = cop_dsjson_features_end(&r->features, event);
		if (err == COP_OK && r->scan.err == COP_OK &&
		        cop_dsjson_label_apply(&r->label, r->assumed_probability, &r->scan, event))
			*kind = LINE_EVENT;
	}
	event->id = r->id;
	if (*kind != LINE_EVENT)
		cop_feature_space_abandon(r->features.space);
	return err;
}

/* The next line that is not blank, without blanks around it. */
static cop_err next_line(dsjson_reader *r, char **line, size_t *length, size_t *text, cop_diag *diag)
{
	do {
		cop_err err = cop_stream_line(r->stream, line, length);
		if (err != COP_OK) {
			*diag = *cop_stream_diag(r->stream);
			return err == COP_EFORMAT ? COP_EIO : err; /* no line behind it can be read */
		}
		*text += *length + 1;
		char *at = *line;
		if (cop_stream_line_number(r->stream) == 1 && *length >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
			memset(at, ' ', 3);
		while (*length > 0 && (at[*length - 1] == ' ' || at[*length - 1] == '\t'))
			at[--*length] = '\0';
	} while (*length == strspn(*line, " \t"));
	return COP_OK;
}

static cop_err next(cop_event_reader *reader, cop_logged_event *event, cop_diag *diag)
{
	dsjson_reader *r = (dsjson_reader *)reader;
	size_t text = 0;
	for (;;) {
		char *line;
		size_t length;
		line_kind kind;
		cop_err err = next_line(r, &line, &length, &text, diag);
		if (err != COP_OK)
			return err;
		uint64_t number = cop_stream_line_number(r->stream);
		if (strncmp(line, CHECKPOINT, sizeof CHECKPOINT - 1) == 0)
			continue;
		memset(event, 0, sizeof *event);
		err = read_line(r, line, length, event, &kind);
		if (err != COP_OK) {
			cop_diag_at_line(diag, cop_stream_name(r->stream), number, "%s", cop_err_text(err));
			return err;
		}
		if (kind == LINE_BAD) {
			cop_diag_at_line(diag, cop_stream_name(r->stream), number, "column %zu: %s", r->scan.column,
			        r->scan.what);
			return r->scan.err;
		}
		if (kind == LINE_EVENT) {
			event->line = number;
			event->text = text;
			return COP_OK;
		}
	}
}

static void destroy(cop_event_reader *reader)
{
	dsjson_reader *r = (dsjson_reader *)reader;
	cop_dsjson_features_fini(&r->features);
	cop_stream_free(r->stream);
	cop_mem_free(r);
}

static const cop_event_reader_class class = { next, destroy };

static cop_err create(
        cop_stream **stream, const cop_event_reader_settings *settings, cop_event_reader **out, cop_diag *diag)
{
	dsjson_reader *r = cop_event_reader_make(sizeof *r, &class, stream, diag);
	*out = NULL;
	if (r == NULL)
		return COP_ENOMEM;
	r->stream = *stream;
	*stream = NULL;
	r->assumed_probability = settings->assumed_probability;
	r->features.space = settings->space;
	r->features.scan = &r->scan;
	r->features.label = &r->label;
	*out = &r->base;
	return COP_OK;
}

const cop_event_format cop_event_format_dsjson = { "dsjson", create };
