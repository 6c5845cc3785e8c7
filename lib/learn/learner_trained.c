/* A model that `coppice train` made, served as it is: trees and how their rows are prepared (table/encoder.h). Learner
 * "trained" plays the class of greatest probability, the first among equals, with propensity 1; a class's predicted
 * loss is 1 - its probability. Learner "trained_value" plays the predicted value, in the unit of training's file,
 * whatever value_range is. Nothing is drawn and nothing is learned. New ones have no trees and play 0; state comes by
 * load (online/model_trained.h makes it). The same calls as `coppice predict` makes give the same bits. */
#include "learn/learner_trained.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "learn/explained_tree.h"

#define PATHS  4  /* trees whose way is explained */
#define HEADER 24 /* bytes of a model file's head; its length stands behind mark and version */

typedef struct trained_learner {
	cop_learner base;
	cop_encoder *encoder; /* NULL, as trees: nothing loaded yet */
	cop_trees *trees;
	size_t outputs;
	float *x;    /* features, prepared */
	float *work; /* outputs */
	float *loss; /* outputs */
	double *out; /* outputs */
	double *p;   /* outputs: of the last decision or view */
	cop_tree_step *path;
} trained_learner;

static void destroy(cop_learner *learner)
{
	trained_learner *t = (trained_learner *)learner;
	if (t == NULL)
		return;
	cop_encoder_free(t->encoder);
	cop_trees_free(t->trees);
	cop_mem_free(t->x);
	cop_mem_free(t->work);
	cop_mem_free(t->loss);
	cop_mem_free(t->out);
	cop_mem_free(t->p);
	cop_mem_free(t->path);
	cop_mem_free(t);
}

static double footprint(const cop_learner_settings *s)
{
	double outputs = s->arms > 0 ? (double)s->arms : 1.0;
	return (double)s->features * sizeof(float) + outputs * 2.0 * (sizeof(float) + sizeof(double));
}

static cop_err create(const cop_learner_settings *settings, cop_learner **out)
{
	*out = NULL;
	trained_learner *t = cop_mem_alloc(1, sizeof *t);
	if (t == NULL)
		return COP_ENOMEM;
	t->base.class = cop_learner_find(settings->learner);
	t->base.settings = *settings;
	t->outputs = settings->arms > 0 ? settings->arms : 1;
	t->x = cop_mem_alloc(cop_learner_dimension(settings), sizeof *t->x);
	t->work = cop_mem_alloc(t->outputs, sizeof *t->work);
	t->loss = cop_mem_alloc(t->outputs, sizeof *t->loss);
	t->out = cop_mem_alloc(t->outputs, sizeof *t->out);
	t->p = cop_mem_alloc(t->outputs, sizeof *t->p);
	if (t->x == NULL || t->work == NULL || t->loss == NULL || t->out == NULL || t->p == NULL) {
		destroy(&t->base);
		return COP_ENOMEM;
	}
	*out = &t->base;
	return COP_OK;
}

/* ---- predicting ---- */

static cop_row prepare(trained_learner *t, const cop_row *raw)
{
	const size_t d = t->base.settings.features;
	memcpy(t->x, raw->dense, d * sizeof *t->x);
	cop_encoder_apply_row(t->encoder, t->x);
	return (cop_row){ .d = d, .dense = t->x };
}

static void predict(trained_learner *t, const cop_row *raw)
{
	if (t->trees == NULL) {
		memset(t->out, 0, t->outputs * sizeof *t->out);
	} else {
		const cop_row x = prepare(t, raw);
		cop_trees_predict(t->trees, &x, t->work, t->out);
	}
	for (size_t k = 0; k < t->outputs; k++)
		t->loss[k] = (float)(1.0 - t->out[k]);
}

static double value_of(trained_learner *t, const cop_row *raw)
{
	predict(t, raw);
	return t->trees == NULL ? 0.0 : cop_encoder_from_scale(t->encoder, t->out[0]);
}

/* The class of greatest probability among the eligible. */
static size_t best_of(const trained_learner *t, const uint8_t *mask)
{
	size_t best = SIZE_MAX;
	for (size_t k = 0; k < t->outputs; k++)
		if ((mask == NULL || mask[k] != 0) && (best == SIZE_MAX || t->out[k] > t->out[best]))
			best = k;
	return best == SIZE_MAX ? 0 : best;
}

static size_t choose(trained_learner *t, const cop_row *raw, const cop_candidates *c)
{
	predict(t, raw);
	size_t best = best_of(t, cop_learner_mask(c));
	memset(t->p, 0, t->outputs * sizeof *t->p);
	t->p[best] = 1.0;
	return best;
}

