/* Records are read and decoded on this thread; the first model is on another (whatif_first.h), and the second one and
 * the figures follow on a third (whatif_second.h). What concerns models waits until both rest. Where they begin as
 * the model did, each record must fit the first one, as in recovery: else the answer would be of another model. Where
 * they begin anew, records of what came before are passed over, the model's shape is what segments and configurations
 * tell, and masks are lengthened. */
#include "whatif_run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "history/record_source.h"
#include "online/model_shadow.h"
#include "store/section_file.h"
#include "whatif_config.h"
#include "whatif_first.h"
#include "whatif_second.h"
#include "whatif_masks.h"
#include "whatif_promote.h"
#include "whatif_start.h"

typedef struct run {
	const cop_whatif_question *question;
	cop_whatif_figures *figures;
	cop_whatif_pair pair;
	cop_recorded_model told; /* shape and room of records */
	cop_record_source source;
	cop_journal_record raw;
	cop_whatif_masks masks;
	cop_whatif_pipe *pipe; /* to the models' threads */
	cop_whatif_first first;
	cop_whatif_second second;
	uint64_t segment;
	uint64_t bad;  /* records that made no sense */
	bool compared; /* with the newest checkpoint */
	bool judged;   /* what challengers are judged by is known */
} run;

static const cop_wire_shape no_shape = { .features = 1, .arms = 1 };
static const cop_wire_workspace no_workspace = { 0 };

static bool is_anew(const run *r) { return r->figures->begun == COP_WHATIF_ANEW; }

static cop_err refuse(const run *r, cop_err err, const char *what, cop_diag *diag)
{
	return cop_whatif_first_refuse(r->question, r->raw.sequence, err, what, diag);
}

bool cop_whatif_run_in_span(const cop_whatif_question *question, double time)
{
	return time >= question->from && time <= question->to;
}

/* ---- records ---- */

/* Whether the model was then as the newest checkpoint has it, but for arms and features that were added since. */
static bool is_alike(const run *r, const cop_wire_record *rec)
{
	const cop_learner_settings *l = &r->question->was.learner;
	const cop_journal_history_model *m = &r->told.model;
	bool more =
	        m->features == l->features || (m->features < l->features && cop_learner_takes_features(l, m->features));
	bool same = more && (l->features != 0 || m->bits == l->bits) && m->arms <= l->arms;
	return same && (!rec->has_x || l->features != 0 || rec->x.nnz <= l->max_nonzeros);
}

/* Whether the models are asked about it: a decision, or a feedback that is an event of its own, in the span. */
static bool asks(const run *r, const cop_wire_record *rec)
{
	if (r->raw.type != COP_WIRE_RECORD_FEEDBACK)
		return r->raw.type == COP_WIRE_RECORD_DECISION;
	const bool event = rec->has_x && !rec->joined && rec->result == COP_WIRE_APPLIED && rec->candidates == 0;
	return event && !r->figures->values && cop_whatif_run_in_span(r->question, rec->time);
}

static cop_err judge(run *r, cop_diag *diag);

static cop_err promote(run *r, const cop_wire_record *rec, cop_diag *diag)
{
	const cop_whatif_question *q = r->question;
	cop_diag why = { 0 };
	cop_err err = cop_whatif_pipe_flush(r->pipe);
	if (err == COP_OK && !r->judged)
		err = judge(r, diag);
	if (err != COP_OK)
		return err;
	err = cop_whatif_promote(r->pair.was.model, q->state, q->model, rec, &why);
	if (err != COP_OK && (!is_anew(r) || err == COP_ENOMEM))
		return refuse(r, err, why.message, diag);
	if (r->pair.along && !r->pair.alone)
		err = cop_whatif_promote(r->pair.would.model, q->state, q->model, rec, &why);
	return err == COP_ENOMEM ? err : COP_OK;
}

/* A model file, with the names that the newest checkpoint has beside the model. */
static void put_file(const run *r, const cop_model *model, cop_bytes *out)
{
	static const char *const others[] = { "features", "names" };
	cop_section_file file;
	cop_model_section section;
	cop_bytes_clear(out);
	size_t mark = cop_section_file_begin(out);
	cop_model_save(model, out);
	bool open = cop_section_file_open(&file, r->question->data, r->question->length, NULL, NULL) == COP_OK;
	for (size_t i = 0; open && i < 2; i++) {
		if (cop_section_file_find(&file, others[i], 0, UINT32_MAX, &section) != COP_OK)
			continue;
		size_t at = cop_section_file_begin_section(out, section.name, section.version);
		cop_bytes_put(out, section.data, section.length);
		cop_section_file_end_section(out, at);
	}
	cop_section_file_end(out, mark);
}

