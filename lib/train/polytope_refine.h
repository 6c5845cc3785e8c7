/* train/polytope_refine.h: all nodes of a convex polytope tree trained together, its structure as it is (Armandpour et
 * al., algorithm 1 and eq. 25).
 *
 * A row reaches leaf l with the probability P(l | x), the product over its way of 1 - p and p, where
 *     p(x) = 1 / (1 + exp(-lambda (s(x) - threshold)))
 * goes right at a node: eq. 25 with threshold = -ln(1 - p0), which is learned too. lambda rises from epoch to epoch, so
 * that the tree that is trained becomes the hard one. A batch's objective is the mean over its rows of
 * sum_l P(l | x) c_l(y), and the priors; c_l is -ln of the share of class y among the rows of leaf l, or the squared
 * distance to their mean, by a running mean over the batches. */
#ifndef COP_TRAIN_POLYTOPE_REFINE_H
#define COP_TRAIN_POLYTOPE_REFINE_H

#include "train/polytope_tree.h"
#include "train/sample.h"

typedef struct cop_polytope_refine_settings {
	unsigned epochs;    /* [0, 10000]; 0: nothing is done */
	size_t batch;       /* [1, 2^20] */
	double lr;          /* (0, 10], falls to 0 */
	double first, last; /* lambda, in units of what the node was grown with, > 0 */
	cop_polytope_prior prior;
} cop_polytope_refine_settings;

void cop_polytope_refine_defaults(cop_polytope_refine_settings *settings);

/* The tree becomes the refined one, settled by the rows (cop_polytope_tree_settle). progress may be NULL. BLAS does the
 * work: equal seeds give equal trees on the same kind of processor with the same number of BLAS threads. COP_EINVAL,
 * COP_EDIVERGED, COP_ENOMEM: the tree is as before. */
COP_CHECK cop_err cop_polytope_refine(const cop_polytope_refine_settings *settings, const cop_polytope_rows *rows,
        uint64_t seed, const cop_progress *progress, cop_polytope_tree *tree);

#endif
