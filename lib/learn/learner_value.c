/* Continuous actions: y = 1/2 + score(x) in the scaled range [0, 1], score a linear term plus additive trees
 * (learn/additive.h). Played are y + delta u (one-point) or both y + delta and y - delta (two-point), with y kept
 * delta inside the range so that every probe is playable (delta may shrink with the losses learned: delta_at); the loss
 * is a black box. While a step would push the score further out of the range it is not taken. After a refit, y = T(x) +
 * score(x): the trees T over raw rows are the whole prediction at first, and score begins at 0 again. So trees of any
 * depth and number are taken in as they are, however low those that learn are. */
#include "learn/learner.h"

#include <math.h>
#include <string.h>

#include "bandit/estimator.h"
#include "base/mem.h"
#include "learn/additive.h"
#include "learn/refit.h"
#include "learn/standardiser.h"

#define SPLIT_RATE       0.02f
#define LEAF_RATE        0.008f
#define LINEAR_RATE      0.008f
#define BASELINE_SHARE   0.01 /* of the newest loss in the running baseline */
#define LARGEST_GRADIENT 1e15
#define REFIT_MARK       0x52000001u

typedef struct value_learner {
	cop_learner base;
	cop_standardiser *standardiser;
	cop_additive *model;
	cop_rng rng;
	double baseline;
	bool has_baseline;
	float *score;     /* one, padded */
	cop_refit *refit; /* T; NULL: the constant 1/2 */
} value_learner;

static void destroy(cop_learner *learner)
{
	value_learner *v = (value_learner *)learner;
	if (v == NULL)
		return;
	cop_standardiser_free(v->standardiser);
	cop_additive_free(v->model);
	cop_refit_free(v->refit);
	cop_mem_free(v->score);
	cop_mem_free(v);
}

static cop_err create_model(const value_learner *v, cop_additive **out)
{
	const cop_learner_settings *s = &v->base.settings;
	size_t inputs = cop_learner_dimension(s) + 1;
	float rate = (float)s->learning_rate;
	cop_additive_settings settings = {
		.kernel = cop_kernel_best(),
		.inputs = inputs,
		.sparse = s->features == 0,
		.typical = s->features == 0 ? COP_LEARNER_SPARSE_TYPICAL : inputs,
		.outputs = 1,
		.trees = s->trees,
		.height = s->height,
		.split_rate = SPLIT_RATE * rate,
		.leaf_rate = LEAF_RATE * rate,
		.linear_rate = LINEAR_RATE * rate,
	};
	cop_rng rng;
	cop_rng_init(&rng, s->seed, 2);
	return cop_additive_new(&settings, &rng, out);
}

static double footprint(const cop_learner_settings *s)
{
	const size_t d = cop_learner_dimension(s);
	const cop_additive_settings settings = {
		.inputs = d + 1, .outputs = 1, .trees = s->trees, .height = s->height
	};
	if (s->feedback == COP_VALUE_BINS)
		return cop_learner_bins.footprint(s);
	return cop_standardiser_footprint(d, s->features == 0, s->max_nonzeros) + cop_additive_footprint(&settings);
}

static cop_err create(const cop_learner_settings *settings, cop_learner **out)
{
	*out = NULL;
	if (settings->feedback == COP_VALUE_BINS)
		return cop_learner_bins.create(settings, out);
	value_learner *v = cop_mem_alloc(1, sizeof *v);
	if (v == NULL)
		return COP_ENOMEM;
	v->base.class = &cop_learner_value;
	v->base.settings = *settings;
	cop_rng_init(&v->rng, settings->seed, 1);
	v->score = cop_mem_alloc(cop_kernel_pad(1), sizeof *v->score);
	cop_err err = v->score == NULL ? COP_ENOMEM : COP_OK;
	if (err == COP_OK)
		err = cop_standardiser_new(cop_learner_dimension(settings), settings->features == 0,
		        settings->max_nonzeros, &v->standardiser);
	if (err == COP_OK && settings->known > 0)
		err = cop_standardiser_know(v->standardiser, settings->known);
	v->base.known = settings->known;
	if (err == COP_OK)
		err = create_model(v, &v->model);
	if (err != COP_OK) {
		destroy(&v->base);
		return err;
	}
	*out = &v->base;
	return COP_OK;
}

/* What the score is added to. */
static double middle_of(value_learner *v, const cop_row *raw)
{
	float value = 0.5f;
	cop_row whole = *raw;
	if (v->refit == NULL)
		return 0.5;
	if (v->base.known > 0)
		(void)cop_standardiser_fill(v->standardiser, raw, &whole);
	cop_refit_predict(v->refit, &whole, &value);
	return (double)value;
}

