/* Records move decisions from the waiting ones into a list of those that are done; events are given out of that list,
 * and the next record is read when it is empty. Each record lists what it ended, in the order in which that ended: a
 * decision is looked up by its id, and no rule of windows or rewards is needed. So a journal can be read from any
 * record on: of decisions that were made before it nothing is given, and all else is as if it were read as a whole. */
#include "history/journal_history.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "history/open_decisions.h"
#include "history/record_source.h"
#include "history/recorded_model.h"

typedef struct history {
	cop_event_reader base; /* first */
	cop_record_source source;
	cop_recorded_model told;
	size_t bins; /* as settings */
	float *wide; /* settings' features, for a context that has fewer */
	size_t features;
	cop_open_decisions waiting;
	cop_open_decisions_entry *done, *last_done;
	cop_open_decisions_entry *given; /* of the last event */
	bool unanswered;
	bool leave_held;
	bool ended; /* no more records */
	size_t waiting_max, waiting_bytes;
	uint64_t segment; /* base of the one whose model set was taken last */
	cop_journal_record raw;
	cop_journal_history_origin origin;
	cop_journal_history_value value;
	cop_journal_history_counts counts;
	cop_err err; /* sticky */
	cop_diag why;
} history;

/* ---- what becomes of a decision ---- */

static void put_done(history *h, cop_open_decisions_entry *entry)
{
	entry->younger = NULL;
	if (h->done == NULL)
		h->done = entry;
	else
		h->last_done->younger = entry;
	h->last_done = entry;
}

static void finish(history *h, cop_open_decisions_entry *entry, double time)
{
	cop_open_decisions_remove(&h->waiting, entry);
	entry->learned = h->raw.sequence;
	entry->ended = time;
	put_done(h, entry);
}

/* Of the named losses that are asked for. */
static void label_named(const history *h, cop_open_decisions_entry *entry, const cop_wire_named *named)
{
	const cop_named_losses *cost = &h->told.cost;
	cop_loss_values values;
	cop_wire_named_find(named, &cost->weights, &values);
	for (size_t i = 0; i < cost->weights.count; i++)
		if (cost->weights.weight[i] != 0.0 && (values.told >> i & 1u) == 0)
			return;
	entry->labelled = true;
	entry->loss[0] = cop_named_losses_weigh(cost, &values);
}

static void label(const history *h, cop_open_decisions_entry *entry, const double *loss, unsigned losses,
        const cop_wire_named *named)
{
	if (h->told.cost.weights.count > 0) {
		label_named(h, entry, named);
		return;
	}
	entry->labelled = true;
	for (unsigned i = 0; i < losses; i++)
		entry->loss[i] = loss[i];
}

/* What the record ended beside its own decision; of such as were made before the first record nothing is known. */
static void settle(history *h, const cop_wire_record *r)
{
	cop_wire_settled rest = r->settled;
	cop_wire_settlement is;
	while (cop_wire_settled_next(&rest, &is)) {
		cop_open_decisions_entry *entry = cop_open_decisions_find(&h->waiting, &is.id);
		if (entry == NULL)
			continue;
		if (is.outcome == COP_WIRE_OUTCOME_ANOTHER) {
			/* The feedback that reports the other action is an event of its own. */
			cop_open_decisions_remove(&h->waiting, entry);
			cop_mem_free(entry);
			continue;
		}
		if (cop_wire_settled_learned(is.outcome))
			label(h, entry, is.loss, is.losses, &is.named);
		entry->defaulted = is.outcome == COP_WIRE_OUTCOME_DEFAULT;
		finish(h, entry, r->time);
	}
}

/* ---- records ---- */

static cop_err keep_decision(history *h, const cop_wire_record *r)
{
	cop_open_decisions_entry *entry = cop_open_decisions_find(&h->waiting, &r->id);
	if (entry != NULL) /* its end is in a record that is missing */
		finish(h, entry, r->time);
	entry = cop_open_decisions_entry_new(&r->id, h->raw.body, h->raw.length);
	if (entry == NULL)
		return COP_ENOMEM;
	entry->sequence = h->raw.sequence;
	entry->time = r->time;
	entry->deferred = r->defer;
	entry->text = COP_JOURNAL_FRAME_HEAD + h->raw.length;
	cop_err err = cop_open_decisions_add(&h->waiting, entry);
	if (err != COP_OK) {
		cop_mem_free(entry);
		return err;
	}
	while (h->waiting.count > 1 && (h->waiting.count > h->waiting_max || h->waiting.bytes > h->waiting_bytes)) {
		h->counts.gave_way++;
		finish(h, h->waiting.oldest, r->time);
	}
	return COP_OK;
}

