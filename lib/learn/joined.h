/* learn/joined.h: raw context and raw candidate as one raw row, for trees that were fitted on such rows.
 *
 * Dense: the context's features, then the candidate's. Sparse: the candidate's feature j is 2^bits + j. The context is
 * laid down once an event. One thread per object; nothing is allocated after make_room. */
#ifndef COP_LEARN_JOINED_H
#define COP_LEARN_JOINED_H

#include <stdbool.h>

#include "base/err.h"
#include "linalg/row.h"

typedef struct cop_joined {
	size_t d, candidate_d;
	size_t entries; /* room */
	bool sparse;
	size_t context; /* entries of the context that is laid down */
	float *value;
	uint32_t *index; /* sparse */
} cop_joined;

/* Sparse: rows of at most max_nonzeros entries. Takes no memory yet. */
void cop_joined_init(cop_joined *joined, size_t d, size_t candidate_d, bool sparse, size_t max_nonzeros);
/* Room for rows, once. COP_ENOMEM. */
COP_CHECK cop_err cop_joined_make_room(cop_joined *joined);
void cop_joined_fini(cop_joined *joined);
/* Features of joined rows. */
size_t cop_joined_features(const cop_joined *joined);
void cop_joined_set_context(cop_joined *joined, const cop_row *x);
/* The row with this candidate; a view until the next call. */
void cop_joined_row(cop_joined *joined, const cop_row *candidate, cop_row *out);

#endif
