/* train/latent_fit.h: latent trees learned from labelled rows (Zantedeschi, Kusner, Niculae; Algorithm 2): splits and
 * predictor by quasi-hyperbolic Adam on the predictor's loss, through the relaxed routing of each batch.
 *
 * The splits start such that each sends half of the rows that reach it to either side (appendix A.4), with values of
 * unit deviation. The learning rate falls by a factor of ten after two epochs without a better validation loss; the
 * epoch of the least is kept, and a is then that of all rows (a batch's penalty in proportion). BLAS does the work:
 * equal seeds give equal trees on the same kind of processor with the same number of BLAS threads. */
#ifndef COP_TRAIN_LATENT_FIT_H
#define COP_TRAIN_LATENT_FIT_H

#include "base/pool.h"
#include "base/rng.h"
#include "tree/latent.h"
#include "train/sample.h"

typedef struct cop_latent_settings {
	unsigned depth; /* 1..COP_LATENT_MAX_DEPTH */
	double lambda;  /* > 0: what a node costs, beside the rows of a batch */
	bool elu;
	unsigned layers; /* of the predictor; 1: linear */
	size_t width;
	double dropout;
	size_t batch;
	unsigned epochs, patience; /* epochs without a better validation loss before it ends; 0: never early */
	double lr;
} cop_latent_settings;

/* Settings that suit many samples. */
void cop_latent_fit_defaults(cop_latent_settings *settings);

typedef struct cop_latent_report {
	double validation_loss; /* the least; NaN without validation */
	unsigned best_epoch, epochs;
	double kept; /* share of the nodes that are kept */
} cop_latent_report;

/* Values should be scaled to about unit variance. validation, pool, progress and report may be NULL. Caller frees *out.
 * COP_EINVAL: a setting outside its range, costs, shapes that differ, n 0. COP_EDIVERGED: a parameter would not be
 * finite. COP_ENOMEM. */
COP_CHECK cop_err cop_latent_fit(const cop_latent_settings *settings, const cop_sample *sample,
        const cop_sample *validation, cop_pool *pool, cop_rng *rng, const cop_progress *progress,
        cop_latent_report *report, cop_latent **out);

#endif
