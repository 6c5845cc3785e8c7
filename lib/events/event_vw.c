/* A line is used up before the next one is read. An event of several lines is a row for `shared` (empty when there is
 * no such line) and one for each other line; spans of them are kept until all are there and of one length. After a
 * wrong line the rest of its event, up to a blank line, is passed over. */
#include <string.h>

#include "base/mem.h"
#include "events/event_vw_private.h"

#define FIRST_LOOK ((size_t)4 << 10) /* bytes */
#define MOST_LINES 64 /* of a first event without a blank line, before it is taken for many of one line */

typedef struct vw_reader {
	cop_event_reader base; /* first */
	cop_stream *stream;
	cop_feature_space *space;
	double assumed_p;
	cop_event_lines lines; /* AUTO until the first event is read */
	bool passing;          /* the rest of a wrong event is passed over */
	bool begun;            /* the space has begun the event under way */
	size_t text;           /* bytes of the event under way */

	cop_vw_label label;
	cop_feature_room room;
	cop_feature_span *span; /* of candidates, the shared row first */
	cop_row *row;           /* of candidates */
	size_t spans, capacity; /* of both; row has one less of use */
	uint8_t *mask;          /* COP_VW_MAX_ACTIONS */
} vw_reader;

/* ---- one line or several? ---- */

/* The line's end: its newline, or `end`. */
static const char *line_end(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));
	return newline != NULL ? newline : end;
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && cop_vw_is_blank(*at))
		at++;
	return at;
}

static bool begins_with_shared(const char *at, const char *end)
{
	static const char word[] = "shared";
	size_t length = sizeof word - 1;
	return (size_t)(end - at) > length && memcmp(at, word, length) == 0 &&
	       (cop_vw_is_blank(at[length]) || at[length] == '|');
}

/* 0: no label with a cost; 1: one; 2: one of action 0, which only candidates have. */
static int label_kind(const char *at, const char *end)
{
	const char *bar = memchr(at, '|', (size_t)(end - at));
	const char *stop = bar != NULL ? bar : end;
	if (memchr(at, ':', (size_t)(stop - at)) == NULL)
		return 0;
	const char *digits = at;
	while (at < stop && *at == '0')
		at++;
	return at > digits && *at == ':' ? 2 : 1;
}

/* From the first lines in text[0, length), the last of which is whole when it has a newline or all is there: what the
 * file's events are; AUTO: more must be seen. */
static cop_event_lines look(const char *text, size_t length, bool all)
{
	const char *end = text + length;
	size_t lines = 0;
	size_t labels = 0;
	for (const char *at = text; at < end;) {
		const char *stop = line_end(at, end);
		if (stop == end && !all)
			return COP_EVENT_LINES_AUTO;
		const char *first = skip_blanks(at, stop);
		at = stop == end ? end : stop + 1;
		int kind = label_kind(first, stop);
		if (begins_with_shared(first, stop) || kind == 2)
			return COP_EVENT_LINES_SEVERAL;
		labels += kind != 0;
		if (first == stop && lines > 1)
			return COP_EVENT_LINES_SEVERAL;
		lines = first == stop ? 0 : lines + 1;
		labels = first == stop ? 0 : labels;
		if (labels > 1 || lines >= MOST_LINES)
			return COP_EVENT_LINES_ONE;
	}
	return all ? COP_EVENT_LINES_ONE : COP_EVENT_LINES_AUTO;
}

/* A stream's failure cannot be read over, whatever it was. */
static cop_err stopped(vw_reader *r, cop_err err, cop_diag *diag)
{
	if (err == COP_EEND)
		return err;
	*diag = *cop_stream_diag(r->stream);
	return err == COP_EFORMAT || err == COP_ENONFINITE ? COP_EIO : err;
}

static cop_err choose_lines(vw_reader *r, cop_diag *diag)
{
	for (size_t wanted = FIRST_LOOK; r->lines == COP_EVENT_LINES_AUTO; wanted *= 2) {
		const char *text;
		size_t length;
		cop_err err = cop_stream_peek(r->stream, wanted, &text, &length);
		if (err != COP_OK)
			return stopped(r, err, diag);
		r->lines = look(text, length, length < wanted);
		if (r->lines == COP_EVENT_LINES_AUTO && wanted >= COP_STREAM_PEEK_MAX)
			r->lines = COP_EVENT_LINES_ONE;
	}
	return COP_OK;
}

