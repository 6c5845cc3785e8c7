/* Following and then waiting moves a model as advancing and then waiting does, which is what a journal replays. */
#include "online/model_apprentice.h"

#include <math.h>

#include "base/assert.h"
#include "online/model_state.h"

static bool is_propensity(double p) { return p > 0.0 && p <= 1.0; }

/* Whether the system can have made that decision. */
static bool is_eligible(const cop_model *model, const cop_model_context *context, const cop_decision *decision)
{
	if (model->learner->class->values || !cop_model_fits(model, context) || !is_propensity(decision->p))
		return false;
	return decision->arm < cop_model_state_arms(model, context) &&
	       (context->mask == NULL || context->mask[decision->arm] != 0);
}

double cop_model_state_follow(cop_model *model, const cop_model_context *context, cop_decision *decision)
{
	const cop_candidates set = cop_model_candidates(context);
	cop_policy_view view;
	*decision = (cop_decision){ .arm = decision->arm, .p = decision->p };
	cop_err err = cop_learner_follow(model->learner, context->x, &set, decision, &view);
	COP_ASSERT(err == COP_OK);
	return fmin(view.p[decision->arm], 1.0);
}

cop_err cop_model_observe(
        cop_model *model, const cop_model_context *context, double now, cop_model_observed *observed, bool *repeated)
{
	cop_pending_entry entry;
	if (!is_eligible(model, context, &observed->decision))
		return COP_EINVAL;
	model->made_by = (cop_model_maker){ .split = false };
	cop_err err = cop_model_reserve(model, context, true);
	if (err != COP_OK)
		return err;
	*repeated = cop_model_find_open(model, context->id, now, &entry);
	if (*repeated) {
		observed->decision = entry.decision;
		observed->own_p = cop_pending_own_p(&entry);
		model->counters.repeated++;
		return COP_OK;
	}
	observed->own_p = cop_model_state_follow(model, context, &observed->decision);
	cop_model_await(model, context, now, &observed->decision, &observed->own_p, NULL, NULL);
	return COP_OK;
}

void cop_model_view_answered(cop_model *model, cop_model_answered *answered)
{
	cop_decision decision = { .arm = answered->arm, .p = answered->p };
	cop_policy_view view;
	cop_err err = cop_learner_view(model->learner, answered->x, NULL, &decision, &view);
	COP_ASSERT(err == COP_OK);
	answered->own_p = fmin(view.p[answered->arm], 1.0);
	answered->agrees = view.best == answered->arm;
}

cop_err cop_model_observe_answered(
        cop_model *model, const cop_event_id *id, cop_model_answered *answered, double now, cop_feedback_result *result)
{
	bool known = !answered->observed || (answered->own_p >= 0.0 && answered->own_p <= 1.0);
	if (answered->arm >= model->set.learner.arms || !is_propensity(answered->p) || !known)
		return COP_EINVAL; /* models of candidates or values have no arms */
	cop_model_sent sent = { .played = { .x = answered->x, .arm = answered->arm, .p = answered->p },
		.answered = answered };
	cop_err err = cop_model_scale(model, &answered->loss, 1, sent.scaled);
	return err != COP_OK ? err : cop_model_take_sent(model, id, &sent, now, result);
}

void cop_model_get_apprentice(const cop_model *model, cop_apprentice_summary *out)
{
	cop_apprentice_summarise(&model->apprentice, out);
}
