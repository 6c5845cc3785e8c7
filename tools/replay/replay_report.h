/* tools/replay/replay_report.h: what a replay found, as text or as one JSON object on standard output.
 *
 * With several settings they are ranked by their estimated value (doubly robust, without a model inverse propensity),
 * each with the difference to the best and to the first of them, from the same events. One thread. */
#ifndef COP_TOOLS_REPLAY_REPLAY_REPORT_H
#define COP_TOOLS_REPLAY_REPLAY_REPORT_H

#include "replay_run.h"

/* Settings from best to worst; equal ones in their order. */
void cop_replay_rank(const cop_replay_run *run, size_t order[COP_REPLAY_MOST_SETTINGS]);

typedef struct cop_replay_difference {
	double value, low, high; /* of setting i's value less j's */
} cop_replay_difference;
/* NaN where nothing is known. */
void cop_replay_differ(const cop_replay_run *run, size_t i, size_t j, cop_replay_difference *out);

void cop_replay_print_text(const cop_replay_run *run);
/* COP_ENOMEM. */
COP_CHECK cop_err cop_replay_print_json(const cop_replay_run *run);

#endif