/* Score of a raw row, as a value; may lie outside [0, 1]. The middle should it not be finite. */
static double value_of(value_learner *v, const cop_row *raw, cop_row *x)
{
	double middle = middle_of(v, raw);
	cop_standardiser_apply(v->standardiser, raw, x);
	cop_additive_scores(v->model, x, v->score);
	return isfinite(*v->score) ? middle + (double)*v->score : middle;
}

/* Of a decision made after `rev` losses: those that wait know it by their revision. */
static double delta_at(const cop_learner_settings *s, uint64_t rev)
{
	double delta = s->delta_decay > 0.0 ? s->delta / sqrt(sqrt(1.0 + s->delta_decay * (double)rev)) : s->delta;
	return fmax(delta, s->delta_floor);
}

static void probes(const cop_learner *learner, cop_decision *decision)
{
	double delta = delta_at(&learner->settings, decision->rev);
	if (learner->settings.feedback == COP_VALUE_ONE) {
		decision->probe[0] = decision->y + delta * (double)decision->u;
		return;
	}
	decision->probe[0] = decision->y + delta;
	decision->probe[1] = decision->y - delta;
}

static void observe(cop_learner *learner, const cop_row *raw, const cop_candidates *c)
{
	(void)c;
	if (!learner->frozen)
		cop_standardiser_observe(((value_learner *)learner)->standardiser, raw);
}

static cop_err decide(cop_learner *learner, const cop_row *raw, const cop_candidates *c, cop_decision *out)
{
	(void)c;
	value_learner *v = (value_learner *)learner;
	double delta = delta_at(&learner->settings, learner->rev);
	cop_row x;
	out->y = fmin(fmax(value_of(v, raw, &x), delta), 1.0 - delta);
	if (learner->settings.feedback == COP_VALUE_ONE)
		out->u = (int8_t)cop_rng_sign(&v->rng);
	cop_learner_probes(learner, out);
	return COP_OK;
}

static double gradient(value_learner *v, const cop_decision *decision, const double *loss)
{
	const cop_learner_settings *s = &v->base.settings;
	double delta = delta_at(s, decision->rev);
	if (s->feedback == COP_VALUE_TWO)
		return cop_estimator_two_point(loss[0], loss[1], delta);
	if (!(fabs(*loss) <= 0.5 * delta * LARGEST_GRADIENT)) /* else such a baseline would refuse all that follow */
		return (double)NAN;
	double baseline = v->has_baseline ? v->baseline : *loss;
	v->baseline = baseline + BASELINE_SHARE * (*loss - baseline);
	v->has_baseline = true;
	return cop_estimator_one_point(*loss, baseline, decision->u, delta);
}

static cop_err learn(cop_learner *learner, const cop_row *raw, const cop_candidates *c, const cop_decision *decision,
        const double *loss)
{
	(void)c;
	value_learner *v = (value_learner *)learner;
	cop_row x;
	double before = v->baseline;
	bool had = v->has_baseline;
	double g = gradient(v, decision, loss);
	double value = value_of(v, raw, &x);
	if (!(fabs(g) <= LARGEST_GRADIENT) || !isfinite(*v->score)) {
		v->baseline = before;
		v->has_baseline = had;
		return COP_EDIVERGED;
	}
	if ((value < 0.0 && g > 0.0) || (value > 1.0 && g < 0.0))
		g = 0.0;
	return cop_additive_update(v->model, &x, 0, (float)g);
}

static void advance(cop_learner *learner)
{
	if (learner->settings.feedback == COP_VALUE_ONE)
		(void)cop_rng_sign(&((value_learner *)learner)->rng);
}

static double greedy(cop_learner *learner, const cop_row *raw, const cop_candidates *c)
{
	(void)c;
	cop_row x;
	return fmin(fmax(value_of((value_learner *)learner, raw, &x), 0.0), 1.0);
}

static void explain(cop_learner *learner, const cop_row *raw, const cop_candidates *c, const cop_decision *decision,
        cop_explanation *out)
{
	(void)c;
	(void)decision;
	value_learner *v = (value_learner *)learner;
	cop_row x;
	out->prediction = value_of(v, raw, &x);
	cop_explained_expert *expert = cop_explanation_expert(out, "trees");
	expert->weight = 1.0;
	expert->prediction = out->prediction;
	cop_additive_explain(v->model, &x, 0, out, expert);
	if (v->refit == NULL)
		return;
	expert = cop_explanation_expert(out, "refit");
	expert->weight = 1.0;
	expert->prediction = middle_of(v, raw);
	out->experts[0].prediction -= expert->prediction; /* the two add up */
	cop_row whole = *raw;
	if (v->base.known > 0)
		(void)cop_standardiser_fill(v->standardiser, raw, &whole);
	cop_refit_explain(v->refit, &whole, 0, out, expert);
}

