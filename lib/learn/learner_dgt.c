/* DGT-Bandit for arms (Karthikeyan et al., Algorithm 1, classification, L = 1): one oblique tree of height h, leaf
 * values theta in R^arms, predicted loss of arm k = 1 - sigmoid(theta_{leaf,k} + c). c is the one shared leaf bias that
 * the authors' program has; `literal` leaves it out. Gradient eq. (8) on the played arm, dense gradients for the splits
 * (tree/dgt.h), RMSprop on the mean gradient of every ACCUMULATE events.
 * Splits are a feature-major block of D x n, node t a column. Only rows with a gradient are stepped: all of them when
 * dense, the present features when sparse; of theta the played arms. */
#include "learn/learner.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "bandit/estimator.h"
#include "base/mem.h"
#include "learn/explorer.h"
#include "learn/grown_inputs.h"
#include "learn/refit.h"
#include "learn/standardiser.h"
#include "optim/optim.h"
#include "tree/dgt.h"

#define ACCUMULATE       4
#define SEED_START       2
#define LARGEST_GRADIENT 1e15 /* beyond it, squares could overflow in a step that other events share */

typedef struct touched {
	uint32_t *row; /* distinct */
	size_t count;
	uint8_t *marked;
} touched;

_Static_assert(COP_LEARNER_MAX_HEIGHT <= COP_DGT_MAX_HEIGHT, "dgt.h's trees are lower");

enum { W, THETA, BIAS, BLOCKS };

typedef struct dgt_learner {
	cop_learner base;
	const cop_kernel *kernel;
	float agree; /* share of a node's mass that goes the way of its sign */
	cop_explorer explorer;
	const cop_estimator *estimator;
	cop_standardiser *standardiser;
	size_t inputs, leaves, n;
	float *w, *w_gradient;         /* D x n */
	float *theta, *theta_gradient; /* arms x leaves */
	float bias, bias_gradient;
	cop_optim *optim[BLOCKS]; /* of w, theta, bias */
	touched inputs_touched, arms_touched;
	uint32_t accumulated; /* events since the last step */
	float *a, *da, *work; /* n */
	float *loss;          /* arms */
	cop_row x;            /* last row walked, standardised: a view of the standardiser's */
	uint32_t leaf;        /* that it reached */
} dgt_learner;

static void free_touched(touched *t)
{
	cop_mem_free(t->row);
	cop_mem_free(t->marked);
}

static void free_optimisers(cop_optim *const optim[BLOCKS])
{
	for (size_t i = 0; i < BLOCKS; i++)
		cop_optim_free(optim[i]);
}

static void destroy(cop_learner *learner)
{
	dgt_learner *g = (dgt_learner *)learner;
	if (g == NULL)
		return;
	cop_standardiser_free(g->standardiser);
	free_optimisers(g->optim);
	free_touched(&g->inputs_touched);
	free_touched(&g->arms_touched);
	cop_mem_free(g->w);
	cop_mem_free(g->w_gradient);
	cop_mem_free(g->theta);
	cop_mem_free(g->theta_gradient);
	cop_mem_free(g->a);
	cop_mem_free(g->da);
	cop_mem_free(g->work);
	cop_mem_free(g->loss);
	cop_explorer_fini(&g->explorer);
	cop_mem_free(g);
}

static bool allocate_touched(touched *t, size_t rows)
{
	t->row = cop_mem_alloc(rows, sizeof *t->row);
	t->marked = cop_mem_alloc(rows, sizeof *t->marked);
	return t->row != NULL && t->marked != NULL;
}

static bool allocate(dgt_learner *g)
{
	size_t arms = g->base.settings.arms;
	g->w = cop_mem_alloc(g->inputs * g->n, sizeof(float));
	g->w_gradient = cop_mem_alloc(g->inputs * g->n, sizeof(float));
	g->theta = cop_mem_alloc(arms * g->leaves, sizeof(float));
	g->theta_gradient = cop_mem_alloc(arms * g->leaves, sizeof(float));
	g->a = cop_mem_alloc(g->n, sizeof(float));
	g->da = cop_mem_alloc(g->n, sizeof(float));
	g->work = cop_mem_alloc(cop_dgt_work(g->base.settings.height, 1), sizeof(float));
	g->loss = cop_mem_alloc(arms, sizeof(float));
	return g->w != NULL && g->w_gradient != NULL && g->theta != NULL && g->theta_gradient != NULL && g->a != NULL &&
	       g->da != NULL && g->work != NULL && g->loss != NULL && allocate_touched(&g->inputs_touched, g->inputs) &&
	       allocate_touched(&g->arms_touched, arms);
}

