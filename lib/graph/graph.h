/* graph/graph.h: a symmetric weighted graph and its Laplacian L = D - W.
 *
 * W is symmetric with non-negative weights and an empty diagonal, stored whole by rows (compressed, columns ascending).
 * z'Lz is half the sum over all ordered pairs of w_nm (z_n - z_m)^2. Read from any number of threads. */
#ifndef COP_GRAPH_GRAPH_H
#define COP_GRAPH_GRAPH_H

#include "graph/neighbours.h"

typedef struct cop_graph {
	size_t n;
	size_t *start;   /* n + 1 */
	uint32_t *index; /* start[n] */
	float *weight;   /* start[n] */
	double *degree;  /* n: sums of the rows */
	uint32_t *part;  /* n: connected component, counted from 0 in order of first points */
	uint32_t parts;
} cop_graph;

/* W = (P + P') / 2 of the directed weights (n x k as cop_affinity_entropic leaves them). Entries that are 0 are left
 * out. Free with cop_graph_free; on error *out is NULL. COP_ENOMEM. */
COP_CHECK cop_err cop_graph_new(const cop_neighbours *neighbours, const float *weight, cop_graph **out);
void cop_graph_free(cop_graph *graph);

/* out (n x outputs, row-major) = L z. pool may be NULL; the same bits for any number of threads. */
void cop_graph_laplacian(const cop_graph *graph, size_t outputs, const double *z, cop_pool *pool, double *out);
/* Sum over the outputs of z'Lz. */
double cop_graph_roughness(const cop_graph *graph, size_t outputs, const double *z);

#endif