/* ---- lines ---- */

static cop_err next_line(vw_reader *r, cop_vw_line *line, cop_diag *diag)
{
	char *start;
	size_t length;
	cop_err err = cop_stream_line(r->stream, &start, &length);
	if (err != COP_OK)
		return stopped(r, err, diag);
	r->text += length + 1;
	*line = (cop_vw_line){ .start = start,
		.end = start + length,
		.source = cop_stream_name(r->stream),
		.number = cop_stream_line_number(r->stream),
		.diag = diag };
	if (line->number == 1 && length >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0)
		line->start += 3;
	return COP_OK;
}

static bool is_blank_line(const cop_vw_line *line) { return skip_blanks(line->start, line->end) == line->end; }

/* Label and tag, and where the features begin. */
static cop_err read_label(vw_reader *r, cop_vw_line *line)
{
	line->bar = memchr(line->start, '|', (size_t)(line->end - line->start));
	if (line->bar == NULL)
		return cop_vw_wrong(
		        line, line->end, COP_EFORMAT, "the line ends without '|'; expected one before the features");
	return cop_vw_label_read(&r->label, line);
}

static void begin(vw_reader *r)
{
	cop_feature_space_begin(r->space);
	r->begun = true;
}

/* Ends the row under way. */
static cop_err end_row(vw_reader *r, const cop_vw_line *line, cop_feature_span *span, size_t *features)
{
	cop_err err = cop_feature_space_end(r->space, &r->room, span, features);
	if (err == COP_ENONFINITE)
		return cop_vw_wrong(line, line->bar, err, "a sum or product of features is too large for a float");
	if (err == COP_EFULL && cop_feature_space_is_dense(r->space))
		return cop_vw_wrong(line, line->bar, err,
		        "too many names for columns of their own; expected at most %d (hash them)",
		        COP_FEATURE_SPACE_MAX_DENSE);
	if (err == COP_EFULL)
		return cop_vw_wrong(line, line->bar, COP_EFORMAT,
		        "too many features; expected at most %u in a line, products included",
		        COP_FEATURE_SPACE_MAX_ENTRIES);
	if (err != COP_OK)
		return cop_vw_wrong(line, line->bar, err, "%s", cop_err_text(err));
	return COP_OK;
}

static void set_id(vw_reader *r, cop_logged_event *event)
{
	if (!cop_event_id_from_bytes(&event->id, COP_EVENT_ID_STRING, r->label.tag, r->label.tag_length))
		event->id.kind = 0;
}

/* ---- an event of one line ---- */

/* Several actions in a label, or one without a cost, are those that were eligible. */
static void set_mask(vw_reader *r, cop_logged_event *event)
{
	const cop_vw_label *label = &r->label;
	if (label->count == 0 || (label->count == 1 && label->cost[0].has_cost))
		return;
	for (size_t i = 0; i < label->count; i++)
		if (label->cost[i].action > event->arms)
			event->arms = label->cost[i].action;
	memset(r->mask, 0, event->arms);
	for (size_t i = 0; i < label->count; i++)
		r->mask[label->cost[i].action - 1] = 1;
	event->mask = r->mask;
}

static cop_err set_played(vw_reader *r, const cop_vw_line *line, cop_logged_event *event)
{
	const cop_vw_cost *played;
	double p;
	cop_err err = cop_vw_label_played(&r->label, line, r->assumed_p, &played, &p);
	if (err != COP_OK || played == NULL)
		return err;
	event->labelled = event->learn = true;
	event->action = played->action;
	event->cost = played->cost;
	event->p = p;
	return COP_OK;
}

