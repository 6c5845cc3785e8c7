/* view/trained.h: a trained model as it is kept: how rows are prepared, the trees, and what training knew about them.
 *
 * The census of a tree records, for each node and leaf, how much of the training data reached it and what it was: rows,
 * and for classes the rows of each class, for values mean and standard deviation of each output (in the file's unit).
 * Its fields are made with base/mem and owned; put together by a learner, then immutable and safe on any thread. */
#ifndef COP_VIEW_TRAINED_H
#define COP_VIEW_TRAINED_H

#include "table/table.h"
#include "tree/trees.h"

typedef struct cop_node_counts {
	size_t nodes, leaves, outputs;
	bool classes;
	uint64_t *node_rows, *leaf_rows; /* nodes, leaves */
	double *node_mix, *leaf_mix;     /* classes: rows of each (x outputs); values: mean 0, sd 0, mean 1 ... (x 2) */
} cop_node_counts;

typedef struct cop_trained {
	char *learner;            /* "tao" */
	char *settings;           /* the words that made it, one line */
	cop_encoder *preparation; /* owned, as the others */
	cop_trees *trees;
	cop_node_counts *census; /* one of each tree, or NULL */
} cop_trained;

/* The census of every tree over prepared rows, in place of one that is there: label (classes below outputs) or else
 * target (values at the scale of training, rows->n x outputs). rows->d is the trees'. COP_ENOMEM: as it was before. */
COP_CHECK cop_err cop_trained_take_census(
        cop_trained *model, const cop_dataset *rows, const uint32_t *label, const float *target);
void cop_trained_free(cop_trained *model);

/* Share of each of the d features, summing to 1 (all 0 when no split helps): each node's fall of impurity (Gini, or
 * variance) times the rows that reach it and the tree's weight, divided over its features by |w_j| times the feature's
 * standard deviation in the prepared training rows (feature_sd, d; NULL: all 1). Needs the census. COP_EINVAL: there is
 * none. */
COP_CHECK cop_err cop_trained_importance(const cop_trained *model, const float *feature_sd, double *share);

/* A whole model file: sections "trained", "preparation", "trees", "tree" ..., "census" ..., in any order. A saved model
 * is of one kind: as many features in its preparation as in its trees; K classes are K outputs, regression has the link
 * values. */
#define COP_TRAINED_SECTION "trained"
#define COP_TRAINED_VERSION 1
COP_CHECK cop_err cop_trained_save(const cop_trained *model, const char *path, cop_diag *diag);
void cop_trained_put(const cop_trained *model, cop_bytes *bytes);
/* Of a file's bytes (borrowed), checked as a whole; source is for *diag (NULL allowed). Caller frees *out with
 * cop_trained_free. COP_ENOTFOUND: it is a model file of another kind. COP_EFORMAT, COP_ENONFINITE: its sections are
 * malformed or do not fit together. COP_ENOMEM. Errors of cop_section_file_open, and load's of cop_section_file_load.
 */
COP_CHECK cop_err cop_trained_open(
        const void *data, size_t length, const char *source, cop_trained **out, cop_diag *diag);
COP_CHECK cop_err cop_trained_load(const char *path, cop_trained **out, cop_diag *diag);

#endif
