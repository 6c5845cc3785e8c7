/* A text that may mean a whole number makes two sides, each of which is scanned as if it were alone; the first one
 * counts unless nothing is of it. Invariant of a side of a unit: an id's newest span ends, if it has, with the record
 * at which another's decision, or feedback of another's that was no answer to the unit's, began under that id. */
#include "history/forget.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "history/forget_promotions.h"
#include "history/forget_spans.h"
#include "store/journal_reader.h"
#include "wire/wire_mention.h"

#define SIDES  2
#define BREATH 1024 /* records between questions whether to go on */

typedef struct side {
	cop_event_id name;
	cop_forget_spans spans;
	cop_forget_model *models;
	size_t count, room;
} side;

struct cop_forget_plan {
	bool unit;
	bool all; /* models; else those that are called `only` */
	char only[COP_WIRE_RECORD_MODEL + 1];
	side sides[SIDES];
	size_t side_count;
	uint64_t next; /* record to go on with */
	uint64_t unread;
	cop_forget_promotions promotions;
	bool (*goes_on)(void *context);
	void *context;
};

void cop_forget_ask(cop_forget_plan *plan, bool (*goes_on)(void *context), void *context)
{
	plan->goes_on = goes_on;
	plan->context = context;
}

static bool is_over(const cop_forget_plan *plan, uint64_t sequence)
{
	return sequence % BREATH == 0 && plan->goes_on != NULL && !plan->goes_on(plan->context);
}

/* ---- the plan ---- */

static bool read_names(const cop_forget_whom *whom, cop_forget_plan *plan)
{
	char *end;
	plan->side_count = 1;
	plan->sides[0].name = whom->name;
	if (whom->name.kind != 0)
		return true;
	const char *text = whom->text;
	if (!cop_event_id_from_bytes(&plan->sides[0].name, COP_EVENT_ID_STRING, text, strlen(text)))
		return false;
	long long number = strtoll(text, &end, 10);
	if (*end != '\0')
		return true;
	plan->side_count = 2;
	cop_event_id_from_signed(&plan->sides[1].name, number);
	return true;
}

cop_err cop_forget_plan_new(const cop_forget_whom *whom, cop_forget_plan **out)
{
	*out = NULL;
	cop_forget_plan *plan = cop_mem_alloc(1, sizeof *plan);
	if (plan == NULL)
		return COP_ENOMEM;
	plan->unit = whom->unit;
	plan->all = whom->model == NULL;
	bool fits = plan->all || strlen(whom->model) < sizeof plan->only;
	if (!read_names(whom, plan) || !fits) {
		cop_forget_plan_free(plan);
		return COP_EINVAL;
	}
	if (!plan->all)
		memcpy(plan->only, whom->model, strlen(whom->model) + 1);
	*out = plan;
	return COP_OK;
}

void cop_forget_plan_free(cop_forget_plan *plan)
{
	if (plan == NULL)
		return;
	for (size_t i = 0; i < SIDES; i++) {
		cop_forget_spans_fini(&plan->sides[i].spans);
		cop_mem_free(plan->sides[i].models);
	}
	cop_forget_promotions_fini(&plan->promotions);
	cop_mem_free(plan);
}

static const side *chosen(const cop_forget_plan *plan)
{
	return &plan->sides[plan->side_count > 1 && plan->sides[0].count == 0];
}

const cop_forget_model *cop_forget_models(const cop_forget_plan *plan, size_t *count)
{
	*count = chosen(plan)->count;
	return chosen(plan)->models;
}

bool cop_forget_is_number(const cop_forget_plan *plan) { return chosen(plan)->name.kind >= COP_EVENT_ID_UNSIGNED; }

uint64_t cop_forget_unread(const cop_forget_plan *plan) { return plan->unread; }

uint64_t cop_forget_first(const cop_forget_plan *plan)
{
	const side *s = chosen(plan);
	uint64_t first = 0;
	for (size_t i = 0; i < s->count; i++)
		if (first == 0 || s->models[i].first < first)
			first = s->models[i].first;
	return first;
}

uint64_t cop_forget_last(const cop_forget_plan *plan)
{
	const side *s = chosen(plan);
	uint64_t last = cop_forget_promotions_last(&plan->promotions);
	for (size_t i = 0; i < s->count; i++)
		if (s->models[i].last > last)
			last = s->models[i].last;
	return last;
}

/* ---- whose it is ---- */

