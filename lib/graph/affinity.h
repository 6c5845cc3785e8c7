/* graph/affinity.h: entropic affinities on nearest neighbours (Hinton & Roweis 2002; Vladymyrov & Carreira-Perpinan
 * 2013).
 *
 * p(m | n) = exp(-beta_n d2(n, m)) / sum over n's neighbours, with beta_n such that the perplexity (exp of the entropy)
 * of point n is the given one. */
#ifndef COP_GRAPH_AFFINITY_H
#define COP_GRAPH_AFFINITY_H

#include "graph/neighbours.h"

/* weight (n x k, caller's): p(m | n) of each neighbour, rows sum to 1. 1 <= perplexity < k (clamped to 0.99 k when
 * above; of points with fewer different distances as near as can be had). pool may be NULL. COP_EINVAL: perplexity
 * below 1 or not finite. */
COP_CHECK cop_err cop_affinity_entropic(
        const cop_neighbours *neighbours, double perplexity, cop_pool *pool, float *weight);

#endif
