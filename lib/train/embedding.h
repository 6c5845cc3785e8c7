/* train/embedding.h: objectives of nonlinear embeddings in the plane, and their minimiser.
 *
 * z is n x 2, row-major. p_nm are the weights of a symmetric graph of the points (graph/affinity) divided by n, so that
 * they sum to 1 over ordered pairs; d_nm = |z_n - z_m|.
 *
 *     t-SNE      E = sum p log p + sum p log(1 + d^2) + b log sum 1 / (1 + d^2)      (thesis, eq. 4.1, for b = 1)
 *     elastic    E = sum p d^2 + b sum exp(-d^2)                                    (eq. 4.2; b is its alpha)
 *
 * over ordered pairs of different points. Sums over all pairs go through a quadtree (graph/quadtree) by theta.
 *
 * The minimiser takes spectral directions (Vladymyrov & Carreira-Perpinan 2012): g preconditioned by the curvature of
 * the attraction, by conjugate gradients, and a line search. One minimisation at a time per object; the result does not
 * depend on the number of threads. */
#ifndef COP_TRAIN_EMBEDDING_H
#define COP_TRAIN_EMBEDDING_H

#include "base/pool.h"
#include "graph/graph.h"

typedef enum cop_embedding_method {
	COP_EMBEDDING_TSNE = 0,
	COP_EMBEDDING_ELASTIC,
	COP_EMBEDDING_METHODS
} cop_embedding_method;

typedef struct cop_embedding cop_embedding;

/* graph and pool (NULL allowed) are kept. Caller frees with cop_embedding_free; on error *out is NULL. COP_ENOMEM. */
COP_CHECK cop_err cop_embedding_new(
        cop_embedding_method method, const cop_graph *graph, cop_pool *pool, cop_embedding **out);
void cop_embedding_free(cop_embedding *embedding);

/* E, and its gradient (n x 2) when that is not NULL. b > 0, theta >= 0; z finite. */
double cop_embedding_objective(cop_embedding *embedding, double b, double theta, const double *z, double *gradient);

typedef struct cop_embedding_descent {
	double b, theta;
	double mu;            /* of mu |z - centre|^2, which is added to E; 0: nothing is */
	const double *centre; /* n x 2; may be NULL when mu is 0 */
	double tolerance;     /* ends when a step lowers the sum by less than this share of it */
	unsigned steps;       /* most */
} cop_embedding_descent;

/* z in: where to start; out: no greater E + mu |z - centre|^2, which *value (NULL allowed) gets. */
void cop_embedding_descend(cop_embedding *embedding, const cop_embedding_descent *how, double *z, double *value);

#endif
