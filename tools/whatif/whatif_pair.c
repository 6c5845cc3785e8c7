/* What the first model sees is copied, since its learner's workspaces are used again before the second one looks. Where
 * it is alone, nothing is: the other policy looks at once. A feature that is left out is 0 in dense rows and missing in
 * sparse ones: one that never varies tells nothing. */
#include "whatif_pair.h"

#include <math.h>
#include <string.h>

#include "bandit/density.h"
#include "base/mem.h"
#include "learn/bins.h"
#include "online/model_shadow.h"
#include "store/section_file.h"

/* ---- beginnings ---- */

static void fini_side(cop_whatif_side *side)
{
	cop_model_free(side->model);
	side->model = NULL;
}

static void free_rooms(cop_whatif_pair *pair)
{
	cop_mem_free(pair->p);
	cop_mem_free(pair->dense);
	cop_mem_free(pair->index);
	cop_mem_free(pair->value);
	pair->p = NULL;
	pair->dense = pair->value = NULL;
	pair->index = NULL;
}

void cop_whatif_pair_fini(cop_whatif_pair *pair)
{
	fini_side(&pair->was);
	fini_side(&pair->would);
	free_rooms(pair);
}

static const cop_model_settings *settings_of(const cop_whatif_side *side)
{
	return cop_model_get_settings(side->model);
}

static void see_was(void *context, const cop_policy_view *view);
static void see_would(void *context, const cop_policy_view *view);

/* Once both models are there, or have others' settings. */
static cop_err prepare(cop_whatif_pair *pair)
{
	const cop_model_settings *was = settings_of(&pair->was), *would = settings_of(&pair->would);
	const cop_learner_settings *l = &was->learner;
	free_rooms(pair);
	pair->room = cop_learner_plays_candidates(l) ? l->max_candidates
	             : cop_learner_plays_values(l)   ? COP_BINS
	                                             : l->arms;
	pair->p = cop_mem_alloc(pair->room, sizeof *pair->p);
	pair->dense = cop_mem_alloc(l->features, sizeof *pair->dense);
	pair->index = cop_mem_alloc(l->max_nonzeros, sizeof *pair->index);
	pair->value = cop_mem_alloc(l->max_nonzeros, sizeof *pair->value);
	pair->low = was->loss_low;
	pair->width = was->loss_high - was->loss_low;
	pair->was.how.see = see_was;
	pair->would.how.see = see_would;
	pair->was.how.context = pair->would.how.context = pair;
	pair->was.how.own = pair->anew;
	pair->would.how.own = true;
	pair->would.how.rules = !cop_whatif_settings_end_alike(was, would);
	pair->along = pair->without == NULL && strcmp(l->learner, would->learner.learner) == 0;
	bool made = pair->p != NULL && pair->dense != NULL && pair->index != NULL && pair->value != NULL;
	return made ? COP_OK : COP_ENOMEM;
}

/* Whether the second one would learn what the first one does. */
static bool learn_alike(const cop_whatif_pair *pair)
{
	const cop_learner *learner = cop_model_learner(pair->was.model);
	return pair->without == NULL && !pair->saves && learner->class->view_as != NULL &&
	       cop_whatif_settings_learn_alike(settings_of(&pair->was), settings_of(&pair->would));
}

static cop_err change(const cop_whatif_pair *pair, const cop_model_settings *was, cop_model_settings *would)
{
	return cop_whatif_settings_change(pair->changes, was, would) ? COP_OK : COP_EINVAL;
}

cop_err cop_whatif_pair_new(cop_whatif_pair *pair, const cop_model_settings *was, cop_diag *diag)
{
	cop_model_settings would;
	cop_err err = change(pair, was, &would);
	if (err == COP_OK)
		err = cop_model_new(was, &pair->was.model, diag);
	if (err == COP_OK)
		err = cop_model_new(&would, &pair->would.model, diag);
	pair->alone = err == COP_OK && learn_alike(pair);
	return err == COP_OK ? prepare(pair) : err;
}

