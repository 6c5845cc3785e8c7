/* A model at a time is a what-if with no other settings, whose span ends there. */
#include "whatif_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "history/record_source.h"
#include "online/model_options.h"
#include "store/checkpoint_file.h"
#include "store/journal_segment.h"
#include "store/state_dir.h"
#include "store/state_mark.h"
#include "whatif_run.h"
#include "wire/wire_models.h"
#include "wire/wire_record.h"

bool cop_whatif_state_is(const char *stored, const char *model)
{
	size_t length = strcspn(stored, "#");
	if (model == NULL || strcmp(stored, model) == 0)
		return true;
	const size_t name = strcspn(model, "#");
	if (name != length || strncmp(stored, model, length) != 0)
		return false;
	return model[name] == '\0' || (stored[length] == '\0' && strcmp(model + name, "#0") == 0);
}

static cop_err find_model(cop_whatif_state *s, const char *model, cop_diag *diag)
{
	cop_model_section section;
	size_t count = 0;
	for (size_t at = 0; cop_section_file_next(&s->file, &at, &section);) {
		char stored[COP_SAVED_FILE_NAME];
		cop_cursor cursor;
		if (!cop_saved_file_names(&section, stored) || !cop_whatif_state_is(stored, model))
			continue;
		cop_cursor_init(&cursor, section.data, section.length);
		cop_cursor_text(&cursor, s->name, sizeof s->name);
		s->length = cop_cursor_left(&cursor);
		s->data = cop_cursor_take(&cursor, s->length);
		count++;
	}
	if (count == 1)
		return COP_OK;
	if (count == 0)
		cop_diag_of(diag, s->folder, "no model '%s' in its newest checkpoint", model == NULL ? "" : model);
	else
		cop_diag_of(diag, s->folder, "%zu models in its newest checkpoint; expected --model NAME", count);
	return COP_ENOTFOUND;
}

/* The newest file could not be used: an older one's settings may not be the model's. */
static void note_skipped(void *context, uint64_t sequence, const cop_diag *why)
{
	cop_diag *first = context;
	(void)sequence;
	if (first->message[0] == '\0')
		*first = *why;
}

static cop_err open_newest(cop_whatif_state *s, cop_diag *diag)
{
	uint64_t sequence;
	cop_diag why = { 0 }, skipped = { 0 };
	const cop_checkpoint_listener listener = { note_skipped, &skipped };
	cop_err err =
	        cop_checkpoint_newest(s->folder, COP_STATE_DIR_CHECKPOINT, &s->checkpoint, &sequence, &listener, &why);
	if (skipped.message[0] != '\0') {
		*diag = skipped;
		return COP_EIO;
	}
	if (err == COP_ENOTFOUND && access(s->folder, X_OK) != 0)
		cop_diag_of(diag, s->folder, "cannot be opened: %s", strerror(errno));
	else if (err == COP_ENOTFOUND)
		cop_diag_of(diag, s->folder, "no checkpoint in it; expected a daemon's state folder");
	else if (err != COP_OK)
		*diag = why;
	return err;
}

static cop_err look_into(cop_whatif_state *s, const char *model, cop_diag *diag)
{
	cop_state_mark mark = { 0 };
	cop_err err = cop_section_file_open(&s->file, s->checkpoint.data, s->checkpoint.length, s->folder, diag);
	if (err == COP_OK)
		err = find_model(s, model, diag);
	if (err == COP_OK)
		(void)!cop_state_mark_read(&s->file, &mark);
	s->next = mark.journal_next;
	return err == COP_OK ? cop_model_peek(s->data, s->length, &s->was, diag) : err;
}

/* An earlier life is in older checkpoints alone. */
static cop_err look_further(cop_whatif_state *s, const char *model)
{
	uint64_t *all = NULL;
	size_t count = 0;
	cop_err err = cop_checkpoint_list(s->folder, COP_STATE_DIR_CHECKPOINT, &all, &count, NULL);
	cop_err found = COP_ENOTFOUND;
	for (size_t i = 1; i < count && err == COP_OK && found == COP_ENOTFOUND; i++) {
		char name[COP_CHECKPOINT_NAME_ROOM], path[COP_WHATIF_STATE_PATH];
		cop_diag why;
		cop_checkpoint_name(COP_STATE_DIR_CHECKPOINT, all[i], name);
		(void)snprintf(path, sizeof path, "%s/%s", s->folder, name);
		found = cop_checkpoint_read(path, &s->checkpoint, &why) == COP_OK ? look_into(s, model, &why)
		                                                                  : COP_ENOTFOUND;
	}
	cop_mem_free(all);
	return err == COP_OK ? found : err;
}

