#include "replay_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/stream.h"
#include "history/journal_history.h"
#include "learn/bins.h"
#include "tools/common/command.h"

bool cop_replay_is_journal(const cop_replay_options *options) { return strcmp(options->reader.format, "journal") == 0; }

cop_err cop_replay_reader_open(
        const cop_replay_options *options, cop_feature_space *space, cop_event_reader **out, cop_diag *diag)
{
	cop_journal_history_settings settings = {
		.model = options->model,
		.unanswered = true,
		.leave_held = true,
		.bins = COP_BINS,
		.losses = options->losses,
		.skip = options->reader.skip,
		.features = space != NULL && cop_feature_space_is_dense(space) ? cop_feature_space_dimension(space) : 0,
	};
	if (!cop_replay_is_journal(options))
		return cop_reader_options_open(&options->reader, options->path, space, out, diag);
	return cop_journal_history_open(options->path, &settings, out, diag);
}

/* "namespace^name", or a name of the default namespace. */
static void put_name(cop_feature_space *space, const char *name, size_t length)
{
	const char *mark = memchr(name, '^', length);
	size_t space_length = mark == NULL ? 0 : (size_t)(mark - name);
	cop_feature_space_namespace(space, name, space_length, 1.0);
	if (mark != NULL)
		cop_feature_space_put(space, mark + 1, length - space_length - 1, 1.0);
	else
		cop_feature_space_put(space, name, length, 1.0);
}

static cop_err end_names(cop_feature_space *space)
{
	cop_feature_room room = { .value = NULL };
	cop_feature_span span;
	size_t features;
	cop_err err = cop_feature_space_end(space, &room, &span, &features);
	cop_feature_room_fini(&room);
	if (err == COP_OK)
		cop_feature_space_freeze(space);
	return err;
}

/* Columns in order, from one row that has them all. */
static cop_err number_columns(cop_feature_space *space, size_t columns)
{
	cop_feature_space_begin(space);
	for (size_t i = 0; i < columns; i++) {
		char name[24];
		int length = snprintf(name, sizeof name, "%zu", i);
		put_name(space, name, (size_t)length);
	}
	return end_names(space);
}

static cop_err put_lines(cop_feature_space *space, cop_stream *stream, size_t *lines)
{
	char *line;
	size_t length;
	cop_err err;
	while ((err = cop_stream_line(stream, &line, &length)) == COP_OK) {
		put_name(space, line, length);
		++*lines;
	}
	return err == COP_EEND ? COP_OK : err;
}

cop_err cop_replay_columns_read(const char *path, cop_feature_space **space, cop_diag *diag)
{
	static const cop_feature_space_settings settings = { .dense = true };
	cop_stream *stream;
	size_t lines = 0;
	*space = NULL;
	cop_err err = cop_stream_open_read(path, &stream, diag);
	if (err != COP_OK)
		return err;
	err = cop_feature_space_new(&settings, space, diag);
	if (err == COP_OK) {
		cop_feature_space_begin(*space);
		err = put_lines(*space, stream, &lines);
		if (err != COP_OK)
			*diag = *cop_stream_diag(stream);
		else if ((err = end_names(*space)) != COP_OK)
			cop_diag_of(diag, path, "%s", cop_err_text(err));
	}
	cop_stream_free(stream);
	if (err == COP_OK && (lines == 0 || cop_feature_space_dimension(*space) != lines)) {
		cop_diag_of(diag, path, lines == 0 ? "no names in it" : "a name stands twice in it");
		err = COP_EFORMAT;
	}
	if (err != COP_OK) {
		cop_feature_space_free(*space);
		*space = NULL;
	}
	return err;
}

cop_err cop_replay_journal_shape(
        const cop_event_reader *reader, cop_replay_journal *out, cop_feature_space **space, cop_diag *diag)
{
	const cop_journal_history_model *model = cop_journal_history_get_model(reader);
	cop_feature_space_settings settings = { .dense = model->features != 0, .bits = model->bits };
	*out = (cop_replay_journal){
		.told = model->told,
		.values = model->values,
		.arms = model->values ? COP_BINS : model->arms,
		.entries = model->max_nonzeros,
		.low = model->cost_range[0],
		.high = model->cost_range[1],
	};
	cop_err err = cop_feature_space_new(&settings, space, diag);
	if (err == COP_OK && settings.dense)
		err = number_columns(*space, model->features);
	if (err != COP_OK) {
		cop_diag_message(diag, "%s", cop_err_text(err));
		cop_feature_space_free(*space);
		*space = NULL;
	}
	return err;
}
