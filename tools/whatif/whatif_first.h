/* tools/whatif/whatif_first.h: the first model's way through the journal, as a taker of the pipe.
 *
 * One thread at a time: the pipe's, or, once that rests, the caller's. */
#ifndef COP_TOOLS_WHATIF_WHATIF_FIRST_H
#define COP_TOOLS_WHATIF_WHATIF_FIRST_H

#include "history/recorded_model.h"
#include "whatif_pipe.h"
#include "whatif_run.h"

typedef struct cop_whatif_first {
	const cop_whatif_question *question; /* kept, as are the next two */
	cop_whatif_figures *figures;
	cop_whatif_pair *pair;
	cop_recorded_model room; /* shape and room of records */
	uint64_t bad;            /* records that made no sense to it */
	cop_diag diag;           /* of the error that it ended with */
} cop_whatif_first;

void cop_whatif_first_fini(cop_whatif_first *first);
/* A taker of the pipe. What does not fit the model is an error, unless it began anew. COP_EFORMAT, COP_ENOMEM, with
 * `diag`. */
COP_CHECK cop_err cop_whatif_first_take(void *first, cop_whatif_item *item);

/* What is to be said of a record that does not fit: COP_ENOMEM if that is the error, else COP_EFORMAT; what: NULL or
 * empty, the error's own words. */
COP_CHECK cop_err cop_whatif_first_refuse(
        const cop_whatif_question *question, uint64_t record, cop_err err, const char *what, cop_diag *diag);

#endif
