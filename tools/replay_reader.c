#include "replay_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "history/journal_history.h"

bool cop_replay_is_journal(const cop_replay_options *options) { return strcmp(options->reader.format, "journal") == 0; }

cop_err cop_replay_reader_open(
        const cop_replay_options *options, cop_feature_space *space, cop_event_reader **out, cop_diag *diag)
{
	cop_journal_history_settings settings = {
		.model = options->model,
		.unanswered = true,
		.skip = options->reader.skip,
	};
	if (!cop_replay_is_journal(options))
		return cop_reader_open(&options->reader, options->path, space, out, diag);
	return cop_journal_history_open(options->path, &settings, out, diag);
}

/* Its columns in order, from one row that has them all. */
static cop_err name_columns(cop_feature_space *space, size_t columns)
{
	cop_feature_room room = { .value = NULL };
	cop_feature_span span;
	size_t features;
	cop_feature_space_begin(space);
	for (size_t i = 0; i < columns; i++) {
		char name[24];
		int length = snprintf(name, sizeof name, "%zu", i);
		cop_feature_space_put(space, name, (size_t)length, 1.0);
	}
	cop_err err = cop_feature_space_end(space, &room, &span, &features);
	cop_feature_room_fini(&room);
	return err;
}

cop_err cop_replay_journal_shape(
        const cop_event_reader *reader, cop_replay_journal *out, cop_feature_space **space, cop_diag *diag)
{
	const cop_journal_history_model *model = cop_journal_history_get_model(reader);
	cop_feature_space_settings settings = { .dense = model->features != 0, .bits = model->bits };
	*out = (cop_replay_journal){
		.told = model->told,
		.arms = model->arms,
		.entries = model->max_nonzeros,
		.low = model->loss_range[0],
		.high = model->loss_range[1],
	};
	cop_err err = cop_feature_space_new(&settings, space, diag);
	if (err == COP_OK && settings.dense) {
		err = name_columns(*space, model->features);
		cop_feature_space_freeze(*space);
	}
	if (err != COP_OK) {
		cop_diag_set(diag, "", 0, 0, "%s", cop_err_text(err));
		cop_feature_space_free(*space);
		*space = NULL;
	}
	return err;
}
