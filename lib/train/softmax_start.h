/* train/softmax_start.h: the start of a softmax tree: clusters of the rows, or of the classes, as a tree
 * (Zharmagambetov's thesis, section 2.3).
 *
 * Points are the sample's rows, or one prototype for each class: the mean of its rows, which weighs as much as they do.
 * k-means (seeded by distance, Lloyd's iterations) makes at most 2^height clusters of them. Then, level by level, the
 * two nearest clusters (by their centres) that are not yet paired in this level become one, whose centre is their
 * weighted mean and which waits for the next level; the last one of an odd number waits alone. The pairs are a binary
 * tree; each of its nodes gets the hyperplane that an L1 logistic regression learns of which rows are in its right
 * cluster. Leaves are constant: the class shares of the cluster's rows.
 *
 * Points are sparse, and take memory by their non-zero values; centres are dense, 2^height x d floats. Finding pairs
 * takes 4^height x d + 8^height steps. */
#ifndef COP_TRAIN_SOFTMAX_START_H
#define COP_TRAIN_SOFTMAX_START_H

#include "base/rng.h"
#include "train/sample.h"
#include "tree/tree.h"

typedef enum cop_softmax_start_points {
	COP_SOFTMAX_START_ROWS = 0,
	COP_SOFTMAX_START_CLASSES
} cop_softmax_start_points;

#define COP_SOFTMAX_START_MAX_HEIGHT 12

typedef struct cop_softmax_start_settings {
	cop_softmax_start_points points;
	unsigned height;     /* at most 2^height clusters; 1..COP_SOFTMAX_START_MAX_HEIGHT */
	unsigned iterations; /* of k-means, at most */
	double alpha;        /* L1 penalty of the hyperplanes, >= 0 */
	double node_tolerance;
	unsigned node_steps; /* of their solver, both as in train/tao.h */
} cop_softmax_start_settings;

/* A tree of the sample's d and outputs, whose link is probabilities; a lone leaf when there is one point. Caller frees
 * *out; on error it is NULL. COP_EINVAL: not a task of classes, a setting outside its range, or an invalid sample.
 * COP_ENOMEM. */
COP_CHECK cop_err cop_softmax_start_grow(
        const cop_softmax_start_settings *settings, const cop_sample *sample, cop_rng *rng, cop_tree **out);

#endif
