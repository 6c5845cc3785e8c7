/* Time is the event's number: no reward window ends within a run. */
#include "base/mem.h"
#include "simulation.h"

typedef struct local {
	cop_model *model;
	cop_event_id id;
} local;

static cop_err decide(void *state, uint64_t id, const cop_row *x, cop_decision *out, cop_diag *diag)
{
	local *l = state;
	bool repeated;
	cop_event_id_from_unsigned(&l->id, id);
	cop_model_context context = { .id = &l->id, .x = x };
	cop_err err = cop_model_decide(l->model, &context, 0.0, out, &repeated);
	if (err != COP_OK)
		cop_diag_set(diag, "", 0, 0, "decide: %s", cop_err_text(err));
	return err;
}

static cop_err feedback(void *state, uint64_t id, const double *loss, size_t count, cop_diag *diag)
{
	local *l = state;
	cop_feedback_result result;
	cop_event_id_from_unsigned(&l->id, id);
	cop_err err = cop_model_feedback(l->model, &l->id, loss, count, 0.0, &result);
	if (err != COP_OK)
		cop_diag_set(diag, "", 0, 0, "feedback: %s", cop_err_text(err));
	return err;
}

static cop_err greedy(void *state, const cop_row *x, double *out, cop_diag *diag)
{
	(void)diag;
	local *l = state;
	cop_learner *learner = cop_model_learner(l->model);
	*out = cop_learner_greedy(learner, x, NULL);
	return COP_OK;
}

static void close_local(void *state)
{
	local *l = state;
	cop_model_free(l->model);
	cop_mem_free(l);
}

cop_err cop_sim_local(const cop_model_settings *settings, cop_sim_backend *out, cop_diag *diag)
{
	local *l = cop_mem_alloc(1, sizeof *l);
	cop_err err = l == NULL ? COP_ENOMEM : cop_model_new(settings, &l->model, diag);
	if (err != COP_OK) {
		if (l == NULL)
			cop_diag_set(diag, "", 0, 0, "%s", cop_err_text(err));
		cop_mem_free(l);
		return err;
	}
	*out = (cop_sim_backend){
		.state = l, .decide = decide, .feedback = feedback, .greedy = greedy, .close = close_local
	};
	return COP_OK;
}
