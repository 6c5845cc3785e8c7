/* Scores are logits: predicted loss = 1 - sigmoid(score), learned by the logistic loss without importance weights. The
 * additive model has the near row: its trees and a linear term; the products' weights w, with their AdaGrad sums, are
 * beside it (of the size of whole rows, so that cop_joint folds them; what is near in them stays 0). */
#include "online/scorer.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "bandit/estimator.h"
#include "base/mem.h"
#include "online/additive.h"

#define SPLIT_RATE   0.1f
#define LEAF_RATE    0.3f
#define LINEAR_RATE  0.3f
#define PRODUCT_RATE 0.3f
#define SUM_START    1.0f

typedef struct trees_scorer {
	cop_additive *model;
	const cop_estimator *estimator;
	size_t near, whole;
	float rate;     /* of the products */
	float *w, *sum; /* whole */
	float *scores;  /* pad(1) */
	cop_joint_fold fold;
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
	cop_mem_free(s->w);
	cop_mem_free(s->sum);
	cop_mem_free(s->scores);
	cop_mem_free(s->fold.v);
	cop_mem_free(s);
}

static cop_err create(const cop_scorer_settings *settings, cop_rng *rng, void **out)
{
	*out = NULL;
	const cop_joint_settings *joint = &settings->joint;
	cop_additive_settings of_trees = additive(settings);
	trees_scorer *s = cop_mem_alloc(1, sizeof *s);
	if (s == NULL)
		return COP_ENOMEM;
	cop_joint_sizes(joint, &s->near, &s->whole);
	s->estimator = cop_estimator_find("direct");
	s->rate = PRODUCT_RATE * settings->rate;
	s->w = cop_mem_alloc(s->whole, sizeof *s->w);
	s->sum = cop_mem_alloc(s->whole, sizeof *s->sum);
	s->scores = cop_mem_alloc(cop_kernel_pad(1), sizeof *s->scores);
	s->fold.v = cop_mem_alloc(joint->sparse ? 1 : joint->candidate_features, sizeof *s->fold.v);
	bool ok = s->w != NULL && s->sum != NULL && s->scores != NULL && s->fold.v != NULL;
	cop_err err = ok ? cop_additive_new(&of_trees, rng, &s->model) : COP_ENOMEM;
	if (err != COP_OK) {
		destroy(s);
		return err;
	}
	for (size_t i = 0; i < s->whole; i++)
		s->sum[i] = SUM_START;
	*out = s;
	return COP_OK;
}

static double footprint(const cop_scorer_settings *settings)
{
	size_t near, whole;
	cop_additive_settings of_trees = additive(settings);
	cop_joint_sizes(&settings->joint, &near, &whole);
	return cop_additive_footprint(&of_trees) + 2.0 * sizeof(float) * (double)whole;
}

static void begin(void *scorer, const cop_joint *joint)
{
	trees_scorer *s = scorer;
	cop_row first;
	cop_joint_first(joint, &first);
	cop_additive_begin(s->model, &first);
	cop_joint_fold_context(joint, s->w, &s->fold);
}

static float predicted(double logit) { return (float)(1.0 - cop_estimator_sigmoid(logit)); }

static float score(void *scorer, const cop_joint *joint)
{
	trees_scorer *s = scorer;
	cop_row rest;
	size_t at;
	cop_joint_rest(joint, &rest, &at);
	float logit = cop_additive_finish(s->model, &rest, at) + cop_joint_folded(joint, s->w, &s->fold);
	return predicted((double)logit);
}

static size_t first_product(const trees_scorer *s, const cop_row *near)
{
	return near->dense != NULL ? s->near : near->nnz;
}

static void learn_dense(trees_scorer *s, const float *restrict x, float g)
{
	float *restrict w = s->w;
	float *restrict sum = s->sum;
	float rate = s->rate;
#pragma omp simd
	for (size_t i = s->near; i < s->whole; i++) {
		float gradient = g * x[i];
		float next = sum[i] + gradient * gradient;
		sum[i] = next < FLT_MAX ? next : FLT_MAX;
		w[i] -= rate * gradient / sqrtf(sum[i]);
	}
}

