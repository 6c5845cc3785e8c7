/* tree/tree_columns.h: the rows of leaves once more, feature by feature, for sparse rows of a wide space: what a leaf
 * of many classes costs then follows from the features that are in the row, not from all weights of the leaf.
 *
 * A leaf's rows are cut into blocks of at most COP_TREE_COLUMNS_BLOCK, so that the scores of a block fit on the stack.
 * A block has its features in ascending order, and of each the rows that store it, ascending, with their weights. A
 * score adds the same products in the same order as the row's own ascending list, so it is the same to the bit. Not for
 * others than lib/tree. */
#ifndef COP_TREE_TREE_COLUMNS_H
#define COP_TREE_TREE_COLUMNS_H

#include "tree/tree_private.h"

#define COP_TREE_COLUMNS_BLOCK 1024 /* rows */

/* Of a tree whose lines are made. *out is NULL where no leaf gains by it: few rows, or a fair share of the features
 * stored. COP_ENOMEM. Caller frees with cop_tree_columns_free. */
COP_CHECK cop_err cop_tree_columns_new(const cop_tree *tree, cop_tree_columns **out);
void cop_tree_columns_free(cop_tree_columns *columns);

/* Whether the leaf is there. columns may be NULL. */
bool cop_tree_columns_has(const cop_tree_columns *columns, size_t leaf);

/* Scores, without biases, of the leaf's rows from number `first` (a multiple of COP_TREE_COLUMNS_BLOCK) on, at most
 * that many, at a sparse row. Returns how many. */
size_t cop_tree_columns_scores(
        const cop_tree_columns *columns, size_t leaf, size_t first, const cop_row *row, float *out);

#endif
