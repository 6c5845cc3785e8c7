/* view/node_counts.h: the census of one tree, and its section of a model file. view/trained.h describes its contents.
 *
 * Distinct objects on distinct threads. */
#ifndef COP_VIEW_NODE_COUNTS_H
#define COP_VIEW_NODE_COUNTS_H

#include "view/trained.h"

#define COP_NODE_COUNTS_SECTION "census"
#define COP_NODE_COUNTS_VERSION 1

/* Of that tree's shape, all zero. COP_ENOMEM: *census is zero. */
COP_CHECK cop_err cop_node_counts_init(cop_node_counts *census, const cop_tree *tree, bool classes);
void cop_node_counts_fini(cop_node_counts *census);

/* Numbers of a mix: outputs, or 2 outputs. */
size_t cop_node_counts_width(const cop_node_counts *census);

/* Errors stay in bytes->err. */
void cop_node_counts_save(const cop_node_counts *census, cop_bytes *bytes);
/* Into a zero *census. COP_EFORMAT: malformed, or of a tree of another shape. COP_ENONFINITE, COP_ENOMEM. */
COP_CHECK cop_err cop_node_counts_load(
        const void *payload, size_t length, const cop_tree *tree, cop_node_counts *census);

#endif
