/* learn/concat_row.h: raw context and raw candidate as one raw row, for trees that were fitted on such rows.
 *
 * Dense: the context's features, then the candidate's. Sparse: the candidate's feature j is 2^bits + j. The context is
 * laid down once an event. One thread per object; nothing is allocated after make_room. */
#ifndef COP_LEARN_CONCAT_ROW_H
#define COP_LEARN_CONCAT_ROW_H

#include <stdbool.h>

#include "base/err.h"
#include "linalg/row.h"

typedef struct cop_concat_row {
	size_t d, candidate_d;
	size_t entries; /* room */
	bool sparse;
	size_t context; /* entries of the context that is laid down */
	float *value;
	uint32_t *index; /* sparse */
} cop_concat_row;

/* Sparse: rows of at most max_nonzeros entries. Takes no memory yet. */
void cop_concat_row_init(cop_concat_row *joined, size_t d, size_t candidate_d, bool sparse, size_t max_nonzeros);
/* Room for rows, once. COP_ENOMEM. */
COP_CHECK cop_err cop_concat_row_make_room(cop_concat_row *joined);
void cop_concat_row_fini(cop_concat_row *joined);
/* Features of joined rows. */
size_t cop_concat_row_features(const cop_concat_row *joined);
void cop_concat_row_set_context(cop_concat_row *joined, const cop_row *x);
/* The row with this candidate; a view until the next call. */
void cop_concat_row_row(cop_concat_row *joined, const cop_row *candidate, cop_row *out);

#endif