/* Where the newest checkpoint stands, the first model is what that has, unless it was begun anew in between, or
 * changed otherwise than by the journal. */
static cop_err compare(run *r)
{
	const cop_whatif_question *q = r->question;
	cop_bytes is;
	r->compared = true;
	if (is_anew(r) || r->pair.was.model == NULL || r->second.over)
		return COP_OK;
	cop_err err = cop_whatif_pipe_flush(r->pipe);
	if (err != COP_OK)
		return err;
	cop_bytes_init(&is);
	put_file(r, r->pair.was.model, &is);
	err = is.err;
	bool same = err == COP_OK && is.length == q->length && memcmp(is.data, q->data, is.length) == 0;
	r->figures->live = same ? COP_WHATIF_LIVE : COP_WHATIF_NOT_LIVE;
	cop_bytes_fini(&is);
	return err;
}

/* The span ends here, at the latest. */
static cop_err finish(run *r)
{
	if (r->second.over || r->pair.was.model == NULL)
		return COP_OK;
	cop_err err = cop_whatif_pipe_flush(r->pipe);
	if (err != COP_OK)
		return err;
	r->second.over = true;
	r->figures->refused = cop_whatif_pair_refused(&r->pair);
	if (r->question->save != NULL)
		put_file(r, r->pair.would.model, r->question->save);
	return COP_OK;
}

static cop_err apply(run *r, cop_wire_record *rec, cop_diag *diag)
{
	cop_whatif_item item = { .type = (cop_wire_record_type)r->raw.type,
		.number = r->raw.sequence,
		.length = r->raw.length,
		.body = r->raw.body };
	const bool decides = item.type == COP_WIRE_RECORD_DECISION;
	cop_err err = rec->time > r->question->to ? finish(r) : COP_OK;
	if (err == COP_OK && r->second.over)
		return cop_whatif_second_take(&r->second, &item);
	if (err == COP_OK && item.type == COP_WIRE_RECORD_PROMOTION)
		return promote(r, rec, diag);
	if (err != COP_OK)
		return err;
	item.taken = !(is_anew(r) && decides && rec->time < r->question->from);
	item.asks = item.taken && asks(r, rec);
	item.room = item.asks ? cop_whatif_pair_room(&r->pair) : 0;
	if (decides)
		cop_whatif_masks_lengthen(&r->masks, rec);
	if (decides || item.type == COP_WIRE_RECORD_FEEDBACK)
		item.record = rec;
	return cop_whatif_pipe_put(r->pipe, &item);
}

/* ---- what the journal says of the model ---- */

/* What the models' threads decode records by. */
static cop_err shape_rooms(run *r, const cop_wire_shape *wanted, cop_diag *diag)
{
	cop_err err = cop_recorded_model_shape(&r->first.room, wanted, diag);
	return err == COP_OK ? cop_recorded_model_shape(&r->second.room, wanted, diag) : err;
}

/* Records are of the first model's shape. */
static cop_err shape(run *r, cop_diag *diag)
{
	const cop_learner_settings *l = &cop_model_get_settings(r->pair.was.model)->learner;
	const cop_wire_shape wanted = {
		.features = l->features,
		.bits = l->bits,
		.max_nonzeros = l->max_nonzeros,
		.arms = l->arms,
		.max_candidates = cop_learner_plays_candidates(l) ? l->max_candidates : 0,
		.candidate_features = l->candidate_features,
		.losses = (uint32_t)cop_learner_losses(l),
	};
	cop_err err = cop_recorded_model_shape(&r->told, &wanted, diag);
	return err == COP_OK ? shape_rooms(r, &wanted, diag) : err;
}

/* Whether the configuration's models are told, and the model is not among them. */
static bool is_missing(const run *r, const cop_wire_record *config)
{
	cop_wire_models models;
	cop_wire_model model;
	if (config->models == NULL ||
	        cop_wire_models_open(&models, config->models, config->models_length, NULL) != COP_OK)
		return false;
	if (models.left_out > 0)
		return false;
	while (cop_wire_models_next(&models, &model, NULL) == COP_OK)
		if (model.name_length == strlen(r->question->model) &&
		        memcmp(model.name, r->question->model, model.name_length) == 0)
			return false;
	return true;
}