/* Of splits, leaf values and the bias; on error none. */
static cop_err create_optimisers(const dgt_learner *g, cop_optim *out[BLOCKS])
{
	cop_optim_settings settings;
	cop_err err = cop_optim_defaults("rmsprop", &settings);
	settings.lr = g->base.settings.learning_rate;
	settings.momentum = 0.0;
	settings.alpha = 0.99;
	settings.eps = 1e-5;
	if (err == COP_OK)
		err = cop_optim_new("rmsprop", &settings, g->inputs, g->n, &out[W]);
	if (err == COP_OK)
		err = cop_optim_new("rmsprop", &settings, g->base.settings.arms, g->leaves, &out[THETA]);
	if (err == COP_OK)
		err = cop_optim_new("rmsprop", &settings, 1, 1, &out[BIAS]);
	if (err != COP_OK) {
		free_optimisers(out);
		memset(out, 0, BLOCKS * sizeof *out);
	}
	return err;
}

/* Splits and leaf values, each with its gradient and RMSprop's mean square; the optimisers' and accumulators' lists of
 * rows. */
static double footprint(const cop_learner_settings *s)
{
	const size_t d = cop_learner_dimension(s);
	double inputs = (double)(d + 1), leaves = (double)((size_t)1 << s->height);
	double splits = inputs * (double)cop_kernel_pad((size_t)leaves);
	double rows = inputs + (double)s->arms;
	return cop_standardiser_footprint(d, s->features == 0, s->max_nonzeros) +
	       3.0 * sizeof(float) * (splits + (double)s->arms * leaves) +
	       rows * (sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint8_t));
}

static float uniform(cop_rng *rng, double bound) { return (float)((2.0 * cop_rng_unit(rng) - 1.0) * bound); }

/* W uniform in +-1/sqrt(fan in) with thresholds 0, Theta and c uniform in +-2^(-h/2), as the authors' program. */
static void start(dgt_learner *g, uint64_t stream)
{
	const cop_learner_settings *s = &g->base.settings;
	cop_rng rng;
	cop_rng_init(&rng, s->seed, stream);
	double fan_in = s->features != 0 ? (double)s->features : (double)COP_LEARNER_SPARSE_TYPICAL;
	for (size_t j = 0; j + 1 < g->inputs; j++)
		for (size_t t = 0; t + 1 < g->leaves; t++)
			g->w[j * g->n + t] = uniform(&rng, 1.0 / sqrt(fan_in));
	double bound = pow(2.0, -0.5 * (double)s->height);
	for (size_t i = 0; i < s->arms * g->leaves; i++)
		g->theta[i] = uniform(&rng, bound);
	if (!s->literal)
		g->bias = uniform(&rng, bound);
}

static cop_err create(const cop_learner_settings *settings, cop_learner **out)
{
	*out = NULL;
	dgt_learner *g = cop_mem_alloc(1, sizeof *g);
	if (g == NULL)
		return COP_ENOMEM;
	g->base.class = &cop_learner_dgt;
	g->base.settings = *settings;
	g->kernel = cop_kernel_best();
	g->agree = cop_dgt_agree(1.0);
	g->estimator = cop_estimator_find("squared_ips");
	g->inputs = cop_learner_dimension(settings) + 1;
	g->leaves = (size_t)1 << g->base.settings.height;
	g->n = cop_kernel_pad(g->leaves);
	cop_err err = allocate(g) ? create_optimisers(g, g->optim) : COP_ENOMEM;
	if (err == COP_OK)
		err = cop_explorer_init(&g->explorer, &g->base.settings);
	if (err == COP_OK)
		err = cop_standardiser_new(
		        g->inputs - 1, settings->features == 0, settings->max_nonzeros, &g->standardiser);
	if (err == COP_OK && settings->known > 0)
		err = cop_standardiser_know(g->standardiser, settings->known);
	g->base.known = settings->known;
	if (err != COP_OK) {
		destroy(&g->base);
		return err;
	}
	start(g, SEED_START);
	*out = &g->base;
	return COP_OK;
}

