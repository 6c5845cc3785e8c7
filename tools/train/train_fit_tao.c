/* TAO, and softmax trees, which are TAO with softmax leaves and a start of clusters. Once, or along a path of
 * penalties; where that chooses by validation it divides the sample it is given, so a forest's trees each have their
 * own validation rows. */
#include <math.h>

#include "base/mem.h"
#include "train/cart.h"
#include "train/softmax_start.h"
#include "train_fit_parts.h"
#include "tree/tree_build.h"

#define PATH_VALIDATION 0.2
#define CLUSTERING      25 /* iterations of k-means, at most */

/* Settings of softmax trees where they differ from TAO's. */
#define SOFTMAX_CLASSES 64
#define SOFTMAX_ALPHA   1.0
#define SOFTMAX_SWEEPS  10

static cop_err tao_loss(const cop_train_fitting *f, const cop_sample *sample, cop_tao_loss *loss)
{
	static const cop_tao_loss losses[] = { COP_TAO_ZERO_ONE, COP_TAO_CROSS_ENTROPY, COP_TAO_SQUARED,
		COP_TAO_ABSOLUTE, COP_TAO_LOSSES };
	if (!f->job->knobs.given[COP_HYPERPARAMETER_LOSS])
		return COP_OK;
	*loss = losses[(size_t)f->job->knobs.value[COP_HYPERPARAMETER_LOSS]];
	bool classes = *loss == COP_TAO_ZERO_ONE || *loss == COP_TAO_CROSS_ENTROPY;
	if (*loss != COP_TAO_LOSSES && classes == (sample->task == COP_TASK_CLASSES))
		return COP_OK;
	return cop_train_refuse(
	        f->diag, "--loss: tao takes zero-one or cross-entropy for classes, squared or absolute for values");
}

double cop_train_target_variance(const cop_sample *sample)
{
	double sum = 0.0;
	double squares = 0.0;
	for (size_t i = 0; i < sample->n && sample->task == COP_TASK_VALUES; i++) {
		double target = (double)sample->target[cop_sample_row(sample, i)];
		sum += target;
		squares += target * target;
	}
	double mean = sum / (double)sample->n;
	double variance = squares / (double)sample->n - mean * mean;
	return variance > 0.0 ? variance : 1.0;
}

void cop_train_tao_knobs(const cop_train_fitting *f, double variance, cop_tao_settings *set)
{
	set->depth = cop_train_whole(f, COP_HYPERPARAMETER_HEIGHT, set->depth);
	set->leaves = (cop_tao_leaves)cop_train_knob(f, COP_HYPERPARAMETER_LEAVES, (double)set->leaves);
	set->split = (cop_tao_split)cop_train_knob(f, COP_HYPERPARAMETER_SPLIT, (double)set->split);
	set->order = (cop_tao_order)cop_train_knob(f, COP_HYPERPARAMETER_ORDER, (double)set->order);
	set->alpha = variance * cop_train_knob(f, COP_HYPERPARAMETER_ALPHA, set->alpha);
	set->leaf_alpha = sqrt(variance) * cop_train_knob(f, COP_HYPERPARAMETER_LEAF_ALPHA, set->leaf_alpha);
	set->leaf_classes = (size_t)cop_train_knob(f, COP_HYPERPARAMETER_LEAF_CLASSES, (double)set->leaf_classes);
	set->missing = cop_train_knob(f, COP_HYPERPARAMETER_BETA, set->missing);
	set->iterations = cop_train_whole(f, COP_HYPERPARAMETER_ITERATIONS, set->iterations);
	set->tolerance = cop_train_knob(f, COP_HYPERPARAMETER_TOLERANCE, set->tolerance);
	set->node_tolerance = cop_train_knob(f, COP_HYPERPARAMETER_NODE_TOLERANCE, set->node_tolerance);
	set->node_steps = cop_train_whole(f, COP_HYPERPARAMETER_NODE_STEPS, set->node_steps);
	set->monotone = cop_train_knob(f, COP_HYPERPARAMETER_MONOTONE, set->monotone) > 0.0;
	set->prune = cop_train_knob(f, COP_HYPERPARAMETER_KEEP_DEAD, set->prune ? 0.0 : 1.0) <= 0.0;
}

static bool is_softmax(const cop_train_fitting *f)
{
	return (cop_train_learner_for(f->job->learner) & COP_FOR_SOFTMAX) != 0;
}