static cop_err read_one_label(vw_reader *r, cop_vw_line *line, cop_logged_event *event)
{
	cop_err err = read_label(r, line);
	if (err != COP_OK)
		return err;
	if (r->label.shared)
		return cop_vw_wrong(line, line->start, COP_EFORMAT,
		        "shared features in a file of one line for each event; expected a label");
	for (size_t i = 0; i < r->label.count; i++)
		if (r->label.cost[i].action == 0)
			return cop_vw_wrong(
			        line, r->label.cost[i].at, COP_EFORMAT, "action 0; expected them to count from 1");
	set_id(r, event);
	set_mask(r, event);
	err = set_played(r, line, event);
	event->action -= event->labelled;
	return err;
}

static cop_err read_one(vw_reader *r, cop_vw_line *line, cop_logged_event *event)
{
	cop_feature_span span;
	cop_err err = read_one_label(r, line, event);
	if (err != COP_OK)
		return err;
	begin(r);
	err = cop_vw_features_read(r->space, line);
	if (err == COP_OK)
		err = end_row(r, line, &span, &event->features);
	if (err != COP_OK)
		return err;
	event->features++; /* the constant */
	cop_feature_space_row(r->space, &r->room, &span, &event->x);
	return COP_OK;
}

/* ---- an event of several ---- */

static cop_err spans_room(vw_reader *r)
{
	if (r->spans < r->capacity)
		return COP_OK;
	size_t capacity = r->capacity == 0 ? 16 : r->capacity * 2;
	cop_feature_span *span = cop_mem_resize(r->span, r->spans, capacity, sizeof *span);
	r->span = span != NULL ? span : r->span;
	cop_row *row = cop_mem_resize(r->row, r->capacity, capacity, sizeof *row);
	r->row = row != NULL ? row : r->row;
	if (span == NULL || row == NULL)
		return COP_ENOMEM;
	r->capacity = capacity;
	return COP_OK;
}

/* The next row, with the line's features or none; the first is the shared one. */
static cop_err read_row(vw_reader *r, const cop_vw_line *line, bool with_features, size_t *features)
{
	if (spans_room(r) != COP_OK)
		return cop_vw_wrong(line, line->bar, COP_ENOMEM, "out of memory");
	if (r->spans == 0)
		begin(r);
	else
		cop_feature_space_begin_candidate(r->space);
	cop_err err = with_features ? cop_vw_features_read(r->space, line) : COP_OK;
	if (err == COP_OK)
		err = end_row(r, line, &r->span[r->spans], features);
	r->spans += err == COP_OK;
	return err;
}

static cop_err read_candidate(vw_reader *r, const cop_vw_line *line, cop_logged_event *event)
{
	size_t features;
	if (event->candidates >= COP_VW_MAX_CANDIDATES)
		return cop_vw_wrong(line, line->start, COP_EFORMAT,
		        "more than %d lines without a blank one; expected an event's candidates",
		        COP_VW_MAX_CANDIDATES);
	if (r->label.count > 1)
		return cop_vw_wrong(line, r->label.cost[1].at, COP_EFORMAT,
		        "a second action in a candidate's label; expected one at most");
	if (r->label.count == 1 && r->label.cost[0].has_cost) {
		if (event->labelled)
			return cop_vw_wrong(line, r->label.cost[0].at, COP_EFORMAT,
			        "a second candidate has a cost; expected one at most before a blank line, or actions "
			        "from 1 where an event is one line");
		cop_err err = set_played(r, line, event);
		if (err != COP_OK)
			return err;
		event->action = (uint32_t)event->candidates;
	}
	cop_err err = read_row(r, line, true, &features);
	event->features += features + 1;
	event->candidates++;
	return err;
}

/* shared_features: of the shared line, once. */
static cop_err read_group_line(vw_reader *r, cop_vw_line *line, cop_logged_event *event, size_t *shared_features)
{
	cop_err err = read_label(r, line);
	if (err != COP_OK)
		return err;
	bool first = r->spans == 0;
	if (first)
		set_id(r, event);
	if (r->label.shared && !first)
		return cop_vw_wrong(line, line->start, COP_EFORMAT,
		        "shared features behind candidates; expected them first, or a blank line between events");
	if (first)
		err = read_row(r, line, r->label.shared, shared_features);
	return err != COP_OK || r->label.shared ? err : read_candidate(r, line, event);
}

