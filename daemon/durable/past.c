/* The journal is read twice: for the decision's record, then from the checkpoint to it. Other models' records are
 * passed over. What applied decisions would show is kept for the last one alone. */
#include "daemon/durable/past.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/number.h"
#include "daemon/durable/past_search.h"
#include "daemon/durable/recovery.h"
#include "store/journal_reader.h"
#include "store/state_dir.h"
#include "wire/wire_record.h"

typedef struct search {
	const cop_past_question *question;
	cop_event_id text, number; /* the ids that are looked for */
	bool numbered;             /* the second one is one */
	bool found_text;
} search;

static void begin_search(search *s, const cop_past_question *question)
{
	char *end;
	*s = (search){ .question = question };
	(void)!cop_event_id_from_bytes(&s->text, COP_EVENT_ID_STRING, question->id, strlen(question->id));
	long long number = strtoll(question->id, &end, 10);
	s->numbered = *question->id != '\0' && *end == '\0';
	if (s->numbered && number >= 0)
		cop_event_id_from_unsigned(&s->number, (uint64_t)number);
	else if (s->numbered)
		cop_event_id_from_signed(&s->number, number);
}

static bool is_of(const cop_journal_record *raw, const char *model)
{
	const char *name;
	size_t length;
	return cop_wire_record_model(raw->body, raw->length, &name, &length) == COP_OK && length == strlen(model) &&
	       memcmp(name, model, length) == 0;
}

/* A decision of the model; a text counts before a number that is written alike. */
static void look_at(cop_past *past, search *s, const cop_journal_record *raw)
{
	cop_wire_record record;
	cop_wire_fault fault;
	cop_wire_shape shape = past->slot->shape;
	shape.least_features =
	        shape.max_candidates == 0 && shape.features > 0 ? 1 : 0; /* there may have been fewer then */
	if (raw->type != COP_WIRE_RECORD_DECISION || !is_of(raw, past->stored) ||
	        cop_wire_record_decode(COP_WIRE_RECORD_DECISION, raw->body, raw->length, &shape, &past->slot->workspace,
	                &record, &fault) != COP_OK ||
	        record.time > s->question->at)
		return;
	bool text = cop_event_id_equal(&record.id, &s->text);
	if (!text && (s->found_text || !s->numbered || !cop_event_id_equal(&record.id, &s->number)))
		return;
	s->found_text = text;
	past->id = record.id;
	past->sequence = raw->sequence;
	past->time = record.time;
}

static cop_err find_decision(cop_past *past, const char *folder, const cop_past_question *question, cop_diag *diag)
{
	search s;
	cop_journal_reader *reader;
	cop_journal_record raw;
	begin_search(&s, question);
	cop_err err = cop_journal_reader_open(folder, 0, true, &reader, diag);
	if (err != COP_OK)
		return err;
	while ((err = cop_journal_next(reader, &raw, diag)) == COP_OK)
		look_at(past, &s, &raw);
	cop_journal_reader_close(reader);
	if (err != COP_EEND)
		return err;
	if (past->sequence != 0)
		return COP_OK;
	cop_diag_of(diag, folder, "no decision '%.64s' of the model %.64s%s; expected one that the journal still holds",
	        question->id, question->model, isinf(question->at) ? "" : " at or before that time");
	return COP_ENOTFOUND;
}

/* What record it is is known. */
static cop_err take_record(cop_past *past, const char *folder, uint64_t sequence, cop_diag *diag)
{
	cop_past_search_found found;
	const cop_past_search_wanted wanted = { .folder = folder, .stored = past->stored, .prefix = "" };
	cop_err err = cop_past_search_record(&wanted, sequence, &found, diag);
	if (err != COP_OK)
		return err;
	past->id = found.id;
	past->sequence = found.sequence;
	past->time = found.time;
	return COP_OK;
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

cop_err cop_past_open(cop_past *past, cop_config *config, const cop_past_question *question, cop_diag *diag)
{
	cop_checkpoint_mark mark = { 0 };
	size_t started;
	*past = (cop_past){ .slot = NULL };
	for (size_t i = 0; i < config->model_count; i++)
		if (config->models[i].set.explain_keep == 0)
			config->models[i].set.explain_keep = 1;
	char *folder = cop_journal_path(config->state_dir, COP_STATE_DIR_JOURNAL);
	if (folder == NULL)
		return COP_ENOMEM;
	cop_err err = cop_model_table_init(&past->models, config, diag);
	past->slot = cop_model_table_find(&past->models, question->model, strlen(question->model));
	if (err == COP_OK && (past->slot == NULL || question->model[0] == '\0')) {
		cop_diag_message(diag, "no model '%.64s'; expected one of the configuration", question->model);
		err = COP_ENOTFOUND;
	}
	if (err == COP_OK) {
		memcpy(past->stored, past->slot->stored, sizeof past->stored);
		err = question->record != 0 ? take_record(past, folder, question->record, diag)
		                            : find_decision(past, folder, question, diag);
	}
	past->slot = NULL; /* what is restored may take its place */
	if (err == COP_OK)
		err = cop_checkpoint_restore_before(config->state_dir, past->sequence, &past->models, &mark, diag);
	find_slot(past);
	if (err == COP_OK && !past->slot->restored && past->slot->config->start_from_path != NULL)
		err = cop_model_table_start_from(&past->models, NULL, &started, diag);
	if (err == COP_OK)
		err = apply(past, config->state_dir, folder, mark.journal_next == 0 ? 1 : mark.journal_next, diag);
	find_slot(past);
	cop_mem_free(folder);
	return err;
}

void cop_past_close(cop_past *past) { cop_model_table_fini(&past->models); }

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