static cop_err take_settings(const cop_train_fitting *f, const cop_sample *sample, cop_tao_settings *set)
{
	cop_tao_defaults(sample->task, set);
	if (is_softmax(f)) {
		set->leaves = COP_TAO_LINEAR;
		set->loss = COP_TAO_CROSS_ENTROPY;
		set->leaf_classes = SOFTMAX_CLASSES;
		set->alpha = SOFTMAX_ALPHA;
		set->leaf_alpha = SOFTMAX_ALPHA;
		set->iterations = SOFTMAX_SWEEPS;
	}
	cop_train_tao_knobs(f, cop_train_target_variance(sample), set);
	if (cop_train_knob(f, COP_HYPERPARAMETER_PLAIN, 0.0) > 0.0)
		set->iterations = 0; /* a lone leaf is fitted at once */
	if (is_softmax(f) && sample->task != COP_TASK_CLASSES)
		return cop_train_refuse(f->diag, "softmax is for classes; expected --task classification");
	return tao_loss(f, sample, &set->loss);
}

/* A lone leaf of equal shares. */
static cop_err plain_start(const cop_sample *sample, cop_tree **out)
{
	cop_tree_build *build = NULL;
	float *share = cop_mem_alloc(sample->outputs, sizeof *share);
	cop_tree_link link = sample->task == COP_TASK_CLASSES ? COP_TREE_PROBABILITIES : COP_TREE_VALUES;
	cop_err err = share != NULL ? cop_tree_build_new(sample->rows->d, sample->outputs, link, &build) : COP_ENOMEM;
	for (size_t k = 0; k < sample->outputs && err == COP_OK; k++)
		share[k] = 1.0F / (float)sample->outputs;
	if (err == COP_OK)
		err = cop_tree_build_finish(build, cop_tree_build_constant(build, share), out);
	cop_tree_build_free(build);
	cop_mem_free(share);
	return err;
}

static cop_err clustered_start(const cop_train_fitting *f, const cop_sample *sample, cop_softmax_start_points points,
        cop_rng *rng, cop_tree **out)
{
	cop_tao_settings tao;
	cop_err err = take_settings(f, sample, &tao);
	const cop_softmax_start_settings set = { .points = points,
		.height = tao.depth,
		.iterations = CLUSTERING,
		.alpha = tao.alpha,
		.node_tolerance = tao.node_tolerance,
		.node_steps = tao.node_steps };
	if (err != COP_OK)
		return err;
	if (sample->task != COP_TASK_CLASSES)
		return cop_train_refuse(
		        f->diag, "--start: clusters are for classes; expected random or cart for values");
	if (set.height > COP_SOFTMAX_START_MAX_HEIGHT)
		return cop_train_refuse(f->diag, "--height: a start of clusters is at most 12 high");
	return cop_softmax_start_grow(&set, sample, rng, out);
}

static cop_err cart_start(
        const cop_train_fitting *f, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_cart_settings set;
	cop_cart_defaults(&set);
	set.max_depth = cop_train_whole(f, COP_HYPERPARAMETER_HEIGHT, set.max_depth);
	set.complexity = cop_train_knob(f, COP_HYPERPARAMETER_START, COP_START_CART) > COP_START_CART ? -1.0 : 0.0;
	return cop_cart_fit(&set, sample, pool, rng, out);
}

/* The start of these settings: a CART tree, or NULL for a random one. */
static cop_err tao_start(
        const cop_train_fitting *f, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	double start = cop_train_knob(
	        f, COP_HYPERPARAMETER_START, is_softmax(f) ? (double)COP_START_CLASSES : (double)COP_START_RANDOM);
	*out = NULL;
	if (f->job->start != NULL)
		return COP_OK;
	if (cop_train_knob(f, COP_HYPERPARAMETER_PLAIN, 0.0) > 0.0)
		return plain_start(sample, out);
	if (start < COP_START_CART)
		return COP_OK;
	if (start < COP_START_ROWS)
		return cart_start(f, sample, pool, rng, out);
	return clustered_start(
	        f, sample, start < COP_START_CLASSES ? COP_SOFTMAX_START_ROWS : COP_SOFTMAX_START_CLASSES, rng, out);
}

static cop_err tao_once(const cop_train_fitting *f, const cop_tao_settings *set, const cop_sample *sample,
        const cop_tree *start, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_tao_report report = { 0 };
	cop_err err = cop_tao_fit(set, sample, start, pool, rng, f->progress, &report, out);
	if (err == COP_OK && !f->forest)
		*f->score = f->outcome->objective = report.objective;
	cop_mem_free(report.history);
	return err;
}

