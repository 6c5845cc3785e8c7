/* A learner is a row of a table (tools/train/train_fit_parts.h), one source each; cart is here. */
#include "train_fit.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "table/split.h"
#include "train/cart.h"
#include "train/forest_fit.h"
#include "train_fit_parts.h"

cop_err cop_train_refuse(cop_diag *diag, const char *text)
{
	cop_diag_message(diag, "%s", text);
	return COP_EINVAL;
}

cop_err cop_train_divide(
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

/* ---- cart ---- */

#define ADABOOST_HEIGHT 8
#define GRADIENT_HEIGHT 6

/* Trees without a limit are right on all rows at once and leave nothing to boost. */
static unsigned cart_height(const cop_train_fitting *f, unsigned any)
{
	double kind = cop_train_knob(f, COP_HYPERPARAMETER_FOREST, COP_FOREST_BAGGING);
	bool boosted = f->forest && kind != COP_FOREST_BAGGING;
	return !boosted ? any : kind == COP_FOREST_ADABOOST ? ADABOOST_HEIGHT : GRADIENT_HEIGHT;
}

/* Features that a node draws: the root of their number in bagged forests of classes (Breiman 2001), else all. */
static double cart_features(const cop_train_fitting *f, const cop_sample *sample)
{
	bool bagged = cop_train_knob(f, COP_HYPERPARAMETER_FOREST, COP_FOREST_BAGGING) == COP_FOREST_BAGGING;
	bool drawn = f->forest && bagged && sample->task == COP_TASK_CLASSES;
	return drawn ? floor(sqrt((double)sample->rows->d)) : 0.0;
}

cop_err cop_train_fit_cart(
        const cop_train_fitting *f, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_cart_settings set;
	cop_cart_defaults(&set);
	set.max_depth = cop_train_whole(f, COP_HYPERPARAMETER_HEIGHT, cart_height(f, set.max_depth));
	set.min_leaf = cop_train_knob(f, COP_HYPERPARAMETER_MIN_LEAF, set.min_leaf);
	set.features = (size_t)cop_train_knob(f, COP_HYPERPARAMETER_FEATURES, cart_features(f, sample));
	set.drawn_thresholds =
	        cop_train_knob(f, COP_HYPERPARAMETER_THRESHOLDS, COP_THRESHOLDS_ALL) > COP_THRESHOLDS_ALL;
	set.complexity = cop_train_knob(f, COP_HYPERPARAMETER_COMPLEXITY, f->forest ? 0.0 : -1.0);
	set.folds = cop_train_whole(f, COP_HYPERPARAMETER_FOLDS, set.folds);
	set.ranks = f->ranks;
	return cop_cart_fit(&set, sample, pool, rng, out);
}

/* ---- the table ---- */

static const cop_train_learner learners[] = {
	{ "cart", COP_FOR_CART | COP_FOR_FOREST, COP_SCALE_NONE, cop_train_fit_cart, NULL },
	{ "dgt", COP_FOR_DGT | COP_FOR_FOREST, COP_SCALE_STANDARD, cop_train_fit_dgt, NULL },
	{ "tao", COP_FOR_TAO | COP_FOR_FOREST, COP_SCALE_AUTO, cop_train_fit_tao, NULL },
	{ "softmax", COP_FOR_SOFTMAX, COP_SCALE_NONE, cop_train_fit_tao, NULL },
	{ "laptao", COP_FOR_LAPTAO, COP_SCALE_AUTO, NULL, cop_train_fit_laptao },
	{ "latent", COP_FOR_LATENT, COP_SCALE_STANDARD, NULL, cop_train_fit_latent },
	{ "polytope", COP_FOR_POLYTOPE, COP_SCALE_AUTO, NULL, cop_train_fit_polytope },
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
	const cop_train_fitting *f = context;
	(void)t;
	return f->job->learner->fit(f, sample, pool, rng, out);
}

static cop_err fit_members(
        cop_train_fitting *f, const cop_forest_settings *set, const cop_sample *sample, cop_trees **out)
{
	return cop_forest_fit(set, sample, fit_member, f, f->job->pool, f->job->progress, out);
}

/* Its leaves hold shares of classes, which say more than votes where they are not pure. */
static bool is_cart(const cop_train_fitting *f) { return f->job->learner->fit == cop_train_fit_cart; }

static bool wants_ranks(const cop_train_fitting *f, const cop_sample *sample)
{
	double thresholds = cop_train_knob(f, COP_HYPERPARAMETER_THRESHOLDS, COP_THRESHOLDS_ALL);
	return is_cart(f) && thresholds <= COP_THRESHOLDS_ALL && !sample->rows->sparse;
}

/* Values are sorted once, not for each tree. */
static cop_err fit_ranked(
        cop_train_fitting *f, const cop_forest_settings *set, const cop_sample *sample, cop_trees **out)
{
	cop_cart_ranks ranks;
	cop_err err = cop_cart_ranks_init(&ranks, sample->rows, sample->rows->n, NULL, f->job->pool);
	f->ranks = &ranks;
	if (err == COP_OK)
		err = fit_members(f, set, sample, out);
	f->ranks = NULL;
	cop_cart_ranks_fini(&ranks);
	return err;
}

#define SHRINKAGE 0.1
#define REACH     6.0 /* shrinkage times trees that boosted classes need at least (docs/evidence/papers.md) */
#define MOST      0.3

/* A few trees of classes go far enough only in longer steps. */
static double shrinkage_of(const cop_train_fitting *f, const cop_sample *sample)
{
	double trees = cop_train_knob(f, COP_HYPERPARAMETER_TREES, 1.0);
	return sample->task == COP_TASK_CLASSES ? fmin(fmax(REACH / trees, SHRINKAGE), MOST) : SHRINKAGE;
}

static cop_err fit_forest(cop_train_fitting *f, const cop_sample *sample, cop_trees **out)
{
	const cop_train_job *job = f->job;
	bool linear = cop_train_knob(f, COP_HYPERPARAMETER_LEAVES, 0.0) > 0.0;
	cop_forest_settings set = {
		.kind = (cop_forest_kind)cop_train_knob(f, COP_HYPERPARAMETER_FOREST, COP_FOREST_BAGGING),
		.trees = (size_t)cop_train_knob(f, COP_HYPERPARAMETER_TREES, 1.0),
		.share = cop_train_knob(f, COP_HYPERPARAMETER_SHARE, 0.9),
		.replace = cop_train_knob(f, COP_HYPERPARAMETER_REPLACE, 0.0) > 0.0,
		.vote = sample->task == COP_TASK_CLASSES && !linear && !is_cart(f),
		.shrinkage = cop_train_knob(f, COP_HYPERPARAMETER_SHRINKAGE, shrinkage_of(f, sample)),
		.seed = job->seed,
		.end = &f->outcome->end,
	};
	if (set.kind == COP_FOREST_ADABOOST && sample->task != COP_TASK_CLASSES)
		return cop_train_refuse(
		        f->diag, "--forest adaboost is for classes; expected bagging or gradient for values");
	if (job->alphas > 1)
		return cop_train_refuse(f->diag, "a list of --alpha is for one tree; expected one for a forest");
	f->forest = true;
	f->progress = NULL;
	f->score = NULL;
	return wants_ranks(f, sample) ? fit_ranked(f, &set, sample, out) : fit_members(f, &set, sample, out);
}

/* As many starts as are asked for, of which the best fitted tree is kept. */
static cop_err fit_one(cop_train_fitting *f, const cop_sample *sample, cop_trees **out)
{
	cop_tree *best = NULL;
	cop_train_outcome outcome = *f->outcome;
	double least = (double)INFINITY;
	cop_err err = COP_OK;
	for (unsigned start = 0; start < cop_train_whole(f, COP_HYPERPARAMETER_STARTS, 1) && err == COP_OK; start++) {
		cop_rng rng;
		cop_tree *tree = NULL;
		cop_rng_init(&rng, f->job->seed, start);
		err = f->job->learner->fit(f, sample, f->job->pool, &rng, &tree);
		if (err == COP_OK && (best == NULL || *f->score < least)) {
			cop_tree_free(best);
			best = tree;
			tree = NULL;
			least = *f->score;
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
	double score = 0.0;
	cop_train_fitting f = {
		.job = job, .outcome = outcome, .progress = job->progress, .diag = diag, .score = &score
	};
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
	*outcome = (cop_train_outcome){ (double)NAN, (double)NAN, (double)NAN, 0, 0, 0, COP_FOREST_WHOLE };
	diag->message[0] = '\0';
	bool forest = cop_train_knob(&f, COP_HYPERPARAMETER_TREES, 1.0) > 1.0;
	cop_err err = job->learner->fit_all != NULL ? job->learner->fit_all(&f, &sample, out)
	              : forest                      ? fit_forest(&f, &sample, out)
	                                            : fit_one(&f, &sample, out);
	if (err != COP_OK && diag->message[0] == '\0')
		cop_diag_message(diag, "%s: %s", job->learner->name, cop_err_text(err));
	return err;
}
