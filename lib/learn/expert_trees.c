/* Scores are logits: predicted loss = 1 - sigmoid(score), learned by the logistic loss without importance weights. */
#include "learn/expert.h"

#include "bandit/estimator.h"
#include "base/mem.h"
#include "learn/additive.h"

#define SPLIT_RATE  0.1f
#define LEAF_RATE   0.3f
#define LINEAR_RATE 0.3f

typedef struct trees_expert {
	cop_additive *model;
	const cop_estimator *estimator;
	float *scores;
	size_t arms;
} trees_expert;

static void destroy(void *expert)
{
	trees_expert *e = expert;
	if (e == NULL)
		return;
	cop_additive_free(e->model);
	cop_mem_free(e->scores);
	cop_mem_free(e);
}

static cop_additive_settings additive_of(const cop_expert_settings *settings)
{
	return (cop_additive_settings){
		.kernel = settings->kernel,
		.inputs = settings->inputs,
		.typical = settings->typical,
		.sparse = settings->sparse,
		.outputs = settings->arms,
		.trees = settings->trees,
		.height = settings->height,
		.split_rate = SPLIT_RATE * settings->rate,
		.leaf_rate = LEAF_RATE * settings->rate,
		.linear_rate = LINEAR_RATE * settings->rate,
	};
}

static double footprint(const cop_expert_settings *settings)
{
	const cop_additive_settings additive = additive_of(settings);
	return cop_additive_footprint(&additive);
}

/* Multiplications: forwards and backwards through nodes and linear term. */
static double cost(const cop_expert_settings *settings)
{
	size_t nodes = settings->trees << settings->height;
	return 2.0 * (double)settings->typical * (double)(settings->arms + nodes);
}

static cop_err create(const cop_expert_settings *settings, cop_rng *rng, void **out)
{
	*out = NULL;
	const cop_additive_settings additive = additive_of(settings);
	trees_expert *e = cop_mem_alloc(1, sizeof *e);
	if (e == NULL)
		return COP_ENOMEM;
	e->arms = settings->arms;
	e->estimator = cop_estimator_find("direct");
	e->scores = cop_mem_alloc(cop_kernel_pad(settings->arms), sizeof *e->scores);
	cop_err err = e->scores == NULL ? COP_ENOMEM : cop_additive_new(&additive, rng, &e->model);
	if (err != COP_OK) {
		destroy(e);
		return err;
	}
	*out = e;
	return COP_OK;
}

static void predict(void *expert, const cop_row *x, float *loss)
{
	trees_expert *e = expert;
	cop_additive_scores(e->model, x, e->scores);
	for (size_t k = 0; k < e->arms; k++)
		loss[k] = (float)(1.0 - cop_estimator_sigmoid((double)e->scores[k]));
}

static cop_err learn(void *expert, const cop_row *x, size_t arm, double loss, bool again)
{
	trees_expert *e = expert;
	if (!again)
		cop_additive_scores(e->model, x, e->scores);
	return cop_additive_update(e->model, x, arm, (float)e->estimator->gradient((double)e->scores[arm], loss, 1.0));
}

static void explain(void *expert, const cop_row *x, size_t arm, cop_explanation *e, cop_explained_expert *out)
{
	cop_additive_explain(((trees_expert *)expert)->model, x, arm, e, out);
}

static void anatomy(const void *expert, cop_anatomy_part *out)
{
	out->unit = COP_ANATOMY_LOGIT;
	cop_additive_anatomy(((const trees_expert *)expert)->model, &out->linear);
}

static void save(const void *expert, cop_bytes *bytes)
{
	cop_additive_save(((const trees_expert *)expert)->model, bytes);
}

static cop_err load(void *expert, cop_cursor *cursor)
{
	return cop_additive_load(((trees_expert *)expert)->model, cursor);
}

static cop_err make_room(void *expert, const void *from)
{
	return cop_additive_make_room(((trees_expert *)expert)->model, ((const trees_expert *)from)->model);
}

static void inherit(void *expert, void *from)
{
	cop_additive_inherit(((trees_expert *)expert)->model, ((trees_expert *)from)->model);
}

static size_t trees(const void *expert) { return cop_additive_trees(((const trees_expert *)expert)->model); }

static cop_err tree(const void *expert, size_t m, cop_oblique_tree **out)
{
	return cop_additive_tree(((const trees_expert *)expert)->model, m, out);
}

const cop_expert_class cop_expert_trees = {
	.member = { .name = "trees",
	        .destroy = destroy,
	        .save = save,
	        .load = load,
	        .make_room = make_room,
	        .inherit = inherit,
	        .trees = trees,
	        .tree = tree,
	        .anatomy = anatomy },
	.footprint = footprint,
	.cost = cost,
	.create = create,
	.predict = predict,
	.learn = learn,
	.explain = explain,
};
