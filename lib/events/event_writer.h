/* events/event_writer.h: bandit logs written as text, in the formats that events/event_reader reads.
 *
 * Formats are found by name:
 *   vw      Vowpal Wabbit text: a line for an event, or with candidates several lines (the shared one first) and a
 * blank one. The id is the tag. dsjson  a line of decision-service JSON. A weight is written as the share that was
 * dropped (pdrop). csv     dense contexts; a header of names, then action, probability, cost. Ids are left out. Dense
 * rows name their columns: as the feature space does ("namespace^name"), or as the list of names does, or x0, x1
 * ... Sparse rows have places only: those are their names, and with "strings" hashing in at least as many bits a name
 * of digits in the default namespace is its own place, so what is written is read back equal. Numbers are the shortest
 * text that reads back the same. What a format cannot hold is refused, never altered, and leaves no trace in the
 * output. Ids that are integers become their digits, binary ones hexadecimal. One thread per writer. */
#ifndef COP_EVENTS_EVENT_WRITER_H
#define COP_EVENTS_EVENT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/stream.h"
#include "events/feature_space.h"
#include "events/logged_event.h"

typedef struct cop_event_writer cop_event_writer;
typedef struct cop_event_writer_format cop_event_writer_format;

typedef struct cop_event_writer_settings {
	const cop_feature_space *space; /* kept: dense, names the columns; NULL: others do */
	const char *const *names;       /* kept: of the first name_count columns, in the default namespace */
	size_t name_count;
	bool drop_zeros; /* vw, dsjson: dense values of zero are not written (and their columns come in another order)
	                  */
	bool rename;     /* characters that a format cannot have in names and ids become '_' */
} cop_event_writer_settings;

/* "vw", "dsjson", "csv"; NULL when there is none of that name. */
const cop_event_writer_format *cop_event_writer_find(const char *name);

/* The stream is taken (nulled), also on error. Caller ends with cop_event_writer_close or _abandon; on error *out is
 * NULL. COP_ENOMEM. */
COP_CHECK cop_err cop_event_writer_new(const cop_event_writer_format *format, cop_stream **stream,
        const cop_event_writer_settings *settings, cop_event_writer **out, cop_diag *diag);

/* Writes the event (borrowed). COP_EINVAL: the format cannot hold it, as *diag explains; nothing was written and other
 * events may follow. COP_EIO, COP_ENOMEM: nothing more can be written. */
COP_CHECK cop_err cop_event_writer_put(cop_event_writer *writer, const cop_logged_event *event, cop_diag *diag);

uint64_t cop_event_writer_events(const cop_event_writer *writer);
/* Of text, before any compression. */
uint64_t cop_event_writer_bytes(const cop_event_writer *writer);

/* Writes what is left and closes the stream; the writer is freed in every case. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_event_writer_close(cop_event_writer *writer, cop_diag *diag);
/* The same when the output no longer matters. NULL is allowed. */
void cop_event_writer_abandon(cop_event_writer *writer);

#endif