/* The row standardised, margins of all nodes, and the leaf. */
static void walk(dgt_learner *g, const cop_row *raw)
{
	cop_standardiser_apply(g->standardiser, raw, &g->x);
	memset(g->a, 0, g->n * sizeof *g->a);
	cop_kernel_forward_row(g->kernel, &g->x, g->n, g->w, g->a);
	cop_dgt_leaves(g->base.settings.height, 1, g->a, &g->leaf);
}

static void predict(dgt_learner *g, const cop_row *raw)
{
	walk(g, raw);
	const float *theta = g->theta + g->leaf;
	for (size_t k = 0; k < g->base.settings.arms; k++)
		g->loss[k] = (float)(1.0 - cop_estimator_sigmoid((double)theta[k * g->leaves] + (double)g->bias));
}

static void observe(cop_learner *learner, const cop_row *raw, const cop_candidates *c)
{
	(void)c;
	if (!learner->frozen)
		cop_standardiser_observe(((dgt_learner *)learner)->standardiser, raw);
}

static cop_err decide(cop_learner *learner, const cop_row *raw, const cop_candidates *c, cop_decision *out)
{
	dgt_learner *g = (dgt_learner *)learner;
	predict(g, raw);
	return cop_explorer_choose(&g->explorer, &learner->settings.exploration, g->loss, cop_learner_mask(c), out);
}

static cop_err view(
        cop_learner *learner, const cop_row *raw, const cop_candidates *c, cop_decision *decision, cop_policy_view *out)
{
	dgt_learner *g = (dgt_learner *)learner;
	(void)decision;
	predict(g, raw);
	return cop_explorer_view(&g->explorer, &learner->settings.exploration, g->loss, cop_learner_mask(c), out);
}

static cop_err view_as(
        cop_learner *learner, const cop_policy_other *other, const cop_candidates *c, cop_policy_view *out)
{
	const dgt_learner *g = (const dgt_learner *)learner;
	return cop_explorer_view_as(&g->explorer, other, g->loss, cop_learner_mask(c), out);
}

static cop_policy_view last_policy(cop_learner *learner)
{
	const dgt_learner *g = (const dgt_learner *)learner;
	return cop_explorer_last(&g->explorer, g->loss);
}

static void touch(touched *t, uint32_t row)
{
	if (t->marked[row])
		return;
	t->marked[row] = 1;
	t->row[t->count++] = row;
}

static void untouch(touched *t, float *gradient, size_t columns)
{
	for (size_t i = 0; i < t->count; i++) {
		t->marked[t->row[i]] = 0;
		memset(gradient + t->row[i] * columns, 0, columns * sizeof *gradient);
	}
	t->count = 0;
}

static cop_err step_all(dgt_learner *g)
{
	touched *in = &g->inputs_touched;
	cop_err err = cop_optim_step_rows(g->optim[W], g->w, g->w_gradient, in->row, in->count);
	if (err == COP_OK)
		err = cop_optim_step_rows(
		        g->optim[THETA], g->theta, g->theta_gradient, g->arms_touched.row, g->arms_touched.count);
	if (err == COP_OK && !g->base.settings.literal)
		err = cop_optim_step(g->optim[BIAS], &g->bias, &g->bias_gradient);
	untouch(in, g->w_gradient, g->n);
	untouch(&g->arms_touched, g->theta_gradient, g->leaves);
	g->bias_gradient = 0.0f;
	g->accumulated = 0;
	return err;
}

static cop_err learn(cop_learner *learner, const cop_row *raw, const cop_candidates *c, const cop_decision *decision,
        const double *loss)
{
	(void)c;
	dgt_learner *g = (dgt_learner *)learner;
	if (!learner->followed)
		walk(g, raw);
	float *theta = g->theta + decision->arm * g->leaves;
	double score = (double)theta[g->leaf] + (double)g->bias;
	double estimate = g->estimator->gradient(score, *loss, decision->p) / ACCUMULATE;
	if (!(fabs(estimate) <= LARGEST_GRADIENT))
		return COP_EDIVERGED;
	float gradient = (float)estimate;
	g->kernel->tree_backward(learner->settings.height, g->agree, g->a, theta, g->work, g->da);
	for (size_t t = 0; t + 1 < g->leaves; t++)
		g->da[t] *= gradient;
	cop_kernel_rank1_row(g->kernel, &g->x, g->n, g->da, g->w_gradient);
	g->theta_gradient[decision->arm * g->leaves + g->leaf] += gradient;
	g->bias_gradient += gradient;
	for (size_t i = 0; i < cop_row_entries(&g->x) && g->inputs_touched.count < g->inputs; i++)
		touch(&g->inputs_touched, (uint32_t)cop_row_index(&g->x, i));
	touch(&g->arms_touched, decision->arm);
	return ++g->accumulated < ACCUMULATE ? COP_OK : step_all(g);
}