/* A model of these settings with that state. */
static cop_err make(const cop_model_settings *set, const void *data, size_t length, cop_model **out, cop_diag *diag)
{
	cop_err err = cop_model_new(set, out, diag);
	if (err == COP_OK)
		err = cop_model_load(*out, data, length, diag);
	if (err == COP_OK)
		err = cop_model_adjust(*out, set, diag);
	if (err != COP_OK) {
		cop_model_free(*out);
		*out = NULL;
	}
	return err;
}

cop_err cop_whatif_pair_open(cop_whatif_pair *pair, const void *data, size_t length, cop_diag *diag)
{
	cop_model_settings was, would;
	cop_err err = cop_model_peek(data, length, &was, diag);
	if (err == COP_OK)
		err = change(pair, &was, &would);
	if (err == COP_OK && (pair->without != NULL || cop_model_can_load(&was, &would, NULL) != COP_OK))
		return COP_ESHAPE;
	if (err == COP_OK)
		err = make(&was, data, length, &pair->was.model, diag);
	if (err == COP_OK)
		err = make(&would, data, length, &pair->would.model, diag);
	if (err != COP_OK)
		return err == COP_ESHAPE ? COP_EFORMAT : err;
	pair->was.refused = cop_model_get_counters(pair->was.model)->refused;
	pair->would.refused = cop_model_get_counters(pair->would.model)->refused;
	pair->alone = learn_alike(pair);
	return prepare(pair);
}

static uint64_t refused(const cop_whatif_side *side)
{
	return cop_model_get_counters(side->model)->refused - side->refused;
}

uint64_t cop_whatif_pair_refused(const cop_whatif_pair *pair)
{
	if (pair->was.model == NULL)
		return 0;
	return refused(&pair->was) + refused(pair->alone ? &pair->was : &pair->would);
}

/* ---- changes of the configuration ---- */

/* Whether a living model takes these settings over. */
static bool goes_on(const cop_model_settings *is, const cop_model_settings *next)
{
	for (const cop_setting *o = cop_model_options; o->name != NULL; o++)
		if (o->kind < COP_SETTING_OTHER && (o->flags & COP_SETTING_IS_LIVE) == 0 &&
		        !cop_setting_equal(o, is, next))
			return false;
	return true;
}

/* A model of these settings with the state that another has. */
static cop_err make_like(const cop_model *model, const cop_model_settings *set, cop_model **out, cop_diag *diag)
{
	cop_bytes state;
	*out = NULL;
	cop_bytes_init(&state);
	size_t mark = cop_section_file_begin(&state);
	cop_model_save(model, &state);
	cop_section_file_end(&state, mark);
	cop_err err = state.err;
	if (err == COP_OK)
		err = make(set, state.data, state.length, out, diag);
	cop_bytes_fini(&state);
	return err;
}

static cop_err configure(cop_whatif_side *side, const cop_model_settings *next, cop_diag *diag)
{
	cop_model *fresh;
	if (goes_on(settings_of(side), next))
		return cop_model_adjust(side->model, next, diag);
	cop_err err = make_like(side->model, next, &fresh, diag);
	if (err != COP_OK)
		return err;
	cop_model_free(side->model);
	side->model = fresh;
	return COP_OK;
}

/* Each learns for itself from here on. */
static cop_err part(cop_whatif_pair *pair, cop_diag *diag)
{
	const cop_model_settings would = *settings_of(&pair->would);
	cop_model *fresh;
	cop_err err = make_like(pair->was.model, &would, &fresh, diag);
	if (err != COP_OK)
		return err;
	cop_model_free(pair->would.model);
	pair->would.model = fresh;
	pair->would.refused = pair->was.refused;
	pair->alone = false;
	return COP_OK;
}