static cop_err learn_self_contained(history *h, const cop_wire_record *r)
{
	cop_open_decisions_entry *entry = cop_open_decisions_entry_new(&r->id, h->raw.body, h->raw.length);
	if (entry == NULL)
		return COP_ENOMEM;
	entry->sequence = entry->learned = h->raw.sequence;
	entry->time = entry->ended = r->time;
	entry->self_contained = true;
	entry->text = COP_JOURNAL_FRAME_HEAD + h->raw.length;
	label(h, entry, r->loss, r->losses, &r->named);
	put_done(h, entry);
	return COP_OK;
}

/* Recorded losses come again with the window's end. */
static cop_err join(history *h, const cop_wire_record *r)
{
	bool values = h->told.model.values;
	if ((values && r->losses != h->told.model.losses) ||
	        (r->result != COP_WIRE_APPLIED && r->result != COP_WIRE_RECORDED)) {
		h->counts.ignored++;
		return COP_OK;
	}
	if (r->has_x && !r->joined) {
		if (!values)
			return learn_self_contained(h, r);
		h->counts.unjoined++; /* y is the decision's alone */
		return COP_OK;
	}
	cop_open_decisions_entry *entry = cop_open_decisions_find(&h->waiting, &r->id);
	if (entry == NULL) {
		h->counts.unjoined++;
		return COP_OK;
	}
	entry->text += COP_JOURNAL_FRAME_HEAD + h->raw.length;
	if (r->result == COP_WIRE_RECORDED)
		return COP_OK;
	label(h, entry, r->loss, r->losses, &r->named);
	finish(h, entry, r->time);
	return COP_OK;
}

static void activate(history *h, const cop_wire_record *r)
{
	cop_open_decisions_entry *entry = cop_open_decisions_find(&h->waiting, &r->id);
	if (entry == NULL || r->result != COP_WIRE_APPLIED)
		return;
	entry->deferred = entry->unheard = false;
	entry->time = r->time;
	cop_open_decisions_renew(&h->waiting, entry);
}

static void mark_unheard(history *h, const cop_wire_record *r)
{
	cop_open_decisions_entry *entry = cop_open_decisions_find(&h->waiting, &r->id);
	if (entry != NULL)
		entry->unheard = true;
}

static cop_err apply(history *h, const cop_wire_record *r)
{
	settle(h, r);
	switch ((cop_wire_record_type)h->raw.type) {
	case COP_WIRE_RECORD_DECISION:
		h->counts.decisions++;
		return keep_decision(h, r);
	case COP_WIRE_RECORD_FEEDBACK:
		h->counts.feedback++;
		return join(h, r);
	case COP_WIRE_RECORD_ACTIVATION:
		activate(h, r);
		break;
	case COP_WIRE_RECORD_UNHEARD:
		mark_unheard(h, r);
		break;
	case COP_WIRE_RECORD_FORGOTTEN:
		h->counts.forgotten++;
		break;
	case COP_WIRE_RECORD_EXPIRY:
	case COP_WIRE_RECORD_CONFIG:
	case COP_WIRE_RECORD_PROMOTION:
	case COP_WIRE_RECORD_POSITION:
	case COP_WIRE_RECORD_MERGE:
		break;
	}
	return COP_OK;
}

/* ---- reading ---- */

/* Says where; the record in hand. */
static cop_err refuse(history *h, cop_err err, const char *what, cop_diag *diag)
{
	char text[400];
	(void)snprintf(text, sizeof text, "%.380s", what);
	cop_diag_at_offset(diag, "", h->raw.offset, "record %" PRIu64 " (offset %" PRIu64 "): %s", h->raw.sequence,
	        h->raw.offset, text);
	cop_record_source_place(&h->source, h->segment, diag);
	h->counts.bad += err == COP_EFORMAT;
	return err;
}

static cop_err decode(
        history *h, cop_wire_record_type type, const uint8_t *body, size_t length, cop_wire_record *out, cop_diag *diag)
{
	cop_wire_fault fault = { .message = "" };
	cop_err err = cop_wire_record_decode(type, body, length, &h->told.shape, &h->told.workspace, out, &fault);
	return err == COP_OK ? COP_OK : refuse(h, COP_EFORMAT, fault.message, diag);
}