static void learn_sparse(trees_scorer *s, const cop_row *x, size_t from, float g)
{
	for (size_t i = from; i < x->nnz; i++) {
		uint32_t at = x->index[i];
		float gradient = g * x->value[i];
		s->sum[at] = fminf(s->sum[at] + gradient * gradient, FLT_MAX);
		s->w[at] -= s->rate * gradient / sqrtf(s->sum[at]);
	}
}

static float products(const trees_scorer *s, const cop_row *near, const cop_row *whole)
{
	float sum = 0.0f;
	for (size_t i = first_product(s, near); i < cop_row_entries(whole); i++)
		sum += s->w[cop_row_index(whole, i)] * cop_row_value(whole, i);
	return sum;
}

static cop_err learn(void *scorer, const cop_row *near, const cop_row *whole, double loss)
{
	trees_scorer *s = scorer;
	cop_additive_scores(s->model, near, s->scores);
	double logit = (double)(s->scores[0] + products(s, near, whole));
	float g = (float)s->estimator->gradient(logit, loss, 1.0);
	cop_err err = cop_additive_update(s->model, near, 0, g);
	if (err != COP_OK)
		return err;
	if (whole->dense != NULL)
		learn_dense(s, whole->dense, g);
	else
		learn_sparse(s, whole, near->nnz, g);
	return COP_OK;
}

/* The heaviest of the near features and of the products together. */
static void merge_features(cop_explained_expert *out, const cop_explained_feature *more, uint8_t count)
{
	cop_explained_feature near[COP_EXPLANATION_LINEAR];
	uint8_t near_count = out->count;
	uint8_t i = 0;
	uint8_t k = 0;
	memcpy(near, out->features, sizeof near);
	for (out->count = 0; out->count < COP_EXPLANATION_LINEAR && (i < near_count || k < count); out->count++) {
		bool from_near =
		        k == count || (i < near_count && fabsf(near[i].contribution) >= fabsf(more[k].contribution));
		out->features[out->count] = from_near ? near[i++] : more[k++];
	}
}

static void explain(
        void *scorer, const cop_row *near, const cop_row *whole, cop_explanation *e, cop_explained_expert *out)
{
	trees_scorer *s = scorer;
	cop_explained_feature more[COP_EXPLANATION_LINEAR];
	cop_additive_explain(s->model, near, 0, e, out);
	merge_features(out, more, cop_explanation_top(whole, s->w, 1, COP_EXPLANATION_LINEAR, more));
	out->linear += (double)products(s, near, whole);
}

static void save(const void *scorer, cop_bytes *bytes)
{
	const trees_scorer *s = scorer;
	cop_additive_save(s->model, bytes);
	cop_bytes_put_u64(bytes, s->whole - s->near);
	cop_bytes_put_f32s(bytes, s->w + s->near, s->whole - s->near);
	cop_bytes_put_f32s(bytes, s->sum + s->near, s->whole - s->near);
}

static cop_err load(void *scorer, cop_cursor *cursor)
{
	trees_scorer *s = scorer;
	cop_err err = cop_additive_load(s->model, cursor);
	if (err != COP_OK)
		return err;
	uint64_t count = cop_cursor_u64(cursor);
	if (cursor->err == COP_OK && count != s->whole - s->near)
		return COP_ESHAPE;
	cop_cursor_f32s(cursor, s->w + s->near, s->whole - s->near);
	cop_cursor_f32s(cursor, s->sum + s->near, s->whole - s->near);
	for (size_t i = s->near; i < s->whole && cursor->err == COP_OK; i++)
		if (s->sum[i] < SUM_START) /* they divide */
			cursor->err = COP_EFORMAT;
	return cursor->err;
}

static size_t trees(const void *scorer) { return cop_additive_trees(((const trees_scorer *)scorer)->model); }

static cop_err tree(const void *scorer, size_t m, cop_oblique_tree **out)
{
	return cop_additive_tree(((const trees_scorer *)scorer)->model, m, out);
}

const cop_scorer_class cop_scorer_trees = {
	.name = "trees",
	.create = create,
	.destroy = destroy,
	.footprint = footprint,
	.begin = begin,
	.score = score,
	.learn = learn,
	.explain = explain,
	.save = save,
	.load = load,
	.trees = trees,
	.tree = tree,
};
