/* view/tree_json.h: a tree as one complete JSON value.
 *
 *     {"features": d, "outputs": K, "depth": h, "feature_names": [...], "output_names": [...],
 *      "nodes": [{"node": 0, "left": {"node": 1}, "right": {"leaf": 2}, "bias": b, "index": [...], "weights": [...]},
 *                ...],
 *      "leaves": [[K numbers], ...]}
 *
 * Nodes and leaves stand in index order, flat, so that any depth fits; names only when the words have their own; right
 * is taken iff weights . x + bias >= 0 over the features of "index" (all of them when it is absent). Numbers read back
 * exactly. A leaf whose scores are linear is {"rows": [{"output": k, "bias": c, "index": [...], "weights": [...]},
 * ...]}.
 *
 * With a preparation a node also has its "test" in words and, of one feature, {"feature": j, "threshold": t in the
 * file's unit, "turned": true when right is where it is at most t} or {"feature": j, "category": whether right is where
 * it is of it}; values of leaves are in the file's unit, weights are over prepared features. With a census a node has
 * "rows" and "mix" (rows of each class) or "mean" and "sd" (of each output), and so has the tree for its leaves:
 * "leaf_rows", "leaf_mix" or "leaf_mean" and "leaf_sd". Any thread. */
#ifndef COP_VIEW_TREE_JSON_H
#define COP_VIEW_TREE_JSON_H

#include "base/json.h"
#include "view/tree_phrases.h"

/* Writes the value where the writer stands (as a member, an element or the whole). all_weights: without "index", zeros
 * too. Errors stay in the writer but for COP_ENOMEM. */
COP_CHECK cop_err cop_tree_json(const cop_tree_phrases *words, bool all_weights, cop_json_writer *writer);
/* Its members only, into an object that is open. */
COP_CHECK cop_err cop_tree_json_members(const cop_tree_phrases *words, bool all_weights, cop_json_writer *writer);

#endif
