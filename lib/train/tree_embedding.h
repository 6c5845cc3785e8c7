/* train/tree_embedding.h: a nonlinear embedding in the plane trained jointly with the tree that maps points into it
 * (Zharmagambetov's thesis, chapter 4, figure 4.1).
 *
 *     minimise   P(F) = E(F(X)) + lambda phi(F)                                                       (4.3)
 *
 * over trees F of sparse oblique splits and linear leaves; E is of train/embedding, phi the sum of |w| over all nodes
 * and leaves. The augmented Lagrangian begins with the free embedding (argmin E) and the tree that is fitted to it, the
 * *direct fit*; then in rounds, with mu growing and multipliers beta 0 at first:
 *
 *     z step       minimise E(Z) + mu |Z - F(X) - beta / mu|^2                                         (4.7)
 *     tree step    minimise |Z - beta / mu - F(X)|^2 / n + lambda phi(F) by TAO, begun with F          (4.8)
 *     multipliers  beta -= mu (Z - F(X))
 *
 * The tree step's penalty is lambda in all rounds, not lambda / mu, and its loss the mean over the rows, as the
 * thesis's solvers have them. The result is the tree of the least P so far, the direct fit among them. P is summed
 * exactly up to COP_TREE_EMBEDDING_EXACT rows, beyond by theta.
 *
 * The result does not depend on the number of threads. */
#ifndef COP_TRAIN_TREE_EMBEDDING_H
#define COP_TRAIN_TREE_EMBEDDING_H

#include "base/rng.h"
#include "train/embedding.h"
#include "train/tao.h"

#define COP_TREE_EMBEDDING_EXACT ((size_t)20000)

typedef struct cop_tree_embedding_settings {
	cop_embedding_method method;
	double repulsion;  /* > 0: elastic's alpha, which the free embedding is led to from small values */
	double theta;      /* in [0, 2] */
	double lambda;     /* >= 0 */
	double mu, growth; /* >= 0 (0: by the rows), >= 1: of the first round, times growth each */
	unsigned rounds;
	unsigned free_steps, steps; /* most of the free embedding, of a z step */
	double tolerance;           /* of both (train/embedding) */
	cop_tao_settings tree;      /* depth and sweeps; loss, leaves and penalties are set here */
} cop_tree_embedding_settings;

/* alpha 100, 15 sweeps, 20 rounds, growth 1.4 as in the thesis; lambda 0.01, height 4; mu 0: 5e-3 over the rows, which
 * is its 1e-5 for 569 rows (the forces of E on a row shrink as rows grow in number). */
void cop_tree_embedding_defaults(cop_embedding_method method, cop_tree_embedding_settings *settings);

typedef struct cop_tree_embedding_part {
	double embedding; /* E */
	double penalty;   /* phi */
	double objective; /* P */
} cop_tree_embedding_part;

typedef struct cop_tree_embedding_result {
	cop_tree *direct, *joint;   /* outputs 2; owned */
	double *free_z;             /* n x 2, owned, as the others */
	double *direct_z, *joint_z; /* what the trees predict */
	double free_objective;      /* E of free_z */
	cop_tree_embedding_part direct_part, joint_part;
	cop_tree_embedding_part *round; /* rounds: of the tree after each */
	double *gap;                    /* rounds: |Z - F(X)| / |Z| */
	unsigned rounds;                /* made; fewer when progress ends them */
	unsigned best;                  /* the round of `joint`, from 1; 0: the direct fit */
} cop_tree_embedding_result;

/* rows: the points of the graph, in order; graph: of affinities (train/embedding). pool, progress may be NULL. *out:
 * finish with fini; zeroed on error. COP_EINVAL: a setting outside its range, fewer than 2 rows. COP_ESHAPE: the
 * graph's. COP_EDIVERGED: the embedding left what a float holds. COP_ENOMEM. */
COP_CHECK cop_err cop_tree_embedding_fit(const cop_tree_embedding_settings *settings, const cop_dataset *rows,
        const cop_graph *graph, cop_pool *pool, cop_rng *rng, const cop_progress *progress,
        cop_tree_embedding_result *out);
void cop_tree_embedding_fini(cop_tree_embedding_result *result);

#endif