static void advance(cop_learner *learner) { cop_explorer_advance(&((dgt_learner *)learner)->explorer); }

static double greedy(cop_learner *learner, const cop_row *raw, const cop_candidates *c)
{
	dgt_learner *g = (dgt_learner *)learner;
	predict(g, raw);
	return (double)cop_explorer_best(&g->explorer, g->loss, cop_learner_mask(c));
}

static void explain(cop_learner *learner, const cop_row *raw, const cop_candidates *c, const cop_decision *decision,
        cop_explanation *out)
{
	(void)c;
	dgt_learner *g = (dgt_learner *)learner;
	if (!learner->followed)
		predict(g, raw);
	cop_explained_expert *expert = cop_explanation_expert(out, "dgt");
	out->prediction = (double)g->loss[decision->arm];
	expert->weight = 1.0;
	expert->prediction = out->prediction;
	expert->linear = (double)g->bias;
	cop_explained_tree *tree = cop_explanation_tree(out, expert);
	cop_explanation_path(out, tree, &g->x, g->a, 1, g->w, g->n, learner->settings.height);
	tree->value = g->theta[decision->arm * g->leaves + tree->leaf];
}

static size_t anatomy(const cop_learner *learner, cop_anatomy_part *parts)
{
	(void)learner;
	parts[0] = (cop_anatomy_part){ .name = "dgt", .weight = 1.0, .unit = COP_ANATOMY_LOGIT, .trees = 1 };
	return 1;
}

static void outliers(const cop_learner *learner, cop_outliers *out)
{
	cop_standardiser_outliers(((const dgt_learner *)learner)->standardiser, out);
}

/* Accumulated gradients are part of the state: a checkpoint may fall between two steps. */
static void save(const cop_learner *learner, cop_bytes *bytes)
{
	const dgt_learner *g = (const dgt_learner *)learner;
	cop_explorer_save(&g->explorer, bytes);
	cop_standardiser_save(g->standardiser, bytes);
	cop_bytes_put_f32s(bytes, g->w, g->inputs * g->n);
	cop_bytes_put_f32s(bytes, g->theta, learner->settings.arms * g->leaves);
	cop_bytes_put_f32(bytes, g->bias);
	for (size_t i = 0; i < BLOCKS; i++)
		cop_optim_save(g->optim[i], bytes);
	cop_bytes_put_u32(bytes, g->accumulated);
	cop_bytes_put_f32(bytes, g->bias_gradient);
	cop_bytes_put_u64(bytes, g->inputs_touched.count);
	for (size_t i = 0; i < g->inputs_touched.count; i++) {
		cop_bytes_put_u32(bytes, g->inputs_touched.row[i]);
		cop_bytes_put_f32s(bytes, g->w_gradient + g->inputs_touched.row[i] * g->n, g->n);
	}
	cop_bytes_put_u64(bytes, g->arms_touched.count);
	for (size_t i = 0; i < g->arms_touched.count; i++) {
		cop_bytes_put_u32(bytes, g->arms_touched.row[i]);
		cop_bytes_put_f32s(bytes, g->theta_gradient + g->arms_touched.row[i] * g->leaves, g->leaves);
	}
}

/* saved: rows of the saved state; constant: the last of them is the last one here. */
static cop_err load_touched(
        touched *t, size_t rows, size_t saved, bool constant, float *gradient, size_t columns, cop_cursor *cursor)
{
	uint64_t count = cop_cursor_u64(cursor);
	for (uint64_t i = 0; i < count; i++) {
		uint32_t row = cop_cursor_u32(cursor);
		if (cursor->err != COP_OK)
			return cursor->err;
		if (row >= saved)
			return COP_EFORMAT;
		row = constant ? (uint32_t)cop_grown_inputs_place(row, saved, rows) : row;
		if (t->marked[row])
			return COP_EFORMAT;
		touch(t, row);
		cop_cursor_f32s(cursor, gradient + row * columns, columns);
	}
	return cursor->err;
}

