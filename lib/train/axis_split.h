/* train/axis_split.h: the best axis-aligned split of rows that are to go left or right (TAO's axis-aligned node).
 *
 * Exact minimum of the weighted 0/1 loss  sum_i c_i [side_i != right(x_i)]  over all features and thresholds; right iff
 * x_j >= threshold, midway between neighbouring values, or one way for all. */
#ifndef COP_TRAIN_AXIS_SPLIT_H
#define COP_TRAIN_AXIS_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "table/dataset.h"

typedef struct cop_axis_split {
	size_t feature;
	float threshold; /* -INFINITY: all right; INFINITY: all left */
	double loss;
} cop_axis_split;

/* Rows row[0..n) of `rows`; of row[i], side[i] = +1 right, -1 left, and weight[i] >= 0 (NULL: all 1). Ties: one way for
 * all first (right before left, feature 0), then lower feature, then lower threshold. Sorts each feature; memory: 8 n
 * numbers, or 2 for each entry of sparse rows. COP_ENOMEM. */
COP_CHECK cop_err cop_axis_split_find(const cop_dataset *rows, size_t n, const uint32_t *row, const int8_t *side,
        const float *weight, cop_axis_split *out);

#endif
