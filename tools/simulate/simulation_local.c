/* Time is the event's number: no reward window ends within a run. */
#include "base/mem.h"
#include "simulation.h"

typedef struct local {
	cop_model *model;
	const cop_sim_items *items;
	cop_event_id id;
	cop_sim_refits *refits; /* NULL: none */
} local;

static cop_model_context context_of(const local *l, const cop_row *x)
{
	return (cop_model_context){ .id = &l->id, .x = x, .candidate = l->items->row, .candidates = l->items->count };
}

static cop_err decide(void *state, uint64_t id, const cop_row *x, cop_decision *out, cop_diag *diag)
{
	local *l = state;
	bool repeated;
	cop_event_id_from_unsigned(&l->id, id);
	cop_model_context context = context_of(l, x);
	cop_err err = cop_model_decide(l->model, &context, 0.0, out, &repeated);
	if (err != COP_OK)
		cop_diag_message(diag, "decide: %s", cop_err_text(err));
	else if (l->refits != NULL)
		err = cop_sim_refits_decided(l->refits, &context, out, diag);
	return err;
}

static cop_err feedback(void *state, uint64_t id, const double *loss, size_t count, cop_diag *diag)
{
	local *l = state;
	cop_feedback_result result;
	cop_event_id_from_unsigned(&l->id, id);
	cop_err err = cop_model_feedback(l->model, &l->id, loss, count, 0.0, &result);
	if (err != COP_OK)
		cop_diag_message(diag, "feedback: %s", cop_err_text(err));
	else if (l->refits != NULL)
		err = cop_sim_refits_fed(l->refits, &l->id, loss, count, diag);
	return err;
}

static cop_err greedy(void *state, const cop_row *x, double *out, cop_diag *diag)
{
	const local *l = state;
	const cop_candidates set = { l->items->count, l->items->row, NULL };
	cop_learner *learner = cop_model_learner(l->model);
	if (!cop_learner_can_decide(learner, &set)) {
		cop_diag_message(diag, "rank: %s", cop_err_text(COP_EINVAL));
		return COP_EINVAL;
	}
	*out = cop_learner_greedy(learner, x, &set);
	return COP_OK;
}

static void close_local(void *state)
{
	local *l = state;
	cop_sim_refits_free(l->refits);
	cop_model_free(l->model);
	cop_mem_free(l);
}

cop_err cop_sim_local(const cop_model_settings *settings, const cop_sim_items *items,
        const cop_sim_refit_settings *refits, cop_sim_backend *out, cop_diag *diag)
{
	local *l = cop_mem_alloc(1, sizeof *l);
	cop_err err = l == NULL ? COP_ENOMEM : cop_model_new(settings, &l->model, diag);
	if (err == COP_OK && refits != NULL && refits->every > 0)
		err = cop_sim_refits_new(refits, l->model, &l->refits, diag);
	if (err != COP_OK) {
		if (l == NULL)
			cop_diag_message(diag, "%s", cop_err_text(err));
		else
			cop_model_free(l->model);
		cop_mem_free(l);
		return err;
	}
	l->items = items;
	*out = (cop_sim_backend){
		.state = l, .decide = decide, .feedback = feedback, .greedy = greedy, .close = close_local
	};
	if (l->refits != NULL)
		out->refits = cop_sim_refits_counts(l->refits);
	return COP_OK;
}
