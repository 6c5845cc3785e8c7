/* coppice convert. The output is written beside its place and moved there at the end, so that a log that cannot be read
 * to its end leaves what was there before. */
#include "convert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "tools/common/command.h"

#define NAME       COP_CONVERT_NAME
#define LOOK_EVERY 4096 /* events, for the progress line */
#define MOST_TOLD  10

/* ---- events out ---- */

cop_err cop_convert_begin(cop_convert_run *run, const cop_event_writer_settings *settings, cop_diag *diag)
{
	return cop_event_writer_new(run->options->to, &run->stream, settings, &run->writer, diag);
}

/* The writer's own source is the temporary file. */
static void set_source(cop_diag *diag, const char *path, const char *standard)
{
	(void)snprintf(diag->source, sizeof diag->source, "%s", strcmp(path, "-") == 0 ? standard : path);
}

static void show_progress(cop_convert_run *run)
{
	double now = cop_command_now();
	if (now - run->shown < 0.5 || now - run->began < 1.0 || !isatty(STDERR_FILENO))
		return;
	run->shown = now;
	(void)fprintf(stderr, "\r%" PRIu64 " events, %.0f MB ", cop_event_writer_events(run->writer),
	        1e-6 * (double)cop_event_writer_bytes(run->writer));
}

cop_err cop_convert_put(cop_convert_run *run, const cop_logged_event *event, bool *over, cop_diag *diag)
{
	const cop_convert_options *o = run->options;
	cop_err err = cop_event_writer_put(run->writer, event, diag);
	if (err == COP_EINVAL)
		set_source(diag, run->in, "standard input");
	else if (err != COP_OK)
		set_source(diag, o->out, "standard output");
	if (err == COP_EINVAL && o->reader.skip) {
		if (++run->skipped <= MOST_TOLD)
			(void)cop_command_failed(NAME, diag);
		return COP_OK;
	}
	uint64_t written = cop_event_writer_events(run->writer);
	*over = o->events != 0 && written == o->events;
	if (written % LOOK_EVERY == 0)
		show_progress(run);
	return err;
}

cop_err cop_convert_end(cop_convert_run *run, cop_err err, cop_diag *diag)
{
	if (run->shown > 0.0)
		(void)fputc('\n', stderr);
	if (run->writer == NULL)
		return err;
	run->events = cop_event_writer_events(run->writer);
	run->bytes = cop_event_writer_bytes(run->writer);
	cop_event_writer *writer = run->writer;
	run->writer = NULL;
	if (err != COP_OK) {
		cop_event_writer_abandon(writer);
		return err;
	}
	err = cop_event_writer_close(writer, diag);
	if (err != COP_OK)
		set_source(diag, run->options->out, "standard output");
	return err;
}

static cop_err convert(cop_convert_run *run, cop_diag *diag)
{
	const cop_convert_options *o = run->options;
	cop_err err = cop_stream_open_replace(o->out, &run->stream, diag);
	if (err != COP_OK) {
		set_source(diag, o->out, "standard output");
		return err;
	}
	err = strcmp(o->from, "class") == 0 ? cop_convert_classes(run, diag) : cop_convert_logs(run, diag);
	cop_stream_free(run->stream); /* when nothing began */
	return err;
}

/* ---- the report ---- */

static int print_json(const cop_convert_run *run, double seconds)
{
	cop_json_writer *json;
	cop_diag diag = { 0 };
	cop_err err = cop_command_json_begin(true, &json);
	if (err == COP_OK) {
		cop_json_put_unsigned(json, "events", run->events);
		cop_json_put_unsigned(json, "skipped", run->skipped);
		cop_json_put_unsigned(json, "bytes", run->bytes);
		cop_json_put_number(json, "seconds", seconds);
	}
	return cop_command_end(NAME, err, json, &diag);
}

static int report(const cop_convert_run *run)
{
	const cop_convert_options *o = run->options;
	double seconds = cop_command_now() - run->began;
	if (o->json)
		return print_json(run, seconds);
	if (strcmp(o->out, "-") == 0) {
		if (run->skipped > 0)
			cop_command_complain(NAME, "%" PRIu64 " events skipped", run->skipped);
		return 0;
	}
	(void)printf("events   %" PRIu64 "\n", run->events);
	if (run->skipped > 0)
		(void)printf("skipped  %" PRIu64 "\n", run->skipped);
	(void)printf("bytes    %" PRIu64 "\nseconds  %.3f\n", run->bytes, seconds);
	return fflush(stdout) == 0 ? 0 : COP_EXIT_FAILED;
}

int cop_command_convert(int argc, char **argv)
{
	cop_convert_options options;
	int status = cop_convert_options_read(argc, argv, &options);
	if (status >= 0)
		return status;
	cop_convert_run run = { .options = &options, .began = cop_command_now() };
	cop_diag diag = { 0 };
	if (convert(&run, &diag) != COP_OK)
		return cop_command_failed(NAME, &diag);
	return report(&run);
}
