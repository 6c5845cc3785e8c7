/* What a model of further arms has masks for is as long as there were arms then; both models have all arms from the
 * beginning, so masks are lengthened. A feature that is left out is 0 in dense rows and missing in sparse ones: one that
 * never varies tells nothing. */
#include "whatif_run.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "history/journal_history.h"

typedef struct run {
	const cop_whatif_question *question;
	cop_whatif_figures *figures;
	cop_event_reader *reader;
	cop_model *was, *would;
	uint8_t *mask;   /* arms */
	float *dense;    /* the row without what is left out, */
	uint32_t *index; /* sparse: its places, */
	float *value;    /* and values */
	double low, width;
} run;

/* What a model would do, and what it thinks of it. */
typedef struct opinion {
	cop_policy_view view;
	double target, target_max;
} opinion;

void cop_whatif_run_fini(cop_whatif_figures *figures)
{
	cop_mem_free(figures->change);
	*figures = (cop_whatif_figures){ 0 };
}

static size_t arms_of(const run *r) { return cop_model_get_settings(r->was)->learner.arms; }

static cop_row without(run *r, const cop_row *x)
{
	const uint8_t *left_out = r->question->without;
	cop_row out = *x;
	if (left_out == NULL)
		return out;
	if (x->dense != NULL) {
		for (size_t j = 0; j < x->d; j++)
			r->dense[j] = left_out[j] != 0 ? 0.0f : x->dense[j];
		out.dense = r->dense;
		return out;
	}
	out.nnz = 0;
	for (size_t j = 0; j < x->nnz; j++) {
		if (left_out[x->index[j]] != 0)
			continue;
		r->index[out.nnz] = x->index[j];
		r->value[out.nnz++] = x->value[j];
	}
	out.index = r->index;
	out.value = r->value;
	return out;
}

/* Whether the model was then as the newest checkpoint has it, but for arms that were added since. */
static bool is_alike(const run *r, const cop_logged_event *event)
{
	const cop_learner_settings *l = &r->question->was.learner;
	const cop_journal_history_model *m = cop_journal_history_get_model(r->reader);
	bool same = m->features == l->features && (l->features != 0 || m->bits == l->bits) && m->arms <= l->arms;
	return same && event->x.d == cop_learner_dimension(l) && (event->x.dense != NULL) == (l->features != 0) &&
	       (l->features != 0 || event->x.nnz <= l->max_nonzeros);
}

static void lengthen_mask(run *r, cop_logged_event *event)
{
	const size_t then = event->mask != NULL ? event->arms : cop_journal_history_get_model(r->reader)->arms;
	if (event->candidates > 0 || then >= arms_of(r))
		return;
	memset(r->mask, 0, arms_of(r));
	if (event->mask != NULL)
		memcpy(r->mask, event->mask, then);
	else
		memset(r->mask, 1, then);
	event->mask = r->mask;
}

/* The model takes the event in; what it would have done before. */
static cop_err ask(run *r, cop_model *model, const cop_row *x, const cop_logged_event *event, opinion *out)
{
	const cop_model_logged logged = {
		.x = x,
		.mask = event->mask,
		.arm = event->action,
		.p = event->p,
		.loss = event->cost,
		.learn = event->labelled && event->learn,
		.candidate = event->candidate,
		.candidates = event->candidates,
	};
	cop_err err = cop_model_take_logged(model, &logged, &out->view);
	if (err == COP_EDIVERGED) {
		r->figures->refused++;
		err = COP_OK;
	}
	if (err != COP_OK)
		return err;
	out->target = out->view.p[event->action];
	out->target_max = 0.0;
	for (size_t k = 0; k < out->view.arms; k++)
		out->target_max = fmax(out->target_max, out->view.p[k]);
	return COP_OK;
}

/* The mean cost that `model` expects of the policy. */
static double expected(const run *r, const opinion *policy, const opinion *model)
{
	double sum = 0.0;
	for (size_t k = 0; k < policy->view.arms; k++)
		sum += policy->view.p[k] * (double)model->view.loss[k];
	return r->low + r->width * sum;
}

static cop_offpolicy_event event_of(
        const run *r, const cop_logged_event *event, const opinion *policy, const opinion *model)
{
	return (cop_offpolicy_event){
		.p = event->p,
		.cost = event->cost,
		.weight = 1.0,
		.target = policy->target,
		.target_max = policy->target_max,
		.has_model = true,
		.model_logged = r->low + r->width * (double)model->view.loss[event->action],
		.model_target = expected(r, policy, model),
	};
}

static double distance(const opinion *a, const opinion *b)
{
	double sum = 0.0;
	for (size_t k = 0; k < a->view.arms; k++)
		sum += fabs(a->view.p[k] - b->view.p[k]);
	return fmin(sum / 2.0, 1.0);
}

