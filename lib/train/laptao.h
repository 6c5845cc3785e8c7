/* train/laptao.h: LapTAO (Zharmagambetov's thesis, chapter 3): a tree for rows of which only some are labelled, smooth
 * over a neighbour graph of all of them.
 *
 *     minimise   sum_nk j_nk (t_k(x_n) - y_nk)^2 + gamma sum_k t_k' L t_k + alpha phi(tree)              (3.1), (3.4)
 *
 * through an auxiliary z (rows x outputs) and multipliers (3.5), in rounds of growing mu:
 *   label step   (J_k + mu I + gamma L) z_k = J_k y_k + mu t_k(X) + lambda_k / 2                        (3.6)
 *                by conjugate gradients (Jacobi, warm-started), or by the eigenvectors of J + gamma L,
 *                computed once, when the rows are few and all outputs have one mask                   (3.8)
 *   tree step    TAO on targets z - lambda / (2 mu), penalty alpha / mu, begun with the tree so far     (3.7)
 *   multipliers  lambda -= step * mu (z - t(X))
 * and at the end, for constant leaves, the best values of the structure: (B'JB + gamma B'LB) c = B'Jy   (3.11).
 *
 * j_nk >= 0 are weights, one for every row and output: an output that was not seen at a row has 0 there, so arms
 * that were not played, and contexts without feedback, still shape the tree. Classes are one-hot targets with one
 * weight a row; the answer is the arg-max. A component of the graph without a label for an output gets a tiny ridge, so
 * that its z is 0 for it at the start, and is counted in the report. */
#ifndef COP_TRAIN_LAPTAO_H
#define COP_TRAIN_LAPTAO_H

#include "graph/laplacian.h"
#include "train/tao.h"
#include "tree/trees.h"

typedef enum cop_laptao_solver {
	COP_LAPTAO_EITHER = 0, /* eigenvectors up to COP_LAPTAO_EIGEN_MOST rows with one mask, else gradients */
	COP_LAPTAO_GRADIENTS,
	COP_LAPTAO_EIGENVECTORS
} cop_laptao_solver;

#define COP_LAPTAO_EIGEN_MOST ((size_t)2000)

typedef struct cop_laptao_settings {
	double gamma;           /* >= 0, of the Laplacian */
	double mu, growth;      /* mu of the first round, times growth (> 1) each */
	unsigned rounds;        /* most */
	double tolerance;       /* ends when |z - t(X)| <= tolerance |z| */
	double multiplier_step; /* 1: the thesis's; 2: the exact one of (3.5) */
	cop_laptao_solver solver;
	double solver_tolerance; /* of the residual, relative */
	unsigned solver_steps;   /* most of conjugate gradients */
	cop_tao_settings tree;   /* of the tree step: loss squared; alpha is (3.1)'s */
	size_t trees;            /* 1; more: a forest in the tree step, t(X) is its mean */
	double share;            /* forests: of the rows for each tree, drawn once */
} cop_laptao_settings;

/* The thesis's: gamma 0.1, mu 1e-3 x 1.5, 20 rounds, 15 TAO iterations. */
void cop_laptao_defaults(cop_laptao_settings *settings);

typedef struct cop_laptao_report {
	unsigned rounds;
	uint32_t unlabelled_parts; /* components of the graph without a label for some output */
	double objective;          /* (3.1) of what is returned */
	double gap;                /* |z - t(X)| / |z| at the end of the rounds */
	/* (3.5) at the mu and lambda of its round before the label step, after it, and after the tree step: 3 x rounds,
	 * owned: cop_mem_free. It does not rise within a round. */
	double *lagrangian;
} cop_laptao_report;

/* sample: task values (target n x outputs of the dataset's rows; read where the mask is above 0) or classes (label);
 * its rows are all rows, in the order of the graph's points. mask: sample->n x outputs weights, or with `shared` one a
 * row (classes: always). start: a tree to begin with instead of a random one (borrowed), or NULL. pool, progress,
 * report may be NULL. Caller frees *out (of one tree: COP_TREES_MEAN of one; classes: outputs are scores). COP_EINVAL:
 * a setting out of range; nothing is labelled. COP_ESHAPE: graph or start. COP_ENOMEM. */
COP_CHECK cop_err cop_laptao_fit(const cop_laptao_settings *settings, const cop_sample *sample, const float *mask,
        bool shared, const cop_graph *graph, const cop_tree *start, cop_pool *pool, cop_rng *rng,
        const cop_progress *progress, cop_laptao_report *report, cop_trees **out);

#endif
