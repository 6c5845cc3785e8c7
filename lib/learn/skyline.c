/* A learner's class may know a quicker way (learn_all) than one loss after another: a mixture is asked once an event
 * then, and not once an arm. */
#include "learn/skyline.h"

#include <math.h>

static bool is_told(const cop_candidates *choice, size_t k) { return choice->mask == NULL || choice->mask[k] != 0; }

static bool fits(const cop_learner *learner, const cop_candidates *choice)
{
	if (learner->class->values)
		return false;
	return cop_ranking_is(learner) ? cop_ranking_can_decide(learner, choice)
	                               : choice->count == learner->settings.arms;
}

cop_err cop_skyline_decide(cop_learner *learner, const cop_row *x, const cop_candidates *choice, uint32_t *arm)
{
	if (!fits(learner, choice) || !cop_learner_can_decide(learner, choice->mask))
		return COP_EINVAL;
	if (!cop_ranking_is(learner)) {
		cop_learner_advance(learner, x);
		*arm = (uint32_t)cop_learner_greedy(learner, x, choice->mask);
		return COP_OK;
	}
	cop_decision any = { .p = 1.0 };
	cop_policy_view view;
	cop_ranking_advance(learner, x, choice);
	cop_err err = cop_ranking_view(learner, x, choice, &any, &view);
	if (err == COP_OK)
		*arm = (uint32_t)view.best;
	return err;
}

static cop_err check(const cop_learner *learner, const cop_candidates *choice, const double *loss)
{
	if (!fits(learner, choice))
		return COP_EINVAL;
	for (size_t k = 0; k < choice->count; k++) {
		if (!is_told(choice, k))
			continue;
		if (!isfinite(loss[k]))
			return COP_ENONFINITE;
		if (loss[k] < 0.0 || loss[k] > 1.0)
			return COP_EINVAL;
	}
	return COP_OK;
}

/* Of a learner without experts, so that nothing is weighed. */
static size_t one_by_one(cop_learner *learner, const cop_row *x, const cop_candidates *choice, const double *loss)
{
	size_t learned = 0;
	for (size_t k = 0; k < choice->count; k++) {
		const cop_decision played = { .arm = (uint32_t)k, .p = 1.0, .rev = learner->rev };
		if (is_told(choice, k))
			learned += cop_learner_learn(learner, x, choice->mask, &played, &loss[k], true) == COP_OK;
	}
	return learned;
}

cop_err cop_skyline_learn(
        cop_learner *learner, const cop_row *x, const cop_candidates *choice, const double *loss, size_t *learned)
{
	*learned = 0;
	cop_err err = check(learner, choice, loss);
	if (err != COP_OK)
		return err;
	if (learner->frozen) {
		for (size_t k = 0; k < choice->count; k++)
			learner->unlearnt += is_told(choice, k);
		return COP_OK;
	}
	*learned = learner->class->learn_all != NULL ? learner->class->learn_all(learner, x, choice, loss)
	                                             : one_by_one(learner, x, choice, loss);
	return COP_OK;
}