/* Error of a tree on a sample's rows: share of wrong classes, or mean squared error. */
static double loss_of(const cop_tree *tree, const cop_sample *sample, float *out)
{
	double sum = 0.0;
	for (size_t i = 0; i < sample->n; i++) {
		size_t at = cop_sample_row(sample, i);
		cop_row row;
		cop_dataset_row(sample->rows, at, &row);
		if (sample->task == COP_TASK_CLASSES) {
			sum += cop_tree_class(tree, &row) != sample->label[at];
			continue;
		}
		(void)cop_tree_predict(tree, &row, out);
		double miss = (double)(out[0] - sample->target[at]);
		sum += miss * miss;
	}
	return sum / (double)sample->n;
}

/* From the greatest alpha down to the one at `last`, each from the tree before it. judge: the place of the alpha whose
 * tree loses least on it into *best; NULL: the last tree into *out. */
static cop_err tao_path(const cop_train_fitting *f, cop_tao_settings *set, const cop_sample *sample,
        const cop_sample *judge, size_t last, cop_pool *pool, cop_rng *rng, size_t *best, cop_tree **out)
{
	cop_tree *tree = NULL;
	double least = (double)INFINITY;
	double variance = cop_train_target_variance(sample);
	float *outputs = cop_mem_alloc(sample->outputs, sizeof *outputs);
	cop_err err = outputs != NULL ? tao_start(f, sample, pool, rng, &tree) : COP_ENOMEM;
	for (size_t i = 0; i <= last && err == COP_OK; i++) {
		cop_tree *next = NULL;
		set->alpha = variance * f->job->alpha[i];
		err = tao_once(f, set, sample, tree != NULL ? tree : f->job->start, pool, rng, &next);
		cop_tree_free(tree);
		tree = next;
		if (err != COP_OK || judge == NULL)
			continue;
		double loss = loss_of(tree, judge, outputs);
		if (loss < least) {
			least = loss;
			*best = i;
		}
	}
	if (err == COP_OK && judge == NULL)
		*out = tree;
	else
		cop_tree_free(tree);
	cop_mem_free(outputs);
	return err;
}

static cop_err tao_along_path(const cop_train_fitting *f, cop_tao_settings *set, const cop_sample *sample,
        cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_sample fitted;
	cop_sample judge;
	uint32_t *rows = NULL;
	size_t best = 0;
	double share = f->job->validation < 0.0 ? PATH_VALIDATION : f->job->validation;
	bool prune = set->prune;
	set->prune = false; /* a warm start wants every node */
	cop_rng again = *rng;
	cop_err err = cop_train_divide(sample, share, rng, &rows, &fitted, &judge);
	if (err == COP_OK)
		err = tao_path(f, set, &fitted, &judge, f->job->alphas - 1, pool, rng, &best, NULL);
	cop_tree *tree = NULL;
	if (err == COP_OK)
		err = tao_path(f, set, sample, NULL, best, pool, &again, NULL, &tree);
	if (err == COP_OK && prune) { /* nothing is fitted any more */
		set->prune = true;
		set->iterations = 0;
		err = tao_once(f, set, sample, tree, pool, rng, out);
	} else if (err == COP_OK) {
		*out = tree;
		tree = NULL;
	}
	f->outcome->alpha = f->job->alpha[best];
	cop_tree_free(tree);
	cop_mem_free(rows);
	return err;
}

/* From random splits, all leaves may have the same majority, and then every row loses the same on both
 * sides: with rare classes, for example. CART's splits separate classes. */
static cop_err once_more(const cop_train_fitting *f, const cop_tao_settings *set, const cop_sample *sample,
        cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_tree *start = NULL;
	cop_tree_free(*out);
	*out = NULL;
	cop_err err = cart_start(f, sample, pool, rng, &start);
	if (err == COP_OK)
		err = tao_once(f, set, sample, start, pool, rng, out);
	cop_tree_free(start);
	return err;
}

cop_err cop_train_fit_tao(
        const cop_train_fitting *f, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_tao_settings set;
	cop_err err = take_settings(f, sample, &set);
	if (err != COP_OK)
		return err;
	if (f->job->alphas > 1)
		return tao_along_path(f, &set, sample, pool, rng, out);
	cop_tree *start = NULL;
	err = tao_start(f, sample, pool, rng, &start);
	if (err == COP_OK)
		err = tao_once(f, &set, sample, start != NULL ? start : f->job->start, pool, rng, out);
	bool chosen = f->job->start != NULL || f->job->knobs.given[COP_HYPERPARAMETER_START] || is_softmax(f) ||
	              f->job->knobs.given[COP_HYPERPARAMETER_PLAIN];
	if (err == COP_OK && !chosen && cop_tree_leaves(*out) == 1)
		err = once_more(f, &set, sample, pool, rng, out);
	cop_tree_free(start);
	return err;
}
