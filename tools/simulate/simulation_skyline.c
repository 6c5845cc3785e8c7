/* A learner that is told every arm's loss: the label's arm has none, all others 1. */
#include "base/mem.h"
#include "learn/skyline.h"
#include "simulation.h"

typedef struct skyline {
	cop_learner *learner;
	cop_candidates choice;
	double *loss;
} skyline;

static cop_err decide(void *state, uint64_t id, const cop_row *x, cop_decision *out, cop_diag *diag)
{
	const skyline *s = state;
	(void)id;
	*out = (cop_decision){ .p = 1.0, .greedy = true, .rev = 0 };
	cop_err err = cop_skyline_decide(s->learner, x, &s->choice, &out->arm);
	if (err != COP_OK)
		cop_diag_message(diag, "decide: %s", cop_err_text(err));
	return err;
}

static cop_err label(void *state, const cop_row *x, double class, cop_diag *diag)
{
	skyline *s = state;
	size_t learned;
	for (size_t k = 0; k < s->choice.count; k++)
		s->loss[k] = (double)k == class ? 0.0 : 1.0;
	cop_err err = cop_skyline_learn(s->learner, x, &s->choice, s->loss, &learned);
	if (err != COP_OK)
		cop_diag_message(diag, "label: %s", cop_err_text(err));
	return err;
}

static void close_skyline(void *state)
{
	skyline *s = state;
	cop_learner_free(s->learner);
	cop_mem_free(s->loss);
	cop_mem_free(s);
}

cop_err cop_sim_skyline(
        const cop_model_settings *settings, const cop_sim_items *items, cop_sim_backend *out, cop_diag *diag)
{
	skyline *s = cop_mem_alloc(1, sizeof *s);
	size_t count = items->count > 0 ? items->count : settings->learner.arms;
	cop_err err = s == NULL ? COP_ENOMEM : cop_learner_new(&settings->learner, &s->learner, diag);
	if (err == COP_OK) {
		s->choice = (cop_candidates){ .count = count, .row = items->row };
		s->loss = cop_mem_alloc(count, sizeof *s->loss);
		err = s->loss == NULL ? COP_ENOMEM : COP_OK;
	}
	if (err == COP_ENOMEM)
		cop_diag_message(diag, "%s", cop_err_text(err));
	if (err != COP_OK) {
		if (s != NULL)
			close_skyline(s);
		return err;
	}
	*out = (cop_sim_backend){ .state = s, .decide = decide, .label = label, .close = close_skyline };
	return COP_OK;
}