/* Its number in the side; the side's count: nothing of it is concerned so far. */
static size_t find_model(const side *s, const cop_wire_glance *mention)
{
	size_t i = 0;
	while (i < s->count && (strlen(s->models[i].name) != mention->model_length ||
	                               memcmp(s->models[i].name, mention->model, mention->model_length) != 0))
		i++;
	return i;
}

static cop_err add_model(side *s, const cop_wire_glance *mention)
{
	if (s->count == s->room) {
		size_t room = s->room == 0 ? 4 : 2 * s->room;
		cop_forget_model *models = cop_mem_resize(s->models, s->room, room, sizeof *models);
		if (models == NULL)
			return COP_ENOMEM;
		s->models = models;
		s->room = room;
	}
	cop_forget_model *model = &s->models[s->count++];
	*model = (cop_forget_model){ .first = 0 };
	memcpy(model->name, mention->model, mention->model_length);
	return COP_OK;
}

static bool in_scope(const cop_forget_plan *plan, const cop_wire_glance *mention)
{
	const size_t only = strlen(plan->only), length = mention->model_length;
	return length <= COP_WIRE_RECORD_MODEL &&
	       (plan->all || (length >= only && memcmp(plan->only, mention->model, only) == 0 &&
	                             (length == only || mention->model[only] == '#')));
}

/* Types whose bodies mention decisions. */
static bool is_read(uint8_t type)
{
	return type >= COP_WIRE_RECORD_DECISION && type <= COP_WIRE_RECORD_FORGOTTEN &&
	       type != COP_WIRE_RECORD_CONFIG && type != COP_WIRE_RECORD_PROMOTION;
}

/* Whether it may name a unit: a decision, or feedback that brings its context. */
static bool is_whole(uint8_t type, const cop_wire_glance *mention)
{
	return type == COP_WIRE_RECORD_DECISION || (type == COP_WIRE_RECORD_FEEDBACK && mention->has_x);
}

/* One that is looked at: of one side, with its model's number there. */
typedef struct looking {
	const cop_forget_plan *plan;
	const side *side;
	uint32_t model;
	uint8_t type;
	uint64_t sequence;
	const cop_wire_glance *mention;
} looking;

/* Whether the unit began under this id with the record itself. */
static bool names_unit(const looking *at)
{
	return at->plan->unit && is_whole(at->type, at->mention) &&
	       cop_event_id_equal(&at->mention->unit, &at->side->name);
}

/* Whether the id was the unit's: `after` the beginning and up to the end, or from the beginning and before the end. */
static bool was_under(const looking *at, const cop_event_id *id, bool after)
{
	if (!at->plan->unit)
		return cop_event_id_equal(id, &at->side->name);
	uint64_t sequence = at->sequence - after; /* span (from, to] */
	const cop_forget_span *span = cop_forget_spans_find(&at->side->spans, at->model, id);
	while (span != NULL && (sequence < span->from || sequence >= span->to))
		span = cop_forget_spans_older(&at->side->spans, span);
	return span != NULL;
}

static bool is_own(const looking *at)
{
	return at->mention->id.kind != 0 && (names_unit(at) || was_under(at, &at->mention->id, false));
}

/* What ends before the record's own decision begins is of the one before. */
static bool keep_ending(void *context, const cop_wire_settlement *settlement)
{
	const looking *at = context;
	return !was_under(at, &settlement->id, true);
}

/* ---- the scan ---- */

/* Whether it begins something of another's under its id. */
static bool begins_anew(const looking *at)
{
	return at->type == COP_WIRE_RECORD_DECISION ||
	       (is_whole(at->type, at->mention) && at->mention->unit.kind != 0 && !at->mention->joined);
}

static cop_err note_span(side *s, looking *at)
{
	bool named = names_unit(at);
	if (named && at->model == s->count) {
		cop_err err = add_model(s, at->mention);
		if (err != COP_OK)
			return err;
	}
	cop_forget_span *span = cop_forget_spans_find(&s->spans, at->model, &at->mention->id);
	bool open = span != NULL && span->to == UINT64_MAX;
	if (named && !open)
		return cop_forget_spans_add(&s->spans, at->model, &at->mention->id, at->sequence);
	if (!named && open && begins_anew(at))
		span->to = at->sequence;
	return COP_OK;
}

static void count_own(cop_forget_model *model, const looking *at)
{
	if (model->decisions + model->feedback + model->activations + model->unheard == 0)
		model->first_time = at->mention->time;
	model->last_time = at->mention->time;
	model->decisions += at->type == COP_WIRE_RECORD_DECISION;
	model->feedback += at->type == COP_WIRE_RECORD_FEEDBACK;
	model->activations += at->type == COP_WIRE_RECORD_ACTIVATION;
	model->unheard += at->type == COP_WIRE_RECORD_UNHEARD;
}