static size_t anatomy(const cop_learner *learner, cop_anatomy_part *parts)
{
	const value_learner *v = (const value_learner *)learner;
	parts[0] = (cop_anatomy_part){ .name = "trees", .weight = 1.0, .unit = COP_ANATOMY_VALUE };
	parts[0].trees = cop_additive_trees(v->model);
	cop_additive_anatomy(v->model, &parts[0].linear);
	if (v->refit == NULL)
		return 1;
	parts[1] = (cop_anatomy_part){ .name = "refit", .weight = 1.0, .unit = COP_ANATOMY_VALUE, .refit = true };
	return 2;
}

static void outliers(const cop_learner *learner, cop_outliers *out)
{
	cop_standardiser_outliers(((const value_learner *)learner)->standardiser, out);
}

static void save(const cop_learner *learner, cop_bytes *bytes)
{
	const value_learner *v = (const value_learner *)learner;
	cop_bytes_put_rng(bytes, &v->rng);
	cop_bytes_put_f64(bytes, v->baseline);
	cop_bytes_put_u8(bytes, v->has_baseline);
	cop_standardiser_save(v->standardiser, bytes);
	cop_additive_save(v->model, bytes);
	if (v->refit != NULL) {
		cop_bytes_put_u32(bytes, REFIT_MARK);
		cop_refit_save(v->refit, bytes);
	}
}

/* Saved behind the rest, where there is one. */
static cop_err load_refit(value_learner *v, cop_cursor *cursor)
{
	cop_cursor ahead = *cursor;
	if (cop_cursor_u32(&ahead) != REFIT_MARK || ahead.err != COP_OK)
		return COP_OK;
	*cursor = ahead;
	cop_err err = cop_refit_empty(cop_learner_dimension(&v->base.settings), 1, &v->refit);
	if (err != COP_OK)
		return err;
	cop_refit_expect_saved(v->refit, 1, v->base.known);
	return cop_refit_load(v->refit, cursor);
}

static const cop_refit *refitted(const cop_learner *learner) { return ((const value_learner *)learner)->refit; }

static cop_err refit(cop_learner *learner, const cop_trees *trees, cop_diag *diag)
{
	value_learner *v = (value_learner *)learner;
	cop_additive *model = NULL;
	cop_refit *made;
	if (learner->settings.delta_decay > 0.0) {
		cop_diag_message(diag, "with delta_decay a learner takes in no trees: only the learner that played the "
		                       "probes has how far apart they were");
		return COP_ESHAPE;
	}
	cop_err err = cop_refit_new(trees, cop_learner_dimension(&learner->settings), 1, learner->rev + 1, &made, diag);
	if (err != COP_OK)
		return err;
	err = create_model(v, &model);
	if (err != COP_OK) {
		cop_refit_free(made);
		return err;
	}
	cop_additive_free(v->model);
	cop_refit_free(v->refit);
	v->model = model;
	v->refit = made;
	return COP_OK;
}

static cop_err load(cop_learner *learner, cop_cursor *cursor)
{
	value_learner *v = (value_learner *)learner;
	cop_cursor_rng(cursor, &v->rng);
	v->baseline = cop_cursor_f64(cursor);
	v->has_baseline = cop_cursor_u8(cursor) != 0;
	cop_err err = cop_standardiser_load(v->standardiser, cursor);
	learner->known = learner->settings.features != 0 ? cop_standardiser_known(v->standardiser) : 0;
	learner->settings.known = learner->known; /* for what is made alike */
	if (err == COP_OK)
		err = cop_additive_load(v->model, cursor);
	cop_refit_free(v->refit);
	v->refit = NULL;
	return err != COP_OK ? err : load_refit(v, cursor);
}

static size_t trees(const cop_learner *learner) { return cop_additive_trees(((const value_learner *)learner)->model); }

static cop_err tree(const cop_learner *learner, size_t m, cop_oblique_tree **out)
{
	const value_learner *v = (const value_learner *)learner;
	*out = NULL;
	return m < cop_additive_trees(v->model) ? cop_additive_tree(v->model, m, out) : COP_ENOTFOUND;
}

const cop_learner_class cop_learner_value = {
	.name = "value",
	.values = true,
	.apart = "the trees' gradient steps and the running statistics by which inputs are standardised",
	.max_height = COP_LEARNER_MAX_HEIGHT,
	.footprint = footprint,
	.create = create,
	.destroy = destroy,
	.decide = decide,
	.learn = learn,
	.observe = observe,
	.advance = advance,
	.probes = probes,
	.greedy = greedy,
	.explain = explain,
	.anatomy = anatomy,
	.outliers = outliers,
	.save = save,
	.load = load,
	.trees = trees,
	.tree = tree,
	.refit = refit,
	.refitted = refitted,
};
