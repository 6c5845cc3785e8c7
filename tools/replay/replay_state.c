#include "replay_state.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/stream.h"
#include "learn/bins.h"
#include "online/model_names.h"
#include "store/section_file.h"

#define REPLAY_VERSION 1

static void put_replay(const cop_replay_state *state, cop_bytes *bytes)
{
	cop_bytes_put_u64(bytes, state->limits.arms);
	cop_bytes_put_u64(bytes, state->limits.candidates);
	cop_bytes_put_u64(bytes, state->limits.entries);
	cop_bytes_put_f64(bytes, state->limits.low);
	cop_bytes_put_f64(bytes, state->limits.high);
	cop_bytes_put_u64(bytes, state->events);
	cop_bytes_put_u64(bytes, state->in_pass);
	cop_bytes_put_u8(bytes, state->exploring);
	cop_bytes_put_u32(bytes, COP_REPLAY_SKIPS);
	for (size_t i = 0; i < COP_REPLAY_SKIPS; i++)
		cop_bytes_put_u64(bytes, state->skipped[i]);
	cop_estimates_save(&state->tally, bytes);
}

static cop_err get_replay(cop_replay_state *state, cop_cursor *cursor)
{
	state->limits.arms = (size_t)cop_cursor_u64(cursor);
	state->limits.candidates = (size_t)cop_cursor_u64(cursor);
	state->limits.entries = (size_t)cop_cursor_u64(cursor);
	state->limits.low = cop_cursor_f64(cursor);
	state->limits.high = cop_cursor_f64(cursor);
	state->events = cop_cursor_u64(cursor);
	state->in_pass = cop_cursor_u64(cursor);
	state->exploring = cop_cursor_u8(cursor) != 0;
	uint32_t skips = cop_cursor_u32(cursor);
	if (cursor->err != COP_OK || skips != COP_REPLAY_SKIPS)
		return COP_EFORMAT;
	for (size_t i = 0; i < COP_REPLAY_SKIPS; i++)
		state->skipped[i] = cop_cursor_u64(cursor);
	cop_err err = cop_estimates_load(&state->tally, cursor);
	if (err != COP_OK)
		return err;
	return cursor->err != COP_OK || cop_cursor_left(cursor) == 0 ? cursor->err : COP_EFORMAT;
}

/* The columns' names, as a daemon's feature_names takes them. */
static cop_err save_names(const char *path, const cop_feature_space *space, cop_diag *diag)
{
	char name[4096];
	cop_bytes bytes;
	if (snprintf(name, sizeof name, "%s.features.txt", path) >= (int)sizeof name) {
		cop_diag_of(diag, path, "the name is too long");
		return COP_EINVAL;
	}
	cop_bytes_init(&bytes);
	for (size_t i = 0; i < cop_feature_space_dimension(space); i++) {
		const char *column = cop_feature_space_column(space, i);
		cop_bytes_put(&bytes, column, strlen(column));
		cop_bytes_put(&bytes, "\n", 1);
	}
	cop_err err = cop_section_file_save(name, &bytes, diag);
	cop_bytes_fini(&bytes);
	return err;
}

cop_err cop_replay_state_save(const char *path, const cop_replay_state *state, cop_diag *diag)
{
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	size_t file = cop_section_file_begin(&bytes);
	cop_model_save(state->model, &bytes);
	cop_model_names_save(state->space, &bytes);
	cop_model_names_save_places(state->space, &bytes);
	size_t section = cop_section_file_begin_section(&bytes, COP_REPLAY_SECTION, REPLAY_VERSION);
	put_replay(state, &bytes);
	cop_section_file_end_section(&bytes, section);
	cop_section_file_end(&bytes, file);
	cop_err err = cop_section_file_save(path, &bytes, diag);
	cop_bytes_fini(&bytes);
	if (err == COP_OK && cop_feature_space_is_dense(state->space))
		err = save_names(path, state->space, diag);
	return err;
}

