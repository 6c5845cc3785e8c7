/* Full second-order terms up to FULL_INPUTS, where a step costs well under a millisecond, their diagonal beyond and for
 * sparse rows. */
#include "learn/candidate_expert.h"

#include "base/mem.h"
#include "learn/grown_inputs.h"
#include "learn/second_order.h"

#define RIDGE       1.0
#define FULL_INPUTS 1024

typedef struct linear_scorer {
	cop_cross_features_settings joint;
	size_t inputs;
	cop_second_order *model;
	cop_cross_features_fold fold;
} linear_scorer;

static size_t block_of(const cop_cross_features_settings *s, size_t inputs)
{
	return !s->sparse && inputs <= FULL_INPUTS ? cop_kernel_pad(inputs) : 0;
}

static void destroy(void *scorer)
{
	linear_scorer *s = scorer;
	if (s == NULL)
		return;
	cop_second_order_free(s->model);
	cop_mem_free(s->fold.v);
	cop_mem_free(s);
}

static cop_err create(const cop_candidate_expert_settings *settings, cop_rng *rng, void **out)
{
	(void)rng;
	*out = NULL;
	const cop_cross_features_settings *joint = &settings->joint;
	size_t near, whole;
	cop_cross_features_sizes(joint, &near, &whole);
	linear_scorer *s = cop_mem_alloc(1, sizeof *s);
	if (s == NULL)
		return COP_ENOMEM;
	s->joint = *joint;
	s->inputs = whole;
	s->fold.v = cop_mem_alloc(joint->sparse ? 1 : joint->candidate_features, sizeof *s->fold.v);
	cop_err err = s->fold.v == NULL
	                      ? COP_ENOMEM
	                      : cop_second_order_new(joint->kernel, whole, 1, block_of(joint, whole), RIDGE, &s->model);
	if (err != COP_OK) {
		destroy(s);
		return err;
	}
	*out = s;
	return COP_OK;
}

static double footprint(const cop_candidate_expert_settings *settings)
{
	size_t near, whole;
	cop_cross_features_sizes(&settings->joint, &near, &whole);
	return cop_second_order_footprint(whole, 1, block_of(&settings->joint, whole));
}

static void begin(void *scorer, const cop_cross_features *joint)
{
	linear_scorer *s = scorer;
	cop_cross_features_fold_context(joint, cop_second_order_weights(s->model), &s->fold);
}

static float score(void *scorer, const cop_cross_features *joint)
{
	linear_scorer *s = scorer;
	return COP_SECOND_ORDER_PRIOR + cop_cross_features_folded(joint, cop_second_order_weights(s->model), &s->fold);
}

static float spread(void *scorer, const cop_cross_features_rows *rows)
{
	float out;
	cop_second_order_spreads(((linear_scorer *)scorer)->model, &rows->whole, &out);
	return out;
}

static cop_err learn(void *scorer, const cop_cross_features_rows *rows, double loss)
{
	return cop_second_order_learn(((linear_scorer *)scorer)->model, &rows->whole, 0, loss);
}

static void explain(void *scorer, const cop_cross_features_rows *rows, cop_explanation *e, cop_explained_expert *out)
{
	(void)e;
	cop_second_order_explain(((linear_scorer *)scorer)->model, &rows->whole, 0, out);
}

static void anatomy(const void *scorer, cop_anatomy_part *out)
{
	out->unit = COP_ANATOMY_LOSS;
	cop_second_order_anatomy(((const linear_scorer *)scorer)->model, &out->linear);
}

static void save(const void *scorer, cop_bytes *bytes)
{
	cop_second_order_save(((const linear_scorer *)scorer)->model, bytes);
}

/* A state of `features` context features, which are fewer: of `saved` inputs. */
static cop_err load_fewer(linear_scorer *s, size_t features, size_t saved, cop_cursor *cursor)
{
	uint32_t *place = cop_mem_alloc(saved, sizeof *place);
	if (place == NULL)
		return COP_ENOMEM;
	for (size_t j = 0; j < saved; j++)
		place[j] = (uint32_t)cop_grown_inputs_behind(j, saved, saved - features, s->joint.features - features);
	cop_err err = cop_second_order_load_placed(s->model, place, saved, cursor);
	cop_mem_free(place);
	return err;
}

static cop_err load(void *scorer, cop_cursor *cursor)
{
	linear_scorer *s = scorer;
	cop_cursor ahead = *cursor;
	const uint64_t saved = cop_cursor_u64(&ahead);
	if (ahead.err != COP_OK || saved >= s->inputs || s->joint.sparse)
		return cop_second_order_load(s->model, cursor);
	const size_t features = cop_cross_features_fewer(&s->joint, (size_t)saved);
	return features == 0 ? COP_ESHAPE : load_fewer(s, features, (size_t)saved, cursor);
}

const cop_candidate_expert_class cop_candidate_expert_linear = {
	.member = { .name = "linear", .destroy = destroy, .save = save, .load = load, .anatomy = anatomy },
	.create = create,
	.footprint = footprint,
	.begin = begin,
	.score = score,
	.spread = spread,
	.learn = learn,
	.explain = explain,
};
