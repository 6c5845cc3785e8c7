/* tools/train/train_fit_parts.h: what the learners of tools/train_fit share, one source each.
 *
 * A learner fits one tree to a sample, and forests call it for each of theirs; or it makes all its trees itself. */
#ifndef COP_TOOLS_TRAIN_TRAIN_FIT_PARTS_H
#define COP_TOOLS_TRAIN_TRAIN_FIT_PARTS_H

#include "base/rng.h"
#include "train/cart_ranks.h"
#include "train/tao.h"
#include "train_fit.h"

typedef struct cop_train_fitting {
	const cop_train_job *job;
	cop_train_outcome *outcome;
	const cop_progress *progress; /* NULL inside forests */
	cop_diag *diag;
	double *score; /* of the tree, by which starts are compared: the less the better; NULL inside forests */
	bool forest;
	const cop_cart_ranks *ranks; /* cart inside forests; NULL: none */
} cop_train_fitting;

typedef cop_err cop_train_one_tree(
        const cop_train_fitting *f, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out);
typedef cop_err cop_train_all_trees(const cop_train_fitting *f, const cop_sample *sample, cop_trees **out);

struct cop_train_learner {
	const char *name;
	unsigned knobs;
	cop_scaling scaling;
	cop_train_one_tree *fit;
	cop_train_all_trees *fit_all; /* instead: of rows some of which have no label; the sample is of those that do */
};

cop_train_one_tree cop_train_fit_cart, cop_train_fit_dgt, cop_train_fit_tao;
cop_train_all_trees cop_train_fit_laptao, cop_train_fit_latent, cop_train_fit_polytope;

/* COP_EINVAL, with text as the diagnostic. */
COP_CHECK cop_err cop_train_refuse(cop_diag *diag, const char *text);

/* The sample's rows in two parts, the second, a share of them, to choose by; *rows is owned by the caller. */
COP_CHECK cop_err cop_train_divide(
        const cop_sample *sample, double share, cop_rng *rng, uint32_t **rows, cop_sample *first, cop_sample *second);

/* Penalties are told for a target of variance 1: those of splits go with the loss, those of leaves, whose weights go
 * with the target, with its root. 1 for classes. */
double cop_train_target_variance(const cop_sample *sample);
/* What the knobs say of TAO, the other settings as they are in *set; `variance` as above. */
void cop_train_tao_knobs(const cop_train_fitting *f, double variance, cop_tao_settings *set);

/* The knob's value when given, else `otherwise`. */
static inline double cop_train_knob(const cop_train_fitting *f, cop_hyperparameter knob, double otherwise)
{
	return cop_hyperparameters_or(&f->job->knobs, knob, otherwise);
}

static inline unsigned cop_train_whole(const cop_train_fitting *f, cop_hyperparameter knob, unsigned otherwise)
{
	return (unsigned)cop_train_knob(f, knob, (double)otherwise);
}

#endif
