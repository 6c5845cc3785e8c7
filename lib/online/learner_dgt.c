/* DGT-Bandit for arms (Karthikeyan et al., Algorithm 1, classification, L = 1): one oblique tree of height h, leaf
 * values theta in R^arms, predicted loss of arm k = 1 - sigmoid(theta_{leaf,k} + c). c is the one shared leaf bias that
 * the authors' program has; `literal` leaves it out. Gradient eq. (8) on the played arm, dense gradients for the splits
 * (train/dgt.h), RMSprop on the mean gradient of every ACCUMULATE events.
 * Splits are a feature-major block of D x n, node t a column. Only rows with a gradient are stepped: all of them when
 * dense, the present features when sparse; of theta the played arms. */
#include "online/learner.h"

#include <math.h>
#include <string.h>

#include "bandit/estimator.h"
#include "base/mem.h"
#include "online/explorer.h"
#include "online/standardiser.h"
#include "optim/optim.h"
#include "train/dgt.h"

#define ACCUMULATE       4
#define DEFAULT_HEIGHT   6
#define DEFAULT_RATE     1e-3
#define DEFAULT_EPSILON  0.3
#define DEFAULT_GAMMA    30.0
#define LARGEST_GRADIENT 1e15 /* beyond it, squares could overflow in a step that other events share */

typedef struct touched {
	uint32_t *row; /* distinct */
	size_t count;
	uint8_t *marked;
} touched;

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
	cop_optim *w_optim, *theta_optim, *bias_optim;
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