/* A configuration's models count from here on. */
static cop_err take_config(history *h, cop_diag *diag)
{
	static const cop_wire_shape no_shape = { .features = 1, .arms = 1 };
	static const cop_wire_workspace no_workspace = { 0 };
	cop_wire_record r;
	cop_wire_fault fault = { .message = "" };
	if (cop_wire_record_decode(
	            COP_WIRE_RECORD_CONFIG, h->raw.body, h->raw.length, &no_shape, &no_workspace, &r, &fault) != COP_OK)
		return refuse(h, COP_EFORMAT, fault.message, diag);
	cop_err err = cop_recorded_model_take(&h->told, r.models, r.models_length, diag);
	return err == COP_OK ? COP_OK : refuse(h, err, diag->message, diag);
}

/* A segment's header describes the models as they were when it was begun. */
static cop_err enter_segment(history *h, cop_diag *diag)
{
	size_t length;
	const uint8_t *set = cop_record_source_model_set(&h->source, &length);
	uint64_t base = cop_record_source_base(&h->source);
	if (base == h->segment)
		return COP_OK;
	h->segment = base;
	cop_err err = cop_recorded_model_take(&h->told, set, length, diag);
	return err == COP_OK ? COP_OK : refuse(h, err, diag->message, diag);
}

static cop_err take_record(history *h, cop_diag *diag)
{
	cop_wire_record r;
	cop_err err = enter_segment(h, diag);
	if (err != COP_OK)
		return err;
	if (h->raw.type == COP_WIRE_RECORD_CONFIG)
		return take_config(h, diag);
	if (h->raw.type < COP_WIRE_RECORD_DECISION || h->raw.type > COP_WIRE_RECORD_POSITION)
		return COP_OK; /* of a later version */
	err = cop_recorded_model_match(&h->told, &h->raw, diag);
	if (err != COP_OK)
		return err == COP_EEND ? COP_OK : refuse(h, err, diag->message, diag);
	h->counts.records++;
	err = decode(h, (cop_wire_record_type)h->raw.type, h->raw.body, h->raw.length, &r, diag);
	if (err == COP_OK)
		err = apply(h, &r);
	if (err == COP_ENOMEM)
		cop_diag_message(diag, "%s", cop_err_text(err));
	return err;
}

/* At the journal's end. COP_EEND: each loss that is asked for was somewhere the name of one. */
static cop_err check_names(const history *h, cop_diag *diag)
{
	const cop_named_losses *cost = &h->told.cost;
	for (size_t i = 0; i < cost->weights.count; i++) {
		bool known = false;
		for (size_t k = 0; k < cost->ranges.count; k++)
			known = known || strcmp(cost->ranges.name[k], cost->weights.name[i]) == 0;
		if (known)
			continue;
		cop_diag_message(diag, "model \"%s\" has no loss %s; expected a name of its losses", h->told.model.name,
		        cost->weights.name[i]);
		return COP_EINVAL;
	}
	return COP_EEND;
}

/* The next record, or, at the journal's end, one of those that wait still. */
static cop_err advance(history *h, cop_diag *diag)
{
	cop_err err = h->ended ? COP_EEND : cop_record_source_next(&h->source, &h->raw, diag);
	if (err == COP_OK)
		return take_record(h, diag);
	if (err == COP_EEND && !h->ended)
		err = check_names(h, diag);
	if (err != COP_EEND)
		return err;
	h->ended = true;
	cop_open_decisions_entry *entry = h->waiting.oldest;
	if (entry == NULL)
		return COP_EEND;
	cop_open_decisions_remove(&h->waiting, entry);
	put_done(h, entry);
	return COP_OK;
}

/* ---- events ---- */

/* COP_EEND: this one is not wanted. */
static cop_err count_outcome(history *h, const cop_open_decisions_entry *entry)
{
	cop_journal_history_counts *counts = &h->counts;
	if (entry->labelled) {
		counts->labelled++;
		counts->defaulted += entry->defaulted;
		counts->self_contained += entry->self_contained;
		return COP_OK;
	}
	if (entry->deferred || entry->unheard) {
		counts->not_shown++;
		return COP_EEND;
	}
	counts->unanswered++;
	return h->unanswered ? COP_OK : COP_EEND;
}

