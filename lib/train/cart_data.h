/* train/cart_data.h: a sample as the growing of CART trees wants it, made once and used for all trees of a fit.
 *
 * The sample's rows of positive weight have places 0 to n - 1. Each dense feature's values are replaced by their ranks
 * among its distinct values, column by column, in 1, 2 or 4 bytes: ranks are sorted faster than values, often need
 * not be sorted at all, and split the same rows. Sparse rows, and dense ones whose thresholds are drawn, stay as they
 * are. Reading is fine from many threads. */
#ifndef COP_TRAIN_CART_DATA_H
#define COP_TRAIN_CART_DATA_H

#include "base/pool.h"
#include "train/cart_ranks.h"
#include "train/sample.h"

typedef struct cop_cart_data {
	const cop_sample *sample;
	size_t n;
	uint32_t *row; /* of each place */
	cop_cart_ranks ranks;
	const cop_cart_column *column; /* those of the ranks; NULL: rows as they are */
	double *centre; /* values: the mean of each output, from which moments are measured; else zeros */
} cop_cart_data;

/* The sample is kept. ranked: dense features are ranked, or their ranks copied from `ranks` (borrowed; NULL: there are
 * none), where other rows may leave gaps. The caller ends it with fini in every case. COP_EINVAL: no row has a positive
 * weight. COP_ENOMEM. */
COP_CHECK cop_err cop_cart_data_init(
        cop_cart_data *data, const cop_sample *sample, bool ranked, const cop_cart_ranks *ranks, cop_pool *pool);
void cop_cart_data_fini(cop_cart_data *data);

/* Ranks of the places place[0..n) in a column that is not constant. */
void cop_cart_data_ranks(const cop_cart_column *column, size_t n, const uint32_t *place, uint32_t *rank);

static inline double cop_cart_data_weight(const cop_cart_data *data, size_t place)
{
	const float *weight = data->sample->weight;
	return weight != NULL ? (double)weight[data->row[place]] : 1.0;
}

/* x_j of a row; sparse: by bisection. */
float cop_cart_data_value(const cop_dataset *rows, size_t row, size_t feature);

#endif
