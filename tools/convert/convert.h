/* tools/convert/convert.h: bandit logs from one format to another, and from labelled rows. Internal to the subcommand.
 */
#ifndef COP_TOOLS_CONVERT_CONVERT_H
#define COP_TOOLS_CONVERT_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events/event_writer.h"
#include "logging_policy.h"
#include "tools/common/reader_options.h"

#define COP_CONVERT_NAME       "convert"
#define COP_CONVERT_MOST_FILES 64

typedef enum cop_convert_zeros {
	COP_CONVERT_ZEROS_AUTO, /* dropped when names come from text, in which zeros may be left out */
	COP_CONVERT_ZEROS_KEEP,
	COP_CONVERT_ZEROS_DROP,
} cop_convert_zeros;

typedef struct cop_convert_options {
	const char *from; /* a reader's format, or "class" */
	const cop_event_writer_format *to;
	const char *in[COP_CONVERT_MOST_FILES];
	size_t files;
	const char *out;
	cop_reader_options reader;
	uint64_t events; /* at most; 0: all */
	cop_convert_zeros zeros;
	bool rename;
	bool json;

	cop_logging_settings logging; /* class */
	bool epsilon_given;
	bool shuffle;
	uint64_t passes;
	double cost_right, cost_wrong;
} cop_convert_options;

typedef struct cop_convert_run {
	const cop_convert_options *options;
	const char *in;     /* the file that is read */
	cop_stream *stream; /* to be taken by the writer */
	cop_event_writer *writer;
	uint64_t events, skipped, bytes;
	double began, shown; /* seconds, for the progress line */
} cop_convert_run;

/* -1: go on; else the exit status (help was printed, or what is wrong). */
int cop_convert_options_read(int argc, char **argv, cop_convert_options *out);

/* Makes run->writer from the stream. */
COP_CHECK cop_err cop_convert_begin(cop_convert_run *run, const cop_event_writer_settings *settings, cop_diag *diag);
/* Writes the event; one that the format cannot hold is counted as skipped when the options say so. *over: it was the
 * last one wanted. */
COP_CHECK cop_err cop_convert_put(cop_convert_run *run, const cop_logged_event *event, bool *over, cop_diag *diag);

/* Closes the output, or leaves it when err is one; returns err or what closing gave. */
COP_CHECK cop_err cop_convert_end(cop_convert_run *run, cop_err err, cop_diag *diag);

/* All events of the files, begun and ended. */
COP_CHECK cop_err cop_convert_logs(cop_convert_run *run, cop_diag *diag);
COP_CHECK cop_err cop_convert_classes(cop_convert_run *run, cop_diag *diag);

#endif