static void destroy(cop_learner *learner)
{
	dgt_learner *g = (dgt_learner *)learner;
	if (g == NULL)
		return;
	cop_standardiser_free(g->standardiser);
	cop_optim_free(g->w_optim);
	cop_optim_free(g->theta_optim);
	cop_optim_free(g->bias_optim);
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

static void fill_defaults(cop_learner_settings *s)
{
	if (s->policy[0] == '\0')
		strcpy(s->policy, "epsilon");
	if (s->exploration.epsilon < 0.0)
		s->exploration.epsilon = DEFAULT_EPSILON;
	if (s->exploration.gamma <= 0.0)
		s->exploration.gamma = DEFAULT_GAMMA;
	if (s->height == 0)
		s->height = DEFAULT_HEIGHT;
	if (s->learning_rate == 0.0)
		s->learning_rate = DEFAULT_RATE;
	s->trees = 1;
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

static cop_err create_optimisers(dgt_learner *g)
{
	cop_optim_settings settings;
	cop_err err = cop_optim_defaults("rmsprop", &settings);
	settings.lr = g->base.settings.learning_rate;
	settings.momentum = 0.0;
	settings.alpha = 0.99;
	settings.eps = 1e-5;
	if (err == COP_OK)
		err = cop_optim_new("rmsprop", &settings, g->inputs, g->n, &g->w_optim);
	if (err == COP_OK)
		err = cop_optim_new("rmsprop", &settings, g->base.settings.arms, g->leaves, &g->theta_optim);
	if (err == COP_OK)
		err = cop_optim_new("rmsprop", &settings, 1, 1, &g->bias_optim);
	return err;
}

static float uniform(cop_rng *rng, double bound) { return (float)((2.0 * cop_rng_unit(rng) - 1.0) * bound); }

/* W uniform in +-1/sqrt(fan in) with thresholds 0, Theta and c uniform in +-2^(-h/2), as the authors' program. */
static void start(dgt_learner *g)
{
	const cop_learner_settings *s = &g->base.settings;
	cop_rng rng;
	cop_rng_init(&rng, s->seed, 2);
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
	fill_defaults(&g->base.settings);
	g->kernel = cop_kernel_best();
	g->agree = cop_dgt_agree(1.0);
	g->estimator = cop_estimator_find("squared_ips");
	g->inputs = cop_learner_dimension(settings) + 1;
	g->leaves = (size_t)1 << g->base.settings.height;
	g->n = cop_kernel_pad(g->leaves);
	cop_err err = allocate(g) ? create_optimisers(g) : COP_ENOMEM;
	if (err == COP_OK)
		err = cop_explorer_init(&g->explorer, &g->base.settings);
	if (err == COP_OK)
		err = cop_standardiser_new(
		        g->inputs - 1, settings->features == 0, settings->max_nonzeros, &g->standardiser);
	if (err != COP_OK) {
		destroy(&g->base);
		return err;
	}
	start(g);
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

static cop_err decide(cop_learner *learner, const cop_row *raw, const uint8_t *mask, cop_decision *out)
{
	dgt_learner *g = (dgt_learner *)learner;
	cop_standardiser_observe(g->standardiser, raw);
	predict(g, raw);
	cop_err err = cop_explorer_choose(&g->explorer, &learner->settings.exploration, g->loss, mask, out);
	if (err != COP_OK)
		return err;
	return COP_OK;
}

static cop_err view(
        cop_learner *learner, const cop_row *raw, const uint8_t *mask, cop_decision *decision, cop_policy_view *out)
{
	dgt_learner *g = (dgt_learner *)learner;
	(void)decision;
	predict(g, raw);
	return cop_explorer_view(&g->explorer, &learner->settings.exploration, g->loss, mask, out);
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
	cop_err err = cop_optim_step_rows(g->w_optim, g->w, g->w_gradient, in->row, in->count);
	if (err == COP_OK)
		err = cop_optim_step_rows(
		        g->theta_optim, g->theta, g->theta_gradient, g->arms_touched.row, g->arms_touched.count);
	if (err == COP_OK && !g->base.settings.literal)
		err = cop_optim_step(g->bias_optim, &g->bias, &g->bias_gradient);
	untouch(in, g->w_gradient, g->n);
	untouch(&g->arms_touched, g->theta_gradient, g->leaves);
	g->bias_gradient = 0.0f;
	g->accumulated = 0;
	return err;
}

static cop_err learn(cop_learner *learner, const cop_row *raw, const cop_decision *decision, const double *loss)
{
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

static void observe(cop_learner *learner, const cop_row *raw)
{
	cop_standardiser_observe(((dgt_learner *)learner)->standardiser, raw);
}

static void advance(cop_learner *learner) { cop_explorer_advance(&((dgt_learner *)learner)->explorer); }

static double greedy(cop_learner *learner, const cop_row *raw, const uint8_t *mask)
{
	dgt_learner *g = (dgt_learner *)learner;
	predict(g, raw);
	return (double)cop_explorer_best(&g->explorer, g->loss, mask);
}

static void explain(cop_learner *learner, const cop_row *raw, const cop_decision *decision, cop_explanation *out)
{
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

/* Accumulated gradients are part of the state: a checkpoint may fall between two steps. */
static void save(const cop_learner *learner, cop_bytes *bytes)
{
	const dgt_learner *g = (const dgt_learner *)learner;
	cop_explorer_save(&g->explorer, bytes);
	cop_standardiser_save(g->standardiser, bytes);
	cop_bytes_put_f32s(bytes, g->w, g->inputs * g->n);
	cop_bytes_put_f32s(bytes, g->theta, learner->settings.arms * g->leaves);
	cop_bytes_put_f32(bytes, g->bias);
	cop_optim_save(g->w_optim, bytes);
	cop_optim_save(g->theta_optim, bytes);
	cop_optim_save(g->bias_optim, bytes);
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

static cop_err load_touched(touched *t, size_t rows, float *gradient, size_t columns, cop_cursor *cursor)
{
	uint64_t count = cop_cursor_u64(cursor);
	for (uint64_t i = 0; i < count; i++) {
		uint32_t row = cop_cursor_u32(cursor);
		if (cursor->err != COP_OK)
			return cursor->err;
		if (row >= rows || t->marked[row])
			return COP_EFORMAT;
		touch(t, row);
		cop_cursor_f32s(cursor, gradient + row * columns, columns);
	}
	return cursor->err;
}

static cop_err load_gradients(dgt_learner *g, cop_cursor *cursor)
{
	untouch(&g->inputs_touched, g->w_gradient, g->n);
	untouch(&g->arms_touched, g->theta_gradient, g->leaves);
	g->accumulated = cop_cursor_u32(cursor);
	g->bias_gradient = cop_cursor_f32(cursor);
	if (cursor->err == COP_OK && g->accumulated >= ACCUMULATE)
		return COP_EFORMAT;
	cop_err err = load_touched(&g->inputs_touched, g->inputs, g->w_gradient, g->n, cursor);
	if (err != COP_OK)
		return err;
	return load_touched(&g->arms_touched, g->base.settings.arms, g->theta_gradient, g->leaves, cursor);
}

static cop_err load(cop_learner *learner, cop_cursor *cursor)
{
	dgt_learner *g = (dgt_learner *)learner;
	cop_explorer_load(&g->explorer, cursor);
	cop_err err = cop_standardiser_load(g->standardiser, cursor);
	if (err != COP_OK)
		return err;
	cop_cursor_f32s(cursor, g->w, g->inputs * g->n);
	cop_cursor_f32s(cursor, g->theta, learner->settings.arms * g->leaves);
	g->bias = cop_cursor_f32(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	cop_optim *const optimisers[] = { g->w_optim, g->theta_optim, g->bias_optim };
	for (size_t i = 0; i < 3; i++) {
		err = cop_optim_load(optimisers[i], cursor);
		if (err != COP_OK)
			return err;
	}
	return load_gradients(g, cursor);
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

const cop_learner_class cop_learner_dgt = {
	.name = "dgt",
	.values = false,
	.predictions = 0,
	.create = create,
	.destroy = destroy,
	.decide = decide,
	.learn = learn,
	.view = view,
	.observe = observe,
	.advance = advance,
	.greedy = greedy,
	.explain = explain,
	.save = save,
	.load = load,
	.trees = trees,
	.tree = tree,
};