/* COP_ENOTFOUND: it is not of the model. */
static cop_err read_config(const run *r, const cop_journal_record *raw, cop_whatif_config *out)
{
	cop_wire_record rec;
	const char *name = r->question->model;
	if (cop_wire_record_decode(
	            COP_WIRE_RECORD_CONFIG, raw->body, raw->length, &no_shape, &no_workspace, &rec, NULL) != COP_OK)
		return COP_EFORMAT;
	if (is_missing(r, &rec))
		return COP_ENOTFOUND;
	return cop_whatif_config_read(rec.text, rec.text_length, name, strcspn(name, "#"), out);
}

static cop_err configure(run *r, cop_diag *diag)
{
	cop_whatif_config config;
	cop_diag why = { 0 };
	cop_err err = read_config(r, &r->raw, &config);
	if (err == COP_ENOTFOUND)
		return COP_OK;
	if (err == COP_OK)
		err = cop_whatif_pipe_flush(r->pipe);
	if (err == COP_OK && r->pair.was.model != NULL) {
		err = cop_whatif_pair_configure(&r->pair, &config, &why);
	} else if (err == COP_OK && config.starts_from) {
		cop_diag_message(&why, "it began with a saved model (start_from), whose file is not the journal's");
		err = COP_EFORMAT;
	} else if (err == COP_OK) {
		err = cop_whatif_pair_new(&r->pair, &config.set, &why);
		if (err == COP_OK)
			err = cop_whatif_pair_configure(&r->pair, &config, &why);
	}
	if (err == COP_OK)
		err = shape(r, &why);
	r->judged = true;
	return err == COP_OK ? COP_OK : refuse(r, err, why.message, diag);
}

/* The newest configuration from before the record in hand, for what challengers are judged by. */
static cop_err judge(run *r, cop_diag *diag)
{
	cop_record_source earlier = { 0 };
	cop_journal_record raw;
	cop_whatif_config config, newest = { .starts_from = false };
	bool found = false;
	cop_err err = cop_record_source_open(&earlier, r->question->journal, 0, false, NULL, diag);
	while (err == COP_OK && (err = cop_record_source_next(&earlier, &raw, diag)) == COP_OK) {
		if (raw.sequence >= r->raw.sequence)
			break;
		if (raw.type != COP_WIRE_RECORD_CONFIG || read_config(r, &raw, &config) != COP_OK)
			continue;
		newest = config;
		found = true;
	}
	cop_record_source_fini(&earlier);
	r->judged = true;
	if (found && err == COP_OK)
		err = cop_model_judge_by(r->pair.was.model, &newest.rule);
	if (found && err == COP_OK)
		err = cop_model_judge_by(r->pair.would.model, &newest.rule);
	return err == COP_EEND ? COP_OK : err;
}

/* ---- reading ---- */

static cop_err place(const run *r, cop_err err, cop_diag *diag)
{
	char text[sizeof diag->message];
	(void)snprintf(text, sizeof text, "%.300s", diag->message);
	cop_diag_at_offset(diag, "", r->raw.offset, "record %" PRIu64 ": %s", r->raw.sequence, text);
	cop_record_source_place(&r->source, r->segment, diag);
	return err;
}

/* Models that began anew have all features from the beginning; those that came later are unknown before. */
static cop_err widen(run *r, cop_diag *diag)
{
	const cop_learner_settings *l = &r->question->was.learner;
	cop_wire_shape shape = r->told.shape;
	if (shape.features >= l->features || !cop_learner_takes_features(l, shape.features))
		return COP_OK;
	shape.features = l->features;
	return cop_recorded_model_shape(&r->told, &shape, diag);
}

/* Where both are new, headers and configurations describe the records. */
static cop_err take_told(run *r, cop_diag *diag)
{
	size_t length;
	const uint8_t *set = cop_record_source_model_set(&r->source, &length);
	uint64_t base = cop_record_source_base(&r->source);
	cop_wire_record rec;
	cop_err err = COP_OK;
	if (base == r->segment && r->raw.type != COP_WIRE_RECORD_CONFIG)
		return COP_OK;
	err = cop_whatif_pipe_flush(r->pipe);
	if (err == COP_OK && base != r->segment)
		err = cop_recorded_model_take(&r->told, set, length, diag);
	r->segment = base;
	if (err == COP_OK && r->raw.type == COP_WIRE_RECORD_CONFIG &&
	        cop_wire_record_decode(COP_WIRE_RECORD_CONFIG, r->raw.body, r->raw.length, &no_shape, &no_workspace,
	                &rec, NULL) == COP_OK)
		err = cop_recorded_model_take(&r->told, rec.models, rec.models_length, diag);
	if (err == COP_OK)
		err = widen(r, diag);
	if (err == COP_OK)
		err = shape_rooms(r, &r->told.shape, diag);
	r->masks.then = r->told.model.arms;
	return err == COP_OK ? COP_OK : place(r, err, diag);
}

