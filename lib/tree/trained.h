/* tree/trained.h: a trained model as it is kept: how rows are prepared, the trees, and what training knew about them.
 *
 * The census of a tree tells, for each node and leaf, how much of the training data reached it and what it was: rows,
 * and for classes the rows of each class, for values mean and standard deviation of each output (in the file's unit).
 * Immutable once made; any thread. */
#ifndef COP_TREE_TRAINED_H
#define COP_TREE_TRAINED_H

#include "data/table.h"
#include "tree/trees.h"

typedef struct cop_census {
	size_t nodes, leaves, outputs;
	bool classes;
	uint64_t *node_rows, *leaf_rows; /* nodes, leaves */
	double *node_mix, *leaf_mix;     /* classes: rows of each (x outputs); values: mean, sd (x 2 outputs) */
} cop_census;

typedef struct cop_trained {
	char *learner;                /* "tao" */
	char *settings;               /* the words that made it, one line */
	cop_preparation *preparation; /* owned, as the others */
	cop_trees *trees;
	cop_census *census; /* one of each tree, or NULL */
} cop_trained;

/* The census of every tree over prepared rows; label (classes) or target (values, rows->n x outputs). COP_ENOMEM. */
COP_CHECK cop_err cop_trained_take_census(
        cop_trained *model, const cop_dataset *rows, const uint32_t *label, const float *target);
void cop_trained_free(cop_trained *model);

/* Share of each of the d features, summing to 1 (all 0 when no node splits): each node's fall of impurity (Gini, or
 * variance) times the rows that reach it, divided over its features by |w_j| times the feature's standard deviation in
 * the prepared training rows (feature_sd, d; NULL: all 1). Needs the census. COP_EINVAL: there is none. COP_ENOMEM. */
COP_CHECK cop_err cop_trained_importance(const cop_trained *model, const float *feature_sd, double *share);

/* A whole model file: sections "trained", "preparation", "trees", "tree" ..., "census" .... */
#define COP_TRAINED_SECTION "trained"
#define COP_TRAINED_VERSION 1
COP_CHECK cop_err cop_trained_save(const cop_trained *model, const char *path, cop_diag *diag);
void cop_trained_put(const cop_trained *model, cop_bytes *bytes);
/* COP_ENOTFOUND: it is a model file of another kind. Errors of tree/model_file.h. */
COP_CHECK cop_err cop_trained_open(
        const void *data, size_t length, const char *source, cop_trained **out, cop_diag *diag);
COP_CHECK cop_err cop_trained_load(const char *path, cop_trained **out, cop_diag *diag);

#endif
