/* tools/whatif/whatif_second.h: the second model's way through the journal, and the figures, behind the first one's,
 * as a taker of the pipe.
 *
 * One thread at a time: the pipe's, or, once that rests, the caller's. */
#ifndef COP_TOOLS_WHATIF_WHATIF_SECOND_H
#define COP_TOOLS_WHATIF_WHATIF_SECOND_H

#include "history/recorded_model.h"
#include "whatif_pipe.h"
#include "whatif_run.h"
#include "whatif_tally.h"

typedef struct cop_whatif_second {
	const cop_whatif_question *question; /* kept, as are the next two */
	cop_whatif_figures *figures;
	cop_whatif_pair *pair;
	cop_recorded_model room;          /* shape and room of records */
	cop_whatif_tally_waiting waiting; /* decisions whose loss is awaited */
	bool over;                        /* the second model's span is over: what records end is of interest alone */
} cop_whatif_second;

void cop_whatif_second_fini(cop_whatif_second *second);
/* A taker of the pipe. COP_ENOMEM. */
COP_CHECK cop_err cop_whatif_second_take(void *second, cop_whatif_item *item);

#endif