/* COP_EEND: another model's. */
static cop_err match(run *r, cop_diag *diag)
{
	const char *name;
	size_t length;
	if (is_anew(r))
		return cop_recorded_model_match(&r->told, &r->raw, diag);
	if (cop_wire_record_model(r->raw.body, r->raw.length, &name, &length) != COP_OK)
		return COP_EFORMAT;
	bool is = length == strlen(r->question->model) && memcmp(name, r->question->model, length) == 0;
	return is ? COP_OK : COP_EEND;
}

/* Features that were added since the model began may be unknown in its contexts. */
static cop_err find_known(const run *r, cop_model_settings *was, cop_diag *diag)
{
	cop_model *model;
	*was = r->question->was;
	if (!cop_learner_takes_features(&was->learner, was->learner.features))
		return COP_OK;
	cop_err err = cop_model_open(r->question->data, r->question->length, &model, diag);
	if (err != COP_OK)
		return err;
	was->learner.known = cop_model_known(model);
	cop_model_free(model);
	return COP_OK;
}

static cop_err begin_anew(run *r, cop_diag *diag)
{
	cop_diag why = { 0 };
	cop_model_settings was;
	r->figures->begun = COP_WHATIF_ANEW;
	r->pair.anew = true;
	cop_err err = find_known(r, &was, diag);
	if (err == COP_OK)
		err = cop_whatif_pair_new(&r->pair, &was, diag);
	r->told.values = true;
	const size_t arms = r->question->was.learner.arms;
	if (err == COP_OK)
		err = cop_whatif_masks_new(&r->masks, arms);
	if (err == COP_OK)
		err = cop_recorded_model_choose(&r->told, r->question->model, &r->source, &why);
	if (err != COP_OK && why.message[0] != '\0')
		cop_diag_of(diag, r->question->journal, "%s", why.message);
	return err;
}

static cop_err take_record(run *r, cop_diag *diag)
{
	cop_wire_record rec;
	cop_err err = COP_OK;
	if (is_anew(r))
		err = take_told(r, diag);
	else if (r->raw.type == COP_WIRE_RECORD_CONFIG && !r->second.over)
		err = configure(r, diag);
	if (err != COP_OK || r->raw.type == COP_WIRE_RECORD_CONFIG || r->raw.type < COP_WIRE_RECORD_DECISION ||
	        r->raw.type > COP_WIRE_RECORD_MERGE)
		return err;
	err = match(r, diag);
	if (err == COP_OK && r->pair.was.model == NULL) { /* no configuration tells how it began */
		err = begin_anew(r, diag);
		if (err == COP_OK)
			err = take_told(r, diag);
		if (err == COP_OK)
			err = match(r, diag);
	}
	if (err == COP_ESHAPE)
		return place(r, err, diag);
	if (err == COP_OK)
		err = cop_wire_record_decode((cop_wire_record_type)r->raw.type, r->raw.body, r->raw.length,
		        &r->told.shape, &r->told.workspace, &rec, NULL);
	if (err == COP_EEND || err == COP_ENOMEM)
		return err == COP_EEND ? COP_OK : err;
	if (err != COP_OK || (is_anew(r) && !is_alike(r, &rec))) {
		r->bad++;
		return COP_OK;
	}
	return apply(r, &rec, diag);
}

static cop_err read_all(run *r, cop_diag *diag)
{
	cop_err err = COP_OK;
	uint64_t last = 0;
	while (err == COP_OK && !(r->second.over && r->second.waiting.open.count == 0)) {
		err = cop_record_source_next(&r->source, &r->raw, diag);
		if (err == COP_OK && !r->compared && r->question->next > 0 && r->raw.sequence >= r->question->next)
			err = compare(r);
		if (err == COP_OK)
			err = take_record(r, diag);
		last = err == COP_OK ? r->raw.sequence : last;
	}
	if (err == COP_EEND)
		err = r->compared || last + 1 != r->question->next ? COP_OK : compare(r);
	if (err == COP_OK)
		err = finish(r);
	r->figures->bad += r->bad + r->first.bad;
	return err;
}

/* ---- beginnings ---- */