static cop_err take(
        const cop_forget_plan *plan, side *s, const cop_journal_record *record, const cop_wire_glance *mention)
{
	looking at = { plan, s, (uint32_t)find_model(s, mention), record->type, record->sequence, mention };
	cop_err err = plan->unit && is_whole(record->type, mention) ? note_span(s, &at) : COP_OK;
	if (err != COP_OK)
		return err;
	bool own = is_own(&at);
	size_t endings = cop_wire_mention_count(mention, keep_ending, &at);
	if (!own && endings == 0)
		return COP_OK;
	if (at.model == s->count)
		err = add_model(s, mention);
	if (err != COP_OK)
		return err;
	cop_forget_model *model = &s->models[at.model];
	model->first = model->first == 0 ? record->sequence : model->first;
	model->last = record->sequence;
	model->endings += own ? 0 : endings;
	if (own)
		count_own(model, &at);
	return COP_OK;
}

cop_err cop_forget_take(cop_forget_plan *plan, const cop_journal_record *record)
{
	cop_wire_glance mention;
	cop_err err = COP_OK;
	bool reads = is_read(record->type);
	bool read = reads && cop_wire_mention_read(record->body, record->length, &mention) == COP_OK;
	plan->unread += reads && !read;
	for (size_t i = 0; i < plan->side_count && err == COP_OK && read && in_scope(plan, &mention); i++)
		err = take(plan, &plan->sides[i], record, &mention);
	if (err == COP_OK)
		err = cop_forget_promotions_take(&plan->promotions, record);
	if (err == COP_OK)
		plan->next = record->sequence + 1;
	return err;
}

void cop_forget_drop_challenger(cop_forget_plan *plan, const char *model, uint64_t number)
{
	cop_forget_promotions_drop(&plan->promotions, model, number);
}

bool cop_forget_serving(const cop_forget_plan *plan, const char *model, uint64_t *serving, uint64_t *shadow)
{
	return cop_forget_promotions_serving(&plan->promotions, model, serving, shadow);
}

/* Where to begin: the record to go on with, or the oldest there is. */
static cop_err open_reader(const cop_forget_plan *plan, const char *folder, cop_journal_reader **out, cop_diag *diag)
{
	cop_err err = cop_journal_reader_open(folder, plan->next, true, out, diag);
	return err == COP_ENOTFOUND && plan->next > 0 ? cop_journal_reader_open(folder, 0, true, out, diag) : err;
}

cop_err cop_forget_scan(cop_forget_plan *plan, const char *folder, uint64_t up_to, cop_diag *diag)
{
	cop_journal_reader *reader;
	cop_journal_record record;
	if (up_to < plan->next)
		return COP_OK;
	bool ended = false;
	cop_err err = open_reader(plan, folder, &reader, diag);
	if (err != COP_OK)
		return err;
	while (err == COP_OK && plan->next <= up_to) {
		err = cop_journal_next(reader, &record, diag);
		if (err != COP_OK || record.sequence > up_to)
			break;
		ended = is_over(plan, record.sequence);
		err = ended ? COP_EEND : cop_forget_take(plan, &record);
		if (err != COP_OK)
			cop_diag_of(diag, folder, "%s", cop_err_text(err));
	}
	cop_journal_reader_close(reader);
	return err == COP_EEND && !ended ? COP_OK : err;
}

/* ---- the ids ---- */

cop_err cop_forget_ids(const cop_forget_plan *plan, const char *stored, cop_event_id **ids, size_t *count)
{
	const side *s = chosen(plan);
	const cop_wire_glance model = { .model = stored, .model_length = strlen(stored) };
	const size_t which = find_model(s, &model);
	*count = 0;
	*ids = cop_mem_alloc(s->spans.count + 1, sizeof **ids);
	if (*ids == NULL)
		return COP_ENOMEM;
	if (!plan->unit && in_scope(plan, &model))
		(*ids)[(*count)++] = s->name;
	for (size_t i = 0; i < s->spans.count; i++)
		if (s->spans.items[i].model == which && s->spans.items[i].to == UINT64_MAX)
			(*ids)[(*count)++] = s->spans.items[i].id;
	return COP_OK;
}

/* ---- the edit ---- */

