/* optim/l1_gram.h: the quadratic model of l1_model.h by the products of its features, for many rows.
 *
 * Of `count` features, G = sum_s u_s (x_s - mean)(x_s - mean)ᵀ over a sample of rows s, whose weights u_s stand for h:
 * a row is drawn with a chance in proportion to its h_i, and all rows are taken where that is no more work. Then a pass
 * of coordinate descent costs count^2 instead of the entries of count columns, and G still serves when h has changed a
 * little: the steps are then not Newton's own, but the line search uses the loss itself. The diagonal is never below
 * that of all rows. */
#ifndef COP_OPTIM_L1_GRAM_H
#define COP_OPTIM_L1_GRAM_H

#include "linalg/columns.h"

typedef struct cop_l1_gram {
	size_t count, stride;
	uint32_t *feature; /* count, ascending */
	float *matrix;     /* count x stride, symmetric */
	float *mean;       /* count */
	size_t rows;       /* of the sample */
	bool exact;        /* the sample was all rows */
} cop_l1_gram;

#define COP_L1_GRAM_FEATURES 2048 /* most */

/* Rows to sample for so many features. */
size_t cop_l1_gram_rows(size_t n, size_t count);
/* Work of building and of one pass over columns, in the same unit. */
double cop_l1_gram_cost(size_t rows, size_t count);
double cop_l1_gram_columns_cost(const cop_columns *x, size_t count, const uint32_t *feature);

/* Builds it anew of about `rows` rows; what it held is freed. Ends with cop_l1_gram_fini in every case. COP_ENOMEM. */
COP_CHECK cop_err cop_l1_gram_build(
        cop_l1_gram *gram, const cop_columns *x, const float *h, size_t rows, size_t count, const uint32_t *feature);
void cop_l1_gram_fini(cop_l1_gram *gram);

#endif
