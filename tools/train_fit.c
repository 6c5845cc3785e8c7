/* A learner is a row of a table: it fits one tree to a sample; forests call it for each of theirs. Learners that choose
 * by validation divide the sample they are given, so a forest's trees each have their own validation rows. */
#include "train_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/split.h"
#include "linalg/blas.h"
#include "train/cart.h"
#include "train/dgt_fit.h"
#include "train/forest_fit.h"
#include "train/tao.h"
#include "trained_score.h"

#define PATH_VALIDATION 0.2

typedef struct fit {
	const cop_train_job *job;
	cop_train_outcome *outcome;
	const cop_progress *progress; /* NULL inside forests */
	cop_diag *diag;
	double *score; /* of the tree, by which starts are compared: the less the better; NULL inside forests */
	bool forest;
} fit;

typedef cop_err one_tree(const fit *f, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out);

struct cop_train_learner {
	const char *name;
	unsigned knobs;
	cop_scaling scaling;
	one_tree *fit;
};

static cop_err refuse(cop_diag *diag, const char *text)
{
	cop_diag_set(diag, "", 0, 0, "%s", text);
	return COP_EINVAL;
}

static double knob_or(const fit *f, cop_knob knob, double otherwise)
{
	return cop_knob_or(&f->job->knobs, knob, otherwise);
}

static unsigned whole_or(const fit *f, cop_knob knob, unsigned otherwise)
{
	return (unsigned)knob_or(f, knob, (double)otherwise);
}

/* ---- samples ---- */

