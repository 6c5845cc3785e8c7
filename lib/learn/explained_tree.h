/* learn/explained_tree.h: the way of a row through a hard tree, into an explanation.
 *
 * Nodes keep the tree's numbers; of each the heaviest stored features are told, of a polytope those of the facet that
 * weighs most at the row. `value` of a feature is the row's. Any thread; allocates nothing. */
#ifndef COP_LEARN_EXPLAINED_TREE_H
#define COP_LEARN_EXPLAINED_TREE_H

#include "learn/explanation.h"
#include "tree/tree.h"

/* Fills path and leaf of *out, which is the newest of *e, and returns the leaf. steps: room for the tree's depth, as *e
 * has for its nodes. */
size_t cop_explained_tree_walk(
        const cop_tree *tree, const cop_row *row, cop_tree_step *steps, cop_explanation *e, cop_explained_tree *out);

#endif
