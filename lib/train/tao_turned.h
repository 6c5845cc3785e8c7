/* train/tao_turned.h: the weights of a linear leaf feature by feature, so that a sparse row meets only those of its own
 * features. Scores add the same products in the same order as those of the leaf's rows do. Reading is fine from many
 * threads. */
#ifndef COP_TRAIN_TAO_TURNED_H
#define COP_TRAIN_TAO_TURNED_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "linalg/row.h"

typedef struct cop_tao_turned cop_tao_turned;

/* Of `rows` rows of d features: row r has the entries start[r] to start[r + 1] of index (ascending, below d) and v.
 * start[0] is 0. Takes d x 4 bytes meanwhile. Caller frees with cop_tao_turned_free; on error *out is NULL. COP_ENOMEM.
 */
COP_CHECK cop_err cop_tao_turned_new(
        size_t d, size_t rows, const size_t *start, const uint32_t *index, const float *v, cop_tao_turned **out);
void cop_tao_turned_free(cop_tao_turned *turned);
/* score[r] += sum_j v_rj x_j; x is sparse. */
void cop_tao_turned_add(const cop_tao_turned *turned, const cop_row *x, double *score);

#endif
