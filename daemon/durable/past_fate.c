/* A record is about the youngest decision of its id that is older than the record: ids come again once their decision
 * has ended. Decisions end with the feedback whose result is `applied`, or where a record lists them
 * (docs/reference/journal.md). */
#include "daemon/durable/past_fate.h"

#include <string.h>

#include "store/journal_reader.h"
#include "wire/wire_record.h"

typedef struct follow {
	cop_past_fate *fates;
	size_t count, open;
	uint64_t sequence;      /* of the record that is looked at, */
	cop_wire_glance glance; /* and what is in it */
} follow;

const char *cop_past_fate_outcome_text(cop_wire_outcome outcome)
{
	static const char *const texts[COP_WIRE_OUTCOMES] = { "recorded", "default", "unanswered", "pushed_out",
		"pushed_out_recorded", "another_action" };
	return texts[outcome];
}

/* NULL: it is none of them. */
static cop_past_fate *find(const follow *f, const cop_event_id *id)
{
	cop_past_fate *found = NULL;
	for (size_t i = 0; i < f->count; i++) {
		cop_past_fate *fate = &f->fates[i];
		if (fate->sequence < f->sequence && (found == NULL || fate->sequence > found->sequence) &&
		        cop_event_id_equal(&fate->id, id) && cop_wire_glance_is_of(&f->glance, fate->stored))
			found = fate;
	}
	return found != NULL && !found->ended ? found : NULL;
}

static void keep_named(const cop_wire_named *named, cop_past_fate_named *out)
{
	if (named->count == 0 || named->length > sizeof out->pairs)
		return;
	memcpy(out->pairs, named->pairs, named->length);
	out->length = named->length;
	out->count = named->count;
}

/* How it ended, and with what loss. */
static void end(follow *f, cop_past_fate *fate, double time, const char *how, const cop_wire_settlement *with)
{
	fate->ended = true;
	fate->time = time;
	fate->how = how;
	fate->losses = with->losses;
	memcpy(fate->loss, with->loss, sizeof fate->loss);
	keep_named(&with->named, &fate->named);
	f->open--;
}

static void take_feedback(follow *f, const cop_wire_glance *glance)
{
	cop_past_fate *fate = find(f, &glance->id);
	if (fate == NULL)
		return;
	bool room = fate->feedbacks < COP_PAST_FATE_FEEDBACK;
	cop_past_fate_feedback *at = &fate->feedback[room ? fate->feedbacks++ : COP_PAST_FATE_FEEDBACK - 1];
	*at = (cop_past_fate_feedback){ .time = glance->time, .losses = glance->losses, .result = glance->result };
	memcpy(at->loss, glance->loss, sizeof at->loss);
	keep_named(&glance->named, &at->named);
	if (glance->result != COP_WIRE_APPLIED)
		return;
	cop_wire_settlement with = { .losses = glance->losses, .named = glance->named };
	memcpy(with.loss, glance->loss, sizeof with.loss);
	end(f, fate, glance->time, "feedback", &with);
}

static void take_settled(follow *f, const cop_wire_glance *glance)
{
	cop_wire_settled rest = glance->settled;
	cop_wire_settlement s;
	while (cop_wire_settled_next(&rest, &s)) {
		cop_past_fate *fate = find(f, &s.id);
		if (fate != NULL)
			end(f, fate, glance->time, cop_past_fate_outcome_text(s.outcome), &s);
	}
}

static void look_at(follow *f, const cop_journal_record *raw)
{
	const cop_wire_glance *glance = &f->glance;
	bool tells = raw->type <= COP_WIRE_RECORD_ACTIVATION || raw->type == COP_WIRE_RECORD_FORGOTTEN;
	if (!tells || cop_wire_glance_read(raw->body, raw->length, &f->glance) != COP_OK || glance->model == NULL)
		return;
	f->sequence = raw->sequence;
	take_settled(f, glance); /* ended before what the record is of */
	if (raw->type == COP_WIRE_RECORD_FEEDBACK)
		take_feedback(f, glance);
}

cop_err cop_past_fate_follow(const char *folder, cop_past_fate *fates, size_t count, uint64_t records, cop_diag *diag)
{
	follow f = { .fates = fates, .count = count, .open = count };
	cop_journal_reader *reader;
	cop_journal_record raw;
	uint64_t oldest = UINT64_MAX;
	for (size_t i = 0; i < count; i++)
		oldest = fates[i].sequence < oldest ? fates[i].sequence : oldest;
	if (count == 0)
		return COP_OK;
	cop_err err = cop_journal_reader_open(folder, oldest, true, &reader, diag);
	if (err != COP_OK)
		return err;
	for (; f.open > 0 && records > 0 && (err = cop_journal_next(reader, &raw, diag)) == COP_OK; records--)
		look_at(&f, &raw);
	cop_journal_reader_close(reader);
	for (size_t i = 0; i < count; i++)
		fates[i].waits = err == COP_EEND && !fates[i].ended;
	return err == COP_EEND ? COP_OK : err;
}