/* The sample's rows in two parts, the second to choose by; *rows is owned by the caller. */
static cop_err divide(
        const cop_sample *sample, double share, cop_rng *rng, uint32_t **rows, cop_sample *first, cop_sample *second)
{
	size_t from = 0;
	*first = *second = *sample;
	*rows = cop_mem_alloc(sample->n, sizeof **rows);
	if (*rows == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < sample->n; i++)
		(*rows)[i] = (uint32_t)cop_sample_row(sample, i);
	cop_err err = cop_split_two(rng, sample->n, *rows, sample->label, share, &from);
	first->row = *rows;
	first->n = from;
	second->row = *rows + from;
	second->n = sample->n - from;
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

/* ---- cart ---- */

static cop_err fit_cart(const fit *f, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_cart_settings set;
	cop_cart_defaults(&set);
	set.max_depth = whole_or(f, COP_KNOB_HEIGHT, set.max_depth);
	set.min_leaf = knob_or(f, COP_KNOB_MIN_LEAF, set.min_leaf);
	set.features = (size_t)knob_or(f, COP_KNOB_FEATURES, (double)set.features);
	set.complexity = knob_or(f, COP_KNOB_COMPLEXITY, f->forest ? 0.0 : -1.0);
	set.folds = whole_or(f, COP_KNOB_FOLDS, set.folds);
	return cop_cart_fit(&set, sample, pool, rng, out);
}

/* ---- tao ---- */

static cop_err tao_loss(const fit *f, const cop_sample *sample, cop_tao_loss *loss)
{
	static const cop_tao_loss losses[] = { COP_TAO_ZERO_ONE, COP_TAO_CROSS_ENTROPY, COP_TAO_SQUARED,
		COP_TAO_ABSOLUTE, COP_TAO_LOSSES };
	if (!f->job->knobs.given[COP_KNOB_LOSS])
		return COP_OK;
	*loss = losses[(size_t)f->job->knobs.value[COP_KNOB_LOSS]];
	bool classes = *loss == COP_TAO_ZERO_ONE || *loss == COP_TAO_CROSS_ENTROPY;
	if (*loss != COP_TAO_LOSSES && classes == (sample->task == COP_TASK_CLASSES))
		return COP_OK;
	return refuse(
	        f->diag, "--loss: tao takes zero-one or cross-entropy for classes, squared or absolute for values");
}

/* Penalties are told for a target of variance 1: those of splits go with the loss, those of leaves, whose weights go
 * with the target, with its root. 1 for classes. */
static double target_variance(const cop_sample *sample)
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

static cop_err tao_settings(const fit *f, const cop_sample *sample, cop_tao_settings *set)
{
	double variance = target_variance(sample);
	cop_tao_defaults(sample->task, set);
	set->depth = whole_or(f, COP_KNOB_HEIGHT, set->depth);
	set->leaves = (cop_tao_leaves)knob_or(f, COP_KNOB_LEAVES, (double)set->leaves);
	set->split = (cop_tao_split)knob_or(f, COP_KNOB_SPLIT, (double)set->split);
	set->order = (cop_tao_order)knob_or(f, COP_KNOB_ORDER, (double)set->order);
	set->alpha = variance * knob_or(f, COP_KNOB_ALPHA, set->alpha);
	set->leaf_alpha = sqrt(variance) * knob_or(f, COP_KNOB_LEAF_ALPHA, set->leaf_alpha);
	set->leaf_classes = (size_t)knob_or(f, COP_KNOB_LEAF_CLASSES, (double)set->leaf_classes);
	set->iterations = whole_or(f, COP_KNOB_ITERATIONS, set->iterations);
	set->tolerance = knob_or(f, COP_KNOB_TOLERANCE, set->tolerance);
	set->node_tolerance = knob_or(f, COP_KNOB_NODE_TOLERANCE, set->node_tolerance);
	set->node_steps = whole_or(f, COP_KNOB_NODE_STEPS, set->node_steps);
	set->monotone = knob_or(f, COP_KNOB_MONOTONE, set->monotone) > 0.0;
	set->prune = knob_or(f, COP_KNOB_KEEP_DEAD, set->prune ? 0.0 : 1.0) <= 0.0;
	return tao_loss(f, sample, &set->loss);
}

static cop_err cart_start(const fit *f, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_cart_settings set;
	cop_cart_defaults(&set);
	set.max_depth = whole_or(f, COP_KNOB_HEIGHT, set.max_depth);
	set.complexity = 0.0;
	return cop_cart_fit(&set, sample, pool, rng, out);
}

/* The start that the knob asks for: a CART tree, or NULL for a random one. */
static cop_err tao_start(const fit *f, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	*out = NULL;
	if (f->job->start != NULL || knob_or(f, COP_KNOB_START, COP_START_RANDOM) < COP_START_CART)
		return COP_OK;
	return cart_start(f, sample, pool, rng, out);
}

static cop_err tao_once(const fit *f, const cop_tao_settings *set, const cop_sample *sample, const cop_tree *start,
        cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_tao_report report = { 0 };
	cop_err err = cop_tao_fit(set, sample, start, pool, rng, f->progress, &report, out);
	if (err == COP_OK && !f->forest)
		*f->score = f->outcome->objective = report.objective;
	cop_mem_free(report.history);
	return err;
}

/* From the greatest alpha down to the one at `last`, each from the tree before it. judge: the place of the alpha whose
 * tree loses least on it into *best; NULL: the last tree into *out. */
static cop_err tao_path(const fit *f, cop_tao_settings *set, const cop_sample *sample, const cop_sample *judge,
        size_t last, cop_pool *pool, cop_rng *rng, size_t *best, cop_tree **out)
{
	cop_tree *tree = NULL;
	double least = (double)INFINITY;
	double variance = target_variance(sample);
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

static cop_err tao_along_path(
        const fit *f, cop_tao_settings *set, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_sample fitted;
	cop_sample judge;
	uint32_t *rows = NULL;
	size_t best = 0;
	double share = f->job->validation < 0.0 ? PATH_VALIDATION : f->job->validation;
	bool prune = set->prune;
	set->prune = false; /* a warm start wants every node */
	cop_rng again = *rng;
	cop_err err = divide(sample, share, rng, &rows, &fitted, &judge);
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

/* From random splits, all leaves may have the same majority, and then no row cares where it goes: of rare classes, say.
 * CART's splits tell classes apart. */
static cop_err once_more(const fit *f, const cop_tao_settings *set, const cop_sample *sample, cop_pool *pool,
        cop_rng *rng, cop_tree **out)
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

static cop_err fit_tao(const fit *f, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_tao_settings set;
	cop_err err = tao_settings(f, sample, &set);
	if (err != COP_OK)
		return err;
	if (f->job->alphas > 1)
		return tao_along_path(f, &set, sample, pool, rng, out);
	cop_tree *start = NULL;
	err = tao_start(f, sample, pool, rng, &start);
	if (err == COP_OK)
		err = tao_once(f, &set, sample, start != NULL ? start : f->job->start, pool, rng, out);
	bool chosen = f->job->start != NULL || f->job->knobs.given[COP_KNOB_START];
	if (err == COP_OK && !chosen && cop_tree_leaves(*out) == 1)
		err = once_more(f, &set, sample, pool, rng, out);
	cop_tree_free(start);
	return err;
}

/* ---- dgt ---- */

static const char *const optimisers[] = { "sgd", "momentum", "rmsprop", "adagrad", "adam" };

static cop_err dgt_settings(const fit *f, const cop_sample *sample, cop_dgt_fit_settings *set)
{
	cop_dgt_fit_defaults(sample->task, set);
	set->height = whole_or(f, COP_KNOB_HEIGHT, set->height);
	set->layers = whole_or(f, COP_KNOB_LAYERS, set->layers);
	set->width = (size_t)knob_or(f, COP_KNOB_WIDTH, (double)set->width);
	set->gradients = (cop_dgt_gradients)knob_or(f, COP_KNOB_GRADIENTS, (double)set->gradients);
	set->huber = knob_or(f, COP_KNOB_HUBER, set->huber);
	set->batch = (size_t)knob_or(f, COP_KNOB_BATCH, (double)set->batch);
	set->epochs = whole_or(f, COP_KNOB_EPOCHS, set->epochs);
	set->patience = whole_or(f, COP_KNOB_PATIENCE, set->patience);
	if (f->job->knobs.given[COP_KNOB_OPTIMISER])
		set->optimiser = optimisers[(size_t)f->job->knobs.value[COP_KNOB_OPTIMISER]];
	set->lr = knob_or(f, COP_KNOB_LR, set->lr);
	set->minimum_lr = knob_or(f, COP_KNOB_MINIMUM_LR, fmin(set->minimum_lr, set->lr));
	set->momentum = knob_or(f, COP_KNOB_MOMENTUM, set->momentum);
	set->restarts = whole_or(f, COP_KNOB_RESTARTS, set->restarts);
	set->clip = knob_or(f, COP_KNOB_CLIP, set->clip);
	set->l1 = knob_or(f, COP_KNOB_L1, f->job->knobs.given[COP_KNOB_L2] ? 0.0 : set->l1);
	set->l2 = knob_or(f, COP_KNOB_L2, f->job->knobs.given[COP_KNOB_L1] ? 0.0 : set->l2);
	set->regularise_one = set->regularise_one || f->forest || f->job->knobs.given[COP_KNOB_L1] ||
	                      f->job->knobs.given[COP_KNOB_L2];
	set->shared_bias = knob_or(f, COP_KNOB_SHARED_BIAS, 1.0) > 0.0;
	set->product_paths = knob_or(f, COP_KNOB_PRODUCT_PATHS, set->product_paths) > 0.0;
	set->anneal = knob_or(f, COP_KNOB_ANNEAL, set->anneal) > 0.0;
	bool paper = set->product_paths || set->anneal; /* ablations are of the paper's own form */
	set->scaled_quantiser = knob_or(f, COP_KNOB_SCALED_QUANTISER, paper ? 0.0 : 1.0) > 0.0;
	set->anneal_first = knob_or(f, COP_KNOB_ANNEAL_FIRST, set->anneal_first);
	set->anneal_last = knob_or(f, COP_KNOB_ANNEAL_LAST, set->anneal_last);
	if (!f->job->knobs.given[COP_KNOB_LOSS])
		return COP_OK;
	static const cop_dgt_loss losses[] = { COP_DGT_LOSSES, COP_DGT_CROSS_ENTROPY, COP_DGT_SQUARED, COP_DGT_LOSSES,
		COP_DGT_HUBER };
	set->loss = losses[(size_t)f->job->knobs.value[COP_KNOB_LOSS]];
	if (set->loss != COP_DGT_LOSSES && (set->loss == COP_DGT_CROSS_ENTROPY) == (sample->task == COP_TASK_CLASSES))
		return COP_OK;
	return refuse(f->diag, "--loss: dgt takes cross-entropy for classes, squared or huber for values");
}

/* Products with a thin side are slower on several threads than on one. */
static int blas_threads(const fit *f, const cop_dgt_fit_settings *set, const cop_sample *sample)
{
	const size_t least_side = 128;
	size_t nodes = ((size_t)1 << set->height) - 1;
	return nodes < least_side || sample->rows->d < least_side ? 1 : (int)cop_pool_threads(f->job->pool);
}

static cop_err fit_dgt(const fit *f, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_dgt_fit_settings set;
	cop_dgt_fit_report report;
	cop_sample fitted = *sample;
	cop_sample judge = *sample;
	uint32_t *rows = NULL;
	double share = fmax(f->job->validation, 0.0);
	cop_err err = dgt_settings(f, sample, &set);
	if (err == COP_OK && share > 0.0)
		err = divide(sample, share, rng, &rows, &fitted, &judge);
	cop_blas_threads(f->forest && pool == NULL ? 1 : blas_threads(f, &set, sample));
	if (err == COP_OK) /* none held back: the epoch is chosen by the rows that are fitted */
		err = cop_dgt_fit(&set, &fitted, &judge, rng, f->progress, &report, out);
	if (err == COP_OK && !f->forest)
		*f->score = report.validation_loss;
	cop_mem_free(rows);
	return err;
}

/* ---- the table ---- */

static const cop_train_learner learners[] = {
	{ "cart", COP_FOR_CART | COP_FOR_FOREST, COP_SCALE_NONE, fit_cart },
	{ "dgt", COP_FOR_DGT | COP_FOR_FOREST, COP_SCALE_STANDARD, fit_dgt },
	{ "tao", COP_FOR_TAO | COP_FOR_FOREST, COP_SCALE_AUTO, fit_tao },
};

const cop_train_learner *cop_train_learner_find(const char *name)
{
	for (size_t i = 0; i < sizeof learners / sizeof *learners; i++)
		if (strcmp(learners[i].name, name) == 0)
			return &learners[i];
	return NULL;
}

const char *cop_train_learner_name(const cop_train_learner *learner) { return learner->name; }
unsigned cop_train_learner_for(const cop_train_learner *learner) { return learner->knobs; }
cop_scaling cop_train_learner_scaling(const cop_train_learner *learner) { return learner->scaling; }

/* ---- one tree, or many ---- */

static cop_err fit_member(
        void *context, size_t t, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	const fit *f = context;
	(void)t;
	return f->job->learner->fit(f, sample, pool, rng, out);
}

static cop_err fit_forest(fit *f, const cop_sample *sample, cop_trees **out)
{
	const cop_train_job *job = f->job;
	bool linear = knob_or(f, COP_KNOB_LEAVES, 0.0) > 0.0;
	cop_forest_settings set = {
		.kind = (cop_forest_kind)knob_or(f, COP_KNOB_FOREST, COP_FOREST_BAGGING),
		.trees = (size_t)knob_or(f, COP_KNOB_TREES, 1.0),
		.share = knob_or(f, COP_KNOB_SHARE, 0.9),
		.replace = knob_or(f, COP_KNOB_REPLACE, 0.0) > 0.0,
		.vote = sample->task == COP_TASK_CLASSES && !linear,
		.shrinkage = knob_or(f, COP_KNOB_SHRINKAGE, 0.1),
		.seed = job->seed,
	};
	if (set.kind == COP_FOREST_ADABOOST && sample->task != COP_TASK_CLASSES)
		return refuse(f->diag, "--forest adaboost is for classes; expected bagging or gradient for values");
	if (set.kind == COP_FOREST_GRADIENT && sample->task != COP_TASK_VALUES)
		return refuse(f->diag, "--forest gradient is for values; expected bagging or adaboost for classes");
	if (job->alphas > 1)
		return refuse(f->diag, "a list of --alpha is for one tree; expected one for a forest");
	f->forest = true;
	f->progress = NULL;
	return cop_forest_fit(&set, sample, fit_member, f, job->pool, job->progress, out);
}

/* As many starts as are asked for, of which the best fitted tree is kept. */
static cop_err fit_one(fit *f, const cop_sample *sample, cop_trees **out)
{
	cop_tree *best = NULL;
	cop_train_outcome outcome = *f->outcome;
	double least = (double)INFINITY, score = 0.0;
	cop_err err = COP_OK;
	f->score = &score;
	for (unsigned start = 0; start < whole_or(f, COP_KNOB_STARTS, 1) && err == COP_OK; start++) {
		cop_rng rng;
		cop_tree *tree = NULL;
		cop_rng_init(&rng, f->job->seed, start);
		err = f->job->learner->fit(f, sample, f->job->pool, &rng, &tree);
		if (err == COP_OK && (best == NULL || score < least)) {
			cop_tree_free(best);
			best = tree;
			tree = NULL;
			least = score;
			outcome = *f->outcome;
		}
		cop_tree_free(tree);
	}
	*f->outcome = outcome;
	if (err == COP_OK)
		err = cop_trees_new(COP_TREES_MEAN, 1, &best, NULL, NULL, out);
	cop_tree_free(best);
	return err;
}

cop_err cop_train_fit(const cop_train_job *job, cop_trees **out, cop_train_outcome *outcome, cop_diag *diag)
{
	bool classes = job->rows->classes > 0;
	fit f = { .job = job, .outcome = outcome, .progress = job->progress, .diag = diag };
	const cop_sample sample = {
		.rows = job->rows->data,
		.n = job->n,
		.row = job->row,
		.task = classes ? COP_TASK_CLASSES : COP_TASK_VALUES,
		.outputs = classes ? job->rows->classes : 1,
		.label = job->rows->label,
		.target = job->rows->target,
	};
	*out = NULL;
	*outcome = (cop_train_outcome){ (double)NAN, (double)NAN };
	diag->message[0] = '\0';
	bool forest = knob_or(&f, COP_KNOB_TREES, 1.0) > 1.0;
	cop_err err = forest ? fit_forest(&f, &sample, out) : fit_one(&f, &sample, out);
	if (err != COP_OK && diag->message[0] == '\0')
		cop_diag_set(diag, "", 0, 0, "%s: %s", job->learner->name, cop_err_text(err));
	return err;
}