/* The rows of all lines as views. */
static cop_err finish_group(vw_reader *r, const cop_vw_line *last, cop_logged_event *event)
{
	if (event->candidates == 0)
		return cop_vw_wrong(last, last->start, COP_EFORMAT,
		        "no candidates follow the shared features; expected a line for each");
	cop_err err = cop_feature_space_widen(r->space, &r->room, r->span, r->spans);
	if (err != COP_OK)
		return cop_vw_wrong(last, last->start, err == COP_EFULL ? COP_EFORMAT : err, "the rows of an event: %s",
		        cop_err_text(err));
	cop_feature_space_row(r->space, &r->room, &r->span[0], &event->x);
	for (size_t i = 0; i < event->candidates; i++)
		cop_feature_space_row(r->space, &r->room, &r->span[1 + i], &r->row[i]);
	event->candidate = r->row;
	return COP_OK;
}

/* Reads up to a blank line or the end, of which `line` is the first. */
static cop_err read_group(vw_reader *r, cop_vw_line *line, cop_logged_event *event, cop_diag *diag)
{
	size_t shared_features = 0;
	cop_vw_line next = *line;
	r->spans = 0;
	for (;;) {
		r->passing = true;
		*line = next;
		cop_err err = read_group_line(r, line, event, &shared_features);
		if (err != COP_OK)
			return err;
		err = next_line(r, &next, diag);
		if (err != COP_OK && err != COP_EEND)
			return err;
		if (err == COP_EEND || is_blank_line(&next))
			break;
	}
	r->passing = false;
	event->features += event->candidates * shared_features;
	return finish_group(r, line, event);
}

/* ---- the reader ---- */

/* The first line of the next event. */
static cop_err first_line(vw_reader *r, cop_vw_line *line, cop_diag *diag)
{
	for (;;) {
		cop_err err = next_line(r, line, diag);
		if (err != COP_OK)
			return err;
		bool blank = is_blank_line(line);
		if (!blank && !r->passing)
			return COP_OK;
		r->passing &= !blank;
	}
}

static cop_err next(cop_event_reader *reader, cop_logged_event *event, cop_diag *diag)
{
	vw_reader *r = (vw_reader *)reader;
	cop_vw_line line;
	r->text = 0;
	r->begun = false;
	cop_feature_room_clear(&r->room);
	cop_err err = choose_lines(r, diag);
	if (err == COP_OK)
		err = first_line(r, &line, diag);
	if (err != COP_OK)
		return err;
	event->line = line.number;
	event->weight = 1.0;
	err = r->lines == COP_EVENT_LINES_SEVERAL ? read_group(r, &line, event, diag) : read_one(r, &line, event);
	event->text = r->text;
	if (err != COP_OK && r->begun)
		cop_feature_space_abandon(r->space);
	return err;
}

static void destroy(cop_event_reader *reader)
{
	vw_reader *r = (vw_reader *)reader;
	cop_stream_free(r->stream);
	cop_vw_label_fini(&r->label);
	cop_feature_room_fini(&r->room);
	cop_mem_free(r->span);
	cop_mem_free(r->row);
	cop_mem_free(r->mask);
	cop_mem_free(r);
}

static const cop_event_reader_class reader_class = { next, destroy };

static cop_err create(
        cop_stream **stream, const cop_event_reader_settings *settings, cop_event_reader **out, cop_diag *diag)
{
	cop_stream *taken = *stream;
	*stream = NULL;
	*out = NULL;
	vw_reader *r = cop_mem_alloc(1, sizeof *r);
	if (r != NULL)
		r->mask = cop_mem_alloc(COP_VW_MAX_ACTIONS, 1);
	if (r == NULL || r->mask == NULL) {
		cop_diag_of(diag, cop_stream_name(taken), "out of memory");
		cop_stream_free(taken);
		cop_mem_free(r);
		return COP_ENOMEM;
	}
	r->base.class = &reader_class;
	r->stream = taken;
	r->space = settings->space;
	r->assumed_p = settings->assumed_probability;
	r->lines = settings->lines;
	*out = &r->base;
	return COP_OK;
}

const cop_event_format cop_event_format_vw = { "vw", create };
