/* Latent trees; the rows that choose the epoch are divided from the sample. */
#include <math.h>

#include "base/mem.h"
#include "linalg/blas.h"
#include "train/latent_fit.h"
#include "train_fit_parts.h"

#define VALIDATION 0.2 /* share of the rows, where none is given */

static void take_settings(const cop_train_fitting *f, cop_latent_settings *set)
{
	cop_latent_fit_defaults(set);
	set->depth = cop_train_whole(f, COP_HYPERPARAMETER_HEIGHT, set->depth);
	set->lambda = cop_train_knob(f, COP_HYPERPARAMETER_LAMBDA, set->lambda);
	set->elu = cop_train_knob(f, COP_HYPERPARAMETER_ELU, 0.0) > 0.0;
	set->layers = cop_train_whole(f, COP_HYPERPARAMETER_LAYERS, set->layers);
	const unsigned width = cop_train_whole(f, COP_HYPERPARAMETER_WIDTH, 0);
	set->width = width > 0 ? width : set->width;
	set->dropout = cop_train_knob(f, COP_HYPERPARAMETER_DROPOUT, set->dropout);
	set->batch = cop_train_whole(f, COP_HYPERPARAMETER_BATCH, (unsigned)set->batch);
	set->epochs = cop_train_whole(f, COP_HYPERPARAMETER_EPOCHS, set->epochs);
	set->patience = cop_train_whole(f, COP_HYPERPARAMETER_PATIENCE, set->patience);
	set->lr = cop_train_knob(f, COP_HYPERPARAMETER_LR, set->lr);
}

static cop_err check(const cop_train_fitting *f, const cop_latent_settings *set, const cop_sample *sample)
{
	if (set->depth > COP_LATENT_MAX_DEPTH)
		return cop_train_refuse(f->diag, "--height: a latent tree is at most 10 high");
	if (set->layers > 1 && set->width > COP_LATENT_MOST_WIDTH)
		return cop_train_refuse(f->diag, "--width: a latent tree's layers are at most 1024 wide");
	if (sample->n < 2)
		return cop_train_refuse(f->diag, "latent: one row; expected at least two");
	return COP_OK;
}

cop_err cop_train_fit_latent(const cop_train_fitting *f, const cop_sample *sample, cop_trees **out)
{
	cop_latent_settings set;
	cop_latent_report report;
	cop_latent *latent = NULL;
	cop_rng rng;
	cop_sample fitted = *sample, judge = *sample;
	uint32_t *rows = NULL;
	const double share = f->job->validation < 0.0 ? VALIDATION : f->job->validation;
	take_settings(f, &set);
	cop_rng_init(&rng, f->job->seed, 0);
	cop_err err = check(f, &set, sample);
	if (err == COP_OK && share > 0.0)
		err = cop_train_divide(sample, share, &rng, &rows, &fitted, &judge);
	cop_blas_threads(1); /* batches are small */
	if (err == COP_OK)   /* none held back: the epoch is chosen by the rows that are fitted */
		err = cop_latent_fit(&set, &fitted, &judge, f->job->pool, &rng, f->progress, &report, &latent);
	if (err == COP_OK)
		err = cop_trees_new_latent(&latent, out);
	cop_latent_free(latent);
	cop_mem_free(rows);
	return err;
}
