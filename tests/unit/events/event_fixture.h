/* tests/unit/events/event_fixture.h: what tests of event readers share: a reader with its space, and the places of
 * named features. */
#ifndef COP_TESTS_DATA_EVENT_FIXTURE_H
#define COP_TESTS_DATA_EVENT_FIXTURE_H

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "events/event_reader.h"
#include "support.h"

typedef struct opened {
	cop_feature_space *space;
	cop_event_reader *reader;
	cop_err err; /* of create */
	cop_diag diag;
} opened;

/* Of text in memory, which is kept; *given but for its space. */
static inline opened open_as(const cop_event_format *format, const char *name, const char *text, bool dense,
        const cop_event_reader_settings *given)
{
	opened o = { 0 };
	cop_feature_space_settings space_settings = { .dense = dense };
	assert_int_equal(cop_feature_space_new(&space_settings, &o.space, NULL), COP_OK);
	cop_event_reader_settings settings = *given;
	settings.space = o.space;
	cop_stream *stream;
	assert_int_equal(cop_stream_open_memory(name, text, strlen(text), &stream, NULL), COP_OK);
	o.err = format->create(&stream, &settings, &o.reader, &o.diag);
	assert_null(stream);
	assert_true((o.err == COP_OK) == (o.reader != NULL));
	return o;
}

static inline void close_opened(opened *o)
{
	cop_event_reader_free(o->reader);
	cop_feature_space_free(o->space);
}

static inline void next_event(opened *o, cop_logged_event *event)
{
	cop_diag diag;
	char said[800];
	if (o->err != COP_OK)
		fail_msg("create: %s", o->diag.message);
	cop_err err = cop_event_reader_next(o->reader, event, &diag);
	if (err == COP_OK)
		return;
	cop_diag_text(&diag, said, sizeof said);
	fail_msg("error %d: %s", (int)err, said);
}

static inline void no_event(opened *o)
{
	cop_logged_event event;
	assert_int_equal(cop_event_reader_next(o->reader, &event, NULL), COP_EEND);
	assert_int_equal(cop_event_reader_next(o->reader, &event, NULL), COP_EEND);
}

static inline uint32_t place_of(const char *space, const char *name)
{
	uint32_t seed = cop_hash_feature(space, strlen(space), 0);
	return cop_hash_feature(name, strlen(name), seed) & ((1u << COP_FEATURE_SPACE_BITS) - 1);
}

/* The row's value of a feature; NaN when it has none. */
static inline double value_of(const cop_row *row, const char *space, const char *name)
{
	for (size_t i = 0; i < row->nnz; i++)
		if (row->index[i] == place_of(space, name))
			return (double)row->value[i];
	return (double)NAN;
}

#endif