cop_err cop_whatif_pair_configure(cop_whatif_pair *pair, const cop_whatif_config *config, cop_diag *diag)
{
	cop_model_settings would;
	cop_err err = change(pair, &config->set, &would);
	if (err == COP_OK && pair->alone && !cop_whatif_settings_learn_alike(&config->set, &would))
		err = part(pair, diag);
	if (err == COP_OK)
		err = configure(&pair->was, &config->set, diag);
	if (err == COP_OK)
		err = configure(&pair->would, &would, diag);
	if (err == COP_OK)
		err = cop_model_judge_by(pair->was.model, &config->rule);
	if (err == COP_OK)
		err = cop_model_judge_by(pair->would.model, &config->rule);
	return err == COP_OK ? prepare(pair) : err;
}

/* ---- records ---- */

static cop_row leave_out(cop_whatif_pair *pair, const cop_row *x)
{
	cop_row out = *x;
	if (x->dense != NULL) {
		for (size_t j = 0; j < x->d; j++)
			pair->dense[j] = pair->without[j] != 0 ? 0.0f : x->dense[j];
		out.dense = pair->dense;
		return out;
	}
	out.nnz = 0;
	for (size_t j = 0; j < x->nnz; j++) {
		if (pair->without[x->index[j]] != 0)
			continue;
		pair->index[out.nnz] = x->index[j];
		pair->value[out.nnz++] = x->value[j];
	}
	out.index = pair->index;
	out.value = pair->value;
	return out;
}

cop_err cop_whatif_pair_take(cop_whatif_pair *pair, cop_wire_record_type type, const cop_wire_record *record)
{
	return cop_model_relearn(pair->was.model, type, record, &pair->was.how);
}

cop_err cop_whatif_pair_take_second(cop_whatif_pair *pair, cop_wire_record_type type, const cop_wire_record *record)
{
	cop_whatif_side *side = &pair->would;
	if (pair->without == NULL || !record->has_x)
		return cop_model_relearn(side->model, type, record, &side->how);
	cop_wire_record blind = *record;
	blind.x = leave_out(pair, &record->x);
	return cop_model_relearn(side->model, type, &blind, &side->how);
}

/* ---- what they see ---- */

/* The mean cost expected of a policy. */
static double expected(const cop_whatif_pair *pair, const double *p, const float *loss, size_t arms)
{
	double sum = 0.0;
	for (size_t k = 0; k < arms; k++)
		sum += p[k] * (double)loss[k];
	return pair->low + pair->width * sum;
}

static void see(const cop_whatif_pair *pair, int side, const cop_policy_view *view, cop_whatif_seen *s)
{
	s->best[side] = (uint32_t)view->best;
	if (view->arms == COP_BINS)
		s->best_value[side] = cop_density_best(COP_BINS, view->loss);
	s->target[side] = fmin(view->p[s->action], 1.0);
	for (size_t k = 0; k < view->arms; k++)
		s->target_max[side] = fmax(s->target_max[side], view->p[k]);
	s->q[side] = pair->low + pair->width * (double)view->loss[s->action];
	s->m[side] = expected(pair, view->p, view->loss, view->arms);
}

/* The second policy beside what the first one's view was. */
static void compare(const cop_whatif_pair *pair, const double *p, const float *loss, const cop_policy_view *would,
        cop_whatif_seen *s)
{
	double sum = 0.0;
	see(pair, 1, would, s);
	for (size_t k = 0; k < would->arms; k++)
		sum += fabs(would->p[k] - p[k]);
	s->distance = fmin(sum / 2.0, 1.0);
	s->common = expected(pair, would->p, loss, would->arms);
	s->estimated = true;
}

