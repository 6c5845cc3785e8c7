/* train/screened.h: the columns that a solver with an L1 penalty needs of some rows.
 *
 *     a feature j whose weights can differ from 0:   sum_i c_i |x_ij| > lambda
 *
 * for losses whose derivative by the prediction is at most 1 in size, as those of logistic and softmax regression are:
 * the loss's derivative by w_j is then never above lambda, so that w_j = 0 at the optimum. Of sparse rows only these
 * features become columns, so that a node of few rows takes memory and time by what is in them; dense rows keep all.
 * Distinct objects on distinct threads. */
#ifndef COP_TRAIN_SCREENED_H
#define COP_TRAIN_SCREENED_H

#include "linalg/columns.h"
#include "table/dataset.h"

typedef struct cop_screened {
	cop_columns columns;
	uint32_t *feature; /* of each column, ascending; NULL: all */
} cop_screened;

/* Of rows row[0..n) of data, which may repeat and have the weights c[0..n); lambda 0: all features that occur. The
 * caller ends it with cop_screened_fini in every case. Takes d x 12 bytes meanwhile. COP_ENOMEM. */
COP_CHECK cop_err cop_screened_init(
        cop_screened *screened, const cop_dataset *data, size_t n, const uint32_t *row, const float *c, double lambda);
void cop_screened_fini(cop_screened *screened);

/* Sparse rows of those features alone: column j is feature[j], row i has the entries start[i] to start[i + 1]. */
typedef struct cop_screened_rows {
	size_t d;
	uint32_t *feature; /* d, ascending */
	size_t *start;     /* n + 1 */
	uint32_t *index;   /* start[n], ascending in a row */
	float *value;
} cop_screened_rows;

/* As cop_screened_init, of sparse rows, as rows. */
COP_CHECK cop_err cop_screened_rows_init(cop_screened_rows *screened, const cop_dataset *data, size_t n,
        const uint32_t *row, const float *c, double lambda);
void cop_screened_rows_fini(cop_screened_rows *screened);

static inline uint32_t cop_screened_feature(const cop_screened *screened, size_t column)
{
	return screened->feature != NULL ? screened->feature[column] : (uint32_t)column;
}
/* Weights of `count` features (index ascending; NULL: 0 to count - 1) as weights of the columns, into w (zeros before);
 * those of other features are left out. */
void cop_screened_take(
        const cop_screened *screened, size_t count, const uint32_t *index, const float *weight, float *w);
/* w: weights of the columns, which become weights of all d features, in place. */
void cop_screened_spread(const cop_screened *screened, size_t d, float *w);

#endif