static cop_err load_gradients(dgt_learner *g, size_t inputs, cop_cursor *cursor)
{
	untouch(&g->inputs_touched, g->w_gradient, g->n);
	untouch(&g->arms_touched, g->theta_gradient, g->leaves);
	g->accumulated = cop_cursor_u32(cursor);
	g->bias_gradient = cop_cursor_f32(cursor);
	if (cursor->err == COP_OK && g->accumulated >= ACCUMULATE)
		return COP_EFORMAT;
	cop_err err = load_touched(&g->inputs_touched, g->inputs, inputs, true, g->w_gradient, g->n, cursor);
	if (err != COP_OK)
		return err;
	const size_t arms = g->base.settings.arms;
	return load_touched(&g->arms_touched, arms, g->base.saved_arms, false, g->theta_gradient, g->leaves, cursor);
}

/* inputs: of the saved state; splits of further ones stay as they were drawn. */
static cop_err load_weights(dgt_learner *g, size_t inputs, cop_cursor *cursor)
{
	for (size_t j = 0; j < inputs; j++)
		cop_cursor_f32s(cursor, g->w + cop_grown_inputs_place(j, inputs, g->inputs) * g->n, g->n);
	cop_cursor_f32s(cursor, g->theta, g->base.saved_arms * g->leaves);
	g->bias = cop_cursor_f32(cursor);
	cop_err err = cursor->err;
	for (size_t i = 0; i < BLOCKS && err == COP_OK; i++)
		err = cop_optim_load(g->optim[i], i == W ? 1 : 0, cursor);
	return err;
}

static cop_err load(cop_learner *learner, cop_cursor *cursor)
{
	dgt_learner *g = (dgt_learner *)learner;
	const bool dense = learner->settings.features != 0;
	const size_t inputs = dense ? learner->saved_features + 1 : g->inputs;
	cop_explorer_load(&g->explorer, cursor);
	cop_err err = cop_standardiser_load(g->standardiser, cursor);
	if (err != COP_OK)
		return err;
	learner->known = dense ? cop_standardiser_known(g->standardiser) : 0;
	learner->settings.known = learner->known; /* for what is made alike */
	err = load_weights(g, inputs, cursor);
	return err == COP_OK ? load_gradients(g, inputs, cursor) : err;
}

static cop_err make_room(cop_learner *learner, const cop_learner *from)
{
	const dgt_learner *g = (const dgt_learner *)learner, *other = (const dgt_learner *)from;
	return g->inputs == other->inputs && g->leaves == other->leaves ? COP_OK : COP_ESHAPE;
}

static void inherit(cop_learner *learner, cop_learner *from)
{
	dgt_learner *g = (dgt_learner *)learner, *other = (dgt_learner *)from;
	const size_t values = from->settings.arms * g->leaves;
	cop_explorer_inherit(&g->explorer, &other->explorer);
	cop_mem_exchange(&g->standardiser, &other->standardiser, sizeof g->standardiser);
	cop_mem_exchange(&g->w, &other->w, sizeof g->w);
	cop_mem_exchange(&g->w_gradient, &other->w_gradient, sizeof g->w_gradient);
	cop_mem_exchange(&g->inputs_touched, &other->inputs_touched, sizeof g->inputs_touched);
	cop_mem_exchange(&g->optim[W], &other->optim[W], sizeof g->optim[W]);
	cop_mem_exchange(&g->optim[BIAS], &other->optim[BIAS], sizeof g->optim[BIAS]);
	cop_optim_inherit(g->optim[THETA], other->optim[THETA]);
	memcpy(g->theta, other->theta, values * sizeof *g->theta);
	memcpy(g->theta_gradient, other->theta_gradient, values * sizeof *g->theta_gradient);
	for (size_t i = 0; i < other->arms_touched.count; i++)
		touch(&g->arms_touched, other->arms_touched.row[i]);
	g->bias = other->bias;
	g->bias_gradient = other->bias_gradient;
	g->accumulated = other->accumulated;
}

static size_t trees(const cop_learner *learner)
{
	(void)learner;
	return 1;
}

