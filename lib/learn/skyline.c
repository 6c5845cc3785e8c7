/* A learner's class may know a quicker way (learn_all) than one loss after another: a mixture is asked once an event
 * then, and not once an arm. */
#include "learn/skyline.h"

#include <math.h>

static bool is_told(const cop_candidates *choice, size_t k) { return choice->mask == NULL || choice->mask[k] != 0; }

/* Of arms the mask is all that a learner takes. */
static bool fits(const cop_learner *learner, const cop_candidates *choice, cop_candidates *c)
{
	const cop_learner_class *class = learner->class;
	*c = class->candidates ? *choice : (cop_candidates){ .mask = choice->mask };
	return !class->values && (class->candidates || choice->count == learner->settings.arms) &&
	       cop_learner_can_decide(learner, c);
}

cop_err cop_skyline_decide(cop_learner *learner, const cop_row *x, const cop_candidates *choice, uint32_t *arm)
{
	cop_candidates c;
	if (!fits(learner, choice, &c))
		return COP_EINVAL;
	cop_learner_advance(learner, x, &c);
	*arm = (uint32_t)cop_learner_greedy(learner, x, &c);
	return COP_OK;
}

static cop_err check(const cop_candidates *choice, const double *loss)
{
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
static size_t one_by_one(cop_learner *learner, const cop_row *x, const cop_candidates *c, const double *loss)
{
	size_t learned = 0;
	for (size_t k = 0; k < (c->count > 0 ? c->count : learner->settings.arms); k++) {
		const cop_decision played = { .arm = (uint32_t)k, .p = 1.0, .rev = learner->rev };
		if (is_told(c, k))
			learned += cop_learner_learn(learner, x, c, &played, &loss[k], true) == COP_OK;
	}
	return learned;
}

cop_err cop_skyline_learn(
        cop_learner *learner, const cop_row *x, const cop_candidates *choice, const double *loss, size_t *learned)
{
	*learned = 0;
	cop_candidates c;
	if (!fits(learner, choice, &c))
		return COP_EINVAL;
	cop_err err = check(choice, loss);
	if (err != COP_OK)
		return err;
	if (learner->frozen) {
		for (size_t k = 0; k < choice->count; k++)
			learner->unlearnt += is_told(choice, k);
		return COP_OK;
	}
	*learned = learner->class->learn_all != NULL ? learner->class->learn_all(learner, x, &c, loss)
	                                             : one_by_one(learner, x, &c, loss);
	return COP_OK;
}
