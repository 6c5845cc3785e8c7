/* Names are kept by giving each a column. A csv needs all of its columns before the first line, so a log whose
 * names come row by row is read twice for one. */
#include <string.h>

#include "convert.h"

static bool is(const cop_convert_options *o, const char *from) { return strcmp(o->from, from) == 0; }
static bool names_come_late(const cop_convert_options *o) { return is(o, "vw") || is(o, "dsjson"); }

/* What to do when a log has more names than a dense space has room for. */
static void advise(const cop_convert_run *run, const cop_feature_space *space, cop_diag *diag)
{
	if (!cop_feature_space_is_dense(space) || run->options->reader.features != COP_READER_FEATURES_AUTO ||
	        cop_feature_space_dimension(space) + 4096 < COP_FEATURE_SPACE_MAX_DENSE)
		return;
	const cop_diag why = *diag;
	cop_diag_at_line(diag, why.source, why.line,
	        "%.300s; names beyond %d cannot be kept, --features hashed writes their places instead", why.message,
	        COP_FEATURE_SPACE_MAX_DENSE);
}

/* The columns of all files. */
static cop_err collect_names(const cop_convert_run *run, cop_feature_space *space, cop_diag *diag)
{
	const cop_convert_options *o = run->options;
	cop_err err = COP_OK;
	for (size_t i = 0; i < o->files && err == COP_OK; i++) {
		cop_event_reader *reader;
		cop_logged_event event;
		uint64_t seen = 0;
		if (!cop_stream_can_repeat(o->in[i])) {
			cop_diag_of(diag, strcmp(o->in[i], "-") == 0 ? "standard input" : o->in[i],
			        "a csv's columns must be known before its first line, and this can be read only once; "
			        "expected a file");
			return COP_EINVAL;
		}
		err = cop_reader_options_open(&o->reader, o->in[i], space, &reader, diag);
		if (err != COP_OK)
			return err;
		do {
			err = cop_event_reader_next(reader, &event, diag);
			seen += err == COP_OK;
			if (o->reader.skip && (err == COP_EFORMAT || err == COP_ENONFINITE))
				err = COP_OK; /* complained of and counted the second time */
		} while (err == COP_OK && (o->events == 0 || seen < o->events));
		err = err == COP_EEND ? COP_OK : err;
		cop_event_reader_free(reader);
	}
	cop_feature_space_freeze(space);
	return err;
}

static cop_err convert_file(
        cop_convert_run *run, const char *path, cop_feature_space *space, bool *over, cop_diag *diag)
{
	cop_event_reader *reader;
	cop_logged_event event;
	run->in = path;
	cop_err err = cop_reader_options_open(&run->options->reader, path, space, &reader, diag);
	if (err != COP_OK)
		return err;
	while (err == COP_OK && !*over) {
		err = cop_reader_options_next(&run->options->reader, reader, &event, &run->skipped, diag);
		if (err == COP_OK)
			err = cop_convert_put(run, &event, over, diag);
	}
	cop_event_reader_free(reader);
	return err == COP_EEND ? COP_OK : err;
}

cop_err cop_convert_logs(cop_convert_run *run, cop_diag *diag)
{
	const cop_convert_options *o = run->options;
	cop_feature_space *space;
	bool over = false;
	cop_err err = cop_reader_options_space_new(&o->reader, true, &space, diag);
	if (err != COP_OK)
		return err;
	bool dense = cop_feature_space_is_dense(space);
	if (dense && names_come_late(o) && o->to == cop_event_writer_find("csv"))
		err = collect_names(run, space, diag);
	cop_event_writer_settings settings = {
		.space = dense ? space : NULL,
		.drop_zeros =
		        o->zeros == COP_CONVERT_ZEROS_AUTO ? names_come_late(o) : o->zeros == COP_CONVERT_ZEROS_DROP,
		.rename = o->rename,
	};
	if (err == COP_OK)
		err = cop_convert_begin(run, &settings, diag);
	for (size_t i = 0; i < o->files && err == COP_OK && !over; i++)
		err = convert_file(run, o->in[i], space, &over, diag);
	err = cop_convert_end(run, err, diag);
	if (err != COP_OK)
		advise(run, space, diag);
	cop_feature_space_free(space);
	return err;
}