cop_err cop_whatif_state_open(const char *folder, const char *model, cop_whatif_state *out, cop_diag *diag)
{
	*out = (cop_whatif_state){ .folder = folder };
	cop_bytes_init(&out->checkpoint);
	(void)snprintf(out->journal, sizeof out->journal, "%s/" COP_STATE_DIR_JOURNAL, folder);
	cop_err err = open_newest(out, diag);
	if (err != COP_OK)
		return err;
	err = look_into(out, model, diag);
	if (err == COP_ENOTFOUND && model != NULL && strchr(model, '#') != NULL)
		err = look_further(out, model);
	return err;
}

void cop_whatif_state_close(cop_whatif_state *state) { cop_bytes_fini(&state->checkpoint); }

/* ---- a time ---- */

/* Its name in the record, if that has it. */
static void read_names(const cop_wire_record *config, const char *model, char out[COP_SAVED_FILE_NAME])
{
	cop_wire_models models;
	cop_wire_model is;
	char stored[COP_SAVED_FILE_NAME];
	if (config->models == NULL ||
	        cop_wire_models_open(&models, config->models, config->models_length, NULL) != COP_OK)
		return;
	while (cop_wire_models_next(&models, &is, NULL) == COP_OK) {
		(void)snprintf(stored, sizeof stored, "%.*s", (int)is.name_length, is.name);
		if (cop_whatif_state_is(stored, model))
			memcpy(out, stored, sizeof stored);
	}
}

cop_err cop_whatif_state_life(
        const char *folder, const char *model, double time, char out[COP_SAVED_FILE_NAME], cop_diag *diag)
{
	static const cop_wire_shape no_shape = { .features = 1, .arms = 1 };
	static const cop_wire_workspace no_workspace = { 0 };
	cop_record_source source = { 0 };
	cop_journal_record raw;
	cop_wire_record rec;
	char journal[COP_WHATIF_STATE_PATH];
	out[0] = '\0';
	(void)snprintf(journal, sizeof journal, "%s/" COP_STATE_DIR_JOURNAL, folder);
	cop_err err = cop_record_source_open(&source, journal, 0, false, NULL, diag);
	while (err == COP_OK && (err = cop_record_source_next(&source, &raw, diag)) == COP_OK)
		if (raw.type == COP_WIRE_RECORD_CONFIG &&
		        cop_wire_record_decode(COP_WIRE_RECORD_CONFIG, raw.body, raw.length, &no_shape, &no_workspace,
		                &rec, NULL) == COP_OK &&
		        rec.time <= time)
			read_names(&rec, model, out);
	cop_record_source_fini(&source);
	if (err == COP_EEND && out[0] == '\0') {
		cop_diag_of(diag, journal, "no configuration with model '%.64s' at or before that time", model);
		return COP_ENOTFOUND;
	}
	/* Of one life a name without its number would be any. */
	if (err == COP_EEND && strchr(out, '#') == NULL && strlen(out) + 3 <= COP_SAVED_FILE_NAME)
		(void)strcat(out, "#0");
	return err == COP_EEND ? COP_OK : err;
}

/* Where no checkpoint is of before the time, a run begins with the oldest one. */
static bool is_late(const char *folder, const cop_whatif_figures *figures, double time)
{
	char name[COP_CHECKPOINT_NAME_ROOM], path[COP_WHATIF_STATE_PATH];
	cop_state_mark mark;
	if (figures->begun != COP_WHATIF_CHECKPOINT)
		return figures->begun == COP_WHATIF_ANEW;
	cop_checkpoint_name(COP_STATE_DIR_CHECKPOINT, figures->checkpoint, name);
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return cop_state_mark_glance(path, &mark, NULL) != COP_OK || mark.time > time;
}

cop_err cop_whatif_state_at(const char *folder, const char *model, double time, cop_bytes *out,
        char name[COP_SAVED_FILE_NAME], cop_diag *diag)
{
	static const cop_whatif_changes none = { .count = 0 };
	cop_whatif_state s = { .folder = folder };
	cop_whatif_figures figures = { 0 };
	cop_err err = cop_whatif_state_life(folder, model, time, name, diag);
	if (err != COP_OK)
		return err;
	err = cop_whatif_state_open(folder, name, &s, diag);
	const cop_whatif_question question = { .state = folder,
		.journal = s.journal,
		.model = s.name,
		.was = s.was,
		.data = s.data,
		.length = s.length,
		.next = s.next,
		.changes = &none,
		.from = time,
		.to = time,
		.level = 0.95,
		.save = out };
	if (err == COP_OK)
		err = cop_whatif_run(&question, &figures, diag);
	if (err == COP_OK && (out->length == 0 || is_late(folder, &figures, time))) {
		cop_diag_of(diag, folder,
		        "what the model %.64s was like at that time is no longer known: no checkpoint from before it "
		        "is kept",
		        model);
		err = COP_ENOTFOUND;
	}
	memcpy(name, s.name, sizeof s.name);
	cop_whatif_run_fini(&figures);
	cop_whatif_state_close(&s);
	return err;
}
