/* Dense gradient trees; the rows that choose the epoch are divided from the sample. */
#include <math.h>

#include "base/mem.h"
#include "linalg/blas.h"
#include "train/dgt_fit.h"
#include "train_fit_parts.h"

static const char *const optimisers[] = { "sgd", "momentum", "rmsprop", "adagrad", "adam" };

static cop_err dgt_settings(const cop_train_fitting *f, const cop_sample *sample, cop_dgt_fit_settings *set)
{
	cop_dgt_fit_defaults(sample->task, set);
	set->height = cop_train_whole(f, COP_HYPERPARAMETER_HEIGHT, set->height);
	set->layers = cop_train_whole(f, COP_HYPERPARAMETER_LAYERS, set->layers);
	set->width = (size_t)cop_train_knob(f, COP_HYPERPARAMETER_WIDTH, (double)set->width);
	set->gradients = (cop_dgt_gradients)cop_train_knob(f, COP_HYPERPARAMETER_GRADIENTS, (double)set->gradients);
	set->huber = cop_train_knob(f, COP_HYPERPARAMETER_HUBER, set->huber);
	set->batch = (size_t)cop_train_knob(f, COP_HYPERPARAMETER_BATCH, (double)set->batch);
	set->epochs = cop_train_whole(f, COP_HYPERPARAMETER_EPOCHS, set->epochs);
	set->patience = cop_train_whole(f, COP_HYPERPARAMETER_PATIENCE, set->patience);
	if (f->job->knobs.given[COP_HYPERPARAMETER_OPTIMISER])
		set->optimiser = optimisers[(size_t)f->job->knobs.value[COP_HYPERPARAMETER_OPTIMISER]];
	set->lr = cop_train_knob(f, COP_HYPERPARAMETER_LR, set->lr);
	set->minimum_lr = cop_train_knob(f, COP_HYPERPARAMETER_MINIMUM_LR, fmin(set->minimum_lr, set->lr));
	set->momentum = cop_train_knob(f, COP_HYPERPARAMETER_MOMENTUM, set->momentum);
	set->restarts = cop_train_whole(f, COP_HYPERPARAMETER_RESTARTS, set->restarts);
	set->clip = cop_train_knob(f, COP_HYPERPARAMETER_CLIP, set->clip);
	set->l1 = cop_train_knob(f, COP_HYPERPARAMETER_L1, f->job->knobs.given[COP_HYPERPARAMETER_L2] ? 0.0 : set->l1);
	set->l2 = cop_train_knob(f, COP_HYPERPARAMETER_L2, f->job->knobs.given[COP_HYPERPARAMETER_L1] ? 0.0 : set->l2);
	set->regularise_one = set->regularise_one || f->forest || f->job->knobs.given[COP_HYPERPARAMETER_L1] ||
	                      f->job->knobs.given[COP_HYPERPARAMETER_L2];
	set->shared_bias = cop_train_knob(f, COP_HYPERPARAMETER_SHARED_BIAS, 1.0) > 0.0;
	set->product_paths = cop_train_knob(f, COP_HYPERPARAMETER_PRODUCT_PATHS, set->product_paths) > 0.0;
	set->anneal = cop_train_knob(f, COP_HYPERPARAMETER_ANNEAL, set->anneal) > 0.0;
	bool paper = set->product_paths || set->anneal; /* ablations are of the paper's own form */
	set->scaled_quantiser = cop_train_knob(f, COP_HYPERPARAMETER_SCALED_QUANTISER, paper ? 0.0 : 1.0) > 0.0;
	set->anneal_first = cop_train_knob(f, COP_HYPERPARAMETER_ANNEAL_FIRST, set->anneal_first);
	set->anneal_last = cop_train_knob(f, COP_HYPERPARAMETER_ANNEAL_LAST, set->anneal_last);
	if (!f->job->knobs.given[COP_HYPERPARAMETER_LOSS])
		return COP_OK;
	static const cop_dgt_loss losses[] = { COP_DGT_LOSSES, COP_DGT_CROSS_ENTROPY, COP_DGT_SQUARED, COP_DGT_LOSSES,
		COP_DGT_HUBER };
	set->loss = losses[(size_t)f->job->knobs.value[COP_HYPERPARAMETER_LOSS]];
	if (set->loss != COP_DGT_LOSSES && (set->loss == COP_DGT_CROSS_ENTROPY) == (sample->task == COP_TASK_CLASSES))
		return COP_OK;
	return cop_train_refuse(f->diag, "--loss: dgt takes cross-entropy for classes, squared or huber for values");
}

/* Products with a thin side are slower on several threads than on one. */
static int blas_threads(const cop_train_fitting *f, const cop_dgt_fit_settings *set, const cop_sample *sample)
{
	const size_t least_side = 128;
	size_t nodes = ((size_t)1 << set->height) - 1;
	return nodes < least_side || sample->rows->d < least_side ? 1 : (int)cop_pool_threads(f->job->pool);
}

cop_err cop_train_fit_dgt(
        const cop_train_fitting *f, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_dgt_fit_settings set;
	cop_dgt_fit_report report;
	cop_sample fitted = *sample;
	cop_sample judge = *sample;
	uint32_t *rows = NULL;
	double share = fmax(f->job->validation, 0.0);
	cop_err err = dgt_settings(f, sample, &set);
	if (err == COP_OK && share > 0.0)
		err = cop_train_divide(sample, share, rng, &rows, &fitted, &judge);
	cop_blas_threads(f->forest && pool == NULL ? 1 : blas_threads(f, &set, sample));
	if (err == COP_OK) /* none held back: the epoch is chosen by the rows that are fitted */
		err = cop_dgt_fit(&set, &fitted, &judge, rng, f->progress, &report, out);
	if (err == COP_OK && !f->forest)
		*f->score = report.validation_loss;
	cop_mem_free(rows);
	return err;
}