static cop_err no_replay(cop_err err, cop_diag *diag)
{
	if (err == COP_ENOTFOUND)
		cop_diag_message(diag, "no feature space and no replay in it, expected a file of coppice replay "
		                       "--save");
	return err == COP_ENOTFOUND ? COP_EFORMAT : err;
}

static cop_err read_sections(const cop_section_file *file, cop_replay_state *out, cop_diag *diag)
{
	cop_model_section section;
	cop_cursor cursor;
	cop_err err = cop_model_names_load(file, NULL, &out->space, diag);
	if (err != COP_OK)
		return no_replay(err, diag);
	err = cop_model_names_load_places(file, COP_PLACE_NAMES_BYTES, out->space, diag);
	if (err != COP_OK)
		return err;
	err = cop_section_file_find(file, COP_REPLAY_SECTION, 0, REPLAY_VERSION, &section);
	if (err == COP_OK) {
		cop_cursor_init(&cursor, section.data, section.length);
		err = get_replay(out, &cursor);
	}
	if (err != COP_OK)
		cop_diag_message(diag, "section '" COP_REPLAY_SECTION "': %s", cop_err_text(err));
	return no_replay(err, diag);
}

cop_err cop_replay_state_peek(const cop_section_file *file, cop_replay_state *out, cop_diag *diag)
{
	*out = (cop_replay_state){ .model = NULL };
	cop_err err = read_sections(file, out, diag);
	if (err != COP_OK)
		cop_replay_state_fini(out);
	return err;
}

static cop_err load_sections(const cop_section_file *file, cop_replay_state *out, cop_diag *diag)
{
	cop_model_settings settings;
	cop_err err = read_sections(file, out, diag);
	if (err == COP_OK)
		err = cop_model_peek(file->data, file->length, &settings, diag);
	if (err == COP_OK)
		err = cop_model_new(&settings, &out->model, diag);
	if (err == COP_OK)
		err = cop_model_load(out->model, file->data, file->length, diag);
	if (err != COP_OK)
		return err;
	const cop_learner_settings *l = &cop_model_get_settings(out->model)->learner;
	out->limits.values = cop_learner_plays_values(l);
	bool fits = (out->limits.values ? COP_BINS : l->arms) == out->limits.arms &&
	            (out->limits.candidates == 0 || l->max_candidates == out->limits.candidates) &&
	            (l->features != 0) == cop_feature_space_is_dense(out->space) &&
	            cop_learner_dimension(l) == cop_feature_space_dimension(out->space) &&
	            (l->features != 0 || l->max_nonzeros == out->limits.entries) &&
	            settings.loss_low == out->limits.low && settings.loss_high == out->limits.high;
	if (fits)
		return COP_OK;
	cop_diag_message(diag, "its sections do not fit together");
	return COP_EFORMAT;
}

cop_err cop_replay_state_load(const char *path, cop_replay_state *out, cop_diag *diag)
{
	cop_bytes bytes;
	cop_section_file file;
	*out = (cop_replay_state){ .model = NULL };
	cop_bytes_init(&bytes);
	cop_err err = cop_section_file_load(path, &bytes, diag);
	if (err == COP_OK)
		err = cop_section_file_open(&file, bytes.data, bytes.length, path, diag);
	if (err == COP_OK)
		err = load_sections(&file, out, diag);
	cop_bytes_fini(&bytes);
	if (err != COP_OK) {
		cop_replay_state_fini(out);
		if (diag->source[0] == '\0')
			(void)snprintf(diag->source, sizeof diag->source, "%s", path);
		return err;
	}
	out->limits.dimension = cop_feature_space_dimension(out->space);
	out->limits.dense = cop_feature_space_is_dense(out->space);
	out->limits.known = out->limits.dense ? cop_model_known(out->model) : out->limits.dimension;
	size_t candidate_features = cop_model_get_settings(out->model)->learner.candidate_features;
	out->limits.candidate_dimension = candidate_features != 0 ? candidate_features : out->limits.dimension;
	return COP_OK;
}

void cop_replay_state_fini(cop_replay_state *state)
{
	cop_model_free(state->model);
	cop_feature_space_free(state->space);
	*state = (cop_replay_state){ .model = NULL };
}
