/* base/ranks.h: processes that run the same program on the same input side by side and divide its work: ranks.
 *
 * All ranks do the same in the same order, but for tasks that are divided among them, largest first; what one works out
 * alone it gives to all the others, so that all go on with the same. How bytes travel is the caller's: lib knows no
 * network. NULL stands for one rank alone. Where ranks are led, only the first has the input, and the others wait for
 * what it fits (train/lend.h). */
#ifndef COP_BASE_RANKS_H
#define COP_BASE_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"

typedef struct cop_ranks {
	unsigned rank, count; /* this one, in [0, count) */
	void *context;
	bool led;
	/* Appends every rank's bytes to all, in the order of ranks. All ranks call it together. COP_EIO, COP_ENOMEM. */
	cop_err (*gather)(void *context, const cop_bytes *mine, cop_bytes *all);
} cop_ranks;

/* How many of so many tasks are this rank's, and the number of the i-th of them. */
size_t cop_ranks_tasks(const cop_ranks *ranks, size_t tasks);
size_t cop_ranks_task(const cop_ranks *ranks, size_t i);

/* What another rank gave: exactly what is left of the cursor. */
typedef cop_err cop_ranks_take(void *context, cop_cursor *cursor);

/* Gives what this rank worked out, or the error that it met, to all, and takes what the others give, in their order.
 * The error of the lowest rank that met one comes back on all of them. Another one, of gather, take, or memory, is this
 * rank's alone: the caller ends all ranks then. COP_EFORMAT. */
COP_CHECK cop_err cop_ranks_exchange(
        const cop_ranks *ranks, cop_err err, const cop_bytes *mine, cop_ranks_take *take, void *context);

#endif
