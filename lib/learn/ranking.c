#include "learn/ranking.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"

bool cop_ranking_is(const cop_learner *learner) { return learner->class->ranking != NULL; }

size_t cop_ranking_dimension(const cop_learner_settings *settings)
{
	return settings->features != 0 ? settings->candidate_features : cop_learner_dimension(settings);
}

bool cop_ranking_can_decide(const cop_learner *learner, const cop_candidates *c)
{
	return c->count >= 1 && c->count <= learner->settings.max_candidates &&
	       (c->mask == NULL || memchr(c->mask, 1, c->count) != NULL);
}

static void check(const cop_learner *learner, const cop_row *x, const cop_row *candidate, size_t count)
{
	const cop_learner_settings *s = &learner->settings;
	COP_ASSERT(cop_ranking_is(learner) && x->d == cop_learner_dimension(s));
	for (size_t i = 0; i < count; i++)
		COP_ASSERT(candidate[i].d == cop_ranking_dimension(s));
}

cop_err cop_ranking_decide(cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *out)
{
	*out = (cop_decision){ .p = 1.0 };
	if (!cop_ranking_can_decide(learner, c))
		return COP_EINVAL;
	check(learner, x, c->row, c->count);
	learner->class->ranking->observe(learner, x, c->row, c->count);
	cop_err err = learner->class->ranking->decide(learner, x, c, out);
	out->rev = learner->rev;
	return err;
}

void cop_ranking_advance(cop_learner *learner, const cop_row *x, const cop_candidates *c)
{
	check(learner, x, c->row, c->count);
	learner->class->ranking->observe(learner, x, c->row, c->count);
	learner->class->advance(learner);
}

cop_err cop_ranking_view(
        cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision, cop_policy_view *out)
{
	if (!cop_ranking_can_decide(learner, c) || decision->arm >= c->count)
		return COP_EINVAL;
	check(learner, x, c->row, c->count);
	decision->rev = learner->rev;
	return learner->class->ranking->view(learner, x, c, decision, out);
}

cop_err cop_ranking_follow(
        cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision, cop_policy_view *out)
{
	if (!cop_ranking_can_decide(learner, c) || decision->arm >= c->count)
		return COP_EINVAL;
	learner->class->ranking->observe(learner, x, c->row, c->count);
	cop_err err = cop_ranking_view(learner, x, c, decision, out);
	learner->class->advance(learner);
	decision->greedy = decision->arm == out->best;
	return err;
}

cop_err cop_ranking_learn(cop_learner *learner, const cop_row *x, const cop_row *candidate,
        const cop_decision *decision, double loss, bool decided_here)
{
	check(learner, x, candidate, 1);
	if (!isfinite(loss))
		return COP_ENONFINITE;
	if (loss < 0.0 || loss > 1.0)
		return COP_EINVAL;
	if (learner->frozen) {
		learner->unlearnt++;
		return COP_OK;
	}
	cop_decision foreign = *decision;
	for (size_t i = 0; !decided_here && i < COP_LEARNER_EXPERTS; i++)
		foreign.prediction[i] = NAN;
	cop_err err = learner->class->ranking->learn(learner, x, candidate, &foreign, loss);
	if (err != COP_OK)
		return err;
	if (!decided_here)
		learner->class->ranking->observe(learner, x, candidate, 1);
	learner->rev++;
	return COP_OK;
}

void cop_ranking_explain(cop_learner *learner, const cop_row *x, const cop_row *candidate, const cop_candidates *c,
        const cop_decision *decision, cop_explanation *e)
{
	check(learner, x, candidate, 1);
	cop_explanation_clear(e);
	e->rev = learner->rev;
	e->arm = decision->arm;
	learner->class->ranking->explain(learner, x, candidate, c, decision, e);
}

void cop_ranking_describe(const cop_learner *learner, size_t index, cop_ranking_feature *out)
{
	size_t d = cop_learner_dimension(&learner->settings);
	size_t near = d + cop_ranking_dimension(&learner->settings);
	*out = (cop_ranking_feature){ .constant = index == near };
	if (index < near) {
		out->has_feature = index < d;
		out->has_candidate_feature = !out->has_feature;
		out->feature = index;
		out->candidate_feature = index - d;
	} else if (learner->class->ranking->pair(learner, index, &out->feature, &out->candidate_feature)) {
		out->has_feature = out->has_candidate_feature = true;
	}
}

bool cop_ranking_find_pair(const cop_learner *learner, const cop_row *x, const cop_row *candidate, size_t index,
        size_t skip, cop_ranking_feature *out)
{
	size_t pair[2] = { 0, 0 };
	bool found = learner->class->ranking->find_pair(learner, x, candidate, index, skip, pair);
	*out = (cop_ranking_feature){ false, found, found, pair[0], pair[1] };
	return found;
}

size_t cop_ranking_hashed(const cop_learner *learner, size_t feature, size_t candidate_feature)
{
	return learner->class->ranking->hashed(learner, feature, candidate_feature);
}
