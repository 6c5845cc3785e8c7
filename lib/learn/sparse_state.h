/* learn/sparse_state.h: rows of weights in a file, without those that are still as they began.
 *
 * Hashed models have 2^bits rows, of which a log moves as many as it has names. Written: u64 how many rows, then each
 * with its number (u32, ascending) and its values. Whoever writes one marks it (COP_SPARSE_MARK) in a number that the
 * older form, all rows, begins with too, so that both are read. Pure functions. */
#ifndef COP_LEARN_SPARSE_STATE_H
#define COP_LEARN_SPARSE_STATE_H

#include <stdbool.h>

#include "base/bytes.h"

/* In a u64 of a dimension. */
#define COP_SPARSE_MARK (UINT64_C(1) << 63)

/* Two arrays that move together, row by row: weights and what they are divided by. */
typedef struct cop_sparse_state {
	float *values, *sums;               /* rows x width */
	float values_started, sums_started; /* what each of them began as */
	size_t rows, width;
	/* width of the rows to be loaded, at most width; 0: the same. The rest of a row stays as it began */
	size_t saved;
	/* Where each of the rows to be loaded lies here, ascending, and how many of them there are; NULL: the same. */
	const uint32_t *place;
	size_t places;
} cop_sparse_state;

/* moved: a flag for each row (those are written); NULL: rows whose values or sums are not as they began. */
void cop_sparse_state_save(const cop_sparse_state *state, const uint8_t *moved, cop_bytes *bytes);
/* All rows as they began, then those of the file; moved (NULL: none) is set for them, never cleared. begun: rows that
 * are not in the file stay as they are. Errors are the cursor's: COP_EFORMAT, COP_ENONFINITE. */
void cop_sparse_state_load(const cop_sparse_state *state, bool begun, uint8_t *moved, cop_cursor *cursor);

#endif