static cop_policy_view policy_of(const trained_learner *t, size_t best)
{
	return (cop_policy_view){ .arms = t->outputs, .best = best, .p = t->p, .loss = t->loss };
}

/* ---- the class's calls ---- */

static void observe(cop_learner *learner, const cop_row *raw, const cop_candidates *c)
{
	(void)learner;
	(void)raw;
	(void)c;
}

static void advance(cop_learner *learner) { (void)learner; }

static cop_err decide(cop_learner *learner, const cop_row *raw, const cop_candidates *c, cop_decision *out)
{
	out->arm = (uint32_t)choose((trained_learner *)learner, raw, c);
	out->greedy = true;
	return COP_OK;
}

static cop_err decide_value(cop_learner *learner, const cop_row *raw, const cop_candidates *c, cop_decision *out)
{
	(void)c;
	out->y = value_of((trained_learner *)learner, raw);
	out->probe[0] = out->y;
	return COP_OK;
}

static void probes(const cop_learner *learner, cop_decision *decision)
{
	(void)learner;
	decision->probe[0] = decision->y;
}

static cop_err learn(cop_learner *learner, const cop_row *raw, const cop_candidates *c, const cop_decision *decision,
        const double *loss)
{
	(void)learner;
	(void)raw;
	(void)c;
	(void)decision;
	(void)loss;
	return COP_OK;
}

static cop_err view(
        cop_learner *learner, const cop_row *raw, const cop_candidates *c, cop_decision *decision, cop_policy_view *out)
{
	trained_learner *t = (trained_learner *)learner;
	(void)decision;
	*out = policy_of(t, choose(t, raw, c));
	return COP_OK;
}

static cop_policy_view last_policy(cop_learner *learner) { return policy_of((trained_learner *)learner, 0); }

static double greedy(cop_learner *learner, const cop_row *raw, const cop_candidates *c)
{
	return (double)choose((trained_learner *)learner, raw, c);
}

static double greedy_value(cop_learner *learner, const cop_row *raw, const cop_candidates *c)
{
	(void)c;
	return value_of((trained_learner *)learner, raw);
}

static void explain_trees(
        trained_learner *t, const cop_row *x, size_t output, cop_explanation *e, cop_explained_expert *expert)
{
	for (size_t m = 0; m < cop_trees_count(t->trees) && m < PATHS; m++) {
		const cop_tree *tree = cop_trees_at(t->trees, m);
		if (e->tree_count == e->tree_capacity || e->node_capacity - e->node_count < cop_tree_depth(tree))
			return;
		cop_explained_tree *out = cop_explanation_tree(e, expert);
		size_t leaf = cop_explained_tree_walk(tree, x, t->path, e, out);
		cop_tree_leaf_outputs(tree, leaf, x, t->work);
		out->value = t->work[output];
	}
}

static void explain(cop_learner *learner, const cop_row *raw, const cop_candidates *c, const cop_decision *decision,
        cop_explanation *out)
{
	(void)c;
	trained_learner *t = (trained_learner *)learner;
	const bool values = learner->class->values;
	const size_t output = values ? 0 : decision->arm;
	double value = value_of(t, raw);
	cop_explained_expert *expert = cop_explanation_expert(out, "trained");
	out->prediction = values ? value : 1.0 - t->out[output];
	expert->weight = 1.0;
	expert->prediction = out->prediction;
	const cop_row x = { .d = learner->settings.features, .dense = t->x };
	if (t->trees != NULL)
		explain_trees(t, &x, output, out, expert);
}

static void paths(const cop_learner *learner, size_t *trees, size_t *nodes)
{
	const trained_learner *t = (const trained_learner *)learner;
	*trees = *nodes = 0;
	for (size_t m = 0; t->trees != NULL && m < cop_trees_count(t->trees) && m < PATHS; m++) {
		*nodes += cop_tree_depth(cop_trees_at(t->trees, m));
		++*trees;
	}
}

static size_t anatomy(const cop_learner *learner, cop_anatomy_part *parts)
{
	parts[0] = (cop_anatomy_part){ .name = "trained", .weight = 1.0, .unit = COP_ANATOMY_VALUE };
	parts[0].fitted = ((const trained_learner *)learner)->trees;
	return 1;
}

/* ---- state ---- */

void cop_learner_trained_put(const cop_encoder *encoder, const cop_trees *fitted, cop_bytes *bytes)
{
	size_t file = cop_section_file_begin(bytes);
	size_t section = cop_section_file_begin_section(bytes, COP_ENCODER_SECTION, COP_ENCODER_VERSION);
	cop_encoder_save(encoder, bytes);
	cop_section_file_end_section(bytes, section);
	cop_trees_save(fitted, bytes);
	cop_section_file_end(bytes, file);
}

