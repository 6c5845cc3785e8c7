/* tests/unit/events/vw_text.h: Vowpal Wabbit text in memory, opened for the tests of its reader. */
#ifndef COP_TESTS_VW_TEXT_H
#define COP_TESTS_VW_TEXT_H

#include "support.h"

#include <stdbool.h>
#include <string.h>

#include "events/event_reader.h"

typedef struct opened {
	cop_feature_space *space;
	cop_event_reader *reader;
	cop_diag diag;
} opened;

static const cop_feature_space_settings vw_hashed = { .bits = 18 };
static const cop_feature_space_settings vw_dense = { .dense = true };

static inline opened open_text_as(const char *text, size_t length, const cop_feature_space_settings *features,
        cop_event_lines lines, double assumed)
{
	opened o = { 0 };
	cop_stream *stream;
	assert_int_equal(cop_feature_space_new(features, &o.space, &o.diag), COP_OK);
	assert_int_equal(cop_stream_open_memory("t.vw", text, length, &stream, &o.diag), COP_OK);
	cop_event_reader_settings settings = { .space = o.space, .assumed_probability = assumed, .lines = lines };
	assert_int_equal(cop_event_reader_format("vw")->create(&stream, &settings, &o.reader, &o.diag), COP_OK);
	assert_null(stream);
	return o;
}

static inline opened open_text(const char *text)
{
	return open_text_as(text, strlen(text), &vw_hashed, COP_EVENT_LINES_AUTO, 0);
}

static inline opened open_file(const char *path, cop_event_lines lines)
{
	opened o = { 0 };
	assert_int_equal(cop_feature_space_new(&vw_hashed, &o.space, &o.diag), COP_OK);
	cop_event_reader_settings settings = { .space = o.space, .lines = lines };
	if (cop_event_reader_open(cop_event_reader_format("vw"), path, &settings, &o.reader, &o.diag) != COP_OK)
		fail_msg("%s: %s", path, o.diag.message);
	return o;
}

static inline void shut(opened *o)
{
	cop_event_reader_free(o->reader);
	cop_feature_space_free(o->space);
}

static inline cop_err next(opened *o, cop_logged_event *event)
{
	return cop_event_reader_next(o->reader, event, &o->diag);
}

static inline void read_on(opened *o, cop_logged_event *event)
{
	cop_err err = next(o, event);
	if (err != COP_OK)
		fail_msg("%d: line %d: %s", (int)err, (int)o->diag.line, o->diag.message);
}

static inline void at_end(opened *o)
{
	cop_logged_event event;
	assert_int_equal(next(o, &event), COP_EEND);
	shut(o);
}

static inline bool has_id(const cop_logged_event *event, const char *text)
{
	return event->id.kind == COP_EVENT_ID_STRING && event->id.length == strlen(text) &&
	       memcmp(event->id.bytes, text, event->id.length) == 0;
}

static inline bool is_labelled(const cop_logged_event *event, uint32_t action, double cost, double p)
{
	return event->labelled && event->learn && event->action == action && event->cost == cost && event->p == p &&
	       event->weight == 1;
}

#endif
