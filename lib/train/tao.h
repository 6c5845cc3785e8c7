/* train/tao.h: tree alternating optimisation (Carreira-Perpinan and Tavallali; Zharmagambetov's thesis, chapter 2,
 * Algorithm 1): a tree of given structure whose nodes are fitted in turn, each on the rows that reach it.
 *
 *     minimise   E = sum_n c_n L(y_n, T(x_n)) + alpha sum_t ||w_t||_1 + leaf_alpha sum_l ||V_l||_1
 *
 * over the weights w_t of the decision nodes and V_l of the leaves; biases are free.
 *
 * A decision node learns to send each row to the child whose subtree, as it stands, loses less on it (weight: the
 * difference), by logistic regression or the best axis-aligned split. An iteration is one sweep over all nodes and
 * leaves. Most sweeps take every solver's answer as it is, for what a node's surrogate costs those below it may win
 * back; when such sweeps no longer lower E, the tree of the least E is swept once more, with new parameters kept only
 * where the node's weighted 0/1 loss, or the leaf's loss, plus penalty does not rise. What is returned is the tree of
 * the least E, which is reported after every iteration and so never rises. Nodes of one depth are independent and go to
 * the pool and its ranks, largest first; the result does not depend on the number of either.
 *
 * Losses: 0/1, cross-entropy (classes), squared, absolute (values, summed over outputs), cost (costs: the cost of the
 * chosen output). Leaves: constant (majority, class shares, mean, median, mean costs of which the least is chosen);
 * linear (values: lasso for each output; costs likewise, on the costs); softmax (classes: L1 multinomial logistic over
 * the `leaf_classes` most frequent classes of the leaf). */
#ifndef COP_TRAIN_TAO_H
#define COP_TRAIN_TAO_H

#include "base/pool.h"
#include "base/rng.h"
#include "train/sample.h"
#include "tree/tree.h"

typedef enum cop_tao_loss {
	COP_TAO_ZERO_ONE = 0,
	COP_TAO_CROSS_ENTROPY,
	COP_TAO_SQUARED,
	COP_TAO_ABSOLUTE,
	COP_TAO_COST,
	COP_TAO_LOSSES
} cop_tao_loss;

typedef enum cop_tao_split { COP_TAO_OBLIQUE = 0, COP_TAO_AXIS } cop_tao_split;
typedef enum cop_tao_leaves { COP_TAO_CONSTANT = 0, COP_TAO_LINEAR } cop_tao_leaves; /* linear: softmax for classes */
typedef enum cop_tao_order { COP_TAO_ROOT_FIRST = 0, COP_TAO_LEAVES_FIRST } cop_tao_order;

typedef struct cop_tao_settings {
	unsigned depth; /* of the start when it is random, 1..COP_TAO_MAX_DEPTH */
	cop_tao_loss loss;
	cop_tao_split split;
	cop_tao_leaves leaves;
	cop_tao_order order;
	double alpha, leaf_alpha; /* >= 0 */
	size_t leaf_classes;      /* most classes of a softmax leaf; 0: all that reach it */
	double missing;           /* cross-entropy of a class that its softmax leaf lacks (beta), > 0; 0: log(1e6) */
	unsigned iterations;      /* most sweeps; 0: the start, with its leaves fitted */
	bool monotone;            /* no sweep may raise E; else only the tree kept may not */
	double tolerance;         /* stop when E falls by less than this share of it */
	double node_tolerance;    /* of the nodes' and leaves' solvers */
	unsigned node_steps;      /* of them */
	bool prune;               /* dead and pure subtrees, at the end */
} cop_tao_settings;

#define COP_TAO_MAX_DEPTH 20

/* Settings that suit many samples of a task; the penalties of values are meant for targets of variance 1 (E, and so
 * what a penalty weighs against it, grows with the square of their scale). */
void cop_tao_defaults(cop_task task, cop_tao_settings *settings);

typedef struct cop_tao_report {
	double objective; /* E of what is returned */
	double *history;  /* least E so far, after the start and after each iteration (iterations + 1; a random start
	                     counts once it was swept: [0] is [1]), owned: cop_mem_free */
	unsigned iterations;
} cop_tao_report;

/* start: a tree of the sample's d and outputs (borrowed) whose decision nodes are the start, and whose leaves are too
 * when they are of the kind asked for; NULL: a complete tree of `depth` with Gaussian unit weight vectors (by rng;
 * biases such that each node halves its rows), whose first sweep is always bold. pool, progress and report
 * may be NULL. Caller frees *out. COP_EINVAL: a setting outside its range, or one that does not go with the task; n 0.
 * COP_ESHAPE: the start's. COP_ENOMEM. */
COP_CHECK cop_err cop_tao_fit(const cop_tao_settings *settings, const cop_sample *sample, const cop_tree *start,
        cop_pool *pool, cop_rng *rng, const cop_progress *progress, cop_tao_report *report, cop_tree **out);

#endif
