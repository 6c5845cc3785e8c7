/* Scores are logits, learned as those of candidate_expert_trees.c. Trees of the context alone, whose leaves are linear
 * in the candidate (its features and the constant): with one-hot candidates, trees with a leaf value for each arm. A
 * linear term over the whole row stands beside them. Both take smaller steps the more features a candidate brings.
 * Dense: what the leaves say of each feature is summed once an event. */
#include "learn/candidate_expert_additive.h"

#include <math.h>

#define SPLIT_RATE 0.1f
#define LEAF_RATE  0.3f

static cop_additive_settings additive(const cop_candidate_expert_settings *settings)
{
	const cop_cross_features_settings *joint = &settings->joint;
	float share = settings->rate / sqrtf((float)settings->candidate_entries);
	return (cop_additive_settings){
		.kernel = joint->kernel,
		.inputs = joint->features + 1,
		.sparse = joint->sparse,
		.typical = joint->sparse ? settings->typical : joint->features + 1,
		.outputs = joint->candidate_features + 1,
		.trees = settings->trees,
		.height = settings->height,
		.along = true,
		.split_rate = SPLIT_RATE * settings->rate,
		.leaf_rate = LEAF_RATE * share,
	};
}

static cop_err create(const cop_candidate_expert_settings *settings, cop_rng *rng, void **out)
{
	const cop_cross_features_settings *joint = &settings->joint;
	cop_additive_settings of_trees = additive(settings);
	return cop_candidate_expert_additive_new(
	        settings, &of_trees, false, joint->sparse ? 0 : of_trees.outputs, rng, out);
}

static double footprint(const cop_candidate_expert_settings *settings)
{
	cop_additive_settings of_trees = additive(settings);
	return cop_additive_footprint(&of_trees) + cop_cross_linear_footprint(&settings->joint);
}

static void begin(void *scorer, const cop_cross_features *joint)
{
	cop_candidate_expert_additive *s = scorer;
	const cop_row *x = cop_cross_features_context(joint);
	cop_cross_linear_begin(&s->linear, joint);
	if (s->scores != NULL)
		cop_additive_scores(s->model, x, s->scores);
	else
		cop_additive_walk(s->model, x);
}

static float score(void *scorer, const cop_cross_features *joint)
{
	cop_candidate_expert_additive *s = scorer;
	const cop_row *c = cop_cross_features_candidate(joint);
	float logit = cop_cross_linear_score(&s->linear, joint);
	logit += s->scores != NULL ? s->kernel->dot(c->d, c->dense, s->scores) : cop_additive_along(s->model, c);
	return (float)(1.0 - cop_estimator_sigmoid((double)logit));
}

static cop_err learn(void *scorer, const cop_cross_features_rows *rows, double loss)
{
	cop_candidate_expert_additive *s = scorer;
	cop_additive_walk(s->model, &rows->context);
	double logit = (double)(cop_additive_along(s->model, &rows->candidate) +
	                        cop_cross_linear_value(&s->linear, &rows->whole));
	float g = (float)s->estimator->gradient(logit, loss, 1.0);
	cop_err err = cop_additive_update_along(s->model, &rows->context, &rows->candidate, g);
	if (err == COP_OK)
		cop_cross_linear_update(&s->linear, &rows->whole, g);
	return err;
}

/* Nodes see contexts, whose constant is an input of joint rows elsewhere. */
static void move_constants(const cop_cross_features_rows *rows, cop_explanation *e, size_t first_node)
{
	for (size_t i = first_node; i < e->node_count; i++)
		for (size_t k = 0; k < e->nodes[i].count; k++)
			if (e->nodes[i].features[k].index + 1 == rows->context.d)
				e->nodes[i].features[k].index = (uint32_t)(rows->near.d - 1);
}

static void explain(void *scorer, const cop_cross_features_rows *rows, cop_explanation *e, cop_explained_expert *out)
{
	cop_candidate_expert_additive *s = scorer;
	size_t first_node = e->node_count;
	cop_additive_explain_along(s->model, &rows->context, &rows->candidate, e, out);
	move_constants(rows, e, first_node);
	cop_cross_linear_explain(&s->linear, &rows->whole, out);
}

const cop_candidate_expert_class cop_candidate_expert_leaves = {
	.member = COP_CANDIDATE_EXPERT_ADDITIVE_MEMBER("leaves"),
	.create = create,
	.footprint = footprint,
	.begin = begin,
	.score = score,
	.learn = learn,
	.explain = explain,
};
