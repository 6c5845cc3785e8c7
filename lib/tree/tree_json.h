/* tree/tree_json.h: an oblique tree as one complete JSON value.
 *
 *     {"features": d, "outputs": K, "depth": h, "feature_names": [...], "output_names": [...],
 *      "nodes": [{"node": 0, "left": {"node": 1}, "right": {"leaf": 2}, "bias": b, "weights": [d numbers]}, ...],
 *      "leaves": [[K numbers], ...]}
 *
 * Nodes and leaves stand in index order, flat, so that any depth fits; names only when given; right is taken iff
 * weights . x + bias >= 0. Numbers read back exactly. Any thread. */
#ifndef COP_TREE_TREE_JSON_H
#define COP_TREE_TREE_JSON_H

#include "base/json.h"
#include "tree/oblique_tree.h"
#include "tree/tree_text.h"

/* Writes the value where the writer stands (as a member, an element or the whole). names may be NULL. Errors stay in
 * the writer. */
void cop_tree_json(const cop_oblique_tree *tree, const cop_tree_names *names, cop_json_writer *writer);

#endif