static cop_err tree(const cop_learner *learner, size_t m, cop_oblique_tree **out)
{
	const dgt_learner *g = (const dgt_learner *)learner;
	(void)m;
	cop_err err = cop_oblique_tree_new(g->inputs - 1, learner->settings.height, learner->settings.arms, out);
	if (err != COP_OK)
		return err;
	for (size_t t = 0; t + 1 < g->leaves; t++) {
		float *weights = cop_oblique_tree_weights(*out, t);
		for (size_t j = 0; j + 1 < g->inputs; j++)
			weights[j] = g->w[j * g->n + t];
		*cop_oblique_tree_bias(*out, t) = g->w[(g->inputs - 1) * g->n + t];
	}
	for (size_t l = 0; l < g->leaves; l++)
		for (size_t k = 0; k < learner->settings.arms; k++)
			cop_oblique_tree_values(*out, l)[k] = g->theta[k * g->leaves + l] + g->bias;
	return COP_OK;
}

/* ---- refits ---- */

#define LEAST_LOSS 0.01 /* of a leaf that is taken in, and 1 - it: logits stay where a gradient can move them */
#define WIDE       8.0  /* a median of |a| beyond this factor from 1 is scaled */
#define QUARTILE   0.6744897501960817 /* of the normal distribution */
#define SEED_REFIT 3

/* Node t: the split of a node of the tree, in standardised inputs, as the statistics are now. Where no statistics say
 * otherwise the fit's scale stays: it should be such that |a| has a median of about 1 over the rows that come here, so
 * that the window |a| <= 1 is open for half of them. The standardiser tells a rough median as well, of normal and
 * independent inputs; a scale far off that cannot be meant, and is set by it. Scaling by a power of two keeps every
 * sign. Returns false when the node has no finite form. */
static bool take_node(dgt_learner *g, const cop_tree_vectors *nodes, size_t from, size_t t)
{
	size_t constant = g->inputs - 1;
	double bias = (double)nodes->bias[from], squares = 0.0;
	for (size_t i = nodes->start[from]; i < nodes->start[from + 1]; i++) {
		double shift, scale, w = (double)nodes->weight[i];
		cop_standardiser_way(g->standardiser, nodes->index[i], &shift, &scale);
		bias += w * shift;
		squares += scale > 0.0 ? w / scale * (w / scale) : 0.0;
	}
	double middle = fmax(QUARTILE * sqrt(squares), fabs(bias));
	double factor = middle > WIDE || (middle > 0.0 && middle < 1.0 / WIDE) ? exp2(-round(log2(middle))) : 1.0;
	if (!(fabs(bias * factor) <= (double)FLT_MAX) || !(squares * factor * factor <= (double)FLT_MAX))
		return false;
	for (size_t i = nodes->start[from]; i < nodes->start[from + 1]; i++) {
		double shift, scale;
		cop_standardiser_way(g->standardiser, nodes->index[i], &shift, &scale);
		double w = scale > 0.0 ? (double)nodes->weight[i] / scale * factor : 0.0;
		g->w[nodes->index[i] * g->n + t] = (float)w;
	}
	g->w[constant * g->n + t] = (float)(bias * factor);
	return true;
}

/* The tree from node `from` (or leaf, if negative) on becomes what is below node t; below a leaf, splits stay random
 * and leaves alike. */
static bool take_below(dgt_learner *g, const cop_trees *trees, int32_t from, size_t t)
{
	const cop_tree *tree = cop_trees_at(trees, 0);
	const cop_tree_parts *parts = cop_tree_view(tree);
	if (t + 1 < g->leaves) {
		if (from >= 0) {
			for (size_t j = 0; j < g->inputs; j++)
				g->w[j * g->n + t] = 0.0f;
			if (!take_node(g, &parts->nodes, (size_t)from, t))
				return false;
		}
		return take_below(g, trees, from < 0 ? from : parts->left[from], 2 * t + 1) &&
		       take_below(g, trees, from < 0 ? from : parts->right[from], 2 * t + 2);
	}
	bool sum = cop_trees_how(trees) == COP_TREES_SUM;
	cop_tree_leaf_outputs(tree, (size_t)~from, NULL, g->loss);
	for (size_t k = 0; k < g->base.settings.arms; k++) {
		double loss = (double)g->loss[k];
		if (sum)
			loss = cop_trees_base(trees)[k] + cop_trees_weight(trees, 0) * loss;
		loss = fmin(fmax(loss, LEAST_LOSS), 1.0 - LEAST_LOSS);
		g->theta[k * g->leaves + t + 1 - g->leaves] = (float)log((1.0 - loss) / loss);
	}
	return true;
}