static void see_alone(cop_whatif_pair *pair, const cop_policy_view *was)
{
	const cop_learner_settings *l = &settings_of(&pair->would)->learner;
	const cop_policy_other other = { cop_policy_find(l->policy), &l->exploration, pair->p };
	cop_policy_view would;
	if (cop_learner_view_as(cop_model_learner(pair->was.model), &other, &pair->among, &would) == COP_OK)
		compare(pair, was->p, was->loss, &would, &pair->first);
}

static void see_was(void *context, const cop_policy_view *view)
{
	cop_whatif_pair *pair = context;
	if (pair->first.action >= view->arms || view->arms > pair->room)
		return;
	see(pair, 0, view, &pair->first);
	if (pair->alone) {
		see_alone(pair, view);
		return;
	}
	pair->mine->arms = view->arms;
	memcpy(pair->mine->p, view->p, view->arms * sizeof *view->p);
	memcpy(pair->mine->loss, view->loss, view->arms * sizeof *view->loss);
}

static void see_would(void *context, const cop_policy_view *view)
{
	cop_whatif_pair *pair = context;
	if (view->arms == pair->theirs->arms)
		compare(pair, pair->theirs->p, pair->theirs->loss, view, &pair->second);
}

/* Values without a density: of the model as it is. */
static double value_of(const cop_whatif_side *side, const cop_row *x)
{
	return cop_learner_greedy(cop_model_learner(side->model), x, NULL);
}

size_t cop_whatif_pair_room(const cop_whatif_pair *pair) { return pair->alone ? 0 : pair->room; }

void cop_whatif_pair_look(cop_whatif_pair *pair, const cop_wire_record *decision, cop_whatif_view *view)
{
	view->arms = 0;
	pair->mine = view;
	pair->among = (cop_candidates){ decision->candidates, decision->candidate, decision->mask };
	pair->first = (cop_whatif_seen){ .time = decision->time, .p = decision->p, .action = decision->a };
	if (!decision->values)
		return;
	pair->first.action = (uint32_t)cop_density_bin(COP_BINS, decision->y);
	pair->first.p = decision->density ? fmin(decision->p / COP_BINS, 1.0) : 1.0;
	if (!decision->density)
		pair->first.best_value[0] = value_of(&pair->was, &decision->x);
}

static cop_row seen_by_second(cop_whatif_pair *pair, const cop_row *x)
{
	return pair->without != NULL ? leave_out(pair, x) : *x;
}

void cop_whatif_pair_look_second(cop_whatif_pair *pair, const cop_wire_record *decision, const cop_whatif_seen *first,
        const cop_whatif_view *view)
{
	pair->second = *first;
	pair->theirs = view;
	if (!decision->values || decision->density)
		return;
	const cop_row x = seen_by_second(pair, &decision->x);
	pair->second.best_value[1] = value_of(&pair->would, &x);
}

static cop_err view_side(cop_whatif_side *side, const cop_row *x, const cop_wire_record *r)
{
	const cop_model_logged logged = { .x = x, .arm = r->a, .candidate = r->candidate, .candidates = r->candidates };
	cop_policy_view out;
	cop_err err = cop_model_view_logged(side->model, &logged, &out);
	if (err == COP_OK)
		side->how.see(side->how.context, &out);
	return err;
}

cop_err cop_whatif_pair_view(cop_whatif_pair *pair, const cop_wire_record *feedback, cop_whatif_view *view)
{
	view->arms = 0;
	pair->mine = view;
	pair->among = (cop_candidates){ feedback->candidates, feedback->candidate, NULL };
	pair->first = (cop_whatif_seen){ .time = feedback->time, .p = feedback->p, .action = feedback->a };
	return view_side(&pair->was, &feedback->x, feedback);
}

cop_err cop_whatif_pair_view_second(cop_whatif_pair *pair, const cop_wire_record *feedback,
        const cop_whatif_seen *first, const cop_whatif_view *view)
{
	const cop_row x = seen_by_second(pair, &feedback->x);
	pair->second = *first;
	pair->theirs = view;
	return view_side(&pair->would, &x, feedback);
}
