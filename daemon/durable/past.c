/* The journal is read twice: for the decision's record, then from the checkpoint to it. Other models' records are
 * passed over. What applied decisions would show is kept for the last one alone. */
#include "daemon/durable/past.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/number.h"
#include "daemon/durable/past_find.h"
#include "daemon/durable/recovery.h"
#include "store/journal_reader.h"
#include "store/state_dir.h"
#include "wire/wire_record.h"

static bool is_of(const cop_journal_record *raw, const char *model)
{
	const char *name;
	size_t length;
	return cop_wire_record_model(raw->body, raw->length, &name, &length) == COP_OK && length == strlen(model) &&
	       memcmp(name, model, length) == 0;
}

static void find_slot(cop_past *past)
{
	past->slot = cop_model_table_find_stored(&past->models, past->stored, strlen(past->stored));
}

/* From the state before record `from` to the decision. */
static cop_err apply(cop_past *past, const char *state_dir, const char *folder, uint64_t from, cop_diag *diag)
{
	cop_recovery recovery = { .state_dir = state_dir, .folder = folder };
	cop_journal_reader *reader;
	cop_journal_record raw;
	cop_err err = cop_journal_reader_open(folder, from, true, &reader, diag);
	if (err == COP_ENOTFOUND)
		cop_diag_of(diag, folder,
		        "what the model was like at record %" PRIu64
		        " is no longer known: the journal begins after record %" PRIu64
		        ", and no checkpoint from before that decision is kept; a backup may have one",
		        past->sequence, from);
	if (err != COP_OK)
		return err;
	uint64_t next = from;
	while ((err = cop_journal_next(reader, &raw, diag)) == COP_OK) {
		find_slot(past); /* one that got further arms has another */
		if (raw.sequence != next++ || cop_recovery_parts(past->slot, &raw, raw.sequence == from)) {
			cop_diag_of(diag, folder,
			        "what the model was like at record %" PRIu64 " is no longer known: at record %" PRIu64
			        " it had learned, or lost, what no record has; a backup from between them may have it",
			        past->sequence, raw.sequence);
			err = COP_ENOTFOUND;
			break;
		}
		if (raw.sequence == past->sequence)
			cop_model_explain_applied(past->slot->model, true);
		if (raw.type == COP_WIRE_RECORD_CONFIG || is_of(&raw, past->stored))
			err = cop_recovery_apply(&recovery, &past->models, &raw);
		if (err == COP_OK)
			err = cop_past_names_hear_record(&past->names, &raw);
		if (err != COP_OK) {
			char why[sizeof recovery.why];
			cop_diag_text(&recovery.why, why, sizeof why);
			cop_diag_of(diag, folder, "record %" PRIu64 " does not fit: %.200s", raw.sequence,
			        why[0] != '\0' ? why : cop_err_text(err));
		}
		if (err != COP_OK || raw.sequence == past->sequence)
			break;
	}
	cop_journal_reader_close(reader);
	return err;
}

/* Today's configuration where the model is in the life that it was in; else that of then, or, where the journal no
 * longer has that, today's options for that life. */
static cop_err choose_config(
        cop_past *past, cop_config *today, const cop_past_found *found, const char *folder, cop_diag *diag)
{
	const size_t length = strcspn(found->stored, "#");
	cop_config_model *model = NULL;
	for (size_t i = 0; i < today->model_count; i++)
		if (strlen(today->models[i].name) == length &&
		        memcmp(today->models[i].name, found->stored, length) == 0)
			model = &today->models[i];
	past->config = today;
	if (model != NULL && strcmp(model->stored, found->stored) == 0)
		return COP_OK;
	cop_err err = cop_past_find_config(folder, found, &past->then, &past->models_then, diag);
	if (err == COP_OK)
		past->config = past->then;
	if (err != COP_ENOTFOUND)
		return err;
	if (model == NULL) {
		cop_diag_of(diag, folder,
		        "what the model %.64s was like is no longer known: it is not configured any more, and the "
		        "journal no longer has its configuration",
		        found->stored);
		return COP_ENOTFOUND;
	}
	memcpy(model->stored, found->stored, sizeof model->stored);
	return COP_OK;
}

static bool is_configured(const cop_config *config, const char *name)
{
	return *name != '\0' && cop_config_find(config, name, strcspn(name, "#")) != NULL;
}

static cop_err find(
        cop_past *past, cop_config *config, const cop_past_question *question, const char *folder, cop_diag *diag)
{
	cop_past_found found;
	cop_err err = cop_past_find_decision(folder, question, &found, diag);
	if (err == COP_ENOTFOUND && !is_configured(config, question->model))
		cop_diag_message(diag,
		        "no model '%.64s'; expected one of the configuration, or one of which the journal still holds "
		        "this decision",
		        question->model);
	if (err != COP_OK)
		return err;
	memcpy(past->stored, found.stored, sizeof past->stored);
	past->id = found.id;
	past->sequence = found.sequence;
	past->time = found.time;
	err = choose_config(past, config, &found, folder, diag);
	if (err == COP_OK)
		cop_past_names_begin(&past->names, past->config, past->stored);
	for (size_t i = 0; err == COP_OK && i < past->config->model_count; i++)
		if (past->config->models[i].set.explain_keep == 0)
			past->config->models[i].set.explain_keep = 1;
	return err;
}

cop_err cop_past_open(cop_past *past, cop_config *config, const cop_past_question *question, cop_diag *diag)
{
	cop_checkpoint_mark mark = { 0 };
	size_t started;
	*past = (cop_past){ .slot = NULL };
	char *folder = cop_journal_path(config->state_dir, COP_STATE_DIR_JOURNAL);
	if (folder == NULL)
		return COP_ENOMEM;
	cop_err err = find(past, config, question, folder, diag);
	if (err == COP_OK)
		err = cop_model_table_init(&past->models, past->config, diag);
	if (err == COP_OK)
		err = cop_checkpoint_restore_before(config->state_dir, past->sequence, &past->models, &mark, diag);
	if (err == COP_OK)
		err = cop_past_names_hear(&past->names, past->models.listed.data, past->models.listed.length);
	find_slot(past);
	if (err == COP_OK && !past->slot->restored && past->slot->config->start_from_path != NULL)
		err = cop_model_table_start_from(&past->models, NULL, &started, diag);
	if (err == COP_OK)
		err = apply(past, config->state_dir, folder, mark.journal_next == 0 ? 1 : mark.journal_next, diag);
	find_slot(past);
	cop_past_names_end(&past->names);
	if (err == COP_OK)
		err = cop_past_names_find_later(&past->names, config->state_dir, past->sequence, diag);
	cop_mem_free(folder);
	return err;
}

void cop_past_close(cop_past *past)
{
	cop_model_table_fini(&past->models);
	cop_past_names_fini(&past->names);
	cop_past_find_free_config(past->then, past->models_then);
}

bool cop_past_time(const char *text, double *out)
{
	struct tm utc = { 0 };
	if (cop_number_parse(text, strlen(text), out) == COP_OK && isfinite(*out))
		return true;
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
	if (end == NULL || (*end != '\0' && strcmp(end, "Z") != 0))
		return false;
	*out = (double)timegm(&utc);
	return true;
}
