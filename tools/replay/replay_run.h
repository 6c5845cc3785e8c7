/* tools/replay/replay_run.h: a replay from end to end: finds out what the log is, feeds it to the settings' players on
 * their threads, and adds up what they saw.
 *
 * One thread owns the run; it starts and ends the others. */
#ifndef COP_TOOLS_REPLAY_REPLAY_RUN_H
#define COP_TOOLS_REPLAY_REPLAY_RUN_H

#include <signal.h>

#include "base/stream.h"
#include "estimates.h"
#include "evaluate/offpolicy_pair.h"
#include "policy_run.h"
#include "replay_feed.h"
#include "replay_options.h"
#include "replay_state.h"
#include "replay_table.h"

typedef struct cop_replay_run {
	const cop_replay_options *options;
	const volatile sig_atomic_t *stop;
	cop_feature_space *space;
	cop_replay_limits limits;
	cop_policy_run *player[COP_REPLAY_MOST_SETTINGS];
	cop_estimates tally[COP_REPLAY_MOST_SETTINGS];
	cop_offpolicy_pair *pair; /* settings i < j at [i * settings + j]; their doubly robust values differ */
	cop_replay_table table;
	cop_stream *dump;
	cop_replay_state resumed; /* its counts; all zero when nothing was resumed */
	cop_replay_fed fed;       /* of this run alone */
	double seconds;
	cop_err failed; /* a player's */
} cop_replay_run;

/* *run holds options and stop, all else zero. Caller ends with fini, also on error. Errors of everything below. */
COP_CHECK cop_err cop_replay_run_all(cop_replay_run *run, cop_diag *diag);
/* The one without --compare, or the best of those compared: what --save keeps. */
COP_CHECK cop_err cop_replay_run_save(const cop_replay_run *run, size_t setting, cop_diag *diag);
void cop_replay_run_fini(cop_replay_run *run);

#endif