static cop_err put_edited(
        const looking *at, bool forgotten, const cop_journal_record *record, cop_bytes *room, cop_journal_record *out)
{
	looking seen = *at;
	cop_bytes_clear(room);
	if (forgotten)
		cop_wire_mention_put_forgotten(room, at->mention, keep_ending, &seen);
	else
		cop_wire_mention_put_rest(room, record->body, record->length, at->mention, keep_ending, &seen);
	out->type = forgotten ? COP_WIRE_RECORD_FORGOTTEN : record->type;
	out->body = room->data;
	out->length = room->length;
	return room->err;
}

/* Of a challenger that is dropped. */
static cop_err edit_promotion(const cop_forget_plan *plan, const cop_journal_record *record, cop_bytes *room,
        cop_journal_record *out, cop_forget_fate *fate)
{
	cop_wire_glance mention;
	looking at = { .plan = plan, .side = chosen(plan), .mention = &mention };
	if (!cop_forget_promotions_is_gone(&plan->promotions, record->sequence) ||
	        cop_wire_mention_read(record->body, record->length, &mention) != COP_OK)
		return COP_OK;
	*fate = COP_FORGET_ERASED;
	return put_edited(&at, true, record, room, out);
}

cop_err cop_forget_edit(const cop_forget_plan *plan, const cop_journal_record *record, cop_bytes *room,
        cop_journal_record *out, cop_forget_fate *fate)
{
	cop_wire_glance mention;
	const side *s = chosen(plan);
	*out = *record;
	*fate = COP_FORGET_KEEP;
	if (record->type == COP_WIRE_RECORD_PROMOTION)
		return edit_promotion(plan, record, room, out, fate);
	if (s->count == 0 || record->sequence >= plan->next || !is_read(record->type) ||
	        cop_wire_mention_read(record->body, record->length, &mention) != COP_OK || !in_scope(plan, &mention))
		return COP_OK;
	looking at = { plan, s, (uint32_t)find_model(s, &mention), record->type, record->sequence, &mention };
	if (at.model == s->count)
		return COP_OK;
	bool own = is_own(&at);
	size_t endings = cop_wire_mention_count(&mention, keep_ending, &at);
	if (!own && endings == 0)
		return COP_OK;
	/* Records that hold nothing but endings do nothing without one. */
	bool bare = record->type == COP_WIRE_RECORD_EXPIRY || record->type == COP_WIRE_RECORD_FORGOTTEN;
	bool empty = bare && endings == mention.settled.count;
	*fate = own || (empty && record->type != COP_WIRE_RECORD_FORGOTTEN) ? COP_FORGET_ERASED : COP_FORGET_EDITED;
	return put_edited(&at, own || empty, record, room, out);
}

/* ---- the journal ---- */

typedef struct erasing {
	const cop_forget_plan *plan;
	cop_bytes room;
	bool ended; /* somebody who was asked wants no more */
} erasing;

static cop_err edit(void *context, const cop_journal_record *record, cop_journal_record *out, bool *changed)
{
	erasing *e = context;
	cop_forget_fate fate;
	e->ended = is_over(e->plan, record->sequence);
	if (e->ended)
		return COP_EINVAL; /* which ends it; COP_EEND is a segment's own end */
	cop_err err = cop_forget_edit(e->plan, record, &e->room, out, &fate);
	*changed = fate != COP_FORGET_KEEP;
	return err;
}

static cop_err check_closed(const cop_forget_plan *plan, const char *folder, cop_diag *diag)
{
	cop_journal_file *files;
	size_t count;
	cop_err err = cop_journal_list(folder, &files, &count, diag);
	if (err == COP_OK && count > 0 && cop_forget_last(plan) >= files[count - 1].base) {
		cop_diag_of(diag, folder,
		        "record %" PRIu64 " is to be erased and in the newest segment; expected one that was begun "
		        "behind it",
		        cop_forget_last(plan));
		err = COP_EINVAL;
	}
	cop_mem_free(files);
	return err;
}

cop_err cop_forget_erase(const cop_forget_plan *plan, const char *folder, cop_journal_rewritten *done, cop_diag *diag)
{
	erasing e = { .plan = plan };
	const cop_journal_editor editor = { edit, &e };
	*done = (cop_journal_rewritten){ 0 };
	cop_err err = check_closed(plan, folder, diag);
	if (err != COP_OK)
		return err;
	cop_bytes_init(&e.room);
	err = cop_journal_rewrite(folder, cop_forget_last(plan), &editor, done, diag);
	cop_bytes_fini(&e.room);
	return e.ended ? COP_EEND : err;
}
