/* Scores are logits: predicted loss = 1 - sigmoid(score), learned by the logistic loss without importance weights. The
 * additive model has the near row: its trees see context and candidate side by side, and so does a linear term; the
 * products have weights of their own. Steps of those are smaller the more of them a candidate brings. */
#include "online/scorer.h"

#include <math.h>

#include "bandit/estimator.h"
#include "base/mem.h"
#include "online/additive.h"
#include "online/joint_linear.h"

#define SPLIT_RATE   0.1f
#define LEAF_RATE    0.3f
#define LINEAR_RATE  0.3f
#define PRODUCT_RATE 0.3f

typedef struct trees_scorer {
	cop_additive *model;
	cop_joint_linear products;
	const cop_estimator *estimator;
	float *scores; /* pad(1) */
} trees_scorer;

static cop_additive_settings additive(const cop_scorer_settings *settings)
{
	size_t near, whole;
	cop_joint_sizes(&settings->joint, &near, &whole);
	return (cop_additive_settings){
		.kernel = settings->joint.kernel,
		.inputs = near,
		.typical = settings->typical,
		.outputs = 1,
		.trees = settings->trees,
		.height = settings->height,
		.in_parts = true,
		.split_rate = SPLIT_RATE * settings->rate,
		.leaf_rate = LEAF_RATE * settings->rate,
		.linear_rate = LINEAR_RATE * settings->rate,
	};
}

static void destroy(void *scorer)
{
	trees_scorer *s = scorer;
	if (s == NULL)
		return;
	cop_additive_free(s->model);
	cop_joint_linear_fini(&s->products);
	cop_mem_free(s->scores);
	cop_mem_free(s);
}

static cop_err create(const cop_scorer_settings *settings, cop_rng *rng, void **out)
{
	*out = NULL;
	cop_additive_settings of_trees = additive(settings);
	trees_scorer *s = cop_mem_alloc(1, sizeof *s);
	if (s == NULL)
		return COP_ENOMEM;
	s->estimator = cop_estimator_find("direct");
	s->scores = cop_mem_alloc(cop_kernel_pad(1), sizeof *s->scores);
	float rate = PRODUCT_RATE * settings->rate / sqrtf((float)settings->candidate_entries);
	cop_err err =
	        s->scores == NULL ? COP_ENOMEM : cop_joint_linear_init(&s->products, &settings->joint, true, rate);
	if (err == COP_OK)
		err = cop_additive_new(&of_trees, rng, &s->model);
	if (err != COP_OK) {
		destroy(s);
		return err;
	}
	*out = s;
	return COP_OK;
}

static double footprint(const cop_scorer_settings *settings)
{
	cop_additive_settings of_trees = additive(settings);
	return cop_additive_footprint(&of_trees) + cop_joint_linear_footprint(&settings->joint);
}

static void begin(void *scorer, const cop_joint *joint)
{
	trees_scorer *s = scorer;
	cop_row first;
	cop_joint_first(joint, &first);
	cop_additive_begin(s->model, &first);
	cop_joint_linear_begin(&s->products, joint);
}

static float score(void *scorer, const cop_joint *joint)
{
	trees_scorer *s = scorer;
	cop_row rest;
	size_t at;
	cop_joint_rest(joint, &rest, &at);
	float logit = cop_additive_finish(s->model, &rest, at) + cop_joint_linear_score(&s->products, joint);
	return (float)(1.0 - cop_estimator_sigmoid((double)logit));
}

static cop_err learn(void *scorer, const cop_joint_rows *rows, double loss)
{
	trees_scorer *s = scorer;
	cop_additive_scores(s->model, &rows->near, s->scores);
	double logit = (double)(s->scores[0] + cop_joint_linear_value(&s->products, &rows->whole));
	float g = (float)s->estimator->gradient(logit, loss, 1.0);
	cop_err err = cop_additive_update(s->model, &rows->near, 0, g);
	if (err == COP_OK)
		cop_joint_linear_update(&s->products, &rows->whole, g);
	return err;
}

static void explain(void *scorer, const cop_joint_rows *rows, cop_explanation *e, cop_explained_expert *out)
{
	trees_scorer *s = scorer;
	cop_additive_explain(s->model, &rows->near, 0, e, out);
	cop_joint_linear_explain(&s->products, &rows->whole, out);
}

static void save(const void *scorer, cop_bytes *bytes)
{
	const trees_scorer *s = scorer;
	cop_additive_save(s->model, bytes);
	cop_joint_linear_save(&s->products, bytes);
}

static cop_err load(void *scorer, cop_cursor *cursor)
{
	trees_scorer *s = scorer;
	cop_err err = cop_additive_load(s->model, cursor);
	return err != COP_OK ? err : cop_joint_linear_load(&s->products, cursor);
}

static size_t trees(const void *scorer) { return cop_additive_trees(((const trees_scorer *)scorer)->model); }

static cop_err tree(const void *scorer, size_t m, cop_oblique_tree **out)
{
	return cop_additive_tree(((const trees_scorer *)scorer)->model, m, out);
}

const cop_scorer_class cop_scorer_trees = {
	.member = { .name = "trees", .destroy = destroy, .save = save, .load = load, .trees = trees, .tree = tree },
	.create = create,
	.footprint = footprint,
	.begin = begin,
	.score = score,
	.learn = learn,
	.explain = explain,
};