/* COP_ESHAPE: the second model cannot go on with that state. */
static cop_err begin_with(run *r, const cop_whatif_start *start, uint64_t *from, cop_diag *diag)
{
	cop_err err = cop_whatif_pair_open(&r->pair, start->data, start->length, diag);
	if (err != COP_OK)
		return err;
	r->figures->begun = COP_WHATIF_CHECKPOINT;
	r->figures->checkpoint = start->checkpoint;
	*from = start->next;
	return shape(r, diag);
}

static cop_err begin(run *r, uint64_t *from, cop_diag *diag)
{
	cop_whatif_start start;
	const cop_whatif_question *q = r->question;
	*from = 0;
	cop_err err = cop_whatif_start_find(q->state, q->model, q->from, &start, diag);
	if (err == COP_OK && start.before)
		*from = start.next;
	if (err == COP_OK && start.found && !q->fresh) {
		err = begin_with(r, &start, from, diag);
		if (err == COP_ESHAPE)
			err = COP_OK;
	} else if (err == COP_OK && start.whole && !q->fresh) {
		r->figures->begun = COP_WHATIF_JOURNAL;
	}
	cop_whatif_start_close(&start);
	return err;
}

static cop_err prepare(run *r)
{
	const cop_whatif_question *q = r->question;
	cop_whatif_figures *f = r->figures;
	const cop_learner_settings *l = &q->was.learner;
	cop_offpolicy_settings settings;
	f->values = cop_learner_plays_values(l);
	f->arms = l->arms <= COP_WHATIF_ARMS ? l->arms : 0;
	f->change = cop_mem_alloc(f->arms * f->arms, sizeof *f->change);
	if (f->change == NULL)
		return COP_ENOMEM;
	cop_offpolicy_defaults(&settings);
	settings.cost_low = f->values ? 0.0 : q->was.loss_low; /* of values they may lie beyond */
	settings.cost_high = f->values ? 0.0 : q->was.loss_high;
	settings.level = q->level;
	cop_err err = cop_offpolicy_init(&f->was, &settings);
	if (err == COP_OK)
		err = cop_offpolicy_init(&f->would, &settings);
	if (err == COP_OK)
		err = cop_offpolicy_pair_init(&f->gain, &settings);
	return err;
}

static cop_err begin_pipe(run *r)
{
	cop_whatif_taker *const taker[2] = { cop_whatif_first_take, cop_whatif_second_take };
	void *const context[2] = { &r->first, &r->second };
	return cop_whatif_pipe_new(taker, context, &r->pipe);
}

/* What the models' threads refused stands before whatever came later. */
static cop_err end_pipe(run *r, cop_err err, cop_diag *diag)
{
	cop_err told = r->pipe != NULL ? cop_whatif_pipe_flush(r->pipe) : COP_OK;
	cop_whatif_pipe_free(r->pipe);
	if (told != COP_OK && r->first.diag.message[0] != '\0')
		*diag = r->first.diag;
	return told != COP_OK ? told : err;
}

cop_err cop_whatif_run(const cop_whatif_question *question, cop_whatif_figures *out, cop_diag *diag)
{
	run r = { .question = question,
		.figures = out,
		.pair = {
		        .changes = question->changes, .without = question->without, .saves = question->save != NULL } };
	uint64_t from = 0;
	*out = (cop_whatif_figures){ .begun = COP_WHATIF_ANEW, .lines = question->changed };
	r.first = (cop_whatif_first){ .question = question, .figures = out, .pair = &r.pair };
	r.second = (cop_whatif_second){ .question = question, .figures = out, .pair = &r.pair };
	cop_err err = prepare(&r);
	if (err == COP_OK)
		err = begin_pipe(&r);
	if (err == COP_OK)
		err = begin(&r, &from, diag);
	if (err == COP_OK)
		err = cop_record_source_open(&r.source, question->journal, from, false, NULL, diag);
	if (err == COP_OK && out->begun == COP_WHATIF_ANEW)
		err = begin_anew(&r, diag);
	if (err == COP_OK)
		err = read_all(&r, diag);
	err = end_pipe(&r, err, diag);
	cop_whatif_first_fini(&r.first);
	cop_whatif_second_fini(&r.second);
	cop_whatif_masks_fini(&r.masks);
	cop_recorded_model_fini(&r.told);
	cop_record_source_fini(&r.source);
	cop_whatif_pair_fini(&r.pair);
	return err;
}

void cop_whatif_run_fini(cop_whatif_figures *figures)
{
	cop_mem_free(figures->change);
	*figures = (cop_whatif_figures){ 0 };
}
