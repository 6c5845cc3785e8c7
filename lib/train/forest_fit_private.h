/* train/forest_fit_private.h: what the sources of forest_fit share: the state of a fit, and what boosting does with it.
 * One thread; tasks of the pool write to their own rows. */
#ifndef COP_TRAIN_FOREST_FIT_PRIVATE_H
#define COP_TRAIN_FOREST_FIT_PRIVATE_H

#include "train/forest_fit.h"

#define COP_FOREST_CHUNK ((size_t)512) /* rows that one task predicts */

typedef struct cop_forest_fitting {
	const cop_forest_settings *settings;
	const cop_sample *sample;
	cop_forest_learner *learner;
	void *context;
	cop_pool *pool;
	const cop_progress *progress;
	cop_tree **tree;
	double *weight; /* of each tree */
	double *base;   /* gradient: K */
	size_t count;   /* trees so far */
	cop_forest_end end;

	uint32_t *distinct; /* rows of the sample, each once */
	size_t rows;        /* of those */
	uint8_t *wrong;     /* adaboost: by row number */
	float *row_weight;  /* adaboost: by row number */
	float *residual;    /* gradient: rows->n x K */
	float *predicted;   /* gradient: K for each worker */
	double *sum;        /* gradient of classes: rows->n x K, the trees' sums so far, of which p is the softmax */
	uint32_t *leaf;     /* gradient of classes: of each row in the newest tree, by row number */
} cop_forest_fitting;

/* Tree t by the learner, from its own stream of the seed. Errors of the learner. */
COP_CHECK cop_err cop_forest_fit_tree(
        const cop_forest_fitting *f, size_t t, const cop_sample *sample, cop_pool *pool, cop_tree **out);
/* Reports f->count trees. False: stop here. */
bool cop_forest_fit_tell(cop_forest_fitting *f, const char *more);
/* Fills distinct and rows. COP_ENOMEM. */
COP_CHECK cop_err cop_forest_fit_distinct(cop_forest_fitting *f);
/* The task for each chunk of the distinct rows; its context is f. */
COP_CHECK cop_err cop_forest_fit_chunks(cop_forest_fitting *f, cop_pool_task *task);

/* Gradient boosting, and the end of what it took. COP_EINVAL: no weight. COP_ENOMEM; the learner's errors. */
COP_CHECK cop_err cop_forest_fit_gradient(cop_forest_fitting *f);
void cop_forest_fit_gradient_end(cop_forest_fitting *f);

#endif
