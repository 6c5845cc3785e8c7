/* Events of a log, which come with their loss: nothing waits. */
#include <math.h>

#include "learn/ranking.h"
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
	size_t arms = cop_ranking_is(model->learner) ? logged->candidates : model->set.learner.arms;
	bool fits =
	        cop_ranking_is(model->learner) ? arms <= model->set.learner.max_candidates : logged->candidates == 0;
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

/* loss: NULL to follow only. */
static cop_err take(cop_learner *learner, const cop_model_logged *logged, cop_decision *decision, const double *loss,
        cop_policy_view *out)
{
	if (!cop_ranking_is(learner))
		return cop_learner_take(learner, logged->x, logged->mask, decision, loss, out);
	const cop_candidates set = { logged->candidates, logged->candidate, logged->mask };
	cop_err err = cop_ranking_follow(learner, logged->x, &set, decision, out);
	if (err != COP_OK || loss == NULL)
		return err;
	return cop_ranking_learn(learner, logged->x, &logged->candidate[logged->arm], decision, *loss, true);
}

/* *served: what the serving one would have done. */
static void shadow_take(
        cop_model *model, const cop_model_logged *logged, const double *loss, const cop_policy_view *served)
{
	cop_decision decision = { .arm = logged->arm, .p = logged->p };
	cop_policy_view view;
	cop_err err = take(model->shadow.learner, logged, &decision, loss, &view);
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
		.has_model = !cop_ranking_is(model->learner), /* whose learning writes over its predictions */
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
	err = take(model->learner, logged, &decision, loss, out);
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
	const cop_candidates set = { logged->candidates, logged->candidate, logged->mask };
	return cop_ranking_is(model->learner)
	               ? cop_ranking_view(model->learner, logged->x, &set, &decision, out)
	               : cop_learner_view(model->learner, logged->x, logged->mask, &decision, out);
}
