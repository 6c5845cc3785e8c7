/* events/event_reader.h: bandit logs as a stream of events, whatever they are written in.
 *
 * Formats are found by name: "vw" (Vowpal Wabbit text, one line or several with candidates), "dsjson", "csv"; journals
 * are lib/history's, which fills the same struct. Files may be gzip or zstd, "-" is standard input. Bad events cost
 * themselves only: after COP_EFORMAT or COP_ENONFINITE the reader stands behind the bad one and can be called for the
 * next. One thread per reader. */
#ifndef COP_EVENTS_EVENT_READER_H
#define COP_EVENTS_EVENT_READER_H

#include "base/err.h"
#include "base/stream.h"
#include "events/feature_space.h"
#include "events/logged_event.h"

typedef struct cop_event_reader cop_event_reader;

typedef struct cop_event_reader_class {
	/* The next event. *diag (never NULL here): FILE:LINE:COLUMN, what is wrong and what was expected.
	 * COP_EEND: none is left. COP_EFORMAT, COP_ENONFINITE: this event is bad, the next may be read. Any other: the
	 * file cannot be read on. */
	cop_err (*next)(cop_event_reader *reader, cop_logged_event *event, cop_diag *diag);
	void (*destroy)(cop_event_reader *reader);
} cop_event_reader_class;

/* First member of every reader. */
struct cop_event_reader {
	const cop_event_reader_class *class;
};

typedef struct cop_event_columns {
	const char
	        *context; /* csv: "a,b,c", or "first-last" by name or place from 1; NULL: all that are nothing else */
	const char *action, *cost, *probability; /* names or places; NULL: "action", "cost" (or "reward"), "probability"
	                                            (or "propensity"); without a header the last three columns are
	                                            action, probability, cost */
	bool reward;                             /* the cost column holds 1 - cost */
	const char *items; /* file of candidates' features, a line for each action in order; NULL: none */
} cop_event_columns;

/* Whether an event of VW text is one line or several. */
typedef enum cop_event_lines {
	/* As the file begins: several when a first line is `shared` or a label's action is 0, or when a blank line ends
	 * more than one line with one label at most; else, and when 64 lines or COP_STREAM_PEEK_MAX bytes do not settle
	 * it, one. */
	COP_EVENT_LINES_AUTO = 0,
	COP_EVENT_LINES_ONE,     /* blank lines mean nothing */
	COP_EVENT_LINES_SEVERAL, /* candidates, up to a blank line; a first line `shared` is for all of them */
} cop_event_lines;

typedef struct cop_event_reader_settings {
	cop_feature_space *space;   /* kept: features go through it */
	cop_event_columns columns;  /* csv; strings are kept */
	bool action_from_one;       /* csv: the first action is 1 */
	double assumed_probability; /* of labels that name none; 0: such a label is an error */
	cop_event_lines lines;      /* vw */
} cop_event_reader_settings;

typedef struct cop_event_format {
	const char *name;
	/* stream is taken (nulled), also on error. COP_EINVAL, COP_EFORMAT (a header), COP_ENOMEM, with *diag. */
	cop_err (*create)(
	        cop_stream **stream, const cop_event_reader_settings *settings, cop_event_reader **out, cop_diag *diag);
} cop_event_format;

/* By name; NULL when there is none. */
const cop_event_format *cop_event_reader_format(const char *name);

/* Opens the file and makes the reader. Errors of cop_stream_open_read and create. Caller frees with
 * cop_event_reader_free; on error *out is NULL. */
COP_CHECK cop_err cop_event_reader_open(const cop_event_format *format, const char *path,
        const cop_event_reader_settings *settings, cop_event_reader **out, cop_diag *diag);
void cop_event_reader_free(cop_event_reader *reader);
COP_CHECK cop_err cop_event_reader_next(cop_event_reader *reader, cop_logged_event *event, cop_diag *diag);

/* For formats: a reader of `size` zeroed bytes that begins with its base. NULL: no memory, reported in *diag, and
 * *stream is freed and nulled. Caller frees with cop_mem_free. */
void *cop_event_reader_make(size_t size, const cop_event_reader_class *class, cop_stream **stream, cop_diag *diag);

/* The rows of the table. */
extern const cop_event_format cop_event_format_vw;
extern const cop_event_format cop_event_format_dsjson;
extern const cop_event_format cop_event_format_csv;

#endif
