/* Scores are logits: predicted loss = 1 - sigmoid(score), learned by the logistic loss without importance weights. The
 * additive model has the near row: its trees see context and candidate side by side, and so does a linear term; the
 * products have weights of their own. Steps of those are smaller the more of them a candidate brings. */
#include "learn/candidate_expert_additive.h"

#include <math.h>

#define SPLIT_RATE  0.1f
#define LEAF_RATE   0.3f
#define LINEAR_RATE 0.3f

static cop_additive_settings additive(const cop_candidate_expert_settings *settings)
{
	size_t near, whole;
	cop_cross_features_sizes(&settings->joint, &near, &whole);
	return (cop_additive_settings){
		.kernel = settings->joint.kernel,
		.inputs = near,
		.typical = settings->typical,
		.sparse = settings->joint.sparse,
		.outputs = 1,
		.trees = settings->trees,
		.height = settings->height,
		.in_parts = true,
		.behind = settings->joint.candidate_features + 1,
		.split_rate = SPLIT_RATE * settings->rate,
		.leaf_rate = LEAF_RATE * settings->rate,
		.linear_rate = LINEAR_RATE * settings->rate,
	};
}

static cop_err create(const cop_candidate_expert_settings *settings, cop_rng *rng, void **out)
{
	cop_additive_settings of_trees = additive(settings);
	return cop_candidate_expert_additive_new(settings, &of_trees, true, 1, rng, out);
}

static double footprint(const cop_candidate_expert_settings *settings)
{
	cop_additive_settings of_trees = additive(settings);
	return cop_additive_footprint(&of_trees) + cop_cross_linear_footprint(&settings->joint);
}

static void begin(void *scorer, const cop_cross_features *joint)
{
	cop_candidate_expert_additive *s = scorer;
	cop_row first;
	cop_cross_features_first(joint, &first);
	cop_additive_begin(s->model, &first);
	cop_cross_linear_begin(&s->linear, joint);
}

static float score(void *scorer, const cop_cross_features *joint)
{
	cop_candidate_expert_additive *s = scorer;
	cop_row rest;
	size_t at;
	cop_cross_features_rest(joint, &rest, &at);
	float logit = cop_additive_finish(s->model, &rest, at) + cop_cross_linear_score(&s->linear, joint);
	return (float)(1.0 - cop_estimator_sigmoid((double)logit));
}

static cop_err learn(void *scorer, const cop_cross_features_rows *rows, double loss)
{
	cop_candidate_expert_additive *s = scorer;
	cop_additive_scores(s->model, &rows->near, s->scores);
	double logit = (double)(s->scores[0] + cop_cross_linear_value(&s->linear, &rows->whole));
	float g = (float)s->estimator->gradient(logit, loss, 1.0);
	cop_err err = cop_additive_update(s->model, &rows->near, 0, g);
	if (err == COP_OK)
		cop_cross_linear_update(&s->linear, &rows->whole, g);
	return err;
}

static void explain(void *scorer, const cop_cross_features_rows *rows, cop_explanation *e, cop_explained_expert *out)
{
	cop_candidate_expert_additive *s = scorer;
	cop_additive_explain(s->model, &rows->near, 0, e, out);
	cop_cross_linear_explain(&s->linear, &rows->whole, out);
}

const cop_candidate_expert_class cop_candidate_expert_trees = {
	.member = COP_CANDIDATE_EXPERT_ADDITIVE_MEMBER("trees"),
	.create = create,
	.footprint = footprint,
	.begin = begin,
	.score = score,
	.learn = learn,
	.explain = explain,
};