static cop_err check_label(history *h, const cop_logged_event *event, cop_diag *diag)
{
	char text[160];
	bool huge = h->told.model.values &&
	            !(fabs(h->value.loss[0]) <= COP_LOGGED_COST_MAX && fabs(h->value.loss[1]) <= COP_LOGGED_COST_MAX);
	if (huge || fabs(event->cost) > COP_LOGGED_COST_MAX)
		(void)snprintf(text, sizeof text,
		        "loss %g of the decision in record %" PRIu64 "; expected at most %g in size", event->cost,
		        event->line, COP_LOGGED_COST_MAX);
	else if (event->p < COP_LOGGED_PROBABILITY_MIN)
		(void)snprintf(text, sizeof text,
		        "propensity %g of the decision in record %" PRIu64 "; expected at least %g", event->p,
		        event->line, COP_LOGGED_PROBABILITY_MIN);
	else
		return COP_OK;
	return refuse(h, COP_EFORMAT, text, diag);
}

/* The constant and, with candidates, what they share count for each of them. */
static size_t count_features(const cop_wire_record *r)
{
	size_t count = cop_row_entries(&r->x) + 1;
	if (r->candidates > 0)
		count *= r->candidates;
	for (size_t i = 0; i < r->candidates; i++)
		count += cop_row_entries(&r->candidate[i]);
	return count;
}

/* The bin's probability is its density times its width. */
static void bin(const history *h, cop_logged_event *event)
{
	double bins = (double)h->bins, at = h->value.y * bins;
	event->has_y = true;
	event->y = h->value.y;
	event->action = at >= bins ? (uint32_t)h->bins - 1 : (uint32_t)at;
	event->p = fmin(h->value.density / bins, 1.0);
}

static void fill(history *h, const cop_open_decisions_entry *entry, const cop_wire_record *r, cop_logged_event *event)
{
	*event = (cop_logged_event){
		.line = entry->sequence,
		.id = entry->id,
		.x = r->x,
		.mask = r->mask,
		.arms = r->mask != NULL ? r->arms : 0,
		.labelled = entry->labelled,
		.learn = entry->labelled,
		.candidates = r->candidates,
		.candidate = r->candidates > 0 ? r->candidate : NULL,
		.action = entry->self_contained && r->candidates > 0 ? 0 : r->a, /* the one that was played */
		.cost = entry->labelled ? entry->loss[0] : 0.0,
		.p = r->p,
		.weight = 1.0,
		.features = count_features(r),
		.text = entry->text,
	};
	h->origin = (cop_journal_history_origin){
		.sequence = entry->sequence,
		.learned = entry->learned,
		.time = entry->time,
		.learned_time = entry->ended,
		.defaulted = entry->defaulted,
		.self_contained = entry->self_contained,
	};
	if (!r->values)
		return;
	event->p = 1.0;
	h->value = (cop_journal_history_value){ .y = r->y, .u = r->u, .density = r->density ? r->p : 0.0 };
	if (h->bins > 0)
		bin(h, event);
	if (!entry->labelled)
		return;
	memcpy(h->value.loss, entry->loss, sizeof h->value.loss);
	if (h->told.model.losses == 2)
		event->cost = (entry->loss[0] + entry->loss[1]) / 2.0;
	else
		h->value.loss[1] = 0.0;
}

static cop_err refuse_probes(history *h, cop_diag *diag)
{
	char text[160];
	(void)snprintf(text, sizeof text,
	        "model \"%.64s\" plays probes, of which no density is known; expected one with "
	        "feedback = \"bins\"",
	        h->told.model.name);
	return refuse(h, COP_EINVAL, text, diag);
}

/* What a context lacks of the features that are wanted is unknown. */
static void widen(history *h, cop_row *x)
{
	if (x->dense == NULL || x->d >= h->features)
		return;
	memcpy(h->wide, x->dense, x->d * sizeof *h->wide);
	for (size_t j = x->d; j < h->features; j++)
		h->wide[j] = NAN;
	*x = (cop_row){ .d = h->features, .dense = h->wide };
}

