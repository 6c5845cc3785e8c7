/* A journal has the whole configuration in a record at each start and each change, so the newest one before a decision
 * is the one in force. Of its models all but one are put aside, behind the end of the list, until it is freed. */
#include "daemon/durable/past_find.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/journal_reader.h"
#include "wire/wire_glance.h"
#include "wire/wire_record.h"

bool cop_past_find_is_of(const char *asked, const char *stored, size_t length)
{
	const size_t name = strcspn(asked, "#");
	const char *mark = memchr(stored, '#', length);
	const size_t base = mark == NULL ? length : (size_t)(mark - stored);
	if (base != name || memcmp(asked, stored, base) != 0)
		return false;
	if (asked[name] == '\0')
		return true;
	if (strcmp(asked + name, "#0") == 0)
		return mark == NULL;
	return length == strlen(asked) && memcmp(asked, stored, length) == 0;
}

/* ---- the decision ---- */

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

/* A decision of the model, in whatever life that is asked for. */
static bool read_decision(const search *s, const cop_journal_record *raw, cop_wire_glance *glance)
{
	return raw->type == COP_WIRE_RECORD_DECISION &&
	       cop_wire_glance_head(raw->body, raw->length, glance) == COP_OK && glance->model != NULL &&
	       glance->model_length <= COP_CONFIG_NAME_MAX &&
	       cop_past_find_is_of(s->question->model, glance->model, glance->model_length);
}

static void take(cop_past_found *out, const cop_journal_record *raw, const cop_wire_glance *glance)
{
	*out = (cop_past_found){ .id = glance->id, .sequence = raw->sequence, .time = glance->time };
	memcpy(out->stored, glance->model, glance->model_length);
}

/* A text counts before a number that is written alike. */
static void look_at(search *s, const cop_journal_record *raw, cop_past_found *out)
{
	cop_wire_glance glance;
	if (!read_decision(s, raw, &glance) || glance.time > s->question->at)
		return;
	bool text = cop_event_id_equal(&glance.id, &s->text);
	if (!text && (s->found_text || !s->numbered || !cop_event_id_equal(&glance.id, &s->number)))
		return;
	s->found_text = text;
	take(out, raw, &glance);
}

/* What record it is is known. */
static cop_err take_record(
        search *s, const char *folder, cop_journal_reader *reader, cop_past_found *out, cop_diag *diag)
{
	cop_journal_record raw;
	cop_wire_glance glance;
	const uint64_t sequence = s->question->record;
	cop_err err = cop_journal_next(reader, &raw, diag);
	if (err == COP_OK && raw.sequence == sequence && read_decision(s, &raw, &glance))
		take(out, &raw, &glance);
	else if (err == COP_OK || err == COP_EEND) {
		cop_diag_of(diag, folder, "record %" PRIu64 " is no such decision of the model", sequence);
		err = COP_ENOTFOUND;
	}
	return err;
}

static cop_err look_through(
        search *s, const char *folder, cop_journal_reader *reader, cop_past_found *out, cop_diag *diag)
{
	cop_journal_record raw;
	cop_err err;
	while ((err = cop_journal_next(reader, &raw, diag)) == COP_OK)
		look_at(s, &raw, out);
	if (err != COP_EEND)
		return err;
	if (out->sequence != 0)
		return COP_OK;
	cop_diag_of(diag, folder, "no decision '%.64s' of the model %.64s%s; expected one that the journal still holds",
	        s->question->id, s->question->model, isinf(s->question->at) ? "" : " at or before that time");
	return COP_ENOTFOUND;
}

cop_err cop_past_find_decision(
        const char *folder, const cop_past_question *question, cop_past_found *out, cop_diag *diag)
{
	search s;
	cop_journal_reader *reader;
	*out = (cop_past_found){ .sequence = 0 };
	begin_search(&s, question);
	cop_err err = cop_journal_reader_open(folder, question->record, true, &reader, diag);
	if (err != COP_OK)
		return err;
	err = question->record != 0 ? take_record(&s, folder, reader, out, diag)
	                            : look_through(&s, folder, reader, out, diag);
	cop_journal_reader_close(reader);
	return err;
}

/* ---- the configuration ---- */

/* The newest one before record `before`; empty: there is none. */
static cop_err find_text(const char *folder, uint64_t before, cop_bytes *out, cop_diag *diag)
{
	static const cop_wire_shape no_shape = { .features = 1, .arms = 1 };
	static const cop_wire_workspace no_workspace = { 0 };
	cop_journal_reader *reader;
	cop_journal_record raw;
	cop_wire_record record;
	cop_err err = cop_journal_reader_open(folder, 0, true, &reader, diag);
	if (err != COP_OK)
		return err;
	while ((err = cop_journal_next(reader, &raw, diag)) == COP_OK && raw.sequence < before) {
		if (raw.type != COP_WIRE_RECORD_CONFIG ||
		        cop_wire_record_decode(COP_WIRE_RECORD_CONFIG, raw.body, raw.length, &no_shape, &no_workspace,
		                &record, NULL) != COP_OK)
			continue;
		cop_bytes_clear(out);
		cop_bytes_put(out, record.text, record.text_length);
	}
	cop_journal_reader_close(reader);
	return err == COP_EEND || err == COP_OK ? out->err : err;
}

static cop_err parse(const cop_bytes *text, cop_config **out, cop_diag *diag)
{
	cop_config_report report;
	cop_config_report_init(&report);
	cop_err err = cop_config_parse(
	        (const char *)text->data, text->length, "the journal's configuration", NULL, out, &report);
	if (err != COP_OK && report.count > 0)
		*diag = report.items[0];
	cop_config_report_fini(&report);
	return err;
}

/* The model to the front, and the others behind the end. */
static bool put_first(cop_config *config, const char *stored)
{
	const size_t name = strcspn(stored, "#");
	for (size_t i = 0; i < config->model_count; i++) {
		cop_config_model *model = &config->models[i], kept = *model;
		if (strlen(model->name) != name || memcmp(model->name, stored, name) != 0)
			continue;
		*model = config->models[0];
		(void)snprintf(kept.stored, sizeof kept.stored, "%s", stored);
		config->models[0] = kept;
		config->model_count = 1;
		return true;
	}
	return false;
}

cop_err cop_past_find_config(
        const char *folder, const cop_past_found *found, cop_config **out, size_t *models, cop_diag *diag)
{
	cop_bytes text;
	cop_bytes_init(&text);
	*out = NULL;
	cop_err err = find_text(folder, found->sequence, &text, diag);
	if (err == COP_OK && text.length == 0)
		err = COP_ENOTFOUND;
	if (err == COP_OK)
		err = parse(&text, out, diag);
	cop_bytes_fini(&text);
	if (err != COP_OK)
		return err;
	*models = (*out)->model_count;
	if (put_first(*out, found->stored))
		return COP_OK;
	cop_past_find_free_config(*out, *models);
	*out = NULL;
	return COP_ENOTFOUND;
}

void cop_past_find_free_config(cop_config *config, size_t models)
{
	if (config != NULL)
		config->model_count = models;
	cop_config_free(config);
}
