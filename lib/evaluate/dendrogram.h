/* evaluate/dendrogram.h: how well a tree of clusters keeps known classes together (dendrogram purity: Heller and
 * Ghahramani 2005; Monath et al. 2019). Any thread. */
#ifndef COP_EVALUATE_DENDROGRAM_H
#define COP_EVALUATE_DENDROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A tree of `nodes` nodes (parent[t] < t; the root is 0), in which point i lies at node place[i] and has class label[i]
 * < classes. Of two different points of one class, drawn at random, the expected share of their class among the points
 * under the lowest node that has both below it (or at it); NaN when no class has two points. Cost: nodes x classes.
 * COP_EINVAL: a parent, place or label out of range, nodes or classes 0. COP_ENOMEM. */
COP_CHECK cop_err cop_dendrogram_purity(size_t nodes, const uint32_t *parent, size_t n, const uint32_t *place,
        const uint32_t *label, size_t classes, double *out);

#endif
