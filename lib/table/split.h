/* table/split.h: rows divided at random: two parts, k folds, bootstrap samples. Stratified by class when labels are
 * given: each class is divided by the same share, to within one row. Equal generators give equal divisions. Any thread.
 */
#ifndef COP_TABLE_SPLIT_H
#define COP_TABLE_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"

/* Divides row[0..n) (in place): the first *second_from of them, then the others, whose share of n is `share` in (0, 1).
 * label: class of each row number (NULL: not stratified). Both parts get at least one row when n >= 2. COP_EINVAL: n
 * below 2 or share. COP_ENOMEM. */
COP_CHECK cop_err cop_split_two(
        cop_rng *rng, size_t n, uint32_t *row, const uint32_t *label, double share, size_t *second_from);

/* fold[i] in [0, k) for i < n, as even as can be. COP_EINVAL: k outside [2, n]. COP_ENOMEM. */
COP_CHECK cop_err cop_split_folds(cop_rng *rng, size_t n, const uint32_t *label, size_t k, uint32_t *fold);

/* Draws m of the numbers 0 to n - 1, ascending: with replacement, or without (m <= n). COP_EINVAL, COP_ENOMEM. */
COP_CHECK cop_err cop_split_draw(cop_rng *rng, size_t n, size_t m, bool replace, uint32_t *row);

#endif
