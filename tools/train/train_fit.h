/* tools/train/train_fit.h: labelled rows into trees, by any of the batch learners, alone or as a forest. */
#ifndef COP_TOOLS_TRAIN_TRAIN_FIT_H
#define COP_TOOLS_TRAIN_TRAIN_FIT_H

#include "base/pool.h"
#include "graph/neighbours.h"
#include "hyperparameters.h"
#include "tools/common/labelled_rows.h"
#include "train/forest_fit.h"
#include "train/sample.h"
#include "tree/trees.h"

#define COP_TRAIN_MOST_ALPHAS 64

typedef struct cop_train_learner cop_train_learner;

/* cart, dgt, tao, softmax, laptao, latent, polytope; NULL: none of that name. */
const cop_train_learner *cop_train_learner_find(const char *name);
const char *cop_train_learner_name(const cop_train_learner *learner);
/* Which knobs are for it (COP_FOR_...), and how features are scaled for it. */
unsigned cop_train_learner_for(const cop_train_learner *learner);
cop_scaling cop_train_learner_scaling(const cop_train_learner *learner);

typedef struct cop_train_job {
	const cop_train_learner *learner;
	cop_hyperparameters_values knobs;
	double alpha[COP_TRAIN_MOST_ALPHAS]; /* a path, when there are two or more */
	size_t alphas;
	double validation;     /* share of the rows held back by learners that choose by them; < 0: their own */
	const cop_tree *start; /* tao, laptao; NULL: as the knob says */
	const cop_labelled *rows;
	const cop_encoder *preparation;
	size_t n; /* rows to fit, which have labels; laptao takes all others of `rows` without */
	const uint32_t *row;
	cop_neighbours *neighbours; /* laptao: of each graph, kept between fits, at first zeroed; NULL: not kept */
	uint64_t seed;
	cop_pool *pool;
	const cop_progress *progress;
} cop_train_job;

typedef struct cop_train_outcome {
	double objective; /* of one tree by tao, of laptao; else NaN */
	double alpha;     /* chosen from the path; else NaN */
	double gap;       /* laptao: between tree and labels when the rounds ended; else NaN */
	unsigned rounds;
	size_t graph;              /* of COP_GRAPHS, chosen by it */
	uint32_t unlabelled_parts; /* components of its graph without a label */
	cop_forest_end end;        /* boosting: why there are fewer trees than were asked for */
} cop_train_outcome;

/* Caller frees *out. COP_EINVAL with *diag filled: options that do not go together, or with these rows. */
COP_CHECK cop_err cop_train_fit(const cop_train_job *job, cop_trees **out, cop_train_outcome *outcome, cop_diag *diag);

#endif