/* The event of the first that is done. COP_EEND: it makes none. */
static cop_err give(history *h, cop_logged_event *event, cop_diag *diag)
{
	cop_wire_record r;
	cop_open_decisions_entry *entry = h->done;
	h->done = entry->younger;
	h->given = entry;
	cop_err err = count_outcome(h, entry);
	if (err != COP_OK)
		return err;
	cop_wire_record_type type = entry->self_contained ? COP_WIRE_RECORD_FEEDBACK : COP_WIRE_RECORD_DECISION;
	err = decode(h, type, entry->body, entry->length, &r, diag);
	if (err != COP_OK)
		return err;
	if (h->bins > 0 && r.values && !r.density)
		return refuse_probes(h, diag);
	if (h->leave_held && r.split && r.observed) {
		h->counts.held++;
		return COP_EEND;
	}
	fill(h, entry, &r, event);
	widen(h, &event->x);
	return entry->labelled ? check_label(h, event, diag) : COP_OK;
}

static cop_err next_event(history *h, cop_logged_event *event, cop_diag *diag)
{
	for (;;) {
		cop_mem_free(h->given);
		h->given = NULL;
		cop_err err = h->done != NULL ? give(h, event, diag) : advance(h, diag);
		bool gave = h->given != NULL;
		if (err == COP_EEND ? !gave : err != COP_OK || gave)
			return err;
	}
}

static cop_err next(cop_event_reader *reader, cop_logged_event *event, cop_diag *diag)
{
	history *h = (history *)reader;
	if (h->err == COP_OK) {
		cop_err err = next_event(h, event, diag);
		if (err == COP_OK || err == COP_EFORMAT)
			return err;
		h->err = err;
		h->why = *diag;
	}
	*diag = h->why;
	return h->err;
}

/* ---- life ---- */

static void destroy(cop_event_reader *reader)
{
	history *h = (history *)reader;
	while (h->done != NULL) {
		cop_open_decisions_entry *entry = h->done;
		h->done = entry->younger;
		cop_mem_free(entry);
	}
	cop_mem_free(h->given);
	cop_mem_free(h->wide);
	cop_open_decisions_fini(&h->waiting);
	cop_recorded_model_fini(&h->told);
	cop_record_source_fini(&h->source);
	cop_mem_free(h);
}

static const cop_event_reader_class class = { .next = next, .destroy = destroy };

cop_err cop_journal_history_open(
        const char *path, const cop_journal_history_settings *settings, cop_event_reader **out, cop_diag *diag)
{
	*out = NULL;
	history *h = cop_mem_alloc(1, sizeof *h);
	if (h == NULL) {
		cop_diag_of(diag, path, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	h->base.class = &class;
	h->unanswered = settings->unanswered;
	h->leave_held = settings->leave_held;
	h->told.values = settings->values || settings->bins > 0;
	h->bins = settings->bins;
	h->told.cost.weights = settings->losses;
	h->waiting_max = settings->waiting_max != 0 ? settings->waiting_max : COP_JOURNAL_HISTORY_WAITING;
	h->waiting_bytes = settings->waiting_bytes != 0 ? settings->waiting_bytes : COP_JOURNAL_HISTORY_BYTES;
	h->features = settings->features;
	h->wide = cop_mem_alloc(h->features, sizeof *h->wide);
	cop_err err = h->wide == NULL ? COP_ENOMEM : COP_OK;
	if (err != COP_OK)
		cop_diag_of(diag, path, "%s", cop_err_text(err));
	else
		err = cop_record_source_open(&h->source, path, settings->from, settings->skip, &settings->skips, diag);
	if (err == COP_OK) {
		cop_diag why = { .message = "" };
		err = cop_recorded_model_choose(
		        &h->told, settings->model == NULL ? "" : settings->model, &h->source, &why);
		if (err != COP_OK)
			cop_diag_of(diag, path, "%s", why.message);
	}
	if (err != COP_OK) {
		destroy(&h->base);
		return err;
	}
	*out = &h->base;
	return COP_OK;
}

const cop_journal_history_model *cop_journal_history_get_model(const cop_event_reader *reader)
{
	return &((const history *)reader)->told.model;
}

const cop_journal_history_origin *cop_journal_history_get_origin(const cop_event_reader *reader)
{
	return &((const history *)reader)->origin;
}

const cop_journal_history_value *cop_journal_history_get_value(const cop_event_reader *reader)
{
	return &((const history *)reader)->value;
}

const cop_journal_history_counts *cop_journal_history_get_counts(const cop_event_reader *reader)
{
	return &((const history *)reader)->counts;
}
