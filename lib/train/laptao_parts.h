/* train/laptao_parts.h: what cop_laptao_fit works on, and what its sources share.
 *
 * n rows, K outputs; point i of the graph is row i of the sample. Vectors over rows and outputs are output-major here:
 * entry k n + i. Targets are centred: y_k less the weighted mean of what is seen of it, which L does not notice, and
 * which makes 0 the natural answer where nothing is known; the mean comes back when the trees are handed out. */
#ifndef COP_TRAIN_LAPTAO_PARTS_H
#define COP_TRAIN_LAPTAO_PARTS_H

#include "train/laptao.h"

/* (J_k + mu I + gamma L) z_k = r_k for several mu and r. Singular when mu is 0 and a component has no label: r_k must
 * be 0 there, and z_k keeps what it begins with (gradients) or gets 0 (eigenvectors). */
typedef struct cop_laptao_system {
	const cop_graph *graph;
	size_t n, outputs;
	double gamma;
	const double *weight; /* J: K x n, or 1 x n when shared */
	bool shared;
	double tolerance;
	unsigned steps;
	double *vector, *value; /* of J + gamma L: row e is eigenvector e, n x n and n; NULL: by gradients */
} cop_laptao_system;

typedef struct cop_laptao_state {
	const cop_laptao_settings *set;
	const cop_sample *sample;
	const cop_graph *graph;
	cop_pool *pool;
	size_t n, outputs, trees;
	bool shared;
	double *weight;             /* as cop_laptao_system */
	double *mean;               /* K */
	double *y, *z, *t, *lambda; /* K x n; y is 0 where nothing is seen */
	double *trial;              /* K x n: right sides, and t of trees that may not be kept */
	double mu;
	cop_laptao_system system;
	cop_tree **tree, **next; /* trees each, owned */
	uint32_t **share;        /* of each tree: its rows; NULL for a lone tree, which has all */
	size_t share_rows;
	float *target; /* of the tree step: rows->n x K, row-major */
	uint64_t seed; /* of the forest's streams */
} cop_laptao_state;

/* ---- laptao_label.c ---- */

/* Takes what is set in *system and chooses the solver. COP_EINVAL: eigenvectors of several masks. COP_ENOMEM. fini in
 * every case. */
COP_CHECK cop_err cop_laptao_system_init(cop_laptao_system *system, cop_laptao_solver solver);
void cop_laptao_system_fini(cop_laptao_system *system);
/* right, z: K x n; z is where gradients begin. COP_ENOMEM. */
COP_CHECK cop_err cop_laptao_solve(
        const cop_laptao_system *system, double mu, const double *right, cop_pool *pool, double *z);

/* sum j (z - y)^2 + gamma sum z'Lz. */
double cop_laptao_smooth(const cop_laptao_state *state, const double *z);

/* ---- laptao_tree.c ---- */

/* Fits all trees to `target`, with the penalties divided by mu, from the trees that there are, from `start` or from
 * random ones, into state->next (all NULL before; on error some may be there). */
COP_CHECK cop_err cop_laptao_fit_trees(
        cop_laptao_state *state, double mu, const cop_tree *start, cop_rng *rng, const cop_progress *progress);
/* t (K x n): the mean of those trees. */
COP_CHECK cop_err cop_laptao_predict(const cop_laptao_state *state, cop_tree *const *tree, double *t);
/* The penalties of those trees, of a forest their mean. */
double cop_laptao_penalty(const cop_laptao_state *state, cop_tree *const *tree);
/* leaf[n] of the sample's rows. */
COP_CHECK cop_err cop_laptao_leaves(const cop_laptao_state *state, const cop_tree *tree, uint32_t *leaf);

/* ---- laptao_finish.c ---- */

/* A copy whose rows for output k are higher by shift[k] (times sign). */
COP_CHECK cop_err cop_laptao_shifted(const cop_tree *tree, const double *shift, double sign, cop_tree **out);
/* state->tree[0], whose leaves are constant, gets the best values of (3.11). */
COP_CHECK cop_err cop_laptao_best_leaves(cop_laptao_state *state);
/* The trees as they are handed out, and their (3.1); state->tree is empty then. */
COP_CHECK cop_err cop_laptao_finish(cop_laptao_state *state, double *objective, cop_trees **out);

#endif