/* cost: as it was. */
static cop_err add(run *r, const cop_logged_event *event, const opinion *was, const opinion *would)
{
	cop_whatif_figures *f = r->figures;
	const cop_offpolicy_event a = event_of(r, event, was, was), b = event_of(r, event, would, would);
	const cop_offpolicy_event common = event_of(r, event, would, was);
	cop_err err = cop_offpolicy_add(&f->was, &a);
	if (err == COP_OK)
		err = cop_offpolicy_add(&f->would, &b);
	if (err == COP_OK)
		err = cop_offpolicy_pair_add(&f->gain, &common, &a, distance(was, would));
	f->changed += was->view.best != would->view.best;
	if (f->arms > 0)
		f->change[was->view.best * f->arms + would->view.best]++;
	return err;
}

/* The event as the second model would have met it. */
static cop_logged_event in_time(run *r, const cop_logged_event *event)
{
	const cop_journal_history_origin *origin = cop_journal_history_get_origin(r->reader);
	const cop_model_settings *set = &r->question->would;
	cop_logged_event out = *event;
	double took = origin->learned_time - origin->time;
	if (r->question->window == 0.0 || origin->self_contained || origin->defaulted || took <= r->question->window)
		return out;
	r->figures->late++;
	out.cost = set->default_loss;
	out.learn = event->learn && set->has_default_loss;
	return out;
}

static cop_err take(run *r, cop_logged_event *event)
{
	cop_whatif_figures *f = r->figures;
	const double time = cop_journal_history_get_origin(r->reader)->time;
	opinion was, would;
	if (time < r->question->from || time > r->question->to)
		return COP_OK;
	if (!is_alike(r, event)) {
		f->bad++;
		return COP_OK;
	}
	lengthen_mask(r, event);
	const cop_logged_event second = in_time(r, event);
	const cop_row x = without(r, &event->x);
	cop_err err = ask(r, r->was, &event->x, event, &was);
	if (err == COP_OK)
		err = ask(r, r->would, &x, &second, &would);
	if (err == COP_OK)
		err = add(r, event, &was, &would);
	if (err == COP_EINVAL || err == COP_ENONFINITE) { /* of a log that is not like its model */
		f->bad++;
		return COP_OK;
	}
	f->first = f->events == 0 ? time : fmin(f->first, time);
	f->last = f->events == 0 ? time : fmax(f->last, time);
	f->events++;
	return err;
}

static cop_err read_all(run *r, cop_diag *diag)
{
	cop_logged_event event;
	for (;;) {
		cop_err err = cop_event_reader_next(r->reader, &event, diag);
		if (err == COP_EEND)
			return COP_OK;
		if (err == COP_EFORMAT || err == COP_ENONFINITE) {
			r->figures->bad++;
			continue;
		}
		if (err == COP_OK)
			err = take(r, &event);
		if (err != COP_OK)
			return err;
	}
}

static cop_err prepare(run *r, cop_diag *diag)
{
	const cop_whatif_question *q = r->question;
	cop_whatif_figures *f = r->figures;
	const cop_learner_settings *l = &q->was.learner;
	cop_offpolicy_settings settings;
	const cop_journal_history_settings how = { .model = q->model };
	cop_err err = cop_model_new(&q->was, &r->was, diag);
	if (err == COP_OK)
		err = cop_model_new(&q->would, &r->would, diag);
	if (err != COP_OK)
		return err;
	r->low = q->was.loss_low;
	r->width = q->was.loss_high - q->was.loss_low;
	r->mask = cop_mem_alloc(l->arms, 1);
	r->dense = cop_mem_alloc(l->features, sizeof *r->dense);
	r->index = cop_mem_alloc(l->max_nonzeros, sizeof *r->index);
	r->value = cop_mem_alloc(l->max_nonzeros, sizeof *r->value);
	f->arms = l->arms <= COP_WHATIF_ARMS ? l->arms : 0;
	f->change = cop_mem_alloc(f->arms * f->arms, sizeof *f->change);
	if (r->mask == NULL || r->dense == NULL || r->index == NULL || r->value == NULL || f->change == NULL)
		return COP_ENOMEM;
	cop_offpolicy_defaults(&settings);
	settings.cost_low = q->was.loss_low;
	settings.cost_high = q->was.loss_high;
	settings.level = q->level;
	err = cop_offpolicy_init(&f->was, &settings);
	if (err == COP_OK)
		err = cop_offpolicy_init(&f->would, &settings);
	if (err == COP_OK)
		err = cop_offpolicy_pair_init(&f->gain, &settings);
	return err == COP_OK ? cop_journal_history_open(q->journal, &how, &r->reader, diag) : err;
}

cop_err cop_whatif_run(const cop_whatif_question *question, cop_whatif_figures *out, cop_diag *diag)
{
	run r = { .question = question, .figures = out };
	*out = (cop_whatif_figures){ 0 };
	cop_err err = prepare(&r, diag);
	if (err == COP_OK)
		err = read_all(&r, diag);
	cop_event_reader_free(r.reader);
	cop_model_free(r.was);
	cop_model_free(r.would);
	cop_mem_free(r.mask);
	cop_mem_free(r.dense);
	cop_mem_free(r.index);
	cop_mem_free(r.value);
	return err;
}