static void save(const cop_learner *learner, cop_bytes *bytes)
{
	const trained_learner *t = (const trained_learner *)learner;
	cop_bytes_put_u8(bytes, t->trees != NULL);
	if (t->trees != NULL)
		cop_learner_trained_put(t->encoder, t->trees, bytes);
}

/* The encoder and, unless that is NULL, the trees. */
static cop_err read_parts(cop_cursor *cursor, cop_encoder **encoder, cop_trees **fitted)
{
	cop_cursor head = *cursor;
	cop_section_file file;
	cop_model_section section;
	(void)cop_cursor_u64(&head);
	uint64_t length = cop_cursor_u64(&head);
	if (head.err != COP_OK || length < HEADER || length > cop_cursor_left(cursor))
		return COP_EFORMAT;
	const uint8_t *data = cop_cursor_take(cursor, (size_t)length);
	cop_err err = cop_section_file_open(&file, data, (size_t)length, NULL, NULL);
	if (err == COP_OK)
		err = cop_section_file_find(&file, COP_ENCODER_SECTION, 0, COP_ENCODER_VERSION, &section);
	if (err == COP_OK)
		err = cop_encoder_load(section.data, section.length, encoder);
	if (err == COP_OK && fitted != NULL)
		err = cop_trees_load(&file, fitted);
	return err == COP_ENOTFOUND ? COP_EFORMAT : err;
}

cop_err cop_learner_trained_encoder(cop_cursor *state, cop_encoder **out)
{
	*out = NULL;
	return cop_cursor_u8(state) == 1 ? read_parts(state, out, NULL) : state->err;
}

static bool fits(const cop_learner *learner, const cop_encoder *encoder, const cop_trees *fitted)
{
	const cop_learner_settings *s = &learner->settings;
	return cop_encoder_features(encoder) == s->features && cop_trees_features(fitted) == s->features &&
	       cop_encoder_classes(encoder) == s->arms && cop_trees_outputs(fitted) == (s->arms > 0 ? s->arms : 1);
}

static cop_err make_path(const cop_trees *fitted, cop_tree_step **out)
{
	unsigned depth = 1;
	for (size_t m = 0; m < cop_trees_count(fitted); m++) {
		unsigned of_tree = cop_tree_depth(cop_trees_at(fitted, m));
		depth = of_tree > depth ? of_tree : depth;
	}
	*out = cop_mem_alloc(depth, sizeof **out);
	return *out != NULL ? COP_OK : COP_ENOMEM;
}

static cop_err load(cop_learner *learner, cop_cursor *cursor)
{
	trained_learner *t = (trained_learner *)learner;
	cop_encoder *encoder = NULL;
	cop_trees *fitted = NULL;
	cop_tree_step *path = NULL;
	uint8_t has = cop_cursor_u8(cursor);
	cop_err err = cursor->err != COP_OK ? cursor->err : has > 1 ? COP_EFORMAT : COP_OK;
	if (err == COP_OK && has == 1)
		err = read_parts(cursor, &encoder, &fitted);
	if (err == COP_OK && has == 1)
		err = fits(learner, encoder, fitted) ? make_path(fitted, &path) : COP_ESHAPE;
	if (err != COP_OK) {
		cop_encoder_free(encoder);
		cop_trees_free(fitted);
		return err;
	}
	cop_encoder_free(t->encoder);
	cop_trees_free(t->trees);
	cop_mem_free(t->path);
	t->encoder = encoder;
	t->trees = fitted;
	t->path = path;
	return COP_OK;
}

#define EITHER                                                                                                         \
	.fixed = true, .max_height = COP_LEARNER_MAX_HEIGHT, .footprint = footprint, .create = create,                 \
	.destroy = destroy, .learn = learn, .observe = observe, .advance = advance, .explain = explain,                \
	.paths = paths, .anatomy = anatomy, .save = save, .load = load

const cop_learner_class cop_learner_trained = {
	EITHER,
	.name = "trained",
	.apart = "all of it, which is as it was trained",
	.decide = decide,
	.view = view,
	.last_policy = last_policy,
	.greedy = greedy,
};

const cop_learner_class cop_learner_trained_value = {
	EITHER,
	.name = "trained_value",
	.apart = "all of it, which is as it was trained",
	.values = true,
	.probes = probes,
	.decide = decide_value,
	.greedy = greedy_value,
};
