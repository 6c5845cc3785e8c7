/* tools/whatif/whatif_tally.h: decisions whose loss is awaited, and the figures of those whose loss came. One thread.
 */
#ifndef COP_TOOLS_WHATIF_WHATIF_TALLY_H
#define COP_TOOLS_WHATIF_WHATIF_TALLY_H

#include "history/open_decisions.h"
#include "whatif_pair.h"
#include "whatif_run.h"

typedef struct cop_whatif_tally_waiting {
	cop_open_decisions open;         /* what was seen of each is its body */
	cop_open_decisions_entry *spare; /* of decisions that ended, in a list (younger: the next) */
} cop_whatif_tally_waiting;

/* Zeroed, none waits. */
void cop_whatif_tally_fini(cop_whatif_tally_waiting *waiting);
/* What was seen of a decision waits under its id. COP_ENOMEM. */
COP_CHECK cop_err cop_whatif_tally_keep(
        cop_whatif_tally_waiting *waiting, const cop_event_id *id, const cop_whatif_seen *seen);
/* The decisions that a record ends: those whose loss it has are counted. */
void cop_whatif_tally_end(cop_whatif_tally_waiting *waiting, cop_wire_record_type type, const cop_wire_record *record,
        cop_whatif_figures *figures);
/* A decision whose loss is known. */
void cop_whatif_tally_count(
        cop_whatif_figures *figures, const cop_event_id *id, const cop_whatif_seen *seen, double cost);

#endif
