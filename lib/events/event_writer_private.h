/* events/event_writer_private.h: what the formats of events/event_writer share: room, numbers, names. Internal to them.
 *
 * A format reserves room for the most that it will put and then writes behind `end` without asking again. */
#ifndef COP_EVENTS_EVENT_WRITER_PRIVATE_H
#define COP_EVENTS_EVENT_WRITER_PRIVATE_H

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/number.h"
#include "events/event_writer.h"

/* Room for a place's digits and what stands around it. */
#define COP_WRITER_PLACE_ROOM 16
/* Room for any id's text: two characters for a byte of a binary one, six for a character that JSON escapes. */
#define COP_WRITER_ID_ROOM (6 * COP_EVENT_ID_MAX + 1)

#define COP_WRITER_FLOATS  1024
#define COP_WRITER_DOUBLES 256

/* Texts of numbers seen before: logs repeat few of them often. length 0: none there yet. */
typedef struct cop_writer_float {
	uint32_t bits;
	uint8_t length;
	char text[11];
} cop_writer_float;
typedef struct cop_writer_double {
	uint64_t bits;
	char text[COP_NUMBER_ROOM];
	size_t length;
} cop_writer_double;

/* Names of dense columns as they are written before a value, and their namespaces. */
typedef struct cop_writer_column {
	size_t at, length; /* in the names' text */
	uint32_t group;    /* namespace; 0 is the default one */
} cop_writer_column;
typedef struct cop_writer_group {
	size_t at, length; /* the namespace as it is written, in the names' text */
	size_t raw, raw_length;
	size_t columns;
	size_t next; /* while columns are put in order */
} cop_writer_group;
typedef struct cop_writer_names {
	cop_bytes text;
	cop_writer_column *column;
	size_t count, room;
	uint32_t *order; /* columns by namespace, else as they are */
	cop_writer_group *group;
	size_t groups, group_room;
	size_t longest; /* of columns and namespaces together */
} cop_writer_names;

struct cop_event_writer_format {
	const char *name;
	/* Appends the name as it stands before its value (or the namespace as it stands before its features) to `text`.
	 * COP_EINVAL, with writer->what: it cannot be said. put_space NULL: names are not split into both. */
	cop_err (*put_name)(cop_event_writer *writer, const char *name, size_t length, cop_bytes *text);
	cop_err (*put_space)(cop_event_writer *writer, const char *name, size_t length, cop_bytes *text);
	/* Appends the event to writer->text. COP_EINVAL, with writer->what. COP_ENOMEM. */
	cop_err (*put)(cop_event_writer *writer, const cop_logged_event *event);
};

struct cop_event_writer {
	const cop_event_writer_format *format;
	cop_stream *stream;
	cop_event_writer_settings settings;
	cop_bytes text; /* events that were not yet handed to the stream */
	cop_writer_names names;
	cop_writer_float *floats;
	cop_writer_double *doubles;
	size_t columns; /* csv: of the header; 0 before it */
	bool header;    /* csv: it was written */
	uint64_t events, bytes;
	char what[256]; /* why COP_EINVAL */
};

extern const cop_event_writer_format cop_event_writer_vw;
extern const cop_event_writer_format cop_event_writer_dsjson;
extern const cop_event_writer_format cop_event_writer_csv;

/* writer->what, and COP_EINVAL. */
COP_CHECK cop_err cop_writer_refuse(cop_event_writer *writer, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Room for `most` bytes behind the text; NULL: COP_ENOMEM. What was put there ends at `end`. */
char *cop_writer_room(cop_event_writer *writer, size_t most);
static inline void cop_writer_ends(cop_event_writer *writer, const char *end)
{
	writer->text.length = (size_t)(end - (const char *)writer->text.data);
}

static inline char *cop_writer_chars(char *to, const char *text, size_t length)
{
	memcpy(to, text, length);
	return to + length;
}
#define COP_WRITER_LITERAL(to, text) cop_writer_chars((to), (text), sizeof(text) - 1)

char *cop_writer_whole(char *to, uint64_t value);
char *cop_writer_double_text(cop_event_writer *writer, char *to, double value);
char *cop_writer_new_float(cop_event_writer *writer, char *to, float value, cop_writer_float *place);
/* Up to COP_NUMBER_ROOM bytes may be written over. */
static inline char *cop_writer_float_text(cop_event_writer *writer, char *to, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	cop_writer_float *place = &writer->floats[(bits * UINT32_C(2654435761)) >> 22];
	if (place->bits != bits || place->length == 0)
		return cop_writer_new_float(writer, to, value, place);
	memcpy(to, place->text, sizeof place->text);
	return to + place->length;
}

/* Names of columns 0 to count - 1 are ready. COP_EINVAL, COP_ENOMEM. */
COP_CHECK cop_err cop_writer_names_ready(cop_event_writer *writer, size_t count);
static inline const char *cop_writer_name(const cop_event_writer *writer, size_t column)
{
	return (const char *)writer->names.text.data + writer->names.column[column].at;
}
/* Of dense rows: zeros, where the settings have it so, and unknown features (NaN). */
static inline bool cop_writer_leaves_out(const cop_event_writer *writer, float value)
{
	return isnan(value) || (writer->settings.drop_zeros && value == 0.0f);
}

/* Most bytes that the row takes: its names, values and what stands around them. */
size_t cop_writer_row_room(const cop_event_writer *writer, const cop_row *row);

/* A text without the terminator and its length. */
size_t cop_writer_id(const cop_event_id *id, char out[COP_WRITER_ID_ROOM]);

#endif
