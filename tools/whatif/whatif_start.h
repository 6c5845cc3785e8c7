/* tools/whatif/whatif_start.h: the state that a span begins with, from a state folder's checkpoints. One thread. */
#ifndef COP_TOOLS_WHATIF_WHATIF_START_H
#define COP_TOOLS_WHATIF_WHATIF_START_H

#include "tools/common/saved_file.h"

#define COP_WHATIF_PATH 4096

typedef struct cop_whatif_start {
	bool found;
	bool before;         /* it is of before the span */
	uint64_t checkpoint; /* its sequence */
	uint64_t next;       /* first journal record that is not in it */
	const void *data;    /* the model's sections */
	size_t length;
	bool whole; /* none was found, and the journal has all records from the first one on */
	char path[COP_WHATIF_PATH];
	cop_saved_file saved;
} cop_whatif_start;

/* The newest checkpoint from before `from` (unix seconds) that has the model, by its stored name, and whose next record
 * the journal still has; where there is none, and the journal has lost its beginning, the oldest one. Damaged files are
 * passed over. Finish with close, also after an error. COP_EIO, COP_ENOTFOUND, COP_ENOMEM ... with *diag. */
COP_CHECK cop_err cop_whatif_start_find(
        const char *state, const char *model, double from, cop_whatif_start *out, cop_diag *diag);
void cop_whatif_start_close(cop_whatif_start *start);

#endif
