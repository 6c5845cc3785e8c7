/* train/laptao.h: LapTAO (Zharmagambetov's thesis, chapter 3): a tree for rows of which only some are labelled, smooth
 * over a neighbour graph of all of them.
 *
 *     minimise   sum_nk j_nk (t_k(x_n) - y_nk)^2 + gamma sum_k t_k' L t_k + alpha phi(tree)              (3.1), (3.4)
 *
 * where z'Lz is half the sum over ordered pairs (graph/graph.h), through an auxiliary z (rows x outputs) and
 * multipliers (3.5), in rounds of growing mu, from z of mu = 0 and a tree of that:
 *   label step   (J_k + mu I + gamma L) z_k = J_k y_k + mu t_k(X) + lambda_k / 2                        (3.6)
 *                by conjugate gradients (Jacobi, warm-started), or by the eigenvectors of J + gamma L,
 *                computed once, when the rows are few and all outputs have one mask                   (3.8)
 *   tree step    TAO on targets z - lambda / (2 mu), penalties over mu, begun with the tree so far      (3.7)
 *   multipliers  lambda -= step * mu (z - t(X))
 * and at the end, for constant leaves, the best values of the structure: (B'JB + gamma B'LB) c = B'Jy   (3.11).
 *
 * j_nk >= 0 are weights, one for every row and output: an output that was not seen at a row has 0 there, so arms
 * that were not played, and contexts without feedback, still shape the tree. Classes are one-hot targets with one
 * weight a row; the answer is the arg-max. Where nothing is known of an output (a component of the graph without a
 * label for it; they are counted in the report) the answer is the weighted mean of what was seen of it elsewhere.
 *
 * In a forest every tree learns from its own share of the rows, t(X) and the penalty are means over the trees, and the
 * leaves stay as the tree steps leave them. The result does not depend on the number of threads. */
#ifndef COP_TRAIN_LAPTAO_H
#define COP_TRAIN_LAPTAO_H

#include "graph/graph.h"
#include "train/tao.h"
#include "tree/trees.h"

typedef enum cop_laptao_solver {
	COP_LAPTAO_EITHER = 0, /* eigenvectors up to COP_LAPTAO_EIGEN_MOST rows of one mask, else gradients */
	COP_LAPTAO_GRADIENTS,
	COP_LAPTAO_EIGENVECTORS
} cop_laptao_solver;

#define COP_LAPTAO_EIGEN_MOST ((size_t)2000)

typedef struct cop_laptao_settings {
	double gamma;           /* >= 0, of the Laplacian */
	double mu, growth;      /* mu of the first round, times growth (> 1) each */
	unsigned rounds;        /* most */
	double tolerance;       /* ends when |z - t(X)| <= tolerance |z|, z less its outputs' means */
	double multiplier_step; /* in [0, 2]. 1: the thesis's; 2: the exact one of (3.5) */
	cop_laptao_solver solver;
	double solver_tolerance; /* of the residual, relative */
	unsigned solver_steps;   /* most of conjugate gradients */
	/* Of the tree step: loss squared; alpha and leaf_alpha are (3.1)'s, with which the first tree is fitted as they
	 * are. Bold sweeps (not `monotone`) find better trees and take about three times as long; a tree that raises
	 * (3.5) is not taken. */
	cop_tao_settings tree;
	size_t trees; /* 1; more: a forest in the tree step, t(X) is its mean */
	double share; /* forests: of the rows for each tree, drawn once */
} cop_laptao_settings;

/* gamma 0.1, 20 rounds, 15 TAO iterations as in the thesis; mu 0.1 x 1.3 and alpha 0.1, meant for targets of variance 1
 * (from the thesis's mu, 1e-3 x 1.5, the penalty over mu is so large at first that little is left of the tree). */
void cop_laptao_defaults(cop_laptao_settings *settings);

typedef struct cop_laptao_report {
	unsigned rounds;
	uint32_t unlabelled_parts; /* components of the graph without a label for some output */
	double objective;          /* (3.1) of what is returned */
	double gap;                /* |z - t(X)| / |z| at the end of the rounds, as `tolerance` */
	/* (3.5) at the mu and lambda of its round before the label step, after it, and after the tree step: 3 x rounds,
	 * owned: cop_mem_free. It does not rise within a round. */
	double *lagrangian;
} cop_laptao_report;

/* sample: task values (target n x outputs of the dataset's rows; read where the mask is above 0) or classes (label;
 * likewise); its rows, each once, are all rows, in the order of the graph's points; its weight is not read. mask:
 * sample->n x outputs weights, or with `shared` one a row (classes: always). start: a tree to begin with instead of
 * random ones (borrowed), or NULL. pool, progress, report may be NULL.
 *
 * *out, which the caller frees: COP_TREES_MEAN of the trees, whose outputs are values, or scores of classes; those of a
 * lone tree with constant leaves are probabilities (and of that link), as (3.11) makes them. With tree.prune, subtrees
 * that no row reaches and leaves of equal values are cut at the end.
 *
 * COP_EINVAL: a setting out of range; eigenvectors for outputs of different masks; a weight that is negative or not
 * finite; nothing is labelled; a row twice. COP_ENONFINITE: a target. COP_ESHAPE: graph or start. COP_ENOMEM. */
COP_CHECK cop_err cop_laptao_fit(const cop_laptao_settings *settings, const cop_sample *sample, const float *mask,
        bool shared, const cop_graph *graph, const cop_tree *start, cop_pool *pool, cop_rng *rng,
        const cop_progress *progress, cop_laptao_report *report, cop_trees **out);

#endif