static cop_err check_tree(const dgt_learner *g, const cop_trees *trees, cop_diag *diag)
{
	cop_err err = cop_refit_check(trees, g->inputs - 1, g->base.settings.arms, diag);
	if (err != COP_OK)
		return err;
	const cop_tree *tree = cop_trees_at(trees, 0);
	unsigned height = g->base.settings.height;
	if (cop_trees_outputs(trees) != g->base.settings.arms)
		cop_diag_message(diag, "learner dgt takes a tree of its %zu arms, not of %zu", g->base.settings.arms,
		        cop_trees_outputs(trees));
	else if (cop_trees_count(trees) != 1)
		cop_diag_message(diag, "learner dgt takes one tree, not %zu", cop_trees_count(trees));
	else if (cop_tree_facets(tree) > 0)
		cop_diag_message(diag, "learner dgt takes a tree with linear splits, not polytopes");
	else if (!cop_tree_constant_leaves(tree))
		cop_diag_message(diag, "learner dgt takes a tree with constant leaves, not linear ones");
	else if (cop_tree_depth(tree) > height)
		cop_diag_message(diag, "the tree is %u deep; the learner's height is %u", cop_tree_depth(tree), height);
	else
		return COP_OK;
	return COP_ESHAPE;
}

static void swap(float **a, float **b)
{
	float *before = *a;
	*a = *b;
	*b = before;
}

/* In place of the learner's, in the blocks given, which then have the old ones; on error all is as before. */
static cop_err take_tree(dgt_learner *g, const cop_trees *trees, float **w, float **theta)
{
	size_t nodes = cop_tree_view(cop_trees_at(trees, 0))->nodes.count;
	float bias = g->bias;
	swap(&g->w, w);
	swap(&g->theta, theta);
	start(g, SEED_REFIT + g->base.rev);
	g->bias = 0.0f;
	if (take_below(g, trees, nodes == 0 ? ~0 : 0, 0))
		return COP_OK;
	swap(&g->w, w);
	swap(&g->theta, theta);
	g->bias = bias;
	return COP_ENONFINITE;
}

static void forget_gradients(dgt_learner *g)
{
	untouch(&g->inputs_touched, g->w_gradient, g->n);
	untouch(&g->arms_touched, g->theta_gradient, g->leaves);
	g->bias_gradient = 0.0f;
	g->accumulated = 0;
}

static cop_err refit(cop_learner *learner, const cop_trees *trees, cop_diag *diag)
{
	dgt_learner *g = (dgt_learner *)learner;
	cop_err err = check_tree(g, trees, diag);
	if (err != COP_OK)
		return err;
	cop_optim *optim[BLOCKS] = { NULL };
	float *w = cop_mem_alloc(g->inputs * g->n, sizeof *w);
	float *theta = cop_mem_alloc(learner->settings.arms * g->leaves, sizeof *theta);
	err = w != NULL && theta != NULL ? create_optimisers(g, optim) : COP_ENOMEM;
	if (err == COP_OK)
		err = take_tree(g, trees, &w, &theta);
	if (err == COP_ENONFINITE)
		cop_diag_message(diag, "a split of the tree is too large in standardised features");
	cop_mem_free(w);
	cop_mem_free(theta);
	if (err != COP_OK) {
		free_optimisers(optim);
		return err;
	}
	free_optimisers(g->optim);
	memcpy(g->optim, optim, sizeof optim);
	forget_gradients(g);
	return COP_OK;
}

const cop_learner_class cop_learner_dgt = {
	.name = "dgt",
	.one_tree = true,
	.apart = "the tree's gradient steps, their mean squares and the running statistics by which inputs are "
	         "standardised",
	.max_height = COP_LEARNER_MAX_HEIGHT,
	.footprint = footprint,
	.create = create,
	.destroy = destroy,
	.decide = decide,
	.learn = learn,
	.view = view,
	.view_as = view_as,
	.last_policy = last_policy,
	.observe = observe,
	.advance = advance,
	.greedy = greedy,
	.explain = explain,
	.anatomy = anatomy,
	.outliers = outliers,
	.save = save,
	.load = load,
	.make_room = make_room,
	.inherit = inherit,
	.trees = trees,
	.tree = tree,
	.refit = refit,
};
