/* Events of a log, which come with their loss: nothing waits. */
#include <math.h>

#include "online/model_state.h"

static cop_err check_value(const cop_model *model, const cop_model_logged *logged, double *scaled)
{
	bool known = model->learner->class->view != NULL && logged->candidates == 0;
	if (!known || !(logged->y >= 0.0 && logged->y <= 1.0))
		return COP_EINVAL;
	if (!logged->learn)
		return COP_OK;
	bool density = logged->p > 0.0 && isfinite(logged->p);
	return density ? cop_model_scale(model, &logged->loss, 1, scaled) : COP_EINVAL;
}

static cop_err check_logged(const cop_model *model, const cop_model_logged *logged, double *scaled)
{
	bool ranks = model->learner->class->candidates;
	size_t arms = ranks ? logged->candidates : model->set.learner.arms;
	bool fits = ranks ? arms <= model->set.learner.max_candidates : logged->candidates == 0;
	if (model->learner->class->values)
		return check_value(model, logged, scaled);
	if (!fits || logged->arm >= arms)
		return COP_EINVAL;
	if (logged->mask != NULL && logged->mask[logged->arm] == 0)
		return COP_EINVAL;
	if (!logged->learn)
		return COP_OK;
	return logged->p > 0.0 && logged->p <= 1.0 ? cop_model_scale(model, &logged->loss, 1, scaled) : COP_EINVAL;
}

static cop_candidates candidates_of(const cop_model_logged *logged)
{
	return (cop_candidates){ logged->candidates, logged->candidate, logged->mask };
}

/* *served: what the serving one would have done. */
static void shadow_take(
        cop_model *model, const cop_model_logged *logged, const double *loss, const cop_policy_view *served)
{
	cop_decision decision = { .arm = logged->arm, .p = logged->p };
	const cop_candidates set = candidates_of(logged);
	cop_policy_view view;
	cop_err err = cop_learner_take(model->shadow.learner, logged->x, &set, &decision, loss, &view);
	model->shadow.refused += err != COP_OK;
	if (loss == NULL)
		return;
	cop_pending_shadow told = { .is = true };
	cop_model_shadow_compare(served, &view, logged->arm, &told);
	const cop_promotion_test_event event = {
		.p = logged->p,
		.loss = *loss,
		.champion = fmin(served->p[logged->arm], 1.0),
		.challenger = fmin(view.p[logged->arm], 1.0),
		.has_model = !model->learner->class->candidates, /* whose learning writes over its predictions */
		.model_logged = (double)told.loss,
		.model_champion = (double)told.expected[0],
		.model_challenger = (double)told.expected[1],
	};
	cop_model_shadow_weigh(model, &event);
}

cop_err cop_model_take_logged(cop_model *model, const cop_model_logged *logged, cop_policy_view *out)
{
	double scaled[2] = { 0.0, 0.0 };
	cop_err err = check_logged(model, logged, scaled);
	if (err != COP_OK)
		return err;
	cop_decision decision = { .arm = logged->arm, .p = logged->p, .y = logged->y };
	const double *loss = logged->learn ? scaled : NULL;
	const cop_candidates set = candidates_of(logged);
	err = cop_learner_take(model->learner, logged->x, &set, &decision, loss, out);
	if (model->shadow.learner != NULL && err != COP_EINVAL)
		shadow_take(model, logged, err == COP_OK ? loss : NULL, out);
	model->counters.decisions++;
	model->counters.greedy += decision.greedy;
	if (!logged->learn)
		return err;
	err = cop_model_count_learned(model, err, scaled);
	model->counters.feedback[COP_FEEDBACK_APPLIED] += err == COP_OK;
	return err;
}

cop_err cop_model_view_logged(cop_model *model, const cop_model_logged *logged, cop_policy_view *out)
{
	cop_model_logged looked_at = *logged;
	looked_at.learn = false;
	cop_err err = check_logged(model, &looked_at, NULL);
	if (err != COP_OK)
		return err;
	cop_decision decision = { .arm = logged->arm, .p = logged->p, .y = logged->y };
	const cop_candidates set = candidates_of(logged);
	return cop_learner_view(model->learner, logged->x, &set, &decision, out);
}
